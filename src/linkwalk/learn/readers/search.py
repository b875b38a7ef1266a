"""Trains how queries are read for dense search: an adapter that puts a query next to the blocks that answer it.

Blocks' embeddings stay as they are, so nothing is embedded again. A query stands against the other queries' evidence,
against blocks that search by words brings up for it, and against random blocks, all of its own wiki (a softmax over
cosines). Shapes: B queries of a wiki, D width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from linkwalk.arrays import Array
from linkwalk.device import half_products
from linkwalk.embed.tokens import pad
from linkwalk.embed.transformer import TransformerEncoder
from linkwalk.learn.loop import LoopConfig, RunOptions, Training, seeded, train
from linkwalk.learn.readers.target import tokenised
from linkwalk.policy.low_rank import TargetModel
from linkwalk.policy.target import AdapterConfig
from linkwalk.settings import Count, CountOrNone, NotNegative, Positive, at_least

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
    batch: Count = 256
    """B: queries of one wiki in an update."""
    bad: CountOrNone = 4
    """Blocks of search's own for each of them."""
    negatives: CountOrNone = 4096
    """Random blocks."""
    temperature: Positive = 0.04
    """By which cosines are divided."""
    max_tokens: Annotated[int, at_least(8)] = 64
    updates: Count = 1500
    learning_rate: NotNegative = 5e-4
    warmup: CountOrNone = 100


@dataclass(eq=False)
class SearchReading(Training[SearchReaderConfig]):
    """A reader of queries that learns where their evidence is."""

    lists: Sequence[SearchList]
    vectors: Sequence[Array]
    """Of the blocks of each wiki."""
    encoder: TransformerEncoder
    device: str

    def begin(self) -> None:
        """Begin with an adapter that changes nothing; tokenise the queries once."""
        encoder, device = self.encoder, self.device
        if device == "cpu":  # the way back through torch's fused attention takes twice as long there
            encoder.model.set_attn_implementation("eager")
        self.target = TargetModel(encoder.model.to(device).float(), self.config.adapter).to(device)
        self.model = self.target.eval()
        self.rows = tokenised(encoder, [one.query for one in self.lists], self.config.max_tokens)
        self.tables = [torch.from_numpy(np.asarray(table)).to(device) for table in self.vectors]
        weights = np.array([one.weight for one in self.lists])
        wiki = np.array([one.wiki for one in self.lists])
        self.of_wiki = [np.flatnonzero(wiki == number) for number in range(len(self.tables))]
        self.chances = [weights[own] / max(weights[own].sum(), 1e-9) for own in self.of_wiki]
        shares = np.array([weights[own].sum() for own in self.of_wiki])
        self.shares = shares / shares.sum()

    def loss(self, update: int) -> Tensor:
        """Of some queries of one wiki."""
        config, rng = self.config, self.rng
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
        known = np.stack([np.isin(nodes, one.good) for one in chosen])
        np.fill_diagonal(known, False)
        tokens = pad([self.rows[i] for i in which], self.encoder.tokenizer.pad_token_id or 0)
        device = table.device
        with half_products(device):
            q = self.target(*(torch.from_numpy(x).to(device) for x in tokens))
            q = normalize(q.float(), dim=-1)
        units = normalize(table[torch.from_numpy(nodes).to(device)].float(), dim=-1)
        cosines = (q @ units.T) / config.temperature
        logits = cosines.masked_fill(torch.from_numpy(known).to(device), _NEVER)
        right = torch.arange(size, device=device)
        self.first = (logits.argmax(1) == right).float().mean()
        return cross_entropy(logits, right)

    def row(self) -> dict[str, Any]:
        """How often the evidence is nearest."""
        return {"nearest": self.first.item()}

    def weights(self) -> dict[str, Tensor]:
        """The adapter's, by name."""
        return self.target.adapter()


def train_search(
    lists: Sequence[SearchList],
    tables: Sequence[Array],
    encoder: TransformerEncoder,
    config: SearchReaderConfig,
    *,
    device: str = "cpu",
    **run: Unpack[RunOptions],
) -> dict[str, Tensor]:
    """Train on lists over the embeddings of several wikis, and return the adapter."""
    with seeded(config.seed, device):
        searching = SearchReading(config, lists, tables, encoder, device)
        train(searching, **run)
    return searching.weights()
