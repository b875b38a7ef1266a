"""A policy on disk: weights as safetensors, and a manifest that says how it was made and which embeddings it fits.

A policy depends on its encoder, never on a graph: it walks any wiki embedded with the same encoder. Its folder may hold
a target encoder, too (``linkwalk.policy.target``). The manifest seals all files; each is looked at by whoever opens it,
so that damage to one is none to the others.
"""

import os
import shlex
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwalk.artifact import MANIFEST, in_one_step, look_at, parsing, read_manifest, seal, steady
from linkwalk.errors import ArtifactError, InputError
from linkwalk.parts import is_part
from linkwalk.policy.compass import Compass, LinearCompass
from linkwalk.policy.own import OWN

if TYPE_CHECKING:
    from torch import nn

    from linkwalk.policy.heads import HeadConfig

KIND = "policy"
WEIGHTS = "weights.safetensors"
NO_NUMBERS = "weights that are not numbers"
_FIELDS = {"head": dict, "encoder": str}
_USUAL, _OURS, _MANY = "trained-words", "ours", "wikis"
"""The recipes that are taken where none is named: without embeddings, and with."""
_TABLE = "minilm-walks"
"""The embeddings that are taken where none are named."""
_PACKAGE = Path(__file__).resolve().parents[1]


def save_policy(
    folder: Path, head: "nn.Module", config: "HeadConfig", manifest: dict[str, Any]
) -> dict[str, Any]:
    """Write a policy; the manifest comes last and seals all that is in the folder, so an unfinished one has none."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in head.state_dict().items()}
    save_file(weights, folder / WEIGHTS)
    return seal(folder, {"artifact": KIND, "head": asdict(config), **manifest})


def put_policy(
    partial: Path,
    final: Path,
    head: "nn.Module",
    config: "HeadConfig",
    manifest: dict[str, Any],
    *,
    leave: Sequence[str] = (),
) -> dict[str, Any]:
    """Put what was trained in ``partial`` in its place, with all that the training wrote there but ``leave``."""
    with in_one_step(partial, final, *leave) as whole:
        link_files(partial, whole, leave=(whole.name, *leave))
        return save_policy(whole, head, config, manifest)


def link_files(source: Path, new: Path, *, leave: Iterable[str] = ()) -> None:
    """Put all that is in one folder into another one, too, as links where the file system has them."""
    ignore = shutil.ignore_patterns(*leave, "*.partial")
    shutil.copytree(source, new, symlinks=True, ignore=ignore, copy_function=_link, dirs_exist_ok=True)


def _link(source: str, new: str) -> None:
    try:
        os.link(source, new)
    except OSError:
        shutil.copyfile(source, new)


def read_policy(folder: Path, encoder: str | None = None) -> dict[str, Any]:
    """A policy's manifest; one for embeddings with another encoder fingerprint is an error."""
    manifest = read_manifest(folder, KIND, command_for(folder, "train", "--name", folder.name), _FIELDS)
    if encoder is not None and manifest.get("encoder") != encoder:
        raise ArtifactError(
            "the policy was trained on embeddings of another encoder: "
            f"embed the wiki with {manifest.get('encoder_name')}, or train another policy"
        )
    return manifest


def is_compass(manifest: dict[str, Any]) -> bool:
    """Whether what ``open_policy`` opens is a ``Compass``, as its manifest tells."""
    name, whole = _head(manifest)
    return whole and (name == "compass" or hasattr(OWN.get(name), "directions"))


def can_open(manifest: dict[str, Any]) -> bool:
    """Whether a policy can be opened by this process: with torch where it needs that, and with its head named."""
    name, _ = _head(manifest)
    named = find_spec("torch") is not None and (not is_part(name) or name in OWN)
    return named or _needs_no_torch(manifest)


def _needs_no_torch(manifest: dict[str, Any]) -> bool:
    """Whether it is a compass that numpy alone walks by."""
    return _head(manifest) == ("compass", True)


def _head(manifest: dict[str, Any]) -> tuple[str, bool]:
    """The name of a policy's head, and whether it sees everything, the visited pages as well."""
    head = manifest.get("head")
    if not isinstance(head, dict) or not isinstance(head.get("head"), str):
        return "", False
    return head["head"], head.get("visited", True) is True


def open_policy(folder: Path, encoder: str, *, device: str = "auto") -> "Compass | nn.Module":
    """Open a policy for walking on embeddings with that encoder fingerprint.

    A ``Compass`` walks with a map; anything else is a head that chooses among the links of the page it is at.
    """
    from linkwalk.device import choose_device

    if _needs_no_torch(read_policy(folder)):
        return load_compass(folder, encoder)
    chosen = str(
        choose_device(device)
    )  # before anything that needs torch: without it, this says what to install
    return load_policy(folder, encoder, device=chosen)[0]


def load_compass(folder: Path, encoder: str) -> LinearCompass:
    """Open a compass for walking, without torch; the checks are those of ``load_policy``."""

    def load() -> LinearCompass:
        manifest = read_policy(folder, encoder)
        remedy = look_at_policy(folder, manifest)
        with parsing(folder / MANIFEST, remedy):
            width = int(manifest["head"]["width"])
        with parsing(folder / WEIGHTS, remedy):
            compass = LinearCompass.load(folder / WEIGHTS)
            if len(compass.bias) != width:
                raise ValueError(f"weights for a width of {len(compass.bias)}, not of {width}")
            if not (np.isfinite(compass.weight).all() and np.isfinite(compass.bias).all()):
                raise ValueError(NO_NUMBERS)
        return compass

    return steady(folder, load)


def load_policy(folder: Path, encoder: str, *, device: str = "cpu") -> tuple["nn.Module", dict[str, Any]]:
    """Open a policy for embeddings with that encoder fingerprint; one of another encoder is an error."""
    return steady(folder, lambda: _load_policy(folder, encoder, device))


def _load_policy(folder: Path, encoder: str, device: str) -> tuple["nn.Module", dict[str, Any]]:
    import torch
    from safetensors.torch import load_file

    from linkwalk.policy.heads import HeadConfig, build_head

    manifest = read_policy(folder, encoder)
    remedy = look_at_policy(folder, manifest)
    if is_part(name := manifest["head"].get("head")) and name not in OWN:
        raise ArtifactError(
            f"the policy {folder.name!r} has a head of one's own, {name}: name that head as well (`--head {name}`, "
            "in Python `use_head`) if you trust its code"
        )
    with parsing(folder / MANIFEST, remedy), torch.device("meta"):  # memory is for weights that are there
        try:
            head = build_head(HeadConfig(**manifest["head"]))
        except (TypeError, InputError) as error:
            why = str(error).partition("\n")[0]
            raise ArtifactError(
                f"{folder} has a head that this version does not know ({why}): install a newer one, or train again"
            ) from None
    with parsing(folder / WEIGHTS, remedy):
        mapped = load_file(folder / WEIGHTS, device=device)
        # Copied: what happens to the file later is no matter then.
        weights = {name: value.to(torch.float32, copy=True) for name, value in mapped.items()}
        head.load_state_dict(weights, assign=True)
        if not all(torch.isfinite(value).all() for value in weights.values()):
            raise ValueError(NO_NUMBERS)
    return head.eval(), manifest


def look_at_some(folder: Path, manifest: dict[str, Any], remedy: str, *names: str, **how: Any) -> None:
    """Look at those of a sealed folder's files that are about to be opened: who needs no metrics may remove them."""
    sealed: dict[str, Any] = manifest["files"] if "checksum" in manifest else {}
    files = {name: sealed[name] for name in names if name in sealed}
    look_at(folder, manifest | {"files": files}, remedy, whole=True, **how)


def look_at_policy(folder: Path, manifest: dict[str, Any], name: str = WEIGHTS) -> str:
    """Look at a policy's weights, or another file of its; what mends them, if they are damaged."""
    remedy = _remedy(folder, manifest)
    look_at_some(folder, manifest, remedy, name)
    return remedy


def _remedy(folder: Path, manifest: dict[str, Any]) -> str:
    options = ["--name", folder.name]
    if manifest.get("recipe") == _MANY and not _ships(folder):
        return f"run `linkwalk train-wikis WIKI... {shlex.join(options)} --force`, with the wikis it was trained on"
    recipe, embeddings = manifest.get("recipe", _USUAL), manifest.get("embeddings", _TABLE)
    named = recipe != _USUAL and embeddings != _TABLE
    if recipe != (_OURS if named else _USUAL):
        options = ["--recipe", str(recipe), *options]
    if named:
        options = ["--embeddings", str(embeddings), *options]
    more = "" if _ships(folder) else ", with the other options it was made with"
    return f"run `{command_for(folder, 'train', *options)}`{more}"


def target_remedy(folder: Path) -> str:
    """What mends the target encoder of the policy in a folder."""
    return f"run `{command_for(folder, 'train-reader', folder.name)}`"


def command_for(folder: Path, verb: str, *options: str) -> str:
    """What makes the policy or reranker in a folder anew: a training, or, of one that ships, an installation."""
    if _ships(folder):
        return "pip install --force-reinstall linkwalk"
    workspace = str(folder.parent.parent) if folder.parent.name in ("policies", "rerankers") else "WIKI"
    return shlex.join(["linkwalk", verb, workspace, *options, "--force"])


def _ships(folder: Path) -> bool:
    return folder.resolve().is_relative_to(_PACKAGE)
