"""Mirror descent on streams of linear predictors: the learner that most users hold."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from noregret.component import Component
from noregret.domains import ClippedSimplex, Domain, Everywhere
from noregret.files import store
from noregret.learners.agile_engine import choose_engine
from noregret.learners.coin_betting import CoinBettingEngine
from noregret.learners.combination import Combination
from noregret.learners.engines import Engine
from noregret.learners.floored import FlooredEngine
from noregret.learners.one_row import OneRow
from noregret.learners.scale_free import ScaleFreeEngine
from noregret.learners.singly import SingleRowLearner
from noregret.learners.together import Diverged
from noregret.losses import Loss
from noregret.mirrors import Mirror, SoftThreshold
from noregret.passes.checks import sound_rows
from noregret.passes.slots import Stop
from noregret.proof.certificate import Certificate
from noregret.proof.evidence import Evidence
from noregret.proof.ledger import SIZE, Entry, new_ledger, require_room
from noregret.rates import CoinBetting, Rate, ScaleFree
from noregret.rows.examples import Rows, as_labels, as_rows, as_weights
from noregret.turns import one_at_a_time

Vector = npt.NDArray[np.float64]


class MirrorDescent(SingleRowLearner):
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
    ) -> None:
        """Make a learner.

        `dimension` fixes the number of features; without it the learner grows with the
        data, or takes the width of the first input where the map needs to know it.
        `row_limit` promises ||x||_* <= row_limit; bounds that use it say when it was broken.
        With `averaging=False` a lazy learner keeps no average of its weights, takes half the
        memory and is faster; all else stays as it is.
        `clip` lowers predictions above it to it, before loss and slope are taken.
        `implicit` steps by the slope at the new weights, of argmin D(w, w_t) + eta f_t(w).
        """
        domain = None if isinstance(domain, Everywhere) else domain
        self._parts = Combination(
            loss, mirror, rate, domain, bool(lazy), bool(conservative), clip, bool(implicit)
        )
        self._averaging = bool(averaging)
        self._fixed = dimension is not None
        self._growable = self._parts.growable()
        self._ledger = new_ledger()
        self._engine: Engine | None = None
        self._past_gradient: Vector | None = None
        self._past_iterates: Vector | None = None
        self._weights: Vector | None = None
        self._one: OneRow | None = None
        if row_limit is not None:
            if not row_limit > 0.0:
                raise ValueError(f"row_limit must be a number above 0, got {row_limit}")
            self._ledger[Entry.ROW_LIMIT] = row_limit
        if dimension is not None:
            if int(dimension) != dimension or dimension < 1:
                raise ValueError(f"dimension must be a whole number >= 1, got {dimension}")
            self._open(int(dimension))

    @property
    def rate(self) -> Rate:
        """The rate."""
        return self._parts.rate

    @property
    def rounds(self) -> int:
        """How many examples were learnt."""
        return int(self._ledger[Entry.ROUNDS])

    @property
    def dimension(self) -> int:
        """How many features are known."""
        return 0 if self._engine is None else len(self._engine.state)

    @one_at_a_time
    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        """Learn the rows of X one after the other; return the predictions made before each.

        X: a dense array, a scipy sparse matrix or a `noregret.streams.Block`. Input that
        cannot be learnt raises ValueError and leaves the learner as it was. A learner whose
        rate is too large may diverge: OverflowError then, with the rounds before it kept.
        """
        rows = as_rows(X)
        labels = as_labels(y, len(rows), self.loss)
        weights = as_weights(weight, len(rows))
        self._check_width(rows)
        require_room(self.rounds, len(rows))
        predictions = np.empty(len(rows))
        # To leave the learner as it was, either keep a copy of it and check rows as they are
        # learnt, or check all rows before anything moves: whichever is less to read.
        engine = self._engine
        checked = rows.trusted == len(rows)
        copied = not checked and (engine is None or engine.state.size <= rows.values.size)
        backup = self._arrays() if copied else None
        opened, known, rounds = engine is not None, self.dimension, self.rounds
        if not copied and not checked:
            rows = sound_rows(rows, 0)
        try:
            self._open(max(rows.width, self.dimension))
            for start, stop in rows.chunks():
                part = slice(start, stop)
                chunk = rows.part(start, stop)
                self._play(chunk, start, labels[part], weights[part], predictions[part])
        except ValueError:
            if backup is not None:
                self._restore(backup)
            raise
        except OverflowError as error:
            if self.rounds == rounds:
                self._narrow(opened, known)
            raise Diverged(str(error), predictions[: self.rounds - rounds]) from None
        return predictions

    def _narrow(self, opened: bool, dimension: int) -> None:
        """Take back the room for features of rows of which none was learnt."""
        self._weights = None
        if not opened:
            self._engine = None
        elif self._engine is not None and dimension < self.dimension:
            self._engine.grow(dimension)

    def _play(
        self, rows: Rows, offset: int, y: Vector, weight: Vector, predictions: Vector
    ) -> None:
        engine = self._engine
        assert engine is not None
        self._weights = None
        start = 0
        while start < len(y):
            stop = len(y)
            if engine.rate.restarts():
                # Epochs begin at rounds 1, 2, 4, ...: never play across a boundary.
                coming = self.rounds + 1
                stop = min(stop, start + (1 << coming.bit_length()) - coming)
            part = slice(start, stop)
            played, reason = engine.run(
                rows.part(start, stop), y[part], weight[part], self._ledger, predictions[part]
            )
            start += played
            if reason == Stop.UNSOUND:
                rest = sound_rows(rows.part(start, len(y)), offset + start)
                self._play(rest, offset + start, y[start:], weight[start:], predictions[start:])
                return
            if reason == Stop.OVERFLOW:
                raise OverflowError(
                    f"the loss or gradient of round {self.rounds + 1} overflows: it diverges; "
                    "use a smaller rate, a map with a radius, or scale the features"
                )
            if engine.rate.restarts() and (self.rounds + 1) & self.rounds == 0:
                self._restart(engine)

    def _restart(self, engine: Engine) -> None:
        gradient, iterates = engine.gradient(), engine.sum_of_iterates()
        self._past_gradient = _added(self._past_gradient, gradient)
        self._past_iterates = _added(self._past_iterates, iterates)
        engine.begin(len(engine.state))

    def predict(self, X: Any) -> Vector:
        """Return the prediction for each row with the weights of the coming round.

        It is <w, x>, at most `clip`; `ScaleFree` adds `offset` for real targets and stays within
        their range.
        """
        finished: Vector = self._finished(self._products(X))
        return finished

    def _finished(self, products: Any) -> Any:
        engine = self._engine
        if self._parts.clip is not None:
            return np.minimum(products, self._parts.clip)
        return products if engine is None else engine.finish(products)

    @property
    def offset(self) -> float:
        """What predictions have beside <w, x>: 0, but for `ScaleFree` and real targets."""
        return 0.0 if self._engine is None else self._engine.offset

    def _is_open(self) -> bool:
        return self._engine is not None

    def _fresh(self, dimension: int) -> Self:
        return type(self)(**vars(self._parts), dimension=dimension, averaging=self._averaging)

    def _read_weights(self) -> Vector:
        assert self._engine is not None
        return self._engine.weights(self._ledger)

    @property
    def average(self) -> Vector:
        """The average of the weights played so far; the first weights before any round."""
        if isinstance(self.mirror, SoftThreshold) and self.mirror.l1 > 0.0:
            raise ValueError("SoftThreshold keeps no average: its weights move without being read")
        if isinstance(self.rate, (ScaleFree, CoinBetting)):
            name = type(self.rate).__name__
            raise ValueError(f"{name} keeps no average: its weights move without being read")
        if not self._averaging:
            raise ValueError("this learner keeps no average: make it with averaging=True")
        return self._mean()

    def _mean(self) -> Vector:
        if self._engine is None or self.rounds == 0:
            return self.weights
        total = _added(self._past_iterates, self._engine.sum_of_iterates())
        return total / self.rounds

    def certificate(self) -> Certificate:
        """Return what the rounds so far prove, as a value that later rounds do not change."""
        mirror, rate = self._parts.resolved(self.dimension)
        gradient, evidence = np.zeros(0), Evidence()
        if self._engine is not None:
            gradient = _added(self._past_gradient, self._engine.gradient())
            evidence = self._engine.evidence()
        weights = self._mean() if rate.restarts() else self._current_weights()
        return Certificate(
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
        )

    @property
    def sizes(self) -> Vector | None:
        """The m_i of the floor's class, where it measures features by their sizes, else None."""
        return None if self._engine is None else self._engine.sizes()

    def __getstate__(self) -> dict[str, Any]:
        """Return parts and arrays: copies have room for features of their own."""
        parts = {**vars(self._parts), "averaging": self._averaging}
        return {"parts": parts, "fixed": self._fixed, "arrays": self._arrays()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Go on where the learner was that the state was taken of."""
        MirrorDescent.__init__(self, **kept["parts"])
        self._fixed = kept["fixed"]
        self._restore(kept["arrays"])

    def save(self, path: str | os.PathLike[str], extra: store.Extra | None = None) -> None:
        """Write the learner to a file, atomically; `nr.load` resumes it to the bit.

        `extra` is kept beside it for `load_with_extra`.
        """
        parts = self._parts
        header: dict[str, Any] = {
            "learner": "MirrorDescent",
            "lazy": parts.lazy,
            "conservative": parts.conservative,
            "fixed": self._fixed,
            "averaging": self._averaging,
            "clip": parts.clip,
            "implicit": parts.implicit,
        }
        for name in ("loss", "mirror", "rate", "domain"):
            component = getattr(parts, name)
            header[name] = None if component is None else store.component_to_header(component)
        store.write(path, *store.attached(header, self._arrays(), extra))

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, Vector]) -> Self:
        def part(name: str, base: type[Component]) -> Any:
            entry = header[name]
            return None if entry is None else store.component_from_header(entry, base)

        learner = cls(
            part("loss", Loss),
            part("mirror", Mirror),
            part("rate", Rate),
            part("domain", Domain),
            header["lazy"],
            header["conservative"],
            averaging=header["averaging"],
            clip=header["clip"],
            implicit=header["implicit"],
        )
        learner._fixed = bool(header["fixed"])
        learner._restore(arrays)
        return learner

    def _arrays(self) -> dict[str, Vector]:
        arrays = {"ledger": self._ledger}
        if self._engine is not None:
            arrays.update(self._engine.arrays())
        if self._past_gradient is not None and self._past_iterates is not None:
            arrays["past_gradient"] = self._past_gradient
            arrays["past_iterates"] = self._past_iterates
        return {name: array.copy() for name, array in arrays.items()}

    def _restore(self, arrays: dict[str, Vector]) -> None:
        ledger = arrays["ledger"]
        if ledger.shape != (SIZE,):
            raise ValueError(f"the ledger has {ledger.shape} entries, expected {SIZE}")
        self._ledger = ledger.copy()
        self._engine = self._weights = None
        if "state" in arrays:
            self._open(len(arrays["state"]))
            assert self._engine is not None
            for name, kept in self._engine.arrays().items():
                if arrays[name].shape != kept.shape:
                    raise ValueError(
                        f"{name} has shape {arrays[name].shape}, expected {kept.shape}"
                    )
                kept[...] = arrays[name]
        self._past_gradient = arrays.get("past_gradient")
        self._past_iterates = arrays.get("past_iterates")

    def _open(self, dimension: int) -> None:
        """Make the engine, or make room in it."""
        if self._engine is None:
            parts = self._parts
            mirror, rate = parts.resolved(dimension)
            domain = parts.domain if parts.domain is not None else Everywhere()
            # A learner that restarts is described by its average, which is kept in any case.
            averaging = self._averaging or rate.restarts()
            if isinstance(rate, ScaleFree):
                self._engine = ScaleFreeEngine(parts.loss, mirror, rate)
            elif isinstance(rate, CoinBetting):
                self._engine = CoinBettingEngine(parts.loss, mirror, rate)
            elif isinstance(domain, ClippedSimplex):
                self._engine = FlooredEngine(
                    parts.loss, mirror, rate, parts.conservative, domain, parts.implicit
                )
            else:
                self._engine = choose_engine(
                    parts.loss, mirror, rate, domain, parts.lazy, averaging, parts.conservative,
                    parts.clip, parts.implicit,
                )  # fmt: skip
            self._engine.begin(dimension)
        elif dimension > self.dimension:
            self._weights = None
            self._engine.grow(dimension)


def _added(past: Vector | None, now: Vector) -> Vector:
    """Return past + now, where past may be shorter or absent."""
    if past is None:
        return now
    total = now.copy()
    total[: len(past)] += past
    return total
