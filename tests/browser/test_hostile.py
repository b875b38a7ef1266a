"""A wiki that means harm: whatever its titles and texts say is text on the page, and nothing comes of it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np
import pytest

from linkwalk.artifact import write_json
from linkwalk.embed import embed
from linkwalk.graph.store import BACKLINK, CONTENTS, LINK, Graph
from linkwalk.graph.writer import GraphWriter
from linkwalk.retrieve import index
from tests.browser.conftest import NO_PLAYWRIGHT, ROOT, Shoot, Site, Visit, search, served

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect

SCRIPT = "<script>alert('title')</script>"
IMAGE = "<img src=x onerror=alert('image')>"
OVER = "Photo \u202egnp.exe"  # the sign turns what follows around: it reads as if it ended in .png
URL = "javascript:alert('link')"
BRACES = "{{constructor.constructor('alert(1)')()}} ${alert(1)} <% alert(1) %>"
LONG = "Pneumono" + "ultra" * 60
ATTRIBUTE = "\"><svg onload=alert('svg')>' onmouseover='alert(2)"
TITLES = (SCRIPT, IMAGE, OVER, URL, BRACES, LONG, ATTRIBUTE)
ADDRESSES = ["javascript:alert('address')", *(f"in/{title}.md" for title in TITLES[1:])]
Part = str | tuple[str, str]
"""Text, or the words of a link and the title it leads to."""

TEXTS: dict[str, Sequence[Part]] = {
    SCRIPT: (
        "Harbour stones: <script>alert('text')</script> then ",
        ("<b onclick=alert('b')>bold</b>", IMAGE),
        " and <iframe src='http://elsewhere.invalid/'></iframe>.",
    ),
    IMAGE: (
        "<img src='http://elsewhere.invalid/x.png' onerror=alert('img')> in the harbour, ",
        ("\u202etfel ot thgir", OVER),
        ".",
    ),
    OVER: ("The harbour reads \u202ebackwards\u202c from here to ", ("javascript:alert('words')", URL), "."),
    URL: ("Harbour <a href=\"javascript:alert('a')\">click</a> or ", ("{{braces}}", BRACES), "."),
    BRACES: ("{{7*7}} ${7*7} #{7*7} in the harbour: ", (LONG, LONG), "."),
    LONG: (LONG * 3, " harbour ", ("</a></article></main>", ATTRIBUTE), "."),
    ATTRIBUTE: (
        "<style>body{display:none}</style><!-- harbour <textarea> ",
        ("<form action='http://elsewhere.invalid'><input autofocus onfocus=alert(3)>", SCRIPT),
        " \x07\u2066\u2028end\u2069.",
    ),
}


def write(workspace: Path) -> None:
    """A graph straight from these texts: no parser stands between them and the page."""
    numbers = {title: number for number, title in enumerate(TEXTS)}
    with GraphWriter(workspace / "graph") as writer:
        writer.add_articles(list(TITLES), np.arange(len(TITLES)))
        writer.add_addresses(ADDRESSES)
        writer.add_parents(np.arange(len(TITLES)) - 1)
        for title, parts in TEXTS.items():
            text, spans, targets = b"", [], []
            for part in parts:
                words = (part if isinstance(part, str) else part[0]).encode()
                if not isinstance(part, str):
                    spans.append((len(text), len(text) + len(words)))
                    targets.append(numbers[part[1]])
                text += words
            writer.add_blocks(
                text=text,
                text_lengths=np.array([len(text)]),
                article=np.array([numbers[title]]),
                block=np.array([0]),
                section=np.array([1]),
                sentence_counts=np.array([1]),
                sentence_ends=np.array([len(text)]),
            )
            kinds = [LINK] * len(spans)
            if numbers[title]:  # up to the page before, and back to the first
                targets += [numbers[title] - 1, 0][: numbers[title]]
                kinds += [CONTENTS, BACKLINK][: numbers[title]]
                spans += [(0, 0), (0, 0)][: numbers[title]]
            writer.add_edges(
                degrees=np.array([len(spans)]),
                targets=np.array(targets, np.int64),
                kinds=np.array(kinds, np.int64),
                spans=np.array(spans, np.int64),
            )
        writer.add_sections(["", "<u>Section</u>\u202e"])
        writer.add_redirects([], np.array([], np.int64))
        snapshot = {"name": "<h1>Evil</h1> wiki \u202e", "date": "2026-01-01"}
        writer.finish({"config": {}, "inputs": [], "snapshot": snapshot})
        write_json(workspace / "graph" / "ledger.json", {})


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over it, with everything the views need."""
    wiki = tmp_path_factory.mktemp("evil") / "wiki"
    write(wiki)
    embed(wiki, device="cpu")
    index(wiki, Graph.open(wiki))
    with served(wiki) as site:
        yield site


def harmless(page: "Page") -> None:
    """Nothing on the page was made of the wiki's words: no such element, attribute, address or frame."""
    assert page.locator("main, body").count() == 2
    made = page.locator("main").locator(
        "script, style, iframe, img, form[action], u, textarea:not(#question), h1 h1"
    )
    assert made.evaluate_all("all => all.map(e => e.outerHTML)") == []
    names = page.locator("*").evaluate_all("all => all.flatMap(e => e.getAttributeNames())")
    assert [name for name in names if name.startswith("on")] == []
    links = page.locator("a").evaluate_all("all => all.map(a => a.protocol)")
    assert set(links) <= {"http:"}
    assert page.evaluate("document.body.checkVisibility()")
    assert len(page.frames) == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [1280, 360])
def test_every_page_of_it_reads_as_it_was_written(width: int, visit: Visit, evil: Site, shoot: Shoot) -> None:
    clicks = len(TITLES) - 1
    ends = {"view": "walk", "from": SCRIPT, "to": ATTRIBUTE, "step": 0}
    page = visit(f"?{urlencode(ends)}", site=evil, width=width)
    walk = evil.ask("walk", {"start": SCRIPT, "goal": ATTRIBUTE})
    assert len(walk["steps"]) == clicks
    for number, title in enumerate(TITLES):
        card = page.locator(".card")
        expect(card.get_by_role("heading")).to_have_text(title)
        shown = card.locator(".text").evaluate("e => e.textContent")
        assert shown == "".join(part if isinstance(part, str) else part[0] for part in TEXTS[title])
        expect(card.locator(".address")).to_have_text(ADDRESSES[number])
        assert card.locator(".above").count() == bool(number)
        assert card.locator(".listed").count() == (number > 1)
        if number:
            expect(card.locator(".above")).to_contain_text(TITLES[number - 1])
        harmless(page)
        for link in card.locator("a").all():
            link.hover()
        if number < clicks:
            chosen = card.locator(".chosen")
            assert chosen.evaluate("e => e.textContent") == walk["steps"][number]["link"]
            page.keyboard.press("ArrowRight")
    expect(page.locator(".verdict")).to_contain_text(f"Found in {clicks} clicks.")
    expect(page.locator(".verdict")).not_to_contain_text("NaN")
    shoot(page, f"hostile-{width}", whole=True)


def test_titles_do_not_turn_around_what_stands_beside_them(visit: Visit, evil: Site) -> None:
    page = visit(f"?{urlencode({'view': 'walk', 'from': OVER, 'to': BRACES, 'step': 0})}", site=evil)
    stop = page.get_by_role("list", name="The agent's trail").get_by_role("button").first
    expect(stop).to_be_visible()
    isolated = (
        page.locator("bdi")
        .filter(has_text="gnp.exe")
        .evaluate_all("all => all.map(e => getComputedStyle(e).unicodeBidi)")
    )
    assert isolated
    assert set(isolated) == {"isolate"}
    assert page.title().startswith(f"\u2068{OVER}\u2069 → ")
    assert stop.get_attribute("aria-label") == f"0: \u2068{OVER}\u2069"
    expect(page.locator(".card .text .link").first).to_be_visible()
    links = page.locator(".card .text .link").evaluate_all(
        "all => all.map(e => getComputedStyle(e).unicodeBidi)"
    )
    assert set(links) == {"isolate"}


def test_suggestions_evidence_games_and_figures_are_text_too(visit: Visit, evil: Site, shoot: Shoot) -> None:
    page = visit(site=evil)
    expect(page.locator("#snapshot")).to_contain_text("<h1>Evil</h1>")
    field = page.get_by_role("combobox", name="From")
    field.press_sequentially("<img")
    expect(page.locator("[role=option]").first).to_contain_text(IMAGE)
    harmless(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field).to_have_value(IMAGE)
    field.fill("<script>alert('typed')</script>zz")
    page.get_by_role("combobox", name="To", exact=True).fill(IMAGE)
    page.get_by_role("button", name="Walk", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("<script>alert('typed')</script>zz")
    harmless(page)

    page = visit("?view=ask&q=<img src=x onerror=alert(9)> harbour", site=evil)
    expect(page.locator(".evidence > li").first).to_be_visible()
    folded = page.get_by_role("button", name="Show the paragraph")
    while folded.count():
        folded.first.click()
    expect(page.locator(".around .eyebrow").first).to_contain_text("<u>Section</u>")
    harmless(page)

    page = visit(f"?{urlencode({'view': 'play', 'from': SCRIPT, 'to': OVER})}", site=evil)
    page.get_by_role("button", name="Start the clock").click()
    page.get_by_text("<b onclick=alert('b')>bold</b>").click()
    expect(page.locator(".card").get_by_role("heading")).to_have_text(IMAGE)
    page.locator(".card .link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("2 clicks"))
    assert search(page)["end"] == "won"
    harmless(page)

    page = visit("?view=graph", site=evil)
    expect(page.get_by_role("heading", level=1)).to_contain_text("<h1>Evil</h1>")
    harmless(page)


def test_no_script_writes_markup() -> None:
    scripts = sorted((ROOT / "src" / "linkwalk" / "serve" / "page").glob("*.js"))
    assert len(scripts) > 10
    for script in scripts:
        found = re.findall(
            r"\b(?:inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|Function\(",
            script.read_text(),
        )
        assert found == [], script.name


def test_the_check_itself_finds_what_it_looks_for(visit: Visit, evil: Site) -> None:
    page = visit("?view=graph", site=evil)
    expect(page.locator(".chart").first).to_be_visible()
    page.evaluate(
        "document.querySelector('main').append(Object.assign(document.createElement('img'), {alt: 'x'}))"
    )
    with pytest.raises(AssertionError):
        harmless(page)
