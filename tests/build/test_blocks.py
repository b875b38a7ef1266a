import itertools
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwalk.build.blocks import BlockSpan, cut_blocks
from linkwalk.graph.store import MAX_BLOCK_BYTES
from linkwalk.sources.documents import Heading, LinkSpan, Scan
from tests.conftest import Maker, P, prose


def texts(scan: Scan, blocks: list[BlockSpan]) -> list[str]:
    return [scan.text[block.start : block.end] for block in blocks]


def cut(text: str, words: int = 100, headings: list[Heading] | None = None) -> list[str]:
    scan = Scan(text, [], headings or [])
    return texts(scan, cut_blocks(scan, words))


_WORDS = ["a", "river", "Mr.", "end.", "Why?", "3.5", "U.S.", "Été", "東京。", "😀", "(so", "that)."]


def random_scan(rng: random.Random) -> Scan:
    """Lines of words, some of them giants, with links over one or more words, and headings where lines begin."""
    lines, links, headings = [], [], []
    at = 0
    for _ in range(rng.randint(1, 8)):
        if rng.random() < 0.5:
            headings.append(Heading(at, rng.randint(1, 4), rng.choice(["One", "Two", "Three"])))
        giants = ["x" * rng.randint(1, 30) ** 3, "漢字" * rng.randint(1, 200)]
        words = rng.choices([*_WORDS, *rng.choices(giants, k=rng.randint(0, 2))], k=rng.randint(1, 40))
        words *= rng.choice([1, 1, 1, 5, 30])
        starts = list(itertools.accumulate((len(word) + 1 for word in words), initial=at))
        word = 0
        while rng.random() < 0.7 and word < len(words):
            first = rng.randrange(word, len(words))
            last = rng.randrange(first, min(first + 6, len(words)))
            word = last + 1
            if starts[last + 1] - 1 - starts[first] <= 500:
                links.append(LinkSpan(starts[first], starts[last + 1] - 1, f"Target {first}", ""))
        lines.append(" ".join(words))
        at = starts[-1]
    return Scan("\n".join(lines), links, headings)


@settings(max_examples=200, deadline=None)
@given(rng=st.randoms(use_true_random=True), block_words=st.integers(10, 200))
def test_blocks_partition_any_text(rng: random.Random, block_words: int) -> None:
    scan = random_scan(rng)
    blocks = cut_blocks(scan, block_words)
    found = texts(scan, blocks)
    assert "".join("".join(found).split()) == "".join(scan.text.split())
    assert [block.start for block in blocks] == sorted({block.start for block in blocks})
    for block, text in zip(blocks, found, strict=True):
        assert text == text.strip()
        assert 0 < len(text.encode()) <= MAX_BLOCK_BYTES
        assert block.sentence_ends == sorted(set(block.sentence_ends))
        assert block.sentence_ends[0] > 0
        assert block.sentence_ends[-1] == len(text)
        crossed = [h for h in scan.headings if h.level <= 2 and block.start < h.offset < block.end]
        assert not crossed or block is blocks[0]
        above = [heading.title for heading in scan.headings if heading.offset <= block.start]
        assert block.section == (above[-1] if above else "")
    placed = [
        (scan.text[block.start :][link.start : link.end], link.target)
        for block in blocks
        for link in block.links
    ]
    assert placed == [(scan.text[link.start : link.end], link.target) for link in scan.links]
    for block, text in zip(blocks, found, strict=True):
        for link in block.links:
            assert 0 <= link.start < link.end <= len(text)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), paragraphs=st.integers(1, 9), block_words=st.sampled_from([30, 100, 300]))
def test_blocks_are_about_as_long_as_asked_for(seed: int, paragraphs: int, block_words: int) -> None:
    text = "\n".join(prose(20 + (seed * i) % 300, seed + i) for i in range(paragraphs))
    counts = [len(block.split()) for block in cut(text, block_words)]
    assert all(count <= 1.4 * block_words for count in counts)
    assert all(count >= 0.3 * block_words for count in counts[:-1])
    whole = sum(counts)
    assert len(counts) <= max(1, whole / (0.6 * block_words) + 1)


def test_cut_where_paragraphs_end() -> None:
    lines = [prose(50, i) for i in range(6)]
    assert cut("\n".join(lines)) == ["\n".join(lines[i : i + 2]) for i in (0, 2, 4)]


def test_cut_where_sentences_end() -> None:
    text = prose(1000)
    blocks = cut(text)
    assert len(blocks) > 7
    assert all(block.endswith(".") and block[0].isupper() for block in blocks)


def test_never_across_a_main_heading() -> None:
    a, b, c = (prose(30, i) for i in range(3))
    headings = [Heading(len(a) + 1, 2, "Two"), Heading(len(a) + len(b) + 2, 3, "Sub")]
    assert cut(f"{a}\n{b}\n{c}", headings=headings) == [a, f"{b}\n{c}"]


def test_a_heading_without_text_is_skipped() -> None:
    a = prose(30)
    headings = [Heading(0, 2, "Empty"), Heading(0, 2, "First"), Heading(len(a), 2, "Last")]
    scan = Scan(a, [], headings)
    assert [block.section for block in cut_blocks(scan, 100)] == ["First"]


@pytest.mark.parametrize(
    "text",
    [
        "x" * 300_000,
        "漢" * 300_000,
        "😀" * 100_000,
        "a " * 150_000 + "end",
        "word" * 20_000 + " " + "b " * 99 + "c" * 70_000,
        "One. " * 40_000 + "Two.",
        ("x" * 4000 + " ") * 50 + "y",
    ],
)
def test_giants_are_cut_to_size(text: str) -> None:
    began = time.process_time()
    blocks = cut(text)
    assert time.process_time() - began < 10
    assert max(len(block.encode()) for block in blocks) <= MAX_BLOCK_BYTES
    assert "".join("".join(blocks).split()) == "".join(text.split())


def test_scripts_without_blanks_get_blocks_of_a_like_length() -> None:
    chinese = "这条河流经过许多城市和村庄，最后流入大海。" * 100
    thai = "แม่น้ำสายนี้ไหลผ่านเมืองและหมู่บ้านมากมาย " * 60
    for text in (chinese, thai, "川" * 5000):
        lengths = [len(block) for block in cut(text)]
        assert max(lengths) < 400
        assert sorted(lengths)[len(lengths) // 2] > 100


def test_long_anchors_are_text(make: Maker) -> None:
    long = "very " * 2000 + "long"
    built = make(
        [P("A", f"[[B|{long}]] and [[B|short]]. {prose(60)}"), P("B", prose(60))], entity_links=False
    )
    assert [
        edge for node in built.graph.article_blocks(0) for edge in built.linked(built.graph.name(node))
    ] == [("B (0)", "short")]
    assert built.ledger["links"]["unresolved"]["anchor too long"] == 1
    assert max(len(built.graph.texts.bytes(node)) for node in range(built.graph.nodes)) <= MAX_BLOCK_BYTES


def headed(*sections: int) -> Scan:
    """Sections of so many words, each under a main heading of its own but the first."""
    lines = [" ".join(f"w{i}" for i in range(words)) for words in sections]
    starts = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))
    headings = [Heading(start, 2, f"H{i}") for i, start in enumerate(starts[:-1]) if i]
    return Scan("\n".join(lines), [], headings)


@pytest.mark.parametrize(
    ("sections", "blocks"),
    [
        ((10, 90, 50), [10, 90, 50]),
        ((9, 90, 50), [99, 50]),  # a caption goes with what it stands above
        ((4, 5, 1, 95), [10, 95]),
        ((50, 5, 95), [50, 5, 95]),  # short sections further on stay as they are
        ((9, 300), [109, 100, 100]),
        ((9,), [9]),
        ((20, 30, 50), [100]),  # an article no longer than a block is one
        ((20, 30, 51), [20, 30, 51]),
    ],
)
def test_the_first_block_is_worth_landing_on(sections: tuple[int, ...], blocks: list[int]) -> None:
    scan = headed(*sections)
    found = cut_blocks(scan, 100)
    assert [len(text.split()) for text in texts(scan, found)] == blocks
    assert found[0].section == ""
