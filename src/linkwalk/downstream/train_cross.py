"""Trains the cross-encoder: of each list of sentences the one that bears on the query must come first (sec. 4.3).

A list is a query, sentences that are evidence, and hard negatives: what TF-IDF and BM25 would have put first. In each
visit one piece of evidence stands against ``negatives`` others, and the loss is the softmax's over their scores.
Shapes: Q lists of a batch, K sentences each.
"""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from linkwalk.downstream.lines import read_records
from linkwalk.embed.pairs import Pairs
from linkwalk.embed.transformer import open_transformer
from linkwalk.errors import InputError
from linkwalk.learn.limits import at_least
from linkwalk.learn.optimise import rise_and_fall
from linkwalk.progress import Progress
from linkwalk.retrieve.cross import CrossConfig, cosines, passage
from linkwalk.retrieve.cross_model import CrossModel

_LOG_EVERY = 25


class Ranked(NamedTuple):
    """A query with what should come first and what should not; sentences as (title, text)."""

    query: str
    positives: list[tuple[str, str]]
    negatives: list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class CrossTraining:
    """How a cross-encoder is trained."""

    updates: int = 1000
    lists: int = 4
    """Q: queries of a batch."""
    negatives: int = 7
    """K - 1: what each piece of evidence stands against."""
    learning_rate: float = 1e-3
    """At its highest, after the warm-up; then along a cosine to zero."""
    warmup: int = 50
    weight_decay: float = 0.01
    max_tokens: int = 96
    """Of a pair, while training."""
    held_out: int = 0
    """Queries that are not trained on: by the loss on their lists the best weights are kept."""
    every: int = 50
    """Updates between two looks at them."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        at_least(self, updates=1, lists=1, negatives=1, every=1)
        at_least(self, learning_rate=0, warmup=0, weight_decay=0, max_tokens=8, held_out=0, seed=0)


def read_lists(path: Path) -> list[Ranked]:
    """Lists as JSON lines: ``query``, ``positives`` and ``negatives``, each sentence as [title, text]."""
    records, damage = read_records(path)
    if damage:
        raise InputError(f"{path}, line {damage[0].line}: {damage[0].reason}")
    found = []
    for number, record in records:
        try:
            query, good, bad = (record[name] for name in Ranked._fields)
            if not isinstance(query, str):
                raise ValueError
            found.append(Ranked(query, _sentences(good), _sentences(bad)))
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


def train_cross(
    lists: Sequence[Ranked],
    config: CrossConfig,
    training: CrossTraining,
    *,
    device: str = "cpu",
    metrics: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Tensor]:
    """Train on lists and return the weights, the best on those held out; losses go to ``metrics`` as JSON lines."""
    progress = progress or Progress(quiet=True)
    lists = [x for x in lists if x.positives and len(x.negatives) >= training.negatives]
    if not lists:
        raise InputError(f"no list has evidence and {training.negatives} negatives: give more of either")
    torch.manual_seed(training.seed)
    rng = np.random.default_rng(training.seed)
    lists, held_out = _hold_out(lists, training.held_out, rng)
    plain = open_transformer(config.encoder, device=device)
    other = open_transformer(config.encoder, device=device)
    # What learns is in float32 on a GPU, too, and there only the products are rounded (see ``_loss``).
    model = CrossModel(other.model.float(), config.rank).to(plain.device)
    model.eval()  # no dropout: what is trained is small
    pairs = Pairs(other.tokenizer, training.max_tokens)
    weights = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=training.learning_rate, weight_decay=training.weight_decay)
    judge = _Judge(model, plain, pairs, held_out, training)
    order: list[int] = []
    began = time.monotonic()
    recent: list[tuple[float, float, float]] = []
    log = metrics.open("w", encoding="utf-8") if metrics else None
    try:
        with progress.stage("train", training.updates, "updates") as stage:
            for update in range(1, training.updates + 1):
                while len(order) < training.lists:
                    order += rng.permutation(len(lists)).tolist()
                chosen, order = [lists[i] for i in order[: training.lists]], order[training.lists :]
                queries, texts = _draw(chosen, training.negatives, rng)
                loss, seen = _loss(model, plain, pairs, queries, texts, len(chosen))
                for group in optimiser.param_groups:
                    group["lr"] = rise_and_fall(training, update)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(weights, 1.0)
                optimiser.step()
                recent.append(seen)
                last = update == training.updates
                held = judge(update) if update % training.every == 0 or last else {}
                if log and (update % _LOG_EVERY == 0 or held or last):
                    row = {"update": update, **_row(recent), **held, "scales": model.scales.tolist()}
                    row["seconds"] = round(time.monotonic() - began, 1)
                    log.write(json.dumps(row) + "\n")
                    log.flush()
                    recent = []
                stage.advance()
    finally:
        if log:
            log.close()
    return judge.best or model.weights()


def _hold_out(lists: list[Ranked], count: int, rng: np.random.Generator) -> tuple[list[Ranked], list[Ranked]]:
    """Some queries apart, with all their lists."""
    queries = sorted({x.query for x in lists})
    if count >= len(queries):
        raise InputError(f"held_out={count}: there are {len(queries)} queries, and some must be trained on")
    apart = {queries[i] for i in rng.permutation(len(queries))[:count]}
    return [x for x in lists if x.query not in apart], [x for x in lists if x.query in apart]


def _loss(
    model: CrossModel, plain: Any, pairs: Pairs, queries: list[str], texts: list[str], count: int
) -> tuple[Tensor, tuple[float, float, float]]:
    """The loss of ``count`` lists, and for people: its value, how often the evidence is first, and by cosine alone."""
    ids, types = pairs.tokenize(queries, texts)
    each = list(dict.fromkeys(queries))
    owner = np.array([each.index(query) for query in queries])
    cosine_P = torch.from_numpy(cosines(plain, each, texts, owner)).to(plain.device)
    # bfloat16 on a GPU alone: on some CPUs it ends the process.
    half = torch.autocast("cuda", torch.bfloat16, enabled=plain.device.type == "cuda")
    with half:
        score_QK = model(*pairs.tensors(ids, types, plain.device), cosine_P).float().view(count, -1)
    loss = nn.functional.cross_entropy(score_QK, torch.zeros(count, dtype=torch.long, device=plain.device))
    first, plainly = (x.argmax(1).eq(0).float().mean().item() for x in (score_QK, cosine_P.view(count, -1)))
    return loss, (loss.item(), first, plainly)


def _row(seen: list[tuple[float, float, float]]) -> dict[str, float]:
    """The mean of what was seen."""
    return dict(zip(("loss", "first", "first_by_cosine"), np.mean(seen, 0).tolist(), strict=True))


class _Judge:
    """Looks at the lists held out, always against the same negatives, and keeps the best weights."""

    def __init__(
        self, model: CrossModel, plain: Any, pairs: Pairs, lists: list[Ranked], training: CrossTraining
    ) -> None:
        self.model, self.plain, self.pairs, self.lists, self.training = model, plain, pairs, lists, training
        self.best: dict[str, Tensor] = {}
        self.least = math.inf
        if lists:
            self(0)

    @torch.no_grad()
    def __call__(self, update: int) -> dict[str, float]:
        """Figures of the lists held out, as the metrics have them."""
        if not self.lists:
            return {}
        rng = np.random.default_rng(self.training.seed)
        seen = []
        for at in range(0, len(self.lists), self.training.lists):
            some = self.lists[at : at + self.training.lists]
            queries, texts = _draw(some, self.training.negatives, rng)
            seen += [_loss(self.model, self.plain, self.pairs, queries, texts, len(some))[1]] * len(some)
        row = _row(seen)
        if row["loss"] < self.least:
            self.least = row["loss"]
            self.best = {name: value.clone() for name, value in self.model.weights().items()}
            self.best_update = update
        return {f"held_out_{name}": value for name, value in row.items()} | {"best": self.best_update}


def _draw(chosen: Sequence[Ranked], negatives: int, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """For each list one piece of evidence and then negatives, with the query beside each."""
    queries, texts = [], []
    for ranked in chosen:
        good = ranked.positives[rng.integers(len(ranked.positives))]
        bad = [ranked.negatives[i] for i in rng.choice(len(ranked.negatives), negatives, replace=False)]
        texts += [passage(*sentence) for sentence in (good, *bad)]
        queries += [ranked.query] * (1 + negatives)
    return queries, texts
