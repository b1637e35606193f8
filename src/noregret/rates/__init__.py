"""Learning rates: how far a step goes, from the round, the gradients or the curvature seen."""

from __future__ import annotations

from noregret.rates.base import Rate
from noregret.rates.block_leader import BlockLeader
from noregret.rates.first_order import (
    Adaptive,
    CoinBetting,
    Constant,
    Doubling,
    InverseSqrt,
    PerCoordinate,
    ScaleFree,
    StronglyConvex,
)
from noregret.rates.second_order import (
    Aioli,
    Arow,
    CertifiedNewton,
    Newton,
    Ridge,
)

__all__ = [
    "Adaptive",
    "Aioli",
    "Arow",
    "BlockLeader",
    "CertifiedNewton",
    "CoinBetting",
    "Constant",
    "Doubling",
    "InverseSqrt",
    "Newton",
    "PerCoordinate",
    "Rate",
    "Ridge",
    "ScaleFree",
    "StronglyConvex",
]
