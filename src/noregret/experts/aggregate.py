"""Many learners in one pass, mixed by their losses: a learner without a rate to tune.

`rate_grid` mixes the same learner at many rates, a geometric grid.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, NoReturn, Self

import numpy as np

from noregret import mirrors, rates
from noregret.arrays import Vector
from noregret.experts.expert_certificate import ExpertCertificate
from noregret.experts.forecaster import Forecaster
from noregret.files import store
from noregret.learners import MirrorDescent
from noregret.learners.base import learn_together
from noregret.learners.files import KINDS, learner_of
from noregret.learners.foreign import Certifier
from noregret.losses import Loss
from noregret.passes.checks import sound_rows
from noregret.proof.certificate import Certificate
from noregret.proof.statement import Statement, at_least, at_most
from noregret.rows.examples import Rows, as_labels, as_predictions, as_rows, as_weights
from noregret.rows.sealed import opened
from noregret.shards import Shards
from noregret.turns import one_at_a_time
from noregret.visible import Readable

#: Most learners of a grid: a request for more is surely a typing error.
MOST = 64


@dataclass(frozen=True, eq=False)
class AggregateCertificate(Certificate):
    """The certificate of an aggregate's own predictions, and its regret against its members.

    The floors are those of `nr.certify`: supporting lines at the mixed predictions. `members`
    compares the loss with that of every learner, the theorem of AdaHedge beside it; members are
    counted from 1 in print, in the order in which they were given.
    """

    members: ExpertCertificate = field(kw_only=True)

    @property
    def bounds(self) -> list[Statement]:
        """The theorems on the regret against the best member; none speaks about a radius."""
        return list(self.members.bounds) if self.broken is None else []

    def as_dict(self, radius: float | None = None) -> dict[str, Any]:
        """Return the certificate as plain numbers, ready for JSON."""
        members = self.members.as_dict() | {"best_member": self.members.best_expert + 1}
        return super().as_dict(radius) | {"members": members}

    def _lines(self, radius: float | None = None) -> list[str]:
        members = self.members
        which = f", member {members.best_expert + 1} of {len(members.totals)}"
        return [
            *super()._lines(radius),
            at_least("best of its members", members.best_loss, self.rounds, which),
            at_most("regret against it", members.regret(), self.rounds, f", {members.accuracy}"),
            *(f"  {bound}" for bound in members.bounds),
        ]


class Aggregate(Readable):
    """K learners in one pass, their predictions mixed by AdaHedge: itself a learner.

    Each round: every learner predicts p_k and learns; the aggregate predicts sum_k s_k p_k, with
    shares s_k proportional to exp(-eta (loss of learner k so far)) and eta = ln K over the
    mixability gaps so far. Its loss exceeds that of the best learner by at most
    2 sqrt(V ln K) + S ((4/3) ln K + 2), V the summed variance of the learners' losses and S their
    largest spread in a round; no range, rate or horizon is needed. The learners must not be
    used elsewhere meanwhile.

    >>> import noregret as nr
    >>> rates = [nr.rates.Constant(eta) for eta in (0.01, 0.1, 1.0)]
    >>> learner = Aggregate(
    ...     [nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), rate) for rate in rates])
    >>> _ = learner.learn([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, -1, 1])
    >>> learner.weights.shape, learner.certificate().rounds
    ((2,), 3)

    Reference: de Rooij, van Erven, Grunwald, Koolen, Follow the Leader If You Can, Hedge If You
    Must, 2014, the second-order bound.
    """

    def __init__(
        self,
        learners: Sequence[Any],
        loss: Loss | None = None,
        mirror: mirrors.Mirror | None = None,
        blocks: bool | str = False,
    ) -> None:
        """Make an aggregate of learners with `learn`, `predict` and `loss`.

        `loss` judges the mixture [default: that of the first learner]; `mirror`
        chooses the class of the certificate's floors [default: the 2-norm ball]; `blocks` raises
        them by lines under blocks of rows, as in `nr.certify` [default: False].
        """
        self.learners = list(learners)
        if not self.learners:
            raise ValueError("an aggregate needs a learner or more, got none")
        for k, learner in enumerate(self.learners):
            if not all(hasattr(learner, name) for name in ("learn", "predict", "loss", "save")):
                raise ValueError(f"learner {k} is {type(learner).__name__}, expected a learner")
        if len({id(learner) for learner in self.learners}) < len(self.learners):
            raise ValueError("the same learner is given twice: each must be its own")
        #: The loss that the mixture is judged by.
        self.loss: Loss = self.learners[0].loss if loss is None else loss
        if {learner.loss.labels for learner in self.learners} != {self.loss.labels}:
            raise ValueError("all losses must take the same labels, -1 and +1 or real ones")
        self._mixer = Forecaster(len(self.learners), self.loss)
        self._book = Certifier(self.loss, mirror, blocks)
        self._broken = ""

    def _made(self) -> str:
        return f"{len(self.learners)} learners, the first {self.learners[0]._made()}"

    @property
    def rounds(self) -> int:
        """How many examples were learnt."""
        return self._mixer.rounds

    @property
    def shares(self) -> Vector:
        """The shares of the learners in the coming prediction."""
        return self._mixer.weights

    @property
    def dimension(self) -> int:
        """How many features are known."""
        return max(int(learner.dimension) for learner in self.learners)

    @property
    def weights(self) -> Vector:
        """The mixed weights of the coming round, if all learners predict by weights alone."""
        if not self._linear():
            raise ValueError("a learner of the aggregate predicts by more than weights")
        mixed = np.zeros(self.dimension)
        for share, learner in zip(self.shares, self.learners, strict=True):
            weights = learner.weights
            mixed[: len(weights)] += share * weights
        return mixed

    def _linear(self) -> bool:
        """Tell whether all learners predict by weights alone."""
        return all(isinstance(one, Aggregate) or _is_linear(one) for one in _members(self))

    def _current_weights(self) -> Vector:
        """Return the vector that must be finite in a file: the weights, or else the shares."""
        return self.weights if self._linear() else self.shares

    @one_at_a_time
    def learn(self, X: Any, y: Any, weight: Any = None) -> Vector:
        """Learn the rows of X one after the other; return the predictions made before each.

        Input that cannot be learnt raises ValueError and leaves all learners as they were. If one
        diverges, OverflowError: the rounds before are kept, by all learners. A learner that is not
        of this package cannot be rolled back: once another one refuses rows that it has learnt, the
        aggregate cannot go on, and its certificate is that of the rounds before.
        """
        if self._broken:
            raise OverflowError(self._broken)
        rows = sound_rows(as_rows(opened(X)), 0)
        labels = as_labels(y, len(rows), self.loss)
        weights = as_weights(weight, len(rows))
        self._check_labels(labels, weight is not None)
        self._check_width(rows)
        # Learners without a dry run go first, so that a refusal leaves all unchanged.
        order = sorted(range(len(self.learners)), key=lambda k: _can_be_asked(self.learners[k]))
        predictions = np.empty(len(rows))

        def play(start: int, stop: int) -> None:
            part, given = slice(start, stop), rows.part(start, stop).plain()
            made = np.empty((stop - start, len(self.learners)))
            own = () if weight is None else (weights[part],)

            def learn_one(place: int, _: int) -> None:
                k = order[place]
                try:
                    learnt = self.learners[k].learn(given, labels[part], *own)
                except (OverflowError, ValueError) as error:
                    if isinstance(error, ValueError) and start == 0 and place == 0:
                        raise
                    self._refuse(f"learner {k} cannot go on: {error}", error)
                try:
                    made[:, k] = as_predictions(learnt, stop - start)
                except ValueError as error:
                    self._refuse(f"learner {k} cannot go on: {error}", error)

            # Learners that cannot be undone learn one after the other, until one refuses.
            numbers = rows.part(start, stop).stored * len(order) if self._undoable() else 0
            Shards.of_tasks(len(order), numbers).each(len(order), learn_one)
            predictions[part] = self._mix(given, labels[part], weights[part], made)

        for start, stop in rows.chunks():
            if self._undoable():
                learn_together(self.learners, start, stop, play)
            else:
                play(start, stop)
        return predictions

    def _undoable(self) -> bool:
        """Tell whether all learners can be copied, so that a failed block can be undone."""
        return all(type(one).__name__ in KINDS for one in _members(self))

    def _mix(self, given: Any, labels: Vector, weights: Vector, made: Vector) -> Vector:
        """Mix the predictions of the learners, and enter them in both books or in neither."""
        mixer = copy.deepcopy(self._mixer)
        try:
            mixed = mixer.learn(made, labels, weights)
            self._book.add(given, labels, mixed, weights)
        except ValueError as error:
            self._refuse(f"the losses of the learners overflow: {error}", error)
        self._mixer = mixer
        return mixed

    def _check_labels(self, labels: Vector, weighted: bool) -> None:
        """Refuse labels and weights that some learner does not take."""
        for k, learner in enumerate(self.learners):
            if weighted and "weight" not in signature(learner.learn).parameters:
                raise ValueError(f"learner {k}, a {type(learner).__name__}, takes no weights")
            as_labels(labels, len(labels), learner.loss)
            if isinstance(learner, Aggregate):
                learner._check_labels(labels, weighted)

    def _check_width(self, rows: Rows) -> None:
        """Refuse rows whose width some learner does not take."""
        for learner in self.learners:
            if hasattr(learner, "_check_width"):
                learner._check_width(rows)

    def _refuse(self, reason: str, error: Exception) -> NoReturn:
        if not self._undoable():
            self._broken = reason
        raise OverflowError(reason) from error

    def predict(self, X: Any) -> Vector:
        """Return the mixed prediction for each row, with the shares of the coming round."""
        rows = sound_rows(as_rows(opened(X)), 0).plain()
        made = [learner.predict(rows) for learner in self.learners]
        return self._mixer.forecast(np.column_stack(made))

    @property
    def blocks(self) -> bool | str:
        """Whether lines under blocks of rows are kept, which raise the floor, or "parabolas"."""
        return self._book.blocks

    def close_block(self) -> None:
        """End all blocks of rows held back: a file saved now holds no row."""
        self._book.close_block()
        for learner in self.learners:
            if hasattr(learner, "close_block"):
                learner.close_block()

    def certificate(self, thorough: bool = True) -> AggregateCertificate:
        """Return the certificate of the mixture, with the regret against the best learner.

        thorough: search for the best lines of the rows held back, if `blocks` are kept; without it
            the floor of a small or large class is lower, and found sooner [default: True].
        """
        proof = self._book.certificate(thorough)
        reach = proof.mirror.predictors().norm(self.weights) if self._linear() else None
        members = replace(self._mixer.certificate(), competitor="member", first=1)
        if proof.broken is not None:
            # Measured differences stay true, theorems about convex losses do not.
            members = replace(members, bounds=[], broken=members.broken or proof.broken)
        return AggregateCertificate(**vars(proof) | {"reach": reach}, members=members)

    def save(self, path: str | os.PathLike[str], extra: store.Extra | None = None) -> None:
        """Write the aggregate and its learners to one file; `nr.load` resumes it to the bit.

        `extra` is kept beside it for `load_with_extra`.
        """
        store.write(path, *store.attached(*self._to_file(), extra))

    def _to_file(self) -> tuple[dict[str, Any], dict[str, Vector]]:
        """Return the header and the arrays of a file."""
        if self._broken:
            raise OverflowError(self._broken)
        mixer, arrays = self._mixer._to_file()
        arrays = {f"mixer/{name}": array for name, array in arrays.items()}
        arrays |= self._book.arrays()
        headers = []
        for k, learner in enumerate(self.learners):
            if type(learner).__name__ not in KINDS:
                raise ValueError(f"learner {k}, a {type(learner).__name__}, could not be loaded")
            described, own = learner._to_file()
            headers.append(described)
            arrays |= {f"learner{k}/{name}": array for name, array in own.items()}
        header = {
            "learner": "Aggregate",
            "learners": headers,
            "mixer": mixer,
            "mirror": store.component_to_header(self._book._mirror),
            "blocks": self.blocks,
        }
        return header, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, Vector]) -> Self:
        under: dict[str, dict[str, Vector]] = {}
        for name, array in arrays.items():
            owner, _, short = name.partition("/")
            under.setdefault(owner, {})[short] = array
        learners = [
            learner_of(each, under.get(f"learner{k}", {}))
            for k, each in enumerate(header["learners"])
        ]
        mixer = Forecaster._from_file(header["mixer"], under.get("mixer", {}))
        mirror = store.component_from_header(header["mirror"], mirrors.Mirror)
        aggregate = cls(learners, mixer.loss, mirror, header["blocks"])
        if mixer.experts != len(learners):
            raise ValueError(f"{mixer.experts} shares for {len(learners)} learners")
        if not np.isfinite(arrays["gradient"]).all():
            raise ValueError("the gradient is not that of a learner")
        aggregate._mixer = mixer
        aggregate._book.restore(arrays)
        return aggregate


def _is_linear(learner: Any) -> bool:
    """Tell whether a learner's predictions are <weights, x>, not clipped and not moved."""
    parts = getattr(learner, "_parts", None)
    return parts is not None and parts.clip is None and not parts.rate.centred()


def _can_be_asked(learner: Any) -> bool:
    """Tell whether a learner and all its members check rows before they learn."""
    return all(hasattr(one, "_check_width") for one in (learner, *_members(learner)))


def _members(learner: Any) -> Iterator[Any]:
    """Yield the members of an aggregate, and theirs; other learners have none."""
    for member in learner.learners if isinstance(learner, Aggregate) else ():
        yield member
        yield from _members(member)


def rate_grid(
    loss: Loss,
    mirror: mirrors.Mirror | None = None,
    rate: rates.Rate | None = None,
    low: float = 2.0**-5,
    high: float = 2.0**5,
    dimension: int | None = None,
    blocks: bool = False,
) -> Aggregate:
    """Return an `Aggregate` of learners whose rates are 2^j times `rate`, low <= 2^j <= high.

    A bound R / eta + eta G is at most (sqrt 2 + 1 / sqrt 2) / 2 < 1.061 of its least value
    2 sqrt(R G) where eta is off by a factor sqrt 2: the best of the grid is that near the best
    rate between its ends, and AdaHedge is near the best of the grid, both in the certificate.
    The map is Euclidean by default, the rate `PerCoordinate(1, invariant=True)` with it, so
    that features may be in any units, and `Adaptive(1)` with any other map.
    References: van Erven, Koolen, MetaGrad: Multiple Learning Rates in Online Learning, 2016,
    for the grid; `Aggregate` for the mixture.

    >>> import noregret as nr
    >>> learner = rate_grid(nr.losses.Logistic(), low=0.25, high=4)
    >>> [member.rate.scale for member in learner.learners]
    [0.25, 0.5, 1.0, 2.0, 4.0]
    """
    mirror = mirrors.Euclidean() if mirror is None else mirror
    if rate is None:
        own = rates.PerCoordinate(1.0, invariant=True)
        rate = own if mirror.euclidean() else rates.Adaptive(1.0)
    fields = rate.fields()
    name = next((name for name in ("eta", "scale") if fields.get(name) is not None), None)
    if name is None:
        raise ValueError(f"rate_grid(rate={rate}) has no eta or scale that could be varied")
    if not 0.0 < low <= high < math.inf:
        raise ValueError(f"rate_grid needs 0 < low <= high, got low={low} and high={high}")
    # Ends that are powers of two up to rounding belong to the grid.
    first = math.ceil(math.log2(low) - 1e-9)
    last = math.floor(math.log2(high) + 1e-9)
    if not 1 <= last - first + 1 <= MOST:
        raise ValueError(
            f"rate_grid: between {low:g} and {high:g} lie {last - first + 1} powers of 2, "
            f"expected 1 to {MOST}"
        )
    grid = [rate.replace(**{name: math.ldexp(fields[name], j)}) for j in range(first, last + 1)]
    return Aggregate(
        [MirrorDescent(loss, mirror, each, dimension=dimension, averaging=False) for each in grid],
        mirror=mirror,
        blocks=blocks,
    )
