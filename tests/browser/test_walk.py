"""Walk: suggestions, a walk watched to its end, replayed, shared, compared; by mouse and by keyboard alone."""

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import (
    NO_PLAYWRIGHT,
    Shoot,
    Site,
    Visit,
    Watch,
    address,
    named,
    rests_at,
    search,
    text_of,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect
Walk = dict[str, Any]


def from_field(page: "Page") -> Any:
    return page.get_by_role("combobox", name="From")


def to_field(page: "Page") -> Any:
    return page.get_by_role("combobox", name="To", exact=True)


def stops(page: "Page", name: str = "The agent's trail") -> list[str]:
    """The stops of a trail by their full names."""
    found = page.get_by_role("list", name=name).get_by_role("button").all()
    return [str(stop.get_attribute("title")) for stop in found]


def pages(walk: Walk, steps: str = "steps") -> list[str]:
    return [named(walk["start"]), *(named(click["to"]) for click in walk[steps])]


def test_titles_are_suggested_as_one_types(visit: Visit, site: Site) -> None:
    page = visit()
    typed = from_field(page)
    expect(typed).to_have_attribute("aria-expanded", "false")
    typed.press_sequentially("p")
    options = page.locator("[role=option]")
    expect(options.first).to_be_visible()
    wanted = [place["title"] for place in site.ask("titles", q="p", limit=8)["titles"]]
    assert len(wanted) > 2
    assert [option.locator("bdi").inner_text() for option in options.all()] == wanted
    expect(typed).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".combobox").first.get_by_role("status")).to_have_text(f"{len(wanted)} titles")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    assert typed.get_attribute("aria-activedescendant") == options.nth(1).get_attribute("id")
    page.keyboard.press("Enter")
    expect(typed).to_have_value(wanted[1])
    expect(options.first).to_be_hidden()
    typed.fill("qqqqzz")
    expect(page.get_by_text("No title like that")).to_be_visible()
    page.keyboard.press("Escape")
    expect(typed).to_have_attribute("aria-expanded", "false")
    typed.fill(wanted[2][:-1])
    options.filter(has_text=wanted[2]).first.click()
    expect(typed).to_have_value(wanted[2])


# What lights up in the text and what is said aloud, as it happens.
NOTES = """() => {
  window.notes = { chosen: [], said: [] };
  new MutationObserver((changes) => {
    for (const { target, oldValue, type } of changes) {
      const lit = type === "attributes" && target.matches(".chosen") && !/chosen/.test(oldValue);
      if (lit) notes.chosen.push(target.textContent);
      if (target.id === "live" && target.textContent !== notes.said.at(-1)) notes.said.push(target.textContent);
    }
  }).observe(document.body, { subtree: true, childList: true, attributeFilter: ["class"], attributeOldValue: true });
}"""


def _words(click: dict[str, Any]) -> str:
    """What stands on the page where a click is made."""
    if click["kind"] in ("prev", "next"):
        return ("Block before" if click["kind"] == "prev" else "Block after") + named(click["to"])
    return str(click["link"])


def test_an_agent_is_watched_to_its_goal(visit: Visit, trip: Walk, shoot: Shoot) -> None:
    page = visit(motion="no-preference")
    from_field(page).fill(trip["start"]["name"])
    to_field(page).fill(trip["goal"]["name"])
    page.evaluate(NOTES)
    page.get_by_role("button", name="Walk", exact=True).click()
    expect(page.locator(".card")).to_be_visible()
    expect(page.get_by_role("list", name="The shortest path")).to_be_hidden()
    page.get_by_label("Speed").select_option("4")
    clicks = len(trip["steps"])
    verdict = page.get_by_text(f"Found in {clicks} clicks.")
    expect(verdict).to_be_visible()
    notes = page.evaluate("notes")
    assert notes["chosen"] == [_words(click) for click in trip["steps"]]
    assert notes["said"][0] == f"Start: \u2068{named(trip['start'])}\u2069."
    for number, click in enumerate(trip["steps"], 1):
        (said,) = (words for words in notes["said"] if words.startswith(f"Click {number}:"))
        assert f"to \u2068{named(click['to'])}\u2069" in said
        assert click["link"] in said
    expect(page.locator(".card.reached").get_by_role("heading")).to_have_text(named(trip["goal"]))
    assert stops(page) == pages(trip)
    assert stops(page, "The shortest path") == pages(trip, "optimum")
    rests_at(page, clicks)
    page.wait_for_timeout(600)  # the picture is of what came to rest
    shoot(page, "walk-end")


def test_a_walk_can_be_held_and_stepped_through(visit: Visit, trip: Walk) -> None:
    page = visit(address(trip))
    page.get_by_role("button", name="Pause").click()
    rests_at(page, 0)
    headline = page.locator(".card").get_by_role("heading")
    expect(headline).to_have_text(named(trip["start"]))
    page.get_by_role("button", name="Step on").click()
    expect(headline).to_have_text(named(trip["steps"][0]["to"]))
    rests_at(page, 1)
    expect(page.get_by_text("1 click so far")).to_be_visible()
    page.get_by_role("button", name="To the end").click()
    expect(page.locator(".card.reached")).to_be_visible()
    page.get_by_role("button", name="Replay").click()
    expect(headline).to_have_text(named(trip["start"]))
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_every_page_shows_its_text_its_links_and_what_was_weighed(
    visit: Visit, site: Site, trip: Walk
) -> None:
    page = visit(address(trip, step=0))
    for number, click in enumerate(trip["steps"]):
        block = site.ask(f"block/{click['at']['node']}")
        expect(page.locator(f".card[data-node='{block['place']['node']}']")).to_be_visible()
        shown = "\n".join(page.locator(".card .text p").all_inner_texts())
        assert shown.split() == text_of(block).split()
        assert page.locator(".card .text a").count() == sum(s["link"] is not None for s in block["segments"])
        chosen = page.locator(".card .chosen")
        if click["segment"] is None:
            expect(chosen).to_have_class(re.compile(rf"\b{click['kind']}\b"))
        else:
            expect(chosen).to_have_attribute("data-segment", str(click["segment"]))
        bars = page.locator(".bars li").all()
        assert len(bars) == len(click["choices"])
        for bar, choice in zip(bars, click["choices"], strict=True):
            assert bar.locator(".place bdi").inner_text() == choice["title"]
            heads = [f"on the way to {choice['towards']}"] if choice["towards"] else []
            assert bar.locator(".towards").all_inner_texts() == heads
            shown_chance = bar.locator(".chance").inner_text()
            assert shown_chance in (f"{round(100 * choice['probability'])}%", "<1%", ">99%")
            assert ("taken" in (bar.get_attribute("class") or "")) == choice["taken"]
        widths = page.locator(".bars .fill").evaluate_all("all => all.map(e => e.offsetWidth)")
        assert widths == sorted(widths, reverse=True)
        page.keyboard.press("ArrowRight")
        rests_at(page, number + 1)
    expect(page.locator(".card.reached")).to_be_visible()


def test_what_is_clicked_is_what_was_likeliest(visit: Visit, site: Site) -> None:
    """For every agent that leaves nothing to chance, and one number for one click wherever it is shown."""
    found = [site.ask("pair", seed=seed, least=2) for seed in (1, 2)]
    for number, pair in enumerate(found):
        for agent in ("compass", "greedy", "greedy-unvisited", "greedy-map", "greedy-dfs")[number::2]:
            asked = {
                "start": pair["start"]["name"],
                "goal": pair["goal"]["name"],
                "agent": agent,
                "budget": 6,
            }
            walk = site.ask("walk", asked)
            page = visit(address(walk, agent=agent, budget=6, step=0))
            shown = []
            for step, click in enumerate(walk["steps"]):
                expect(page.locator(f".card[data-node='{click['at']['node']}']")).to_be_visible()
                expect(page.locator(".bars .taken")).to_have_count(1)
                widths = page.locator(".bars .fill").evaluate_all("all => all.map(e => e.offsetWidth)")
                taken = page.locator(".bars .taken .fill").evaluate("e => e.offsetWidth")
                assert taken == max(widths), (agent, step)
                shown.append(page.locator(".bars .taken .chance").inner_text())
                page.keyboard.press("ArrowRight")
                rests_at(page, step + 1)
            every = page.get_by_role("list", name="Every click").locator(".chance")
            expect(every).to_have_text(shown)
            page.close()


def test_where_a_walker_heads_is_said(visit: Visit, site: Site) -> None:
    heads = None
    for seed in range(40):
        pair = site.ask("pair", seed=seed, least=3)
        walk = site.ask("walk", {"start": pair["start"]["name"], "goal": pair["goal"]["name"]})
        clicks = (
            click for click in walk["steps"] if any(c["taken"] and c["towards"] for c in click["choices"])
        )
        if (heads := next(clicks, None)) is not None:
            break
    assert heads is not None, "no walk came back for anything"
    page = visit(address(walk, step=heads["number"] - 1))
    (taken,) = (choice for choice in heads["choices"] if choice["taken"])
    expect(page.locator(".bars .taken .towards")).to_have_text(f"on the way to {taken['towards']}")


def test_a_trail_is_replayed_by_stops_and_arrow_keys(visit: Visit, trip: Walk) -> None:
    clicks = len(trip["steps"])
    page = visit(address(trip, step=clicks))
    headline = page.locator(".card").get_by_role("heading")
    names = pages(trip)
    expect(headline).to_have_text(named(trip["goal"]))
    page.keyboard.press("ArrowLeft")
    expect(headline).to_have_text(named(trip["steps"][-1]["at"]))
    page.keyboard.press("Home")
    rests_at(page, 0)
    current = page.locator("[aria-current=step]")
    expect(current).to_have_attribute("title", names[0])
    trail = page.get_by_role("list", name="The agent's trail")
    trail.get_by_role("button").nth(2).click()
    expect(current).to_have_attribute("title", names[2])
    expect(trail.locator("button[tabindex='0']")).to_have_count(
        1
    )  # however long the walk, the Tab key gets past it
    page.keyboard.press("ArrowLeft")
    expect(trail.get_by_role("button").nth(1)).to_be_focused()
    page.get_by_role("list", name="The shortest path").get_by_role("button").nth(1).click()
    best = trip["optimum"][0]["to"]
    expect(current).to_have_attribute("title", named(best))
    assert search(page) | {"step": "1", "trail": "optimum"} == search(page)
    expect(page.locator(f".card[data-node='{best['node']}']")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator(".card.reached")).to_be_visible()


def test_by_keyboard_alone(visit: Visit, trip: Walk) -> None:
    page = visit()
    expect(page.get_by_role("link", name=re.compile("clicks?$")).first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(from_field(page)).to_be_focused()
    outline = page.locator(":focus").evaluate("e => getComputedStyle(e).outlineStyle")
    assert outline == "solid", "where the focus is can be seen"
    for field, place in ((from_field(page), trip["start"]), (to_field(page), trip["goal"])):
        expect(field).to_be_focused()
        page.keyboard.type(place["title"])
        option = page.locator("[role=option]:visible").first
        expect(option).to_contain_text(place["title"])
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(field).to_have_value(place["title"])
        page.keyboard.press("Tab")  # past the button that swaps the two, past the kind of goal
        page.keyboard.press("Tab")
    expect(page.get_by_label("Agent", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".player")).to_be_focused()
    expect(page.locator(".card")).to_be_visible()
    page.keyboard.press("ArrowRight")
    rests_at(page, 1)
    page.keyboard.press("End")
    expect(page.locator("#live")).to_contain_text("That is the goal")
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert page.locator(".card").get_by_role("heading").inner_text() == named(trip["start"])


def test_a_shared_address_opens_the_same_page(visit: Visit, trip: Walk, shoot: Shoot) -> None:
    page = visit(address(trip, step=0))
    expect(page.locator(".card .chosen")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator(f".card[data-node='{trip['steps'][0]['to']['node']}']")).to_be_visible()
    page.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    expect(page.locator("#live")).to_have_text("The link is on the clipboard.")
    shared = page.evaluate("navigator.clipboard.readText()")
    assert shared == page.url
    again = visit(shared.partition("/?")[2].join(["?", ""]))
    expect(again.locator("[aria-current=step]")).to_have_attribute("title", pages(trip)[1])
    for selector in (".card", ".verdict", ".bars"):
        assert again.locator(selector).inner_text() == page.locator(selector).inner_text()
    assert again.title() == page.title()
    shoot(again, "walk")


def test_back_and_forward(visit: Visit, trip: Walk) -> None:
    page = visit()
    chip = page.locator(".chip").first
    expect(chip).to_be_visible()
    words = chip.locator("bdi").all_inner_texts()
    chip.click()
    expect(from_field(page)).to_have_value(re.compile(f"^{re.escape(words[0])}"))
    page.get_by_role("link", name="Graph").click()
    expect(page.get_by_role("link", name="Graph")).to_have_attribute("aria-current", "page")
    expect(page.get_by_role("heading", name="Path lengths")).to_be_visible()
    page.go_back()
    expect(page.locator(".player")).to_be_visible()
    expect(to_field(page)).to_have_value(re.compile(f"^{re.escape(words[1])}"))
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Watch an agent")
    expect(from_field(page)).to_have_value("")
    page.go_forward()
    expect(page.locator(".player")).to_be_visible()


def test_agents_side_by_side(visit: Visit, site: Site, trip: Walk, shoot: Shoot) -> None:
    page = visit(address(trip, step=0))
    page.get_by_role("button", name="Compare agents").click()
    agents = ["compass", "greedy-unvisited", "random"]
    ends = {"start": trip["start"]["node"], "goal": trip["goal"]["node"]}
    found = site.ask("compare", ends | {"agents": agents})
    lanes = page.locator(".lane")
    expect(lanes).to_have_count(1 + len(agents))
    for number, walk in enumerate(found["walks"], 1):
        expect(lanes.nth(number).get_by_role("heading")).to_have_text(walk["agent"])
        expect(lanes.nth(number).locator(".big")).to_contain_text(str(len(walk["steps"])))
        expect(lanes.nth(number).locator(".result")).to_have_text("found" if walk["success"] else "not found")
    expect(lanes.first.locator(".column li")).to_have_count(1 + found["walks"][0]["distance"])
    shoot(page, "walk-compare", whole=True)
    page.get_by_role("checkbox", name="random", exact=True).uncheck()
    expect(lanes).to_have_count(len(agents))
    assert search(page)["compare"] == "compass,greedy-unvisited"
    fold = visit(address(trip, step=0, compare="random", budget=100, seed=3))
    expect(fold.locator(".lane")).to_have_count(2)


def test_towards_a_sentence(visit: Visit, site: Site, trip: Walk) -> None:
    page = visit()
    page.get_by_role("radio", name="A sentence").check()
    expect(to_field(page)).to_be_hidden()
    from_field(page).fill(trip["start"]["name"])
    first = site.ask(f"block/{trip['steps'][0]['to']['node']}")
    sentence = text_of(first).partition("\n")[0].partition(". ")[0]
    page.get_by_label("Towards a sentence").fill(sentence)
    page.get_by_role("button", name="Walk", exact=True).click()
    expect(page.locator(".card")).to_be_visible()
    assert search(page)["sentence"] == sentence
    expect(page.get_by_role("region", name="Goal")).to_contain_text(sentence)
    page.keyboard.press("End")
    best = site.ask("walk", {"start": trip["start"]["name"], "sentence": sentence})["closest"]["place"]
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("Closest page")
    expect(verdict.locator("bdi")).to_have_text(best["title"])
    verdict.get_by_role("button").click()
    expect(page.locator(f".card.reached[data-node='{best['node']}']")).to_be_visible()


def test_surprise_me(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Surprise me").click()
    expect(page.locator(".card")).to_be_visible()
    assert from_field(page).input_value() == search(page)["from"]
    assert to_field(page).input_value() == search(page)["to"]


def test_what_is_wrong_is_said_in_one_line(visit: Visit, watch: Watch) -> None:
    page = visit()
    page.get_by_role("button", name="Walk", exact=True).click()
    alert = page.get_by_role("alert")
    expect(alert).to_have_text("Name an article to start from.")
    expect(from_field(page)).to_be_focused()
    from_field(page).fill("Anymal")
    to_field(page).fill("Nothing of the kind at all")
    page.get_by_role("button", name="Walk", exact=True).click()
    expect(alert).to_contain_text("No article named 'Anymal'")
    assert "\n" not in alert.inner_text().strip()
    expect(from_field(page)).to_be_focused()
    expect(from_field(page)).to_have_attribute("aria-invalid", "true")
    expect(to_field(page)).not_to_have_attribute("aria-invalid", "true")
    watch.expected += ["status 404", "404 (Not Found)"]  # with a step the walk is asked for at once
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(page.url + "&step=1")
    expect(alert).to_contain_text("No article named 'Anymal'")
    expect(from_field(page)).to_be_focused()  # also on a phone, where the form steps back behind a walk
