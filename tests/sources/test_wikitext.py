"""The scanner case by case, its invariants on arbitrary markup, and its time on hostile markup."""

import gc
import time
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.sources.documents import Heading, LinkSpan, Scan
from linkwalk.sources.site import Site
from linkwalk.sources.wikitext.scanner import scan

SITE = Site(namespaces={"Fails": 6, "Kategoreja": 14})
TABLES = {"keep_tables": True}
PROSE = {"prose_only": True}


def shown(result: Scan) -> list[tuple[str, str]]:
    return [(result.text[start:end], target) for start, end, target, _ in result.links]


# Wikitext, plain text, anchors with their targets.
CASES = {
    "plain": ("Hello, world.", "Hello, world.", []),
    "empty": ("", "", []),
    "link": ("a [[B]] c", "a B c", [("B", "B")]),
    "label": ("a [[B|x y]] c", "a x y c", [("x y", "B")]),
    "trail": ("[[cat]]s, [[dog|hound]]s", "cats, hounds", [("cats", "cat"), ("hounds", "dog")]),
    "trail letters": ("[[a]]ēs [[a]]B [[a]]1 [[a]]_b", "aēs aB a1 a_b", [("aēs", "a")] + [("a", "a")] * 3),
    "no trail without blanks": ("[[東京]]は日本", "東京は日本", [("東京", "東京")]),
    "pipe trick": (
        "[[A (x)|]] [[A, B|]] [[Mercury: A (b)|]] [[C|]]",
        "A A A C",
        [("A", "A (x)"), ("A", "A, B"), ("A", "Mercury: A (b)"), ("C", "C")],
    ),
    "label with bars": ("[[A|b|c]]", "b|c", [("b|c", "A")]),
    "label with markup": (
        "[[A|''b'' &amp; '''c''']] [[A|<b>d</b>{{t}}<nowiki>''</nowiki>]]",
        "b & c d''",
        [("b & c", "A"), ("d''", "A")],
    ),
    "label with blanks": ("x[[A| b\nc ]]y [[ D ]]", "x b c y D", [("b c y", "A"), ("D", "D")]),
    "label over a line": ("[[A|b\nc]]", "b c", [("b c", "A")]),
    "label like a list": ("*[[**** (film)|****]] (1967)", "**** (1967)", [("****", "**** (film)")]),
    "label like a heading": (
        "[[a|=b=]]\n\n[[c|----]]\n\n[[#d]]",
        "=b=\n----\n#d",
        [("=b=", "a"), ("----", "c"), ("#d", "")],
    ),
    "label like a list in quotes": ("'''[[#x]]\n:''*'' [[#y]]", "#x\n#y", [("#x", ""), ("#y", "")]),
    "target with blank": ("[[A |b]]", "b", [("b", "A")]),
    "entity in target": ("[[AT&amp;T]] [[B&#38;C]]", "AT&T B&C", [("AT&T", "AT&amp;T"), ("B&C", "B&C")]),
    "colon in title": (
        "[[2001: A Space Odyssey]]",
        "2001: A Space Odyssey",
        [("2001: A Space Odyssey",) * 2],
    ),
    "leading colon": ("[[:A]] [[:Category:X]] [[:de:Y]]", "A Category:X de:Y", [("A", "A")]),
    "other sites": ("[[wikt:foo|bar]]s [[wikt:foo|]] [[User:X]]", "bars foo User:X", []),
    "interlanguage": ("a\n[[de:A]]\n[[Category:B]][[Kategoreja:C|d]]", "a", []),
    "link in link": ("[[A|b [[c]] d]]", "[[A|b c d]]", [("c", "c")]),
    "template as target": ("[[{{t}}|a]] b", "a b", []),
    "address as target": ("[[http://x y]] [[http://x]] b", "y b", []),
    "invalid targets": ("[[]] [[|a]] [[a\nb]] [[a<b]] [[ ]]", "[[]] [[|a]] [[a b]] [[a<b]] [[]]", []),
    "unclosed": ("[[a b]c [[d|e", "[[a b]c [[d|e", []),
    "stray closers": ("a]] b}} c|} ]d", "a]] b}} c|} ]d", []),
    "nothing shown": ("a [[B|<!-- -->]] c [[D| ]]", "a c", []),
    "entities": (
        "a&nbsp;b &lt;ref&gt; &eacute;&#233;&#xE9; &foo; & &#91;[c]]",
        "a b <ref> ééé &foo; & [[c]]",
        [],
    ),
    "entity at line start": ("&#42; a\n\n&#61; b =", "* a\n= b =", []),
    "odd white space": ("a\u2009b\tc \u3000 d\u2028e\x1cf&#9;g&emsp;h", "a b c d e f g h", []),
    "quotes": ("''a'' '''b''' '''''c''''' ''''d'''' ''''''e''''''", "a b c 'd' 'e'", []),
    "quote after word": ("''Eagle'''s wing", "Eagle's wing", []),
    "quote after letter": ("a l'''amour'' '''b'''", "a l'amour b", []),
    "heading": ("a\n== B ''c'' ==\nd", "a\nd", []),
    "no heading": ("a\n==\n= b\nc =", "a == = b c =", []),
    "lists": ("a\n* b\n** [[c]]\n:;d\n# e\nf", "a\nb\nc\nd\ne\nf", [("c", "c")]),
    "html list": ("<ul><li>a</li><li>[[b]]</li></ul>c", "a\nb\nc", [("b", "b")]),
    "rule": ("a\n----\nb\n-----c\n- d", "a\nb\nc - d", []),
    "paragraphs": ("a\nb\n\nc\n \n\n\n d  e", "a b\nc\nd e", []),
    "magic words": ("__NOTOC__a __b__ __X__", "a __b__ __X__", []),
    "inline tags": ("a<sub>2</sub> <span style='x'>b</span><br>c<br/>d", "a2 b c d", []),
    "block tags": ("a<p>b</p><div class=x>c</div>d<blockquote>e</blockquote>", "a\nb\nc\nd\ne", []),
    "unknown tags": ("a <foo>b</foo> 1 < 2 <3 <b", "a <foo>b</foo> 1 < 2 <3 <b", []),
    "comments": ("a<!-- [[x]] -->b <!-- y --> c", "ab c", []),
    "comment on its own line": ("a\n<!-- x --><!-- y --> \nb", "a b", []),
    "comment in target's place": ("a <!-- b\n\n c", "a", []),
    "nowiki": ("<nowiki>[[a]] ''b'' {{c}} &lt;</nowiki> d<nowiki/>e", "[[a]] ''b'' {{c}} < de", []),
    "nowiki list": ("<nowiki>* a</nowiki>\n\n:<nowiki>*</nowiki>\n\nb:<nowiki>*</nowiki>", "* a\n*\nb:*", []),
    "refs": ("a<ref>[[b]]</ref> c<ref name=x /> d<REF name='y'>e</Ref>.<references/>", "a c d.", []),
    "unclosed ref": ("a<ref>b [[c]]", "ab c", [("c", "c")]),
    "dropped tags": (
        "a<math>x</math>b<gallery>\nA.jpg|c\n</gallery>d<pre>e</pre>f<source lang=x>g</source>"
        "h<timeline>i</timeline>",
        "abdfh",
        [],
    ),
    "external links": (
        "a [http://x b c] [http://x] [//y ''d'' [[e]]] http://z [mailto:m f]",
        "a b c d e http://z f",
        [("e", "e")],
    ),
    "external without a blank": ("a[http://x 1] [http://x''b'' c]", "a1 b c", []),
    "heading with text after": ("a\n\n== b == c", "a\n== b == c", []),
    "not external": ("[a b] [http://x\ny]", "[a b] [http://x y]", []),
    "external in caption": ("a [[File:x|thumb|b [http://y c]]]", "a\nb c", []),
    "templates": ("a {{b|c}} d {{e|{{f|[[g]]|{{h|{{i}}}}}}}} j", "a d j", []),
    "parameters": ("a {{{b}}} {{{c|{{d}}}}} {{ {{{e}}} }} f", "a f", []),
    "braces": ("{a} {{b} {{{c}} d}", "{a} {{b} { d}", []),
    "hidden braces": ("a {{b <!-- }} -->c}} {{d|<nowiki>}}</nowiki>}} e", "a e", []),
    "unclosed template": ("a {{b [[c]]\n\n* d", "a {{b c\nd", [("c", "c")]),
    "table": ("a\n{| class=x\n! [[h]]\n|-\n| b\n|}\nc", "a\nc", []),
    "nested table": ("a\n{|\n| b\n{|\n| c\n|}\n| d\n|}\ne", "a\ne", []),
    "indented table": ("a\n::{|\n| b\n|}\nc", "a\nc", []),
    "table in template": ("a\n{{b|\n{|\n|c\n|}\n}}\nd", "a\nd", []),
    "html table": ("a<table><tr><td>[[b]]</td></tr></table>c", "a\nc", []),
    "caption": (
        "a [[File:x.jpg|thumb|200px|A [[b|c]] {{t}} ''d'']] e\nf\n\ng",
        "a e f\nA c d\ng",
        [("c", "b")],
    ),
    "caption options": (
        "[[Image:x.jpg|frameless|b|left|upright=1.2|alt=c|x10px|link=|10x20 px]]\n\n[[Fails:y|center]] d",
        "b\nd",
        [],
    ),
    "caption in caption": ("a [[File:x|thumb|b [[File:y|c [[d]]]] e]] f", "a f\nc d\nb e", [("d", "d")]),
    "caption in nothing": (
        "[[File:x|[[File:y|a]]]]\n\n[[b|[[File:y|c]] d]]\n\ne",
        "a\nd\nc\ne",
        [("d", "b")],
    ),
    "caption before text": ("[[File:x|thumb|a]]\nb", "a\nb", []),
    "caption with a bar entity": ("a [[File:x|thumb|b&#124;c]]", "a\nb|c", []),
    "caption of several lines": ("a [[File:x|thumb\n|b\n\nc [[d]]\n]] e", "a e\nb c d", [("d", "d")]),
}


@pytest.mark.parametrize(("wikitext", "text", "links"), CASES.values(), ids=CASES)
def test_cases(wikitext: str, text: str, links: list[tuple[str, str]]) -> None:
    result = scan(wikitext, SITE)
    assert result.text == text
    assert shown(result) == links
    check(result)


@pytest.mark.parametrize("wikitext", ["[[#]]", "[[ # ]]", "[[#|a]]"])
def test_a_lone_hash_names_nothing(wikitext: str) -> None:
    result = scan(wikitext, SITE)
    assert result.links == []
    assert result.counts == {"invalid": 1}


def test_fragments() -> None:
    result = scan("[[A#B c|d]] [[#E]] [[F#G]]", SITE)
    assert result.text == "d #E F#G"
    assert result.links == [LinkSpan(0, 1, "A", "B c"), LinkSpan(2, 4, "", "E"), LinkSpan(5, 8, "F", "G")]


def test_headings_say_where_their_text_begins() -> None:
    result = scan("lead\n== A [[b]] &amp; ''c''==\none\n===D===\n\n* two\n=E=\n", SITE)
    assert result.text == "lead\none\ntwo"
    assert result.headings == [Heading(5, 2, "A b & c"), Heading(9, 3, "D"), Heading(12, 1, "E")]
    assert result.counts == {"in heading": 1}


def test_every_link_left_out_has_a_reason() -> None:
    wikitext = (
        "[[a]] [[File:x|thumb|[[b]]]] [[Category:c]] [[de:d]] [[wikt:e]] [[User:f]] [[g| ]] "
        "{{t|[[h]] [[i|j]]}}"
        "<ref>[[k]]</ref><math>[[l]]</math><pre>[[m]]</pre><!-- [[n]] -->"
        "<gallery>\nx|[[o]]\n</gallery>[[p|[[q]]]]"
        "<timeline>[[r]]</timeline>\n{|\n|[[s]]\n|}\n* [[t]]\n== [[u]] ==\n"
    )
    once = """file category interlanguage interwiki namespace empty invalid"""
    places = """reference math code comment gallery extension table heading"""
    counts = {"in template": 2, **dict.fromkeys(once.split(), 1)}
    counts |= {f"in {place}": 1 for place in places.split()}
    result = scan(wikitext, SITE)
    assert result.counts == counts
    assert [target for _, _, target, _ in result.links] == ["a", "q", "b", "t"]
    prose = scan(wikitext, SITE, **PROSE)
    assert prose.counts == {**counts, "in list": 1, "in caption": 1}
    assert [target for _, _, target, _ in prose.links] == ["a", "q"]
    tables = scan(wikitext, SITE, **TABLES)
    assert tables.counts == {k: n for k, n in counts.items() if k != "in table"}


TABLE_CASES = {
    "wiki": (
        "a\n{| class=x style='y'\n|+ align=top | Cap ''t''\n! h1 !! scope=col | [[h2]]\n"
        "|-\n| b || [[c|d]]e\n| f\n"
        "g || \n|- style=x\n|colspan=2| i!!j\n|}\nk",
        "a\nCap t\nh1 | h2\nb | de | f g\ni!!j\nk",
        [("h2", "h2"), ("de", "c")],
    ),
    "html": (
        "a<table border=1><caption>C</caption><tr><th>b<th>[[c]]</tr>"
        "<TR><td>d</td>\n<td>e</td></tr></table>f",
        "a\nC\nb | c\nd | e\nf",
        [("c", "c")],
    ),
    "nested": ("{|\n| a\n{|\n| [[b]] || c\n|}\n| d\n|}", "b | c\na | d", [("b", "b")]),
    "unclosed": ("a\n{|\n| b || [[c]]\n|-\n| [[d|\n|-\n| e", "a\nb | c\n[[d|\ne", [("c", "c")]),
    "picture in cell": ("{|\n| a [[File:x|thumb|b\n|c [[d]]]] || e\n|}", "c d\na | e", [("d", "d")]),
    "template in attributes": ("{|\n| {{t|x}} class=y | a\n|}", "a", []),
    "outside": ("a || b\n| c\n! d !! e\n|- f", "a || b | c ! d !! e |- f", []),
}


@pytest.mark.parametrize(("wikitext", "text", "links"), TABLE_CASES.values(), ids=TABLE_CASES)
def test_tables(wikitext: str, text: str, links: list[tuple[str, str]]) -> None:
    result = scan(wikitext, SITE, **TABLES)
    assert result.text == text
    assert shown(result) == links
    check(result)


def test_prose_only() -> None:
    result = scan("a [[b]] [[File:x|thumb|c]]\n* d\n{|\n| e\n|}\n: f\n<ul><li>g</ul>\nh", SITE, **PROSE)
    assert result.text == "a b\nh"
    assert scan("{|\n| e\n|}", SITE, keep_tables=True, prose_only=True).text == ""


def check(result: Scan) -> None:
    """What holds for every scan whatsoever."""
    text = result.text
    assert "  " not in text
    assert all(line and line == line.strip() for line in text.split("\n")) or not text
    assert "\n".join(text.splitlines()) == text
    assert not any(c.isspace() and c not in " \n" for c in text)
    last = 0
    for start, end, target, fragment in result.links:
        assert last <= start < end <= len(text)
        assert "\n" not in text[start:end]
        assert text[start:end] == text[start:end].strip()
        assert target == target.strip()
        assert target or fragment
        last = end
    for offset, level, title, _ in result.headings:
        assert offset == len(text) or offset == 0 or text[offset - 1] == "\n"
        assert 1 <= level <= 6
        assert "\n" not in title
    assert [h.offset for h in result.headings] == sorted(h.offset for h in result.headings)
    assert all(count > 0 for count in result.counts.values())


FRAGMENTS = """[[ ]] [[a|b]] [[File:x| [[Category: [[: | |thumb| {{ }} {{{ }}} {| |} |- || ! !! |+ <ref>
    </ref> <ref/> <nowiki> </nowiki> <!-- --> <math> </math> <table> <tr> <td> </table> <br> <li> <p> <b> < >
    & &amp; &nbsp; &#10; &#42; ' '' ''' ''''' = == === * # : ; ---- [http://a [ ] __TOC__ __ # a B é 東 {{t}}
    [[#x]] <pre> - [[http:// {{a|[[b]]}}"""
SPACED = ["\n", "\n\n", " ", "  ", "\t", "\n{|", "\n|}", "\n|-\n|", "\n* ", "\n== ", " ==\n"]
CONTROLS = ["\u2028", "\x00", "\x1c", "\x1f"]
MARKUP = st.lists(st.sampled_from(FRAGMENTS.split() + SPACED + CONTROLS), max_size=40).map("".join)
OPTIONS = st.sampled_from([{}, TABLES, PROSE])


@settings(max_examples=1500, deadline=None)
@given(MARKUP, OPTIONS)
def test_any_markup_gives_sound_spans(wikitext: str, options: dict[str, bool]) -> None:
    result = scan(wikitext, SITE, **options)
    check(result)
    assert scan(wikitext, SITE, **options) == result


@settings(max_examples=300, deadline=None)
@given(st.text(), OPTIONS)
def test_any_text_gives_sound_spans(wikitext: str, options: dict[str, bool]) -> None:
    check(scan(wikitext, SITE, **options))


WORDS = st.sampled_from(
    ["a", "b c", "d, e", "Été", "'''f'''", "''g''", "&amp;", "h<br>i", "http://x.y", "<b>j</b>"]
)


def nested(inner: st.SearchStrategy[tuple[str, int]]) -> st.SearchStrategy[tuple[str, int]]:
    """Closed constructs around others, with how many links they hold in all."""
    around = st.sampled_from(
        [
            ("[[File:x|thumb|{}]]", 1),
            ("{{{{t|{}}}}}", 0),
            ("<ref>{}</ref>", 0),
            ("<!-- {} -->", 0),
            ("<b>{}</b>", 0),
            ("\n{{|\n| {}\n|}}\n", 0),
            ("<table><tr><td>{}</table>", 0),
            ("\n* {}\n", 0),
            ("\n== {} ==\n", 0),
            ("<div>{}</div>", 0),
            ("\n\n{}\n\n", 0),
            ("{{{{t|{{{{u|{{{{v|{{{{w|{}}}}}}}}}}}}}}}}}", 0),
        ]
    )
    wrapped = st.builds(lambda a, x: (a[0].format(x[0]), a[1] + x[1]), around, inner)
    return st.lists(wrapped | inner, max_size=5).map(
        lambda xs: (" ".join(x for x, _ in xs), sum(n for _, n in xs))
    )


LEAVES = WORDS.map(lambda word: (word, 0)) | st.sampled_from(
    [
        "[[a]]",
        "[[a|b]]s",
        "[[a|''b'' <i>c</i>]]",
        "[[Category:x]]",
        "[[de:y]]",
        "[[wikt:z]]",
        "[[#s]]",
        "[[a| ]]",
    ]
).map(lambda link: (link, 1))
DOCUMENTS = st.recursive(LEAVES, nested, max_leaves=12)


@settings(max_examples=1500, deadline=None)
@given(DOCUMENTS, OPTIONS)
def test_no_link_goes_missing(document: tuple[str, int], options: dict[str, bool]) -> None:
    wikitext, links = document
    if wikitext.count("<!--") > 1 or wikitext.count("<ref>") > 1:
        return  # neither nests
    result = scan(wikitext, SITE, **options)
    check(result)
    assert len(result.links) + sum(result.counts.values()) == links


@settings(max_examples=1000, deadline=None)
@given(DOCUMENTS, DOCUMENTS, OPTIONS)
def test_closed_pages_join(one: tuple[str, int], two: tuple[str, int], options: dict[str, bool]) -> None:
    first, second = one[0], two[0]
    if any(x.count("<!--") > 1 or x.count("<ref>") > 1 for x in (first, second)):
        return
    a, b, both = (scan(x, SITE, **options) for x in (first, second, f"{first}\n\n{second}"))
    shift = len(a.text) + 1 if a.text and b.text else len(a.text)
    assert both.text == "\n".join(filter(None, (a.text, b.text)))
    assert both.links == a.links + [LinkSpan(s + shift, e + shift, t, f) for s, e, t, f in b.links]
    assert [h.title for h in both.headings] == [h.title for h in a.headings + b.headings]
    assert both.counts == {k: a.counts.get(k, 0) + b.counts.get(k, 0) for k in {**a.counts, **b.counts}}


# Repeated for a page; N is a newline and _ a blank.
HOSTILE = """[[ {{ {| <ref> <!-- '' ''' ]] }} [[{{ [[a| {{a|[[b| <b_ & = [http://a_ [[File:a| N{|N| { } {{{ [
    < {{a<!--_--> {{a|{{b}} <nowiki> <table> <table><tr><td> N N*_a | N|- N|_a_||_b __A &#1 [http://a_[[b]]_
    [[File:a|[[b]] [[a|[[b]] [[{{t}}| ==_a_==N N= <li> N:{| N|} [[a|<b> <!--_-->N [[a|b_[http://c_ {{{{a}} 1
    '''_'' - N- ;N: || <!--{ {{<!--a-->{ [http://'a N!a!!b"""
# Opened as often as closed.
NESTING = """[[File:a| ]] {{ }} { } N{| N|} [[a| ]] [[{{t}}| ]] {{a<!--}--> }} <table> </table> [[a|[[b]] ]]
    [[File:a|b_[[c]] ]] N{|N|_a N|} [[File:a|N{|N|x N|}]] {{a|[[File:b|c ]]}} {{{ }} N{|N| a||
    [[File:a|1 ]]"""
ONCE = {
    "digits": lambda n: "[[File:a|" + "1" * n + "a]]",
    "bars": lambda n: "[[a|b|" * (n // 6) + "]]",
    "blanks": lambda n: " " * n,
    "cells": lambda n: "{|\n|" + "a||" * (n // 3) + "\n|}",
    "quotes": lambda n: "'''a''" * (n // 6),
}


def written(markup: str) -> str:
    return markup.replace("N", "\n").replace("_", " ")


def hostile_pages() -> dict[str, Callable[[int], str]]:
    """Pages of a given size, by name."""
    pages: dict[str, Callable[[int], str]] = dict(ONCE)
    for unit in HOSTILE.split():
        pages[unit] = partial(lambda u, n: u * (n // len(u)), written(unit))
    for left, right in batched(NESTING.split()):
        a, b = written(left), written(right)
        pages[f"{left} {right}"] = partial(
            lambda a, b, n: a * (n // len(a + b)) + b * (n // len(a + b)), a, b
        )
    return pages


def batched(words: list[str]) -> list[tuple[str, str]]:
    return list(zip(words[::2], words[1::2], strict=True))


PAGES = hostile_pages()


def seconds(page: str, options: dict[str, bool]) -> float:
    """Time of one scan in this thread, without the collector's passes over whatever else the process holds."""
    gc.disable()
    try:
        begin = time.thread_time()
        scan(page, SITE, **options)
        return time.thread_time() - begin
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, TABLES], ids=["default", "tables"])
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_linear_time(page: Callable[[int], str], options: dict[str, bool]) -> None:
    size = 25_000
    short = seconds(page(size), options)
    while short < 0.05 and size < 400_000:
        size *= 4
        short = seconds(page(size), options)
    long = seconds(page(4 * size), options)
    for _ in range(7):  # a busy machine may slow one measurement, not each of them
        if long < 10 * max(short, 0.05):
            break
        short = min(seconds(page(size), options) for _ in range(2))
        long = min(long, seconds(page(4 * size), options))
    assert long < 10 * max(short, 0.05)
    assert long < 60 * size / 1e6 + 1
