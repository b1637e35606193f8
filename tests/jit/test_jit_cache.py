"""The disk cache of kernels: never stale, never in the way, tested with real processes."""

from __future__ import annotations

import dis
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from noregret.jit import cache_directory, cache_events, directory, kernel
from noregret.jit.fingerprint import Fingerprint

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Let no test see the user's cache or another test's."""
    monkeypatch.setenv("NOREGRET_CACHE_DIR", str(tmp_path / "cache"))


# --- the cache within one process -----------------------------------------------------------

RATE = 2.0


def test_a_global_changed_within_the_process_is_not_cached(monkeypatch):
    def make():
        @kernel
        def scaled(x):
            return RATE * x

        return scaled

    scaled = make()
    assert scaled(1.0) == 2.0
    before = cache_events.bypassed
    monkeypatch.setitem(globals(), "RATE", 3.0)
    # Numba froze RATE for float64; whatever it makes now must not be kept under either key.
    scaled(np.float32(1.0))
    assert cache_events.bypassed == before + 1
    assert len(list(cache_directory().iterdir())) == 1
    # A function defined anew sees the new value, and may be kept.
    assert make()(1.0) == 3.0
    assert len(list(cache_directory().iterdir())) == 2


def test_equal_names_from_two_processes_are_not_mixed_up():
    source = "@kernel\ndef same(x):\n    return x + {}\n"
    for constant in (1.0, 2.0):
        run(f"from noregret.jit import kernel\n{source.format(constant)}\nprint(same(1.0))")
    both = "from noregret.jit import kernel, cache_events\n"
    for constant in (1.0, 2.0):
        both += source.format(constant) + "print(same(1.0))\n"
    assert run(both + "print(cache_events.hits)") == ["2.0", "3.0", "2"]


def test_damaged_files_are_ignored_and_old_ones_pruned(tmp_path):
    directory.save("good", b"payload")
    path = cache_directory() / "good.kernel"
    assert directory.load("good") == b"payload"
    for damaged in (path.read_bytes()[:-1], b"", path.read_bytes()[:-1] + b"?"):
        path.write_bytes(damaged)
        assert directory.load("good") is None
    directory.save("good", b"payload")
    assert directory.load("good") == b"payload"
    assert cache_directory().stat().st_mode & 0o777 == 0o700
    for age, name in enumerate(("used", "old", "older")):
        directory.save(name, b"x" * 1000)
        os.utime(cache_directory() / f"{name}.kernel", (1e9 - age, 1e9 - age))
    directory.load("used")
    directory.prune(cache_directory(), 1500)
    assert {found.name for found in cache_directory().iterdir()} == {"good.kernel", "used.kernel"}


def test_a_directory_that_cannot_be_written_warns_once(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NOREGRET_CACHE_DIR", str(tmp_path / "file" / "cache"))

    @kernel
    def twice(x):
        return 2 * x

    with pytest.warns(UserWarning, match="cannot write to .*NOREGRET_CACHE_DIR"):
        assert twice(2) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert twice(2.5) == 5.0


def test_fingerprints_follow_content_only():
    def digest(source):
        space = {}
        exec(dedent(source), space)
        return Fingerprint(lambda value: None).of(space["f"])

    first = digest("C = 1.0\ndef f(x):\n    return C * x")
    assert first == digest("\n\nC = 1.0\nD = 3\ndef f(x):\n    return C * x")
    assert first != digest("C = -1.0\ndef f(x):\n    return C * x")
    assert digest("def f(x, a=0.0): return x") != digest("def f(x, a=-0.0): return x")
    assert digest("def f(x): return g(x)\ndef g(x): return x") != digest(
        "def f(x): return g(x)\ndef g(x): return -x"
    )
    assert digest("f = (lambda a: lambda x: a)(1)") != digest("f = (lambda a: lambda x: a)(2)")


# --- the cache between processes ------------------------------------------------------------

LOSSES = """
from dataclasses import dataclass
from noregret.component import Component
from helpers import bend
import settings

FACTOR = 1.0

@dataclass(frozen=True)
class Mine(Component):
    margin: float = 1.0
    def value(self, y, p):
        return FACTOR * bend(self.margin - y * p) + settings.OFFSET
"""

MODULES = {"losses_of_mine.py": LOSSES, "helpers.py": "def bend(v):\n    return abs(v)\n"}

PASS = """
from dataclasses import dataclass
import numpy as np
from noregret.component import Component
from noregret.jit import cache_events, kernel

@dataclass(frozen=True)
class Constant(Component):
    eta: float = 0.5
    def at(self, t):
        return self.eta / (t + 1.0)

@dataclass(frozen=True)
class Nothing(Component):
    def link(self, v):
        return v

@kernel
def play(loss, mirror, rate, p):
    return rate.at(0.0) * mirror.link(loss.value(1.0, p))

def report(loss):
    print(play(loss, Nothing(), Constant(), 3.0), cache_events.hits, cache_events.misses)
"""


def run(source: str, cwd: Path | None = None) -> list[str]:
    """Run a program in a process of its own and return what it printed."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    command = [sys.executable, "-W", "error", "-c", source]
    if cwd is not None:
        (cwd / "program.py").write_text(source)
        command[3:] = ["program.py"]
        # Sources are rewritten faster than the clock of byte code caches ticks.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def files() -> set[str]:
    return {path.name for path in cache_directory().iterdir()}


def test_edits_miss_and_a_second_process_hits(tmp_path):
    def write(name, *edit):
        path = tmp_path / name
        path.write_text(MODULES[name].replace(*edit) if edit else MODULES[name])

    program = PASS + "from losses_of_mine import Mine\nreport(Mine())\n"
    for name in MODULES:
        write(name)
    (tmp_path / "settings.py").write_text("OFFSET = 0.0\n")
    assert run(program, tmp_path) == ["1.0 0 1"]
    assert run(program, tmp_path) == ["1.0 1 0"]
    write("losses_of_mine.py", "FACTOR = 1.0", "FACTOR = 2.0")
    assert run(program, tmp_path) == ["2.0 0 1"]
    write("losses_of_mine.py", "+ settings", "- 1.0 + settings")
    assert run(program, tmp_path) == ["0.5 0 1"]
    write("losses_of_mine.py")
    write("helpers.py", "abs(v)", "v")
    assert run(program, tmp_path) == ["-1.0 0 1"]
    write("helpers.py")
    (tmp_path / "settings.py").write_text("OFFSET = 7.0\n")
    assert run(program, tmp_path) == ["4.5 0 1"]
    (tmp_path / "settings.py").write_text("OFFSET = 0.0\n")
    write("losses_of_mine.py", "margin: float = 1.0", "margin: float = 2.0")
    assert run(program, tmp_path)[0].startswith("0.5 ")
    write("losses_of_mine.py", "margin: float = 1.0", "margin: int = 4\n    more: float = 0.0")
    assert run(program, tmp_path) == ["0.5 0 1"]
    write("losses_of_mine.py")
    assert run(program, tmp_path) == ["1.0 1 0"]


def test_strangers_and_main_and_damage(tmp_path):
    for name in MODULES:
        (tmp_path / name).write_text(MODULES[name])
    (tmp_path / "settings.py").write_text("OFFSET = 0.0\n")
    built_in = PASS + dedent("""
        @dataclass(frozen=True)
        class Square(Component):
            def value(self, y, p):
                return (p - y) * (p - y)
        report(Square())
    """)
    run(PASS + "from losses_of_mine import Mine\nreport(Mine())\n", tmp_path)
    stranger = files()
    for name in (*MODULES, "settings.py"):
        (tmp_path / name).unlink()
    # The stranger's module is gone, and classes of __main__ are found again.
    assert run(built_in, tmp_path) == ["2.0 0 1"]
    after = files()
    assert len(after) == len(stranger) + 1
    assert run(built_in, tmp_path) == ["2.0 1 0"]
    assert run(built_in, None) == ["2.0 1 0"]
    assert files() == after
    (mine,) = after - stranger
    path = cache_directory() / mine
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert run(built_in, tmp_path) == ["2.0 0 1"]
    assert run(built_in, tmp_path) == ["2.0 1 0"]
    assert files() == after


def test_fields_of_a_nested_bundle_in_another_order_miss(tmp_path):
    program = dedent("""
        from bundles import Inner, Outer
        from noregret.jit import cache_events, kernel

        @kernel
        def read(bundle):
            return bundle.inner.first

        print(read(Outer(Inner(first=1.0, second=2.0), 3.0)), cache_events.misses)
    """)
    for fields in ("first: float\n    second: float", "second: float\n    first: float"):
        (tmp_path / "bundles.py").write_text(
            "from typing import NamedTuple\n"
            f"class Inner(NamedTuple):\n    {fields}\n"
            "class Outer(NamedTuple):\n    inner: Inner\n    one: float\n"
        )
        assert run(program, tmp_path) == ["1.0 1"]


def test_components_do_not_import_numba():
    assert run(
        "import sys, noregret.component, noregret.losses, noregret.mirrors, noregret.rates\n"
        "print('numba' in sys.modules)"
    ) == ["False"]


def test_a_docstring_changes_no_key_and_a_constant_does() -> None:
    def explained(x: float) -> str:
        """Return a letter."""
        return "a" if x > 0.0 else "b"

    def key(*constants: object) -> str:
        return Fingerprint(lambda value: None).of(explained.__code__.replace(co_consts=constants))

    words, *rest = explained.__code__.co_consts
    assert words == "Return a letter." and set(rest) == {0.0, "a", "b"}
    own = key(words, *rest)
    assert key("Other words.", *rest) == own
    assert key(words, *("c" if one == "b" else one for one in rest)) != own

    def loaded() -> str:
        return "a"

    # A first constant that is loaded is no docstring.
    code = loaded.__code__.replace(co_consts=("a", "b"), co_code=_first_loaded(loaded))
    assert Fingerprint(lambda value: None).of(code) != Fingerprint(lambda value: None).of(
        code.replace(co_consts=("c", "b"))
    )


def test_a_module_is_its_code_not_its_text() -> None:
    def key(source: str) -> str:
        return Fingerprint(lambda value: None).of(compile(source, "<module>", "exec"))

    source = '"""A module."""\nclass A:\n    """A class."""\n    first = "a"\n'
    own = key(source)
    assert key(source.replace("A module.", "Other words.").replace("A class.", "Others.")) == own
    assert key(f"{source}\n# a comment\n") == own
    assert key(source.replace('"a"', '"b"')) != own
    # A docstring that the code uses counts.
    used = '"""a"""\nfirst = "{}"\n'
    assert key(used.format("a")) != key(used.format("b"))


def _first_loaded(function: Callable[[], str]) -> bytes:
    """Return the byte code of a function, loading constant 0 in place of any other."""
    code = bytearray(function.__code__.co_code)
    for one in dis.get_instructions(function):
        if one.opname.endswith("_CONST"):
            code[one.offset + 1] = 0
    return bytes(code)
