"""Losses, maps, domains and rates by themselves: their functions on a grid of points."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from noregret import bandits, domains, losses, mirrors, rates, tracking
from tests.same_bits.descent import DOMAINS, LOSSES, MIRRORS, MORE_MIRRORS, RATES
from tests.same_bits.examples import Scenarios
from tests.same_bits.observe import Content, asked, plain

POINTS = (-1e3, -2.5, -1.0, -0.3, -1e-9, 0.0, 1e-9, 0.4, 1.0, 1.7, 40.0, 1e3)
SCORES = (
    losses.Softmax(),
    losses.MulticlassHinge(0.8),
    losses.OneAgainstRest(),
    losses.OneAgainstRest(losses.Hinge()),
    losses.PairwiseHinge(0.7),
    losses.PairwiseLogistic(),
)


def _called(part: Any, names: Iterable[str], given: Iterable[tuple[Any, ...]]) -> Content:
    """Return the values of methods, of those that the part has."""
    points = list(given)
    found: Content = {"text": str(part)}
    for name in names:
        method = getattr(part, name, None)
        if method is not None:
            found[name] = [plain(asked(method, *p)) for p in points]
    return found


def _loss(loss: Any) -> Content:
    labels = (-1.0, 1.0) if loss.labels == "sign" else (-2.0, 0.0, 0.5, 3.0)
    pairs = [(y, p) for y in labels for p in POINTS]
    found = _called(loss, ("value", "slope", "mistake", "conjugate"), pairs)
    return found | _called(loss, ("lipschitz", "smoothness"), [()])


def _mirror(mirror: Any) -> Content:
    reference = asked(mirror.reference, 0.0, 0.0)
    names = ("phi", "phi_prime", "psi", "psi_prime")
    return _called(mirror, names, [(a, reference) for a in POINTS if abs(a) < 30.0])


def _domain(domain: Any) -> Content:
    random = np.random.default_rng(5)
    rows = [np.round(random.normal(size=4) * scale, 3) for scale in (0.1, 1.0, 10.0)]
    found = _called(domain, ("project", "contains", "support"), [(row,) for row in rows])
    return found | _called(domain, ("project_entropic",), [(np.abs(row),) for row in rows])


def scenarios(compiled: int) -> Scenarios:
    """Yield every component."""
    for loss in LOSSES:
        yield f"loss {loss}", _loss, loss
    table = np.round(np.random.default_rng(4).normal(size=(6, 3)), 2)
    for scores in SCORES:
        y: Any = np.array([2.0, 0.0, 1.0]) if scores.labels == "relevance" else 1.0
        given = [(y, row) for row in table]
        yield f"loss {scores}", _called, scores, ("value", "mistake"), given
    for mirror in (*MIRRORS, *MORE_MIRRORS):
        if getattr(mirror, "start", 1.0) is None:
            continue
        yield f"map {mirror}", _mirror, mirror
    for domain in DOMAINS[1:]:
        yield f"domain {domain}", _domain, domain
    rounds = [(0.0, 0.0, 0.0), (3.0, 2.0, 1.0), (1e6, 5e4, 2.5)]
    for rate in (rates.Adaptive(0.4) if rate == rates.Adaptive() else rate for rate in RATES):
        yield f"rate {rate}", _called, rate, ("at", "weight_factor"), rounds
    wrong: list[tuple[Any, tuple[Any, ...]]] = [
        (losses.Hinge, (-1.0,)),
        (losses.Quantile, (1.5,)),
        (losses.Huber, (0.0,)),
        (losses.PowerHinge, (0.5,)),
        (mirrors.Ball, (0.0,)),
        (mirrors.PNorm, (1.0,)),
        (mirrors.Box, (2.0, 1.0)),
        (mirrors.Power, (3.0,)),
        (mirrors.Hypentropy, (-1.0,)),
        (mirrors.Entropy, (float("nan"),)),
        (rates.Constant, (0.0,)),
        (rates.Adaptive, (-1.0,)),
        (rates.CoinBetting, (0.0,)),
        (domains.Ball, (-1.0,)),
        (domains.ClippedSimplex, (2.0,)),
        (domains.PNormBall, (1.0, 1.0)),
        (tracking.Gaussian, (-1.0,)),
        (tracking.Polynomial, (0,)),
        (bandits.EpsilonGreedy, (2.0,)),
    ]
    for kind, parameters in wrong:
        yield f"wrong {kind.__name__}{parameters}", kind, *parameters
