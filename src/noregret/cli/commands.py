"""The program: commands that click parses as the tables say, and how one of them is called."""

from __future__ import annotations

import os
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

#: The variable by which a shell asks for completions.
_COMPLETE = "_NOREGRET_COMPLETE"
_HELP = {"help_option_names": ["-h", "--help"]}


class _Words(click.ParamType[str]):
    """A value that is one of some words, or begins with one of the vocabulary."""

    name = "word"

    def __init__(self, option: Option) -> None:
        self._option = option

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        known = self._option.words
        if isinstance(known, tuple) and value not in known:
            expected = f"expected one of {', '.join(known)}{meant(value, known)}"
            raise ArgumentError(self._option.name, expected, value)
        return value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        known = self._option.words
        if isinstance(known, str):
            from noregret.vocabulary.presets import words

            found = [(word.name, word.about) for word in words(known)]
        else:
            found = [(word, "") for word in known]
        return [
            CompletionItem(word, help=about) for word, about in found if word.startswith(incomplete)
        ]


def _parameter(one: Option) -> click.Parameter:
    """Return an option as click has it."""
    kind: Any = one.kind
    if one.words:
        kind = _Words(one)
    elif kind is Path:
        # Patterns and "-" stay as they are written, and the shell completes names of files.
        kind = click.Path(path_type=str if one.several else Path)
    elif one.least is not None:
        kind = (click.IntRange if kind is int else click.FloatRange)(min=one.least)
    required = one.default is ...
    if one.positional:
        many = -1 if one.several else 1
        return click.Argument(
            [one.name], type=kind, nargs=many, required=required, metavar=one.flags
        )
    default = None if required else one.default
    if one.kind is bool:
        pair = "/" in one.flags
        return click.Option(
            [*one.spellings, one.name], is_flag=True, default=default if pair else False
        )
    return click.Option(
        [*one.spellings, one.name],
        type=kind,
        default=default,
        required=required,
        multiple=one.several,
    )


class _Command(click.Command):
    """A command, whose module is imported when it runs."""

    def __init__(self, name: str) -> None:
        every = options_of(name)
        #: Options that the command itself takes.
        self.options = [one for one in every if one.group != CONFIG]
        super().__init__(
            name,
            params=[_parameter(one) for one in every],
            context_settings=_HELP,
            short_help=COMMANDS[name].about.partition("\n")[0],
        )
        file = next(one for one in self.params if one.name == "config")
        # Before the others, which look there for what the command line does not say.
        file.is_eager, file.callback = True, self._configure

    def _configure(self, ctx: click.Context, param: click.Parameter, path: Path | None) -> None:
        if path is not None:
            ctx.default_map = read_config(path, self.options)

    def get_help(self, ctx: click.Context) -> str:
        return command_page(str(self.name))

    def invoke(self, ctx: click.Context) -> Any:
        if ctx.params["print_config"]:
            print(config_text(self.options, ctx.params), end="")
            return 0
        values: dict[str, Any] = {}
        reading: dict[str, Any] = {}
        for one in self.options:
            value = ctx.params[one.name]
            value = (list(value) or None) if isinstance(value, tuple) else value
            (reading if one.group == READING else values)[one.name] = value
        if reading:
            from noregret.cli.given import Given

            said = {name: value for name, value in reading.items() if value is not None}
            values["given"] = Given(values.pop("files") or [], said)
        return getattr(import_module(f"noregret.cli.{self.name}"), str(self.name))(**values)


class _Program(click.Group):
    """All commands, each made when it is asked for."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {name!r}{meant(name, COMMANDS)}", ctx)
        return _Command(name) if name in COMMANDS else None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_help(self, ctx: click.Context) -> str:
        return program_page()


def call(arguments: list[str]) -> int:
    """Run a command and return its exit code; whatever it raises is the caller's to handle."""
    version = click.version_option(__version__, message="noregret %(version)s")
    program = version(_Program("noregret", context_settings=_HELP))
    instruction = os.environ.get(_COMPLETE)
    if instruction:
        return shell_complete(program, {}, "noregret", _COMPLETE, instruction)
    if not arguments:
        print(program_page())
        return 2
    try:
        # Not by its own `main`, which turns a closed pipe into exit code 1 before we see it, and
        # shows errors in several lines.
        with program.make_context("noregret", arguments) as context:
            return program.invoke(context) or 0
    except click.exceptions.Exit as end:
        return end.exit_code
