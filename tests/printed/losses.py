"""The referee's own table of losses: value for exact numbers, value and slope for arrays.

Written from the definitions. `y` is the label, `p` the prediction, `a` the parameters of the loss
as its user chose them. Nothing of the library is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp, mpf

mp.dps = 60

Array = Any
Parameters = dict[str, float]


def number(value: Any) -> Any:
    """Return a number of 60 digits."""
    if isinstance(value, Fraction):
        return mpf(value.numerator) / mpf(value.denominator)
    return mpf(value)


@dataclass(frozen=True)
class LossRule:
    """One loss: exact for fractions (60 digits where it is not rational), fast for arrays."""

    exact: Callable[[Any, Any, Parameters], Any]
    value: Callable[[Array, Array, Parameters], Array]
    slope: Callable[[Array, Array, Parameters], Array]
    #: Labels -1 and +1, or real ones.
    signs: bool = False
    #: False for a loss that may be below zero.
    nonnegative: bool = True
    #: Whether a prediction p is a mistake on y.
    mistake: Callable[[float, float], bool] = lambda y, p: y * p <= 0.0


def _plus(x: Any) -> Any:
    return x if x > 0 else type(x)(0)


def _excess(y: Array, p: Array, a: Parameters) -> Array:
    return np.maximum(a.get("margin", 1.0) - y * p, 0.0)


def _margin(y: Any, p: Any, a: Parameters) -> Any:
    return _plus(Fraction(a.get("margin", 1.0)) - y * p)


def _tube(y: Any, p: Any, a: Parameters) -> Any:
    return _plus(abs(p - y) - Fraction(a["epsilon"]))


def _tubes(y: Array, p: Array, a: Parameters) -> Array:
    return np.maximum(np.abs(p - y) - a["epsilon"], 0.0)


def _logistic(y: Any, p: Any, a: Parameters) -> Any:
    m = number(y * p)
    return mp.log1p(mp.exp(-abs(m))) + (-m if m < 0 else mpf(0))


def _huber(size: Any, delta: Any) -> Any:
    return size * size / 2 if size <= delta else delta * (size - delta / 2)


def _power(y: Any, p: Any, a: Parameters) -> Any:
    r = Fraction(a["r"])
    excess = _margin(y, p, a)
    if r.denominator == 1:
        return excess ** int(r) / r
    return mp.power(number(excess), number(r)) / number(r)


def _one_sided(y: Any, p: Any, a: Parameters) -> Any:
    return _huber(_margin(y, p, a), Fraction(2))


LOSSES: dict[str, LossRule] = {
    "Hinge": LossRule(_margin, _excess, lambda y, p, a: -y * (_excess(y, p, a) > 0), True),
    "SquaredHinge": LossRule(
        lambda y, p, a: _margin(y, p, a) ** 2 / 2,
        lambda y, p, a: _excess(y, p, a) ** 2 / 2,
        lambda y, p, a: -y * _excess(y, p, a),
        True,
    ),
    "Logistic": LossRule(
        _logistic,
        lambda y, p, a: np.log1p(np.exp(-np.abs(y * p))) + np.maximum(-y * p, 0.0),
        lambda y, p, a: -y * np.exp(-np.logaddexp(0.0, (y * p).astype(np.float64))),
        True,
    ),
    "WinnowHinge": LossRule(
        lambda y, p, a: _plus(1 - y * (2 * p - 1)),
        lambda y, p, a: np.maximum(1.0 - y * (2.0 * p - 1.0), 0.0),
        lambda y, p, a: -2.0 * y * (y * (2.0 * p - 1.0) < 1.0),
        True,
        mistake=lambda y, p: y * (2.0 * p - 1.0) <= 0.0,
    ),
    "Exponential": LossRule(
        lambda y, p, a: mp.exp(number(-y * p)),
        lambda y, p, a: np.exp(-y * p),
        lambda y, p, a: -y * np.exp(-y * p),
        True,
    ),
    "PowerHinge": LossRule(
        _power,
        lambda y, p, a: _excess(y, p, a) ** a["r"] / a["r"],
        lambda y, p, a: -y * _excess(y, p, a) ** (a["r"] - 1.0),
        True,
    ),
    "OneSidedHuber": LossRule(
        _one_sided,
        lambda y, p, a: (
            np.minimum(_excess(y, p, a), 2.0)
            * (_excess(y, p, a) - np.minimum(_excess(y, p, a), 2.0) / 2)
        ),
        lambda y, p, a: -y * np.minimum(_excess(y, p, a), 2.0),
        True,
    ),
    "Squared": LossRule(
        lambda y, p, a: (p - y) ** 2,
        lambda y, p, a: (p - y) ** 2,
        lambda y, p, a: 2.0 * (p - y),
    ),
    "Absolute": LossRule(
        lambda y, p, a: abs(p - y),
        lambda y, p, a: np.abs(p - y),
        lambda y, p, a: np.sign(p - y),
    ),
    "EpsilonInsensitive": LossRule(
        _tube, _tubes, lambda y, p, a: np.sign(p - y) * (_tubes(y, p, a) > 0)
    ),
    "SquaredEpsilonInsensitive": LossRule(
        lambda y, p, a: _tube(y, p, a) ** 2 / 2,
        lambda y, p, a: _tubes(y, p, a) ** 2 / 2,
        lambda y, p, a: np.sign(p - y) * _tubes(y, p, a),
    ),
    "Huber": LossRule(
        lambda y, p, a: _huber(abs(p - y), Fraction(a["delta"])),
        lambda y, p, a: (
            np.minimum(np.abs(p - y), a["delta"])
            * (np.abs(p - y) - np.minimum(np.abs(p - y), a["delta"]) / 2)
        ),
        lambda y, p, a: np.clip(p - y, -a["delta"], a["delta"]),
    ),
    "Quantile": LossRule(
        lambda y, p, a: max(Fraction(a["level"]) * (y - p), (1 - Fraction(a["level"])) * (p - y)),
        lambda y, p, a: np.maximum(a["level"] * (y - p), (1.0 - a["level"]) * (p - y)),
        lambda y, p, a: np.where(p > y, 1.0 - a["level"], -a["level"]),
    ),
    "NegativeLog": LossRule(
        lambda y, p, a: -mp.log(number(p)) if p > 0 else mp.inf,
        lambda y, p, a: -np.log(np.maximum(p, 1e-300)),
        lambda y, p, a: -1.0 / np.maximum(p, 1e-300),
        nonnegative=False,
    ),
    # Losses of a user, defined in the cases.
    "Shifted": LossRule(
        lambda y, p, a: (p - y) ** 2 / 2 - Fraction(a["depth"]),
        lambda y, p, a: (p - y) ** 2 / 2 - a["depth"],
        lambda y, p, a: p - y,
        nonnegative=False,
    ),
    "Lopsided": LossRule(
        lambda y, p, a: max(2 * (p - y), y - p),
        lambda y, p, a: np.maximum(2.0 * (p - y), y - p),
        lambda y, p, a: np.where(p > y, 2.0, -1.0),
    ),
}


def parameters_of(loss: Any) -> Parameters:
    """Return the parameters that the reader chose, from the public fields of his own loss."""
    return {name: float(value) for name, value in vars(loss).items()}
