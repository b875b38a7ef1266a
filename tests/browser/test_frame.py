"""What holds for every view: colours, contrast, phones, headings and names; what is missing on the server is said."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np
import pytest

from tests.browser.conftest import NO_PLAYWRIGHT, Shoot, Site, Visit, Watch, address, search, served
from tests.graph.conftest import random_graph

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect
VIEWS = ("walk", "walk-begun", "ask", "play", "play-begun", "graph")

# Text whose contrast with what lies behind it is below what WCAG 2.2 AA asks for.
CONTRAST = """() => {
  const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const light = (colour) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = numbers(colour).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const { backgroundColor: colour } = getComputedStyle(e);
      if ((numbers(colour)[3] ?? 1) > 0.99) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest("svg, .unseen, .skip, :disabled, option")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(style.color), light(behind(element))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < least) found.push([contrast, element.className, element.textContent.slice(0, 30)]);
  }
  return found;
}"""


def open_view(visit: Visit, name: str, trip: dict[str, Any], **options: Any) -> "Page":
    """A view at rest, with something in it."""
    play = {"view": "play", "from": trip["start"]["name"], "to": trip["goal"]["name"]}
    queries = {
        "walk": "",
        "walk-begun": address(trip, step=1, compare="compass,random"),
        "ask": f"?view=ask&q=What+is+{trip['goal']['title']}",
        "play": "?view=play",
        "play-begun": f"?{urlencode(play | {'steps': trip['steps'][0]['to']['node']})}",
        "graph": "?view=graph",
    }
    ready = {
        "walk": ".chip",
        "walk-begun": ".lane",
        "ask": ".evidence",
        "play": "form",
        "play-begun": ".card",
        "graph": ".chart",
    }
    page = visit(queries[name], **options)
    page.locator(ready[name]).first.wait_for()
    return page


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_in_light_in_dark_and_on_a_phone(
    name: str, visit: Visit, trip: dict[str, Any], shoot: Shoot
) -> None:
    page = open_view(visit, name, trip)
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert page.evaluate(CONTRAST) == []
        shoot(page, f"{scheme}-{name}")
    nameless = page.locator("button, a, input, select, textarea").evaluate_all(
        """all => all.filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length))
                     .map(e => e.outerHTML.slice(0, 90))"""
    )
    assert nameless == []
    assert page.locator("h1").count() == 1
    headings = page.locator("h1:visible, h2:visible, h3:visible")
    levels = headings.evaluate_all("all => all.map(e => +e.tagName[1])")
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels)), levels
    ids = page.locator("[id]").evaluate_all("all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert page.locator(".views [aria-current=page]").count() == 1
    page.set_viewport_size({"width": 360, "height": 740})
    page.evaluate("scrollTo(0, 0)")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    small = page.locator(
        "button:visible:not(.inline), .views a, select:visible, summary:visible"
    ).evaluate_all(
        "all => all.filter(e => e.getBoundingClientRect().height < 40).map(e => e.outerHTML.slice(0, 80))"
    )
    assert small == [], "large enough for a finger"
    shoot(page, f"phone-{name}", whole=True)


def test_dark_and_light_are_remembered(visit: Visit) -> None:
    page = visit(scheme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    toggle = page.get_by_role("button", name="Dark colours")
    expect(toggle).to_have_attribute("aria-pressed", "true")
    dark = page.evaluate(ground)
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "false")
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    expect(toggle).to_have_attribute("aria-pressed", "false")
    assert page.evaluate(ground) == light
    assert visit(scheme="light").evaluate(ground) == light


def test_an_address_with_anything_in_it_opens(visit: Visit) -> None:
    page = visit("?view=__proto__&from=%00&seed=x&step=-3#main")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Watch an agent")
    page = visit("?view=graph&x=%F0%9F%9A%80")
    expect(page.get_by_role("heading", name="Degrees")).to_be_visible()


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A wiki with a graph and nothing else."""
    folder: Path = tmp_path_factory.mktemp("bare") / "wiki"
    random_graph(folder, np.random.default_rng(5), articles=30)
    with served(folder, "--lazy") as site:
        yield site


def test_what_is_missing_names_the_command_that_makes_it(visit: Visit, bare: Site) -> None:
    missing = bare.ask("health")["missing"]
    page = visit("?view=ask&q=anything", site=bare)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("linkwalk index")
    wanted = missing["find"].replace("`", "")
    assert alert.inner_text().replace("`", "") == wanted[0].upper() + wanted[1:]
    page = visit(site=bare)
    expect(page.get_by_role("alert")).to_contain_text("linkwalk embed")
    assert "compass" not in page.get_by_label("Agent", exact=True).locator("option").all_inner_texts()
    page.get_by_role("button", name="Surprise me").click()
    expect(page.locator(".card")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator(".verdict b")).to_be_visible()
    assert search(page)["view"] == "walk"


def test_a_server_that_is_gone_is_said(visit: Visit, watch: Watch, tmp_path: Path) -> None:
    random_graph(tmp_path / "wiki", np.random.default_rng(6), articles=8)
    with served(tmp_path / "wiki", "--lazy") as site:
        page = visit(site=site)
        page.locator(".chip").first.wait_for()
    watch.expected += ["ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE"]
    page.get_by_role("link", name="Graph").click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_without_colours_of_its_own_the_state_is_still_seen(visit: Visit, shoot: Shoot) -> None:
    page = visit()
    page.emulate_media(forced_colors="active")
    page.locator(".chip").first.wait_for()
    edge = "e => getComputedStyle(e).borderBottomColor"
    here = page.locator(".views [aria-current]").evaluate(edge)
    others = page.locator(".views a:not([aria-current])").evaluate_all(f"all => all.map({edge})")
    assert here not in others
    outlines = page.locator(".switch span").evaluate_all(
        "all => all.map(e => getComputedStyle(e).outlineStyle)"
    )
    assert outlines == ["solid", "none"]
    shoot(page, "forced-colours")


def test_on_paper_it_is_light_and_without_controls(visit: Visit, trip: dict[str, Any], shoot: Shoot) -> None:
    page = open_view(visit, "walk-begun", trip, scheme="dark")
    page.emulate_media(media="print")
    assert page.locator(".card").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
    for gone in (".top", "form", ".controls", ".foot"):
        expect(page.locator(gone).first).to_be_hidden()
    expect(page.locator(".card .text")).to_be_visible()
    shoot(page, "print", whole=True)


def test_the_description_of_the_api_on_a_phone(visit: Visit, shoot: Shoot) -> None:
    page = visit("docs", width=360)
    expect(page.get_by_role("heading", name="HTTP API", level=1)).to_be_in_viewport()
    expect(page.get_by_role("link", name="POST /api/v1/find")).to_be_hidden()
    page.get_by_text("Endpoints", exact=True).click()
    page.get_by_role("link", name="POST /api/v1/find").click()
    article = page.locator("article#find")
    expect(article.get_by_role("heading", name="POST /api/v1/find")).to_be_in_viewport()
    article.get_by_text("Try it").click()
    article.get_by_role("button", name="Send").click()
    expect(article.get_by_role("status")).to_contain_text("200")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    shoot(page, "docs-phone")
    page.get_by_role("link", name="Graph", exact=True).click()
    expect(page.get_by_role("heading", name="Degrees")).to_be_visible()
