"""The catalogue, foreign predictions, online to batch, mixtures of learners and grids of rates."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

import noregret as nr
from noregret import catalogue, experts, losses, mirrors, rates
from tests.same_bits.descent import KEY, LOSSES, MIRRORS
from tests.same_bits.examples import FEATURES, LAYOUTS, Scenarios, laid, learnt, number, stream
from tests.same_bits.observe import Content, asked, plain

D = {"dimension": FEATURES}
#: Name of the algorithm, what it is given, and the kind of its labels.
NAMED: tuple[tuple[str, tuple[Any, ...], dict[str, Any], str], ...] = (
    ("perceptron", (), {}, "sign"),
    ("winnow", (0.25,), D, "sign"),
    ("balanced_winnow", (2.0, 0.8, 2.0), D, "sign"),
    ("balanced_winnow", (2.0,), D | {"eta": 0.3}, "sign"),
    ("simplex_winnow", (0.5,), D, "sign"),
    ("simplex_winnow", (), D | {"eta": 0.4}, "sign"),
    ("p_norm", (4.0,), {}, "sign"),
    ("ogd", (losses.Logistic(), 0.3), {}, "sign"),
    ("ogd", (losses.Absolute(),), {"radius": 2.0, "row_limit": 3.0, "horizon": 20}, "real"),
    ("ogd", (losses.Hinge(),), {"radius": 2.0, "row_limit": 3.0}, "sign"),
    ("lazy_ogd", (losses.Hinge(), 1.0, 0.2), {}, "sign"),
    ("projected_ogd", (losses.Absolute(), 1.0), {"row_limit": 3.0}, "real"),
    ("projected_ogd", (losses.Absolute(), 1.0, 0.3), {}, "real"),
    ("strongly_convex_ogd", (losses.Hinge(), 0.5), {}, "sign"),
    ("eg", (losses.Absolute(), 0.3), D, "real"),
    ("eg", (losses.Squared(),), D | {"width": 2.0}, "real"),
    ("eg", (losses.Squared(),), D | {"width": 2.0, "implicit": True}, "real"),
    ("signed_eg", (losses.Logistic(), 1.5, 0.3), D, "sign"),
    ("unnormalized_eg", (losses.Absolute(), 0.2), D, "real"),
    ("unnormalized_eg", (losses.Absolute(), 0.2, 0.3), D, "real"),
    ("coin_betting", (), {}, "real"),
    ("coin_betting", (losses.Logistic(), 2.0), {}, "sign"),
    ("online_ridge", (0.5, 0.99, True), {}, "real"),
    ("vovk_azoury_warmuth", (), {}, "real"),
    ("kalman", (), {}, "sign"),
    ("implicit_newton", (losses.Huber(0.5), 2.0), {}, "real"),
    ("block_leader", (losses.Logistic(), 0.5, 8), {}, "sign"),
    ("certified_newton", (), {}, "sign"),
    ("aioli", (4.0,), {}, "sign"),
    ("arow", (2.0, 0.5), {}, "sign"),
    ("gd", (3.0,), {}, "real"),
    ("gd", (3.0,), {"implicit": True}, "real"),
    ("c_gd", (1.0, 3.0), {}, "real"),
    ("c_gd", (1.0,), {"loss": losses.Absolute(), "eta": 0.2}, "real"),
    ("egu", (2.0, 2.0), D, "real"),
    ("c_egu", (0.1, FEATURES, 2.0, 2.0), {}, "real"),
    ("c_eg", (0.1, 2.0), D, "real"),
    ("c_eg", (0.1, 2.0), D | {"scale": 2.0, "implicit": True}, "real"),
    ("signed_c_eg", (1.0, 0.1, 3.0), {"dimension": FEATURES // 2}, "real"),
    ("shifting_p_norm", (3.0, 1.0, 3.0), {}, "real"),
    ("passive_aggressive", (0.5, 0.8), {}, "sign"),
    ("passive_aggressive_2", (0.5,), {}, "sign"),
    ("passive_aggressive_regression", (0.5, 0.2), {}, "real"),
    ("passive_aggressive_regression_2", (0.5, 0.2), {}, "real"),
    ("multiclass_perceptron", (3,), {}, "class"),
    ("multiclass_ogd", (1.0, 20, 3.0), {"outputs": 3}, "class"),
    ("multiclass_passive_aggressive", (0.5,), {"outputs": 3}, "class"),
    ("softmax_regression", (1.0, 3), {}, "class"),
    ("softmax_leader", (0.5, 8, 3), {}, "class"),
    ("softmax_newton", (0.5, 0.3, 0.99, 3), {}, "class"),
    ("one_against_rest", (3,), {}, "class"),
)


def _certified(loss: Any, mirror: Any, name: str) -> Content:
    X, y, weight = stream(loss.labels, number(name) % 5)
    predictions = np.round(np.random.default_rng(number(name)).normal(size=len(y)), 2)
    mass = weight if number(name) % 2 else None
    rows = laid(X, LAYOUTS[number(name) % 4])
    return {"proof": plain(asked(nr.certify, rows, y, predictions, loss, mass, mirror))}


def _batch(loss: Any, mirror: Any, rate: Any, method: str) -> Content:
    X, y, _ = stream(loss.labels, 3, 30)
    made = partial(nr.MirrorDescent, loss, mirror, rate, dimension=FEATURES)
    found: Content = {}
    for options in ({}, {"radius": 1.0, "loss_range": (0.0, 9.0), "delta": 0.1}):
        best = asked(catalogue.batch_predictor, made(), X, y, method, 4, **options)
        found[f"predictor {options}"] = plain(best)
        if not isinstance(best, str):
            found[f"predicted {options}"] = plain(asked(best.predict, X))
    found["weights"] = plain(asked(catalogue.online_to_batch, made(), X, y, method, 4))
    return found


def _mixed(name: str, loss: Any, mirror: Any) -> Any:
    etas = (0.02, 0.2, 1.0)
    members = [
        nr.MirrorDescent(loss, mirrors.Euclidean(), rates.Constant(eta), dimension=FEATURES)
        for eta in etas
    ]
    more = nr.MirrorDescent(loss, mirrors.SignedEntropy(1.5), rates.Adaptive(), dimension=FEATURES)
    return nr.Aggregate([*members, more] if name == "maps" else members, loss, mirror)


def _steps(loss: Any, mirror: Any) -> Content:
    X, y, _ = stream(loss.labels, 1, 4)
    weights = np.array([0.3, 0.2, 0.1, 0.4])
    return {
        str(row): plain(asked(catalogue.bregman_step, loss, mirror, weights, X[row], y[row], 0.5))
        for row in range(3)
    }


def scenarios(compiled: int) -> Scenarios:
    """Yield algorithms by name, and what stands beside them in the catalogue."""
    for function, given, options, kind in NAMED:
        make = partial(getattr(catalogue, function), *given, **options)
        name = f"{function} {given} {options}"
        yield name, learnt, make, kind, name, compiled, "dense64"
    maps = (None, mirrors.Euclidean()) if compiled else (None, *MIRRORS)
    for loss, mirror in itertools.product(KEY if compiled else LOSSES, maps):
        name = f"certify {loss} {mirror}"
        yield name, _certified, loss, mirror, name
    few = (MIRRORS[0], MIRRORS[6]) if compiled else MIRRORS
    methods = ("average", "random", "last")
    for loss, mirror, method in itertools.product(KEY, few, methods):
        for rate in (rates.Constant(0.2), rates.Adaptive(0.5), rates.StronglyConvex(0.5)):
            name = f"batch {loss} {mirror} {rate} {method}"
            yield name, _batch, loss, mirror, rate, method
    for loss, mirror in itertools.product(KEY if compiled else LOSSES, few):
        yield f"step {loss} {mirror}", _steps, loss, mirror
    for loss, kind in itertools.product(KEY if compiled else LOSSES, ("rates", "maps")):
        make = partial(_mixed, kind, loss, None if kind == "rates" else mirrors.Ball(1.0))
        name = f"aggregate {loss} {kind}"
        yield name, learnt, make, loss.labels, name, compiled, "dense64"
    grids: tuple[dict[str, Any], ...] = (
        {},
        {"mirror": mirrors.SignedEntropy(1.5), "dimension": FEATURES},
        {"rate": rates.InverseSqrt(), "low": 0.1, "high": 2.0},
        {"rate": rates.PerCoordinate()},
    )
    for loss, grid in itertools.product(KEY, grids):
        name = f"grid {loss} {grid}"
        make = partial(experts.rate_grid, loss, **grid)
        yield name, learnt, make, loss.labels, name, compiled, "dense64"
