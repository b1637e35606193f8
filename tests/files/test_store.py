"""Model files: exact round trips, atomic writes, and refusal of every damaged file."""

from __future__ import annotations

import errno
import math
import os
import shutil
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noregret.component import Component
from noregret.files import store
from tests.sizes import sized

DTYPES = "?efdbhiqBHIQ"
HEADER = {"kind": "test", "eta": 0.1}
ARRAYS = {"weights": np.array([0.5, -0.0]), "rounds": np.array(7, dtype=np.uint64)}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
keys = st.text().filter(lambda key: key != "$float")
headers = st.dictionaries(
    keys, st.recursive(scalars, lambda x: st.lists(x) | st.dictionaries(keys, x), max_leaves=8)
)
bits = st.sampled_from(DTYPES).flatmap(
    lambda code: hnp.arrays(
        np.dtype(code), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    )
)


@dataclass(frozen=True)
class Shape(Component):
    """The base of the components of these tests."""


@dataclass(frozen=True)
class Disc(Shape):
    """A component with a float, an integer and an optional field."""

    radius: float
    sides: int = 3
    start: float | None = None


def same(left: Any, right: Any) -> bool:
    """Compare headers exactly: types, signs of zeros, NaN equal to NaN."""
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and repr(left) == repr(right)


def refused(path: Path) -> str:
    """Return the one line with which a file is refused."""
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        store.read(path)
    line = str(caught.value)
    assert str(path) in line and "noregret model" in line and "\n" not in line
    return line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A place for a model."""
    return tmp_path / "model.nr"


@pytest.fixture
def small(path: Path) -> Iterator[Path]:
    """A small valid model; after the test nothing temporary may lie beside it."""
    store.write(path, HEADER, ARRAYS)
    yield path
    assert not list(path.parent.glob(".noregret-*"))


@settings(
    max_examples=sized(20, 60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(header=headers, arrays=st.dictionaries(st.from_regex(r"[a-z_.]{1,5}", fullmatch=True), bits))
def test_round_trip(path: Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    store.write(path, header, arrays)
    first = path.read_bytes()
    got_header, got_arrays = store.read(path)
    assert same(got_header, header)
    assert set(got_arrays) == set(arrays)
    for name, array in arrays.items():
        got = got_arrays[name]
        assert (got.dtype, got.shape) == (array.dtype, array.shape)
        assert got.tobytes() == array.tobytes()
        assert got.flags.writeable and got.flags.c_contiguous
    store.write(path, got_header, dict(reversed(got_arrays.items())))
    assert path.read_bytes() == first


@given(pattern=hnp.arrays(np.uint64, 20))
@settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_every_bit_pattern_of_a_float_survives(path: Path, pattern: np.ndarray) -> None:
    special = np.array([0x7FF0000000000001, 0xFFF8DEADBEEF0001, 1 << 63, 0x7FF << 52], np.uint64)
    pattern = np.concatenate([special, pattern])
    store.write(path, {}, {"double": pattern.view(np.float64), "single": pattern.view(np.float32)})
    _, arrays = store.read(path)
    assert np.array_equal(arrays["double"].view(np.uint64), pattern)
    assert np.array_equal(arrays["single"].view(np.uint64), pattern)


def test_layouts_are_made_dense(path: Path) -> None:
    grid = np.arange(12.0).reshape(3, 4)
    views = {"t": grid.T, "step": grid[:, ::2], "back": grid[0, ::-1], "zero": np.float64(2) + grid}
    store.write(path, {}, {**views, "big": grid.astype(">f8"), "cast": np.broadcast_to(1.0, (2,))})
    _, arrays = store.read(path)
    for name, view in views.items():
        assert np.array_equal(arrays[name], view), name
    assert arrays["big"].dtype == np.dtype("<f8") and np.array_equal(arrays["big"], grid)
    assert arrays["cast"].tolist() == [1.0, 1.0]


def test_arrays_are_writeable_whatever_the_reader_gives(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = safetensors.numpy.load

    def frozen(data: bytes) -> dict[str, np.ndarray]:
        arrays = load(data)
        for array in arrays.values():
            array.setflags(write=False)
        return arrays

    monkeypatch.setattr(safetensors.numpy, "load", frozen)
    _, arrays = store.read(small)
    arrays["weights"] += 1.0
    assert arrays["weights"].tolist() == [1.5, 1.0]


def test_numbers_of_numpy_in_a_header(path: Path) -> None:
    header = {"a": np.int64(3), "b": np.float32(0.1), "c": np.bool_(True), "d": (1, math.nan)}
    store.write(path, header, {})
    got, _ = store.read(path)
    assert same(got, {"a": 3, "b": float(np.float32(0.1)), "c": True, "d": [1, math.nan]})


def test_header_may_imitate_the_envelope(path: Path) -> None:
    header = {"checksum": "0" * 64, "text": '"checksum":"' + "0" * 64, "__metadata__": {"a": 1}}
    store.write(path, header, {"checksum": np.arange(3)})
    assert store.read(path)[0] == header


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ({"a": {1: 2}}, "header['a']"),
        ({"a": [{"$float": 1}]}, "header['a'][0]"),
        ({"a": {"b": object()}}, "header['a']['b']"),
        ({"a": b"bytes"}, "header['a']"),
        ({"a": 1j}, "header['a']"),
        ([1], "header"),
    ],
)
def test_header_that_json_cannot_hold(small: Path, header: Any, names: str) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        store.write(small, header, {})
    assert names in str(caught.value) and str(small) in str(caught.value)
    assert store.read(small)[0] == HEADER


@pytest.mark.parametrize(
    "arrays",
    [
        {"o": np.array([None])},
        {"c": np.zeros(2, complex)},
        {"s": np.array(["text"])},
        {"v": np.zeros(2, "i4,f8")},
        {"l": [1.0]},
        {'"': np.zeros(1)},
        {"": np.zeros(1)},
        {"__metadata__": np.zeros(1)},
    ],
)
def test_arrays_that_are_refused(small: Path, arrays: Any) -> None:
    with pytest.raises(ValueError, match="array") as caught:
        store.write(small, {}, arrays)
    assert repr(next(iter(arrays))) in str(caught.value) and str(small) in str(caught.value)
    assert store.read(small)[0] == HEADER


def test_header_too_long_for_a_reader(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LONGEST_HEADER", 1000)
    with pytest.raises(ValueError, match="keep large things in arrays"):
        store.write(path, {"text": "x" * 1000}, {})
    assert not path.exists()


def test_every_single_byte_corruption_is_refused(small: Path) -> None:
    good = small.read_bytes()
    accepted = []
    with open(small, "r+b", buffering=0) as stream:
        for position, byte in enumerate(good):
            # Every bit of the byte, and all others in `make soak`.
            for other in sized({byte ^ 1 << bit for bit in range(8)}, {*range(256)} - {byte}):
                stream.seek(position)
                stream.write(bytes([other]))
                try:
                    store.read(small)
                except ValueError as error:
                    assert str(small) in str(error)
                else:
                    accepted.append((position, other))
            stream.seek(position)
            stream.write(bytes([byte]))
    assert not accepted
    assert store.read(small)[0] == HEADER


def test_every_truncation_and_extension_is_refused(small: Path) -> None:
    good = small.read_bytes()
    for length in range(len(good)):
        small.write_bytes(good[:length])
        refused(small)
    for tail in (b"\0", b" ", good):
        small.write_bytes(good + tail)
        refused(small)


def test_foreign_files(path: Path) -> None:
    assert "no such file" in refused(path)
    path.mkdir()
    assert "directory" in refused(path)
    path.rmdir()
    path.touch()
    assert "empty" in refused(path)
    assert "no such file" in refused(path / "below_a_file")
    path.write_text("label,feature\n1,2\n" * 100)
    refused(path)
    path.write_text("{}")
    refused(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model", "text" * 100)
    refused(path)
    np.save(path.with_suffix(".npy"), np.zeros(3))
    refused(path.with_suffix(".npy"))
    for metadata in (None, {"format": "pt"}, {"noregret": "[1]"}, {"noregret": "{"}):
        safetensors.numpy.save_file({"w": np.zeros(3)}, path, metadata)
        assert "foreign" in refused(path)
    safetensors.numpy.save_file({}, path, {"noregret": '{"format": "another"}'})
    assert "'another'" in refused(path)
    safetensors.numpy.save_file({}, path, {"noregret": "[" * 100_000})
    refused(path)


def test_a_pipe_is_refused_without_waiting(path: Path) -> None:
    os.mkfifo(path)
    assert "regular" in refused(path)
    with pytest.raises(OSError, match="not a regular file"):
        store.write(path, HEADER, ARRAYS)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_newer_version_asks_for_an_upgrade(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "VERSION", store.VERSION + 1)
    store.write(path, HEADER, ARRAYS)
    monkeypatch.undo()
    line = refused(path)
    assert "version 2" in line and "upgrade" in line


def test_a_failed_write_names_the_model(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="cannot write a noregret model: No space left") as caught:
        store.write(small, {"new": 1}, {})
    assert caught.value.filename == str(small) and caught.value.errno == errno.ENOSPC
    assert store.read(small)[0] == HEADER


def test_copies_and_safetensors_readers_agree(small: Path) -> None:
    copy = shutil.copy(small, small.with_name("copy"))
    assert store.read(copy)[0] == HEADER
    assert np.array_equal(safetensors.numpy.load_file(small)["weights"], ARRAYS["weights"])


@given(st.floats(allow_nan=False), st.integers(), st.none() | st.floats(allow_nan=False))
@settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_components_round_trip(path: Path, radius: float, sides: int, start: float | None) -> None:
    disc = Disc(radius, sides, start)
    store.write(path, store.component_to_header(disc), {})
    got = store.component_from_header(store.read(path)[0], Shape)
    assert type(got) is Disc and same(got.fields(), disc.fields())


def test_components_are_only_found_below_their_base() -> None:
    stored = store.component_to_header(Disc(1))
    assert stored["class"] == f"{__name__}:Disc"

    @dataclass(frozen=True)
    class Other(Component):
        pass

    with pytest.raises(ValueError, match="import or define that class first"):
        store.component_from_header(stored, Other)


def test_a_file_cannot_import_or_call() -> None:
    for name in ("antigravity:Disc", "os:system", "builtins:print", f"{__name__}:same", "", 3):
        with pytest.raises(ValueError, match="import or define that class first"):
            store.component_from_header({"class": name, "fields": {}}, Shape)


def test_a_base_that_is_no_record_is_not_built() -> None:
    class Bare(Component):
        pass

    with pytest.raises(ValueError, match="import or define that class first"):
        store.component_from_header({"class": store._class_name(Bare), "fields": {}}, Bare)


def test_the_later_of_two_definitions_is_meant() -> None:
    def define(default: float) -> type[Shape]:
        @dataclass(frozen=True)
        class Again(Shape):
            size: float = default

        return Again

    old, new = define(1), define(2)
    assert type(store.component_from_header(store.component_to_header(old()), Shape)) is new


@pytest.mark.parametrize(
    "fields",
    [{}, {"radius": 1.0}, {"radius": 1.0, "sides": 3, "start": None, "more": 1}, [1], None]
    + [{"radius": value, "sides": 3, "start": None} for value in ("1", [1], {})],
)
def test_fields_must_be_those_of_the_class(fields: Any) -> None:
    with pytest.raises(ValueError, match=r"field.* the model stores"):
        store.component_from_header({"class": f"{__name__}:Disc", "fields": fields}, Shape)


def test_component_header_must_have_its_two_keys() -> None:
    for header in ({}, {"class": "a:b"}, "a:b", None):
        with pytest.raises(ValueError, match="'class' and 'fields'"):
            store.component_from_header(header, Shape)  # type: ignore[arg-type]
