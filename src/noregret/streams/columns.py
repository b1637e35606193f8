"""What the columns of a table are: a label, a weight, numbers, categories, or nothing of use.

The same rules hold for CSV, Arrow, Parquet and data frames:
- the label is the column that is named, else one called label, target, class or y, whatever its
  case (the first of these names that occurs counts), else the last column;
- a column is numeric when at least nine tenths of what the first rows hold in it are numbers
  (the rest is then refused, line by line), otherwise categorical; one without any value in
  those rows is taken as numeric;
- a numeric column is one feature named like the column, a category one called "column=value";
- an empty value, NA, NaN, nan and ? are missing: refused, or with missing="indicator" the
  feature "column=missing" in place of the value;
- with unlabelled="keep", as for predictions, a missing label is NaN, and there need not be a
  column of labels: the last column is then none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from noregret.streams.errors import StreamError
from noregret.streams.labels import Labels

Missing: TypeAlias = Literal["refuse", "indicator"]
Unlabelled: TypeAlias = Literal["refuse", "keep"]

#: What a column is for, as the kernels know it.
SKIPPED, NUMBER, CATEGORY, LABEL, NAMED_LABEL, WEIGHT, UNKNOWN = range(7)

LABEL_NAMES = ("label", "target", "class", "y")
MISSING_TEXTS = frozenset((b"", b"NA", b"NaN", b"nan", b"?"))
#: The share of numbers that makes a column numeric.
_NUMERIC_SHARE = 0.9
_SHOWN_NAMES = 12


@dataclass(frozen=True)
class Choice:
    """What is asked of the columns of a table, by their names."""

    label: str | None = None
    weight: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    missing: Missing = "refuse"
    unlabelled: Unlabelled = "refuse"

    def __post_init__(self) -> None:
        """Refuse what no table can satisfy."""
        if self.missing not in ("refuse", "indicator"):
            raise StreamError(f'missing={self.missing!r}: expected "refuse" or "indicator"')
        if self.unlabelled not in ("refuse", "keep"):
            raise StreamError(f'unlabelled={self.unlabelled!r}: expected "refuse" or "keep"')
        if both := sorted({*self.categorical} & {*self.numeric}):
            raise StreamError(f"column {both[0]!r} cannot be both categorical and numeric")
        if self.label is not None and self.label in self.categorical:
            raise StreamError(f"column {self.label!r} cannot be both label and categorical")
        if self.keep is not None and self.drop:
            raise StreamError("keep= and drop= exclude each other: give one of them")
        if self.label is not None and self.label == self.weight:
            raise StreamError(f"column {self.label!r} cannot be both label and weight")


def choose(
    label: str | None = None,
    weight: str | None = None,
    drop: str | Iterable[str] = (),
    keep: str | Iterable[str] | None = None,
    categorical: str | Iterable[str] = (),
    numeric: str | Iterable[str] = (),
    missing: Missing = "refuse",
    unlabelled: Unlabelled = "refuse",
) -> Choice:
    """Return the choice with every list of names as a tuple; one name need not be a list."""

    def names(given: str | Iterable[str]) -> tuple[str, ...]:
        return (given,) if isinstance(given, str) else tuple(given)

    kept = None if keep is None else names(keep)
    return Choice(
        label=label,
        weight=weight,
        drop=names(drop),
        keep=kept,
        categorical=names(categorical),
        numeric=names(numeric),
        missing=missing,
        unlabelled=unlabelled,
    )


def label_among(names: Sequence[str], choice: Choice, where: str) -> str | None:
    """Return the name of the column that holds the labels, None if there need not be one.

    >>> label_among(["Y", "age", "Class"], Choice(), "a.csv")
    'Class'
    >>> label_among(["age", "income"], Choice(), "a.csv")
    'income'
    >>> label_among(["age", "income"], Choice(unlabelled="keep"), "a.csv")
    """
    keep = choice.unlabelled == "keep"
    if choice.label is not None:
        return None if keep and choice.label not in names else choice.label
    free = [name for name in names if name != choice.weight]
    if not free:
        raise StreamError(f"{where}: there is no column for a label")
    by_lower_case = {name.lower(): name for name in reversed(free)}
    found = (by_lower_case[name] for name in LABEL_NAMES if name in by_lower_case)
    return next(found, None if keep else free[-1])


def roles_of(names: Sequence[str], choice: Choice, where: str) -> tuple[list[int], str | None]:
    """Return what each column is for, and the name of the label's column.

    Features are UNKNOWN unless the choice says which are categorical or numeric, and whether
    the label is a name is not known: that is for the reader to find out from the first rows.
    """
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise StreamError(f"{where}: two columns are called {twice!r}, expected different names")
    label = label_among(names, choice, where)
    asked = [*choice.drop, *(choice.keep or ()), *choice.categorical, *choice.numeric]
    for name in (label, choice.weight, *asked):
        if name is not None and name not in names:
            shown = ", ".join(map(repr, names[:_SHOWN_NAMES]))
            more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
            raise StreamError(
                f"{where}: there is no column {name!r}, expected one of {shown}{more}"
            )

    def role(name: str) -> int:
        if name == label:
            return LABEL
        if name == choice.weight:
            return WEIGHT
        if name in choice.drop or (choice.keep is not None and name not in choice.keep):
            return SKIPPED
        if name in choice.categorical:
            return CATEGORY
        return NUMBER if name in choice.numeric else UNKNOWN

    return [role(name) for name in names], label


def is_numeric(numbers: int, others: int) -> bool:
    """Return whether a column with so many numbers and other values is a column of numbers."""
    return numbers >= _NUMERIC_SHARE * (numbers + others)


def given_names(labels: Labels) -> tuple[str, str] | None:
    """Return the two names of labels where the rule is a pair of names."""
    if isinstance(labels, tuple):
        negative, positive = labels
        if isinstance(negative, str) and isinstance(positive, str):
            return negative, positive
    return None


def named_pair(found: Iterable[str], where: str) -> tuple[str, str]:
    """Return the two names among labels found, in alphabetical order: negative, positive."""
    names = sorted(set(found))
    if len(names) != 2:
        shown = ", ".join(map(repr, names[:_SHOWN_NAMES]))
        raise StreamError(
            f"{where}: found the label{'s' * (len(names) != 1)} {shown} in the first rows, "
            "expected two; name them with labels=(negative, positive)"
        )
    return names[0], names[1]
