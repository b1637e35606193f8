"""The best moving predictor in hindsight: at most K shifts, or a price for each.

    minimise  sum_t (<u_t, x_t> - y_t)^2  [+ penalty * shifts]   over schedules u_1, ..., u_T

by dynamic programming over change points, optionally with ||u_t|| <= radius. Rounds are put into
cells whose second moments are summed from one cell to the next (sums only: differences of prefix
sums would lose digits), and every segment's cost is the tangent bound (1) of `static` at the
segment's own minimiser, which is that minimum but for rounding and never above it.

Where every round is a cell, nothing is left out. On a coarser grid the schedule found changes
at the edges of cells, while any other may change within one. Its cost is bounded from below by
leaving out the cell in which each change happens, at cost 0, and counting whole cells only: the
same dynamic programme over these is a certified lower bound. Rounding is taken off once: the
slack of (1) adds up over disjoint segments to no more than that of all rounds. Rows and targets
are first divided by powers of two, so that the largest entry of either is between 1 and 2 and no
square underflows that matters; the answer is multiplied back.

Reference: Bellman and Roth, Curve Fitting by Segmented Straight Lines, for the recursion; the
bound is ours.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import Vector, as_count, as_positive, as_real
from noregret.losses import Loss, Squared
from noregret.norms import norm_upper
from noregret.passes.checks import sound_rows
from noregret.proof.statement import Proof, row
from noregret.rounding import EPSILON, UNDERFLOW, down, exact, rounding_error, up
from noregret.rows.examples import Rows, as_labels, as_rows
from noregret.tracking.schedules import Schedule
from noregret.tracking.segments import LONGEST, cheapest, segment_costs
from noregret.tracking.static import Moments

#: Largest number of rounds that are one cell each, if WORK allows it.
EXACT = 2000
#: Additions and multiplications that all segments together may take, by default.
WORK = 4e10
#: Balls below this, in units of targets by those of rows, are enlarged to it.
SMALLEST_BALL = 1e-250


@dataclass(frozen=True, eq=False)
class HindsightPath(Proof):
    """The best schedule found, and a lower bound for all schedules of its kind.

    `loss` is the square loss of `schedule`, rounded up. No schedule with as few shifts and
    norms up to `reach` has a smaller `objective` than `lower_bound`.
    """

    schedule: Schedule
    loss: float
    lower_bound: float
    rounds: int
    #: The number of cells that the rounds were put into; with one a round, all change points were
    #: tried.
    cells: int
    #: The most shifts allowed, or the price of each.
    shifts: int | None
    penalty: float
    radius: float | None
    reach: float

    @property
    def objective(self) -> float:
        """The loss and the price of the shifts, rounded up."""
        price = self.penalty * self.schedule.shifts
        return math.nextafter(self.loss + math.nextafter(price, math.inf), math.inf)

    @property
    def gap(self) -> float:
        """Upper bound on the advantage of any other schedule of its kind."""
        return math.nextafter(self.objective - self.lower_bound, math.inf)

    @property
    def exact(self) -> bool:
        """Whether every change point was tried."""
        return self.cells == self.rounds

    def _lines(self) -> list[str]:
        kind = (
            f"{exact(self.penalty)} for each shift" if self.shifts is None
            else f"at most {self.shifts:,} shifts"
        )  # fmt: skip
        where = "any round" if self.exact else f"the edges of {self.cells:,} cells"
        numbers = {
            "loss": up(self.loss, 10),
            "loss and price": up(self.objective, 10) if self.penalty else "",
            f"no schedule has less (norms <= {down(self.reach)})": down(self.lower_bound, 10),
        }
        return [
            f"Best moving predictor in hindsight, {kind}, changing at {where}",
            *(row(name, value, widths=(42, 18)) for name, value in numbers.items() if value),
            *(
                f"  rounds {first + 1:,} to {stop:,}: norm {np.linalg.norm(u):.6g}"
                for first, stop, u in self.schedule.segments(self.rounds)
            ),
        ]


def hindsight_path(
    X: Any,
    y: Any,
    loss: Loss | None = None,
    shifts: int | None = None,
    penalty: float | None = None,
    radius: float | None = None,
    grid: int | None = None,
) -> HindsightPath:
    """Return the best schedule of fixed predictors with few shifts, for the square loss.

    Args:
        X: rows; dense or sparse, with at most a few hundred columns.
        y: targets.
        loss: `Squared()`, which is the only one whose segments are solved at once.
        shifts: the most changes of the predictor; or
        penalty: the price of each change, in units of the loss.
        radius: keep every predictor in the ball of this radius.
        grid: how many cells change points are looked for between; one a round for up to about
            2,000 rounds of few features, by default.

    >>> import numpy as np
    >>> X, y = np.ones((60, 1)), np.repeat([1.0, -1.0, 2.0], 20)
    >>> path = hindsight_path(X, y, shifts=2)
    >>> path.schedule.starts, path.schedule.comparators.ravel().round(9).tolist()
    ((0, 20, 40), [1.0, -1.0, 2.0])
    >>> hindsight_path(X, y, penalty=1000.0).schedule.shifts
    0
    """
    # A subclass may have other values.
    if loss is not None and type(loss) is not Squared:
        raise ValueError(f"hindsight_path knows the square loss only, got {loss!r}")
    rows = sound_rows(as_rows(X), 0)
    targets = as_labels(y, len(rows), Squared())
    if not len(rows) or not rows.width:
        raise ValueError(f"X has {len(rows)} rows and {rows.width} columns, expected some of both")
    price = _require(shifts, penalty)
    edges = _edges(len(rows), rows.width, grid)
    unit = _exponent(rows.values), _exponent(targets)
    cells = _moments(rows, targets, edges, unit)
    price_in_units = _scaled(price, -2 * unit[1])
    # Each shift takes a cell at least, or leaves one out.
    at_most = None if shifts is None else min(int(shifts), len(edges) - 1)
    reach = math.inf if radius is None else as_positive("radius", radius)
    ball = _ball(reach, unit)
    costs = segment_costs(cells, ball)
    starts, _ = cheapest(costs, at_most, price_in_units, 0)
    schedule = _schedule(rows, targets, edges[np.asarray(starts)], reach)
    if radius is None:
        # Without a radius the bound is for predictors no longer than those found.
        reach = max(norm_upper(u, 2.0) for u in schedule.comparators) or 1.0
        ball = _ball(reach, unit)
        costs = segment_costs(cells, ball)
    # With cells of one round each no change can happen inside a cell.
    skipped = int(len(rows) > len(edges) - 1)
    if skipped:
        # Append an empty cell, so that a schedule may also change within the last one.
        costs = np.pad(np.hstack([costs, costs[:, -1:]]), ((0, 1), (0, 0)))
    _, value = cheapest(costs, at_most, price_in_units, skipped)
    lower = _scaled(value - _slack(cells, edges, ball), 2 * unit[1])
    return HindsightPath(
        schedule=schedule,
        loss=schedule.loss_between(rows.plain(), targets)[1],
        lower_bound=max(math.nextafter(lower, -math.inf), 0.0) if math.isfinite(lower) else 0.0,
        rounds=len(rows),
        cells=len(edges) - 1,
        shifts=shifts,
        penalty=price,
        radius=radius,
        reach=reach,
    )


def _require(shifts: int | None, penalty: float | None) -> float:
    """Return the price of a shift, 0 where their number is limited instead."""
    if (shifts is None) == (penalty is None):
        raise ValueError("give shifts= or penalty=, one of them: else a predictor a round is best")
    if shifts is not None:
        as_count("shifts", shifts, least=0)
    price = 0.0 if penalty is None else as_real("penalty", penalty)
    if not 0.0 <= price < math.inf:
        raise ValueError(f"penalty must be a finite number >= 0, got {penalty!r}")
    return price


def _edges(rounds: int, width: int, grid: int | None) -> npt.NDArray[np.int64]:
    """Return where cells begin, and the end."""
    if grid is None:
        affordable = math.sqrt(2.0 * WORK / (width**3 + 4.0 * width**2 + 50.0))
        count = min(rounds, EXACT, max(2, int(affordable)))
    else:
        count = min(as_count("grid", grid), rounds)
    return np.linspace(0, rounds, count + 1).round().astype(np.int64)


def _exponent(values: npt.NDArray[Any]) -> int:
    """Return the e for which the largest entry is between 2^e and 2^(e+1), 0 for nothing."""
    largest = float(np.abs(values).max(initial=0.0))
    return math.frexp(largest)[1] - 1 if largest > 0.0 else 0


def _scaled(value: float, exponent: int) -> float:
    """Return value * 2^exponent, infinite where that overflows."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(value, exponent))


def _ball(radius: float, unit: tuple[int, int]) -> float:
    """Return the radius in units of targets by those of rows, never below the true one."""
    # A larger ball has the smaller floor, so that an underflow is rounded up.
    return max(_scaled(radius, unit[0] - unit[1]), SMALLEST_BALL)


def _moments(rows: Rows, y: Vector, edges: npt.NDArray[np.int64], unit: tuple[int, int]) -> Vector:
    """Return the second moments of (x, y) of every cell, in these units."""
    d = rows.width
    with np.errstate(under="ignore"):
        rows = replace(rows, values=np.ldexp(rows.values.astype(np.float64), -unit[0]))
        y = np.ldexp(y, -unit[1])
    cells = np.empty((len(edges) - 1, d + 1, d + 1))
    for k, (start, stop) in enumerate(itertools.pairwise(edges)):
        part = rows.part(int(start), int(stop)).plain()
        cells[k] = Moments().add(part, y[start:stop]).matrix
    return cells


def _slack(cells: Vector, edges: npt.NDArray[np.int64], reach: float) -> float:
    """Return how far rounding can have moved the sum of the costs of a schedule, at most."""
    total = cells.sum(axis=0)
    t, s = float(np.trace(total[:-1, :-1])), float(total[-1, -1])
    longest = int(np.diff(edges).max())
    roundings = longest + 2.0 * len(cells) + 2.0 * total.shape[0] + 64.0
    size = LONGEST * reach * math.sqrt(t) + math.sqrt(s)
    longest_u = 1.0 + 2.0 * reach
    underflow = UNDERFLOW * float(edges[-1]) * total.shape[0] * longest_u * longest_u
    return float(rounding_error(4.0 * roundings, size) * size + 4.0 * underflow)


def _schedule(rows: Rows, y: Vector, starts: npt.NDArray[np.int64], radius: float) -> Schedule:
    """Return the best predictor of every segment."""
    parts = []
    for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
        part = rows.part(int(start), int(stop)).plain()
        u = Moments().add(part, y[start:stop]).minimizer(radius)
        while norm_upper(u, 2.0) > radius:
            u *= radius / norm_upper(u, 2.0) * (1.0 - EPSILON)
        parts.append((int(start), u))
    return Schedule(parts)
