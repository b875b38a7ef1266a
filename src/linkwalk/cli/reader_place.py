"""A policy whose reader, its target encoder, is trained or tuned: where it is, and where it goes with the new one."""

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from typer import Argument, Option

from linkwalk.cli.training import in_one_step, in_short, new_folder, trained_on
from linkwalk.errors import InputError
from linkwalk.shipped import POLICY, policy_path

if TYPE_CHECKING:
    from torch import Tensor, nn

    from linkwalk.embed import Embeddings
    from linkwalk.policy.target import AdapterConfig

METRICS = "target_metrics.jsonl"
PolicyName = Annotated[
    str,
    Argument(
        metavar="POLICY",
        help="Whose target encoder: the policy's name in the workspace, its path, or compass (the policy that ships). "
        "It must say where to look, as a compass does.",
    ),
]
CopyName = Annotated[
    str | None,
    Option(
        "--name",
        metavar="NAME",
        help="Name of a copy of the policy that the target encoder goes to. [default: that of the policy]",
    ),
]
BOARD = "target"
"""Where TensorBoard finds the curves of the target encoder's training, beside those of the policy's."""


class PolicyPlace(NamedTuple):
    """Where a policy is, and where it goes."""

    wiki: Path
    policy: str
    """As it was named."""
    source: Path
    name: str
    """As it will be named, in the workspace."""
    final: Path
    in_place: bool
    """Whether it is there already; else a copy goes there."""

    @property
    def home(self) -> Path:
        """The folder that is written: the policy's own, though it may be a link to elsewhere."""
        return self.final.resolve()

    @property
    def partial(self) -> Path:
        """Where the target encoder is trained; no policy is called that, so no policy's training goes on from there."""
        return self.home.with_name(self.home.name + "+target.partial")

    @property
    def copied_from(self) -> str | None:
        """For ``--json``: where the policy was, if it is a copy."""
        return None if self.in_place else str(self.source)

    @property
    def words(self) -> str:
        """For people: where it went, and what it is a copy of."""
        return str(self.final) + ("" if self.in_place else f", a copy of {self.policy}")

    def weights(self) -> str:
        """Which weights the policy has: their checksum."""
        from linkwalk.artifact import checksum, parsing
        from linkwalk.policy.checkpoint import WEIGHTS, look_at_policy, read_policy

        remedy = look_at_policy(self.source, read_policy(self.source))
        with parsing(self.source / WEIGHTS, remedy):
            return checksum(self.source / WEIGHTS)

    def refuse_another(self, why: str = "") -> None:
        """Refuse to replace a target encoder, or a policy elsewhere."""
        from linkwalk.policy.target import MANIFEST

        if self.in_place and (self.final / MANIFEST).exists():
            raise InputError(
                f"the policy {self.name!r} has a target encoder{why}: add --force to replace it, or train a copy's "
                "with --name"
            )
        if not self.in_place and self.final.exists():
            raise InputError(
                f"{self.wiki} has a policy named {self.name!r}{why}: add --force to replace it, or name another with "
                "--name"
            )

    def made(self, job: dict[str, Any]) -> dict[str, Any] | None:
        """The manifest of the target encoder that is there, if the same training made it; another one is an error."""
        from linkwalk.artifact import checksum
        from linkwalk.learn.readers.target import TargetConfig
        from linkwalk.learn.state import differences
        from linkwalk.policy import checkpoint
        from linkwalk.policy.target import read_target

        if not self.final.exists() or (found := read_target(self.final)) is None:
            self.refuse_another()
            return None
        manifest = found[0]
        on = trained_on(manifest)
        config = manifest.get("config")
        was = {
            # A setting that an earlier version did not have was as it is by default.
            "config": asdict(TargetConfig()) | config if isinstance(config, dict) else config,
            "encoder": manifest.get("encoder"),
            **{key: on.get(key) for key in _ON},
        }
        # Nothing can be known of one that was tuned since, or trained for a policy that nobody noted.
        known = "tuned" not in manifest and was["policy"] is not None
        if not known or checksum(self.final / checkpoint.WEIGHTS) != job["policy"]:
            self.refuse_another()
        if changed := differences(was, job):
            self.refuse_another(f" of another training ({in_short(changed)})")
        return manifest

    def put(
        self, adapter: "dict[str, Tensor]", sizes: "AdapterConfig", encoder: str, manifest: dict[str, Any]
    ) -> None:
        """Let the policy with its new target encoder take its place in one step, with all else in its folder.

        Of a policy elsewhere a copy does; not of its card, which is about the target encoder that it had.
        """
        from linkwalk.artifact import MANIFEST as OF_POLICY
        from linkwalk.artifact import seal, steady
        from linkwalk.learn.metrics import FILE
        from linkwalk.navigate.trained_map import MAP
        from linkwalk.policy import checkpoint
        from linkwalk.policy.low_rank import save_target
        from linkwalk.policy.target import MANIFEST, WEIGHTS

        with in_one_step(self.partial, self.home) as whole:

            def copy() -> None:
                for name in (checkpoint.WEIGHTS, MAP, FILE, OF_POLICY):
                    if (self.source / name).is_file():
                        shutil.copyfile(self.source / name, whole / name)

            if self.in_place:
                checkpoint.link_files(self.home, whole, leave=(WEIGHTS, METRICS, MANIFEST, BOARD))
            else:
                steady(self.source, copy)
            for events in self.partial.glob("events.*"):
                (whole / BOARD).mkdir(exist_ok=True)
                shutil.copyfile(events, whole / BOARD / events.name)
            shutil.copyfile(self.partial / FILE, whole / METRICS)
            save_target(whole, adapter, sizes, encoder, manifest)
            seal(whole, checkpoint.read_policy(whole))


_ON = ("graph", "policy")


def find_place(wiki: Path, policy: str, name: str | None) -> PolicyPlace:
    """Where a policy is and goes."""
    source = _find(wiki, policy)
    name = name or (POLICY if source == policy_path() else source.resolve().name)
    final = new_folder(wiki, name)
    return PolicyPlace(wiki, policy, source, name, final, source.resolve() == final.resolve())


def _find(wiki: Path, policy: str) -> Path:
    """The policy's folder, or which policies there are."""
    from linkwalk.wiki.agents import policy_folder, policy_names

    folder = policy_folder(wiki, policy)
    if folder is None:
        there = ", ".join(policy_names(wiki))
        raise InputError(f"no policy named {policy!r}: choose from {there}, or give a path")
    return folder


def open_head(place: PolicyPlace, wiki: Path, table: "Embeddings", device: str) -> "nn.Module":
    """The policy, for embeddings such as these; or what to do."""
    from linkwalk.navigate import unit_rows
    from linkwalk.policy.checkpoint import load_policy
    from linkwalk.wiki.agents import fitting_manifest

    fitting_manifest(place.source, place.policy, wiki, table, "name those that it fits with --embeddings")
    head, _ = load_policy(place.source, table.fingerprint, device=device)
    unit_rows(table.vectors)  # vectors that are not numbers are told here, so that later it is the training
    return head
