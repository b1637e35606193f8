"""Estimators for scikit-learn: thin faces of the core's learners and of the batch solver.

`OnlineClassifier` and `OnlineRegressor` learn a stream one row after the other (`partial_fit`),
`DualClassifier` and `DualRegressor` find the best predictor of all rows (`fit`). All of them
keep in `certificate_` what their fit proves.
"""

from noregret.extras import require_extra

require_extra("noregret.sklearn", "sklearn", "sklearn")

from noregret.sklearn.dual import DualClassifier, DualRegressor  # noqa: E402
from noregret.sklearn.online import OnlineClassifier, OnlineRegressor  # noqa: E402

__all__ = ["DualClassifier", "DualRegressor", "OnlineClassifier", "OnlineRegressor"]
