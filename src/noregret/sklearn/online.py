"""What the two online estimators share: their parameters, and the orders of `fit`."""

# scikit-learn is not typed.
# mypy: disable-error-code="misc, no-untyped-call"
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.utils import check_random_state

from noregret.sklearn.choices import require_count
from noregret.sklearn.estimator import RowEstimator
from noregret.sklearn.rows import Order
from noregret.sklearn.several import summing


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

    #: How many passes of `fit` were begun, and the rounds after the last; None while they go on.
    _played: tuple[int, int | None] = (1, None)

    def _orders(self, order: Order) -> Iterator[Order]:
        """Return the order of each pass of `fit`, or refuse their number at once."""
        passes = require_count("passes", self.passes)
        random = check_random_state(self.random_state) if self.shuffle else None
        return self._in_turn(order, passes, random)

    def _in_turn(self, order: Order, passes: int, random: Any) -> Iterator[Order]:
        for number in range(1, passes + 1):
            self._played = (number, None)
            yield order if random is None else random.permutation(order)
        self._played = (passes, int(self._learner.certificate().rounds))

    @property
    def certificate_(self) -> Any:
        """What the rounds played so far prove; every pass over a row is a round."""
        found = super().certificate_
        passes, played = self._played
        if passes == 1:
            return found
        course = f"over {passes:,} passes"
        if played is None:
            course += ", the last unfinished"
        elif found.rounds > played:
            course += f" and {found.rounds - played:,} rounds more"
        return summing(found, course)
