"""A loss of one's own: its promises are named, looked at each round, and a broken one is told."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import noregret as nr
from noregret import domains, losses, mirrors, rates
from noregret.experts import Aggregate, Forecaster
from noregret.learners import DualAscent, MatrixDescent, MirrorDescent
from noregret.learners.foreign import Certifier
from noregret.proof.wording import assumption_of
from noregret.tracking import KernelDescent
from noregret.tracking.kernels import Polynomial

#: Beyond this size of a prediction the losses below break their word; trial points are nearer.
FAR = 20.0


@dataclass(frozen=True)
class Honest(losses.Regression):
    """|p - y|, with all it promises."""

    def value(self, y: float, p: float) -> float:
        return abs(p - y)

    def slope(self, y: float, p: float) -> float:
        return 1.0 if p > y else -1.0

    def lipschitz(self) -> float:
        return 1.0

    def conjugate(self, y: float, s: float) -> float:
        return s * y if abs(s) <= 1.0 else math.inf


@dataclass(frozen=True)
class Bent(Honest):
    """Convex up to FAR, from where on it falls."""

    def value(self, y: float, p: float) -> float:
        return abs(p - y) if abs(p) < FAR else 1.0 / abs(p)


@dataclass(frozen=True)
class Sunk(Honest):
    """Below 0 beyond FAR, though convex: a line of slope -1 that goes on."""

    def value(self, y: float, p: float) -> float:
        return max(y - p, 0.0) if p < FAR else FAR - p

    def slope(self, y: float, p: float) -> float:
        return -1.0 if p < y or p >= FAR else 0.0


@dataclass(frozen=True)
class Steep(Honest):
    """Ten times as steep beyond FAR."""

    def value(self, y: float, p: float) -> float:
        return abs(p - y) + 9.0 * max(abs(p) - FAR, 0.0)

    def slope(self, y: float, p: float) -> float:
        far = 9.0 if p > FAR else -9.0 if p < -FAR else 0.0
        return (1.0 if p > y else -1.0) + far


@dataclass(frozen=True)
class Lifted(Honest):
    """The line's height at 0 is too high beyond FAR."""

    def intercept(self, y: float, p: float, value: float, slope: float) -> float:
        return value - slope * p + (1.0 if abs(p) > FAR else 0.0)


@dataclass(frozen=True)
class Overstated(Honest):
    """A conjugate that is too low."""

    def conjugate(self, y: float, s: float) -> float:
        return s * y - 0.5 * abs(s)


WORDS = {
    Bent: "convexity",
    Sunk: "values >= 0",
    Steep: "slopes of at most lipschitz()",
    Lifted: "an intercept not above value - slope * p",
}
RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 2))
#: Targets grow, and with them the predictions: past FAR after a while.
Y = (X @ [3.0, -2.0]) * np.linspace(0.1, 40.0, 60)
EUCLIDEAN = mirrors.Euclidean()
AGILE = {"lazy": False}

LEARNERS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda loss: MirrorDescent(loss, EUCLIDEAN, rates.Constant(3.0)),
    "coordinate": lambda loss: MirrorDescent(loss, EUCLIDEAN, rates.PerCoordinate(20.0)),
    "scale-free": lambda loss: MirrorDescent(loss, EUCLIDEAN, rates.ScaleFree()),
    "coin betting": lambda loss: MirrorDescent(loss, EUCLIDEAN, rates.CoinBetting(100.0)),
    "agile": lambda loss: MirrorDescent(
        loss, EUCLIDEAN, rates.Constant(3.0), domains.Ball(1e3), **AGILE
    ),
    "mapped": lambda loss: MirrorDescent(loss, mirrors.PNorm(3.0), rates.Constant(3.0)),
    "clipped simplex": lambda loss: MirrorDescent(
        loss,
        mirrors.Entropy(200.0),
        rates.Constant(0.1),
        domains.ClippedSimplex(0.1, 200.0),
        **AGILE,
    ),
    "dual": lambda loss: DualAscent(loss, EUCLIDEAN, C=5.0),
    "dual, mini": lambda loss: DualAscent(loss, EUCLIDEAN, C=5.0, update="mini", k=2),
    "kernel": lambda loss: KernelDescent(Polynomial(degree=1), 1e3, 3.0, loss),
    "aggregate": lambda loss: Aggregate(
        [MirrorDescent(loss, EUCLIDEAN, rates.Constant(eta)) for eta in (2.0, 3.0)]
    ),
}


def certificate_of(learner: Any) -> Any:
    found = learner.certificate()
    return found.account if isinstance(learner, KernelDescent) else found


@pytest.mark.parametrize("name", LEARNERS)
def test_an_honest_loss_keeps_its_certificate(name: str) -> None:
    learner = LEARNERS[name](Honest())
    made = learner.learn(X, Y)
    certificate = certificate_of(learner)
    assert np.abs(made).max() > FAR
    assert certificate.broken is None
    assert math.isfinite(certificate.floor(1.0))
    assert "Honest is taken at its word to be convex, never to be negative" in str(certificate)
    assert "and to have slopes of at most 1" in str(certificate) or "dual" in name
    assert certificate.as_dict(1.0)["floor"] == certificate.floor(1.0)


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_broken_promise_ends_what_is_said_and_not_the_learning(
    name: str, kind: type[Any]
) -> None:
    learner = LEARNERS[name](kind())
    made = learner.learn(X, Y)
    certificate = certificate_of(learner)
    assert learner.rounds == len(X)
    assert np.isfinite(made).all()
    broken = certificate.broken
    assert broken is not None
    if kind is not Bent and name != "scale-free":
        assert broken.promise == WORDS[kind]
    assert 1 <= broken.round <= len(X)
    text = str(learner if isinstance(learner, KernelDescent) else certificate)
    words = f"no statement: {kind.__name__} broke its promise of {broken.promise} in round "
    assert words + f"{broken.round}" in text
    assert "floor" not in text and "regret at most" not in text and "<=" not in text.split(words)[0]
    assert certificate.floor(1.0) == -math.inf
    assert certificate.regret(np.zeros(len(certificate.gradient))) == math.inf
    assert certificate.regret_bound(1.0) == math.inf
    assert certificate.bounds == [] and certificate.bounds_for(1.0) == []
    told = json.loads(json.dumps(certificate.as_dict(1.0), allow_nan=False))
    assert told["floor"] is None and told["regret_bound"] is None and told["bounds"] == []
    assert told["broken"] == {
        "loss": kind.__name__, "round": broken.round, "promise": broken.promise
    }  # fmt: skip


def test_the_round_is_that_of_the_violation() -> None:
    for kind in (Steep, Lifted):
        learner = LEARNERS["linear"](kind())
        made = learner.learn(X, Y)
        far = int(np.flatnonzero(np.abs(made) > FAR)[0]) + 1
        assert 1 < learner.certificate().broken.round == far


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ("kernel", "aggregate")])
def test_it_survives_files_and_what_is_learnt_later(name: str, tmp_path: Path) -> None:
    learner = LEARNERS[name](Steep())
    learner.learn(X, Y)
    before = learner.certificate().broken
    assert before is not None
    learner.save(tmp_path / "model.nr")
    again = nr.load(tmp_path / "model.nr")
    again.learn(X[:10], np.zeros(10))
    assert again.certificate().broken == before
    assert "no statement" in str(again.certificate())


def test_certify_looks_too() -> None:
    certifier = Certifier(Bent())
    certifier.add(X[:30], Y[:30], np.zeros(30))
    assert certifier.certificate().broken is None
    certifier.add(X[:3], Y[:3], [0.0, 25.0, 0.0])
    certificate = certifier.certificate()
    assert certificate.broken is not None and certificate.broken.round >= 32
    assert certificate.floor(1.0) == -math.inf
    assert "no statement: Bent broke its promise of convexity" in certificate.text(1.0)


def test_a_conjugate_that_is_too_low() -> None:
    learner = DualAscent(Overstated(), EUCLIDEAN)
    learner.learn(X, X[:, 0])
    certificate = learner.certificate()
    assert certificate.broken is not None and certificate.broken.promise == "its conjugate"
    assert certificate.dual == -math.inf
    assert certificate.as_dict()["dual"] is None
    assert certificate.as_dict()["regularized_floor"] is None
    assert "dual value" not in str(certificate)


@dataclass(frozen=True)
class Squarer(losses.Squared):
    """A subclass of one of ours, with another value."""

    def value(self, y: float, p: float) -> float:
        return (p - y) * (p - y) if abs(p) < FAR else 1.0


def test_subclasses_of_ours_are_not_exempt() -> None:
    assert Squarer().checked() and not losses.Squared().checked()
    learner = MirrorDescent(Squarer(), EUCLIDEAN, rates.Constant(0.2))
    learner.learn(X, Y)
    assert learner.certificate().broken is not None
    assert "Squarer is taken at its word" in (learner.certificate().assumption or "")


def test_losses_of_this_package_are_exempt() -> None:
    for name, kind in inspect.getmembers(losses, inspect.isclass):
        if issubclass(kind, losses.Loss | losses.ScoreLoss) and not inspect.isabstract(kind):
            assert kind.foreign is False, name
    assert assumption_of(losses.OneAgainstRest()) is None


@dataclass(frozen=True)
class Margin(losses.Loss):
    """The hinge, whose slope is wrong beyond a margin of -3."""

    def value(self, y: float, p: float) -> float:
        return max(1.0 - y * p, 0.0)

    def slope(self, y: float, p: float) -> float:
        return -y * (1.0 if y * p > -12.0 else 2.0) if y * p < 1.0 else 0.0


@dataclass(frozen=True)
class Apart(losses.ScoreLoss):
    """max_k s_k - s_y, whose slopes are turned round where a score is large."""

    def value_and_slopes(self, target: Any, s: Any, slopes: Any) -> float:
        y, top = int(target), 0
        for k in range(len(s)):
            slopes[k] = 0.0
            top = k if s[k] > s[top] else top
        sign = 1.0 if abs(s[top]) < 0.3 else -1.0
        slopes[top] += sign
        slopes[y] -= sign
        return float(s[top] - s[y])


SCORES: dict[str, Callable[[], Any]] = {
    "one against the rest": lambda: MatrixDescent(
        losses.OneAgainstRest(Margin()), rate=rates.Constant(5.0)
    ),
    "mapped": lambda: MatrixDescent(Apart(), mirrors.PNorm(3.0), rates.Constant(5.0), outputs=3),
    "scale-free": lambda: MatrixDescent(Apart(), outputs=3),
    "own": lambda: MatrixDescent(Apart(), rate=rates.Constant(5.0), outputs=3),
}


@pytest.mark.parametrize("name", SCORES)
def test_losses_of_several_scores(name: str) -> None:
    learner = SCORES[name]()
    classes = RNG.integers(0, 3, 400)
    rows = 5.0 * RNG.normal(size=(400, 2))
    learner.learn(rows[:1], [2])
    assert learner.certificate().broken is None
    own = "Apart" if isinstance(learner.loss, Apart) else "Margin"
    assert f"{own} is taken at its word to be convex and never to be negative" in (
        learner.certificate().text(1.0)
    )
    learner.learn(rows, classes)
    certificate = learner.certificate()
    assert certificate.broken is not None and certificate.broken.promise == "convexity"
    assert f"no statement: {own} broke its promise of convexity" in certificate.text(1.0)
    assert certificate.floor(1.0) == certificate.floor(1.0, norm="trace") == -math.inf


def test_hindsight_names_what_it_trusts_and_refuses_what_shows_otherwise() -> None:
    found = nr.hindsight(X, X[:, 0] + 1.0, Honest(), l2=1.0)
    assert "assumption: Honest is taken at its word to be convex" in str(found)
    assert "and to have the conjugate it gives" in str(found)
    assert nr.hindsight(X, X[:, 0], losses.Absolute(), l2=1.0).assumption is None
    with pytest.raises(ValueError, match=r"Overstated.conjugate is not that of a convex value"):
        nr.hindsight(X, X[:, 0] + 1.0, Overstated(), l2=1.0)


@dataclass(frozen=True)
class Near(losses.Regression):
    """A loss for forecasts, which may be negative and has no steepest slope."""

    nonnegative: ClassVar[bool] = False

    def value(self, y: float, p: float) -> float:
        return (p - y) * (p - y) - 1.0

    def slope(self, y: float, p: float) -> float:
        return 2.0 * (p - y)


def test_forecasters_name_what_they_trust() -> None:
    forecaster = Forecaster(2, Near(), low=0.0, high=1.0)
    forecaster.learn([[0.1, 0.9]], [0.5])
    assert "assumption: Near is taken at its word to be convex" in str(forecaster.certificate())
    ours = Forecaster(2, losses.Absolute(), low=0.0, high=1.0)
    ours.learn([[0.1, 0.9]], [0.5])
    assert ours.certificate().assumption is None


def test_drift_is_not_proved_by_a_loss_that_broke_its_word() -> None:
    jump = np.where(np.arange(60) < 30, 1.0, -1.0) * 30.0
    rows = np.ones((60, 1))
    assert nr.drift_proof(rows, jump, Honest(), 100.0).proved
    assert not nr.drift_proof(rows, jump, Bent(), 100.0).proved
