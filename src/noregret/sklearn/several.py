"""One certificate of several classes where each class has a learner or a problem of its own."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, overload

import numpy as np

from noregret.batch import Solution
from noregret.batch.problem import SUMMARY, solution_lines
from noregret.proof.certificate import Certificate
from noregret.proof.statement import RadiusProof, Statement, measured, plain
from noregret.proof.wording import floor_lines
from noregret.rounding import rounding_error, up_minus
from noregret.visible import visible


def _sum_below(values: Sequence[float]) -> float:
    """Return a number that is not above the sum of the values."""
    return math.fsum(values) - rounding_error(2.0, math.fsum(map(abs, values)))


def _sum_above(values: Sequence[float]) -> float:
    """Return a number that is not below the sum of the values."""
    return -_sum_below([-value for value in values])


@dataclass(frozen=True, eq=False)
class ByClass(RadiusProof, Sequence[Any]):
    """What is proved about the score of each class against the rest, in the order of the classes.

    `parts` are the certificates or solutions, which indexing and iteration give; `classes` the
    labels that belong to them.
    """

    parts: tuple[Any, ...]
    classes: tuple[Any, ...]

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Any, ...]: ...

    def __getitem__(self, place: int | slice) -> Any:
        return self.parts[place]

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def objective(self) -> str:
        """What is summed, in words."""
        each = "; or ".join(dict.fromkeys(part.objective for part in self.parts))
        return f"sum over {len(self.parts)} classes against the rest: {each}"

    def mapped(self, change: Callable[[Any], Any]) -> Self:
        """Return the same with every part changed."""
        return replace(self, parts=tuple(map(change, self.parts)))

    def called(self, classes: Sequence[Any]) -> Self:
        """Return the same with the labels of the classes."""
        return replace(self, classes=tuple(classes))

    def _lines(self, radius: float | None = None) -> list[str]:
        """Return the sums over the classes, and then every class by itself."""
        lines = self._sums(radius)
        for label, part in zip(self.classes, self.parts, strict=True):
            own = str(part) if radius is None else part.text(radius)
            first, *rest = own.splitlines()
            lines += [f"  class {visible(label)}: {first}", *(f"  {line}" for line in rest)]
        return lines

    @abstractmethod
    def _sums(self, radius: float | None) -> list[str]:
        """Return the lines about all classes together."""


@dataclass(frozen=True, eq=False)
class ClassCertificates(ByClass):
    """What the rounds of one learner a class prove: sums over the classes, and every class.

    >>> import numpy as np, noregret as nr
    >>> from noregret.sklearn import OnlineClassifier
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> model = OnlineClassifier(rate="coin_betting", passes=1, shuffle=False).fit(X, [0, 1, 2])
    >>> proof = model.certificate_
    >>> proof.rounds, len(proof), proof.floor(1.0) <= proof.loss
    (3, 3, True)
    """

    parts: tuple[Certificate, ...]

    @property
    def rounds(self) -> int:
        """How many rows were learnt; a class that appeared late has seen fewer."""
        return max(part.rounds for part in self.parts)

    @property
    def loss(self) -> float:
        """The losses of all scores, summed over the rounds."""
        return math.fsum(part.loss for part in self.parts)

    @property
    def average_loss(self) -> float:
        """The losses of all scores a round."""
        return self.loss / self.rounds if self.rounds else 0.0

    @property
    def broken(self) -> bool:
        """Whether the loss of a class broke a promise: then nothing is stated about the sum."""
        return any(part.broken is not None for part in self.parts)

    def describe(self) -> str:
        """Return in words the class that `floor(radius)` speaks about."""
        return "one u a class, each as named below,"

    @property
    def bounds(self) -> list[Statement]:
        """No theorem: those about each class are in its part."""
        return []

    def floor(self, radius: float | None = None) -> float:
        """Return what one fixed u a class, each of the class of its score, lost at least in sum."""
        return _sum_below([part.floor(radius) for part in self.parts])

    def regret_bound(self, radius: float | None = None) -> float:
        """Return a proved upper bound on the loss minus that of any such choice of u."""
        return _sum_above([part.regret_bound(radius) for part in self.parts])

    def regret(self, U: Any) -> float:
        """Return an upper bound on the loss minus that of the columns of U, d x K."""
        matrix = np.asarray(U, np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.parts):
            raise ValueError(f"U has shape {matrix.shape}, expected a column a class")
        columns = zip(self.parts, matrix.T, strict=True)
        return _sum_above([part.regret(u) for part, u in columns])

    def as_dict(self, radius: float | None = None) -> dict[str, Any]:
        """Return the sums, and the certificate of every class under its label, ready for JSON."""
        result: dict[str, Any] = {
            "rounds": self.rounds,
            "objective": self.objective,
            "loss": self.loss,
            "average_loss": self.average_loss,
            "radius": radius,
        }
        if self.broken:
            result |= {"floor": None, "regret_bound": None}
        elif self._has_floor(radius):
            result |= {"floor": self.floor(radius), "regret_bound": self.regret_bound(radius)}
        pairs = zip(self.classes, self.parts, strict=True)
        return result | {"classes": {str(one): part.as_dict(radius) for one, part in pairs}}

    def _has_floor(self, radius: float | None) -> bool:
        return radius is not None or all(part.radius is not None for part in self.parts)

    def _sums(self, radius: float | None) -> list[str]:
        lines = [
            f"Certificate after {self.rounds:,} rounds, {self.objective}",
            measured("loss, all classes", self.loss, self.rounds),
        ]
        if self.broken:
            lines.append("  no statement: the loss of a class broke a promise, as named below")
        elif self._has_floor(radius):
            words = f"{self.describe()} lost at least that much in sum"
            lines += floor_lines(self, radius, words)
        return lines


@dataclass(frozen=True, eq=False)
class ClassSolutions(ByClass):
    """The solutions of one problem a class: `dual <= minimum <= primal` for their sum, too."""

    parts: tuple[Solution, ...]

    @property
    def primal(self) -> float:
        """The sum of the objectives, rounded up."""
        return _sum_above([part.primal for part in self.parts])

    @property
    def dual(self) -> float:
        """A number that the sum of the objectives is nowhere below."""
        return _sum_below([part.dual for part in self.parts])

    @property
    def gap(self) -> float:
        """How much better other coefficients can be at most, in sum."""
        return up_minus(self.primal, self.dual)

    @property
    def passes(self) -> int:
        """How many passes the slowest solution took."""
        return max(part.passes for part in self.parts)

    @property
    def converged(self) -> bool:
        """Whether all solutions are as near to the optimum as was asked for."""
        return all(part.converged for part in self.parts)

    def as_dict(self) -> dict[str, Any]:
        """Return the sums, and the numbers of every class under its label, ready for JSON."""
        pairs = zip(self.classes, self.parts, strict=True)
        classes = {str(one): part.as_dict() for one, part in pairs}
        return {name: plain(getattr(self, name)) for name in SUMMARY} | {"classes": classes}

    def _sums(self, radius: float | None) -> list[str]:
        return solution_lines(self, "no predictors have less than")
