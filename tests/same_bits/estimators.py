"""Estimators of scikit-learn and of River, and progressive validation."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from noregret import losses, mirrors, rates
from noregret import river as streams
from noregret import sklearn as estimators
from tests.same_bits.examples import LAYOUTS, Scenarios, laid, number, stream
from tests.same_bits.observe import Content, asked, plain

ROWS = 16
FITTED = ("coef_", "intercept_", "classes_", "n_features_in_", "certificate_", "n_iter_",
          "dual_gap_", "objective_")  # fmt: skip
ASKED = ("predict", "decision_function", "predict_proba", "predict_log_proba")


def _labels(kind: str, seed: int) -> tuple[np.ndarray, Any, np.ndarray]:
    X, y, weight = stream("real" if kind == "real" else "class", seed, ROWS)
    weight = np.maximum(weight, 0.5)
    if kind == "real":
        return X, y, weight
    count = 3 if kind == "three" else 2
    return X, np.array(["a", "b", "c"])[y.astype(int) % count], weight


def _seen(model: Any, X: Any) -> Content:
    found: Content = {}
    for name in FITTED:
        if hasattr(model, name):
            found[name] = plain(asked(getattr, model, name))
    for name in ASKED:
        if hasattr(model, name):
            found[name] = plain(asked(getattr(model, name), X))
    return found


def _fitted(make: Any, kind: str, name: str) -> Content:
    """Return an estimator fitted at once, and one fitted in parts."""
    X, y, weight = _labels(kind, number(name) % 5)
    rows = laid(X, LAYOUTS[number(name) % 4])
    mass = weight if number(name) % 2 else None
    whole = make()
    failed = asked(whole.fit, rows, y, mass)
    found: Content = {"fit": failed if isinstance(failed, str) else "", "whole": _seen(whole, rows)}
    parts = make()
    for start, stop in ((0, 7), (7, 8), (8, ROWS)):
        part = slice(start, stop)
        options = {} if kind == "real" else {"classes": np.unique(y)}
        given = None if mass is None else mass[part]
        told = asked(parts.partial_fit, rows[part], y[part], sample_weight=given, **options)
        found[f"from {start}"] = told if isinstance(told, str) else ""
    return found | {"parts": _seen(parts, rows)}


def _one_by_one(make: Any, kind: str, name: str) -> Content:
    X, y, weight = _labels(kind, number(name) % 5)
    model = make()
    found: Content = {"predicted": [], "probabilities": [], "learnt": []}
    for t, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(zip("pqrs"[: 2 + t // 4], row, strict=False))
        found["predicted"].append(plain(asked(model.predict_one, x)))
        if hasattr(model, "predict_proba_one"):
            found["probabilities"].append(plain(asked(model.predict_proba_one, x)))
        mass = float(weight[t]) if t % 3 else 1.0
        found["learnt"].append(plain(asked(model.learn_one, x, label, mass)))
    for quantity in ("weights", "classes", "rounds"):
        found[quantity] = plain(asked(getattr, model, quantity, None))
    # A property in trees of before.
    proof = model.certificate
    found["certificate"] = plain(asked(proof) if callable(proof) else proof)
    return found


def scenarios(compiled: int) -> Scenarios:
    """Yield the estimators with all their options."""
    names = ("logistic", "hinge", "squared_hinge", losses.OneSidedHuber())
    several = ("one_against_rest", "softmax", "multiclass_hinge", "crammer_singer")
    all_rates: tuple[Any, ...] = ("scale_free", "grid", "coin_betting", rates.Constant(0.2))
    for loss, kind, rate in itertools.product(names, ("two", "three"), all_rates):
        if compiled and rate != "scale_free" and loss != "logistic":
            continue
        options = {"loss": loss, "rate": rate, "random_state": 1, "passes": 2}
        name = f"online classifier {kind} {options}"
        yield name, _fitted, partial(estimators.OnlineClassifier, **options), kind, name
    more: tuple[dict[str, Any], ...] = (
        {"fit_intercept": False},
        {"class_weight": "balanced"},
        {"class_weight": {"a": 2.0, "b": 0.5, "c": 1.0}},
        {"shuffle": False},
        {"mirror": mirrors.SignedEntropy(2.0), "rate": rates.Adaptive()},
        *({"multiclass": way} for way in several),
        *({"multiclass": way, "rate": rates.Constant(0.3)} for way in several),
        {"loss": "wrong"},
        {"rate": "wrong"},
    )
    for kind, options in itertools.product(("two", "three"), more):
        options = {"random_state": 1, "passes": 2, "rate": "scale_free"} | options
        name = f"online classifier {kind} {options}"
        yield name, _fitted, partial(estimators.OnlineClassifier, **options), kind, name
    targets = ("squared", "huber", "absolute", "epsilon_insensitive", losses.Quantile(0.7))
    for loss, rate in itertools.product(targets, all_rates):
        if compiled and rate != "scale_free" and loss != "squared":
            continue
        options = {"loss": loss, "rate": rate, "random_state": 1, "passes": 2}
        name = f"online regressor {options}"
        yield name, _fitted, partial(estimators.OnlineRegressor, **options), "real", name
    intercepts = ((True, True), (True, False), (False, True))
    for loss, (fit, penalty) in itertools.product(names, intercepts):
        options = {"loss": loss, "fit_intercept": fit, "penalize_intercept": penalty}
        options |= {"random_state": 1, "max_iter": 50}
        for kind in ("two", "three"):
            name = f"dual classifier {kind} {options}"
            yield name, _fitted, partial(estimators.DualClassifier, **options), kind, name
    for way in several:
        options = {"multiclass": way, "loss": "hinge", "random_state": 1, "max_iter": 50}
        name = f"dual classifier {options}"
        yield name, _fitted, partial(estimators.DualClassifier, **options), "three", name
    for loss, (fit, penalty) in itertools.product(targets, intercepts):
        options = {"loss": loss, "fit_intercept": fit, "penalize_intercept": penalty}
        options |= {"random_state": 1, "max_iter": 50}
        name = f"dual regressor {options}"
        yield name, _fitted, partial(estimators.DualRegressor, **options), "real", name
    logistic = losses.Logistic(), rates.ScaleFree()
    rivers: tuple[tuple[Any, ...], ...] = (
        (), (losses.Logistic(), rates.Constant(0.3)), (losses.Hinge(), rates.Adaptive()),
        (losses.Softmax(),),
        (losses.Softmax(), rates.Constant(0.3)), (losses.MulticlassHinge(), rates.Adaptive()),
        (losses.Logistic(), rates.CoinBetting()), (*logistic, mirrors.Euclidean(), False),
        (losses.Logistic(), rates.Adaptive(), mirrors.Ball(1.0)),
    )  # fmt: skip
    for kind, parts in itertools.product(("two", "three"), rivers):
        name = f"river classifier {kind} {parts}"
        yield name, _one_by_one, partial(streams.OnlineClassifier, *parts), kind, name
    reals: tuple[tuple[Any, ...], ...] = (
        (), (losses.Huber(0.5),), (losses.Absolute(), rates.CoinBetting()),
        (losses.Squared(), rates.Constant(0.05)),
        (losses.Squared(), rates.ScaleFree(), mirrors.Euclidean(), False),
    )  # fmt: skip
    for parts in reals:
        name = f"river regressor {parts}"
        yield name, _one_by_one, partial(streams.OnlineRegressor, *parts), "real", name
