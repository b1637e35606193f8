"""Estimators for scikit-learn: thin faces of the batch dual solver.

Both minimise ||w||^2/2 + C sum_i loss(y_i, <w,x_i> + b), stop when the duality gap is at most
`tol` times the objective, and keep the gap, so that a fit says how far from optimal it can be.
"""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, no-any-return, no-untyped-call"
from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from noregret import losses
from noregret.batch import Solution, hindsight
from noregret.losses import Loss

Vector = npt.NDArray[np.float64]

CLASSIFICATION: dict[str, Loss] = {
    "hinge": losses.Hinge(),
    "squared_hinge": losses.SquaredHinge(),
    "logistic": losses.Logistic(),
}
REGRESSION: dict[str, Loss] = {
    "squared": losses.Squared(),
    "absolute": losses.Absolute(),
    "epsilon_insensitive": losses.EpsilonInsensitive(0.1),
    "huber": losses.Huber(1.0),
}


class _DualEstimator(BaseEstimator):
    """What the two estimators share: parameters, the call of the solver, the linear map."""

    _named: dict[str, Loss]

    def __init__(
        self,
        loss: str | Loss,
        C: float,
        fit_intercept: bool,
        penalize_intercept: bool,
        tol: float,
        max_iter: int,
        random_state: Any,
    ) -> None:
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _loss(self) -> Loss:
        if isinstance(self.loss, Loss):
            return self.loss
        if self.loss not in self._named:
            raise ValueError(
                f"loss must be one of {', '.join(sorted(self._named))} or a noregret loss, "
                f"got {self.loss!r}"
            )
        return self._named[self.loss]

    def _rows(self, X: Any, reset: bool) -> Any:
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    def _solve(
        self, X: Any, y: Vector, weight: Vector, seed: int
    ) -> tuple[Vector, float, Solution]:
        """Return the coefficients, the intercept and the solution they come from."""
        if not self.C > 0.0:
            raise ValueError(f"C must be above 0, got {self.C}")
        penalized = self.fit_intercept and self.penalize_intercept
        solution = hindsight(
            _with_constant(X) if penalized else X,
            y,
            self._loss(),
            l2=1.0 / self.C,
            weight=weight,
            tol=self.tol,
            max_passes=self.max_iter,
            seed=seed,
            bias=self.fit_intercept and not self.penalize_intercept,
        )
        if penalized:
            return solution.weights[:-1], float(solution.weights[-1]), solution
        return solution.weights, solution.bias, solution

    def _keep(self, solutions: list[tuple[Vector, float, Solution]]) -> None:
        """Set what a fit leaves behind: coefficients, and how far from optimal they can be."""
        self.n_iter_ = max(solution.passes for _, _, solution in solutions)
        # Of ||w||^2/2 + C sum of losses, where the solver divides by C.
        self.objective_ = float(self.C * sum(solution.primal for _, _, solution in solutions))
        self.dual_gap_ = float(self.C * sum(solution.gap for _, _, solution in solutions))

    def _margins(self, X: Any) -> Vector:
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class DualClassifier(ClassifierMixin, _DualEstimator):
    """Linear classifier by dual coordinate ascent, with the duality gap of its fit.

    More than two classes are learnt one against the rest. Loss: "hinge", "squared_hinge" (which
    carries a half), "logistic" or a loss of noregret. `penalize_intercept=False` leaves the
    intercept out of ||w||^2 (augmented Lagrangian, slower).
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, Algorithms 1 and 2.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DualClassifier("logistic").fit(X, y)
    >>> model.coef_.shape, bool(model.dual_gap_ <= 3e-4 * model.objective_)
    ((3, 4), True)
    """

    _named = CLASSIFICATION

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        penalize_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        super().__init__(loss, C, fit_intercept, penalize_intercept, tol, max_iter, random_state)
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and labels y."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        if count < 2:
            raise ValueError("y has 1 class; a classifier needs at least 2 classes")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            weight = (
                weight
                * compute_class_weight(
                    self.class_weight, classes=self.classes_, y=y, sample_weight=sample_weight
                )[codes]
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        positives = [1] if count == 2 else range(count)
        found = [self._solve(X, np.where(codes == k, 1.0, -1.0), weight, seed) for k in positives]
        self.coef_ = np.vstack([coefficients for coefficients, _, _ in found])
        self.intercept_ = np.array([intercept for _, intercept, _ in found])
        self._keep(found)
        return self

    def decision_function(self, X: Any) -> Vector:
        """Return the margins: one a row for two classes, else one a row and class."""
        margins = self._margins(X)
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of the largest margin."""
        margins = self.decision_function(X)
        chosen = (margins > 0.0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
        return self.classes_[chosen]


class DualRegressor(RegressorMixin, _DualEstimator):
    """Linear regression by dual coordinate ascent, with the duality gap of its fit.

    Loss: "squared" ((p - y)^2, without a half), "absolute", "epsilon_insensitive" (0.1),
    "huber" (1) or a loss of noregret.
    Reference: Zhang, On the Dual Formulation of Regularized Linear Systems, Algorithms 1 and 2.

    >>> import numpy as np
    >>> model = DualRegressor(C=1e3, tol=1e-10).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> np.round(model.predict([[3.0]]), 2).tolist()
    [7.0]
    """

    _named = REGRESSION

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
    ) -> None:
        super().__init__(loss, C, fit_intercept, penalize_intercept, tol, max_iter, random_state)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and targets y."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True
        )
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = self._solve(X, np.asarray(y, np.float64), weight, seed)
        self.coef_, self.intercept_ = found[0], found[1]
        self._keep([found])
        return self

    def predict(self, X: Any) -> Vector:
        """Return <w, x> + b for each row."""
        return self._margins(X)


def _with_constant(X: Any) -> Any:
    """Return the rows with a feature that is always 1 at the end."""
    ones = np.ones((X.shape[0], 1), X.dtype)
    if sparse.issparse(X):
        return sparse.hstack([X, ones], format="csr")
    return np.hstack([X, ones])
