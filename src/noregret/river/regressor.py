"""A regressor for River."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from noregret.arguments import ArgumentError
from noregret.learners import MirrorDescent
from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.proof.certificate import Certificate
from noregret.rates import Rate
from noregret.river.features import FeatureColumns, Measured, growing
from noregret.rows.examples import as_labels, as_weights
from noregret.turns import one_at_a_time
from noregret.vocabulary.words import spec

if TYPE_CHECKING:
    import pandas as pd


class OnlineRegressor(Measured, base.MiniBatchRegressor):
    """Linear regression by mirror descent, with a certificate.

    By default nothing is to be tuned and no scaler needed: features count in units of their own
    sizes, targets in units of theirs.

    Parameters: `loss` is a word or loss of real targets, as "huber:2"; the others are those of
    `OnlineClassifier`.

    >>> from river import datasets, metrics
    >>> model, error = OnlineRegressor(), metrics.MAE()
    >>> for x, y in datasets.TrumpApproval():
    ...     error.update(y, model.predict_one(x))
    ...     model.learn_one(x, y)
    >>> print(error.get() < 1.0, model.certificate().rounds)
    True 1001
    """

    def __init__(
        self,
        loss: str | Loss = "squared",
        rate: str | Rate = "scale-free",
        mirror: str | Mirror = "euclidean",
        fit_intercept: bool = True,
        missing: str = "refuse",
    ) -> None:
        self.loss = spec(loss, "loss")
        self.rate: Rate = spec(rate, "rate")
        self.mirror: Mirror = spec(mirror, "mirror")
        self.fit_intercept = fit_intercept
        self.missing = missing
        if self.loss.labels != "real":
            raise ArgumentError("loss", "is for classes, expected one of real targets", loss)
        self._features = FeatureColumns(fit_intercept, missing)
        self._learner = growing(MirrorDescent(self.loss, self.mirror, self.rate))

    def certificate(self) -> Certificate:
        """Return what the examples so far prove, see `nr.Certificate`."""
        return self._learner.certificate()

    @property
    def weights(self) -> dict[str, float]:
        """The weights by the names of the features."""
        return self._features.named(self._learner.weights)

    @one_at_a_time
    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example of weight w."""
        try:
            target = float(y)
        except (OverflowError, TypeError, ValueError):
            raise ValueError(f"y is {y!r}, expected a number") from None
        self._features.teach(self._learner, x, target, w)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Return the prediction."""
        prediction: float = self._features.ask(self._learner, x)
        return prediction

    @one_at_a_time
    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = 1.0) -> None:
        """Learn the rows of a data frame one after the other; w is a number or one a row."""
        targets = as_labels(y, len(X), self.loss)
        weight = as_weights(w if np.ndim(w) else [w] * len(X), len(X))
        with self._features.forgotten_if_refused(self._learner):
            self._learner.learn(self._features.rows(X, grow=True), targets, weight)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the predictions for the rows of a data frame."""
        import pandas as pd

        predictions = self._learner.predict(self._features.rows(X, grow=False))
        return pd.Series(predictions, index=X.index)
