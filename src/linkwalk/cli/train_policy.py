"""``linkwalk train``: a policy is cloned, from where it was stopped, and put in its place in one step (sec. 3)."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwalk.cli.output import print_json, print_next, print_table
from linkwalk.cli.training import in_short, new_folder, trained_on, up_to_date

if TYPE_CHECKING:
    from torch import nn

    from linkwalk.embed import Embeddings
    from linkwalk.graph.store import Graph
    from linkwalk.learn.clone import CloneConfig
    from linkwalk.learn.state import Saved

_TOLD = ("recipe", "config", "encoder", "encoder_name", "embeddings", "trained_on", "updates", "kept_update")
"""What ``--json`` tells of a policy's manifest."""


class _Trained(NamedTuple):
    """A policy in its place, trained now or before."""

    head: "nn.Module"
    manifest: dict[str, Any]
    last: dict[str, Any]
    """The row that the training reported at last."""
    kept: dict[str, Any]
    """The row of the weights that were kept."""
    resumed_at: int | None = None
    fresh: bool = True


def train_policy(
    wiki: Path,
    *,
    recipe: str,
    name: str | None,
    settings: list[str],
    embeddings: str | None,
    device: str,
    checkpoint_every: int,
    restart: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Clone a policy and put it into the workspace, unless the same training has; ``device`` is resolved."""
    from linkwalk.artifact import locked
    from linkwalk.embed import Embeddings
    from linkwalk.errors import InputError
    from linkwalk.graph.store import Graph
    from linkwalk.recipes import RECIPES, with_settings

    if recipe not in RECIPES:
        raise InputError(f"no recipe named {recipe!r}: choose one of {', '.join(RECIPES)}")
    name = name or recipe
    final = new_folder(wiki, name)
    graph = Graph.open(wiki)
    table = Embeddings.open(wiki, embeddings or "minilm", graph)
    config = with_settings(RECIPES[recipe](table.width), settings)
    training = _Training(final, recipe, config, graph, table)
    with locked(final):
        trained = None if force else training.made()
        if trained is None:
            trained = training.run(device, checkpoint_every=checkpoint_every, restart=restart, quiet=quiet)
    if as_json:
        told = {key: trained.manifest[key] for key in _TOLD if key in trained.manifest}
        rows = {"resumed_at": trained.resumed_at, "last": trained.last, "kept": trained.kept}
        print_json({"policy": str(final), **told, **rows})
        return
    if not trained.fresh:
        print(up_to_date(name, "graph, embeddings and settings"))
    _show(final, trained, config)
    print_next(f"linkwalk eval {wiki} --agent {name} --agent greedy-unvisited")


class _Training:
    """What is to be trained, and where it goes."""

    def __init__(
        self, final: Path, recipe: str, config: "CloneConfig", graph: "Graph", table: "Embeddings"
    ) -> None:
        from linkwalk.learn.clone import config_to_json

        self.final, self.recipe, self.config, self.graph, self.table = final, recipe, config, graph, table
        self.partial = final.with_name(final.name + ".partial")
        self.job = {
            "config": config_to_json(config),
            "graph": graph.fingerprint,
            "encoder": table.fingerprint,
        }

    def made(self) -> _Trained | None:
        """The policy that is there, if the same training made it; another one is an error."""
        from linkwalk.artifact import clear
        from linkwalk.errors import InputError
        from linkwalk.learn.metrics import read_rows
        from linkwalk.learn.state import differences, read_state
        from linkwalk.policy.checkpoint import load_policy, read_policy

        if not self.final.exists():
            return None
        manifest = read_policy(self.final)
        was = {
            "config": manifest.get("config"),
            "graph": trained_on(manifest).get("graph"),
            "encoder": manifest["encoder"],
        }
        if changed := differences(was, self.job):
            raise InputError(
                f"{self.final.parent.parent} has a policy named {self.final.name!r} of another training "
                f"({in_short(changed)}): add --force to replace it, or name another with --name"
            )
        head, manifest = load_policy(self.final, self.table.fingerprint)
        # What a training left that was killed just after it had put its policy here; not what another one left.
        saved = read_state(self.partial)
        if saved is None or saved.job == self.job:
            clear(self.partial)
        rows = read_rows(self.final)
        kept = [row for row in rows if row["update"] == manifest.get("kept_update")]
        return _Trained(head, manifest, (rows or [{}])[-1], (kept or [{}])[-1], fresh=False)

    def run(self, device: str, *, checkpoint_every: int, restart: bool, quiet: bool) -> _Trained:
        """Train the policy, from where it was stopped, and put it in its place."""
        from linkwalk.learn.clone import clone
        from linkwalk.learn.metrics import read_rows
        from linkwalk.learn.state import FILE
        from linkwalk.learn.validation import held_out_nodes
        from linkwalk.policy.checkpoint import put_policy
        from linkwalk.progress import Progress

        config, graph, table = self.config, self.graph, self.table
        resume = None if restart else self._resume(quiet=quiet)
        head = clone(
            graph.forward,
            graph.reverse,
            graph.out_kinds,
            table.vectors,
            config,
            held_out=held_out_nodes(graph, config.validation) if config.validation else None,
            device=device,
            folder=self.partial,
            job=self.job,
            resume=resume,
            checkpoint_every=checkpoint_every,
            progress=Progress(quiet=quiet),
        )
        # A training that was over already has no row but those on the disk, and these may have been damaged.
        rows = read_rows(self.partial) or [{"update": config.updates}]
        kept = _kept(rows, config.criterion)
        manifest = {
            "recipe": self.recipe,
            "config": self.job["config"],
            "encoder": table.fingerprint,
            "encoder_name": table.manifest["encoder"],
            "embeddings": table.name,
            "trained_on": {"snapshot": graph.snapshot, "graph": graph.fingerprint},
            "updates": rows[-1]["update"],
            "kept_update": kept["update"],
        }
        sealed = put_policy(self.partial, self.final, head, config.head, manifest, leave=(FILE,))
        return _Trained(head, sealed, rows[-1], kept, resume.update if resume else None)

    def _resume(self, *, quiet: bool) -> "Saved | None":
        """The training to go on with, if there is one of the same job; says in a line what happens."""
        from linkwalk.learn.state import differences, read_state

        def say(line: str) -> None:
            if not quiet:
                print(line, file=sys.stderr)

        saved = read_state(self.partial, say)
        if saved is None:
            return None
        if changed := differences(saved.job, self.job):
            say(f"begins anew: the training in {self.partial} is another ({in_short(changed)})")
            return None
        done, of = f"{saved.update:,}", f"{self.config.updates:,}"
        say(f"goes on after update {done} of {of}, from {self.partial} (--restart begins anew)")
        return saved


def _kept(rows: list[dict[str, Any]], criterion: str) -> dict[str, Any]:
    """The row of the weights that are kept: the best on held-out articles, or the last."""
    looks = [row for row in rows if {"validation_loss", "success"} <= row.keys()]
    if not looks:
        return rows[-1]
    if criterion == "success":
        return max(looks, key=lambda row: float(row["success"]))
    return min(looks, key=lambda row: float(row["validation_loss"]))


def _show(final: Path, trained: _Trained, config: "CloneConfig") -> None:
    """Tell people what came of it."""
    parameters, last, kept = sum(p.numel() for p in trained.head.parameters()), trained.last, trained.kept
    rows = [("policy", str(final)), ("head", f"{config.head.head}, {parameters:,} parameters")]
    if {"seconds", "loss", "accuracy"} <= last.keys():
        early = f", stopped early (of {config.updates:,})" if last["update"] < config.updates else ""
        rows += [
            ("trained", f"{last['update']:,} updates in {last['seconds']:,.0f} s{early}"),
            ("at last", f"loss {last['loss']:.3f}, same step as the walk {100 * last['accuracy']:.1f} %"),
        ]
    if {"validation_loss", "validation_accuracy", "success"} <= kept.keys():
        rows.append(
            (
                "kept",
                f"update {kept['update']:,}: on held-out articles loss {kept['validation_loss']:.3f}, same step "
                f"{100 * kept['validation_accuracy']:.1f} %, goals reached {100 * kept['success']:.1f} %",
            )
        )
    print_table(rows)
