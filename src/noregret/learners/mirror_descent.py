"""Mirror descent on streams of linear predictors: the learner that most users hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.domains import Domain, Everywhere
from noregret.files.fields import Arrays, Setting
from noregret.learners.combination import Combination, choose_engine
from noregret.learners.engines import Engine
from noregret.learners.fields import Blocks, Fixed, Learnt
from noregret.learners.marks import Undo, features_of, saved, saved_records
from noregret.learners.one_row import Columns, SingleRowLearner
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.checks import sorted_or_refused, sound_rows
from noregret.passes.slots import Stop
from noregret.proof.certificate import Certificate
from noregret.proof.evidence import Evidence
from noregret.proof.ledger import Entry
from noregret.rates import Rate
from noregret.rows.examples import Rows, as_labels, as_rows, as_weights
from noregret.turns import one_at_a_time


class MirrorDescent(SingleRowLearner[float]):
    """Online mirror descent for linear predictors, with a certificate at every moment.

    Each round: predict p = <w, x>, suffer loss(y, p), step by its subgradient z = slope * x.
    Lazy: theta <- theta - z, w = link(eta theta). Agile: step from w, then project on
    `domain`. Conservative: update on mistakes only, as the Perceptron and Winnow do.

    >>> import numpy as np, noregret as nr
    >>> learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.Constant(1))
    >>> learner.learn(np.array([[1.0, 0.0], [0.0, 1.0]]), [1, -1])
    array([0., 0.])
    >>> learner.weights
    array([ 1., -1.])

    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.6.
    """

    _FIELDS = (
        Setting("lazy", "_parts.lazy"),
        Setting("conservative", "_parts.conservative"),
        Fixed("fixed"),
        Setting("averaging", "_averaging"),
        Setting("clip", "_parts.clip"),
        Setting("implicit", "_parts.implicit"),
        Setting("loss", "_parts.loss", Loss),
        Setting("mirror", "_parts.mirror", Mirror),
        Setting("rate", "_parts.rate", Rate),
        Setting("domain", "_parts.domain", Domain),
        Learnt("arrays"),
        Blocks("blocks"),
    )

    _parts: Combination
    _engine: Engine | None
    _alone = staticmethod(float)

    def __init__(
        self,
        loss: Loss,
        mirror: Mirror,
        rate: Rate,
        domain: Domain | None = None,
        lazy: bool = True,
        conservative: bool = False,
        dimension: int | None = None,
        row_limit: float | None = None,
        averaging: bool = True,
        clip: float | None = None,
        implicit: bool = False,
        blocks: bool | str = False,
    ) -> None:
        """Make a learner.

        Args:
            loss: one of `nr.losses` or a `Loss` of your own.
            mirror: one of `nr.mirrors`; it fixes the geometry.
            rate: one of `nr.rates`; it sets the step size eta.
            domain: convex set of the weights, one of `nr.domains` [default: all weights].
            lazy: step in theta; False steps from the weights and projects [default: True].
            conservative: update on mistakes only [default: False].
            dimension: number of features, >= 1 [default: it grows with the data, or is the width
                of the first input where the map must know it].
            row_limit: promise ||x||_* <= row_limit, above 0; bounds that use it report a broken
                promise [default: none].
            averaging: keep the average of the weights; False takes half the memory and is faster
                [default: True].
            clip: upper limit of predictions, above 0, applied before loss and slope are taken
                [default: none].
            implicit: step by the slope at the new weights, argmin D(w, w_t) + eta f_t(w)
                [default: False].
            blocks: raise the floor by lines under blocks of rows, for 2 to 7 us a row and 3 MB of
                rows held back; or "parabolas", see `nr.certify` [default: False].
        """
        domain = None if domain == Everywhere() else domain
        super().__init__(
            Combination(
                loss, mirror, rate, domain, bool(lazy), bool(conservative), clip, bool(implicit)
            ),
            dimension,
            blocks,
        )
        self._averaging = bool(averaging)
        #: Z, and the sum of the weights, over the epochs before the last restart.
        self._past_gradient: Vector | None = None
        self._past_iterates: Vector | None = None
        if row_limit is not None:
            if not row_limit > 0.0:
                raise ValueError(f"row_limit must be a number above 0, got {row_limit}")
            self._ledger[Entry.ROW_LIMIT] = row_limit
        if self._fixed is not None:
            self._open(self._fixed)

    @one_at_a_time
    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        """Learn the rows of X one after the other; return the predictions made before each.

        X: a dense array, a scipy sparse matrix or a `noregret.streams.Block`. Input that
        cannot be learnt raises ValueError and leaves the learner as it was. A learner whose
        rate is too large may diverge: OverflowError then, with the rounds before it kept.
        """
        single = self._learn_single(X, y, weight)
        if single is not None:
            return single
        rows = as_rows(X)
        terms = as_labels(y, len(rows), self.loss), as_weights(weight, len(rows))
        return self._learn(rows, np.empty(len(rows)), terms)

    def _guarded(self, rows: Rows) -> tuple[Rows, Arrays | None]:
        # Copy the state and let the pass check rows as it plays them, or check all rows first:
        # whichever reads less memory.
        if rows.trusted == len(rows):
            return rows, None
        if self._engine is None or self._engine.size <= rows.values.size:
            return rows, self._arrays()
        return sound_rows(rows, 0), None

    def _play(self, rows: Rows, start: int, terms: tuple[Vector, ...], predictions: Vector) -> None:
        engine = self._engine
        assert engine is not None
        y, weight = terms
        row = 0
        while row < len(y):
            part = slice(row, self._epoch_end(row, len(y)))
            played, reason = engine.run(
                rows.part(row, part.stop), y[part], weight[part], self._ledger, predictions[part]
            )
            row += played
            if reason == Stop.UNSOUND:
                rest = sorted_or_refused(rows.part(row, len(y)), start + row)
                self._play(rest, start + row, (y[row:], weight[row:]), predictions[row:])
                return
            if reason == Stop.OVERFLOW:
                raise self._diverges()
            if engine.rate.restarts() and (self.rounds + 1) & self.rounds == 0:
                self._restart(engine)

    def _epoch_end(self, row: int, count: int) -> int:
        """Return where to stop: a rate that restarts begins epochs at rounds 1, 2, 4, ..."""
        if not self.rate.restarts():
            return count
        coming = self.rounds + 1
        return min(count, row + (1 << coming.bit_length()) - coming)

    def _restart(self, engine: Engine) -> None:
        self._past_gradient = _added(self._past_gradient, engine.gradient())
        self._past_iterates = _added(self._past_iterates, engine.sum_of_iterates())
        engine.begin(len(engine.state))

    def predict(self, X: Any) -> Vector:
        """Return the prediction for each row with the weights of the coming round.

        It is <w, x>, at most `clip`; `ScaleFree` adds `offset` for real targets and stays within
        their range, as `Ridge` does; `Aioli` and an anticipating `Ridge` correct it, see there.
        """
        if self._engine is not None:
            found = self._engine.predictions(self._readable(as_rows(X)))
            if found is not None:
                return found
        finished: Vector = self._finished(self._products(X))
        return finished

    def _as_rows(self, columns: Columns, values: Vector) -> Rows:
        if self._engine is None and not self._growable:
            raise ValueError(
                "this map must know its features in advance: make the learner with dimension="
            )
        return super()._as_rows(columns, values)

    def _finished(self, products: Any) -> Any:
        if self._parts.clip is not None:
            return np.minimum(products, self._parts.clip)
        return products if self._engine is None else self._engine.finish(products)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest prediction that can be made, infinite if there is none."""
        if self._parts.clip is not None:
            return -math.inf, self._parts.clip
        return (-math.inf, math.inf) if self._engine is None else self._engine.limits

    @property
    def offset(self) -> float:
        """The constant added to <w, x>: 0, except for `ScaleFree` with real targets."""
        return 0.0 if self._engine is None else self._engine.offset

    @property
    def average(self) -> Vector:
        """The average of the weights played so far; the first weights before any round."""
        for part in (self.mirror, self.rate):
            if not part.keeps_average():
                raise ValueError(
                    f"{type(part).__name__} keeps no average: its weights move without being read"
                )
        if not self._averaging:
            raise ValueError("this learner keeps no average: make it with averaging=True")
        return self._mean()

    def _mean(self) -> Vector:
        if self._engine is None or self.rounds == 0:
            return self.weights
        return _added(self._past_iterates, self._engine.sum_of_iterates()) / self.rounds

    def certificate(self, thorough: bool = True) -> Certificate:
        """Return what the rounds so far prove, as a value that later rounds do not change.

        thorough: search for the best lines of the rows held back, if `blocks` are kept; without it
            the floor of a small or large class is lower, and found sooner [default: True].
        """
        mirror, rate = self._parts.resolved(self.dimension)
        gradient, evidence = np.zeros(0), Evidence()
        if self._engine is not None:
            gradient = _added(self._past_gradient, self._engine.gradient())
            evidence = self._engine.evidence()
        weights = self._mean() if rate.restarts() else self._current_weights()
        return self._floored(
            Certificate(
                loss_function=self.loss,
                mirror=mirror,
                rate=rate,
                ledger=self._ledger.copy(),
                gradient=gradient,
                domain=self._parts.domain,
                lazy=self._parts.lazy,
                conservative=self._parts.conservative,
                # The theorems speak about steps by the slope at the prediction <w, x>.
                played=not self._parts.implicit and self._parts.clip is None,
                reach=evidence.norm(mirror, weights),
                evidence=evidence,
            ),
            thorough,
        )

    @property
    def sizes(self) -> Vector | None:
        """The m_i of the floor's class, where it measures features by their sizes, else None."""
        return None if self._engine is None else self._engine.sizes()

    def _mark(self, rows: Rows) -> Undo | None:
        """Return what puts the learner back after it has learnt these rows, see `marks`."""
        engine, ledger = self._engine, self._ledger
        # New arrays come with new features and at restarts, and blocks keep rows.
        if engine is None or rows.width > self.dimension or engine.rate.restarts():
            return None
        written = engine.written()
        if not written or self._lines is not None:
            return None
        places = features_of(rows, len(engine.state)) if engine.own_records() else None
        state = engine.state
        records = saved([state]) if places is None else saved_records(state, places)
        others, replaced = saved([ledger, *written]), engine.replaced()

        def back() -> None:
            # A refusal may have replaced the engine by one made from a backup.
            self._engine, self._ledger, self._weights = engine, ledger, None
            vars(engine).update(replaced)
            records()
            others()

        return back

    def _arrays(self) -> Arrays:
        arrays = super()._arrays()
        if self._past_gradient is not None and self._past_iterates is not None:
            arrays["past_gradient"] = self._past_gradient.copy()
            arrays["past_iterates"] = self._past_iterates.copy()
        return arrays

    def _restore(self, arrays: Arrays) -> None:
        super()._restore(arrays)
        self._past_gradient = arrays.get("past_gradient")
        self._past_iterates = arrays.get("past_iterates")

    def _new_engine(self, dimension: int) -> Engine:
        mirror, rate = self._parts.resolved(dimension)
        # A learner that restarts is described by its average, which it always keeps.
        averaging = self._averaging or rate.restarts()
        engine = choose_engine(self._parts, mirror, rate, averaging)
        engine.begin(dimension)
        return engine


def _added(past: Vector | None, now: Vector) -> Vector:
    """Return past + now, where past may be shorter or absent."""
    if past is None:
        return now
    total = now.copy()
    total[: len(past)] += past
    return total
