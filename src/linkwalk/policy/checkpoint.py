"""A policy on disk: weights as safetensors, and a manifest that says how it was made and which embeddings it fits.

A policy depends on its encoder, never on a graph: it walks any wiki embedded with the same encoder.
"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwalk.artifact import FORMAT, read_manifest, write_json
from linkwalk.errors import ArtifactError, InputError

if TYPE_CHECKING:
    from torch import nn

    from linkwalk.policy.direction import Direction
    from linkwalk.policy.heads import HeadConfig

KIND = "policy"
WEIGHTS = "weights.safetensors"


def save_policy(folder: Path, head: "nn.Module", config: "HeadConfig", manifest: dict[str, Any]) -> None:
    """Write a policy; the manifest comes last, so an unfinished one has none."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in head.state_dict().items()}
    save_file(weights, folder / WEIGHTS)
    write_json(
        folder / "manifest.json", {"artifact": KIND, "format": FORMAT, "head": asdict(config), **manifest}
    )


def read_policy(folder: Path, encoder: str | None = None) -> dict[str, Any]:
    """A policy's manifest; one for embeddings with another encoder fingerprint is an error."""
    manifest = read_manifest(folder, KIND, "linkwalk train WIKI")
    if encoder is not None and manifest.get("encoder") != encoder:
        raise ArtifactError(
            f"the policy {folder.name!r} was trained on embeddings of another encoder: "
            f"embed the wiki with {manifest.get('encoder_name')}, or train another policy"
        )
    return manifest


def is_compass(manifest: dict[str, Any]) -> bool:
    """Whether a policy's manifest is that of a compass, which walks with a map (``navigate.guided``)."""
    head = manifest.get("head")
    return isinstance(head, dict) and head.get("head") == "compass" and head.get("visited", True) is True


def load_direction(folder: Path, encoder: str) -> "Direction":
    """Open a compass for walking, without torch; the checks are those of ``load_policy``."""
    from safetensors import SafetensorError

    from linkwalk.policy.direction import Direction

    manifest = read_policy(folder, encoder)
    try:
        direction, width = Direction.load(folder / WEIGHTS), manifest["head"]["width"]
        if len(direction.bias) != width:
            raise ValueError(f"weights for a width of {len(direction.bias)}, not of {width}")
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise _damaged(folder, error) from None
    if not (np.isfinite(direction.weight).all() and np.isfinite(direction.bias).all()):
        raise _not_numbers(folder)
    return direction


def load_policy(folder: Path, encoder: str, *, device: str = "cpu") -> tuple["nn.Module", dict[str, Any]]:
    """Open a policy for embeddings with that encoder fingerprint; one of another encoder is an error."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from linkwalk.policy.heads import HeadConfig, build_head

    manifest = read_policy(folder, encoder)
    try:
        head = build_head(HeadConfig(**manifest["head"]))
    except (KeyError, TypeError, InputError) as error:
        raise ArtifactError(
            f"{folder} has a head that this version does not know ({error}): install a newer one, or train again"
        ) from None
    try:
        weights = load_file(folder / WEIGHTS, device=device)
        head.load_state_dict(weights)
    except (OSError, SafetensorError, RuntimeError) as error:
        raise _damaged(folder, error) from None
    if not all(torch.isfinite(value).all() for value in weights.values()):
        raise _not_numbers(folder)
    return head.to(device).eval(), manifest


def _damaged(folder: Path, error: Exception) -> ArtifactError:
    first = (str(error).splitlines() or [type(error).__name__])[0]
    return ArtifactError(f"{folder} is damaged ({first}): run `linkwalk train WIKI` again")


def _not_numbers(folder: Path) -> ArtifactError:
    return ArtifactError(f"{folder} holds weights that are not numbers: run `linkwalk train WIKI` again")
