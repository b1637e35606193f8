"""What one example costs, given as a dictionary, beside River's own linear models.

`python -m bench.one_example` prints microseconds a call, best turn and quartiles of the turns:
of `learn_one`, `predict_one` and `predict_proba_one` of the estimators in `noregret.river` and
of River's on the same dictionaries, of `MirrorDescent.learn_one` on arrays, of `learn` and of
scikit-learn's `partial_fit` on matrices of one row, of rows that are learnt by one call, which is
the kernel, and of sparse rows in one call, with sorted columns or not. Contestants take turns, all
in one process. How a tree compares with an older one:
`python -m bench.old_and_new OLD_SRC --only '*one row*'`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from river import linear_model
from scipy.sparse import random_array

import noregret as nr
from bench.timing import Times, interleave
from noregret.river import OnlineClassifier, OnlineRegressor
from noregret.sklearn import OnlineClassifier as SklearnClassifier

FEATURES = 30
#: Rows learnt by one call are so many times as many: the call itself then costs nothing.
REPEATS = 25
#: `learn_one` may cost so many microseconds more than the kernel.
BAR = 8.0
KERNEL, CORE = "kernel, all rows in one call", "MirrorDescent.learn_one, arrays"
OURS, RIVAL = "OnlineClassifier.learn_one", "LogisticRegression.learn_one"
MATRIX, PARTIAL = "MirrorDescent.learn, one row", "OnlineClassifier.partial_fit, one row"
SORTED, UNSORTED = "sparse rows, sorted, one call", "sparse rows, unsorted, one call"
#: One call and its base, and what it may cost in units of the base at most.
BARS = {
    ("OnlineClassifier.predict_one", "LogisticRegression.predict_one"): 1.3,
    ("OnlineClassifier.predict_proba_one", "LogisticRegression.predict_proba_one"): 2.0,
    ("OnlineRegressor.predict_one", "LinearRegression.predict_one"): 1.3,
    (UNSORTED, SORTED): 1.5,
}


def contestants(features: int, rows: int) -> dict[str, Callable[[], object]]:
    """Return what is timed: every one goes through all rows."""
    X = np.random.default_rng(2026).standard_normal((rows, features))
    targets = X @ np.linspace(-1.0, 1.0, features)
    classes = (targets > 0.0).tolist()
    signs = np.where(targets > 0.0, 1.0, -1.0)
    examples = [
        dict(zip(map("f{}".format, range(features)), row, strict=True)) for row in X.tolist()
    ]
    arrays, columns = list(X), np.arange(features, dtype=np.uint32)
    cores = [
        nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
        for _ in range(3)
    ]
    estimator = SklearnClassifier(rate="scale_free").partial_fit(X, np.array(classes))
    rows_alone = [(X[k : k + 1], signs[k : k + 1]) for k in range(rows)]
    labels_alone = [np.array([label]) for label in classes]

    def learnt_singly() -> None:
        learn = cores[1].learn_one
        for values, label in zip(arrays, signs.tolist(), strict=True):
            learn(columns, values, label)

    def matrices() -> None:
        for row, label in rows_alone:
            cores[2].learn(row, label)

    def partial_fits() -> None:
        for (row, _), label in zip(rows_alone, labels_alone, strict=True):
            estimator.partial_fit(row, label)

    many = np.tile(X, (REPEATS, 1)), np.tile(signs, REPEATS)
    runs: dict[str, Callable[[], object]] = {
        KERNEL: lambda: cores[0].learn(*many),
        CORE: learnt_singly,
        MATRIX: matrices,
        PARTIAL: partial_fits,
    }
    models: list[tuple[Any, list[Any]]] = [
        (OnlineClassifier(rate="scale_free"), classes),
        (linear_model.LogisticRegression(), classes),
        (OnlineRegressor(rate="scale_free"), targets.tolist()),
        (linear_model.LinearRegression(), targets.tolist()),
    ]
    for model, labels in models:
        name = type(model).__name__
        runs[f"{name}.learn_one"] = _learning(model, examples, labels)
        runs[f"{name}.predict_one"] = _asking(model.predict_one, examples)
        if labels is classes:
            runs[f"{name}.predict_proba_one"] = _asking(model.predict_proba_one, examples)
    # So many that no branch predictor learns them by heart.
    return runs | _sparse(rows * REPEATS)


def _sparse(rows: int) -> dict[str, Callable[[], object]]:
    """Return `learn` of rows with 100 of 5,000 features each, in ascending columns and in none."""
    ascending = random_array((rows, 5_000), density=0.02, format="csr", random_state=2)
    shuffled, random = ascending.copy(), np.random.default_rng(2)
    for begin, end in pairwise(shuffled.indptr):
        order = begin + random.permutation(end - begin)
        shuffled.indices[begin:end] = shuffled.indices[order]
        shuffled.data[begin:end] = shuffled.data[order]
    y = np.where(np.arange(rows) % 2, 1.0, -1.0)

    def learning(X: Any) -> Callable[[], object]:
        learner = nr.MirrorDescent(
            nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree(), dimension=5_000
        )
        return lambda: learner.learn(X, y)

    return {SORTED: learning(ascending), UNSORTED: learning(shuffled)}


def _learning(model: Any, examples: list[Any], labels: list[Any]) -> Callable[[], None]:
    def run() -> None:
        learn = model.learn_one
        for x, y in zip(examples, labels, strict=True):
            learn(x, y)

    return run


def _asking(ask: Callable[[Any], Any], examples: list[Any]) -> Callable[[], None]:
    def run() -> None:
        for x in examples:
            ask(x)

    return run


def lines(times: Times, rows: int) -> Iterator[str]:
    """Yield the table and the two bars."""
    yield f"{'microseconds a call':<40}{'best':>8}{'quartiles of the turns':>28}"
    for name, seconds in times.seconds.items():
        best, low, middle, high = np.percentile(seconds, [0, 25, 50, 75]) * _scale(name, rows)
        yield f"{name:<40}{best:8.2f}{low:12.2f}{middle:8.2f}{high:8.2f}"
    above = microseconds_above(times, rows)
    yield f"{OURS} is {above:.2f} us above the kernel, at most {BAR:g}{_verdict(above <= BAR)}"
    ratio, median = times.ratio(OURS, RIVAL), times.median_ratio(OURS, RIVAL)
    yield f"and {ratio:.2f} of {RIVAL} (median {median:.2f}), below 1{_verdict(ratio < 1.0)}"
    for pair, bar in BARS.items():
        ratio, median = times.ratio(*pair), times.median_ratio(*pair)
        yield (
            f"{pair[0]} is {ratio:.2f} of {pair[1]} (median {median:.2f}), at most {bar:g}"
            f"{_verdict(ratio <= bar)}"
        )


def microseconds_above(times: Times, rows: int) -> float:
    """Return what `learn_one` of a dictionary costs beside the kernel."""
    return times.best(OURS) * _scale(OURS, rows) - times.best(KERNEL) * _scale(KERNEL, rows)


def _scale(name: str, rows: int) -> float:
    return 1e6 / (rows * (REPEATS if name in (KERNEL, SORTED, UNSORTED) else 1))


def _verdict(met: bool) -> str:
    return "" if met else " (missed)"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.one_example", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--features", type=int, default=FEATURES)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--turns", type=int, default=300)
    arguments = parser.parse_args()
    times = interleave(contestants(arguments.features, arguments.rows), arguments.turns)
    for line in lines(times, arguments.rows):
        print(line)


if __name__ == "__main__":
    main()
