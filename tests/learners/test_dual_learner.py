"""Dual ascent as a thing to hold: its memory, its schedules, bad input, and the names it has."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret import catalogue, losses, mirrors
from noregret.learners import DualAscent
from noregret.losses import SquaredEpsilonInsensitive
from tests.learners.dual_product import ROUNDS, everything, stream
from tests.sizes import sized


def test_the_ring_grows_and_forgets_in_order() -> None:
    random = np.random.default_rng(11)
    X = random.normal(size=(400, 90)) * (random.random((400, 90)) < random.random((400, 1)))
    y = random.choice([-1.0, 1.0], 400)
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.05, "mini", 6, memory=9)
    for t in range(400):
        learner.learn(csr_array(X[t : t + 1]), y[t : t + 1])
        store = learner._engine
        assert store is not None
        assert store.count == min(t + 1, 9)
        for age, slot in enumerate(store.oldest_first().tolist()):
            begin, end = store.spans[2 * slot : 2 * slot + 2].tolist()
            row = X[t + 1 - store.count + age]
            assert store.indices[begin:end].tolist() == np.flatnonzero(row).tolist()
            assert store.values[begin:end].tolist() == row[row != 0].tolist()
    # 9 rows of at most 90 features: the memory is bounded whatever the stream.
    assert len(store.values) <= 4 * 10 * 90


def test_schedules_visit_what_they_say() -> None:
    X, y, _, _ = stream("hinge, Euclidean", 12)
    visits: dict[str, Any] = {}
    for schedule in ("last", "random", "oldest", "support"):
        learner = DualAscent(
            losses.Hinge(), mirrors.Euclidean(), 0.5, "mini", 3, schedule, memory=8, seed=1
        )
        learner.learn(X, y)
        store = learner._engine
        assert store is not None
        visits[schedule] = store.column("VISITED")
    last = visits["last"]
    assert np.argsort(-last[-3:]).tolist() == [0, 1, 2] and last.max() == 3 * ROUNDS - 3
    # Least recently visited: nobody waits longer than the others need for their turns.
    assert visits["oldest"].min() > visits["oldest"].max() - 3 * 8
    assert len(set(visits["random"])) == 8
    other = DualAscent(
        losses.Hinge(), mirrors.Euclidean(), 0.5, "mini", 3, "random", memory=8, seed=2
    )
    other.learn(X, y)
    assert other._engine is not None
    assert other._engine.column("VISITED").tolist() != visits["random"].tolist()


def test_growing_learner() -> None:
    X, y, _, _ = stream("hinge, Euclidean", 13)
    grown = DualAscent(losses.Hinge(), mirrors.Euclidean(), update="mini", k=5)
    whole = DualAscent(losses.Hinge(), mirrors.Euclidean(), update="mini", k=5)
    X[:20, 3:] = 0.0
    grown.learn(csr_array(X[:20, :3]), y[:20])
    assert grown.dimension == 3
    grown.learn(csr_array(X[20:]), y[20:])
    whole.learn(X, y)
    assert grown.weights.tobytes() == whole.weights.tobytes()
    assert grown.predict(X).tobytes() == whole.predict(X).tobytes()
    fixed = DualAscent(losses.Hinge(), mirrors.Euclidean(), dimension=3)
    with pytest.raises(ValueError, match="X has 5 columns, the learner knows 3"):
        fixed.learn(csr_array(X), y)


def test_before_the_first_round() -> None:
    learner = DualAscent(losses.Hinge(), mirrors.Entropy())
    assert learner.predict([[1.0, 0.0]]) == pytest.approx([0.5])
    assert DualAscent(losses.Hinge(), mirrors.Euclidean()).predict([[1.0]], [0.5]) == [0.5]
    certificate = learner.certificate()
    assert (learner.rounds, learner.dimension, learner.dual, certificate.rounds) == (0, 0, 0.0, 0)
    assert certificate.bounds == [] and certificate.floor(1.0) == 0.0 and certificate.dual == 0.0
    assert len(learner.alpha) == 0 and "0 rounds" in str(certificate)


@dataclass(frozen=True)
class Unsigned(losses.Loss):
    """A loss of one's own that does not know its conjugate."""

    def value(self, y, p):  # type: ignore[no-untyped-def]
        return max(-y * p, 0.0)

    def slope(self, y, p):  # type: ignore[no-untyped-def]
        return -y if y * p < 0.0 else 0.0


@dataclass(frozen=True)
class Falling(Unsigned):
    """A loss without a least value: its only slope is -y."""

    nonnegative: ClassVar[bool] = False

    def value(self, y, p):  # type: ignore[no-untyped-def]
        return -y * p

    def slope(self, y, p):  # type: ignore[no-untyped-def]
        return -y

    def conjugate(self, y, s):  # type: ignore[no-untyped-def]
        return 0.0 if s == -y else math.inf


@dataclass(frozen=True)
class Rounded(losses.Loss):
    """A hinge with a rounded corner, sqrt(1 + [1 - y p]+^2) - 1, without a step of its own."""

    def value(self, y, p):  # type: ignore[no-untyped-def]
        return math.sqrt(1.0 + max(1.0 - y * p, 0.0) ** 2) - 1.0

    def slope(self, y, p):  # type: ignore[no-untyped-def]
        excess = max(1.0 - y * p, 0.0)
        return -y * excess / math.sqrt(1.0 + excess * excess)

    def conjugate(self, y, s):  # type: ignore[no-untyped-def]
        c = -y * s
        return 1.0 - math.sqrt(1.0 - c * c) - c if 0.0 <= c <= 1.0 else math.inf

    def lipschitz(self):  # type: ignore[no-untyped-def]
        return 1.0

    def lowest_slope(self, y):  # type: ignore[no-untyped-def]
        return min(-y, 0.0)

    def highest_slope(self, y):  # type: ignore[no-untyped-def]
        return max(-y, 0.0)


def test_a_loss_of_ones_own() -> None:
    X, y, _, _ = stream("hinge, Euclidean", 15, sized(16, 40))
    learner = DualAscent(Rounded(), mirrors.Euclidean(), 1.0, "leader", tolerance=1e-12)
    learner.learn(X, y)
    w = learner.weights
    losses_of_w = sum(Rounded().value(a, b) for a, b in zip(y, X @ w, strict=True))
    assert learner.dual == pytest.approx(0.5 * float(w @ w) + losses_of_w, rel=1e-9)
    assert "Rounded is taken at its word to be convex" in str(learner.certificate())


#: Short rows, on which no theorem is contradicted.
SHORT, SIGNS = np.array([[0.3, 0.1], [-0.2, 0.4], [0.1, -0.3]]), np.array([1.0, -1.0, 1.0])
THEOREMS = ["dual ascent, aggressive steps", "dual ascent, aggressive mistakes"]


def theorems(loss: losses.Loss, weight: list[float] | None = None) -> list[bool]:
    """Return which of the theorems hold for a run on the short rows."""
    learner = DualAscent(loss, mirrors.Euclidean(), 0.5)
    learner.learn(SHORT, SIGNS, weight)
    bounds = {theorem.name: theorem for theorem in learner.certificate().bounds_for(1.0)}
    assert all(math.isinf(bounds[name].value) != bounds[name].applies for name in THEOREMS)
    return [bounds[name].applies for name in THEOREMS]


def test_theorems_about_the_hinge_are_not_claimed_for_another_loss_with_a_margin() -> None:
    assert theorems(losses.Hinge()) == [True, True]
    assert theorems(losses.SquaredHinge()) == [False, False]
    # A subclass may mean something else by its margin.
    assert theorems(type("Own", (losses.Hinge,), {})()) == [False, False]


def test_theorems_about_examples_of_weight_1_are_not_claimed_for_other_weights() -> None:
    assert theorems(losses.Hinge(), [1.0, 1.0, 1.0]) == [True, True]
    assert theorems(losses.Hinge(), [1.0, 0.5, 1.0]) == [False, False]
    assert theorems(losses.Hinge(), [1.0, 1.0, 2.0]) == [False, False]


def test_mistakes_have_not_raised_the_dual_by_more_than_it_is() -> None:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.5)
    learner.learn(SHORT, SIGNS)
    proof = learner.certificate()
    assert proof.mistakes > 0 and proof.dual > 0.0
    for risen in (0.5 * proof.dual, 2.0 * proof.dual, math.inf):
        gain = proof.gain_at_most(risen)
        most = min(risen, proof.dual)
        assert Fraction(gain) * proof.mistakes <= Fraction(most)
        assert gain == pytest.approx(most / proof.mistakes, rel=1e-12)


BAD: list[tuple[Any, str]] = [
    (lambda: DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.0), "C must be a finite number"),
    (lambda: DualAscent(losses.Hinge(), mirrors.Euclidean(), update="best"), "update must be one"),
    (lambda: DualAscent(losses.Hinge(), mirrors.Euclidean(), k=0), "k must be a whole number"),
    (
        lambda: DualAscent(losses.Hinge(), mirrors.Euclidean(), schedule="first"),
        "schedule must be one of last, random, oldest, support",
    ),
    (
        lambda: DualAscent(losses.Hinge(), mirrors.Euclidean(), update="window", k=3, memory=2),
        "memory=2 is too small for a window of k=3 rows",
    ),
    (
        lambda: DualAscent(losses.Hinge(), mirrors.Euclidean(), update="leader", memory=2),
        "a leader keeps all rows",
    ),
    (lambda: DualAscent(losses.Logistic(), mirrors.Euclidean(), update="conservative"), "Hinge"),
    (lambda: DualAscent(losses.Hinge(), mirrors.SoftThreshold(0.1)), "SoftThreshold"),
    (lambda: DualAscent(Falling(), mirrors.Entropy()), "Falling has no least value"),
    (lambda: DualAscent(Unsigned(), mirrors.Euclidean()), "Unsigned has no conjugate"),
    (lambda: DualAscent(losses.Hinge, mirrors.Euclidean()), "forget the parentheses"),
    (lambda: DualAscent(losses.Hinge(), mirrors.Euclidean(), tolerance=-1), "tolerance must be"),
    (lambda: DualAscent(losses.Hinge(), mirrors.Euclidean(), row_limit=0), "row_limit must be"),
    (
        lambda: DualAscent(
            losses.Hinge(), mirrors.UnnormalizedEntropy(), update="aggressive", row_limit=1
        ),
        "UnnormalizedEntropy has no bound on its Hessian",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message for _, message in BAD])
def test_what_cannot_be_made_is_refused_in_one_line(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        make()
    assert "\n" not in str(error.value)


def test_bad_input_leaves_the_learner_as_it_was() -> None:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), update="mini", k=3)
    learner.learn([[1.0, 2.0], [0.5, -1.0]], [1, -1])
    before = everything(learner)
    for X, y, more, message in (
        ([[1.0, np.nan]], [1], {}, "X row 0: a value is not finite"),
        ([[1.0, 2.0], [1.0, np.inf]], [1, 1], {}, "X row 1"),
        ([[1.0, 2.0]], [0.5], {}, "expects -1 or"),
        ([[1.0, 2.0]], [1], {"offset": [np.nan]}, "offset row 0: nan"),
        ([[1.0, 2.0]], [1], {"offset": [1.0, 2.0]}, "offset has shape"),
        ([[1.0, 2.0]], [1], {"weight": [-1.0]}, "weight row 0"),
        ([[1.0, 2.0, 3.0]], [1], {}, "X has 3 columns, the learner knows 2"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.learn(X, y, **more)
        assert everything(learner) == before


def test_numbers_out_of_range_keep_the_rounds_before() -> None:
    learner = DualAscent(losses.Squared(), mirrors.Ball(0.6), 1e60, dimension=1)
    with pytest.raises(OverflowError, match="round 2 overflows"):
        learner.learn([[1.0], [1e90], [1.0]], [1.0, 1e90, 1.0])
    assert learner.rounds == 1
    learner.learn([[1.0]], [1.0])
    assert learner.rounds == 2 and np.isfinite(learner.dual)


def passive_aggressive_pairs() -> list[tuple[Any, Any, bool]]:
    """Return our learners beside scikit-learn's classes of that name, where it still has them."""
    linear = pytest.importorskip("sklearn.linear_model")
    if not hasattr(linear, "PassiveAggressiveClassifier"):
        pytest.skip("this scikit-learn has no PassiveAggressive classes any more")
    pairs = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for C in (0.01, 0.3, 100.0):
            classifier, regressor = (
                linear.PassiveAggressiveClassifier,
                linear.PassiveAggressiveRegressor,
            )
            same = {"C": C, "fit_intercept": False, "shuffle": False}
            pairs += [
                (catalogue.passive_aggressive(C), classifier(loss="hinge", **same), True),
                (catalogue.passive_aggressive_2(C), classifier(loss="squared_hinge", **same), True),
                (
                    catalogue.passive_aggressive_regression(C, 0.2),
                    regressor(loss="epsilon_insensitive", epsilon=0.2, **same),
                    False,
                ),
                (
                    catalogue.passive_aggressive_regression_2(C, 0.2),
                    regressor(loss="squared_epsilon_insensitive", epsilon=0.2, **same),
                    False,
                ),
            ]
    return pairs


def test_passive_aggressive_has_the_weights_of_scikit_learn() -> None:
    random = np.random.default_rng(14)
    X = random.normal(size=(200, 8)) * (random.random((200, 8)) < 0.6)
    X[~X.any(axis=1), 0] = 1.0  # scikit-learn skips rows of zeros, as there is nothing to add
    target = X @ random.normal(size=8) + 0.3 * random.normal(size=200)
    for ours, theirs, classify in passive_aggressive_pairs():
        y = np.where(target > 0, 1.0, -1.0) if classify else target
        for begin in range(0, 200, 50):
            part = slice(begin, begin + 50)
            ours.learn(X[part], y[part])
            known = {"classes": [-1.0, 1.0]} if classify else {}
            theirs.partial_fit(X[part], y[part], **known)
            assert ours.weights == pytest.approx(theirs.coef_.ravel(), rel=1e-12, abs=1e-12)


def test_the_squared_tube() -> None:
    loss = SquaredEpsilonInsensitive(0.3)
    for y in (-1.0, 0.0, 2.0):
        for p in np.linspace(-3, 3, 25).tolist():
            s = loss.slope(y, p)
            assert loss.value(y, p) + loss.conjugate(y, s) == pytest.approx(s * p, abs=1e-12)
            slope = (loss.value(y, p + 1e-6) - loss.value(y, p - 1e-6)) / 2e-6
            assert s == pytest.approx(slope, abs=1e-6)
            for q in (0.0, 0.5, 4.0):
                found = loss.proximal_slope(y, p, q, 0.0)
                assert found == pytest.approx(loss.slope(y, p - q * found), abs=1e-12)


def test_a_certificate_with_offsets_says_whose_losses_it_speaks_of(tmp_path):
    """With an offset of 1 the zero vector loses 0 here, and without one it loses 1."""
    plain, moved = (nr.DualAscent(nr.losses.Hinge(), nr.mirrors.Euclidean(), C=1.0) for _ in "ab")
    plain.learn([[1.0]], [1])
    moved.learn([[1.0]], [1], offset=[1.0])
    assert not plain.certificate().offsets and "offset" not in str(plain.certificate())
    moved.save(tmp_path / "moved")
    proof = nr.load(tmp_path / "moved").certificate()
    assert proof.offsets and proof.as_dict()["offsets"] is True
    assert "every u predicts <u, x> + the offset" in str(proof)
    assert proof.floor(0.0) == 0.0 and plain.certificate().floor(0.0) > 0.9


def test_a_certificate_leaves_the_learner_as_it_was() -> None:
    learner = DualAscent(losses.Hinge(), mirrors.Euclidean(), 0.5)
    learner.learn([[1.0, 2.0]], [1])
    before = learner._to_file()[1]["ledger"]
    assert learner.certificate().C == 0.5
    np.testing.assert_array_equal(learner._to_file()[1]["ledger"], before)
