"""Proof that no fixed predictor will do: a tracker in the same ball did better than all of them.

Two numbers on the same rounds: b, below the loss of every fixed predictor of the ball, and a, above
the loss of a tracker that played only predictors of that ball. Where a < b, no fixed predictor
of the class can do what a moving one of the same class did. It is a statement about these
rounds. Nothing is said about how they came about: a stream of one law, the same at all times,
shows it too if its labels hang together in time. Here every label repeats the last one with
probability 0.95, and the only feature is constant:

>>> import numpy as np
>>> random = np.random.default_rng(0)
>>> y = np.cumprod(np.where(random.random(1000) < 0.95, 1.0, -1.0))
>>> print(drift_proof(np.ones((1000, 1)), y, radius=1.0))
Proved: no fixed predictor will do.
  On these 1,000 rounds every fixed predictor with norm <= 1 loses at least 940.463,
  0.9404 a round; the tracker, inside the same ball, lost at most 208.093 < 940.463,
  0.2081 a round.

That is no contradiction. The best fixed predictor of these labels is their average, near 0, while
one that follows the last labels foresees the next: moving pays without any change of the law. What
is refuted is the class of fixed predictors of these features, not stationarity; with the last
label as a feature a fixed predictor would do as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.batch.problem import Problem
from noregret.certificate import Certificate
from noregret.examples import Rows, as_labels, as_rows, as_weights
from noregret.foreign import Certifier, certify
from noregret.geometry import EPSILON
from noregret.losses import Loss, Squared
from noregret.passes.checks import sound_rows
from noregret.rounding import down, up
from noregret.tracking.mixture import Tracker
from noregret.tracking.static import Moments, plain, row_norms, static_floor

Vector = npt.NDArray[np.float64]

#: Rows that are learnt together; the first of them set the unit of the tracker's rates.
PORTION = 8192
#: Windows begin so many times within the length of one.
OVERLAP = 4
#: Rows below this size are measured by it.
SMALLEST_ROW = 1e-100


@dataclass(frozen=True)
class Span:
    """Some rounds, the first and the last counted from 1, and what is proved about them."""

    first: int
    last: int
    #: Not below what the tracker lost on these rounds.
    tracker_loss: float
    #: Not above what any fixed predictor of the ball loses on them.
    static_bound: float

    @property
    def rounds(self) -> int:
        """How many rounds these are."""
        return self.last - self.first + 1

    @property
    def proved(self) -> bool:
        """Whether no fixed predictor of the ball does as well as the tracker did."""
        return self.tracker_loss < self.static_bound

    @property
    def average_loss(self) -> float:
        """The tracker's loss a round, rounded up."""
        return math.nextafter(self.tracker_loss / self.rounds, math.inf)

    @property
    def average_bound(self) -> float:
        """The bound on fixed predictors a round, rounded down."""
        return math.nextafter(self.static_bound / self.rounds, -math.inf)

    @property
    def margin(self) -> float:
        """By how much a round at least, where it is proved; else not above zero."""
        gap = math.nextafter(self.static_bound - self.tracker_loss, -math.inf)
        return math.nextafter(gap / self.rounds, -math.inf)


@dataclass(frozen=True)
class DriftProof(Span):
    """What is proved about all rounds, and about each window of them.

    >>> import numpy as np
    >>> from noregret import losses
    >>> y = np.repeat([1.0, -1.0, 1.0], 100)
    >>> print(drift_proof(np.ones((300, 1)), y, losses.Squared(), radius=1.0))
    Proved: no fixed predictor will do.
      On these 300 rounds every fixed predictor with norm <= 1 loses at least 266.666,
      0.8888 a round; the tracker, inside the same ball, lost at most 13.3806 < 266.666,
      0.04461 a round.
    """

    radius: float
    loss: Loss
    windows: tuple[Span, ...] = ()

    def __str__(self) -> str:
        a, b = _apart(self.tracker_loss, self.static_bound)
        ball = f"{self.radius!r}".removesuffix(".0")
        lines = [
            "Proved: no fixed predictor will do." if self.proved else "Nothing is proved.",
            f"  On these {self.rounds:,} rounds every fixed predictor with norm <= {ball} loses "
            f"at least {b},",
            f"  {down(self.average_bound, 4)} a round; the tracker, inside the same ball, lost at "
            f"most {a}" + (f" < {b}," if self.proved else ","),
            f"  {up(self.average_loss, 4)} a round.",
        ]
        if self.windows:
            lines += _windows_text(self.windows)
        assumption = self.assumption
        return "\n".join([*lines, f"  Assumed: {assumption}."] if assumption else lines)

    @property
    def assumption(self) -> str | None:
        """What is taken on trust: the convexity of a loss that is not one of ours."""
        return certify(np.zeros((0, 0)), [], [], self.loss).assumption

    def as_dict(self) -> dict[str, Any]:
        """Return the proof as plain numbers, ready for JSON."""
        return {
            "proved": self.proved,
            "rounds": self.rounds,
            "radius": self.radius,
            "loss": str(self.loss),
            "tracker_loss": self.tracker_loss,
            "static_bound": self.static_bound,
            "margin": self.margin,
            "assumption": self.assumption,
            "windows": [
                {
                    "first": span.first,
                    "last": span.last,
                    "proved": span.proved,
                    "tracker_loss": span.tracker_loss,
                    "static_bound": span.static_bound,
                }
                for span in self.windows
            ],
        }


def _apart(tracker: float, static: float) -> tuple[str, str]:
    """Return both numbers, rounded outwards, with as many digits as keep their order."""
    for digits in range(6, 18):
        a, b = up(tracker, digits), down(static, digits)
        if not tracker < static or float(a) < float(b):
            break
    return a, b


def _windows_text(windows: tuple[Span, ...]) -> list[str]:
    proved = [span for span in windows if span.proved]
    lines = [
        f"  Windows of {windows[0].rounds:,} rounds that prove the same of themselves: "
        f"{len(proved):,} of {len(windows):,}."
    ]
    if proved:
        best = max(proved, key=lambda span: span.margin)
        lines.append(
            f"  By most on rounds {best.first:,} to {best.last:,}: at least "
            f"{down(best.average_bound, 4)} a round against {up(best.average_loss, 4)}."
        )
    return lines


def drift_proof(
    X: Any,
    y: Any = None,
    loss: Loss | None = None,
    radius: float = math.nan,
    weight: Any = None,
    window: int | None = None,
) -> DriftProof:
    """Try to prove that no fixed predictor of a ball does what a tracker in it did.

    The tracker is `noregret.tracking.mixture.Tracker` at its defaults; the bound on all fixed
    predictors is the largest of those at hand: for the square loss the exact optimum, from
    second moments; for others the dual of `nr.hindsight`; and in any case what the tracker's
    own certificates prove. Both numbers are rounded outwards.

    Args:
        X: rows as every learner takes them; or a stream of blocks, such as `nr.read` returns,
            with y left out: it is read once, and for the square loss not kept in memory.
        y: labels.
        loss: the loss, `Squared()` unless told; it takes -1 and +1 as targets.
        radius: the ball ||u||_2 <= radius, of both the fixed predictors and the tracker.
        weight: example weights.
        window: also look at windows of so many rounds, four of them begun in every such length.

    >>> import numpy as np
    >>> X = np.ones((40, 1))
    >>> drift_proof(X, np.repeat([1.0, -1.0], 20), radius=1.0).proved
    True
    >>> drift_proof(X, np.ones(40), radius=1.0).proved
    False
    """
    loss = Squared() if loss is None else loss
    Problem.require("radius", radius)
    if window is not None and not (isinstance(window, (int, np.integer)) and window >= 1):
        raise ValueError(f"window must be a whole number of rounds >= 1, got {window!r}")
    if y is None:
        if weight is not None:
            raise ValueError("weight belongs to arrays: the blocks of a stream have their own")
        watch = _Watch(loss, float(radius), window, one_pass=type(loss) is Squared)
        for block in _blocks(X):
            watch.add(as_rows(block), block.y, block.weight)
    else:
        watch = _Watch(loss, float(radius), window, one_pass=False)
        watch.add(as_rows(X), y, weight)
    return watch.proof()


def _blocks(stream: Iterable[Any]) -> Iterator[Any]:
    if not isinstance(stream, Iterable):
        raise ValueError("X without y must be a stream of blocks; give y for arrays")
    for block in stream:
        if not hasattr(block, "indptr") or not hasattr(block, "y"):
            raise ValueError("X without y must be a stream of blocks; give y for arrays")
        yield block


class _Part:
    """Consecutive rows with labels, weights and what the tracker predicted for them."""

    def __init__(self, rows: Rows, y: Vector, weight: Vector, predictions: Vector) -> None:
        self.rows, self.y, self.weight, self.predictions = rows, y, weight, predictions

    def __len__(self) -> int:
        return len(self.y)

    def cut(self, start: int, stop: int) -> _Part:
        part = slice(start, stop)
        return _Part(
            self.rows.part(start, stop), self.y[part], self.weight[part], self.predictions[part]
        )


class _Watch:
    """A tracker at work, and what is needed to judge it."""

    def __init__(self, loss: Loss, radius: float, window: int | None, one_pass: bool) -> None:
        self._loss, self._radius, self._window = loss, radius, window
        self._tracker: Tracker | None = None
        self._certifier = Certifier(loss)
        self._moments = Moments() if one_pass else None
        self._kept: list[_Part] = []
        self._rounds = self._dropped = 0
        self._windows: list[Span] = []

    def add(self, rows: Rows, y: Any, weight: Any) -> None:
        """Learn rows, enter them in every sum, and judge the windows that they complete."""
        labels = as_labels(y, len(rows), self._loss)
        weights = as_weights(weight, len(rows))
        rows = sound_rows(rows, self._rounds)
        predictions = np.empty(len(rows))
        for start in range(0, len(rows), PORTION):
            part = slice(start, min(start + PORTION, len(rows)))
            given = plain(rows.part(part.start, part.stop))
            predictions[part] = self._track(given, labels[part], weights[part])
        if len(rows) and (self._moments is None or self._window is not None):
            self._kept.append(_Part(rows, labels, weights, predictions))
        self._rounds += len(rows)
        self._look()

    def _track(self, X: Any, y: Vector, weight: Vector) -> Vector:
        if self._tracker is None:
            row = float(row_norms(as_rows(X)).max(initial=0.0))
            self._tracker = Tracker(self._loss, self._radius, row if row > SMALLEST_ROW else 1.0)
        predictions = self._tracker.learn(X, y, weight)
        self._certifier.add(X, y, predictions, weight)
        if self._moments is not None:
            self._moments.add(X, y, weight)
        return predictions

    def _look(self) -> None:
        """Judge the windows that are complete, and let go of rows that no other needs."""
        if self._window is None or not self._kept:
            return
        step = max(1, self._window // OVERLAP)
        held = _joined(self._kept)
        while len(self._windows) * step + self._window <= self._rounds:
            first = len(self._windows) * step
            start = first - self._dropped
            self._windows.append(self._judge(held.cut(start, start + self._window), first))
        if self._moments is not None:
            gone = min(len(self._windows) * step - self._dropped, len(held))
            held = held.cut(gone, len(held))
            self._dropped += gone
        self._kept = [held]

    def _judge(self, part: _Part, first: int) -> Span:
        given = plain(part.rows)
        proof = certify(given, part.y, part.predictions, self._loss, part.weight)
        static = static_floor(given, part.y, self._loss, self._radius, part.weight)
        floor = max(proof.floor(self._radius), static)
        return Span(first + 1, first + len(part), _upper(proof), floor)

    def proof(self) -> DriftProof:
        if self._tracker is None:
            raise ValueError("there are no rounds: expected at least one row")
        proof = self._certifier.certificate()
        floors = [proof.floor(self._radius), self._tracker.floor()]
        if self._moments is not None:
            floors.append(self._moments.floor(self._radius))
        else:
            held = _joined(self._kept)
            floors.append(
                static_floor(plain(held.rows), held.y, self._loss, self._radius, held.weight)
            )
        return DriftProof(
            1, self._rounds, _upper(proof), max(floors), self._radius, self._loss,
            tuple(self._windows),
        )  # fmt: skip


def _upper(proof: Certificate) -> float:
    """Return the loss of given predictions, rounded up."""
    value = proof.loss + proof.slack + 8.0 * EPSILON * abs(proof.loss)
    return math.inf if math.isnan(value) else value


def _joined(parts: list[_Part]) -> _Part:
    """Return parts one after the other as one."""
    if len(parts) == 1:
        return parts[0]
    rows = [part.rows for part in parts]
    y, weight, predictions = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("y", "weight", "predictions")
    )
    width = max(one.width for one in rows)
    if rows[0].dense:
        values = np.concatenate([one.values for one in rows])
        return _Part(replace(rows[0], values=values, trusted=len(y)), y, weight, predictions)
    spans = [slice(int(one.indptr[0]), int(one.indptr[-1])) for one in rows]
    lengths = np.concatenate([np.diff(one.indptr) for one in rows])
    joined = Rows(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64),
        np.concatenate([one.indices[span] for one, span in zip(rows, spans, strict=True)]),
        np.concatenate([one.values[span] for one, span in zip(rows, spans, strict=True)]),
        width,
        len(y),
    )
    return _Part(joined, y, weight, predictions)
