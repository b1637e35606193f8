"""Convex losses of one prediction or of a vector of scores, with their conjugates and constants."""

from noregret.losses.base import Loss
from noregret.losses.margins import (
    Exponential,
    Hinge,
    Logistic,
    OneSidedHuber,
    PowerHinge,
    SquaredHinge,
    WinnowHinge,
)
from noregret.losses.pairs import PairwiseHinge, PairwiseLogistic
from noregret.losses.regression import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    NegativeLog,
    Quantile,
    Regression,
    Squared,
    SquaredEpsilonInsensitive,
)
from noregret.losses.scores import MulticlassHinge, OneAgainstRest, ScoreLoss, Softmax

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "Exponential",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "MulticlassHinge",
    "NegativeLog",
    "OneAgainstRest",
    "OneSidedHuber",
    "PairwiseHinge",
    "PairwiseLogistic",
    "PowerHinge",
    "Quantile",
    "Regression",
    "ScoreLoss",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "WinnowHinge",
]
