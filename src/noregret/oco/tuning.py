"""The rate and the bound that are known before a game of known length."""

from __future__ import annotations

import math
from typing import NamedTuple

from noregret import rates
from noregret.arrays import as_whole
from noregret.component import require_positive
from noregret.domains import Domain
from noregret.mirrors import Mirror
from noregret.oco.setting import settle
from noregret.proof import closed_forms
from noregret.proof.convexity import undeclared


class Tuned(NamedTuple):
    """A constant rate, and the regret that no sequence can push it above."""

    rate: rates.Constant
    bound: float


def tuned(
    mirror: Mirror,
    dimension: int,
    horizon: int,
    gradient_limit: float,
    radius: float | None = None,
    domain: Domain | None = None,
) -> Tuned:
    """Return the best constant rate for `horizon` rounds with ||z||_* <= gradient_limit.

    With C the maximum of R over the class and c the map's smoothness, C/eta + (c/2) eta T G^2
    is least at eta = sqrt(2 C / (c T)) / G, where it is G sqrt(2 C c T). The class is the set of
    the game, or the map's class of that radius.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 2.21.

    >>> from noregret import mirrors
    >>> round(tuned(mirrors.Ball(1.0), dimension=3, horizon=100, gradient_limit=1.0).bound, 9)
    10.0
    """
    horizon = as_whole("horizon", horizon)
    require_positive("gradient_limit", gradient_limit)
    setting = settle(as_whole("dimension", dimension), mirror, rates.Constant(1.0), domain, True)
    if radius is None and not setting.bounded:
        radius = setting.mirror.own_radius()
        if radius is None:
            raise ValueError(f"{mirror} has no set of its own: say radius=")
    if undeclared(setting.mirror):
        raise ValueError(undeclared(setting.mirror))
    complexity, smoothness = setting.complexity(radius, 1.0), setting.smoothness
    if not math.isfinite(complexity):
        raise ValueError(f"radius {radius} is not within the set of the game")
    if not smoothness > 0.0:
        raise ValueError(f"{type(mirror).__name__} has no global bound on a round's cost")
    if complexity == 0.0:
        return Tuned(rates.Constant(1.0 / gradient_limit), 0.0)
    squares = smoothness * horizon * gradient_limit**2
    eta = closed_forms.tuned_rate(complexity, squares)
    return Tuned(rates.Constant(eta), closed_forms.tuned_regret(complexity, squares))
