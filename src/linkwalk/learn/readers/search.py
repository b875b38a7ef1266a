"""Trains how queries are read for dense search: an adapter that puts a query next to the blocks that answer it.

Blocks' embeddings stay as they are, so nothing is embedded again. A query stands against the other queries' evidence,
against blocks that search by words brings up for it, and against random blocks, all of its own wiki (a softmax over
cosines). Shapes: B queries of a wiki, D width.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.device import half_products
from linkwalk.embed.tokens import pad
from linkwalk.embed.transformer import TransformerEncoder
from linkwalk.learn.limits import above_zero, at_least
from linkwalk.learn.loop import LoopConfig, RunOptions, Training, seeded, train
from linkwalk.policy.low_rank import TargetModel
from linkwalk.policy.target import AdapterConfig

_NEVER = -1e4


class SearchList(NamedTuple):
    """A query, and blocks of one wiki."""

    query: str
    wiki: int
    good: tuple[int, ...]
    bad: tuple[int, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class SearchReaderConfig(LoopConfig):
    """How a reader of queries is trained."""

    adapter: AdapterConfig = field(default_factory=lambda: AdapterConfig(rank=8))
    batch: int = 256
    """B: queries of one wiki in an update."""
    bad: int = 4
    """Blocks of search's own for each of them."""
    negatives: int = 4096
    """Random blocks."""
    temperature: float = 0.04
    """By which cosines are divided."""
    max_tokens: int = 64
    updates: int = 1500
    learning_rate: float = 5e-4
    warmup: int = 100

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        super().__post_init__()
        at_least(self, batch=1, bad=0, negatives=0, max_tokens=8)
        above_zero(self, "temperature")


class SearchReading(Training):
    """A reader of queries that learns where their evidence is."""

    def __init__(
        self,
        lists: Sequence[SearchList],
        tables: Sequence[NDArray[Any]],
        encoder: TransformerEncoder,
        config: SearchReaderConfig,
        device: str,
    ) -> None:
        super().__init__(config)
        self.settings, self.lists = config, list(lists)
        if device == "cpu":  # the way back through torch's fused attention takes twice as long there
            encoder.model.set_attn_implementation("eager")
        self.target = TargetModel(encoder.model.to(device).float(), config.adapter).to(device).eval()
        self.padding = encoder.tokenizer.pad_token_id or 0
        rows = encoder.tokenize([one.query for one in self.lists])
        self.rows = [
            row if len(row) <= config.max_tokens else [*row[: config.max_tokens - 1], row[-1]] for row in rows
        ]
        self.tables = [torch.from_numpy(np.asarray(table)).to(device) for table in tables]
        self.device = self.tables[0].device
        weights = np.array([one.weight for one in self.lists])
        wiki = np.array([one.wiki for one in self.lists])
        self.of_wiki = [np.flatnonzero(wiki == number) for number in range(len(tables))]
        self.chances = [weights[own] / max(weights[own].sum(), 1e-9) for own in self.of_wiki]
        shares = np.array([weights[own].sum() for own in self.of_wiki])
        self.shares = shares / shares.sum()

    def loss(self, update: int) -> Tensor:
        """Of some queries of one wiki."""
        config, rng = self.settings, self.rng
        wiki = int(rng.choice(len(self.tables), p=self.shares))
        own = self.of_wiki[wiki]
        size = min(config.batch, len(own))
        which = rng.choice(own, size, replace=False, p=self.chances[wiki])
        chosen = [self.lists[i] for i in which]
        good = np.array([one.good[rng.integers(len(one.good))] for one in chosen])
        bad = [one.bad[i] for one in chosen for i in rng.permutation(len(one.bad))[: config.bad]]
        table = self.tables[wiki]
        others = np.concatenate((np.array(bad, np.int64), rng.integers(len(table), size=config.negatives)))
        nodes = np.concatenate((good, others))
        # What is evidence of a query is no negative of it.
        known = np.zeros((size, len(nodes)), np.bool_)
        places = defaultdict(list)
        for place, node in enumerate(nodes.tolist()):
            places[node].append(place)
        for row, one in enumerate(chosen):
            for node in one.good:
                known[row, places.get(node, ())] = True
        known[np.arange(size), np.arange(size)] = False
        ids, mask = (
            torch.from_numpy(x).to(self.device) for x in pad([self.rows[i] for i in which], self.padding)
        )
        with half_products(self.device):
            q = nn.functional.normalize(self.target(ids, mask).float(), dim=-1)
        units = nn.functional.normalize(table[torch.from_numpy(nodes).to(self.device)].float(), dim=-1)
        cosines = q @ units.T
        logits = (cosines / config.temperature).masked_fill(torch.from_numpy(known).to(self.device), _NEVER)
        right = torch.arange(size, device=self.device)
        self.first = (logits.argmax(1) == right).float().mean()
        return nn.functional.cross_entropy(logits, right)

    def row(self) -> dict[str, Any]:
        """How often the evidence is nearest."""
        return {"nearest": self.first.item()}

    def parameters(self) -> list[nn.Parameter]:
        """The adapter's."""
        return [p for p in self.target.parameters() if p.requires_grad]

    def weights(self) -> dict[str, Tensor]:
        """The same, by name."""
        return self.target.adapter()


def train_search(
    lists: Sequence[SearchList],
    tables: Sequence[NDArray[Any]],
    encoder: TransformerEncoder,
    config: SearchReaderConfig,
    *,
    device: str = "cpu",
    **kept: Unpack[RunOptions],
) -> dict[str, Tensor]:
    """Train on lists over the embeddings of several wikis, and return the adapter."""
    with seeded(config.seed, device):
        searching = SearchReading(lists, tables, encoder, config, device)
        train(searching, **kept)
    return searching.weights()
