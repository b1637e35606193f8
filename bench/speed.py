"""One in-memory logistic pass, ours against others and map against map."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import noregret as nr
from bench import c_loop, hand_loop
from bench.data import Data
from bench.timing import Line, interleave

ETA = 0.5
CHUNK = 1_000
Run = Callable[[], Any]


@dataclass(frozen=True)
class OwnLogistic(nr.losses.Loss):
    """The logistic loss as a user would write it."""

    def value(self, y: float, p: float) -> float:
        """Return ln(1 + exp(-y p))."""
        margin = y * p
        return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)

    def slope(self, y: float, p: float) -> float:
        """Return -y / (1 + exp(y p))."""
        margin = y * p
        tail = math.exp(-abs(margin))
        return -y * (tail if margin > 0.0 else 1.0) / (1.0 + tail)

    def lipschitz(self) -> float:
        """Return 1."""
        return 1.0


def learner(
    mirror: nr.mirrors.Mirror | None = None,
    rate: nr.rates.Rate | None = None,
    loss: nr.losses.Loss | None = None,
    averaging: bool = False,
) -> nr.MirrorDescent:
    """Return a new learner: logistic, Euclidean and a constant rate unless told.

    It keeps no average, as the loops and scikit-learn's default do not.
    """
    return nr.MirrorDescent(
        loss or nr.losses.Logistic(),
        mirror or nr.mirrors.Euclidean(),
        rate or nr.rates.Constant(ETA),
        averaging=averaging,
    )


def ours(data: Data, **parts: Any) -> Run:
    """Return a run of `learn` over all rows, from nothing: checks, ledger, predictions."""
    return lambda: learner(**parts).learn(data.X, data.y)


def loop(sgd: c_loop.Sgd, data: Data) -> Callable[[], npt.NDArray[np.float64]]:
    """Return a run of a bare loop over the same rows; it returns the weights."""
    indptr = data.X.indptr.astype(np.uint64)
    indices = data.X.indices.view(np.uint32)

    def run() -> npt.NDArray[np.float64]:
        weights = np.zeros(data.X.shape[1])
        sgd(indptr, indices, data.X.data, data.y, weights, ETA)
        return weights

    return run


def _sklearn(**options: Any) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(
        loss="log_loss",
        penalty=None,
        learning_rate="constant",
        eta0=ETA,
        fit_intercept=False,
        shuffle=False,
        **options,
    )


def sklearn_chunks(data: Data) -> Any:
    """Run scikit-learn's partial_fit over slices of the same matrix."""
    model = _sklearn()
    for start in range(0, len(data.y), CHUNK):
        part = slice(start, start + CHUNK)
        model.partial_fit(data.X[part], data.y[part], classes=[-1.0, 1.0])
    return model


def sklearn_call(data: Data) -> Any:
    """Run scikit-learn's fit once over the rows."""
    return _sklearn(max_iter=1, tol=None).fit(data.X, data.y)


def bare_loops(data: Data, directory: Path) -> dict[str, Run]:
    """Return the loops without a ledger: numba, and C where there is a compiler."""
    loops: dict[str, Run] = {"numba loop": loop(hand_loop.sgd, data)}
    for name, sgd in c_loop.compile_loops(directory).items():
        loops[name] = loop(sgd, data)
    return loops


def against_loops(data: Data, turns: int) -> Iterator[Line]:
    """Measure ours against loops that only learn, and against a user's own loss."""
    with tempfile.TemporaryDirectory() as directory:
        runs = {"ours": ours(data), "averaged": ours(data, averaging=True)}
        runs |= bare_loops(data, Path(directory))
        runs["own loss"] = ours(data, loss=OwnLogistic())
        times = interleave(runs, turns)
    bars = {"numba loop": 1.25, "gcc -O3": 1.2, "gcc -O3 -ffast-math": None}
    for name, bar in bars.items():
        if name in runs:
            what = f"ours / {name} without ledger and checks"
            yield Line.of(what, times, "ours", name, at_most=bar)
            what = f"ours, average kept / {name} without ledger, average and checks"
            yield Line.of(what, times, "averaged", name)
    yield Line.of("ours, average kept / ours", times, "averaged", "ours")
    yield Line.of("a user's own loss / built in", times, "own loss", "ours", at_most=1.05)


def against_sklearn(data: Data, turns: int) -> Iterator[Line]:
    """Measure scikit-learn against ours."""
    runs = {
        "ours": ours(data),
        "averaged": ours(data, averaging=True),
        "chunks": lambda: sklearn_chunks(data),
        "call": lambda: sklearn_call(data),
    }
    times = interleave(runs, turns)
    what = f"scikit-learn partial_fit, {CHUNK:,} rows a call"
    yield Line.of(f"{what} / ours", times, "chunks", "ours", at_least=6.0)
    yield Line.of(f"{what} / ours, average kept", times, "chunks", "averaged")
    what = "scikit-learn fit, one call"
    yield Line.of(f"{what} / ours", times, "call", "ours", at_least=1.5)
    yield Line.of(f"{what} / ours, average kept", times, "call", "averaged")


def maps() -> dict[str, tuple[float | None, dict[str, Any]]]:
    """Return the bar and the parts of every contestant of our own."""
    mirrors, rates = nr.mirrors, nr.rates
    return {
        "p-norm, p = 4": (2.0, {"mirror": mirrors.PNorm(4.0)}),
        "p-norm, p = 7": (None, {"mirror": mirrors.PNorm(7.0)}),
        "entropy (EG)": (3.0, {"mirror": mirrors.Entropy(10.0)}),
        "signed entropy (EG+-)": (
            3.0,
            {"mirror": mirrors.SignedEntropy(10.0), "rate": rates.Constant(0.05)},
        ),
        "unnormalised entropy (EGU)": (
            3.0,
            {"mirror": mirrors.UnnormalizedEntropy(), "rate": rates.Constant(0.05)},
        ),
        "per-coordinate rates": (1.8, {"rate": rates.PerCoordinate(1.0)}),
        "ball, adaptive rate": (
            None,
            {"mirror": mirrors.Ball(10.0), "rate": rates.Adaptive()},
        ),
    }


def map_against_map(data: Data, turns: int) -> Iterator[Line]:
    """Measure the other maps and rates against the Euclidean pass, without average and with it."""
    contestants = maps()
    for averaging, word in ((False, ""), (True, ", averages kept")):
        runs = {"euclidean": ours(data, averaging=averaging)}
        runs |= {
            name: ours(data, averaging=averaging, **parts)
            for name, (_, parts) in contestants.items()
        }
        times = interleave(runs, turns)
        for name, (bar, _) in contestants.items():
            at_most = None if averaging else bar
            yield Line.of(f"{name} / euclidean{word}", times, name, "euclidean", at_most=at_most)
