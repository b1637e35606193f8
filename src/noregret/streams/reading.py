"""How examples are read: every option of `nr.read`, its default, and the formats that know it."""

from __future__ import annotations

import codecs
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from noregret.streams.errors import StreamError
from noregret.streams.labelling import Classes, Labels, check

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
_LINES = frozenset(("svmlight", "vw", "csv", "tsv", "jsonl"))
_TABLES = frozenset(("csv", "tsv", "parquet", "arrow", FRAME))
_COLUMNS = _TABLES | {"jsonl", PAIRS}
_NAMED = _COLUMNS | {"vw"}

#: Older names of options, as model files may keep them.
_FORMER = {"label": "target", "drop": "ignore"}
#: The default that a model file had in mind which keeps nothing about it.
_FORMER_DEFAULTS = {"missing": "refuse"}
#: Options that are several names of columns.
_COLUMN_LISTS = ("ignore", "keep", "categorical", "numeric", "dates", "text")
_SEPARATORS = ",;\t|:"
#: More words in a row would make more features than a text has letters.
_LONGEST_GRAM = 8


def _about(formats: frozenset[str], help: str) -> dict[str, Any]:
    return {"formats": formats, "help": help}


@dataclass(frozen=True)
class Reading:
    """How examples become rows: plain data, which a model file keeps.

    Columns may be given as any iterable of names or as one name; they are kept as tuples. Each
    field has its explanation as `help` and the formats that know it in its metadata.

    >>> reading = Reading(target="price", ignore="id", constant=1.0)
    >>> reading.ignore, reading == Reading.from_dict(reading.as_dict())
    (('id',), True)
    """

    format: str | None = field(
        default=None,
        metadata=_about(
            _EVERY, "svmlight, vw, csv, tsv, jsonl, parquet or arrow; None tells it by the name"
        ),
    )
    labels: Labels = field(
        default="real",
        metadata=_about(
            _EVERY, 'what labels are: "real", "binary", "classes" or (negative, positive)'
        ),
    )
    target: str | int | None = field(
        default=None,
        metadata=_about(
            _TABLES | {"jsonl"},
            "the column to predict, by name or position; None for label, target, class, y or last",
        ),
    )
    weight: str | None = field(
        default=None,
        metadata=_about(_TABLES | {"jsonl"}, "the column of importance weights, numbers from 0"),
    )
    ignore: tuple[str, ...] = field(
        default=(),
        metadata=_about(_NAMED, "columns to leave out; of vw first letters of namespaces"),
    )
    keep: tuple[str, ...] | None = field(
        default=None,
        metadata=_about(_NAMED, "the only columns to be used as features; of vw as for ignore"),
    )
    categorical: tuple[str, ...] = field(
        default=(), metadata=_about(_COLUMNS, "columns of categories, though they may hold numbers")
    )
    numeric: tuple[str, ...] = field(
        default=(),
        metadata=_about(_TABLES, "columns of numbers, though the first rows may not look it"),
    )
    dates: tuple[str, ...] = field(
        default=(), metadata=_about(_TABLES, "columns of dates, though the first rows may be empty")
    )
    text: tuple[str, ...] = field(
        default=(), metadata=_about(_COLUMNS, "columns of text, whose words become features")
    )
    ngram: int = field(
        default=1, metadata=_about(_COLUMNS, "words in a row that are a feature of a text, from 1")
    )
    skips: int = field(
        default=0, metadata=_about(_COLUMNS, "words that may be left out between those, from 0")
    )
    id: str | None = field(
        default=None,
        metadata=_about(
            _TABLES | {"jsonl", "vw"}, 'the column that tells rows apart, no feature; "tag" for vw'
        ),
    )
    missing: Missing = field(
        default="indicator",
        metadata=_about(
            _COLUMNS,
            'what an empty value is: "indicator" for 0 and a feature "column=missing", or "refuse"',
        ),
    )
    unlabelled: Unlabelled = field(
        default="refuse",
        metadata=_about(
            _NAMED, 'what a row without a label is: "refuse", or "keep" for the label NaN'
        ),
    )
    header: bool = field(
        default=True,
        metadata=_about(
            frozenset(("csv", "tsv")),
            "whether the first line has the names of the columns; without it they are 0, 1, ...",
        ),
    )
    separator: str = field(
        default=",", metadata=_about(frozenset(("csv",)), "the character between two fields")
    )
    encoding: str = field(
        default="utf-8",
        metadata=_about(_LINES, 'how text is encoded, as Python calls it: "utf-8", "latin-1", ...'),
    )
    bits: Bits = field(
        default="auto",
        metadata=_about(
            _NAMED,
            'hash names into 2^bits columns, 1 to 31; 0 for a dictionary; "auto": 18 for vw, text',
        ),
    )
    remember: int = field(
        default=0, metadata=_about(_NAMED, "how many names of hashed features to keep")
    )
    hash: HashRule = field(
        default="strings",
        metadata=_about(
            frozenset(("vw",)), '"strings" takes names of digits for numbers, or "all"'
        ),
    )
    interactions: tuple[str, ...] = field(
        default=(),
        metadata=_about(
            _TABLES | {"vw"}, 'products of columns, as "age*city"; of namespaces of vw, as "ab"'
        ),
    )
    first_index: int = field(
        default=1, metadata=_about(frozenset(("svmlight",)), "what features count from, 0 or 1")
    )
    width: int = field(
        default=0,
        metadata=_about(frozenset(("svmlight",)), "how many columns there are, 0 if unknown"),
    )
    constant: float = field(
        default=0.0,
        metadata=_about(
            _NAMED | {"svmlight"}, "the value of a feature that every row has, 0 for none"
        ),
    )
    dtype: DType = field(
        default="float64",
        metadata=_about(_EVERY - {COMPACT}, 'the type of the values, "float64" or "float32"'),
    )
    shuffle: int | None = field(
        default=None,
        metadata=_about(
            _EVERY - {PAIRS}, "a seed to shuffle all rows with, in memory; None for their order"
        ),
    )
    rows: int = field(default=8192, metadata=_about(_EVERY, "the most rows a block holds, from 1"))
    threads: int | None = field(
        default=None,
        metadata=_about(
            _LINES, "how many threads parse ahead, 0 for none; None for two, if there are two cores"
        ),
    )
    on_error: OnError = field(
        default="stop",
        metadata=_about(
            _EVERY, 'what a bad line does: "stop", "skip", or "count" to skip and keep messages'
        ),
    )

    def __post_init__(self) -> None:
        """Make tuples of names, and refuse what no input can satisfy."""
        for name in (*_COLUMN_LISTS, "interactions"):
            given = getattr(self, name)
            if given is not None:
                several = (given,) if isinstance(given, str | bytes) else tuple(given)
                object.__setattr__(self, name, tuple(map(_text, several)))
        check(self.labels)
        try:
            # Encoding refuses what is a codec, but not one of text.
            "".encode(self.encoding)
            object.__setattr__(self, "encoding", codecs.lookup(self.encoding).name)
        except (LookupError, TypeError):
            self._require(False, "encoding", "an encoding that Python knows, as 'latin-1'")
        for name, allowed in _CHOICES.items():
            *first, last = map(repr, allowed)
            expected = f"{', '.join(first)} or {last}"
            self._require(getattr(self, name) in allowed, name, expected)
        separators = " ".join(map(repr, _SEPARATORS))
        one = len(self.separator) == 1 and self.separator in _SEPARATORS
        self._require(one, "separator", f"one of {separators}")
        hashed = self.bits in ("auto", None) or FEWEST_BITS <= int(self.bits or 1) <= MOST_BITS
        self._require(hashed, "bits", f"{FEWEST_BITS} to {MOST_BITS}, 0 for a dictionary of names")
        self._require(self.remember >= 0, "remember", "how many names to keep, 0 for none")
        self._require(math.isfinite(self.constant), "constant", "a finite number, 0 for none")
        self._require(self.width >= 0, "width", "the number of features, 0 if unknown")
        self._require(1 <= self.ngram <= _LONGEST_GRAM, "ngram", f"1 to {_LONGEST_GRAM}")
        self._require(0 <= self.skips <= _LONGEST_GRAM, "skips", f"0 to {_LONGEST_GRAM}")
        self._require(self.shuffle is None or self.shuffle >= 0, "shuffle", "a seed, from 0")
        self._require(self.rows >= 1, "rows", "at least one row in a block")
        ahead = self.threads is None or self.threads >= 0
        self._require(ahead, "threads", "how many parse ahead, 0 for none")
        self._refuse_two_roles()

    def _require(self, condition: bool, name: str, expected: str) -> None:
        if not condition:
            raise StreamError(f"{name}={getattr(self, name)!r}: expected {expected}", name)

    def _refuse_two_roles(self) -> None:
        """Refuse a column that would have to be two things at once."""
        if self.keep is not None and self.ignore:
            raise StreamError(
                "columns to keep and columns to ignore exclude each other: name one kind", "keep"
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
                raise StreamError(f"column {both[0]!r} cannot be {roles}", one)

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
        for name in options:
            if name not in FIELDS:
                raise StreamError(
                    f"{name}: no option of reading, expected {', '.join(FIELDS)}", name
                )
        labels = options.get("labels")
        if isinstance(labels, dict):
            options["labels"] = Classes(tuple(labels["classes"]))
        elif isinstance(labels, list):
            options["labels"] = tuple(labels)
        return cls(**options)

    def restricted(self, format: str) -> Reading:
        """Return the reading with what a format does not know at its default.

        >>> Reading(target="y", constant=1.0).restricted("svmlight").said
        ['constant']
        """
        known = known_fields(format)
        unknown: dict[str, Any] = {
            name: FIELDS[name].default for name in self.said if name not in known
        }
        return replace(self, **unknown)


_CHOICES: dict[str, tuple[Any, ...]] = {
    "missing": get_args(Missing),
    "unlabelled": get_args(Unlabelled),
    "hash": get_args(HashRule),
    "dtype": get_args(DType),
    "on_error": get_args(OnError),
    "first_index": (0, 1),
    "header": (True, False),
}
_ROLES = {"target": "label", "ignore": "ignored"}
FIELDS = {one.name: one for one in fields(Reading)}


def known_fields(format: str) -> list[str]:
    """Return the names of the options that a format knows.

    >>> known_fields("svmlight")[2:6]
    ['encoding', 'first_index', 'width', 'constant']
    """
    return [name for name, one in FIELDS.items() if format in one.metadata["formats"]]


def translated(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that a model file keeps by their names of today, with what they implied.

    >>> translated({"drop": ["id"]})
    {'ignore': ['id'], 'missing': 'refuse'}
    """
    named = {_FORMER.get(name, name): value for name, value in kept.items()}
    # In the order in which they were kept: a model that is saved again has the same bytes.
    return named | {name: one for name, one in _FORMER_DEFAULTS.items() if name not in named}


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
