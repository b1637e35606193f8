"""What a batch problem minimises, wherever its rows are, and bounds on the rounding of its sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.norms import norm_upper
from noregret.proof.certificate import ROUND_ERRORS
from noregret.proof.wording import named, weighted
from noregret.rounding import (
    EPSILON,
    UNDERFLOW,
    certified_ceiling,
    exact,
    grown,
    rounding_error,
    sound_floor,
)


class Objective:
    """What is minimised, wherever the rows are: a loss, a map with its strength, or a radius."""

    loss: Loss
    mirror: Mirror
    #: b, the factor of the regulariser; 0 if a radius takes its place.
    strength: float
    radius: float | None

    def words(self, losses: str) -> str:
        """Return what is minimised, in words, for a sum of losses in words."""
        if self.radius is not None:
            return f"{losses} over ||w||_2 <= {exact(self.radius)}"
        return f"{losses} + {exact(self.strength)} x {repr(self.mirror).removesuffix('()')}"

    def lower(self, g: Vector, delta: float, total: float, slack: float) -> float:
        """Return D(s), rounded down, from g = sum c_i s_i x_i and sum c_i (s_i o_i - f*(s_i)).

        delta: a bound on the error of g in the 1-norm; slack: one on that of `total`.
        """
        if self.radius is not None:
            length = self.mirror.predictors().support_upper(g, self.radius, delta)
        else:
            length = self.mirror.conjugate_upper(-g, 1.0 / self.strength, delta, self.strength)
        # A regulariser cannot be negative either.
        return dual_floor(total, length, slack, self.loss.nonnegative)

    def upper(self, weights: Vector, losses: float) -> float:
        """Return P(w), rounded up, from an upper bound of the sum of losses."""
        if self.radius is None:
            losses += self.mirror.regularizer_upper(weights, self.strength)
        return certified_ceiling(float(losses))

    def inside(self, weights: Vector) -> Vector:
        """Return the weights, shortened until they certainly lie in the ball."""
        if self.radius is None:
            return weights
        inside = weights * (self.radius / max(norm_upper(weights, 2.0), self.radius))
        while norm_upper(inside, 2.0) > self.radius:
            shorter = inside * (1.0 - (len(inside) + 16.0) * EPSILON)
            # Subnormal weights round back to themselves: the next number ends the loop.
            inside = np.where(shorter == inside, np.nextafter(inside, 0.0), shorter)
        return inside


def dual_parts(
    state: Vector, count: int, shards: int, total: float, magnitude: float, travel: float
) -> tuple[Vector, float, float, float]:
    """Return g and the sum of conjugates, each with its error, from the sums of all shards.

    state: g as a twofold sum; count: the number of rows.
    """
    g = state[:, 0] + state[:, 1]
    # A product, its factor and the last addition round; then the sums of the shards.
    delta = gradient_error(4.0, count + shards - 1, g.size, travel)
    return g, delta, total, sum_error(loss_roundings(shards), count, magnitude)


def sum_of(loss: Any, lightest: float, heaviest: float, offsets: bool = False) -> str:
    """Return a sum of losses in words, by its least and largest weight."""
    return f"sum of {weighted(named(loss), lightest, heaviest)}" + " at <w, x> + offset" * offsets


def gradient_error(roundings: float, count: int, size: int, travel: float) -> float:
    """Return a bound on the error, in the 1-norm, of a sum of `count` vectors of `size` entries.

    roundings: of each product, before the compensated sum.
    travel: the sum of the 1-norms.
    """
    error = grown(rounding_error(roundings + rounding_error(count, count), travel), 4.0 * count)
    return error + count * size * UNDERFLOW


def sum_error(roundings: float, count: int, magnitude: float) -> float:
    """Return a bound on the error of a compensated sum, with `roundings` for each term."""
    return grown(rounding_error(roundings, magnitude), 4.0 * count) + count * UNDERFLOW


def loss_roundings(shards: int) -> float:
    """Return how often a term rounds in a sum of losses or conjugates over all shards."""
    return 2.0 * ROUND_ERRORS + shards - 1


def loss_upper(
    count: int, weight: float, roundings: float, total: float, magnitude: float
) -> float:
    """Return an upper bound of a compensated sum of losses times weights.

    count, weight: the number of rows, and the sum of their weights.
    """
    value = total + grown(rounding_error(roundings, magnitude), 4.0 * count)
    # A loss that underflows is multiplied by its weight nevertheless.
    return value + (count + weight) * UNDERFLOW


def dual_floor(total: float, length: float, slack: float, nonnegative: bool) -> float:
    """Return total - length - slack, rounded down.

    Solvers compare these values: another order of the subtractions would change their path.
    """
    own = rounding_error(8.0, abs(total) + abs(length))
    return float(sound_floor(total - length - slack - own, nonnegative))
