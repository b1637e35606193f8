from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from noregret.cli.main import main
from noregret.report import pictures
from tests.cli.program import Call, Result, svmlight
from tests.sizes import FULL


@pytest.fixture(autouse=True)
def _signals_are_heard() -> Iterator[None]:
    """Signals ignored by a process stay ignored in its children: under nohup, or in background."""
    heard = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in heard.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the program inside this process, where numba is loaded once for all tests."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")

    def _call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["noregret", *map(str, arguments)])
        with pytest.raises(SystemExit) as leaving:
            main()
        code = leaving.value.code
        assert isinstance(code, int)
        return Result(code, *capsys.readouterr())

    return _call


@pytest.fixture
def one_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages have the first of their pictures only: nine take seconds. All in `make soak`."""
    if not FULL:
        monkeypatch.setattr(
            "noregret.runs.reporting.pictures",
            lambda *given, **options: islice(pictures(*given, **options), 1),
        )


@pytest.fixture(scope="session")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred examples with labels 0/1 that a linear predictor mostly gets right."""
    path = tmp_path_factory.mktemp("streams") / "hundred.svm"
    path.write_text(svmlight(100))
    return path


@pytest.fixture(scope="session")
def model(stream: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of these examples in a ball of radius 3."""
    path = tmp_path_factory.mktemp("models") / "hundred.nr"
    arguments = ["learn", str(stream), "--mirror", "ball", "--radius", "3", "--save", str(path)]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as leaving:
        patch.setattr(sys, "argv", ["noregret", *arguments, "--quiet"])
        main()
    assert leaving.value.code == 0
    return path
