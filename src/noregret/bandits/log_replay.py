"""Replay: a learning policy run on a log as if it had been there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.arrays import Indices, Vector
from noregret.bandits.arms import ArmBandit
from noregret.bandits.contextual import ContextualBandit
from noregret.bandits.decisions import Log, generator
from noregret.proof.statement import Proof


@dataclass(frozen=True, eq=False)
class Replay(Proof):
    """The rows of a log that a policy lived through, and what came of them."""

    rows: int
    accepted: Indices
    outcomes: Vector
    #: The bound on the propensities that rows were accepted by, and whether it was known before
    #: the log was: a bound read off the log makes the accepted rows depend on one another.
    least: float
    promised: bool

    @property
    def average(self) -> float:
        """The mean outcome of the accepted rows, NaN if there are none."""
        return float(self.outcomes.mean()) if len(self.outcomes) else float("nan")

    def _lines(self) -> list[str]:
        lines = [
            f"replay of {self.rows:,} rows: {len(self.accepted):,} accepted, "
            f"mean outcome {self.average:.6g}"
        ]
        if not self.promised:
            lines.append(
                f"not exactly a run of the policy: {self.least!r}, the least propensity of this "
                "log, decided which rows were accepted; give least=, known before the log"
            )
        return lines


def replay(
    policy: ArmBandit | ContextualBandit,
    log: Log,
    contexts: Any = None,
    rewards: bool = False,
    least: float | None = None,
    seed: int | np.random.Generator | None = None,
) -> Replay:
    """Let the policy decide on each row, and live through those where it draws the logged arm.

    Such a row is accepted with probability least / propensity. If `least`, above 0 and at most
    every propensity that the logging policy can have, was known before the log was drawn, each arm
    has the share of the accepted rows that the policy gives it, so that they are a run of the
    policy itself, shorter. By default `least` is the smallest propensity of the log: where the
    propensities differ, that depends on the arms drawn, and the run is nearly, not exactly, one of
    the policy; the result says so. For logs drawn uniformly all such rows are accepted.
    With `rewards` outcomes are rewards, else costs.
    Reference: Li, Chu, Langford, Wang, Unbiased Offline Evaluation of Contextual-bandit-based News
    Article Recommendation Algorithms, 2011.

    >>> from noregret.bandits import Exp3
    >>> log = Log([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], [0.5] * 4, arms=2)
    >>> replay(Exp3(arms=2, eta=0.1, seed=1), log).rows
    4
    """
    if isinstance(policy, ContextualBandit) != (contexts is not None):
        wanted = "needs contexts" if contexts is None else "has no use for contexts"
        raise ValueError(f"{type(policy).__name__} {wanted}")
    if policy.arms != log.count or policy.costs != log.range:
        raise ValueError(
            f"the log has {log.count} arms and outcomes in {log.range}, "
            f"the policy {policy.arms} and costs in {policy.costs}"
        )
    # All contexts are looked at before the first of them is learnt from.
    rows = policy._contexts(contexts) if isinstance(policy, ContextualBandit) else None
    if rows is not None and len(rows) != len(log):
        raise ValueError(f"got {len(rows)} contexts for a log of {len(log)} rows")
    smallest = float(log.propensities.min(initial=1.0))
    # Equal propensities are known before any arm is drawn.
    promised = least is not None or bool((log.propensities == smallest).all())
    least = smallest if least is None else least
    if not 0.0 < least <= smallest:
        raise ValueError(f"least must be above 0 and at most {smallest:g}, got {least}")
    rng, tell = generator(seed), policy.reward if rewards else policy.learn
    player: Any = policy
    accepted: list[int] = []
    for row in range(len(log)):
        context = None if rows is None else rows.part(row, row + 1)
        decision = player.decide() if context is None else player.decide_row(context)
        fair = rng.random() * log.propensities[row] < least
        if fair and decision.arm == log.arms[row]:
            tell(decision, float(log.outcomes[row]))
            accepted.append(row)
        else:
            policy.forget(decision)
    kept = np.array(accepted, np.int64)
    return Replay(len(log), kept, log.outcomes[kept], least, promised)
