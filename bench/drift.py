"""Progressive accuracy on drifting streams: trackers beside descent, PA, River and scikit-learn.

Everybody is at default settings and sees the same rows in the same order: scaled rows have a
constant feature appended and are divided by the largest row norm; the others get the rows of the
file as well, and the better of both runs counts. More than two classes are one against rest.
Trackers need a ball. Its radius follows from the stream by one rule that looks at nobody's
results: the norm of the ridge regression of the labels on all scaled rows, with ridge 1, the
longest one where there are several classes. It is printed beside the stream.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import noregret as nr
from bench import machine
from bench.quality import data
from noregret.tracking.mixture import Tracker

Vector = npt.NDArray[np.float64]
SQUARED = nr.losses.Squared()


@dataclass(frozen=True)
class Stream:
    """Rows as they are and scaled, and the class of each, counted from 0."""

    name: str
    raw: Vector
    X: Vector
    classes: npt.NDArray[np.int64]

    @property
    def y(self) -> Vector:
        """Labels -1 and +1 of two classes."""
        return np.where(self.classes == 1, 1.0, -1.0)

    def radius(self) -> float:
        """Return the norm of the longest ridge regression of a class against the rest."""
        targets = np.where(self.classes[:, None] == np.unique(self.classes), 1.0, -1.0)
        gram = self.X.T @ self.X + np.eye(self.X.shape[1])
        return float(np.linalg.norm(np.linalg.solve(gram, self.X.T @ targets), axis=0).max())

    def head(self, rows: int | None) -> Stream:
        """Return the first rows, or all."""
        return Stream(self.name, self.raw[:rows], self.X[:rows], self.classes[:rows])


def load(name: str) -> Stream:
    """Return the stream of that name."""
    if name == "gas_drift":
        table = pd.read_csv(data.folder() / "gas_drift/gas_drift_batches_1-6_8_9.csv.xz")
        classes = pd.factorize(table["gas"], sort=True)[0].astype(np.int64)
        raw = table.drop(columns=["batch", "gas", "concentration"]).to_numpy(np.float64)
    else:
        stream = data.load(name)
        raw, classes = stream.rows.toarray(), (stream.y > 0.0).astype(np.int64)
    X = np.hstack([raw, np.ones((len(raw), 1))])
    return Stream(name, raw, X / np.linalg.norm(X, axis=1).max(), classes)


def _against_rest(make: Callable[[], Any]) -> Callable[[Vector, Any], Any]:
    """Return predicted classes of one learner of ours, or of one for each class."""

    def run(X: Vector, classes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        count = int(classes.max()) + 1
        if count == 2:
            return (make().learn(X, np.where(classes == 1, 1.0, -1.0)) > 0.0).astype(np.int64)
        margins = [make().learn(X, np.where(classes == k, 1.0, -1.0)) for k in range(count)]
        return np.argmax(margins, axis=0)

    return run


def _c_gd(radius: float) -> nr.MirrorDescent:
    """Constrained descent with the rate of Theorem 14 for rows of norm 1."""
    return nr.MirrorDescent(
        SQUARED, nr.mirrors.Euclidean(), nr.rates.Constant(0.25), nr.domains.Ball(radius),
        lazy=False,
    )  # fmt: skip


def _ogd() -> nr.MirrorDescent:
    return nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.InverseSqrt(1.0))


def _default() -> nr.MirrorDescent:
    return nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())


def _river(name: str) -> Callable[[Vector, Any], Any]:
    def run(X: Vector, classes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        from river import linear_model, multiclass

        model = getattr(linear_model, name)()
        several = int(classes.max()) > 1
        if several:
            model = multiclass.OneVsRestClassifier(model)
        made = np.zeros(len(classes), np.int64)
        for t, (row, label) in enumerate(zip(X.tolist(), classes.tolist(), strict=True)):
            features = dict(enumerate(row))
            made[t] = int(model.predict_one(features) or 0)
            model.learn_one(features, label if several else bool(label))
        return made

    return run


def _scikit_learn(name: str) -> Callable[[Vector, Any], Any]:
    def run(X: Vector, classes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        import sklearn
        from sklearn import linear_model

        made = np.zeros(len(classes), np.int64)
        every = np.arange(int(classes.max()) + 1)
        with (
            sklearn.config_context(assume_finite=True, skip_parameter_validation=True),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", FutureWarning)
            model = getattr(linear_model, name)(random_state=0)
            for t in range(len(classes)):
                row = X[t : t + 1]
                if t > 0:
                    margins = (row @ model.coef_.T + model.intercept_).ravel()
                    made[t] = int(np.argmax(margins)) if len(every) > 2 else int(margins[0] > 0.0)
                model.partial_fit(row, classes[t : t + 1], **({} if t else {"classes": every}))
        return made

    return run


TRACKERS: dict[str, Callable[[float], Any]] = {
    "tracker": lambda radius: Tracker(SQUARED, radius),
    "C-GD": _c_gd,
}
OTHERS: dict[str, Callable[[Vector, Any], Any]] = {
    "noregret default": _against_rest(_default),
    "OGD": _against_rest(_ogd),
    "PA": _against_rest(nr.catalogue.passive_aggressive),
    "River logistic": _river("LogisticRegression"),
    "River PA": _river("PAClassifier"),
    "scikit-learn SGD": _scikit_learn("SGDClassifier"),
    "scikit-learn PA": _scikit_learn("PassiveAggressiveClassifier"),
}
STREAMS = ("usenet", "elec2", "sea", "gas_drift")


def measure(stream: Stream, tool: str, radius: float) -> float:
    """Return the share of classes that a tool foresaw; trackers do it within the radius."""
    if tool in TRACKERS:
        made = _against_rest(lambda: TRACKERS[tool](radius))(stream.X, stream.classes)
        return float(np.mean(made == stream.classes))
    with np.errstate(all="ignore"):
        runs = [OTHERS[tool](X, stream.classes) for X in (stream.X, stream.raw)]
    return max(float(np.mean(made == stream.classes)) for made in runs)


def main() -> None:
    """Parse the command line, run, print."""
    tools = [*TRACKERS, *OTHERS]
    parser = argparse.ArgumentParser(prog="python -m bench.drift", description=__doc__)
    parser.add_argument("--streams", choices=STREAMS, nargs="+", default=list(STREAMS))
    parser.add_argument("--tools", choices=tools, nargs="+", default=tools)
    parser.add_argument("--rows", type=int, metavar="N", help="only the first N rows of each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    arguments = parser.parse_args()
    facts = machine.describe()
    print(", ".join(f"{name} {fact}" for name, fact in facts.items()))
    results: dict[str, dict[str, float]] = {}
    for name in arguments.streams:
        stream = load(name).head(arguments.rows)
        radius = stream.radius()
        print(f"{name}: {stream.X.shape[0]:,} x {stream.X.shape[1]}, radius {radius:.4g}")
        results[name] = {"radius": radius}
        for tool in arguments.tools:
            start = time.perf_counter()
            results[name][tool] = measure(stream, tool, radius)
            seconds = time.perf_counter() - start
            print(f"{name:<10} {tool:<18} {results[name][tool]:8.2%}  {seconds:6.1f} s", flush=True)
    if arguments.json is not None:
        report = {"machine": facts, "streams": results}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
