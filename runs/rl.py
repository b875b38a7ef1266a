"""What reward teaches: the paper's rows (tables 2 and 7, app. B.2 and B.4), and whether it adds anything to cloning.

    python runs/rl.py rates HALVES                    steps/s, and what the paper's 2.56 billion steps take
    python runs/rl.py choose HALVES/train --out DIR   the sweep at a tenth of the budget: DIR/chosen.json
    python runs/rl.py rows HALVES --out DIR           the chosen settings at length: DIR/rows.json, DIR/curves.npz

HALVES is a folder with ``train`` and ``eval``, split and embedded. Settings are chosen on halves of HALVES/train, so
that nothing is chosen on what is reported. After ``--seconds`` the training that runs saves itself and the command ends
with status 75; the same command goes on from there, and what is there already is not made again. Policies are kept in
the workspaces, as those of ``linkwalk reproduce`` are. ``--quick`` tries all of it in minutes.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.envs.world import World
from linkwalk.evaluate import TaskConfig, compare
from linkwalk.learn.impala import Impala, ImpalaConfig
from linkwalk.learn.loop import seeded
from linkwalk.learn.metrics import read_rows
from linkwalk.policy.heads import Table
from linkwalk.progress import Progress
from linkwalk.recipes import SWEEP, rl, with_settings
from linkwalk.reproduce.halves import open_halves
from linkwalk.reproduce.runner import Contender, Runner

STEPS, MULTISTEP, CHOSEN_AT = (5, 10, 20), 20, 10
PAPER = 50_000 * 512 * 100
PACES = tuple(
    (f"learning_rate={rate}", f"entropy_cost={cost}") for rate in (1e-6, 1e-5, 1e-4) for cost in (0.01, 0.001)
)
"""What is tried for a compass."""
GO_ON = 75


@dataclass(frozen=True)
class Plan:
    """How much is done."""

    updates: int
    tuning: int
    """Updates after cloning."""
    cloning: tuple[str, ...]
    ours: tuple[str, ...]
    reward: tuple[str, ...]
    episodes: int
    seeds: int

    def part(self) -> "Plan":
        """A tenth of it, of one seed, on fewer episodes: to choose by."""
        tenth = (max(1, self.updates // 10), max(1, self.tuning // 10))
        return replace(
            self, updates=tenth[0], tuning=tenth[1], episodes=max(50, self.episodes // 10), seeds=1
        )


WHOLE = Plan(50_000, 10_000, (), (), (), 10_000, 3)
QUICK = Plan(
    20,
    10,
    ("updates=20", "batch=32"),
    ("updates=4", "batch=16", "warmup=1"),
    ("batch=16", "unroll=20"),
    60,
    2,
)


@dataclass(frozen=True)
class Experiment:
    """A row: who learns from reward, and after what."""

    label: str
    cloned: str | None = None
    """The recipe that it was cloned by before, if it was."""
    random_features: bool = False

    @property
    def sweep(self) -> tuple[tuple[str, ...], ...]:
        """What is tried for it."""
        return PACES if self.cloned == "ours" else SWEEP

    def tasks(self) -> list[TaskConfig]:
        """What it is trained for; ours is one policy for all."""
        multistep = TaskConfig(task="multistep", steps=MULTISTEP)
        if self.cloned == "ours":
            return [multistep]
        return [*(TaskConfig(steps=steps) for steps in STEPS), multistep]

    def before(self, task: TaskConfig, plan: Plan, seed: int) -> Contender | None:
        """The policy as it was cloned."""
        if self.cloned is None:
            return None
        if self.cloned == "ours":
            return Contender(recipe="ours", settings=(*plan.ours, f"seed={seed}"))
        return Contender(settings=(*_length(task), *plan.cloning, f"seed={seed}"))

    def after(self, task: TaskConfig, plan: Plan, seed: int, chosen: tuple[str, ...]) -> Contender:
        """The policy that has learned from reward."""
        recipe = {None: "rl", "ours": "rl-compass"}.get(self.cloned, "rl-fine-tune")
        updates = plan.updates if self.cloned is None else plan.tuning
        settings = (*_length(task), *plan.reward, f"updates={updates}", f"seed={seed}", *chosen)
        before = self.before(task, plan, seed)
        return Contender(
            recipe=recipe, settings=settings, random_features=self.random_features, begins=before
        )


EXPERIMENTS = (
    Experiment("ours + RL", cloned="ours"),
    Experiment("RFBC + RL", cloned="paper"),
    Experiment("RL"),
    Experiment("RL + RF", random_features=True),
)


def _length(task: TaskConfig) -> tuple[str, str]:
    return f"steps={task.steps}", f"multistep={str(task.task == 'multistep').lower()}"


def choose(runner: Runner, plan: Plan, only: list[str], seed: int) -> dict[str, Any]:
    """The best setting of each experiment's sweep on the unseen half, and what all of them reached there."""
    found: dict[str, Any] = {}
    for experiment in _named(only):
        task = TaskConfig(steps=CHOSEN_AT)
        if experiment.cloned == "ours":
            task = experiment.tasks()[0]
        tried = []
        for settings in experiment.sweep:
            contender = experiment.after(task, plan, 0, settings)
            (cell,) = runner.measure(replace(task, episodes=plan.episodes, seed=seed), [contender])
            tried.append({"settings": list(settings), "success": cell["success"]})
            print(experiment.label, *settings, f"{100 * cell['success']:.1f} %", flush=True)
        best = max(tried, key=lambda one: one["success"])
        found[experiment.label] = {"chosen": best["settings"], "updates": plan.updates, "tried": tried}
    return found


def rows(
    runner: Runner, plan: Plan, only: list[str], chosen: dict[str, Any], seed: int, *, sentence: bool
) -> Iterator[dict[str, Any]]:
    """Figures of every experiment, seed and task; those of the cloned policy beside them, on the same episodes."""
    for training_seed in range(plan.seeds):
        for experiment in _named(only):
            settings = tuple(chosen.get(experiment.label, {}).get("chosen", experiment.sweep[-1]))
            for trained in experiment.tasks():
                after = experiment.after(trained, plan, training_seed, settings)
                before = experiment.before(trained, plan, training_seed)
                walked = (
                    [TaskConfig(steps=steps) for steps in STEPS] if experiment.cloned == "ours" else [trained]
                )
                if sentence and experiment.label == "RL" and trained.task == "navigation":
                    walked.append(replace(trained, task="sentence"))
                for task in walked:
                    task = replace(task, episodes=plan.episodes, seed=seed)
                    for revisit in (False,) if experiment.cloned == "ours" else (True, False):
                        who = replace(after, revisit=revisit)
                        (cell,) = runner.measure(task, [who])
                        row = {
                            "row": experiment.label,
                            "training_seed": training_seed,
                            "revisit": revisit,
                            **cell,
                        }
                        row |= {"task": task.task, "steps": task.steps, "settings": list(settings)}
                        if before is not None:
                            row["beside_cloned"] = _beside(
                                runner, task, replace(before, revisit=revisit), who
                            )
                        yield row


def _beside(runner: Runner, task: TaskConfig, before: Contender, after: Contender) -> dict[str, Any]:
    """Failures after reward beside those before it, on the same episodes."""
    graph, cloned = runner.eval, runner.agent(before, task)
    was, now = compare(
        graph.forward,
        graph.reverse,
        task,
        [cloned, runner.agent(after, task)],
        cloned,
        budget=runner.budget,
    )
    scores = now.scores
    return {
        "success_cloned": was.scores.success,
        "failure_ratio": scores.failure_ratio,
        "failure_ratio_ci95": scores.failure_ratio_ci95,
    }


def curves(runner: Runner, plan: Plan, only: list[str], chosen: dict[str, Any]) -> dict[str, np.ndarray]:
    """What each training told while it ran, [rows, 5]: update, reward, steps of an episode, entropy, value loss."""
    columns = ("update", "reward", "episode_steps", "entropy", "value_loss")
    found = {}
    for seed in range(plan.seeds):
        for experiment in _named(only):
            settings = tuple(chosen.get(experiment.label, {}).get("chosen", experiment.sweep[-1]))
            for task in experiment.tasks():
                folder = runner.policy(experiment.after(task, plan, seed, settings))
                told = [[row[name] for name in columns] for row in read_rows(folder) if "reward" in row]
                name = f"{experiment.label} {task.task} {task.steps} seed {seed}"
                found[name] = np.array(told, np.float32)
    return found


def rates(runner: Runner, updates: int, settings: tuple[str, ...]) -> None:
    """Time updates of the paper's size, walking and learning apart."""
    table = runner.table(runner.halves.train)
    config: ImpalaConfig = with_settings(rl(table.width), settings)
    with seeded(0, runner.device):
        vectors = Table.of(table.vectors, runner.device).vectors
        training = Impala(config, World.open(runner.halves.train, sees=False), vectors)
        optimiser, walking = training.optimiser(), 0.0
        act = training.actors.act

        def timed(*args: Any) -> Any:
            nonlocal walking
            _wait(runner.device)
            began = time.perf_counter()
            unroll = act(*args)
            _wait(runner.device)
            walking += time.perf_counter() - began
            return unroll

        training.actors.act = timed  # type: ignore[method-assign]
        for update in range(1, updates + 3):
            if update == 3:  # what is compiled is compiled now
                _wait(runner.device)
                walking, started = 0.0, time.perf_counter()
            optimiser.zero_grad()
            for piece in training.pieces(update):
                piece.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        _wait(runner.device)
    seconds = (time.perf_counter() - started) / updates
    steps = config.batch * config.unroll / seconds
    print(
        f"{1e3 * seconds:.1f} ms an update of {config.batch} x {config.unroll} steps, walking "
        f"{1e3 * walking / updates:.1f}: {steps:,.0f} steps/s; the paper's {PAPER / 1e9:.2f} billion take "
        f"{PAPER / steps / 60:,.0f} minutes"
    )


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def _named(only: list[str]) -> list[Experiment]:
    return [one for one in EXPERIMENTS if not only or one.label in only]


def main() -> int:
    """Do one of the three."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("rates", "choose", "rows"))
    parser.add_argument("halves", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out/rl"))
    parser.add_argument("--embeddings", default="minilm")
    parser.add_argument("--only", action="append", default=[], help="a row, e.g. 'RL'; may be repeated")
    parser.add_argument("--updates", type=int)
    parser.add_argument("--tuning", type=int)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--seed", type=int, default=20261119, help="of the episodes")
    parser.add_argument("--sentence", action="store_true", help="sentence search by RL, too")
    parser.add_argument("--seconds", type=float, default=540.0, help="after which it saves itself and stops")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    plan = QUICK if args.quick else WHOLE
    said = {name: getattr(args, name) for name in ("updates", "tuning", "seeds")}
    plan = replace(plan, **{name: value for name, value in said.items() if value is not None})
    args.out.mkdir(parents=True, exist_ok=True)
    timer = threading.Timer(args.seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    progress = Progress()
    halves = open_halves(args.halves, args.embeddings, progress)
    runner = Runner(halves, embeddings=args.embeddings, device=args.device, progress=progress)
    try:
        _do(args, runner, plan)
    except KeyboardInterrupt:
        print("stopped in time: the same command goes on", flush=True)
        return GO_ON
    finally:
        timer.cancel()
    return 0


def _do(args: argparse.Namespace, runner: Runner, plan: Plan) -> None:
    if args.what == "rates":
        rates(runner, 3 if args.quick else 20, plan.reward)
        return
    path = args.out / "chosen.json"
    if args.what == "choose":
        found = choose(runner, plan.part(), args.only, args.seed)
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(before | found, indent=1) + "\n")
        return
    chosen = json.loads(path.read_text()) if path.exists() else {}
    found_rows = []
    for row in rows(runner, plan, args.only, chosen, args.seed, sentence=args.sentence):
        found_rows.append(row)
        (args.out / "rows.json").write_text(json.dumps(found_rows, indent=1) + "\n")
        print(
            row["row"],
            row["task"],
            row["steps"],
            f"seed {row['training_seed']}: {100 * row['success']:.1f} %",
            flush=True,
        )
    np.savez_compressed(args.out / "curves.npz", **curves(runner, plan, args.only, chosen))


if __name__ == "__main__":
    sys.exit(main())
