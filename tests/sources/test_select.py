import time

import pytest

from linkwalk.sources.documents import Wikitext
from linkwalk.sources.select import reason_by_source, reason_by_text, redirect_target
from tests.conftest import Maker, P, prose


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("#REDIRECT [[Comet]]", "Comet"),
        ("#redirect [[Comet]] {{R from other name}}", "Comet"),
        ("  \n#Redirect: [[ :Comet ]]", "Comet"),
        ("#REDIRECT[[Comet#Tail]]", "Comet#Tail"),
        ("#REDIRECT [[Comet|shown]]", "Comet"),
        ("#WEITERLEITUNG [[Komet]]", "Komet"),
        ("#перенаправление [[Комета]]", "Комета"),
        ("#転送 [[彗星]]", "彗星"),
        ("#REDIRECT Comet", None),
        ("See #REDIRECT [[Comet]]", None),
        ("# [[Comet]]", None),
        ("#REDIRECTED [[Comet]]", None),
        ("", None),
    ],
)
def test_redirects_in_the_text(text: str, target: str | None) -> None:
    assert redirect_target(Wikitext(text=text)) == target


def test_the_element_names_the_page_and_the_text_the_section() -> None:
    assert redirect_target(Wikitext(text="#REDIRECT [[comet]]", redirect="Comet")) == "Comet"
    assert redirect_target(Wikitext(text="#REDIRECT [[Comet#Tail]]", redirect="Comet")) == "Comet#Tail"
    assert redirect_target(Wikitext(text="#ЎЎЎ [[Comet]]", redirect="Comet")) == "Comet"


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (Wikitext("Comet", 0, "x"), None),
        (Wikitext("Category:Comets", 14, "x"), "category"),
        (Wikitext("Talk:Comet", 1, "x"), "other namespace"),
        (Wikitext("MediaWiki:Common.css", 8, "x"), "other namespace"),
        (Wikitext("Comet.js", 0, "x", model="javascript"), "not wikitext"),
        (Wikitext("  ", 0, "x"), "no title"),
        (Wikitext("Comet (disambiguation)", 0, "x"), "disambiguation"),
        (Wikitext("Komet (Begriffsklärung)", 0, "x"), "disambiguation"),
        (Wikitext("Comet", 0, "x {{Disambiguation}}"), "disambiguation"),
        (Wikitext("Comet", 0, "x {{ hndis |name=x}}"), "disambiguation"),
        (Wikitext("Comet", 0, "x __DISAMBIG__"), "disambiguation"),
        (Wikitext("Comet", 0, "x {{Disambiguation needed}}"), None),
        (Wikitext("Comet", 0, "x {{dabble}}"), None),
        (Wikitext("List of comets", 0, "x"), "list"),
        (Wikitext("Lists of comets", 0, "x"), "list"),
        (Wikitext("Listen", 0, "x"), None),
        (Wikitext("Listing of ships", 0, "x"), None),
    ],
)
def test_reasons_in_the_source(page: Wikitext, reason: str | None) -> None:
    assert reason_by_source(page, keep_lists=False) == reason
    kept = None if reason == "list" else reason
    assert reason_by_source(page, keep_lists=True) == kept


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Mercury may refer to:\nA planet\nA metal", "disambiguation"),
        ("Mercury can also mean the following:\nA planet", "disambiguation"),
        ("Mercury may refer to the planet by its colour.\nIt is hot.", None),
        ("Mercury may refer to:", None),
        ("", "short"),
        ("x" * 19, "short"),
        ("x" * 20, None),
    ],
)
def test_reasons_in_the_text(text: str, reason: str | None) -> None:
    assert reason_by_text(text, min_chars=20 if len(text) < 25 else 0) == reason


def test_markup_without_end_takes_linear_time() -> None:
    for unit in ("{{", "{{ ", "#REDIRECT ", "{{disambig", "{{surname\t", " \n"):
        began = time.perf_counter()
        page = Wikitext("A", 0, unit * 200_000)
        redirect_target(page)
        reason_by_source(page, keep_lists=False)
        assert time.perf_counter() - began < 5, unit


def test_redirects_of_every_kind(make: Maker) -> None:
    redirects = {
        "One": "Article",
        "Two": "One",
        "Three": "Two",
        "Lower": "article",
        "Self": "Self",
        "Ring A": "Ring B",
        "Ring B": "Ring C",
        "Ring C": "Ring A",
        "Into the ring": "Ring A",
        "Dead": "Missing",
        "To dead": "Dead",
        "To list": "List of x",
        "Section": "Article#Part",
        "Through section": "Section",
    }
    pages = [P(name, f"#REDIRECT [[{target}]]") for name, target in redirects.items()]
    article = P("Article", f"{prose(150)}\n== Part ==\n{prose(60)}")
    links = " ".join(f"[[{name}|{name}]]" for name in redirects)
    built = make(
        [*pages, article, P("List of x", prose(60)), P("Source", links + prose(30))], entity_links=False
    )
    graph = built.graph
    for name in ("One", "Two", "Three", "Lower", "Section", "Through section"):
        assert graph.find(name) == graph.find("Article"), name
    for name in ("Self", "Ring A", "Ring B", "Ring C", "Into the ring", "Dead", "To dead", "To list"):
        assert graph.article(name) is None, name
    last = f"Article ({len(graph.article_blocks(0)) - 1})"
    assert built.linked("Source") == [("Article (0)", "One"), (last, "Section")]
    unresolved = built.ledger["links"]["unresolved"]
    assert unresolved["redirect loop"] == 5
    assert unresolved["redirect to a missing page"] == 2
    assert unresolved["redirect to a page left out"] == 1
    assert built.ledger["damage"] == {"redirect loop": 5}


def test_list_pages_are_kept_on_demand(make: Maker) -> None:
    pages = [P("A", prose(60)), P("List of x", prose(60))]
    assert make(pages).graph.articles == 1
    assert make(pages, keep_list_pages=True).graph.articles == 2


def test_an_article_wins_over_a_redirect_and_a_left_out_page_of_its_name(make: Maker) -> None:
    built = make(
        [
            P("A", "Short."),
            P("A", "#REDIRECT [[B]]"),
            P("A", "Here. " + prose(60)),
            P("B", prose(60)),
            P("C", "[[A]] " + prose(60)),
        ],
        entity_links=False,
    )
    assert built.linked("C") == [("A (0)", "A")]
    assert built.ledger["pages"]["skipped"] == {"redirect": 1, "short": 1}


def test_scripts_without_blanks_say_more_with_a_character() -> None:
    assert reason_by_text("苏州是一座城市", min_chars=20) is None
    assert reason_by_text("苏州", min_chars=20) == "short"
    assert reason_by_text("Суджоу город", min_chars=20) == "short"
    assert reason_by_text("", min_chars=0) == "short"


def test_lists_and_disambiguations_are_a_wikis() -> None:
    text = "Pods may refer to:\nA pod\nAnother pod"
    assert reason_by_text(text, min_chars=0, wiki=False) is None
