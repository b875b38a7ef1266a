import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from linkwalk.build.read import ExtractConfig, drop_articles, extract, section_key
from linkwalk.build.shards import finished, load, load_column, save, strings_in
from linkwalk.build.tables import Arrays
from linkwalk.sources.documents import Wikitext
from linkwalk.sources.site import Site
from linkwalk.sources.wikitext.export import parse_pages
from tests.conftest import P, prose, world


class Given:
    """A source whose pieces are the XML of pages."""

    path, version, site = Path("given"), "", Site(name="Testwiki")
    files: tuple[Path, ...] = ()

    def pieces(self) -> list[tuple[bytes, int]]:
        return []

    def documents(self, piece: bytes, damage: Counter[str]) -> Iterator[Wikitext]:
        return parse_pages(piece, damage)


def shard_of(pages: list[P]) -> Arrays:
    return extract(Given(), b"".join(page.xml() for page in pages), ExtractConfig())


@pytest.fixture(scope="module")
def articles() -> list[P]:
    pages = {
        page.title: page
        for page in world(20)
        if not page.redirect and len(page.text) > 700 and not page.namespace
    }
    people = [P("Ada Lovelace", f"Ada Lovelace (1815 – 1852) counted. {prose(60)}\n== Life ==\n{prose(60)}")]
    left_out = ("List of", "Things")
    found = people + [page for title, page in pages.items() if not title.startswith(left_out)]
    assert len(found) > 10
    return found


def test_spans_are_bytes_of_the_block_they_stand_in() -> None:
    shard = shard_of([P("Ü", f"Été «[[École|école 東京]]». {prose(150)} Ça [[Naïve]]. {prose(50)}")])
    texts = strings_in(shard, "block_text")
    anchors = [
        texts[block].encode()[a:b].decode()
        for block, a, b in zip(
            *(shard[f"link_{name}"].tolist() for name in ("block", "start", "end")), strict=True
        )
    ]
    assert anchors == ["école 東京", "Naïve"]
    at = 0
    for text, count in zip(texts, shard["block_sentences"].tolist(), strict=True):
        ends = shard["sentence_end"][at : at + count].tolist()
        at += count
        assert ends[-1] == len(text.encode())
        assert ends == sorted(set(ends))
        assert all(text.encode()[:end].decode() for end in ends)


def test_a_shard_is_the_sum_of_its_pages(articles: list[P]) -> None:
    whole, parts = shard_of(articles), [shard_of([page]) for page in articles]
    for name in ("article_title", "block_text", "section_title"):
        assert strings_in(whole, name) == [text for part in parts for text in strings_in(part, name)]
    for name in (
        "article_key",
        "article_blocks",
        "block_number",
        "sentence_end",
        "link_start",
        "link_end",
        "link_key",
    ):
        assert np.array_equal(whole[name], np.concatenate([part[name] for part in parts])), name


@pytest.mark.parametrize("seed", range(5))
def test_dropping_articles_is_as_if_they_had_never_been(articles: list[P], seed: int) -> None:
    rng = np.random.default_rng(seed)
    stay = rng.random(len(articles)) < rng.choice([0.2, 0.5, 0.9])
    found = drop_articles(shard_of(articles), stay)
    expected = shard_of([page for page, stays in zip(articles, stay.tolist(), strict=True) if stays])
    assert sorted(found) == sorted(expected)
    assert [
        name for name in found if name != "report" and not np.array_equal(found[name], expected[name])
    ] == []
    assert {name: found[name].dtype for name in found} == {name: expected[name].dtype for name in expected}
    pages = json.loads(found["report"].tobytes())["pages"]
    assert pages["read"] == len(articles) == pages.get("kept", 0) + pages["duplicate title"]


def test_a_shard_on_disk_is_whole_or_not_there(tmp_path: Path, articles: list[P]) -> None:
    shard = shard_of(articles[:2])
    save(tmp_path, "shard", 7, shard)
    assert (tmp_path / "shard-000007.npz").exists()
    back = load(tmp_path, "shard", 7)
    assert all(np.array_equal(shard[name], back[name]) for name in shard)
    assert np.array_equal(load_column(tmp_path, "shard", 7, "article_key"), shard["article_key"])
    (tmp_path / "shard-000008.123.partial").touch()
    (tmp_path / "shards-000009.npz").touch()
    assert finished(tmp_path, "shard") == {7}

    class Broken:
        def __array__(self, *_: object, **__: object) -> np.ndarray:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save(tmp_path, "shard", 10, {**shard, "block_text": Broken()})  # type: ignore[dict-item]
    assert finished(tmp_path, "shard") == {7}


def test_sections_are_known_by_what_a_fragment_writes() -> None:
    assert section_key("Early life") == section_key("early_life") == section_key(" Early  Life ") != 0
    assert section_key("Early life") != section_key("Late life")
    assert section_key("") == section_key("  ") == 0
