"""scikit-learn's own checks, all of them, and how many of them each estimator passes."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import noregret as nr
from noregret.sklearn import DualClassifier, DualRegressor, OnlineClassifier, OnlineRegressor

WEIGHTED = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
#: As with scikit-learn's own SGD.
STEPS = dict.fromkeys(WEIGHTED, "a row of weight 2 is one step, two equal rows are two")
#: These checks ask for 1e-7. That a weight is a repetition is tested in test_dual_estimators.py.
COARSE = dict.fromkeys(WEIGHTED, "two fits to a small gap agree to about its root")

DEFAULTS = [OnlineClassifier(), OnlineRegressor(), DualClassifier(), DualRegressor()]
#: Near enough to the optimum for the checks of weights as well.
EXACT = DualClassifier(tol=1e-10)
OTHERS = [
    OnlineClassifier("hinge"),
    OnlineClassifier("squared_hinge"),
    OnlineClassifier(multiclass="softmax"),
    OnlineClassifier("hinge", multiclass="multiclass_hinge"),
    OnlineClassifier(rate="coin_betting"),
    DualClassifier("logistic"),
    OnlineRegressor(nr.losses.Absolute(), rate=nr.rates.Adaptive(), fit_intercept=False),
]


def excused(model) -> dict[str, str]:
    """Return the checks that fail, each with the reason."""
    if isinstance(model, (OnlineClassifier, OnlineRegressor)):
        return STEPS
    return {} if model.tol == EXACT.tol else COARSE


@parametrize_with_checks(OTHERS, expected_failed_checks=excused)
def test_estimators_keep_the_contract_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.mark.compiled
@pytest.mark.parametrize("model", [*DEFAULTS, EXACT], ids=repr)
def test_the_defaults_pass_all_checks_that_are_not_excused(model, capsys) -> None:
    with warnings.catch_warnings():
        # A linear machine does not separate all that the checks ask for, and says so.
        warnings.simplefilter("ignore")
        found = check_estimator(
            model, expected_failed_checks=excused(model), on_fail=None, on_skip=None
        )
    ends = Counter(each["status"] for each in found)
    with capsys.disabled():
        counts = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
        print(f"\nscikit-learn's checks of {model}: {counts}")
    wrong = [
        (each["check_name"], each["exception"]) for each in found if each["status"] == "failed"
    ]
    assert not wrong
    assert {each["check_name"] for each in found if each["status"] == "xfail"} == set(
        excused(model)
    )
    assert ends["passed"] >= 50
