"""Cover's demonstration: without chance no learner has small regret, even against two constants."""

from __future__ import annotations

import math
from dataclasses import dataclass

from noregret.arrays import as_whole
from noregret.classes.adversary import Predictor, other_label, play
from noregret.classes.tables import label
from noregret.proof.statement import Proof
from noregret.rounding import up


class Contrarian:
    """Answer the label that was not predicted: 0 to a probability >= 1/2, else 1."""

    def instance(self) -> int:
        """Return the only point there is."""
        return 0

    def answer(self, prediction: float) -> int:
        """Return the other label."""
        return other_label(prediction)


class Majority:
    """Predict the label that was more frequent so far, 1 on ties: the leader of two constants.

    >>> learner = Majority()
    >>> learner.learn(0, 0)
    >>> learner.predict(0)
    0
    """

    def __init__(self) -> None:
        self._lead = 0

    def predict(self, x: object) -> float:
        """Return the more frequent label."""
        return int(self._lead >= 0)

    def learn(self, x: object, y: int) -> None:
        """Count a label."""
        self._lead += 1 if label(y) else -1


class Hedged(Majority):
    """Announce the probability that Weighted Majority over the two constants gives to label 1.

    p = 1 / (1 + exp(-eta (ones - zeros))) with eta = sqrt(8 ln 2 / T): the expected mistakes in
    T rounds exceed those of the better constant by at most sqrt(T ln 2 / 2).
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, Theorem 1.3.

    >>> learner = Hedged(100)
    >>> learner.learn(0, 1)
    >>> round(learner.predict(0), 4)
    0.5586
    """

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.eta = math.sqrt(8.0 * math.log(2.0) / as_whole("rounds", rounds))

    def predict(self, x: object) -> float:
        """Return the probability of label 1."""
        return 0.5 + 0.5 * math.tanh(0.5 * self.eta * self._lead)


@dataclass(frozen=True)
class Demonstration(Proof):
    """Mistakes, expected ones for probabilities, beside the better of always 0 and always 1."""

    predictions: tuple[float, ...]
    labels: tuple[int, ...]
    loss: float

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return len(self.labels)

    @property
    def best(self) -> int:
        """The mistakes of the better constant, at most half of the rounds."""
        ones = sum(self.labels)
        return min(ones, self.rounds - ones)

    @property
    def regret(self) -> float:
        """The loss beyond the better constant."""
        return self.loss - self.best

    @property
    def deterministic(self) -> bool:
        """Whether all predictions were labels."""
        return all(p in (0, 1) for p in self.predictions)

    def _lines(self) -> list[str]:
        escape = math.sqrt(0.5 * self.rounds * math.log(2.0))
        what = "mistakes" if self.deterministic else "expected mistakes"
        lines = [
            f"Cover's adversary, {self.rounds:,} rounds",
            f"  {what:<41}{self.loss:.6g}",
            f"  {'mistakes of the better constant':<41}{self.best:,}",
            f"  {'regret':<41}{up(self.regret)}",
        ]
        if self.deterministic:
            lines.append(f"  {'forced on every deterministic learner':<41}{-(-self.rounds // 2):,}")
        return [*lines, f"  {'a randomised learner can stay below':<41}{up(escape)}"]


def demonstrate(learner: Predictor, rounds: int) -> Demonstration:
    """Play a learner against the adversary that always answers the other label.

    A deterministic learner errs in all T rounds, the better constant in at most floor(T/2): the
    regret is at least ceil(T/2). A learner that announces a probability, with the label chosen
    before the coin is tossed, can keep it below sqrt(T ln 2 / 2).
    Reference: Shalev-Shwartz, Online Learning and Online Convex Optimization, section 1.2 and
    Theorem 1.3.

    >>> print(demonstrate(Majority(), 9))
    Cover's adversary, 9 rounds
      mistakes                                 9
      mistakes of the better constant          4
      regret                                   5
      forced on every deterministic learner    5
      a randomised learner can stay below      1.76612
    """
    transcript = play(learner, Contrarian(), as_whole("rounds", rounds))
    return Demonstration(transcript.predictions, transcript.labels, transcript.loss)
