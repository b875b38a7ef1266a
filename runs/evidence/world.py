"""Workspaces, questions, and what was trained so far."""

import json
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from linkwalk.downstream.methods import SectionCache
from linkwalk.downstream.unanswerable import prune
from linkwalk.graph.store import Graph
from linkwalk.navigate.cosine import unit_rows
from linkwalk.retrieve.block_reader import BlockReader
from linkwalk.retrieve.desk import Meanings
from linkwalk.retrieve.starts import SearchHits, nearest_many

LISTED = 100
"""How far down both lists of search are read."""
TABLE = "minilm-walks"
READ_OF = {"bridge-schools": 300, "links-schools": 500, "nq-schools": 700, "nq-simple": 700}
"""Of large sets, so many questions are read for to learn from; 500 of the others."""
KEPT_OF = {"nq": 300, "links": 500}
"""Of Natural Questions and of every collection's links, so many are measured."""
MAX_TOKENS = 176
"""Of a query and a block that are read together."""


def fold_of(text: str) -> int:
    """Which of two halves a question is of: readers that rankings are learned over have not seen it."""
    return crc32(text.encode()) % 2


class Question(NamedTuple):
    """A line of a set."""

    set: str
    wiki: str
    id: str
    text: str
    group: str
    gold: list[list[int]]
    level: str
    part: str
    answers: tuple[str, ...]
    evidence: list[list[str]]


class World:
    """Workspaces, sets, and what was trained so far."""

    def __init__(
        self, wikis: Path, sets: Path, out: Path, device: str = "cpu", seed: int = 0, fold: int = -1
    ) -> None:
        self.wikis, self.sets_folder, self.out, self.device, self.seed = wikis, sets, out, device, seed
        self.fold = fold
        self.tag = f"{seed}"

    @cached_property
    def questions(self) -> dict[str, list[Question]]:
        """Of every set."""
        found: dict[str, list[Question]] = {}
        self.without: dict[str, list[int]] = {}
        for path in sorted(self.sets_folder.glob("*.jsonl")):
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            found[path.stem] = [
                Question(
                    **{name: row[name] for name in Question._fields[:8]},
                    answers=tuple(row.get("answers", ())),
                    evidence=row.get("evidence", []),
                )
                for row in rows
            ]
            if gone := [row["gone_source"] for row in rows if row.get("gone_source") is not None]:
                self.without[path.stem] = gone
        return found

    @cache  # noqa: B019 (one world a process)
    def graph(self, wiki: str, without: str = "") -> Graph:
        """A wiki; without the links and blocks that a set's questions were made of."""
        graph = Graph.open(self.wikis / wiki)
        if not without:
            return graph
        gone = np.zeros(graph.nodes, np.bool_)
        gone[self.without[without]] = True
        return prune(graph, gone)

    def graph_of(self, name: str) -> Graph:
        """The wiki that a set is asked of."""
        return self.graph(self.questions[name][0].wiki, name if name in self.without else "")

    def gone(self, name: str) -> frozenset[int]:
        """Blocks that search does not find for a set."""
        _ = self.questions
        return frozenset(self.without.get(name, ()))

    @cache  # noqa: B019
    def bm25(self, wiki: str) -> Any:
        """A wiki's index."""
        from linkwalk.retrieve.bm25 import Bm25

        return Bm25.open(self.wikis / wiki, Graph.open(self.wikis / wiki))

    def table_path(self, wiki: str) -> Path:
        """Where a wiki's embeddings are."""
        return self.out / "tables" / f"{wiki}.npy"

    @cache  # noqa: B019
    def vectors(self, wiki: str) -> np.ndarray:
        """A wiki's embeddings, of unit length."""
        return unit_rows(np.load(self.table_path(wiki), mmap_mode="r"))

    @cached_property
    def encoder(self) -> Any:
        """Whoever made these."""
        from linkwalk.embed.encoder import open_encoder

        return open_encoder(TABLE, device=self.device)

    @cached_property
    def readers(self) -> tuple[Any, Any, Any]:
        """How queries are read: towards a goal, the way there, for search."""
        from safetensors.numpy import load_file

        from linkwalk.policy.compass import LinearCompass
        from linkwalk.policy.target import TargetEncoder
        from linkwalk.shipped import policy_path

        folder = policy_path()
        turn = load_file(folder / "target.safetensors")["turn"].astype(np.float32)
        direction = LinearCompass.load(folder / "weights.safetensors")
        path = self.out / f"search{self.tag}.safetensors"
        search = TargetEncoder(self.encoder, load_file(path)) if path.exists() else None
        return turn, direction, search

    def meanings(self, texts: list[str]) -> list[Meanings]:
        """Queries as vectors."""
        turn, direction, search = self.readers
        plainly = self.encoder.encode(texts)
        goal = unit_rows(plainly + plainly @ turn.T)
        way = unit_rows(direction.directions(goal))
        sought = goal if search is None else unit_rows(search.encode(texts))
        return [Meanings(*three) for three in zip(goal, way, sought, strict=True)]

    def hits(
        self, name: str, texts: list[str], meanings: Sequence[Meanings], gone: Sequence[Any]
    ) -> list[SearchHits]:
        """Both lists of every query; ``gone`` are its own articles to be left out."""
        wiki, missing = self.questions[name][0].wiki, self.gone(name)
        articles = self.graph(wiki).node_article
        extra = LISTED + 20 + max((len(own) for own in gone), default=0) * 60
        words = self.bm25(wiki).search_many(texts, extra)
        near = self.near(wiki, np.stack([one.search for one in meanings]), extra)
        found = []
        for (nodes, scores), close, own in zip(words, near, gone, strict=True):

            def kept(some: np.ndarray, own: Any = own) -> np.ndarray:
                return np.array(
                    [n not in missing and int(articles[n]) not in own for n in some.tolist()], bool
                )

            some, far = kept(nodes), kept(close)
            found.append(
                SearchHits(
                    nodes[some][:LISTED].astype(np.int32),
                    np.asarray(scores, np.float32)[some][:LISTED],
                    close[far][:LISTED].astype(np.int32),
                )
            )
        return found

    def hits_among(
        self, name: str, texts: list[str], meanings: Sequence[Meanings], there: np.ndarray
    ) -> list[SearchHits]:
        """Both lists of every query in a wiki of some blocks alone, ``there`` [N]."""
        wiki, there = self.questions[name][0].wiki, there.copy()
        there[list(self.gone(name))] = False
        kept = np.flatnonzero(there)
        near = nearest_many(
            np.asarray(self.vectors(wiki)[kept]), np.stack([one.search for one in meanings]), LISTED
        )
        found = []
        words = self.bm25(wiki).search_many(texts, len(there))
        for (nodes, scores), close in zip(words, near, strict=True):
            some = there[nodes]
            found.append(
                SearchHits(
                    nodes[some][:LISTED].astype(np.int32),
                    np.asarray(scores, np.float32)[some][:LISTED],
                    kept[close].astype(np.int32),
                )
            )
        return found

    def near(self, wiki: str, meanings: np.ndarray, count: int) -> Any:
        """The nearest blocks; on a GPU there."""
        if self.device == "cpu":
            return nearest_many(self.vectors(wiki), meanings, count)
        import torch

        found = []
        table = self._on_device(wiki)
        for at in range(0, len(meanings), 64):
            some = torch.from_numpy(np.ascontiguousarray(meanings[at : at + 64])).cuda()
            found.append(
                (some @ table.T).topk(min(count, len(table)), 1).indices.cpu().numpy().astype(np.int32)
            )
        return np.concatenate(found)

    @cache  # noqa: B019
    def _on_device(self, wiki: str) -> Any:
        import torch

        return torch.from_numpy(self.vectors(wiki)).cuda()

    @cached_property
    def block_reader(self) -> BlockReader:
        """The trained one."""
        return open_block_reader(self.out / f"blocks{self.tag}.safetensors", self.device)


def open_block_reader(path: Path, device: str, cached: bool = True) -> BlockReader:
    """A reader of blocks from its weights."""
    from safetensors.numpy import load_file

    from linkwalk.device import half_products
    from linkwalk.embed.model import find_model
    from linkwalk.embed.tokens import Tokens
    from linkwalk.embed.transformer import merge, open_transformer
    from linkwalk.retrieve.block_reader import fresh_heads, unframed
    from linkwalk.retrieve.cross_torch import TorchSections

    class HalfSections(TorchSections):
        """With products in half precision, where there are such."""

        def read(self, *asked: Any) -> Any:
            """The same."""
            with half_products(self.device):
                return super().read(*asked)

    adapter, heads = unframed(load_file(path)) if path.exists() else ({}, fresh_heads(384))
    tokens = Tokens.open(find_model("minilm").path)
    assert tokens is not None
    other = open_transformer("minilm", device=device)
    if adapter:
        merge(other.model, adapter)
    reader = HalfSections(other.model, other.tokenizer.pad_token_id or 0, other.device, other.batch_tokens)
    kept = SectionCache(reader, whole=True) if cached else reader
    return BlockReader(kept, tokens, heads, exit=3, max_tokens=MAX_TOKENS)


def recalls(world: World, name: str, one: Question, ranked: Sequence[int]) -> tuple[float, float, float]:
    """Recall at 1, at 5, and of all that was read."""
    graph, gold = world.graph_of(name), one.gold
    order = list(ranked)
    if one.level == "page":
        order = (
            list(dict.fromkeys(graph.article_node[graph.node_article[np.array(order, np.int64)]].tolist()))
            if order
            else []
        )
        gold = [[int(graph.article_node[graph.node_article[n]]) for n in g] for g in gold]

    single = {g[0] for g in gold} if all(len(g) == 1 for g in gold) else None

    def share(count: int) -> float:
        first = set(order[:count])
        if single is not None:
            return float(not first.isdisjoint(single))
        return max(len(first & set(g)) / len(set(g)) for g in gold)

    return share(1), share(5), share(len(order) or 1)


def asked_of(world: World, name: str, part: str) -> list[Question]:
    """The questions of a part; of a fold's where there is one."""
    found = [one for one in world.questions[name] if one.part == part]
    if part == "tuned":
        found = found[: READ_OF.get(name, 500)]
    else:
        found = found[: KEPT_OF.get(name.partition("-")[0], len(found))]
    return [one for one in found if world.fold < 0 or fold_of(one.text) == world.fold]
