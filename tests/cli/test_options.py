"""The table of options: what is listed there is what commands take, help shows and shells know."""

from __future__ import annotations

import inspect
import typing
from importlib import import_module
from pathlib import Path

import pytest

from noregret.cli.commands import _ELSEWHERE, command_page, program_page
from noregret.cli.options import CONFIG, OPTIONS, options_of
from noregret.cli.table import COMMANDS, READERS, READING, READING_OPTIONS, Option
from noregret.runs.predicting import KINDS
from noregret.streams import reading
from noregret.vocabulary.learners import ASCENTS, DESCENTS
from noregret.vocabulary.listing import words
from tests.cli.program import ENVIRONMENT, Call, noregret


@pytest.mark.parametrize("command", COMMANDS)
def test_functions_take_what_the_table_lists(command: str) -> None:
    function = getattr(import_module(f"noregret.cli.{command}"), command)
    own = [one for one in options_of(command) if one.group != READING and one.passed]
    expected = {one.name for one in own}
    if command in READERS.split():
        expected = expected - {"files"} | {"given"}
    signature = inspect.signature(function).parameters
    assert set(signature) == expected
    # No function has a default of its own: there is one place for defaults.
    assert all(one.default is inspect.Parameter.empty for one in signature.values())
    hints = typing.get_type_hints(function)
    for one in own:
        if one.name in hints and not one.several:
            known = typing.get_args(hints[one.name]) or (hints[one.name],)
            assert one.kind in known, one.name
            assert (type(None) in known) == (one.silent is None and one.default is not ...)


def test_no_command_has_an_option_twice() -> None:
    for command in COMMANDS:
        rows = options_of(command)
        for names in ([one.name for one in rows], [one.key for one in rows]):
            assert len(set(names)) == len(names), command
        spellings = [spelt for one in rows for spelt in one.spellings]
        assert len(set(spellings)) == len(spellings), command
    assert {name for one in OPTIONS for name in one.commands.split()} == set(COMMANDS)


def test_words_are_those_of_the_library() -> None:
    def listed(name: str, command: str = "learn") -> object:
        return next(one.words for one in options_of(command) if one.name == name)

    assert listed("format") == reading.FORMATS
    assert listed("missing") == typing.get_args(reading.Missing)
    assert listed("on_error") == typing.get_args(reading.OnError)
    assert listed("update") == (*DESCENTS, *ASCENTS)
    link = listed("kind", "predict")
    assert isinstance(link, tuple) and {*link} == {
        kind for kinds in KINDS.values() for kind in kinds
    }
    assert {one.name for one in READING_OPTIONS} <= set(reading.FIELDS)
    for one in OPTIONS:
        assert isinstance(one.words, tuple) or one.words in (
            "",
            "loss",
            "mirror",
            "rate",
            "learner",
        )


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("command", [*COMMANDS, ""])
def test_help_cuts_no_word_and_fits(
    command: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    page = command_page(command) if command else program_page()
    assert max(map(len, page.splitlines())) <= max(columns, 68)
    printed = " ".join(page.split())
    for one in options_of(command):
        assert " ".join(one.about.split()) in printed, one.name
        assert f"{one.usage} " in printed
        told = "[default: " in one.about or "[required]" in one.about
        assert told or one.silent in (None, False) or one.positional
    for name in COMMANDS if not command else ():
        assert f"  {name} " in page


def test_a_default_is_shown_once() -> None:
    plain = Option("tol", "learn", "A gap.", float, default=1e-6)
    assert plain.about == "A gap. [default: 1e-06]" and plain.usage == "--tol X"
    said = Option("out", "learn", "A file.", Path, flags="--out -o", default=..., value="NAME")
    assert said.about == "A file. [required]" and said.usage == "--out, -o NAME"
    assert not [one.name for one in OPTIONS if "default" in one.help.replace("their default", "")]


@pytest.mark.parametrize("option", _ELSEWHERE)
def test_options_of_vowpal_wabbit_get_a_hint(call: Call, option: str) -> None:
    assert option not in [spelt for one in options_of("learn") for spelt in one.spellings]
    run = call("learn", "x.vw", option, "3")
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    assert f"{option}; coming from Vowpal Wabbit, take {_ELSEWHERE[option]}" in run.stderr


def test_hints_name_options_that_exist(call: Call) -> None:
    known = {spelt for one in OPTIONS for spelt in one.spellings}
    for hint in _ELSEWHERE.values():
        for word in hint.replace("`", " ").replace(",", " ").split():
            assert not word.startswith("-") or word in known, hint


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("learn", "x.svm", "--on_error", "skip"), "did you mean --on-error?"),
        (("learn", "x.svm", "--tol", "1"), "which belongs to hindsight, audit"),
        (("predict", "m", "x.svm", "--passes", "2"), "which belongs to learn"),
        (("learn", "x.svm", "--missing", "indicate"), "did you mean indicator?"),
        (("learn", "x.svm", "--update", "agil"), "did you mean agile?"),
        (("learn", "x.svm", "--rate", "adaptiv"), "did you mean adaptive?"),
        (("list", "loses"), "did you mean losses?"),
        (("leran", "x.svm"), "learn"),
    ],
)
def test_what_was_meant(call: Call, arguments: tuple[str, ...], hint: str) -> None:
    run = call(*arguments)
    assert run.returncode == 2 and run.stderr.count("\n") == 1 and hint in run.stderr, run.stderr


def test_shells_complete_commands_options_and_words(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def _completed(*words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", " ".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        monkeypatch.setenv("_NOREGRET_COMPLETE", "bash_complete")
        run = call()
        assert (run.returncode, run.stderr) == (0, "")
        return [line.partition(",")[2] for line in run.stdout.splitlines()]

    assert _completed("noregret", "le") == ["learn"]
    assert _completed("noregret", "learn", "--class-") == ["--class-radius"]
    assert _completed("noregret", "learn", "x.vw", "--missing", "") == ["indicator", "refuse"]
    assert _completed("noregret", "list", "lo") == ["losses"]
    for option, kind in (("--loss", "loss"), ("--mirror", "mirror"), ("--rate", "rate")):
        names = [word.name for word in words(kind)]
        assert _completed("noregret", "learn", "x.vw", option, "") == names
    assert _completed("noregret", "compare", "x.vw", "-l", "pa") == ["pa", "pa2"]
    # What shells run, in a process of its own: a script that knows how to ask.
    source = noregret(env=ENVIRONMENT | {"_NOREGRET_COMPLETE": "zsh_source"})
    assert source.returncode == 0 and "_NOREGRET_COMPLETE=zsh_complete" in source.stdout


@pytest.mark.compiled
def test_quiet_prints_the_result_only(
    stream: Path, model: Path, tmp_path: Path, call: Call
) -> None:
    quiet = {one.commands for one in OPTIONS if one.name == "quiet"}
    silent = {name for commands in quiet for name in commands.split()}
    assert silent == set(COMMANDS) - {"list"}
    for arguments in (
        ("convert", stream, "-o", tmp_path / "a.arrow"),
        ("report", model, "-o", tmp_path / "r.html"),
        ("warmup", "default"),
        ("predict", model, stream, "-o", tmp_path / "p.txt"),
    ):
        if arguments[0] == "convert":
            pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        if arguments[0] == "report":
            pytest.importorskip("matplotlib", reason="matplotlib is not installed")
        told = call(*arguments)
        assert told.returncode == 0 and told.stdout + told.stderr, told.stderr
        assert call(*arguments, "--quiet") == (0, "", ""), arguments[0]
    result = call("hindsight", stream, "--class-radius", "1")
    assert call("hindsight", stream, "--class-radius", "1", "--quiet") == result


@pytest.mark.usefixtures("one_picture")
def test_a_report_goes_to_stdout(model: Path, tmp_path: Path, call: Call) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    out = tmp_path / "r.html"
    assert call("report", model, "-o", out, "--no-pictures").returncode == 0
    assert call("report", model, "--out", "-").stdout == out.read_text(encoding="utf-8")


def test_options_of_configuration_belong_to_every_command() -> None:
    for command in COMMANDS:
        names = [one.name for one in options_of(command) if one.group == CONFIG]
        assert names == ["config", "print_config"]
