"""The maps Power and Hypentropy: conjugates rounded up, and what their names promise."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from noregret import mirrors
from noregret.mirrors import Mirror


@pytest.mark.parametrize(
    "mirror",
    [mirrors.Power(1.5), mirrors.Power(1.1), mirrors.Power(7.3), mirrors.Hypentropy(0.3)],
    ids=repr,
)
def test_sums_of_powers_and_cosines_are_rounded_up(mirror: Mirror) -> None:
    """Against 60 digits: never below the conjugate, and above it by rounding only."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        theta = rng.normal(size=5) * 10.0 ** rng.uniform(-9, 2)
        eta = float(10.0 ** rng.uniform(-3, 0.3))
        with mpmath.workdps(60):
            a = [mpmath.mpf(eta) * abs(mpmath.mpf(float(t))) for t in theta]
            if isinstance(mirror, mirrors.Power):
                q = mpmath.mpf(mirror.p) / (mpmath.mpf(mirror.p) - 1)
                exact = mpmath.fsum(t**q / q for t in a) / eta
            else:
                assert isinstance(mirror, mirrors.Hypentropy)
                exact = mpmath.fsum(2 * mirror.beta * (mpmath.cosh(t) - 1) for t in a) / eta
            found = mirror.conjugate_upper(theta, eta, 0.0, 0.0)
            assert exact <= found <= exact * (1 + 1e-11) + 1e-300


def test_hypentropy_is_the_unnormalised_entropy_of_doubled_features() -> None:
    two_sided, one_sided = mirrors.Hypentropy(0.3), mirrors.UnnormalizedEntropy(0.3)
    for a in (-3.0, -0.2, 0.0, 1e-9, 0.7, 20.0):
        pair = one_sided.phi_prime(a, 0.0) - one_sided.phi_prime(-a, 0.0)
        assert two_sided.phi_prime(a, 0.0) == pytest.approx(pair, rel=1e-12, abs=1e-16)
        both = one_sided.phi(a, 0.0) + one_sided.phi(-a, 0.0)
        assert two_sided.phi(a, 0.0) == pytest.approx(both, rel=1e-12, abs=1e-16)


def test_squares_are_powers_too() -> None:
    square, euclidean = mirrors.Power(2.0), mirrors.Euclidean()
    theta = np.array([0.3, -1.7, 0.0])
    for a in theta:
        assert square.phi_prime(float(a), 0.0) == a
        assert square.phi(float(a), 0.0) == pytest.approx(euclidean.phi(float(a), 0.0), rel=1e-15)
    assert square.regularizer(theta, 0.5) == pytest.approx(
        euclidean.regularizer(theta, 0.5), rel=1e-14
    )
    assert square.predictors().support_upper(theta, 2.0, 0.0) == pytest.approx(
        2.0 * math.sqrt(0.09 + 1.7**2), rel=1e-13
    )
    assert mirrors.Power(1.5).predictors().describe(2.0) == "every u with ||u||_1.5 <= 2"


def test_the_regulariser_of_a_p_norm_does_not_overflow_on_the_way() -> None:
    u = np.array([1e120, -1e120])
    assert mirrors.PNorm(3.0).regularizer(u, 1.0) == pytest.approx(
        0.5e240 * 2.0 ** (4.0 / 3.0), rel=1e-12
    )
    assert mirrors.PNorm(3.0).regularizer(1e80 * u, 1.0) == math.inf
