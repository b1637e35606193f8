"""Convex losses of one real prediction: value, slope, conjugate and what is known of them."""

from noregret.losses.base import Loss
from noregret.losses.likelihoods import Exponential, NegativeLog
from noregret.losses.margins import Hinge, Logistic, SquaredHinge, WinnowHinge
from noregret.losses.powers import OneSidedHuber, PowerHinge
from noregret.losses.regression import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Quantile,
    Regression,
    Squared,
)
from noregret.losses.tubes import SquaredEpsilonInsensitive

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "Exponential",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "NegativeLog",
    "OneSidedHuber",
    "PowerHinge",
    "Quantile",
    "Regression",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "WinnowHinge",
]
