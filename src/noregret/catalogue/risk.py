"""From an online run to one predictor for new rows, with statements about its risk.

The risk of w is risk(w) = E f(y, <w, x>) for a new row (x, y). Let the T rows be independent draws
from one distribution, T fixed in advance, and w_t the weights before row t in a single pass. w_t
depends on the rows before t only, so that E f_t(w_t) = E risk(w_t), and:

  drawn     r uniform on 1..T, drawn apart from the rows:  E risk(w_r) = E (1/T) sum f_t(w_t).
  average   f convex, by Jensen:   risk(mean of w_t) <= (1/T) sum risk(w_t), whose mean is that.
  against u fixed in advance: subtract risk(u) = E (1/T) sum f_t(u); what is left is E regret(u)/T,
            at most B/T if B bounds the regret on all rows that can come.
  surely    if f_t(w_t) lies in [low, high]: sum risk(w_t) - f_t(w_t) is a martingale whose steps
            lie, given the past, in an interval of length high - low, and by Hoeffding and Azuma
            (1/T) sum risk(w_t) <= (1/T) sum f_t(w_t) + (high - low) sqrt(ln(1/delta)/(2 T))
            with probability at least 1 - delta over the rows.

References: Shalev-Shwartz, Online Learning and Online Convex Optimization, 2012, Theorem 5.1;
Cesa-Bianchi, Conconi, Gentile, On the Generalization Ability of On-Line Learning Algorithms, 2004.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noregret.arrays import Vector, real_array
from noregret.learners import MirrorDescent
from noregret.proof.certificate import Certificate
from noregret.proof.ledger import Entry
from noregret.proof.statement import Proof, Statement
from noregret.rounding import exact, rounding_error, up, up_each

_SURVEY = "Shalev-Shwartz 2012, Theorem 5.1"
_MARTINGALE = "Cesa-Bianchi, Conconi, Gentile 2004"
#: The bound on the regret that is known before any row is seen.
_IN_ADVANCE = "mirror descent, in advance"


@dataclass(frozen=True)
class RiskStatement(Statement):
    """One statement about the risk: its whole claim in words, and the number in it."""

    measure: str = ""

    def __str__(self) -> str:
        words = self.claim if self.applies else f"not applicable: {self.reason}"
        return f"{self.name:<22}{words}"


def _not_applicable(name: str, reference: str, reason: str) -> RiskStatement:
    return RiskStatement(name, reference, math.inf, applies=False, reason=reason)


@dataclass(frozen=True, eq=False)
class BatchPredictor(Proof):
    """Weights for new rows, the average loss of their run, and statements about their risk.

    The average online loss is one observation of the random number whose expectation stands in
    the statements.
    """

    weights: Vector
    method: str
    rounds: int
    average_loss: float
    statements: list[RiskStatement] = field(default_factory=list)
    #: The assumptions of the statements.
    assumptions: tuple[str, ...] = ()

    def predict(self, X: Any) -> Vector:
        """Return <w, x> for each row."""
        return np.asarray((X if hasattr(X, "tocsr") else np.asarray(X)) @ self.weights)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON, without the weights."""
        return {
            "method": self.method,
            "rounds": self.rounds,
            "average_loss": self.average_loss,
            "statements": [each.as_dict() for each in self.statements],
            "assumptions": list(self.assumptions),
        }

    def _lines(self) -> list[str]:
        kind = "the average of the" if self.method == "average" else "one drawn of the"
        return [
            f"Predictor for new rows: {kind} weights of {self.rounds:,} rounds",
            f"  {'average online loss':<22}{self.average_loss:.6g}, observed",
            *(f"  {each}" for each in self.statements),
            *(f"  assumption: {each}" for each in self.assumptions),
        ]


def online_to_batch(
    learner: MirrorDescent, X: Any, y: Any, method: str = "average", seed: int = 0
) -> Vector:
    """Run a fresh learner over an i.i.d. sample and return one predictor for the future.

    "average": the mean of the weights played, w_1 to w_T. "random": one of them, drawn
    uniformly. `batch_predictor` also states their risk. Both return weights, and refuse a
    learner whose predictions are not <w, x>.
    Reference: Shalev-Shwartz 2012, Theorem 5.1.

    >>> from noregret import catalogue, losses
    >>> learner = catalogue.ogd(losses.Absolute(), 0.3, dimension=1)
    >>> online_to_batch(learner, [[1.0], [1.0]], [1.0, 1.0])
    array([0.15])
    """
    return _one_pass(learner, X, y, method, seed)[0]


def _one_pass(
    learner: MirrorDescent, X: Any, y: Any, method: str, seed: int
) -> tuple[Vector, Vector, Vector]:
    """Return the weights of `online_to_batch`, the labels and the predictions before each row.

    Refuse a learner whose predictions are not <w, x>: its weights alone do not predict.
    """
    labels = np.atleast_1d(np.asarray(real_array("y", y), np.float64))
    if not labels.size:
        raise ValueError("online_to_batch needs a row to learn from, X has none")
    if learner.rounds:
        raise ValueError(f"online_to_batch needs a fresh learner, this one has {learner.rounds}")
    if learner._parts.clip is not None:
        raise ValueError(
            f"online_to_batch returns weights, and this learner lowers predictions above "
            f"{learner._parts.clip:g}: make it with clip=None"
        )
    if learner.rate.corrects(learner.loss.labels):
        raise ValueError(
            f"online_to_batch returns weights, and {type(learner.rate).__name__} predicts more "
            "than <w, x>: use another rate, or the learner itself"
        )
    if method == "average":
        # A learner that keeps no average raises here, before it learns.
        _ = learner.average
        predictions = learner.learn(X, labels)
        return learner.average, labels, predictions
    if method != "random":
        raise ValueError(f"method must be 'average' or 'random', got {method!r}")
    draw = int(np.random.default_rng(seed).integers(len(labels)))
    rows = X if hasattr(X, "tocsr") else np.atleast_2d(np.asarray(X))
    before = np.zeros(0)
    if draw:
        before = learner.learn(rows[:draw], labels[:draw])
    elif learner.dimension == 0:
        learner._open(rows.shape[1])
    chosen = learner.weights
    return chosen, labels, np.concatenate([before, learner.learn(rows[draw:], labels[draw:])])


def batch_predictor(
    learner: MirrorDescent,
    X: Any,
    y: Any,
    method: str = "average",
    seed: int = 0,
    radius: float | None = None,
    loss_range: tuple[float, float] | None = None,
    delta: float = 0.05,
) -> BatchPredictor:
    """Run a fresh learner once over an i.i.d. sample; return a predictor and its risk statements.

    learner, X, y, method, seed: as in `online_to_batch`, whose weights it returns. radius: of the
    class of u to compare with, fixed before the rows were seen [default: no comparison]; it takes
    a learner with a bound in advance, one with a promised `row_limit`. loss_range: (low, high)
    between which every loss lies, promised for all rows that can come [default: no statement with
    a probability]. delta: its probability of being wrong, in (0, 1) [default: 0.05].

    >>> from noregret import catalogue, losses
    >>> learner = catalogue.ogd(losses.Absolute(), 0.3, dimension=1)
    >>> found = batch_predictor(learner, [[1.0], [1.0]], [1.0, 1.0], loss_range=(0.0, 1.0))
    >>> found.weights, found.average_loss
    (array([0.15]), 0.85)

    Reference: Shalev-Shwartz 2012, Theorem 5.1; Cesa-Bianchi, Conconi, Gentile 2004.
    """
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be between 0 and 1, got {delta}")
    if loss_range is not None:
        low, high = (float(end) for end in loss_range)
        if not -math.inf < low < high < math.inf:
            raise ValueError(f"loss_range must be finite, low below high, got {loss_range}")
    weights, labels, predictions = _one_pass(learner, X, y, method, seed)
    pairs = zip(labels.tolist(), predictions.tolist(), strict=True)
    losses = np.array([learner.loss.value(label, p) for label, p in pairs])
    rounds = len(losses)
    average = math.fsum(losses) / rounds
    words = _Words(method)
    found = [words.mean(average)]
    assumptions = [
        "the rows are independent draws from one distribution, and as many as was fixed in advance"
    ]
    if radius is not None:
        found.append(words.against(learner.certificate(), radius, rounds))
        if found[-1].applies:
            limit = exact(learner.certificate().ledger[Entry.ROW_LIMIT])
            assumptions.append(f"no row that can come has a dual norm above {limit}, as promised")
    if loss_range is not None:
        found.append(words.surely(losses, average, (low, high), delta))
        assumptions.append(f"every loss lies between {exact(low)} and {exact(high)}, as promised")
    if learner.certificate().assumption:
        assumptions.append(str(learner.certificate().assumption))
    return BatchPredictor(weights, method, rounds, average, found, tuple(assumptions))


class _Words:
    """The statements about the average, or about one of the weights drawn."""

    def __init__(self, method: str) -> None:
        self.average = method == "average"
        self.who = "the average weights" if self.average else "the drawn weights"
        self.over = "over the rows" if self.average else "over the rows and the draw"

    def mean(self, average: float) -> RiskStatement:
        sign = "<=" if self.average else "="
        claim = f"E[risk of {self.who}] {sign} E[average online loss], {self.over}"
        return RiskStatement("in expectation", _SURVEY, average, claim=claim)

    def against(self, certificate: Certificate, radius: float, rounds: int) -> RiskStatement:
        name, reference = "against a fixed u", f"{_SURVEY}, with a bound in advance"
        known = [b for b in certificate.bounds_for(radius) if b.name == _IN_ADVANCE]
        if certificate.conservative:
            reason = "the learner steps on mistakes only, and so does its regret"
            return _not_applicable(name, reference, reason)
        if not known or not known[0].applies:
            reason = known[0].reason if known else "the learner has no bound in advance: row_limit"
            return _not_applicable(name, reference, reason)
        value = up_each(known[0].value, rounds)
        claim = f"E[risk of {self.who}] - risk of u <= {up(value)}, {self.over}, for "
        return RiskStatement(name, reference, value, claim=claim + certificate.describe(radius))

    def surely(
        self, losses: Vector, average: float, ends: tuple[float, float], delta: float
    ) -> RiskStatement:
        name, (low, high) = "with a probability", ends
        outside = np.flatnonzero(~((losses >= low) & (losses <= high)))
        if outside.size:
            row = int(outside[0])
            seen = exact(losses[row])
            reason = f"row {row} lost {seen}, outside the promised [{exact(low)}, {exact(high)}]"
            return _not_applicable(name, _MARTINGALE, reason)
        room = (high - low) * math.sqrt(math.log(1.0 / delta) / (2.0 * len(losses)))
        size = abs(average) + abs(low) + abs(high) + room
        value = average + room + rounding_error(64.0 + math.log2(len(losses) + 1), size)
        who = f"risk of {self.who}" if self.average else "mean risk of the weights to draw from"
        claim = f"{who} <= {up(value)} with probability >= 1 - {exact(delta)} over the rows"
        return RiskStatement(name, _MARTINGALE, value, claim=claim)
