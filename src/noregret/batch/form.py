"""The options that bound a predictor, checked in one place for every batch solver."""

from __future__ import annotations

from typing import NamedTuple

from noregret.arguments import refuse
from noregret.arrays import as_positive
from noregret.combinations import require_kind
from noregret.mirrors import Ball, Euclidean, Mirror


class Form(NamedTuple):
    """What is added to the sum of losses, or the ball in its place, and whether there is a bias."""

    mirror: Mirror
    #: b, the factor of the regulariser; 0 if a radius takes its place.
    strength: float
    radius: float | None = None
    #: Whether predictions have a bias that the regulariser does not count.
    bias: bool = False


def form(
    l2: float | None = None,
    radius: float | None = None,
    mirror: Mirror | None = None,
    strength: float | None = None,
    bias: bool = False,
) -> Form:
    """Return what the options mean; refuse those that do not go together.

    >>> form(l2=0.5, radius=2.0)
    Form(mirror=Ball(radius=2.0), strength=0.5, radius=None, bias=False)
    """
    mapped = strength is not None or mirror is not None
    refuse(
        {
            "l2 is the strength of the Euclidean map: give l2, or mirror and strength":
                l2 is not None and mapped,
            "radius is of the 2-norm ball: give radius (and l2), or mirror, strength":
                radius is not None and mapped,
            "give radius=, l2= or strength=: without any there may be no best one":
                radius is None and l2 is None and strength is None,
            "bias is for l2= or strength=; in a ball add a constant feature instead":
                bias and radius is not None,
        }
    )  # fmt: skip
    if radius is not None:
        radius = as_positive("radius", radius)
        if l2 is None:
            return Form(Euclidean(), 0.0, radius)
        return Form(Ball(radius), as_positive("l2", l2))
    if l2 is not None:
        return Form(Euclidean(), as_positive("l2", l2), bias=bias)
    # Of all rows at once: a threshold that grows with the rounds is then a 1-norm.
    shape = Euclidean() if mirror is None else mirror
    require_kind("mirror", shape)
    return Form(shape.standing(), as_positive("strength", strength), bias=bias)
