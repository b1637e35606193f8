"""`ScaleFree` equals its definition, knows no units, and what it proves is true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import domains, losses, mirrors, rates
from tests.learners.scale_free_reference import reference
from tests.sizes import sized
from tests.truth.comparators import Class
from tests.truth.learners import Shifted
from tests.truth.referee import Referee

Vector = npt.NDArray[np.float64]

CLASSES: list[losses.Loss] = [
    losses.Logistic(), losses.Hinge(), losses.SquaredHinge(), losses.Exponential(),
    losses.PowerHinge(1.5), losses.OneSidedHuber(), losses.WinnowHinge(),
]  # fmt: skip
REAL: list[losses.Loss] = [
    losses.Squared(), losses.Absolute(), losses.Huber(0.5), losses.Quantile(0.7),
    losses.EpsilonInsensitive(0.1), losses.SquaredEpsilonInsensitive(0.1),
]  # fmt: skip
#: One with a steepest slope and one without, for either kind of labels.
FOUR = [losses.Logistic(), losses.SquaredHinge(), losses.Squared(), losses.Absolute()]
each_of_four = pytest.mark.parametrize("loss", FOUR, ids=str)


def fresh(loss: losses.Loss, **options: Any) -> nr.MirrorDescent:
    return nr.MirrorDescent(loss, mirrors.Euclidean(), rates.ScaleFree(), **options)


def bits(learner: nr.MirrorDescent) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner._arrays().items()}


def stream(loss: losses.Loss, n: int = 300, d: int = 8, seed: int = 0) -> tuple[Vector, ...]:
    """Return rows with zeros and growing sizes, labels that can be learnt, and weights."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * np.linspace(0.5, 2.0, n)[:, None]
    X[random.random(X.shape) < 0.3] = 0.0
    y = X @ random.normal(size=d) + 0.3 * random.normal(size=n)
    weight = np.where(random.random(n) < 0.1, 0.0, random.exponential(size=n))
    return X, (np.where(y > 0.0, 1.0, -1.0) if loss.labels == "sign" else y + 3.0), weight


@each_of_four
@pytest.mark.parametrize("width", [8, 300])
def test_it_is_what_its_definition_says(loss: losses.Loss, width: int) -> None:
    X, y, weight = stream(loss, sized(60, 300), width)
    expected = reference(loss, X, y, weight)
    scale = float(np.abs(expected).max())
    for rows in (X, csr_array(X)):
        got = fresh(loss).learn(rows, y, weight)
        assert np.abs(got - expected).max() <= 1e-12 * scale


@each_of_four
def test_sparse_rows_equal_dense_ones_whatever_zeros_are_stored(loss: losses.Loss) -> None:
    X, y, weight = stream(loss)
    learners = [fresh(loss) for _ in range(3)]
    sparse = csr_array(X)
    full = csr_array(np.ones_like(X))
    full.data[:] = X.ravel()
    for learner, rows in zip(learners, (X, sparse, full), strict=True):
        learner.learn(rows, y, weight)
    for learner in learners[1:]:
        np.testing.assert_allclose(learner.weights, learners[0].weights, rtol=1e-11, atol=1e-13)
        np.testing.assert_array_equal(learner.sizes, learners[0].sizes)
        floors = learner.certificate().floor(1.0), learners[0].certificate().floor(1.0)
        assert floors[0] == pytest.approx(floors[1], rel=1e-11)


@each_of_four
def test_predictions_know_no_units_of_features(loss: losses.Loss) -> None:
    X, y, weight = stream(loss, d=13)
    units = 10.0 ** np.arange(-6.0, 7.0)
    plain, scaled = fresh(loss), fresh(loss)
    expected = plain.learn(X, y, weight)
    np.testing.assert_allclose(scaled.learn(X * units, y, weight), expected, atol=1e-10)
    np.testing.assert_allclose(scaled.weights * units, plain.weights, rtol=1e-8, atol=1e-11)
    floors = scaled.certificate().floor(2.0), plain.certificate().floor(2.0)
    assert floors[0] == pytest.approx(floors[1], rel=1e-9)


@pytest.mark.parametrize("loss", [losses.Squared(), losses.Absolute()], ids=str)
@pytest.mark.parametrize(("a", "b"), [(2.0**40, 0.0), (-8.0, 0.0), (0.25, 3.0), (1e-4, -2.0)])
def test_predictions_follow_the_units_of_targets(loss: losses.Loss, a: float, b: float) -> None:
    X, y, _ = stream(loss)
    plain, scaled = fresh(loss), fresh(loss)
    expected = a * plain.learn(X, y) + b
    got = scaled.learn(X, a * y + b)
    assert got[0] == 0.0
    np.testing.assert_allclose(got[1:], expected[1:], rtol=0.0, atol=1e-7 * abs(a))
    after = a * plain.predict(X) + b
    np.testing.assert_allclose(scaled.predict(X), after, rtol=0.0, atol=1e-7 * abs(a))


@each_of_four
def test_cut_saved_and_loaded_it_goes_on_to_the_bit(loss: losses.Loss, tmp_path: Path) -> None:
    X, y, weight = stream(loss)
    whole = fresh(loss)
    expected = whole.learn(csr_array(X), y, weight)
    for cut in (1, 2, 150):
        half = fresh(loss)
        first = half.learn(csr_array(X[:cut]), y[:cut], weight[:cut])
        half.save(tmp_path / "model.nr")
        half = nr.load(tmp_path / "model.nr")  # type: ignore[assignment]
        rest = half.learn(csr_array(X[cut:]), y[cut:], weight[cut:])
        np.testing.assert_array_equal(np.concatenate([first, rest]), expected)
        assert bits(half) == bits(whole)
        assert str(half.certificate()) == str(whole.certificate())


def test_it_grows_with_the_features() -> None:
    loss = losses.Logistic()
    X, y, weight = stream(loss, d=40)
    X[:100, 10:] = 0.0
    grown, known = fresh(loss), fresh(loss, dimension=40)
    first = grown.learn(csr_array(X[:100, :10]), y[:100], weight[:100])
    assert grown.dimension == 10
    rest = grown.learn(csr_array(X[100:]), y[100:], weight[100:])
    np.testing.assert_array_equal([*first, *rest], known.learn(csr_array(X), y, weight))
    assert grown.certificate().floor(1.0) == known.certificate().floor(1.0)


@each_of_four
def test_rows_without_weight_change_nothing(loss: losses.Loss) -> None:
    X, y, _ = stream(loss)
    plain, other = fresh(loss), fresh(loss)
    expected = plain.learn(X, y)
    nothing, far = np.full((1, 8), 1e9), [1.0] if loss.labels == "sign" else [1e9]
    got = []
    for t in range(len(X)):
        other.learn(nothing, far, [0.0])
        got.append(float(other.learn(X[t : t + 1], y[t : t + 1])[0]))
    np.testing.assert_array_equal(got, expected)
    for name in ("state", "slots"):
        np.testing.assert_array_equal(other._arrays()[name], plain._arrays()[name])
    assert other.certificate().loss == plain.certificate().loss
    assert other.certificate().floor(1.0) == pytest.approx(plain.certificate().floor(1.0))


@pytest.mark.parametrize("loss", CLASSES + REAL, ids=str)
def test_every_loss_learns(loss: losses.Loss) -> None:
    n = sized(400, 1000)
    X, y, _ = stream(loss, n)
    p = fresh(loss).learn(X, y)
    assert np.all(np.isfinite(p))
    idle = 0.0 if loss.labels == "sign" else 3.0
    late = range(7 * n // 10, n)
    suffered = sum(loss.value(float(y[t]), float(p[t])) for t in late)
    assert suffered < 0.5 * sum(loss.value(float(y[t]), idle) for t in late)


def test_what_does_not_go_with_it_is_refused() -> None:
    bad: list[tuple[str, dict[str, Any]]] = [
        ("no domain", {"domain": domains.Ball(1.0)}),
        ("Euclidean", {"mirror": mirrors.Ball(1.0)}),
        ("Euclidean", {"mirror": mirrors.SoftThreshold(0.1)}),
        ("Euclidean", {"mirror": mirrors.Entropy()}),
        ("lazy=True", {"lazy": False}),
        ("conservative=False", {"conservative": True}),
        ("loss >= 0", {"loss": Shifted()}),
    ]
    usual = {"loss": losses.Hinge(), "mirror": mirrors.Euclidean(), "rate": rates.ScaleFree()}
    for expected, other in bad:
        with pytest.raises(ValueError, match=expected) as caught:
            nr.MirrorDescent(**(usual | other))
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="ScaleFree keeps no average"):
        _ = fresh(losses.Hinge()).average


def test_an_outlier_costs_little() -> None:
    X, y, _ = stream(losses.Squared(), n=2000)
    dirty = y.copy()
    dirty[500] = 1000.0 * np.abs(y).max()
    clean, hit = (fresh(losses.Squared()).learn(X, labels) for labels in (y, dirty))
    assert np.mean((hit - y)[501:] ** 2) < 2.0 * np.mean((clean - y)[501:] ** 2)


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Squared()], ids=str)
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-300, 1e-200, 1e-141, 1e-60, 1e99])
def test_features_of_any_size(loss: losses.Loss, size: float) -> None:
    X, y, _ = stream(loss, n=sized(80, 400))
    X /= np.abs(X).max()
    learner, usual = fresh(loss), fresh(loss)
    p = learner.learn(X * size, y)
    assert np.all(np.isfinite(p)) and np.all(np.isfinite(learner.weights))
    if size > 1e-100:
        np.testing.assert_allclose(p, usual.learn(X, y), atol=1e-9)
    mixed = X.copy()
    mixed[:, 0] *= size
    np.testing.assert_array_less(np.abs(fresh(loss).learn(mixed, y)), 1e3)


def test_a_round_that_overflows_leaves_no_trace() -> None:
    learner = fresh(losses.Hinge())
    learner.learn([[1.0, -1.0]], [1])
    before = bits(learner)
    with pytest.raises(OverflowError):
        learner.learn([[1e100, 0.0]], [1], [1e100])
    assert bits(learner) == before
    # Heavy examples and large features that do not meet are no trouble.
    learner = fresh(losses.Absolute())
    p = learner.learn(
        [[1e100], [1e100], [-1e100], [1.0], [2.0]], [1, 2, -3, 2, 1], [1, 1, 1, 1e60, 1]
    )
    assert np.all(np.isfinite(p)) and np.all(np.isfinite(learner.weights))


def test_predictions_for_real_targets_stay_in_their_range() -> None:
    X, y, weight = stream(losses.Squared())
    learner = fresh(losses.Squared())
    assert learner.predict(X[:2]).tolist() == [0.0, 0.0] and learner.offset == 0.0
    learner.learn(X, y, weight)
    raw = X @ learner.weights + learner.offset
    seen = y[weight > 0.0]
    np.testing.assert_allclose(learner.predict(X), np.clip(raw, seen.min(), seen.max()), atol=1e-12)
    assert learner.predict(1e6 * X).max() == seen.max() and learner.offset != 0.0
    assert seen.min() < learner.offset < seen.max()


@pytest.mark.each_value
@each_of_four
@pytest.mark.parametrize("span", [0.0, 6.0, 40.0])
def test_the_certificate_is_true(loss: losses.Loss, span: float) -> None:
    X, y, weight = stream(loss, n=sized(80, 400), d=5)
    X = X * 10.0 ** np.linspace(-span, span, 5)
    learner = fresh(loss)
    learner.learn(X, y, weight)
    sizes = np.abs(X[weight > 0.0]).max(axis=0)
    np.testing.assert_array_equal(learner.sizes, sizes)
    proof, referee = learner.certificate(), Referee(loss, X, y, weight)
    loss_suffered = referee.exact_at(fresh(loss).learn(X, y, weight))[0]
    for radius in (0.5, 2.0, 10.0, proof.radius):
        assert radius is not None
        ball = Class("2", radius, sizes)
        best = nr.hindsight(X / sizes, y, loss, weight=weight, radius=radius).weights
        corner = -proof.gradient / sizes
        for v in (best, corner / np.linalg.norm(corner) * radius, np.zeros(5)):
            u = ball.fitted(v / sizes)
            assert u is not None
            assert referee.exceeds(u, [proof.floor(radius)])[0]
            assert referee.exceeds(u, [loss_suffered, -proof.regret(u)])[0]
            assert referee.exceeds(u, [loss_suffered, -proof.regret_bound(radius)])[0]
    assert proof.bounds == []
    assert proof.describe(0.5) == "every u with ||m u||_2 <= 0.5, m_i the largest |x_i| seen,"
    length = float(np.linalg.norm(proof.gradient / sizes))
    assert proof.floor(0.25) == pytest.approx(proof.intercept - 0.25 * length, rel=1e-9)
    assert proof.floor(0.25) > 0.0


def test_the_class_of_features_below_the_least_size_says_so() -> None:
    learner = fresh(losses.Hinge())
    learner.learn([[1e-200, 1.0], [1e-200, -1.0]], [1, -1])
    proof = learner.certificate()
    assert learner.sizes is not None and learner.sizes.tolist() == [1e-140, 1.0]
    assert "the largest |x_i| seen or 1e-140," in proof.describe(1.0)
    # With m_0 = 1e-200 this u would be of the class, and its loss is 0.
    assert 0.0 < proof.floor(1e-3) <= 2.0
