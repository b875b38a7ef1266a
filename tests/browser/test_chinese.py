"""The page over a small wiki in Chinese: suggestions as one types, a walk, an answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from linkwalk.build.build import build
from linkwalk.embed import embed
from linkwalk.graph.store import Graph
from linkwalk.retrieve import index
from tests.browser.conftest import NO_PLAYWRIGHT, Shoot, Site, Visit, served
from tests.cli.test_chinese import DUMP

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect


@pytest.fixture(scope="module")
def chinese(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("chinese") / "wiki"
    build([DUMP], folder)
    embed(folder, device="cpu")
    index(folder, Graph.open(folder))
    with served(folder, "--lazy") as site:
        yield site


def test_one_walks_and_asks(visit: Visit, chinese: Site, shoot: Shoot) -> None:
    page = visit(site=chinese)
    page.get_by_role("combobox", name="From").fill("企")
    expect(page.get_by_role("option", name="企鹅")).to_be_visible()
    page.get_by_role("combobox", name="From").fill("企鹅")
    page.get_by_role("combobox", name="To", exact=True).fill("金字塔")
    page.get_by_role("button", name="Walk", exact=True).click()
    expect(page.locator(".card")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator(".card.reached").get_by_role("heading")).to_contain_text("金字塔")
    shoot(page, "chinese")
    page = visit("?view=ask&q=中国的首都是哪个城市？", site=chinese)
    expect(page.locator(".evidence > li").nth(1)).to_contain_text("北京是中国的首都")
