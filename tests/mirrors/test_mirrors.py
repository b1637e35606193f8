"""Every mirror map, in plain Python and compiled: link, conjugacy, range, smoothness."""

from __future__ import annotations

import dataclasses
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from noregret import mirrors
from noregret.jit import kernel
from noregret.mirrors import Mirror
from tests.product.newcomers import newcomers

MIRRORS = [
    mirrors.Euclidean(),
    mirrors.Ball(0.5),
    mirrors.Ball(2.0),
    mirrors.Box(-1.0, 1.0),
    mirrors.Box(0.25, 2.0),
    mirrors.PNorm(2.0),
    mirrors.PNorm(2.5),
    mirrors.PNorm(3.0),
    mirrors.PNorm(4.0),
    mirrors.PNorm(10.0),
    mirrors.SoftThreshold(0.0),
    mirrors.SoftThreshold(0.3),
    mirrors.Entropy(),
    mirrors.Entropy(2.5),
    mirrors.UnnormalizedEntropy(0.25),
    mirrors.SignedEntropy(),
    mirrors.SignedEntropy(3.0),
    mirrors.Power(1.5),
    mirrors.Power(3.0),
    mirrors.Hypentropy(),
    mirrors.Hypentropy(0.2),
]
#: The elastic net is in test_separable_maps.py.
MIRRORS += newcomers(mirrors, Mirror, MIRRORS, "ElasticNet")
every_mirror = pytest.mark.parametrize("mirror", MIRRORS, ids=repr)

POINTS = [
    np.array([0.5, -1.0, 2.0]),
    np.array([0.1, 0.0, -0.2, 0.05]),
    np.array([-3.0, -2.5]),
    np.array([0.7]),
    np.array([4.0, -4.0, 4.0, 1.0, -0.3]),
]


def scalars(mirror, theta, reference, out):  # type: ignore[no-untyped-def]
    """Fill phi, phi' and phi given phi' a coordinate; return S, Psi, Psi' and kappa at 1."""
    total = 0.0
    for i in range(theta.shape[0]):
        v = mirror.phi_prime(theta[i], reference)
        out[i, 0] = mirror.phi(theta[i], reference)
        out[i, 1] = v
        out[i, 2] = mirror.phi_given(theta[i], reference, v)
        total += out[i, 0]
    psi_prime = mirror.psi_prime(total, reference)
    return total, mirror.psi(total, reference), psi_prime, mirror.kappa(total, reference, 1.0)


class Map:
    """A map at work on vectors, through the interpreter or through the compiler."""

    def __init__(self, fill: Callable[..., Any]) -> None:
        self.fill = fill

    def at(self, mirror: Mirror, theta: np.ndarray) -> tuple[np.ndarray, tuple[float, ...]]:
        theta = np.asarray(theta, float)
        reference = mirror.reference(float(theta.max()), float(np.abs(theta).max()))
        out = np.empty((len(theta), 3))
        return out, self.fill(mirror, theta, reference, out)

    def potential(self, mirror: Mirror, theta: np.ndarray) -> float:
        """Return G(theta) - G(0)."""
        return float(self.at(mirror, theta)[1][1] - self.at(mirror, 0.0 * theta)[1][1])

    def link(self, mirror: Mirror, theta: np.ndarray) -> np.ndarray:
        out, (_, _, psi_prime, _) = self.at(mirror, theta)
        return np.asarray(psi_prime * out[:, 1])


@pytest.fixture(params=["python", "compiled"], scope="module")
def work(request: pytest.FixtureRequest) -> Map:
    return Map(scalars if request.param == "python" else kernel(scalars))


def dual_norm(mirror: Mirror, z: np.ndarray) -> float:
    total = 0.0
    for x in z:
        total = mirror.norm_term(total, float(x))
    return mirror.norm(total)


def conjugate(mirror: Mirror, theta: np.ndarray) -> float:
    return mirror.conjugate_upper(np.asarray(theta, float), 1.0, 0.0, 0.0)


@every_mirror
def test_link_is_the_gradient(mirror: Mirror, work: Map) -> None:
    h = 1e-6
    for theta in POINTS:
        weights = work.link(mirror, theta)
        for i in range(len(theta)):
            step = h * np.eye(len(theta))[i]
            rise = work.potential(mirror, theta + step) - work.potential(mirror, theta - step)
            # Central differences are exact to h for maps with a kink in the link.
            assert weights[i] == pytest.approx(rise / (2 * h), abs=2e-6)


@every_mirror
def test_kappa_and_given_phi(mirror: Mirror, work: Map) -> None:
    bent = False
    for theta in POINTS:
        out, (s, _, psi_prime, kappa) = work.at(mirror, theta)
        assert kappa == pytest.approx(psi_prime, rel=1e-14)
        assert out[:, 2] == pytest.approx(out[:, 0], rel=1e-13, abs=1e-15)
        assert s == pytest.approx(out[:, 0].sum(), rel=1e-14, abs=1e-15)
        for eta in (0.3, 2.0):
            scaled = work.link(mirror, eta * theta)
            if mirror.homogeneous():
                # S is kept at eta = 1 and the rate multiplies kappa.
                reference = mirror.reference(float(theta.max()), float(np.abs(theta).max()))
                weights = mirror.kappa(float(s), reference, eta) * out[:, 1]
                assert weights == pytest.approx(scaled, rel=1e-13, abs=1e-300)
            bent |= not np.allclose(scaled, eta * work.link(mirror, theta), rtol=1e-6)
        if mirror.separable():
            assert psi_prime == 1.0
        if mirror.linear():
            assert out[:, 1].tolist() == theta.tolist()
    # Ball keeps theta as it is, although its link is not homogeneous beyond the radius.
    assert bent != (mirror.homogeneous() and not isinstance(mirror, mirrors.Ball))


@every_mirror
def test_potential_is_the_conjugate_of_the_regulariser(mirror: Mirror, work: Map) -> None:
    """G = R*, and R(w) + R*(theta) >= <w, theta> with equality at the link."""
    rng = np.random.default_rng(0)
    for theta in POINTS:
        value = conjugate(mirror, theta)
        assert value == pytest.approx(work.potential(mirror, theta), rel=1e-12, abs=1e-12)
        weights = work.link(mirror, theta)
        own = mirror.regularizer(weights, 1.0)
        assert own + value == pytest.approx(float(weights @ theta), rel=1e-9, abs=1e-12)
        for other in rng.normal(size=(40, len(theta))):
            w = work.link(mirror, other)
            assert mirror.regularizer(w, 1.0) + value >= float(w @ theta) - 1e-9
            assert conjugate(mirror, other) + own >= float(weights @ other) - 1e-9
    zero = np.zeros(3)
    assert conjugate(mirror, zero) == pytest.approx(0.0, abs=1e-13)
    assert mirror.regularizer(work.link(mirror, zero), 1.0) == pytest.approx(0.0, abs=1e-13)


@every_mirror
def test_the_rate_divides_the_regulariser(mirror: Mirror) -> None:
    """(R / eta)*(theta) = R*(eta theta) / eta, and an error delta in theta raises it."""
    for theta in POINTS:
        for eta in (0.2, 3.0):
            found = mirror.conjugate_upper(theta, eta, 0.0, 0.0)
            assert found == pytest.approx(
                conjugate(mirror, eta * theta) / eta, rel=1e-12, abs=1e-12
            )
            raised = mirror.conjugate_upper(theta, eta, 1e-3, 0.0)
            for sign in (-1.0, 1.0):
                for step in 1e-3 * sign * np.eye(len(theta)):
                    moved = mirror.conjugate_upper(theta + step, eta, 0.0, 0.0)
                    assert moved <= raised + 1e-12


@pytest.mark.parametrize("mirror", [m for m in MIRRORS if m.smoothness() > 0], ids=repr)
def test_smoothness(mirror: Mirror, work: Map) -> None:
    """G(theta + z) <= G(theta) + <w, z> + (c/2)||z||_*^2, through the origin as well."""
    rng = np.random.default_rng(1)
    tightest = 0.0
    for n in (1, 2, 5):
        for _ in range(60):
            theta = rng.normal(size=n) * rng.choice([0.0, 0.1, 3.0])
            z = rng.normal(size=n) * rng.choice([1e-2, 1.0, 5.0])
            gain = work.potential(mirror, theta + z) - work.potential(mirror, theta)
            gain -= float(work.link(mirror, theta) @ z)
            limit = 0.5 * mirror.smoothness() * dual_norm(mirror, z) ** 2
            assert gain <= limit * (1 + 1e-12) + 1e-12
            assert gain >= -1e-12
            if limit > 1e-3:
                tightest = max(tightest, gain / limit)
    # A constant far too large would make every regret bound loose.
    assert tightest > 0.05


def test_which_maps_promise_smoothness() -> None:
    assert math.isnan(mirrors.UnnormalizedEntropy(0.25).smoothness())
    expected = {"Ball": 1.0, "Box": 1.0, "Euclidean": 1.0, "SoftThreshold": 1.0}
    for mirror in MIRRORS:
        if type(mirror).__name__ in expected:
            assert mirror.smoothness() == 1.0
    assert mirrors.PNorm(4).smoothness() == 3.0
    assert mirrors.Entropy(2.5).smoothness() == 2.5
    assert mirrors.SignedEntropy(3.0).smoothness() == 9.0


@every_mirror
def test_row_norm_is_the_dual_norm(mirror: Mirror) -> None:
    z = np.array([3.0, -4.0, 0.0, 1.0])
    p = mirror.predictors().dual
    assert dual_norm(mirror, z) == pytest.approx(float(np.linalg.norm(z, p)), rel=1e-14)
    q = 1.0 if p == math.inf else p / (p - 1)
    assert mirror.predictors().norm(z) == pytest.approx(float(np.linalg.norm(z, q)))


@every_mirror
def test_inverse_link(mirror: Mirror, work: Map) -> None:
    """Where the link can be undone, the gradient of the regulariser undoes it."""
    h = 1e-6
    for theta in POINTS:
        weights = work.link(mirror, theta)
        if mirror.separable() and not math.isnan(mirror.inverse(0.5)):
            back = [mirror.inverse(float(w)) for w in weights]
            assert back == pytest.approx(theta, abs=1e-12)
        if isinstance(mirror, mirrors.Box):
            continue  # clamped weights have forgotten theta
        if isinstance(mirror, mirrors.Ball) and np.linalg.norm(theta) > mirror.radius:
            # On the boundary theta is known up to its length.
            assert weights == pytest.approx(mirror.radius * theta / np.linalg.norm(theta))
            continue
        if isinstance(mirror, mirrors.SignedEntropy) and mirror.radius * np.abs(theta).max() > 7:
            continue  # too close to the boundary of the 1-ball for differences
        for i in range(len(theta)):
            step = h * (np.eye(len(theta))[i] - np.eye(len(theta))[0])
            if not isinstance(mirror, mirrors.Entropy):
                step = h * np.eye(len(theta))[i] * min(1.0, abs(weights[i]) or 1.0)
            if not np.any(step):
                continue
            rise = mirror.regularizer(weights + step, 1.0)
            rise -= mirror.regularizer(weights - step, 1.0)
            assert rise / 2 == pytest.approx(float(theta @ step), rel=2e-4, abs=1e-12)


LARGE = [1e3, -1e3, 999.0, 0.0, 5e2]


@pytest.mark.parametrize(
    "mirror",
    [m for m in MIRRORS if isinstance(m, (mirrors.Entropy, mirrors.SignedEntropy, mirrors.PNorm))],
    ids=repr,
)
def test_references_keep_the_range(mirror: Mirror, work: Map) -> None:
    """Exponents of thousands and powers of 1e100 give finite, right weights."""
    theta = np.array(LARGE) * (1e97 if isinstance(mirror, mirrors.PNorm) else 1.0)
    out, (s, psi, _, kappa) = work.at(mirror, theta)
    assert np.all(np.isfinite(out)) and all(map(math.isfinite, (s, psi, kappa)))
    weights = kappa * out[:, 1]
    reference = mirror.reference(float(theta.max()), float(np.abs(theta).max()))
    assert not mirror.out_of_range(s, float(theta.max()), float(np.abs(theta).max()), reference)
    if isinstance(mirror, mirrors.Entropy):
        assert weights.sum() == pytest.approx(mirror.scale)
        assert weights[0] / weights[2] == pytest.approx(math.e)
        assert mirror.out_of_range(s, reference + 31.0, reference + 31.0, reference)
    elif isinstance(mirror, mirrors.SignedEntropy):
        assert np.abs(weights).sum() == pytest.approx(mirror.radius)
        assert weights[0] == -weights[1] and weights[3] == 0.0
        assert mirror.out_of_range(s, 0.0, (reference + 31.0) / mirror.radius, reference)
    else:
        small = work.link(mirror, np.array(LARGE))
        assert weights / 1e97 == pytest.approx(small, rel=1e-12)
        tiny = work.link(mirror, 1e-200 * np.array(LARGE))
        assert tiny * 1e200 == pytest.approx(small, rel=1e-12)
        assert mirror.out_of_range(1e201, 1.0, 1.0, 1.0) and mirror.out_of_range(0.0, 1.0, 1.0, 1.0)
    assert (
        conjugate(mirror, theta / 1e97 if isinstance(mirror, mirrors.PNorm) else theta) < math.inf
    )


def test_unnormalised_weights_are_capped(work: Map) -> None:
    mirror = mirrors.UnnormalizedEntropy(0.25)
    weights = work.link(mirror, np.array([1e4, 700.0, 0.0, -1e4]))
    assert weights == pytest.approx([0.25 * math.exp(700), 0.25 * math.exp(700), 0.25, 0.0])
    # The conjugate is rounded up: where exp overflows, that is infinity.
    assert conjugate(mirror, np.array([1e4])) == math.inf > conjugate(mirror, np.array([700.0]))


def test_small_signed_weights_keep_their_digits(work: Map) -> None:
    for a in (1e-300, 1e-20, 1e-9):
        weights = work.link(mirrors.SignedEntropy(3.0), np.array([a, 0.0]))
        assert weights[0] == pytest.approx(3.0 * 3.0 * a / 2.0, rel=1e-14)


def test_p_norm_starts_at_zero_weights(work: Map) -> None:
    """Psi'(0) is 0, or the first weights and every average would not be numbers."""
    for p in (2.0, 2.5, 3.0, 4.0):
        assert work.link(mirrors.PNorm(p), np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_p_norm_of_two_is_euclidean(work: Map) -> None:
    for theta in POINTS:
        assert work.link(mirrors.PNorm(2), theta) == pytest.approx(theta, rel=1e-14)


def test_soft_threshold_reads_what_is_left() -> None:
    mirror = mirrors.SoftThreshold(0.3)
    assert [mirror.read(v, mirror.threshold(5)) for v in (2.0, -2.0, 1.5, -0.1)] == [
        0.5,
        -0.5,
        0,
        0,
    ]
    theta = np.array([2.0, -0.1, -4.0])
    left = np.array([mirror.read(v, 1.5) for v in theta])
    # The conjugate of ||u||^2/2 + t l1 ||u||_1, whose maximiser is the thresholded theta.
    value = mirror.conjugate_upper(theta, 1.0, 0.0, 5.0)
    own = 0.5 * float(left @ left) + 1.5 * float(np.abs(left).sum())
    assert own + value == pytest.approx(float(left @ theta), rel=1e-12)


@every_mirror
def test_records_are_frozen_equal_and_portable(mirror: Mirror) -> None:
    again = type(mirror)(**mirror.fields())
    assert again == mirror and hash(again) == hash(mirror) and repr(again) == repr(mirror)
    assert pickle.loads(pickle.dumps(mirror)) == mirror
    for name in mirror.fields():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(mirror, name, 3.5)
    assert len({mirrors.Euclidean(), mirrors.Ball(1), mirrors.Ball(1.0), mirrors.PNorm(4)}) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mirrors.Ball(0), r"Ball\(radius\) must be a finite number above 0, got 0.0"),
        (lambda: mirrors.Ball(math.inf), r"Ball\(radius\) must be a finite number above 0"),
        (lambda: mirrors.Ball("big"), r"Ball\(radius=...\) must be a number, got 'big'"),
        (lambda: mirrors.Box(1, 1), r"Box\(low, high\) must be finite with low < high, got 1.0"),
        (lambda: mirrors.Box(-math.inf, 1), r"Box\(low, high\) must be finite"),
        (lambda: mirrors.Box(math.nan, 1), r"Box\(low, high\) must be finite"),
        (lambda: mirrors.PNorm(1.9), r"PNorm\(p\) must be a finite number >= 2, got 1.9"),
        (lambda: mirrors.PNorm(math.nan), r"PNorm\(p\) must be a finite number >= 2"),
        (lambda: mirrors.SoftThreshold(-1), r"SoftThreshold\(l1\) must be a finite number >= 0"),
        (lambda: mirrors.Entropy(0), r"Entropy\(scale\) must be a finite number above 0"),
        (lambda: mirrors.UnnormalizedEntropy(0), r"UnnormalizedEntropy\(start\) must be a finite"),
        (lambda: mirrors.Power(1.0), r"Power\(p\) must be a finite number above 1, got 1.0"),
        (lambda: mirrors.Hypentropy(0), r"Hypentropy\(beta\) must be a finite number above 0"),
        (lambda: mirrors.SignedEntropy(-2), r"SignedEntropy\(radius\) must be a finite number"),
    ],
)
def test_parameters_are_checked(make: Callable[[], Mirror], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_regularisers_are_infinite_outside_their_sets() -> None:
    outside = [
        (mirrors.Entropy(), [0.5, 0.6]),
        (mirrors.Entropy(), [1.5, -0.5]),
        (mirrors.Entropy(2.0), [0.5, 0.5]),
        (mirrors.UnnormalizedEntropy(0.5), [0.5, -0.1]),
        (mirrors.SignedEntropy(1.0), [0.7, -0.6]),
        (mirrors.Ball(1.0), [0.8, 0.8]),
        (mirrors.Box(-1, 1), [0.0, 1.5]),
    ]
    for mirror, u in outside:
        assert mirror.regularizer(np.array(u), 1.0) == math.inf


@every_mirror
def test_the_largest_regulariser_is_a_maximum_over_the_class(mirror: Mirror) -> None:
    """No member of the class of that radius has more, and some member has as much."""
    rng, d = np.random.default_rng(2), 4
    radius = mirror.own_radius() or 0.8
    largest = mirror.complexity(radius, 0.5, d)
    if isinstance(mirror, mirrors.Box) and mirror.low > 0:
        assert largest == math.inf
        return
    best = 0.0
    for _ in range(200):
        u = rng.dirichlet(np.full(d, 0.3)) * radius * rng.choice([-1.0, 1.0], d)
        if mirror.geometry in ("simplex", "subsimplex"):
            u = np.abs(u)
        else:
            u *= radius / mirror.predictors().norm(u)
        best = max(best, mirror.regularizer(u, 0.5))
    corner = np.eye(d)[0] * radius
    best = max(best, mirror.regularizer(corner, 0.5))
    if mirror.geometry == "subsimplex":
        best = max(best, mirror.regularizer(np.zeros(d), 0.5))
    assert best <= largest * (1 + 1e-9)
    assert best == pytest.approx(largest, rel=1e-9)
