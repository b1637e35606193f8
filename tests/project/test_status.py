"""The status line: in a terminal, in a notebook, and nowhere else."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from noregret import status


class _Handle:
    """Stands for IPython's display that can be updated."""

    calls: list[tuple[str, str]]

    def display(self, data: dict[str, str], raw: bool) -> None:
        assert raw
        self.calls.append(("display", data["text/plain"]))

    def update(self, data: dict[str, str], raw: bool) -> None:
        assert raw
        self.calls.append(("update", data["text/plain"]))


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    calls: list[tuple[str, str]] = []
    package: Any = types.ModuleType("IPython")
    display: Any = types.ModuleType("IPython.display")
    shell = types.SimpleNamespace(kernel=object())
    package.get_ipython, package.display = lambda: shell, display
    display.DisplayHandle = type("Handle", (_Handle,), {"calls": calls})
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return calls


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "PATIENCE", 0.0)
    monkeypatch.setattr(status, "_PAUSE", 0.0)


@pytest.mark.usefixtures("impatient")
def test_a_notebook_has_one_output_that_is_updated_and_emptied(
    notebook: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    line = status.StatusLine()
    line.tell("a third")
    line.tell("all")
    line.clear()
    assert notebook == [("display", "a third"), ("update", "all"), ("update", "")]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("impatient")
def test_a_terminal_has_one_line_that_is_erased(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    line = status.StatusLine()
    line.tell("x" * 50)
    line.clear()
    assert capsys.readouterr().err == f"\r\x1b[2K{'x' * 19}\r\x1b[2K"


@pytest.mark.usefixtures("impatient")
def test_elsewhere_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    line = status.StatusLine()
    line.tell("half")
    line.clear()
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_nothing(
    notebook: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = status.StatusLine()
    line.tell("half")
    line.clear()
    assert notebook == []
    # The shell of a terminal is no notebook.
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: object())
    assert status.StatusLine()._handle is None
