"""Graph: figures and charts are those of the wiki that is served, and can be read without seeing them."""

import pytest

from tests.browser.conftest import NO_PLAYWRIGHT, Shoot, Site, Visit

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect


def test_the_figures_are_of_this_wiki(visit: Visit, site: Site, shoot: Shoot) -> None:
    graph = site.ask("graph")
    page = visit("?view=graph")
    expect(page.get_by_role("heading", level=1)).to_have_text(graph["name"])
    expect(page.locator(".intro")).to_contain_text(graph["date"])
    figures = page.locator(".figures")
    for number in (graph["articles"], graph["blocks"], *graph["links"].values()):
        if number in (graph["links"]["prev"], graph["links"]["next"], 0):
            continue
        expect(figures.get_by_text(f"{number:,}", exact=True).first).to_be_visible()
    shoot(page, "graph", whole=True)


def test_charts_have_values_by_mouse_by_keyboard_and_as_tables(visit: Visit, site: Site) -> None:
    graph = site.ask("graph")
    page = visit("?view=graph")
    expect(page.get_by_role("figure")).to_have_count(2)
    degrees, lengths = page.get_by_role("figure").all()
    points = len(graph["degree"]["out"]) + len(graph["degree"]["in"])
    assert degrees.locator("circle.point").count() == points
    histogram = graph["path_lengths"]["histogram"]
    assert lengths.locator("rect.bar").count() == len(histogram)

    bars = lengths.locator("rect.bar")
    bars.nth(1).hover()
    length, share = histogram[1]
    expect(lengths.locator(".tip")).to_contain_text(f"{100 * share:.1f}% of pairs are {length} clicks apart")
    lengths.get_by_role("img").focus()
    page.keyboard.press("ArrowRight")
    expect(lengths.locator(".tip")).to_contain_text(f"are {histogram[2][0]} clicks apart")

    degrees.get_by_text("The values as a table").click()
    rows = [row.locator("th, td").all_inner_texts() for row in degrees.locator("tbody tr").all()]
    outs = {int(value): count for value, count in graph["degree"]["out"]}
    ins = {int(value): count for value, count in graph["degree"]["in"]}
    wanted = [
        [f"{value:,}", f"{outs.get(value, 0):,}", f"{ins.get(value, 0):,}"]
        for value in sorted({*outs, *ins} - {0})
    ]
    assert rows == wanted
    heights = bars.evaluate_all("all => all.map(bar => bar.height.baseVal.value)")
    shares = [share for _, share in histogram]
    assert heights.index(max(heights)) == shares.index(max(shares))
