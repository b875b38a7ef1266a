"""Trains rerankers on lists: what bears on a query must come before what does not (sec. 4.3).

A list is a query, evidence, and hard negatives: what search or links would have put first. In each visit one piece of
evidence stands against ``negatives`` others.

sentences  the cross-encoder; the loss is the softmax's over the scores of the sentences.
blocks     the reader of whole blocks; the loss is the softmax's over all their sentences, of which any of the
           evidence's will do where nobody says which one it is; and, so that a score means the same for every query,
           the logistic loss of each block by itself. Both heads learn; the first, which only decides what is read to
           the end, with half the weight.

Shapes: Q lists of a batch, K sentences or blocks each, P pairs of all of them, S sentences of all blocks.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, Unpack

import numpy as np
import torch
from numpy.random import Generator, default_rng
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from linkwalk.arrays import Array
from linkwalk.device import half_products
from linkwalk.embed.bert import Weights
from linkwalk.embed.sections import Sections
from linkwalk.embed.tokens import Tokens, by_length
from linkwalk.embed.transformer import open_transformer, padded
from linkwalk.errors import InputError
from linkwalk.learn.loop import HeldOutScore, RunOptions, Training, ValidationConfig, seeded, train
from linkwalk.policy.heads import highest
from linkwalk.policy.low_rank import adapter_of, restore
from linkwalk.records import whole_records
from linkwalk.retrieve.block_reader import PairFrame, Passage
from linkwalk.retrieve.cross import CrossConfig, cosines, passage
from linkwalk.retrieve.cross_torch import BlockModel, CrossModel, SectionBatch
from linkwalk.settings import Count, CountOrNone, NotNegative, at_least

_NEVER = -1e4
Figures = tuple[float, float, float]
"""Of some lists: the loss, how often the evidence is first, and how often by a simpler score."""


class SentenceList(NamedTuple):
    """A query with what should come first and what should not; sentences as (title, text)."""

    query: str
    positives: list[tuple[str, str]]
    negatives: list[tuple[str, str]]


class BlockList(NamedTuple):
    """A query with blocks that are evidence and blocks that are not."""

    query: str
    good: list[tuple[Passage, frozenset[int]]]
    """With the sentences that are the evidence; none where any of them may be."""
    bad: list[Passage]
    weight: float = 1.0
    """How often it is drawn, beside others."""


@dataclass(frozen=True, kw_only=True)
class RankingConfig(ValidationConfig):
    """What the trainings of both rerankers have in common."""

    lists: Count = 4
    """Q: queries of a batch."""
    negatives: Count = 7
    """K - 1: what each piece of evidence stands against."""
    warmup: CountOrNone = 50
    max_tokens: Annotated[int, at_least(8)] = 96
    """Of a pair, while training."""
    held_out: CountOrNone = 0
    """Queries that are not trained on: by the loss on their lists the best weights are kept."""
    evaluate_every: Count = 50
    patience: CountOrNone = 0


@dataclass(frozen=True, kw_only=True)
class BlockRankingConfig(RankingConfig):
    """How a reader of blocks is trained."""

    rank: Count = 16
    """Of the adapter."""
    exit: Count = 3
    """Layers up to the first head."""
    lists: Count = 32
    max_tokens: Annotated[int, at_least(16)] = 224
    alone: NotNegative = 0.3
    """Weight of the logistic loss of each block by itself."""
    updates: Count = 1500
    learning_rate: NotNegative = 5e-4
    warmup: CountOrNone = 100
    weight_decay: NotNegative = 0.1
    evaluate_every: Count = 250


def read_lists(path: Path) -> list[SentenceList]:
    """Lists as JSON lines: ``query``, ``positives`` and ``negatives``, each sentence as [title, text]."""
    found = []
    for number, record in whole_records(path):
        try:
            query, good, bad = (record[name] for name in SentenceList._fields)
            if not isinstance(query, str):
                raise ValueError
            found.append(SentenceList(query, _sentences(good), _sentences(bad)))
        except (KeyError, ValueError):
            raise InputError(
                f"{path}, line {number}: no query with positives and negatives as [title, text]"
            ) from None
    return found


def _sentences(value: Any) -> list[tuple[str, str]]:
    """Sentences as (title, text); anything else is an error."""
    found = []
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, list) or [type(part) for part in one] != [str, str]:
            raise ValueError
        found.append((one[0], one[1]))
    return found


AnyConfig = TypeVar("AnyConfig", bound=RankingConfig, covariant=True)
AnyList = TypeVar("AnyList", SentenceList, BlockList)


@dataclass(eq=False)
class Ranking(Training[AnyConfig], Generic[AnyConfig, AnyList]):
    """A reranker that learns to put evidence first."""

    log_every = 25
    simpler = ""
    """What the rate of the simpler score is called."""
    every: Sequence[AnyList]
    encoder: str
    device: str

    def begin(self) -> None:
        """Hold some queries out, with all their lists."""
        count, queries = self.config.held_out, sorted({one.query for one in self.every})
        if count >= len(queries):
            raise InputError(
                f"held_out={count}: there are {len(queries)} queries, and some must be trained on"
            )
        apart = {queries[i] for i in self.rng.permutation(len(queries))[:count]}
        self.lists: list[AnyList] = [one for one in self.every if one.query not in apart]
        self.held_out: list[AnyList] = [one for one in self.every if one.query in apart]
        self.recent: deque[Figures] = deque(maxlen=self.log_every)
        self.plain = open_transformer(self.encoder, device=self.device)

    def choose(self) -> Iterable[int]:
        """The lists of the next update."""
        raise NotImplementedError

    def score(self, lists: Sequence[AnyList], rng: Generator) -> tuple[Tensor, Figures]:
        """The loss of some lists, and the figures."""
        raise NotImplementedError

    def loss(self, update: int) -> Tensor:
        """Of the next lists."""
        loss, figures = self.score([self.lists[i] for i in self.choose()], self.rng)
        self.recent.append(figures)
        return loss

    def row(self) -> dict[str, Any]:
        """The mean of the last updates."""
        return self._mean(self.recent)

    @torch.no_grad()
    def validate(self) -> HeldOutScore | None:
        """The lists held out, always against the same negatives."""
        if not self.held_out:
            return None
        rng, count = default_rng(self.config.seed), self.config.lists
        batches = [self.held_out[at : at + count] for at in range(0, len(self.held_out), count)]
        mean = self._mean(figures for some in batches for figures in [self.score(some, rng)[1]] * len(some))
        return HeldOutScore(-mean["loss"], {f"held_out_{name}": value for name, value in mean.items()})

    def _mean(self, figures: Iterable[Figures]) -> dict[str, float]:
        return dict(zip(("loss", "first", self.simpler), np.mean(list(figures), 0).tolist(), strict=True))

    def weights(self) -> dict[str, Tensor]:
        """All that is trained, by name."""
        weights: dict[str, Tensor] = self.model.weights()  # type: ignore[operator]
        return weights


@dataclass(eq=False)
class SentenceRanking(Ranking[RankingConfig, SentenceList]):
    """The cross-encoder."""

    simpler = "first_by_cosine"
    rank: int

    def begin(self) -> None:
        """Begin with an adapter that changes nothing."""
        super().begin()
        other = open_transformer(self.encoder, device=self.device)
        # What learns is in float32 on a GPU, too, and there only the products are rounded (see ``score``).
        self.cross = CrossModel(other.model.float(), self.rank).to(self.plain.device)
        self.model = self.cross.eval()  # no dropout: what is trained is small
        self.order: list[int] = []
        """The lists to come."""

    def choose(self) -> list[int]:
        """All of them, one after another, in random order; then once more."""
        count = self.config.lists
        while len(self.order) < count:
            self.order += self.rng.permutation(len(self.lists)).tolist()
        chosen, self.order = self.order[:count], self.order[count:]
        return chosen

    def row(self) -> dict[str, Any]:
        """What the two cosines weigh, too."""
        return super().row() | {"scales": self.cross.scales.tolist()}

    def score(self, lists: Sequence[SentenceList], rng: Generator) -> tuple[Tensor, Figures]:
        """The softmax's loss; the cosine alone is the simpler score."""
        queries, texts, negatives = [], [], self.config.negatives
        for one in lists:
            good = one.positives[rng.integers(len(one.positives))]
            bad = [one.negatives[i] for i in rng.choice(len(one.negatives), negatives, replace=False)]
            texts += [passage(*sentence) for sentence in (good, *bad)]
            queries += [one.query] * (1 + negatives)
        ids, types = self.plain.tokens.of_pairs(queries, texts, self.config.max_tokens)
        each, device = list(dict.fromkeys(queries)), self.plain.device
        owner = np.array([each.index(query) for query in queries])
        cosine_P = torch.from_numpy(cosines(self.plain, each, texts, owner)).to(device)
        # bfloat16 on a GPU alone: on some CPUs it ends the process.
        with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
            score_P = self.model(*padded(self.plain.tokenizer, ids, types, device), cosine_P)
        score_QK, cosine_QK = (x.view(len(lists), -1) for x in (score_P.float(), cosine_P))
        loss = cross_entropy(score_QK, torch.zeros(len(lists), dtype=torch.long, device=device))
        return loss, (loss.item(), _first(score_QK), _first(cosine_QK))

    def memory(self) -> dict[str, Any]:
        """The lists to come, and what the next row tells of."""
        return {"order": self.order, "recent": list(self.recent)}

    def remember(self, memory: dict[str, Any]) -> None:
        """Go on with them."""
        self.order = [int(number) for number in memory["order"]]
        self.recent.extend((float(a), float(b), float(c)) for a, b, c in memory["recent"])


@dataclass(eq=False)
class BlockRanking(Ranking[BlockRankingConfig, BlockList]):
    """The reader of blocks."""

    simpler = "first_by_exit"
    tokens: Tokens
    adapter: Weights | None
    """To go on from."""

    def begin(self) -> None:
        """Begin with an adapter that changes nothing, or with one that is given; tokenise all lists once."""
        super().begin()
        config, plain = self.config, self.plain
        weights = np.array([one.weight for one in self.lists])
        self.chances = weights / weights.sum()
        # What learns is in float32 on a GPU, too, and there only the products are rounded (see ``_read``).
        self.blocks = BlockModel(plain.model.float(), config.rank, config.exit).to(plain.device)
        if self.adapter is not None:
            restore(adapter_of(self.blocks.model), self.adapter)
        self.model = self.blocks.eval()  # no dropout: what is trained is small
        # The way back through torch's fused attention takes twice as long on a CPU.
        if plain.device.type == "cpu":
            plain.model.set_attn_implementation("eager")
        self.frame = PairFrame(self.tokens, config.max_tokens)
        passages = [p for one in self.every for p in (*(good for good, _ in one.good), *one.bad)]
        texts = {one.query for one in self.every} | {text for p in passages for text in (p.via, *p.sentences)}
        self.frame.know(sorted(texts | {f"{p.title}." if p.title else "" for p in passages}))

    def choose(self) -> Array:
        """Each as often as its weight says."""
        return self.rng.choice(len(self.lists), self.config.lists, p=self.chances)

    def score(self, lists: Sequence[BlockList], rng: Generator) -> tuple[Tensor, Figures]:
        """The loss of both heads; the first one's is the simpler score."""
        pairs, of_sentences = self._draw(lists, rng)
        heads, device = self._read(pairs), self.plain.device
        right_S, block_S, query_S = torch.from_numpy(of_sentences).to(device)
        right_S = right_S.bool()
        wanted = torch.zeros(len(pairs), device=device).index_fill(0, block_S[right_S], 1.0)
        losses, firsts = [], []
        for scores_S in heads:
            good = _logsumexp(scores_S.masked_fill(~right_S, _NEVER), query_S, len(lists))
            of_block = _logsumexp(scores_S, block_S, len(pairs))
            listwise = (_logsumexp(scores_S, query_S, len(lists)) - good).mean()
            # One of K blocks is evidence: it counts for as much as half of the others.
            odds = torch.where(wanted > 0, self.config.negatives / 2, 1.0)
            alone = binary_cross_entropy_with_logits(of_block, wanted, odds)
            losses.append(listwise + self.config.alone * alone)
            firsts.append(_first(of_block.view(len(lists), -1)))
        loss = 0.5 * losses[0] + losses[1]
        return loss, (loss.item(), firsts[1], firsts[0])

    def _read(self, pairs: Sequence[Sections]) -> tuple[Tensor, ...]:
        """The scores [S] of all sections by either head; pairs of like lengths are read together."""
        device, padding = self.plain.device, self.plain.tokenizer.pad_token_id or 0
        counts = np.array([len(pair.bounds) - 1 for pair in pairs])
        begin = np.cumsum(counts) - counts
        read, places = [], []
        for batch in by_length([len(pair.tokens) for pair in pairs], self.plain.batch_tokens):
            with half_products(device):
                read.append(self.model(SectionBatch.of([pairs[i] for i in batch], padding, device)))
            places += [np.arange(begin[i], begin[i] + counts[i]) for i in batch]
        back = torch.from_numpy(np.argsort(np.concatenate(places))).to(device)
        return tuple(torch.cat(own)[back] for own in zip(*read, strict=True))

    def _draw(self, lists: Sequence[BlockList], rng: Generator) -> tuple[list[Sections], Array]:
        """Pairs, the evidence first of each list; of each sentence whether it is evidence, block and list [3, S]."""
        pairs: list[Sections] = []
        of_sentences: list[tuple[bool, int, int]] = []
        for number, one in enumerate(lists):
            evidence, told = one.good[rng.integers(len(one.good))]
            some = rng.choice(len(one.bad), self.config.negatives, replace=False)
            for place, other in enumerate((evidence, *(one.bad[i] for i in some))):
                pair = self.frame.pair(one.query, other)
                for sentence in range(len(pair.bounds) - 1):
                    right = not place and (not told or sentence in told)
                    of_sentences.append((right, len(pairs), number))
                pairs.append(pair)
        return pairs, np.array(of_sentences, np.int64).T

    def optimiser(self) -> torch.optim.Optimizer:
        """AdamW; the heads, which begin at ten, move faster and are not drawn to zero."""
        heads = self.blocks.heads
        rest = [weight for weight in self.parameters() if weight is not heads]
        return self.adamw([{"params": rest}, {"params": [heads], "scale": 10.0, "weight_decay": 0.0}])


def train_sentences(
    lists: Sequence[SentenceList],
    config: CrossConfig,
    training: RankingConfig,
    *,
    device: str = "cpu",
    **run: Unpack[RunOptions],
) -> dict[str, Tensor]:
    """Train a cross-encoder on lists and return its weights, the best on those held out."""
    lists = [one for one in lists if one.positives and len(one.negatives) >= training.negatives]
    if not lists:
        raise InputError(f"no list has evidence and {training.negatives} negatives: give more of either")
    with seeded(training.seed, device):
        ranking = SentenceRanking(training, lists, config.encoder, device, config.rank)
        train(ranking, **run)
    return ranking.weights()


def train_blocks(
    lists: Sequence[BlockList],
    tokens: Tokens,
    config: BlockRankingConfig,
    *,
    encoder: str = "minilm",
    device: str = "cpu",
    begin: Weights | None = None,
    **run: Unpack[RunOptions],
) -> dict[str, Tensor]:
    """Train a reader of blocks on lists and return its weights, the best on those held out.

    ``begin`` is an adapter to go on from, such as that of a cross-encoder which reads single sentences.
    """
    lists = [one for one in lists if one.good and len(one.bad) >= config.negatives]
    if not lists:
        raise InputError(f"no list has evidence and {config.negatives} blocks without: give more of either")
    with seeded(config.seed, device):
        ranking = BlockRanking(config, lists, encoder, device, tokens, begin)
        train(ranking, **run)
    return ranking.weights()


def _first(scores_QK: Tensor) -> float:
    """How often the evidence, which comes first in its list, has the highest score."""
    return scores_QK.argmax(1).eq(0).float().mean().item()


def _logsumexp(values: Tensor, owner: Tensor, count: int) -> Tensor:
    """The logarithm of the sum of exponentials [count] of the values of each owner."""
    most = highest(values, owner, count)
    sums = torch.zeros_like(most).scatter_add(0, owner, (values - most[owner]).exp())
    return sums.log() + most
