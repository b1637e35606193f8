"""Online learning to rank: one linear predictor scores the rows of each group."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from noregret import mirrors, rates
from noregret.arrays import Vector, refuse_masked
from noregret.combinations import RANKER, Parts, require_together
from noregret.files import store
from noregret.files.fields import Array, Arrays, Count, Field, Header, Saved, Setting
from noregret.learners.files import learner_of
from noregret.learners.matrix_certificate import ScoresCertificate
from noregret.learners.mirror_descent import MirrorDescent
from noregret.losses import Loss, PairwiseHinge, ScoreLoss
from noregret.mirrors import Mirror
from noregret.passes.checks import LARGEST_FEATURE
from noregret.passes.frame import Labels, block
from noregret.passes.matrices.score_rounds import rank_pass
from noregret.passes.sync import predict_rows
from noregret.proof.ledger import Entry, new_ledger
from noregret.rates import Rate
from noregret.rows.examples import Rows, as_bounded, as_rows, as_weights
from noregret.turns import one_at_a_time

_RATE_ENTRIES = [int(Entry.FIRST_ETA), int(Entry.LAST_ETA)]


@dataclass(frozen=True)
class Linear(Loss):
    """The loss y p. With y = 1 its gradient is the row, so that a step subtracts the row."""

    nonnegative: ClassVar[bool] = False

    def value(self, y: float, p: float) -> float:
        """Return y p."""
        return y * p

    def slope(self, y: float, p: float) -> float:
        """Return y."""
        return y

    def lipschitz(self) -> float:
        """Return 1."""
        return 1.0


class Steps(Field):
    """The learner inside a ranker: its header under `name`, its arrays under the prefix `name/`."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the header and the arrays of the learner."""
        header[self.name], own = owner._steps._to_file()
        arrays |= {f"{self.name}/{name}": array for name, array in own.items()}

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Restore the learner, or refuse one that a ranker cannot have."""
        steps = learner_of(header[self.name], store.under(self.name, arrays))
        if not isinstance(steps, MirrorDescent) or not isinstance(steps.loss, Linear):
            raise ValueError("the part that steps is not that of a ranker")
        # The constructor refuses maps and rates that rankers do not take.
        Ranker(owner.loss, steps.mirror, steps.rate)
        owner._steps = steps


class Ranker(Saved):
    """Online mirror descent for rankings, with a certificate at every moment.

    A round is a group of rows, such as the answers to one query. Their scores are s = X w; once
    their relevances are known, the loss of the scores is suffered, such as the mean of
    [margin - s_i + s_j]+ over the pairs where i is more relevant than j, and one step is made by
    its subgradient X^T g. The floor holds for every fixed w of the class.

    >>> import noregret as nr
    >>> ranker = nr.Ranker(rate=nr.rates.Constant(0.5))
    >>> ranker.learn([[1.0, 0.0], [0.0, 1.0]], [2, 0], qid=[7, 7])
    array([0., 0.])
    >>> ranker.weights
    array([ 0.5, -0.5])

    Reference: Herbrich, Graepel, Obermayer, Large Margin Rank Boundaries for Ordinal Regression,
    2000; Shalev-Shwartz, Online Learning and Online Convex Optimization, section 2.6.
    """

    _KIND = "game"
    _FIELDS = (
        Setting("loss", of=ScoreLoss),
        Steps("steps"),
        Count("longest"),
        Array("ledger", unbounded=True),
    )

    def __init__(
        self,
        loss: ScoreLoss | None = None,
        mirror: Mirror | None = None,
        rate: Rate | None = None,
        dimension: int | None = None,
    ) -> None:
        """Make a ranker.

        Args:
            loss: `PairwiseHinge` or `PairwiseLogistic` [default: PairwiseHinge()].
            mirror: a map of `nr.mirrors` [default: Euclidean()].
            rate: `Constant`, `InverseSqrt` or `Adaptive` [default: Adaptive()].
            dimension: number of features, >= 1 [default: as `MirrorDescent`].
        """
        self.loss: ScoreLoss = PairwiseHinge() if loss is None else loss
        if not isinstance(self.loss, ScoreLoss) or self.loss.labels != "relevance":
            raise ValueError(
                f"Ranker(loss=...) takes PairwiseHinge, PairwiseLogistic, got {loss!r}"
            )
        rate = rates.Adaptive() if rate is None else rate
        mirror = mirrors.Euclidean() if mirror is None else mirror
        require_together(Parts(None, mirror, rate), RANKER, "ranker")
        #: The learner that takes the steps: its rows are the gradients X^T g.
        self._steps = MirrorDescent(Linear(), mirror, rate, dimension=dimension, averaging=False)
        self._ledger = new_ledger()
        self._sums = np.zeros((0, 2))
        self._longest = 1

    @property
    def rounds(self) -> int:
        """Number of groups learnt."""
        return self._steps.rounds

    @property
    def mirror(self) -> Mirror:
        """The mirror map."""
        return self._steps.mirror

    @property
    def rate(self) -> Rate:
        """The rate."""
        return self._steps.rate

    @property
    def dimension(self) -> int:
        """Number of known features."""
        return self._steps.dimension

    @property
    def weights(self) -> Vector:
        """The weights for the coming group."""
        return self._steps.weights

    def predict(self, X: Any) -> Vector:
        """Return the score of each row; higher scores rank first."""
        return self._steps.predict(X)

    @one_at_a_time
    def learn(self, X: Any, relevance: Any, qid: Any, weight: Any = None) -> Vector:
        """Learn the groups of X one after the other; return the scores made before each.

        Consecutive rows with the same `qid` are a group; `weight` is one number a row, the same
        within a group. Input that cannot be learnt raises ValueError and changes nothing;
        OverflowError means that the ranker diverges, and the groups before are kept.
        """
        rows = as_rows(X)
        count = len(rows)
        terms = as_bounded("relevance", relevance, count), as_weights(weight, count)
        starts = _groups(qid, count, terms[1])
        rows = self._steps._readable(rows)
        return self._steps._learn(
            rows, np.empty(count), terms, lambda _: itertools.pairwise(starts), self._play
        )

    def _play(self, rows: Rows, start: int, terms: tuple[Vector, ...], scores: Vector) -> None:
        """Play one group."""
        weights = self._steps._current_weights()
        predict_rows(weights, rows.indptr, rows.indices, rows.values, scores)
        ledger, slopes = self._ledger.copy(), np.empty(len(rows))
        if len(self._sums) < self.dimension:
            self._sums = np.zeros((self.dimension, 2))
        engine = self._steps._engine
        assert engine is not None
        entered = rank_pass(
            self.loss, engine.mirror, block(rows), Labels(*terms), scores, slopes, ledger,
            self._sums,
        )  # fmt: skip
        used = rows.indices[int(rows.indptr[0]) : int(rows.indptr[-1])]
        columns = np.arange(rows.width, dtype=np.uint32) if rows.dense else np.unique(used)
        gradient = self._sums[columns].sum(axis=1)
        self._sums[columns] = 0.0
        if not (entered and np.all(np.abs(gradient) <= LARGEST_FEATURE)):
            raise self._steps._diverges()
        self._steps.learn_one(columns, gradient, 1.0, float(terms[1][0]))
        self._ledger = ledger
        self._longest = max(self._longest, len(rows))

    def certificate(self) -> ScoresCertificate:
        """Return what the groups so far prove, as a value that later ones do not change."""
        proof = self._steps.certificate()
        ledger = self._ledger.copy()
        # The steps alone know the rates.
        ledger[_RATE_ENTRIES] = proof.ledger[_RATE_ENTRIES]
        own = {"loss_function": self.loss, "ledger": ledger, "played": False}
        return ScoresCertificate(**(vars(proof) | own), outputs=self._longest)


def _groups(qid: Any, count: int, weights: Vector) -> list[int]:
    """Return where groups begin, and the end; refuse a group in two places or of two weights."""
    refuse_masked("qid", qid)
    ids = np.atleast_1d(np.asarray(qid))
    if ids.shape != (count,):
        raise ValueError(f"qid has shape {ids.shape}, expected ({count},): one a row of X")
    if count == 0:
        return [0]
    first = np.concatenate([[True], ids[1:] != ids[:-1]])
    uneven = np.flatnonzero(~first[1:] & (weights[1:] != weights[:-1])) + 1
    if uneven.size:
        raise ValueError(f"weight row {uneven[0]}: expected the same weight within a group")
    starts = np.flatnonzero(first)
    heads, places = np.unique(ids[starts], return_index=True)
    if len(heads) < len(starts):
        row = starts[min(set(range(len(starts))) - set(places.tolist()))]
        raise ValueError(f"qid row {row}: group {ids[row]} comes again; its rows must be together")
    return [*starts.tolist(), count]
