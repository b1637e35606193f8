"""How examples are read: every option of `nr.read`, its default, and the formats that know it."""

# ruff: noqa: RUF009 - the functions return fields
from __future__ import annotations

import codecs
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, get_args

from noregret.arguments import ArgumentError
from noregret.streams.labels import Classes, Labels, check

Missing: TypeAlias = Literal["indicator", "refuse"]
Unlabelled: TypeAlias = Literal["refuse", "keep"]
OnError: TypeAlias = Literal["stop", "skip", "count"]
DType: TypeAlias = Literal["float32", "float64"]
HashRule: TypeAlias = Literal["strings", "all"]
Bits: TypeAlias = int | Literal["auto"] | None

#: Fewest and most bits of a hashed column.
FEWEST_BITS, MOST_BITS = 1, 31

#: Kinds of input. The last three have no name to tell them: objects of Python, and the compact
#: form that `write_binary` makes, whose columns were settled when it was written.
FORMATS = ("svmlight", "vw", "csv", "tsv", "jsonl", "parquet", "arrow")
FRAME, PAIRS, COMPACT = "data frame", "iterable", "compact"

_EVERY = frozenset((*FORMATS, FRAME, PAIRS, COMPACT))
LINES = frozenset(("svmlight", "vw", "csv", "tsv", "jsonl"))
_TABLES = frozenset(("csv", "tsv", "parquet", "arrow", FRAME))
_COLUMNS = _TABLES | {"jsonl", PAIRS}
_NAMED = _COLUMNS | {"vw"}

#: Older names of options, as model files may keep them.
_FORMER = {"label": "target", "drop": "ignore"}
#: The default that a model file had in mind which keeps nothing about it.
_FORMER_DEFAULTS = {"missing": "refuse"}
#: Options that are several names of columns.
COLUMN_LISTS = ("ignore", "keep", "categorical", "numeric", "dates", "text")
_SEPARATORS = ",;\t|:"
#: More words in a row would make more features than a text has letters.
_LONGEST_GRAM = 8


def _option(
    default: Any,
    formats: frozenset[str],
    help: str,
    allows: Callable[[Any], bool] = lambda value: True,
    expected: str = "",
) -> Any:
    """Return a field: its default, the formats that know it, its explanation, and its values."""
    about = {"formats": formats, "help": help, "allows": allows, "expected": expected}
    return field(default=default, metadata=about)


def _choice(default: Any, formats: frozenset[str], help: str, *allowed: Any) -> Any:
    *first, last = map(repr, allowed)
    expected = f"{', '.join(first)} or {last}"
    return _option(default, formats, help, lambda value: value in allowed, expected)


@dataclass(frozen=True)
class Reading:
    """How examples become rows: plain data, which a model file keeps.

    Columns may be given as any iterable of names or as one name; they are kept as tuples. Each
    field has its explanation as `help` and the formats that know it in its metadata.

    >>> reading = Reading(target="price", ignore="id", constant=1.0)
    >>> reading.ignore, reading == Reading.from_dict(reading.as_dict())
    (('id',), True)
    """

    format: str | None = _option(
        None, _EVERY, "svmlight, vw, csv, tsv, jsonl, parquet or arrow; None tells it by the name"
    )
    labels: Labels = _option(
        "real", _EVERY, 'what labels are: "real", "binary", "classes" or (negative, positive)'
    )
    target: str | int | None = _option(
        None,
        _TABLES | {"jsonl"},
        "the column to predict, by name or position; None for label, target, class, y or last",
    )
    weight: str | None = _option(
        None, _TABLES | {"jsonl"}, "the column of importance weights, numbers from 0"
    )
    ignore: tuple[str, ...] = _option(
        (), _NAMED, "columns to leave out; of vw first letters of namespaces"
    )
    keep: tuple[str, ...] | None = _option(
        None, _NAMED, "the only columns to be used as features; of vw as for ignore"
    )
    categorical: tuple[str, ...] = _option(
        (), _COLUMNS, "columns of categories, though they may hold numbers"
    )
    numeric: tuple[str, ...] = _option(
        (), _TABLES, "columns of numbers, though the first rows may not look it"
    )
    dates: tuple[str, ...] = _option(
        (), _TABLES, "columns of dates, though the first rows may be empty"
    )
    text: tuple[str, ...] = _option((), _COLUMNS, "columns of text, whose words become features")
    ngram: int = _option(
        1,
        _COLUMNS,
        "words in a row that are a feature of a text, from 1",
        lambda value: 1 <= value <= _LONGEST_GRAM,
        f"1 to {_LONGEST_GRAM}",
    )
    skips: int = _option(
        0,
        _COLUMNS,
        "words that may be left out between those, from 0",
        lambda value: 0 <= value <= _LONGEST_GRAM,
        f"0 to {_LONGEST_GRAM}",
    )
    id: str | None = _option(
        None,
        _TABLES | {"jsonl", "vw"},
        'the column that tells rows apart, no feature; "tag" for vw',
    )
    missing: Missing = _choice(
        "indicator",
        _COLUMNS,
        'what an empty value is: "indicator" for 0 and a feature "column=missing", or "refuse"',
        *get_args(Missing),
    )
    unlabelled: Unlabelled = _choice(
        "refuse",
        _NAMED,
        'what a row without a label is: "refuse", or "keep" for the label NaN',
        *get_args(Unlabelled),
    )
    header: bool = _choice(
        True,
        frozenset(("csv", "tsv")),
        "whether the first line has the names of the columns; without it they are 0, 1, ...",
        True,
        False,
    )
    separator: str = _option(
        ",",
        frozenset(("csv",)),
        "the character between two fields",
        lambda value: len(value) == 1 and value in _SEPARATORS,
        f"one of {' '.join(map(repr, _SEPARATORS))}",
    )
    encoding: str = _option(
        "utf-8", LINES, 'how text is encoded, as Python calls it: "utf-8", "latin-1", ...'
    )
    bits: Bits = _option(
        "auto",
        _NAMED,
        'hash names into 2^bits columns, 1 to 31; 0 for a dictionary; "auto": 18 for vw, text',
        lambda value: value in ("auto", None) or FEWEST_BITS <= int(value or 1) <= MOST_BITS,
        f"{FEWEST_BITS} to {MOST_BITS}, 0 for a dictionary of names",
    )
    remember: int = _option(
        0,
        _NAMED,
        "how many names of hashed features to keep",
        lambda value: value >= 0,
        "how many names to keep, 0 for none",
    )
    hash: HashRule = _choice(
        "strings",
        frozenset(("vw",)),
        '"strings" takes names of digits for numbers, or "all"',
        *get_args(HashRule),
    )
    interactions: tuple[str, ...] = _option(
        (), _TABLES | {"vw"}, 'products of columns, as "age*city"; of namespaces of vw, as "ab"'
    )
    first_index: int = _choice(
        1, frozenset(("svmlight",)), "what features count from, 0 or 1", 0, 1
    )
    width: int = _option(
        0,
        frozenset(("svmlight",)),
        "how many columns there are, 0 if unknown",
        lambda value: value >= 0,
        "the number of features, 0 if unknown",
    )
    constant: float = _option(
        0.0,
        _NAMED | {"svmlight"},
        "the value of a feature that every row has, 0 for none",
        lambda value: math.isfinite(value),
        "a finite number, 0 for none",
    )
    dtype: DType = _choice(
        "float64",
        _EVERY - {COMPACT},
        'the type of the values, "float64" or "float32"',
        *get_args(DType),
    )
    shuffle: int | None = _option(
        None,
        _EVERY - {PAIRS},
        "a seed to shuffle all rows with, in memory; None for their order",
        lambda value: value is None or value >= 0,
        "a seed, from 0",
    )
    rows: int = _option(
        8192,
        _EVERY,
        "the most rows a block holds, from 1",
        lambda value: value >= 1,
        "at least one row in a block",
    )
    threads: int | None = _option(
        None,
        LINES,
        "how many threads parse ahead, 0 for none; None for two, if there are two cores",
        lambda value: value is None or value >= 0,
        "how many parse ahead, 0 for none",
    )
    on_error: OnError = _choice(
        "stop",
        _EVERY,
        'what a bad line does: "stop", "skip", or "count" to skip and keep messages',
        *get_args(OnError),
    )

    def __post_init__(self) -> None:
        """Make tuples of names, and refuse what no input can satisfy."""
        for name in (*COLUMN_LISTS, "interactions"):
            given = getattr(self, name)
            if given is not None:
                several = (given,) if isinstance(given, str | bytes) else tuple(given)
                texts = (one.decode() if isinstance(one, bytes) else one for one in several)
                object.__setattr__(self, name, tuple(texts))
        check(self.labels)
        try:
            # Encoding refuses what is a codec, but not one of text.
            "".encode(self.encoding)
        except (LookupError, TypeError):
            expected = "expected an encoding that Python knows, as 'latin-1'"
            raise ArgumentError("encoding", expected, self.encoding) from None
        object.__setattr__(self, "encoding", codecs.lookup(self.encoding).name)
        for name, about in FIELDS.items():
            value = getattr(self, name)
            if not about.metadata["allows"](value):
                raise ArgumentError(name, f"expected {about.metadata['expected']}", value)
        self._refuse_two_roles()

    def _refuse_two_roles(self) -> None:
        """Refuse a column that would have to be two things at once."""
        if self.keep is not None and self.ignore:
            raise ArgumentError(
                "keep",
                "names all columns that are used, so that none is left to be ignored",
                self.keep,
            )
        kinds = ("categorical", "numeric", "dates", "text")
        pairs = [
            *itertools.combinations(kinds, 2),
            *itertools.product(("target", "weight"), ("categorical", "dates", "text")),
            ("target", "weight"), ("target", "ignore"), ("weight", "ignore"), ("text", "ignore"),
            *(("id", one) for one in ("target", "weight", "ignore", *kinds)),
        ]  # fmt: skip
        for one, other in pairs:
            if both := sorted(self._columns(one) & self._columns(other)):
                roles = f"both {_ROLES.get(one, one)} and {_ROLES.get(other, other)}"
                raise ArgumentError(one, f"the column cannot be {roles}", both[0])

    def _columns(self, name: str) -> set[str]:
        value = getattr(self, name)
        return {*value} if isinstance(value, tuple) else {value} - {None}

    @property
    def hashed_bits(self) -> int | None:
        """The bits of hashed names, None for a dictionary; the format must be settled."""
        if self.bits == "auto":
            return 18 if self.format == "vw" or self.text else None
        return int(self.bits or 0) or None

    @property
    def said(self) -> list[str]:
        """The names of the options that are not at their default."""
        return [one.name for one in fields(self) if getattr(self, one.name) != one.default]

    def as_dict(self) -> dict[str, Any]:
        """Return every option as plain data, as JSON can hold it."""
        found: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Classes):
                value = {"classes": list(value.known)}
            found[one.name] = list(value) if isinstance(value, tuple) else value
        return found

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Reading:
        """Return the reading that `as_dict` or an older program has kept.

        >>> Reading.from_dict({"label": "price"}).target
        'price'
        """
        options = translated(kept)
        refuse_unknown(options)
        labels = options.get("labels")
        if isinstance(labels, dict):
            options["labels"] = Classes(tuple(labels["classes"]))
        elif isinstance(labels, list):
            options["labels"] = tuple(labels)
        return cls(**options)


_ROLES = {"target": "label", "ignore": "ignored"}
FIELDS = {one.name: one for one in fields(Reading)}


def refuse_unknown(options: Mapping[str, Any]) -> None:
    """Refuse options that `Reading` does not have."""
    for name, value in options.items():
        if name not in FIELDS:
            expected = ", ".join(FIELDS)
            raise ArgumentError(name, f"no option of reading, expected {expected}", value)


def translated(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that a model file keeps by their names of today, with what they implied.

    >>> translated({"drop": ["id"]})
    {'ignore': ['id'], 'missing': 'refuse'}
    """
    named = {_FORMER.get(name, name): value for name, value in kept.items()}
    # In the order in which they were kept: a model that is saved again has the same bytes.
    return named | {name: one for name, one in _FORMER_DEFAULTS.items() if name not in named}
