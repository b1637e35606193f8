"""Trackers, kernel descent, proofs of drift, moving predictors and bounds on shifts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import noregret as nr
from noregret import catalogue, domains, losses, mirrors, rates, tracking
from tests.same_bits.descent import KEY, LOSSES
from tests.same_bits.examples import FEATURES, LAYOUTS, Scenarios, laid, number, resumed, stream
from tests.same_bits.observe import Content, asked, facts, plain

KERNELS = (tracking.Linear(), tracking.Gaussian(0.7), tracking.Polynomial(2, 0.5))


def _drift(loss: Any, radius: float, window: int | None, kind: str, name: str) -> Content:
    X, y, weight = stream(loss.labels, number(name) % 5, 24)
    if kind == "moving":
        X, y = np.ones((24, 2)), np.where(np.arange(24) < 12, 1.0, -1.0)
    rows, mass = laid(X, LAYOUTS[number(name) % 4]), weight if number(name) % 2 else None
    return {"proof": plain(asked(nr.drift_proof, rows, y, loss, radius, mass, window))}


def _path(options: dict[str, Any], name: str) -> Content:
    X, y, _ = stream("real", number(name) % 5, 24)
    y = y + 2.0 * (np.arange(24) // 9)
    found = asked(nr.hindsight_path, laid(X, LAYOUTS[number(name) % 4]), y, **options)
    segments = [] if isinstance(found, str) else list(found.schedule.segments(24))
    return {"path": plain(found), "segments": plain(segments)}


def _tracker(loss: Any, radius: float, name: str) -> Content:
    X, y, weight = stream(loss.labels, number(name) % 5, 16)
    tracker = tracking.Tracker(loss, radius)
    found: Content = {}
    found["first"] = plain(asked(tracker.learn, X[:9], y[:9]))
    found["second"] = plain(asked(tracker.learn, laid(X[9:], "sparse64"), y[9:], weight[9:]))
    found["predicted"] = plain(asked(tracker.predict, X))
    for quantity in ("shares", "weights", "rounds", "broken"):
        found[quantity] = plain(asked(getattr, tracker, quantity))
    return found | {"floor": asked(tracker.floor)}


def _kernel(kernel: Any, loss: Any, budget: int | None, name: str) -> Content:
    kind = "real" if loss is None else loss.labels
    X, y, _ = stream(kind, number(name) % 5, 14)
    learner = tracking.KernelDescent(kernel, 1.5, 0.2, loss, budget)
    found: Content = {"first": plain(asked(learner.learn, X[:6], y[:6]))}
    learner = resumed(learner)
    layout = LAYOUTS[number(name) % 4]
    found["second"] = plain(asked(learner.learn, laid(X[6:], layout), y[6:]))
    found["predicted"] = plain(asked(learner.predict, laid(X, layout)))
    found["budget cost"] = plain(asked(learner.budget_cost))
    parts = [(0, X[:2], [0.3, -0.2]), (7, X[1:3], [0.1, 0.4])]
    schedule = tracking.KernelSchedule(parts)
    found["shifts"] = plain(asked(learner.shifting_bounds, schedule, X, y))
    return found | facts(learner)


def _trackers() -> dict[str, Any]:
    """Return the learners that bounds on shifts are known for, and some others."""
    plain_map, squared = mirrors.Euclidean(), losses.Squared()
    made: dict[str, Any] = {}
    for implicit in (False, True):
        words = ", implicit" * implicit
        made |= {
            f"c_gd{words}": catalogue.c_gd(1.0, 2.0, implicit=implicit),
            f"c_egu{words}": catalogue.c_egu(0.1, FEATURES, 2.0, 2.0, implicit=implicit),
            f"c_eg{words}": catalogue.c_eg(0.1, 1.0, dimension=FEATURES, implicit=implicit),
            f"p-norm{words}": catalogue.shifting_p_norm(3.0, 1.0, 3.0, implicit=implicit),
            f"gd{words}": catalogue.gd(3.0, implicit=implicit),
            f"egu{words}": catalogue.egu(2.0, 2.0, implicit=implicit, dimension=FEATURES),
            f"eg{words}": catalogue.eg(squared, width=2.0, implicit=implicit, dimension=FEATURES),
        }
    made["signed c_eg"] = catalogue.signed_c_eg(1.0, 0.1, 3.0, dimension=FEATURES // 2)
    for domain in (domains.Ball(1.0), domains.Box(0.0, 1.0), domains.Simplex()):
        for rate in (rates.Constant(0.1), rates.Adaptive()):
            made[f"{domain} {rate}"] = nr.MirrorDescent(
                squared, plain_map, rate, domain, lazy=False, dimension=FEATURES
            )
    made["hinge"] = nr.MirrorDescent(
        losses.Hinge(), plain_map, rates.Constant(0.1), domains.Ball(1.0), lazy=False
    )
    return made


def _shifting(learner: Any, guess: tuple[int, float] | None, traced: bool) -> Content:
    X, y, _ = stream(learner.loss.labels, 2, 16)
    X = np.abs(X)
    predictions = asked(learner.learn, X, y)
    schedule = tracking.Schedule([(0, [0.5, 0.2, 0.2, 0.1]), (9, [0.1, 0.2, 0.2, 0.5])])
    found = asked(tracking.shifting_bounds, learner, schedule, X, y, guess, traced)
    sizes = [asked(schedule.size, p) for p in (1.0, 2.0, 3.0)]
    losses_between = asked(schedule.loss_between, X, y, learner.loss)
    return {
        "predictions": plain(predictions),
        "bounds": plain(found),
        "sizes": sizes,
        "schedule": plain([schedule.shifts, schedule.at(12), losses_between]),
    } | facts(learner)


def scenarios(compiled: int) -> Scenarios:
    """Yield proofs, paths, trackers, kernels and bounds."""
    few = KEY if compiled else LOSSES
    for loss, radius, window, kind in itertools.product(
        few, (0.5, 2.0), (None, 8), ("steady", "moving")
    ):
        name = f"drift {loss} {radius} {window} {kind}"
        yield name, _drift, loss, radius, window, kind, name
    for options in (
        {"shifts": 2}, {"shifts": 0}, {"penalty": 0.5}, {"shifts": 2, "radius": 0.7},
        {"penalty": 0.5, "radius": 0.7}, {"shifts": 2, "grid": 6}, {"penalty": 1.0, "grid": 5}, {},
    ):  # fmt: skip
        yield f"path {options}", _path, options, str(options)
    for loss, radius in itertools.product(few, (0.5, 2.0)):
        name = f"tracker {loss} {radius}"
        yield name, _tracker, loss, radius, name
    for kernel, loss, budget in itertools.product(KERNELS, (None, *few), (None, 4)):
        name = f"kernel {kernel} {loss} {budget}"
        if not compiled or budget or loss is None:
            yield name, _kernel, kernel, loss, budget, name
    for name, learner in _trackers().items():
        for guess, traced in ((None, True), ((3, 1.0), False)):
            made = resumed(learner)
            yield f"shifts {name} {guess} {traced}", _shifting, made, guess, traced
    for given in ((100, 2.0), (100, 2.0, 5), (1, 0.0), (0, 1.0)):
        yield f"tuned alpha {given}", tracking.tuned_alpha, *given
