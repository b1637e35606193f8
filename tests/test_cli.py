"""The command line, mostly as real processes: what it prints, saves and refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from noregret.cli.main import main

ENVIRONMENT = os.environ | {
    "COLUMNS": "80",
    "NO_COLOR": "1",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONPATH": str(Path(__file__).parent.parent / "src"),
}
RUN = "import sys; from noregret.cli.main import main; sys.argv[0] = 'noregret'; main()"


def noregret(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        **options,
    )


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Run the program inside this process, where numba is loaded once for all tests."""

    def _call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["noregret", *map(str, arguments)])
        with pytest.raises(SystemExit) as leaving:
            main()
        code = leaving.value.code
        assert isinstance(code, int)
        return Result(code, *capsys.readouterr())

    return _call


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred examples with labels 0/1 that a linear predictor mostly gets right."""
    rng = np.random.default_rng(7)
    path = tmp_path_factory.mktemp("streams") / "hundred.svm"
    lines = []
    for _ in range(100):
        x = rng.standard_normal(5).round(3)
        label = int(x[0] - x[1] + 0.3 * rng.standard_normal() > 0)
        lines.append(f"{label} " + " ".join(f"{i}:{v}" for i, v in enumerate(x, 1)))
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--loss", "nonsense"], "--loss nonsense: expected one of logistic, hinge[:MARGIN],"),
        (["--loss", "huber:x"], "--loss huber:x: expected a number for delta, found 'x'"),
        (["--loss", "logistic:1"], "--loss logistic:1: logistic takes nothing after a colon"),
        (["--loss", "quantile:2"], "Quantile(level) must lie strictly between 0 and 1, got 2.0"),
        (["--mirror", "ball"], "--mirror ball needs --radius"),
        (["--mirror", "p-norm"], "--mirror p-norm needs its p, as in p-norm:4"),
        (["--radius", "2"], "--radius belongs to the maps ball, entropy, signed-entropy, and"),
        (["--mirror", "entropy"], "--mirror entropy needs --features"),
        (["--floor-radius", "-1"], "--floor-radius must be a number >= 0, got -1.0"),
        (["--save", "no/such/folder/m"], "--save no/such/folder/m: there is no folder"),
        (["--labels", "7"], "--labels 7: expected NEGATIVE,POSITIVE as in 0,1"),
        (["--loss", "squared", "--labels", "0,1"], "--labels belongs to classification losses"),
    ],
)
def test_arguments_that_make_no_sense_are_one_line_and_exit_code_2(
    stream: Path, call: Callable[..., Result], arguments: list[str], complaint: str
) -> None:
    run = call("learn", stream, *arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.startswith(f"noregret: {complaint}")
    assert run.stderr.count("\n") == 1


def test_files_that_cannot_be_read_are_one_line_and_leave_no_model(
    tmp_path: Path, call: Callable[..., Result]
) -> None:
    bad, empty, model = tmp_path / "bad.svm", tmp_path / "empty.svm", tmp_path / "model"
    bad.write_text("1 1:1\n0 2:x\n")
    empty.write_text("")
    for path, complaint in (
        (tmp_path / "missing.svm", "No such file or directory"),
        (tmp_path, "the name does not tell the format"),
        (bad, "line 2, column 3: found '2:x', expected a finite number after the colon"),
        (empty, "the file has no examples"),
    ):
        run = call("learn", path, "--save", model)
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr.startswith(f"noregret: {path}")
        assert complaint in run.stderr and run.stderr.count("\n") == 1
        assert not model.exists()


def test_version_is_that_of_the_project(call: Callable[..., Result]) -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    assert call("--version").stdout == f"noregret {project['project']['version']}\n"


def test_help_is_quick_complete_and_narrow() -> None:
    run = noregret("--help")
    assert run.returncode == 0
    assert "learn" in run.stdout and "demo" in run.stdout
    run = noregret("learn", "--help")
    for option in ("--loss", "--mirror", "--radius", "--rate", "--eta", "--scale", "--save"):
        assert option in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 80


def test_help_does_not_load_numba() -> None:
    script = RUN.replace("main()", "\ntry: main()\nexcept SystemExit: pass\n") + (
        "heavy = {'numba', 'scipy', 'matplotlib', 'sklearn'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, "learn", "--help"],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert "--mirror" in run.stdout
    assert run.returncode == 0, run.stderr


def test_learn_prints_powers_of_two_and_the_certificate(stream: Path) -> None:
    run = noregret("learn", stream, "--mirror", "ball", "--radius", "3")
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "labels 0 → -1, 1 → +1" in run.stdout
    assert "floor over every u with ||u||_2 <= 3, the map's own set" in run.stdout
    head = next(number for number, line in enumerate(lines) if line.startswith("─"))
    rounds = [line.split()[0] for line in lines[head + 1 : head + 9]]
    assert rounds == ["1", "2", "4", "8", "16", "32", "64", "100"]
    assert lines[head + 9] == "" and len(lines) > head + 10


def test_json_agrees_with_the_library(stream: Path, call: Callable[..., Result]) -> None:
    import noregret as nr

    run = call("learn", stream, "--mirror", "ball", "--radius", "3", "--json")
    summary = json.loads(run.stdout)
    learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(3.0), nr.rates.Adaptive())
    (block,) = nr.read(stream, labels="binary")
    learner.learn(block, block.y)
    certificate = learner.certificate()
    last = summary["progress"][-1]
    assert last["rounds"] == 100
    assert last["loss"] == pytest.approx(certificate.loss, rel=1e-12)
    assert last["floor"] == pytest.approx(certificate.floor(3.0), rel=1e-9)
    assert last["average_regret"] * 100 == pytest.approx(last["loss"] - last["floor"])
    assert summary["labels"] == {"0": -1.0, "1": 1.0}
    assert summary["certificate"] == json.loads(json.dumps(certificate.as_dict(3.0)))


def test_the_floor_is_below_the_loss_of_fixed_predictors_at_every_line(
    stream: Path, call: Callable[..., Result]
) -> None:
    import noregret as nr

    (block,) = nr.read(stream, labels="binary")
    dense, loss = block.dense(), nr.losses.Logistic()
    run = call("learn", stream, "--floor-radius", "4", "--json")
    rng = np.random.default_rng(3)
    candidates = [4.0 * u / np.linalg.norm(u) for u in rng.standard_normal((50, 5))]
    candidates.append(np.array([1.0, -1.0, 0, 0, 0]) * 4.0 / np.sqrt(2.0))
    for point in json.loads(run.stdout)["progress"]:
        for u in candidates:
            rows = dense[: point["rounds"]] @ u
            total = sum(loss.value(y, p) for y, p in zip(block.y, rows, strict=False))
            assert point["floor"] <= total


def test_floor_of_the_current_weights_size_says_so(
    stream: Path, call: Callable[..., Result]
) -> None:
    run = call("learn", stream)
    assert "floor over every u no larger than the weights at that line" in run.stdout


def test_quiet_prints_the_certificate_only_and_save_writes_a_model(
    stream: Path, tmp_path: Path, call: Callable[..., Result]
) -> None:
    import noregret as nr

    model = tmp_path / "model"
    run = call("learn", stream, "--quiet", "--save", model)
    learner = nr.load(model)
    assert run.stdout.strip() == str(learner.certificate()).strip()
    assert learner.certificate().rounds == 100


@pytest.mark.parametrize(
    "arguments",
    [
        ["--loss", "hinge", "--rate", "constant", "--eta", "0.1"],
        ["--loss", "squared-hinge:0.5", "--rate", "inverse-sqrt"],
        ["--loss", "squared", "--rate", "constant", "--eta", "0.01"],
        ["--loss", "huber:0.5", "--rate", "per-coordinate"],
        ["--loss", "epsilon-insensitive:0.2"],
        ["--loss", "absolute", "--mirror", "p-norm:4"],
        ["--loss", "quantile:0.8", "--mirror", "soft-threshold:0.001"],
        ["--mirror", "entropy", "--radius", "2", "--features", "5"],
        ["--mirror", "signed-entropy", "--radius", "2", "--features", "5"],
        ["--mirror", "unnormalized-entropy", "--features", "5", "--rate", "constant"],
    ],
    ids=" ".join,
)
def test_losses_maps_and_rates_work_from_the_command_line(
    stream: Path, call: Callable[..., Result], arguments: list[str]
) -> None:
    run = call("learn", stream, *arguments, "--json")
    assert run.returncode == 0, run.stderr
    progress = json.loads(run.stdout)["progress"]
    assert progress[-1]["rounds"] == 100
    assert all(point["floor"] <= point["loss"] for point in progress)


def test_regression_has_no_column_of_mistakes(stream: Path, call: Callable[..., Result]) -> None:
    run = call("learn", stream, "--loss", "absolute")
    assert run.returncode == 0, run.stderr
    assert "mistakes" not in run.stdout.partition("─")[0]


def test_the_reader_of_a_pipe_may_leave(stream: Path) -> None:
    run = subprocess.run(
        f'{sys.executable} -c "{RUN}" learn {stream} | head -n 1',
        shell=True,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert run.stdout == "noregret learn hundred.svm\n"
    assert "Traceback" not in run.stderr


def test_demo_learns_the_digits_and_draws(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    picture = tmp_path / "demo.png"
    run = noregret("demo", "--picture", picture)
    assert (run.returncode, run.stderr) == (0, "")
    rows = [line.split() for line in run.stdout.splitlines() if line.lstrip()[:1].isdigit()]
    rows = [row for row in rows if len(row) == 6]
    assert rows[-1][0] == "1,797"
    floors = [float(row[4]) for row in rows]
    assert all(float(row[4]) <= float(row[1]) for row in rows)
    assert floors[-1] > 0.25 and all(a <= b for a, b in pairwise(floors[-4:]))
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000


@pytest.mark.soak
def test_memory_does_not_grow_with_the_stream(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = rng.standard_normal((1000, 10)).round(3)
    chunk = "".join(
        f"{int(x[0] > x[1])} " + " ".join(f"{i}:{v}" for i, v in enumerate(x, 1)) + "\n"
        for x in values
    )
    script = RUN.replace("main()", "\ntry: main()\nexcept SystemExit: pass\n") + (
        "import resource\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    peaks = []
    for thousands in (20, 1000):
        path = tmp_path / f"{thousands}.svm"
        with path.open("w") as file:
            for _ in range(thousands):
                file.write(chunk)
        run = subprocess.run(
            [sys.executable, "-c", script, "learn", str(path), "--json"],
            capture_output=True,
            text=True,
            check=True,
            env=ENVIRONMENT,
        )
        assert json.loads(run.stdout)["progress"][-1]["rounds"] == thousands * 1000
        peaks.append(int(run.stderr.split()[-1]))
    assert peaks[1] < 1.1 * peaks[0], f"peak memory in KiB: {peaks}"
