"""The combinations of loss, map, rate and domain that the truth tests run, one kernel each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

import noregret as nr
from noregret import domains, losses, mirrors, rates


@dataclass(frozen=True)
class Shifted(losses.Loss):
    """A user's own loss, far below zero: (p - y)^2 / 2 - depth."""

    depth: float = 1e6

    labels: ClassVar[str] = "real"
    nonnegative: ClassVar[bool] = False

    def value(self, y: float, p: float) -> float:
        return 0.5 * (p - y) * (p - y) - self.depth

    def slope(self, y: float, p: float) -> float:
        return p - y

    def mistake(self, y: float, p: float) -> bool:
        return False


class Draw:
    """Random choices of parameters for features of a given size."""

    def __init__(self, random: np.random.Generator, size: float) -> None:
        self.random = random
        #: Kept where squares are in range: beyond, the learner may diverge but must not lie.
        self.size = min(max(size, 1e-70), 1e70)

    def pick(self, *choices: float) -> float:
        return float(choices[self.random.integers(len(choices))])

    def eta(self, *choices: float) -> float:
        """Return a rate for steps of that order in the predictions."""
        return self.pick(*choices) / self.size**2

    def radius(self) -> float:
        """Return a radius with few bits, so that the corners of its class are exact."""
        return 2.0 ** float(np.round(-np.log2(self.size))) * self.pick(0.5, 1.0, 6.0)


Part = Callable[[Draw], Any]

LOSSES: dict[str, Part] = {
    "hinge": lambda d: losses.Hinge(d.pick(1.0, 1.0, 0.3, 1000.0)),
    "squared hinge": lambda d: losses.SquaredHinge(d.pick(1.0, 0.7)),
    "logistic": lambda d: losses.Logistic(),
    "squared": lambda d: losses.Squared(),
    "absolute": lambda d: losses.Absolute(),
    "quantile": lambda d: losses.Quantile(d.pick(0.1, 0.5, 0.9)),
    "tube": lambda d: losses.EpsilonInsensitive(d.pick(0.0, 0.1, 2.0)),
    "huber": lambda d: losses.Huber(d.pick(0.5, 1.0, 100.0)),
    "winnow": lambda d: losses.WinnowHinge(),
    "user": lambda d: Shifted(),
}
MIRRORS: dict[str, Part] = {
    "plain": lambda d: mirrors.Euclidean(),
    "ball": lambda d: mirrors.Ball(d.radius()),
    "p-norm": lambda d: mirrors.PNorm(d.pick(2.0, 3.0, 4.0, 7.5, 40.0)),
    "soft": lambda d: mirrors.SoftThreshold(d.pick(0.0, 0.05, 1.0) * d.size),
    "simplex": lambda d: mirrors.Entropy(d.radius()),
    "signed": lambda d: mirrors.SignedEntropy(d.radius()),
    "orthant": lambda d: mirrors.UnnormalizedEntropy(
        None if d.random.random() < 0.7 else d.pick(1e-300, 1.0)
    ),
    "winnow": lambda d: mirrors.UnnormalizedEntropy(),
}
RATES: dict[str, Part] = {
    "constant": lambda d: rates.Constant(d.eta(0.01, 0.3, 1.0)),
    "slow": lambda d: rates.Constant(d.eta(0.01, 0.05)),
    "log": lambda d: rates.Constant(d.pick(0.05, 0.3) / d.size),
    "winnow": lambda d: rates.Constant(d.pick(0.1, 0.25, 0.4)),
    "falling": lambda d: rates.InverseSqrt(d.eta(0.01, 0.3, 1.0)),
    "doubling": lambda d: rates.Doubling(d.eta(0.01, 0.3, 1.0)),
    "adaptive": lambda d: rates.Adaptive(
        d.pick(0.3, 1.0) / d.size if d.random.random() < 0.7 else None
    ),
    "natural": lambda d: rates.Adaptive(),
    "curved": lambda d: rates.StronglyConvex(d.pick(0.01, 1.0, 10.0) * d.size**2),
    "scale-free": lambda d: rates.ScaleFree(),
    "ridge": lambda d: rates.Ridge(
        d.pick(1e-9, 0.1, 1.0), d.pick(0.9, 1.0, 1.0), bool(d.pick(0, 1)), bool(d.pick(0, 1))
    ),
    "newton": lambda d: rates.Newton(d.pick(0.01, 1.0), bool(d.pick(0, 1)), d.pick(0.9, 1.0)),
    "certified": lambda d: rates.CertifiedNewton(d.pick(0.5, 8.0), d.pick(1e-3, 1.0)),
    "aioli": lambda d: rates.Aioli(d.pick(1.0, 8.0), d.pick(0.1, 1.0), d.pick(2.0, math.inf)),
    "arow": lambda d: rates.Arow(d.pick(0.1, 1.0)),
    "leader": lambda d: rates.BlockLeader(d.pick(1e-3, 1.0), d.pick(4, 16, 64)),
    "coins": lambda d: rates.CoinBetting(d.pick(1e-3, 1.0)),
    "each": lambda d: rates.PerCoordinate(d.pick(0.3, 2.0), bool(d.pick(0, 0, 1))),
}
DOMAINS: dict[str, Part] = {
    "": lambda d: None,
    "ball": lambda d: domains.Ball(d.radius()),
    "box": lambda d: domains.Box(-d.radius(), 2.0 * d.radius()),
    "high box": lambda d: domains.Box(d.radius(), 16.0 * d.radius()),
    "simplex": lambda d: domains.Simplex(d.radius()),
    "orthant": lambda d: domains.Orthant(),
    "floored": lambda d: domains.ClippedSimplex(d.pick(1e-9, 0.1, 0.7, 1.0), d.radius()),
    "norm ball": lambda d: domains.PNormBall(d.pick(2.0, 3.0, 7.5, 50.0), d.radius()),
}


@dataclass(frozen=True)
class Combo:
    """A kind of learner, and the layout of the rows that it is fed."""

    layout: str
    loss: str
    mirror: str
    rate: str
    domain: str = ""
    lazy: bool = True
    conservative: bool = False
    clipped: bool = False
    implicit: bool = False
    #: Stored features of a block, 0 without blocks.
    blocks: int = 0

    @property
    def name(self) -> str:
        words = [self.loss, self.mirror, self.rate, self.domain]
        words += ["" if self.lazy else "agile", "conservative" if self.conservative else ""]
        words += ["clipped" if self.clipped else "", "implicit" if self.implicit else ""]
        words += [f"blocks of {self.blocks}" if self.blocks else ""]
        return ", ".join(word for word in words if word)

    def learner(
        self, random: np.random.Generator, size: float, dimension: int | None
    ) -> nr.MirrorDescent:
        draw = Draw(random, size)
        loss, mirror = LOSSES[self.loss](draw), MIRRORS[self.mirror](draw)
        rate, domain = RATES[self.rate](draw), DOMAINS[self.domain](draw)
        # Maps that belong to a set take its scale, its exponent, or a start not far from it.
        if isinstance(domain, domains.ClippedSimplex):
            mirror = mirrors.Entropy(domain.scale)
        elif isinstance(domain, domains.PNormBall):
            mirror = mirrors.PNorm(domain.p)
        elif isinstance(domain, domains.Box) and isinstance(mirror, mirrors.UnnormalizedEntropy):
            mirror = mirrors.UnnormalizedEntropy()
        learner = nr.MirrorDescent(
            loss,
            mirror,
            rate,
            domain=domain,
            lazy=self.lazy,
            conservative=self.conservative,
            dimension=dimension,
            row_limit=size * draw.pick(1.0, 2.0, 100.0),
            clip=draw.pick(0.5, 2.0, 100.0) if self.clipped else None,
            implicit=self.implicit,
            blocks=self.blocks > 0,
        )
        if learner._lines is not None:
            learner._lines.pending.size = self.blocks
        return learner


COMBOS = [
    Combo("dense64", "hinge", "plain", "constant"),
    Combo("sparse64", "hinge", "plain", "constant", conservative=True),
    Combo("dense64", "logistic", "ball", "adaptive"),
    Combo("sparse64", "squared", "plain", "slow"),
    Combo("dense64", "absolute", "ball", "doubling"),
    Combo("dense64", "hinge", "plain", "doubling", conservative=True),
    Combo("dense32", "huber", "plain", "adaptive"),
    Combo("dense64", "hinge", "plain", "curved"),
    Combo("sparse32", "logistic", "plain", "curved"),
    Combo("sparse64", "quantile", "soft", "falling"),
    Combo("dense64", "tube", "soft", "constant"),
    Combo("dense64", "hinge", "p-norm", "constant", conservative=True),
    Combo("sparse64", "logistic", "p-norm", "adaptive"),
    Combo("dense64", "squared hinge", "p-norm", "slow"),
    Combo("dense64", "absolute", "simplex", "log"),
    Combo("sparse64", "squared", "simplex", "natural"),
    Combo("sparse64", "hinge", "simplex", "log", conservative=True),
    Combo("dense32", "quantile", "simplex", "doubling"),
    Combo("dense64", "winnow", "winnow", "winnow", conservative=True),
    Combo("sparse64", "absolute", "orthant", "natural"),
    Combo("dense64", "logistic", "signed", "falling"),
    Combo("sparse64", "hinge", "signed", "log", conservative=True),
    Combo("dense64", "huber", "plain", "constant", "box"),
    Combo("dense64", "huber", "plain", "constant", "high box"),
    Combo("sparse64", "logistic", "plain", "each"),
    Combo("dense64", "hinge", "soft", "each"),
    Combo("dense64", "hinge", "plain", "each", conservative=True),
    Combo("dense64", "squared", "plain", "falling", "ball", lazy=False),
    Combo("sparse64", "absolute", "plain", "adaptive", "box", lazy=False),
    Combo("dense64", "logistic", "plain", "constant", "simplex", lazy=False),
    Combo("sparse64", "hinge", "plain", "falling", lazy=False, conservative=True),
    Combo("dense64", "tube", "orthant", "log", "high box", lazy=False),
    Combo("sparse64", "absolute", "plain", "falling", "orthant", lazy=False),
    Combo("dense64", "user", "plain", "slow"),
]

#: Apart from the others, because they keep no average.
SCALE_FREE = [
    Combo("sparse64", "logistic", "plain", "scale-free"),
    Combo("dense64", "squared", "plain", "scale-free"),
    Combo("dense64", "hinge", "plain", "scale-free"),
    Combo("sparse64", "absolute", "plain", "scale-free"),
    Combo("dense64", "huber", "plain", "scale-free"),
    Combo("dense64", "squared hinge", "plain", "scale-free"),
    Combo("sparse64", "logistic", "plain", "coins"),
    Combo("dense64", "absolute", "plain", "coins"),
    Combo("sparse64", "hinge", "plain", "coins"),
    Combo("sparse64", "squared", "plain", "ridge"),
    Combo("dense32", "squared", "plain", "ridge"),
    Combo("dense64", "huber", "plain", "newton"),
    Combo("sparse64", "logistic", "plain", "newton"),
    Combo("dense64", "logistic", "plain", "certified"),
    Combo("sparse64", "squared hinge", "plain", "certified"),
    Combo("sparse32", "logistic", "plain", "aioli"),
    Combo("dense64", "hinge", "plain", "arow"),
]

#: Descent kept in a set, clipped predictions and implicit steps.
TRACKERS = [
    Combo("sparse64", "squared", "plain", "slow", "ball", lazy=False),
    Combo("dense64", "squared", "orthant", "log", "high box", lazy=False, clipped=True),
    Combo("sparse64", "absolute", "orthant", "log", lazy=False, clipped=True),
    Combo("dense64", "squared", "simplex", "slow", "floored", lazy=False),
    Combo("sparse64", "squared", "simplex", "slow", "floored", lazy=False),
    Combo("sparse64", "absolute", "simplex", "adaptive", "floored", lazy=False),
    Combo("sparse64", "hinge", "simplex", "log", "floored", lazy=False, conservative=True),
    Combo("dense64", "squared", "p-norm", "slow", "norm ball", lazy=False),
    Combo("sparse64", "logistic", "p-norm", "falling", "norm ball", lazy=False),
    Combo("dense64", "hinge", "plain", "constant", "ball", lazy=False, implicit=True),
    Combo("sparse64", "logistic", "plain", "constant", "box", lazy=False, implicit=True),
    Combo("dense64", "squared", "orthant", "log", "high box", lazy=False, implicit=True),
    Combo("sparse64", "absolute", "simplex", "log", lazy=False, implicit=True),
    Combo("sparse64", "hinge", "simplex", "log", "floored", lazy=False, implicit=True),
    Combo("dense64", "tube", "p-norm", "constant", "norm ball", lazy=False, implicit=True),
    Combo("dense64", "absolute", "signed", "log", lazy=False, implicit=True),
]

#: All of them again with blocks of rows, of which the first rows fill several.
BLOCKS = [
    replace(combo, blocks=(1, 7, 40, 1000)[place % 4])
    for place, combo in enumerate((*COMBOS, *SCALE_FREE, *TRACKERS))
    if combo.loss != "user"
]
