"""What the estimators' words stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noregret import losses, mirrors, rates
from noregret.combinations import require_kind
from noregret.component import Component
from noregret.experts import Aggregate
from noregret.experts.aggregate import rate_grid
from noregret.learners import MirrorDescent
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.rates import Rate

CLASSIFICATION: dict[str, Loss] = {
    "hinge": losses.Hinge(),
    "logistic": losses.Logistic(),
    "squared_hinge": losses.SquaredHinge(),
}
REGRESSION: dict[str, Loss] = {
    "absolute": losses.Absolute(),
    "epsilon_insensitive": losses.EpsilonInsensitive(0.1),
    "huber": losses.Huber(1.0),
    "squared": losses.Squared(),
}
#: The word for many rates at once.
GRID = "grid"
RATES: dict[str, Rate] = {"coin_betting": rates.CoinBetting(), "scale_free": rates.ScaleFree()}


def chosen_loss(value: Any, named: Mapping[str, Loss]) -> Loss:
    """Return the loss that a word stands for, or the loss itself."""
    loss: Loss = _chosen("loss", value, named, Loss)
    wanted = "sign" if named is CLASSIFICATION else "real"
    if loss.labels != wanted:
        kind = "labels -1 and +1" if wanted == "sign" else "real targets"
        raise ValueError(f"loss must be one for {kind}, got {loss!r}")
    return loss


def chosen_rate(value: Any) -> Rate | None:
    """Return the rate that a word stands for, or the rate itself; None is a grid of them."""
    if isinstance(value, str) and value == GRID:
        return None
    rate: Rate = _chosen("rate", value, RATES, Rate)
    return rate


def new_learner(
    loss: Loss, mirror: Mirror, rate: Rate | None, dimension: int
) -> MirrorDescent | Aggregate:
    """Return a learner of one score that has seen nothing."""
    if rate is None:
        return rate_grid(loss, mirror, dimension=dimension)
    return MirrorDescent(loss, mirror, rate, dimension=dimension, averaging=False)


def chosen_mirror(value: Any) -> Mirror:
    """Return the mirror map, the Euclidean one for None."""
    if value is None:
        return mirrors.Euclidean()
    require_kind("mirror", value, "None or ")
    mirror: Mirror = value
    return mirror


def require_count(name: str, value: Any) -> int:
    """Return a whole number of at least 1, or refuse it by its name."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def _chosen(name: str, value: Any, named: Mapping[str, Any], base: type[Component]) -> Any:
    if isinstance(value, base):
        return value
    if isinstance(value, str) and value in named:
        return named[value]
    words = ", ".join(sorted([*named, GRID] if named is RATES else named))
    raise ValueError(f"{name} must be one of {words} or a noregret {name}, got {value!r}")
