"""Trains what is not trained yet, measures what is not measured yet, and keeps both.

Policies are kept in TRAIN/policies under a name that holds a fingerprint of their configuration, results in
ROOT/reproduce/results.jsonl: the same cell in another table, or after a run was stopped, costs nothing.
"""

import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from linkwalk.arrays import Float32s
from linkwalk.artifact import checksum, digest, locked
from linkwalk.device import choose_device
from linkwalk.embed import Embeddings
from linkwalk.embed.encoder import TellingEncoder
from linkwalk.embed.model import RANDOM
from linkwalk.envs.world import World
from linkwalk.errors import ArtifactError, InputError
from linkwalk.evaluate import TaskConfig, compare, draw_sentences
from linkwalk.gpu.journeys import DeviceAgent
from linkwalk.gpu.walks import DeviceGraph
from linkwalk.graph.held_out import held_out_nodes
from linkwalk.graph.store import Graph
from linkwalk.learn.clone import CloneConfig, clone, config_to_json
from linkwalk.learn.clone_on_device import clone_recorded, recordable
from linkwalk.learn.metrics import read_rows
from linkwalk.learn.rewards.impala import ImpalaConfig, reinforce
from linkwalk.learn.state import FILE
from linkwalk.navigate import REFERENCE, Agent, Episodes, Journeys, MoveConfig, open_baseline, unit_rows
from linkwalk.navigate.compass_walker import CompassWalker
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.checkpoint import load_policy, put_policy
from linkwalk.policy.compass import Compass
from linkwalk.policy.heads import FeedForward
from linkwalk.policy.target import WEIGHTS as TARGET_WEIGHTS
from linkwalk.policy.target import load_target
from linkwalk.progress import Progress
from linkwalk.recipes import RECIPES, REWARDED
from linkwalk.reproduce.encoders import TargetEncoders, TrainedEncoder, run_options
from linkwalk.reproduce.halves import Halves, random_features
from linkwalk.reproduce.journal import Journal
from linkwalk.settings import with_settings

PLAIN, TRAINED = "", "trained"
_SAVE_EVERY = 500  # updates by reward
_WARM = 4  # episodes


@dataclass(frozen=True, kw_only=True)
class Contender:
    """Who runs a cell: a baseline by name, or a policy that is cloned first."""

    baseline: str | None = None
    recipe: str = "paper"
    settings: tuple[str, ...] = ()
    """Of the recipe, as ``linkwalk train --set`` takes them."""
    features: str = PLAIN
    """What the policy sees of pages: embeddings, random features (RF, sec. 5.2), or trained embeddings (sec. 5.3)."""
    revisit: bool = False
    """Whether the policy may go to a page it has been at: the paper's argmax."""
    map: bool = True
    """Whether a compass walks with its map; without one it never revisits, as other heads."""
    spans: bool = False
    """Whether it is the policy that embeddings were trained with, which scores links by their words (app. B.1)."""
    begins: "Contender | None" = None
    """Whose policy it goes on from, by reward (app. B.4)."""


class Runner:
    """Cells of tables on two halves of a wiki."""

    def __init__(
        self,
        halves: Halves,
        *,
        embeddings: str = "minilm",
        budget: int = 100,
        device: str = "auto",
        target: Path | None = None,
        recorded: bool | None = None,
        encoder: tuple[str, tuple[str, ...]] = ("spans", ()),
        trained: str | None = None,
        readers: tuple[str, ...] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """``recorded``: whether what can be trained and walked on the device alone is; None: on a GPU.

        ``encoder``: the recipe and the settings of an encoder that is trained for navigation.
        ``trained``: the name of embeddings by an encoder that was trained elsewhere; None: one is trained here.
        ``readers``: settings of a target encoder that is trained with each policy; None: there is none.
        """
        self.halves, self.embeddings, self.budget = halves, embeddings, budget
        self.target_folder, self.encoder_recipe, self.trained_name = target, encoder, trained
        self.device = str(choose_device(device))
        self.recorded = self.device.startswith("cuda") if recorded is None else recorded
        self.progress = progress or Progress(quiet=True)
        self.train, self.eval = Graph.open(halves.train), Graph.open(halves.eval)
        self.readers = (
            None if readers is None else TargetEncoders(readers, self.train, self.device, self.progress)
        )
        self.journal = Journal(halves.root / "reproduce" / "results.jsonl")
        self._tables: dict[tuple[Path, str], Embeddings] = {}
        self.table(halves.train), self.table(halves.eval)

    def table(self, workspace: Path, features: str = PLAIN) -> Embeddings:
        """The embeddings of a half, random features as wide as they are, or embeddings trained for navigation."""
        key = workspace, features
        if key not in self._tables:
            self._tables[key] = self._open_table(workspace, features)
        return self._tables[key]

    def _open_table(self, workspace: Path, features: str) -> Embeddings:
        if features == TRAINED and self.trained_name is None:
            return self.trained.table(workspace)
        graph = self.train if workspace == self.halves.train else self.eval
        name = self.trained_name if features == TRAINED else self.embeddings
        if features == RANDOM:
            name = random_features(workspace, self.table(workspace).width, self.progress)
        return Embeddings.open(workspace, name, graph)

    @cached_property
    def trained(self) -> TrainedEncoder:
        """The encoder that is trained for navigation."""
        plain = self.table(self.halves.train)
        return TrainedEncoder(self.halves, *self.encoder_recipe, plain, self.device, self.progress)

    @cached_property
    def units(self) -> Float32s:
        """Embeddings of the unseen half, of unit length."""
        return unit_rows(self.table(self.halves.eval).vectors)

    @property
    def reads(self) -> bool:
        """Whether the embeddings' encoder can read a sentence; random features cannot."""
        return bool(self.table(self.halves.eval).manifest["encoder"] != RANDOM)

    @cached_property
    def encoder(self) -> TellingEncoder:
        """The one that made the embeddings."""
        return self.table(self.halves.eval).encoder(self.device)

    @cached_property
    def target(self) -> TellingEncoder | None:
        """The target encoder that policies see sentences through; None: the nodes' own."""
        if self.target_folder is None:
            return None
        found = load_target(self.target_folder, self.table(self.halves.eval), device=self.device)
        if found is None:
            raise InputError(
                f"{self.target_folder} holds no target encoder: leave out --target for the nodes' own"
            )
        return found

    def config(self, contender: Contender) -> CloneConfig | ImpalaConfig:
        """How a contender's policy is cloned, or learns from reward."""
        features = contender.features
        if features == TRAINED and self.trained_name is None:
            features = PLAIN  # an encoder is as wide as it was before
        width = self.table(self.halves.train, features).width
        if contender.recipe in REWARDED:
            return with_settings(REWARDED[contender.recipe](width), contender.settings)
        if contender.recipe not in RECIPES:
            raise InputError(f"no recipe named {contender.recipe!r}: choose one of {', '.join(RECIPES)}")
        return with_settings(RECIPES[contender.recipe](width), contender.settings)

    def policy(self, contender: Contender) -> Path:
        """The folder of a contender's policy, trained now unless it has been."""
        config, table = self.config(contender), self.table(self.halves.train, contender.features)
        manifest = {
            "recipe": contender.recipe,
            "config": config_to_json(config),
            "encoder": table.fingerprint,
            "encoder_name": table.manifest["encoder"],
            "trained_on": {"snapshot": self.train.snapshot, "graph": self.train.fingerprint},
        }
        if contender.begins is not None:
            manifest["began_as"] = self.policy(contender.begins).name
        length = f"multi{config.steps}" if config.multistep else str(config.steps)
        features = "rf-" if contender.features == RANDOM else ""
        walks = config.walks if isinstance(config, CloneConfig) else "reward"
        name = f"{contender.recipe}-{walks}-{length}-{features}{digest(manifest)[:8]}"
        folder = self.halves.train / "policies" / re.sub(r"[^A-Za-z0-9._-]", "_", name)
        if not _is_whole(folder, table.fingerprint):
            with locked(folder):
                if not _is_whole(folder, table.fingerprint):
                    self._train(folder, contender, manifest, table.vectors)
        return folder

    def _train(
        self, folder: Path, contender: Contender, manifest: dict[str, Any], vectors: NDArray[Any]
    ) -> None:
        unfinished, graph = folder.with_name(folder.name + ".partial"), self.train
        config = self.config(contender)
        if isinstance(config, CloneConfig) and self.recorded and recordable(config):
            shutil.rmtree(unfinished, ignore_errors=True)
            head = clone_recorded(
                graph, vectors, config, device=self.device, folder=unfinished, progress=self.progress
            )
        elif isinstance(config, CloneConfig):
            head = clone(
                graph.forward,
                graph.reverse,
                graph.out_kinds,
                vectors,
                config,
                held_out=held_out_nodes(graph, config.validation) if config.validation else None,
                device=self.device,
                **run_options(unfinished, manifest, self.progress),
            )
        else:
            kept = run_options(unfinished, manifest, self.progress)
            kept["checkpoint_every"] = _SAVE_EVERY
            start = None if contender.begins is None else self.head(contender.begins)
            world = World.open(self.halves.train, sees=False)
            head = reinforce(world, vectors, config, start=start, device=self.device, **kept)
        put_policy(unfinished, folder, head, config.head, manifest, leave=(FILE,))

    def head(self, contender: Contender) -> nn.Module:
        """A contender's trained head, on the device."""
        table = self.table(self.halves.eval, contender.features)
        return load_policy(self.policy(contender), table.fingerprint, device=self.device)[0]

    def agent(self, contender: Contender, task: TaskConfig) -> Agent:
        """A contender on the unseen half; depth-first search goes as many links deep as the task has steps."""
        graph = self.eval
        if contender.baseline is not None:
            ways = MoveConfig(depth=task.steps)
            workers = min(4, os.cpu_count() or 1)
            return open_baseline(contender.baseline, graph.forward, self.units, ways, workers=workers)
        if contender.spans:
            return self.trained.walker(graph, MoveConfig(revisit=contender.revisit))
        name, head = self.policy(contender).name, self.head(contender)
        vectors = self.table(self.halves.eval, contender.features).vectors
        if self.recorded and isinstance(head, FeedForward) and task.task != "sentence":
            # The same journeys up to rounding; queries, which have another length, are left to the plain agent.
            there = DeviceGraph.of(graph.forward, graph.out_kinds, device=self.device)
            on_device = torch.tensor(vectors, device=self.device)
            return DeviceAgent(name, there, on_device, head, revisit=contender.revisit)
        if isinstance(head, Compass) and contender.map:
            return CompassWalker(name, head, graph.forward, self.units, workers=min(16, os.cpu_count() or 1))
        ways = MoveConfig(revisit=contender.revisit)
        return PolicyWalker(name, head, graph.forward, graph.out_kinds, vectors, ways)

    def measure(self, task: TaskConfig, contenders: Sequence[Contender]) -> list[dict[str, Any]]:
        """One task's cells, in the order of the contenders: known ones from the journal, the others run now."""
        missing = [c for c in dict.fromkeys(contenders) if self.journal.get(self._key(task, c)) is None]
        for contender, value in self._run(task, missing):
            self.journal.add(self._key(task, contender), value)
        found = [self.journal.get(self._key(task, contender)) for contender in contenders]
        return [cell for cell in found if cell is not None]

    def _run(
        self, task: TaskConfig, contenders: Sequence[Contender]
    ) -> Iterator[tuple[Contender, dict[str, Any]]]:
        if not contenders:
            return
        graph, measure = self.eval, Contender(baseline=REFERENCE)
        agents = {who: _StopwatchAgent(self, who, task) for who in {*contenders, measure}}
        read: dict[int, Float32s] = {}

        def show(agent: Agent, episodes: Episodes) -> Episodes:
            """In sentence search, one sentence of each goal through the agent's encoder, read once by each."""
            if task.task != "sentence":
                return episodes
            assert isinstance(agent, _StopwatchAgent), "all of them are"
            encoder = agent.reader
            if id(encoder) not in read:
                read[id(encoder)] = unit_rows(encoder.encode(draw_sentences(graph, episodes, task)))
            return episodes._replace(queries=read[id(encoder)])

        results = compare(
            graph.forward,
            graph.reverse,
            task,
            [agents[who] for who in contenders],
            agents[measure],
            budget=self.budget,
            show=show,
        )
        for contender, result in zip(contenders, results, strict=True):
            agent = agents[contender]
            cell = result.to_json() | {"budget": self.budget, "seed": task.seed, "device": self.device}
            cell |= {"seconds": agent.seconds, "agent_steps": agent.steps}
            if contender.baseline is None:
                cell |= self._training(contender)
            yield contender, cell

    def reader(self, contender: Contender) -> TellingEncoder:
        """What a contender sees sentences through."""
        if contender.spans:
            return self.trained.reader
        if self.readers is not None and contender.baseline is None:
            tables = (self.table(half, contender.features) for half in (self.halves.train, self.halves.eval))
            return self.readers.reader(self.policy(contender), self.head(contender), *tables)
        if contender.features == TRAINED:
            return self._trained_reader
        return (self.target if contender.baseline is None else None) or self.encoder

    @cached_property
    def _trained_reader(self) -> TellingEncoder:
        return self.table(self.halves.eval, TRAINED).encoder(self.device)

    def _training(self, contender: Contender) -> dict[str, Any]:
        folder = self.trained.folder if contender.spans else self.policy(contender)
        last = (read_rows(folder) or [{}])[-1]
        if not {"update", "seconds"} <= last.keys():
            return {"policy": folder.name}
        return {"policy": folder.name, "updates": last["update"], "training_seconds": last["seconds"]}

    def _key(self, task: TaskConfig, contender: Contender) -> dict[str, Any]:
        """All that a cell depends on."""
        table = self.table(self.halves.eval)
        key: dict[str, Any] = {"task": asdict(task), "budget": self.budget, "graph": self.eval.fingerprint}
        key["encoder"] = table.fingerprint
        if contender.baseline is not None:
            return key | {"baseline": contender.baseline}
        if contender.features == TRAINED or contender.spans:
            known = self.trained_name is None
            key["trained"] = self.trained.job if known else self.table(self.halves.eval, TRAINED).fingerprint
        elif task.task == "sentence" and self.target_folder is not None and self.target is not None:
            key["target"] = checksum(self.target_folder / TARGET_WEIGHTS)
        if contender.spans:
            return key | {"spans": True, "revisit": contender.revisit}
        if task.task == "sentence" and self.readers is not None:
            key["reader"] = self.readers.settings
        return key | {
            "recipe": contender.recipe,
            "config": config_to_json(self.config(contender)),
            "random_features": contender.features == RANDOM,
            "revisit": contender.revisit,
            "map": contender.map,
            "trained_on": self.train.fingerprint,
            **({"begins": self._key(task, contender.begins)} if contender.begins else {}),
        }


def _is_whole(folder: Path, encoder: str) -> bool:
    """Whether a policy is there and can be used; what is damaged is trained again."""
    try:
        load_policy(folder, encoder)
    except ArtifactError:
        return False
    return True


class _StopwatchAgent:
    """A contender, opened when its turn comes: then its policy is trained, if it has to be.

    What a step costs is told beside what it brings (table 7).
    """

    seconds, steps = 0.0, 0

    def __init__(self, runner: Runner, contender: Contender, task: TaskConfig) -> None:
        self.runner, self.contender, self.task = runner, contender, task

    @cached_property
    def _agent(self) -> Agent:
        return self.runner.agent(self.contender, self.task)

    @cached_property
    def reader(self) -> TellingEncoder:
        """What it sees sentences through."""
        return self.runner.reader(self.contender)

    @property
    def name(self) -> str:
        """What the agent is called."""
        return self._agent.name

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        """Run the agent, and note how long it took and how many steps it made."""
        self._agent.run(episodes.part(0, _WARM), budget=budget, seed=seed)  # what is compiled is compiled now
        started = time.perf_counter()
        journeys = self._agent.run(episodes, budget=budget, seed=seed)
        self.seconds = time.perf_counter() - started
        self.steps = int(journeys.steps.sum())
        return journeys
