"""Dual ascent on streams of linear predictors: from the Perceptron to follow-the-leader."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret.arrays import Vector, as_positive, as_whole
from noregret.files.fields import Arrays, Setting
from noregret.learners.base import Learner
from noregret.learners.combination import Combination
from noregret.learners.dual_certificate import DualCertificate
from noregret.learners.dual_store import DualStore, as_sparse, portions
from noregret.learners.fields import Blocks, Fixed, Learnt
from noregret.learners.marks import Undo, saved
from noregret.losses import Hinge, Loss
from noregret.mirrors import Mirror
from noregret.mirrors.base import declares
from noregret.passes.dual import dual_online
from noregret.passes.dual.dual_rules import MappedRule, PlainRule
from noregret.passes.slots import Stop
from noregret.proof.ledger import Entry
from noregret.rates import Constant
from noregret.rows.examples import Rows, as_labels, as_offsets, as_rows, as_weights
from noregret.turns import one_at_a_time

UPDATES = ("conservative", "aggressive", "exact", "window", "mini", "leader")
SCHEDULES = ("last", "random", "oldest", "support")

#: The k of an update over all rows.
_ALL = 1 << 62


class DualAscent(Learner):
    """Online learning by ascent on the dual objective, with a certificate at every moment.

    Each round: predict p = <w, x> + offset with w = link(theta), then raise

        D(s) = C sum_t c_t (s_t o_t - f*(s_t)) - G(theta),  theta = -C sum_t c_t s_t x_t,

    which lies below P(u) = F(u) + C sum_t c_t f(y_t, <u, x_t> + o_t) for every u. Here s_t is the
    slope given to round t, f* the conjugate of the loss, c_t a weight, o_t an offset, F the map's
    regulariser and G its conjugate. `learn(..., margin=)` gives the hinge loss a margin a trial.

    The values of `update`:
    "conservative": the steepest slope on a mistake, none otherwise (hinge only).
    "aggressive": min(loss / R^2, C) for the hinge, with R^2 a bound on <x, H x>; the same step
    for other losses.
    "exact": the best slope for the new example (Passive-Aggressive for the Euclidean map).
    "window": the best slopes for the last k examples together.
    "mini": up to k exact steps, the first on the new example, the others on rows kept, which
    `schedule` chooses: "last" (newest first), "random", "oldest" (least recently visited) or
    "support" (all rows with a slope, for any k).
    "leader": the best slopes for all examples seen.

    >>> import noregret as nr
    >>> from noregret.learners import DualAscent
    >>> learner = DualAscent(nr.losses.Hinge(), nr.mirrors.Euclidean())
    >>> learner.learn([[2.0, 0.0], [0.0, 1.0]], [1, -1])
    array([0., 0.])
    >>> learner.weights, learner.dual
    (array([ 0.5, -1. ]), 0.625)

    Reference: Shalev-Shwartz and Singer, A Primal-Dual Perspective, figure 1, sections 4 to 6.
    """

    _FIELDS = (
        Fixed("fixed"),
        Setting("memory"),
        Setting("loss", of=Loss),
        Setting("mirror", of=Mirror),
        *(Setting(name) for name in ("C", "update", "k", "schedule", "seed")),
        *(Setting(name) for name in ("row_limit", "tolerance", "sweeps", "fraction")),
        Learnt("arrays"),
        Blocks("blocks"),
    )

    _parts: Combination
    _engine: DualStore | None

    def __init__(
        self,
        loss: Loss,
        mirror: Mirror,
        C: float = 1.0,
        update: str = "exact",
        k: int = 1,
        schedule: str = "last",
        dimension: int | None = None,
        seed: int = 0,
        *,
        memory: int | None = None,
        row_limit: float | None = None,
        tolerance: float = 1e-9,
        sweeps: int = 100,
        fraction: float = 1.0,
        blocks: bool | str = False,
    ) -> None:
        """Make a learner.

        Args:
            loss: a loss with a conjugate.
            mirror: a map with a conjugate; it fixes the geometry.
            C: weight of the losses against the regulariser, above 0 [default: 1].
            update: which slopes a round changes, see above [default: "exact"].
            k: rows of a window, or steps of mini updates, >= 1 [default: 1].
            schedule: which rows mini updates visit, see above [default: "last"].
            dimension: number of features, >= 1 [default: it grows with the data, or is the width
                of the first input where the map must know it].
            seed: of random schedules, a whole number [default: 0].
            memory: number of rows kept, >= 1 [default: k]; a leader keeps all.
            row_limit: promise ||x||_* <= row_limit to the aggressive step, above 0
                [default: R^2 = 1].
            tolerance: leave a window when its part of the duality gap is at most
                tolerance * max(1, D), >= 0 [default: 1e-9].
            sweeps: most sweeps over a window, >= 1 [default: 100].
            fraction: part of an exact step that is taken, in (0, 1] [default: 1]. D is concave
                along the step, so a visit gains at least that part of the whole gain. Not for
                update="conservative" or "aggressive". Reference: Zhang, On the Dual Formulation
                of Regularized Linear Systems, step control.
            blocks: raise the floor by lines under blocks of rows, for 2 to 7 us a row and 3 MB of
                rows held back; or "parabolas", see `nr.certify` [default: False].
        """
        if not 0.0 < C < 1e100:
            raise ValueError(f"C must be a finite number above 0, got {C}")
        for name, given, known in (("update", update, UPDATES), ("schedule", schedule, SCHEDULES)):
            if given not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {given!r}")
        parts = Combination(loss, mirror, Constant(C), None, True, False)
        super().__init__(parts, dimension, blocks)
        _require_dual(loss, mirror, update, row_limit)
        self.C = float(C)
        self.update = update
        self.schedule = schedule
        self.k = as_whole("k", k)
        self.sweeps = as_whole("sweeps", sweeps)
        self.seed = int(seed)
        if not 0.0 <= tolerance < math.inf:
            raise ValueError(f"tolerance must be a finite number >= 0, got {tolerance}")
        self.tolerance = float(tolerance)
        if not 0.0 < fraction <= 1.0:
            raise ValueError(f"fraction must be above 0 and at most 1, got {fraction}")
        if fraction < 1.0 and update in ("conservative", "aggressive"):
            raise ValueError(f"fraction is of an exact step, which update={update!r} does not take")
        self.fraction = float(fraction)
        self.row_limit = None if row_limit is None else as_positive("row_limit", row_limit)
        self.memory = self._rows_kept(memory)
        if self._fixed is not None:
            self._open(self._fixed)

    def _rows_kept(self, memory: int | None) -> int | None:
        if self.update == "leader":
            if memory is not None:
                raise ValueError("a leader keeps all rows: drop memory, or use update='window'")
            return None
        needed = self.k if self.update in ("window", "mini") else 1
        kept = needed if memory is None else as_whole("memory", memory)
        if self.update == "window" and kept < needed:
            raise ValueError(f"memory={kept} is too small for a window of k={self.k} rows")
        return kept

    @property
    def dual(self) -> float:
        """The running value of D, summed from what each step gained.

        A gain that rounding made negative counts as 0, so that the value never falls in a round
        of exact steps. The proved value, rounded down, is `certificate().dual`.
        """
        if self._engine is None:
            return 0.0
        accounts = self._engine.accounts
        return float(accounts[dual_online.VALUE] + accounts[dual_online.VALUE_LOW])

    @property
    def alpha(self) -> Vector:
        """The dual variables C c |s| of the rows kept, oldest first, signed -C c s for targets."""
        if self._engine is None:
            return np.zeros(0)
        alpha = -self.C * self._engine.column("WEIGHT") * self._engine.column("SLOPE")
        return alpha * self._engine.column("LABEL") if self.loss.labels == "sign" else alpha

    @one_at_a_time
    def learn(
        self, X: Any, y: Any, weight: Any = None, offset: Any = None, margin: Any = None
    ) -> Vector:
        """Learn the rows of X one after the other; return the predictions made before each.

        X: a dense array, a scipy sparse matrix or a `noregret.streams.Block`. Predictions
        include the offsets. `margin`, one finite number a row, makes the loss of trial t
        [margin_t - y_t p_t]+, for the learner and for every u alike; it is for `Hinge`, whose own
        margin holds otherwise. With margin_t = y_t <u, x_t> for some u, P(u) = F(u), and for the
        Euclidean map D = (||u||^2 - ||w - u||^2)/2 is the decrease of the squared distance to u,
        halved (Shalev-Shwartz and Singer, eq. 34-36). Input that cannot be learnt raises
        ValueError and leaves the learner as it was; numbers out of range raise OverflowError and
        keep the rounds before.
        """
        rows = as_rows(X)
        labels = as_labels(y, len(rows), self.loss)
        terms = (
            labels,
            as_weights(weight, len(rows)),
            as_offsets(offset, len(rows)),
            self._leads(margin, labels),
        )
        return self._learn(rows, np.empty(len(rows)), terms, portions)

    def _leads(self, margin: Any, y: Vector) -> Vector:
        """Return the offset that turns the loss's own margin g into the margin g_t of each trial.

        [g - y (p + y (g - g_t))]+ = [g_t - y p]+ for y = +-1.
        """
        if margin is None:
            return np.zeros(len(y))
        if type(self.loss) is not Hinge:
            raise ValueError(f"margin is for the Hinge loss, not {type(self.loss).__name__}")
        return y * (self.loss.margin - as_offsets(margin, len(y), "margin"))

    def _play(self, rows: Rows, start: int, terms: tuple[Vector, ...], predictions: Vector) -> None:
        engine = self._engine
        assert engine is not None
        y, weight, *engine.terms = terms
        engine.make_slots(len(y))
        _, stop = engine.run(as_sparse(rows), y, weight, self._ledger, predictions)
        if stop == Stop.OVERFLOW:
            raise self._diverges("a smaller C")

    def _new_engine(self, dimension: int) -> DualStore:
        mirror, _ = self._parts.resolved(dimension)
        kind = PlainRule if mirror.linear() and mirror.separable() else MappedRule
        rule = kind(
            self.loss, mirror, self.C, self.fraction, self._update(),
            SCHEDULES.index(self.schedule), _ALL if self.update == "leader" else self.k,
            self._square(), self.tolerance, self.sweeps,
        )  # fmt: skip
        return DualStore(rule, dimension, self.memory, self.seed)

    def _update(self) -> int:
        """Return the constant of the pass for the update."""
        if self.update == "leader":
            return dual_online.WINDOW
        if self.update == "window" and self.k == 1:
            return dual_online.EXACT
        plain = self.mirror.euclidean() and type(self.loss) is Hinge
        if self.update == "window" and self.k == 2 and plain:
            return dual_online.PAIR
        return int(getattr(dual_online, self.update.upper()))

    def _square(self) -> float:
        """Return R^2 of the aggressive step."""
        if self.row_limit is None:
            return 1.0
        return self.mirror.smoothness() * self.row_limit * self.row_limit

    def predict(self, X: Any, offset: Any = None) -> Vector:
        """Return <w, x> + offset for each row with the weights of the coming round."""
        products = self._products(X)
        return products + as_offsets(offset, len(products))

    def certificate(self, thorough: bool = True) -> DualCertificate:
        """Return what the rounds so far prove, as a value that later rounds do not change.

        thorough: search for the best lines of the rows held back, if `blocks` are kept; without it
            the floor of a small or large class is lower, and found sooner [default: True].
        """
        mirror, rate = self._parts.resolved(self.dimension)
        kept = self._engine if self._engine is not None else self._new_engine(0)
        ledger = self._ledger.copy()
        ledger[[Entry.FIRST_ETA, Entry.LAST_ETA]] = self.C
        return self._floored(
            DualCertificate(
                loss_function=self.loss,
                mirror=mirror,
                rate=rate,
                ledger=ledger,
                gradient=kept.theta / -self.C,
                reach=mirror.predictors().norm(self.weights),
                accounts=kept.accounts.copy(),
                update=self.update,
                square=self._square(),
                fraction=self.fraction,
            ),
            thorough,
        )

    def _mark(self, rows: Rows) -> Undo | None:
        """Return what puts the learner back after it has learnt these rows, see `marks`."""
        engine, ledger = self._engine, self._ledger
        if engine is None or rows.width > self.dimension or self._lines is not None:
            return None
        undo, ring = saved([ledger, *engine.written()]), dict(vars(engine))

        def back() -> None:
            self._engine, self._ledger, self._weights = engine, ledger, None
            # Room for more rows kept comes as new arrays.
            vars(engine).update(ring)
            undo()

        return back

    def _block_terms(self, terms: tuple[Vector, ...]) -> tuple[Vector, ...]:
        """Return labels, weights and offsets: a margin of the trial's own acts like an offset."""
        y, weight, offset, lead = terms
        return y, weight, offset + lead

    def _arrays(self) -> Arrays:
        return {} if self._engine is None else super()._arrays()

    def _restore(self, arrays: Arrays) -> None:
        # The file of a learner without an engine holds no arrays.
        if arrays:
            super()._restore(arrays)


def _require_dual(loss: Loss, mirror: Mirror, update: str, row_limit: float | None) -> None:
    """Refuse a loss or map without a dual to ascend."""
    name = type(loss).__name__
    if not loss.has_conjugate():
        raise ValueError(f"{name} has no conjugate(y, s), which dual ascent needs")
    for y in (-1.0, 1.0) if loss.labels == "sign" else (-1.0, 0.0, 0.5):
        if not math.isfinite(loss.conjugate(y, 0.0)):  # type: ignore[attr-defined]
            raise ValueError(f"{name} has no least value, so that no slope is free to begin with")
    if mirror.threshold(1.0) > 0.0 or mirror.standing() is not mirror:
        raise ValueError("SoftThreshold changes with every round and has no dual to ascend")
    if not declares(mirror, "conjugate_upper"):
        raise ValueError(f"{type(mirror).__name__} has no conjugate rounded upwards to certify D")
    if row_limit is not None and not mirror.smoothness() > 0.0:
        raise ValueError(
            f"{type(mirror).__name__} has no bound on its Hessian that row_limit could scale"
        )
    if update == "conservative" and type(loss) is not Hinge:
        raise ValueError(f"update='conservative' steps on mistakes of the Hinge loss, not {name}")
