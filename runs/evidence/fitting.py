"""Fits the four small networks to what was read, and chooses their sizes by leaving one set out."""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lists import NOT_LEARNED
from reading import Job, by_hand, in_processes, to_learn
from world import Question, World, asked_of, fold_of, recalls

from linkwalk.retrieve.desk import GROUPS
from linkwalk.retrieve.judge import FURTHER, RANK, SURE, WAVES, WORTH, JudgeWeights, further_of, sure_of
from linkwalk.retrieve.scorer import Scorer

BAGS = 4
"""Trainings whose mean the last ranking is."""
ASKED_BY_PEOPLE = ("fever", "hotpot", "musique", "nq-schools", "nq-simple")
"""Sets that say when an answer is one; a sentence with a gap in it may be settled by many pages."""
LET_GO = 0.5
"""Points of recall@5 that stopping may cost, on average over sets."""
LOOKED_AT = 40
"""Blocks with an answer's string that are looked at to see whether it is an answer there."""
SIZES = {"hidden": 4, "decay": 3e-3}
"""Of the last ranking, as chosen before."""
FIRST_OF = 120
"""Of each set, so many questions are read for by hand-set weights, to begin with."""


def fit_scorer(
    names: Sequence[str],
    x: np.ndarray,
    y: np.ndarray,
    owner: np.ndarray | None,
    weight: np.ndarray,
    *,
    hidden: int,
    decay: float,
    drop: bool,
    seed: int = 0,
    device: str = "cpu",
    steps: int = 500,
) -> Scorer:
    """A network by gradient: a softmax over the rows of each owner, or the logistic loss of each row by itself."""
    import torch

    torch.manual_seed(seed)
    x = x.astype(np.float32)
    mean, spread_ = np.nanmean(x, 0).astype(np.float32), np.nanstd(x, 0).astype(np.float32) + 1e-3
    z = torch.from_numpy(np.nan_to_num(np.clip((x - mean) / spread_, -8, 8))).to(device)
    y_t, w_t = (
        torch.from_numpy(y.astype(np.float32)).to(device),
        torch.from_numpy(weight.astype(np.float32)).to(device),
    )
    linear = torch.zeros(len(names), device=device, requires_grad=True)
    h = (0.3 * torch.randn(hidden, len(names) + 1, device=device) / len(names) ** 0.5).requires_grad_()
    out = torch.zeros(hidden, device=device, requires_grad=True)
    bias = torch.zeros((), device=device, requires_grad=True)
    optimiser = torch.optim.Adam([linear, h, out, bias], lr=0.02)
    group = [[names.index(n) for n in own if n in names] for own in GROUPS.values()]
    group.append([names.index(n) for n in ("via", "parent", "beside", "rank") if n in names])
    if owner is not None:
        keep = np.unique(owner[y], return_inverse=False)
        number = np.full(int(owner.max()) + 1, -1)
        number[keep] = np.arange(len(keep))
        rows = torch.from_numpy(np.flatnonzero(number[owner] >= 0)).to(device)
        who = torch.from_numpy(number[owner[number[owner] >= 0]]).to(device)
        count = len(keep)
    for step in range(steps):
        for g in optimiser.param_groups:
            g["lr"] = 0.02 * 0.5 * (1 + math.cos(math.pi * step / steps))
        zz = z
        if drop and owner is not None:
            mask = torch.ones(int(owner.max()) + 1, len(names), device=device)
            for own in group:
                mask[torch.rand(len(mask), device=device) < 0.1] *= torch.tensor(
                    [0.0 if i in own else 1.0 for i in range(len(names))], device=device
                )
            zz = z * mask[torch.from_numpy(owner).to(device)]
        score = zz @ linear + bias
        if hidden:
            score = score + torch.tanh(zz @ h[:, :-1].T + h[:, -1]) @ out
        if owner is None:
            loss = (
                torch.nn.functional.binary_cross_entropy_with_logits(score, y_t, reduction="none") * w_t
            ).sum() / w_t.sum()
        else:
            s, yy, ww = score[rows], y_t[rows], w_t[rows]
            most = torch.full((count,), -torch.inf, device=device).scatter_reduce(0, who, s.detach(), "amax")
            total = torch.zeros(count, device=device).scatter_add(0, who, (s - most[who]).exp())
            log_p = s - most[who] - total.log()[who]
            each = torch.zeros(count, device=device).scatter_add(0, who, yy)
            loss = (
                -(log_p * yy * ww / each[who].clamp(min=1)).sum() / (ww * yy / each[who].clamp(min=1)).sum()
            )
        loss = loss + decay * (linear.square().sum() + h.square().sum() + out.square().sum())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = [t.detach().cpu().numpy().astype(np.float32) for t in (linear, h, out)]
    return Scorer(tuple(names), mean, spread_, found[0], found[1], found[2], bias.item())


class Reads(NamedTuple):
    """What was read of several sets."""

    sets: list[str]
    data: list[dict[str, np.ndarray]]

    @classmethod
    def load(cls, folder: Path, deleted: bool, parts: bool = False) -> "Reads":
        """Of all sets."""
        ends = f"-tuned{'-parts' * parts}{'-deleted' * deleted}-f0"
        stems = sorted(path.stem for path in folder.glob("*.npz") if path.stem.endswith(ends))
        return cls(
            [stem.removesuffix("-f0") for stem in stems],
            [dict(np.load(folder / f"{stem}.npz")) for stem in stems],
        )


def even(sizes: Sequence[int]) -> list[float]:
    """How much a row of each set counts: the roots of sizes are what sets weigh."""
    return [float(max(size, 1) ** -0.5) for size in sizes]


def fit(world: World, asked: argparse.Namespace) -> None:
    """Read by hand-set weights, learn, read again by what was learned, learn again, choose by leaving a set out."""
    names = [
        n
        for n in world.questions
        if n not in NOT_LEARNED and any(one.part == "tuned" for one in world.questions[n])
    ]
    jobs = [Job(name, "tuned") for name in names]
    jobs += [
        Job(n, "tuned", deleted=True)
        for n in ("fever", "hotpot", "musique", "links-kubernetes")
        if n in names
    ]
    jobs += [
        Job(n, "tuned", gone, parts=True) for n in ASKED_BY_PEOPLE if n in names for gone in (False, True)
    ]
    device, path = asked.device, world.out / "first.json"
    if not path.exists():
        write_weights(world.out / "hand.json", by_hand())
        few = argparse.Namespace(**vars(asked) | {"limit": asked.limit or FIRST_OF})
        in_processes(
            few, "reads0", [job for job in jobs if not job.deleted and not job.parts], False, "hand.json"
        )
        first = fit_worth(Reads.load(world.out / "reads0", False), device)
        write_weights(path, replace(by_hand(), worth=first))
    if not asked.again:
        in_processes(asked, "reads1", jobs, False, "first.json")
    reads, deleted = (Reads.load(world.out / "reads1", gone) for gone in (False, True))
    parts = [Reads.load(world.out / "reads1", gone, parts=True) for gone in (False, True)]
    seed = world.seed
    worth = fit_worth(reads, device, seed)
    choice = dict(SIZES) if asked.sizes else choose_rank(world, reads, device)
    rank = fit_rank(reads, device, **choice, seed=seed)
    halves = [fit_rank(half_of(reads, 1 - half), device, **choice, seed=seed) for half in (0, 1)]
    tell_recall(world, reads, halves)
    further, enough = fit_further(world, reads, halves, device, seed)
    rows = [sure_rows(world, some, halves) for some in (reads, deleted, *parts)]
    sure, report = fit_sure(rows, device, seed)
    write_weights(
        world.out / f"weights{world.seed}.json",
        JudgeWeights(worth=worth, rank=rank, sure=sure, further=further, enough=enough, **report),
    )
    print("chosen", choice, enough, report, flush=True)


def write_weights(path: Path, weights: JudgeWeights) -> None:
    """As a file."""
    path.write_text(json.dumps(weights.to_json()) + "\n")


def fit_worth(reads: Reads, device: str, seed: int = 0) -> Scorer:
    """Which block to open: the logistic loss over what could have been opened."""
    weights = even([len(own["bounds"]) for own in reads.data])
    x = np.concatenate([own["moments"] for own in reads.data]).astype(np.float32)
    y = np.concatenate([own["wanted"] for own in reads.data])
    w = np.concatenate([v * own["weigh"] for own, v in zip(reads.data, weights, strict=True)])
    return fit_scorer(
        WORTH, x, y, None, w, hidden=12, decay=1e-4, drop=False, device=device, steps=400, seed=seed
    )


class Stage(NamedTuple):
    """What was known of a question after a wave."""

    whose: int
    figures: np.ndarray
    """Of the blocks read so far."""
    labels: np.ndarray
    nodes: np.ndarray
    waiting: np.ndarray
    """``WORTH`` of the best that wait."""
    last: bool


def stages_of(own: dict[str, np.ndarray]) -> Iterator[Stage]:
    """All that was known of a set, wave by wave."""
    ends = np.cumsum(own["stage_read"])
    for number, (whose, count) in enumerate(zip(own["stage_whose"], own["stage_read"], strict=True)):
        start, stop = own["bounds"][whose], own["bounds"][whose + 1]
        waiting = own["stage_waiting"][number].astype(np.float32)
        yield Stage(
            int(whose),
            own["stage_figures"][ends[number] - count : ends[number]],
            own["labels"][start : start + count],
            own["nodes"][start : start + count],
            waiting[~np.isnan(waiting[:, -1])],
            start + count == stop,
        )


def half_of(reads: Reads, half: int) -> Reads:
    """Every second question."""
    kept = ("stage_read", "stage_whose", "stage_waiting", "stage_figures")
    data = []
    for own in reads.data:
        some = own["stage_whose"] % 2 == half
        rows = np.repeat(some, own["stage_read"])
        waves = {name: own[name][rows if name == "stage_figures" else some] for name in kept}
        mine = own["whose"] % 2 == half
        moments = {name: own[name][mine] for name in ("whose", "moments", "wanted", "weigh")}
        data.append(own | waves | moments)
    return Reads(reads.sets, data)


def fit_rank(
    reads: Reads,
    device: str,
    hidden: int,
    decay: float,
    leave: str = "",
    bags: int = BAGS,
    seed: int = 0,
) -> Scorer:
    """The last ranking: the mean of several trainings, which is one network with the hidden units of all.

    It learns from what was known after every wave: reading may end at any.
    """
    kept = [own for name, own in zip(reads.sets, reads.data, strict=True) if name != leave]
    stages = [list(stages_of(own)) for own in kept]
    weights = even([len({one.whose for one in some}) for some in stages])
    each = [(one, weight) for some, weight in zip(stages, weights, strict=True) for one in some]
    counts = [len(one.labels) for one, _ in each]
    own = (
        np.concatenate([one.figures for one, _ in each]),
        np.concatenate([one.labels for one, _ in each]),
        np.repeat(np.arange(len(each)), counts),
        np.repeat([weight for _, weight in each], counts),
    )
    some = [
        fit_scorer(
            RANK,
            *own,
            hidden=hidden,
            decay=decay,
            drop=True,
            device=device,
            seed=bags * seed + bag,
            steps=300,
        )
        for bag in range(bags)
    ]
    mean = {name: np.mean([getattr(one, name) for one in some], 0) for name in ("linear", "bias")}
    joined = {name: np.concatenate([getattr(one, name) for one in some]) for name in ("hidden", "out")}
    return replace(
        some[0],
        linear=mean["linear"],
        bias=float(mean["bias"]),
        hidden=joined["hidden"],
        out=joined["out"] / bags,
    )


def tell_recall(world: World, reads: Reads, halves: Sequence[Scorer]) -> None:
    """Recall@5 after every wave and of all that was seen, by rankings fitted to the other half of the questions."""
    for stem, own in zip(*reads, strict=True):
        questions, found = in_folds(world, stem, own), defaultdict(list)
        for one in stages_of(own):
            order = np.argsort(-halves[one.whose % 2](one.figures), kind="stable")
            asked = questions[one.whose]
            found[len(one.nodes)].append(recalls(world, asked.set, asked, one.nodes[order].tolist()))
        told = {count: np.round(100 * np.mean(rows, 0), 1).tolist() for count, rows in found.items()}
        print(f"{stem}: recall@1, @5, seen after so many blocks {told}", flush=True)


def choose_rank(world: World, reads: Reads, device: str) -> dict[str, Any]:
    """The sizes that are best, on average over sets, on sets that were left out."""
    found = {}
    for hidden, decay in ((0, 1e-3), (0, 5e-3), (4, 3e-3), (8, 1e-3), (8, 1e-2), (16, 3e-4)):
        by_set = {}
        for name, own in zip(reads.sets, reads.data, strict=True):
            if "bridge" in name or name == "links-schools-tuned":
                continue
            scorer = fit_rank(reads, device, hidden, decay, leave=name, bags=1)
            by_set[name] = recall_of(world, name, own, scorer(own["figures"]))
        found[hidden, decay] = np.mean(list(by_set.values()))
        print(
            f"left out, hidden {hidden}, decay {decay}:",
            {k: round(100 * v, 1) for k, v in by_set.items()},
            f"mean {100 * found[hidden, decay]:.2f}",
            flush=True,
        )
    best = max(found, key=lambda key: found[key])
    plainly = {
        n: round(100 * recall_of(world, n, o, o["figures"][:, RANK.index("best")]), 1)
        for n, o in zip(reads.sets, reads.data, strict=True)
    }
    print("by the reader alone:", plainly, flush=True)
    return {"hidden": best[0], "decay": best[1]}


def recall_of(world: World, stem: str, own: dict[str, np.ndarray], scores: np.ndarray, at: int = 1) -> float:
    """Recall@5 (or @1 with ``at`` 0) of a set that was read, by some scores."""
    values = []
    for i, one in enumerate(in_folds(world, stem, own)):
        name = one.set
        rows = slice(own["bounds"][i], own["bounds"][i + 1])
        order = np.argsort(-scores[rows], kind="stable")
        values.append(recalls(world, name, one, own["nodes"][rows][order].tolist())[at])
    return float(np.mean(values))


def in_folds(world: World, stem: str, own: dict[str, np.ndarray]) -> list[Question]:
    """The questions of a set in the order in which they were read."""
    found = asked_of(world, stem.split("-tuned")[0], "tuned")
    return [one for one in found if fold_of(one.text) == 0][: len(own["bounds"]) - 1]


def fit_further(
    world: World, reads: Reads, halves: Sequence[Scorer], device: str, seed: int
) -> tuple[Scorer, float]:
    """Whether reading on brings up more, and when to stop: as early as costs no more than ``LET_GO`` on average.

    Levels are tried on sets that were left out.
    """
    worths = [fit_worth(half_of(reads, 1 - half), device, seed) for half in (0, 1)]
    x, kind, whose, read, recall = [], [], [], [], []
    for stem, own in zip(*reads, strict=True):
        questions = in_folds(world, stem, own)
        for one in stages_of(own):
            scores = halves[one.whose % 2].of(one.figures, RANK)
            waiting = one.waiting if len(one.waiting) else np.zeros((1, len(WORTH)), np.float32)
            x.append(further_of(one.figures, scores, waiting, worths[one.whose % 2](waiting)))
            order, asked = np.argsort(-scores, kind="stable"), questions[one.whose]
            recall.append(recalls(world, asked.set, asked, one.nodes[order].tolist())[1])
            kind.append(stem)
            whose.append(one.whose)
            read.append(len(one.nodes))
    rows, sets, at = np.array(x), np.array(kind), np.array(whose)
    counts, found = np.array(read), np.array(recall)
    key = np.unique(sets, return_inverse=True)[1] * 10**6 + at
    whole = {k: n for n, k in enumerate(key.tolist())}  # the last wave of each question
    ends = np.array([whole[k] for k in key.tolist()])
    more, going = found[ends] > found, ends != np.arange(len(key))

    def trained(keep: np.ndarray) -> Scorer:
        keep = keep & going
        weight = np.array([(sets[keep] == k).sum() ** -0.5 for k in np.unique(sets)])
        each = weight[np.searchsorted(np.unique(sets), sets[keep])]
        return fit_scorer(
            FURTHER,
            *(rows[keep], more[keep], None, each),
            hidden=4,
            decay=1e-2,
            drop=False,
            device=device,
            steps=300,
            seed=seed,
        )

    chance = np.zeros(len(rows))
    for name in np.unique(sets).tolist():
        chance[sets == name] = 1 / (1 + np.exp(-trained(sets != name)(rows[sets == name])))
    counted = [name for name in np.unique(sets).tolist() if "bridge" not in name]
    levels, best = (0.0, *np.quantile(chance[going], np.linspace(0.02, 0.98, 49)).tolist()), 0.0
    for level in levels:
        stops: dict[int, int] = {}
        for number in np.argsort(counts, kind="stable").tolist():
            if not going[number] or chance[number] < level:
                stops.setdefault(int(key[number]), number)
        told = {}
        for name in np.unique(sets).tolist():
            own = [n for n in stops.values() if sets[n] == name]
            lost = 100 * float(np.mean(found[own] - found[ends[own]]))
            told[name] = round(lost, 1), round(float(counts[own].mean()), 1)
        lost, blocks = np.mean([told[name] for name in counted], 0).tolist()
        print(f"enough at {level:.4f}: recall@5 {lost:+.2f}, {blocks:.1f} blocks;", told, flush=True)
        if lost >= -LET_GO:
            best = level
    return trained(np.ones(len(rows), np.bool_)), float(best)


class SureRows(NamedTuple):
    """What is known of each question at the end and after the first wave."""

    x: np.ndarray
    found: np.ndarray
    """Whether its evidence is among the first five."""
    sets: np.ndarray
    last: np.ndarray


def sure_rows(world: World, reads: Reads, halves: Sequence[Scorer]) -> SureRows:
    """The figures of ``SURE``, of questions that people asked.

    Where labels are answers' strings, most blocks that have one have it by chance: such a question counts if one says
    the answer in a sentence about it.
    """
    x, y, names, ends = [], [], [], []
    for stem, own in zip(*reads, strict=True):
        name = stem.split("-tuned")[0]
        if name not in ASKED_BY_PEOPLE:
            continue
        questions = in_folds(world, stem, own)
        told = [
            not one.answers
            or bool(to_learn(world, name, one)([n for g in one.gold for n in g][:LOOKED_AT]).any())
            for one in questions
        ]
        for one in stages_of(own):
            if told[one.whose] and (one.last or len(one.nodes) == WAVES[0]):
                scores = halves[one.whose % 2](one.figures)
                x.append(sure_of(one.figures, scores))
                y.append(bool(one.labels[np.argsort(-scores, kind="stable")[:5]].any()))
                names.append(name)
                ends.append(one.last)
    return SureRows(np.array(x, np.float32), np.array(y), np.array(names), np.array(ends))


def auc(score: np.ndarray, label: np.ndarray) -> float:
    """How often what is right has the higher score."""
    order = np.argsort(score, kind="stable")
    rank = np.empty(len(score))
    rank[order] = np.arange(1, len(score) + 1)
    good = label.sum()
    return float((rank[label].sum() - good * (good + 1) / 2) / max(1, good * (~label).sum()))


def calibration(chance: np.ndarray, label: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error, in bins of as many each."""
    order = np.argsort(chance)
    parts = np.array_split(order, bins)
    return float(sum(len(p) * abs(chance[p].mean() - label[p].mean()) for p in parts if len(p)) / len(chance))


def fit_sure(rows: Sequence[SureRows], device: str, seed: int) -> tuple[Scorer, dict[str, float]]:
    """How sure one may be: in whole wikis and in parts of them, with what answers the question and without."""
    x, y, sets, last = (np.concatenate(some) for some in zip(*rows, strict=True))
    source = np.repeat(np.arange(len(rows)), [len(some.x) for some in rows])
    gone, group = source % 2 == 1, np.char.add(sets, source.astype(str))

    def trained(keep: np.ndarray) -> Scorer:
        weight = np.array([(group[keep] == k).sum() ** -0.5 for k in group[keep]])
        return fit_scorer(
            SURE,
            *(x[keep], y[keep], None, weight),
            hidden=0,
            decay=1e-2,
            drop=False,
            device=device,
            steps=400,
            seed=seed,
        )

    left_out = np.zeros(len(x))
    family = np.array([name.partition("-")[0] for name in sets])
    for k in np.unique(family):
        left_out[family == k] = 1 / (1 + np.exp(-trained(family != k)(x[family == k])))
    whole = trained(np.ones(len(x), np.bool_))
    fitted = 1 / (1 + np.exp(-whole(x)))
    for k in np.unique(family):
        for parts in (False, True):
            test = (family == k) & ((source >= 2) == parts) & last
            for title, p in (("left out", left_out[test]), ("fitted", fitted[test])):
                there = f", deleted or not {auc(p, ~gone[test]):.3f}" if gone[test].any() else ""
                print(
                    f"sure, {k}{' in parts' * parts}, {title}: AUC {auc(p, y[test]):.3f}{there}, "
                    f"calibration {calibration(p, y[test]):.3f}, {p.mean():.2f} for {y[test].mean():.2f}",
                    flush=True,
                )
    held = ~gone & last & np.isin(sets, ("fever", "hotpot", "musique"))
    return whole, {"nothing": float(np.quantile(left_out[held], 0.07))}
