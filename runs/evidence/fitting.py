"""Fits the three small networks to what was read, and chooses their sizes by leaving one set out."""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lists import NOT_LEARNED
from reading import by_hand, in_processes
from world import Question, World, asked_of, fold_of, recalls

from linkwalk.retrieve.desk import GROUPS
from linkwalk.retrieve.judge import RANK, SURE, WORTH, JudgeWeights, sure_of
from linkwalk.retrieve.scorer import Scorer

BAGS = 4
"""Trainings whose mean the last ranking is."""
ASKED_BY_PEOPLE = ("fever", "hotpot", "musique", "nq-schools", "nq-simple")
"""Sets that say when an answer is one; a sentence with a gap in it may be settled by many pages."""
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
    def load(cls, folder: Path, deleted: bool) -> "Reads":
        """Of all sets, the folds of each one after the other."""
        stems = sorted({path.stem.rsplit("-f", 1)[0] for path in folder.glob("*.npz")})
        stems = [stem for stem in stems if stem.endswith("-deleted") == deleted]
        data = []
        for stem in stems:
            parts = [dict(np.load(path)) for path in sorted(folder.glob(f"{stem}-f?.npz"))]
            whole = {
                key: np.concatenate([part[key] for part in parts])
                for key in parts[0]
                if key not in ("bounds", "moment")
            }
            counts = np.concatenate([np.diff(part["bounds"]) for part in parts])
            whole["bounds"] = np.concatenate(([0], np.cumsum(counts)))
            firsts = np.cumsum([0, *(len(part["bounds"]) - 1 for part in parts)])
            whole["whose"] = np.concatenate(
                [part["whose"] + at for part, at in zip(parts, firsts, strict=False)]
            )
            data.append(whole)
        return cls(stems, data)


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
    jobs = [(name, "tuned", False) for name in names] + [
        (n, "tuned", True) for n in ("fever", "hotpot", "musique", "links-kubernetes") if n in names
    ]
    write_weights(world.out / "hand.json", by_hand())
    device = asked.device
    if not asked.again:
        few = argparse.Namespace(**vars(asked) | {"limit": asked.limit or FIRST_OF})
        if not (world.out / "reads0").exists():
            in_processes(few, "reads0", [job for job in jobs if not job[2]], False, "hand.json")
    first = fit_worth(Reads.load(world.out / "reads0", False), device)
    write_weights(
        world.out / "first.json", JudgeWeights(worth=first, rank=by_hand().rank, sure=by_hand().sure)
    )
    if not asked.again:
        in_processes(asked, "reads1", jobs, False, "first.json")
    reads, hand = Reads.load(world.out / "reads1", False), Reads.load(world.out / "reads0", False)
    both = [
        o["bounds"][: min(len(o["bounds"]), len(h["bounds"]))]
        for o, h in zip(reads.data, hand.data, strict=True)
    ]
    seen = [
        [
            100 * float(np.mean([o["labels"][a:b].any() for a, b in pairwise(o["bounds"][: len(own)])]))
            for o, own in zip(r.data, both, strict=True)
        ]
        for r in (hand, reads)
    ]
    print(
        "seen by hand and by what was learned:",
        {n: (round(a, 1), round(b, 1)) for n, a, b in zip(reads.sets, *seen, strict=True)},
        flush=True,
    )
    worth = fit_worth(reads, device)
    if np.mean(seen[0]) > np.mean(seen[1]):
        print("what is opened stays as it was set by hand", flush=True)
        reads, worth = hand, first
    choice = choose_rank(world, reads, device)
    rank, deleted = fit_rank(reads, device, **choice), Reads.load(world.out / "reads1", True)
    scores, without = crossed(reads, deleted, device, **choice)
    enough = choose_enough(world, reads, worth, scores)
    sure, report = fit_sure(Scored(reads, scores), Scored(deleted, without), device)
    write_weights(
        world.out / f"weights{world.seed}.json",
        JudgeWeights(worth=worth, rank=rank, sure=sure, enough=enough, **report),
    )
    print("chosen", choice, report, flush=True)


def write_weights(path: Path, weights: JudgeWeights) -> None:
    """As a file."""
    path.write_text(json.dumps(weights.to_json()) + "\n")


def fit_worth(reads: Reads, device: str) -> Scorer:
    """Which block to open: the logistic loss over what could have been opened."""
    weights = even([len(own["bounds"]) for own in reads.data])
    x = np.concatenate([own["moments"] for own in reads.data]).astype(np.float32)
    y = np.concatenate([own["wanted"] for own in reads.data])
    w = np.concatenate([v * own["weigh"] for own, v in zip(reads.data, weights, strict=True)])
    return fit_scorer(WORTH, x, y, None, w, hidden=12, decay=1e-4, drop=False, device=device, steps=400)


def stacked(reads: Reads, leave: str = "") -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Figures, labels, whose they are, and how much they count."""
    kept = [own for name, own in zip(reads.sets, reads.data, strict=True) if name != leave]
    weights = even([len(own["bounds"]) for own in kept])
    owner, at = [], 0
    for own in kept:
        owner.append(at + np.repeat(np.arange(len(own["bounds"]) - 1), np.diff(own["bounds"])))
        at += len(own["bounds"]) - 1
    w = np.concatenate([np.full(len(own["labels"]), v) for own, v in zip(kept, weights, strict=True)])
    return (
        np.concatenate([o["figures"] for o in kept]),
        np.concatenate([o["labels"] for o in kept]),
        np.concatenate(owner),
        w,
    )


def fit_rank(
    reads: Reads, device: str, hidden: int, decay: float, leave: str = "", bags: int = BAGS
) -> Scorer:
    """The last ranking: the mean of several trainings, which is one network with the hidden units of all."""
    own = stacked(reads, leave)
    some = [
        fit_scorer(RANK, *own, hidden=hidden, decay=decay, drop=True, device=device, seed=seed)
        for seed in range(bags)
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


class Scored(NamedTuple):
    """What was read, and the scores of a ranking that has not seen the questions."""

    reads: Reads
    scores: list[np.ndarray]


def crossed(
    reads: Reads, others: Reads, device: str, **choice: Any
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The scores of all blocks by rankings fitted to the other half of the questions; ``others`` have the same ones."""
    found = [[np.zeros(len(own["figures"]), np.float32) for own in some.data] for some in (reads, others)]
    for half in (0, 1):
        rank = fit_rank(Reads(reads.sets, [half_of(own, 1 - half) for own in reads.data]), device, **choice)
        for some, scores in zip((reads, others), found, strict=True):
            for own, of_set in zip(some.data, scores, strict=True):
                rows = rows_of(own, half)
                of_set[rows] = rank(own["figures"][rows])
    return found[0], found[1]


def rows_of(own: dict[str, np.ndarray], half: int) -> np.ndarray:
    """The blocks of every second question."""
    question = np.repeat(np.arange(len(own["bounds"]) - 1), np.diff(own["bounds"]))
    return np.flatnonzero(question % 2 == half)


def half_of(own: dict[str, np.ndarray], half: int) -> dict[str, np.ndarray]:
    """Every second question."""
    rows = rows_of(own, half)
    counts = np.diff(own["bounds"])[half::2]
    return {name: own[name][rows] for name in ("figures", "labels", "nodes")} | {
        "bounds": np.concatenate(([0], np.cumsum(counts)))
    }


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


def choose_enough(world: World, reads: Reads, worth: Scorer, ranked: Sequence[np.ndarray]) -> float:
    """When to stop: as early as costs no more than half a point of recall@5, on average over sets."""
    grid = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3)
    recall, blocks = np.zeros(len(grid)), np.zeros(len(grid))
    sets = 0
    for stem, own, scores in zip(reads.sets, reads.data, ranked, strict=True):
        if "bridge" in stem:
            continue
        sets += 1
        chance = 1 / (1 + np.exp(-worth(own["moments"].astype(np.float32))))
        opened = np.round(20 * own["moments"][:, WORTH.index("opened")].astype(np.float32)).astype(int)
        questions = in_folds(world, stem, own)
        key = own["whose"].astype(np.int64) * 64 + opened
        order = np.lexsort((-chance, key))
        starts = np.flatnonzero(np.diff(key[order], prepend=-1))
        left = np.add.reduceat(
            np.where(
                np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order)))) < 4,
                chance[order],
                0,
            ),
            starts,
        )
        after = {int(key[order[at]]): float(value) for at, value in zip(starts, left, strict=True)}
        for number, level in enumerate(grid):
            found, read = [], []
            for i, one in enumerate(questions):
                rows = slice(own["bounds"][i], own["bounds"][i + 1])
                count = rows.stop - rows.start
                stop = next(
                    (n for n in (8, 12, 16) if n < count and after.get(i * 64 + n, 1.0) < level), count
                )
                part = np.argsort(-scores[rows][:stop], kind="stable")
                found.append(recalls(world, one.set, one, own["nodes"][rows][:stop][part].tolist())[1])
                read.append(stop)
            recall[number] += np.mean(found)
            blocks[number] += np.mean(read)
    for level, r, b in zip(grid, recall / sets, blocks / sets, strict=True):
        print(f"enough at {level}: recall@5 {100 * r:.2f}, {b:.1f} blocks", flush=True)
    good = [level for level, r in zip(grid, recall / sets, strict=True) if r >= recall[0] / sets - 0.005]
    return max(good)


def sure_rows(scored: Scored) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The figures of ``SURE`` for every question, and whether its evidence is among the first five."""
    x, y, names = [], [], []
    for stem, own, scores in zip(*scored.reads, scored.scores, strict=True):
        for i in range(len(own["bounds"]) - 1):
            rows = slice(own["bounds"][i], own["bounds"][i + 1])
            if rows.start == rows.stop:
                continue
            x.append(sure_of(own["figures"][rows], scores[rows]))
            order = np.argsort(-scores[rows], kind="stable")
            y.append(bool(own["labels"][rows][order[:5]].any()))
            names.append(stem.split("-tuned")[0])
    return np.array(x, np.float32), np.array(y), names


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


def fit_sure(answerable: Scored, deleted: Scored, device: str) -> tuple[Scorer, dict[str, float]]:
    """How sure one may be: fitted on questions and claims, looked at on each set that was left out."""
    xa, ya, na = sure_rows(answerable)
    xd, yd, nd = sure_rows(deleted)
    x, y, kind = np.concatenate((xa, xd)), np.concatenate((ya, yd)), np.array([*na, *nd])
    there = np.arange(len(x)) < len(xa)

    def trained(keep: np.ndarray) -> Scorer:
        keep = keep & np.isin(kind, ASKED_BY_PEOPLE)
        weight = np.array([(kind[keep] == k).sum() ** -0.5 for k in kind[keep]])
        return fit_scorer(
            SURE, x[keep], y[keep], None, weight, hidden=0, decay=1e-2, drop=False, device=device, steps=400
        )

    left_out = np.zeros(len(x))
    for k in sorted(set(kind.tolist())):
        test = kind == k
        if y[test].any() and not y[test].all():
            p = left_out[test] = 1 / (1 + np.exp(-trained(~test)(x[test])))
            seen = f"AUC {auc(p, y[test]):.3f}, calibration {calibration(p, y[test]):.3f}, base {y[test].mean():.2f}"
            gone = f", deleted or not {auc(p, there[test]):.3f}" if not there[test].all() else ""
            print(f"sure, {k} left out: {seen}{gone}", flush=True)
    whole = trained(np.ones(len(x), np.bool_))
    held = there & np.isin(kind, ("fever", "hotpot", "musique"))
    return whole, {"nothing": float(np.quantile(left_out[held], 0.07))}
