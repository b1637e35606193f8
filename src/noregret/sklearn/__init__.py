"""Estimators for scikit-learn: thin faces of the core's learners and of the batch solver.

`OnlineClassifier` and `OnlineRegressor` learn a stream one row after the other (`partial_fit`),
`DualClassifier` and `DualRegressor` find the best predictor of all rows (`fit`). All of them
keep in `certificate_` what their fit proves.
"""

from noregret.sklearn.classifier import OnlineClassifier
from noregret.sklearn.dual import DualClassifier, DualRegressor
from noregret.sklearn.regressor import OnlineRegressor

__all__ = ["DualClassifier", "DualRegressor", "OnlineClassifier", "OnlineRegressor"]
