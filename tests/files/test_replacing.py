"""Files that are replaced as a whole: nothing lost, nothing left, whatever goes wrong."""

from __future__ import annotations

import errno
import multiprocessing
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noregret.files import replacing
from noregret.files.replacing import replaced
from tests.files.full_disk import small_files
from tests.sizes import sized


def put(path: Path, content: bytes) -> None:
    with replaced(path) as stream:
        stream.write(content)


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Path]:
    """A file to replace; after the test nothing may lie beside it."""
    path = tmp_path / "file"
    put(path, b"old")
    yield path
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(
    old: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)) as caught:
        put(old, b"new")
    monkeypatch.undo()
    if isinstance(error, OSError):
        assert caught.value.filename == str(old) and caught.value.errno == errno.ENOSPC
    assert old.read_bytes() == b"old"


@pytest.mark.parametrize("size", [5000, 500_000])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(old: Path, size: int) -> None:
    # The smaller one is still in the buffer when the body ends.
    with small_files(1000), pytest.raises(OSError, match="File too large") as caught:
        put(old, b"x" * size)
    assert caught.value.filename == str(old) and old.read_bytes() == b"old"


def test_an_interrupt_on_a_full_disk_is_still_an_interrupt(old: Path) -> None:
    with small_files(1000), pytest.raises(KeyboardInterrupt), replaced(old) as stream:
        stream.write(b"x" * 5000)
        raise KeyboardInterrupt
    assert old.read_bytes() == b"old"


def test_what_the_body_cannot_read_keeps_its_name(old: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, replaced(old):
        (old.parent / "input").read_bytes()
    assert caught.value.filename == str(old.parent / "input")
    assert old.read_bytes() == b"old"


def test_the_directory_is_synced_after_the_rename(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        steps.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)
        if steps[-1] == "directory":
            raise OSError(errno.EINVAL, "no such operation on this file system")

    def note_replace(source: Any, target: Any) -> None:
        steps.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    put(old, b"new")
    assert steps == ["file", "replace", "directory"] and old.read_bytes() == b"new"


def test_permissions_and_links_stay(old: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    old.chmod(0o640)
    link = tmp_path_factory.mktemp("links") / "link"
    link.symlink_to(old)
    with replaced(link) as stream:
        # What others may not read they may not read on the way either.
        assert stat.S_IMODE(os.fstat(stream.fileno()).st_mode) == 0o600
        stream.write(b"new")
    assert link.is_symlink() and old.read_bytes() == b"new"
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert os.listdir(link.parent) == ["link"]


def test_a_new_file_has_the_permissions_that_all_new_files_have(tmp_path: Path) -> None:
    put(tmp_path / "a", b"")
    (tmp_path / "b").write_bytes(b"")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    put(tmp_path / ("x" * 255), b"new")
    assert os.listdir(tmp_path) == ["x" * 255]


def test_a_file_that_may_not_be_written_to_is_not_replaced(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Asked for, because the super-user may write to everything.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="may not be written to") as caught:
        put(old, b"new")
    assert caught.value.filename == str(old) and old.read_bytes() == b"old"


def test_places_that_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "astray").symlink_to("none/file")
    for name, reason in (
        ("pipe", "not a regular file"),
        (".", "not a regular file"),
        ("none/file", "no directory"),
        ("pipe/file", "no directory"),
        ("astray", "no directory"),
        ("loop", "Too many levels"),
    ):
        with pytest.raises(OSError, match=reason) as caught:
            put(tmp_path / name, b"new")
        assert caught.value.filename == str(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["astray", "loop", "pipe"]


def test_what_a_killed_writer_left_is_removed_by_the_next_one(old: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from noregret.files.replacing import replaced\n"
        "with replaced(sys.argv[1]) as stream:\n"
        "    stream.write(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", code, str(old)]).returncode == -9
        # The second removes what the first left, and leaves its own.
        assert len(os.listdir(old.parent)) == 2 and old.read_bytes() == b"old"
    put(old, b"new")
    assert old.read_bytes() == b"new"


def test_what_is_being_written_is_not_removed(old: Path) -> None:
    with replaced(old) as slow:
        slow.write(b"slow")
        put(old, b"quick")
        assert old.read_bytes() == b"quick"
    assert old.read_bytes() == b"slow"


def test_what_belongs_to_others_is_left_alone(tmp_path: Path) -> None:
    prefix = replacing._prefix(tmp_path / "file")
    other = replacing._prefix(tmp_path / "other")
    (tmp_path / f"{other}1.tmp").write_bytes(b"of another target")
    (tmp_path / f"{prefix}1.tmp").symlink_to(tmp_path / f"{other}1.tmp")
    os.mkfifo(tmp_path / f"{prefix}2.tmp")
    put(tmp_path / "file", b"new")
    assert (tmp_path / f"{other}1.tmp").read_bytes() == b"of another target"
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_temporary_file_taken_before_its_lock_is_made_anew(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, calls = replacing._lock, []

    def late(descriptor: int) -> bool | None:
        calls.append(descriptor)
        if len(calls) == 1:
            # Another writer comes between.
            monkeypatch.setattr(replacing, "_lock", lock)
            put(old, b"first")
            monkeypatch.setattr(replacing, "_lock", late)
        return lock(descriptor)

    monkeypatch.setattr(replacing, "_lock", late)
    put(old, b"second")
    assert len(calls) == 2 and old.read_bytes() == b"second"


def test_a_system_without_locks_writes_and_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    left = tmp_path / f"{replacing._prefix(tmp_path / 'file')}1.tmp"
    left.write_bytes(b"perhaps being written")
    monkeypatch.setattr(replacing.fcntl, "flock", fail)
    put(tmp_path / "file", b"new")
    assert sorted(os.listdir(tmp_path)) == sorted([left.name, "file"])


def _put_often(path: Path, number: int, times: int) -> None:
    for _ in range(times):
        put(path, b"%d" % number * 20_000)


def test_many_processes_at_once(old: Path) -> None:
    context = multiprocessing.get_context("spawn")
    count, times = sized((2, 20), (4, 40))
    writers = [context.Process(target=_put_often, args=(old, k, times)) for k in range(count)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        content = old.read_bytes()
        assert content == b"old" or (len(content) == 20_000 and len(set(content)) == 1)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
