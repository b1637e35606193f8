"""Every option of every command, once."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from noregret.cli.cluster_options import CLUSTER_OPTIONS
from noregret.cli.plan_options import PLAN_OPTIONS
from noregret.cli.table import COMMANDS, READERS, READING_OPTIONS, Option

_LEARNER, _RUN, _GENERAL = "Learner", "Running", "General"
#: The heading of options that no command takes itself.
CONFIG = "Configuration"
_LOSS = "The loss, as hinge:0.5 of two classes or squared of numbers; see `noregret list losses`."

#: What `noregret list` calls the words of a kind.
LISTS = {"loss": "losses", "mirror": "mirrors", "rate": "rates", "learner": "learners"}
_BLOCKS = "Raise the floor: hold back blocks of rows, and choose lines below their losses later."
_argument = partial(Option, kind=Path, default=..., group="Arguments")
_examples = partial(_argument, "files", flags="[FILE...]", several=True, default=None)
_ARGUMENTS = (
    _argument(
        "model",
        "predict audit inspect report explain",
        "A model that `learn --save` wrote.",
        flags="MODEL",
    ),
    _argument(
        "predictions",
        "certify",
        "A file of one prediction a line, in the order of the examples.",
        flags="PREDICTIONS",
    ),
    _examples(
        READERS.replace(" audit", ""),
        "Examples: files, patterns, or - for standard input. svmlight, Vowpal Wabbit, CSV, TSV, "
        "JSON lines, Parquet or Arrow, plain or .gz, .xz, .zst.",
        flags="FILE...",
        default=...,
    ),
    _examples(
        "audit",
        "Where the files that were learnt are now, in that order.",
        shown="the names that the model remembers, there or in its own directory",
    ),
    _examples(
        "inspect report",
        "Hashed features: the examples it learnt, to find the names of their slots.",
    ),
    Option(
        "what",
        "list",
        "losses, mirrors, rates or learners.",
        flags="KIND",
        group="Arguments",
        words=tuple(LISTS.values()),
        default=...,
    ),
    Option(
        "learner",
        "warmup",
        "Learners as in `compare --learner`.",
        flags="[LEARNER...]",
        group="Arguments",
        words="learner",
        several=True,
        shown="the common ones",
    ),
)

_learner = partial(Option, commands="learn", group=_LEARNER)
_LEARNERS = (
    Option(
        "learner",
        "compare",
        "A word of `noregret list learners` or MIRROR/RATE; options of `learn` may follow, as in "
        "pa:C=0.1 or ball/adaptive:radius=10. Repeat for several.",
        flags="--learner -l",
        words="learner",
        several=True,
        shown="some usual ones",
        group=_LEARNER,
    ),
    Option(
        "loss",
        "learn compare",
        _LOSS,
        words="loss",
        shown="logistic, or softmax with --multiclass",
        group=_LEARNER,
    ),
    Option(
        "multiclass",
        "learn compare convert",
        "Labels are classes, by their names or numbers, as many as will appear. A --loss of two "
        "classes is taken one against the rest.",
        kind=bool,
        group=_LEARNER,
    ),
    _learner(
        "classes",
        help="--multiclass: have N classes from the beginning, as vw --oaa does.",
        kind=int,
        least=1,
        shown="as many as appear",
    ),
    _learner(
        "mirror",
        help="The map from gradients to weights, as ball or p-norm:4; see `noregret list mirrors`.",
        words="mirror",
        shown="euclidean",
    ),
    _learner(
        "radius",
        help="Size of the weights that the maps ball, entropy and signed-entropy may play.",
        kind=float,
    ),
    _learner(
        "rate",
        help="How far a step goes, as constant:0.5 or scale-free; see `noregret list rates`.",
        words="rate",
        shown="mixture, learners of several kinds; scale-free where several classes have another "
        "loss than softmax; adaptive with another map or --eta",
    ),
    _learner(
        "eta",
        help="The eta or scale that multiplies the rate.",
        kind=float,
        flags="--eta --scale",
        shown="that of the rate",
    ),
    _learner(
        "update",
        help="Mirror descent: descent, agile, mistakes. Dual ascent: exact (Passive-Aggressive), "
        "aggressive, conservative, window, mini, leader.",
        words=(
            *("descent", "agile", "mistakes"),
            *("exact", "aggressive", "conservative", "window", "mini", "leader"),
        ),
        shown="descent",
    ),
    _learner("C", help="Dual ascent: weight of the loss.", kind=float, flags="-C", shown="1"),
    _learner(
        "k",
        help="Updates window and mini: examples looked back at.",
        kind=int,
        flags="-k",
        shown="1",
    ),
    _learner("average", help="Keep the average of all weights, for predict --average.", kind=bool),
    _learner("blocks", help=_BLOCKS, kind=bool),
    _learner(
        "rowless",
        help="Keep no example in the model file: end blocks of examples held back at every save.",
        kind=bool,
    ),
    _learner(
        "class_radius",
        help="Size of the predictors the floor speaks of.",
        kind=float,
        shown="--radius if the map has one, else the size of the current weights",
    ),
    Option(
        "class_radius",
        "compare",
        "Size of the predictors the floors speak of.",
        kind=float,
        shown="that of each learner",
        group=_LEARNER,
    ),
)

_PROOFS = (
    Option("loss", "certify hindsight", _LOSS, words="loss", default="logistic"),
    Option("loss", "drift", _LOSS, words="loss", default="squared"),
    Option(
        "class_radius",
        "certify",
        "Size of the predictors that a floor speaks of; repeat for several.",
        kind=float,
        several=True,
        shown="1, 10 and 100",
    ),
    Option(
        "radius",
        "hindsight",
        "Size of the predictors among which the best is sought: its norm is at most X.",
        kind=float,
        flags="--class-radius",
    ),
    Option(
        "radius",
        "drift",
        "Size of the fixed predictors the proof speaks of, and of the tracker's.",
        kind=float,
        flags="--class-radius",
        default=...,
    ),
    Option(
        "mirror",
        "certify",
        "The norm of the class is that of this map.",
        words="mirror",
        default="euclidean",
    ),
    Option("probabilities", "certify", "Predictions are probabilities of the positive.", kind=bool),
    Option("blocks", "certify", _BLOCKS, kind=bool),
    Option("l2", "hindsight", "Add X/2 times the squared norm to the loss.", kind=float),
    Option(
        "mirror", "hindsight", "Add --strength times the regulariser of this map.", words="mirror"
    ),
    Option("strength", "hindsight", "How much the regulariser counts, see --mirror.", kind=float),
    Option("bias", "hindsight", "An intercept that is not regularised.", kind=bool),
    Option(
        "tol",
        "hindsight audit",
        "Relative duality gap that the solver aims at.",
        kind=float,
        least=0,
        default=1e-6,
    ),
    Option(
        "max_passes",
        "hindsight",
        "Stop after N passes, however wide the gap.",
        kind=int,
        least=1,
        default=10_000,
    ),
    Option(
        "max_passes",
        "audit",
        "Stop the solver after N passes, however wide the gap.",
        kind=int,
        least=1,
        default=1000,
    ),
    Option("window", "drift", "Also look at windows of N examples.", kind=int),
    Option("picture", "drift", "Draw the windows: a .png, .svg or .pdf file.", kind=Path),
    Option(
        "numbers",
        "drift",
        "Labels are numbers, though they look like two classes.",
        kind=bool,
        shown="found out",
    ),
    Option(
        "one_pass",
        "drift",
        "Do not hold the file in memory (squared loss, 2,048 features).",
        kind=bool,
    ),
)

_run = partial(Option, commands="learn", group=_RUN)
_RUNNING = (
    _run("passes", help="Passes over the input.", kind=int, default=1),
    _run(
        "holdout",
        help="Do not learn every X-th example, or a random share of them (a number below 1), but "
        "measure on them.",
        kind=float,
    ),
    _run(
        "holdout_seed",
        help="Another seed, another random share.",
        kind=int,
        value="SEED",
        default=0,
    ),
    _run(
        "holdout_after", help="Do not learn examples after the N-th, but measure on them.", kind=int
    ),
    _run("save", help="Write the model here.", kind=Path),
    _run("save_every", help="Write it after every N examples on the way as well.", kind=int),
    _run(
        "resume",
        help="Go on with this model and learn the input as new examples.",
        kind=Path,
        value="MODEL",
    ),
    _run(
        "same_input",
        help="--resume: the input is that of the model; skip what it has seen.",
        kind=bool,
    ),
    _run(
        "predictions",
        help="Write each prediction, made before its example was learnt; - for stdout.",
        kind=Path,
        flags="--predictions -p",
    ),
    _run("report", help="Write an HTML page about the run, and its pictures as PNG.", kind=Path),
)

_OUT = "Write the result to this file"
_out = partial(Option, "out", kind=Path, flags="--out -o")
_top = partial(Option, "top", help="Show the N largest weights.", kind=int, least=0)
_RESULTS = (
    Option(
        "kind",
        "predict",
        "`margin` as it is, its logistic `probability`, or the `label`. Of several classes: the "
        "`label`, or a table with the `score` or the `probability` of each, separated by tabs.",
        flags="--as",
        words=("margin", "score", "probability", "label"),
        shown="margin, or the label of several classes",
    ),
    Option("average", "predict", "Use the average of all weights played.", kind=bool),
    Option(
        "single", "convert", "Halve the values to single precision.", kind=bool, flags="--float32"
    ),
    _top(commands="hindsight", default=10),
    _top(commands="inspect", shown="20, or 5 of each class"),
    _top(commands="explain", help="Show the N features that add most to each row.", default=10),
    Option(
        "rows", "explain", "Rows to explain, counted from 1, as in 1,4-6.", shown="the first five"
    ),
    Option("weights", "hindsight", "Write the weights here.", kind=Path),
    _out("predict", f"{_OUT}; - for stdout.", default=Path("-")),
    _out("convert", f"{_OUT}, a name in .arrow.", default=...),
    _out("report", f"{_OUT}; - for stdout, without PNG files.", default=Path("report.html")),
    _out("demo", f"{_OUT}, a picture.", default=Path("demo.png")),
    Option(
        "pictures",
        "report",
        "Write PNG files beside it as well.",
        kind=bool,
        flags="--pictures/--no-pictures",
        default=True,
        shown="pictures",
    ),
)

_QUIET = "Print the result only: no progress, no table on the way, no measures, no names of files."
_general = partial(Option, kind=bool, group=_GENERAL)
_SHARED = (
    _general(
        "as_json",
        " ".join(COMMANDS),
        "Print one JSON object; on stderr where predictions take stdout.",
        flags="--json",
    ),
    _general("quiet", "learn predict convert report warmup demo", _QUIET),
    _general(
        "quiet", "compare certify hindsight plan drift audit inspect explain", _QUIET, passed=False
    ),
    Option(
        "config",
        " ".join(COMMANDS),
        'Take options from a TOML file, as in `passes = 3`, `files = ["a.csv"]`; the command line '
        "comes first.",
        kind=Path,
        passed=False,
        group=CONFIG,
    ),
    Option(
        "print_config",
        " ".join(COMMANDS),
        "Do not run, but print such a file of all options that are not at their default.",
        kind=bool,
        passed=False,
        group=CONFIG,
    ),
)

OPTIONS = (
    *_ARGUMENTS, *_LEARNERS, *_PROOFS, *_RUNNING, *CLUSTER_OPTIONS, *_RESULTS, *PLAN_OPTIONS,
    *READING_OPTIONS, *_SHARED,
)  # fmt: skip


def options_of(command: str) -> list[Option]:
    """Return the options of a command, in the order in which its help lists them."""
    return [one for one in OPTIONS if command in one.commands.split()]


def flag_of(command: str, argument: str) -> str:
    """Return what the command line calls an argument of the library.

    >>> flag_of("learn", "constant"), flag_of("learn", "C"), flag_of("compare", "learner")
    ('--intercept', '-C', '--learner')
    """
    known = {one.name: one.flag for one in options_of(command)}
    return known.get(argument, f"--{argument.replace('_', '-')}")
