"""One certificate of several classes where each class has a learner or a problem of its own."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, overload

import numpy as np

from noregret.batch import Solution
from noregret.certificate import Certificate
from noregret.geometry import EPSILON
from noregret.rounding import down, up


@dataclass(frozen=True, eq=False)
class ByClass(Sequence[Any]):
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

    def called(self, classes: Sequence[Any]) -> Self:
        """Return the same with the labels of the classes."""
        return replace(self, classes=tuple(classes))

    def __str__(self) -> str:
        return self.text()

    def text(self, radius: float | None = None) -> str:
        """Return the sums over the classes for a person, and then every class by itself."""
        lines = self._sums(radius)
        for label, part in zip(self.classes, self.parts, strict=True):
            own = str(part) if radius is None else part.text(radius)
            first, *rest = own.splitlines()
            lines += [f"  class {label}: {first}", *(f"  {line}" for line in rest)]
        return "\n".join(lines)

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

    def floor(self, radius: float | None = None) -> float:
        """Return what one fixed u a class, each of the class of its score, lost at least in sum."""
        floors = [part.floor(radius) for part in self.parts]
        return math.fsum(floors) - EPSILON * math.fsum(map(abs, floors))

    def regret_bound(self, radius: float | None = None) -> float:
        """Return a proved upper bound on the loss minus that of any such choice of u."""
        bounds = [part.regret_bound(radius) for part in self.parts]
        return math.fsum(bounds) + EPSILON * math.fsum(map(abs, bounds))

    def regret(self, U: Any) -> float:
        """Return an upper bound on the loss minus that of the columns of U, d x K."""
        matrix = np.asarray(U, np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.parts):
            raise ValueError(f"U has shape {matrix.shape}, expected a column a class")
        columns = zip(self.parts, matrix.T, strict=True)
        bounds = [part.regret(u) for part, u in columns]
        return math.fsum(bounds) + EPSILON * math.fsum(map(abs, bounds))

    def as_dict(self, radius: float | None = None) -> dict[str, Any]:
        """Return the sums, and the certificate of every class under its label, ready for JSON."""
        result: dict[str, Any] = {
            "rounds": self.rounds,
            "objective": self.objective,
            "loss": self.loss,
            "average_loss": self.average_loss,
            "radius": radius,
        }
        if self._has_floor(radius):
            result |= {"floor": self.floor(radius), "regret_bound": self.regret_bound(radius)}
        pairs = zip(self.classes, self.parts, strict=True)
        return result | {"classes": {str(one): part.as_dict(radius) for one, part in pairs}}

    def _has_floor(self, radius: float | None) -> bool:
        return radius is not None or all(part.radius is not None for part in self.parts)

    def _sums(self, radius: float | None) -> list[str]:
        each = max(self.rounds, 1)
        loss = f"{self.loss:>14.6g}  {self.average_loss:.6g} a round"
        lines = [
            f"Certificate after {self.rounds:,} rounds, {self.objective}",
            f"  {'loss, all classes':<26}{loss}",
        ]
        if self._has_floor(radius):
            floor, regret = self.floor(radius), self.regret_bound(radius)
            lines += [
                f"  {'certified floor':<26}{down(floor):>14}  {down(floor / each)} a round",
                "    one u a class, each as named below, lost at least that much in sum",
                f"  {'proved regret':<26}{up(regret):>14}  {up(regret / each)} a round, at most",
            ]
        return lines


@dataclass(frozen=True, eq=False)
class ClassSolutions(ByClass):
    """The solutions of one problem a class: `dual <= minimum <= primal` for their sum, too."""

    parts: tuple[Solution, ...]

    @property
    def primal(self) -> float:
        """The sum of the objectives, rounded up."""
        values = [part.primal for part in self.parts]
        return math.fsum(values) + EPSILON * math.fsum(map(abs, values))

    @property
    def dual(self) -> float:
        """A number that the sum of the objectives is nowhere below."""
        values = [part.dual for part in self.parts]
        return math.fsum(values) - EPSILON * math.fsum(map(abs, values))

    @property
    def gap(self) -> float:
        """How much better other coefficients can be at most, in sum."""
        return self.primal - self.dual

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
        names = ("objective", "primal", "dual", "gap", "passes", "converged")
        pairs = zip(self.classes, self.parts, strict=True)
        classes = {str(one): {name: getattr(part, name) for name in names} for one, part in pairs}
        return {name: getattr(self, name) for name in names} | {"classes": classes}

    def _sums(self, radius: float | None) -> list[str]:
        state = "converged" if self.converged else "stopped"
        return [
            f"Best in hindsight, {self.objective}: {state} after {self.passes:,} passes",
            f"  {'objective':<28}{up(self.primal, 10):>18}",
            f"  {'no predictors have less than':<28}{down(self.dual, 10):>18}",
            f"  {'gap':<28}{up(self.gap, 3):>18}",
        ]


def summing(certificate: Any, course: str) -> Any:
    """Return a certificate that says which rounds it sums, such as "over 3 passes"."""
    if isinstance(certificate, ClassCertificates):
        parts = tuple(replace(part, course=course) for part in certificate.parts)
        return replace(certificate, parts=parts)
    return replace(certificate, course=course)
