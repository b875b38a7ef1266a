"""A block as one reads it: segments join to the text, and every link has its words."""

import json

from hypothesis import given
from hypothesis import strategies as st

from linkwalk import Wiki
from linkwalk.wiki.answers import Place, plain
from linkwalk.wiki.pages import cut, segment_at
from tests.wiki.conftest import HOSTILE

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8)


@given(st.text(max_size=15), SPANS)
def test_segments_join_to_the_text_and_the_shortest_link_has_the_words(
    text: str, spans: list[tuple[int, int]]
) -> None:
    raw = text.encode()
    found = cut(raw, spans)
    assert "".join(segment.text for segment in found) == text
    assert all(segment.text for segment in found)
    starts = [len(sign.encode()) for sign in text]
    at, owners = 0, []
    whole = [
        max((s for s in range(min(byte, len(raw)) + 1) if s == len(raw) or raw[s] & 0xC0 != 0x80), default=0)
        for byte in range(41)
    ]
    for size in starts:
        claims = [
            (whole[b] - whole[a], link) for link, (a, b) in enumerate(spans) if whole[a] <= at < whole[b]
        ]
        owners.append(min(claims)[1] if claims else None)
        at += size
    assert [segment.link for segment in found for _ in segment.text] == owners
    in_segment = [number for number, segment in enumerate(found) for _ in segment.text.encode()]
    assert [segment_at(raw, spans, byte) for byte in range(len(raw))] == in_segment
    assert segment_at(raw, spans, len(raw)) is None


def test_a_link_within_another_can_be_clicked() -> None:
    outer, inner = "the Ärmelkanal ferry", "Ärmelkanal"
    raw = f"By {outer}.".encode()
    spans = [
        (raw.index(words.encode()), raw.index(words.encode()) + len(words.encode()))
        for words in (outer, inner)
    ]
    assert tuple((s.text, s.link) for s in cut(raw, spans)) == (
        ("By ", None),
        ("the ", 0),
        (inner, 1),
        (" ferry", 0),
        (".", None),
    )
    assert [s.link for s in cut(raw, [spans[0], spans[0]])] == [None, 0, None]


def test_every_block_of_the_encyclopedia(known: Wiki) -> None:
    graph = known.graph
    for node in range(graph.nodes):
        page, edges = known.block(node), graph.links(node)
        in_text = [edge for edge in edges if edge.kind in ("link", "entity")]
        assert page.text == graph.texts[node]
        assert [(link.node, link.kind, link.text) for link in page.links] == [
            (edge.target, edge.kind, edge.anchor) for edge in in_text
        ]
        beside = {edge.kind: edge.target for edge in edges}
        assert (page.previous and page.previous.node) == beside.get("prev")
        assert (page.next and page.next.node) == beside.get("next")
        for number, link in enumerate(page.links):
            assert "".join(s.text for s in page.segments if s.link == number) == link.text


def test_a_place_says_where_it_is(known: Wiki) -> None:
    page = known.block("Coral reef (1)")
    node = known.graph.find("Coral reef (1)")
    assert plain(page.place) == {
        "node": node,
        "title": "Coral reef",
        "block": 1,
        "blocks": page.place.blocks,
        "section": known.graph.block(node).section,
        "name": "Coral reef (1)",
        "address": "",
    }
    last = known.block(f"Coral reef ({page.place.blocks - 1})")
    assert last.next is None
    assert known.place(last.place.node) == last.place
    value = plain(page)
    beside = ["previous", "next", "above", "below", "linked_from"]
    assert list(value) == ["place", "segments", "links", *beside]
    assert list(value["segments"][0]) == ["text", "link"]
    assert list(value["links"][0]) == ["node", "title", "block", "kind", "text"]
    json.dumps(value)


def test_hostile_text_is_text(hostile: Wiki) -> None:
    for node, title in enumerate(HOSTILE):
        page = hostile.block(node)
        assert (page.place.title, page.place.section) == (title, title)
        assert page.text == f"{title} and more {title}"
        assert json.loads(json.dumps(plain(page)))["place"]["title"] == title


def test_places_read_together_are_those_read_one_by_one(known: Wiki) -> None:
    graph = known.graph
    nodes = [*range(graph.nodes)][::-1]
    assert Place.many(graph, nodes) == [Place.of(graph, node) for node in nodes]
    assert {place.section for place in Place.many(graph, nodes)} > {""}
