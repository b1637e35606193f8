"""Shared by learners on finite classes: tables of labels, sets as bits, and certificates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.arrays import as_real, first_true, refuse_masked
from noregret.files.fields import Arrays, Header, Setting
from noregret.proof.statement import Proof, Statement
from noregret.rounding import up
from noregret.visible import shown

Bits = npt.NDArray[np.uint8]

#: Upper limit on rates: larger ones change nothing, and sums over rounds must not overflow.
MOST_RATE = 1e100
SURVEY = "Shalev-Shwartz 2012"


class FiniteClass:
    """A finite class H on finitely many points, as a table of labels: one row a hypothesis.

    Hypotheses that agree on all points are one and the same: the first of equal rows is kept,
    in the order given. A version space V is a Python integer whose bit i says whether
    hypothesis i is in it, so that V & column, its complement and its size take |H| / 64 steps.

    >>> h = FiniteClass([[0, 0], [0, 1], [1, 1], [0, 1]])
    >>> h.size, h.points, h.origin
    (3, 2, (0, 1, 2))
    >>> h.members(h.part(h.everything, 1, 1))
    [1, 2]
    """

    def __init__(self, table: Any) -> None:
        rows = _labels(table)
        kept: dict[bytes, int] = {}
        for i, row in enumerate(rows):
            kept.setdefault(row.tobytes(), i)
        #: For each hypothesis the first row of the table given that holds it.
        self.origin = tuple(kept.values())
        self.table: Bits = np.ascontiguousarray(rows[list(self.origin)])
        self.table.flags.writeable = False
        #: For each point the set of hypotheses that label it 1.
        self.columns = tuple(bits_of(column) for column in self.table.T)
        #: The set of all hypotheses.
        self.everything = (1 << len(self.table)) - 1

    @property
    def size(self) -> int:
        """The number of different hypotheses, |H|."""
        return len(self.table)

    @property
    def points(self) -> int:
        """The number of points, |X|."""
        return int(self.table.shape[1])

    def part(self, space: int, x: int, y: int) -> int:
        """Return the hypotheses of a version space that label point x with y."""
        return space & self.columns[x] if y else space & ~self.columns[x]

    def members(self, space: int) -> list[int]:
        """Return the indices of the hypotheses in a version space, ascending."""
        return [int(i) for i in np.flatnonzero(flags_of(self.space(space), self.size))]

    def point(self, x: Any, name: str = "x") -> int:
        """Return x as the index of a point, or refuse it in one line."""
        return _index(name, x, self.points, f"must be a point from 0 to {self.points - 1}")

    def space(self, space: Any) -> int:
        """Return a version space, all of H for None, or refuse it in one line."""
        if space is None:
            return self.everything
        if not isinstance(space, int) or not 0 <= space <= self.everything:
            raise ValueError(f"a version space must be bits of {self.size} hypotheses")
        return space

    def __repr__(self) -> str:
        return f"FiniteClass({self.size} hypotheses on {self.points} points)"


class ClassField(Setting):
    """The hypothesis class of a learner: arrays of a file, an argument of the constructor."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the table and the rows that its hypotheses come from."""
        arrays["table"] = owner.hypotheses.table
        arrays["origin"] = np.array(owner.hypotheses.origin, dtype=np.int64)

    def arguments(self, header: Header, arrays: Arrays) -> Header:
        """Return the class."""
        kept, origin = FiniteClass(arrays["table"]), arrays["origin"]
        sound = origin.dtype == np.int64 and origin.shape == (kept.size,) and origin[0] == 0
        if not sound or np.any(np.diff(origin) <= 0):
            raise ValueError(f"the rows that its hypotheses come from are not those of {kept}")
        kept.origin = tuple(origin.tolist())
        return {"hypotheses": kept}


class RateField(Setting):
    """A rate; 0 is the default of a class of one hypothesis, and not a rate to ask for."""

    def arguments(self, header: Header, arrays: Arrays) -> Header:
        """Return the rate, None for 0."""
        return {self.name: header[self.name] or None}


def as_class(hypotheses: Any) -> FiniteClass:
    """Return a class as it is, a table as a class."""
    return hypotheses if isinstance(hypotheses, FiniteClass) else FiniteClass(hypotheses)


def label(y: Any, name: str = "y") -> int:
    """Return y as a label, or refuse it in one line."""
    return _index(name, y, 2, "must be a label 0 or 1")


def pairs(hypotheses: FiniteClass, x: Any, y: Any) -> list[tuple[int, int]]:
    """Return points and their labels, one pair or sequences of them, all checked."""
    refuse_masked("x", x)
    refuse_masked("y", y)
    xs, ys = np.atleast_1d(np.asarray(x)), np.atleast_1d(np.asarray(y))
    if xs.ndim != 1 or xs.shape != ys.shape:
        raise ValueError(f"x and y must be one line each, got the shapes {xs.shape}, {ys.shape}")
    return [
        (hypotheses.point(a, f"x[{t}]"), label(b, f"y[{t}]"))
        for t, (a, b) in enumerate(zip(xs.tolist(), ys.tolist(), strict=True))
    ]


def between(name: str, value: Any, most: float) -> float:
    """Return a number above 0 and below `most`, or refuse it in one line."""
    must = f"must be a number between 0 and {most:g}"
    number = as_real(name, value, must)
    if not 0.0 < number < most:
        raise ValueError(f"{name} {must}, got {shown(value)}")
    return number


def bits_of(flags: Any) -> int:
    """Return the set of the indices where the flags are not 0.

    >>> bin(bits_of([1, 1, 0, 1]))
    '0b1011'
    """
    packed = np.packbits(np.asarray(flags, dtype=bool), bitorder="little")
    return int.from_bytes(packed.tobytes(), "little")


def flags_of(space: int, size: int) -> Bits:
    """Return a set of indices below `size` as flags.

    >>> flags_of(0b1011, 5).tolist()
    [1, 1, 0, 1, 0]
    """
    packed = np.frombuffer(space.to_bytes((size + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little")


def _index(name: str, value: Any, count: int, must: str) -> int:
    """Return a whole number from 0 to count - 1, or refuse it in one line."""
    number = as_real(name, value, must)
    if not 0.0 <= number < count or number % 1.0:
        raise ValueError(f"{name} {must}, got {shown(value)}")
    return int(number)


def _labels(table: Any) -> Bits:
    try:
        given = np.asarray(table)
    except ValueError as error:
        raise ValueError("the table must have rows of one length") from error
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"the table must have a row for each hypothesis and a column for each point, "
            f"got the shape {given.shape}"
        )
    if given.dtype.kind not in "biuf":
        raise ValueError(f"the table must hold 0 and 1, got {given.dtype}")
    wrong = first_true((given != 0) & (given != 1))
    if wrong:
        place = "row {} column {}".format(*wrong)
        raise ValueError(f"the table must hold 0 and 1, {place} is {given[wrong]}")
    return given.astype(np.uint8)


@dataclass(frozen=True, kw_only=True)
class Proved(Proof):
    """Rounds played, and bounds on their cost."""

    rounds: int
    bounds: tuple[Statement, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return super().as_dict() | {"bounds": [bound.as_dict() for bound in self.bounds]}

    def describe(self) -> str:
        """Return the competitors in words."""
        return "any hypothesis of the class"

    def _bound_lines(self) -> list[str]:
        return [f"  {bound}".replace("loss - L(u)", "regret") for bound in self.bounds]


@dataclass(frozen=True, kw_only=True)
class RegretCertificate(Proved):
    """The expected loss of a randomised learner beside the best in hindsight.

    The statements hold for every sequence of answers that does not know the learner's coins:
    they may depend on the probabilities announced, and on coins tossed before.
    """

    loss: float
    best: int

    @property
    def regret(self) -> float:
        """The loss beyond that of the best in hindsight."""
        return self.loss - self.best

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, ready for JSON."""
        return super().as_dict() | {"regret": self.regret}

    def _regret_lines(self, loss: str, best: str) -> list[str]:
        return [
            f"  {loss:<41}{self.loss:.6g}",
            f"  {best:<41}{self.best:,}",
            f"  {'regret':<41}{up(self.regret)}",
            *self._bound_lines(),
        ]


class CountedMistakes(Proved):
    """The mistakes of a deterministic learner, which are its loss."""

    mistakes: int

    @property
    def loss(self) -> float:
        """The number of mistakes."""
        return float(self.mistakes)


def mistake_bound(name: str, reference: str, value: int, reason: str) -> Statement:
    """Return a bound on a number of mistakes; a reason says why it does not apply."""
    stated = float("inf") if reason else float(value)
    return Statement(name, f"{SURVEY}, {reference}", stated, 0.0, "mistakes", not reason, reason)
