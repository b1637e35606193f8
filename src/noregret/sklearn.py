"""Estimators for scikit-learn: thin faces of the batch dual solver.

Both minimise ||w||^2/2 + C sum_i c_i loss(y_i, <w, x_i> + b), c the sample weights, stop when the
duality gap is at most `tol` times the objective (or `tol`, if that is below 1), and keep the gap:
a fit says how far from optimal it can be, and warns if that is more than was asked for.
"""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, no-any-return, no-untyped-call"
from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
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

    def _chosen_loss(self) -> Loss:
        if isinstance(self.loss, Loss):
            return self.loss
        if isinstance(self.loss, str) and self.loss in self._named:
            return self._named[self.loss]
        raise ValueError(
            f"loss must be one of {', '.join(sorted(self._named))} or a noregret loss, "
            f"got {self.loss!r}"
        )

    def _check_parameters(self) -> None:
        """Refuse numbers that mean nothing, by the names they have here."""
        for name, above in (("C", True), ("tol", False)):
            value = getattr(self, name)
            if not (0.0 < value < math.inf or (value == 0.0 and not above)):
                sign = "above" if above else "of at least"
                raise ValueError(f"{name} must be a finite number {sign} 0, got {value!r}")
        if not self.max_iter >= 1:
            raise ValueError(f"max_iter must be at least 1, got {self.max_iter!r}")

    def _check_rows(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Return X, or X and y, as scikit-learn checks them."""
        return validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], **options
        )

    def _check_weights(self, sample_weight: Any, X: Any) -> Vector:
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _solve(self, X: Any, targets: list[Vector], weight: Vector) -> list[Solution]:
        """Return the best predictor of every vector of targets, and keep how good they are."""
        penalized = self.fit_intercept and self.penalize_intercept
        rows = _with_constant(X) if penalized else X
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = [
            hindsight(
                rows,
                y,
                self._chosen_loss(),
                l2=1.0,
                weight=self.C * weight,
                tol=self.tol,
                max_passes=self.max_iter,
                seed=seed,
                bias=self.fit_intercept and not self.penalize_intercept,
            )
            for y in targets
        ]
        self.n_iter_ = max(solution.passes for solution in found)
        self.objective_ = math.fsum(solution.primal for solution in found)
        self.dual_gap_ = math.fsum(solution.gap for solution in found)
        if not all(solution.converged for solution in found):
            warnings.warn(
                f"the duality gap is {self.dual_gap_:.3g} of an objective of "
                f"{self.objective_:.6g} after {self.n_iter_} passes: raise max_iter or tol, or "
                "scale the features",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    def _split(self, solution: Solution) -> tuple[Vector, float]:
        """Return the coefficients and the intercept of a solution."""
        if self.fit_intercept and self.penalize_intercept:
            return solution.weights[:-1], float(solution.weights[-1])
        return solution.weights, solution.bias

    def _margins(self, X: Any) -> Vector:
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class DualClassifier(ClassifierMixin, _DualEstimator):
    """Linear classifier by dual coordinate ascent, with the duality gap of its fit.

    Parameters: `loss` is "hinge", "squared_hinge" (which carries a half), "logistic" or a loss
    of noregret for labels -1 and +1; `C` weighs the losses against ||w||^2/2;
    `penalize_intercept=False` leaves the intercept out of ||w||^2 (slower); `class_weight` as
    everywhere in scikit-learn; `random_state` orders the visits of the rows.
    Attributes: `classes_`, `coef_` (1 or a row a class), `intercept_`, `n_iter_` (passes, of the
    slowest class), `objective_` and `dual_gap_`: no other coefficients are better by more. More
    than two classes are learnt one against the rest, and then these two are sums over the
    classes.
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
        self._check_parameters()
        X, y = self._check_rows(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        if count < 2:
            raise ValueError("y has 1 class; a classifier needs at least 2 classes")
        weight = self._check_weights(sample_weight, X)
        if self.class_weight is not None:
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            weight = weight * factors[codes]
        positives = [1] if count == 2 else range(count)
        found = self._solve(X, [np.where(codes == k, 1.0, -1.0) for k in positives], weight)
        coefficients, intercepts = zip(*map(self._split, found), strict=True)
        self.coef_, self.intercept_ = np.vstack(coefficients), np.array(intercepts)
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

    Parameters: `loss` is "squared" ((p - y)^2, without a half), "absolute",
    "epsilon_insensitive" (0.1), "huber" (1) or a loss of noregret for real targets; the others,
    and the attributes but for `classes_`, are those of `DualClassifier`.
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
        self._check_parameters()
        X, y = self._check_rows(X, y, y_numeric=True)
        weight = self._check_weights(sample_weight, X)
        (found,) = self._solve(X, [np.asarray(y, np.float64)], weight)
        self.coef_, self.intercept_ = self._split(found)
        return self

    def predict(self, X: Any) -> Vector:
        """Return <w, x> + b, one number a row."""
        return self._margins(X)


def _with_constant(X: Any) -> Any:
    """Return the rows with a feature that is always 1 at the end."""
    ones = np.ones((X.shape[0], 1), X.dtype)
    if sparse.issparse(X):
        return sparse.hstack([X, ones], format="csr")
    return np.hstack([X, ones])
