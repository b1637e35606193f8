"""The base class of learners from rows: the loop of `learn`, widths, weights, copies and files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from numba.core.errors import NumbaError

from noregret.arrays import Vector, as_whole
from noregret.combinations import Parts
from noregret.files import store
from noregret.files.fields import Arrays, Header, Saved, Setting
from noregret.floors import as_blocks, lines_below
from noregret.learners.fields import Blocks
from noregret.learners.marks import learn_or_undo, marked, together
from noregret.mirrors import Mirror
from noregret.passes.checks import sound_rows
from noregret.passes.slots import Stop
from noregret.passes.sync import products
from noregret.proof.certificate import Certificate
from noregret.proof.convexity import uncompiled
from noregret.proof.ledger import Entry, new_ledger, require_room
from noregret.proof.other_lines import with_blocks, with_curves
from noregret.rows.examples import Rows, as_rows

#: Up to this many numbers of state a repr has the floor: a certificate reads all of them.
_QUICKLY = 1 << 20
_Proof = TypeVar("_Proof", bound=Certificate)
#: What the names of the arrays of blocks begin with.
_BLOCKS = "blocks/"


class Diverged(OverflowError):
    """A row whose loss or gradient overflows was refused; the rows before it were learnt.

    `predictions` are those made for the rows before it, each before its update.

    >>> Diverged("round 3 overflows", np.zeros(2)).predictions.size
    2
    """

    def __init__(self, message: str, predictions: Vector) -> None:
        """Keep the message and the predictions of the rows that were learnt."""
        super().__init__(message)
        self.predictions = predictions


def _known_radius(parts: Parts) -> float | None:
    """Return the radius of the learner's own class, None where only the rows will tell."""
    if parts.rate.scaled():
        return None
    extent = math.nan if parts.domain is None else parts.domain.extent()
    return parts.mirror.own_radius() if math.isnan(extent) else extent


class Learner(Saved):
    """A learner whose engine is made, with its arrays, when the number of features is known.

    A subclass lists its settings and state in `_FIELDS`, makes its engine in `_new_engine`, and
    plays rows in `_play`.
    """

    _KIND = "learner"

    def __init__(self, parts: Parts, dimension: Any, blocks: bool | str = False) -> None:
        """Start without an engine, from parts that were checked against one another."""
        self._parts = parts
        #: Lines under blocks of rows, None where only those at the predictions are kept.
        self._blocks = as_blocks(blocks)
        radius = _known_radius(parts)
        self._lines = lines_below(parts.loss, self._blocks, radius) if blocks else None
        #: The number of features if it was given, and whether features may be added otherwise.
        self._fixed = None if dimension is None else as_whole("dimension", dimension)
        self._growable = parts.growable()
        self._ledger = new_ledger()
        #: The engine, None before the number of features is known.
        self._engine: Any = None
        #: The weights, if they were read since the last round.
        self._weights: Vector | None = None

    def _standing(self) -> str:
        if self.rounds == 0 or self._engine.state.size > _QUICKLY:
            return super()._standing()
        summary: str = self.certificate(thorough=False)._summary()
        return summary

    @property
    def rounds(self) -> int:
        """Number of rounds learnt."""
        return int(self._ledger[Entry.ROUNDS])

    @property
    def loss(self) -> Any:
        """The loss."""
        return self._parts.loss

    @property
    def mirror(self) -> Mirror:
        """The mirror map."""
        return self._parts.mirror

    @property
    def blocks(self) -> bool | str:
        """Whether lines under blocks of rows are kept, which raise the floor, or "parabolas"."""
        return self._blocks

    @property
    def dimension(self) -> int:
        """Number of known features."""
        return (self._fixed or 0) if self._engine is None else int(self._engine.dimension)

    @property
    def growable(self) -> bool:
        """Whether features may be added to those that are known."""
        return self._growable and self._fixed is None

    @property
    def weights(self) -> Vector:
        """The weights for the coming round, as far as they do not depend on its row.

        `Adaptive` and `PerCoordinate` rates may fall further once the row is known.
        """
        return self._current_weights().copy()

    def _current_weights(self) -> Vector:
        """Return the weights, read once between two calls of `learn`."""
        if self._engine is None:
            return np.zeros(0)
        if self._weights is None:
            self._weights = self._engine.matrix(self._engine.weights(self._ledger))
        return self._weights

    def _products(self, X: Any) -> Vector:
        """Return <w, x> for each row with the weights of the coming round."""
        rows = as_rows(X)
        if self._engine is None and not self._growable:
            return self._fresh(rows.width)._products(X)
        return products(self._current_weights(), self._readable(rows))

    def _readable(self, rows: Rows) -> Rows:
        """Return rows that fit and hold finite numbers, or refuse them."""
        self._check_width(rows)
        return sound_rows(rows, 0)

    def _learn(
        self,
        rows: Rows,
        predictions: Vector,
        terms: tuple[Vector, ...],
        cut: Callable[[Rows], Iterable[tuple[int, int]]] = Rows.chunks,
        play: Callable[[Rows, int, tuple[Vector, ...], Vector], None] | None = None,
    ) -> Vector:
        """Learn rows with their `terms`: labels, weights and more, one entry a row each.

        The rows are played part by part: `cut` returns the start and stop of each part
        [default: parts of limited size], `play` learns one part [default: `_play`].
        ValueError leaves the learner as it was. OverflowError keeps the rounds before the row that
        overflows.
        """
        self._check_width(rows)
        require_room(self.rounds, len(rows))
        rows, backup = self._guarded(rows)
        opened, known = self._engine is not None, self.dimension
        before, rounds = 0, self.rounds
        play = self._play if play is None else play
        try:
            self._open(max(rows.width, known))
            for start, stop in cut(rows):
                before, rounds = start, self.rounds
                part = slice(start, stop)
                own = tuple(term[part] for term in terms)
                play(rows.part(start, stop), start, own, predictions[part])
        except ValueError:
            if backup is not None:
                self._restore(backup)
            raise
        except OverflowError as error:
            learnt = before + self.rounds - rounds
            if learnt == 0:
                self._narrow(opened, known)
            self._hold(rows, terms, learnt)
            raise Diverged(str(error), predictions[:learnt]) from None
        except NumbaError as error:
            self._narrow(opened, known)
            raise uncompiled(error, self.loss, self.mirror) from None
        self._hold(rows, terms, len(rows))
        return predictions

    def _hold(self, rows: Rows, terms: tuple[Vector, ...], learnt: int) -> None:
        """Give the first rows to the blocks: those that were learnt."""
        if self._lines is None or learnt == 0:
            return
        # The pass sorts rows that are not sorted in copies of its own.
        sound = sound_rows(rows.part(0, learnt), 0)
        self._lines.add(sound, *self._block_terms(tuple(term[:learnt] for term in terms)))

    def _block_terms(self, terms: tuple[Vector, ...]) -> tuple[Vector, ...]:
        """Return labels, weights and offsets, if there are any, of rows learnt with these terms."""
        return terms

    def certificate(self, thorough: bool = True) -> Certificate:
        """Return what the rounds so far prove, as a value that later rounds do not change.

        thorough: search for the best lines and parabolas of the rows held back, if `blocks` are
            kept; without it the floor may be lower, and is found sooner [default: True].
        """
        raise NotImplementedError

    def _floored(self, certificate: _Proof, thorough: bool) -> _Proof:
        """Return the certificate with the lines of the blocks beside those of the predictions."""
        for ledger, gradient in () if self._lines is None else self._lines.proved(thorough):
            whole, own = self._whole(gradient), self._in_own_units(ledger)
            certificate = with_blocks(certificate, own, whole, self._engine.evidence_of(whole))
        if self._lines is None or not thorough:
            return certificate
        return with_curves(certificate, self._lines.curves())

    def _in_own_units(self, ledger: Vector) -> Vector:
        """Return the sums of blocks with travels in the units of the class, which are theirs."""
        return ledger

    def _whole(self, gradient: Vector) -> Vector:
        """Return Z of the blocks, in which features that have not occurred yet have no part."""
        return np.pad(gradient, (0, self.dimension - len(gradient)))

    def _guarded(self, rows: Rows) -> tuple[Rows, Arrays | None]:
        """Return checked rows, or unchecked ones with a backup to restore if the pass refuses."""
        return sound_rows(rows, 0), None

    def _check_width(self, rows: Rows) -> None:
        """Refuse rows whose number of columns does not fit."""
        if self._engine is None and self._fixed is None:
            if rows.width == 0 and not self._growable:
                raise ValueError("X has no columns, and this map must know its features in advance")
        elif rows.width != self.dimension and (not self.growable or rows.dense):
            raise ValueError(f"X has {rows.width} columns, the learner knows {self.dimension}")

    def _open(self, dimension: int) -> None:
        """Allocate the arrays, or grow them to that many features."""
        self._weights = None
        if self._engine is None:
            self._engine = self._new_engine(dimension)
        elif dimension > self.dimension:
            self._engine.grow(dimension)

    def _new_engine(self, dimension: int) -> Any:
        """Return the engine of a learner that has seen nothing."""
        raise NotImplementedError

    def _play(self, rows: Rows, start: int, terms: tuple[Vector, ...], predictions: Vector) -> None:
        """Play a part of the rows, the first of which is row `start` of the input."""
        if self._engine.run(rows, *terms, self._ledger, predictions)[1] == Stop.OVERFLOW:
            raise self._diverges()

    def _narrow(self, opened: bool, dimension: int) -> None:
        """Drop the room made for features of rows none of which was learnt."""
        self._weights = None
        if not opened:
            self._engine = None
        elif dimension < self.dimension:
            self._engine.grow(dimension)

    def _diverges(self, remedy: str = "a smaller rate") -> OverflowError:
        """Return the error of a round whose loss or gradient overflows."""
        return OverflowError(
            f"the loss or gradient of round {self.rounds + 1} overflows: it diverges; "
            f"use {remedy}, a map with a radius, or scale the features"
        )

    def _arrays(self) -> Arrays:
        """Return copies of the ledger and the arrays of the engine."""
        arrays = {"ledger": self._ledger} | ({} if self._engine is None else self._engine.arrays())
        return {name: array.copy() for name, array in arrays.items()}

    def _restore(self, arrays: Arrays) -> None:
        """Restore the arrays of a file or of a backup."""
        # `files.learner_of` checks the arrays of a file before they are restored.
        self._ledger = arrays["ledger"].copy()
        self._engine = self._weights = None
        if "state" in arrays:
            self._open(len(arrays["state"]))
            self._engine.restore(arrays)

    def _block_arrays(self) -> Arrays:
        """Return copies of the arrays of the blocks, none before the first row."""
        kept = {} if self._lines is None or self.rounds == 0 else self._lines.arrays()
        return {f"{_BLOCKS}{name}": array for name, array in kept.items()}

    def close_block(self) -> None:
        """End the blocks of rows held back: a file saved now holds no row.

        What they prove is kept. The floor may be lower than with whole blocks, and a run that
        closed blocks has other bits than one that did not.
        """
        if self._lines is not None:
            self._lines.close()
        if self._engine is not None:
            self._engine.close()
            self._weights = None

    def _restore_blocks(self, arrays: Arrays) -> None:
        """Restore the arrays of the blocks from a file or a copy."""
        kept = {
            name.removeprefix(_BLOCKS): array
            for name, array in arrays.items()
            if name.startswith(_BLOCKS)
        }
        if self._lines is not None and kept:
            self._lines.restore(kept)
        if self._lines is not None and self._lines.rounds != self.rounds:
            raise ValueError(f"the blocks hold {self._lines.rounds} rows of {self.rounds} learnt")

    def _settings(self) -> dict[str, Any]:
        """Return the constructor's arguments that the class lists as fields."""
        listed = [field for field in self._FIELDS if isinstance(field, Setting | Blocks)]
        return {field.name: field.get(self) for field in listed}

    def _fresh(self, dimension: int) -> Self:
        """Return an open learner with the same settings that has seen nothing."""
        return type(self)(**(self._settings() | {"dimension": dimension}))

    def __getstate__(self) -> dict[str, Any]:
        """Return settings and arrays, so that a copy shares no memory with the learner."""
        arrays = self._arrays() | self._block_arrays()
        return {"settings": self._settings(), "fixed": self._fixed, "arrays": arrays}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Continue from the state of another learner."""
        self._kind().__init__(self, **kept["settings"])
        self._fixed = kept["fixed"]
        self._restore(kept["arrays"])
        self._restore_blocks(kept["arrays"])

    @classmethod
    def _kind(cls) -> type[Self]:
        """Return the class that lists the fields: a subclass may add methods to it."""
        return next(kind for kind in cls.__mro__ if "_FIELDS" in vars(kind))

    def _to_file(self) -> tuple[Header, Arrays]:
        header, arrays = super()._to_file()
        return header | {self._KIND: self._kind().__name__}, arrays

    def save(self, path: str | os.PathLike[str], extra: store.Extra | None = None) -> None:
        """Write the learner to a file, atomically; `nr.load` resumes it to the bit.

        `extra` is stored with it for `load_with_extra` [default: nothing].
        """
        store.write(path, *store.attached(*self._to_file(), extra))


def learn_together(
    learners: Sequence[Any], start: int, stop: int, play: Callable[[int, int], None]
) -> None:
    """Call play(start, stop), by which all learners learn these rows, or undo it on an error.

    After ValueError no row was learnt. After OverflowError all learners have learnt the rows before
    the first row that one of them refuses, which is found by bisection.
    Every learner is copied first, which takes time and memory in proportion to its size.

    >>> import noregret as nr
    >>> one = nr.MirrorDescent(nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.Constant(1))
    >>> rows = [[1.0], [2.0], [1e99]]
    >>> try:
    ...     learn_together([one], 0, 3, lambda a, b: one.learn(rows[a:b], [0.0, 1.0, 1e99][a:b]))
    ... except OverflowError:
    ...     one.rounds
    2
    """
    learn_or_undo(lambda *_: together([marked(one, None) for one in learners]), start, stop, play)
