"""Many learners in one pass, mixed by their losses: a learner without a rate to tune."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn, Self, TypeAlias

import numpy as np

from noregret import mirrors
from noregret.arrays import Matrix, Vector
from noregret.experts.aggregate_certificate import AggregateCertificate
from noregret.experts.aggregate_file import (
    check_loaded,
    kind_of,
    members_from_file,
    members_to_file,
)
from noregret.experts.forecaster import Forecaster
from noregret.experts.membership import (
    LOSSES,
    PROBABILITIES,
    as_members,
    can_be_asked,
    check_width,
    is_linear,
    mixed_weights,
    require_labels,
    require_mixing,
    require_weights,
    undoable,
)
from noregret.experts.probabilities import ProbabilityForecaster
from noregret.experts.stacking import require_stack, stack_rows
from noregret.files import store
from noregret.learners.foreign import Certifier
from noregret.learners.marks import Undo, learn_or_undo, marked, together, with_attributes
from noregret.losses import Loss
from noregret.passes.checks import sound_rows
from noregret.proof.certificate import Certificate
from noregret.rows.examples import Rows, as_labels, as_predictions, as_rows, as_weights
from noregret.rows.sealed import opened
from noregret.shards import Shards
from noregret.turns import one_at_a_time
from noregret.visible import Readable

#: How a learner learns rows: called with their labels, and with their weights if there are any.
Way: TypeAlias = Callable[..., Any]


class Aggregate(Readable):
    """K learners in one pass, their predictions mixed by AdaHedge: itself a learner.

    Each round: every learner predicts p_k and learns; the aggregate predicts sum_k s_k p_k, with
    shares s_k proportional to exp(-eta (loss of learner k so far)) and eta = ln K over the
    mixability gaps so far. Its loss exceeds that of the best learner by at most
    2 sqrt(V ln K) + S ((4/3) ln K + 2), V the summed variance of the learners' losses and S their
    largest spread in a round; no range, rate or horizon is needed. The learners must not be
    used elsewhere meanwhile.

    With `mixing="probabilities"`, for the logistic loss, it predicts the margin of the mean
    probability, see `ProbabilityForecaster`: its loss exceeds that of the best member by at most
    W (ln K + ln T), W the largest weight of an example, and it follows changes of the best. It is
    not linear and has no `weights`.

    A `stack` is one member more, the last: its row in a round is the vector of the other members'
    predictions, margins cut off at -30 and 30, and it learns after them.

    >>> import noregret as nr
    >>> rates = [nr.rates.Constant(eta) for eta in (0.01, 0.1, 1.0)]
    >>> learner = Aggregate(
    ...     [nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), rate) for rate in rates])
    >>> _ = learner.learn([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, -1, 1])
    >>> learner.weights.shape, learner.certificate().rounds
    ((2,), 3)
    >>> learner = Aggregate(
    ...     [nr.catalogue.ogd(nr.losses.Logistic(), eta) for eta in (0.1, 1.0)],
    ...     mixing="probabilities", stack=nr.catalogue.aioli())
    >>> _ = learner.learn([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, -1, 1])
    >>> len(learner.members), len(learner.shares)
    (3, 3)

    Reference: de Rooij, van Erven, Grunwald, Koolen, Follow the Leader If You Can, Hedge If You
    Must, 2014, the second-order bound.
    """

    #: What `certificate` returns.
    _certificate: type[AggregateCertificate] = AggregateCertificate

    def __init__(
        self,
        learners: Sequence[Any],
        loss: Loss | None = None,
        mirror: mirrors.Mirror | None = None,
        blocks: bool | str = False,
        mixing: str = LOSSES,
        stack: Any = None,
    ) -> None:
        """Make an aggregate of learners with `learn`, `predict` and `loss`.

        Args:
            learners: the members, one or more, each of its own.
            loss: what judges the mixture [default: that of the first learner].
            mirror: the map whose class the certificate's floors are about [default: the 2-norm
                ball].
            blocks: raise the floors by lines under blocks of rows, as in `nr.certify`
                [default: False].
            mixing: "losses", AdaHedge on the members' losses, or "probabilities", for `Logistic()`
                alone [default: "losses"].
            stack: a learner that learns from the other members' predictions [default: none].
        """
        self.learners = list(learners)
        #: The learner whose rows are the predictions of the others, or None.
        self.stack = stack
        #: All that are mixed: the learners, and the stack as the last one.
        self.members = as_members(self.learners, stack)
        #: The loss that the mixture is judged by.
        self.loss: Loss = self.learners[0].loss if loss is None else loss
        require_labels(self.members, self.loss)
        self._require_mixing(mixing)
        if stack is not None:
            require_stack(stack, len(self.learners))
        #: What is mixed, "losses" or "probabilities".
        self.mixing = mixing
        self._mixer = self._new_mixer(len(self.members))
        self._book = self._new_book(mirror, blocks)
        self._broken = ""
        # Learners without a dry run go first, so that a refusal leaves all unchanged.
        self._order = sorted(range(len(learners)), key=lambda k: can_be_asked(self.learners[k]))
        #: Whether a failed block can be undone.
        self._copied = undoable(self)

    def _require_mixing(self, mixing: str) -> None:
        """Refuse a way to mix that the loss does not have."""
        require_mixing(mixing, self.loss)

    @classmethod
    def _mixer_of(cls, mixing: str) -> type[Forecaster | ProbabilityForecaster]:
        """Return the class of what mixes the members."""
        return ProbabilityForecaster if mixing == PROBABILITIES else Forecaster

    def _new_mixer(self, count: int) -> Forecaster | ProbabilityForecaster:
        """Return what mixes so many members."""
        if self.mixing == LOSSES:
            return Forecaster(count, self.loss)
        return ProbabilityForecaster(count)

    def _new_book(self, mirror: mirrors.Mirror | None, blocks: bool | str) -> Certifier:
        """Return what certifies the mixed predictions."""
        return Certifier(self.loss, mirror, blocks)

    def _made(self) -> str:
        named = [f"{len(self.learners)} learners", f"the first {self.learners[0]._made()}"]
        named += [f"mixing={self.mixing!r}"] if self.mixing != LOSSES else []
        return ", ".join(named + (["stacked"] if self.stack is not None else []))

    @property
    def rounds(self) -> int:
        """How many examples were learnt."""
        return self._mixer.rounds

    @property
    def shares(self) -> Vector:
        """The shares of the members in the coming prediction."""
        return self._mixer.weights

    @property
    def dimension(self) -> int:
        """How many features are known."""
        return max(int(learner.dimension) for learner in self.learners)

    @property
    def weights(self) -> Vector:
        """The mixed weights of the coming round, if all members predict by weights alone."""
        return mixed_weights(self)

    def _linear(self) -> bool:
        """Tell whether predictions are <weights, x>."""
        return self.mixing == LOSSES and self.stack is None and all(map(is_linear, self.learners))

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
        return self._learn(X, y, weight)

    def _learn(self, X: Any, y: Any, weight: Any) -> Vector:
        """Learn the rows; the turn of this thread is taken."""
        if self._broken:
            raise OverflowError(self._broken)
        rows = sound_rows(as_rows(opened(X)), 0)
        labels = self._as_labels(y, len(rows))
        weights = as_weights(weight, len(rows))
        if weight is not None:
            self._check_members()
        self._check_width(rows)
        order, predictions = self._order, np.empty((len(rows), *self._shape(labels)))

        def play(start: int, stop: int) -> None:
            part, given = slice(start, stop), rows.part(start, stop)
            made = np.empty((stop - start, len(self.members), *predictions.shape[1:]))
            terms = (labels[part],) if weight is None else (labels[part], weights[part])
            ways = self._ways(given, weights[part])

            def learn_one(place: int, _: int) -> None:
                k = order[place]
                self._learn_member(k, ways[k], terms, made, start == 0 and place == 0)

            # Learners that cannot be undone learn one after the other, until one refuses.
            numbers = given.stored * len(order) * self._copied
            Shards.of_tasks(len(order), numbers).each(len(order), learn_one)
            if self.stack is not None:
                stacked = partial(self.stack.learn, stack_rows(made[:, :-1], self.loss))
                self._learn_member(len(order), stacked, terms, made, False)
            predictions[part] = self._mix(given.plain(), labels[part], weights[part], made)

        for start, stop in self._pieces(rows):
            if self._copied:
                learn_or_undo(lambda a, b: self._marked(rows.part(a, b)), start, stop, play)
            else:
                play(start, stop)
        return predictions

    def _as_labels(self, y: Any, count: int) -> Vector:
        """Return labels, or refuse them."""
        return as_labels(y, count, self.loss)

    def _as_predictions(self, learnt: Any, count: int) -> Vector:
        """Return what a member predicted, or refuse it."""
        return as_predictions(learnt, count)

    def _shape(self, labels: Vector) -> tuple[int, ...]:
        """Return the shape of a prediction: that of a number."""
        return ()

    def _marked(self, rows: Rows) -> Undo:
        """Return what puts all members back after they have learnt these rows."""
        undos = self._undos(rows)
        if self.stack is not None:
            undos.append(marked(self.stack, as_rows(np.empty((0, len(self.learners))))))
        return together(undos)

    def _undos(self, rows: Rows) -> list[Undo]:
        """Return what puts the learners back after they have learnt these rows."""
        return [marked(learner, rows) for learner in self.learners]

    def _mark(self, rows: Rows) -> Undo | None:
        """Return what puts the aggregate back after it has learnt these rows, see `marks`."""
        if self.blocks or not self._copied:
            return None
        # The mixer and the book play on copies of their arrays: attributes are all that changes.
        return with_attributes((self, self._mixer, self._book), self._marked(rows))

    def _pieces(self, rows: Rows) -> Iterator[tuple[int, int]]:
        """Yield the start and the stop of parts of limited size."""
        return rows.chunks()

    def _ways(self, rows: Rows, weights: Vector) -> list[Way]:
        """Return how each learner learns these rows, given their labels and weights."""
        return [partial(learner.learn, rows.plain()) for learner in self.learners]

    def _learn_member(
        self, k: int, learn: Way, terms: tuple[Vector, ...], made: Matrix, first: bool
    ) -> None:
        """Let a member learn rows, the `first` of all or not, and write down its predictions."""
        try:
            learnt = learn(*terms)
        except (OverflowError, ValueError) as error:
            if isinstance(error, ValueError) and first:
                raise
            self._refuse(f"{self._name(k)} cannot go on: {error}", error)
        try:
            made[:, k] = self._as_predictions(learnt, len(made))
        except ValueError as error:
            self._refuse(f"{self._name(k)} cannot go on: {error}", error)

    def _name(self, k: int) -> str:
        return f"learner {k}" if k < len(self.learners) else "the stack"

    def _mix(self, given: Any, labels: Vector, weights: Vector, made: Matrix) -> Vector:
        """Mix the predictions of the members, and enter them in both books or in neither."""
        # A mixer plays on copies of its arrays: its attributes are all that changes.
        before = dict(vars(self._mixer))
        try:
            mixed = self._mixer.learn(made, labels, weights)
            self._book.add(given, labels, mixed, weights)
        except BaseException as error:
            vars(self._mixer).update(before)
            if not isinstance(error, ValueError):
                raise
            self._refuse(f"the losses of the learners overflow: {error}", error)
        return mixed

    def _check_members(self) -> None:
        """Refuse weights of examples if some member takes none."""
        for k, member in enumerate(self.members):
            require_weights(member, self._name(k))

    def _check_width(self, rows: Rows) -> None:
        """Refuse rows whose width some learner does not take."""
        for learner in self.learners:
            check_width(learner, rows)

    def _refuse(self, reason: str, error: Exception) -> NoReturn:
        if not self._copied:
            self._broken = reason
        raise OverflowError(reason) from error

    def predict(self, X: Any) -> Vector:
        """Return the mixed prediction for each row, with the shares of the coming round."""
        made = np.stack(self._predictions(sound_rows(as_rows(opened(X)), 0)), axis=1)
        if self.stack is not None:
            last = self.stack.predict(stack_rows(made, self.loss))
            made = np.column_stack([made, last])
        return self._mixer.forecast(made)

    def _predictions(self, rows: Rows) -> list[Vector]:
        """Return what each learner predicts for sound rows."""
        return [learner.predict(rows.plain()) for learner in self.learners]

    @property
    def blocks(self) -> bool | str:
        """Whether lines under blocks of rows are kept, which raise the floor, or "parabolas"."""
        return self._book.blocks

    def close_block(self) -> None:
        """End all blocks of rows held back: a file saved now holds no row."""
        self._book.close_block()
        for member in self.members:
            if hasattr(member, "close_block"):
                member.close_block()

    def certificate(self, thorough: bool = True) -> AggregateCertificate:
        """Return the certificate of the mixture, with the regret against the best member.

        thorough: search for the best lines of the rows held back, if `blocks` are kept; without it
            the floor of a small or large class is lower, and found sooner [default: True].
        """
        proof = self._book.certificate(thorough)
        return self._certificate.joined(proof, self._mixer.certificate(), self._reach(proof))

    def _reach(self, proof: Certificate) -> float | None:
        """Return the norm of the weights, None where there are none."""
        return proof.mirror.predictors().norm(self.weights) if self._linear() else None

    def save(self, path: str | os.PathLike[str], extra: store.Extra | None = None) -> None:
        """Write the aggregate and its learners to one file; `nr.load` resumes it to the bit.

        `extra` is kept beside it for `load_with_extra`.
        """
        store.write(path, *store.attached(*self._to_file(), extra))

    def _to_file(self) -> tuple[dict[str, Any], dict[str, Vector]]:
        """Return the header and the arrays of a file."""
        if self._broken:
            raise OverflowError(self._broken)
        called = map(self._name, range(len(self.members)))
        headers, arrays = members_to_file(dict(zip(called, self.members, strict=True)))
        mixer, own = self._mixer._to_file()
        arrays |= {f"mixer/{name}": array for name, array in own.items()}
        header = {
            "learner": kind_of(self),
            "learners": headers,
            "mixing": self.mixing,
            "stacked": self.stack is not None,
            "mixer": mixer,
            "mirror": store.component_to_header(self._book._mirror),
            "blocks": self.blocks,
        }
        return header, self._book.arrays() | arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, Vector]) -> Self:
        members, stack, own = members_from_file(header, arrays)
        mixer = cls._mixer_of(header["mixing"])._from_file(header["mixer"], own)
        aggregate = cls._of_members(header, mixer.loss, members, stack)
        check_loaded(aggregate, mixer, header, arrays)
        aggregate._mixer = mixer
        aggregate._book.restore(arrays)
        return aggregate

    @classmethod
    def _of_members(
        cls, header: dict[str, Any], loss: Loss, members: list[Any], stack: Any
    ) -> Self:
        """Return the aggregate of a file with members that were loaded."""
        mirror = store.component_from_header(header["mirror"], mirrors.Mirror)
        return cls(members, loss, mirror, header["blocks"], header["mixing"], stack)
