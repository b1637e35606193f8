"""What the estimators learn where no rate is named: the mixture of the command line."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import noregret as nr
from noregret.experts import ScoreAggregate

pytest.importorskip("sklearn")

from noregret.sklearn import OnlineClassifier, OnlineRegressor

RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(60, 3)) * [1.0, 1e3, 1e-3] + [0.0, 1e4, 0.1]
SCORE = (X - X.mean(axis=0)) / X.std(axis=0) @ [1.0, -1.0, 0.5]
TWO = np.where(SCORE > 0.0, 1, 0)
THREE = np.digitize(SCORE, [-0.5, 0.7])
WIDE = np.column_stack([X, np.ones(len(X))])


def test_two_known_classes_are_learnt_by_the_mixture() -> None:
    model = OnlineClassifier().partial_fit(X, TWO, classes=[0, 1])
    mixture = nr.Mixture(nr.losses.Logistic())
    mixture.learn(WIDE, 2.0 * TWO - 1.0)
    np.testing.assert_array_equal(model.decision_function(X), mixture.predict(WIDE))
    place, member = mixture.representative
    weights, offset = member.affine()
    np.testing.assert_array_equal(model.coef_[0], weights[:3])
    assert model.intercept_[0] == weights[3] + offset
    assert model.weights_of_.startswith(f"member {place + 1} of {len(mixture.members)}, ")
    named = OnlineClassifier(rate="mixture").partial_fit(X, TWO, classes=[0, 1])
    np.testing.assert_array_equal(named.predict_proba(X), model.predict_proba(X))


def test_more_classes_are_learnt_by_the_mixture_of_softmax() -> None:
    model = OnlineClassifier().partial_fit(X, THREE, classes=[0, 1, 2])
    mixture = ScoreAggregate()
    mixture.grow(3)
    mixture.learn(WIDE, THREE)
    np.testing.assert_array_equal(model.decision_function(X), mixture.predict(WIDE))
    chances = np.exp(mixture.predict(WIDE))
    np.testing.assert_allclose(model.predict_proba(X), chances, rtol=1e-12)
    place, member = mixture.representative
    np.testing.assert_array_equal(model.coef_, member.affine()[0].T[:, :3])
    assert model.weights_of_.startswith(f"member {place + 1} of {len(mixture.members)}, ")


def test_rows_do_not_choose_between_the_forms_for_two_classes_and_for_more() -> None:
    """The first rows have two classes, whichever way they are cut."""
    order = np.argsort(THREE, kind="stable")
    rows, labels = X[order], THREE[order]
    whole, cut = OnlineClassifier().partial_fit(rows, labels), OnlineClassifier()
    for k in range(0, len(rows), 7):
        cut.partial_fit(rows[k : k + 7], labels[k : k + 7])
    np.testing.assert_array_equal(cut.coef_, whole.coef_)
    np.testing.assert_array_equal(cut.predict_proba(X), whole.predict_proba(X))
    assert type(whole._learner.learner) is ScoreAggregate


def test_a_third_class_joins_two_that_were_declared() -> None:
    model = OnlineClassifier().partial_fit(X[:30], TWO[:30], classes=[0, 1])
    assert model.coef_.shape == (1, 3)
    model.partial_fit(X, THREE)
    assert model.coef_.shape == (3, 3) and model.classes_.tolist() == [0, 1, 2]
    assert len(model.weights_of_) == 3
    assert all(one.startswith("member ") for one in model.weights_of_)
    assert model.score(X, THREE) > 0.5


@pytest.mark.parametrize(
    ("options", "classes", "kind"),
    [
        ({}, [0, 1], nr.Mixture),
        ({"loss": "hinge"}, [0, 1], nr.Mixture),
        ({"multiclass": "softmax"}, [0, 1], ScoreAggregate),
        ({"loss": "hinge"}, [0, 1, 2], nr.MatrixDescent),
        ({"loss": "hinge"}, None, nr.MirrorDescent),
        ({"multiclass": "ovr"}, [0, 1, 2], nr.MatrixDescent),
        ({"rate": "scale_free"}, [0, 1], nr.MirrorDescent),
        ({"rate": "scale_free"}, [0, 1, 2], nr.MatrixDescent),
        ({"mirror": "ball:3"}, [0, 1], nr.MirrorDescent),
        ({"mirror": "p-norm:3"}, [0, 1], nr.MirrorDescent),
    ],
    ids=str,
)
def test_what_is_learnt(options, classes, kind) -> None:
    model = OnlineClassifier(**options).partial_fit(X[:9], TWO[:9], classes=classes)
    held = model._learner
    learner = held.columns[0].learner if hasattr(held, "columns") else held.learner
    if classes is None:
        learner = getattr(learner, "learners", [learner])[0]
    assert type(learner) is kind or (classes is None and type(learner) is nr.MatrixDescent)
    alone = kind in (nr.MirrorDescent, nr.MatrixDescent)
    assert (model.weights_of_ is None) == alone
    if alone:
        expected = nr.rates.Adaptive() if "mirror" in options else nr.rates.ScaleFree()
        assert learner.rate == expected


def test_numbers_are_learnt_by_the_mixture_of_their_loss() -> None:
    model = OnlineRegressor().partial_fit(X, SCORE)
    mixture = nr.Mixture(nr.losses.Squared())
    mixture.learn(WIDE, SCORE)
    np.testing.assert_array_equal(model.predict(X), mixture.predict(WIDE))
    place, member = mixture.representative
    np.testing.assert_array_equal(model.coef_, member.affine()[0][:3])
    assert model.weights_of_.startswith(f"member {place + 1} of {len(mixture.members)}, ")
    assert OnlineRegressor(rate="scale_free").partial_fit(X, SCORE).weights_of_ is None


def test_a_pickle_goes_on_to_the_bit() -> None:
    for classes in ([0, 1], [0, 1, 2]):
        y = TWO if len(classes) == 2 else THREE
        whole = OnlineClassifier().partial_fit(X, y, classes=classes)
        half = OnlineClassifier().partial_fit(X[:23], y[:23], classes=classes)
        again = pickle.loads(pickle.dumps(half)).partial_fit(X[23:], y[23:])
        np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))
