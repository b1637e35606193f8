"""`noregret plan`: what it prints, and what it refuses in one line."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from noregret.cli.options import options_of
from noregret.cluster.planning import Network
from tests.cli.program import ENVIRONMENT, RUN, Call, svmlight

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("parts")
    paths = [folder / f"{k}.svm" for k in range(4)]
    for seed, path in enumerate(paths):
        path.write_text(svmlight(50, seed=seed))
    return paths


def test_a_plan_names_every_number_of_workers(files: list[Path], call: Call) -> None:
    run = call("plan", *files, "--shards", "4", "--workers", "3", "--loss", "hinge")
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert "estimates for 4 shards, Newton's method" in lines[0]
    head = next(k for k, line in enumerate(lines) if line.startswith("workers\t"))
    table = [line.split("\t") for line in lines[head : head + 5]]
    assert [row[0] for row in table] == ["workers", "1", "2", "3", "4"]
    assert {len(row) for row in table} == {9}
    assert sum(line.startswith("assumed: ") for line in lines) == 5


def test_what_was_read_is_counted(files: list[Path], tmp_path: Path, call: Call) -> None:
    packed = tmp_path / "all.svm.xz"
    packed.write_bytes(lzma.compress(b"".join(path.read_bytes() for path in files)))
    for inputs, size in ((files, sum(path.stat().st_size for path in files)), ([packed], None)):
        told = json.loads(call("plan", *inputs, "--json").stdout)
        assert told["rows"] == told["sampled_rows"] == 200 and told["whole"] is True
        assert told["features"] == 6 and told["nonzeros"] == 6.0
        assert told["bytes"] == (packed.stat().st_size if size is None else size)
        assert told["shards"] == 8 and told["workers"] == 2 and told["least_workers"] == 1
        assert all(rate > 0.0 for rate in told["rates"].values())


def test_rows_are_extrapolated(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.svm"
    path.write_text(svmlight(100) * 500)
    monkeypatch.setattr("noregret.cluster.measuring.ENOUGH", 1)
    told = json.loads(call("plan", path, "--json").stdout)
    if not told["whole"]:
        assert told["sampled_rows"] < 50_000
    assert told["rows"] == pytest.approx(50_000, rel=0.05)


def test_options_change_the_model(files: list[Path], call: Call) -> None:
    told = json.loads(
        call(
            *("plan", files[0], "--latency", "20", "--bandwidth", "50", "--memory", "100"),
            *("--rounds", "7", "--shards", "2", "--l2", "3", "--json"),
        ).stdout
    )
    assert told["network"] == {"latency": 0.02, "call": Network().call, "bandwidth": 5e7}
    assert told["rounds"] == 7 and told["memory"] == 1e8 and told["least_workers"] is None
    assert "no number of workers up to 2 fits" in told["remarks"][0]
    assert "1 file for 2 workers: one of them parses 100%" in told["remarks"][1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--shards", "2", "--workers", "3"), "at most one a shard: 3 workers for 2 shards"),
        (("--latency", "-1"), "latency must be"),
        (("--bandwidth", "0"), "bandwidth must be"),
        (("--memory", "nan"), "memory must be"),
        (("--tol", "0"), "tol must be"),
        (("--l2", "-3"), "l2 must be"),
        (("--loss", "softmax"), "--loss softmax"),
        (("--rounds", "0"), "--rounds"),
        (("--shuffle", "3"), "--shuffle 3"),
    ],
)
def test_errors_in_one_line(
    arguments: tuple[str, ...], said: str, files: list[Path], call: Call
) -> None:
    run = call("plan", files[0], *arguments)
    assert run.returncode == 2 and run.stdout == "" and run.stderr.count("\n") == 1
    assert said in run.stderr


def test_inputs_without_rows_or_size_are_refused(tmp_path: Path, call: Call) -> None:
    empty = tmp_path / "empty.svm"
    empty.write_text("")
    for path, said in (
        ("-", "save it to a file"),
        (empty, "empty.svm"),
        ("no.svm", "no such file"),
    ):
        run = call("plan", path)
        assert run.returncode == 2 and run.stderr.count("\n") == 1 and said in run.stderr


def test_ray_is_not_needed(files: list[Path]) -> None:
    script = f"import sys; sys.modules['ray'] = None; {RUN}"
    run = subprocess.run(
        [sys.executable, "-c", script, "plan", str(files[0])], capture_output=True, env=ENVIRONMENT
    )
    assert run.returncode == 0, run.stderr


def test_help_names_the_measured_defaults() -> None:
    shown = {one.name: one.shown for one in options_of("plan")}
    network = Network()
    assert f"{network.latency * 1e3:g} and {network.call * 1e3:g} a worker" in shown["latency"]
    assert f"{network.bandwidth / 1e6:g}" in shown["bandwidth"]
