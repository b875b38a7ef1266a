import numpy as np
import pytest

from linkwalk.build.entities.linker import _contains, _shared_weight, mark
from linkwalk.build.entities.mentions import BARRIER, SENTENCE
from tests.conftest import Built, Maker, P, prose


def rows(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    indptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return indptr, np.array([value for row in lists for value in row], np.int32)


def test_rows_are_searched_and_compared_as_by_hand() -> None:
    rng = np.random.default_rng(8)
    lists = [sorted(set(rng.integers(0, 60, rng.integers(0, 40)).tolist())) for _ in range(60)]
    indptr, indices = rows(lists)
    a, b = rng.integers(0, 60, 500).astype(np.int32), rng.integers(0, 60, 500).astype(np.int32)
    assert _contains(indptr, indices, a, b).tolist() == [y in lists[x] for x, y in zip(a, b, strict=True)]
    weight = rng.random(60)
    norm = np.array([max(1e-9, np.sqrt(weight[row].sum())) for row in lists])
    found = _shared_weight(indptr, indices, weight, norm, a, b)
    expected = [
        sum(weight[v] for v in set(lists[x]) & set(lists[y])) / (norm[x] * norm[y])
        for x, y in zip(a, b, strict=True)
    ]
    assert np.allclose(found, expected)


def test_marks_stay_in_their_block() -> None:
    text = b"One. Two.(Three) four. Five"
    bounds = np.array([0, 9, len(text)], np.int64)
    marks = mark(
        len(text),
        bounds,
        np.array([17], np.int64),
        np.array([21], np.int64),
        np.array([2, 2], np.int32),
        np.array([4, 9, 13, 18], np.uint16),
    )
    begins = [chr(byte) for byte, bits in zip(text, marks, strict=False) if bits & SENTENCE]
    assert begins == ["O", " ", "T", "(", " ", "F"]
    barred = bytes(byte for byte, bits in zip(text, marks, strict=False) if bits & BARRIER)
    assert barred == b"four"


FILL = [P(f"Filler {i}", prose(60, seed=i)) for i in range(12)]


def entities(built: Built, title: str) -> list[tuple[str, str]]:
    graph = built.graph
    article = graph.article(title)
    assert article is not None
    return [
        edge
        for node in graph.article_blocks(article)
        for edge in built.linked(graph.name(int(node)), "entity")
    ]


def test_a_mention_is_linked_where_nobody_did(make: Maker) -> None:
    linking = [P(f"Page {i}", f"{prose(30, i)} They saw [[Halley's Comet]] rise.") for i in range(8)]
    built = make(
        [
            *FILL,
            P("Halley's Comet", prose(60)),
            *linking,
            P("Diary", f"{prose(60)} Then Halley's Comet came."),
        ]
    )
    assert entities(built, "Diary") == [("Halley's Comet (0)", "Halley's Comet")]
    assert [entities(built, page.title) for page in linking] == [[]] * len(linking)


def test_an_ambiguous_name_means_what_the_article_links(make: Maker) -> None:
    pages = [
        *FILL,
        P("Mercury (planet)", prose(60)),
        P("Mercury (metal)", prose(60)),
        *(P(f"Sky {i}", f"[[Mercury (planet)|Mercury]] {prose(60, i)}") for i in range(5)),
        *(P(f"Ore {i}", f"[[Mercury (metal)|Mercury]] {prose(60, i)}") for i in range(5)),
        P(
            "Orbit",
            f"Of [[Mercury (planet)|Mercury]]. {prose(160)}\n== More ==\n{prose(40)} Back to Mercury it went.",
        ),
        P(
            "Mine",
            f"Of [[Mercury (metal)|Mercury]]. {prose(160)}\n== More ==\n{prose(40)} Back to Mercury it went.",
        ),
    ]
    built = make(pages)
    assert entities(built, "Orbit") == [("Mercury (planet) (0)", "Mercury")]
    assert entities(built, "Mine") == [("Mercury (metal) (0)", "Mercury")]


def test_an_article_is_linked_from_its_later_blocks_to_its_first(make: Maker) -> None:
    text = f"Deimos is small. {prose(160)}\n== Orbit ==\n{prose(30)} We call it Deimos still. {prose(90, 1)}"
    linking = [P(f"Page {i}", f"[[Deimos]] {prose(60, i)}") for i in range(3)]
    built = make([*FILL, P("Deimos", text), *linking])
    graph = built.graph
    home = [int(node) for node in graph.article_blocks(graph.article("Deimos") or 0)]
    assert built.linked(graph.name(home[0]), "entity") == []
    assert all(
        graph.node_block[e.target] == 0 for node in home for e in graph.links(node) if e.kind == "entity"
    )
    mentions = [node for node in home[2:] if "Deimos" in graph.block(node).text]
    assert mentions
    assert all(built.linked(graph.name(node), "entity") == [("Deimos (0)", "Deimos")] for node in mentions)


@pytest.mark.parametrize("text", ["the", "light", "Winter", "a", "7"])
def test_everyday_words_are_left_alone(make: Maker, text: str) -> None:
    title = text.capitalize()
    pages = [P(f"Page {i}", f"{prose(60, i)} It was {text} again.") for i in range(12)]
    built = make([*pages, P(title, prose(60)), P("Page", f"[[{title}|this one]] {prose(60)}")])
    assert built.graph.manifest["counts"]["edges_by_kind"]["entity"] <= 1


def test_no_entity_link_touches_a_link(make: Maker) -> None:
    pages = [
        *FILL,
        P("Red Planet", prose(60)),
        P("Red", prose(60)),
        *(P(f"Page {i}", f"[[Red Planet]] and [[Red]]. {prose(60, i)}") for i in range(4)),
        P("Story", f"The [[Nowhere|Red Planet]] rose. {prose(60)}"),
    ]
    assert entities(make(pages), "Story") == []
