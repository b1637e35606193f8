"""scikit-learn's own checks, all of them, and how many of them each estimator passes."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import noregret as nr
from noregret.sklearn import DualClassifier, DualRegressor, OnlineClassifier, OnlineRegressor
from tests.sizes import FULL

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
    # Newton's steps solve the squared loss of a regressor at once.
    exact = isinstance(model, DualRegressor) or model.tol == EXACT.tol
    return {} if exact else COARSE


#: The checks that fit hundreds of rows, or fit again and again: five sixths of the time of all.
LONG = (
    "check_classifiers_train",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    *WEIGHTED,
    "check_positive_only_tag_during_fit",
    "check_dtype_object",
    "check_class_weight_classifiers",
    "check_fit_idempotent",
    "check_classifiers_classes",
    "check_supervised_y_2d",
    "check_fit_check_is_fitted",
    "check_estimators_dtypes",
    "check_n_features_in",
    "check_non_transformer_estimators_n_iter",
    "check_estimator_sparse_tag",
    "check_fit_score_takes_y",
    "check_decision_proba_consistency",
    "check_pipeline_consistency",
    "check_sample_weights_list",
    "check_classifier_data_not_an_array",
)
CHECKS = parametrize_with_checks(OTHERS, expected_failed_checks=excused).mark


def chosen() -> list[Any]:
    """Return every check of every estimator, but each of the long ones for one, in turn.

    `make soak` takes all for all; the defaults pass all checks compiled, below.
    """
    cases = [*CHECKS.args[1]]
    if FULL:
        return cases
    named = defaultdict(list)
    for case in cases:
        _, check = getattr(case, "values", case)
        named[CHECKS.kwargs["ids"](check)].append(case)
    long = [name for name in named if name.partition("(")[0] in LONG]
    for turn, name in enumerate(long):
        named[name] = [named[name][turn % len(named[name])]]
    return [case for several in named.values() for case in several]


@pytest.mark.parametrize("estimator, check", chosen(), ids=CHECKS.kwargs["ids"])
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
