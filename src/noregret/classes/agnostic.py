"""The agnostic learner: few more errors than the best hypothesis, for any labels.

It is Weighted Majority over all experts that follow SOA but for at most Ldim(H) rounds, of which
there are N = sum of C(T, l) over l <= Ldim(H). They need not be written out: experts with the
same version space V and the same number l of flips used act alike for ever, and c(t, l) = sum of
C(T - t, j) over j <= Ldim(H) - l of them are still to part. So the state is one weight for each
(V, l), the work of a round the number of these.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noregret.arrays import as_whole
from noregret.classes.littlestone import SearchField, as_dimension
from noregret.classes.tables import (
    MOST_RATE,
    SURVEY,
    RateField,
    RegretCertificate,
    between,
    bits_of,
    flags_of,
    label,
    pairs,
)
from noregret.classes.version_space import larger_label
from noregret.elementary import log_sum_exp
from noregret.files.fields import Arrays, Count, Field, Header, Number, Saved, Setting
from noregret.proof.statement import Statement
from noregret.rounding import rounding_error
from noregret.turns import one_at_a_time

#: Weights below exp(-_VISIBLE) times the largest do not change a sum in float64.
_VISIBLE = 50.0


@dataclass(frozen=True, kw_only=True)
class AgnosticCertificate(RegretCertificate):
    """The expected number of mistakes of a randomised learner beside the best hypothesis."""

    dimension: int

    def _lines(self) -> list[str]:
        title = f"Agnostic learner after {self.rounds:,} rounds, Littlestone dimension "
        lines = self._regret_lines("expected mistakes", "mistakes of the best hypothesis")
        return [f"{title}{self.dimension}", *lines]


class _Branch(NamedTuple):
    """Experts that predict alike: V and flips after the round, log weight of V and of all."""

    space: int
    flips: int
    label: int
    weight: float
    mass: float


class StatesField(Field):
    """The weights of an agnostic learner and the errors of its hypotheses, as arrays of a file."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter them; the order of the weights is part of the state."""
        keys = list(owner._weights)
        arrays["errors"] = owner._errors
        arrays["spaces"] = np.array([flags_of(v, owner.hypotheses.size) for v, _ in keys])
        arrays["flips"] = np.array([flips for _, flips in keys], dtype=np.int64)
        arrays["weights"] = np.array(list(owner._weights.values()))

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Set weights and errors, or refuse those of another learner."""
        spaces, flips, weights = (arrays[name] for name in ("spaces", "flips", "weights"))
        errors, size = arrays["errors"], owner.hypotheses.size
        most = owner._depth if owner.flip is None else 0
        if not (
            spaces.shape == (len(weights), size)
            and flips.shape == weights.shape
            and errors.shape == (size,)
            and flips.dtype == errors.dtype == np.int64
            and weights.dtype == np.float64
            and len(weights) > 0
            and weights.max() == 0.0
            and 0 <= flips.min() <= flips.max() <= most
            and 0 <= errors.min() <= errors.max() <= owner.rounds
        ):
            raise ValueError("its states are not those of an agnostic learner")
        keys = [(bits_of(row), int(used)) for row, used in zip(spaces, flips, strict=True)]
        owner._weights = dict(zip(keys, weights.tolist(), strict=True))
        owner._errors = errors


class Agnostic(Saved):
    """Predict label 1 with a probability, with small regret against the best hypothesis.

    With `horizon` T the rounds are known in advance and eta = sqrt(8 ln N / T) by default: the
    expected mistakes exceed those of the best hypothesis by at most sqrt(T ln N / 2). With
    `flip` beta < 1/2 instead there is no horizon: an expert flips each round with the prior
    probability beta, and eta must be given; with L = Ldim(H) the regret is at most
    (L ln(1/beta) + (t - L) ln(1/(1 - beta))) / eta + eta t / 8.
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 3.6.

    >>> from noregret.classes import thresholds
    >>> learner = Agnostic(thresholds(3), horizon=5, tie=0)
    >>> learner.learn([1, 0, 2, 1, 2], [1, 0, 1, 0, 1]).round(4).tolist()
    [0.3125, 0.7078, 0.2092, 0.4157, 0.3371]
    >>> learner.experts, learner.states
    (16, 6)
    """

    _KIND = "learner"
    _FIELDS = (
        Setting("horizon"),
        Setting("flip"),
        RateField("eta"),
        Setting("tie"),
        SearchField("limit"),
        Count("rounds", "rounds"),
        Number("loss", "loss"),
        Number("stability"),
        StatesField("states"),
    )

    def __init__(
        self,
        hypotheses: Any,
        horizon: int | None = None,
        *,
        flip: float | None = None,
        eta: float | None = None,
        tie: int = 1,
    ) -> None:
        if (horizon is None) == (flip is None):
            raise ValueError("Agnostic needs either the horizon or the probability of a flip")
        self.horizon = None if horizon is None else as_whole("horizon", horizon)
        self.flip = None if flip is None else between("flip", flip, 0.5)
        if eta is None and flip is not None:
            raise ValueError("Agnostic without a horizon needs eta")
        self.tie = label(tie, "tie")
        self.eta = 0.0 if eta is None else between("eta", eta, MOST_RATE)
        self.dimension = as_dimension(hypotheses)
        self.hypotheses = self.dimension.hypotheses
        self._depth = self.dimension()
        if eta is None and self.horizon is not None:
            self.eta = math.sqrt(8.0 * math.log(self.experts) / self.horizon)
        self._weights: dict[tuple[int, int], float] = {(self.hypotheses.everything, 0): 0.0}
        self._errors = np.zeros(self.hypotheses.size, dtype=np.int64)
        #: The number of labels seen.
        self.rounds = 0
        #: The expected number of mistakes, the sum of |p_t - y_t|.
        self.loss = 0.0
        self._stability = 0.0

    @property
    def experts(self) -> int:
        """The number N of experts with at most Ldim(H) flips in T rounds."""
        if self.horizon is None:
            raise ValueError("without a horizon the experts have no number")
        return sum(math.comb(self.horizon, j) for j in range(self._depth + 1))

    @property
    def states(self) -> int:
        """The number of weights that stand for all of the experts."""
        return len(self._weights)

    def predict(self, x: Any) -> float:
        """Return the probability of label 1 for point x."""
        point = self.hypotheses.point(x)
        self._require_rounds(1)
        return self._probability(self._branches(point))

    @one_at_a_time
    def learn(self, x: Any, y: Any) -> npt.NDArray[np.float64]:
        """Return the probabilities of label 1 given to a point, or several, before each label.

        Nothing is learnt if anything is wrong with x or y, or a search is given up.
        """
        examples = pairs(self.hypotheses, x, y)
        self._require_rounds(len(examples))
        before = self._weights, self._errors.copy(), self.rounds, self.loss, self._stability
        try:
            return np.array([self._round(*example) for example in examples], dtype=np.float64)
        except BaseException:
            self._weights, self._errors, self.rounds, self.loss, self._stability = before
            raise

    def _require_rounds(self, more: int) -> None:
        if self.horizon is not None and self.rounds + more > self.horizon:
            raise ValueError(f"{self.rounds + more} rounds are beyond the horizon {self.horizon}")

    def _round(self, point: int, answer: int) -> float:
        branches = self._branches(point)
        p = self._probability(branches)
        wrong = 1.0 - p if answer else p
        self._stability += self._gap(branches, answer, wrong)
        self.loss += wrong
        grouped: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
        for branch in branches:
            paid = self.eta if branch.label != answer else 0.0
            grouped[branch.space, branch.flips].append(branch.weight - paid)
        merged = {key: float(log_sum_exp(values)) for key, values in grouped.items()}
        # Only ratios of weights matter; so they cannot underflow all at once.
        largest = max(merged.values())
        self._weights = {key: value - largest for key, value in merged.items()}
        self._errors += self.hypotheses.table[:, point] != answer
        self.rounds += 1
        return p

    def _gap(self, branches: list[_Branch], answer: int, wrong: float) -> float:
        """Return wrong + ln(1 - wrong + wrong exp(-eta)) / eta, what a round adds to the bound."""
        if self.eta == 0.0:
            return 0.0
        drop = wrong * math.expm1(-self.eta)
        if drop > -0.5:
            return max(wrong + math.log1p(drop) / self.eta, 0.0)
        # Near 1 the probability of the right label is known better than 1 - wrong.
        logs = self._masses(branches)
        after = log_sum_exp([logs[answer], logs[1 - answer] - self.eta])
        return max(wrong + float(after - log_sum_exp(logs)) / self.eta, 0.0)

    def _branches(self, point: int) -> list[_Branch]:
        """Return the branches of all states; an expert that has no flips left does not flip."""
        turns = self._turns()
        branches = []
        for (space, flips), weight in self._weights.items():
            usual = larger_label(self.dimension, space, point, self.tie)
            for turn, (used, prior, ahead) in enumerate(turns[flips]):
                y = usual ^ turn
                part = self.hypotheses.part(space, point, y)
                branches.append(_Branch(part, used, y, weight + prior, weight + ahead))
        return branches

    def _turns(self) -> list[list[tuple[int, float, float]]]:
        """Return for each number of flips used what going on and flipping lead to.

        That is the flips used then, the log weight kept, and that of the experts in it.
        """
        if self.flip is not None:
            shares = (math.log1p(-self.flip), math.log(self.flip))
            return [[(0, share, share) for share in shares]]
        assert self.horizon is not None
        left, flips = self.horizon - self.rounds - 1, range(self._depth + 1)
        ahead = [math.log(sum(math.comb(left, j) for j in flips[: k + 1])) for k in flips]
        return [
            [(k, 0.0, ahead[self._depth - k]) for k in (used, used + 1) if k <= self._depth]
            for used in flips
        ]

    def _masses(self, branches: list[_Branch]) -> list[float]:
        """Return the log weights of the experts that predict 0, and of those that predict 1."""
        return [
            log_sum_exp([branch.mass for branch in branches if branch.label == y]) for y in (0, 1)
        ]

    def _probability(self, branches: list[_Branch]) -> float:
        zero, one = self._masses(branches)
        if one < zero:
            return math.exp(one - zero) / (1.0 + math.exp(one - zero))
        return 1.0 / (1.0 + math.exp(zero - one))

    def certificate(self) -> AgnosticCertificate:
        """Return the expected mistakes so far beside the best hypothesis and the bounds."""
        return AgnosticCertificate(
            rounds=self.rounds,
            loss=self.loss,
            best=int(self._errors.min()),
            dimension=self._depth,
            bounds=tuple(self._bounds()) if self.rounds else (),
        )

    def _bounds(self) -> list[Statement]:
        t, eta, depth = self.rounds, self.eta, self._depth
        if self.flip is not None:
            errors = min(depth, t)
            cost = -errors * math.log(self.flip) - (t - errors) * math.log1p(-self.flip)
            return [
                self._bound("flips of prior beta, in advance", cost / eta + eta * t / 8.0),
                self._bound("flips of prior beta, now", cost / eta + self._stability),
            ]
        assert self.horizon is not None
        count = math.log(self.experts)
        prior = count / eta if eta > 0.0 else 0.0
        crude, reason = 0.0, "it needs T >= Ldim(H) >= 1"
        if self.horizon >= depth >= 1:
            crude, reason = self.horizon * depth * (1.0 + math.log(self.horizon / depth)), ""
        if eta != math.sqrt(8.0 * count / self.horizon):
            reason = "eta is not the one it is stated for"
        return [
            self._bound("sqrt(T Ldim ln(e T / Ldim) / 2)", math.sqrt(0.5 * crude), reason),
            self._bound("ln N / eta + eta T / 8, in advance", prior + eta * self.horizon / 8.0),
            self._bound("ln N / eta + stability, now", prior + self._stability),
        ]

    def _bound(self, name: str, value: float, reason: str = "") -> Statement:
        """Return a bound with room for what rounding can have done to the probabilities.

        A round moves a logarithm by some units in the last place of its size, and later rounds
        inherit that; ln(1 - p + p exp(-eta)) / eta passes it on by at most (e^eta - 1) / eta.
        """
        size = _VISIBLE + self.eta
        size += 0.0 if self.horizon is None else math.log(self.experts)
        steep = 1.0 if self.eta == 0.0 else 1.0 + math.expm1(min(self.eta, 700.0)) / self.eta
        slack = rounding_error(8.0, (self.rounds + 1.0) ** 2) * size * steep
        value = math.inf if reason else value * (1.0 + 1e-14) + slack
        return Statement(name, f"{SURVEY}, Theorem 3.6", value, 1.0, "loss", not reason, reason)

    def _check_loaded(self) -> None:
        """Refuse sums that no learner has."""
        if not all(0.0 <= value <= self.rounds for value in (self.loss, self._stability)):
            raise ValueError(f"the loss {self.loss} of {self.rounds} rounds is not one")
        self._require_rounds(0)
