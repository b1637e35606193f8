"""The program: commands that click parses as the tables say, and how one of them is called."""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, shell_complete

from noregret import __version__
from noregret.arguments import ArgumentError, meant
from noregret.cli.config import config_text, read_config
from noregret.cli.help import command_page, program_page
from noregret.cli.options import CONFIG, options_of
from noregret.cli.reading import READING
from noregret.cli.table import COMMANDS, Option
from noregret.runs.progress import silenced

#: The variable by which a shell asks for completions.
_COMPLETE = "_NOREGRET_COMPLETE"
_HELP = {"help_option_names": ["-h", "--help"]}


def _completions(
    words: str | tuple[str, ...], ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the words that begin as what was typed, those of the vocabulary with a line each."""
    if isinstance(words, str):
        from noregret.vocabulary import presets

        found = [CompletionItem(word.name, help=word.about) for word in presets.words(words)]
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
    flags = {"multiple": one.several, "is_flag": one.kind is bool, "default": one.silent}
    return click.Option([*one.spellings, one.name], **flags, **shared)


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
