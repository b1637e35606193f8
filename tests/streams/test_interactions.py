"""Products of features: which terms are meant, and that kernels make what plain Python does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.streams.block import Csr
from noregret.streams.hashing import (
    MOST_PRODUCTS,
    Interactions,
    as_matrix,
    count_products,
    multiplied,
)
from tests.streams.plain_hashing import combine
from tests.streams.plain_vw import products

ROWS = st.lists(
    st.lists(st.tuples(st.sampled_from(b"ab c"), st.integers(0, 2**32 - 1)), max_size=7),
    min_size=1,
    max_size=4,
)
TERMS = st.lists(st.text("ab c:", min_size=2, max_size=4), max_size=3)


# Each as `vw --audit` showed it for namespaces a, b and c.
@pytest.mark.parametrize(
    ("wanted", "terms"),
    [
        (["ab"], ["ab"]),
        (["ba"], ["ba"]),
        (["ab", "ba"], ["ab"]),
        (["ba", "ab"], ["ab"]),
        (["ab", "aa", "ab"], ["aa", "ab"]),
        (["bab"], ["abb"]),
        (["abc", "cba", "bb"], ["bb", "abc"]),
        (["a:"], ["aa", "ab", "ac"]),
        ([":a"], ["aa", "ba", "ca"]),
        ([":a", "a:"], ["aa", "ba", "ca"]),
        (["::"], ["aa", "ab", "ac", "bb", "bc", "cc"]),
        (["ba", "::"], ["aa", "ab", "ac", "bb", "bc", "cc"]),
        (["a:b"], ["aab", "abb", "acb"]),
        ([":ab", "ab:"], ["aab", "abb", "cab"]),
        (["ad"], []),
    ],
)
def test_terms_are_those_of_vowpal_wabbit(wanted: list[str], terms: list[str]) -> None:
    assert Interactions(wanted).terms(b"cab") == [term.encode() for term in terms]


def test_any_means_printable_letters() -> None:
    assert Interactions(["a:"]).terms(b"a\xc3\x01 ") == [b"a ", b"aa"]
    assert Interactions([b"a\xc3"]).terms(b"a\xc3") == [b"a\xc3"]


@pytest.mark.parametrize("wanted", ["", "a", "abcdefghi", "a|", "aé", b"a\n"])
def test_what_is_no_term_is_refused(wanted: str | bytes) -> None:
    with pytest.raises(ValueError, match="expected 2 to 8 first letters of namespaces"):
        Interactions([wanted])


def test_a_namespace_taken_thrice_gives_every_choice_once() -> None:
    found = list(products(b"aaa", b"aaa"))
    assert found == list(itertools.combinations_with_replacement(range(3), 3))


@given(ROWS, TERMS)
@settings(max_examples=150)
def test_kernels_make_the_products(rows: list[list[tuple[int, int]]], wanted: list[str]) -> None:
    flat = [feature for row in rows for feature in row]
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.uint64)
    groups = np.array([group for group, _ in flat], np.uint8)
    indices = np.array([hashed for _, hashed in flat], np.uint32)
    values = 1.0 + np.arange(len(flat)) / 8.0
    terms = Interactions(wanted).terms(bytes(sorted(set(groups.tolist()))))
    letters = as_matrix(terms)
    given = Csr(indptr, indices, values)

    expected: list[list[tuple[int, float, tuple[int, ...]]]] = []
    for begin, end in itertools.pairwise(indptr.tolist()):
        chosen = [(k,) for k in range(end - begin)]
        for term in terms:
            chosen += products(groups[begin:end].tolist(), term)
        row = []
        for choice in chosen:
            places = tuple(begin + k for k in choice)
            hashed = int(indices[places[0]])
            for place in places[1:]:
                hashed = combine(hashed, int(indices[place]))
            row.append((hashed & 0xFFFF, float(np.prod(values[list(places)])), places))
        expected.append(row)

    counts = count_products(given, groups, letters)
    assert (counts + np.diff(indptr)).tolist() == [len(row) for row in expected]
    total = sum(map(len, expected))
    out, parts = multiplied(given, groups, letters, np.uint32(0xFFFF), total, detailed=True)
    made = [
        (int(column), float(value), tuple(k for k in part if k != 0xFFFFFFFF))
        for column, value, part in zip(out.indices, out.values, parts.tolist(), strict=True)
    ]
    assert np.diff(out.indptr).tolist() == [len(row) for row in expected]
    assert made == [entry for row in expected for entry in row]


@pytest.mark.parametrize(("count", "kept"), [(2895, True), (2896, False), (100_000, False)])
def test_too_many_products_are_noticed_before_they_are_made(count: int, kept: bool) -> None:
    assert (count * (count + 1) // 2 <= MOST_PRODUCTS) == kept
    indptr, groups = np.array([0, count], np.uint64), np.full(count, ord("a"), np.uint8)
    rows = Csr(indptr, np.zeros(count, np.uint32), np.ones(count))
    (found,) = count_products(rows, groups, as_matrix([b"aa"]))
    assert (found <= MOST_PRODUCTS) == kept and found <= MOST_PRODUCTS + 1
