"""Newton steps of several scores equal their definition, and those of one score for two classes."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import root
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax

import noregret as nr
from noregret import losses, mirrors, rates
from noregret.proof.ledger import Entry
from noregret.rows.examples import as_rows
from tests.sizes import sized

Vector = npt.NDArray[np.float64]

K = 4
SOFTMAX = losses.Softmax()
RATES = [
    rates.Newton(),
    rates.Newton(0.1, curvature=0.3),
    rates.Newton(0.5, implicit=False),
    rates.Newton(0.2, forgetting=0.97),
    rates.Newton(0.1, implicit=False, forgetting=0.95, curvature=0.1),
]
each = pytest.mark.parametrize("rate", RATES, ids=str)


def fresh(rate: rates.Newton, **options: Any) -> nr.MatrixDescent:
    return nr.MatrixDescent(SOFTMAX, rate=rate, **options)


def bits(learner: nr.MatrixDescent) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner._arrays().items()}


def stream(n: int = 90, d: int = 6, seed: int = 0) -> tuple[Vector, Vector, Vector]:
    """Return rows with zeros, growing sizes and a late feature; classes; weights, some 0."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * np.linspace(0.5, 2.0, n)[:, None]
    X[random.random(X.shape) < 0.3] = 0.0
    X[: n // 3, 2] = 0.0
    y = np.argmax(X @ random.normal(size=(d, K)) + random.normal(size=(n, K)), axis=1)
    weight = np.where(random.random(n) < 0.1, 0.0, random.exponential(size=n))
    return X, y.astype(float), weight


def stepped(scores: Vector, y: int, q: float) -> Vector:
    """Return p - e_y with p the probabilities of s - q (p - e_y), by a solver of equations."""
    label = np.eye(len(scores))[y]
    found = root(
        lambda p: p - softmax(scores - q * (p - label)), softmax(scores), tol=1e-15, method="hybr"
    )
    return np.asarray(found.x - label)


def play(rate: rates.Newton, X: Vector, y: Vector, weight: Vector) -> tuple[Vector, Vector]:
    """Return scores and weights by full matrices and plain solves, no factor."""
    d, last = X.shape[1], 0
    A, b, m = np.zeros((d, d)), np.zeros((d, K)), np.zeros(d)
    keep, made = rate.forgetting, []

    def solved(matrix: Vector, right: Vector, sizes: Vector) -> Vector:
        used, found = sizes > 0.0, np.zeros_like(right)
        found[used] = np.linalg.solve(matrix[np.ix_(used, used)], right[used])
        return found

    for x, label, mass in zip(X, y.astype(int).tolist(), weight.tolist(), strict=True):
        grown = np.maximum(m, np.abs(x))
        ahead = A + np.diag(rate.prior * (grown * grown - m * m))
        scores = solved(ahead, b, grown).T @ x
        made.append(scores)
        if mass == 0.0:
            continue
        k = float(solved(ahead, x, grown) @ x) / keep
        q = mass * k if rate.implicit else 0.0
        slopes = stepped(scores, label, q) if q else softmax(scores) - np.eye(K)[label]
        p = slopes + np.eye(K)[label]
        hessian = np.diag(p) - np.outer(p, p)
        # The smallest eigenvalue is that of (1, ..., 1), which is 0.
        c = rate.curvature * float(np.linalg.eigvalsh(hessian)[1:].mean())
        m = grown
        A = keep * ahead + mass * c * np.outer(x, x)
        b = keep * b + mass * np.outer(x, c * (scores - q * slopes) - slopes)
        known = np.flatnonzero(m > 0.0)
        if keep < 1.0:
            after = known[known > last]
            last = int(after[0]) if len(after) else int(known[0])
            A[last, last] += len(known) * (1.0 - keep) * rate.prior * m[last] ** 2
    return np.array(made), solved(A, b, m)


@each
def test_it_is_what_its_definition_says(rate: rates.Newton) -> None:
    X, y, weight = stream(sized(60, 200))
    scores, weights = play(rate, X, y, weight)
    total = -float(weight @ log_softmax(scores, axis=1)[np.arange(len(y)), y.astype(int)])
    for rows in (X, csr_array(X)):
        learner = fresh(rate, outputs=K)
        found = learner.learn(rows, y, weight)
        np.testing.assert_allclose(found, scores, rtol=1e-8, atol=1e-9 * np.abs(scores).max())
        np.testing.assert_allclose(learner.weights, weights, rtol=1e-7, atol=1e-8)
        assert learner.certificate().loss == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("implicit", [True, False])
def test_two_classes_are_one_score_of_half_the_prior(implicit: bool) -> None:
    X, y, weight = stream()
    y = (y > 1.0).astype(float)
    one = rates.Newton(0.5, implicit, 0.98, 0.7)
    single = nr.MirrorDescent(
        losses.Logistic(), mirrors.Euclidean(), one, averaging=False
    )  # fmt: skip
    expected = single.learn(X, 2.0 * y - 1.0, weight)
    learner = fresh(one.replace(prior=1.0), outputs=2)
    scores = learner.learn(X, y, weight)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(2.0 * learner.weights[:, 1], single.weights, rtol=1e-9, atol=1e-11)
    assert learner.certificate().loss == pytest.approx(single.certificate().loss, rel=1e-11)


def test_the_curvature_is_the_mean_of_those_along_which_scores_differ() -> None:
    random = np.random.default_rng(3)
    for count in (1, 2, 3, 7):
        scores, slopes = 3.0 * random.normal(size=count), np.empty(count)
        SOFTMAX.value_and_slopes(float(count - 1), scores, slopes)
        p = softmax(scores)
        spectrum = np.linalg.eigvalsh(np.diag(p) - np.outer(p, p))[1:]
        expected = float(spectrum.mean()) if count > 1 else 0.0
        assert SOFTMAX.mean_curvature(slopes) == pytest.approx(expected, rel=1e-12)


@each
def test_dense_and_sparse_rows_and_single_ones_agree_to_the_bit(rate: rates.Newton) -> None:
    X, y, weight = stream(60, 11)
    dense, sparse, single = (fresh(rate, outputs=K) for _ in range(3))
    expected = dense.learn(X, y, weight)
    np.testing.assert_array_equal(sparse.learn(csr_array(X), y, weight), expected)
    found = []
    for x, label, mass in zip(X, y.tolist(), weight.tolist(), strict=True):
        places = np.flatnonzero(x)
        if len(places) and places[-1] < single.dimension:
            asked = single.predict_one(places, x[places])
            # A row that is longer in some feature than all before it raises the prior.
            if np.all(np.abs(x) <= np.max(np.abs(X[: len(found)]), axis=0, initial=0.0)):
                np.testing.assert_allclose(asked, expected[len(found)], rtol=1e-9, atol=1e-11)
        found.append(single.learn_one(places, x[places], label, mass))
    np.testing.assert_array_equal(found, expected)
    assert bits(dense) == bits(sparse) == bits(single)
    assert str(dense.certificate()) == str(sparse.certificate())


@each
def test_scores_know_no_units_of_features(rate: rates.Newton) -> None:
    X, y, weight = stream()
    plain = fresh(rate)
    expected = plain.learn(X, y, weight)
    # Powers of two change no bit.
    exact = 2.0 ** np.array([0.0, -301.0, 251.0, 3.0, -17.0, 90.0])
    np.testing.assert_array_equal(fresh(rate).learn(X * exact, y, weight), expected)
    units = 10.0 ** np.array([0.0, -60.0, 50.0, 3.0, -17.0, 9.0])
    scaled = fresh(rate)
    found = scaled.learn(X * units, y, weight)
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(
        scaled.weights * units[:, None], plain.weights, rtol=1e-8, atol=1e-10
    )
    floors = scaled.certificate().floor(2.0), plain.certificate().floor(2.0)
    assert floors[0] == pytest.approx(floors[1], rel=1e-9)


@each
def test_cut_saved_and_loaded_it_goes_on_to_the_bit(rate: rates.Newton, tmp_path: Path) -> None:
    X, y, weight = stream()
    whole = fresh(rate, outputs=K)
    expected = whole.learn(csr_array(X), y, weight)
    for cut in (1, 50):
        half = fresh(rate, outputs=K)
        first = half.learn(csr_array(X[:cut]), y[:cut], weight[:cut])
        half.save(tmp_path / "model.nr")
        for other in (nr.load(tmp_path / "model.nr"), copy.deepcopy(half)):
            rest = other.learn(csr_array(X[cut:]), y[cut:], weight[cut:])
            np.testing.assert_array_equal(np.concatenate([first, rest]), expected)
            assert bits(other) == bits(whole)
            assert str(other.certificate()) == str(whole.certificate())
        assert half.rounds == cut


@each
def test_it_grows_with_features_and_classes(rate: rates.Newton) -> None:
    X, y, weight = stream(d=20)
    X[:40, 3:] = 0.0
    X[40:60, 17:] = 0.0
    y[:30] = np.minimum(y[:30], 1.0)
    grown, known = fresh(rate), fresh(rate, dimension=20, outputs=2)
    found = known.learn(csr_array(X[:30]), y[:30], weight[:30])
    np.testing.assert_array_equal(grown.learn(csr_array(X[:30, :3]), y[:30], weight[:30]), found)
    for learner in (grown, known):
        learner.grow(K)
    for a, b, width in ((30, 40, 3), (40, 60, 17), (60, 90, 20)):
        np.testing.assert_array_equal(
            grown.learn(csr_array(X[a:b, :width]), y[a:b], weight[a:b]),
            known.learn(csr_array(X[a:b]), y[a:b], weight[a:b]),
        )
    np.testing.assert_array_equal(grown.weights, known.weights)
    assert grown.weights.shape == (20, K)
    assert str(grown.certificate()) == str(known.certificate())


def test_a_class_that_joins_starts_from_weights_of_zero_and_the_common_matrix() -> None:
    X, y, weight = stream()
    y = np.minimum(y, 2.0)
    late, known = fresh(rates.Newton(), outputs=3), fresh(rates.Newton(), outputs=3)
    late.learn(X, y, weight)
    known.learn(X, y, weight)
    late.grow(K)
    rows = X[:1]
    assert late.predict(rows)[0, 3] == 0.0
    np.testing.assert_array_equal(late.predict(rows)[:, :3], known.predict(rows))
    np.testing.assert_array_equal(late._arrays()["triangle"], known._arrays()["triangle"])


@each
def test_rows_without_weight_change_nothing(rate: rates.Newton) -> None:
    X, y, _ = stream(30)
    plain, other = fresh(rate, outputs=K), fresh(rate, outputs=K)
    expected = plain.learn(X, y)
    for t in range(len(X)):
        other.learn(np.full((1, 6), 1e9), [1.0], [0.0])
        np.testing.assert_array_equal(other.learn(X[t : t + 1], y[t : t + 1])[0], expected[t])
    for name in ("state", "slots", "triangle", "target"):
        np.testing.assert_array_equal(other._arrays()[name], plain._arrays()[name])


@each
def test_a_round_that_overflows_leaves_no_trace(rate: rates.Newton) -> None:
    learner = fresh(rate, outputs=K)
    learner.learn([[1.0, -1.0], [0.5, 2.0]], [1, 0])
    before = bits(learner)
    with pytest.raises(OverflowError):
        learner.learn([[1e100, 0.0]], [1], [1e100])
    assert bits(learner) == before
    with pytest.raises(OverflowError) as caught:
        learner.learn([[0.3, 0.7], [1e100, 0.0]], [1, 0], [1.0, 1e100])
    assert caught.value.predictions.shape == (1, K)  # type: ignore[attr-defined]
    # The rounds before are kept, and the room for work is left clean.
    again = copy.deepcopy(learner)
    assert learner.rounds == 3
    row = [[0.3, 0.7]], [1.0]
    np.testing.assert_array_equal(learner.learn(*row), again.learn(*row))
    assert bits(learner) == bits(again)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e101])
def test_a_row_that_is_refused_changes_nothing(bad: float) -> None:
    X, y, weight = stream(20)
    learner = fresh(rates.Newton(forgetting=0.99), outputs=K)
    learner.learn(X, y, weight)
    before = bits(learner)
    rows = X.copy()
    rows[7, 3] = bad
    with pytest.raises(ValueError, match="row 7"):
        learner.learn(rows, y, weight)
    assert bits(learner) == before


def test_what_does_not_go_with_it_is_refused() -> None:
    bad: list[tuple[str, dict[str, Any]]] = [
        (
            r"such as Softmax\(\), and OneAgainstRest does not; use ScaleFree",
            {"loss": losses.OneAgainstRest()},
        ),
        (r"and MulticlassHinge does not; use ScaleFree", {"loss": losses.MulticlassHinge()}),
        ("belongs to Euclidean", {"mirror": mirrors.Ball(1.0)}),
        ("conservative=False", {"conservative": True}),
        ("implicit=True belongs to", {"implicit": True}),
        ("must be one of .*BlockLeader, got Aioli", {"rate": rates.Aioli()}),
        ("must be one of .*BlockLeader, got Ridge", {"rate": rates.Ridge()}),
    ]
    for expected, other in bad:
        with pytest.raises(ValueError, match=expected) as caught:
            nr.MatrixDescent(**({"loss": SOFTMAX, "rate": rates.Newton()} | other))
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"Newton\(curvature\) must be above 0 and at most 1"):
        rates.Newton(curvature=0.0)


def test_a_loss_with_another_value_does_not_inherit_the_curvature() -> None:
    class Doubled(losses.Softmax):
        def value_and_slopes(self, target: Any, s: Any, slopes: Any) -> float:
            return 2.0 * super().value_and_slopes(target, s, slopes)

    for name in ("mean_curvature", "own_curvature"):
        assert SOFTMAX.declares(name) and not Doubled().declares(name)


def test_too_many_features_are_refused_and_change_nothing() -> None:
    learner = fresh(rates.Newton(), outputs=2)
    learner.learn([[1.0, -1.0]], [1])
    before = bits(learner)
    row = csr_array(([1.0], ([0], [2048])), shape=(1, 2049))
    with pytest.raises(ValueError, match=r"at most 2048 .* use ScaleFree") as caught:
        learner.learn(row, [1])
    assert "\n" not in str(caught.value) and bits(learner) == before
    assert learner.dimension == 2


def test_the_travel_of_the_ledger_is_in_units_of_the_features() -> None:
    X, y, weight = stream()
    learner = fresh(rates.Newton(), outputs=2)
    learner.learn(X[:30], np.minimum(y[:30], 1.0), weight[:30])
    learner.grow(K)
    scores = learner.learn(X[30:], y[30:], weight[30:])
    sizes, later, total = np.zeros(6), np.zeros(6), 0.0
    early = fresh(rates.Newton(), outputs=2).learn(X[:30], np.minimum(y[:30], 1.0), weight[:30])
    for t, (x, mass) in enumerate(zip(X, weight, strict=True)):
        made = early[t] if t < 30 else scores[t - 30]
        label = int(min(y[t], 1.0) if t < 30 else y[t])
        slopes = softmax(made) - np.eye(len(made))[label]
        if mass > 0.0:
            # The size that each score has seen, this row included.
            sizes = np.maximum(sizes, np.abs(x))
            later = np.maximum(later, np.abs(x)) if t >= 30 else later
            least = later if t >= 30 else sizes
            used = x != 0.0
            ratio = np.sum(np.abs(x[used]) / least[used])
            total += mass * float(np.abs(slopes).sum()) * float(ratio)
    assert learner._ledger[Entry.SCALED_TRAVEL] == pytest.approx(total, rel=1e-9)


@each
def test_floors_are_below_the_best_matrix(rate: rates.Newton) -> None:
    X, y, weight = stream()
    learner = fresh(rate, outputs=K, blocks=True)
    learner.learn(X, y, weight)
    certificate = learner.certificate()
    assert learner.sizes is not None
    for radius in (0.5, 2.0, 8.0):
        floor = certificate.floor(radius)
        for seed in range(20):
            u = np.random.default_rng(seed).normal(size=(6, K))
            u *= radius / np.linalg.norm(learner.sizes * u)
            logs = log_softmax(X @ u, axis=1)[np.arange(len(y)), y.astype(int)]
            assert floor <= -float(weight @ logs)
    assert not certificate.bounds_for(2.0)


def test_steps_with_less_curvature_follow_a_change_faster() -> None:
    random = np.random.default_rng(5)
    X = random.normal(size=(600, 3))
    u = random.normal(size=(3, K))
    y = np.argmax(np.concatenate([X[:300] @ u, -X[300:] @ u]), axis=1).astype(float)
    lost = []
    for curvature in (1.0, 0.1):
        learner = fresh(rates.Newton(curvature=curvature), outputs=K)
        learner.learn(X, y)
        lost.append(learner.certificate().loss)
    assert lost[1] < 0.8 * lost[0]


@pytest.mark.compiled
@each
def test_machine_code_equals_the_interpreter_and_the_definition(rate: rates.Newton) -> None:
    X, y, weight = stream(40)
    one, other = (fresh(rate, outputs=K, dimension=6) for _ in range(2))
    expected = one.learn(X, y, weight)
    scores, _ = play(rate, X, y, weight)
    np.testing.assert_allclose(expected, scores, rtol=1e-8, atol=1e-9 * np.abs(scores).max())
    other._open(6)
    engine: Any = other._engine
    found = np.empty((len(y), K))
    kernel, arguments = engine.call(as_rows(X), y, weight, 0, other._ledger, found)
    kernel.py_func(*arguments)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-9, atol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("curvature", [1.0, 0.1])
def test_forgetting_is_stable_where_nothing_is_excited(curvature: float) -> None:
    random = np.random.default_rng(2)
    n = 20_000
    X = 0.02 * random.normal(size=(n, 8)) + random.normal(size=(n, 1))
    y = np.argmax(X @ random.normal(size=(8, K)) + 0.1 * random.normal(size=(n, K)), axis=1)
    # Two features fall silent, one of them until the end.
    X[1000:, 5] = 0.0
    X[1000 : n - 100, 6] = 0.0
    learner = fresh(rates.Newton(0.1, forgetting=0.99, curvature=curvature), outputs=K)
    scores = learner.learn(X, y)
    assert np.abs(scores).max() < 1e3
    again, _ = play(learner.rate, X[:2000], y[:2000], np.ones(2000))  # type: ignore[arg-type]
    np.testing.assert_allclose(scores[:2000], again, atol=1e-7)
