"""Mirror descent: the product of losses, maps, rates, domains and switches.

Interpreted, every combination that a learner accepts, and the words of every refusal. Compiled, a
cover of every class, switch and layout, or of their pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import noregret as nr
from noregret import domains, losses, mirrors, rates
from tests.mirrors.own_map import Cosh
from tests.same_bits.examples import FEATURES, LAYOUTS, Scenarios, learnt, number
from tests.same_bits.names import PAIRS

KEY = (losses.Hinge(0.8), losses.Squared())


@dataclass(frozen=True)
class Shifted(losses.Loss):
    """A user's own loss, below zero: (p - y)^2 / 2 - depth."""

    depth: float = 10.0

    labels: ClassVar[str] = "real"
    nonnegative: ClassVar[bool] = False

    def value(self, y: float, p: float) -> float:
        return 0.5 * (p - y) * (p - y) - self.depth

    def slope(self, y: float, p: float) -> float:
        return p - y

    def mistake(self, y: float, p: float) -> bool:
        return False


LOSSES = (
    *KEY,
    losses.SquaredHinge(),
    losses.Logistic(),
    losses.WinnowHinge(),
    losses.Absolute(),
    losses.EpsilonInsensitive(0.1),
    losses.SquaredEpsilonInsensitive(0.1),
    losses.Huber(0.5),
    losses.Quantile(0.7),
    losses.PowerHinge(3.0),
    losses.OneSidedHuber(0.8),
    losses.Exponential(),
    losses.NegativeLog(),
    Shifted(),
)
MIRRORS = (
    mirrors.Euclidean(),
    mirrors.Ball(0.6),
    mirrors.Box(-0.3, 0.5),
    mirrors.PNorm(3.0),
    mirrors.SoftThreshold(0.02),
    mirrors.ElasticNet(0.05),
    mirrors.Entropy(1.5),
    mirrors.UnnormalizedEntropy(),
    mirrors.SignedEntropy(1.5),
    mirrors.Power(1.5),
    mirrors.Hypentropy(0.3),
    Cosh(),
)
RATES = (
    rates.Constant(0.2),
    rates.InverseSqrt(0.3),
    rates.Adaptive(),
    rates.Doubling(0.4),
    rates.PerCoordinate(0.5),
    rates.PerCoordinate(0.5, invariant=True),
    rates.StronglyConvex(0.7),
    rates.ScaleFree(),
    rates.CoinBetting(),
    rates.Ridge(forgetting=0.9),
    rates.Newton(),
    rates.CertifiedNewton(2.0),
    rates.Aioli(),
    rates.Arow(),
)
DOMAINS = (
    None,
    domains.Ball(0.5),
    domains.Box(0.05, 0.4),
    domains.Orthant(),
    domains.Simplex(1.2),
    domains.ClippedSimplex(0.1, 1.5),
    domains.PNormBall(3.0, 0.7),
)
#: Lazy or agile, conservative, implicit and clipped.
SWITCHES = tuple(itertools.product((True, False), (False, True), (False, True), (None, 0.9)))
#: Only with the key losses, because they differ from others by their numbers.
MORE_MIRRORS = (mirrors.SoftThreshold(0.0), mirrors.UnnormalizedEntropy(0.2), mirrors.PNorm(2.0))
MORE_RATES = (rates.Adaptive(0.4),)
MORE_DOMAINS = (domains.Everywhere(), domains.Box(-0.2, 0.3))


@dataclass(frozen=True)
class Case:
    """The parts of one learner."""

    loss: losses.Loss
    mirror: mirrors.Mirror
    rate: rates.Rate
    domain: domains.Domain | None
    lazy: bool
    conservative: bool
    implicit: bool
    clip: float | None

    def __str__(self) -> str:
        parts = [self.loss, self.mirror, self.rate, self.domain]
        words = [str(part) for part in parts if part is not None]
        words += ["agile"] * (not self.lazy) + ["conservative"] * self.conservative
        words += ["implicit"] * self.implicit + ["clipped"] * (self.clip is not None)
        return " ".join(words)

    @property
    def averaging(self) -> bool:
        return number(str(self)) % 4 > 0

    def learner(self) -> nr.MirrorDescent:
        """Return a fresh learner; some know their dimension or a limit on rows in advance."""
        seed = number(str(self))
        return nr.MirrorDescent(
            **vars(self),
            dimension=FEATURES if seed % 2 else None,
            row_limit=3.0 if seed % 5 == 0 else None,
            averaging=self.averaging,
        )

    def refusal(self) -> str:
        """Return the words in which the learner refuses these parts, '' if it takes them."""
        try:
            nr.MirrorDescent(**vars(self), dimension=FEATURES)
        except ValueError as error:
            return str(error)
        return ""

    def pairs(self) -> frozenset[Any]:
        """Return the pairs that kernels are chosen by: of classes, and of a map and the rest."""
        parts = (self.loss, self.mirror, self.rate, self.domain)
        loss, mirror, rate, domain = (type(part).__name__ for part in parts)
        step = domain, self.lazy, self.implicit, self.clip is None
        memory = rate, self.averaging, self.conservative
        layout = LAYOUTS[number(str(self)) % 4]
        pairs = (loss, mirror), (loss, rate), (mirror, rate), (mirror, step), (step, memory)
        return frozenset((*pairs, (layout, mirror), (layout, memory)))

    def parts(self) -> frozenset[Any]:
        """Return what every kind of pass has at least once."""
        domain, rate = type(self.domain).__name__, type(self.rate).__name__
        sized = rate in ("PerCoordinate", "ScaleFree", "CoinBetting", "Doubling", "StronglyConvex")
        step = domain, self.lazy, self.implicit, self.clip is None, sized and rate
        layout = LAYOUTS[number(str(self)) % 4]
        names = (type(part).__name__ for part in (self.loss, self.mirror, self.rate))
        flags = self.lazy, self.averaging, self.conservative
        return frozenset((*names, step, flags, (layout, self.lazy)))


def _product(*parts: Any) -> Iterator[Case]:
    for *components, switches in itertools.product(*parts, SWITCHES):
        yield Case(*components, *switches)


def key_cases() -> Iterator[Case]:
    """Return all combinations with the two key losses, refused ones as well."""
    sets = (MIRRORS + MORE_MIRRORS, RATES + MORE_RATES, DOMAINS + MORE_DOMAINS)
    return _product(KEY, *sets)


def other_cases(accepted: list[Case]) -> Iterator[Case]:
    """Return the other losses in the places of the key loss with the same kind of labels."""
    plain = [
        case
        for case in accepted
        if case.mirror in MIRRORS and case.rate in RATES and case.domain in DOMAINS
    ]
    for loss in LOSSES[len(KEY) :]:
        for case in plain:
            if case.loss.labels == loss.labels:
                yield Case(**vars(case) | {"loss": loss})


def cover(cases: list[Case], compiled: int) -> list[Case]:
    """Choose cases until every part, or every pair, that occurs has been chosen."""
    pairs = {case: case.pairs() if compiled == PAIRS else case.parts() for case in cases}
    missing = set().union(*pairs.values())
    order = sorted(cases, key=lambda case: number(f"cover {case}"))
    chosen: list[Case] = []
    for least in range(7, 0, -1):
        for case in order:
            if len(pairs[case] & missing) >= least:
                chosen.append(case)
                missing -= pairs[case]
    return chosen


def scenarios(compiled: int) -> Scenarios:
    """Yield every learner, and the refusals by map and rate."""
    refused: dict[str, dict[str, str]] = {}
    accepted = []
    for case in key_cases():
        words = case.refusal()
        if words:
            refused.setdefault(f"{case.mirror} {case.rate}", {})[str(case)] = words
        else:
            accepted.append(case)
    others = []
    for case in other_cases(accepted):
        words = case.refusal()
        if words:
            refused.setdefault(str(case.loss), {})[str(case)] = words
        else:
            others.append(case)
    for name, messages in refused.items():
        yield f"refused: {name}", messages.copy
    cases = cover(accepted + others, compiled) if compiled else accepted + others
    for case in cases:
        yield str(case), learnt, case.learner, case.loss.labels, str(case), compiled
