"""`OnlineClassifier`: the core's mirror descent for classes, as many as the stream brings."""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, no-untyped-call"
from __future__ import annotations

from typing import Any, Self

import numpy as np

from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.rates import Rate
from noregret.sklearn.online import OnlineEstimator
from noregret.sklearn.rows import Feeder
from noregret.sklearn.scorer import open_scorer
from noregret.sklearn.stream import StreamClassifier
from noregret.turns import one_at_a_time


class OnlineClassifier(StreamClassifier, OnlineEstimator):
    """Linear classifier learnt one row after the other, with a certificate of its own loss.

    `partial_fit` takes rows as they come: row by row or all at once gives the same model to the
    bit, classes may appear at any row, `fit` plays the rows `passes` times in random orders.

    Parameters: `loss`, `rate` and `mirror` are words of `nr.words`, or objects of noregret.
    `loss` is one of two classes, as "logistic", "hinge:0.5" or "squared_hinge" (which carries a
    half). `multiclass` is "one_against_rest" ("ovr": the sum of the losses of every class against
    the rest), "softmax" ("multinomial", logistic loss only) or "multiclass_hinge"
    ("crammer_singer", hinge loss only; the rival with the best score counts). `rate` may also be
    "grid" (an aggregate of rates), which like "coin_betting" goes with "one_against_rest" only.
    `class_weight` is None, a dict or "balanced":
    n / (K n_k), counted over all rows in `fit` and over the rows so far in `partial_fit`.
    `shuffle` and `random_state` order the rows of `fit`.
    Attributes: `classes_` (sorted by `fit` or where they are declared, else as they came),
    `coef_`, `intercept_` (one row, or a row a class), `n_features_in_`, `certificate_`.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OnlineClassifier(random_state=0).fit(X, y)
    >>> model.coef_.shape, bool(model.score(X, y) > 0.9)
    ((3, 4), True)
    """

    def __init__(
        self,
        loss: str | Loss = "logistic",
        *,
        multiclass: str = "one_against_rest",
        rate: str | Rate = "scale_free",
        mirror: str | Mirror = "euclidean",
        class_weight: Any = None,
        fit_intercept: bool = True,
        passes: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__(loss, rate, mirror, fit_intercept, passes, shuffle, random_state)
        self.multiclass = multiclass
        self.class_weight = class_weight

    def _open(self, classes: int) -> None:
        self._learner = open_scorer(
            self._chosen_loss(),
            self.multiclass,
            self._chosen_mirror(),
            self._chosen_rate(),
            self._dimension(),
            max(2, classes),
        )
        self._feeder = Feeder(bool(self.fit_intercept))

    @one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn the rows, `passes` times."""
        rows, kept, codes, weight = self._all_rows(X, y, sample_weight)
        orders = self._orders(np.arange(len(kept)))
        self._open(len(self.classes_))
        for places in orders:
            self._play(rows, codes[places], weight[places], kept[places])
        return self
