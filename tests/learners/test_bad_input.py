"""Input that cannot be learnt: one line that says what, where and what was expected; no harm."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from noregret import domains, losses, mirrors, rates
from noregret.learners import MirrorDescent
from noregret.learners.anyone import certify
from tests.sizes import sized

#: One learner of each engine, and one that restarts.
LEARNERS: dict[str, Callable[[], MirrorDescent]] = {
    "linear": lambda: MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.Adaptive()),
    "mapped": lambda: MirrorDescent(losses.Hinge(), mirrors.SignedEntropy(2), rates.Adaptive()),
    "coordinate": lambda: MirrorDescent(
        losses.Hinge(), mirrors.Euclidean(), rates.PerCoordinate(1)
    ),
    "agile": lambda: MirrorDescent(
        losses.Hinge(), mirrors.Euclidean(), rates.Constant(0.1), domains.Ball(1), lazy=False
    ),
    "doubling": lambda: MirrorDescent(losses.Hinge(), mirrors.Ball(1), rates.Doubling(1)),
}
X = np.array([[1.0, 0.5, 0.0], [0.0, -1.0, 0.25], [0.5, 0.5, 0.5]])
Y = np.array([1.0, -1.0, 1.0])


def changed(array: np.ndarray, place: Any, value: float) -> np.ndarray:
    copy = np.array(array, float)
    copy[place] = value
    return copy


def sparse(values: list[float], indices: list[int], indptr: list[int]) -> Any:
    """Return rows in CSR form that scipy would not let through."""
    rows = csr_array(X)
    rows.data, rows.indices, rows.indptr = (
        np.array(values, float),
        np.array(indices, np.int32),
        np.array(indptr, np.int32),
    )
    return rows


#: X, y, weight and the message.
BAD: dict[str, tuple[Any, Any, Any, str]] = {
    "NaN": (changed(X, (1, 2), math.nan), Y, None, r"X row 1: .*expected finite numbers"),
    "infinity": (changed(X, (2, 0), math.inf), Y, None, r"X row 2: .*expected finite numbers"),
    "minus infinity": (changed(X, (0, 1), -math.inf), Y, None, r"X row 0: .*expected finite"),
    "huge": (changed(X, (1, 1), 1e101), Y, None, r"X row 1: .*beyond 1e\+100"),
    "sparse NaN": (csr_array(changed(X, (1, 2), math.nan)), Y, None, r"X row 1: .*finite"),
    "single infinity": (
        csr_array(changed(X, (2, 1), math.inf).astype(np.float32)),
        Y,
        None,
        r"X row 2: .*finite",
    ),
    "index": (sparse([1.0, 1.0], [0, 3], [0, 1, 2, 2]), Y, None, r"X row 1: .*outside 0 ... 2"),
    "negative index": (sparse([1.0, 1.0], [0, -1], [0, 1, 2, 2]), Y, None, r"X row 1: .*outside"),
    "falling indptr": (
        sparse([1.0, 1.0], [0, 1], [0, 2, 1, 2]),
        Y,
        None,
        r"X is not a CSR .*falls",
    ),
    "indptr beyond": (
        sparse([1.0, 1.0], [0, 1], [0, 1, 2, 3]),
        Y,
        None,
        r"X is not a CSR .*beyond",
    ),
    "three dimensions": (X[None], Y, None, r"X must have rows and columns, got .*\(1, 3, 3\)"),
    "text": ([["a", "b", "c"]] * 3, Y, None, r"X must hold numbers"),
    "ragged": ([[1.0, 2.0, 3.0], [1.0]], Y[:2], None, r"X must hold numbers"),
    "few labels": (X, Y[:2], None, r"y has shape \(2,\), expected \(3,\): one entry a row of X"),
    "square labels": (X, np.ones((3, 1)), None, r"y has shape \(3, 1\), expected \(3,\)"),
    "label 0": (X, [1.0, 0.0, 1.0], None, r"y row 1: label 0; Hinge expects -1 or \+1"),
    "label 2": (X, [1.0, 1.0, 2.0], None, r"y row 2: label 2; Hinge expects -1 or \+1"),
    "label NaN": (X, [math.nan, 1.0, 1.0], None, r"y row 0: label nan; Hinge expects"),
    "label text": (X, ["spam", "ham", "ham"], None, r"y must hold numbers"),
    "weight -1": (X, Y, [1.0, -1.0, 1.0], r"weight row 1: -1; expected a number from 0 to 1e\+100"),
    "weight NaN": (X, Y, [1.0, 1.0, math.nan], r"weight row 2: nan; expected a number from 0"),
    "weight infinite": (X, Y, [math.inf, 1.0, 1.0], r"weight row 0: inf; expected a number"),
    "few weights": (X, Y, [1.0], r"weight has shape \(1,\), expected \(3,\)"),
    "narrow": (X[:, :2], Y, None, r"X has 2 columns, the learner knows 3"),
    "wide": (np.hstack([X, X]), Y, None, r"X has 6 columns, the learner knows 3"),
}


def saved(learner: MirrorDescent, path: Path) -> bytes:
    learner.save(path)
    return path.read_bytes()


def state(learner: MirrorDescent) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in learner._arrays().items()}


def same(one: dict[str, np.ndarray], two: dict[str, np.ndarray]) -> bool:
    return one.keys() == two.keys() and all(
        np.array_equal(one[name], two[name], equal_nan=True) for name in one
    )


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("kind", LEARNERS)
def test_refused_in_one_line_and_nothing_changed(kind: str, fault: str, tmp_path: Path) -> None:
    rows, labels, weight, message = BAD[fault]
    learner = LEARNERS[kind]()
    learner.learn(X, Y)
    before = saved(learner, tmp_path / "before")
    weights, certificate = learner.weights, str(learner.certificate())
    with pytest.raises(ValueError, match=message) as caught:
        learner.learn(rows, labels, weight)
    assert "\n" not in str(caught.value)
    assert saved(learner, tmp_path / "after") == before
    assert np.array_equal(learner.weights, weights)
    assert str(learner.certificate()) == certificate
    learner.learn(X, Y)
    assert learner.rounds == 6


@pytest.mark.parametrize("fault", ["NaN", "label 0", "weight -1", "index", "three dimensions"])
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_fresh_learner_stays_fresh(kind: str, fault: str) -> None:
    rows, labels, weight, message = BAD[fault]
    learner, untouched = LEARNERS[kind](), LEARNERS[kind]()
    with pytest.raises(ValueError, match=message):
        learner.learn(rows, labels, weight)
    assert learner.rounds == 0 and learner.dimension == 0
    assert same(state(learner), state(untouched))
    # The dimension was not settled either: another width may follow.
    learner.learn(np.ones((1, 7)), [1.0])
    assert learner.dimension == 7


@pytest.mark.parametrize("fault", ["NaN", "infinity", "three dimensions", "text", "narrow"])
def test_predict_refuses_the_same(fault: str) -> None:
    rows, _, _, message = BAD[fault]
    learner = LEARNERS["linear"]()
    learner.learn(X, Y)
    with pytest.raises(ValueError, match=message):
        learner.predict(rows)


@pytest.mark.parametrize("fault", [name for name in BAD if name not in ("narrow", "wide")])
def test_certify_refuses_the_same(fault: str) -> None:
    rows, labels, weight, message = BAD[fault]
    count = len(rows) if isinstance(rows, list) else 3
    with pytest.raises(ValueError, match=message if fault != "three dimensions" else "X must"):
        certify(rows, labels, np.zeros(count), losses.Hinge(), weight)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([0.0, math.nan, 0.0], r"predictions row 1: nan; expected a finite number"),
        ([0.0, 0.0, -math.inf], r"predictions row 2: -inf; expected a finite number"),
        ([0.0, 0.0], r"predictions has shape \(2,\), expected \(3,\)"),
        (["a", "b", "c"], r"predictions must hold numbers"),
    ],
)
def test_certify_checks_predictions(predictions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        certify(X, Y, predictions, losses.Hinge())


#: Features of a chunk of 60 rows.
SMALL_CHUNK = 64 * sized(18, 60)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noregret.rows.examples.CHUNK", SMALL_CHUNK)


def large(kind: str, bad_row: int) -> tuple[Any, np.ndarray]:
    """Return rows that are learnt in several chunks, one of them bad."""
    rng = np.random.default_rng(0)
    rows = SMALL_CHUNK // 64 * 3
    values = rng.uniform(0.1, 1.0, rows * 64)
    values[bad_row * 64 + 5] = math.nan
    labels = rng.choice([-1.0, 1.0], rows)
    if kind == "dense":
        return values.reshape(rows, 64), labels
    indices = np.tile(np.arange(64, dtype=np.int32), rows)
    return csr_array((values, indices, np.arange(0, rows * 64 + 1, 64)), (rows, 64)), labels


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("kind", LEARNERS)
def test_many_chunks_are_undone(kind: str, form: str) -> None:
    """The bad row is in the last chunk, after others have been learnt."""
    bad = SMALL_CHUNK // 64 * 2 + 7
    rows, labels = large(form, bad)
    learner = LEARNERS[kind]()
    few = SMALL_CHUNK // 64 - sized(4, 10)
    start = rows[:few] if form == "sparse" else rows[:few].copy()
    learner.learn(start, labels[:few])
    before = state(learner)
    weights = learner.weights
    with pytest.raises(ValueError, match=rf"X row {bad}: .*expected finite numbers"):
        learner.learn(rows, labels)
    assert same(state(learner), before)
    assert np.array_equal(learner.weights, weights)
    again = LEARNERS[kind]()
    again.learn(start, labels[:few])
    more = slice(few, few + sized(12, 40))
    assert np.array_equal(
        learner.learn(rows[more], labels[more]), again.learn(rows[more], labels[more])
    )
    assert same(state(learner), state(again))


@pytest.mark.usefixtures("small_chunks")
def test_many_chunks_are_undone_to_a_fresh_learner() -> None:
    bad = SMALL_CHUNK // 64 + 3
    rows, labels = large("sparse", bad)
    learner = LEARNERS["mapped"]()
    with pytest.raises(ValueError, match=f"X row {bad}"):
        learner.learn(rows, labels)
    assert learner.rounds == 0
    assert same(state(learner), state(LEARNERS["mapped"]()))


MEANINGLESS: dict[str, tuple[Callable[[], Any], str]] = {
    "a class for an object": (
        lambda: MirrorDescent(losses.Hinge, mirrors.Euclidean(), rates.Constant(1)),  # type: ignore[arg-type]
        r"loss must be one of noregret.losses, got .*forget the parentheses",
    ),
    "a rate for a map": (
        lambda: MirrorDescent(losses.Hinge(), rates.Constant(1), mirrors.Euclidean()),  # type: ignore[arg-type]
        r"mirror must be one of noregret.mirrors, got Constant\(eta=1.0\)",
    ),
    "strongly convex p-norm": (
        lambda: MirrorDescent(losses.Hinge(), mirrors.PNorm(4), rates.StronglyConvex(1)),
        r"StronglyConvex belongs to losses that carry",
    ),
    "strongly convex agile": (
        lambda: MirrorDescent(
            losses.Hinge(), mirrors.Euclidean(), rates.StronglyConvex(1), lazy=False
        ),
        r"StronglyConvex belongs to losses that carry",
    ),
    "per-coordinate entropy": (
        lambda: MirrorDescent(losses.Hinge(), mirrors.Entropy(), rates.PerCoordinate(1)),
        r"PerCoordinate needs the map Euclidean\(\) or SoftThreshold",
    ),
    "per-coordinate domain": (
        lambda: MirrorDescent(
            losses.Hinge(), mirrors.Euclidean(), rates.PerCoordinate(1), domains.Ball(1)
        ),
        r"PerCoordinate is a lazy rate and takes no domain",
    ),
    "agile ball map": (
        lambda: MirrorDescent(losses.Hinge(), mirrors.Ball(1), rates.Constant(1), lazy=False),
        r"Ball is a lazy map",
    ),
    "agile soft threshold": (
        lambda: MirrorDescent(
            losses.Hinge(), mirrors.SoftThreshold(1), rates.Constant(1), lazy=False
        ),
        r"SoftThreshold is a lazy map",
    ),
    "two domains": (
        lambda: MirrorDescent(
            losses.Hinge(), mirrors.Entropy(), rates.Constant(1), domains.Simplex(1)
        ),
        r"the map Entropy has a domain of its own",
    ),
    "lazy simplex": (
        lambda: MirrorDescent(
            losses.Hinge(), mirrors.Euclidean(), rates.Constant(1), domains.Simplex(1)
        ),
        r"lazy projection on the simplex is for dense games",
    ),
    "clipped simplex": (
        lambda: MirrorDescent(
            losses.Hinge(),
            mirrors.Euclidean(),
            rates.Constant(1),
            domains.ClippedSimplex(0.1),
            lazy=False,
        ),
        r"ClippedSimplex has no projection in the stream learners",
    ),
    "entropy below 0": (
        lambda: MirrorDescent(
            losses.Hinge(),
            mirrors.UnnormalizedEntropy(),
            rates.Constant(1),
            domains.Box(0.0, 1.0),
            lazy=False,
        ),
        r"Box\(low=0.0\) must be above 0",
    ),
    "conservative regression": (
        lambda: MirrorDescent(
            losses.Squared(), mirrors.Euclidean(), rates.Constant(1), conservative=True
        ),
        r"conservative=True updates on mistakes, which Squared does not have",
    ),
    "doubled threshold": (
        lambda: MirrorDescent(losses.Hinge(), mirrors.SoftThreshold(1), rates.Doubling(1)),
        r"Doubling restarts the learner, SoftThreshold counts all its rounds",
    ),
    "map of radius 0": (lambda: mirrors.Ball(0), r"Ball\(radius\) must be .*above 0, got 0.0"),
    "signed map of radius 0": (lambda: mirrors.SignedEntropy(0), r"radius\) must be .*above 0"),
    "simplex of scale 0": (lambda: mirrors.Entropy(0), r"Entropy\(scale\) must be .*above 0"),
    "domain of radius 0": (lambda: domains.Ball(0), r"radius must be .*above 0"),
    "dimension 0": (
        lambda: MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.Constant(1), dimension=0),
        r"dimension must be a whole number >= 1, got 0",
    ),
    "half a dimension": (
        lambda: MirrorDescent(
            losses.Hinge(),
            mirrors.Euclidean(),
            rates.Constant(1),
            dimension=2.5,  # type: ignore[arg-type]
        ),
        r"dimension must be a whole number >= 1, got 2.5",
    ),
    "row limit 0": (
        lambda: MirrorDescent(
            losses.Hinge(), mirrors.Euclidean(), rates.Constant(1), row_limit=0.0
        ),
        r"row_limit must be a number above 0, got 0.0",
    ),
}


@pytest.mark.parametrize("name", MEANINGLESS)
def test_meaningless_combinations_are_refused(name: str) -> None:
    make, message = MEANINGLESS[name]
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_certificates_check_what_they_are_asked() -> None:
    learner = LEARNERS["linear"]()
    learner.learn(X, Y)
    certificate = learner.certificate()
    assert certificate.floor(0.0) >= 0.0  # a class of radius 0 is legal, a map of it is not
    for radius in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="radius must be a finite number >= 0"):
            certificate.floor(radius)
    with pytest.raises(ValueError, match=r"norm must be .* a number >= 1, got 0\.5"):
        certificate.floor(1.0, norm=0.5)
    for u, message in (
        (np.ones(2), r"u has shape \(2,\), expected \(3,\)"),
        (np.ones((3, 1)), r"u has shape \(3, 1\), expected \(3,\)"),
        ([0.0, math.nan, 0.0], "u must hold finite numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            certificate.regret(u)
    for eta in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="eta must be a finite number above 0"):
            certificate.regularized_floor(eta)


def test_divergence_is_refused_with_the_round() -> None:
    learner = MirrorDescent(losses.Squared(), mirrors.Euclidean(), rates.Constant(1e3))
    with pytest.raises(OverflowError, match=r"of round \d+ overflow") as caught:
        learner.learn(np.full((200, 1), 10.0), np.ones(200))
    assert "\n" not in str(caught.value)
    assert math.isfinite(learner.certificate().loss)


@pytest.mark.parametrize("known", [False, True])
def test_columns_named_twice_or_out_of_order_are_one_feature_each(known: bool) -> None:
    values, columns = [1.0, 2.0, -0.5, 3.0, 1.0], [4, 1, 4, 0, 2]
    X = csr_array((values, columns, [0, 3, 5]), shape=(2, 6))
    merged = X.copy()
    merged.sum_duplicates()
    assert merged.nnz < X.nnz

    def learnt(rows: csr_array) -> np.ndarray:
        # The rate follows from ||x||, which duplicates that are not merged make another.
        dimension = 6 if known else None
        learner = MirrorDescent(
            losses.Hinge(), mirrors.Euclidean(), rates.Adaptive(1.0), dimension=dimension
        )
        learner.learn(rows, [1, -1])
        return learner.weights

    assert learnt(X).tolist() == learnt(merged).tolist()
