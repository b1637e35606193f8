"""Rows of the tables of options and commands.

Parsing, help, configuration files and shell completion follow from them.

Nothing here imports the library, so that help is quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    """

    name: str
    commands: str
    help: str
    kind: type[Any] = str
    flags: str = ""
    default: Any = None
    shown: str = ""
    value: str = ""
    words: str | tuple[str, ...] = ()
    several: bool = False
    least: float | None = None
    group: str = "Options"

    @property
    def spellings(self) -> Sequence[str]:
        """All ways to write it."""
        return self.flags.split() or [f"--{self.name.replace('_', '-')}"]

    @property
    def positional(self) -> bool:
        """Whether it is told by its position."""
        return bool(self.flags) and self.flags[0] != "-"

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
    def usage(self) -> str:
        """How it is written, with its value."""
        value = "" if self.kind is bool or self.positional else f" {self._value}"
        return ", ".join(self.spellings) + value

    @property
    def _value(self) -> str:
        word = self.words.upper() if isinstance(self.words, str) else "WORD" if self.words else ""
        return self.value or word or _VALUES[self.kind]

    @property
    def about(self) -> str:
        """What it does, with its words and its default."""
        default = self.default
        if default is ...:
            default = "" if self.positional else "required"
        elif default is None or default is False:
            default = self.shown and f"default: {self.shown}"
        else:
            default = f"default: {self.shown or _plain(default)}"
        return f"{self.help} [{default}]" if default else self.help


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Command:
    """A command: its name, the heading under which it is listed, and what it does."""

    name: str
    group: str
    about: str


_LEARN, _PROVE, _LOOK, _PREPARE = "Learn and predict", "Prove", "Look", "Prepare"
COMMANDS = {
    one.name: one
    for one in (
        Command(
            "learn",
            _LEARN,
            """Learn a stream and print what is proved about it.

            The table shows averages a round: the learner's loss, the loss since the line above,
            the certified floor that no fixed predictor of the class could have beaten on these
            very examples, and their difference, which the regret is at most.""",
        ),
        Command(
            "predict",
            _LEARN,
            """Predict with a saved model, one line an example.

            The labels of the file are used for nothing but the measures printed at the end.""",
        ),
        Command(
            "compare",
            _LEARN,
            """Let many learners learn the same examples in one pass, and rank them.

            All are measured by progressive validation. Losses can be compared where the loss is
            the same; accuracy, AUC or errors always.""",
        ),
        Command(
            "certify",
            _PROVE,
            """Certify the predictions of any model beside its own loss.

            Whatever made the predictions, the floor says what no fixed linear predictor of the
            class can have beaten on these very examples. A line may hold more than the
            prediction: what follows its first number is ignored.""",
        ),
        Command(
            "hindsight",
            _PROVE,
            """Solve for the best fixed linear predictor of all examples, with its duality gap.

            Objectives are sums over the examples. The file is held in memory. Ctrl-C stops the
            solver and prints how far it came.""",
        ),
        Command(
            "drift",
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
        Command(
            "audit",
            _PROVE,
            """Replay all that a model has learnt, and check every statement of its certificate.

            All inputs are learnt once more in their order (`learn`, then each `learn --resume`),
            the best in hindsight is solved for, and every statement is put against the examples:
            PASS, FAIL, or not checked with the reason. The examples are held in memory.

            Exit codes: 0 all statements hold; 1 one is false; 3 none is false, but something
            could not be checked: standard input, a file that is gone or has changed; 2 the
            command cannot be run.""",
        ),
        Command(
            "inspect",
            _LOOK,
            """Show the learner, its stream, its certificate and its largest weights by name.

            Hashing forgets names: weights of hashed features have the number of their slot,
            unless the model was learnt with --remember, or the examples are given once more.""",
        ),
        Command(
            "report",
            _LOOK,
            """Write one HTML file about a run, with every picture inside, and the pictures as PNG.

            Average loss and certified floor, regret a round, mistakes, rates, the largest
            weights, and the certificate itself.""",
        ),
        Command(
            "explain",
            _LOOK,
            """Show what each feature adds to the prediction of a row, by name.

            A linear model predicts the sum of weight times value; of several classes the weights
            are those of the class that is predicted. Rows need no label.""",
        ),
        Command("list", _LOOK, "List the words that options take, with what each stands for."),
        Command(
            "convert",
            _PREPARE,
            """Write the examples as an Arrow file that is read without parsing.

            Hashing, interactions, the intercept and labels are applied now and kept in the
            file.""",
        ),
        Command(
            "warmup",
            _PREPARE,
            """Compile learners and parsers into the cache on disk.

            Every combination of a loss, a map and a rate is compiled once, on the machine that
            runs it, when it is first used; this does it in advance.""",
        ),
        Command(
            "demo",
            _PREPARE,
            """Learn 1,797 handwritten digits, even or odd, and draw loss against certified floor.

            The images ship with scikit-learn and are learned in the order they were collected,
            each predicted before its label is seen.""",
        ),
    )
}
