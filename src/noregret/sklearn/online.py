"""What the two online estimators share: their parameters, and the orders of `fit`."""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, no-untyped-call"
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sklearn.utils import check_random_state

from noregret.mirrors import Mirror
from noregret.proof.certificate import Certificate
from noregret.rates import Rate
from noregret.sklearn.estimator import RowEstimator, require_count
from noregret.sklearn.rows import Order
from noregret.sklearn.several import ByClass
from noregret.vocabulary.learners import GRID
from noregret.vocabulary.words import spec


class OnlineEstimator(RowEstimator):
    """Mirror descent behind scikit-learn's names."""

    def __init__(
        self,
        loss: Any,
        rate: Any,
        mirror: Any,
        fit_intercept: bool,
        passes: int,
        shuffle: bool,
        random_state: Any,
    ) -> None:
        self.loss = loss
        self.rate = rate
        self.mirror = mirror
        self.fit_intercept = fit_intercept
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    #: How often `fit` learnt each row, and how many rounds that made.
    _fitted: tuple[int, int] = (1, 0)

    @property
    def certificate_(self) -> Any:
        """What the rounds played so far prove; every pass over a row is a round, and named."""
        found = super().certificate_
        passes, rounds = self._fitted

        def named(one: Certificate) -> Certificate:
            # Rows of a later `partial_fit` were learnt once.
            least = passes if one.rounds == rounds else 1
            return replace(one, passes=(least, passes))

        return found.mapped(named) if isinstance(found, ByClass) else named(found)

    def _chosen_mirror(self) -> Mirror:
        mirror: Mirror = spec(self.mirror, "mirror")
        return mirror

    def _chosen_rate(self) -> Rate | None:
        """Return the rate; None is a grid of them."""
        if isinstance(self.rate, str) and self.rate.lower() == GRID:
            return None
        rate: Rate = spec(self.rate, "rate")
        return rate

    def _orders(self, order: Order) -> Iterator[Order]:
        """Return the order of each pass of `fit`, or refuse their number at once."""
        passes = require_count("passes", self.passes)
        random = check_random_state(self.random_state) if self.shuffle else None
        self._fitted = passes, passes * len(order)
        return (order if random is None else random.permutation(order) for _ in range(passes))
