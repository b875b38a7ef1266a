"""A policy on disk: weights as safetensors, and a manifest that says how it was made and which embeddings it fits.

A policy depends on its encoder, never on a graph: it walks any wiki embedded with the same encoder.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from linkwalk.artifact import FORMAT, read_manifest, write_json
from linkwalk.errors import ArtifactError, InputError
from linkwalk.policy.heads import HeadConfig, build_head

KIND = "policy"


def save_policy(folder: Path, head: nn.Module, config: HeadConfig, manifest: dict[str, Any]) -> None:
    """Write a policy; the manifest comes last, so an unfinished one has none."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in head.state_dict().items()}
    save_file(weights, folder / "weights.safetensors")
    write_json(
        folder / "manifest.json", {"artifact": KIND, "format": FORMAT, "head": asdict(config), **manifest}
    )


def load_policy(folder: Path, encoder: str, *, device: str = "cpu") -> tuple[nn.Module, dict[str, Any]]:
    """Open a policy for embeddings with that encoder fingerprint; one of another encoder is an error."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    manifest = read_manifest(folder, KIND, "linkwalk train WIKI")
    if manifest["encoder"] != encoder:
        raise ArtifactError(
            f"the policy {folder.name!r} was trained on embeddings of another encoder: "
            f"embed the wiki with {manifest['encoder_name']}, or train another policy"
        )
    try:
        head = build_head(HeadConfig(**manifest["head"]))
    except (TypeError, InputError) as error:
        raise ArtifactError(
            f"{folder} has a head that this version does not know ({error}): install a newer one, or train again"
        ) from None
    try:
        weights = load_file(folder / "weights.safetensors", device=device)
        head.load_state_dict(weights)
    except (OSError, SafetensorError, RuntimeError) as error:
        first = str(error).splitlines()[0]
        raise ArtifactError(f"{folder} is damaged ({first}): run `linkwalk train WIKI` again") from None
    if not all(torch.isfinite(value).all() for value in weights.values()):
        raise ArtifactError(f"{folder} holds weights that are not numbers: run `linkwalk train WIKI` again")
    return head.to(device).eval(), manifest
