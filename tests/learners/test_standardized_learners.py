"""Learners with standardised features: bits, files, refusals, floors in the original units."""

from __future__ import annotations

import copy
import math
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.learners.base import Diverged
from noregret.proof.ledger import Entry
from tests.learners.frozen_state import difference, frozen
from tests.learners.standardized_streams import (
    CLASSES,
    EUCLIDEAN,
    LOGISTIC,
    ROWS,
    SQUARED,
    WEIGHT,
    T,
    X,
    Y,
    made,
    matrix,
)


def own_loss(learner: Any) -> float:
    """Return the loss that the learner wrapped has suffered."""
    ledger = learner.learner._ledger
    return float(ledger[Entry.LOSS] + ledger[Entry.LOSS + 1])


def cuts() -> list[int]:
    places = np.random.default_rng(3).choice(np.arange(1, ROWS), 9, replace=False)
    return [0, *sorted(places.tolist()), ROWS]


@pytest.mark.parametrize("kind", ["logistic", "squared", "newton", "aioli", "matrix"])
def test_cuts_and_sparse_rows_do_not_change_a_bit(kind: str) -> None:
    def fresh() -> nr.Standardized:
        if kind == "matrix":
            parts = nr.MatrixDescent(nr.losses.Softmax(), outputs=2)
            return nr.Standardized(parts, certified=False)
        rates: dict[str, Any] = {"newton": nr.rates.Newton(), "aioli": nr.rates.Aioli()}
        return made(SQUARED if kind == "squared" else LOGISTIC, rates.get(kind))

    y = {"squared": T, "matrix": CLASSES}.get(kind, Y)
    weight = WEIGHT
    whole = fresh()
    predictions = whole.learn(X, y, weight)
    ends = cuts()
    for form in (np.asarray, csr_array):
        for pairs in (pairwise(ends), ((t, t + 1) for t in range(ROWS))):
            learner = fresh()
            parts = [learner.learn(form(X[a:b]), y[a:b], weight[a:b]) for a, b in pairs]
            assert np.concatenate(parts).tobytes() == predictions.tobytes()
            assert not difference(frozen(learner), frozen(whole))
    assert whole.predict(csr_array(X)).tobytes() == whole.predict(X).tobytes()


def test_features_that_come_later_were_zero_before() -> None:
    rows = X.copy()
    rows[:60, 2:] = 0.0
    whole, grown = made(), made()
    predictions = whole.learn(rows, Y)
    parts = [
        grown.learn(csr_array(rows[:60, :2]), Y[:60]),
        grown.learn(csr_array(rows[60:]), Y[60:]),
    ]
    assert np.concatenate(parts).tobytes() == predictions.tobytes()
    assert grown.dimension == 4
    assert all(np.array_equal(*pair) for pair in zip(grown.moments, whole.moments, strict=True))
    narrow = csr_array(rows[:, :2])
    assert grown.predict(narrow).shape == (ROWS,)
    with pytest.raises(ValueError, match="X has 2 columns, the learner knows 4"):
        grown.learn(rows[:, :2], Y)


def test_predictions_do_not_move_the_learner() -> None:
    learner = made(SQUARED)
    learner.learn(X, T)
    before = frozen(learner)
    first = learner.predict(X)
    assert learner.predict(X).tobytes() == first.tobytes()
    assert not difference(frozen(learner), before)
    coming = learner.predict(X[:1])
    assert abs(learner.learn(X[:1], T[:1])[0] - coming[0]) < 1e-9


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_rows_that_are_too_wide_leave_the_constants(form: Any) -> None:
    learner = made(widest=3, constants=2)
    rows = X.copy()
    rows[:60, 3] = 0.0
    ends = rows[:, 3].nonzero()[0][0]
    first = learner.learn(form(rows[:ends]), Y[:ends])
    assert not learner.outgrown
    narrow = made(constants=2)
    assert first.tobytes() == narrow.learn(form(rows[:ends, :3]), Y[:ends]).tobytes()
    # A row that is too wide is predicted by the constants before it is learnt, too.
    alone = learner.predict(form(rows[ends : ends + 1]))
    assert learner.learn(form(rows[ends : ends + 1]), Y[ends : ends + 1])[0] == pytest.approx(
        alone[0]
    )
    assert learner.outgrown
    after = learner.predict(form(rows[:5]))
    assert len(set(after)) == 1
    weights, offset = learner.affine()
    assert not weights.any()
    assert after[0] == pytest.approx(offset)


def test_affine_predicts_the_rows_within_the_limit() -> None:
    rows, y = X * [1.0, 1e3, 1e-3, 1.0] + [0.0, 1e4, 1.0, 0.0], T
    for learner, labels in (
        (made(constants=3, bound=20, limit=20), Y),
        (made(SQUARED, bound=20, limit=20), y),
        (made(SQUARED, nr.rates.Ridge(), bound=20, limit=20), y),
        (matrix(bound=20, limit=20), CLASSES),
    ):
        learner.learn(rows, labels)
        weights, offset = learner.affine()
        low, high = learner.limits
        expected = np.clip(rows @ weights + offset, low, high)
        assert np.abs(learner.predict(rows) - expected).max() < 1e-8
    far = rows[:1] + 1e6
    assert abs(learner.predict(far)[0] - far @ weights - offset).max() > 10.0
    aioli = made(rate=nr.rates.Aioli())
    aioli.learn(rows, Y)
    with pytest.raises(ValueError, match="Aioli anticipates"):
        aioli.affine()
    with pytest.raises(ValueError, match="see affine"):
        _ = aioli.weights


def test_the_certificate_is_that_of_the_predictions() -> None:
    weight = WEIGHT
    for blocks in (False, True):
        learner = made(blocks=blocks)
        predictions = np.concatenate(
            [learner.learn(X[k : k + 50], Y[k : k + 50], weight[k : k + 50]) for k in (0, 50, 100)]
        )
        proof = learner.certificate()
        expected = nr.certify(X, Y, predictions, LOGISTIC, weight, blocks=blocks)
        for radius in (0.1, 1.0, 10.0):
            assert proof.floor(radius) == expected.floor(radius)
            best = nr.hindsight(X, Y, LOGISTIC, radius=radius, weight=weight)
            assert proof.floor(radius) <= best.primal
        assert (
            own_loss(learner)
            == proof.loss
            == pytest.approx(float(weight @ np.logaddexp(0.0, -Y * predictions)))
        )


@pytest.mark.parametrize("blocks", [False, True])
def test_the_certificate_of_several_scores(blocks: bool) -> None:
    softmax = nr.losses.Softmax()
    learner = nr.Standardized(nr.MatrixDescent(softmax), blocks=blocks)
    ends = pairwise(cuts())
    scores = [learner.learn(X[a:b], CLASSES[a:b] + (a == 0), WEIGHT[a:b]) for a, b in ends]
    classes = np.concatenate([CLASSES[: cuts()[1]] + 1.0, CLASSES[cuts()[1] :]])
    given = X, classes, np.concatenate(scores), softmax, WEIGHT
    expected = nr.certify(*given, blocks=blocks)
    for radius in (0.1, 1.0, 10.0):
        assert learner.certificate().floor(radius) == expected.floor(radius)
    assert learner.certificate().loss == own_loss(learner) == expected.loss


def test_a_certificate_in_units_that_move_would_be_false() -> None:
    """The trap: spreads fall, and what was far out of reach in old units is in reach in new ones.

    In the learner's units every row is about 1, and no predictor of length 0.1 gets far. In units
    of the last spreads the old rows are 1000, and a predictor of length 0.1 is right about them.
    """
    rng = np.random.default_rng(3)
    # The epochs end with rows 1, 3, 7, ... 127: of the old rows none counts at the end.
    count, radius = 127, 0.1
    scales = np.where(np.arange(count) < 63, 1.0, 1e-3)
    rows = (scales * rng.choice([-1.0, 1.0], count))[:, None]
    y, loss = np.sign(rows[:, 0]), nr.losses.Hinge()
    learner = made(loss, nr.rates.Constant(1e-4), constants=0)
    learner.learn(rows, y)
    # What the learner within says of every predictor of that length.
    moving = learner._learner.certificate().floor(radius)
    reach = radius / float(learner.moments[1][0])
    best = nr.hindsight(rows, y, loss, radius=reach).primal
    assert moving > 1.5 * best
    assert 0.0 <= learner.certificate().floor(reach) <= best


@pytest.mark.parametrize("certified", [True, False])
@pytest.mark.parametrize("kind", ["scale-free", "ridge", "matrix", "blocks", "early"])
def test_files_and_copies_go_on_to_the_bit(kind: str, certified: bool, tmp_path: Path) -> None:
    y = CLASSES if kind == "matrix" else T
    if kind == "matrix":
        learner = matrix(constants=5)
    elif kind == "ridge":
        learner = made(SQUARED, nr.rates.Ridge(), bound=9, limit=2, certified=certified)
    else:
        blocks = kind == "blocks" and certified
        learner = made(SQUARED, widest=2, certified=certified, blocks=blocks)
    if kind != "early":
        learner.learn(X[:70], y[:70])
    learner.save(tmp_path / "model.nr")
    loaded = nr.load(tmp_path / "model.nr")
    others = [loaded, copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]
    rest = learner.learn(X[70:], y[70:])
    for other in others:
        assert repr(other).partition(":")[0] == repr(learner).partition(":")[0]
        assert other.learn(X[70:], y[70:]).tobytes() == rest.tobytes()
        assert not difference(frozen(other), frozen(learner))
    loaded.save(tmp_path / "again.nr")
    learner.save(tmp_path / "model.nr")
    assert (tmp_path / "again.nr").read_bytes() == (tmp_path / "model.nr").read_bytes()


def test_files_that_do_not_fit_are_refused() -> None:
    learner = made(blocks=True)
    learner.learn(X, Y)
    header, arrays = learner._to_file()
    spoilt: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"known": 3}, {}),
        ({"known": -1}, {}),
        ({"known": "4"}, {}),
        ({"bound": 0.5}, {}),
        ({"limit": 30.0}, {}),
        ({"constants": 2}, {}),
        ({}, {"moments": arrays["moments"][:3]}),
        ({}, {"moments": arrays["moments"] * math.nan}),
        ({}, {"moments": -arrays["moments"]}),
        ({}, {"counts": np.array([3.0, 0.0, 0.0])}),
        ({}, {"counts": np.array([64.0, 128.0, 0.0])}),
        ({}, {"counts": np.array([64.0, 0.5, 0.0])}),
        ({}, {"counts": np.array([64.0, 1.0, 2.0])}),
        ({}, {"counts": arrays["counts"].astype(np.float32)}),
        ({}, {"book/ledger": np.zeros_like(arrays["book/ledger"])}),
        ({}, {"state": arrays["state"][:2]}),
    ]
    nr.Standardized._from_file(header, arrays)
    plain = made()
    plain.learn(X, Y)
    own = plain._to_file()
    own[1]["book/ledger"][Entry.ROUNDS] -= 1.0
    with pytest.raises(ValueError, match="the certificate has 149 rounds of 150 learnt"):
        nr.Standardized._from_file(*own)
    for changes, own in spoilt:
        with pytest.raises(ValueError):
            nr.Standardized._from_file(header | changes, arrays | own)


def test_a_learner_that_diverges_keeps_the_rounds_before() -> None:
    rows, y = X.copy(), T.copy()
    rows[100], y[100] = 1e90, 1e99
    for certified in (True, False):
        parts = SQUARED, EUCLIDEAN, nr.rates.Constant(1e-3)
        learner = nr.Standardized(nr.MirrorDescent(*parts), certified=certified)
        control = copy.deepcopy(learner)
        weight = np.where(np.arange(ROWS) == 100, 1e100, 1.0)
        with pytest.raises(Diverged) as caught:
            learner.learn(rows, y, weight)
        expected = control.learn(rows[:100], y[:100])
        assert caught.value.predictions.tobytes() == expected.tobytes()
        assert not difference(frozen(learner), frozen(control))
        with pytest.raises(Diverged):
            learner.learn(rows[100:101], y[100:101], [1e100])
        assert not difference(frozen(learner), frozen(control))


def test_classes_are_learnt_and_their_number_is_kept() -> None:
    learner = matrix()
    k = np.digitize(X[:, 0], [-0.5, 0.5]).astype(float)
    with pytest.raises(ValueError):
        learner.learn(X * math.nan, k)
    assert learner._learner.outputs == 0
    with pytest.raises(Diverged):
        learner.learn(np.full((1, 4), 1e99), [7], [1e100])
    assert learner._learner.outputs == 0
    scores = learner.learn(X, k)
    assert scores.shape == (ROWS, 3)
    assert np.mean(scores[75:].argmax(axis=1) == k[75:]) > 0.7
    with pytest.raises(ValueError, match="class 3"):
        learner.learn(X[:1], [3])
    weights, offset = learner.affine()
    assert weights.shape == (4, 3)
    assert offset.shape == (3,)


def test_a_member_of_an_aggregate(tmp_path: Path) -> None:
    members = [made(certified=False), made(rate=nr.rates.Newton(), certified=False)]
    plain = nr.MirrorDescent(LOGISTIC, EUCLIDEAN, nr.rates.ScaleFree())
    mixture = nr.Aggregate([*members, plain])
    moved = X + 100.0
    alone = made(certified=False).learn(moved, Y)
    mixture.learn(moved[:100], Y[:100])
    mixture.save(tmp_path / "model.nr")
    loaded = nr.load(tmp_path / "model.nr")
    rest = mixture.learn(moved[100:], Y[100:])
    assert loaded.learn(moved[100:], Y[100:]).tobytes() == rest.tobytes()
    assert own_loss(mixture.learners[0]) == pytest.approx(np.logaddexp(0.0, -Y * alone).sum())
    assert mixture.certificate().members.totals[0] == pytest.approx(own_loss(mixture.learners[0]))
    with pytest.raises(ValueError, match="more than weights"):
        _ = mixture.weights


def test_what_cannot_be_made_is_refused() -> None:
    learnt = nr.MirrorDescent(LOGISTIC, EUCLIDEAN, nr.rates.ScaleFree())
    learnt.learn(X, Y)
    blocked = nr.MirrorDescent(LOGISTIC, EUCLIDEAN, nr.rates.ScaleFree(), blocks=True)
    for learner in (None, nr.catalogue.perceptron, nr.DualAscent(LOGISTIC, EUCLIDEAN), made()):
        with pytest.raises(ValueError, match="must be a MirrorDescent or a MatrixDescent"):
            nr.Standardized(learner)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be fresh"):
        nr.Standardized(learnt)
    with pytest.raises(ValueError, match="give blocks to Standardized"):
        nr.Standardized(blocked)
    bad: list[dict[str, Any]] = [
        {"bound": 1.0},
        {"bound": math.inf},
        {"limit": -1.0},
        {"limit": 21.0},
        {"limit": math.nan},
        {"constants": -1},
        {"constants": 0.5},
        {"widest": 0},
        {"certified": False, "blocks": True},
        {"blocks": "lines"},
    ]
    with pytest.raises(ValueError, match="no certificate: make it with certified=True"):
        made(certified=False).certificate()
    for options in bad:
        with pytest.raises(ValueError):
            made(**options)
    assert repr(made(limit=3)) == (
        "<Standardized(MirrorDescent(Logistic(), Euclidean(), ScaleFree()), limit=3.0): 0 rounds>"
    )


def test_the_width_of_the_learner_within_must_fit() -> None:
    wide = nr.MirrorDescent(LOGISTIC, EUCLIDEAN, nr.rates.ScaleFree(), dimension=5)
    learner = nr.Standardized(wide)
    assert learner.learn(X, Y).tobytes() == made().learn(X, Y).tobytes()
    fixed = nr.MirrorDescent(LOGISTIC, EUCLIDEAN, nr.rates.ScaleFree(), dimension=4)
    with pytest.raises(ValueError, match="X has 4 columns, 5 once it is standardised"):
        nr.Standardized(fixed).learn(X, Y)
    simplex = nr.MirrorDescent(LOGISTIC, nr.mirrors.SignedEntropy(3.0), nr.rates.Adaptive())
    learner = nr.Standardized(simplex)
    learner.learn(X, Y)
    with pytest.raises(ValueError, match="X has 3 columns, the learner knows 4"):
        learner.predict(csr_array(X[:, :3]))
    ridge = made(SQUARED, nr.rates.Ridge(), widest=4096)
    with pytest.raises(ValueError, match="at most 2048"):
        ridge.learn(np.ones((2, 2048)), [0.0, 1.0])
    assert ridge.rounds == 0
    assert ridge.learn(X, T).tobytes() == made(SQUARED, nr.rates.Ridge()).learn(X, T).tobytes()


def test_several_constants_find_the_level_sooner() -> None:
    y = -np.ones(ROWS)
    losses = []
    for constants in (0, 1, 20):
        learner = made(constants=constants)
        learner.learn(X, y)
        losses.append(own_loss(learner))
    assert losses[2] < losses[1] < losses[0]
