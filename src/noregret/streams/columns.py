"""What the columns of a table are: a label, a weight, numbers, categories, or skipped.

The same rules hold for CSV, Arrow, Parquet and data frames:
- the label is the column that is named, or that has the position given (a column called "0" comes
  before position 0, and -1 is the last), else one called label, target, class or y, whatever its
  case (the first of these names that occurs counts), else the last column; columns that are
  ignored are not looked at;
- a column is numeric when at least nine tenths of what the first rows hold in it are numbers, or
  true and false, which are 1 and 0 (the rest is then refused, line by line); one without any
  value in those rows is taken as numeric;
- it is one of dates when as many are dates (see `moments`), otherwise categorical; numbers with a
  decimal comma are refused;
- a numeric column is one feature named like the column, a category one called "column=value";
- in text an empty value, NA, NaN, nan and ? are missing, in tables null and NaN are: the
  feature "column=missing" in place of the value, or with missing="refuse" an error;
- with unlabelled="keep", as for predictions, a missing label is NaN, and there need not be a
  column of labels: the last column is then none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from noregret.arguments import ArgumentError
from noregret.streams.errors import StreamError, short
from noregret.streams.labels import Labels
from noregret.streams.reading import COLUMN_LISTS, Reading

_POSITION = re.compile("-?[0-9]{1,9}")

#: What a column is for, as the kernels know it.
(
    SKIPPED, NUMBER, CATEGORY, LABEL, NAMED_LABEL, WEIGHT, UNKNOWN, CLASS, DATE, WORDS, ID,
) = range(11)  # fmt: skip
#: What columns of features are.
FEATURES = (NUMBER, CATEGORY, DATE, WORDS)

#: What else could be done, after what is expected.
INDICATED = " (missing values can be read as an indicator feature)"
NAMES_READ = " (read names as two classes, or as several)"

LABEL_NAMES = ("label", "target", "class", "y")
MISSING_TEXTS = frozenset((b"", b"NA", b"NaN", b"nan", b"?"))
TRUTHS = {b"true": 1.0, b"True": 1.0, b"TRUE": 1.0, b"false": 0.0, b"False": 0.0, b"FALSE": 0.0}
#: The share of numbers that makes a column numeric.
_NUMERIC_SHARE = 0.9
_SHOWN_NAMES = 12
#: Number of labels that an error repeats, and of characters of each.
_SHOWN_LABELS, _SHOWN = 4, 24
#: Fewest rows by which a category is said to have too many values.
_FEWEST = 100

#: The number of first lines that decide which columns are numeric and what labels are called.
LOOK = 1000


def target_among(names: Sequence[str], reading: Reading, where: str) -> str | None:
    """Return the name of the column that holds the labels, None if there need not be one.

    >>> target_among(["Y", "age", "Class"], Reading(), "a.csv")
    'Class'
    >>> target_among(["age", "income"], Reading(), "a.csv")
    'income'
    >>> target_among(["age", "income"], Reading(unlabelled="keep"), "a.csv")
    """
    keep = reading.unlabelled == "keep"
    if reading.target is not None:
        chosen = str(reading.target)
        if chosen not in names and _POSITION.fullmatch(chosen):
            if not -len(names) <= int(chosen) < len(names):
                raise ArgumentError(
                    "target",
                    f"{where} has {len(names)} columns, counted from 0, or from -1 at the end",
                    reading.target,
                )
            return names[int(chosen)]
        return None if keep and chosen not in names else chosen
    taken = {reading.weight, reading.id, *reading.ignore, *reading.text}
    free = [name for name in names if name not in taken]
    found = usual_label(free)
    if found is None and not keep:
        if not free:
            raise ArgumentError("target", f"{where} has no column for a label")
        return free[-1]
    return found


def usual_label(names: Iterable[str]) -> str | None:
    """Return the name that labels usually have, whatever its case, None if there is none.

    >>> usual_label(["Y", "age", "Class"]), usual_label(["age"])
    ('Class', None)
    """
    by_lower_case = {name.lower(): name for name in reversed([*names])}
    return next((by_lower_case[name] for name in LABEL_NAMES if name in by_lower_case), None)


def roles_of(names: Sequence[str], reading: Reading, where: str) -> dict[str, int]:
    """Return what each column is for.

    Features are UNKNOWN unless the reading says which are categorical or numeric, and whether
    the label is a name is not known: that is for the reader to find out from the first rows.
    """
    known = {*names}
    if len(known) < len(names):
        twice = next(one for k, one in enumerate(names) if one in names[:k])
        raise StreamError(f"{where}: two columns are called {twice!r}, expected different names")
    target = target_among(names, reading, where)
    asked: dict[str, tuple[str | None, ...]] = {
        "target": (target,),
        "weight": (reading.weight,),
        "id": (reading.id,),
    }
    asked |= {name: getattr(reading, name) or () for name in COLUMN_LISTS}
    if reading.unlabelled == "keep":
        # What was ignored while learning, as what is known only later, need not be there.
        del asked["ignore"]
    for argument, columns in asked.items():
        for name in columns:
            if name is not None and name not in known:
                shown = ", ".join(map(repr, names[:_SHOWN_NAMES]))
                more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
                raise ArgumentError(
                    argument, f"{where} has no such column, expected one of {shown}{more}", name
                )
    special = {reading.weight: WEIGHT, reading.id: ID, target: LABEL}
    kinds = dict.fromkeys(reading.numeric, NUMBER) | dict.fromkeys(reading.categorical, CATEGORY)
    kinds |= dict.fromkeys(reading.dates, DATE) | dict.fromkeys(reading.text, WORDS)
    kept = ({*names} if reading.keep is None else {*reading.keep}) - {*reading.ignore}
    return {
        name: special.get(name, kinds.get(name, UNKNOWN) if name in kept else SKIPPED)
        for name in names
    }


def having(roles: Mapping[str, int], *wanted: int) -> list[str]:
    """Return the names of the columns with one of some roles, role by role.

    >>> having({"a": NUMBER, "b": CATEGORY, "c": NUMBER}, CATEGORY, NUMBER)
    ['b', 'a', 'c']
    """
    return [name for role in wanted for name, its_role in roles.items() if its_role == role]


def target_of(roles: Mapping[str, int]) -> str | None:
    """Return the name of the column that holds the labels, None if there is none."""
    return next(iter(having(roles, LABEL, NAMED_LABEL, CLASS)), None)


def is_numeric(numbers: int, others: int) -> bool:
    """Whether a column with `numbers` numbers and `others` other values is numeric."""
    return numbers >= _NUMERIC_SHARE * (numbers + others)


def distinct_note(name: str, distinct: int, rows: int) -> str:
    """Return a remark about a category that has nearly as many values as rows, or nothing.

    >>> distinct_note("note", 1000, 1000)
    "column 'note': 1,000 distinct values in 1,000 rows: is it text, or to be ignored?"
    """
    if rows < _FEWEST or distinct < _NUMERIC_SHARE * rows:
        return ""
    counted = f"column {name!r}: {distinct:,} distinct values in {rows:,} rows"
    return f"{counted}: is it text, or to be ignored?"


def missing_note(name: str) -> str:
    """Return the remark about the first missing value of a column."""
    return f"column {name!r}: missing values count as 0 with the indicator feature '{name}=missing'"


def given_names(labels: Labels) -> tuple[str, str] | None:
    """Return the two names of labels where the rule is a pair of names."""
    match labels:
        case (str() as negative, str() as positive):
            return negative, positive
    return None


def label_expected(pair: tuple[str, str] | None, classes: bool = False) -> str:
    """Return what a label should have been.

    >>> label_expected(("ham", "spam"))
    "'ham' or 'spam' as label"
    """
    if pair is not None:
        return f"{pair[0]!r} or {pair[1]!r} as label"
    return f"a {'class' if classes else 'finite number'} as label"


def named_pair(found: Iterable[str], where: str) -> tuple[str, str]:
    """Return the two names among labels found, in alphabetical order: negative, positive."""
    names = sorted(set(found))
    if len(names) != 2:
        few = ", ".join(repr(short(name, _SHOWN)) for name in names[:_SHOWN_LABELS])
        more = len(names) - _SHOWN_LABELS
        few += f" and {more:,} more" if more > 0 else ""
        found_them = f"the label{'s' * (len(names) > 1)} {few}" if names else "no label"
        raise StreamError(
            f"{where}: found {found_them} in the first rows, expected two; name the negative and "
            "the positive one, read labels as several classes, or predict another column",
            "labels",
        )
    return names[0], names[1]
