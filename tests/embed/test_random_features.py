"""Random features: where they point, and what they follow from."""

import numpy as np
import pytest

from linkwalk.embed.job import random_features


def test_they_lie_on_the_unit_sphere_and_point_everywhere() -> None:
    count, width = 4000, 64
    rows = random_features(0, count, width=width).astype(np.float64)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    # A coordinate of a uniform unit vector has mean 0 and variance 1/width; two rows' product as well.
    assert np.abs(rows.mean(0)).max() < 5 / np.sqrt(width * count)
    covariance = rows.T @ rows / count
    assert np.abs(covariance - np.eye(width) / width).max() < 6 / (width * np.sqrt(count))
    products = (rows[:-1] * rows[1:]).sum(1)
    assert abs(products.mean()) < 5 / np.sqrt(width * count)
    assert products.var() == pytest.approx(1 / width, rel=0.1)
    # Fourth moment of a coordinate: 3 / (width (width + 2)) for a sphere; uniform boxes or signs would fail.
    assert (rows**4).mean() == pytest.approx(3 / (width * (width + 2)), rel=0.02)


def test_a_node_has_its_vector_wherever_the_cuts_are() -> None:
    whole = random_features(0, 100, seed=3)
    parts = [random_features(a, b, seed=3) for a, b in ((0, 1), (1, 37), (37, 99), (99, 100))]
    assert np.array_equal(whole, np.concatenate(parts))


def test_the_seed_decides() -> None:
    a, b = random_features(0, 50, seed=1), random_features(0, 50, seed=2)
    assert np.array_equal(a, random_features(0, 50, seed=1))
    assert np.abs((a * b).sum(1)).max() < 0.4
    assert random_features(0, 2, seed=2**63, width=8).shape == (2, 8)


def test_no_rows_and_odd_widths() -> None:
    assert random_features(7, 7).shape == (0, 384)
    with pytest.raises(ValueError, match="multiple of 4"):
        random_features(0, 1, width=6)
