"""What a certificate reads from its ledger as it stands: counts and compensated sums."""

from __future__ import annotations

from noregret.arrays import Vector
from noregret.proof.ledger import Entry
from noregret.proof.statement import RadiusProof


class RunSums(RadiusProof):
    """The counts and sums of a run, see `Entry`."""

    ledger: Vector

    def sum_of(self, place: Entry) -> float:
        """Return a compensated sum of the ledger."""
        return float(self.ledger[place] + self.ledger[place + 1])

    @property
    def rounds(self) -> int:
        """How many examples were learnt."""
        return int(self.ledger[Entry.ROUNDS])

    @property
    def mistakes(self) -> int:
        """How many labels were predicted wrongly; a prediction of zero margin counts."""
        return int(self.ledger[Entry.MISTAKES])

    @property
    def example_weights(self) -> tuple[float, float]:
        """The smallest and the largest example weight of the rounds, 1 and 1 before the first."""
        if self.rounds == 0:
            return 1.0, 1.0
        return float(self.ledger[Entry.LEAST_WEIGHT]), float(self.ledger[Entry.MOST_WEIGHT])

    @property
    def plain_loss(self) -> float:
        """The learner's own loss without a penalty, summed over the rounds."""
        return self.sum_of(Entry.LOSS)

    @property
    def intercept(self) -> float:
        """The height at u = 0 of the sum of the supporting lines."""
        return self.sum_of(Entry.INTERCEPT)
