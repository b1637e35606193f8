"""Options in a file: `--config` reads what `--print-config` prints, to the bit."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import noregret as nr
from noregret.cli.commands import config_text, read_config
from noregret.cli.options import CONFIG, options_of
from noregret.cli.table import COMMANDS
from tests.cli.program import Call


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / 'a "table".csv'
    rows = [f"{k % 3 - 1},{k % 7},{'no' if k % 2 else 'yes'},{k % 5 / 4}\n" for k in range(60)]
    path.write_text("a,b,kind,w\n" + "".join(rows))
    return path


def test_what_is_printed_gives_the_same_run(table: Path, tmp_path: Path, call: Call) -> None:
    first, again, config = tmp_path / "first.nr", tmp_path / "again.nr", tmp_path / "run.toml"
    options = (
        *("--loss", "hinge:0.5", "--mirror", "ball", "--radius", "1.7", "--rate", "adaptive"),
        *("--target", "kind", "--weight", "w", "--categorical", "a", "--ignore", "b"),
        *("--classes-as", "no,yes", "--intercept", "0.3", "--passes", "2", "--holdout", "0.2"),
        *("--holdout-seed", "3", "--header", "--on-error", "skip", "--quiet", "--threads", "0"),
    )
    learnt = call("learn", table, *options, "--save", first)
    assert learnt.returncode == 0, learnt.stderr
    printed = call("learn", table, *options, "--save", first, "--print-config")
    assert printed.returncode == 0 and printed.stderr == ""
    told = tomllib.loads(printed.stdout)
    assert told["files"] == [str(table)] and told["radius"] == 1.7 and told["header"] is True
    # What is at its default is left out.
    assert "first-index" not in told and "json" not in told and "average" not in told
    config.write_text(printed.stdout, encoding="utf-8")
    assert call("learn", "--config", config, "--print-config").stdout == printed.stdout
    # The command line comes first.
    same = call("learn", "--config", config, "--save", again)
    assert (same.returncode, same.stdout) == (0, learnt.stdout)
    one, two = nr.load(first), nr.load(again)
    assert one.weights.tobytes() == two.weights.tobytes() and one.rounds == two.rounds
    assert first.read_bytes() == again.read_bytes()
    other = call("learn", table, "--config", config, "--ignore", "a", "--print-config")
    assert tomllib.loads(other.stdout) == told | {"ignore": ["a"]}


def test_keys_are_names_of_options_with_hyphens_or_underscores(
    table: Path, tmp_path: Path, call: Call
) -> None:
    config = tmp_path / "run.toml"
    config.write_text('target = "kind"\non_error = "skip"\nignore = "b"\nquiet = true\nC = 2\n')
    printed = call("learn", table, "--config", config, "--print-config").stdout
    assert tomllib.loads(printed) == {
        "files": [str(table)],
        "target": "kind",
        "on-error": "skip",
        "ignore": ["b"],
        "quiet": True,
        "C": 2.0,
    }
    # A number that stands for a text is one, and a position stays one.
    config.write_text("target = -2\n")
    assert call("learn", table, "--config", config, "--quiet").returncode == 0


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('los = "hinge"', ("los", "did you mean loss?")),
        ('config = "a.toml"', ("config",)),
        ('clas-radius = 1\nloss = "hinge"', ("clas-radius", "did you mean class-radius?")),
        ("passes = 2.5", ("--passes", "2.5")),
        ("passes = true", ("passes", "True")),
        ("passes = [1]", ("passes", "[1]")),
        ('average = "yes"', ("average", "yes", "true or false")),
        ("ignore = [true]", ("ignore", "True")),
        ("classes = 0", ("--classes", "0")),
        ('loss = "hing', ("TOML",)),
        ("[learn]\npasses = 2", ("learn",)),
    ],
)
def test_what_a_file_gets_wrong_names_the_file(
    table: Path, tmp_path: Path, call: Call, text: str, parts: tuple[str, ...]
) -> None:
    config = tmp_path / "run.toml"
    config.write_text(text + "\n")
    run = call("learn", table, "--config", config)
    assert run.returncode == 2 and run.stderr.count("\n") == 1, run.stderr
    for part in (str(config), *parts):
        assert part in run.stderr, run.stderr


def test_a_file_that_cannot_be_read_is_named(table: Path, tmp_path: Path, call: Call) -> None:
    for name, content in (("missing.toml", None), ("latin.toml", b'loss = "\xe9"\n')):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        run = call("learn", table, "--config", path)
        assert run.returncode == 2 and str(path) in run.stderr and run.stderr.count("\n") == 1


def test_every_value_of_every_option_comes_back(tmp_path: Path) -> None:
    values = {bool: True, int: 7, float: 1e-300, str: 'a\\b"c\td\x7f é', Path: Path("x y\\z.csv")}
    for command in COMMANDS:
        options = [one for one in options_of(command) if one.group != CONFIG]
        said = {
            one.name: (values[one.kind],) * 2
            if one.several
            else not one.default
            if one.kind is bool
            else values[one.kind]
            for one in options
        }
        path = tmp_path / f"{command}.toml"
        path.write_text(config_text(options, said), encoding="utf-8")
        found = read_config(path, options)
        assert set(found) == set(said)
        for one in options:
            back = found[one.name] if one.several else [found[one.name]]
            kind = (lambda value: value) if one.kind is bool else one.kind
            expected = said[one.name] if one.several else (said[one.name],)
            assert tuple(map(kind, back)) == expected, one.name
