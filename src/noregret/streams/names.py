"""Columns and the names of features: exact dictionaries, and names kept of hashed ones.

All names lie one after the other in one array of bytes; a table of open addressing finds
them. Parsers add names from a kernel (`find_or_add`), everybody else through the objects. A
kernel never enlarges anything: `reserve` does, before or between its calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from noregret.jit import kernel
from noregret.streams.hashing import CONSTANT, mask, murmur

#: What `find_or_add` returns where a new name found no room.
NO_ROOM = np.uint32(0xFFFFFFFF)

Arrays: TypeAlias = dict[str, NDArray[Any]]
Spelled: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.uint64]]
"""Names one after the other, and where each of them ends, after a 0."""

_S = TypeVar("_S", bound=np.generic)
_0, _1 = np.uint64(0), np.uint64(1)
_FIRST_NAMES, _FIRST_BYTES = 256, 4096


class Dictionary(NamedTuple):
    """A hash table of names, for kernels; `reserve` of its owner replaces arrays that are full."""

    #: Slots of open addressing: the number of a name plus 1, or 0.
    table: NDArray[np.uint32]
    #: The hash of each name, and where it begins in `letters`, the bytes of all names.
    hashes: NDArray[np.uint32]
    offsets: NDArray[np.uint64]
    letters: NDArray[np.uint8]
    #: One number: how many names there are.
    total: NDArray[np.uint64]


class Names(Protocol):
    """Names of the columns of a stream."""

    def __len__(self) -> int:
        """Return how many names are known."""

    def name(self, column: int) -> str:
        """Return the name of a column."""

    def column(self, name: str) -> int | None:
        """Return the column of a name, None if it is not known."""


@kernel(inline=True)
def _same(text, start, buffer, begin, end):  # type: ignore[no-untyped-def]
    for k in range(end - begin):
        if text[start + k] != buffer[begin + k]:
            return False
    return True


@kernel(inline=True)
def find_or_add(dictionary, buffer, begin, end, add):  # type: ignore[no-untyped-def]
    """Return the number of the name buffer[begin:end], as a new one if it was not known.

    NO_ROOM is returned for a new name if `add` is False or an array is full.
    """
    table, hashes, offsets, text, count = dictionary
    hashed = murmur(buffer, begin, end, np.uint32(0))
    last = np.uint64(table.shape[0]) - _1
    slot = np.uint64(hashed) & last
    while table[slot] != np.uint32(0):
        known = np.uint64(table[slot]) - _1
        start = offsets[known]
        if (
            hashes[known] == hashed
            and offsets[known + _1] - start == end - begin
            and _same(text, start, buffer, begin, end)
        ):
            return np.uint32(known)
        slot = (slot + _1) & last
    new = count[0]
    start = offsets[new]
    if (
        not add
        or new >= np.uint64(hashes.shape[0])
        or start + (end - begin) > np.uint64(text.shape[0])
    ):
        return NO_ROOM
    for k in range(end - begin):
        text[start + k] = buffer[begin + k]
    offsets[new + _1] = start + (end - begin)
    hashes[new] = hashed
    table[slot] = np.uint32(new + _1)
    count[0] = new + _1
    return np.uint32(new)


@kernel
def _fill(table, hashes, count):  # type: ignore[no-untyped-def]
    last = np.uint64(table.shape[0]) - _1
    for k in range(count):
        slot = np.uint64(hashes[k]) & last
        while table[slot] != np.uint32(0):
            slot = (slot + _1) & last
        table[slot] = np.uint32(k + _1)


@kernel(counted=False)
def _find_all(dictionary, buffer, ends, columns, first, most):  # type: ignore[no-untyped-def]
    """Find the names buffer[ends[k]:ends[k + 1]] from number `first` on.

    Returned is where there was no room. Beyond `most` names new ones are NO_ROOM themselves.
    """
    for k in range(first, np.uint64(columns.shape[0])):
        begin, end = ends[k], ends[k + _1]
        add = dictionary.total[0] < most
        columns[k] = find_or_add(dictionary, buffer, begin, end, add)
        if add and columns[k] == NO_ROOM:
            return k
    return np.uint64(columns.shape[0])


class FeatureNames:
    """A dictionary that gives every new name the next column.

    >>> names = FeatureNames(["intercept", "price"])
    >>> names.add(b"size"), names.add(b"price"), len(names)
    (2, 1, 3)
    >>> names.name(2), names.column("size"), names.column("colour")
    ('size', 2, None)
    """

    def __init__(self, names: Iterable[str | bytes] = ()) -> None:
        #: The arrays that kernels take, good until the next `reserve`.
        self.dictionary = Dictionary(
            table=np.zeros(2 * _FIRST_NAMES, np.uint32),
            hashes=np.empty(_FIRST_NAMES, np.uint32),
            offsets=np.zeros(_FIRST_NAMES + 1, np.uint64),
            letters=np.empty(_FIRST_BYTES, np.uint8),
            total=np.zeros(1, np.uint64),
        )
        for name in names:
            self.add(name)

    def __len__(self) -> int:
        return int(self.dictionary.total[0])

    def __iter__(self) -> Iterator[str]:
        return (self.name(column) for column in range(len(self)))

    def reserve(self, names: int, size: int) -> None:
        """Make room for `names` more names with `size` bytes in all."""
        known, (table, hashes, offsets, letters, total) = len(self), self.dictionary
        if known + names > len(hashes):
            room = _power(max(known + names, 2 * len(hashes)))
            hashes, offsets = (
                _enlarged(hashes, room, known),
                _enlarged(offsets, room + 1, known + 1),
            )
            table = np.zeros(2 * room, np.uint32)
            _fill(table, hashes, np.uint64(known))
        used = int(offsets[known])
        if used + size > len(letters):
            letters = _enlarged(letters, _power(max(used + size, 2 * len(letters))), used)
        self.dictionary = Dictionary(table, hashes, offsets, letters, total)

    def add(self, name: str | bytes) -> int:
        """Return the column of a name, a new one if it was not known."""
        return int(self.columns_of(*_alone(name))[0])

    def column(self, name: str | bytes) -> int | None:
        """Return the column of a name, None if it is not known."""
        (found,) = self.columns_of(*_alone(name), add=False)
        return None if found == NO_ROOM else int(found)

    def columns_of(
        self,
        text: NDArray[np.uint8],
        ends: NDArray[np.uint64],
        add: bool = True,
        most: int = int(NO_ROOM),
    ) -> NDArray[np.uint32]:
        """Return the columns of the names text[ends[k]:ends[k + 1]].

        New names get columns in their order while there are fewer than `most`; without `add`,
        or beyond, NO_ROOM stands for them.
        """
        columns = np.empty(len(ends) - 1, np.uint32)
        done = 0
        while True:
            limit = np.uint64(most if add else 0)
            done = int(_find_all(self.dictionary, text, ends, columns, np.uint64(done), limit))
            if done == len(columns):
                return columns
            self.reserve(1, int(ends[done + 1]) - int(ends[done]))

    def name(self, column: int) -> str:
        """Return the name of a column; bytes that are not text are shown by their numbers."""
        return self.key(column).decode("utf-8", "backslashreplace")

    def key(self, column: int) -> bytes:
        """Return the name of a column as it was read."""
        if not 0 <= column < len(self):
            raise IndexError(f"column {column} of {len(self)} names")
        begin, end = self.dictionary.offsets[column : column + 2].tolist()
        return self.dictionary.letters[begin:end].tobytes()

    def arrays(self) -> Arrays:
        """Return the arrays for a model file: the bytes of all names, and where each ends.

        >>> kept = FeatureNames(["a", "bc"]).arrays()
        >>> kept["name_text"].tobytes(), kept["name_offsets"].tolist()
        (b'abc', [0, 1, 3])
        """
        offsets = self.dictionary.offsets[: len(self) + 1].copy()
        letters = self.dictionary.letters[: int(offsets[-1])].copy()
        return {"name_text": letters, "name_offsets": offsets}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> FeatureNames:
        """Return the dictionary stored in `arrays`; refuse arrays that cannot be one."""
        text, offsets = arrays["name_text"], arrays["name_offsets"]
        if text.dtype != np.uint8 or offsets.dtype != np.uint64 or text.ndim + offsets.ndim != 2:
            raise ValueError(
                f"names: text is {text.dtype} and offsets are {offsets.dtype}, expected uint8 "
                "and uint64 of one dimension"
            )
        if (
            not len(offsets)
            or offsets[0] != 0
            or int(offsets[-1]) != len(text)
            or bool(np.any(offsets[1:] < offsets[:-1]))
        ):
            raise ValueError(f"names: offsets must ascend from 0 to the {len(text)} bytes of text")
        names = cls()
        names.reserve(len(offsets) - 1, len(text))
        twice = np.flatnonzero(names.columns_of(text, offsets) != np.arange(len(offsets) - 1))
        if len(twice):
            begin, end = offsets[twice[0] : twice[0] + 2].tolist()
            raise ValueError(f"names: {text[begin:end].tobytes()!r} occurs twice")
        return names


class HashedNames:
    """Names of hashed features, remembered until there are too many, for people to read.

    >>> names = HashedNames(bits=18, limit=2)
    >>> names.remember_all(*laid_out(["a^x", "b^y", "c"]), np.array([55432, 55432, 7], np.uint32))
    False
    >>> names.name(55432), names.name(7), names.name(CONSTANT & mask(18)), names.column("b^y")
    ('a^x or b^y', 'slot 7', 'Constant', 55432)
    """

    def __init__(self, bits: int, limit: int = 0) -> None:
        self.bits = bits
        #: Largest number of names kept; further ones are ignored.
        self.limit = limit
        self.names = FeatureNames()
        self.slots: NDArray[np.uint32] = np.zeros(_FIRST_NAMES, np.uint32)

    def __len__(self) -> int:
        return len(self.names)

    def remember_all(
        self, text: NDArray[np.uint8], ends: NDArray[np.uint64], slots: NDArray[np.uint32]
    ) -> bool:
        """Keep the slots of the names text[ends[k]:ends[k + 1]]; return if there was room."""
        if not self.limit:
            return False
        found = self.names.columns_of(text, ends, most=self.limit)
        room = len(self.names.dictionary.hashes)
        if len(self.slots) < room:
            self.slots = _enlarged(self.slots, room, len(self.slots))
        known = found != NO_ROOM
        self.slots[found[known]] = slots[known]
        return bool(known.all())

    def name(self, column: int) -> str:
        """Return the names that share a slot, or its number where none is remembered."""
        found = np.flatnonzero(self.slots[: len(self)] == column).tolist()
        if found:
            return " or ".join(self.names.name(which) for which in found)
        return "Constant" if column == CONSTANT & mask(self.bits) else f"slot {column}"

    def column(self, name: str) -> int | None:
        """Return the slot of a remembered name."""
        found = self.names.column(name)
        if found is not None:
            return int(self.slots[found])
        return CONSTANT & mask(self.bits) if name == "Constant" else None

    def arrays(self) -> Arrays:
        """Return the arrays for a model file: the names and their slots."""
        return {**self.names.arrays(), "name_slots": self.slots[: len(self)].copy()}

    @classmethod
    def from_arrays(cls, arrays: Arrays, bits: int, limit: int = 0) -> HashedNames:
        """Return the names stored in `arrays`; refuse slots beyond 2^bits."""
        made = cls(bits, limit)
        made.names = FeatureNames.from_arrays(arrays)
        slots = arrays["name_slots"]
        if slots.dtype != np.uint32 or slots.shape != (len(made),):
            raise ValueError(f"names: expected {len(made)} slots of uint32, found {slots.dtype}")
        if len(slots) and int(slots.max()) > mask(bits):
            raise ValueError(f"names: slot {slots.max()} is beyond {bits} bits")
        made.slots = _enlarged(slots, len(made.names.dictionary.hashes), len(made))
        return made


def laid_out(names: Sequence[str]) -> Spelled:
    r"""Return names one after the other.

    >>> arena, ends = laid_out(["a", "é"])
    >>> arena.tobytes(), ends.tolist()
    (b'a\xc3\xa9', [0, 1, 3])
    """
    joined = "".join(names)
    # Half of a surrogate pair, which JSON may hold, is a name like any other.
    keys = names if joined.isascii() else [_bytes(name) for name in names]
    ends = np.fromiter(itertools.accumulate(map(len, keys), initial=0), np.uint64, len(names) + 1)
    # Of a bytearray, because kernels are compiled anew for arrays that cannot be written to.
    return np.frombuffer(bytearray(_bytes(joined)), np.uint8), ends


def split_names(text: NDArray[np.uint8], ends: NDArray[np.uint64]) -> list[str]:
    """Return the names text[ends[k]:ends[k + 1]]; bytes that are not text by their numbers."""
    held, stops = text.tobytes(), ends.tolist()
    return [held[a:b].decode("utf-8", "backslashreplace") for a, b in itertools.pairwise(stops)]


def _alone(name: str | bytes) -> Spelled:
    key = bytearray(_bytes(name))
    return np.frombuffer(key, np.uint8), np.array([0, len(key)], np.uint64)


def _bytes(name: str | bytes) -> bytes:
    return name.encode("utf-8", "surrogatepass") if isinstance(name, str) else name


def _power(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _enlarged(array: NDArray[_S], room: int, used: int) -> NDArray[_S]:
    return np.pad(array[:used], (0, room - used))
