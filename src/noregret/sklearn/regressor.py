"""`OnlineRegressor`: the core's mirror descent for real targets."""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, no-untyped-call"
from __future__ import annotations

from typing import Any, Self

import numpy as np

from noregret.losses import Loss
from noregret.mirrors import Mirror
from noregret.rates import Rate
from noregret.sklearn.columns import new_learner
from noregret.sklearn.online import OnlineEstimator
from noregret.sklearn.rows import Feeder
from noregret.sklearn.targets import StreamRegressor
from noregret.turns import one_at_a_time


class OnlineRegressor(StreamRegressor, OnlineEstimator):
    """Linear regression learnt one row after the other, with a certificate of its own loss.

    Parameters: `loss` is a word of `nr.words("loss")` for real targets, as "squared" ((p - y)^2,
    without a half), "absolute", "quantile:0.9" or "huber:1", or a loss of noregret; the others
    are those of `OnlineClassifier`.
    Attributes: `coef_`, `intercept_`, `n_features_in_`, `certificate_`. With the rate
    "scale_free" predictions are made around the mean of the targets, which is part of
    `intercept_`, and stay within the range of the targets seen.

    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> model = OnlineRegressor(random_state=0).fit(X, 3.0 * X[:, 0] + 2.0)
    >>> bool(abs(model.predict([[10.0]])[0] - 32.0) < 1.0), model.certificate_.rounds
    (True, 200)
    """

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        rate: str | Rate = "scale_free",
        mirror: str | Mirror = "euclidean",
        fit_intercept: bool = True,
        passes: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__(loss, rate, mirror, fit_intercept, passes, shuffle, random_state)

    def _open(self) -> None:
        self._learner = new_learner(
            self._chosen_loss(),
            self._chosen_mirror(),
            self._chosen_rate(),
            self._dimension(),
        )
        self._feeder = Feeder(bool(self.fit_intercept))

    @one_at_a_time
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn the rows, `passes` times."""
        rows, kept, targets, weight = self._all_rows(X, y, sample_weight)
        orders = self._orders(np.arange(len(kept)))
        self._open()
        for places in orders:
            self._play(rows, targets[places], weight[places], kept[places])
        return self

    @property
    def intercept_(self) -> float:
        """What predictions have beside <coef_, x>: also the mean of the targets, if they do."""
        return super().intercept_ + getattr(self._learner, "offset", 0.0)
