"""Every objective that is printed says how the examples are weighted."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.weighing import weighted

X = np.array([[1.0, 0.5], [-0.5, 1.0], [0.2, -1.0], [-1.0, -0.3], [0.4, 0.1], [0.6, -0.2]])
Y = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
UNEQUAL = np.array([0.5, 2.0, 20.0, 1.0, 0.5, 3.0])
RANGE = "weight x {} (weights 0.5 to 20)"


def _hinge(u: np.ndarray[Any, Any], weight: Any = 1.0) -> float:
    return float(np.sum(weight * np.maximum(0.0, 1.0 - Y * (X @ u))))


def test_the_dual_classifier_states_its_constant() -> None:
    from noregret.sklearn import DualClassifier

    model = DualClassifier(C=100, fit_intercept=False).fit(X, Y)
    solution = model.certificate_
    text = str(solution)
    stated = re.search(r"sum of ([\d.]+) x Hinge\S* \+ ([\d.]+) x Euclidean", text)
    least = re.search(r"no predictor has less than +(\S+)", text)
    assert stated is not None and least is not None, text
    # The solution itself by the sentence that is printed, which must not refute it.
    u = np.ravel(solution.weights)
    by_the_sentence = float(stated[1]) * _hinge(u) + float(stated[2]) * float(u @ u) / 2.0
    assert float(least[1]) <= by_the_sentence
    assert by_the_sentence == pytest.approx(solution.primal, rel=1e-6)


@pytest.mark.parametrize("options", [{"radius": 2.0}, {"l2": 1.0}, {"l2": 1.0, "bias": True}])
def test_the_best_in_hindsight_names_its_weights(options: dict[str, Any]) -> None:
    plain = nr.hindsight(X, Y, nr.losses.Hinge(), **options)
    assert "weight" not in plain.objective and "sum of Hinge" in str(plain)
    equal = nr.hindsight(X, Y, nr.losses.Hinge(), weight=np.full(6, 0.25), **options)
    assert "sum of 0.25 x Hinge" in equal.objective and equal.objective in str(equal)
    unequal = nr.hindsight(X, Y, nr.losses.Hinge(), weight=UNEQUAL, **options)
    assert f"sum of {RANGE.format('Hinge(margin=1.0)')}" in unequal.objective
    assert unequal.objective in str(unequal)


def test_the_best_in_hindsight_names_offsets() -> None:
    moved = nr.hindsight(X, Y, nr.losses.Hinge(), l2=1.0, offset=np.full(6, 0.5))
    assert "Hinge(margin=1.0) at <w, x> + offset" in moved.objective


@pytest.mark.parametrize("loss", [nr.losses.Softmax(), nr.losses.OneAgainstRest()])
def test_the_best_matrix_names_its_weights(loss: Any) -> None:
    classes = np.array([0, 1, 2, 1, 0, 2])
    assert "weight" not in nr.hindsight(X, classes, loss, l2=1.0).objective
    found = nr.hindsight(X, classes, loss, l2=1.0, weight=UNEQUAL)
    assert "sum of weight x " in found.objective and "(weights 0.5 to 20)" in found.objective


def test_a_path_of_strengths_names_its_weights() -> None:
    from noregret.batch import regularization_path

    path = regularization_path(X, Y, nr.losses.Hinge(), [2.0, 1.0], weight=UNEQUAL)
    assert all("(weights 0.5 to 20)" in solution.objective for solution in path)


def test_the_proof_of_drift_names_loss_and_weights() -> None:
    from noregret.tracking import drift_proof

    rows, labels = np.ones((40, 1)), np.repeat([1.0, -1.0], 20)
    assert " by Squared," in str(drift_proof(rows, labels, radius=1.0))
    heavy = drift_proof(rows, labels, radius=1.0, weight=np.full(40, 3.0))
    assert " by 3 x Squared," in str(heavy) and heavy.as_dict()["objective"] == "3 x Squared"
    mixed = drift_proof(rows, labels, radius=1.0, weight=np.repeat([1.0, 2.0], 20))
    assert " by weight x Squared (weights 1 to 2)," in str(mixed)


def test_ranges_are_rounded_outwards() -> None:
    words = weighted("Hinge", 0.12345678, 9.87654321)
    assert words == "weight x Hinge (weights 0.123456 to 9.87655)"
    assert weighted("Hinge", 1 / 3, 1 / 3) == "0.3333333333333333 x Hinge"
