"""The program: commands that click parses as the tables say, and how one of them is called.

What goes wrong is said in one line that names options as the command line spells them.

The tables also make the pages of help, in which words are never cut, and tell what a file of
options may hold: `--config run.toml` reads one, `--print-config` writes one.
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
import sys
import textwrap
import tomllib
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, shell_complete

from noregret import __version__
from noregret.arguments import ArgumentError, meant
from noregret.cli.options import CONFIG, LISTS, OPTIONS, flag_of, options_of
from noregret.cli.table import COMMANDS, READING, Option
from noregret.runs.progress import silenced

#: The variable by which a shell asks for completions.
_COMPLETE = "_NOREGRET_COMPLETE"
_HELP = {"help_option_names": ["-h", "--help"]}
_EXIT_CODES = (
    "Exit codes: 0 done; 1 a statement is false; 2 usage, input or an output that cannot be "
    "written; 3 a statement could not be checked; 128 + N ended by signal N (130 Ctrl-C, 141 "
    "closed pipe)."
)
#: Columns of the terminal that are used, and those before an explanation.
_WIDEST, _MARGIN = 100, 28
_HELP_ROW = ("-h, --help", "Show this page.")


def _completions(
    words: str | tuple[str, ...], ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the words that begin as what was typed, those of the vocabulary with a line each."""
    if isinstance(words, str):
        from noregret.vocabulary import listing

        found = [CompletionItem(word.name, help=word.about) for word in listing.words(words)]
    else:
        found = list(map(CompletionItem, words))
    return [item for item in found if item.value.startswith(incomplete)]


def _parameter(one: Option) -> click.Parameter:
    """Return an option as click has it."""
    kind: Any = one.kind
    if kind is Path:
        # Patterns and "-" stay as they are written, and the shell completes names of files.
        kind = click.Path(path_type=str if one.several else Path)
    elif one.least is not None:
        kind = (click.IntRange if kind is int else click.FloatRange)(min=one.least)
    shared: dict[str, Any] = {"type": kind, "required": one.default is ...}
    if one.words:
        shared["shell_complete"] = partial(_completions, one.words)
    if one.positional:
        many = -1 if one.several else 1
        return click.Argument([one.name], nargs=many, metavar=one.flags, **shared)
    shared |= {"multiple": one.several, "is_flag": one.kind is bool}
    if one.default is not ...:
        # Where a value is required, click takes a default of None for one.
        shared["default"] = one.silent
    return click.Option([*one.spellings, one.name], **shared)


class _Command(click.Command):
    """A command, whose module is imported when it runs."""

    def __init__(self, name: str) -> None:
        every = options_of(name)
        #: Options that a configuration file may have.
        self.options = [one for one in every if one.group != CONFIG]
        short = COMMANDS[name][1].partition("\n")[0]
        parameters = list(map(_parameter, every))
        super().__init__(name, params=parameters, context_settings=_HELP, short_help=short)
        file = next(one for one in parameters if one.name == "config")
        # Before the others, which look there for what the command line does not say.
        file.is_eager, file.callback = True, self._configure

    def _configure(self, ctx: click.Context, param: click.Parameter, path: Path | None) -> Any:
        ctx.default_map = read_config(path, self.options) if path else None
        return path

    def get_help(self, ctx: click.Context) -> str:
        return command_page(str(self.name))

    def invoke(self, ctx: click.Context) -> Any:
        for one in self.options:
            word = ctx.params[one.name]
            if isinstance(one.words, tuple) and word not in (None, *one.words):
                expected = f"expected one of {', '.join(one.words)}{meant(word, one.words)}"
                raise ArgumentError(one.name, expected, word)
        if ctx.params["print_config"]:
            print(config_text(self.options, ctx.params), end="")
            return 0
        said = {k: list(v) or None if isinstance(v, tuple) else v for k, v in ctx.params.items()}
        values = {one.name: said[one.name] for one in self.options if one.passed}
        reading = [one.name for one in self.options if one.group == READING]
        if reading:
            from noregret.cli.given import Given

            told = {name: value for name in reading if (value := values.pop(name)) is not None}
            values["given"] = Given(values.pop("files") or [], told)
        # No progress with --quiet or --json, nor between the lines of a result.
        beside = Path("-") in (said.get("out"), said.get("predictions")) and sys.stdout.isatty()
        with silenced(bool(said.get("quiet") or said.get("as_json") or beside)):
            return getattr(import_module(f"noregret.cli.{self.name}"), str(self.name))(**values)


class _Program(click.Group):
    def get_help(self, ctx: click.Context) -> str:
        return program_page()


def call(arguments: list[str]) -> int:
    """Run a command and return its exit code; whatever it raises is the caller's to handle."""
    # Only the one that is called: all of them take 10 ms.
    names = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
    program = _Program("noregret", commands=list(map(_Command, names)), context_settings=_HELP)
    program = click.version_option(__version__, message="noregret %(version)s")(program)
    if os.environ.get(_COMPLETE):
        return shell_complete(program, {}, "noregret", _COMPLETE, os.environ[_COMPLETE])
    try:
        # Not by its own `main`, which turns a closed pipe into exit code 1 before we see it, and
        # shows errors in several lines.
        with program.make_context("noregret", [*arguments] or ["--help"]) as context:
            return program.invoke(context) or 0
    except click.exceptions.Exit as end:
        return end.exit_code if arguments else 2


def command_page(name: str) -> str:
    """Return the help of a command."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for one in options_of(name):
        sections.setdefault(one.group, []).append((one.usage, one.about))
    sections.setdefault("General", []).append(_HELP_ROW)
    arguments = " ".join(one.usage for one in options_of(name) if one.positional)
    usage = f"Usage: noregret {name} [OPTIONS] {arguments}"
    return _page(usage.rstrip(), inspect.cleandoc(COMMANDS[name][1]), sections)


def program_page() -> str:
    """Return the help of the program."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for name, (group, about) in COMMANDS.items():
        sections.setdefault(group, []).append((name, about.partition("\n")[0]))
    sections["Options"] = [("--version", "Print the version."), _HELP_ROW]
    about = "Online learning that proves how well it is doing."
    return _page("Usage: noregret COMMAND [OPTIONS] ...", f"{about}\n\n{_EXIT_CODES}", sections)


def _page(usage: str, about: str, sections: dict[str, list[tuple[str, str]]]) -> str:
    parts = [usage, *map(_filled, about.split("\n\n"))]
    for heading, rows in sections.items():
        margin = min(_MARGIN, max(len(term) for term, _ in rows) + 4)
        lines = [f"{heading}:"]
        for term, explained in rows:
            # Beside the term, or below it where the term is long.
            text = _filled(explained, " " * margin)
            beside = len(term) + 4 <= margin
            lines.append(f"  {term}{text[len(term) + 2 :]}" if beside else f"  {term}\n{text}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _filled(text: str, indent: str = "") -> str:
    # At least 40 columns for a text, so that few words are longer than a line.
    width = max(min(shutil.get_terminal_size().columns, _WIDEST), len(indent) + 40)
    return textwrap.fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def read_config(path: Path, options: list[Option]) -> dict[str, Any]:
    """Return the values of a file by the names of their options.

    Numbers are texts, so that they are converted and checked as on the command line.
    """
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: is not TOML in UTF-8: {error}") from None
    known = {one.key: one for one in options}
    values = {}
    for key, value in told.items():
        one = known.get(key.replace("_", "-"))
        if one is None:
            raise ValueError(f"{path}: there is no option {key}{meant(key, known)}")
        parts = value if one.several and isinstance(value, list) else [value]
        kinds = (bool,) if one.kind is bool else (str, int, float)
        for part in parts:
            if type(part) not in kinds:
                expected = "true or false" if one.kind is bool else "a text or a number"
                raise ValueError(f"{path}, {key}: found {part!r}, expected {expected}")
        texts = [part if one.kind is bool else str(part) for part in parts]
        values[one.name] = texts if one.several else texts[0]
    return values


def config_text(options: list[Option], values: dict[str, Any]) -> str:
    r"""Return the options that are not at their default as TOML.

    >>> passes = Option("passes", "learn", "", int, default=1)
    >>> config_text([passes], {"passes": 3})
    'passes = 3\n'
    """
    told = [one for one in options if values[one.name] not in (None, (), one.silent)]
    return "".join(f"{one.key} = {_toml(values[one.name])}\n" for one in told)


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str | Path):
        # The escapes of JSON are among those of TOML, which wants DEL escaped as well.
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower()


#: What to take in the place of options of Vowpal Wabbit.
_ELSEWHERE = {
    "--noconstant": "`--intercept 0`",
    "--oaa": "`--multiclass`, for as many classes as appear",
    "--probabilities": "`predict --as probability`",
    "--loss_function": "`--loss`",
    "--quantile_tau": "`--loss quantile:TAU`",
    "--link": "`predict --as probability`",
    "--binary": "`predict --as label`",
    "-f": "`--save MODEL`; the format of the input is `--format`",
    "--final_regressor": "`--save MODEL`",
    "-i": "`learn --resume MODEL`, or `predict MODEL FILE`",
    "--initial_regressor": "`learn --resume MODEL`, or `predict MODEL FILE`",
    "-t": "`noregret predict MODEL FILE`",
    "--testonly": "`noregret predict MODEL FILE`",
    "-r": "`noregret predict MODEL FILE`, which writes margins",
    "--raw_predictions": "`noregret predict MODEL FILE`, which writes margins",
    "-d": "the name of the file alone",
    "--data": "the name of the file alone",
    "-c": "no cache: `--passes` reads files again, faster after `noregret convert`",
    "--cache": "no cache: `--passes` reads files again, faster after `noregret convert`",
    "--cache_file": "`noregret convert FILE -o FILE.arrow`",
    "--bit_precision": "`--bits`",
    "--quadratic": "`--interactions`, `-q`",
    "--cubic": "`--interactions`, `-q`",
    "--learning_rate": "`--eta`, of a --rate that has one",
    "--power_t": "`--rate inverse-sqrt` for 0.5, `--rate constant` for 0",
    "--sgd": "`--rate inverse-sqrt`",
    "--adaptive": "`--rate per-coordinate`",
    "--coin": "`--rate coin-betting`",
    "--bfgs": "`noregret hindsight`",
    "--l1": "`--mirror soft-threshold:L1`",
    "--l2": "`--rate strongly-convex --eta SIGMA`, or `noregret hindsight --l2`",
    "--regularization": "`--rate strongly-convex --eta SIGMA`, or `noregret hindsight --l2`",
    "--holdout_period": "`--holdout K`",
    "--holdout_off": "the default: only `--holdout` holds examples out",
    "--invert_hash": "`noregret inspect MODEL FILE`",
    "--readable_model": "`noregret inspect MODEL FILE`",
    "-a": "`noregret inspect MODEL FILE`",
    "--random_seed": "`--shuffle SEED` or `--holdout-seed SEED`",
    "--hash": "`hash=` of nr.read in Python",
    "--cb": "`nr.bandits` in Python",
    "--cb_adf": "`nr.bandits` in Python",
    "--cb_explore": "`nr.bandits.ContextualBandit` in Python",
    "--cb_explore_adf": "`nr.bandits.ArmFeatureBandit` in Python",
}


def one_line(error: Exception, command: str) -> str:
    """Return what an error says, with options in the place of arguments, and where to look."""
    text, argument = str(error), getattr(error, "argument", "")
    about = ("labels", "multiclass", "loss") if argument == "labels" else (argument,)
    see = ", ".join(one.flag for one in options_of(command) if one.name in about)
    if isinstance(error, click.UsageError):
        text = _usage(error, command)
    elif isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, ArgumentError):
        found = f"{error.found:g}" if isinstance(error.found, float) else error.found or ""
        place = f"{flag_of(command, argument)} {found}".rstrip()
        text = error.said(place, f"noregret list {LISTS.get(error.kind)}")
    elif see and text.startswith(f"{argument}="):
        # The library names its keyword with the value, as in bits=99.
        text = f"{see} {text.partition('=')[2]}"
    elif see:
        text = f"{text}; see {see}"
    return " ".join(text.split())


def _usage(error: click.UsageError, command: str) -> str:
    known = [one.flag.lstrip("-") for one in options_of(command)]
    complaint = error.format_message().rstrip(".")
    name, ctx = getattr(getattr(error, "param", None), "name", ""), error.ctx
    if ctx and ctx.get_parameter_source(name) is click.core.ParameterSource.DEFAULT_MAP:
        complaint = f"{ctx.params['config']}: {complaint}"
    if isinstance(error, click.NoSuchOption):
        option = error.option_name
        elsewhere = [one.commands for one in OPTIONS if option in one.spellings]
        if option in _ELSEWHERE:
            hint = f"; coming from Vowpal Wabbit, take {_ELSEWHERE[option]}"
        elif elsewhere:
            hint = f", which belongs to {elsewhere[0].replace(' ', ', ')}"
        else:
            hint = meant(option.lstrip("-"), known).replace("mean ", "mean --")
        complaint = f"No such option: {option}{hint}"
    return f"{complaint}; see {f'noregret {command}' if known else 'noregret'} --help"
