"""Embeddings that were trained for navigation, for the rows of table 4 (sec. 5.3, app. B.1).

The encoder is trained on the training wiki into TRAIN/encoders, under a name that holds a fingerprint of all that it
follows from, and both wikis are embedded with it.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.artifact import digest
from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.embed.encoder import TellingEncoder, open_encoder
from linkwalk.embed.spans import BlockTokens
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders.folder import job_of, read_encoder, train_encoder
from linkwalk.learn.encoders.spans import SpanConfig
from linkwalk.navigate.moves import MoveConfig
from linkwalk.navigate.policy_walker import PolicyWalker
from linkwalk.policy.spans import TARGET, SpanModel
from linkwalk.progress import Progress
from linkwalk.recipes import ENCODERS
from linkwalk.reproduce.halves import Halves
from linkwalk.settings import with_settings

_GPU_TOKENS, _CPU_TOKENS = 1 << 16, 1 << 12


@dataclass(frozen=True)
class EncoderPlan:
    """How an encoder is trained for a table."""

    recipe: str = "spans"
    settings: tuple[str, ...] = ()


class TrainedEncoder:
    """The encoder of a plan, trained when it is first needed, and the tables that it makes."""

    def __init__(
        self, halves: Halves, plan: EncoderPlan, plain: Embeddings, device: str, progress: Progress
    ) -> None:
        if not plain.manifest["config"].get("max_tokens") or plain.manifest["encoder"] in ("words", "random"):
            raise InputError(
                f"the embeddings {plain.name!r} are not a transformer's: there is no encoder to train"
            )
        self.halves, self.device, self.progress, self.plain = halves, device, progress, plain
        self.base = str(plain.manifest["encoder"])
        self.graph = Graph.open(halves.train)
        self._walker: PolicyWalker | None = None
        if plan.recipe not in ENCODERS:
            raise InputError(f"no recipe named {plan.recipe!r}: choose one of {', '.join(ENCODERS)}")
        self.config: SpanConfig = with_settings(ENCODERS[plan.recipe](plain.width), plan.settings)

    @cached_property
    def job(self) -> dict[str, Any]:
        """All that it follows from."""
        job = job_of(self.graph, self.base, self.config)
        return job | {"plain": self.plain.fingerprint} if self.config.walks == "own" else job

    @cached_property
    def name(self) -> str:
        """Of the encoder and its embeddings."""
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

    def reader(self) -> TellingEncoder:
        """phi_target, or phi where there is none: it reads sentences for the policy it was trained with."""
        own = self.folder / TARGET
        spec = str(own if own.is_dir() else self.folder)
        return open_encoder(
            spec, device=self.device, tanh=self.config.tanh, max_tokens=self.config.max_tokens
        )

    def walker(self, graph: Graph, ways: MoveConfig) -> PolicyWalker:
        """The policy that it was trained with, which scores links by their words; these are read once."""
        if self._walker is None or self._walker.ways != ways:
            self._walker = self._read_links(graph, ways)
        return self._walker

    def _read_links(self, graph: Graph, ways: MoveConfig) -> PolicyWalker:
        model, tokenizer = SpanModel.open(self.folder, self.device)
        with self.progress.stage("tokenise", graph.nodes, "blocks") as stage:
            blocks = BlockTokens.read(graph, tokenizer, self.config.max_tokens, stage.advance)
        at_once = _GPU_TOKENS if self.device.startswith("cuda") else _CPU_TOKENS
        with self.progress.stage("read links", graph.nodes, "blocks") as stage:
            table = model.table(graph, blocks, at_once, stage.advance)
        return PolicyWalker(self.name, model.head, graph.forward, np.array(graph.out_kinds), table, ways)
