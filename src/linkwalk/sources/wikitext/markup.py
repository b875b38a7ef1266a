"""What the scanner knows of markup: tags by lower-case name; blanks, quotes, entities, and what a link shows."""

import html
import re

INLINE = """abbr b bdi bdo big cite code data del dfn em font i ins kbd mark nobr noinclude nowiki onlyinclude
    poem q rb rp rt rtc ruby s samp section small span strike strong sub sup time translate tt tvar u var
    wbr"""
BLOCK = """article aside blockquote caption center col colgroup div dl figcaption figure footer h1 h2 h3 h4 h5
    h6 header hr ol p table tbody td tfoot th thead tr ul"""
OTHER_EXTENSIONS = """categorytree charinsert graph hiero imagemap indicator inputbox mapframe maplink score
    templatedata templatestyles timeline"""

#: Tags whose content is no text, with the reason under which its links are counted.
DROPPED = {
    "ref": "in reference",
    "references": "in reference",
    "gallery": "in gallery",
    "includeonly": "in template",
    **dict.fromkeys(("math", "chem", "ce"), "in math"),
    **dict.fromkeys(("pre", "source", "syntaxhighlight"), "in code"),
    **dict.fromkeys(OTHER_EXTENSIONS.split(), "in extension"),
}

#: What a tag leaves behind in the text.
TRACES = {
    **dict.fromkeys((*INLINE.split(), *DROPPED), ""),
    **dict.fromkeys(BLOCK.split(), "\n\n"),
    **dict.fromkeys(("li", "dd", "dt"), "\n*"),
    "br": " ",
}


def _closer(name: str) -> re.Pattern[str]:
    """A pattern for a closing tag in any case, with a literal beginning so that the search for it is fast."""
    return re.compile("</" + "".join(f"[{letter}{letter.upper()}]" for letter in name) + r"\s?>")


#: Tags whose content is not scanned, with what finds their end.
CLOSERS = {name: _closer(name).search for name in (*DROPPED, "nowiki")}

#: An opening or closing tag: slash, name, attributes.
match_tag = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)(?![^\s/>])([^<>]*+)>").match

#: What a picture's label says besides its caption.
is_option = re.compile(
    r"thumb(?:nail)?|frame(?:d|less)?|enframed|border|left|right|cent(?:er|re)|none|baseline|middle|top|text-top|bottom"
    r"|text-bottom|sub|super|sup|upright(?: [\d.]+)?|page \d+|(?:\d++(?:x\d*+)?+|x\d++) ?px"
    r"|(?:alt|class|end|lang|link|loop|muted|page|start|thumb(?:nail)?|thumbtime|upright) ?=.*",
    re.IGNORECASE | re.DOTALL,
).fullmatch
_find_brackets = re.compile(r"\[\[|\]\]").findall
_find_quotes = re.compile(r"''+").finditer
_replace_quotes = re.compile(r"''+").sub
_replace_blanks = re.compile(r"  +").sub
_replace_odd_blanks = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
).sub


def tidy(wikitext: str) -> str:
    """Make all white space but newlines single blanks: no markup minds, and few spans need moving later."""
    text = _replace_odd_blanks(" ", wikitext.replace("&nbsp;", " "))
    if "  " in text:
        text = _replace_blanks(" ", text)
    return f"\n{text}\n"


def stray_quote(line: str) -> int:
    """Find the bold mark that begins with an apostrophe where marks do not pair, as in ``''Eagle'''s``.

    The choice is MediaWiki's: after a word of one letter, else after a longer word, else after a blank.
    """
    runs = list(_find_quotes(line))
    widths = [len(run[0]) for run in runs]
    if not sum(width > 2 for width in widths) & 1 or not sum(width == 2 or width > 4 for width in widths) & 1:
        return -1
    choice: dict[str, int] = {}
    for run, width in zip(runs, widths, strict=True):
        if width == 3:
            start = run.start()
            after_blank = line[start - 1 : start] == " "
            one_letter = line[start - 2 : start - 1] == " "
            choice.setdefault("blank" if after_blank else "letter" if one_letter else "word", start)
    return choice.get("letter", choice.get("word", choice.get("blank", -1)))


def surplus(width: int) -> str:
    """The apostrophes in a run that are text: four are one and a bold mark, more than five leave the rest."""
    return "'" if width == 4 else "'" * (width - 5)


def decode(text: str) -> str:
    """Strip quotes and replace entities in text without other markup."""
    if "''" in text:
        text = _replace_quotes(lambda run: surplus(len(run[0])), text)
    return decode_entities(text)


def decode_entities(text: str) -> str:
    """Replace entities; odd blanks become plain ones, as everywhere."""
    return _replace_odd_blanks(" ", html.unescape(text)).replace("\n", " ") if "&" in text else text


def count_links(markup: str) -> int:
    """How many links are opened and closed in markup that is dropped unseen."""
    pairs = depth = 0
    for bracket in _find_brackets(markup):
        if bracket == "[[":
            depth += 1
        elif depth:
            depth -= 1
            pairs += 1
    return pairs


def pipe_trick(target: str) -> str:
    """What ``[[target|]]`` shows: no namespace, and nothing in final brackets or after a comma."""
    _, colon, rest = target.partition(":")
    name = (rest if colon else target).strip()
    if name.endswith(")") and "(" in name:
        return name[: name.rindex("(")].strip()
    return name.partition(", ")[0].strip()
