"""Word tables as encoders: what ``words`` has learned of one wiki reads another, such as its next edition.

The embeddings of a wiki by ``words`` hold their encoder. Named by its folder, it embeds other wikis, with the terms it
has. One that was trained (``learn/encoders/word_table.py``) takes the place of the one it began as under another name.
"""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.artifact import digest, look_at, parsing, publish, read_manifest, seal, steady
from linkwalk.embed.fitted import WORDS, Fitted
from linkwalk.embed.store import FIELDS, KIND, Embeddings, folder_of
from linkwalk.errors import InputError
from linkwalk.graph.columns import ArrayWriter

_REMEDY = "make it again, or name another encoder"
_CHUNK = 1 << 14


def is_fitted(encoder: str) -> bool:
    """Whether an encoder is named by a folder of embeddings that ``words`` made."""
    return (Path(encoder) / "words_terms.npy").is_file()


def read_fitted(encoder: str) -> dict[str, Any]:
    """The manifest of the embeddings whose encoder is named."""
    manifest = read_manifest(Path(encoder), KIND, "linkwalk embed", FIELDS)
    if manifest["encoder"] != WORDS:
        raise InputError(f"{encoder} was not made by {WORDS}")
    return manifest


def open_fitted(encoder: str) -> Fitted:
    """What it has learned, looked at whole."""
    folder = Path(encoder)

    def opened() -> Fitted:
        manifest = read_fitted(encoder)
        look_at(folder, manifest, _REMEDY)
        with parsing(folder, _REMEDY):
            return Fitted.open(folder, int(manifest["width"]), _REMEDY)

    return steady(folder, opened)


def fingerprint_of(fitted: Fitted) -> str:
    """Of what a trained word table is, to the last bit: how it was trained is no matter."""
    found = hashlib.sha256()
    for values in fitted:
        found.update(np.ascontiguousarray(values).data)
    return digest([WORDS, "trained", found.hexdigest()])


def put_word_table(
    workspace: Path, before: Embeddings, name: str, fitted: Fitted, vectors: Float32s, trained: dict[str, Any]
) -> dict[str, Any]:
    """Write ``WORKSPACE/embeddings/NAME``: the table ``before`` after its training, which ``trained`` tells of."""
    final = folder_of(workspace, name)
    partial = final.with_name(final.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    writer = ArrayWriter(partial / "vectors.npy", np.float16, fitted.projection.shape[1])
    for start in range(0, len(vectors), _CHUNK):
        writer.append(vectors[start : start + _CHUNK].astype(np.float16))
    writer.close()
    fitted.save(partial)
    model, config = fingerprint_of(fitted), before.manifest["config"]
    encoder = digest([model, {key: value for key, value in config.items() if key != "shard_blocks"}])
    manifest = before.manifest | {
        "model_fingerprint": model,
        "encoder_fingerprint": encoder,
        "fingerprint": digest([before.manifest["graph"], encoder]),
        "trained": trained,
    }
    manifest = seal(partial, manifest)
    publish(partial, final)
    return manifest
