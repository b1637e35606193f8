"""Proof that no fixed predictor will do: a tracker in the same ball did better than all of them.

Two numbers on the same rounds: b, below the loss of every fixed predictor of the ball, and a, above
the loss of a tracker that played only predictors of that ball. Where a < b, no fixed predictor
of the class can do what a moving one of the same class did. It is a statement about these
rounds. Nothing is said about how they came about: a stream of one law, the same at all times,
shows it too if its labels are autocorrelated. Here every label repeats the last one with
probability 0.95, and the only feature is constant:

>>> import numpy as np
>>> random = np.random.default_rng(0)
>>> y = np.cumprod(np.where(random.random(1000) < 0.95, 1.0, -1.0))
>>> print(drift_proof(np.ones((1000, 1)), y, radius=1.0))
Proved: no fixed predictor will do.
  On these 1,000 rounds every fixed predictor with norm <= 1 loses at least 940.463 by Squared,
  0.9404 a round; the tracker, inside the same ball, lost at most 208.093 < 940.463,
  0.2081 a round.

That is no contradiction. The best fixed predictor of these labels is their average, near 0, while
one that follows the last labels foresees the next: moving pays without any change of the law. What
is refuted is the class of fixed predictors of these features, not stationarity; with the last
label as a feature a fixed predictor would do as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from noregret.arrays import as_count, as_positive
from noregret.losses import Loss, Squared
from noregret.proof.statement import Proof, finite
from noregret.proof.wording import assumption_of, named, weighted
from noregret.rounding import down, exact, up
from noregret.rows.examples import as_rows
from noregret.tracking.watch import Span, Watch


@dataclass(frozen=True)
class DriftProof(Span, Proof):
    """What is proved about all rounds, and about each window of them.

    >>> import numpy as np
    >>> from noregret import losses
    >>> y = np.repeat([1.0, -1.0, 1.0], 100)
    >>> print(drift_proof(np.ones((300, 1)), y, losses.Squared(), radius=1.0))
    Proved: no fixed predictor will do.
      On these 300 rounds every fixed predictor with norm <= 1 loses at least 266.666 by Squared,
      0.8888 a round; the tracker, inside the same ball, lost at most 13.3806 < 266.666,
      0.04461 a round.
    """

    radius: float
    loss: Loss
    windows: tuple[Span, ...] = ()
    #: The smallest and the largest example weight.
    weights: tuple[float, float] = (1.0, 1.0)
    #: The promise that a loss of one's own broke, in words: nothing is proved then.
    broken: str | None = None

    @property
    def objective(self) -> str:
        """The quantity of one round that both numbers sum, in words."""
        return weighted(named(self.loss), *self.weights)

    def _lines(self) -> list[str]:
        if self.broken:
            return ["Nothing is proved.", f"  no statement: {self.broken}"]
        a, b = _apart(self.tracker_loss, self.static_bound)
        ball = exact(self.radius)
        lines = [
            "Proved: no fixed predictor will do." if self.proved else "Nothing is proved.",
            f"  On these {self.rounds:,} rounds every fixed predictor with norm <= {ball} loses "
            f"at least {b} by {self.objective},",
            f"  {down(self.average_bound, 4)} a round; the tracker, inside the same ball, lost at "
            f"most {a}" + (f" < {b}," if self.proved else ","),
            f"  {up(self.average_loss, 4)} a round.",
        ]
        if self.windows:
            lines += _windows_text(self.windows)
        assumption = self.assumption
        return [*lines, f"  Assumed: {assumption}."] if assumption else lines

    @property
    def assumption(self) -> str | None:
        """The assumptions about a loss that is not built in, None for built-in losses."""
        return assumption_of(self.loss, conjugate=self.loss.has_conjugate())

    def as_dict(self) -> dict[str, Any]:
        """Return the proof as plain numbers, ready for JSON."""
        return {
            "proved": self.proved,
            "rounds": self.rounds,
            "radius": self.radius,
            "loss": str(self.loss),
            "objective": self.objective,
            "tracker_loss": finite(self.tracker_loss),
            "static_bound": None if self.broken else self.static_bound,
            "margin": None if self.broken else self.margin,
            "broken": self.broken,
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
    progress: Callable[[str], None] | None = None,
) -> DriftProof:
    """Try to prove that no fixed predictor of a ball does what a tracker in it did.

    The tracker is `noregret.tracking.mixture.Tracker` at its defaults; the bound on all fixed
    predictors is the largest of those at hand: for the square loss the exact optimum, from
    second moments; for others the dual of `nr.hindsight`, or of a stream lines at blocks of
    rows; and in any case what the tracker's own certificates prove. Both numbers are rounded
    outwards.

    Args:
        X: rows as every learner takes them; or a stream of blocks, such as `nr.read` returns,
            with y left out: it is read once, and not kept in memory but for a loss of your own.
        y: labels.
        loss: the loss; `Squared` takes -1 and +1 as targets [default: Squared()].
        radius: the ball ||u||_2 <= radius, of both the fixed predictors and the tracker.
        weight: example weights, >= 0 [default: 1].
        window: also judge windows of this many rounds, overlapping by three quarters
            [default: none].
        progress: called with a line of text as the work proceeds.

    >>> import numpy as np
    >>> X = np.ones((40, 1))
    >>> drift_proof(X, np.repeat([1.0, -1.0], 20), radius=1.0).proved
    True
    >>> drift_proof(X, np.ones(40), radius=1.0).proved
    False
    """
    loss = Squared() if loss is None else loss
    radius = as_positive("radius", radius)
    window = None if window is None else as_count("window", window)
    one_pass = y is None and not loss.foreign and loss.has_conjugate()
    watch = Watch(loss, radius, window, one_pass, progress or (lambda text: None))
    if y is None:
        if weight is not None:
            raise ValueError("weight belongs to arrays: the blocks of a stream have their own")
        blocks: Iterable[Any] = X if isinstance(X, Iterable) else [None]
        for block in blocks:
            if not hasattr(block, "indptr") or not hasattr(block, "y"):
                raise ValueError("X without y must be a stream of blocks; give y for arrays")
            watch.add(as_rows(block), block.y, block.weight)
    else:
        watch.add(as_rows(X), y, weight)
    whole, windows = watch.proof()
    return DriftProof(
        whole.first,
        whole.last,
        whole.tracker_loss,
        whole.static_bound,
        radius,
        loss,
        () if watch.broken else windows,
        watch.weights,
        watch.broken or None,
    )
