"""Play: a game won along the shortest path, one given up, the back button, the run that is kept, games as addresses."""

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from tests.browser.conftest import NO_PLAYWRIGHT, Shoot, Site, Visit, Watch, search

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect


def play_address(trip: dict[str, Any], **more: object) -> str:
    ends = {"view": "play", "from": trip["start"]["name"], "to": trip["goal"]["name"]}
    return f"?{urlencode(ends | more)}"


def take(page: "Page", click: dict[str, Any]) -> None:
    """Click as a click of the API says."""
    card = page.locator(f".card[data-node='{click['at']['node']}']")
    if click["segment"] is None:
        card.locator(f".beside.{click['kind']}").click()
    else:
        card.locator(f"[data-segment='{click['segment']}']").click()


def test_a_game_is_won_along_the_shortest_path(
    visit: Visit, site: Site, trip: dict[str, Any], shoot: Shoot
) -> None:
    page = visit(play_address(trip))
    expect(page.get_by_role("heading", level=1)).to_contain_text(trip["goal"]["title"])
    page.get_by_role("button", name="Start the clock").click()
    optimum = trip["optimum"]
    for number, click in enumerate(optimum):
        expect(page.get_by_role("region", name="Goal")).to_contain_text(trip["goal"]["title"])
        expect(page.get_by_role("region", name="Goal").locator(".figure").first).to_have_text(str(number))
        stops = page.get_by_role("list", name="Your trail").locator("li:not(.ahead)")
        expect(stops).to_have_count(number + 1)
        if number == len(optimum) - 1:
            shoot(page, "play")
        take(page, click)
    clicks, theirs = len(optimum), len(trip["steps"])
    verdict = page.get_by_role("heading", level=1)
    words = (
        f"A draw: {clicks} clicks each."
        if clicks == theirs
        else f"You won: {clicks} clicks to the agent's {theirs}."
    )
    expect(verdict).to_have_text(words)
    lanes = page.locator(".lane")
    expect(lanes).to_have_count(3)
    assert [lane.locator(".column li").count() for lane in lanes.all()] == [
        1 + clicks,
        1 + theirs,
        1 + clicks,
    ]
    assert search(page)["end"] == "won"
    shoot(page, "play-end", whole=True)

    page.get_by_label("Who played").fill("Ada <b>")
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save the run").click()
    expect(page.get_by_text("kept by the server")).to_be_visible()
    line = json.loads(downloading.value.path().read_text(encoding="utf-8"))
    assert (line["format"], line["agent"]) == ("linkwalk-runs", "Ada <b>")
    assert (line["start"], line["goal"]) == (trip["start"]["name"], trip["goal"]["name"])
    assert line["clicks"] == [click["to"]["name"] for click in optimum]
    assert line["success"]
    assert 0 <= line["seconds"] < 600
    kept = json.loads(site.games.read_text(encoding="utf-8").splitlines()[-1])
    assert kept == line

    shared = visit("?" + page.url.partition("?")[2])
    expect(shared.get_by_role("heading", level=1)).to_have_text(words)
    expect(shared.get_by_label("Who played")).to_have_count(0)


def test_the_back_button_counts_and_giving_up_shows_the_way(visit: Visit, trip: dict[str, Any]) -> None:
    page = visit(play_address(trip))
    page.get_by_role("button", name="Start the clock").click()
    back = page.get_by_role("button", name="Back", exact=False).first
    expect(back).to_be_disabled()
    first = trip["steps"][0]
    take(page, first)
    expect(page.locator(".card .headline")).to_be_focused()
    expect(page.locator("#live")).to_contain_text("Click 1:")
    back.click()
    expect(page.locator(f".card[data-node='{first['at']['node']}']")).to_be_visible()
    expect(back).to_be_disabled()
    expect(page.locator(".figure").first).to_have_text("2")
    nodes = [first["to"]["node"], first["at"]["node"]]
    assert search(page)["steps"] == ".".join(map(str, nodes))
    page.reload()  # the game goes on where it was
    expect(page.locator(".figure").first).to_have_text("2")
    page.get_by_role("button", name="Give up").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        f"The agent found it in {len(trip['steps'])} clicks."
    )
    expect(page.locator(".lane.you .result")).to_contain_text("given up")
    expect(page.locator(".lane.you .column li")).to_have_count(3)
    page.get_by_role("link", name="Same pair again").click()
    expect(page.get_by_role("button", name="Start the clock")).to_be_visible()
    assert "steps" not in search(page)


def test_a_random_pair_can_be_shared(visit: Visit) -> None:
    page = visit("?view=play")
    page.get_by_role("button", name="Play a random pair").click()
    expect(page.get_by_role("button", name="Start the clock")).to_be_visible()
    heading = page.get_by_role("heading", level=1).inner_text()
    page.get_by_role("button", name="Share this pair").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    shared = page.evaluate("navigator.clipboard.readText()")
    other = visit("?" + shared.partition("?")[2])
    expect(other.get_by_role("heading", level=1)).to_have_text(heading)
    seed = search(page)["seed"]
    page.get_by_role("button", name="Another pair").click()
    expect(page.get_by_role("button", name="Start the clock")).to_be_visible()
    assert search(page)["seed"] != seed, "another draw, which on a small wiki may give the same two"
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    assert search(page)["seed"] == seed


def test_what_cannot_be_played_is_said(visit: Visit, watch: Watch, trip: dict[str, Any]) -> None:
    page = visit("?view=play")
    page.get_by_role("button", name="Play this pair").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Name both articles")
    page.goto(page.url.partition("?")[0] + play_address(trip, steps=trip["goal"]["node"]))
    expect(alert).to_contain_text("follows no link")
    expect(page.get_by_role("combobox", name="From")).to_have_value(
        re.compile(re.escape(trip["start"]["title"]))
    )
    same = {"view": "play", "from": trip["start"]["name"], "to": trip["start"]["name"]}
    page.goto(f"{page.url.partition('?')[0]}?{urlencode(same)}")
    expect(alert).to_contain_text("the same page")
    watch.expected += ["status 404", "404 (Not Found)"]
    page.goto(page.url.partition("?")[0] + "?view=play&from=Qqqqzz&to=Zzzqq")
    expect(alert).to_contain_text("No article named")
