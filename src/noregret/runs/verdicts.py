"""The statements of a certificate, each judged against the examples themselves."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

import noregret as nr
from noregret.arrays import Vector
from noregret.evaluate import metrics_for
from noregret.experts.representative import linear_part
from noregret.learners.foreign import Certifier
from noregret.losses import Loss
from noregret.proof.ledger import Entry
from noregret.rounding import CLOSED_FORM, down, exact, up
from noregret.runs.facts import metrics_line
from noregret.runs.opening import joined, margins
from noregret.runs.progress import solving
from noregret.runs.record import Record
from noregret.runs.replay import Replay
from noregret.runs.session import Session
from noregret.runs.verdicts_members import Verdict, member_verdicts
from noregret.streams import Block
from noregret.vocabulary.learners import Learner


class Statements(ABC):
    """All that a model states, beside the examples it was learnt from.

    `add` takes what the replay learns, `check` judges when it is over.
    """

    def __init__(self, learner: Learner, record: Record, *, tol: float, max_passes: int) -> None:
        self.learner, self.record = learner, record
        self.certificate = record.certificate(learner)
        known = record.points[-1].radius if record.points else self.certificate.radius
        self.radius = float(known or 0.0)
        self.tol, self.max_passes = tol, max_passes
        #: Comparators of the class with their losses, rounding taken off.
        self.comparators: list[tuple[str, Vector, float]] = []
        #: Scores made at rows whose class was new, those that `add` takes next.
        self.met: list[Vector] = []
        self.again: Session
        self.rows: Block
        self.weight: Vector
        #: The unit of each weight in the class; None where all have the same.
        self.sizes: Vector | None = None

    @abstractmethod
    def add(self, rows: Block, predictions: Vector) -> None:
        """Take rows as they are learnt again, with the predictions made before."""

    def check(self, replayed: Replay) -> Iterator[Verdict]:
        """Yield a verdict on every statement, the replay first."""
        self._take(replayed)
        yield from self._replay()
        yield from self._metrics()
        yield self._loss()
        solution = self._solve()
        self._gather(solution)
        yield from self._floor(solution)
        yield from self._regularized()
        yield from self._theorems()
        yield from member_verdicts(self.certificate, self.again.learner)

    def _take(self, replayed: Replay) -> None:
        """Take over what was learnt: every row once, with its weight as often as it was learnt."""
        self.again = replayed.session
        self.rows = rows = joined(part.rows for part in replayed.parts)
        own = np.ones(len(rows)) if rows.weight is None else rows.weight
        self.weight = own * np.concatenate([part.multiplicity for part in replayed.parts])

    @abstractmethod
    def _played_loss(self) -> tuple[float, float, int]:
        """Return the loss of the predictions, its possible error, and the mistakes."""

    def _loss(self) -> Verdict:
        stated = self.certificate.plain_loss
        found, error, mistakes = self._played_loss()
        room = error + self.certificate.slack + 1e-12 * abs(stated)
        holds = abs(found - stated) <= room and mistakes == self.certificate.mistakes
        return Verdict(
            "its loss is what its predictions lost",
            holds,
            f"stated {stated:.10g}, found {found:.10g}; "
            f"mistakes {self.certificate.mistakes:,} and {mistakes:,}",
            stated=stated,
            found=found,
        )

    @abstractmethod
    def loss_of(self, u: Vector) -> float:
        """Return the loss of a fixed predictor on all rounds, not below the true one."""

    @abstractmethod
    def _problem(self) -> tuple[Block, dict[str, Any]]:
        """Return rows and options of the best in hindsight; ValueError where there is none."""

    def _solve(self) -> nr.Solution | str:
        """Return the best in hindsight over the class, or with the map's own regulariser."""
        try:
            rows, options = self._problem()
            with solving(self.tol) as solver:
                return nr.hindsight(
                    rows,
                    rows.y,
                    cast("Any", self.learner.loss),
                    weight=self.weight,
                    tol=self.tol,
                    max_passes=self.max_passes,
                    progress=solver,
                    **options,
                )
        except (ValueError, ZeroDivisionError) as error:
            return str(error)

    @abstractmethod
    def _tried(self, best: Vector | None) -> dict[str, Vector]:
        """Return comparators in the units of the class, to be fitted into it.

        `best` are the weights of the best in hindsight, None if it was not solved for.
        """

    def _replay(self) -> Iterator[Verdict]:
        other = self.again.learner.certificate()
        same = np.array_equal(other.ledger, self.certificate.ledger) and np.array_equal(
            other.gradient, self.certificate.gradient
        )
        weights = np.array_equal(
            linear_part(self.again.learner).weights, linear_part(self.learner).weights
        )
        yield Verdict(
            "the same examples give the same model, to the last bit",
            bool(same and weights),
            f"{other.rounds:,} rounds and a loss of {other.loss:.10g} replayed, "
            f"{self.certificate.rounds:,} and {self.certificate.loss:.10g} in the model",
        )
        found = {point.rounds: point for point in self.again.record.points}
        shared = [point for point in self.record.points if point.rounds in found]
        wrong = [point.rounds for point in shared if found[point.rounds] != point]
        yield Verdict(
            "every line of its table is what the replay gives",
            not wrong if shared or not self.record.points else None,
            f"{len(shared)} of {len(self.record.points)} lines compared"
            + (f", the first that differs is that of round {wrong[0]:,}" if wrong else ""),
        )

    def _metrics(self) -> Iterator[Verdict]:
        record = self.record
        for text, kept, again in (
            ("the measures of its progress", record.metrics, self.again.metrics),
            ("the measures of what was held out", record.held_metrics, self.again.held),
        ):
            if kept:
                stated, found = metrics_for(self.learner.loss, kept).summary(), again.summary()
                if "repeat_error" not in stated:
                    # A model file of an earlier version states none.
                    found.pop("repeat_error", None)
                yield Verdict(
                    f"{text} are what the replay gives",
                    stated == found,
                    f"stated {metrics_line(stated)}; found {metrics_line(found)}",
                )

    def _gather(self, solution: nr.Solution | str) -> None:
        best = None if isinstance(solution, str) else solution.weights
        for name, u in self._tried(best).items():
            fitted = self.certificate.mirror.predictors().fitted(u, self.radius)
            if fitted is not None:
                fitted = fitted if self.sizes is None else fitted / self.sizes
                self.comparators.append((name, fitted, self.loss_of(fitted)))

    def _is_exact(self) -> bool:
        """Whether the solution is the minimum over the very class of the floor."""
        return False

    def _floor(self, solution: nr.Solution | str) -> Iterator[Verdict]:
        floor = self.certificate.floor(self.radius)
        text = f"{self.certificate.describe(self.radius)} lost at least {down(floor)} "
        text += f"by {self.certificate.objective}"
        if not self.comparators:
            yield Verdict(text, None, "no predictor of the class to try")
            return
        name, _, least = min(self.comparators, key=lambda entry: entry[2])
        detail = f"the least found is {up(least, 10)} ({name})"
        if self._is_exact() and not isinstance(solution, str):
            detail = (
                f"the minimum lies between {down(solution.dual, 10)} and {up(solution.primal, 10)}"
            )
            least = min(least, solution.primal)
        if isinstance(solution, str):
            detail += f"; not solved: {solution}"
        elif not solution.converged:
            detail += f"; the solver stopped after {solution.passes:,} passes"
        yield Verdict(text, floor <= least, detail, stated=floor, found=least)
        bound = self.certificate.regret_bound(self.radius)
        regret = self.certificate.loss - least
        yield Verdict(
            f"the regret against this class is at most {up(bound)}",
            regret <= bound,
            f"measured against the best found: {up(regret, 10)}",
            stated=bound,
            found=regret,
        )

    def _regularized(self) -> Iterator[Verdict]:
        certificate = self.certificate
        try:
            floor = certificate.regularized_floor()
        except ValueError as error:
            yield Verdict("the regularised floor", None, f"not stated: {error}", applies=False)
            return
        eta = float(certificate.ledger[Entry.LAST_ETA])
        tried = (loss + self._penalty(u, eta) for _, u, loss in self.comparators)
        best = min(tried, default=math.inf)
        yield Verdict(
            f"every {certificate.predictor} has {self._regularised(eta)} of at least {down(floor)}",
            floor <= best,
            f"the least found is {up(best, 10)}",
            stated=floor,
            found=best,
        )

    def _regularised(self, eta: float) -> str:
        """Return in words what the regularised floor is about."""
        certificate = self.certificate
        words = f"a sum of {certificate.objective}"
        if certificate.curvature > 0.0:
            return words
        words += f", plus R({certificate.predictor})"
        if certificate.evidence.factors is not None:
            return f"{words} at the rate of each feature,"
        return f"{words}/{exact(eta)},"

    def _penalty(self, u: Vector, eta: float) -> float:
        certificate = self.certificate
        if certificate.curvature > 0.0:
            return 0.0
        factors = certificate.evidence.factors
        if factors is None:
            value = certificate.mirror.regularizer(u, eta, certificate.rounds)
            return value * CLOSED_FORM
        factors = np.pad(factors, (0, len(u) - len(factors)))
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(u == 0.0, 0.0, u * u / (2.0 * factors))
        lasso = certificate.mirror.threshold(certificate.rounds) * float(np.abs(u).sum())
        return float(terms.sum()) * CLOSED_FORM + lasso

    def _theorems(self) -> Iterator[Verdict]:
        certificate = self.certificate
        measures = {
            "loss": certificate.loss,
            "penalised loss": certificate.loss,
            "mistakes": float(certificate.mistakes),
            "loss on mistakes": certificate.sum_of(Entry.COUNTED_LOSS),
        }
        for bound in certificate.bounds_for(self.radius):
            text = " ".join(str(bound).split())
            if not bound.applies:
                yield Verdict(text, None, bound.reference, applies=False)
                continue
            tightest, by = math.inf, ""
            for name, _, loss in self.comparators:
                room = bound.factor * loss + bound.value - measures[bound.measure]
                if room < tightest:
                    tightest, by = room, name
            detail = f"{bound.reference}; {down(tightest)} to spare against {by}"
            found = bound.value - tightest if by else None
            holds = tightest >= 0.0 if by else None
            yield Verdict(text, holds, detail, stated=bound.value, found=found)


class LinearStatements(Statements):
    """The statements of a model with one vector of weights."""

    def __init__(self, learner: Learner, record: Record, **options: Any) -> None:
        super().__init__(learner, record, **options)
        self.loss = cast("Loss", learner.loss)
        self._played = Certifier(self.loss)

    def add(self, rows: Block, predictions: Vector) -> None:
        """Take rows as they are learnt again, with the predictions made before."""
        self._played.add(rows, rows.y, predictions, rows.weight)

    def _take(self, replayed: Replay) -> None:
        super()._take(replayed)
        self.width = max(self.rows.width, len(self.certificate.gradient))
        # Those of the class that the certificate names: a mixture has none of its own.
        sizes = getattr(self.certificate.evidence, "sizes", None)
        if sizes is not None:
            sizes = np.pad(sizes, (0, self.width - len(sizes)))
            self.sizes = np.where(sizes > 0.0, sizes, 1.0)

    def _played_loss(self) -> tuple[float, float, int]:
        found = self._played.certificate()
        return found.loss, found.slack, found.mistakes

    def loss_of(self, u: Vector) -> float:
        """Return the loss of a fixed predictor on all rounds, not below the true one."""
        rows = self.rows
        predictions = margins(rows, u)
        certifier = Certifier(self.loss)
        certifier.add(rows, rows.y, predictions, self.weight)
        found = certifier.certificate()
        curved = 0.5 * self.certificate.curvature * float(u @ u)
        # The products <u, x> are rounded too; a slope of the loss carries that on.
        size = float(np.abs(predictions).max(initial=0.0)) * float(np.abs(found.gradient).max())
        rounding = 1e-13 * (found.loss + curved + size)
        return found.loss + curved + found.slack + rounding

    def _problem(self) -> tuple[Block, dict[str, Any]]:
        rows, mirror = self.rows, self.certificate.mirror
        if self.sizes is not None:
            rows = replace(rows, values=rows.values / self.sizes[rows.indices])
        if not mirror.in_two_norm():
            eta = float(self.certificate.ledger[Entry.LAST_ETA])
            return rows, {"mirror": mirror, "strength": 1.0 / eta}
        if not self.radius > 0.0:
            raise ValueError("the class holds nothing but zero")
        return rows, {"radius": self.radius, "l2": self.certificate.curvature or None}

    def _tried(self, best: Vector | None) -> dict[str, Vector]:
        units = np.ones(self.width) if self.sizes is None else self.sizes
        weights = linear_part(self.learner).weights
        last = np.pad(weights, (0, self.width - len(weights)))
        tried = {"zero": np.zeros(self.width), "the learner's last weights": last * units}
        if best is not None:
            tried["the best in hindsight"] = np.pad(best, (0, self.width - len(best)))
        return tried

    def _is_exact(self) -> bool:
        # Features divided by their sizes are rounded: the optimum is then another problem's.
        return self.sizes is None and self.certificate.mirror.in_two_norm()
