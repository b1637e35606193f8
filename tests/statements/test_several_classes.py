"""The certificate of several classes is one value, whichever learner stands behind it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from noregret import losses, mirrors, rates
from noregret.sklearn import DualClassifier, OnlineClassifier

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def online(rate: Any, **options: Any) -> OnlineClassifier:
    model = OnlineClassifier("hinge", rate=rate, passes=1, shuffle=False, **options)
    return model.fit(X[::5], NAMES[::5])


RATES = ["scale_free", "coin_betting", "grid", rates.Constant(0.1), rates.Adaptive(1.0)]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_every_rate_has_one_certificate(rate: Any) -> None:
    model = online(rate)
    proof = model.certificate_
    assert not isinstance(proof, tuple)
    assert proof.rounds == 30
    assert str(proof) == proof.text()
    assert str(proof).startswith("Certificate after 30 rounds, ")
    told = proof.as_dict()
    assert json.loads(json.dumps(told))["rounds"] == 30
    assert told["loss"] == proof.loss and told["objective"] == proof.objective
    assert told["objective"] in str(proof).splitlines()[0]
    assert proof.floor(1.0) <= proof.loss + 1e-9


def test_sums_over_the_classes_hold_for_any_choice_of_predictors() -> None:
    proof = online("coin_betting", fit_intercept=False).certificate_
    rows, names = X[::5], NAMES[::5]
    assert proof.loss == pytest.approx(sum(part.loss for part in proof))
    for seed in range(5):
        U = np.random.default_rng(seed).normal(size=(4, 3))
        scores = rows @ U
        signs = np.where(names[:, None] == np.unique(NAMES), 1.0, -1.0)
        lost = np.maximum(0.0, 1.0 - signs * scores).sum()
        assert proof.regret(U) >= proof.loss - lost - 1e-9
        sizes = np.abs(rows).max(axis=0)
        radius = max(float(np.linalg.norm(sizes * u)) for u in U.T)
        assert proof.floor(radius) <= lost
        assert proof.regret_bound(radius) >= proof.loss - lost - 1e-9
    with pytest.raises(ValueError, match="expected a column a class"):
        proof.regret(np.zeros(4))


def test_classes_are_named() -> None:
    proof = online(rates.Adaptive(1.0), mirror=mirrors.PNorm(3.0)).certificate_
    text = str(proof)
    for name in ("setosa", "versicolor", "virginica"):
        assert f"  class {name}: Certificate after 30 rounds, Hinge" in text
    assert list(proof.as_dict()["classes"]) == ["setosa", "versicolor", "virginica"]
    assert "sum over 3 classes against the rest: Hinge" in text.splitlines()[0]
    assert len(proof) == 3 and proof[1] is list(proof)[1]


@dataclass(frozen=True)
class Sunk(losses.Hinge):
    """The hinge loss near 0; far away it is negative, against its promise."""

    def value(self, y: float, p: float) -> float:
        return max(0.0, 1.0 - y * p) if abs(p) < 20.0 else -1.0


def test_nothing_is_stated_once_a_promise_was_broken() -> None:
    model = OnlineClassifier(
        Sunk(), rate=rates.Constant(10.0), mirror=mirrors.PNorm(3.0), passes=1, shuffle=False
    )
    proof = model.fit(X[::15], NAMES[::15]).certificate_
    assert any(part.broken is not None for part in proof)
    told, text = proof.as_dict(1.0), proof.text(1.0)
    assert told["floor"] is None and told["regret_bound"] is None
    assert "no statement: the loss of a class broke a promise" in text.splitlines()[2]
    assert "certified floor" not in text and "regret at most" not in text


def test_the_optimum_of_several_classes_is_one_value() -> None:
    model = DualClassifier("hinge", random_state=0).fit(X, NAMES)
    best = model.certificate_
    assert not isinstance(best, tuple) and len(best) == 3
    assert best.dual <= best.primal and best.primal >= model.objective_
    assert best.dual <= sum(part.dual for part in best)
    assert "class virginica: Best in hindsight" in str(best)
    told = best.as_dict()
    assert list(told["classes"]) == ["setosa", "versicolor", "virginica"]
    assert told["dual"] == best.dual and json.dumps(told)
    rounds = model.partial_fit(X[:10], NAMES[:10]).certificate_
    assert rounds.rounds == 10 and "class setosa: Certificate after 10 rounds" in str(rounds)


def test_the_name_of_a_class_forges_no_line() -> None:
    names = np.array(["a", "b", "c\n  certified floor 9999"])[Y]
    model = OnlineClassifier("hinge", rate="coin_betting", passes=1).fit(X[::5], names[::5])
    text = str(model.certificate_)
    assert "\\n  certified floor 9999: Certificate after" in text
    assert not [line for line in text.splitlines() if line.strip() == "certified floor 9999"]
