"""Probabilities of the estimators for River, of logistic losses and of hinges."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from noregret import losses

pytest.importorskip("river", reason="river is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

from noregret.river import OnlineClassifier  # noqa: E402
from tests.river.journeys import journeys  # noqa: E402


@pytest.mark.parametrize("loss", ["hinge:0.5", "squared_hinge"])
def test_hinges_have_the_probabilities_of_the_estimators_for_scikit_learn(loss: str) -> None:
    from noregret import sklearn

    rows = journeys(200)
    X = np.array([[*x.values()] for x, _ in rows])
    towns = np.array([town for _, town in rows])
    theirs = sklearn.OnlineClassifier(loss, rate="scale_free", fit_intercept=False)
    ours = OnlineClassifier(loss, fit_intercept=False)
    for start, stop, classes in ((0, 20, 2), (20, 200, 4)):
        theirs.partial_fit(X[start:stop], towns[start:stop])
        for x, town in rows[start:stop]:
            ours.learn_one(x, town)
        assert ours.classes == list(theirs.classes_) and len(ours.classes) == classes
        found = [list(ours.predict_proba_one(x).values()) for x, _ in rows]
        np.testing.assert_allclose(found, theirs.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "multiclass_hinge"])
def test_probabilities_of_hinges_are_learnt_in_frames_as_in_rows(loss: str) -> None:
    rows, many, one = journeys(200), OnlineClassifier(loss), learnt_towns(OnlineClassifier(loss))
    frame, towns = pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])
    for start in range(0, 200, 60):
        many.learn_many(frame[start : start + 60], towns[start : start + 60])
    ours = [one.predict_proba_one(x) for x, _ in rows]
    assert many.predict_proba_many(frame).to_dict("records") == [
        pytest.approx(each, rel=1e-9) for each in ours
    ]
    assert [sum(each.values()) for each in ours] == pytest.approx([1.0] * 200)
    likeliest = [max(each, key=each.__getitem__) for each in ours]
    assert likeliest == [one.predict_one(x) for x, _ in rows]


def learnt_towns(model: Any) -> Any:
    for x, town in journeys(200):
        model.learn_one(x, town)
    return model


def test_a_refused_row_leaves_the_probabilities_of_a_hinge() -> None:
    model = learnt_towns(OnlineClassifier("hinge"))
    before = pickle.dumps(model)
    for x, y, w in (({"f0": math.nan}, "Bonn", 1.0), ({"f0": 1.0}, "Lima", -1.0)):
        with pytest.raises(ValueError):
            model.learn_one(x, y, w)
    assert pickle.dumps(model) == before


def test_probabilities_of_scores_that_are_all_tiny_keep_their_order() -> None:
    model = OnlineClassifier()
    for place in range(60):
        model.learn_one({"a": 1.0, "b": place % 3 - 1.0}, "xyz"[place % 3])
    x = {"a": 1e5, "b": 1e4}
    scores = {label: model.weights["a"][k] * 1e5 for k, label in enumerate(model.classes)}
    assert max(scores.values()) < -800.0
    chances = model.predict_proba_one(x)
    assert sum(chances.values()) == pytest.approx(1.0, rel=1e-12)
    assert max(chances, key=chances.__getitem__) == model.predict_one(x)
    assert max(chances.values()) > 0.9
    many = model.predict_proba_many(pd.DataFrame([x]))
    assert many.iloc[0].to_dict() == chances


def test_probabilities_of_a_joint_loss_are_its_softmax() -> None:
    model = OnlineClassifier(losses.Softmax())
    for x, town in journeys(100):
        model.learn_one(x, town)
    x = journeys(1)[0][0]
    scores = np.array(list(model._features.ask(model._scorer.learner, x)))
    chances = np.exp(scores) / np.exp(scores).sum()
    assert list(model.predict_proba_one(x).values()) == pytest.approx(chances, rel=1e-12)
