"""The class line, the floor, the theorems and the radius of a certificate are about one class."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

import noregret as nr
from noregret import domains, losses, mirrors, rates

Vector = npt.NDArray[np.float64]


def absolute_in_a_box() -> nr.MirrorDescent:
    """Return a learner that has hardly moved, while corners of its box are far better."""
    learner = nr.MirrorDescent(
        losses.Absolute(), mirrors.Euclidean(), rates.Constant(0.001), domains.Box(-1.0, 1.0)
    )
    learner.learn(np.ones((50, 10)), np.full(50, 5.0))
    return learner


def test_theorems_of_a_lazy_box_are_about_the_box() -> None:
    certificate = absolute_in_a_box().certificate()
    # u = 0.5 everywhere predicts 5 and loses nothing.
    regret = certificate.loss
    assert regret == pytest.approx(237.75)
    bounds = [bound for bound in certificate.bounds if bound.applies]
    assert bounds and all(bound.value >= regret for bound in bounds)
    # The largest R over the box is d/2, here divided by eta = 0.001.
    assert min(bound.value for bound in bounds) == pytest.approx(5000.25, rel=1e-9)
    assert "every u in Box(low=-1.0, high=1.0) lost at least" in str(certificate)
    printed = [line.split()[-1] for line in str(certificate).splitlines() if "L(u) <=" in line]
    assert printed and all(float(number) >= regret for number in printed)


def test_radius_belongs_to_the_class() -> None:
    told = absolute_in_a_box().certificate().as_dict()
    assert told["class"] == "every u in Box(low=-1.0, high=1.0)"
    assert told["radius"] is None
    assert all(bound["value"] >= told["loss"] for bound in told["bounds"])
    asked = absolute_in_a_box().certificate().as_dict(0.25)
    assert asked["class"] == "every u with ||u||_2 <= 0.25" and asked["radius"] == 0.25


LEARNERS = {
    "lazy box": dict(domain=domains.Box(-0.5, 2.0)),
    "lazy box, zero outside": dict(domain=domains.Box(0.25, 2.0)),
    "lazy box, falling rate": dict(domain=domains.Box(-2.0, 1.0), rate=rates.InverseSqrt(0.3)),
    "lazy box, restarts": dict(domain=domains.Box(-1.0, 1.0), rate=rates.Doubling(0.2)),
    "lazy box, conservative": dict(domain=domains.Box(-1.0, 2.0), conservative=True),
    "lazy orthant": dict(domain=domains.Orthant()),
    "lazy ball": dict(domain=domains.Ball(1.5)),
    "agile ball": dict(domain=domains.Ball(1.5), lazy=False),
    "agile box, conservative": dict(domain=domains.Box(-1, 2), lazy=False, conservative=True),
    "agile simplex": dict(domain=domains.Simplex(2.0), lazy=False),
    "agile simplex, conservative": dict(
        domain=domains.Simplex(2.0), lazy=False, conservative=True
    ),
    "agile orthant, conservative": dict(domain=domains.Orthant(), lazy=False, conservative=True),
    "clipped simplex": dict(
        mirror=mirrors.Entropy(2.0), domain=domains.ClippedSimplex(0.3, 2.0), lazy=False
    ),
    "p-norm ball": dict(
        mirror=mirrors.PNorm(3.0), domain=domains.PNormBall(3.0, 1.5), lazy=False
    ),
    "p-norm ball, conservative": dict(
        mirror=mirrors.PNorm(3.0), domain=domains.PNormBall(3.0, 1.5), lazy=False,
        conservative=True,
    ),
    "entropic box": dict(
        mirror=mirrors.UnnormalizedEntropy(), domain=domains.Box(0.1, 2.0), lazy=False
    ),
    "entropic box, conservative": dict(
        mirror=mirrors.UnnormalizedEntropy(), domain=domains.Box(0.1, 2.0), lazy=False,
        conservative=True,
    ),
    "map with a box": dict(mirror=mirrors.Box(-0.5, 2.0)),
    "map with a ball": dict(mirror=mirrors.Ball(1.5)),
    "simplex of a map": dict(mirror=mirrors.Entropy(2.0)),
}  # fmt: skip


def learnt(options: dict[str, object], loss: losses.Loss) -> tuple[nr.MirrorDescent, Vector]:
    """Return a learner that barely moves on rows that one corner of its set gets right."""
    given = {"mirror": mirrors.Euclidean(), "rate": rates.Constant(0.01)} | options
    learner = nr.MirrorDescent(loss, **given)  # type: ignore[arg-type]
    rows = np.random.default_rng(3).uniform(0.2, 1.0, (60, 3)) * [1.0, -1.0, 1.0]
    return learner, rows


def members(text: str, rows: Vector) -> list[Vector]:
    """Return members of the class that a line of print names."""
    dimension = rows.shape[1]
    signs = list(itertools.product((0.0, 1.0), repeat=dimension))
    words = text.strip().split(" lost at least")[0]
    if words.startswith("every u in "):
        domain = eval(words.removeprefix("every u in "), dict(vars(domains)))
        if isinstance(domain, domains.Box):
            return [np.where(sign, domain.low, domain.high) for sign in np.array(signs)]
        corners = list(domain.scale * np.eye(dimension))
        return [domain.project(corner) for corner in corners]
    size = float(words.split()[-1])
    if " >= 0 with sum" in words:
        return [size * corner for corner in np.eye(dimension)]
    q = float(words.split("||_")[1].split()[0])
    rays = np.array([2.0 * np.array(sign) - 1.0 for sign in signs] + list(rows[:5]))
    inside = 1.0 - 1e-9
    return [inside * size * ray / float(np.linalg.norm(ray, q)) for ray in rays]


#: Mistakes need labels of two kinds.
CASES = [(name, "sign") for name in LEARNERS]
CASES += [(name, "real") for name, told in LEARNERS.items() if not told.get("conservative")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_printed_bounds_hold_for_members_of_the_printed_class(name: str, kind: str) -> None:
    options = LEARNERS[name]
    loss: losses.Loss = losses.Hinge() if kind == "sign" else losses.Absolute()
    learner, rows = learnt(options, loss)
    y = np.ones(len(rows)) if kind == "sign" else np.full(len(rows), 4.0)
    if kind == "sign":
        rows[::7] *= -1.0
    learner.learn(rows, y)
    certificate = learner.certificate()
    lines = str(certificate).splitlines()
    (claim,) = [line for line in lines if "lost at least that much" in line]
    floor = float(next(line for line in lines if "certified floor" in line).split()[2])
    tried = members(claim, rows)
    lost = [sum(loss.value(a, float(p)) for a, p in zip(y, rows @ u, strict=True)) for u in tried]
    assert floor <= min(lost)
    measures = {
        "loss": certificate.loss,
        "mistakes": float(certificate.mistakes),
        "loss on mistakes": sum(
            loss.value(a, p)
            for a, p in zip(y, _predictions(options, loss, rows, y), strict=True)
            if loss.mistake(a, p)
        ),
    }
    bounds = [line for line in lines if "L(u) <=" in line]
    for line in bounds:
        excess, value = line[43:].split(" <= ")
        measure, _, factor = excess.removesuffix("L(u)").rpartition(" - ")
        for total in lost:
            assert measures[measure] <= float(factor or 1.0) * total + float(value), line
    told = certificate.as_dict()
    assert (told["radius"] is None) == told["class"].startswith("every u in ")
    if told["radius"] is not None:
        assert certificate.floor() == certificate.floor(told["radius"])
        assert certificate.describe() == certificate.describe(told["radius"])
    assert math.isfinite(floor)


def _predictions(
    options: dict[str, object], loss: losses.Loss, rows: Vector, y: Vector
) -> list[float]:
    again, _ = learnt(options, loss)
    return again.learn(rows, y).tolist()
