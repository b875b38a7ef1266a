"""What reward teaches: the paper's rows (tables 2 and 7, app. B.2 and B.4), and whether it adds anything to cloning.

    python runs/rl.py rates HALVES --out DIR          steps/s; the time for the paper's steps: DIR/rates.json
    python runs/rl.py choose HALVES/train --out DIR   the sweep at a tenth of the budget: DIR/chosen.json
    python runs/rl.py rows HALVES --out DIR           the chosen settings at length: DIR/rows.json, DIR/curves.npz
    python runs/rl.py plot DIR -o FILE.png            the curves of DIR, or of the folders in it

With less time than all of it takes, ``rates --within SECONDS`` writes DIR/plan.json, the updates and seeds for which
there is time at the rate just measured, and ``choose`` (at a quarter of them, then) and ``rows`` keep to it;
``--jobs`` says how many commands, one row each (``--only``), will share the machine.

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
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwalk.embed.model import RANDOM
from linkwalk.envs.world import World
from linkwalk.evaluate import TaskConfig, compare
from linkwalk.learn.loop import seeded
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.rewards.impala import Impala, ImpalaConfig
from linkwalk.policy.heads import NodeTable
from linkwalk.progress import Progress
from linkwalk.recipes import REWARDED, SWEEP
from linkwalk.reproduce.halves import open_halves
from linkwalk.reproduce.runner import PLAIN, Contender, Runner
from linkwalk.settings import with_settings

STEPS, MULTISTEP, CHOSEN_AT = (5, 10, 20), 20, 10
PAPER = 50_000 * 512 * 100
FINE_TUNED = 10_000 * 512 * 100
"""Steps of the paper's trainings, from nothing and from a cloned policy."""
PACES = tuple(
    (f"learning_rate={rate}", f"entropy_cost={cost}") for rate in (1e-6, 1e-5, 1e-4) for cost in (0.01, 0.001)
)
"""What is tried for a compass."""
COLUMNS = ("reward", "episode_steps", "entropy", "value_loss")
GO_ON = 75
AROUND, CLONING, ENOUGH, SLACK, CHOOSING = 2.5, 5.0, 1000, 0.8, 4
"""To plan by: seconds around a training, those of cloning, the fewest updates that are better than fewer seeds, the
share of the time that is given away, and one part in how many settings are chosen by."""


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
    longer: int = 0
    """Updates of one more training, to see whether more would have helped; 0: none."""
    parts: int = 10
    """One part in so many is what settings are chosen by."""

    def part(self) -> "Plan":
        """A part of it, of one seed, on fewer episodes: to choose by."""
        updates, tuning = (max(1, n // self.parts) for n in (self.updates, self.tuning))
        return replace(self, updates=updates, tuning=tuning, episodes=max(50, self.episodes // 5), seeds=1)

    def within(self, seconds: float, update: float, only: list[str], jobs: int) -> "Plan":
        """As much of it as there is time for, if an update takes so long; rather fewer updates than fewer seeds."""
        found, ratio = self, 2
        for seeds in range(self.seeds, 0, -1):
            trainings, whole, cloned = 0, 0.0, 0
            for one in _named(only):
                if one.longer:
                    continue
                lengths = seeds * len(one.tasks())
                trainings += len(one.sweep) + lengths
                whole += (len(one.sweep) / CHOOSING + lengths) / (1 if one.cloned is None else ratio)
                cloned += (1 + lengths) * (one.cloned == "paper")
            left = seconds - (AROUND * trainings + CLONING * cloned) / jobs
            updates = min(self.updates, max(1, int(SLACK * left / update / whole)))
            tuning = min(self.tuning, max(1, updates // ratio))
            found = replace(self, updates=updates, tuning=tuning, seeds=seeds, parts=CHOOSING)
            if updates >= min(ENOUGH, self.updates):
                break
        return found


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
    features: str = PLAIN
    longer: bool = False
    """Whether it is the first of the others at more length, by what was chosen for that."""

    @property
    def sweep(self) -> tuple[tuple[str, ...], ...]:
        """What is tried for it."""
        return PACES if self.cloned == "ours" else SWEEP

    def tasks(self) -> list[TaskConfig]:
        """What it is trained for; ours is one policy for all."""
        multistep = TaskConfig(task="multistep", steps=MULTISTEP)
        if self.cloned == "ours":
            return [multistep]
        if self.longer:
            return [TaskConfig(steps=CHOSEN_AT)]
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
        updates = plan.longer if self.longer else plan.updates if self.cloned is None else plan.tuning
        settings = (*_length(task), *plan.reward, f"updates={updates}", f"seed={seed}", *chosen)
        before = self.before(task, plan, seed)
        return Contender(recipe=recipe, settings=settings, features=self.features, begins=before)


EXPERIMENTS = (
    Experiment("ours + RL", cloned="ours"),
    Experiment("RFBC + RL", cloned="paper"),
    Experiment("RL"),
    Experiment("RL + RF", features=RANDOM),
    Experiment("RL, longer", longer=True),
)


def _length(task: TaskConfig) -> tuple[str, str]:
    return f"steps={task.steps}", f"multistep={str(task.task == 'multistep').lower()}"


def choose(runner: Runner, plan: Plan, only: list[str], seed: int) -> Iterator[dict[str, Any]]:
    """The best setting so far of each experiment's sweep on the unseen half, and what all of them reached there."""
    found: dict[str, Any] = {}
    for experiment in _named(only):
        if experiment.longer:
            continue
        task = TaskConfig(steps=CHOSEN_AT)
        if experiment.cloned == "ours":
            task = experiment.tasks()[0]
        tried: list[dict[str, Any]] = []
        for settings in experiment.sweep:
            contender = experiment.after(task, plan, 0, settings)
            (cell,) = runner.measure(replace(task, episodes=plan.episodes, seed=seed), [contender])
            tried.append({"settings": list(settings), "success": cell["success"]})
            print(experiment.label, *settings, f"{100 * cell['success']:.1f} %", flush=True)
            best = max(tried, key=lambda one: one["success"])
            found[experiment.label] = {
                "chosen": best["settings"],
                "updates": cell["updates"],
                "tried": tried,
            }
            yield found


def rows(
    runner: Runner, plan: Plan, only: list[str], chosen: dict[str, Any], seed: int, *, sentence: bool
) -> Iterator[tuple[dict[str, Any], Contender]]:
    """Figures of every training and task, and whose; a cloned policy's beside them, on the same episodes."""
    for experiment, trained, training_seed in _trainings(plan, only):
        settings = _chosen(experiment, chosen)
        after = experiment.after(trained, plan, training_seed, settings)
        before = experiment.before(trained, plan, training_seed)
        walked = [TaskConfig(steps=steps) for steps in STEPS] if experiment.cloned == "ours" else [trained]
        if sentence and experiment.label == "RL" and trained.task == "navigation":
            walked.append(replace(trained, task="sentence"))
        for task in walked:
            task = replace(task, episodes=plan.episodes, seed=seed)
            revisits = (False,) if experiment.cloned == "ours" else (True, False)
            contenders = [replace(after, revisit=revisit) for revisit in revisits]
            for who, cell in zip(contenders, runner.measure(task, contenders), strict=True):
                revisit = who.revisit
                row = {"row": experiment.label, "training_seed": training_seed, "revisit": revisit, **cell}
                row |= {"task": task.task, "steps": task.steps, "settings": list(settings)}
                length = "multistep" if trained.task == "multistep" else f"T = {trained.steps}"
                row["training"] = f"{experiment.label}: {length}, seed {training_seed}"
                row["share_of_paper"] = _share(experiment, runner.config(after), cell["updates"])
                if before is not None:
                    row["beside_cloned"] = _beside(runner, task, replace(before, revisit=revisit), who)
                yield row, who


def _trainings(plan: Plan, only: list[str]) -> Iterator[tuple[Experiment, TaskConfig, int]]:
    """Who is trained for what, by which seed: all of the first seed first."""
    for seed in range(plan.seeds):
        for experiment in _named(only):
            if not experiment.longer or (plan.longer and not seed):
                yield from ((experiment, task, seed) for task in experiment.tasks())


def _chosen(experiment: Experiment, chosen: dict[str, Any]) -> tuple[str, ...]:
    label = "RL" if experiment.longer else experiment.label
    return tuple(chosen.get(label, {}).get("chosen", experiment.sweep[-1]))


def _share(experiment: Experiment, config: Any, updates: int) -> float:
    """Of the steps that the paper's training has."""
    whole = PAPER if experiment.cloned is None else FINE_TUNED
    return float(updates * config.batch * config.unroll / whole)


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


def curve(runner: Runner, contender: Contender) -> NDArray[np.float32]:
    """What a training told while it ran [rows, 5]: millions of steps, then ``COLUMNS``."""
    config: Any = runner.config(contender)
    each = config.batch * config.unroll / 1e6
    told = [row for row in read_rows(runner.policy(contender)) if "reward" in row]
    return np.array([[each * row["update"], *(row[name] for name in COLUMNS)] for row in told], np.float32)


def rates(runner: Runner, recipe: str, updates: int, settings: tuple[str, ...]) -> dict[str, float]:
    """Time updates of the paper's size, and walking apart."""
    table = runner.table(runner.halves.train)
    config: ImpalaConfig = with_settings(REWARDED[recipe](table.width), settings)
    with seeded(0, runner.device):
        vectors = NodeTable.of(table.vectors, runner.device).vectors
        training = Impala(config, World.open(runner.halves.train, sees=False), vectors)
        optimiser = training.optimiser()

        def timed(do: Callable[[int], object]) -> float:
            for update in range(1, 6):  # what is compiled and recorded is compiled and recorded now
                do(update)
            _wait(runner.device)
            started = time.perf_counter()
            for update in range(6, updates + 6):
                do(update)
            _wait(runner.device)
            return (time.perf_counter() - started) / updates

        seconds = timed(lambda update: training.improve(update, optimiser))
        walking = timed(lambda _: training.actors.act(training.head, config.unroll))
    steps = config.batch * config.unroll / seconds
    print(
        f"{recipe}: {1e3 * seconds:.2f} ms an update of {config.batch} x {config.unroll} steps, walking alone "
        f"{1e3 * walking:.2f}: {steps:,.0f} steps/s; the paper's {PAPER / 1e9:.2f} billion take "
        f"{PAPER / steps / 60:,.0f} minutes",
        flush=True,
    )
    return {"seconds": seconds, "walking": walking, "steps_per_second": steps}


def plot(folder: Path, file: Path) -> None:
    """Draw the share of episodes that reached the goal in training, one panel for each row and one line a training."""
    from PIL import Image

    from linkwalk.graph.plots import blank_figure

    found: dict[str, NDArray[np.float32]] = {}
    for path in sorted(folder.rglob("curves.npz")):
        with np.load(path) as told:
            found |= {name: told[name] for name in told.files if len(told[name])}
    if not found:
        sys.exit(f"{folder} holds no curves.npz with a curve: run `rows` first")
    labels = [one.label for one in EXPERIMENTS if any(name.startswith(f"{one.label}:") for name in found)]
    figure, axes = blank_figure("Reward in training, by reinforcement learning", columns=len(labels))
    figure.set_size_inches(1 + 2.9 * len(labels), 3.2)
    for axis, label in zip(axes, labels, strict=True):
        for name, told in found.items():
            of, _, rest = name.partition(": ")
            if of != label:
                continue
            task, _, seed = rest.partition(", seed ")
            colour = f"C{[*(f'T = {steps}' for steps in STEPS), 'multistep'].index(task)}"
            first = min(1, len(told) - 1)  # after one update only short episodes have ended
            steps, reached = told[first:, 0], 100 * told[first:, 1]
            axis.plot(steps, reached, color=colour, linewidth=1, label=task if seed == "0" else None)
        axis.set_title(label, loc="left")
        axis.set(xlabel="Millions of steps", ylim=(0, 100))
        axis.legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("Goal reached, %")
    file.parent.mkdir(parents=True, exist_ok=True)
    drawn = BytesIO()
    figure.savefig(drawn, dpi=80)
    few = Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE)  # a third of the bytes
    few.save(file, optimize=True)


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def _named(only: list[str]) -> list[Experiment]:
    return [one for one in EXPERIMENTS if not only or one.label in only]


def main() -> int:
    """Do one of the four."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("rates", "choose", "rows", "plot"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--out", type=Path, default=Path("out/rl"))
    parser.add_argument("--embeddings", default="minilm")
    parser.add_argument("--only", action="append", default=[], help="a row, e.g. 'RL'; may be repeated")
    parser.add_argument("--updates", type=int)
    parser.add_argument("--tuning", type=int)
    parser.add_argument("--longer", type=int)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--cloning", type=int, help="updates of cloning by the recipe `paper`")
    parser.add_argument("--within", type=float, help="seconds to plan choose and rows for")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=20261119, help="of the episodes")
    parser.add_argument("--sentence", action="store_true", help="sentence search by RL, too")
    parser.add_argument("--seconds", type=float, default=540.0, help="after which it saves itself and stops")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.what == "plot":
        plot(args.folder, args.out)
        return 0
    args.out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background commands do not hear it
    timer = threading.Timer(args.seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    progress = Progress()
    try:
        halves = open_halves(args.folder, args.embeddings, progress)
        runner = Runner(halves, embeddings=args.embeddings, device=args.device, progress=progress)
        _do(args, runner, _plan(args))
    except KeyboardInterrupt:
        print("stopped in time: the same command goes on", flush=True)
        return GO_ON
    finally:
        timer.cancel()
    return 0


def _plan(args: argparse.Namespace) -> Plan:
    """What is asked for, else what was planned, else all of it."""
    plan, path = QUICK if args.quick else WHOLE, args.out / "plan.json"
    if args.what != "rates" and path.exists():
        known: dict[str, Any] = json.loads(path.read_text())
        known |= {name: tuple(known[name]) for name in ("cloning", "ours", "reward")}
        plan = Plan(**known)
    if args.cloning is not None:
        plan = replace(plan, cloning=(f"updates={args.cloning}",))
    said = {name: getattr(args, name) for name in ("updates", "tuning", "longer", "seeds")}
    return replace(plan, **{name: value for name, value in said.items() if value is not None})


def _do(args: argparse.Namespace, runner: Runner, plan: Plan) -> None:
    if args.what == "rates":
        found = {
            name: rates(runner, name, 3 if args.quick else 50, plan.reward) for name in ("rl", "rl-compass")
        }
        _write(args.out / "rates.json", found)
        if args.within is not None:
            plan = plan.within(args.within, found["rl"]["seconds"], args.only, args.jobs)
            _write(args.out / "plan.json", asdict(plan))
            print(f"planned: {plan.updates} updates, {plan.tuning} after cloning, seeds: {plan.seeds}")
        return
    path = args.out / "chosen.json"
    chosen = json.loads(path.read_text()) if path.exists() else {}
    if args.what == "choose":
        for found in choose(runner, plan.part(), args.only, args.seed):
            _write(path, chosen | found)
        return
    found_rows, curves = [], dict[str, NDArray[np.float32]]()
    for row, who in rows(runner, plan, args.only, chosen, args.seed, sentence=args.sentence):
        found_rows.append(row)
        _write(args.out / "rows.json", found_rows)
        curves[row["training"]] = curve(runner, who)
        np.savez_compressed(args.out / "curves.npz", **curves)  # type: ignore[arg-type]
        beside = row.get("beside_cloned")
        print(
            f"{row['row']}, {row['task']} {row['steps']}, seed {row['training_seed']}, "
            f"{'may' if row['revisit'] else 'never'} revisit: {100 * row['success']:.1f} %"
            + (f" (cloned {100 * beside['success_cloned']:.1f})" if beside else "")
            + f", {row['updates']} updates, {100 * row['share_of_paper']:.1f} % of the paper's steps",
            flush=True,
        )


def _write(path: Path, found: object) -> None:
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
