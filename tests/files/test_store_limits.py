"""Forged model files: refused in one line before they take memory or time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import noregret as nr
from noregret.files import store
from noregret.learners.files import learner_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.Constant(0.1))
    learner.learn([[1.0, 2.0]], [1.0])
    learner.save(tmp_path / "model.nr")
    return tmp_path / "model.nr"


def head_of(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    head: dict[str, Any] = json.loads(data[8 : 8 + length])
    return head


def forge(path: Path, head: dict[str, Any], size: int) -> None:
    """Write a head and `size` zeros, which take no room on the disk.

    The checksum is right where the file is small, as anybody can make it: a wrong one would be
    the reason for which the file is refused.
    """
    envelope = json.loads(head["__metadata__"]["noregret"])
    envelope["checksum"] = "0" * 64
    blank = _head_bytes(head, envelope)
    if size < 1_000_000:
        envelope["checksum"] = hashlib.sha256(blank + bytes(size)).hexdigest()
    with open(path, "wb") as file:
        file.write(_head_bytes(head, envelope))
        file.truncate(len(blank) + size)


def _head_bytes(head: dict[str, Any], envelope: dict[str, Any]) -> bytes:
    metadata = {"noregret": json.dumps(envelope, separators=(",", ":"))}
    text = json.dumps(head | {"__metadata__": metadata}).encode()
    return len(text).to_bytes(8, "little") + text


def test_the_checksum_of_a_forged_file_is_right(model: Path) -> None:
    forge(model, {"__metadata__": head_of(model)["__metadata__"]}, 0)
    header, arrays = store.read(model)
    assert header["learner"] == "MirrorDescent" and not arrays


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where the arrays of a file are taken apart."""

    def load(data: bytes) -> None:
        raise AssertionError("the arrays were read")

    monkeypatch.setattr(safetensors.numpy, "load", load)


def refused(path: Path, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        nr.load(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_a_valid_head_before_200_gigabytes_is_refused(model: Path, unread: None) -> None:
    try:
        os.truncate(model, 200_000_000_000)
    except OSError:
        pytest.skip("no sparse files of this size here")
    refused(model, "is damaged, its size is not the one")


def test_an_array_of_200_gigabytes_is_refused(model: Path, unread: None) -> None:
    head = head_of(model)
    head["state"] = {"dtype": "F64", "shape": [25 * 10**9], "data_offsets": [0, 200 * 10**9]}
    head = {name: head[name] for name in ("__metadata__", "state")}
    try:
        forge(model, head, 200 * 10**9)
    except OSError:
        pytest.skip("no sparse files of this size here")
    refused(model, "holds 200 GB, which this machine has no memory for")


def test_a_file_that_memory_runs_out_for_is_one_line(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(data: bytes) -> None:
        raise MemoryError

    monkeypatch.setattr(safetensors.numpy, "load", load)
    refused(model, "no memory for")


def test_twenty_thousand_arrays_are_refused_unread(model: Path, unread: None) -> None:
    head = head_of(model)
    told = {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}
    head |= {f"k{k}": told for k in range(20_000)}
    forge(model, head, 0)
    refused(model, r"holds 200\d\d arrays, expected .* up to 10000")


def test_more_arrays_than_can_be_read_are_not_written(tmp_path: Path) -> None:
    arrays = {f"k{k}": np.zeros(1) for k in range(10_001)}
    with pytest.raises(ValueError, match="10001 arrays, at most 10000 fit"):
        store.write(tmp_path / "a", {}, arrays)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "told", [{}, {"data_offsets": []}, {"data_offsets": [0, 0.5]}, {"data_offsets": "ab"}, 7, None]
)
def test_arrays_without_a_place_are_refused(model: Path, unread: None, told: Any) -> None:
    forge(model, head_of(model) | {"more": told}, 64)
    refused(model, "is damaged, its size is not the one")


class Walked(dict[str, Any]):
    """Arrays that count how often somebody goes through all of them."""

    walks = 0

    def __iter__(self) -> Any:
        self.walks += 1
        return super().__iter__()

    def items(self) -> Any:
        self.walks += 1
        return super().items()


@pytest.mark.parametrize("members", [2, 12])
def test_the_arrays_of_an_aggregate_are_gone_through_a_fixed_number_of_times(
    tmp_path: Path, members: int
) -> None:
    """Once for each member would take the square of the size of a forged file."""
    learner = nr.experts.Aggregate([
        nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.Constant(eta))
        for eta in np.linspace(0.1, 1.0, members)
    ])  # fmt: skip
    learner.learn([[1.0, 2.0]], [1.0])
    learner.save(tmp_path / "a")
    header, arrays = store.read(tmp_path / "a")
    walked = Walked(arrays)
    again = learner_of(header, walked)
    np.testing.assert_array_equal(again.weights, learner.weights)
    assert walked.walks == 2  # the checks of its numbers, and its members


def test_the_least_version_of_safetensors_reads_what_it_writes() -> None:
    # 0.4.3 writes a file without arrays that it cannot read.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (wanted,) = (one for one in project["dependencies"] if one.startswith("safetensors"))
    least = re.fullmatch(r"safetensors>=(\d+)\.(\d+)\.(\d+)", wanted)
    assert least is not None and tuple(map(int, least.groups())) >= (0, 4, 4)


def crowded(kind: str) -> dict[str, Any]:
    """Return a head that takes seconds to read as JSON."""
    text = {"lists": "[" + "[]," * 12_000_000 + "1]", "hidden": "[" + "{}," * 1_100_000 + "1]"}
    if kind == "long":
        return {"__metadata__": {"noregret": "x" * 17_000_000}}
    if kind == "outer":
        return {"__metadata__": {"noregret": "{}"}, "more": [[]] * 4_000_000}
    return {"__metadata__": {"noregret": text[kind]}}


@pytest.mark.parametrize("kind", ["lists", "hidden", "long", "outer"])
def test_a_head_too_large_for_a_model_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """No model needs it, and to read it as JSON would take up to half a minute."""
    text = json.dumps(crowded(kind), separators=(",", ":"))
    if kind == "hidden":
        # Commas of the inner text, written so that a count of the file's bytes misses them.
        text = text.replace("{},", "\\u007b}\\u002c")
    data = text.encode()
    path = tmp_path / "forged"
    path.write_bytes(len(data).to_bytes(8, "little") + data)
    read = json.loads
    sizes: list[int] = []

    def loads(text: Any, **options: Any) -> Any:
        sizes.append(len(text))
        return read(text, **options)

    monkeypatch.setattr(store.json, "loads", loads)
    refused(path, "header takes" if kind in ("lists", "long") else "header holds")
    # Only the long string of the hidden one is read, none of the values in it.
    assert len(sizes) == (kind == "hidden")


def test_a_header_that_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    for header in ({"many": [0] * 1_000_001}, {"long": "x" * 16_000_001}):
        with pytest.raises(ValueError, match="fit: keep large things in arrays"):
            store.write(tmp_path / "a", header, {})
    assert not list(tmp_path.iterdir())
    store.write(tmp_path / "a", {"many": [0] * 999_000}, {})
    assert len(store.read(tmp_path / "a")[0]["many"]) == 999_000
