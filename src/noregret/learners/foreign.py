"""Certificates for anyone's predictions, part by part: one score a row."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from noregret import mirrors, rates
from noregret.arguments import ArgumentError
from noregret.arrays import Vector, as_positive
from noregret.component import Component
from noregret.floors import as_blocks, lines_below
from noregret.jit import Call, entry
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.certify import CertifyRule, Memory
from noregret.passes.checks import sound_rows
from noregret.passes.frame import Labels, Rule, block, play
from noregret.proof.certificate import Certificate
from noregret.proof.convexity import require_convex, require_declared, uncompiled
from noregret.proof.ledger import SIZE, Entry, new_ledger, require_room
from noregret.proof.other_lines import with_blocks, with_curves
from noregret.rows.examples import Rows, as_labels, as_predictions, as_rows, as_weights
from noregret.turns import one_at_a_time

#: What the names of the arrays of blocks begin with.
_BLOCKS = "blocks_"
#: Rows, labels, weights and predictions.
Part = tuple[Rows, Vector, Vector, Vector]
#: The machine code of the pass by the types of its arguments: the kernel itself takes ten times as
#: long as a round to tell them.
_CODES: dict[tuple[Any, ...], Any] = {}


@lru_cache(maxsize=256)
def _classes(component: Any) -> tuple[Any, ...]:
    """Return the class of a component and those of all components within."""
    inner = (value for value in component.fields().values() if isinstance(value, Component))
    return (type(component), *map(_classes, inner))


def _code(call: Call, rows: Rows, labels: Vector) -> Any:
    """Return the machine code of a call of the pass."""
    if not rows.values.flags.carray:
        return call[0]
    form = _classes(call[1][0]), rows.values.dtype, rows.values.ndim, labels.ndim
    if form not in _CODES:
        _CODES[form] = entry(call)
    return _CODES[form]


class Certifier:
    """Certify the predictions of any model part by part: `certify` for streams of any length.

    >>> from noregret import losses
    >>> certifier = Certifier(losses.Squared())
    >>> certifier.add([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], [1.1, 1.9])
    >>> certifier.add([[1.0, 1.0]], [3.0], [3.0])
    >>> certifier.certificate().rounds, round(certifier.certificate().floor(0.3), 4)
    (3, 0.0951)
    """

    #: A record for each feature, and for each score if there are several: Z in its one column.
    _state: Vector

    def __init__(
        self,
        loss: Loss,
        mirror: Mirror | None = None,
        blocks: bool | str = False,
        radius: float | None = None,
    ) -> None:
        self._require(loss)
        self._loss = loss
        self._mirror = mirrors.Euclidean() if mirror is None else mirror
        require_declared(self._mirror)
        self._ledger = new_ledger()
        self._state = self._nothing()
        #: The pass for the known number of features, which takes as long to make as a round.
        self._rules: dict[int, Rule] = {}
        known = None if radius is None else as_positive("radius", radius)
        if radius is not None and not blocks:
            raise ArgumentError("radius", "is for parabolas: give blocks=True, too", radius)
        self._blocks = as_blocks(blocks)
        self._lines = lines_below(loss, self._blocks, known) if blocks else None

    @property
    def blocks(self) -> bool | str:
        """Whether lines under blocks of rows are kept, which raise the floor, or "parabolas"."""
        return self._blocks

    @property
    def rounds(self) -> int:
        """How many predictions were entered."""
        return int(self._ledger[Entry.ROUNDS])

    def _require(self, loss: Any) -> None:
        """Refuse a loss that is not one of these predictions, or not convex."""
        if not isinstance(loss, Loss):
            raise ArgumentError("loss", "expected a loss of one score", loss)
        require_convex(loss)

    def _nothing(self) -> Vector:
        """Return the records before the first row."""
        return np.zeros((0, 1))

    def _asked(self, y: Any, predictions: Any, count: int) -> tuple[Vector, Vector]:
        """Return labels and predictions, or refuse them."""
        return as_labels(y, count, self._loss), as_predictions(predictions, count)

    def _widened(self, width: int, given: Vector) -> Vector:
        """Return a copy of the records with room for so many features."""
        more = width - self._state.shape[-2]
        if more <= 0:
            return self._state.copy()
        return np.pad(self._state, [(0, 0)] * (self._state.ndim - 2) + [(0, more), (0, 0)])

    def _rule(self, features: int) -> Rule:
        """Return the pass that enters rounds."""
        return CertifyRule(self._loss, self._mirror.resolved(features))

    def _memory(self, state: Vector, given: Vector) -> Any:
        """Return the arrays of the pass."""
        return Memory(state, given)

    @one_at_a_time
    def add(self, X: Any, y: Any, predictions: Any, weight: Any = None) -> None:
        """Enter rows with their labels and the predictions made for them."""
        rows = as_rows(X)
        labels, given = self._asked(y, predictions, len(rows))
        weights = as_weights(weight, len(rows))
        require_room(self.rounds, len(rows))
        parts = []
        for start, stop in rows.chunks():
            part, taken = sound_rows(rows.part(start, stop), start), slice(start, stop)
            parts.append((part, labels[taken], weights[taken], given[taken]))
        self._enter(rows.width, given, parts)

    @one_at_a_time
    def add_sound(self, rows: Rows, labels: Vector, weights: Vector, given: Vector) -> None:
        """Enter rows, labels, weights and predictions that were checked, as `add` does."""
        require_room(self.rounds, len(rows))
        self._enter(rows.width, given, [(rows, labels, weights, given)])

    def _enter(self, width: int, given: Vector, parts: list[Part]) -> None:
        """Enter sound rows part by part: all or none."""
        # Work on copies, so that a refused row leaves the sums as they were.
        ledger, state = self._ledger.copy(), self._widened(width, given)
        rule = self._rules.get(state.shape[-2]) or self._rule(state.shape[-2])
        row = 0
        for rows, labels, weights, predictions in parts:
            call = play, (
                rule, block(rows), Labels(labels, weights), 0,
                self._memory(state, predictions), ledger, np.empty(predictions.shape),
            )  # fmt: skip
            try:
                entered, _ = _code(call, rows, labels)(*call[1])
            except NumbaError as error:
                raise uncompiled(error, self._loss, self._mirror) from None
            if entered < len(rows):
                place = row + entered
                raise ValueError(
                    f"predictions row {place}: the loss at {predictions[entered]} overflows"
                )
            row += len(rows)
        if self._lines is not None:
            self._grow(state)
            for rows, labels, weights, _ in parts:
                self._lines.add(rows, labels, weights)
        self._ledger, self._state, self._rules = ledger, state, {state.shape[-2]: rule}

    def _grow(self, state: Vector) -> None:
        """Tell the blocks how many scores there are: one."""

    def _proof(self) -> Certificate:
        """Return what the lines at the predictions prove."""
        return Certificate(
            self._loss, self._mirror.resolved(len(self._state)), rates.Constant(1.0),
            self._ledger.copy(), self._state[:, 0].copy(), played=False,
        )  # fmt: skip

    def certificate(self, thorough: bool = True) -> Certificate:
        """Return what the predictions so far prove.

        thorough: search for the best lines and parabolas of the rows held back, if `blocks` are
            kept; without it the floor may be lower, and is found sooner [default: True].
        """
        certificate = self._proof()
        for ledger, gradient in () if self._lines is None else self._lines.proved(thorough):
            evidence = certificate.evidence.of_lines(gradient)
            certificate = with_blocks(certificate, ledger, gradient, evidence)
        if self._lines is None or not thorough:
            return certificate
        return with_curves(certificate, self._lines.curves())

    def close_block(self) -> None:
        """End the block of rows held back: `arrays` then hold no row."""
        if self._lines is not None:
            self._lines.close()

    def arrays(self) -> dict[str, Vector]:
        """Return copies of the ledger, of Z and of the blocks, for a checkpoint or a merge."""
        arrays = {"ledger": self._ledger.copy(), "gradient": self._state[..., 0].copy()}
        lines = {} if self._lines is None else self._lines.arrays()
        return arrays | {f"{_BLOCKS}{name}": array for name, array in lines.items()}

    def restore(self, arrays: dict[str, Vector]) -> None:
        """Continue from what `arrays` returned."""
        ledger, gradient = arrays["ledger"], arrays["gradient"]
        gradient_axes = self._state.ndim - 1
        if ledger.shape != (SIZE,) or gradient.ndim != gradient_axes:
            shape = "(features,)" if gradient_axes == 1 else "(scores, features)"
            raise ValueError(
                f"ledger and gradient have shapes {ledger.shape} and {gradient.shape}, expected "
                f"({SIZE},) and {shape}"
            )
        if self._lines is not None:
            lines = [name for name in arrays if name.startswith(_BLOCKS)]
            self._lines.restore({name.removeprefix(_BLOCKS): arrays[name] for name in lines})
            rounds = int(ledger[Entry.ROUNDS])
            if self._lines.rounds != rounds:
                raise ValueError(f"the blocks hold {self._lines.rounds} rows of {rounds} entered")
        self._ledger, self._state = ledger.copy(), gradient[..., None].copy()
