"""A policy whose target encoder is trained or tuned: where it is, what it is, and where it goes with the new one."""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from linkwalk.cli.training import new_folder
from linkwalk.demo import POLICY, policy_path
from linkwalk.wiki.agents import fitting, policy_folder, policy_names

if TYPE_CHECKING:
    from linkwalk.embed import Embeddings
    from linkwalk.policy.heads import Compass

METRICS = "target_metrics.jsonl"


class Place(NamedTuple):
    """Where a policy is, and where it goes."""

    policy: str
    """As it was named."""
    source: Path
    name: str
    """As it will be named, in the workspace."""
    final: Path
    in_place: bool
    """Whether it is there already; else a copy goes there."""

    @property
    def partial(self) -> Path:
        """Where the target encoder is trained; not the policy's own ``.partial``, from which a training may go on."""
        return self.final.with_name(self.final.name + ".target.partial")

    @property
    def copied_from(self) -> str | None:
        """For ``--json``: where the policy was, if it is a copy."""
        return None if self.in_place else str(self.source)

    @property
    def words(self) -> str:
        """For people: where it went, and what it is a copy of."""
        return str(self.final) + ("" if self.in_place else f", a copy of {self.policy}")

    def put(self, partial: Path) -> None:
        """Bring the target encoder to its policy; to one elsewhere with a copy of that policy, in one step."""
        from linkwalk.artifact import finish
        from linkwalk.learn.metrics import FILE
        from linkwalk.policy import checkpoint
        from linkwalk.policy.target import MANIFEST, WEIGHTS

        if self.in_place:
            # Without its manifest there is no target encoder; so never half of one.
            (self.final / MANIFEST).unlink(missing_ok=True)
            for name in (WEIGHTS, METRICS, MANIFEST):
                os.replace(partial / name, self.final / name)
            return
        # Not its card, which is about the target encoder that it had.
        for name in (checkpoint.WEIGHTS, FILE, "manifest.json"):
            if (self.source / name).is_file():
                shutil.copyfile(self.source / name, partial / name)
        finish(partial, self.final)


def find_place(wiki: Path, policy: str, name: str | None, *, force: bool) -> Place:
    """Where a policy is and goes; refuses to replace anything but with ``force``."""
    from linkwalk.errors import InputError
    from linkwalk.policy.target import MANIFEST

    source = _find(wiki, policy)
    name = name or (POLICY if source == policy_path() else source.resolve().name)
    final = new_folder(wiki, name)
    in_place = source.resolve() == final.resolve()
    if not force and in_place and (final / MANIFEST).exists():
        raise InputError(
            f"the policy {name!r} has a target encoder: add --force to replace it, or train a copy's with --name"
        )
    if not force and not in_place and final.exists():
        raise InputError(
            f"{wiki} has a policy named {name!r}: add --force to replace it, or name another with --name"
        )
    return Place(policy, source, name, final, in_place)


def _find(wiki: Path, policy: str) -> Path:
    """The policy's folder, or which policies there are."""
    from linkwalk.errors import InputError

    folder = policy_folder(wiki, policy)
    if folder is None:
        there = ", ".join(policy_names(wiki))
        raise InputError(f"no policy named {policy!r}: choose from {there}, or give a path")
    return folder


def open_compass(place: Place, wiki: Path, table: "Embeddings", device: str) -> "Compass":
    """The policy, if it is a compass for embeddings such as these; or what to do."""
    from linkwalk.errors import InputError
    from linkwalk.navigate import unit_rows
    from linkwalk.policy.checkpoint import is_compass, load_policy, read_policy
    from linkwalk.policy.heads import Compass

    if not is_compass(read_policy(place.source)):
        raise InputError(
            f"the policy {place.policy!r} is no compass, and target encoders are trained for one: "
            f"name {POLICY}, or one that `linkwalk train {wiki}` makes"
        )
    fitting(place.source, place.policy, wiki, table, "name those that it fits with --embeddings")
    head, _ = load_policy(place.source, table.fingerprint, device=device)
    assert isinstance(head, Compass), "its manifest says so"
    unit_rows(table.vectors)  # vectors that are not numbers are told here, so that later it is the training
    return head
