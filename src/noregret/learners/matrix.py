"""Mirror descent for several scores at once: classes and sets of labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from noregret import losses, mirrors, rates
from noregret.arrays import Vector, as_whole
from noregret.combinations import MATRIX, Parts, require_together
from noregret.files.fields import Setting
from noregret.floors import BlockLines, ScoreBlocks, SeparateScores
from noregret.learners.fields import Blocks, Learnt
from noregret.learners.marks import Undo, saved
from noregret.learners.matrix_block_leader import MatrixBlockLeader
from noregret.learners.matrix_certificate import MatrixCertificate
from noregret.learners.matrix_engines import (
    MatrixEngine,
    MatrixImplicit,
    MatrixLinear,
    MatrixMapped,
    MatrixScaleFree,
    OneScores,
)
from noregret.learners.matrix_second_order import MatrixSecondOrder
from noregret.learners.mirror_descent import MirrorDescent
from noregret.learners.one_row import SingleRowLearner
from noregret.losses import Loss, OneAgainstRest, ScoreLoss
from noregret.mirrors import Mirror
from noregret.passes.matrices.score_rounds import score_rows
from noregret.passes.slots import new_slots
from noregret.proof.convexity import require_convex
from noregret.proof.evidence import Evidence
from noregret.proof.ledger import Entry
from noregret.rates import Rate
from noregret.rounding import grown
from noregret.rows.examples import Rows, as_rows, as_targets, as_weights, count_of
from noregret.turns import one_at_a_time

#: The engine of each family of rates that measure features by their sizes.
_SCALED = {
    "block_leader": MatrixBlockLeader,
    "scale_free": MatrixScaleFree,
    "second_order": MatrixSecondOrder,
}
#: Losses that depend on y p alone: class 0 then has the rounds of class 1 with opposite sign.
_EVEN = (losses.Hinge, losses.SquaredHinge, losses.Logistic)
#: Entries of the ledger that are sums over scores; the others are maxima, counts or per row.
_SUMS = [
    *range(Entry.LOSS, Entry.COUNTED),
    Entry.MAGNITUDE,
    Entry.TRAVEL,
    Entry.SQUARES,
    Entry.RATED_SQUARES,
    Entry.LARGEST_SQUARE,
    Entry.SCALED_TRAVEL,
]
#: Columns of a record that change sign with the score: theta, and the path of `ScaleFree`.
_SIGNED = {1: [0], 4: [0, 3]}


@dataclass(frozen=True)
class MatrixCombination(Parts):
    """The parts of a learner of several scores, checked against one another."""

    loss: ScoreLoss

    def __post_init__(self) -> None:
        if not isinstance(self.loss, ScoreLoss):
            raise ValueError(f"MatrixDescent(loss=...) must be one of ScoreLoss, got {self.loss!r}")
        require_together(self, MATRIX, "learner")
        inner = self.loss.loss if isinstance(self.loss, OneAgainstRest) else self.loss
        if isinstance(inner, Loss):
            require_convex(inner)
        if self.implicit and not self.loss.has_conjugate():
            raise ValueError(
                f"{type(inner).__name__} has no exact steps: use Softmax, MulticlassHinge, or "
                "OneAgainstRest of a loss with a conjugate"
            )

    def resolved(self, size: int) -> Rate:
        """Return the rate for a matrix of `size` weights, its scale filled in."""
        return self.rate.resolved(lambda: self.mirror.natural_scale(size))


class MatrixDescent(SingleRowLearner[Vector]):
    """Online mirror descent for K scores s = x W, with a certificate at every moment.

    Each round: predict s, suffer loss(y, s), step by its subgradient z = g (x) x, g the slopes
    in the scores: theta <- theta - z, W = link(eta theta), the map that of the d K entries.
    Conservative: update on mistakes only. Implicit: the exact step of each round, as in
    Passive-Aggressive. With `ScaleFree` and `OneAgainstRest` the K columns are those of K
    independent learners of one score. With `Newton` all scores share one matrix A of pairs of
    features: A <- A + c x x', w_k <- w_k - g_k A^-1 x.

    >>> import noregret as nr
    >>> learner = nr.MatrixDescent(nr.losses.MulticlassHinge(), rate=nr.rates.Constant(1))
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    array([[0., 0.],
           [0., 0.]])
    >>> learner.weights
    array([[-1.,  1.],
           [ 1., -1.]])

    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.6.
    """

    _FIELDS = (
        Setting("outputs", "_outputs"),
        Setting("dimension", "_fixed"),
        Setting("conservative"),
        Setting("implicit"),
        Setting("loss", of=ScoreLoss),
        Setting("mirror", of=Mirror),
        Setting("rate", of=Rate),
        Learnt("arrays"),
        Blocks("blocks"),
    )

    _parts: MatrixCombination
    _engine: MatrixEngine | None
    _bound_pass = OneScores
    _alone = staticmethod(np.asarray)

    def __init__(
        self,
        loss: ScoreLoss,
        mirror: Mirror | None = None,
        rate: Rate | None = None,
        outputs: int | None = None,
        dimension: int | None = None,
        conservative: bool = False,
        implicit: bool = False,
        blocks: bool | str = False,
    ) -> None:
        """Make a learner.

        Args:
            loss: a loss of several scores, such as `Softmax`.
            mirror: `Euclidean`, `Ball`, `PNorm` or `SignedEntropy` [default: Euclidean()].
            rate: `Constant`, `InverseSqrt`, `Adaptive`, `ScaleFree`, or with `Softmax` `Newton`
                [default: ScaleFree()].
            outputs: number of scores K, >= 1 [default: that of the first targets]; `grow` adds
                more.
            dimension: number of features, >= 1 [default: it grows with the data, or is the width
                of the first input where the map must know it].
            conservative: update on mistakes only [default: False].
            implicit: step by the slopes at the new weights, argmin D(W, W_t) + eta f_t(W)
                [default: False].
            blocks: raise the floor by lines under blocks of rows, for 2 to 7 us a row and 3 MB of
                rows held back; or "parabolas", see `nr.certify` [default: False].
        """
        super().__init__(
            MatrixCombination(
                loss,
                mirrors.Euclidean() if mirror is None else mirror,
                rates.ScaleFree() if rate is None else rate,
                conservative=bool(conservative),
                implicit=bool(implicit),
            ),
            dimension,
            blocks,
        )
        self._outputs = None if outputs is None else as_whole("outputs", outputs)

    @property
    def outputs(self) -> int:
        """Number of scores K, 0 before it is known."""
        return self._outputs or 0

    @property
    def conservative(self) -> bool:
        """Whether only mistakes are learnt from."""
        return self._parts.conservative

    @property
    def implicit(self) -> bool:
        """Whether every step is the exact one of its round."""
        return self._parts.implicit

    @one_at_a_time
    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        """Learn the rows of X one after the other; return the n x K scores made before each.

        y holds classes 0 to K - 1, or a row of K numbers a row of X where the loss takes those.
        Input that cannot be learnt raises ValueError and leaves the learner as it was. A learner
        whose rate is too large may diverge: OverflowError then, with the rounds before it kept.
        """
        single = self._learn_single(X, y, weight)
        if single is not None:
            return single
        rows = as_rows(X)
        targets = as_targets(y, len(rows), self.loss, self._outputs)
        weights = as_weights(weight, len(rows))
        if self._outputs is None and len(rows) == 0:
            self._check_width(rows)
            return np.empty((0, 0))
        known = self._outputs
        self._outputs = count_of(targets) if known is None else known
        try:
            return self._learn(rows, np.empty((len(rows), self.outputs)), (targets, weights))
        finally:
            if self._engine is None:
                # Nothing was learnt: the next targets may be of more or fewer scores.
                self._outputs = known

    def predict(self, X: Any) -> Vector:
        """Return the scores of each row with the weights of the coming round."""
        rows = self._readable(as_rows(X))
        scores = np.zeros((len(rows), self.outputs))
        score_rows(
            np.ascontiguousarray(self._current_weights().T), rows.indptr, rows.indices,
            rows.values, scores,
        )  # fmt: skip
        return scores

    @one_at_a_time
    def grow(self, outputs: int) -> None:
        """Add scores with weights of 0 until there are `outputs`; past losses do not change.

        >>> import noregret as nr
        >>> learner = nr.MatrixDescent(nr.losses.Softmax(), outputs=2)
        >>> learner.grow(3)
        >>> learner.predict([[1.0]])
        array([[0., 0., 0.]])
        """
        outputs = as_whole("grow(outputs)", outputs, max(self.outputs, 1))
        if self._engine is not None and outputs > self.outputs:
            if not self._engine.growable:
                raise ValueError(f"{type(self.mirror).__name__} must know its scores in advance")
            self._engine.enlarge(outputs, self.dimension)
        self._outputs, self._weights = outputs, None
        if isinstance(self._lines, ScoreBlocks) and self.rounds:
            self._lines.grow(outputs)

    @classmethod
    def from_binary(cls, learner: MirrorDescent) -> Self:
        """Return the `OneAgainstRest` learner of two classes that is equivalent to a binary one.

        Class 1 is the label +1. The columns are -w and w, and every sum is doubled: the learner
        continues to the bit as if it had learnt the whole stream itself.

        >>> import noregret as nr
        >>> plain = nr.mirrors.Euclidean(), nr.rates.ScaleFree()
        >>> binary = nr.MirrorDescent(nr.losses.Logistic(), *plain)
        >>> _ = binary.learn([[1.0], [2.0]], [1, -1])
        >>> bool((nr.MatrixDescent.from_binary(binary).weights[:, 1] == binary.weights).all())
        True
        """
        parts, state, slots, ledger = two_classes(learner)
        width = learner.dimension if learner._fixed else None
        matrix = cls(*parts, outputs=2, dimension=width, blocks=bool(learner.blocks))
        if isinstance(learner._lines, BlockLines):
            matrix._lines = SeparateScores.of_two_classes(parts[0], learner._lines)
        matrix._ledger = ledger
        if state is not None:
            matrix._restore({"ledger": ledger, "state": state, "slots": slots})
        return matrix

    def _mark(self, rows: Rows) -> Undo | None:
        """Return what puts the learner back after it has learnt these rows, see `marks`."""
        engine, ledger = self._engine, self._ledger
        if engine is None or rows.width > self.dimension or self._lines is not None:
            return None
        undo, replaced = saved([engine.state, ledger, *engine.written()]), engine.replaced()

        def back() -> None:
            self._engine, self._ledger, self._weights = engine, ledger, None
            vars(engine).update(replaced)
            undo()

        return back

    def _hold(self, rows: Rows, terms: tuple[Vector, ...], learnt: int) -> None:
        if isinstance(self._lines, ScoreBlocks) and learnt:
            self._lines.grow(self.outputs)
        super()._hold(rows, terms, learnt)

    def _in_own_units(self, ledger: Vector) -> Vector:
        # Blocks measure a feature by its size for all scores, the class by that for each score,
        # which is less for one that was added later: roundings count for more in its units.
        sizes = None if self._engine is None else self._engine.sizes()
        if sizes is None or not sizes.any():
            return ledger
        ratios = np.divide(sizes.max(axis=0), sizes, out=np.ones_like(sizes), where=sizes > 0.0)
        travelled = ledger.copy()
        travelled[Entry.SCALED_TRAVEL] *= grown(float(ratios.max()), 2.0)
        return travelled

    def _whole(self, gradient: Vector) -> Vector:
        parts = gradient.reshape(self.outputs, -1)
        return np.pad(parts, ((0, 0), (0, self.dimension - parts.shape[1]))).ravel()

    def _labels_of_one(self, y: Any) -> Any:
        return [y]

    @property
    def weights(self) -> Vector:
        """The d x K weights for the coming round, as far as they do not depend on its row."""
        return self._current_weights().T.copy()

    def _current_weights(self) -> Vector:
        """Return the weights, a row a score, read once between two calls of `learn`."""
        if self._engine is None:
            return np.zeros((self.outputs, self.dimension))
        return super()._current_weights()

    @property
    def sizes(self) -> Vector | None:
        """The m of the floor's class, d x K, where it measures features by them, else None."""
        sizes = None if self._engine is None else self._engine.sizes()
        return None if sizes is None else sizes.T.copy()

    def certificate(self, thorough: bool = True) -> MatrixCertificate:
        """Return what the rounds so far prove, as a value that later rounds do not change.

        thorough: search for the best planes of the rows held back, if `blocks` are kept; without
            it the floor of a small or large class is lower, and found sooner [default: True].
        """
        engine = self._engine
        gradient, evidence = np.zeros(0), Evidence()
        if engine is not None:
            gradient, evidence = engine.matrix(engine.gradient()).ravel(), engine.evidence()
        certificate = MatrixCertificate(
            loss_function=self.loss,
            mirror=self.mirror,
            rate=self._parts.resolved(self.dimension * self.outputs),
            ledger=self._ledger.copy(),
            gradient=gradient,
            conservative=self.conservative,
            played=not self.implicit,
            reach=evidence.norm(self.mirror, self._current_weights().ravel()),
            evidence=evidence,
            outputs=max(self.outputs, 1),
        )
        return self._floored(certificate, thorough)

    def _new_engine(self, dimension: int) -> MatrixEngine:
        parts, dimension = self._parts, self._fixed or dimension
        kind: Any = MatrixLinear if parts.mirror.linear() else MatrixMapped
        if parts.implicit:
            kind = MatrixImplicit
        if parts.rate.scaled():
            kind = _SCALED[parts.rate.family]
        rate = parts.resolved(dimension * self.outputs)
        engine: MatrixEngine = kind(parts.loss, parts.mirror, rate, False, parts.conservative)
        engine.open(self.outputs, dimension)
        return engine


def two_classes(
    learner: MirrorDescent,
) -> tuple[tuple[OneAgainstRest, Mirror, Rate], Vector | None, Vector, Vector]:
    """Return the parts of the equivalent learner of two classes, its state, slots and ledger."""
    parts = learner._parts
    plain = parts.mirror.euclidean() and parts.domain is None and parts.lazy
    if (
        type(parts.loss) not in _EVEN
        or not plain
        or not parts.rate.columnwise()
        or parts.conservative
    ):
        raise ValueError(
            "from_binary takes a MirrorDescent with Hinge, SquaredHinge or Logistic, Euclidean() "
            "and Constant or ScaleFree, lazy, without a domain and not conservative"
        )
    ledger = learner._ledger.copy()
    ledger[_SUMS] *= 2.0
    ledger[Entry.LARGEST_REACH] *= math.sqrt(2.0)
    # A promise about the rows of one score does not carry over to two.
    ledger[[Entry.ROW_LIMIT, Entry.LIMIT_BROKEN]] = math.inf, 0.0
    given = OneAgainstRest(parts.loss), parts.mirror, parts.rate
    engine = learner._engine
    if engine is None:
        return given, None, new_slots(), ledger
    scaled = parts.rate.scaled()
    records = engine.state if scaled else engine.state[:, :1]
    state = np.stack([records, records], axis=1)
    state[:, 0, _SIGNED[records.shape[1]]] *= -1.0
    slots = np.stack([engine.slots, engine.slots]) if scaled else new_slots()
    return given, state, slots, ledger
