"""Encoders that are trained for a table, on its training wiki, when they are first needed.

For the rows of table 4 one that embeds both wikis (sec. 5.3, app. B.1), in TRAIN/encoders; and a target encoder for
each policy, as the paper trains one with each (sec. 4.2, app. B.2, B.3), in TRAIN/readers. Their names hold a
fingerprint of all that they follow from.
"""

from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from linkwalk.artifact import clear, digest, locked, publish
from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.embed.block_tokens import BlockTokens
from linkwalk.embed.encoder import TellingEncoder, open_encoder
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders.folder import job_of, read_encoder, train_encoder
from linkwalk.learn.encoders.spans import SpanConfig
from linkwalk.learn.loop import RunOptions
from linkwalk.learn.readers.target import TargetConfig, train_target
from linkwalk.learn.state import read_state
from linkwalk.navigate.moves import MoveConfig
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.compass import Compass
from linkwalk.policy.low_rank import save_target
from linkwalk.policy.spans import TARGET, SpanModel
from linkwalk.policy.target import load_target
from linkwalk.progress import Progress
from linkwalk.recipes import ENCODERS
from linkwalk.reproduce.halves import Halves
from linkwalk.settings import with_settings

_GPU_TOKENS, _CPU_TOKENS = 1 << 16, 1 << 12


class TrainedEncoder:
    """The encoder of a recipe, and the tables that it makes."""

    def __init__(
        self,
        halves: Halves,
        recipe: str,
        settings: tuple[str, ...],
        plain: Embeddings,
        device: str,
        progress: Progress,
    ) -> None:
        if not plain.manifest["config"].get("max_tokens") or plain.manifest["encoder"] in ("words", "random"):
            raise InputError(
                f"the embeddings {plain.name!r} are not a transformer's: there is no encoder to train"
            )
        self.halves, self.device, self.progress, self.plain = halves, device, progress, plain
        self.base = str(plain.manifest["encoder"])
        self.graph = Graph.open(halves.train)
        self._walker: PolicyWalker | None = None
        if recipe not in ENCODERS:
            raise InputError(f"no recipe named {recipe!r}: choose one of {', '.join(ENCODERS)}")
        self.config: SpanConfig = with_settings(ENCODERS[recipe](plain.width), settings)

    @cached_property
    def job(self) -> dict[str, Any]:
        """All that it follows from."""
        job = job_of(self.graph, self.base, self.config)
        return job | {"plain": self.plain.fingerprint} if self.config.walks == "own" else job

    @cached_property
    def name(self) -> str:
        """What the encoder's folder and its embeddings are called."""
        return f"trained-{digest(self.job)[:8]}"

    @cached_property
    def folder(self) -> Path:
        """Where the encoder is, trained now unless it has been, under whatever name."""
        folder = self.halves.train / "encoders" / self.name
        for other in sorted(folder.parent.glob("*")):
            if (found := read_encoder(other)) is not None and found["job"] == self.job:
                return other
        vectors = self.plain.vectors if self.config.walks == "own" else None
        train_encoder(
            self.graph,
            folder,
            self.base,
            self.config,
            vectors=vectors,
            device=self.device,
            progress=self.progress,
        )
        return folder

    def table(self, workspace: Path) -> Embeddings:
        """A wiki as the trained encoder sees it, embedded now unless it has been."""
        config = EmbedConfig(
            encoder=str(self.folder), tanh=self.config.tanh, max_tokens=self.config.max_tokens
        )
        embed(workspace, config, name=self.name, device=self.device, progress=self.progress)
        return Embeddings.open(workspace, self.name)

    @cached_property
    def reader(self) -> TellingEncoder:
        """phi_target, or phi where there is none: it reads sentences for the policy it was trained with."""
        own = self.folder / TARGET
        spec = str(own if own.is_dir() else self.folder)
        return open_encoder(
            spec, device=self.device, tanh=self.config.tanh, max_tokens=self.config.max_tokens
        )

    def walker(self, graph: Graph, ways: MoveConfig) -> PolicyWalker:
        """The policy that it was trained with, which scores links by their words; these are read once."""
        if self._walker is not None and self._walker.ways == ways:
            return self._walker
        model, tokenizer = SpanModel.open(self.folder, self.device)
        with self.progress.stage("tokenise", graph.nodes, "blocks") as stage:
            blocks = BlockTokens.read(graph, tokenizer, self.config.max_tokens, stage.advance)
        at_once = _GPU_TOKENS if self.device.startswith("cuda") else _CPU_TOKENS
        with self.progress.stage("read links", graph.nodes, "blocks") as stage:
            table = model.table(graph, blocks, at_once, stage.advance)
        self._walker = PolicyWalker(
            self.name, model.head, graph.forward, np.array(graph.out_kinds), table, ways
        )
        return self._walker


class TargetEncoders:
    """A target encoder for each policy that was cloned on one graph."""

    def __init__(self, settings: tuple[str, ...], graph: Graph, device: str, progress: Progress) -> None:
        self.settings, self.graph, self.device, self.progress = settings, graph, device, progress

    def config(self, head: nn.Module) -> TargetConfig:
        """How one is trained for a head: a compass learns on its own walks, others on shortcut walks."""
        plain = TargetConfig() if isinstance(head, Compass) else replace(TargetConfig(), walks="shortcut")
        return with_settings(plain, self.settings)

    def reader(self, policy: Path, head: nn.Module, train: Embeddings, test: Embeddings) -> TellingEncoder:
        """The target encoder of the policy in a folder, trained on one table, for sentences to another."""
        config = self.config(head)
        job = {"config": asdict(config), "policy": policy.name, "encoder": train.fingerprint}
        folder = policy.parents[1] / "readers" / f"{policy.name}-{digest(job)[:8]}"
        with locked(folder):
            if not folder.exists():
                self._train(folder, config, job, head, train)
        found = load_target(folder, test, device=self.device)
        assert found is not None, "it is there now"
        return found

    def _train(
        self, folder: Path, config: TargetConfig, job: dict[str, Any], head: nn.Module, table: Embeddings
    ) -> None:
        partial = folder.with_name(f"{folder.name}.partial")
        adapter = train_target(
            self.graph,
            table.vectors,
            table.transformer("cpu"),
            config,
            head=head,
            device=self.device,
            **run_options(partial, job, self.progress),
        )
        whole = partial / "whole"
        clear(whole)
        save_target(whole, adapter, config.adapter, table.fingerprint, {"config": job["config"]})
        publish(whole, folder)
        clear(partial)


def run_options(folder: Path, job: dict[str, Any], progress: Progress) -> RunOptions:
    """Where a training is kept while it runs; one of the same job that was stopped goes on."""
    saved = read_state(folder)
    resume = saved if saved is not None and saved.job == job else None
    return RunOptions(folder=folder, job=job, resume=resume, progress=progress)
