"""The picture that the README shows: out/browser/page.png, small enough to be kept beside the pages."""

from typing import Any

import pytest

from tests.browser.conftest import NO_PLAYWRIGHT, Shoot, Site, Visit, address

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect
LIMIT = 60_000


def telling(site: Site) -> tuple[dict[str, Any], int]:
    """A walk, and a click of it on a link that several others were weighed against."""
    for seed in range(200):
        pair = site.ask("pair", seed=seed, least=5)
        walk = site.ask("walk", {"start": pair["start"]["node"], "goal": pair["goal"]["node"]})
        if not walk["success"] or not 6 <= len(walk["steps"]) <= 9:
            continue
        for click in walk["steps"][2:]:
            taken = click["choices"][0]["taken"] and 0.4 < click["choices"][0]["probability"] < 0.9
            if taken and click["kind"] == "link" and 5 <= len(click["choices"]) <= 7:
                return walk, click["number"] - 1
    raise AssertionError("no such walk: draw more pairs")


def test_a_walk_in_one_picture(visit: Visit, site: Site, shoot: Shoot) -> None:
    from PIL import Image

    walk, step = telling(site)
    page = visit(address(walk, step=step), height=800)
    chosen = page.locator(".card .chosen")
    expect(chosen).to_be_in_viewport()
    expect(page.locator(".bars .taken")).to_be_in_viewport()
    path = shoot(page, "page")
    image = Image.open(path).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    image.save(path, optimize=True)
    assert image.size == (1280, 800)
    assert path.stat().st_size <= LIMIT
