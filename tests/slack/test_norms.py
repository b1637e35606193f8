"""Norms that are rounded up are never below the true ones, and not far above them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from noregret.norms import columns_upper, norm_upper, spectral_upper

VECTORS = [np.random.default_rng(seed).normal(size=1 + 7 * seed) for seed in range(12)]


@pytest.mark.parametrize("z", VECTORS, ids=len)
def test_the_squared_norm_is_above_the_exact_sum(z: np.ndarray) -> None:
    exact = sum((Fraction(x) ** 2 for x in z.tolist()), Fraction())
    found = norm_upper(z, 2.0)
    assert Fraction(found) ** 2 >= exact
    assert found <= math.sqrt(float(exact)) * (1.0 + 1e-12)
    assert Fraction(norm_upper(z, 1.0)) >= sum(abs(Fraction(x)) for x in z.tolist())


def test_columns_are_summed_by_their_own_norms() -> None:
    z = np.array([[3.0, 4.0], [0.0, 2.0], [5.0, 12.0]])
    assert 20.0 <= columns_upper(z) <= 20.0 + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_singular_value_is_not_below_any_rayleigh_quotient(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(2 + seed % 4, 2 + seed % 5))
    found = Fraction(spectral_upper(z))
    _, _, rows = np.linalg.svd(z)
    for v in (rows[0], *rng.normal(size=(3, z.shape[1]))):
        exact = [sum(Fraction(a) * Fraction(b) for a, b in zip(row, v.tolist(), strict=True))
                 for row in z.tolist()]  # fmt: skip
        assert found**2 * sum(Fraction(b) ** 2 for b in v.tolist()) >= sum(e * e for e in exact)
    assert float(found) <= np.linalg.norm(z, 2) * (1.0 + 1e-9)


def test_a_matrix_of_rank_one_has_its_frobenius_norm() -> None:
    # Of a matrix this wide the bound by eigenvalues is the larger one.
    z = np.ones((1, 3000))
    assert spectral_upper(z) == norm_upper(z.ravel(), 2.0)
