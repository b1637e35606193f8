"""The options by which commands read their examples; names are the keywords of `nr.Reading`."""

from __future__ import annotations

from functools import partial

from noregret.cli.table import Option

#: The heading of these options.
READING = "Reading"
#: The commands that read examples as the command line says.
READERS = "learn predict compare certify hindsight drift audit convert explain"

_read = partial(Option, commands=READERS, group=READING)
_column = partial(_read, value="COLUMN")
_columns = partial(_column, several=True)

READING_OPTIONS = (
    _read(
        "format",
        help="The format of the files.",
        words=("svmlight", "vw", "csv", "tsv", "jsonl", "parquet", "arrow"),
        shown="as the name tells",
    ),
    _read(
        "labels",
        help="The two classes as the file writes them.",
        flags="--classes-as",
        value="NEGATIVE,POSITIVE",
        shown="found out: -1 and 1, 0 and 1, 1 and 2, or two names",
    ),
    _column(
        "target",
        help="Tables: the column to predict, by name or position (0 is the first, -1 the last).",
        shown="label, target, class or y, else the last",
    ),
    _read(
        "header",
        help="csv: whether the first line has the names of the columns; without it they are 0, 1, "
        "...",
        kind=bool,
        flags="--header/--no-header",
        shown="header",
    ),
    _column("weight", help="Tables: the column of importance weights."),
    _column(
        "id",
        help="Tables: a column that identifies rows and is not a feature; `tag` for vw. "
        "Predictions are written with it.",
    ),
    _columns(
        "ignore",
        help="A column to leave out, or the first letter of a namespace of vw; repeat for several.",
    ),
    _columns("keep", help="A column or namespace to use, and no others; repeat for several."),
    _columns(
        "categorical",
        help="Tables: a column of categories, though it holds numbers; repeat for several.",
    ),
    _columns(
        "text",
        help="Tables: a column of text, whose words are features; repeat for several.",
    ),
    _read("ngram", help="--text: up to N words in a row are a feature.", kind=int, shown="1"),
    _read("skips", help="--text: words that --ngram may leave out.", kind=int, shown="0"),
    _read(
        "missing",
        help="Tables: what an empty value is, a feature of its own beside 0 (`indicator`) or an "
        "error (`refuse`).",
        words=("indicator", "refuse"),
        shown="indicator",
    ),
    _read("separator", help="csv: the character between fields.", value="CHARACTER", shown=","),
    _read("encoding", help="How text is encoded.", shown="utf-8"),
    _read(
        "bits",
        help="Hash names into 2^N columns, or 0 to keep all names in a dictionary.",
        kind=int,
        flags="--bits -b",
        shown="18 for vw and --text, 0 for the rest",
    ),
    _read(
        "remember",
        help="Keep the first N names of hashed features in the model, at a cost of time; "
        "`inspect MODEL FILE` finds names without it.",
        kind=int,
        shown="0",
    ),
    _columns(
        "interactions",
        help="Products of two columns, as in -q age*city, or of two namespaces of vw, as in "
        "-q ab; repeat for several.",
        flags="--interactions -q",
        value="PAIR",
    ),
    _read(
        "constant",
        help="Value of a feature that every example has, 0 for none.",
        kind=float,
        flags="--intercept",
        shown="1",
    ),
    _read("first_index", help="svmlight: what features count from, 1 or 0.", kind=int, shown="1"),
    _read(
        "width",
        help="How many features there are at most, beside the intercept. The entropies need it, "
        "except for hashed features.",
        kind=int,
        flags="--features",
        shown="found out",
    ),
    _read(
        "shuffle",
        help="Shuffle the rows of files, all in memory, by this seed.",
        kind=int,
        value="SEED",
        shown="the order of the files",
    ),
    _read(
        "on_error",
        help="What a bad line does: `stop` the run, `skip` it, or skip it and show the first "
        "(`count`).",
        words=("stop", "skip", "count"),
        shown="stop",
    ),
    _read(
        "threads",
        help="How many threads parse ahead, 0 for none.",
        kind=int,
        shown="2, or 1 on a single core",
    ),
)
