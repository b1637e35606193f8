"""Names of features and of their products, put together as Vowpal Wabbit shows them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noregret.jit import kernel
from noregret.streams.interactions import NO_PART

_0, _1, _10 = np.uint64(0), np.uint64(1), np.uint64(10)
_CARET, _STAR, _COLON, _ZERO = (np.uint8(ord(c)) for c in "^*:0")
#: Most bytes of a name beside its parts: two carets, or a colon and ten digits.
_BESIDE = 12


@kernel
def _copy(buffer, begin, end, text, at):  # type: ignore[no-untyped-def]
    for k in range(np.uint64(begin), np.uint64(end)):
        text[at] = buffer[k]
        at += _1
    return at


@kernel
def _write(buffer, spans, k, text, at):  # type: ignore[no-untyped-def]
    """Write namespace^name, namespace^name^word or namespace^:number; return where it ends."""
    if spans[k, 1] > spans[k, 0]:
        at = _copy(buffer, spans[k, 0], spans[k, 1], text, at)
        text[at] = _CARET
        at += _1
    at = _copy(buffer, spans[k, 2], spans[k, 3], text, at)
    if spans[k, 4] > np.uint32(0):
        text[at] = _CARET
        at = _copy(buffer, spans[k, 4], spans[k, 5], text, at + _1)
    elif spans[k, 2] == spans[k, 3]:
        text[at] = _COLON
        power = _1
        number = np.uint64(spans[k, 5])
        while number // power >= _10:
            power *= _10
        while power > _0:
            at += _1
            text[at] = _ZERO + np.uint8(number // power % _10)
            power //= _10
        at += _1
    return at


@kernel
def _write_all(buffer, spans, parts, text, ends):  # type: ignore[no-untyped-def]
    at = _0
    ends[0] = at
    for row in range(np.uint64(parts.shape[0])):
        for d in range(np.uint64(parts.shape[1])):
            if parts[row, d] != NO_PART:
                if d > _0:
                    text[at] = _STAR
                    at += _1
                at = _write(buffer, spans, np.uint64(parts[row, d]), text, at)
        ends[row + _1] = at


def names_of(
    buffer: NDArray[np.uint8], spans: NDArray[np.uint32], parts: NDArray[np.uint32]
) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """Return the names of products of features, one after the other, and where each ends.

    Row k of `parts` has the features that are multiplied, row j of `spans` where in the buffer
    the pieces of feature j are.
    """
    lengths = np.diff(spans.astype(np.int64))[:, ::2]
    # Without a word the last span is a number.
    lengths[spans[:, 4] == 0, 2] = 0
    room = _BESIDE * parts.size + lengths.sum(axis=1)[parts[parts != NO_PART]].sum()
    text = np.empty(int(room), np.uint8)
    ends = np.empty(len(parts) + 1, np.uint64)
    _write_all(buffer, spans, parts, text, ends)
    return text, ends


def called(buffer: NDArray[np.uint8], spans: NDArray[np.uint32], name: bytes) -> NDArray[np.intp]:
    """Return which features, described as for `names_of`, have a name and no namespace or word."""
    begin, end, first, last, word, _ = spans.T
    found = np.flatnonzero((begin == end) & (last - first == len(name)) & (word == 0))
    letters = buffer[first[found].astype(np.intp)[:, None] + np.arange(len(name))]
    same: NDArray[np.bool_] = (letters == np.frombuffer(name, np.uint8)).all(axis=1)
    return found[same]
