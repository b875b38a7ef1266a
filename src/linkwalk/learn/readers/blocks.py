"""Trains the reader of blocks: of each list of blocks, and of their sentences, the evidence must come first (sec. 4.3).

A list is a query, blocks with evidence, and others that search or links bring up. In each visit one piece of evidence
stands against ``negatives`` others. The loss is the softmax's over all their sentences, of which any of the evidence's
will do where nobody says which one it is; and, so that a score means the same for every query, the logistic loss of
each block by itself. Both heads learn; the first, which only decides what is read to the end, with half the weight.

Shapes: Q lists of a batch, K blocks each, S sentences of all of them.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from linkwalk.device import half_products
from linkwalk.embed.bert import Weights
from linkwalk.embed.sections import Sections
from linkwalk.embed.tokens import Tokens, by_length
from linkwalk.embed.transformer import open_transformer
from linkwalk.errors import InputError
from linkwalk.learn.limits import at_least
from linkwalk.learn.loop import HeldOutScore, RunOptions, Training, ValidationConfig, seeded, train
from linkwalk.policy.low_rank import adapter_of, restore
from linkwalk.retrieve.block_model import BlockModel, Padded
from linkwalk.retrieve.block_reader import PairFrame, Passage

_NEVER = -1e4


class BlockList(NamedTuple):
    """A query with blocks that are evidence and blocks that are not."""

    query: str
    good: list[tuple[Passage, frozenset[int]]]
    """With the sentences that are the evidence; none where any of them may be."""
    bad: list[Passage]
    weight: float = 1.0
    """How often it is drawn, beside others."""


@dataclass(frozen=True, kw_only=True)
class BlockRankingConfig(ValidationConfig):
    """How a reader of blocks is trained."""

    rank: int = 16
    """Of the adapter."""
    exit: int = 3
    """Layers up to the first head."""
    lists: int = 32
    """Q: queries of a batch."""
    negatives: int = 7
    """K - 1: what each piece of evidence stands against."""
    max_tokens: int = 224
    """Of a pair."""
    alone: float = 0.3
    """Weight of the logistic loss of each block by itself."""
    updates: int = 1500
    learning_rate: float = 5e-4
    warmup: int = 100
    weight_decay: float = 0.1
    held_out: int = 0
    """Queries that are not trained on: by the loss on their lists the best weights are kept."""
    evaluate_every: int = 250
    patience: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        super().__post_init__()
        at_least(self, rank=1, exit=1, lists=1, negatives=1, max_tokens=16, held_out=0, alone=0)


Seen = tuple[float, float, float]
"""Of some lists: the loss, how often the evidence is first by the last head, and by the first."""


class BlockRanking(Training):
    """A reader of blocks that learns to put evidence first."""

    log_every = 25

    def __init__(
        self,
        lists: Sequence[BlockList],
        tokens: Tokens,
        encoder: str,
        config: BlockRankingConfig,
        device: str,
        begin: Weights | None = None,
    ) -> None:
        super().__init__(config)
        self.evaluate_every, self.patience, self.settings = config.evaluate_every, config.patience, config
        queries = sorted({one.query for one in lists})
        apart = {queries[i] for i in self.rng.permutation(len(queries))[: config.held_out]}
        self.lists = [one for one in lists if one.query not in apart]
        self.held_out = [one for one in lists if one.query in apart]
        weights = np.array([one.weight for one in self.lists])
        self.chances = weights / weights.sum()
        other = open_transformer(encoder, device=device)
        # What learns is in float32 on a GPU, too, and there only the products are rounded (see ``_score``).
        self.model = BlockModel(other.model.float(), config.rank, config.exit).to(other.device)
        if begin is not None:
            restore(adapter_of(self.model.model), begin)
        self.model.eval()  # no dropout: what is trained is small
        self.device, self.padding = other.device, other.tokenizer.pad_token_id or 0
        self.batch_tokens = other.batch_tokens
        # The way back through torch's fused attention takes twice as long on a CPU.
        if self.device.type == "cpu":
            other.model.set_attn_implementation("eager")
        self.frame = PairFrame(tokens, config.max_tokens)
        passages = [p for one in lists for p in (*(good for good, _ in one.good), *one.bad)]
        texts = {one.query for one in lists} | {text for p in passages for text in (p.via, *p.sentences)}
        self.frame.know(sorted(texts | {f"{p.title}." if p.title else "" for p in passages}))
        self.recent: deque[Seen] = deque(maxlen=self.log_every)

    def loss(self, update: int) -> Tensor:
        """Of the next lists."""
        chosen = self.rng.choice(len(self.lists), self.settings.lists, p=self.chances)
        loss, seen = self._score([self.lists[i] for i in chosen], self.rng)
        self.recent.append(seen)
        return loss

    def row(self) -> dict[str, Any]:
        """The mean of the last updates."""
        return _mean(list(self.recent))

    @torch.no_grad()
    def validate(self) -> HeldOutScore | None:
        """The lists held out, always against the same negatives."""
        if not self.held_out:
            return None
        rng, count = np.random.default_rng(self.settings.seed), self.settings.lists
        batches = [self.held_out[at : at + count] for at in range(0, len(self.held_out), count)]
        mean = _mean([seen for some in batches for seen in [self._score(some, rng)[1]] * len(some)])
        return HeldOutScore(-mean["loss"], {f"held_out_{name}": value for name, value in mean.items()})

    def _score(self, lists: Sequence[BlockList], rng: np.random.Generator) -> tuple[Tensor, Seen]:
        """The loss of some lists, and what is seen of them."""
        pairs, right, block, query = self._draw(lists, rng)
        heads = self._read(pairs)
        right_S, block_S, query_S = (torch.from_numpy(x).to(self.device) for x in (right, block, query))
        blocks, wanted = len(pairs), torch.zeros(len(pairs), device=self.device)
        wanted = wanted.index_fill(0, block_S[right_S], 1.0)
        losses, firsts = [], []
        for scores_S in heads:
            good = _logsumexp(scores_S.masked_fill(~right_S, _NEVER), query_S, len(lists))
            of_block = _logsumexp(scores_S, block_S, blocks)
            listwise = (_logsumexp(scores_S, query_S, len(lists)) - good).mean()
            # One of K blocks is evidence: it counts for as much as half of the others.
            odds = torch.where(wanted > 0, self.settings.negatives / 2, 1.0)
            alone = nn.functional.binary_cross_entropy_with_logits(of_block, wanted, odds)
            losses.append(listwise + self.settings.alone * alone)
            firsts.append(of_block.view(len(lists), -1).argmax(1).eq(0).float().mean().item())
        loss = 0.5 * losses[0] + losses[1]
        return loss, (loss.item(), firsts[1], firsts[0])

    def _read(self, pairs: Sequence[Sections]) -> tuple[Tensor, ...]:
        """The scores [S] of all sections by either head; pairs of like lengths are read together."""
        counts = np.array([len(pair.bounds) - 1 for pair in pairs])
        begin = np.cumsum(counts) - counts
        read, places = [], []
        for batch in by_length([len(pair.tokens) for pair in pairs], self.batch_tokens):
            with half_products(self.device):
                read.append(self.model(Padded.of([pairs[i] for i in batch], self.padding, self.device)))
            places += [np.arange(begin[i], begin[i] + counts[i]) for i in batch]
        back = torch.from_numpy(np.argsort(np.concatenate(places))).to(self.device)
        return tuple(torch.cat(own)[back] for own in zip(*read, strict=True))

    def _draw(
        self, lists: Sequence[BlockList], rng: np.random.Generator
    ) -> tuple[list[Sections], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """Pairs, the evidence first of each list; of each sentence whether it is evidence, its block, its list."""
        pairs: list[Sections] = []
        right: list[bool] = []
        block: list[int] = []
        query: list[int] = []
        for number, one in enumerate(lists):
            passage, told = one.good[rng.integers(len(one.good))]
            some = rng.choice(len(one.bad), self.settings.negatives, replace=False)
            for place, other in enumerate((passage, *(one.bad[i] for i in some))):
                pair = self.frame.pair(one.query, other)
                count = len(pair.bounds) - 1
                good = not place
                right += [good and (not told or i in told) for i in range(count)]
                block += [len(pairs)] * count
                query += [number] * count
                pairs.append(pair)
        return pairs, np.array(right), np.array(block), np.array(query)

    def parameters(self) -> list[nn.Parameter]:
        """The adapter's, and the heads."""
        return [p for p in self.model.parameters() if p.requires_grad]

    def optimiser(self) -> torch.optim.Optimizer:
        """AdamW; the heads, which begin at ten, move faster and are not drawn to zero."""
        config, heads = self.config, [self.model.heads]
        rest = [p for p in self.parameters() if p is not self.model.heads]
        groups: list[dict[str, Any]] = [
            {"params": rest},
            {"params": heads, "scale": 10.0, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(
            groups,
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
        )

    def weights(self) -> dict[str, Tensor]:
        """All that is trained, by name."""
        return self.model.weights()


def train_blocks(
    lists: Sequence[BlockList],
    tokens: Tokens,
    config: BlockRankingConfig,
    *,
    encoder: str = "minilm",
    device: str = "cpu",
    begin: Weights | None = None,
    **kept: Unpack[RunOptions],
) -> dict[str, Tensor]:
    """Train on lists and return the weights, the best on those held out.

    ``begin`` is an adapter to go on from, such as that of a cross-encoder which reads single sentences.
    """
    lists = [one for one in lists if one.good and len(one.bad) >= config.negatives]
    if not lists:
        raise InputError(f"no list has evidence and {config.negatives} blocks without: give more of either")
    with seeded(config.seed, device):
        ranking = BlockRanking(lists, tokens, encoder, config, device, begin)
        train(ranking, **kept)
    return ranking.weights()


def _logsumexp(values: Tensor, owner: Tensor, count: int) -> Tensor:
    """The logarithm of the sum of exponentials [count] of the values of each owner."""
    most = torch.full((count,), -torch.inf, device=values.device)
    most = most.scatter_reduce(0, owner, values.detach(), "amax")
    sums = torch.zeros_like(most).scatter_add(0, owner, (values - most[owner]).exp())
    return sums.log() + most


def _mean(seen: Sequence[Seen]) -> dict[str, float]:
    return dict(zip(("loss", "first", "first_by_exit"), np.mean(seen, 0).tolist(), strict=True))
