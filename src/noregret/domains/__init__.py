"""Convex sets that weights are kept in, with their projections and support functions.

Two geometries: `project` is Euclidean, argmin over u of ||u - w||^2, and `project_entropic` is
the Bregman projection argmin over u of D(u, w) = sum_i u_i ln(u_i / w_i) + w_i - u_i, for w >= 0
(a weight that underflowed to 0 is read as the limit w_i -> 0). Both satisfy the generalised
Pythagorean inequality D(u, w) >= D(u, p) + D(p, w) for the projection p and every u in the set.

Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorem 2.
"""

from __future__ import annotations

from noregret.domains.base import Domain, Everywhere
from noregret.domains.sets import Ball, Box, ClippedSimplex, Orthant, PNormBall, Simplex

__all__ = [
    "Ball",
    "Box",
    "ClippedSimplex",
    "Domain",
    "Everywhere",
    "Orthant",
    "PNormBall",
    "Simplex",
]
