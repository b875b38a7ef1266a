"""Trains both readers on lists: of queries, for dense search, and of blocks."""

import argparse
import json
import lzma
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from world import TABLE, World, fold_of

from linkwalk.embed.text import node_texts
from linkwalk.graph.store import Graph
from linkwalk.retrieve.block_reader import Passage
from linkwalk.retrieve.judge import sentences_of

SHARES = {
    **{"fever": 5.0, "nq-schools": 2.0, "nq-simple": 2.0, "hotpot": 8.0, "musique": 8.0},
    **{"sentences": 0.7, "more": 0.5},
}
"""How often a list of a set is drawn; 1 for those not named."""


def read_lists(world: World) -> list[dict[str, Any]]:
    """What ``lists`` wrote."""
    path = world.out / "lists.jsonl.xz"
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _texts_of(graph: Graph) -> Any:
    """What can be shown of a block, remembered."""
    return cache(lambda node: sentences_of(graph, node).texts)


def block_lists(world: World, lists: Sequence[dict[str, Any]]) -> list[Any]:
    """Lists as texts."""
    from linkwalk.learn.readers.ranking import BlockList

    texts = {wiki: _texts_of(world.graph(wiki)) for wiki in wikis_of(lists)}
    rng = np.random.default_rng(1)
    found = []
    for one in lists:
        if one["set"] == "sentences":
            good = [(Passage(t, (s,)), frozenset()) for t, s in one["good"]]
            bad = [Passage(t, (s,)) for t, s in one["bad"]]
        else:
            graph, own = world.graph(one["wiki"]), texts[one["wiki"]]

            def passage(
                node: int, source: int, sentence: int, graph: Graph = graph, own: Any = own
            ) -> Passage:
                behind = ""
                # Half of what a link leads to is read as if search had found it, so that either is known.
                if source >= 0 and rng.random() < 0.5:
                    behind = own(source)[min(sentence, len(own(source)) - 1)]
                return Passage(graph.title(node), own(node), behind)

            good = [(passage(n, *via), frozenset(told)) for n, told, *via in one["good"]]
            bad = [passage(n, *via) for n, *via in one["bad"]]
        found.append(BlockList(one["query"], good, bad, SHARES.get(one["set"], 1.0)))
    return found


def wikis_of(lists: Sequence[dict[str, Any]]) -> list[str]:
    """Whose blocks they name."""
    return sorted({one["wiki"] for one in lists if one["wiki"]})


def search_lists(world: World, lists: Sequence[dict[str, Any]], own: int) -> tuple[list[Any], list[str]]:
    """The same for the reader of queries; and of each wiki so many sentences, which lead to their own blocks."""
    from linkwalk.learn.readers.search import SearchList

    names = wikis_of(lists)
    found = []
    for one in lists:
        if one["wiki"]:
            good = tuple(entry[0] for entry in one["good"])
            bad = tuple(entry[0] for entry in one["bad"][:12])
            weight = SHARES.get(one["set"], 1.0)
            found.append(SearchList(one["query"], names.index(one["wiki"]), good, bad, weight))
    rng = np.random.default_rng(2)
    for number, wiki in enumerate(names):
        graph = world.graph(wiki)
        for node in rng.choice(graph.nodes, min(own, graph.nodes // 2), replace=False).tolist():
            texts = sentences_of(graph, node).texts
            found.append(SearchList(texts[rng.integers(len(texts))], number, (node,), (), 0.25))
    return found, names


def embed_all(world: World, wikis: Sequence[str]) -> None:
    """Tables of all wikis; products are in half precision where there are such, which turns no vector by a degree."""
    from linkwalk.device import half_products
    from linkwalk.embed.transformer import open_transformer

    (world.out / "tables").mkdir(parents=True, exist_ok=True)
    encoder = open_transformer(TABLE, device=world.device)
    for wiki in wikis:
        if not world.table_path(wiki).exists():
            graph, began = world.graph(wiki), time.monotonic()
            texts = [
                t
                for at in range(0, graph.nodes, 8192)
                for t in node_texts(graph, at, min(at + 8192, graph.nodes))
            ]
            with half_products(encoder.device):
                np.save(world.table_path(wiki), encoder.encode(texts).astype(np.float16))
            print(f"embedded {wiki}: {graph.nodes:,} blocks in {time.monotonic() - began:.1f} s", flush=True)


def train(world: World, asked: argparse.Namespace) -> None:
    """Both readers."""
    from safetensors.numpy import load_file
    from safetensors.torch import save_file

    from linkwalk.embed.encoder_change import balanced, unpacked
    from linkwalk.embed.model import find_model
    from linkwalk.embed.tokens import Tokens
    from linkwalk.embed.transformer import open_transformer
    from linkwalk.learn.readers.ranking import BlockRankingConfig, train_blocks
    from linkwalk.learn.readers.search import SearchReaderConfig, train_search
    from linkwalk.learn.state import read_state
    from linkwalk.retrieve.cross import SCALES
    from linkwalk.settings import with_settings

    lists = read_lists(world)
    # What the small networks learn from, readers have not seen.
    lists = [one for one in lists if one["set"] in ("more", "sentences") or fold_of(one["query"])]
    if asked.limit:
        lists = lists[:: max(1, len(lists) // asked.limit)]

    def save(name: str, weights: dict[str, Any]) -> None:
        path = world.out / f"{name}{world.tag}.safetensors"
        save_file({key: value.float().cpu().contiguous() for key, value in weights.items()}, path)

    if "search" in asked.what:
        queries, names = search_lists(world, lists, 200 if asked.limit else 8000)
        config = with_settings(SearchReaderConfig(seed=world.seed), asked.search)
        began = time.monotonic()
        encoder = open_transformer(TABLE, device=world.device)
        folder = world.out / f"search{world.tag}"
        save(
            "search",
            train_search(
                queries,
                [world.vectors(n) for n in names],
                encoder,
                config,
                device=world.device,
                folder=folder,
            ),
        )
        print(
            f"reader of queries: {len(queries):,} lists, {time.monotonic() - began:.0f} s",
            last(folder),
            flush=True,
        )
    if "blocks" in asked.what:
        config_b = with_settings(BlockRankingConfig(seed=world.seed, held_out=400), asked.blocks)
        tokens = Tokens.open(find_model("minilm").path)
        assert tokens is not None
        began = time.monotonic()
        texts = block_lists(world, lists)
        folder = world.out / f"blocks{world.tag}"
        # What reads single sentences knows most of it already: a reader of blocks goes on from there.
        begin = load_file(asked.begin) if asked.begin else None
        begin = begin and balanced(unpacked({name: value for name, value in begin.items() if name != SCALES}))
        kept = {"folder": folder, "resume": read_state(folder)}  # Ctrl-C saves what there is
        save("blocks", train_blocks(texts, tokens, config_b, device=world.device, begin=begin, **kept))
        print(
            f"reader of blocks: {len(texts):,} lists, {time.monotonic() - began:.0f} s",
            last(folder),
            flush=True,
        )


def last(folder: Path) -> str:
    """The first, a middle and the last row of a training."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    keep = ("update", "loss", "first", "nearest", "held_out_loss", "held_out_first", "held_out_first_by_exit")
    looks = [r for r in rows if "held_out_loss" in r] or rows
    shown = [looks[0], looks[len(looks) // 2], looks[-1]]
    return json.dumps([{k: round(r[k], 3) for k in keep if k in r} for r in shown])
