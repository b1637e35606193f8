"""Faults that need a Ray of their own: full stores, lost or slow nodes, killed drivers, signals.

Each takes ten seconds or more, most of them for Ray's own start and end: hence they are in
`make soak`. What can be shown on the Ray of all tests is in `test_ray.py`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import ENVIRONMENT, ROOT, noregret, start

pytestmark = [pytest.mark.soak, pytest.mark.compiled]
pytest.importorskip("ray", reason="Ray is not installed: pip install 'noregret[cluster]'")
#: Seconds within which the processes of an ended run are gone, and of one whose driver was killed:
#: Ray's agents look only now and then whether the others are still there.
GONE, GONE_AFTER_KILL = 15.0, 120.0


def run(name: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    return subprocess.run(
        [sys.executable, "-m", "tests.cluster.fault_runs", name, str(folder)],
        capture_output=True, text=True, timeout=300, cwd=ROOT,
        env=ENVIRONMENT | {"PYTHONPATH": path} | environment,
    )  # fmt: skip


def test_a_full_object_store_spills_and_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """Ray puts what the store cannot hold on the disk; with that full, too, calls are refused."""
    assert run("full_store", tmp_path).stdout == "converged True\n"
    begin = time.monotonic()
    # The disk counts as full as soon as a ten thousandth of it is used.
    found = run("full_store", tmp_path, RAY_local_fs_capacity_threshold="0.0001")
    assert found.stdout == (
        "noregret: the object store of the cluster is full: give it more memory, or use fewer "
        "columns\n"
    )
    assert "Traceback" not in found.stderr and "Error" not in found.stderr
    assert time.monotonic() - begin < 60.0


def test_a_lost_node_changes_no_bit(tmp_path: Path) -> None:
    found = run("lost_node", tmp_path, RAY_AUTH_MODE="disabled")
    assert found.stdout == "lost 1, same bits True\n", found.stderr


def test_a_lost_node_without_a_successor_is_one_line(tmp_path: Path) -> None:
    found = run("node_without_successor", tmp_path, RAY_AUTH_MODE="disabled")
    assert found.stdout.startswith("noregret: worker ") and found.stdout.count("\n") == 1
    assert "has not answered for 10 s: its node is gone, slow, or has no free pro" in found.stdout


def test_a_slow_node_is_waited_for_and_changes_no_bit(tmp_path: Path) -> None:
    found = run("slow_node", tmp_path, RAY_AUTH_MODE="disabled")
    assert found.stdout == "workers there 1, lost 0, waited True, same bits True\n", found.stderr


def descendants(process: int) -> set[int]:
    """Return the processes that a process has started, and those that they have."""
    parents = {}
    for one in Path("/proc").iterdir():
        if one.name.isdecimal():
            try:
                parents[int(one.name)] = int(
                    (one / "stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:
                continue
    found, new = set[int](), {process}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def alive(processes: set[int]) -> set[int]:
    """Return those that run; a process that has ended and was not asked for its code has not."""
    found = set()
    for process in processes:
        try:
            status = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if status != "Z":
            found.add(process)
    return found


def require_gone(processes: set[int], seconds: float = GONE) -> None:
    assert processes
    end = time.monotonic() + seconds
    while (left := alive(processes)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not left, [Path(f"/proc/{one}/cmdline").read_text() for one in left]


def command(path: str, folder: Path, *more: str) -> list[str]:
    return [
        "hindsight", path, "--l2", "0.001", "--tol", "1e-10", "--cluster", "local", "--shards",
        "4", "--workers", "2", "--checkpoint", str(folder), "--top", "0", *more,
    ]  # fmt: skip


def until_pass(program: Any, number: int) -> None:
    """Wait until the table has the line of a pass."""
    for line in program.stdout:
        if line.split()[:1] == [str(number).encode()]:
            return
    pytest.fail(program.stderr.read().decode())


def weights_of(path: str, folder: Path, *more: str) -> tuple[str, dict[str, Any]]:
    """Return the weights and the result of a run to its end."""
    out = folder.with_suffix(".weights")
    limits = ("--max-passes", "60", "--json", "--weights", str(out))
    found = noregret(*command(path, folder, *limits, *more))
    assert found.returncode == 0, found.stderr
    return out.read_text(), json.loads(found.stdout)


@pytest.fixture(scope="module")
def whole(wide: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The weights of a run that nothing happened to."""
    return weights_of(wide, tmp_path_factory.mktemp("whole") / "kept")[0]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_driver_that_is_ended_resumes_to_the_same_bits(
    name: str, wide: str, whole: str, tmp_path: Path
) -> None:
    number, folder = getattr(signal, name), tmp_path / "kept"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = start(*command(wide, folder, "--max-passes", "100000"), **pipes)
    until_pass(program, 12)
    others = descendants(program.pid)
    program.send_signal(number)
    _, error = program.communicate(timeout=60)
    if name == "SIGKILL":
        assert program.returncode == -number
    else:
        assert program.returncode == 128 + number
        assert error.decode() == (
            f"noregret: ended by {name}; workers are stopped, --resume goes on from the last state "
            f"in {folder}\n"
        )
    require_gone(others, GONE_AFTER_KILL if name == "SIGKILL" else GONE)
    again, told = weights_of(wide, folder, "--resume")
    assert again == whole and told["cluster"]["rounds"][0]["passes"] >= 10


def test_ctrl_c_keeps_what_there_is(wide: str, tmp_path: Path) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = start(*command(wide, tmp_path / "kept", "--max-passes", "100000"), **pipes)
    until_pass(program, 12)
    others = descendants(program.pid)
    program.send_signal(signal.SIGINT)
    output, error = program.communicate(timeout=60)
    assert (program.returncode, error) == (0, b"")
    assert b"stopped after" in output and b"by separate code" in output
    require_gone(others)


@pytest.mark.parametrize("seconds", [1.0, 3.0])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_workers_start_ends_them(
    name: str, seconds: float, wide: str, tmp_path: Path
) -> None:
    """From the first import on, where the program leaves at once, to the start of Ray."""
    number = getattr(signal, name)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = start(*command(wide, tmp_path / "kept", "--max-passes", "100000"), **pipes)
    time.sleep(seconds)
    others = descendants(program.pid)
    program.send_signal(number)
    output, error = program.communicate(timeout=60)
    kept = number == signal.SIGINT and b"stopped after" in output
    assert program.returncode == (0 if kept else 128 + number)
    assert error.count(b"\n") <= 1 and b"Traceback" not in error
    if others:
        assert kept or error.startswith(f"noregret: ended by {name}; workers are".encode())
        require_gone(others)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_online_learning(name: str, wide: str) -> None:
    number = getattr(signal, name)
    program = start(
        "learn", wide, "--cluster", "local", "--shards", "4", "--mix-every", "1",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    until_pass(program, 4)
    others = descendants(program.pid)
    program.send_signal(number)
    _, error = program.communicate(timeout=60)
    assert program.returncode == 128 + number
    assert error.decode() == (
        f"noregret: ended by {name}; workers are stopped, nothing was written\n"
    )
    require_gone(others)
