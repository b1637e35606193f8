"""A map of one's own learns, gives floors over a named norm, and gets only declared theorems."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors, oco, rates
from noregret.mirrors.base import declares
from noregret.proof.convexity import require_declared
from tests.mirrors.own_map import Cosh

RANDOM = np.random.default_rng(5)
X, Y = RANDOM.normal(size=(60, 3)), RANDOM.normal(size=60)


@dataclass(frozen=True)
class Stretched(mirrors.Mirror):
    """G = 2 ||a||^2, so R = ||u||^2 / 8 with smoothness 4: Euclidean at four times the rate."""

    def phi(self, a, reference):  # type: ignore[no-untyped-def]
        return 2.0 * a * a

    def phi_prime(self, a, reference):  # type: ignore[no-untyped-def]
        return 4.0 * a

    def psi(self, s, reference):  # type: ignore[no-untyped-def]
        return s

    def psi_prime(self, s, reference):  # type: ignore[no-untyped-def]
        return 1.0

    def smoothness(self) -> float:
        return 4.0

    def largest_regularizer(self, radius: float, dimension: int) -> float:
        return 0.125 * radius * radius


@dataclass(frozen=True)
class TooSmooth(Stretched):
    def smoothness(self) -> float:
        return 1.0


@dataclass(frozen=True)
class TooSmall(Stretched):
    def largest_regularizer(self, radius: float, dimension: int) -> float:
        return 0.01 * radius * radius


@dataclass(frozen=True)
class OtherNorm(Stretched):
    geometry: ClassVar[str] = "1"

    def smoothness(self) -> float:
        return 4.0


@dataclass(frozen=True)
class NoSuchClass(Cosh):
    geometry: ClassVar[str] = "3"


@dataclass(frozen=True)
class NotLinear(mirrors.Euclidean):
    def phi_prime(self, a, reference):  # type: ignore[no-untyped-def]
        return 4.0 * a


@dataclass(frozen=True)
class Inherits(mirrors.Euclidean):
    """Overrides the map and inherits what Euclidean declares."""

    def phi(self, a, reference):  # type: ignore[no-untyped-def]
        return 2.0 * a * a

    def phi_prime(self, a, reference):  # type: ignore[no-untyped-def]
        return 4.0 * a

    def linear(self) -> bool:
        return False


@dataclass(frozen=True)
class Unchanged(mirrors.PNorm):
    """A subclass that changes nothing keeps what is declared, but has no conjugate of its own."""


@dataclass(frozen=True)
class Tame(mirrors.Ball):
    """A ball whose weights are halved."""

    def psi(self, s, reference):  # type: ignore[no-untyped-def]
        length = math.sqrt(2.0 * max(s, 0.0))
        inside = min(length, self.radius)
        return 0.5 * inside * (length - 0.5 * inside)

    def kappa(self, s, reference, eta):  # type: ignore[no-untyped-def]
        length = eta * math.sqrt(2.0 * max(s, 0.0))
        return 0.5 * eta * (self.radius / max(length, self.radius))


def learnt(mirror: mirrors.Mirror, rate: rates.Rate | None = None) -> nr.Certificate:
    learner = nr.MirrorDescent(losses.Huber(), mirror, rate or rates.Constant(0.01))
    learner.learn(X, Y)
    return learner.certificate()


def test_an_undeclared_map_learns_and_is_certified_without_a_theorem() -> None:
    certificate = learnt(Cosh())
    text = certificate.text(2.0)
    assert "every u with ||u||_2 <= 2 " in text
    reason = "not applicable: Cosh declares no smoothness() and no largest_regularizer()"
    assert text.count(reason) == len(certificate.bounds_for(2.0)) == 2
    for u in RANDOM.normal(size=(20, 3)):
        u *= 2.0 / np.linalg.norm(u)
        loss = sum(losses.Huber().value(y, float(p)) for y, p in zip(Y, X @ u, strict=True))
        assert certificate.floor(2.0) <= loss


def test_a_declared_map_gets_its_theorem() -> None:
    own = learnt(Stretched(), rates.Constant(0.01))
    plain = learnt(mirrors.Euclidean(), rates.Constant(0.04))
    assert own.loss == pytest.approx(plain.loss, rel=1e-12)
    bound, known = own.bounds_for(2.0)[0], plain.bounds_for(2.0)[0]
    assert bound.name == known.name == "mirror descent, observed gradients"
    assert bound.applies and bound.value == pytest.approx(known.value, rel=1e-9)
    assert own.floor(2.0) == pytest.approx(plain.floor(2.0), rel=1e-9)
    assert own.bounds_for(2.0)[1].reason == "Stretched has no conjugate rounded upwards"
    # A falling rate sits inside the map, and falls in steps.
    falling = learnt(Stretched(), rates.InverseSqrt(0.1))
    observed = falling.bounds_for(2.0)[0]
    assert observed.applies and observed.value >= falling.regret_bound(2.0)


@pytest.mark.parametrize(
    ("mirror", "message"),
    [
        (TooSmooth(), r"TooSmooth.smoothness\(\) is 1, but G rises by .* from theta=\(.*\) to"),
        (TooSmall(), r"TooSmall.largest_regularizer\(.*\) is .*, but R - min R of the weights at"),
        (OtherNorm(), r"OtherNorm.norm\(\) is .* for the row .*, but the dual norm of its geomet"),
        (NoSuchClass(), r"NoSuchClass.geometry must be one of 1, simplex, subsimplex, 2, got '3'"),
        (NotLinear(), r"NotLinear.linear\(\) is True, but phi_prime\(a\) is not a at"),
    ],
)
def test_a_declaration_that_fails_on_the_grid_is_refused(
    mirror: mirrors.Mirror, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        nr.MirrorDescent(losses.Huber(), mirror, rates.Constant(0.1))
    assert "\n" not in str(refused.value)
    with pytest.raises(ValueError, match=message):
        oco.Game(2, mirror, rates.Constant(0.1))


def test_the_maps_of_ours_declare_what_the_grid_finds() -> None:
    kinds = [
        mirrors.Euclidean(), mirrors.Ball(2.0), mirrors.Box(-1.0, 2.0), mirrors.PNorm(3.0),
        mirrors.ElasticNet(0.3), mirrors.Power(1.5), mirrors.Hypentropy(0.4),
        mirrors.SignedEntropy(2.0), mirrors.Entropy(2.0), mirrors.UnnormalizedEntropy(0.25),
    ]  # fmt: skip
    for mirror in kinds:
        # A subclass that changes nothing is looked at as a map of one's own is.
        own = type(mirror.__class__.__name__, (type(mirror),), {})(**mirror.fields())
        require_declared(own)
        assert declares(own, "smoothness") or math.isnan(own.smoothness())


def test_a_subclass_that_overrides_the_map_declares_nothing() -> None:
    assert not declares(Inherits(), "smoothness")
    assert declares(Unchanged(3.0), "smoothness")
    bounds = learnt(Inherits()).bounds_for(2.0)
    reason = "Inherits declares no smoothness() and no largest_regularizer()"
    assert [bound.reason for bound in bounds] == [reason] * 2


def test_a_subclass_has_no_conjugate_of_its_parent() -> None:
    assert not declares(Unchanged(3.0), "conjugate_upper") and declares(
        mirrors.PNorm(3.0), "conjugate_upper"
    )
    certificate = learnt(Unchanged(3.0))
    assert certificate.bounds_for(1.0)[0].applies
    assert certificate.bounds_for(1.0)[1].reason == "Unchanged has no conjugate rounded upwards"
    with pytest.raises(ValueError, match="Unchanged has no conjugate rounded upwards"):
        certificate.regularized_floor()
    with pytest.raises(ValueError, match="Unchanged has no conjugate rounded upwards"):
        nr.hindsight(X, Y, losses.Huber(), mirror=Unchanged(3.0), strength=1.0)


def test_a_subclass_of_a_ball_is_not_played_as_a_ball() -> None:
    assert Tame(1.0).own_radius() is None
    game = oco.Game(1, Tame(1.0), rates.Constant(0.5))
    oco.run(game, [oco.Linear([1.0])] * 20)
    assert game.play()[0] == pytest.approx(-0.5)


def test_a_scale_is_not_taken_from_a_map_that_declares_none() -> None:
    for make in (
        lambda rate: nr.MirrorDescent(losses.Huber(), Cosh(), rate),
        lambda rate: oco.Game(2, Cosh(), rate),
    ):
        with pytest.raises(ValueError, match=r"Cosh declares no smoothness\(\): say Adaptive"):
            make(rates.Adaptive())
        make(rates.Adaptive(0.5))


def test_a_game_with_an_own_map() -> None:
    steps = [oco.Linear(z) for z in RANDOM.normal(size=(30, 2))]
    own = oco.run(oco.Game(2, Stretched(), rates.Constant(0.05)), steps)
    plain = oco.run(oco.Game(2, mirrors.Euclidean(), rates.Constant(0.2)), steps)
    ours = [(b.name, b.applies, b.value) for b in own.bounds_for(2.0)]
    known = [(b.name, b.applies, pytest.approx(b.value, rel=1e-9)) for b in plain.bounds_for(2.0)]
    assert ours == known
    u = [0.6, -0.8]
    assert own.bounds_at(u)[0].value == pytest.approx(plain.bounds_at(u)[0].value, rel=1e-9)
    undeclared = oco.run(oco.Game(2, Cosh(), rates.Constant(0.05)), steps)
    reasons = {bound.reason for bound in undeclared.bounds_for(1.0)}
    assert reasons == {"Cosh declares no largest_regularizer()"}
    assert "every u with ||u||_2 <= 1 " in str(undeclared)
    with pytest.raises(ValueError, match=r"Cosh declares no smoothness\(\) and no largest"):
        oco.tuned(Cosh(), 2, 10, 1.0, radius=1.0)


def test_no_fallback_to_half_the_squared_norm() -> None:
    assert math.isnan(Cosh().complexity(1.0, 1.0, 2))
    assert math.isnan(Cosh().smoothness())
    with pytest.raises(ValueError, match="Cosh declares no regulariser of single points"):
        Cosh().regularizer(np.ones(2), 1.0)


def test_a_foreign_certificate_names_the_norm_of_an_own_map() -> None:
    proof = nr.certify(X, Y, np.zeros(60), losses.Huber(), mirror=Cosh())
    assert "every u with ||u||_2 <= 1 " in proof.text(1.0)
