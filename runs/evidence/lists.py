"""Lists to learn from: of each question blocks that are its evidence, and blocks that search or links bring up."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from world import Question, World

from linkwalk.downstream.dataset import answer_phrases, holds, plain
from linkwalk.downstream.mining import _STOP as STOP
from linkwalk.downstream.mining import SHORTEST
from linkwalk.graph.store import LINK, Graph
from linkwalk.retrieve.judge import sentences_of

NOT_LEARNED = ("fever-pages", "fever-dev", "encyclopedia")
"""Sets that nothing is learned from."""
MORE = {"schools": 6000, "freecad": 1500, "kubernetes": 1500, "webplatform": 1500}
"""Further questions made of links, by wiki."""


def make_lists(world: World, data: Path | None) -> Iterator[dict[str, Any]]:
    """Blocks that are evidence of a query, and blocks that search or links bring up: numbers in the wiki's graph."""
    closed = set(json.loads((world.sets_folder / "schools-closed-articles.json").read_text()))
    rng = np.random.default_rng(0)
    for name, questions in world.questions.items():
        if name in NOT_LEARNED:
            continue
        tuned = [one for one in questions if one.part == "tuned"]
        graph, gone, wiki = world.graph_of(name), world.gone(name), questions[0].wiki
        shut = closed if wiki == "schools" else set()
        kept = {
            a
            for one in questions
            if one.part == "kept"
            for g in one.gold
            for a in graph.node_article[g].tolist()
        }
        if name in ("hotpot", "musique"):
            shut = kept
        if not tuned:
            continue
        made = 0
        for at in range(0, len(tuned), 256):
            some = tuned[at : at + 256]
            for one, (nodes, _) in zip(
                some, world.bm25(wiki).search_many([q.text for q in some], 60), strict=True
            ):
                found = one_list(world, graph, one, [n for n in nodes.tolist() if n not in gone], shut, rng)
                if found is not None:
                    made += 1
                    yield {"set": name, "wiki": wiki, "query": one.text, **found}
        print(name, len(tuned), "questions,", made, "lists", flush=True)
    yield from more_links(world, closed, rng)
    if data is not None:
        yield from claims_alone(data)


def more_links(world: World, closed: set[int], rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Further questions made of the links of wikis that are learned from."""
    from linkwalk.downstream.link_questions import LinkDrawConfig, draw_links

    for wiki in MORE:
        graph, shut = world.graph(wiki), frozenset(closed if wiki == "schools" else ())
        config = LinkDrawConfig(count=MORE[wiki], seed=7, per_page=6, closed=shut)
        drawn = draw_links(graph, config)
        for at in range(0, len(drawn), 256):
            some = drawn[at : at + 256]
            for one, (nodes, _) in zip(
                some, world.bm25(wiki).search_many([q.text for q in some], 60), strict=True
            ):
                asked = Question(
                    "more", wiki, one.id, one.text, "link", [[one.target]], "page", "tuned", (), []
                )
                found = one_list(
                    world, graph, asked, [n for n in nodes.tolist() if n != one.source], set(shut), rng
                )
                if found is not None:
                    found["good"] = [
                        [n, told, *((-1, -1) if via[0] == one.source else via)]
                        for n, told, *via in found["good"]
                    ]
                    yield {"set": "more", "wiki": wiki, "query": one.text, **found}
        print("more of", wiki, len(drawn), flush=True)


def one_list(
    world: World, graph: Graph, one: Question, nodes: list[int], shut: set[int], rng: np.random.Generator
) -> dict[str, Any] | None:
    """Good and bad blocks of a question; good ones with the sentences that are it, bad ones with what links there."""
    article = graph.node_article
    gold = sorted({node for alternative in one.gold for node in alternative})
    good: dict[int, list[int]] = {}
    if one.answers:
        content, sought = set(plain(one.text).split()) - STOP, answer_phrases(one.answers, SHORTEST)
        for node in nodes[:20] if sought else ():
            texts = sentences_of(graph, node).texts
            title = graph.title(node)
            told = [
                i
                for i, text in enumerate(texts)
                if holds(text, sought) and len(content & set(plain(f"{title} {text}").split())) >= 2
            ]
            if told and int(article[node]) not in shut:
                good[node] = told
        good = dict(list(good.items())[:3])
        bad = [n for n in nodes if n not in set(gold)]
    elif one.level == "page":
        pages = {int(article[node]) for node in gold}
        first = [int(graph.article_node[page]) for page in pages]
        near = [n for n in nodes if int(article[n]) in pages][:2]
        good = {n: [] for n in dict.fromkeys((*first, *near))}
        bad = [n for n in nodes if int(article[n]) not in pages]
    else:
        good = {node: evidence_in(graph, node, one) for node in gold}
        bad = [n for n in nodes if n not in set(gold)]
    good = {node: told for node, told in good.items() if int(article[node]) not in shut}
    if not good:
        return None
    # What links bring up: of the first hits, what their texts link to, and first blocks of their articles.
    via: dict[int, tuple[int, int]] = {}
    for hit in nodes[:6]:
        for target, sentence in text_links(graph, hit):
            via.setdefault(target, (hit, sentence))
    linked = [n for n in via if n not in good and n not in set(gold) and n not in bad]
    linked = [linked[i] for i in rng.permutation(len(linked))[:10]]
    leads = [int(graph.article_node[int(article[n])]) for n in nodes[:8]]
    drawn = rng.integers(graph.nodes, size=2).tolist()
    if one.level == "page":
        pages = {int(article[node]) for node in gold}
        linked, leads, drawn = (
            [n for n in some if int(article[n]) not in pages] for some in (linked, leads, drawn)
        )
    others = [
        n for n in dict.fromkeys((*bad[:30], *linked, *leads, *drawn)) if n not in good and n not in set(gold)
    ]
    if one.answers:
        others = [n for n in others if not any(holds(text, sought) for text in sentences_of(graph, n).texts)]
    others = [n for n in others if int(article[n]) not in shut]
    for node in good:  # of a block that a link leads to from a hit, what it stands in
        if node not in via:
            into = [s for s in graph.reverse.row(node).tolist() if s in set(nodes[:20])]
            for source in into[:1]:
                for target, sentence in text_links(graph, source):
                    if target == node:
                        via[node] = source, sentence
    return {
        "good": [[n, told, *via.get(n, (-1, -1))] for n, told in good.items()],
        "bad": [[n, *via.get(n, (-1, -1))] for n in others],
    }


def text_links(graph: Graph, node: int) -> list[tuple[int, int]]:
    """What a block's text links to, and the number of the readable sentence around each link."""
    out = slice(int(graph.out_indptr[node]), int(graph.out_indptr[node + 1]))
    ends = graph.sentence_ends[graph.sentence_indptr[node] : graph.sentence_indptr[node + 1]]
    numbers = np.append(sentences_of(graph, node).numbers, -1)
    own = np.searchsorted(ends, graph.out_spans[out, 0], side="right")
    sentence = numbers[np.minimum(own, len(numbers) - 1)]
    return [
        (int(t), max(0, int(s)))
        for t, s, k in zip(graph.out_targets[out], sentence, graph.out_kinds[out], strict=True)
        if k >= LINK
    ]


def evidence_in(graph: Graph, node: int, one: Question) -> list[int]:
    """Which of a block's sentences is most like the evidence, where its text is known."""
    from rapidfuzz import fuzz

    own = [text for _, text in one.evidence]
    if not own:
        return []
    scores = [
        max(fuzz.token_set_ratio(text, other) for other in own) for text in sentences_of(graph, node).texts
    ]
    best = max(scores)
    return [i for i, score in enumerate(scores) if score >= best - 3] if best >= 60 else []


def claims_alone(folder: Path) -> Iterator[dict[str, Any]]:
    """FEVER's claims with sentences that have no page, as ``runs/reranker.py --lists-only`` writes them."""
    for line in (folder / "sentences.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        yield {
            "set": "sentences",
            "wiki": "",
            "query": one["query"],
            "good": one["positives"],
            "bad": one["negatives"],
        }
