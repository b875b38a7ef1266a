"""Random features: a point of the unit sphere per node that knows nothing of its text (the RF ablations, sec. 5)."""

import numpy as np

from linkwalk.arrays import Float32s

RANDOM = "random"
"""The encoder's name."""
WIDTH = 384
"""As wide as MiniLM's vectors, so that a policy has as many weights over either."""


def random_features(start: int, stop: int, *, seed: int = 0, width: int = WIDTH) -> Float32s:
    """Unit vectors of the nodes ``start`` to ``stop``; a node's vector follows from the seed and its number alone.

    Normal deviates point in every direction alike. Philox counts its blocks of four words, so a node's own are found
    without drawing those before it; Box-Muller takes as many as it gives, which numpy's normals do not.
    """
    if width <= 0 or width % 4:
        raise ValueError(f"width {width} is not a positive multiple of 4")
    bits = np.random.Philox(key=seed)
    bits.advance(start * (width // 4))
    uniform = np.random.Generator(bits).random((stop - start, 2, width // 2))
    radius = np.sqrt(-2 * np.log1p(-uniform[:, 0]))  # 1 - u lies in (0, 1]
    angle = 2 * np.pi * uniform[:, 1]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return normal.astype(np.float32)
