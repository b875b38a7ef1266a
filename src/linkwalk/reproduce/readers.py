"""A target encoder for each policy of a table, as the paper trains one with each (sec. 4.2, app. B.2, B.3).

They are kept in TRAIN/readers under the policy's name and a fingerprint of how they were trained.
"""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from torch import nn

from linkwalk.artifact import clear, digest, locked, publish
from linkwalk.embed import Embeddings
from linkwalk.embed.encoder import TellingEncoder
from linkwalk.graph.store import Graph
from linkwalk.learn.readers.target import TargetConfig, train_target
from linkwalk.learn.state import read_state
from linkwalk.policy.compass import Compass
from linkwalk.policy.low_rank import save_target
from linkwalk.policy.target import load_target
from linkwalk.progress import Progress
from linkwalk.settings import with_settings


class Readers:
    """Target encoders for policies that were cloned on one graph, trained when they are first needed."""

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
        saved = read_state(partial)
        adapter = train_target(
            self.graph,
            table.vectors,
            table.transformer("cpu"),
            config,
            head=head,
            device=self.device,
            folder=partial,
            job=job,
            resume=saved if saved is not None and saved.job == job else None,
            progress=self.progress,
        )
        whole = partial / "whole"
        clear(whole)
        save_target(whole, adapter, config.adapter, table.fingerprint, {"config": job["config"]})
        publish(whole, folder)
        clear(partial)
