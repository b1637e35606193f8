"""`hindsight`: the best fixed predictor of given rows, and a proof of how good it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from numba.core.errors import NumbaError

from noregret.arguments import ArgumentError, refuse
from noregret.arrays import as_count, as_positive
from noregret.batch.euclidean import EuclideanSolver
from noregret.batch.form import form
from noregret.batch.primal_solver import PrimalSolver
from noregret.batch.primal_start import allowed
from noregret.batch.problem import Problem, Solution
from noregret.batch.radius import RadiusSolver
from noregret.batch.side_by_side import LEAST_EPOCH
from noregret.batch.solver import Progress, Solver, require_options, trusted
from noregret.losses import Loss, OneAgainstRest, ScoreLoss
from noregret.mirrors import Mirror
from noregret.proof.convexity import uncompiled
from noregret.rows.examples import Rows, as_rows
from noregret.shards import Shards

#: Passes after which a run stops without convergence.
MAX_PASSES = 10_000
#: The options that bound the predictor: radius, l2, mirror, strength.
Given = tuple[float | None, float | None, Mirror | None, float | None]


def hindsight(
    X: Any,
    y: Any,
    loss: Loss | ScoreLoss,
    radius: float | None = None,
    l2: float | None = None,
    mirror: Mirror | None = None,
    strength: float | None = None,
    weight: Any = None,
    offset: Any = None,
    tol: float = 1e-6,
    max_passes: int = MAX_PASSES,
    warm_start: Any = None,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    bias: bool = False,
    fraction: float = 1.0,
    workers: int = 1,
    shards: int | None = None,
) -> Solution:
    """Return the best fixed linear predictor of all rows, with a certified duality gap.

    Minimises sum_i c_i f(y_i, <w, x_i> + o_i), c the example weights and o the offsets,
    - over the ball ||w||_2 <= radius,
    - or plus (l2/2) ||w||^2 (LIBLINEAR's C is 1/l2), inside the ball if both are given,
    - or plus strength * F(w), F the regulariser of a mirror map.
    For a loss of several scores y holds class indices and the weights are a matrix with a column
    a class; give l2, the factor of half the squared Frobenius norm (`OneAgainstRest` also takes
    radius, of every column, or strength). `bias` adds an unregularised constant to every
    prediction. It stops when gap <= tol max(1, |primal|), and `dual <= minimum <= primal` holds
    whenever it stops. Ctrl-C returns the state so far; `warm_start` resumes from a solution or
    its `alpha`.

    `fraction`, in (0, 1], is the part of its exact step that a row takes at each visit
    [default: 1]: s_i <- s_i + fraction (s_i' - s_i), s_i' the maximiser of the dual D over s_i
    alone. D is concave along the step, so that it gains at least `fraction` times what the exact
    step would gain, and it still converges; oscillation of rows with a small norm is damped.
    Below 1 it is plain coordinate ascent, for l2= or strength= without bias, and radius with l2=.

    `workers` is the most threads that work at a time, at least 1 [default: 1]. `shards`, at least
    1, is how many parts the rows are dealt to in each pass, for l2= and radius= without bias
    [default: `workers` from 8,388,608 stored features on, else 1]. Given `shards` and `seed`, the
    solution is the same to the bit for any number of workers.

    >>> import noregret as nr
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1]
    >>> best = hindsight(X, y, nr.losses.Hinge(), l2=1.0)
    >>> round(float(best.weights[0]), 3), round(best.primal, 3), best.gap < 1e-5
    (1.0, 1.5, True)
    >>> hindsight(X, y, nr.losses.Hinge(), radius=1.0).primal <= best.primal
    True

    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, Algorithms 1 and 2;
    for `fraction` its remark on step control.
    """
    require_options(tol, max_passes)
    workers = as_count("workers", workers)
    shards = None if shards is None else as_count("shards", shards)
    several = isinstance(loss, ScoreLoss)
    sharing = not bias and strength is None and fraction == 1.0
    sharing = sharing and (not several or type(loss) is OneAgainstRest)
    refuse(
        {
            f"fraction must be above 0 and at most 1, got {fraction}":
                not 0.0 < float(fraction) <= 1.0,
            "fraction is for l2= or strength= with one score, and not for bias or radius alone":
                fraction != 1.0 and bool(bias or several or (radius and l2 is None)),
            f"{type(loss).__name__} takes neither bias nor offset: add a column of 1":
                several and (bias or offset is not None),
        }
    )  # fmt: skip
    if shards not in (None, 1) and not sharing:
        reason = "only l2 and radius are solved on shards, without bias, mirror and fraction"
        raise ArgumentError("shards", reason, shards)
    bounds = radius, l2, mirror, strength
    given = warm_start if isinstance(warm_start, Solution) else None
    slopes = given.alpha if given else warm_start
    options = float(tol), max_passes, slopes, seed, progress
    if isinstance(loss, ScoreLoss):
        return trusted(_several(X, y, loss, bounds, weight, options, (workers, shards)), loss)
    problem = _problem(X, y, loss, bounds, weight, offset, bias)
    if sharing:
        problem = replace(problem, shards=_shards(problem.rows, workers, shards))
    solver = _solver(problem, bias, float(fraction))
    if problem.radius is not None and given and given.weights.shape == (problem.rows.width,):
        solver = partial(solver, start=problem.inside(given.weights))
    try:
        return trusted(solver(problem, *options).run(), loss)
    except NumbaError as error:
        raise uncompiled(error, loss, problem.mirror) from None


def _several(
    X: Any,
    y: Any,
    loss: ScoreLoss,
    bounds: Given,
    weight: Any,
    options: tuple[float, int, Any, int, bool | Callable[[Progress], None]],
    threads: tuple[int, int | None],
) -> Solution:
    """Return the best matrix of weights for a loss of several scores."""
    from noregret.batch.best_matrix import MatrixProblem, MatrixSolver, solve_against_rest

    if type(loss) is OneAgainstRest:
        tol, max_passes, slopes, seed, progress = options

        def solve_one(labels: Any, start: Any, share: float) -> Solution:
            return hindsight(
                X, labels, loss.loss, *bounds, weight=weight, tol=share, max_passes=max_passes,
                warm_start=start, seed=seed, progress=progress, workers=threads[0],
                shards=threads[1],
            )  # fmt: skip

        return solve_against_rest(solve_one, y, len(as_rows(X)), tol, slopes)
    radius, l2, mirror, strength = bounds
    if l2 is None or not (radius is None and mirror is None and strength is None):
        raise ValueError(f"{type(loss).__name__} has a best in hindsight with l2= alone")
    return MatrixSolver(MatrixProblem.of(X, y, loss, l2, weight), *options).run()


def regularization_path(
    X: Any,
    y: Any,
    loss: Loss,
    strengths: Iterable[float],
    mirror: Mirror | None = None,
    weight: Any = None,
    offset: Any = None,
    tol: float = 1e-6,
    max_passes: int = MAX_PASSES,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
    bias: bool = False,
) -> Iterator[Solution]:
    """Yield the solution for every strength in turn, each started from the one before.

    The strength multiplies the regulariser of the map, half the squared 2-norm by default.
    From the strongest to the weakest is usually the cheapest order.

    >>> import noregret as nr
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1]
    >>> path = regularization_path(X, y, nr.losses.Logistic(), [10.0, 1.0, 0.1], tol=1e-8)
    >>> [round(float(best.weights[0]), 3) for best in path]
    [0.095, 0.692, 2.514]
    """
    require_options(tol, max_passes)
    problem: Problem | None = None
    slopes = None
    for strength in strengths:
        if problem is None:
            bounds = None, None, mirror, strength
            problem = _problem(X, y, loss, bounds, weight, offset, bias)
        else:
            problem = replace(problem, strength=as_positive("strength", strength))
        solver = _solver(problem, bias)
        solution = solver(problem, float(tol), max_passes, slopes, seed, progress).run()
        slopes = solution.alpha
        yield trusted(solution, loss)


def _problem(
    X: Any,
    y: Any,
    loss: Loss,
    given: Given,
    weight: Any,
    offset: Any,
    bias: bool,
) -> Problem:
    """Return the problem; refuse options that do not go together."""
    radius, l2, mirror, strength = given
    found = form(l2, radius, mirror, strength, bias)
    return Problem.of(X, y, loss, found.mirror, found.strength, weight, offset, found.radius)


def _shards(rows: Rows, workers: int, count: int | None) -> Shards:
    """Return the shards: as many as asked for, else one a worker if they pay."""
    if count is None:
        count = workers if rows.stored >= LEAST_EPOCH else 1
    return Shards(min(count, len(rows)), workers)


def _solver(problem: Problem, bias: bool, fraction: float = 1.0) -> Callable[..., Solver]:
    """Return the kind of solver for a problem."""
    visits = _dual_solver(problem, bias, fraction)
    if fraction == 1.0 and allowed(problem):
        return partial(PrimalSolver, rest=visits, free=bias)
    return visits


def _dual_solver(problem: Problem, bias: bool, fraction: float) -> Callable[..., Solver]:
    """Return the kind of solver that visits rows one by one."""
    if bias:
        from noregret.batch.bias import BiasSolver

        return BiasSolver
    if problem.radius is not None:
        return RadiusSolver
    if fraction == 1.0 and problem.mirror.half_square():
        return EuclideanSolver
    from noregret.batch.mapped import MappedSolver

    return partial(MappedSolver, fraction=fraction)
