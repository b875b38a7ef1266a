"""What gets in the way: connections that break, pages that are slow or missing, double clicks, second thoughts."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from tests.browser.conftest import NO_PLAYWRIGHT, Visit, Watch, address, named, rests_at

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect
AWAY = ["ERR_CONNECTION_REFUSED"]
Walk = dict[str, Any]


def form(page: "Page", trip: Walk) -> Any:
    """Fill in a walk; the button that starts it."""
    page.get_by_role("combobox", name="From").fill(named(trip["start"]))
    page.get_by_role("combobox", name="To", exact=True).fill(named(trip["goal"]))
    return page.get_by_role("button", name="Walk", exact=True)


def away(page: "Page", *paths: str) -> None:
    """The server cannot be reached at these paths."""
    for path in paths:
        page.route(f"**/api/v1/{path}", lambda route: route.abort("connectionrefused"))


def playing(trip: Walk, **more: object) -> str:
    ends = {"view": "play", "from": named(trip["start"]), "to": named(trip["goal"])}
    return f"?{urlencode(ends | more)}"


def test_a_walk_that_breaks_off_keeps_what_has_come(visit: Visit, watch: Watch, trip: Walk) -> None:
    page = visit()
    watch.expected += AWAY

    def cut(route: "Route") -> None:
        whole = route.fetch()
        start, first, _ = whole.text().partition("event: start")[2].split("\n\n", 2)
        route.fulfill(response=whole, body=f"event: start{start}\n\n{first}\n\n")

    page.route("**/api/v1/walk/events*", cut)
    form(page, trip).click()
    expect(page.get_by_role("alert")).to_contain_text("not the whole walk")
    expect(page.locator(".card").get_by_role("heading")).to_have_text(named(trip["start"]))
    page.get_by_role("button", name="Step on").click()
    expect(page.locator(".card").get_by_role("heading")).to_have_text(named(trip["steps"][0]["to"]))
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator(".card")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator(".card.reached")).to_be_visible()


def test_a_server_that_comes_back_is_asked_again(visit: Visit, watch: Watch, trip: Walk) -> None:
    watch.expected += AWAY
    page = visit()
    away(page, "walk", "walk/events*", "find")
    form(page, trip).click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The server does not answer.")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".card")).to_be_visible()
    expect(alert).to_have_count(0)

    page.get_by_role("link", name="Ask").click()
    away(page, "find", "find/events*")
    page.locator(".chip").first.click()
    expect(alert).to_contain_text("The server does not answer.")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".evidence > li").first).to_be_visible()


def test_a_walk_stands_still_where_a_page_is_missing(visit: Visit, watch: Watch, trip: Walk) -> None:
    watch.expected += AWAY
    page = visit()
    second = trip["steps"][0]["to"]
    away(page, f"block/{second['node']}")
    form(page, trip).click()
    page.get_by_label("Speed").select_option("4")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    expect(page.locator(".counter")).to_have_text("1")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".card").get_by_role("heading")).to_have_text(named(second))


def test_the_end_is_the_end_of_a_walk_still_under_way(visit: Visit, trip: Walk) -> None:
    page = visit()
    page.evaluate(
        """() => {
          const Real = EventSource, held = [];
          window.go = () => held.splice(0).forEach((send) => send());
          window.EventSource = class extends Real {
            clicks = 0;
            addEventListener(name, act) {
              super.addEventListener(name, (event) => {
                const send = () => act(event);
                if (name === "end" || (name === "click" && this.clicks++)) held.push(send);
                else send();
              });
            }
          };
        }"""
    )
    form(page, trip).click()
    expect(page.locator(".bars li.taken")).to_be_visible()
    page.keyboard.press("End")
    rests_at(page, 1)
    expect(page.locator(".card.reached")).to_have_count(0)
    page.wait_for_function(
        "() => performance.getEntriesByType('resource').some((one) => /walk.events/.test(one.name))"
    )
    page.evaluate("go()")
    expect(page.locator(".card.reached")).to_be_visible()
    expect(page.locator(".verdict b")).to_be_visible()
    rests_at(page, len(trip["steps"]))


def test_a_page_that_is_slow_is_waited_for(visit: Visit, trip: Walk) -> None:
    page = visit()
    held: list[Route] = []
    page.route(f"**/api/v1/block/{trip['steps'][0]['to']['node']}", lambda route: held.append(route))
    form(page, trip).click()
    page.get_by_label("Speed").select_option("4")
    expect(page.locator(".page.late")).to_be_visible()
    page.wait_for_timeout(1500)  # two pages, at that speed
    expect(page.locator(".counter")).to_have_text("1")
    for route in held:
        route.continue_()
    expect(page.locator(".card.reached")).to_be_visible()
    expect(page.locator(".page.late")).to_have_count(0)


def test_who_does_not_want_to_wait_cancels(visit: Visit, trip: Walk) -> None:
    page = visit()
    page.route("**/api/v1/walk/events*", lambda route: None)
    walk = form(page, trip)
    walk.click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".player")).to_have_count(0)
    expect(walk).to_be_focused()
    expect(page.locator("#live")).to_have_text("Cancelled.")
    page.unroute_all()
    page.keyboard.press("Enter")
    expect(page.locator(".card")).to_be_visible()

    page.get_by_role("link", name="Ask").click()
    page.route("**/api/v1/find/events*", lambda route: None)
    field = page.get_by_label("A claim or a question")
    field.fill("What is water?")
    field.press("Enter")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".found")).to_be_empty()
    expect(field).to_be_focused()
    page.unroute_all()
    field.press("Enter")
    expect(page.locator(".evidence > li").first).to_be_visible()


def test_a_double_click_is_one(visit: Visit, trip: Walk) -> None:
    page = visit(address(trip, step=0))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition("/api/v1/")[2].partition("?")[0]))
    expect(page.locator(".card")).to_be_visible()
    page.get_by_role("button", name="Walk", exact=True).dblclick(delay=100)
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert asked.count("walk/events") == 1

    page.goto(f"{page.url.partition('?')[0]}?view=ask&q=What+is+a+star")
    expect(page.locator(".evidence > li").first).to_be_visible()
    asked.clear()
    page.get_by_label("A claim or a question").fill("What is water?")
    page.get_by_role("button", name="Find evidence").dblclick(delay=100)
    expect(page.locator(".summary")).to_be_visible()
    assert asked.count("find/events") == 1
    assert asked.count("find") == 0

    page.goto(page.url.partition("?")[0] + playing(trip))
    page.get_by_role("button", name="Start the clock").click()
    first = trip["steps"][0]
    page.locator(f"[data-segment='{first['segment']}']").click()
    link = page.locator(f".card[data-node='{first['to']['node']}'] .link").first
    link.evaluate("e => Object.assign(e.style, {position: 'fixed', inset: 0})")  # right under the pointer
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    page.wait_for_timeout(300)
    expect(page.locator(".figure").first).to_have_text("1")
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".figure").first).to_have_text("2")


def test_trouble_in_a_game_is_said_once_and_can_be_put_right(visit: Visit, watch: Watch, trip: Walk) -> None:
    watch.expected += AWAY
    page = visit(playing(trip))
    page.get_by_role("button", name="Start the clock").click()
    link = page.locator(f".card [data-segment='{trip['steps'][0]['segment']}']")
    expect(link).to_be_visible()
    away(page, "block/*")
    link.click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The server does not answer.")
    page.wait_for_timeout(600)  # no double click
    link.click()
    page.wait_for_timeout(200)
    expect(alert).to_have_count(1)
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".figure").first).to_have_text("1")


def test_a_game_that_is_loaded_again_keeps_its_time(visit: Visit, trip: Walk) -> None:
    page = visit(playing(trip))
    page.get_by_role("button", name="Start the clock").click()
    clock = page.get_by_role("timer")
    expect(clock).to_have_text("0:02")
    page.reload()
    expect(page.locator(".card")).to_be_visible()
    assert clock.inner_text() >= "0:02"
    page.goto(page.url)  # an address is a pair; only the same page goes on
    page.get_by_role("button", name="Give up").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.get_by_role("link", name="Same pair again").click()
    expect(page.get_by_role("button", name="Start the clock")).to_be_visible()


def test_nothing_moves_when_the_shortest_path_appears(visit: Visit, trip: Walk) -> None:
    page = visit(address(trip), motion="no-preference")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".card")).to_be_visible()
    top = page.locator(".page").evaluate("e => e.offsetTop")
    page.get_by_role("button", name="To the end").click()
    expect(page.get_by_role("list", name="The shortest path")).to_be_visible()
    assert page.locator(".page").evaluate("e => e.offsetTop") == top


def test_the_focus_stays_where_the_keyboard_left_it(visit: Visit, trip: Walk) -> None:
    page = visit()
    options = page.get_by_role("button", name="Options")
    before = options.bounding_box()
    options.press("Enter")
    expect(page.get_by_label("Clicks at most")).to_be_visible()
    expect(options).to_have_attribute("aria-expanded", "true")
    assert options.bounding_box() == before, "where it was opened it can be closed"
    page.locator(".chip").first.press("Enter")
    expect(page.locator(".player")).to_be_visible()
    expect(page.locator("#main")).to_be_focused()

    page.goto(f"{page.url.partition('?')[0]}{address(trip, step=0)}")
    on = page.get_by_role("button", name="Step on")
    on.focus()
    for step in range(len(trip["steps"])):
        page.keyboard.press("Enter")
        rests_at(page, step + 1)
    expect(on).to_have_attribute("aria-disabled", "true")
    expect(on).to_be_focused()
