"""Kernels on pieces of text: names of labels compared, names of features put together."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.jit import byte_at, kernel
from noregret.streams.block import summed
from noregret.streams.names import Spelled, laid_out

_0, _1, _2 = (np.uint64(k) for k in range(3))
_QUOTE, _EQUALS = (np.uint8(ord(c)) for c in '"=')
#: Which parts of a span a name has: its key, key=text, or key=missing; the text as it is written,
#: or with doubled quotes that mean one.
KEY, TEXT, DOUBLED_TEXT, MISSING = (np.uint8(k) for k in range(4))
_MISSING = np.frombuffer(bytearray(b"=missing"), np.uint8)


class Pair(NamedTuple):
    """The names of two labels: their bytes, the negative one first, and how many are its own."""

    letters: NDArray[np.uint8]
    first: np.uint64

    @classmethod
    def of(cls, names: tuple[str, str] | None) -> Pair:
        """Return two names, or nothing, as kernels take them."""
        letters, ends = laid_out(names or ("", ""))
        return cls(letters, ends[1])


@kernel(inline=True)
def _means(text, begin, end, doubled, name, first, last):  # type: ignore[no-untyped-def]
    """Return whether text[begin:end], where quotes may be doubled, means name[first:last]."""
    at = begin
    for k in range(first, last):
        if at >= end or byte_at(text, at) != name[k]:
            return False
        at += _2 if doubled and name[k] == _QUOTE else _1
    return at == end


@kernel(inline=True)
def label_among(text, begin, end, doubled, pair):  # type: ignore[no-untyped-def]
    """Return -1 or +1 if text[begin:end] means the first or the second name, 0 for neither."""
    letters, first = pair
    if _means(text, begin, end, doubled, letters, _0, first):
        return -1.0
    if _means(text, begin, end, doubled, letters, first, np.uint64(letters.shape[0])):
        return 1.0
    return 0.0


@kernel(counted=False)
def _spell(keys, buffer, spans, styles, missing, arena, ends):  # type: ignore[no-untyped-def]
    """Write names one after the other, each up to its end."""
    place = _0
    for k in range(np.uint64(styles.shape[0])):
        style = styles[k]
        for p in range(np.uint64(spans[k, 0]), np.uint64(spans[k, 1])):
            arena[place] = keys[p]
            place += _1
        if style == MISSING:
            for p in range(np.uint64(missing.shape[0])):
                arena[place] = missing[p]
                place += _1
        elif style != KEY:
            arena[place] = _EQUALS
            place += _1
            at, end = np.uint64(spans[k, 2]), np.uint64(spans[k, 3])
            while at < end:
                c = buffer[at]
                arena[place] = c
                place += _1
                # Of two quotes the first is kept.
                at += _2 if style == DOUBLED_TEXT and c == _QUOTE else _1
        ends[k + _1] = place


def spelled(
    keys: NDArray[np.uint8],
    buffer: NDArray[np.uint8],
    spans: NDArray[np.uint32],
    styles: NDArray[np.uint8],
) -> Spelled:
    """Return names one after the other.

    Args:
        keys: the text that keys are in.
        buffer: the text that values are in.
        spans: of each name begin and end of its key, and of its text.
        styles: of each name whether it is KEY, TEXT, DOUBLED_TEXT or MISSING.
    """
    keyed, written = spans[:, 1] - spans[:, 0], spans[:, 3] - spans[:, 2]
    # A text comes with its equals sign; where a value is missing its span means nothing.
    texts = np.where(styles == KEY, 0, written.astype(np.int64) + 1)
    lengths = keyed + np.where(styles == MISSING, len(_MISSING), texts)
    arena = np.empty(int(lengths.sum()), np.uint8)
    ends = np.zeros(len(styles) + 1, np.uint64)
    _spell(keys, buffer, spans, styles, _MISSING, arena, ends)
    return arena, ends


def bare(buffer: NDArray[np.uint8], spans: NDArray[np.uint32]) -> Spelled:
    """Return pieces of a text as names; spans have begin and end of each."""
    styles = np.full(len(spans), KEY, np.uint8)
    return spelled(buffer, buffer, spans[:, [0, 1, 0, 1]], styles)


def woven(names: Spelled, others: Spelled, own: NDArray[np.bool_]) -> Spelled:
    """Return two lists of names as one; `own` tells of each place whether the next is of `names`.

    >>> own = np.array([False, True, True, False])
    >>> arena, ends = woven(laid_out(["a", "bc"]), laid_out(["d", "e"]), own)
    >>> arena.tobytes(), ends.tolist()
    (b'dabce', [0, 1, 2, 4, 5])
    """
    lengths = np.empty(len(own), np.uint64)
    lengths[own], lengths[~own] = np.diff(names[1]), np.diff(others[1])
    stops = summed(lengths)
    # Names in a row that are of one list are copied at once.
    turns = np.flatnonzero(np.diff(own, prepend=not own[:1].all())).tolist()
    sources = [others[0].tobytes(), names[0].tobytes()]
    done = [0, 0]
    pieces: list[bytes] = []
    for begin, end in itertools.pairwise(stops[[*turns, len(own)]].tolist()):
        which = (len(pieces) + bool(own[0])) % 2
        pieces.append(sources[which][done[which] : done[which] + end - begin])
        done[which] += end - begin
    return np.frombuffer(bytearray(b"".join(pieces)), np.uint8), stops
