"""The running average, kept in O(nonzeros) a round, against the mean of all weights written out.

The weights are derived again in extended precision from the predictions that the learner made:
slopes, their sums, the rates (which for some depend on the rows) and the links, in closed form.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

import noregret as nr
from noregret import domains, losses, mirrors, rates
from tests.sizes import sized
from tests.truth.learners import COMBOS, Combo
from tests.truth.streams import layout

Long = npt.NDArray[np.longdouble]
Vector = npt.NDArray[np.float64]


def slopes(learner: nr.MirrorDescent, y: Vector, weight: Vector, predictions: Vector) -> Vector:
    """Return the weighted slopes that the learner stepped by."""
    loss = learner.loss
    found = np.zeros(len(y))
    for t, (label, p) in enumerate(zip(y.tolist(), predictions.tolist(), strict=True)):
        if not learner._parts.conservative or loss.mistake(label, p):
            found[t] = weight[t] * loss.slope(label, p)
    return found


def dual_norms(mirror: mirrors.Mirror, X: Vector) -> Vector:
    if isinstance(mirror, mirrors.PNorm):
        largest = np.maximum(np.abs(X).max(axis=1, keepdims=True), 1e-300)
        return np.ravel(largest) * ((np.abs(X) / largest) ** mirror.p).sum(axis=1) ** (1 / mirror.p)
    if mirror.geometry in ("simplex", "subsimplex", "1"):
        return np.abs(X).max(axis=1)
    return np.linalg.norm(X, axis=1)


def etas(
    learner: nr.MirrorDescent, X: Vector, weight: Vector, g: Vector, mirror: mirrors.Mirror
) -> Long:
    """Return the rate of every round."""
    _, rate = learner._parts.resolved(X.shape[1])
    t = np.arange(1, len(X) + 1, dtype=np.longdouble)
    if isinstance(rate, rates.Constant):
        return np.full(len(X), rate.eta, np.longdouble)
    if isinstance(rate, rates.InverseSqrt):
        eta = rate.eta / np.sqrt(t)
    elif isinstance(rate, rates.StronglyConvex):
        return 1 / (rate.sigma * np.maximum(t - 1, 1))
    elif isinstance(rate, rates.Doubling):
        eta = rate.eta * 2.0 ** (-np.floor(np.log2(t)) / 2)
    else:
        assert isinstance(rate, rates.Adaptive) and rate.scale is not None
        norms = dual_norms(mirror, X)
        seen = (np.abs(g) * norms) ** 2
        before = np.concatenate([[0.0], np.cumsum(seen.astype(np.longdouble))[:-1]])
        steepest = learner.loss.lipschitz()
        reach = (steepest if steepest < math.inf else 1.0) * weight * norms
        largest = np.maximum(
            np.maximum.accumulate(reach) ** 2,
            np.concatenate([[0.0], np.maximum.accumulate(seen)[:-1]]),
        )
        with np.errstate(divide="ignore"):
            eta = rate.scale / np.sqrt(before + largest)
    if learner._parts.lazy and not mirror.homogeneous():
        eta = on_the_grid(eta, rate.restarts())
    return eta


def on_the_grid(wanted: Long, restarts: bool) -> Long:
    """Return rates that fall in steps of an eighth of an octave, as the entropies' do."""
    inner, kept = math.inf, np.zeros_like(wanted)
    for t, eta in enumerate(wanted):
        if restarts and t & (t + 1) == 0:
            inner = math.inf
        if eta < inner:
            inner = 2.0 ** (math.floor(8 * math.log2(eta)) / 8)
        kept[t] = inner
    return kept


def link(mirror: mirrors.Mirror, a: Long) -> Long:
    """Return the weights of every row of a = eta theta."""
    if isinstance(mirror, mirrors.Ball):
        length = np.sqrt((a * a).sum(axis=1, keepdims=True))
        return a * (mirror.radius / np.maximum(length, mirror.radius))
    if isinstance(mirror, mirrors.Box):
        return np.clip(a, mirror.low, mirror.high)
    if isinstance(mirror, mirrors.PNorm):
        size = np.abs(a)
        largest = size.max(axis=1, keepdims=True)
        b = size / np.where(largest > 0, largest, 1)
        total = np.maximum((b**mirror.p).sum(axis=1, keepdims=True), np.longdouble(1e-300))
        return np.sign(a) * largest * b ** (mirror.p - 1) * total ** (2 / mirror.p - 1)
    if isinstance(mirror, mirrors.Entropy):
        powers = np.exp(a - a.max(axis=1, keepdims=True))
        return mirror.scale * powers / powers.sum(axis=1, keepdims=True)
    if isinstance(mirror, mirrors.UnnormalizedEntropy):
        return float(mirror.start or 1.0 / a.shape[1]) * np.exp(a)
    if isinstance(mirror, mirrors.SignedEntropy):
        t = mirror.radius * a
        top = np.abs(t).max(axis=1, keepdims=True)
        up, down = np.exp(t - top), np.exp(-t - top)
        return mirror.radius * (up - down) / (up + down).sum(axis=1, keepdims=True)
    return a


def lazy_weights(learner: nr.MirrorDescent, X: Vector, weight: Vector, g: Vector) -> Long:
    mirror, rate = learner._parts.resolved(X.shape[1])
    z = g[:, None].astype(np.longdouble) * X
    theta = -np.concatenate([np.zeros((1, X.shape[1]), np.longdouble), np.cumsum(z, axis=0)[:-1]])
    if isinstance(rate, rates.PerCoordinate):
        steepest = learner.loss.lipschitz()
        reach = np.maximum.accumulate(weight[:, None] * np.abs(X))
        squares = np.concatenate([np.zeros((1, X.shape[1])), np.cumsum(z * z, axis=0)[:-1]])
        total = np.sqrt(squares + (steepest * reach) ** 2)
        if rate.invariant:
            total = total * np.maximum.accumulate(np.abs(X))
        return theta * rate.scale / np.where(total > 0, total, np.inf)
    if rate.restarts():
        start = (2 ** np.floor(np.log2(np.arange(1, len(X) + 1)))).astype(int) - 1
        theta = theta - theta[start]
    eta = etas(learner, X, weight, g, mirror)[:, None]
    return link(mirror, np.where(theta == 0, 0, np.where(theta == 0, 0, eta) * theta))


def agile_weights(learner: nr.MirrorDescent, X: Vector, weight: Vector, g: Vector) -> Long:
    domain, mirror = learner._parts.domain, learner._parts.resolved(X.shape[1])[0]
    eta = etas(learner, X, weight, g, mirror)
    played = np.zeros(X.shape, np.longdouble)
    w = link(mirror, np.zeros((1, X.shape[1]), np.longdouble))[0]
    w = projected(domain, w)
    for t in range(len(X)):
        played[t] = w
        if g[t] != 0.0:
            step = eta[t] * g[t] * X[t].astype(np.longdouble)
            moved = w * np.exp(-step) if mirror.geometry == "subsimplex" else w - step
            w = projected(domain, moved)
    return played


def projected(domain: domains.Domain | None, w: Long) -> Long:
    if isinstance(domain, domains.Ball):
        length = np.sqrt(w @ w)
        return w * (domain.radius / max(length, np.longdouble(domain.radius)))
    if isinstance(domain, domains.Box):
        return np.clip(w, domain.low, domain.high)
    if isinstance(domain, domains.Orthant):
        return np.maximum(w, 0)
    if isinstance(domain, domains.Simplex):
        order = np.sort(w)[::-1]
        shifts = (np.cumsum(order) - domain.scale) / np.arange(1, len(w) + 1)
        return np.maximum(w - shifts[np.flatnonzero(order > shifts)[-1]], 0)
    return w


def check(learner: nr.MirrorDescent, X: Vector, y: Vector, weight: Vector, form: str) -> None:
    if form.endswith("32"):
        X = X.astype(np.float32).astype(np.float64)
    predictions = learner.learn(layout(X, form), y, weight)
    g = slopes(learner, y, weight, predictions)
    derive = lazy_weights if learner._parts.lazy else agile_weights
    played = derive(learner, X, weight, g)
    size = float(np.abs(played).max())
    assert size > 0.0
    # The weights written out are those that the learner played.
    error = np.abs((played * X).sum(axis=1) - predictions)
    scale = (np.abs(played) * np.abs(X)).sum(axis=1) + 1e-6 * size * np.abs(X).max(axis=1)
    assert np.all(error <= 1e-9 * scale)
    mean = played.mean(axis=0).astype(np.float64)
    assert np.abs(learner.average - mean).max() <= 1e-11 * np.abs(mean).max()


def stream(seed: int, rounds: int, d: int, tails: float = 0.0) -> tuple[Vector, Vector, Vector]:
    """Return rows, signs and weights; with tails, rows of very different sizes."""
    random = np.random.default_rng(seed)
    X = np.where(random.random((rounds, d)) < 0.3, 0.0, random.normal(size=(rounds, d)))
    X *= 10.0 ** (tails * random.normal(size=(rounds, 1)))
    weight = np.where(random.random(rounds) < 0.1, 0.0, random.exponential(size=rounds))
    return X, random.choice([-1.0, 1.0], rounds), weight


def averaged(combo: Combo) -> bool:
    return combo.mirror != "soft" and combo.loss != "user"


each_combo = pytest.mark.parametrize(
    "combo", [*filter(averaged, COMBOS)], ids=lambda combo: combo.name
)


@each_combo
def test_average_is_the_mean_of_the_weights(combo: Combo) -> None:
    X, y, weight = stream(0, sized(80, 300), 4)
    check(combo.learner(np.random.default_rng(0), 1.0, 4), X, y, weight, combo.layout)


@pytest.mark.soak
@each_combo
def test_average_is_the_mean_of_the_weights_of_longer_streams(combo: Combo) -> None:
    for seed in range(2):
        X, y, weight = stream(seed, 1500, 4)
        check(combo.learner(np.random.default_rng(seed), 1.0, 4), X, y, weight, combo.layout)


LONG = {
    "p-norm, leaping features": (losses.Logistic(), mirrors.PNorm(10), rates.Adaptive(1.0), 0.5),
    "p-norm, falling": (losses.SquaredHinge(), mirrors.PNorm(10), rates.Constant(0.01), 0.0),
    "entropy, strong gradients": (losses.Absolute(), mirrors.Entropy(), rates.Constant(5.0), 0.0),
    "entropy, leaps": (losses.Absolute(), mirrors.Entropy(), rates.Constant(3.0), 0.7),
    "signed entropy": (losses.Logistic(), mirrors.SignedEntropy(4), rates.InverseSqrt(3.0), 0.3),
    "ball": (losses.Logistic(), mirrors.Ball(5), rates.Adaptive(), 0.5),
    "no map": (losses.Huber(), mirrors.Euclidean(), rates.Adaptive(1.0), 0.5),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["p-norm, leaping features", "entropy, leaps"])
def test_average_over_a_long_stream_with_large_drift(name: str) -> None:
    long_stream(name)


@pytest.mark.soak
@pytest.mark.parametrize("name", LONG)
def test_average_over_long_streams_with_large_drift(name: str) -> None:
    long_stream(name)


def long_stream(name: str) -> None:
    loss, mirror, rate, tails = LONG[name]
    forms = {"Logistic PNorm": "sparse64", "Huber Euclidean": "dense32"}
    form = forms.get(f"{type(loss).__name__} {type(mirror).__name__}", "dense64")
    X, y, weight = stream(11, 20_000, 5, tails)
    learner = nr.MirrorDescent(loss, mirror, rate, dimension=5)
    check(learner, X, y, weight, form)


def test_a_leap_of_one_coordinate_does_not_drown_the_average() -> None:
    # After 1,000 quiet rounds one step multiplies the sum by exp(25).
    X = np.zeros((1200, 3))
    X[:, 0] = 0.01
    X[1000, 1] = 5.0
    y = np.ones(1200)
    learner = nr.MirrorDescent(
        losses.Absolute(), mirrors.Entropy(), rates.Constant(5.0), dimension=3
    )
    check(learner, X, y, np.ones(1200), "dense64")


def test_rows_of_zeros_before_the_first_gradient_are_weights_of_zero() -> None:
    # The rate is unbounded until a gradient was seen: weights are 0 all the same.
    learner = nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.Adaptive(1.0))
    x = np.linspace(0.1, 0.3, 9)
    weight = np.full(5, 0.7)
    played = learner.learn([0 * x, 0 * x, x, x, x], np.ones(5), weight)
    assert played[-1] > 0.0
    # All weights are along x, w = p x / ||x||^2.
    assert learner.average == pytest.approx(played.sum() / 5.0 * x / (x @ x), rel=1e-12)


def test_average_before_the_first_round_is_the_first_weights() -> None:
    learner = nr.MirrorDescent(
        losses.Absolute(), mirrors.Entropy(2.0), rates.Constant(1.0), dimension=4
    )
    assert learner.average.tolist() == [0.5] * 4


def test_the_soft_threshold_has_no_average() -> None:
    learner = nr.MirrorDescent(losses.Hinge(), mirrors.SoftThreshold(0.1), rates.Constant(1.0))
    learner.learn([[1.0]], [1])
    with pytest.raises(ValueError, match="keeps no average"):
        _ = learner.average
