"""Words of texts, products of columns, ids, namespaces left out, shuffled rows: in every format."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.streams import Block, Stream, StreamError, source
from noregret.streams.features import Words
from noregret.streams.names import FeatureNames
from tests.sizes import sized
from tests.streams.named_rows import examples_of
from tests.streams.plain_hashing import combine, hash_name

ROWS: list[dict[str, Any]] = [
    {"id": f"r{k}", "age": float(k % 5), "city": ["Bonn", "Rome", "Ulm"][k % 3],
     "note": ["The cat sat", "the CAT, the mat!", "", "Éclair éclair 2 x", "a\nb"][k % 5],
     "y": float(k % 2)}
    for k in range(60)
]  # fmt: skip
KINDS = ["csv", "jsonl", "parquet", "frame"]


def opened(folder: Path, kind: str, **options: Any) -> Stream:
    path = folder / f"rows.{kind}"
    if kind == "csv":
        names = list(ROWS[0])
        cells = ([f'"{row[name]}"' for name in names] for row in ROWS)
        path.write_text("\n".join(map(",".join, [names, *cells])) + "\n")
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    else:
        pa = pytest.importorskip("pyarrow")
        table = pa.Table.from_pylist(ROWS)
        if kind == "frame":
            return nr.read(table, **options)
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, path)
    return nr.read(path, **options)


def grams(column: str, text: str, longest: int, skips: int) -> Counter[str]:
    """Return the runs of words, by brute force over all choices of places."""
    for mark in "\n,!":
        text = text.replace(mark, " ")
    words = text.lower().split()
    found: Counter[str] = Counter()
    for length in range(1, longest + 1):
        for places in itertools.combinations(range(len(words)), length):
            if places[-1] - places[0] - (length - 1) <= skips:
                found[f"{column}=" + " ".join(words[place] for place in places)] += 1
    return found


# No text has more than four words: runs of eight are in it as little as those of six.
@pytest.mark.parametrize(("ngram", "skips"), [(1, 0), (2, 0), (3, 2), sized((6, 6), (8, 8))])
def test_runs_of_words_are_all_choices_of_places(ngram, skips):
    words = Words(ngram, skips)
    for row in ROWS[:5]:
        made = words.names("note", row["note"])
        assert Counter(made) == grams("note", row["note"], ngram, skips)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", [0, "auto"])
def test_text_is_a_bag_of_words(tmp_path, kind, bits):
    options = {"remember": 500} if bits == "auto" else {}
    stream = opened(
        tmp_path, kind, text="note", ngram=2, skips=1, ignore="id", target="y", bits=bits, **options
    )
    assert (stream.width or 1 << 18) == 1 << 18 if bits == "auto" else True
    for row, (label, _, features) in zip(ROWS, examples_of(stream), strict=True):
        expected: dict[str, float] = dict(grams("note", row["note"], 2, 1))
        # An empty field is missing in CSV, and a text without words elsewhere.
        if kind == "csv" and not row["note"]:
            expected = {"note=missing": 1.0}
        expected |= {f"city={row['city']}": 1.0} | ({"age": row["age"]} if row["age"] else {})
        assert label == row["y"] and features == expected


@pytest.mark.parametrize("threads", [0, 2])
def test_words_get_the_same_columns_however_the_text_is_cut(tmp_path, monkeypatch, threads):
    options = {"text": "note", "bits": 0, "ignore": "id", "interactions": "city*note"}
    whole = opened(tmp_path, "csv", threads=0, **options)
    expected = examples_of(whole)
    monkeypatch.setattr(source, "CHUNK", 250)
    stream = opened(tmp_path, "csv", threads=threads, **options)
    assert examples_of(stream) == expected and list(stream.names) == list(whole.names)


def test_text_is_refused_where_it_cannot_be(tmp_path):
    with pytest.raises(ArgumentError, match="cannot be both categorical and text"):
        nr.read([({"a": "b"}, 1)], text="a", categorical="a")
    with pytest.raises(
        ArgumentError, match=r"text='age': .* double in .*, expected text"
    ) as caught:
        opened(tmp_path, "frame", text="age")
    assert caught.value.argument == "text"
    with pytest.raises(ArgumentError, match="ngram=0: expected 1 to 8"):
        nr.read("a.csv", ngram=0)


TABLES = ["csv", "parquet", "frame"]


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("grow", [True, False])
def test_columns_are_multiplied(tmp_path, kind, grow):
    wanted = ["age*city", "city*note", "age*age", "age*city*note"]
    options = {"ignore": "id", "target": "y", "text": "note", "bits": 0, "constant": 2.0}
    if not grow:
        known = FeatureNames(["age", "city=Bonn", "age*city=Bonn", "age*age"])
        stream = opened(tmp_path, kind, interactions=wanted, names=known, grow=False, **options)
    else:
        stream = opened(tmp_path, kind, interactions=wanted, **options)
    plain = examples_of(opened(tmp_path, kind, **options))
    for (_, _, single), (_, _, features) in zip(plain, examples_of(stream), strict=True):
        own = {name: [(one, value) for one, value in single.items() if one.split("=")[0] == name]
               for name in ("age", "city", "note")}  # fmt: skip
        expected = dict(single)
        for term in (["age", "city"], ["city", "note"], ["age", "age"], ["age", "city", "note"]):
            for parts in itertools.product(*(own[name] for name in term)):
                name = "*".join(one for one, _ in parts)
                expected[name] = float(np.prod([value for _, value in parts]))
        if not grow:
            expected = {one: v for one, v in expected.items() if one in [*known]}
        assert features == expected


@pytest.mark.parametrize("kind", TABLES)
def test_hashed_products_go_where_those_of_namespaces_go(tmp_path, kind):
    options = {"keep": ["age", "city"], "target": "y", "bits": 20}
    blocks = list(opened(tmp_path, kind, interactions="age*city", **options))
    row = blocks[0].rows(1, 2).dense()[0]
    slot = combine(hash_name(b"age"), hash_name(b"city=Rome")) & (1 << 20) - 1
    assert row[slot] == 1.0 and np.count_nonzero(row) == 3


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("wrong", ["age", "age*colour", "age*y", "*".join(["age"] * 9)])
def test_products_of_what_is_no_column_are_refused(tmp_path, kind, wrong):
    with pytest.raises(ArgumentError, match=r"no column of features of .* 2 to 8") as caught:
        opened(tmp_path, kind, target="y", interactions=wrong)
    assert caught.value.argument == "interactions"


@pytest.mark.parametrize("kind", KINDS)
def test_ids_stay_with_their_rows(tmp_path, kind):
    stream = opened(tmp_path, kind, id="id", text="note", target="y", rows=7)
    blocks = list(stream)
    assert [one for block in blocks for one in block.ids] == [row["id"] for row in ROWS]
    assert blocks[3].rows(2, 4).ids == [row["id"] for row in ROWS[23:25]]
    assert all("id" not in name for _, _, row in examples_of(stream) for name in row)
    assert all(block.ids is None for block in opened(tmp_path, kind, target="y", ignore="id"))
    numbered = opened(tmp_path, kind, id="age", target="y", ignore="id")
    expected = [f"{row['age']:g}" for row in ROWS]
    assert [f"{float(one):g}" for block in numbered for one in block.ids] == expected


def test_ids_of_refused_rows_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,a,y\n"x ""1""",1,2\ny,z,3\n,5,4\n')
    stream = nr.read(path, id="id", numeric="a", on_error="skip")
    assert [one for block in stream for one in block.ids] == ['x "1"', ""]


@pytest.mark.parametrize("options", [{}, {"bits": 0}, {"interactions": ["ab"]}])
def test_tags_of_vowpal_wabbit_are_ids(tmp_path, options):
    path = tmp_path / "a.vw"
    path.write_text("1 'one|a x |b y\n\n-1 2.0 two|a x:2\nx |a y\n1 |b z\n")
    stream = nr.read(path, id="tag", on_error="skip", **options)
    assert [one for block in stream for one in block.ids] == ["one", "two", ""]
    with pytest.raises(ArgumentError, match='the id of this format is its "tag"'):
        nr.read(path, id="a")


VW = "1 |age x:2 y:red |b z:3 | loose |a:2 w\n-1 |b z |c q:1 :5\n"


@pytest.mark.parametrize("options", [{"bits": 0}, {"bits": 18, "remember": 20}])
def test_namespaces_are_kept_or_ignored_by_their_first_letters(tmp_path, options):
    path = tmp_path / "a.vw"
    path.write_text(VW)

    def names(**more: Any) -> list[set[str]]:
        return [set(row[2]) for row in examples_of(nr.read(path, **options, **more))]

    first, second = {"age^x", "age^y^red", "b^z", "loose", "a^w"}, {"b^z", "c^q", "c^:0"}
    assert names() == [first, second]
    assert names(ignore="a") == [{"b^z", "loose"}, second]
    assert names(keep=["a", " "]) == [{"age^x", "age^y^red", "loose", "a^w"}, set()]
    assert names(ignore=["b", "c"], interactions=["ab", "ca"]) == [first - {"b^z"}, set()]
    with pytest.raises(ArgumentError, match="ignore='age': expected the first letter") as caught:
        nr.read(path, ignore="age")
    assert caught.value.argument == "ignore"


def test_plain_features_of_a_namespace_are_ignored(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1 |a 3:0.5 4:1 |b 5:2\n")
    (block,) = nr.read(path, ignore="a", bits=10)
    assert block.nonzeros == 1 and block.values.tolist() == [2.0]
    path.write_text("1 |a 3:x: 4:1e999 |b 5:2\n")
    with pytest.raises(StreamError, match="expected a finite number after the colon"):
        list(nr.read(path, ignore="a", bits=10))


def rows_in(blocks: list[Block]) -> list[tuple[Any, ...]]:
    found = []
    for block in blocks:
        for k in range(len(block)):
            row = block.rows(k, k + 1)
            part = slice(int(row.indptr[0]), int(row.indptr[1]))
            weight = None if row.weight is None else float(row.weight[0])
            ids = None if row.ids is None else row.ids[0]
            found.append(
                (
                    float(row.y[0]),
                    weight,
                    ids,
                    *row.indices[part].tolist(),
                    *row.values[part].tolist(),
                )
            )
    return found


@pytest.mark.parametrize("kind", [*KINDS, "svm"])
def test_rows_are_shuffled_by_a_seed_and_none_is_lost(tmp_path, kind):
    def stream(**more: Any) -> Stream:
        if kind == "svm":
            path = tmp_path / "a.svm"
            path.write_text("".join(f"{k} 1:{k + 1} {k + 2}:1\n" for k in range(60)))
            return nr.read(path, rows=7, **more)
        return opened(tmp_path, kind, id="id", weight="y", target="age", rows=7, **more)

    plain = rows_in(list(stream()))
    first = stream(shuffle=3)
    shuffled = rows_in(list(first))
    assert shuffled != plain and sorted(map(str, shuffled)) == sorted(map(str, plain))
    assert rows_in(list(first)) == shuffled != rows_in(list(stream(shuffle=4)))
    text = kind not in ("parquet", "frame")
    assert all(len(block) <= 7 and block.ordered == text for block in first)
    order = np.random.default_rng(3).permutation(60)
    assert shuffled == [plain[k] for k in order]


def test_what_may_never_end_is_not_shuffled():
    for inputs, options in (("-", {"format": "csv"}), ([({"a": 1}, 1)], {})):
        with pytest.raises(ArgumentError, match="shuffle=") as caught:
            nr.read(inputs, shuffle=1, **options)
        assert caught.value.argument == "shuffle"
