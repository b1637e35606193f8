"""Names and products to columns without a dictionary: hashed as Vowpal Wabbit does it.

A feature's hash is the 32-bit murmur of its name, seeded by the hash of its namespace. By the
rule "strings" a name of digits only is that number added to the seed, which keeps numbered
features apart; by the rule "all" every name is mixed. The lowest `bits` of it are the column.
Several features together are hashed from left to right by one multiplication and one
exclusive or each.

Products of features are chosen by the first letters of their namespaces: "ab" multiplies every
feature of the namespaces that begin with a with every one of those that begin with b, in this
order; "aab" takes three. The letter for features without a namespace is a space, and ":" stands
for every printable letter of ASCII that occurs. A namespace taken several times gives each choice
of its features once, whatever its order, a feature with itself included.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.arguments import ArgumentError
from noregret.jit import byte_at, kernel
from noregret.streams.block import Csr
from noregret.streams.reading import FEWEST_BITS, MOST_BITS

#: The hash of the constant feature.
CONSTANT = 11_650_396

_PRIME = 16_777_619
_FIRST, _SECOND = 0xCC9E2D51, 0x1B873593
_SPACE = 0x20

_0, _1, _2, _3, _4 = (np.uint64(k) for k in range(5))
_8, _16, _24, _32 = (np.uint64(k) for k in (8, 16, 24, 32))


def mask(bits: int) -> int:
    """Return the largest column of a space of 2^bits, for `hash & mask`.

    >>> mask(18), CONSTANT & mask(18)
    (262143, 116060)
    """
    if not FEWEST_BITS <= bits <= MOST_BITS:
        raise ArgumentError("bits", f"expected {FEWEST_BITS} to {MOST_BITS}", bits)
    return (1 << bits) - 1


@kernel(inline=True)
def _scrambled(word):  # type: ignore[no-untyped-def]
    """Return a word of four bytes, mixed before it enters the state."""
    word = np.uint32(word * np.uint32(_FIRST))
    word = np.uint32((word << np.uint32(15)) | (word >> np.uint32(17)))
    return np.uint32(word * np.uint32(_SECOND))


@kernel(inline=True)
def _four(text, at):  # type: ignore[no-untyped-def]
    # Compiled, this is one load.
    return (
        np.uint64(byte_at(text, at))
        | np.uint64(byte_at(text, at + _1)) << _8
        | np.uint64(byte_at(text, at + _2)) << _16
        | np.uint64(byte_at(text, at + _3)) << _24
    )


@kernel(inline=True)
def murmur(text, begin, end, seed):  # type: ignore[no-untyped-def]
    """Return the 32-bit murmur hash (MurmurHash3, A. Appleby) of text[begin:end]."""
    state = np.uint32(seed)
    place = begin
    while place + _4 <= end:
        state = np.uint32(state ^ _scrambled(np.uint32(_four(text, place))))
        state = np.uint32((state << np.uint32(13)) | (state >> np.uint32(19)))
        state = np.uint32(state * np.uint32(5) + np.uint32(0xE6546B64))
        place += _4
    if place > begin:
        # The bytes left over are the upper ones of the last four: one load without a branch.
        rest = _four(text, end - _4) >> (_32 - ((end - place) << _3))
    else:
        rest = _0
        for k in range(end - begin):
            rest |= np.uint64(byte_at(text, begin + k)) << (k << _3)
    state = np.uint32(state ^ _scrambled(np.uint32(rest)))
    state = np.uint32(state ^ np.uint32(end - begin))
    state = np.uint32((state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    state = np.uint32((state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(state ^ (state >> np.uint32(16)))


@kernel(inline=True)
def feature_hash(text, begin, end, seed, everything):  # type: ignore[no-untyped-def]
    """Return the hash of the name text[begin:end] below a seed; `everything` is the rule "all".

    A namespace is below the seed 0, a feature below its namespace. By the rule "strings" control
    characters around the name do not count either.
    """
    if everything:
        return murmur(text, begin, end, seed)
    while begin < end and byte_at(text, begin) <= np.uint8(_SPACE):
        begin += _1
    while begin < end and byte_at(text, end - _1) <= np.uint8(_SPACE):
        end -= _1
    number = np.uint32(0)
    for place in range(begin, end):
        digit = np.uint8(byte_at(text, place) - np.uint8(48))
        if digit > np.uint8(9):
            return murmur(text, begin, end, seed)
        number = np.uint32(number * np.uint32(10) + digit)
    return np.uint32(number + np.uint32(seed))


@kernel(inline=True)
def combined(first, second):  # type: ignore[no-untyped-def]
    """Return the hash of two features together; the first may itself be of several."""
    return np.uint32(np.uint32(first * np.uint32(_PRIME)) ^ np.uint32(second))


#: More products of one line are a mistake, not an example.
MOST_PRODUCTS = 1 << 22
#: Features multiplied at most.
MOST_FACTORS = 8
#: In place of a feature where a product has fewer factors than others.
NO_PART = np.uint32(0xFFFFFFFF)

_ANY = ord(":")


class Interactions:
    """Which features are multiplied.

    >>> Interactions(["ab", "ba", "a:"]).terms(b"abc")
    [b'aa', b'ab', b'ac']
    """

    def __init__(self, wanted: Iterable[str | bytes] = ()) -> None:
        # The order of Vowpal Wabbit, because the first of two that mean the same is kept.
        self.wanted = sorted({_letters(one) for one in wanted}, key=lambda one: (len(one), one))

    def terms(self, letters: bytes) -> list[bytes]:
        """Return the products of features whose namespaces begin with these letters.

        ":" is replaced in all ways, two of them in ascending order. A term that has a letter
        twice is sorted; of two terms of the same letters the first stays. (Where two or more ":"
        of a longer term become different letters, Vowpal Wabbit's order is that of its hash
        table: such products have other slots there.)
        """
        found: dict[bytes, bytes] = {}
        printable = [letter for letter in sorted(letters) if 32 <= letter < 127]
        for one in self.wanted:
            places = [place for place, letter in enumerate(one) if letter == _ANY]
            fixed = set(one) - {_ANY}
            if not fixed <= set(letters):
                continue
            for choice in itertools.combinations_with_replacement(printable, len(places)):
                term = bytearray(one)
                for place, letter in zip(places, choice, strict=True):
                    term[place] = letter
                ordered = bytes(sorted(term))
                found.setdefault(ordered, ordered if len(set(term)) < len(term) else bytes(term))
        return list(found.values())


def _letters(wanted: str | bytes) -> bytes:
    ascii = isinstance(wanted, bytes) or wanted.isascii()
    term = wanted.encode() if isinstance(wanted, str) else wanted
    if not ascii or not 2 <= len(term) <= MOST_FACTORS or set(term) & set(b"|\t\r\n"):
        expected = (
            f"expected 2 to {MOST_FACTORS} first letters of namespaces, a space for features "
        )
        raise ArgumentError("interactions", f"{expected}without one, ':' for any", wanted)
    return term


class Terms(NamedTuple):
    """Terms of several lengths as kernels take them: their letters in rows, then zeros."""

    matrix: NDArray[np.uint8]
    lengths: NDArray[np.uint64]


def as_matrix(terms: list[bytes]) -> Terms:
    """Return terms as kernels take them."""
    longest = max(map(len, terms), default=1)
    letters = b"".join(term.ljust(longest, b"\0") for term in terms)
    matrix = np.frombuffer(bytearray(letters), np.uint8).reshape(len(terms), longest)
    return Terms(matrix, np.array([*map(len, terms)], np.uint64))


def multiplied(
    rows: Csr, groups: NDArray[np.uint8], terms: Terms, last: np.uint32, total: int, detailed: bool
) -> tuple[Csr, NDArray[np.uint32]]:
    """Return rows of `total` features: their own, and then their products.

    Columns are combined as hashes and masked by `last`. If `detailed`, the features of each
    product, or the one feature, come second.
    """
    ends = np.zeros(len(rows.indptr), np.uint64)
    out = Csr(ends, np.empty(total, np.uint32), np.empty(total, rows.values.dtype))
    parts = np.empty((total if detailed else 0, terms.matrix.shape[1]), np.uint32)
    order = np.empty(int(np.diff(rows.indptr).max(initial=0)), np.uint64)
    _multiply(rows, groups, terms, last, out, parts, order)
    return out, parts


@kernel
def count_products(rows, groups, terms):  # type: ignore[no-untyped-def]
    """Return how many products each row gives.

    That is MOST_PRODUCTS + 1 for too many, and + 2 if one of them would not be finite.
    """
    indptr, _, values = rows
    matrix, lengths = terms
    counts = np.zeros(indptr.shape[0] - 1, np.uint64)
    members = np.zeros(256)
    largest = np.zeros(256, values.dtype)
    probe = np.zeros(1, values.dtype)
    for t in range(np.uint64(counts.shape[0])):
        members[:] = 0.0
        largest[:] = 0.0
        for k in range(indptr[t], indptr[t + _1]):
            members[groups[k]] += 1.0
            largest[groups[k]] = max(largest[groups[k]], abs(values[k]))
        total = 0.0
        finite = True
        for m in range(np.uint64(lengths.shape[0])):
            number = product = again = 1.0
            for d in range(lengths[m]):
                letter = matrix[m, d]
                again = again + 1.0 if d > _0 and letter == matrix[m, d - _1] else 1.0
                # Choices of j among n with repetition: n (n + 1) ... (n + j - 1) / j!
                number *= (members[letter] + again - 1.0) / again
                product *= np.float64(largest[letter])
            if number > 0.5:
                total += np.rint(number)
                # No product of this term is larger: rounding keeps order.
                probe[0] = product
                finite &= np.isfinite(probe[0])
        if total > MOST_PRODUCTS or not finite:
            total = MOST_PRODUCTS + (1.0 if total > MOST_PRODUCTS else 2.0)
        counts[t] = np.uint64(total)
    return counts


@kernel
def _multiply(rows, groups, terms, last, out, parts, order):  # type: ignore[no-untyped-def]
    """Write each row's features and then its products to `out`, from out.indptr[0] on.

    `order` has room for the features of a row.
    """
    indptr, indices, values = rows
    matrix, lengths = terms
    out_indptr, out_indices, out_values = out
    depths = np.uint64(matrix.shape[1])
    first = np.zeros(257, np.uint64)
    following = np.zeros(256, np.uint64)
    at = np.zeros(depths, np.uint64)
    hashes = np.zeros(depths, np.uint32)
    factors = np.zeros(depths)
    detailed = parts.shape[0] > 0
    place = out_indptr[0]
    for t in range(np.uint64(indptr.shape[0]) - _1):
        begin, end = indptr[t], indptr[t + _1]
        first[:] = _0
        for k in range(begin, end):
            out_indices[place] = indices[k] & last
            out_values[place] = values[k]
            if detailed:
                parts[place, 0] = k
                for d in range(_1, depths):
                    parts[place, d] = NO_PART
            place += _1
            first[np.uint64(groups[k]) + _1] += _1
        for letter in range(np.uint64(256)):
            first[letter + _1] += first[letter]
            following[letter] = first[letter]
        for k in range(begin, end):
            order[following[groups[k]]] = k
            following[groups[k]] += _1
        for m in range(np.uint64(lengths.shape[0])):
            deepest = lengths[m] - _1
            depth = _0
            at[0] = first[matrix[m, 0]]
            while True:
                group = np.uint64(matrix[m, depth])
                if at[depth] >= first[group + _1]:
                    if depth == _0:
                        break
                    depth -= _1
                    at[depth] += _1
                    continue
                k = order[at[depth]]
                hashed, factor = indices[k], np.float64(values[k])
                if depth > _0:
                    hashed = combined(hashes[depth - _1], hashed)
                    factor = factors[depth - _1] * factor
                if depth < deepest:
                    hashes[depth] = hashed
                    factors[depth] = factor
                    depth += _1
                    same = matrix[m, depth] == matrix[m, depth - _1]
                    at[depth] = at[depth - _1] if same else first[matrix[m, depth]]
                    continue
                out_indices[place] = hashed & last
                out_values[place] = factor
                if detailed:
                    for d in range(lengths[m]):
                        parts[place, d] = order[at[d]]
                    for d in range(lengths[m], depths):
                        parts[place, d] = NO_PART
                at[depth] += _1
                place += _1
        out_indptr[t + _1] = place
