"""`DualClassifier` and `DualRegressor`: the batch dual solver, and dual ascent on streams.

Both minimise ||w||^2/2 + C sum_i c_i loss(y_i, <w, x_i> + b), c the sample weights, stop when the
duality gap is at most `tol` times the objective (or `tol`, if that is below 1), and keep the gap:
a fit says how far from optimal it can be, and warns if that is more than was asked for.
"""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, untyped-decorator, no-any-return, no-untyped-call"
from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed

from noregret.arguments import ArgumentError
from noregret.batch import Solution, hindsight
from noregret.losses import Logistic, Loss, OneAgainstRest, ScoreLoss
from noregret.rounding import up
from noregret.rows.examples import Rows
from noregret.sklearn.chosen import score_loss
from noregret.sklearn.columns import Ascent, Columns, Optimum
from noregret.sklearn.estimator import RowEstimator, StreamRegressor, Vector, require_count
from noregret.sklearn.rows import Feeder, Order
from noregret.sklearn.stream import StreamClassifier
from noregret.turns import one_at_a_time


class DualEstimator(RowEstimator):
    """What the two estimators share: parameters, the call of the solver, the linear map."""

    def _check_parameters(self) -> None:
        """Refuse numbers that mean nothing, by the names they have here."""
        for name, above in (("C", True), ("tol", False)):
            value = getattr(self, name)
            known = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if not known or not (0.0 < value < math.inf or (value == 0.0 and not above)):
                sign = "above" if above else "of at least"
                raise ArgumentError(name, f"expected a finite number {sign} 0", value)
        require_count("max_iter", self.max_iter)

    def _solve(
        self,
        rows: Rows,
        kept: Order,
        loss: Loss | ScoreLoss,
        targets: Sequence[npt.NDArray[Any]],
        weight: Vector,
    ) -> None:
        """Find the best predictor of every vector of targets, and keep how good they are."""
        free = self.fit_intercept and not self.penalize_intercept
        chosen = Feeder(bool(self.fit_intercept and self.penalize_intercept)).whole(rows, kept)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        # Several classes are solved side by side, each by one thread.
        threads = 1 if len(targets) > 1 else effective_n_jobs(self.n_jobs)
        solve = delayed(hindsight)
        found = Parallel(self.n_jobs if len(targets) > 1 else 1, prefer="threads")(
            solve(
                chosen,
                y,
                loss,
                l2=1.0,
                weight=self.C * weight,
                tol=self.tol,
                max_passes=self.max_iter,
                seed=seed,
                bias=free,
                workers=threads,
            )
            for y in targets
        )
        self._learner = Optimum(found, free)
        if not all(solution.converged for solution in found):
            warnings.warn(
                f"the duality gap is {up(self.dual_gap_, 3)} of an objective of "
                f"{self.objective_:.6g} after {self.n_iter_} passes: raise max_iter or tol, or "
                "scale the features",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _solutions(self) -> tuple[Solution, ...]:
        learner = getattr(self, "_learner", None)
        if not isinstance(learner, Optimum):
            raise AttributeError(f"{type(self).__name__} has no optimum: it belongs to fit")
        return learner.solutions

    @property
    def n_iter_(self) -> int:
        """How many passes the slowest solution took."""
        return max(solution.passes for solution in self._solutions())

    @property
    def objective_(self) -> float:
        """The objective, a sum over the classes if there are more than two."""
        return math.fsum(solution.primal for solution in self._solutions())

    @property
    def dual_gap_(self) -> float:
        """How much better other coefficients can be at most."""
        return math.fsum(solution.gap for solution in self._solutions())

    def _require_ascent(self) -> None:
        """Refuse what online dual ascent cannot do."""
        self._check_parameters()
        if self.fit_intercept and not self.penalize_intercept:
            raise ValueError("partial_fit needs penalize_intercept=True, or fit_intercept=False")


class DualClassifier(StreamClassifier, DualEstimator):
    """Linear classifier by dual coordinate ascent, with the duality gap of its fit.

    `fit` finds the optimum of all rows. `partial_fit` takes one exact step of online dual ascent
    a row (Passive-Aggressive), from 0 or from the optimum of `fit`, to the bit the same row by
    row or all at once; classes may appear at any row.

    Parameters: `loss` and `multiclass` are those of `OnlineClassifier`; `C` weighs the
    losses against ||w||^2/2; `penalize_intercept=False` leaves the intercept out of ||w||^2
    (slower); `class_weight` as everywhere in scikit-learn, in `partial_fit` over the rows so far;
    `random_state` orders the visits of the rows; `n_jobs` is how many threads `fit` uses, -1 all
    cores: over the classes, or over as many shards of many rows of two classes.
    Attributes: `classes_`, `coef_` (1 or a row a class), `intercept_`, `certificate_`: after `fit`
    the solution of each score, with `dual <= minimum <= primal`, after `partial_fit` what the
    rounds of each score prove, about balls around the optimum of `fit` if they began there. Of
    the optimum also `n_iter_` (passes, of the slowest class), `objective_` and `dual_gap_`, sums
    over the classes one against the rest: no other coefficients are better by more.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, Algorithms 1 and 2.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DualClassifier("logistic").fit(X, y)
    >>> model.coef_.shape, bool(model.dual_gap_ <= 3e-4 * model.objective_)
    ((3, 4), True)
    """

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        multiclass: str = "one_against_rest",
        C: float = 1.0,
        fit_intercept: bool = True,
        penalize_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            multiclass=multiclass,
            C=C,
            fit_intercept=fit_intercept,
            penalize_intercept=penalize_intercept,
            class_weight=class_weight,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    @one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the best predictor of the rows."""
        self._check_parameters()
        rows, kept, codes, weight = self._all_rows(X, y, sample_weight)
        count = len(self.classes_)
        if count < 2:
            raise ValueError("y has 1 class; a classifier needs at least 2 classes")
        joint = score_loss(self._chosen_loss(), self.multiclass)
        if isinstance(joint, OneAgainstRest):
            positives = [1] if count == 2 else range(count)
            targets = [np.where(codes == k, 1.0, -1.0) for k in positives]
            self._solve(rows, kept, joint.loss, targets, weight)
        else:
            self._solve(rows, kept, joint, [codes], weight)
        return self

    @one_at_a_time
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Raise the dual by an exact step a row, one after the other: Passive-Aggressive.

        `classes` may declare classes before any row of theirs; without it the rows do.
        """
        self._require_ascent()
        if not isinstance(score_loss(self._chosen_loss(), self.multiclass), OneAgainstRest):
            raise ArgumentError(
                "multiclass", "partial_fit needs 'one_against_rest'", self.multiclass
            )
        with self._as_it_was_if_refused():
            if isinstance(getattr(self, "_learner", None), Optimum):
                self._begin(self._learner.weights())
            return self._learn(X, y, classes, sample_weight)

    def _open(self) -> None:
        classes = len(self.classes_)
        self._begin(np.zeros((classes if classes > 2 else 1, self._dimension())))

    def _begin(self, anchors: Vector) -> None:
        """Begin to ascend from these weights, a row a score."""
        loss = self._chosen_loss()
        blank = Ascent(loss, self.C, np.zeros(anchors.shape[1]))
        self._learner = Columns([Ascent(loss, self.C, anchor) for anchor in anchors], blank, loss)

    def _has_probabilities(self) -> bool:
        streamed = isinstance(getattr(self, "_learner", None), Columns)
        return streamed or isinstance(self._chosen_loss(), Logistic)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Vector:
        """Return a probability a row and class: of the logistic loss, or after `partial_fit`."""
        return super().predict_proba(X)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Vector:
        """Return the logarithms of the probabilities."""
        return super().predict_log_proba(X)


class DualRegressor(StreamRegressor, DualEstimator):
    """Linear regression by dual coordinate ascent, with the duality gap of its fit.

    Parameters: `loss` is that of `OnlineRegressor`; the others, and the attributes but for
    `classes_`, are those of `DualClassifier`.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, Algorithms 1 and 2.

    >>> import numpy as np
    >>> model = DualRegressor(C=1e3, tol=1e-6).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> np.round(model.predict([[3.0]]), 2).tolist()
    [7.0]
    """

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        penalize_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            C=C,
            fit_intercept=fit_intercept,
            penalize_intercept=penalize_intercept,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    @one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the best predictor of the rows."""
        self._check_parameters()
        rows, kept, targets, weight = self._all_rows(X, y, sample_weight)
        self._solve(rows, kept, self._chosen_loss(), [targets], weight)
        return self

    @one_at_a_time
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Raise the dual by an exact step a row, one after the other: Passive-Aggressive."""
        self._require_ascent()
        with self._as_it_was_if_refused():
            if isinstance(getattr(self, "_learner", None), Optimum):
                self._learner = Ascent(self._chosen_loss(), self.C, self._learner.weights()[0])
            return self._learn(X, y, sample_weight)

    def _open(self) -> None:
        self._learner = Ascent(self._chosen_loss(), self.C, np.zeros(self._dimension()))

    def _weights(self) -> Vector:
        return np.ravel(self._learner.weights())
