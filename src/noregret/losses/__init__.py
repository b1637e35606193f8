"""Convex losses of one real prediction: value, slope, conjugate and what is known of them."""

from noregret.losses.base import Loss
from noregret.losses.margins import Hinge, Logistic, SquaredHinge, WinnowHinge
from noregret.losses.regression import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Quantile,
    Regression,
    Squared,
)

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Quantile",
    "Regression",
    "Squared",
    "SquaredHinge",
    "WinnowHinge",
]
