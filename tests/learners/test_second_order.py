"""Second-order rates equal their definition and the oracles, in any units, to the bit on resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import domains, losses, mirrors, rates
from noregret.passes.descent.second_order import Column, Scalar
from tests.learners.second_order_reference import play
from tests.sizes import sized

Vector = npt.NDArray[np.float64]

SQUARED, LOGISTIC, HINGE = losses.Squared(), losses.Logistic(), losses.Hinge()
PARTS: list[tuple[losses.Loss, Any]] = [
    (SQUARED, rates.Ridge()),
    (SQUARED, rates.Ridge(0.1, forgetting=0.98)),
    (SQUARED, rates.Ridge(clipped=False, anticipating=True)),
    (SQUARED, rates.Newton(implicit=True)),
    (LOGISTIC, rates.Newton()),
    (LOGISTIC, rates.Newton(0.5, implicit=False)),
    (LOGISTIC, rates.Newton(forgetting=0.97)),
    (losses.SquaredHinge(), rates.Newton()),
    (losses.Huber(0.5), rates.Newton()),
    (LOGISTIC, rates.CertifiedNewton(4.0)),
    (LOGISTIC, rates.CertifiedNewton(4.0, forgetting=0.95)),
    (losses.Huber(0.5), rates.CertifiedNewton(2.0)),
    (LOGISTIC, rates.Aioli()),
    (LOGISTIC, rates.Aioli(4.0, 1.0, row_limit=3.0)),
    (HINGE, rates.Arow()),
    (losses.Hinge(0.5), rates.Arow(3.0)),
]
each = pytest.mark.parametrize(("loss", "rate"), PARTS, ids=str)


def fresh(loss: losses.Loss, rate: Any, **options: Any) -> nr.MirrorDescent:
    return nr.MirrorDescent(loss, mirrors.Euclidean(), rate, averaging=False, **options)


def in_units_of_1(loss: losses.Loss, rate: Any, d: int) -> nr.MirrorDescent:
    """Return a learner that has seen every feature with the size 1; no prior is given back."""
    learner = fresh(loss, rate, dimension=d)
    engine: Any = learner._engine
    engine.state[:, Column.SIZE] = 1.0
    diagonal = np.arange(d)
    engine.triangle.upper[diagonal, diagonal] = np.sqrt(rate.ridge())
    engine.triangle.inverse[:d] = 1.0 / engine.triangle.upper[diagonal, diagonal]
    return learner


def scalar(learner: nr.MirrorDescent, place: Scalar) -> float:
    engine: Any = learner._engine
    return float(engine.slots[place])


def bits(learner: nr.MirrorDescent) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner._arrays().items()}


def stream(loss: losses.Loss, n: int = 120, d: int = 6, seed: int = 0) -> tuple[Vector, ...]:
    """Return rows with zeros, growing sizes and a late feature; labels; weights, some of them 0."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * np.linspace(0.5, 2.0, n)[:, None]
    X[random.random(X.shape) < 0.3] = 0.0
    X[: n // 3, 2] = 0.0
    y = X @ random.normal(size=d) + 0.3 * random.normal(size=n)
    weight = np.where(random.random(n) < 0.1, 0.0, random.exponential(size=n))
    return X, (np.where(y > 0.0, 1.0, -1.0) if loss.labels == "sign" else y), weight


# The six rows of the specification.

A = np.array(
    [
        [-0.6, 0.5, -0.6],
        [0.5, -0.6, 0.6],
        [-0.5, -0.6, -0.6],
        [-0.8, 0.0, 0.4],
        [-0.5, -0.5, 0.4],
        [-0.4, -0.6, 0.5],
    ]
)
SIGNS = np.array([-1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
TARGETS = np.array([0.5, -0.25, 1.0, 0.75, -0.5, 0.0])

#: Rate, loss, predictions, loss in all, and w after the last round where it is known.
ORACLES: list[tuple[Any, losses.Loss, list[float], float, list[float] | None]] = [
    (
        rates.Ridge(clipped=False),
        SQUARED,
        [0, -0.243654822335, 0.0916855337411, 0.115582278247, 0.324644370491, 0.0350183916589],
        2.15882590211,
        [-0.406598270256, -0.0556254482873, -0.338459159913],
    ),
    (
        rates.Ridge(clipped=False, anticipating=True),
        SQUARED,
        [0, -0.162200520393, 0.048242553942, 0.0655715612595, 0.237509582525, 0.0267849971187],
        2.17663109289,
        None,
    ),
    (
        rates.CertifiedNewton(2.0),
        LOGISTIC,
        [0, 0.396314560618, -0.213663248501, -0.192613128449, -0.174522086089, -0.273928808563],
        3.85027584163,
        [0.859703535775, -0.191278241564, 0.497695161699],
    ),
    (
        rates.Newton(implicit=False),
        LOGISTIC,
        [0, 0.386317907445, -0.20627866896, -0.185674550722, -0.173641102435, -0.270318701729],
        3.85910983588,
        None,
    ),
    (
        rates.Newton(),
        LOGISTIC,
        [0, 0.387267792462, -0.207554703579, -0.186974206637, -0.173531593932, -0.271355882864],
        3.85820231567,
        [0.840279651795, -0.179979335809, 0.477850609937],
    ),
    (
        rates.Aioli(2.0, 1.0, float(np.sqrt(0.97))),
        LOGISTIC,
        [0, 0.18708699114, -0.110897510604, -0.104519272962, -0.0799823924031, -0.131717503042],
        3.9937355435,
        None,
    ),
    (
        rates.Arow(),
        HINGE,
        [0, 0.48730964467, -0.20819112628, -0.184016739139, -0.246605299662, -0.330345838756],
        5.204223029,
        [0.832748317245, -0.156394457745, 0.443405599119],
    ),
    (
        rates.CertifiedNewton(2.0, forgetting=0.9),
        LOGISTIC,
        [0, 0.431981329537, -0.236177181993, -0.220953851532, -0.274897484505, -0.457007633637],
        3.8768747363,
        None,
    ),
]


@pytest.mark.parametrize("case", ORACLES, ids=lambda case: str(case[0]))
def test_the_oracles_of_the_specification(case: Any) -> None:
    rate, loss, predictions, total, weights = case
    labels = TARGETS if loss.labels == "real" else SIGNS
    learner = in_units_of_1(loss, rate, 3)
    np.testing.assert_allclose(learner.learn(A, labels), predictions, rtol=1e-10, atol=1e-15)
    assert learner.certificate().loss == pytest.approx(total, rel=1e-10)
    if weights is not None:
        np.testing.assert_allclose(learner.weights, weights, rtol=1e-10)
    run = play(rate, loss, A, labels, np.ones(6), np.ones(3))
    np.testing.assert_allclose(run.predictions, predictions, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(
    ("rate", "loss", "total", "cost", "growth"),
    [
        (rates.Ridge(0.25, clipped=False), SQUARED, 2.44133253837, None, None),
        (rates.Ridge(0.25, clipped=False, anticipating=True), SQUARED, 2.39475472024, None, None),
        (rates.Ridge(clipped=False), SQUARED, 2.15882590211, 0.870993626190, 2.87447027457),
        (rates.CertifiedNewton(2.0), LOGISTIC, 3.85027584163, 0.438685060719, None),
        (rates.CertifiedNewton(2.0, 0.25), LOGISTIC, 3.57150089869, 0.957340166169, None),
    ],
    ids=str,
)
def test_sums_of_the_theorem(
    rate: Any, loss: losses.Loss, total: float, cost: float | None, growth: float | None
) -> None:
    learner = in_units_of_1(loss, rate, 3)
    learner.learn(A, TARGETS if loss is SQUARED else SIGNS)
    assert learner.certificate().loss == pytest.approx(total, rel=1e-10)
    if cost is not None:
        assert scalar(learner, Scalar.COST) == pytest.approx(cost, rel=1e-10)
    if growth is not None:
        assert scalar(learner, Scalar.GROWTH) == pytest.approx(growth, rel=1e-10)


@each
def test_it_is_what_its_definition_says(loss: losses.Loss, rate: Any) -> None:
    X, y, weight = stream(loss, sized(90, 300))
    run = play(rate, loss, X, y, weight)
    scale = float(np.abs(run.predictions).max())
    for rows in (X, csr_array(X)):
        learner = fresh(loss, rate)
        assert np.abs(learner.learn(rows, y, weight) - run.predictions).max() <= 1e-11 * scale
        np.testing.assert_allclose(learner.weights, run.weights, rtol=1e-8, atol=1e-10)
        assert scalar(learner, Scalar.GROWTH) == pytest.approx(run.growth, rel=1e-9)
        cost = scalar(learner, Scalar.COST) + scalar(learner, Scalar.COST_LOW)
        assert cost == pytest.approx(run.cost, rel=1e-8, abs=1e-10)


@each
def test_dense_and_sparse_rows_and_single_ones_agree_to_the_bit(
    loss: losses.Loss, rate: Any
) -> None:
    X, y, weight = stream(loss, 60, 11)
    dense, sparse, single = fresh(loss, rate), fresh(loss, rate), fresh(loss, rate)
    expected = dense.learn(X, y, weight)
    np.testing.assert_array_equal(sparse.learn(csr_array(X), y, weight), expected)
    found = []
    for x, label, mass in zip(X, y.tolist(), weight.tolist(), strict=True):
        places = np.flatnonzero(x)
        if mass == 1.0:
            assert single.predict_one(places, x[places]) == pytest.approx(expected[len(found)])
        found.append(single.learn_one(places, x[places], label, mass))
    np.testing.assert_array_equal(found, expected)
    assert bits(dense) == bits(sparse) == bits(single)
    assert str(dense.certificate()) == str(sparse.certificate())


@each
def test_predictions_know_no_units_of_features(loss: losses.Loss, rate: Any) -> None:
    X, y, weight = stream(loss, d=6)
    plain = fresh(loss, rate)
    expected = plain.learn(X, y, weight)
    # Powers of two change no bit.
    exact = 2.0 ** np.array([0.0, -301.0, 251.0, 3.0, -17.0, 90.0])
    np.testing.assert_array_equal(fresh(loss, rate).learn(X * exact, y, weight), expected)
    units = 10.0 ** np.array([0.0, -60.0, 50.0, 3.0, -17.0, 9.0])
    scaled = fresh(loss, rate)
    found = scaled.learn(X * units, y, weight)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(scaled.weights * units, plain.weights, rtol=1e-8, atol=1e-10)
    one, other = scaled.certificate(), plain.certificate()
    assert one.floor(2.0) == pytest.approx(other.floor(2.0), rel=1e-9)
    for mine, its in zip(one.bounds_for(2.0), other.bounds_for(2.0), strict=True):
        assert mine.value == pytest.approx(its.value, rel=1e-9)


@each
def test_cut_saved_and_loaded_it_goes_on_to_the_bit(
    loss: losses.Loss, rate: Any, tmp_path: Path
) -> None:
    X, y, weight = stream(loss)
    whole = fresh(loss, rate)
    expected = whole.learn(csr_array(X), y, weight)
    for cut in (1, 50):
        half = fresh(loss, rate)
        # The late feature is not known yet.
        width = 2 if cut == 1 else 6
        first = half.learn(csr_array(X[:cut, :width]), y[:cut], weight[:cut])
        half.save(tmp_path / "model.nr")
        half = nr.load(tmp_path / "model.nr")
        rest = half.learn(csr_array(X[cut:]), y[cut:], weight[cut:])
        if cut == 1 and np.any(X[0, width:]):
            continue
        np.testing.assert_array_equal(np.concatenate([first, rest]), expected)
        assert bits(half) == bits(whole)
        assert str(half.certificate()) == str(whole.certificate())


@each
def test_it_grows_with_the_features(loss: losses.Loss, rate: Any) -> None:
    X, y, weight = stream(loss, d=20)
    X[:40, 3:] = 0.0
    X[40:80, 17:] = 0.0
    grown, known = fresh(loss, rate), fresh(loss, rate, dimension=20)
    parts = [(0, 40, 3), (40, 80, 17), (80, 120, 20)]
    found = [grown.learn(csr_array(X[a:b, :width]), y[a:b], weight[a:b]) for a, b, width in parts]
    np.testing.assert_array_equal(np.concatenate(found), known.learn(csr_array(X), y, weight))
    np.testing.assert_array_equal(grown.weights, known.weights)
    assert str(grown.certificate()) == str(known.certificate())


@each
def test_rows_without_weight_change_nothing(loss: losses.Loss, rate: Any) -> None:
    X, y, _ = stream(loss, 30)
    plain, other = fresh(loss, rate), fresh(loss, rate)
    expected = plain.learn(X, y)
    for t in range(len(X)):
        other.learn(np.full((1, 6), 1e9), [1.0], [0.0])
        assert other.learn(X[t : t + 1], y[t : t + 1])[0] == expected[t]
    for name in ("state", "slots", "triangle", "target"):
        np.testing.assert_array_equal(other._arrays()[name], plain._arrays()[name])


@each
def test_it_predicts_as_it_would_learn(loss: losses.Loss, rate: Any) -> None:
    X, y, weight = stream(loss)
    learner = fresh(loss, rate)
    learner.learn(X[:-5], y[:-5], weight[:-5])
    rows = X[-5:] * 0.1
    expected = learner.predict(rows)
    np.testing.assert_allclose(learner.predict(csr_array(rows)), expected, rtol=1e-12)
    for x, p in zip(rows, expected, strict=True):
        places = np.flatnonzero(x)
        assert learner.predict_one(places, x[places]) == pytest.approx(p, rel=1e-12)
        copied = nr.MirrorDescent.__new__(nr.MirrorDescent)
        copied.__setstate__(learner.__getstate__())
        assert copied.learn_one(places, x[places], 1.0) == pytest.approx(p, rel=1e-12)


def test_what_does_not_go_with_it_is_refused() -> None:
    bad: list[tuple[str, dict[str, Any]]] = [
        ("no domain", {"domain": domains.Ball(1.0)}),
        ("Euclidean", {"mirror": mirrors.Ball(1.0)}),
        ("lazy=True", {"lazy": False}),
        ("conservative=False", {"conservative": True}),
        (r"Ridge needs Squared\(\), not Logistic", {"rate": rates.Ridge()}),
        (r"Aioli needs Logistic\(\), not Hinge", {"loss": HINGE, "rate": rates.Aioli()}),
        (r"Arow needs Hinge\(\), not Logistic", {"rate": rates.Arow()}),
        ("a loss with a second derivative .* Hinge has none", {"loss": HINGE}),
    ]
    usual = {"loss": LOGISTIC, "mirror": mirrors.Euclidean(), "rate": rates.Newton()}
    for expected, other in bad:
        with pytest.raises(ValueError, match=expected) as caught:
            nr.MirrorDescent(**(usual | other))
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="Newton keeps no average"):
        _ = fresh(LOGISTIC, rates.Newton()).average
    for make, message in (
        (lambda: rates.Ridge(0.0), r"Ridge\(prior\) must lie between"),
        (lambda: rates.Newton(forgetting=0.2), r"Newton\(forgetting\) must be above 0.5"),
        (lambda: rates.Aioli(row_limit=0.0), r"Aioli\(row_limit\) must be above 0"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


def test_too_many_features_are_refused_and_change_nothing() -> None:
    learner = fresh(LOGISTIC, rates.Newton())
    learner.learn([[1.0, -1.0]], [1])
    before = bits(learner)
    row = csr_array(([1.0], ([0], [2048])), shape=(1, 2049))
    with pytest.raises(ValueError, match=r"at most 2048 .* use ScaleFree") as caught:
        learner.learn(row, [1])
    assert "\n" not in str(caught.value) and bits(learner) == before
    with pytest.raises(ValueError, match="at most 2048"):
        learner.learn_one([2048], [1.0], 1.0)
    assert bits(learner) == before and learner.dimension == 2
    with pytest.raises(ValueError, match="there are 5000"):
        fresh(SQUARED, rates.Ridge(), dimension=5000)


@each
def test_a_round_that_overflows_leaves_no_trace(loss: losses.Loss, rate: Any) -> None:
    learner = fresh(loss, rate)
    learner.learn([[1.0, -1.0], [0.5, 2.0]], [1, -1])
    before = bits(learner)
    with pytest.raises(OverflowError):
        learner.learn([[1e100, 0.0]], [1e100 if loss.labels == "real" else 1], [1e100])
    assert bits(learner) == before
    # The room for work is left clean, too.
    again = nr.MirrorDescent.__new__(nr.MirrorDescent)
    again.__setstate__(learner.__getstate__())
    row = [[0.3, 0.7]], [1.0]
    np.testing.assert_array_equal(learner.learn(*row), again.learn(*row))
    assert bits(learner) == bits(again)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200, 1e-141, 1e-60, 1e99])
def test_features_of_any_size(size: float) -> None:
    X, y, _ = stream(LOGISTIC, n=60)
    X /= np.abs(X).max()
    learner = fresh(LOGISTIC, rates.Newton())
    p = learner.learn(X * size, y)
    assert np.all(np.isfinite(p)) and np.all(np.isfinite(learner.weights))
    if size > 1e-100:
        np.testing.assert_allclose(p, fresh(LOGISTIC, rates.Newton()).learn(X, y), atol=1e-9)
