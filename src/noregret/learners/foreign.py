"""A certificate for anyone's predictions, against the class of linear predictors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from noregret import mirrors, rates
from noregret.arguments import ArgumentError
from noregret.arrays import Vector, as_positive
from noregret.floors import as_blocks, lines_below
from noregret.jit import Call, entry
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.passes.certify import CertifyRule, Memory
from noregret.passes.checks import sound_rows
from noregret.passes.frame import Labels, block, play
from noregret.proof.certificate import Certificate
from noregret.proof.convexity import require_convex, require_declared, uncompiled
from noregret.proof.ledger import SIZE, Entry, new_ledger, require_room
from noregret.proof.other_lines import with_blocks, with_curves
from noregret.rows.examples import Rows, as_labels, as_predictions, as_rows, as_weights
from noregret.turns import one_at_a_time


def certify(
    X: Any,
    y: Any,
    predictions: Any,
    loss: Loss,
    weight: Any = None,
    mirror: Mirror | None = None,
    blocks: bool | str = False,
    radius: float | None = None,
) -> Certificate:
    """Return what the predictions of any model prove about every fixed linear predictor.

    The proof uses only that the loss is convex in the prediction: with slopes g_t at the given
    p_t, sum f_t(u) >= sum (f_t(p_t) - g_t p_t) + <u, sum g_t x_t> for every u.

    Args:
        X: the rows, dense or sparse.
        y: their labels, -1 and +1 or real numbers, as the loss takes them.
        predictions: one finite number a row, made by any model.
        loss: one of `nr.losses` or a `Loss` of your own.
        weight: one number >= 0 a row [default: 1].
        mirror: the map whose class `floor(radius)` is about [default: Euclidean()].
        blocks: whether lines under blocks of rows are tried, too. They do not depend on the
            predictions: as a rule the floor is then close to the least loss of the class, for 1
            to 4 us a row, and more where it is read. For the square loss, or with `radius`, and
            up to 128 features there are parabolas besides; "parabolas" makes them without a
            radius and up to 512 features, for 3 to 30 times as much [default: False].
        radius: the largest radius that `floor` will be asked for, finite and above 0, if it is
            known: parabolas are then made for this class alone, and bend as far as it allows
            [default: not known].

    >>> from noregret import losses
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> proof = certify(X, [1.0, 2.0, 3.0], [1.1, 1.9, 3.0], losses.Squared())
    >>> round(proof.loss, 6), round(proof.floor(0.3), 4)
    (0.02, 0.0951)
    >>> best = certify(X, [1.0, 2.0, 3.0], [1.1, 1.9, 3.0], losses.Squared(), blocks=True)
    >>> round(best.floor(0.3), 4)
    10.4257
    """
    certifier = Certifier(loss, mirror, blocks, radius)
    certifier.add(X, y, predictions, weight)
    return certifier.certificate()


#: The machine code of the pass by the classes of its parts and the form of the rows: the kernel
#: itself takes ten times as long as a row to tell it.
_CODES: dict[tuple[Any, ...], Any] = {}


def _code(call: Call, values: Any) -> Any:
    """Return the machine code of a call with rows of such values."""
    if not values.flags.carray:
        return call[0]
    rule = call[1][0]
    form = type(rule), type(rule.loss), type(rule.mirror), values.dtype, values.ndim
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

    def __init__(
        self,
        loss: Loss,
        mirror: Mirror | None = None,
        blocks: bool | str = False,
        radius: float | None = None,
    ) -> None:
        require_convex(loss)
        self._loss = loss
        self._mirror = mirrors.Euclidean() if mirror is None else mirror
        require_declared(self._mirror)
        self._ledger = new_ledger()
        self._gradient = np.zeros(0)
        self._rule = self._new_rule(0)
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

    @one_at_a_time
    def add(self, X: Any, y: Any, predictions: Any, weight: Any = None) -> None:
        """Enter rows with their labels and the predictions made for them."""
        rows = as_rows(X)
        labels = as_labels(y, len(rows), self._loss)
        weights = as_weights(weight, len(rows))
        given = as_predictions(predictions, len(rows))
        require_room(self.rounds, len(rows))
        cuts = rows.chunks()
        parts = [(sound_rows(rows.part(*cut), cut[0]), slice(*cut)) for cut in cuts]
        self._enter([(part, labels[cut], weights[cut], given[cut]) for part, cut in parts])

    def enter_sound(self, rows: Rows, labels: Vector, weights: Vector, given: Vector) -> None:
        """Enter rows, labels, weights and predictions that were checked, as `add` does."""
        require_room(self.rounds, len(rows))
        self._enter([(rows, labels, weights, given)])

    def _enter(self, parts: list[tuple[Rows, Vector, Vector, Vector]]) -> None:
        """Enter sound rows part by part, all or none."""
        known = len(self._gradient)
        width = max([known, *(part[0].width for part in parts)])
        # Work on copies, so that a refused row leaves the sums as they were.
        ledger, gradient = self._ledger.copy(), self._gradient.copy()
        if width > known:
            gradient = np.pad(gradient, (0, width - known))
        rule = self._rule if width == known else self._new_rule(width)
        row = 0
        for rows, labels, weights, given in parts:
            call = play, (
                rule, block(rows), Labels(labels, weights), 0,
                Memory(gradient[:, None], given), ledger, np.empty(len(rows)),
            )  # fmt: skip
            try:
                entered, _ = _code(call, rows.values)(*call[1])
            except NumbaError as error:
                raise uncompiled(error, self._loss, self._mirror) from None
            if entered < len(rows):
                place = row + entered
                raise ValueError(
                    f"predictions row {place}: the loss at {given[entered]:g} overflows"
                )
            row += len(rows)
        if self._lines is not None:
            for rows, labels, weights, _ in parts:
                self._lines.add(rows, labels, weights)
        self._ledger, self._gradient, self._rule = ledger, gradient, rule

    def _new_rule(self, width: int) -> CertifyRule:
        """Return the rule for rows of that many columns."""
        return CertifyRule(self._loss, self._mirror.resolved(width))

    def certificate(self, thorough: bool = True) -> Certificate:
        """Return what the predictions so far prove.

        thorough: search for the best lines and parabolas of the rows held back, if `blocks` are
            kept; without it the floor may be lower, and is found sooner [default: True].
        """
        certificate = Certificate(
            self._loss, self._mirror.resolved(len(self._gradient)), rates.Constant(1.0),
            self._ledger.copy(), self._gradient.copy(), played=False,
        )  # fmt: skip
        for ledger, gradient in () if self._lines is None else self._lines.proved(thorough):
            certificate = with_blocks(certificate, ledger, gradient)
        if self._lines is None or not thorough:
            return certificate
        return with_curves(certificate, self._lines.curves())

    def close_block(self) -> None:
        """End the block of rows held back: `arrays` then hold no row."""
        if self._lines is not None:
            self._lines.close()

    def arrays(self) -> dict[str, Vector]:
        """Return copies of the ledger, of Z and of the blocks, for a checkpoint or a merge."""
        arrays = {"ledger": self._ledger.copy(), "gradient": self._gradient.copy()}
        lines = {} if self._lines is None else self._lines.arrays()
        return arrays | {f"blocks_{name}": array for name, array in lines.items()}

    def restore(self, arrays: dict[str, Vector]) -> None:
        """Continue from what `arrays` returned."""
        ledger, gradient = arrays["ledger"], arrays["gradient"]
        if ledger.shape != (SIZE,) or gradient.ndim != 1:
            raise ValueError(
                f"ledger and gradient have shapes {ledger.shape} and {gradient.shape}, expected "
                f"({SIZE},) and (features,)"
            )
        if self._lines is not None:
            kept = {name.removeprefix("blocks_"): array for name, array in arrays.items()}
            self._lines.restore(kept | {"ledger": arrays["blocks_ledger"]})
            rounds = int(ledger[Entry.ROUNDS])
            if self._lines.rounds != rounds:
                raise ValueError(f"the blocks hold {self._lines.rounds} rows of {rounds} entered")
        self._ledger, self._gradient = ledger.copy(), gradient.copy()
        self._rule = self._new_rule(len(gradient))
