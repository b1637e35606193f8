"""Support functions and multipliers of domains, against the inequalities that define them."""

from __future__ import annotations

import numpy as np
import pytest

from noregret.domains import PNormBall
from noregret.domains.medians import clipped_multiplier


@pytest.mark.parametrize("p", [2.0, 3.0, 8.0])
def test_the_support_of_a_ball_is_reached_and_never_exceeded(p: float) -> None:
    radius, theta = 2.0, np.array([1.0, -2.0, 0.5])
    ball, q = PNormBall(p, radius), p / (p - 1.0)
    rng = np.random.default_rng(0)
    # Equality in Hoelder's inequality: u_i = sign(theta_i) |theta_i|^(p-1), scaled to the ball.
    best = np.sign(theta) * np.abs(theta) ** (p - 1.0)
    reached = [
        radius * float(u @ theta) / (np.abs(u) ** q).sum() ** (1.0 / q)
        for u in [best, *rng.normal(size=(500, 3))]
    ]
    assert max(reached) == pytest.approx(reached[0]) == pytest.approx(ball.support(theta))


@pytest.mark.parametrize("alpha", [0.5, 1.0 - 2.0**-53, 1.0])
@pytest.mark.parametrize("n", [2, 7, 17])
def test_the_largest_of_equal_weights_is_kept_whatever_rounding_says(n: int, alpha: float) -> None:
    weights = np.full(n, 0.1)
    m = clipped_multiplier(weights.copy(), alpha)
    assert np.maximum(alpha / n, m * weights).sum() == pytest.approx(1.0)
