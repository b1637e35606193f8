"""The lemmas under the shifting bounds: one step, any rate, judged in 40 digits."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import noregret as nr
from noregret import catalogue
from noregret.tracking.lemmas import judged
from noregret.tracking.schedules import Schedule
from noregret.tracking.shifting import shifting_bounds
from tests.sizes import sized

#: Draws for each lemma.
DRAWS = 400


def norm(v: list[mpf], p: mpf) -> mpf:
    return mpmath.fsum(abs(e) ** p for e in v) ** (1 / p)


def link(v: list[mpf], p: mpf) -> list[mpf]:
    length = norm(v, p)
    if length == 0:
        return v
    return [mpmath.sign(e) * abs(e) ** (p - 1) / length ** (p - 2) for e in v]


def squared(rng: np.random.Generator, c: mpf, p: mpf) -> tuple[mpf, mpf, mpf, mpf]:
    """Return eta, d, q and D(u, w) - D(u, v) of a step of the p-norm algorithm."""
    n = int(rng.integers(1, 4))
    w, u, x = ([mpf(e) for e in row] for row in rng.normal(size=(3, n)).tolist())
    y = mpmath.fdot(u, x) + mpf(rng.normal() * rng.choice([0, 1.0]))
    eta = c / ((p - 1) * norm(x, p) ** 2)
    q = p / (p - 1)
    theta = link(w, q)
    d = mpmath.fdot(w, x) - y
    v = link([a - 2 * eta * d * b for a, b in zip(theta, x, strict=True)], p)

    def divergence(at: list[mpf]) -> mpf:
        line = mpmath.fdot(u, link(at, q))
        return norm(u, q) ** 2 / 2 + norm(at, q) ** 2 / 2 - line

    return eta, d, mpmath.fdot(u, x) - y, divergence(w) - divergence(v)


def entropic(rng: np.random.Generator, c: mpf, scale: mpf | None) -> tuple[mpf, mpf, mpf, mpf]:
    """Return the same for a step of EG on a simplex of that mass, or of clipped EGU."""
    n = int(rng.integers(1, 4))
    x = [mpf(e) for e in (rng.random(n) * rng.choice([0.0, 1.0], n, p=[0.2, 0.8])).tolist()]
    w, u = ([mpf(e) for e in row] for row in (rng.random((2, n)) ** 3 + 1e-9).tolist())
    if scale is not None:
        w, u = ([scale * e / mpmath.fsum(v) for e in v] for v in (w, u))
        offset = mpf(rng.normal() * 3)
        x = [e + offset for e in x]
        y = mpf(rng.normal()) * scale
        width = max(x) - min(x)
        eta = 4 * c / (scale * width**2) if width > 0 else mpf(1)
        d = mpmath.fdot(w, x) - y
    else:
        grow = mpf(float(rng.choice([1.0, 4.0])))
        w = [grow * e for e in w]
        top = mpf(float(rng.uniform(0.05, 2.0)))
        y = top * mpf(float(rng.choice([0.0, 1.0, rng.random()])))
        eta = c / (max(*x, mpf("1e-3")) * top)
        d = min(mpmath.fdot(w, x), top) - y
    v = [a * mpmath.exp(-2 * eta * d * b) for a, b in zip(w, x, strict=True)]
    if scale is not None:
        v = [scale * e / mpmath.fsum(v) for e in v]
    gain = mpmath.fsum(a * mpmath.log(e / b) + b - e for a, b, e in zip(u, w, v, strict=True))
    return eta, d, mpmath.fdot(u, x) - y, gain


KINDS: dict[str, Any] = {
    "gradient descent": lambda rng, c: squared(rng, c, mpf(2)),
    "p-norm": lambda rng, c: squared(rng, c, mpf(float(rng.choice([2.5, 4.0, 9.0])))),
    "EG": lambda rng, c: entropic(rng, c, mpf(float(rng.choice([1.0, 0.3, 5.0])))),
    "clipped EGU": lambda rng, c: entropic(rng, c, None),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_is_worth_what_the_lemma_says(kind: str) -> None:
    rng = np.random.default_rng(11)
    tight = mpf(1)
    with mpmath.workdps(40):
        for _ in range(DRAWS):
            c = mpf(float(rng.choice([rng.uniform(0.01, 0.49), 0.25, 0.4999])))
            eta, d, q, gain = KINDS[kind](rng, c)
            need = eta * d**2 - eta * q**2 / (1 - 2 * c)
            size = eta * (d**2 + q**2) / (1 - 2 * c)
            assert gain - need >= -size * mpf(10) ** -30
            if size > 0:
                tight = min(tight, (gain - need) / size)
    # The draws come close to equality: a lemma with less would fail.
    assert tight < 0.02


def test_the_factor_of_the_paper_is_kept_within_rounding() -> None:
    exact = judged(0.25, 2.0, "rows", 100.0)
    assert exact.factor == 2.0 and 0.0 < exact.excess < 1e-12
    assert judged(0.2, 2.0, "rows", 100.0).excess == 0.0
    beyond = judged(0.26, 2.0, "rows", 100.0)
    assert beyond.factor == pytest.approx(1 / 0.48) and beyond.excess == 0.0
    assert "too large" in judged(0.5, 2.0, "rows", 0.0).reason
    assert "too large" in judged(np.nan, 2.0, "rows", 0.0).reason


@pytest.mark.parametrize("loss", [nr.losses.Absolute(), nr.losses.Squared(), nr.losses.Logistic()])
def test_the_identity_holds_for_every_loss_rate_and_comparator(loss: nr.losses.Loss) -> None:
    """Comparators outside the set, labels above the clip, rates beyond all lemmas."""
    rng = np.random.default_rng(13)
    for k in range(sized(6, 24)):
        n, rounds = int(rng.integers(2, 6)), int(rng.integers(3, 40))
        X = rng.normal(size=(rounds, n))
        y = rng.choice([-1.0, 1.0], rounds)
        if loss.labels == "real":
            y = y + rng.normal(size=rounds)
        eta, alpha = float(rng.uniform(0.01, 1.5)), float(rng.uniform(0.05, 0.9))
        U = rng.normal(size=(3, n))
        if k % 3 == 0:
            learner = catalogue.c_gd(0.5, loss=loss, eta=eta)
        elif k % 3 == 1:
            U = rng.dirichlet(np.full(n, 0.3), 3)
            learner = catalogue.c_eg(alpha, loss=loss, eta=eta, dimension=n)
        else:
            U, X = np.abs(U) * (U > 0), np.abs(X)
            box, mirror = nr.domains.Box(alpha / n, n / alpha), nr.mirrors.UnnormalizedEntropy()
            rate = nr.rates.Constant(eta)
            learner = nr.MirrorDescent(loss, mirror, rate, box, lazy=False, clip=0.7)
        learner.learn(X, y)
        schedule = Schedule([(0, U[0]), (1, U[1]), (rounds - 1, U[2])])
        found = shifting_bounds(learner, schedule, X, y)
        assert found.identity is not None
        left, right = found.identity
        scale = 1.0 + abs(left) + found.loss + float(np.abs(U).sum()) / eta
        assert abs(left - right) <= 1e-11 * scale
        assert found.regret <= left + 1e-9 * scale
        (exact,) = [bound for bound in found.bounds if bound.name == "exact identity"]
        assert exact.applies and exact.value >= left - 1e-11 * scale
