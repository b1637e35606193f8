"""Tables of Arrow: files and data frames against CSV and plain Python, refusals."""

from __future__ import annotations

import gzip
import math
import os
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.arguments import ArgumentError
from noregret.streams import read
from noregret.streams.binary import write_binary
from noregret.streams.errors import StreamError
from noregret.streams.names import FeatureNames
from noregret.streams.table_inputs import BATCH
from tests.streams.named_rows import examples_of
from tests.streams.opening import open_csv, open_table

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

DATA = os.environ.get("NOREGRET_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="NOREGRET_DATA does not name a folder of data")


def write_parquet(table, path):
    pq.write_table(table, path, row_group_size=1000)


def write_stream(table, path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)


WRITERS = {
    "parquet": write_parquet,
    "feather": lambda table, path: feather.write_feather(table, path, compression="lz4"),
    "arrow": lambda table, path: feather.write_feather(table, path, compression="uncompressed"),
    "arrows": write_stream,
}


def small_table():
    return pa.table(
        {
            "i": pa.array([1, 0, -3], pa.int8()),
            "f": pa.array([0.5, 2.0, 0.0], pa.float32()),
            "b": pa.array([True, False, True]),
            "d": pa.array([Decimal("1.25"), Decimal("0"), Decimal("-2")]),
            "s": pa.array(["red", "blue", "red"]),
            "c": pa.array(["u", "v", "u"]).dictionary_encode(),
            "w": pa.array([1, 2, 3]),
            "class": pa.array(["no", "yes", "no"], pa.large_string()),
        }
    )


SMALL = [
    (-1.0, 1.0, {"i": 1.0, "f": 0.5, "b": 1.0, "d": 1.25, "s=red": 1.0, "c=u": 1.0}),
    (1.0, 2.0, {"f": 2.0, "s=blue": 1.0, "c=v": 1.0}),
    (-1.0, 3.0, {"i": -3.0, "b": 1.0, "d": -2.0, "s=red": 1.0, "c=u": 1.0}),
]


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_of_file_reads_the_same(tmp_path, kind):
    path = tmp_path / f"small.{kind}"
    WRITERS[kind](small_table(), path)
    stream = open_table(path, labels="binary", weight="w")
    for _ in range(2):
        assert examples_of(stream) == SMALL
    assert stream.target == "class" and stream.label_map == {"no": -1.0, "yes": 1.0}
    assert (stream.numeric, stream.categorical) == (["i", "f", "b", "d"], ["s", "c"])
    assert stream.size == path.stat().st_size


def test_objects_in_memory_are_streams():
    pandas = pytest.importorskip("pandas")
    table = small_table()
    assert examples_of(open_table(table, labels="binary", weight="w")) == SMALL
    frame = table.drop_columns("d").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    stream = open_table(frame, labels="binary", weight="w")
    without = [(y, w, {k: v for k, v in x.items() if k != "d"}) for y, w, x in SMALL]
    for _ in range(2):
        assert examples_of(stream) == without
    once = open_table(table.to_reader(), labels="binary", weight="w")
    assert examples_of(once) == SMALL
    with pytest.raises(StreamError, match="RecordBatchReader can be read once only"):
        list(once)


def test_hashing_a_constant_and_a_dictionary_that_does_not_grow():
    hashed = open_table(small_table(), labels="binary", weight="w", bits=12, remember=9, constant=2)
    expected = [(y, w, x | {"Constant": 2.0}) for y, w, x in SMALL]
    assert examples_of(hashed) == expected
    names = FeatureNames(["s=blue", "f"])
    fixed = open_table(small_table(), labels=("no", "yes"), ignore="w", names=names, grow=False)
    assert [row[2] for row in examples_of(fixed)] == [{"f": 0.5}, {"s=blue": 1.0, "f": 2.0}, {}]
    narrow = open_table(small_table(), labels=("no", "yes"), dtype="float32", categorical="i")
    assert examples_of(narrow)[2][2]["i=-3"] == 1.0


CELLS = st.tuples(
    st.none() | st.floats(allow_infinity=False),
    st.none() | st.sampled_from(["a", "b", "missing", ""]),
    st.none() | st.integers(-2, 2),
    st.none() | st.booleans(),
    st.none() | st.floats(-2, 5, allow_nan=False),
)


@given(rows=st.lists(CELLS, max_size=12), indicate=st.booleans(), cut=st.integers(1, 5))
@settings(max_examples=100)
def test_rows_are_what_plain_python_makes_of_them(rows, indicate, cut):
    types = [pa.float64(), pa.string(), pa.int64(), pa.bool_(), pa.float64()]
    columns = list(zip(*rows, strict=True)) or [()] * 5
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    table = pa.table(dict(zip("fsiby", arrays, strict=True)))
    chunked = pa.Table.from_batches(table.to_batches(max_chunksize=cut), table.schema)
    stream = open_table(
        chunked, missing="indicator" if indicate else "refuse", on_error="count", target="y"
    )
    expected = []
    for f, s, i, b, y in rows:
        gone = f is None or math.isnan(f), s is None, i is None, b is None
        if y is None or (any(gone) and not indicate):
            continue
        features = {"f": f, f"s={s}": 1.0, "i": i, "b": b}
        named = zip(features.items(), "fsib", gone, strict=True)
        found: dict[str, float] = {}
        for (name, value), column, missing in named:
            key, number = (f"{column}=missing", 1.0) if missing else (name, float(value))
            found[key] = found.get(key, 0.0) + number
        expected.append((y, 1.0, {name: value for name, value in found.items() if value}))
    assert examples_of(stream) == expected
    assert stream.refused == len(rows) - len(expected)


def test_decimals_are_rounded_to_the_nearest():
    rng = random.Random(0)
    written = [Decimal(rng.randrange(-(10**9), 10**9)).scaleb(-2) for _ in range(1000)]
    table = pa.table({"a": pa.array(written, pa.decimal128(18, 2)), "y": [1] * 1000})
    values = [row[2].get("a", 0.0) for row in examples_of(open_table(table))]
    assert values == [float(number) for number in written]


def test_the_index_of_a_data_frame_is_no_column(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}, index=[2, 0, 1])
    frame.to_parquet(tmp_path / "frame.parquet")
    for opened in (frame, tmp_path / "frame.parquet"):
        stream = open_table(opened)
        assert stream.target == "b"
        assert [row[2] for row in examples_of(stream)] == [{"a": 1.0}, {"a": 2.0}, {"a": 3.0}]
    named = frame.rename_axis("id")
    assert open_table(named).numeric == open_table(named, ignore="id").numeric == ["a"]
    assert open_table(named, keep=["id", "a"], target="b").numeric == ["a", "id"]
    assert [row[0] for row in examples_of(open_table(named, target="id"))] == [2.0, 0.0, 1.0]


FLOATS = pa.array([10115.0, math.nan, 2.5, None])
MISSING = {"z=missing": 1.0}


@pytest.mark.parametrize("column", [FLOATS, FLOATS.dictionary_encode(), FLOATS.cast(pa.float32())])
def test_a_number_that_is_a_category_may_be_missing(column):
    table = pa.table({"z": column, "y": [1, 2, 3, 4]})
    stream = open_table(table, categorical="z", missing="indicator")
    features = [row[2] for row in examples_of(stream)]
    assert features == [{"z=10115": 1.0}, MISSING, {"z=2.5": 1.0}, MISSING]


def test_dictionaries_of_numbers_are_labels_weights_and_numbers():
    coded = pa.array([1, 0, 2, 1]).dictionary_encode()
    table = pa.table({"a": coded, "w": coded, "y": coded})
    plain = pa.table({"a": coded.dictionary_decode(), "w": [1, 0, 2, 1], "y": [1, 0, 2, 1]})
    found = examples_of(open_table(table, weight="w", numeric="a"))
    assert found == examples_of(open_table(plain, weight="w"))
    assert [row[0] for row in found] == [1.0, 0.0, 2.0, 1.0]
    named = open_table(table, labels=("0", "1"), ignore="w", on_error="count")
    assert [row[0] for row in examples_of(named)] == [1.0, -1.0, 1.0]


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="this pyarrow knows no views")
def test_views_are_texts():
    texts = pa.array(["u", "v", None], pa.string_view())
    coded = pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), texts)
    stream = open_table(pa.table({"z": texts, "c": coded, "y": [1, 2, 3]}), missing="indicator")
    assert [set(row[2]) for row in examples_of(stream)] == [
        {"z=u", "c=v"},
        {"z=v", "c=missing"},
        {"z=missing", "c=u"},
    ]


def test_names_of_labels_are_looked_for_in_more_than_one_batch(tmp_path):
    table = pa.table({"a": [1, 2, 3], "y": ["u", "u", "v"]})
    cut = pa.Table.from_batches(table.to_batches(max_chunksize=1))
    with pa.OSFile(str(tmp_path / "t.arrows"), "wb") as sink:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=1)
    for opened in (cut, cut.to_reader(), tmp_path / "t.arrows"):
        stream = open_table(opened, labels="binary")
        assert [row[0] for row in examples_of(stream)] == [-1.0, -1.0, 1.0]


def test_a_bad_row_is_refused_with_row_column_and_value(tmp_path):
    rows = BATCH + 10
    values = np.ones(rows)
    column = pa.array(values, mask=np.arange(rows) == BATCH + 3)
    table = pa.table({"a": column, "y": values})
    pq.write_table(table, tmp_path / "t.parquet")
    place = f"t.parquet, row {BATCH + 4}, 'a': found None, expected a value"
    with pytest.raises(StreamError, match=place) as caught:
        list(open_table(tmp_path / "t.parquet", missing="refuse"))
    assert caught.value.argument == "missing"
    counted = open_table(tmp_path / "t.parquet", missing="refuse", on_error="count")
    assert sum(map(len, counted)) == rows - 1
    assert counted.refused == 1 and place in counted.complaints[0]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": [1.0, np.inf], "y": [0, 1]}, {}, "row 2, 'a': found inf, expected a number of size"),
        ({"a": [1.0, 1e39], "y": [0, 1]}, {"dtype": "float32"}, "size at most 3.4e.38"),
        ({"a": [1, 2], "y": [0.0, None]}, {}, "row 2, 'y': found None, expected a finite number"),
        ({"a": [1, 2], "y": ["u", "v"]}, {}, "'y' is string, expected numbers as labels"),
        ({"a": [1], "y": ["u"]}, {"labels": "binary"}, "found the label 'u' in the first rows"),
        (
            {"a": [1, 2], "y": ["u", "z"]},
            {"labels": ("u", "v")},
            "row 2, 'y': found 'z', expected 'u' or 'v' as label",
        ),
        (
            {"a": [[1], [2]], "y": [0, 1]},
            {},
            r"'a' is list<.*>, expected numbers, booleans, dates or",
        ),
        (
            {"a": ["x"], "y": [0]},
            {"numeric": "a"},
            "numeric='a': .* string in .* numbers",
        ),
        (
            {"a": ["x"], "y": [0]},
            {"weight": "a"},
            "weight='a': .* string in .* weights",
        ),
        ({"a": [-1], "y": [0]}, {"weight": "a"}, "row 1, 'a': found -1, expected a weight from 0"),
        ({"a": [1], "y": [0]}, {"ignore": "b"}, "ignore='b': .* has no such column"),
        (
            {"intercept": [1], "y": [0]},
            {"constant": 1},
            "constant=1.0: .* 'intercept', the name",
        ),
        ({"a": [1], "y": [[0]]}, {"labels": ("u", "v")}, "'y' is list<.*>, expected numbers, boo"),
        (
            {"a": [1], "y": pa.array([], pa.string()).take(pa.array([None], pa.int64()))},
            {"labels": "binary"},
            "found no label in the first rows, expected two",
        ),
    ],
)
def test_what_is_no_table_of_examples_is_refused_in_one_line(columns, options, message):
    with pytest.raises((StreamError, ArgumentError), match=message) as caught:
        list(open_table(pa.table(columns), **options))
    assert "\n" not in str(caught.value)
    # What is said of an option begins with it.
    of_option = isinstance(caught.value, ArgumentError)
    assert of_option == message.startswith(tuple(f"{name}=" for name in options))


def test_labels_may_be_missing_where_that_is_wanted():
    table = pa.table({"a": [1, 2], "y": [None, 3.0]})
    kept = examples_of(open_table(table, unlabelled="keep"))
    assert math.isnan(kept[0][0]) and kept[1][0] == 3.0
    (row,) = examples_of(open_table(pa.table({"a": [1], "b": [2]}), unlabelled="keep"))
    assert math.isnan(row[0]) and row[2] == {"a": 1.0, "b": 2.0}


def test_files_of_a_kind_go_together_and_others_do_not(tmp_path):
    first, second, third = (tmp_path / f"{k}.parquet" for k in range(3))
    pq.write_table(pa.table({"a": [1], "s": ["x"], "y": [1]}), first)
    pq.write_table(pa.table({"a": [2.5], "s": ["z"], "y": [2]}), second)
    pq.write_table(pa.table({"a": ["no"], "s": ["z"], "y": [2]}), third)
    assert examples_of(open_table([first, second])) == [
        (1.0, 1.0, {"a": 1.0, "s=x": 1.0}),
        (2.0, 1.0, {"a": 2.5, "s=z": 1.0}),
    ]
    message = r"2.parquet: its columns are not those of .*0.parquet: 'a' differs"
    with pytest.raises(StreamError, match=message):
        open_table([first, third])


@pytest.mark.parametrize("kind", WRITERS)
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path, kind):
    path = tmp_path / f"small.{kind}"
    WRITERS[kind](pa.concat_tables([small_table()] * 40), path)
    sound = path.read_bytes()
    rng = random.Random(kind)
    refused = 0
    for _ in range(80):
        damaged = bytearray(sound)
        for _ in range(rng.randint(1, 8)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        if rng.random() < 0.2:
            del damaged[rng.randrange(len(damaged)) :]
        path.write_bytes(damaged)
        try:
            for block in open_table(path, labels="binary", weight="w", on_error="skip"):
                assert np.isfinite(block.values).all() and block.indices.max(initial=0) < 10_000
        except (StreamError, ArgumentError) as error:
            refused += 1
            assert "\n" not in str(error) and str(path) in str(error)
    assert refused


def test_other_files_are_refused_in_one_line(tmp_path):
    path = tmp_path / "text.arrow"
    for content, message in [(b"", "the file is empty"), (b"a,b\n1,2\n", "text.arrow: ")]:
        path.write_bytes(content)
        with pytest.raises(StreamError, match=message) as caught:
            list(open_table(path))
        assert "\n" not in str(caught.value)
    packed = tmp_path / "table.parquet.gz"
    packed.write_bytes(gzip.compress(b"PAR1 and so on"))
    with pytest.raises(StreamError, match="expected one that is not compressed as a whole"):
        open_table(packed)
    with pytest.raises(StreamError, match="expected a file, found '-'"):
        open_table("-")


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import noregret as nr

def write(path):
    from noregret.streams.binary import write_binary
    write_binary([], path)

for use in (nr.read, lambda path: nr.read(path.replace(".arrow", ".parquet")), write):
    try:
        use(sys.argv[1])
    except nr.streams.StreamError as error:
        print(error)
"""


def test_a_missing_pyarrow_is_one_line_that_says_how_to_get_it(tmp_path):
    for name in ("a.arrow", "a.parquet"):
        (tmp_path / name).write_bytes(b"ARROW1")
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYARROW, str(tmp_path / "a.arrow")],
        capture_output=True,
        text=True,
    )
    complaints = run.stdout.splitlines()
    assert len(complaints) == 3, run.stderr
    assert all("the package pyarrow: pip install 'noregret[arrow]'" in one for one in complaints)


def test_the_compact_form_is_recognised(tmp_path):
    path = tmp_path / "t.arrow"
    write_binary(open_table(small_table(), labels="binary", weight="w"), path)
    stream = read(path)
    assert examples_of(stream) == SMALL
    with pytest.raises(ArgumentError, match="target='class': no option of format compact"):
        read(path, target="class")


@pytest.mark.compiled
@needs_data
@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_flights_read_the_same_from_csv_and_from_tables(tmp_path, kind):
    pandas = pytest.importorskip("pandas")
    path = Path(str(DATA)) / "nycflights13/flights.csv.xz"
    frame = pandas.read_csv(path, nrows=5_000)
    short = tmp_path / "flights.csv"
    frame.to_csv(short, index=False)
    WRITERS[kind](pa.Table.from_pandas(frame, preserve_index=False), tmp_path / f"f.{kind}")
    options = {"target": "distance", "ignore": ("time_hour", "tailnum"), "missing": "indicator"}
    table = open_table(tmp_path / f"f.{kind}", **options)
    text = open_csv(short, **options)
    assert table.categorical == text.format.categorical == ["carrier", "origin", "dest"]
    assert examples_of(table) == examples_of(text)
