"""Dictionaries of names equal Python's, and survive being kept as arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.streams.hashing import CONSTANT, mask
from noregret.streams.names import NO_ROOM, FeatureNames, HashedNames

NAMES = st.lists(st.binary(max_size=12), max_size=60)


def laid_out(names: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.cumsum([0, *map(len, names)]).astype(np.uint64)
    return np.frombuffer(bytearray(b"".join(names)), np.uint8), ends


def remember(names: HashedNames, name: bytes, slot: int) -> bool:
    return names.remember_all(*laid_out([name]), np.array([slot], np.uint32))


@given(NAMES)
@settings(max_examples=200)
def test_it_numbers_names_as_a_dictionary_does(names: list[bytes]) -> None:
    truth: dict[bytes, int] = {}
    for name in names:
        truth.setdefault(name, len(truth))
    expected = [truth[name] for name in names]
    one_by_one, at_once = FeatureNames(), FeatureNames()
    assert [one_by_one.add(name) for name in names] == expected
    assert at_once.columns_of(*laid_out(names)).tolist() == expected
    for dictionary in (one_by_one, at_once):
        assert len(dictionary) == len(truth)
        assert [dictionary.key(k) for k in range(len(truth))] == list(truth)
        assert all(dictionary.column(name) == column for name, column in truth.items())


@pytest.mark.compiled
def test_it_grows_far_beyond_its_first_size() -> None:
    names = [f"name {k} {'x' * (k % 50)}".encode() for k in range(20_000)]
    dictionary = FeatureNames()
    assert dictionary.columns_of(*laid_out(names * 2)).tolist() == list(range(20_000)) * 2
    assert dictionary.column(names[12_345]) == 12_345
    assert dictionary.column("nobody") is None
    assert len(dictionary.dictionary.table) >= 2 * len(dictionary)


def test_unknown_names_can_be_left_unknown() -> None:
    dictionary = FeatureNames([b"a", b"b"])
    found = dictionary.columns_of(*laid_out([b"b", b"c", b"a", b""]), most=2)
    assert found.tolist() == [1, NO_ROOM, 0, NO_ROOM]
    found = dictionary.columns_of(*laid_out([b"c"]), add=False)
    assert found.tolist() == [NO_ROOM]
    assert list(dictionary) == ["a", "b"]


@given(NAMES)
@settings(max_examples=50)
def test_arrays_restore_it_and_it_goes_on(names: list[bytes]) -> None:
    dictionary = FeatureNames(names)
    restored = FeatureNames.from_arrays(dictionary.arrays())
    assert list(restored) == list(dictionary)
    assert restored.add(b"one more, longer than any") == len(dictionary)
    assert all(restored.column(name) == dictionary.column(name) for name in names)


def test_a_name_that_is_no_text_is_shown_by_numbers() -> None:
    dictionary = FeatureNames(["größe", b"\xff\x00x"])
    assert dictionary.name(0) == "größe"
    assert dictionary.name(1) == "\\xff\x00x"
    with pytest.raises(IndexError, match="column 2 of 2 names"):
        dictionary.name(2)


@pytest.mark.parametrize(
    ("text", "offsets", "complaint"),
    [
        (b"aba", [0, 1, 2, 3], "b'a' occurs twice"),
        (b"ab", [0, 1], "ascend from 0 to the 2 bytes"),
        (b"ab", [1, 2], "ascend"),
        (b"ab", [0, 2, 1, 2], "ascend"),
        (b"ab", [], "ascend"),
        (b"ab", [0, 2**63, 2], "ascend"),
    ],
)
def test_arrays_that_are_no_dictionary_are_refused(
    text: bytes, offsets: list[int], complaint: str
) -> None:
    arrays = {
        "name_text": np.frombuffer(bytearray(text), np.uint8),
        "name_offsets": np.array(offsets, np.uint64),
    }
    with pytest.raises(ValueError, match=complaint):
        FeatureNames.from_arrays(arrays)
    arrays["name_offsets"] = arrays["name_offsets"].astype(np.int32)
    with pytest.raises(ValueError, match="expected uint8 and uint64"):
        FeatureNames.from_arrays(arrays)


def test_hashed_names_are_remembered_up_to_the_limit() -> None:
    names = HashedNames(bits=18, limit=300)
    for k in range(400):
        assert remember(names, b"f^%d" % k, k // 2) == (k < 300)
    assert remember(names, b"f^7", 3) and len(names) == 300
    assert names.name(3) == "f^6 or f^7"
    assert names.name(199) == "slot 199"
    assert names.column("f^299") == 149 and names.column("f^300") is None
    assert names.name(CONSTANT & mask(18)) == "Constant"


def test_hashed_names_are_remembered_at_once_and_restored() -> None:
    names = HashedNames(bits=10, limit=3)
    names.remember_all(
        *laid_out([b"a", b"b", b"a", b"c", b"d"]), np.array([0, 1, 0, 3, 4], np.uint32)
    )
    assert [names.column(name) for name in ("a", "b", "c", "d")] == [0, 1, 3, None]
    restored = HashedNames.from_arrays(names.arrays(), bits=10, limit=4)
    assert [restored.column(name) for name in ("a", "b", "c", "d")] == [0, 1, 3, None]
    assert remember(restored, b"d", 1023) and restored.name(1023) == "d"
    with pytest.raises(ValueError, match="slot 1023 is beyond 9 bits"):
        HashedNames.from_arrays(restored.arrays(), bits=9)
    with pytest.raises(ValueError, match="expected 4 slots of uint32"):
        HashedNames.from_arrays(
            {**restored.arrays(), "name_slots": np.zeros(3, np.uint32)}, bits=10
        )


def test_nothing_is_remembered_without_a_limit() -> None:
    names = HashedNames(bits=18)
    names.remember_all(*laid_out([b"a"]), np.zeros(1, np.uint32))
    assert len(names) == 0 and names.name(0) == "slot 0"
    assert names.column("Constant") == CONSTANT & mask(18)
