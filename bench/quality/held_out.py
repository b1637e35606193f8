"""Accuracy of the saved model on rows it never saw: `python -m bench.quality.held_out`.

Each stream of classes is shuffled; one pass over the first 80 percent, then the last 20 percent
are predicted, by the mixture as it stands, by `ScaleFree` alone, and by scikit-learn's
LogisticRegression on features behind a StandardScaler, fitted to the same rows (sparse wide rows
are scaled and not centred). Accuracies in percent, the mean of three shuffles.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import noregret as nr
from bench.quality import unseen
from bench.quality.data import Stream
from bench.quality.ours import with_intercept
from bench.quality.sets import EVERY

Vector = npt.NDArray[np.float64]
SEEDS = (1, 2, 3)
#: Part that is learnt, the most rows, the most features that are written out, and the bar.
LEARNT, MOST, WIDEST, BAR = 0.8, 100_000, 1000, 0.005
PASSES = 300
#: Streams of classes that do not drift by themselves: shuffled, all of them are one distribution.
CHOSEN = (
    "covtype", "a9a", "phishing", "spambase", "mushrooms", "splice", "rcv1_small", "earn", "crude",
    "covtype7", "mnist_t10k", "gas_drift",
)  # fmt: skip
SETS = {"shared": CHOSEN, "unseen": (*unseen.BINARY, *unseen.CLASSES)}


def shuffled(stream: Stream, seed: int) -> Stream:
    """Return so many of the rows in a random order."""
    order = np.random.default_rng(seed).permutation(len(stream.y))[:MOST]
    return Stream(
        stream.name, sp.csr_matrix(stream.rows[order]), stream.y[order], True, stream.outputs
    )


def accuracy(y: Vector, scores: Vector) -> float:
    """Return the part of labels that scores predict: margins, or scores of classes."""
    if scores.ndim == 2:
        return float((scores.argmax(axis=1) == y).mean())
    return float((np.where(scores > 0.0, 1.0, -1.0) == y).mean())


def ours(stream: Stream, cut: int, mixed: bool) -> float:
    """Return the accuracy of a learner of ours after one pass."""
    rows, loss = with_intercept(stream), nr.losses.Logistic()
    learner: nr.MatrixDescent | nr.MirrorDescent | nr.Aggregate
    if stream.outputs > 1:
        softmax = nr.MatrixDescent(nr.losses.Softmax())
        learner = nr.experts.ScoreAggregate() if mixed else softmax
        learner.grow(stream.outputs)
    elif mixed:
        learner = nr.Mixture(loss)
    else:
        learner = nr.MirrorDescent(loss, nr.mirrors.Euclidean(), nr.rates.ScaleFree())
    learner.learn(rows[:cut], stream.y[:cut])
    return accuracy(stream.y[cut:], learner.predict(rows[cut:]))


def theirs(stream: Stream, cut: int) -> float:
    """Return the accuracy of LogisticRegression on scaled features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    dense = stream.rows.shape[1] <= WIDEST
    rows = stream.rows.toarray() if dense else stream.rows
    model = make_pipeline(StandardScaler(with_mean=dense), LogisticRegression(max_iter=PASSES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows[:cut], stream.y[:cut])
    return float(model.score(rows[cut:], stream.y[cut:]))


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality.held_out", description=__doc__)
    parser.add_argument("--set", choices=SETS, default="shared", help="[default: shared]")
    parser.add_argument(
        "--streams", choices=EVERY, nargs="+", help="of classes [default: all of --set]"
    )
    arguments = parser.parse_args()
    print(f"{'stream':<14}{'mixture':>9}{'ScaleFree':>11}{'LogisticRegression':>20}{'behind':>9}")
    missed = []
    for name in arguments.streams or SETS[arguments.set]:
        whole = EVERY[name]()
        found = []
        for seed in SEEDS:
            stream = shuffled(whole, seed)
            cut = int(LEARNT * len(stream.y))
            found.append([ours(stream, cut, True), ours(stream, cut, False), theirs(stream, cut)])
        mixture, alone, other = np.mean(found, axis=0)
        behind = other - mixture
        missed += [name] if behind > BAR else []
        print(
            f"{name:<14}{100 * mixture:>9.2f}{100 * alone:>11.2f}{100 * other:>20.2f}"
            f"{100 * behind:>+9.2f}",
            flush=True,
        )
    verdict = f"MISSED on {', '.join(missed)}" if missed else "met"
    print(f"at most {BAR:.1%} behind on each: {verdict}")


if __name__ == "__main__":
    main()
