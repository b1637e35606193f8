"""Streams through `partial_fit`: row by row is all at once, to the bit, whatever comes."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse

import noregret as nr
from noregret import rates
from noregret.sklearn import DualClassifier, DualRegressor, OnlineClassifier, OnlineRegressor
from noregret.sklearn.columns import Signed
from tests.sizes import sized

CLASSIFIERS = {
    "logistic": OnlineClassifier(rate="scale_free"),
    "hinge": OnlineClassifier("hinge", class_weight="balanced", rate="scale_free"),
    "squared_hinge": OnlineClassifier("squared_hinge", fit_intercept=False, rate="scale_free"),
    "softmax": OnlineClassifier(multiclass="softmax", class_weight={"c": 3.0}, rate="scale_free"),
    "joint hinge": OnlineClassifier(
        "hinge", multiclass="multiclass_hinge", class_weight="balanced", rate="scale_free"
    ),
    "coins": OnlineClassifier("hinge", rate="coin_betting"),
    "grid": OnlineClassifier("hinge", rate="grid"),
    "mixture": OnlineClassifier(multiclass="one_against_rest", rate="mixture"),
    "default": OnlineClassifier(),
    "constant": OnlineClassifier(rate=nr.rates.Constant(0.1), class_weight={"b": 0.0, "d": 0.0}),
    "dual": DualClassifier("logistic", C=0.3),
    "dual hinge": DualClassifier(C=0.3, class_weight="balanced"),
}
#: Many learners a class, on fewer rows.
MANY = ("grid", "mixture", "default")
REGRESSORS = {
    "squared": OnlineRegressor(rate="scale_free"),
    "huber": OnlineRegressor("huber", rate=nr.rates.Adaptive(), fit_intercept=False),
    "real grid": OnlineRegressor("absolute", rate="grid"),
    "real default": OnlineRegressor(),
    "real dual": DualRegressor("epsilon_insensitive"),
}


def stream(count: int = 120, classes: str = "abcd"):
    """Return rows, labels that become known one after the other, and weights, some of them 0."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((count, 6)) * (rng.random((count, 6)) < 0.6)
    late = np.minimum(rng.integers(0, len(classes), count), np.arange(count) // 20)
    X[:, 0] += late
    weight = rng.integers(0, 3, count).astype(float)
    return X, np.array(list(classes))[late], weight


def forms(X):
    """Return the rows as a user may hold them."""
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return {"float64": X, "float32": X.astype(np.float32), "CSR of int64": wide}


def cuts(kind: str, count: int) -> list[slice]:
    """Return consecutive parts of a stream."""
    rng = np.random.default_rng(1)
    inner = {
        "rows": range(1, count),
        "parts": np.unique(rng.integers(1, count, 7)).tolist(),
        "whole": [],
    }[kind]
    ends = [0, *inner, count]
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


def content(model):
    """Return all that a model knows, to the bit."""
    platt = getattr(model._learner, "platt", None)
    found = model.certificate_
    known = [model.coef_, model.intercept_, [] if platt is None else platt.state]
    known += [each.loss for each in (found if isinstance(found, tuple) else [found])]
    numbers = [np.asarray(each, np.float64).tobytes() for each in known]
    return *getattr(model, "classes_", ()), *numbers


def played(model, X, y, weight, kind):
    for part in cuts(kind, len(y)):
        model.partial_fit(X[part], y[part], sample_weight=None if weight is None else weight[part])
    return model


FORMS = ["float64", "float32", "CSR of int64"]
WEIGHTED = [False, True]
#: The next form and the other weights with every classifier; all with all in `make soak`.
PLAYED = sized(
    [*zip(CLASSIFIERS, itertools.cycle(FORMS), itertools.cycle(WEIGHTED))],
    [*itertools.product(CLASSIFIERS, FORMS, WEIGHTED)],
)


@pytest.mark.parametrize(("name", "form", "weighted"), PLAYED)
def test_classes_that_appear_row_by_row_are_those_of_one_call(name, form, weighted) -> None:
    X, y, weight = stream(sized(45, 60) if name in MANY else sized(80, 120))
    X = forms(X)[form]
    model = CLASSIFIERS[name]
    ends = {
        content(played(pickle.loads(pickle.dumps(model)), X, y, weight if weighted else None, kind))
        for kind in ("rows", "parts", "whole")
    }
    assert len(ends) == 1


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["logistic", "dual"])
def test_machine_code_learns_classes_row_by_row_as_at_once(name) -> None:
    test_classes_that_appear_row_by_row_are_those_of_one_call(name, "float64", True)


@pytest.mark.parametrize(
    ("name", "form"),
    sized([*zip(REGRESSORS, itertools.cycle(FORMS))], [*itertools.product(REGRESSORS, FORMS)]),
)
def test_targets_row_by_row_are_those_of_one_call(name, form) -> None:
    X, _, weight = stream(sized(40, 60))
    y = X[:, 0] - 2.0 * X[:, 1] + 3.0
    model = REGRESSORS[name]
    ends = {
        content(played(pickle.loads(pickle.dumps(model)), forms(X)[form], y, weight, kind))
        for kind in ("rows", "parts", "whole")
    }
    assert len(ends) == 1


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_many_chunks_are_one(name, monkeypatch) -> None:
    X, y, weight = stream(sized(45 if name in MANY else 80, 120))
    model = CLASSIFIERS[name]
    whole = content(played(pickle.loads(pickle.dumps(model)), X, y, weight, "whole"))
    for module in ("noregret.rows.examples", "noregret.sklearn.rows", "noregret.sklearn.estimator"):
        monkeypatch.setattr(f"{module}.CHUNK", 16)
    for form in ("float64", "CSR of int64"):
        small = played(pickle.loads(pickle.dumps(model)), forms(X)[form], y, weight, "parts")
        if form == "float64":
            assert content(small) == whole
        assert small.predict(forms(X)[form]).shape == y.shape


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_rows_of_weight_0_change_nothing(name) -> None:
    X, y, weight = stream(sized(45, 60) if name in MANY else sized(100, 120))
    kept = weight > 0.0
    model = CLASSIFIERS[name]
    weighted = played(pickle.loads(pickle.dumps(model)), X, y, weight, "parts")
    without = played(pickle.loads(pickle.dumps(model)), X[kept], y[kept], weight[kept], "rows")
    assert content(weighted) == content(without)
    options = {"random_state": 0}
    if "passes" in model.get_params():
        options["passes"] = sized(2, 10)
    fitted = pickle.loads(pickle.dumps(model)).set_params(**options).fit(X, y, weight)
    fewer = pickle.loads(pickle.dumps(model)).set_params(**options)
    fewer.fit(X[kept], y[kept], weight[kept])
    assert fitted.coef_.tobytes() == fewer.coef_.tobytes()


@pytest.mark.parametrize("name", CLASSIFIERS | REGRESSORS)
def test_a_pickle_goes_on_to_the_bit(name) -> None:
    X, y, weight = stream(sized(80, 120))
    model = CLASSIFIERS.get(name) or REGRESSORS[name]
    y = y if name in CLASSIFIERS else X @ np.arange(6.0)
    copy = pickle.loads(pickle.dumps(model))
    halfway = played(pickle.loads(pickle.dumps(model)), X[:50], y[:50], weight[:50], "parts")
    resumed = pickle.loads(pickle.dumps(halfway))
    played(resumed, X[50:], y[50:], weight[50:], "parts")
    assert content(resumed) == content(played(copy, X, y, weight, "whole"))


def test_classes_are_those_of_the_stream_or_as_declared() -> None:
    X, y, _ = stream(classes="cab")
    model = OnlineClassifier(rate="scale_free")
    model.partial_fit(X[:20], y[:20])
    assert model.classes_.tolist() == ["c"]
    assert (model.predict(X) == "c").all() and (model.predict_proba(X) == 1.0).all()
    model.partial_fit(X[20:], y[20:])
    assert model.classes_.tolist() == ["c", "a", "b"]
    assert model.coef_.shape == (3, 6) and model.decision_function(X).shape == (120, 3)
    declared = OnlineClassifier(rate="scale_free").partial_fit(X[:20], y[:20], classes=["c", "b"])
    assert declared.classes_.tolist() == ["b", "c"]
    assert (declared.predict(X[:20]) == "c").all()
    declared.partial_fit(X, y, classes=["z", "b"])
    assert declared.classes_.tolist() == ["b", "c", "z", "a"]
    assert declared.predict_proba(X).shape == (120, 4)
    assert OnlineClassifier(rate="scale_free").fit(X, y).classes_.tolist() == ["a", "b", "c"]


def test_two_declared_classes_become_three_as_if_each_had_been_against_the_rest() -> None:
    X, y, _ = stream(classes="abc")
    third = int(np.flatnonzero(y == "c")[0])
    model = OnlineClassifier(fit_intercept=False, rate="scale_free").partial_fit(
        X, y, classes=["a", "b"]
    )
    plain = nr.mirrors.Euclidean(), nr.rates.ScaleFree()
    for k, name in enumerate("abc"):
        learner = nr.MirrorDescent(nr.losses.Logistic(), *plain, dimension=6)
        begin = third if name == "c" else 0
        learner.learn(X[begin:], np.where(y[begin:] == name, 1.0, -1.0))
        assert model.coef_[k].tobytes() == learner.weights.tobytes()


def test_the_core_learns_the_same_with_the_constant_given() -> None:
    X, y, weight = stream(classes="ab")
    wide = np.hstack([X, np.ones((len(X), 1))])
    learner = nr.MirrorDescent(
        nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.ScaleFree(), dimension=7
    )
    kept = weight > 0.0
    learner.learn(wide[kept], np.where(y == "b", 1.0, -1.0)[kept], weight[kept])
    model = OnlineClassifier("hinge", rate="scale_free").partial_fit(
        X, y, classes=["a", "b"], sample_weight=weight
    )
    assert np.append(model.coef_[0], model.intercept_).tobytes() == learner.weights.tobytes()
    assert model.certificate_.as_dict() == learner.certificate().as_dict()
    assert (model.decision_function(X) == learner.predict(wide)).all()


def test_balanced_weights_are_those_of_the_rows_so_far() -> None:
    X, y, _ = stream(classes="ab")
    running = np.empty(len(y))
    for t, label in enumerate(y):
        seen = y[: t + 1]
        running[t] = (t + 1) / (len(set(seen)) * np.count_nonzero(seen == label))
    balanced = OnlineClassifier(class_weight="balanced", rate="scale_free").partial_fit(X, y)
    weighted = OnlineClassifier(rate="scale_free").partial_fit(X, y, sample_weight=running)
    assert content(balanced) == content(weighted)


def test_weights_of_classes_multiply_those_of_the_rows() -> None:
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    weight = rng.choice([0.5, 1.0, 3.0], 80)
    told = OnlineClassifier(class_weight={0: 2.0}, rate="scale_free").partial_fit(
        X, y, [0, 1], weight
    )
    by_hand = OnlineClassifier(rate="scale_free").partial_fit(
        X, y, [0, 1], weight * np.where(y == 0, 2.0, 1.0)
    )
    assert np.array_equal(told.coef_, by_hand.coef_)
    assert not np.array_equal(
        told.coef_, OnlineClassifier(rate="scale_free").partial_fit(X, y, [0, 1]).coef_
    )


def test_the_class_of_a_row_that_diverges_is_not_known() -> None:
    X, y = np.array([[1.0], [1.0], [1e60], [1.0]]), np.array(["a", "b", "c", "a"])
    model = OnlineClassifier(rate=rates.Constant(1e140))
    with pytest.raises(OverflowError, match="round 3 overflows"):
        model.partial_fit(X, y)
    before = OnlineClassifier(rate=rates.Constant(1e140)).partial_fit(X[:2], y[:2])
    assert model.classes_.tolist() == ["a", "b"]
    assert content(model) == content(before)


def test_a_learner_of_the_opposite_labels_goes_on_as_if_it_had_seen_them() -> None:
    X, y = np.random.default_rng(1).normal(size=(40, 2)), np.tile([1.0, -1.0], 20)
    loss, mirror, rate = nr.losses.Hinge(), nr.mirrors.Euclidean(), rates.Constant(0.1)
    one, other = (Signed(nr.MirrorDescent(loss, mirror, rate), mirror) for _ in range(2))
    one.learn(X[:20], y[:20], None)
    other.learn(X[:20], -y[:20], None)
    turned = one.turned()
    assert np.array_equal(turned.weights(), other.weights())
    assert np.array_equal(turned.learn(X[20:], y[20:], None), other.learn(X[20:], y[20:], None))


def test_nothing_is_learnt_from_no_row() -> None:
    X, y, weight = stream()
    model = OnlineClassifier(rate="scale_free").partial_fit(X, y, sample_weight=0.0 * weight)
    with pytest.raises(Exception, match="not fitted"):
        model.predict(X)
    assert content(model.partial_fit(X, y)) == content(
        OnlineClassifier(rate="scale_free").partial_fit(X, y)
    )


@pytest.mark.parametrize("kind", [int, str, bool, np.int8, object])
def test_labels_of_any_kind_are_classes(kind, recwarn) -> None:
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = (np.arange(60) // 2 % (2 if kind is bool else 30)).astype(kind)
    model = OnlineClassifier(rate="scale_free").partial_fit(X, y)
    assert model.classes_.tolist() == list(dict.fromkeys(y.tolist()))
    assert model.predict(X).dtype == y.dtype and not recwarn.list


def test_a_fit_that_fails_leaves_nothing_half_learnt() -> None:
    X, y, _ = stream()
    model = OnlineClassifier(rate="scale_free").fit(X, y)
    with pytest.raises(ValueError, match="no such rate"):
        model.set_params(rate="none").fit(X, np.arange(120) % 2)
    with pytest.raises(Exception, match="not fitted"):
        model.predict(X)
