"""Zhang, On the Dual Formulation of Regularized Linear Systems: pairs and single steps.

The paper's dual variable of a row is minus the slope, times the label for classification.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from noregret import losses, mirrors
from noregret.losses import Loss
from noregret.mirrors import Mirror
from tests.oracles.data import S_A, X_A, Y_A, near


def dual(loss: Loss, target: float, zeta: float) -> float:
    """Return K(zeta), the conjugate at minus zeta."""
    return loss.conjugate(target, -zeta)  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    ("loss", "target", "values"),
    [
        (losses.Huber(1e9), 0.7, (-0.14375, -0.225, -0.2)),
        (losses.Squared(), 0.7, (-0.159375, -0.2875, -0.45)),
        (losses.Absolute(), 0.7, (-0.175, -0.35, -0.7)),
        (losses.EpsilonInsensitive(0.1), 0.7, (-0.15, -0.3, -0.6)),
        (losses.Huber(0.5), 0.7, (-0.14375, -0.225, math.inf)),
        (losses.Hinge(0.7), 1.0, (-0.175, -0.35, -0.7)),
        (losses.SquaredHinge(0.7), 1.0, (-0.14375, -0.225, -0.2)),
        (losses.PowerHinge(2.0, 0.7), 1.0, (-0.14375, -0.225, -0.2)),
        (losses.PowerHinge(3.0, 0.7), 1.0, (-0.0916666666667, -0.114297739604, -0.0333333333333)),
        (losses.OneSidedHuber(0.7), 1.0, (-0.14375, -0.225, -0.2)),
        (losses.NegativeLog(), 1.0, (0.38629436112, -0.30685281944, -1.0)),
        (losses.Exponential(), 1.0, (-0.59657359028, -0.84657359028, -1.0)),
    ],
    ids=repr,
)
def test_conjugates_of_the_losses(
    loss: Loss, target: float, values: tuple[float, float, float]
) -> None:
    found = [dual(loss, target, zeta) for zeta in (0.25, 0.5, 1.0)]
    assert found == near(values)


def test_rules_for_shifts_and_factors() -> None:
    """f(u - b): K - b zeta; a f: a K(zeta / a); f(c u - t): K(zeta / c) - zeta t / c."""
    loss = losses.Logistic()
    shifted = [dual(loss, 1.0, zeta) - 0.7 * zeta for zeta in (0.25, 0.5, 1.0)]
    assert shifted == near((-0.737335144619, -1.04314718056, -0.7))
    assert 2.5 * dual(loss, 1.0, 1.4 / 2.5) == near(-1.71482450063)
    assert dual(loss, 1.0, 0.25) - 0.5 * 0.3 / 2.0 == near(-0.637335144619)
    # The factor and the shift against the definition: sup of -zeta u - f over u.
    u = np.linspace(-30.0, 30.0, 600_001)
    direct = np.max(-1.4 * u - 2.5 * np.log1p(np.exp(-u)))
    assert direct == pytest.approx(-1.71482450063, abs=1e-8)


V = np.array([0.3, -0.8, 1.1])


def link(mirror: Mirror, a: np.ndarray) -> np.ndarray:
    reference = mirror.reference(float(a.max()), float(np.abs(a).max()))
    total = math.fsum(mirror.phi(float(x), reference) for x in a)
    factor = mirror.psi_prime(total, reference)
    return np.array([factor * mirror.phi_prime(float(x), reference) for x in a])


#: Map, rate, what the table's h and g count beyond ours (which are 0 at their minima), h, w, g.
TABLE = [
    (mirrors.Euclidean(), 1.0, 0.0, 0.97, (0.3, -0.8, 1.1), 0.97),
    (
        mirrors.PNorm(3.0),
        1.0,
        0.0,
        0.758923047579,
        (0.0730514163445, -0.51947673845, 0.982135708631),
        0.758923047579,
    ),
    (mirrors.Power(1.5), 1.0, 0.0, 0.623333333333, (0.09, -0.64, 1.21), 1.24666666667),
    (
        mirrors.Entropy(),
        1.0,
        0.0,
        0.470702092688,
        (0.281024231195, 0.0935448403832, 0.625430928422),
        0.226743325628,
    ),
    (
        mirrors.UnnormalizedEntropy(1.0),
        1.0,
        3.0,
        4.80335379564,
        (1.34985880758, 0.449328964117, 3.00416602395),
        -1.45327669832,
    ),
    (
        mirrors.Hypentropy(1.0),
        1.0,
        6.0,
        8.10258402851,
        (0.609040586894, -1.77621196438, 2.67129494025),
        -3.56047784667,
    ),
    (mirrors.Box(-0.5, 0.5), 1.0, 0.0, 0.745, (0.3, -0.5, 0.5), 0.295),
]


@pytest.mark.parametrize(
    ("mirror", "eta", "constant", "h", "w", "g"), TABLE, ids=[repr(row[0]) for row in TABLE]
)
def test_pairs_of_the_regularisers(
    mirror: Mirror, eta: float, constant: float, h: float, w: tuple[float, ...], g: float
) -> None:
    weights = link(mirror, eta * V)
    assert weights == near(w)
    found = mirror.conjugate_upper(V, eta, 0.0, 0.0) + constant
    assert found == near(h)
    own = mirror.regularizer(weights, eta) - constant
    assert own == near(g)
    # Young's equality, where h and g meet.
    assert found + own == pytest.approx(float(V @ weights), abs=1e-12)


def sweep(loss: Loss, y: np.ndarray, start: float) -> tuple[np.ndarray, np.ndarray]:
    """Visit set A once with the square regulariser, lambda = 0.1; return zeta and w."""
    strength = 0.1 * len(y)
    sign = y if loss.labels == "sign" else np.ones(len(y))
    slopes = -sign * start
    w = -(slopes @ X_A) / strength
    for i, x in enumerate(X_A):
        q = float(x @ x) / strength
        s = loss.proximal_slope(float(y[i]), float(w @ x) + q * slopes[i], q, float(slopes[i]))
        w -= (s - slopes[i]) * x / strength
        slopes[i] = s
    return -sign * slopes, w


HALF_SQUARE = (
    (
        0.191082802548,
        0.0212990385005,
        0.34174200682,
        0.252049466041,
        -0.410284691888,
        0.0921699937326,
    ),
    (-0.513727316784, 0.0459285396426, -0.540207593321),
)


@pytest.mark.parametrize(
    ("loss", "zeta", "w"),
    [
        (losses.Huber(1e9), *HALF_SQUARE),
        (losses.Huber(0.5), *HALF_SQUARE),
        (
            losses.Absolute(),
            (0.309278350515, 0.151450738654, 0.542806678843, 0.391445306808, -1.0, 0.515573468007),
            None,
        ),
        (
            losses.EpsilonInsensitive(0.1),
            (
                0.247422680412,
                0.0283770857689,
                0.472187738653,
                0.324511065299,
                -0.802005213856,
                0.371308817128,
            ),
            None,
        ),
        (
            losses.Logistic(),
            (
                0.155396106204,
                0.244631218008,
                0.298767347558,
                0.334758161673,
                0.447986635375,
                0.503744880951,
            ),
            (1.09206473525, -0.205783310425, 0.596752207865),
        ),
        (
            losses.Hinge(),
            (0.618556701031, 0.0063768732065, 0.387345741574, 0.485688466735, 0.495927795707, 1.0),
            (1.34084999875, -0.721221886069, 1.19120180752),
        ),
        (
            losses.SquaredHinge(),
            (
                0.382165605096,
                0.148484725547,
                0.270891210687,
                0.315128646414,
                0.361288665136,
                0.643297872207,
            ),
            (1.02402571998, -0.538288837032, 0.886678227135),
        ),
    ],
    ids=repr,
)
def test_first_sweep(loss: Loss, zeta: tuple[float, ...], w: tuple[float, ...] | None) -> None:
    start = 0.5 if isinstance(loss, losses.Logistic) else 0.0
    assert losses.Logistic().initial_slope(1.0) == -0.5
    found, weights = sweep(loss, S_A if loss.labels == "sign" else Y_A, start)
    assert found == near(zeta)
    if w is not None:
        assert weights == near(w)


def test_single_steps() -> None:
    """The unhalved square and the capped squared hinge, from a slope that is not 0."""
    p, s, q = 0.3, -0.4, 0.8
    new = -losses.Squared().proximal_slope(0.7, p + q * s, q, s)
    assert new == pytest.approx(0.4 + (0.7 - p - 0.4 / 2.0) / (0.5 + q), rel=1e-14)
    assert losses.OneSidedHuber().proximal_slope(1.0, -3.0 + 0.5 * -1.9, 0.5, -1.9) == -2.0


def test_a_row_of_zeros_moves_to_the_end_of_the_range() -> None:
    """Curvature 0: hinge to 1 while the margin is positive, strictly convex ones to K' = 0."""
    assert losses.Hinge().proximal_slope(1.0, 0.0, 0.0, -0.3) == -1.0
    assert losses.SquaredHinge(0.7).proximal_slope(1.0, 0.0, 0.0, -0.3) == -0.7
    assert losses.Logistic().proximal_slope(1.0, 0.0, 0.0, -0.3) == -0.5
    assert losses.Exponential().proximal_slope(1.0, 0.0, 0.0, -0.3) == -1.0


@pytest.mark.parametrize(
    ("loss", "newton"),
    [
        (losses.Logistic(), lambda c, p, q: (math.log(c / (1 - c)) + p, 1 / (c * (1 - c)) + q)),
        (losses.Exponential(), lambda c, p, q: (math.log(c) + p, 1 / c + q)),
        (losses.NegativeLog(), lambda c, p, q: (-1 / c + p, 1 / c**2 + q)),
        (losses.PowerHinge(3.0), lambda c, p, q: (c**0.5 - 1 + p, 0.5 * c**-0.5 + q)),
    ],
    ids=lambda value: repr(value) if isinstance(value, Loss) else "",
)
def test_the_guarded_newton_steps_of_the_table_end_at_the_exact_step(
    loss: Loss,
    newton,  # type: ignore[no-untyped-def]
) -> None:
    """The table's step, repeated with p moved along, has the proximal slope as its fixed point."""
    for p, q in ((0.4, 0.7), (-0.3, 2.5), (0.9, 0.05)):
        start = c = 0.5
        for _ in range(200):
            rise, bend = newton(c, p + q * (c - start), q)
            moved = c - rise / bend
            if isinstance(loss, losses.Logistic) and moved >= 1.0:
                moved = 1.0 - 0.1 * (1.0 - c)
            c = max(moved, 0.1 * c)
        exact = -loss.proximal_slope(1.0, p - q * start, q, -start)
        assert exact == pytest.approx(c, rel=1e-12)
