"""Online convex games: maps, rates and domains, leaders, the doubling trick, single steps."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from noregret import mirrors, oco, rates
from tests.same_bits.descent import DOMAINS, MIRRORS, RATES
from tests.same_bits.examples import Scenarios
from tests.same_bits.observe import Content, asked, facts, plain

ROUNDS, DIMENSION = 12, 3
STREAMED = (
    rates.ScaleFree, rates.CoinBetting, rates.Ridge, rates.Newton, rates.CertifiedNewton,
    rates.Aioli, rates.Arow,
)  # fmt: skip


def _faced(make: Any, curved: bool) -> Content:
    """Return a player that faces linear and quadratic losses, a value alone and a refusal."""
    random = np.random.default_rng(12)
    player = make()
    found: Content = {"played": [], "faced": []}
    for t in range(ROUNDS):
        found["played"].append(plain(asked(player.play)))
        vector = np.round(random.normal(size=DIMENSION), 3)
        loss = oco.Quadratic(vector) if curved or t % 4 == 3 else oco.Linear(vector)
        found["faced"].append(plain(asked(player.face, loss)))
    if hasattr(player, "suffer"):
        found["suffered"] = plain(asked(player.suffer, 0.7, [0.5, -0.25, 0.0], 1.0))
    found["refused"] = plain(asked(player.face, None))
    certificate = player.certificate()
    for u in ([0.0, 0.0, 0.0], [0.2, 0.3, 0.5]):
        found[f"bounds at {u}"] = plain(asked(certificate.bounds_at, u))
    return found | facts(player)


def _stepped(mirror: Any, domain: Any) -> Content:
    w, z = np.array([0.2, 0.3, 0.5]), np.array([0.5, -0.25, 1.0])
    u = np.array([0.4, 0.4, 0.2])
    return {
        "step": plain(asked(oco.step, mirror, w, z, 0.3, domain)),
        "implicit": plain(asked(oco.implicit_step, mirror, w, z, 0.7, 0.3)),
        "divergence": plain(asked(oco.divergence, mirror, u, w)),
        "tuned": plain(asked(oco.tuned, mirror, DIMENSION, 100, 2.0, 1.5, domain)),
        "tuned, own radius": plain(asked(oco.tuned, mirror, DIMENSION, 100, 2.0, None, domain)),
    }


def _epoch(horizon: int) -> oco.Game:
    return oco.Game(DIMENSION, mirrors.Ball(1.0), rates.Constant(1.0 / horizon))


def scenarios(compiled: int) -> Scenarios:
    """Yield games, leaders and steps; all of it is numpy, compiled or not."""
    # Rates with a state of their own belong to the stream learners.
    played = [rate for rate in RATES if not isinstance(rate, STREAMED)]
    parts = itertools.product(MIRRORS, played, DOMAINS, (True, False))
    for mirror, rate, domain, lazy in parts:
        if compiled and domain is not None and not isinstance(mirror, mirrors.Euclidean):
            continue
        make = partial(oco.Game, DIMENSION, mirror, rate, domain, lazy)
        name = f"{mirror} {rate} {domain} {'lazy' if lazy else 'agile'}"
        if isinstance(asked(make), str):
            yield name, make
            continue
        yield name, _faced, make, isinstance(rate, rates.StronglyConvex)
        if domain is None and lazy:
            limited = partial(make, nonnegative=True, gradient_limit=2.0)
            yield f"{name}, limited", _faced, limited, False
    for alpha in (None, 0.5, 1.0):
        yield f"doubling {alpha}", _faced, partial(oco.doubling, _epoch, alpha), False
    for domain in DOMAINS:
        for curved in (True, False):
            leader = partial(oco.FollowTheLeader, DIMENSION, domain)
            yield f"leader {domain} {curved}", _faced, leader, curved
        for mirror in MIRRORS:
            make = partial(oco.FollowTheRegularizedLeader, DIMENSION, mirror, 0.4, domain)
            name = f"{mirror} {domain}"
            yield f"regularized leader {name}", _faced, make, False
            yield f"regularized leader {name}, curved", _faced, make, True
            yield f"step {name}", _stepped, mirror, domain
