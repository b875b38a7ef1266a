"""Ask: evidence in its order, where it stands, and the clicks that led to it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import NO_PLAYWRIGHT, Shoot, Site, Visit, Watch, search, served

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect


@pytest.fixture(scope="module")
def answer(site: Site) -> dict[str, Any]:
    """What the reader that ships finds, with how sure it is."""
    goal = site.ask("pair", seed=1)["goal"]["title"]
    found: dict[str, Any] = site.ask("find", {"query": f"What is {goal} known for?", "limit": 6})
    assert found["evidence"]
    assert found["confidence"] is not None
    return found


@pytest.fixture(scope="module")
def clicking(workspace: Path) -> Iterator[Site]:
    """A server without models that read, so that links are followed by constants."""
    with served(workspace, "--rerank", "tfidf") as site:
        yield site


@pytest.fixture(scope="module")
def clicked(clicking: Site) -> dict[str, Any]:
    """An answer of which some sentences were found by clicking."""
    for seed in range(1, 30):
        goal = clicking.ask("pair", seed=seed)["goal"]["title"]
        answer: dict[str, Any] = clicking.ask("find", {"query": f"What is {goal} known for?", "limit": 6})
        if any(evidence["path"] for evidence in answer["evidence"]):
            return answer
    raise AssertionError("nothing was found by clicking: ask about more")


def items(page: "Page") -> Any:
    return page.locator(".evidence > li")


@pytest.mark.parametrize("who", ["clicked", "answer"])
def test_a_question_is_answered_with_sentences_and_the_clicks_that_led_there(
    who: str, visit: Visit, request: pytest.FixtureRequest, clicking: Site, shoot: Shoot
) -> None:
    answer = request.getfixturevalue(who)
    page = visit("?view=ask", site=clicking if who == "clicked" else None)
    page.get_by_label("A claim or a question").fill(answer["query"])
    page.keyboard.press("Enter")
    expect(items(page)).to_have_count(len(answer["evidence"]))
    assert search(page) == {"view": "ask", "q": answer["query"]}
    summary = page.locator(".summary")
    expect(summary).to_contain_text(f"{answer['blocks']} blocks read in")
    for item, evidence in zip(items(page).all(), answer["evidence"], strict=True):
        assert item.locator("blockquote").inner_text().split() == evidence["sentence"].split()
        assert item.locator(".article bdi").first.inner_text() == evidence["place"]["title"]
        shown_score = item.locator(".score").inner_text()
        if answer["confidence"] is None:
            assert float(shown_score.removeprefix("score ")) == pytest.approx(evidence["score"], abs=0.0051)
        else:
            assert float(shown_score.strip("<>%")) == pytest.approx(100 * evidence["score"], abs=1)
        if not evidence["path"]:
            expect(item.locator(".path")).to_contain_text("among the search results")
            continue
        path = item.locator("details.path")
        if path.get_attribute("open") is None:
            path.locator("summary").click()
        shown = [name.inner_text() for name in path.locator(".crumbs bdi").all()]
        wanted = [evidence["start"], *(click["to"] for click in evidence["path"])]
        assert shown == [place["title"] for place in wanted]
        clicked = [click["link"] for click in evidence["path"] if click["sentence"]]
        assert path.locator(".clicks .chosen").all_inner_texts() == clicked
    shoot(page, f"ask-{who}", whole=True)


def test_the_paragraph_around_a_sentence_is_shown_on_demand(
    visit: Visit, clicked: dict[str, Any], clicking: Site
) -> None:
    answer = clicked
    page = visit(f"?view=ask&q={answer['query']}", site=clicking)
    first = items(page).first
    around = first.locator(".around")
    expect(page.locator(".summary")).to_contain_text("blocks read in")
    expect(around).to_be_hidden()
    page.get_by_role("button", name="Find evidence").focus()
    page.keyboard.press("Tab")
    assert first.evaluate("e => e.contains(document.activeElement)"), "what is seen first comes first"
    more = first.get_by_role("button", name="Show the paragraph")
    expect(more).to_have_attribute("aria-expanded", "false")
    more.click()
    expect(around.locator("mark").first).to_be_visible()
    marked = " ".join(around.locator("mark").all_inner_texts()).split()
    assert "".join(marked) == "".join(answer["evidence"][0]["sentence"].split())
    less = first.get_by_role("button", name="Hide the paragraph")
    expect(less).to_have_attribute("aria-expanded", "true")
    less.click()
    expect(around).to_be_hidden()
    link = page.get_by_role("link", name="Watch an agent walk there").first
    link.click()
    expect(page.locator(".player")).to_be_visible()
    page.go_back()
    expect(items(page)).to_have_count(len(answer["evidence"]))


def test_examples_can_be_tried(visit: Visit) -> None:
    page = visit("?view=ask")
    example = page.locator(".chip").first
    words = example.inner_text()
    example.click()
    expect(page.get_by_label("A claim or a question")).to_have_value(words)
    expect(items(page).first).to_be_visible()
    expect(page.locator(".chip").filter(has_text=words)).to_have_count(0)


def test_nothing_asked_is_said(visit: Visit) -> None:
    page = visit("?view=ask")
    page.get_by_role("button", name="Find evidence").click()
    expect(page.get_by_role("alert")).to_have_text("Write a claim or a question first.")
    field = page.get_by_label("A claim or a question")
    expect(field).to_be_focused()


HOLD = """() => {
  const Real = EventSource, held = [];
  window.go = () => held.splice(0).forEach((send) => send());
  window.arrived = () => held.length;
  window.EventSource = class extends Real {
    addEventListener(name, act) {
      super.addEventListener(name, (event) => {
        const send = () => act(event);
        if (name === "answer") held.push(send);
        else send();
      });
    }
  };
}"""


def ask(page: "Page", query: str) -> None:
    page.get_by_label("A claim or a question").fill(query)
    page.keyboard.press("Enter")


def test_search_results_are_shown_until_they_are_read(
    visit: Visit, answer: dict[str, Any], shoot: Shoot
) -> None:
    page = visit("?view=ask", motion="no-preference")
    page.evaluate(HOLD)
    ask(page, answer["query"])
    summary, found = page.locator(".summary"), page.locator(".found")
    expect(summary).to_contain_text("Search results, still being read")
    expect(page.locator("#live")).to_contain_text("still being read")
    expect(found).to_have_attribute("aria-busy", "true")
    expect(items(page).first.locator(".score")).to_have_text("not read yet")
    expect(items(page).first.locator(".path")).to_contain_text("among the search results")
    shown = items(page).first.locator("blockquote").inner_text()
    more = items(page).first.get_by_role("button", name="Show the paragraph")
    more.press("Enter")
    expect(items(page).first.locator(".around mark").first).to_be_visible()
    shoot(page, "ask-hits")
    page.wait_for_function("() => arrived() > 0")
    top = page.locator(".evidence").evaluate("e => e.offsetTop")
    page.evaluate("go()")
    expect(summary).to_contain_text(f"{answer['blocks']} blocks read in")
    expect(page.locator("#live")).to_contain_text("found. First: ")
    assert found.get_attribute("aria-busy") is None
    expect(items(page)).to_have_count(len(answer["evidence"]))
    sentences = [one["sentence"] for one in answer["evidence"]]
    assert page.locator(".evidence blockquote").all_inner_texts() == sentences
    assert page.locator(".evidence").evaluate("e => e.offsetTop") == top, "nothing jumps"
    expect(page.locator(".confidence")).to_have_count(int(answer["confidence"] is not None))
    if shown in sentences:  # what was opened stays open, with the focus
        kept = items(page).nth(sentences.index(shown)).get_by_role("button", name="Hide the paragraph")
        expect(kept).to_be_focused()


def judged(route: "Route", answer: dict[str, Any], **said: object) -> None:
    """A server whose reader says how sure it is."""
    told = [
        ("hits", answer | {"stage": "search", "blocks": 0}),
        ("reading", answer | {"stage": "reading", "blocks": 4, "confidence": 0.1}),
        ("answer", answer | said),
    ]
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in told)
    route.fulfill(body=body, content_type="text/event-stream")


def test_how_sure_it_is(visit: Visit, answer: dict[str, Any], shoot: Shoot) -> None:
    page = visit("?view=ask")
    page.route("**/api/v1/find/events*", lambda route: judged(route, answer, confidence=0.934))
    ask(page, answer["query"])
    meter = page.get_by_role("meter")
    expect(meter).to_have_text("93% sure")
    expect(meter).to_have_attribute("aria-valuetext", "93%")
    assert "settles this" in str(meter.get_attribute("title"))
    expect(page.locator(".unanswered")).to_have_count(0)
    shoot(page, "ask-sure")


def test_what_nothing_answers_is_said_to_be_so(visit: Visit, answer: dict[str, Any], shoot: Shoot) -> None:
    page = visit("?view=ask")
    said = {"confidence": 0.031, "answered": False}
    page.route("**/api/v1/find/events*", lambda route: judged(route, answer, **said))
    ask(page, answer["query"])
    expect(page.locator(".unanswered")).to_have_text(
        "Nothing here answers this. These sentences come nearest."
    )
    expect(page.locator("#live")).to_contain_text("Nothing here answers this. Nearest: ")
    expect(page.get_by_role("meter")).to_have_text("3% sure")
    expect(items(page)).to_have_count(len(answer["evidence"]))
    shoot(page, "ask-unanswered")


def test_without_events_it_is_asked_as_a_whole(visit: Visit, watch: Watch, answer: dict[str, Any]) -> None:
    watch.expected += ["ERR_CONNECTION_REFUSED"]
    page = visit("?view=ask")
    page.route("**/api/v1/find/events*", lambda route: route.abort("connectionrefused"))
    ask(page, answer["query"])
    expect(page.locator(".summary")).to_contain_text(f"{answer['blocks']} blocks read in")
    expect(items(page)).to_have_count(len(answer["evidence"]))


def test_a_failure_is_said(visit: Visit, answer: dict[str, Any]) -> None:
    page = visit("?view=ask")
    error = json.dumps({"error": {"type": "timeout", "message": "this took longer than 30 seconds"}})
    body = f"event: failure\ndata: {error}\n\n"
    page.route(
        "**/api/v1/find/events*", lambda route: route.fulfill(body=body, content_type="text/event-stream")
    )
    ask(page, answer["query"])
    expect(page.get_by_role("alert")).to_contain_text("This took longer than 30 seconds")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(items(page)).to_have_count(len(answer["evidence"]))
