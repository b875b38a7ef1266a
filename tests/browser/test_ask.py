"""Ask: evidence in its order, where it stands, and the clicks that led to it."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import NO_PLAYWRIGHT, Shoot, Site, Visit, search

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect


@pytest.fixture(scope="module")
def answer(site: Site) -> dict[str, Any]:
    """An answer of which some sentences were found by clicking."""
    for seed in range(1, 30):
        goal = site.ask("pair", seed=seed)["goal"]["title"]
        answer: dict[str, Any] = site.ask("find", {"query": f"What is {goal} known for?", "limit": 6})
        if any(evidence["path"] for evidence in answer["evidence"]):
            return answer
    raise AssertionError("nothing was found by clicking: ask about more")


def items(page: "Page") -> Any:
    return page.locator(".evidence > li")


def test_a_question_is_answered_with_sentences_and_the_clicks_that_led_there(
    visit: Visit, answer: dict[str, Any], shoot: Shoot
) -> None:
    page = visit("?view=ask")
    page.get_by_label("A claim or a question").fill(answer["query"])
    page.keyboard.press("Enter")
    expect(items(page)).to_have_count(len(answer["evidence"]))
    assert search(page) == {"view": "ask", "q": answer["query"]}
    summary = page.locator(".summary")
    expect(summary).to_contain_text(f"{answer['blocks']} blocks read in")
    for item, evidence in zip(items(page).all(), answer["evidence"], strict=True):
        assert item.locator("blockquote").inner_text().split() == evidence["sentence"].split()
        assert item.locator(".article bdi").first.inner_text() == evidence["place"]["title"]
        shown_score = item.locator(".score").inner_text().removeprefix("score ")
        assert float(shown_score) == pytest.approx(evidence["score"], abs=0.0051)
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
    shoot(page, "ask", whole=True)


def test_the_paragraph_around_a_sentence_is_shown_on_demand(visit: Visit, answer: dict[str, Any]) -> None:
    page = visit(f"?view=ask&q={answer['query']}")
    first = items(page).first
    around = first.locator(".around")
    expect(first).to_be_visible()
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
