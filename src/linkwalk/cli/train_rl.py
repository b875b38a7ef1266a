"""``linkwalk train WIKI --recipe rl``: a policy learns from reward (sec. 5.2, app. B.2 and B.4)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.cli.training import refuse_another, stopped, trained_on, up_to_date
from linkwalk.errors import InputError
from linkwalk.progress import Progress

if TYPE_CHECKING:
    from linkwalk.embed import Embeddings
    from linkwalk.graph.store import Graph

_TOLD = ("recipe", "config", "encoder", "embeddings", "trained_on", "began_as", "updates")


def train_by_reward(
    final: Path,
    recipe: str,
    begins: str | None,
    settings: Sequence[str],
    embeddings: str | None,
    *,
    device: str,
    checkpoint_every: int,
    restart: bool,
    force: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Train a policy by reward, from one that is there where ``begins`` names it, and tell what came of it."""
    from linkwalk.artifact import locked
    from linkwalk.embed import Embeddings
    from linkwalk.graph.store import Graph

    wiki = final.parent.parent
    graph = Graph.open(wiki)
    job = _Rewarded(final, recipe, begins, settings, graph, Embeddings.open(wiki, embeddings, graph))
    with locked(final):
        manifest = None if force else job.made()
        fresh = manifest is None
        if manifest is None:
            manifest = job.run(device, checkpoint_every=checkpoint_every, restart=restart, quiet=quiet)
    from linkwalk.learn.metrics import read_rows

    last = (read_rows(final) or [{}])[-1]
    if json:
        told = {key: manifest[key] for key in _TOLD if key in manifest}
        print_json({"policy": str(final), **told, "last": last})
        return
    if not fresh:
        print(up_to_date(final.name, "graph, embeddings and settings"))
    rows = [("policy", str(final)), ("head", str(manifest["head"]["head"]))]
    if {"update", "seconds", "reward", "entropy"} <= last.keys():
        rows.append(("trained", f"{last['update']:,} updates in {last['seconds']:,.0f} s"))
        rows.append(
            ("at last", f"goals reached {100 * last['reward']:.1f} %, entropy {last['entropy']:.2f} nats")
        )
    print_table(rows)
    print_next(f"linkwalk eval {wiki} --agent {final.name} --agent greedy-unvisited")


class _Rewarded:
    """What is to be trained, and where it goes."""

    def __init__(
        self,
        final: Path,
        recipe: str,
        begins: str | None,
        settings: Sequence[str],
        graph: "Graph",
        table: "Embeddings",
    ) -> None:
        from linkwalk.learn.clone import config_to_json
        from linkwalk.recipes import REWARDED, with_settings

        self.final, self.recipe, self.graph, self.table = final, recipe, graph, table
        self.partial = final.with_name(final.name + ".partial")
        config = REWARDED[recipe](table.width)
        self.start, began = self._begin(begins)
        if self.start is not None:
            config = _with_head(config, began["head"])
        self.config = with_settings(config, settings)
        self.job = {
            "config": config_to_json(self.config),
            "graph": graph.fingerprint,
            "encoder": table.fingerprint,
            "began_as": began.get("checksum"),
        }
        self.map = {"map": began["map"]} if "map" in began else {}

    def _begin(self, name: str | None) -> tuple[Any, dict[str, Any]]:
        """The policy to go on from, and its manifest; none where it begins with nothing."""
        from linkwalk.policy.checkpoint import load_policy
        from linkwalk.wiki.agents import policy_folder

        if name is None:
            if self.recipe != "rl":
                raise InputError(f"{self.recipe} goes on from a policy: name one with --from POLICY")
            return None, {}
        folder = policy_folder(self.final.parent.parent, name)
        if folder is None:
            raise InputError(f"no policy named {name!r} to go on from: train one first, or name a folder")
        if folder == self.final:
            raise InputError(f"{name} would take its own place: name the new policy with --name")
        return load_policy(folder, self.table.fingerprint)

    def made(self) -> dict[str, Any] | None:
        """The policy that is there, if the same training made it; another one is an error."""
        from linkwalk.policy.checkpoint import load_policy, read_policy

        if not self.final.exists():
            return None
        manifest = read_policy(self.final)
        was = {
            "config": manifest.get("config"),
            "graph": trained_on(manifest).get("graph"),
            "encoder": manifest["encoder"],
            "began_as": manifest.get("began_as"),
        }
        refuse_another(self.final, was, self.job)
        return load_policy(self.final, self.table.fingerprint)[1]

    def run(self, device: str, *, checkpoint_every: int, restart: bool, quiet: bool) -> dict[str, Any]:
        """Train the policy, from where it was stopped, and put it in its place."""
        from linkwalk.envs.world import World
        from linkwalk.learn.rewards.impala import reinforce
        from linkwalk.learn.state import FILE
        from linkwalk.policy.checkpoint import put_policy

        config, graph, table = self.config, self.graph, self.table
        head = reinforce(
            World.open(self.final.parent.parent, sees=False),
            table.vectors,
            config,
            start=self.start,
            device=device,
            folder=self.partial,
            job=self.job,
            resume=stopped(self.partial, self.job, config.updates, restart=restart, quiet=quiet),
            checkpoint_every=checkpoint_every,
            progress=Progress(quiet=quiet),
        )
        manifest = {
            "recipe": self.recipe,
            "config": self.job["config"],
            **self.map,
            "encoder": table.fingerprint,
            "encoder_name": table.manifest["encoder"],
            "embeddings": table.name,
            "began_as": self.job["began_as"],
            "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
            "updates": config.updates,
        }
        return put_policy(self.partial, self.final, head, config.head, manifest, leave=(FILE,))


def _with_head(config: Any, head: dict[str, Any]) -> Any:

    from linkwalk.policy.heads import HeadConfig

    return replace(config, head=HeadConfig(**head))
