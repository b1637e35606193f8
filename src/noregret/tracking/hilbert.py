"""C-GD in the Hilbert space of a kernel, with a budget of stored points.

w(x) = sum_i c_i K(x_i, x). A round with slope g goes from w to v = w - eta g K(x, .), then back
into the ball ||w|| <= radius by one factor. Theorem 14 holds with the norms of the space, as it
does not speak of coordinates. With a budget, when there is one point too many, that with the
smallest |c_i| sqrt(K(x_i, x_i)) is dropped before the projection: v + e in place of v. For u in
the ball,

    D(u, v + e) - D(u, v) = (||v + e||^2 - ||v||^2)/2 - <u, e> <= (change of ||v||^2)/2 + U ||e||

where U bounds ||u||. The sum of these costs is known exactly after the run; divided by eta it is
what the budget adds to the bound on the loss. That is proved; that dropping the smallest point
costs little is an observation on data.
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, Theorem 14 and section 4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noregret import mirrors, rates
from noregret.arrays import Vector, as_positive, as_whole
from noregret.domains import Ball
from noregret.files.fields import Array, Arrays, Field, Header, Saved, Setting
from noregret.losses import Loss, Squared
from noregret.passes.checks import sound_rows
from noregret.passes.frame import Labels, block, play
from noregret.passes.slots import Stop
from noregret.proof.certificate import Certificate
from noregret.proof.convexity import require_convex
from noregret.proof.ledger import Entry, new_ledger, require_room
from noregret.rounding import exact, grown, up
from noregret.rows.examples import as_labels, as_rows
from noregret.tracking.hilbert_certificate import KernelCertificate
from noregret.tracking.hilbert_pass import Column, HilbertRule, Memory, Place, predict_points
from noregret.tracking.kernels import Kernel
from noregret.tracking.lemmas import ShiftingBounds, stated
from noregret.tracking.rerun import check_same
from noregret.tracking.schedules import KernelSchedule
from noregret.turns import one_at_a_time


class _Points(Field):
    """The stored points, their records, and with a budget the matrix of their kernels."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the points in use: the arrays have room for more."""
        count = len(owner)
        arrays |= {
            "points": owner._points[:count],
            "columns": owner._columns[:count],
            "grams": owner._grams[:count, :count],
        }

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Check the arrays against one another, and set them."""
        points = arrays["points"]
        count, width = points.shape
        side = 0 if owner.budget is None else count
        for name, shape in (("columns", (count, len(Column))), ("grams", (side, side))):
            if arrays[name].shape != shape or arrays[name].dtype != np.float64:
                raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
        if owner._slots[Place.COUNT] != count or count > (owner.budget or count):
            raise ValueError(f"{count} points are stored, expected another number of them")
        room = max(len(owner._points), count)
        owner._points, owner._columns = np.zeros((room, width)), np.zeros((room, len(Column)))
        owner._points[:count], owner._columns[:count] = points, arrays["columns"]
        owner._grams[:side, :side] = arrays["grams"]


class KernelDescent(Saved):
    """Projected gradient descent in the space of a kernel, one stored point a round.

    With a `budget` no more points than that are kept, and memory and time a round stay bounded;
    `budget_cost` says what it costs. The loss is the square loss, without a factor 1/2
    [default: Squared()]. `certificate()` has the floor and the theorems for a ball of the space.

    >>> from noregret.tracking.kernels import Gaussian
    >>> learner = KernelDescent(Gaussian(), radius=0.5, eta=0.25)
    >>> learner.learn([[0.0], [1.0], [0.5]], [1.0, -1.0, 0.5]).round(6)
    array([ 0.      ,  0.18394 , -0.057895])
    >>> len(learner), round(learner.norm, 6)
    (3, 0.5)
    """

    _KIND = "learner"
    _FIELDS = (
        Setting("radius"),
        Setting("eta"),
        Setting("kernel", of=Kernel),
        Setting("loss", of=Loss),
        Setting("budget"),
        Array("ledger", unbounded=True),
        Array("places", "_slots", unbounded=True),
        _Points("points"),
    )

    def __init__(
        self,
        kernel: Kernel,
        radius: float,
        eta: float,
        loss: Loss | None = None,
        budget: int | None = None,
    ) -> None:
        """Make a learner.

        kernel: the inner product of points. radius: of the ball that w is kept in, above 0. eta:
        the step size, above 0; Theorem 14 has 1/(4 X^2) where K(x, x) <= X^2 for all rows. loss:
        any convex loss [default: Squared()]. budget: most points to store [default: all].
        """
        if not isinstance(kernel, Kernel):
            raise ValueError(f"KernelDescent: kernel must be a kernel, got {kernel!r}")
        self.kernel, self.loss = kernel, Squared() if loss is None else loss
        self.radius = as_positive("KernelDescent: radius", radius)
        self.eta = as_positive("KernelDescent: eta", eta)
        self.budget = None if budget is None else as_whole("KernelDescent: budget", budget)
        require_convex(self.loss)
        self._ledger = new_ledger()
        self._slots = np.zeros(len(Place))
        self._slots[Place.SCALE] = 1.0
        room = 16 if self.budget is None else self.budget + 1
        self._points = np.zeros((room, 0))
        self._columns = np.zeros((room, len(Column)))
        side = 0 if self.budget is None else room
        self._grams = np.zeros((side, side))

    def __len__(self) -> int:
        return int(self._slots[Place.COUNT])

    @property
    def rounds(self) -> int:
        """How many examples were learnt."""
        return int(self._ledger[Entry.ROUNDS])

    @property
    def points(self) -> Vector:
        """The stored points x_i, a row each."""
        return self._points[: len(self)].copy()

    @property
    def coefficients(self) -> Vector:
        """The c_i of w = sum_i c_i K(x_i, .)."""
        stored = self._columns[: len(self), Column.COEFFICIENT]
        return np.asarray(stored * self._slots[Place.SCALE])

    @property
    def norm(self) -> float:
        """||w|| in the space of the kernel, as the pass has it."""
        return math.sqrt(self._slots[Place.SQUARE])

    @property
    def drops(self) -> int:
        """How many points the budget has cost."""
        return int(self._slots[Place.DROPS])

    @property
    def dropped(self) -> float:
        """The sum of the norms of all parts of w that were dropped."""
        return float(self._slots[Place.DROPPED])

    def budget_cost(self, radius: float | None = None) -> float:
        """Return what the budget adds to the bounds, for comparators of that norm; rounded up.

        (1/eta) sum over drops of radius ||e|| + (||v + e||^2 - ||v||^2)/2. It is below 0 where
        the dropped parts had made ||v|| larger.
        """
        return self.certificate().budget_cost(radius)

    @one_at_a_time
    def learn(self, X: Any, y: Any) -> Vector:
        """Learn the rows one after the other; return the predictions made before each."""
        rows = sound_rows(as_rows(X), 0)
        labels = as_labels(y, len(rows), self.loss)
        require_room(self.rounds, len(rows))
        self._open(rows.width)
        predictions = np.empty(len(rows))
        rule = HilbertRule(self.kernel, self.loss, self.eta, self.radius)
        trials = Labels(labels, np.ones(len(rows)))
        row, stop = 0, Stop.ROOM
        while stop != Stop.DONE:
            memory = Memory(
                self._columns, self._points, self._grams, np.empty(len(self._points)), self._slots
            )
            row, stop = play(rule, block(rows), trials, row, memory, self._ledger, predictions)
            if stop == Stop.ROOM:
                self._points = np.concatenate([self._points, np.zeros_like(self._points)])
                self._columns = np.concatenate([self._columns, np.zeros_like(self._columns)])
            elif stop == Stop.OVERFLOW:
                if self.rounds == 0:
                    self._points = np.zeros((len(self._points), 0))
                raise OverflowError(f"the loss or gradient of round {self.rounds + 1} overflows")
        return predictions

    def predict(self, X: Any) -> Vector:
        """Return w(x) for each row."""
        rows = sound_rows(as_rows(X), 0)
        predictions = np.zeros(len(rows))
        if self.rounds:
            self._open(rows.width)
            points, scale = self._points[: len(self)], self._slots[Place.SCALE]
            predict_points(self.kernel, points, self._columns, scale, block(rows), predictions)
        return predictions

    def _open(self, width: int) -> None:
        # The width is that of the first row that is learnt: an empty block does not set it.
        if self.rounds == 0:
            self._points = np.zeros((len(self._points), width))
        elif width != (known := self._points.shape[1]):
            raise ValueError(f"X has {width} columns, the learner knows {known}")

    def certificate(self) -> KernelCertificate:
        """Return the certificate of the rounds so far, which later rounds do not change."""
        slots = self._slots.copy()
        square = slots[Place.GRADIENT] + 2.0 * slots[Place.GRADIENT_ERROR]
        length = math.sqrt(max(float(square), 0.0)) + float(slots[Place.LOST])
        # A bound on ||Z|| stands for Z, as its only coordinate.
        account = Certificate(
            self.loss, mirrors.Euclidean(), rates.Constant(self.eta), self._ledger.copy(),
            np.array([grown(length, self.rounds + 8.0)]), Ball(self.radius), lazy=False,
            played=False,
        )  # fmt: skip
        width = self._points.shape[1]
        return KernelCertificate(
            self.kernel, account, slots, self.eta, self.radius, self.budget, width
        )

    @property
    def total_loss(self) -> float:
        """The learner's own loss, summed over the rounds."""
        return self.certificate().loss

    def floor(self, radius: float | None = None) -> float:
        """Return a number that no fixed u of the space with ||u|| <= radius can have beaten.

        sum f_t(u) >= sum (f_t(p_t) - g_t p_t) - radius ||Z||, Z = sum g_t K(x_t, .). Of Z a
        budget keeps a part, and the norms of the dropped parts are added up: true, but looser.
        """
        return self.certificate().floor(radius)

    def shifting_bounds(self, schedule: KernelSchedule, X: Any, y: Any) -> ShiftingBounds:
        """Return Theorem 14 for a schedule given afterwards, for the rows that were learnt.

        The first bound is for the square loss and K(x, x) <= 1/(4 eta); the additive one for
        every convex loss. The budget's cost is inside both. The rows are learnt once more, to
        refuse rows that were not learnt, or not in this order.
        """
        rows = sound_rows(as_rows(X), 0)
        proof = self.certificate()
        account = proof.account
        if account.broken is not None:
            raise ValueError(f"no statement: {account.broken}")
        again = type(self)(self.kernel, self.radius, self.eta, self.loss, self.budget)
        again.learn(X, y)
        check_same(account, again.certificate().account)
        loss = account.loss_upper
        labels = as_labels(y, len(rows), self.loss)
        sizes = float(self._ledger[Entry.LARGEST_ROW]), float(self._slots[Place.LARGEST])
        low, high = schedule.loss_between(self.kernel, self.loss, rows, labels, sizes)
        size, last, largest = schedule.measured(self.kernel)
        found = proof.lemma
        reason = (
            f"a comparator may have norm {up(largest)}, the ball has {exact(self.radius)}"
            if largest > self.radius * (1.0 + 1e-9)
            else ""
        )
        value = (0.5 * last * last + self.radius * size) / self.eta + proof.budget_cost(largest)
        excess, pair = found.excess * abs(high), (loss, low)
        bounds = [
            stated(
                "C-GD in a Hilbert space",
                "Theorem 14",
                value + excess,
                found.factor,
                pair,
                found.reason or reason,
            ),
            stated(
                "additive", "eq. 21-27, linear losses", value + proof.stability, 1.0, pair, reason
            ),
        ]
        return ShiftingBounds(
            self.rounds, len(schedule) - 1, size, 2.0, loss, high, loss - low, bounds
        )

    def __str__(self) -> str:
        return f"KernelDescent in the space of {self.kernel}\n{self.certificate()}"
