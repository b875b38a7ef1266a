"""Encoders of one's own.

Importing a module runs it, so a manifest that names one's own encoder opens nothing by itself: whoever reads sentences
names it, too, on the command line or by ``use_encoder`` in Python.
"""

from typing import Any

import numpy as np

from linkwalk.arrays import Float32s
from linkwalk.artifact import digest
from linkwalk.embed.encoder import Encoder
from linkwalk.errors import ArtifactError, InputError
from linkwalk.parts import is_part, make_part
from linkwalk.progress import Advance, unheard

OWN: dict[str, "OwnEncoder"] = {}
"""Those that this process knows, by name."""


class OwnEncoder:
    """An encoder of one's own, whose rows are looked at: as many as texts, as wide as it says, and numbers."""

    def __init__(self, encoder: Any, name: str) -> None:
        if not callable(getattr(encoder, "encode", None)) or not isinstance(
            getattr(encoder, "width", None), int
        ):
            raise InputError(f"{name} is no encoder: it needs a `width` and a method `encode`")
        self.encoder, self.name, self.width = encoder, name, int(encoder.width)

    @property
    def fingerprint(self) -> str:
        """Changes with the encoder's class, its width, and its ``version`` where it has one."""
        return digest([_home(self.encoder), self.width, str(getattr(self.encoder, "version", ""))])

    def encode(self, texts: list[str], advance: Advance = unheard) -> Float32s:
        """One row per text, in order."""
        rows = np.asarray(self.encoder.encode(texts), np.float32)
        if rows.shape != (len(texts), self.width):
            raise InputError(
                f"{self.name} gave an array of {rows.shape} for {len(texts)} texts and a width of {self.width}"
            )
        if not np.isfinite(rows).all():
            raise InputError(f"{self.name} gave values that are not numbers")
        advance(len(texts))
        return rows


def use_encoder(encoder: "str | Encoder") -> str:
    """Make an encoder known to this process, given as an object or as ``package.module:Name``; what it is called.

    A class is made without arguments. Names of other encoders are taken as they are.
    """
    if isinstance(encoder, str) and not is_part(encoder):
        return encoder
    found = make_part(encoder, "encoder") if isinstance(encoder, str) else encoder
    if isinstance(found, type):
        found = found()
    name = encoder if isinstance(encoder, str) else _home(found)
    OWN[name] = OWN[_home(found)] = OwnEncoder(found, name)
    return name


def own_encoder(name: str, fingerprint: str) -> OwnEncoder:
    """The encoder of that name, if it has been given and is the one with that fingerprint."""
    if name not in OWN:
        raise ArtifactError(
            f"the embeddings are by an encoder of one's own, {name}: give that encoder as well if you trust its code"
        )
    if OWN[name].fingerprint != fingerprint:
        raise ArtifactError(
            f"{name} is not as it was when it made the embeddings: run `linkwalk embed` again"
        )
    return OWN[name]


def _home(encoder: Any) -> str:
    return f"{type(encoder).__module__}:{type(encoder).__qualname__}"
