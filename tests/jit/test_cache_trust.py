"""The kernel cache runs what lies in it, so it takes nothing that somebody else can have put there.

Each attack plants a file that is whole, with the right name and digest: before directories were
checked, its payload ran.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from noregret.jit import cache_directory, cache_events, directory, kernel

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes of POSIX"),
]


class Payload:
    """What a stranger pickles: loading it makes a directory."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """A cache with one kernel in it, made the usual way."""
    place = tmp_path / "above" / "cache"
    monkeypatch.setenv("NOREGRET_CACHE_DIR", str(place))
    monkeypatch.setattr(directory, "_warned", set())
    assert fresh()(1.0) == 8.0
    assert len(entries(place)) == 1
    return place


def fresh():
    """Return a kernel that this process has not compiled, the same one each time."""

    @kernel
    def add_seven(x):
        return x + 7.0

    return add_seven


def entries(place: Path) -> list[Path]:
    return sorted(place.glob("*.kernel"))


def plant(cache: Path, trace: Path) -> Path:
    """Replace the kernel by the payload of a stranger; return the file."""
    (entry,) = entries(cache)
    payload = pickle.dumps(Payload(trace))
    entry.unlink()
    entry.write_bytes(b"noregret kernel 1\n" + hashlib.sha256(payload).digest() + payload)
    entry.chmod(0o600)
    return entry


def refuses(reason: str) -> None:
    """Call the kernel; a warning must say once why it is compiled."""
    misses = cache_events.misses
    with pytest.warns(UserWarning, match=reason) as said:
        assert fresh()(1.0) == 8.0
    # What the garbage of other tests says meanwhile is of another category.
    (ours,) = [str(one.message) for one in said if issubclass(one.category, UserWarning)]
    assert "\n" not in ours and "NOREGRET_CACHE_DIR" in ours
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert fresh()(1.0) == 8.0
    assert cache_events.misses == misses + 2


def test_the_planted_payload_would_run_in_a_directory_of_ours(cache, tmp_path):
    # Else the tests below would show nothing: the file is one that the cache believes.
    plant(cache, tmp_path / "trace")
    with pytest.warns(UserWarning, match="cannot load kernel"):
        assert fresh()(1.0) == 8.0
    assert (tmp_path / "trace").exists()


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o702])
def test_a_directory_that_others_may_write_to_is_not_used(cache, tmp_path, mode):
    plant(cache, tmp_path / "trace")
    cache.chmod(mode)
    refuses(f"others may write to .*cache .its mode is {mode:o}")
    assert not (tmp_path / "trace").exists()


def test_a_directory_above_that_others_may_write_to_makes_it_unsafe(cache, tmp_path):
    plant(cache, tmp_path / "trace")
    cache.parent.chmod(0o777)
    refuses("others may write to .*above .its mode is 777")
    assert not (tmp_path / "trace").exists()
    # In a sticky one they cannot rename what is ours.
    cache.parent.chmod(0o1777)
    assert directory.usable_directory() == cache


def test_a_directory_of_another_user_is_not_used(cache, tmp_path, monkeypatch):
    plant(cache, tmp_path / "trace")
    if os.geteuid() == 0:
        # Root with the HOME of another user, as `sudo` may keep it.
        os.chown(cache, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    refuses("belongs to user .*, this is user")
    assert not (tmp_path / "trace").exists()


def test_a_directory_above_of_another_user_is_not_used(cache, tmp_path, monkeypatch):
    plant(cache, tmp_path / "trace")
    if os.geteuid() == 0:
        os.chown(cache.parent, 12345, 12345)
    else:
        pytest.skip("only root can give a directory away")
    refuses("above belongs to user 12345, this is user 0")
    assert not (tmp_path / "trace").exists()


def test_root_does_not_serve_a_user_nor_a_user_root(cache, monkeypatch):
    # The directory of root is root's only, though root may own the directories above.
    owner = os.stat(cache).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert "belongs to user" in directory.unsafe_reason(cache)
    monkeypatch.undo()
    assert directory.unsafe_reason(cache) == ""


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_an_entry_that_others_may_write_to_is_not_loaded(cache, tmp_path, mode):
    plant(cache, tmp_path / "trace").chmod(mode)
    assert fresh()(1.0) == 8.0
    assert not (tmp_path / "trace").exists()
    # What was compiled instead took its place.
    (entry,) = entries(cache)
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


def test_an_entry_of_another_user_is_not_loaded(cache, tmp_path, monkeypatch):
    entry = plant(cache, tmp_path / "trace")
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(entry, 12345, 12345)
    assert fresh()(1.0) == 8.0
    assert not (tmp_path / "trace").exists()
    assert entry.stat().st_uid == 0


def test_a_link_is_not_followed(cache, tmp_path):
    entry = plant(cache, tmp_path / "trace")
    elsewhere = tmp_path / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)
    assert fresh()(1.0) == 8.0
    assert not (tmp_path / "trace").exists()
    assert not entry.is_symlink() and elsewhere.exists()


def loaded_elsewhere(entry: Path) -> str:
    """Load an entry in a process of its own: a hang or endless reading must end."""
    program = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        "from noregret.jit import directory\n"
        f"print(directory.load({entry.name.removesuffix('.kernel')!r}))"
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_fifo_does_not_hang_and_is_replaced(cache):
    (entry,) = entries(cache)
    entry.unlink()
    os.mkfifo(entry)
    assert loaded_elsewhere(entry) == "None"
    assert fresh()(1.0) == 8.0
    assert entry.is_file()


def test_a_device_is_not_read(cache):
    if os.geteuid() != 0:
        pytest.skip("only root can make a device")
    (entry,) = entries(cache)
    entry.unlink()
    try:
        os.mknod(entry, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no devices can be made here")
    assert loaded_elsewhere(entry) == "None"


def test_a_linked_directory_is_judged_by_where_it_leads(cache, tmp_path, monkeypatch):
    link = tmp_path / "link"
    link.symlink_to(cache)
    monkeypatch.setenv("NOREGRET_CACHE_DIR", str(link))
    assert directory.usable_directory() == cache
    plant(cache, tmp_path / "trace")
    cache.chmod(0o777)
    refuses("others may write to")
    assert not (tmp_path / "trace").exists()


def test_missing_directories_are_made_for_this_user_only(tmp_path, monkeypatch):
    monkeypatch.setenv("NOREGRET_CACHE_DIR", str(tmp_path / "a" / "b" / "c"))
    before = os.umask(0)
    try:
        directory.save("key", b"payload")
    finally:
        os.umask(before)
    assert directory.load("key") == b"payload"
    for place in (cache_directory(), *cache_directory().parents[:2]):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_nothing_is_made_below_a_directory_that_others_may_write_to(tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "_warned", set())
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("NOREGRET_CACHE_DIR", str(tmp_path / "open" / "cache"))
    with pytest.warns(UserWarning, match="others may write to"):
        directory.save("key", b"payload")
    assert not (tmp_path / "open" / "cache").exists()


def test_a_directory_that_somebody_else_made_meanwhile_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "_warned", set())
    monkeypatch.setenv("NOREGRET_CACHE_DIR", str(tmp_path / "cache"))
    made = directory._make_private

    def overtaken(place: Path) -> None:
        place.mkdir()
        place.chmod(0o777)
        made(place)

    monkeypatch.setattr(directory, "_make_private", overtaken)
    with pytest.warns(UserWarning, match="others may write to"):
        directory.save("key", b"payload")
    assert list((tmp_path / "cache").iterdir()) == []


def test_without_owners_the_directory_is_used(cache, monkeypatch):
    monkeypatch.delattr(os, "geteuid")
    (entry,) = entries(cache)
    assert directory.load(entry.name.removesuffix(".kernel"))
