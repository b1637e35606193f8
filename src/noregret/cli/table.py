"""Rows of the tables of options and commands, and the options by which commands read examples.

Parsing, help, configuration files and shell completion follow from them.

Nothing here imports the library, so that help is quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

#: What the help writes for a value, by its type.
_VALUES = {str: "TEXT", int: "N", float: "X", Path: "FILE"}


@dataclass(frozen=True)
class Option:
    """An option or an argument of some commands.

    Attributes:
        name: keyword of the functions that take it, and `argument` of errors about it.
        commands: names of the commands that take it, separated by blanks.
        help: what it does, without its default.
        kind: type of its value; bool is a flag.
        flags: how it is written, separated by blanks; a word without hyphens is an argument that
            is told by its position [default: two hyphens and the name].
        default: value where nothing is said; `...` where something must be.
        shown: the default in words, where the value does not tell it.
        value: what the help writes for the value [default: by the type].
        words: what may be said: a kind of `nr.words`, or all words there are.
        several: whether it may be repeated; the value is then a list.
        least: the smallest number that it may be.
        group: heading in the help.
        passed: whether the functions of the commands take it.
    """

    name: str
    commands: str
    help: str
    kind: type[Any] = str
    flags: str = ""
    default: Any = None
    shown: str = ""
    value: str = ""
    words: str | tuple[str, ...] = ""
    several: bool = False
    least: int | None = None
    group: str = "Options"
    passed: bool = True

    @property
    def positional(self) -> bool:
        """Whether it is told by its position."""
        return self.flags[:1] not in ("", "-")

    @property
    def spellings(self) -> list[str]:
        """All ways to write it."""
        return self.flags.split() or [f"--{self.name.replace('_', '-')}"]

    @property
    def flag(self) -> str:
        """The name by which messages speak of it."""
        first = self.spellings[0].partition("/")[0]
        return first.strip("[].").lower() if self.positional else first

    @property
    def key(self) -> str:
        """Its name in a configuration file."""
        return self.name if self.positional else self.flag.lstrip("-")

    @property
    def silent(self) -> Any:
        """The value where nothing is said."""
        plain = self.kind is bool and "/" not in self.flags
        return False if plain else None if self.default is ... else self.default

    @property
    def usage(self) -> str:
        """How it is written, with its value."""
        word = self.words.upper() if isinstance(self.words, str) else "WORD"
        value = f" {self.value or word or _VALUES.get(self.kind, '')}".rstrip()
        return ", ".join(self.spellings) + value * (not self.positional)

    @property
    def about(self) -> str:
        """What it does, with its default."""
        known = self.silent not in (None, False)
        default = self.shown or (known and f"{self.silent}".removesuffix(".0"))
        needed = self.default is ... and not self.positional
        return self.help + (f" [default: {default}]" if default else " [required]" * needed)


_LEARN, _PROVE, _LOOK, _PREPARE = "Learn and predict", "Prove", "Look", "Prepare"
#: The heading of each command, and what it does.
COMMANDS = {
    "learn": (
        _LEARN,
        """Learn a stream and print what is proved about it.

            The table shows averages a round: the learner's loss, the loss since the line above,
            the certified floor that no fixed predictor of the class could have beaten on these
            very examples, and their difference, which the regret is at most.""",
    ),
    "predict": (
        _LEARN,
        """Predict with a saved model, one line an example.

            The labels of the file are used for nothing but the measures printed at the end.""",
    ),
    "compare": (
        _LEARN,
        """Let many learners learn the same examples in one pass, and rank them.

            All are measured by progressive validation. Losses can be compared where the loss is
            the same; accuracy, AUC or errors always.""",
    ),
    "certify": (
        _PROVE,
        """Certify the predictions of any model beside its own loss.

            Whatever made the predictions, the floor says what no fixed linear predictor of the
            class can have beaten on these very examples. A line may hold more than the
            prediction: what follows its first number is ignored.""",
    ),
    "hindsight": (
        _PROVE,
        """Solve for the best fixed linear predictor of all examples, with its duality gap.

            Objectives are sums over the examples. The file is held in memory. Ctrl-C stops the
            solver and prints how far it came.""",
    ),
    "plan": (
        _PROVE,
        """Estimate what `hindsight` on a cluster would take, before it is started.

            The first rows of the files and about two seconds of work on this machine give rates;
            a model of the network does the rest: memory, bytes and seconds for --shards at
            --workers, and for other numbers of workers. Every number is an estimate, and the
            assumptions are printed with it.""",
    ),
    "drift": (
        _PROVE,
        """Try to prove that no single fixed linear predictor fits these examples.

            A tracker that plays only predictors of the ball runs over the examples in their
            order. Where its loss is below what every fixed predictor of the same ball loses for
            certain, no fixed one can do what it did. That is all that is claimed: nothing about
            how the examples came about.

            Labels of two classes, by name or as -1/1, 0/1 or 1/2, are the targets -1 and +1 of
            losses that take numbers, unless --numbers says that they are numbers. Standard input
            and --on-error skip need --classes-as for that.""",
    ),
    "audit": (
        _PROVE,
        """Replay all that a model has learnt, and check every statement of its certificate.

            All inputs are learnt once more in their order (`learn`, then each `learn --resume`),
            the best in hindsight is solved for, and every statement is put against the examples:
            PASS, FAIL, or not checked with the reason. The examples are held in memory.

            Exit codes: 0 all statements hold; 1 one is false; 3 none is false, but something
            could not be checked: standard input, a file that is gone or has changed; 2 the
            command cannot be run.""",
    ),
    "inspect": (
        _LOOK,
        """Show the learner, its stream, its certificate and its largest weights by name.

            Hashing forgets names: weights of hashed features have the number of their slot,
            unless the model was learnt with --remember, or the examples are given once more.""",
    ),
    "report": (
        _LOOK,
        """Write one HTML file about a run, with every picture inside, and the pictures as PNG.

            Average loss and certified floor, regret a round, mistakes, rates, the largest
            weights, and the certificate itself.""",
    ),
    "explain": (
        _LOOK,
        """Show what each feature adds to the prediction of a row, by name.

            A linear model predicts the sum of weight times value; of several classes the weights
            are those of the class that is predicted. Rows need no label.""",
    ),
    "list": (_LOOK, "List the words that options take, with what each stands for."),
    "convert": (
        _PREPARE,
        """Write the examples as an Arrow file that is read without parsing.

            Hashing, interactions, the intercept and labels are applied now and kept in the
            file.""",
    ),
    "warmup": (
        _PREPARE,
        """Compile learners and parsers into the cache on disk.

            Every combination of a loss, a map and a rate is compiled once, on the machine that
            runs it, when it is first used; this does it in advance. A mixture has several.""",
    ),
    "demo": (
        _PREPARE,
        """Learn 1,797 handwritten digits, even or odd, and draw loss against certified floor.

            The images ship with scikit-learn and are learned in the order they were collected,
            each predicted before its label is seen.""",
    ),
}


#: The heading of the options of reading; their names are the keywords of `nr.Reading`.
READING = "Reading"
#: The commands that read examples as the command line says.
READERS = "learn predict compare certify hindsight plan drift audit convert explain"

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
