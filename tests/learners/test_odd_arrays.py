"""What only looks like numbers is refused by name in one line, wherever numbers are taken."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import noregret as nr
from noregret import bandits, classes, domains, experts, losses, mirrors, oco, rates, tracking
from noregret.arrays import as_positive, as_real, as_whole, real_array
from noregret.learners.foreign import Certifier
from noregret.tracking.static import Moments

X = np.array([[1.0, 0.5], [0.0, 1.0]])
Y = np.array([1.0, -1.0])
W = np.array([1.0, 1.0])


def masked(array):
    return np.ma.array(array, mask=np.zeros(np.shape(array), bool))


#: How a sound array is turned into an odd one that numpy would convert.
ODD = {
    "masked": masked,
    "with a mask": lambda array: np.ma.array(array, mask=np.ones(np.shape(array), bool)),
    "dates": lambda array: np.array(array).astype("int64").astype("datetime64[D]"),
    "durations": lambda array: np.array(array).astype("int64").astype("timedelta64[s]"),
    "complex": lambda array: np.array(array, complex),
    "text": lambda array: np.array(array).astype(str),
    "objects: text": lambda array: np.vectorize(str, otypes=[object])(array),
    "objects: none": lambda array: np.full(np.shape(array), None, object),
    "objects: complex": lambda array: np.array(array, complex).astype(object),
    "objects: durations": lambda array: np.vectorize(
        lambda one: np.timedelta64(int(one), "s"), otypes=[object]
    )(array),
    "records": lambda array: np.array(array).astype([("a", float)]),
}


def descent():
    return nr.MirrorDescent(losses.Hinge(), mirrors.Euclidean(), rates.Constant(0.1))


def softmax():
    return nr.MatrixDescent(losses.Softmax(), outputs=2)


def squared():
    return nr.MirrorDescent(losses.Squared(), mirrors.Euclidean(), rates.Constant(0.1))


#: Where numbers are taken: a sound argument, what takes it, and the name that is said.
ENTRIES = {
    "learn X": (X, lambda x: descent().learn(x, Y), "X"),
    "learn y": (Y, lambda y: descent().learn(X, y), "y"),
    "learn y, real": (Y, lambda y: squared().learn(X, y), "y"),
    "learn weight": (W, lambda w: descent().learn(X, Y, w), "weight"),
    "predict": (X, lambda x: squared().predict(x), "X"),
    "learn_one values": (X[0], lambda x: descent().learn_one([0, 1], x, 1.0), "values"),
    "MatrixDescent X": (X, lambda x: softmax().learn(x, [0, 1]), "X"),
    "MatrixDescent y": (
        np.array([0.0, 1.0]),
        lambda y: softmax().learn(X, y),
        "y",
    ),
    "MatrixDescent weight": (
        W,
        lambda w: softmax().learn(X, [0, 1], w),
        "weight",
    ),
    "DualAscent y": (
        Y,
        lambda y: nr.DualAscent(losses.Hinge(), mirrors.Euclidean()).learn(X, y),
        "y",
    ),
    "DualAscent offset": (
        Y,
        lambda o: nr.DualAscent(losses.Hinge(), mirrors.Euclidean()).learn(X, Y, offset=o),
        "offset",
    ),
    "Ranker": (Y, lambda r: nr.Ranker().learn(X, r, qid=[1, 1]), "relevance"),
    "certify X": (X, lambda x: nr.certify(x, Y, W, losses.Squared()), "X"),
    "certify y": (Y, lambda y: nr.certify(X, y, W, losses.Squared()), "y"),
    "certify predictions": (W, lambda p: nr.certify(X, Y, p, losses.Squared()), "predictions"),
    "Certifier": (W, lambda w: Certifier(losses.Hinge()).add(X, Y, W, w), "weight"),
    "hindsight X": (X, lambda x: nr.hindsight(x, Y, losses.Squared(), l2=1.0), "X"),
    "hindsight y": (Y, lambda y: nr.hindsight(X, y, losses.Squared(), l2=1.0), "y"),
    "hindsight weight": (
        W,
        lambda w: nr.hindsight(X, Y, losses.Squared(), l2=1.0, weight=w),
        "weight",
    ),
    "regret": (X[0], lambda u: _learnt().certificate().regret(u), "u"),
    "Hedge": (np.ones((2, 2)), lambda c: experts.Hedge(2, 0.5).learn(c), "costs"),
    "Hedge suffer": (np.ones(2), lambda c: experts.Hedge(2, 0.5).suffer(c), "costs"),
    "Shares": (np.ones((2, 2)), lambda c: experts.Shares(2, 0.5, 0.1).learn(c), "costs"),
    "Specialists": (
        np.ones((1, 2)),
        lambda c: experts.Specialists(2, eta=0.5).learn(c, [[True, True]]),
        "costs",
    ),
    "Forecaster": (
        np.ones((2, 2)),
        lambda p: experts.Forecaster(2, losses.Squared()).learn(p, Y),
        "predictions",
    ),
    "Forecaster outcomes": (
        Y,
        lambda y: experts.Forecaster(2, losses.Squared()).learn(np.ones((2, 2)), y),
        "y",
    ),
    "Forecaster weight": (
        W,
        lambda w: experts.Forecaster(2, losses.Squared()).learn(np.ones((2, 2)), Y, w),
        "weight",
    ),
    "ProbabilityForecaster": (
        np.ones((2, 2)),
        lambda p: experts.ProbabilityForecaster(2).learn(p, [1.0, -1.0]),
        "predictions",
    ),
    "ScoreForecaster": (
        np.ones((2, 2, 3)),
        lambda p: experts.ScoreForecaster(2).learn(p, [1, 2]),
        "predictions",
    ),
    "Aggregate": (X, lambda x: experts.Aggregate([descent()]).learn(x, Y), "X"),
    "portfolios": (np.ones((2, 2)), experts.buy_and_hold, "relatives"),
    "oco suffer": (
        np.ones(2),
        lambda z: oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1)).suffer(1.0, z),
        "subgradient",
    ),
    "oco loss": (np.ones(2), oco.Linear, "Linear(z)"),
    "domains": (np.ones(2), domains.Ball(1.0).project, ""),
    "Exp3": (np.ones((2, 2)), bandits.Exp3(2, eta=0.1).play, "costs"),
    "TsallisINF": (np.ones((2, 2)), bandits.TsallisINF(2).play, "costs"),
    "contextual": (X, lambda x: bandits.ContextualBandit(2).decide_many(x), "X"),
    "logged costs": (
        np.ones(2),
        lambda c: bandits.ContextualBandit(2).learn_logged(X, [0, 1], c, [0.5, 0.5]),
        "outcomes",
    ),
    "logged propensities": (
        np.ones(2),
        lambda p: bandits.ContextualBandit(2).learn_logged(X, [0, 1], [0.5, 0.5], p),
        "propensities",
    ),
    "KernelDescent": (
        X,
        lambda x: tracking.KernelDescent(tracking.Gaussian(1.0), 1.0, 0.1).learn(x, Y),
        "X",
    ),
    "Tracker": (Y, lambda y: tracking.Tracker(losses.Squared(), 1.0).learn(X, y), "y"),
    "Moments": (X, lambda x: Moments().add(x, Y), "X"),
}


def _learnt():
    learner = descent()
    learner.learn(X, Y)
    return learner


def one_line(error, name):
    assert "\n" not in str(error) and str(error).startswith(name)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("entry", ENTRIES)
def test_odd_arrays_are_refused_by_name(entry, odd):
    sound, take, name = ENTRIES[entry]
    take(sound)
    with pytest.raises(ValueError, match=r"must (hold numbers|be)|has shape") as caught:
        take(ODD[odd](sound))
    one_line(caught.value, name)
    if "mask" in odd:
        assert "found a masked array" in str(caught.value)


@pytest.mark.parametrize("entry", ["learn X", "learn y", "certify X", "Hedge", "Exp3"])
def test_lists_of_masked_rows_are_refused(entry):
    sound, take, _ = ENTRIES[entry]
    with pytest.raises(ValueError, match="found a masked array"):
        take([np.ma.array(row, mask=True) for row in np.atleast_1d(sound)])


@pytest.mark.parametrize("odd", [np.ma.masked, 1j, np.complex128(1), np.timedelta64(1, "s"), "1"])
def test_odd_numbers_are_refused_one_by_one(odd):
    columns, values = np.array([0, 1], np.uint32), np.array([1.0, 2.0])
    matrix = softmax()
    matrix.learn(X, [0, 1])
    for learner in (_learnt(), matrix):
        before = learner.weights
        for arguments in ((odd, 1.0), (1.0, odd)):
            with pytest.raises(ValueError, match="must hold numbers"):
                learner.learn_one(columns, values, *arguments)
        np.testing.assert_array_equal(learner.weights, before)
        assert learner.rounds == 2
    bandit = bandits.Exp3(2, eta=0.1, seed=0)
    with pytest.raises(ValueError, match=r"the cost must be a number|must be one number"):
        bandit.learn(bandit.decide(), odd)
    with pytest.raises(ValueError, match="value must be a number"):
        oco.Game(2, mirrors.Euclidean(), rates.Constant(0.1)).suffer(odd, [1.0, 1.0])


@pytest.mark.parametrize("name", ["indices", "indptr"])
@pytest.mark.parametrize("kind", [np.float64, np.float32, "timedelta64[s]", object])
def test_csr_indices_that_are_no_whole_numbers_are_refused(name, kind):
    rows = {
        "indptr": np.array([0, 1, 2]),
        "indices": np.array([0, 1]),
        "data": np.ones(2),
        "shape": (2, 2),
    }
    descent().learn(SimpleNamespace(**rows), Y)
    rows[name] = rows[name].astype(kind)
    with pytest.raises(ValueError, match=r"X has .* of type .*, expected whole numbers"):
        descent().learn(SimpleNamespace(**rows), Y)


def test_masked_columns_of_one_row_are_refused():
    with pytest.raises(ValueError, match="indices must hold numbers: found a masked array"):
        descent().learn_one(np.ma.array([0, 1], mask=[True, False]), [1.0, 2.0], 1.0)


def test_masked_points_and_groups_are_refused():
    with pytest.raises(ValueError, match="found a masked array"):
        classes.Halving(classes.thresholds(3)).learn(masked([0, 1]), [0, 0])
    with pytest.raises(ValueError, match="found a masked array"):
        classes.Elimination(2, 1).learn(masked([[0, 1]]), [0])
    with pytest.raises(ValueError, match="found a masked array"):
        classes.Ranking(3, 10).learn(masked([0, 2]))
    with pytest.raises(ValueError, match="qid must hold numbers: found a masked array"):
        nr.Ranker().learn(X, Y, qid=masked([1, 1]))


@pytest.mark.parametrize("odd", ["masked", "with a mask", "dates", "durations"])
@pytest.mark.parametrize("name", ["OnlineClassifier", "OnlineRegressor", "DualRegressor"])
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_estimators_refuse_odd_arrays(name, call, odd):
    pytest.importorskip("sklearn")
    import noregret.sklearn as estimators

    rows, y, w = np.tile(X, (5, 1)), np.tile(Y, 5), np.ones(10)
    make = getattr(estimators, name)
    getattr(make(), call)(rows, y, sample_weight=w)
    cases = [("X", (ODD[odd](rows), y), {}), ("sample_weight", (rows, y), {"sample_weight": 0})]
    if "mask" in odd or name != "OnlineClassifier":
        cases.append(("y", (rows, ODD[odd](y)), {}))
    for argument, given, options in cases:
        options = dict.fromkeys(options, ODD[odd](w))
        with pytest.raises(ValueError, match=f"^{argument} must hold numbers: found") as caught:
            getattr(make(), call)(*given, **options)
        assert "\n" not in str(caught.value)


def test_real_numbers_of_every_kind_are_taken():
    mixed = np.array([1, 2.5, True, np.float32(0.5), Fraction(1, 4), Decimal("0.125")], object)
    assert real_array("X", mixed).tolist() == [1.0, 2.5, 1.0, 0.5, 0.25, 0.125]
    for kind in "?bhilqBHILQefdg":
        assert real_array("X", np.ones(2, kind)).tolist() == [1.0, 1.0]
    assert real_array("X", np.ones(2, ">f8")).dtype.isnative
    with pytest.raises(ValueError, match="X must hold numbers: int too large"):
        real_array("X", [10**400])


@pytest.mark.parametrize("value", [True, np.True_, np.array(True)])
def test_truth_values_are_no_counts_and_no_rates(value):
    for take in (as_positive, as_whole):
        with pytest.raises(ValueError, match=r"^a must be a .*, got "):
            take("a", value)


@pytest.mark.parametrize(
    "value", [np.array("1"), np.array("1", object), Fraction(10**5000), [10**5000]]
)
def test_one_number_is_refused_by_its_name(value):
    with pytest.raises(ValueError, match=r"^a must be a number, got .{1,60}$"):
        as_real("a", value)


@pytest.mark.parametrize("value", [10**400, np.zeros((3, 3)), [[1.0], [2.0]]])
def test_parameters_are_refused_in_one_line(value):
    with pytest.raises(ValueError, match=r"^Hinge\(margin=...\) must be a number, got .{1,60}$"):
        losses.Hinge(value)


@pytest.mark.parametrize("value", ["no", "", 2, 0.5, [True]])
def test_a_switch_is_true_or_false(value):
    with pytest.raises(ValueError, match=r"\(invariant=...\) must be True or False, got "):
        rates.PerCoordinate(1.0, invariant=value)
    assert rates.PerCoordinate(1.0, invariant=np.True_).invariant is True


def test_a_refused_entry_is_shown_with_all_its_digits():
    with pytest.raises(ValueError, match=r"y row 1: label 1\.000000001; Hinge expects"):
        descent().learn(X, [1.0, 1.000000001])
    with pytest.raises(ValueError, match=r"y row 0: class 12345678, expected .* 0 to 1;"):
        softmax().learn(X, [12345678, 0])
    with pytest.raises(ValueError, match=r"predictions row 0: 1e\+160; .* below 1e150"):
        nr.certify(X, Y, [1e160, 0.0], losses.Hinge())
