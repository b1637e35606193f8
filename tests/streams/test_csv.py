"""CSV: files against Python's csv module, what columns are, labels, refusals."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.arguments import ArgumentError
from noregret.streams.errors import StreamError
from noregret.streams.features import Features
from noregret.streams.names import FeatureNames
from tests.sizes import sized
from tests.streams.named_rows import examples_in, examples_of
from tests.streams.opening import open_csv

DATA = os.environ.get("NOREGRET_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="NOREGRET_DATA does not name a folder of data")


def write(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=8)


@given(
    rows=st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), TEXT, st.integers(-3, 3)),
        min_size=1,
        max_size=30,
    ),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
    separator=st.sampled_from([",", ";", "\t"]),
)
@settings(max_examples=sized(20, 60))
def test_a_file_reads_as_pythons_csv_module_reads_it(
    tmp_path_factory, rows, quoting, end, separator
):
    held = io.StringIO()
    writer = csv.writer(held, quoting=quoting, lineterminator=end, delimiter=separator)
    writer.writerow(["number", "text", "target"])
    writer.writerows(rows)
    path = write(tmp_path_factory.mktemp("csv"), held.getvalue())
    stream = open_csv(
        path, separator=separator, categorical="text", numeric="number", missing="indicator"
    )
    expected = []
    for number, text, label in list(csv.reader(io.StringIO(held.getvalue()), delimiter=separator))[
        1:
    ]:
        # Spaces around what is not quoted are no part of it, and neither are quotes inside.
        text = (
            text
            if quoting == csv.QUOTE_ALL or separator in text or '"' in text
            else text.strip(" ")
        )
        features = {"number": float(number)} if float(number) else {}
        missing = text in ("", "NA", "NaN", "nan", "?")
        expected.append(
            (float(label), 1.0, features | {"text=missing" if missing else f"text={text}": 1.0})
        )
    assert examples_of(stream) == expected


def test_columns_get_their_roles_by_name(tmp_path):
    text = "id,w,age,city,Y\n1,2,31,Bonn,0.5\n2,0,0,Rome,-1\n"
    stream = open_csv(write(tmp_path, text), weight="w", ignore="id", constant=1.0)
    assert stream.format.target == "Y"
    assert (stream.format.numeric, stream.format.categorical) == (["age"], ["city"])
    assert examples_of(stream) == [
        (0.5, 2.0, {"intercept": 1.0, "age": 31.0, "city=Bonn": 1.0}),
        (-1.0, 0.0, {"intercept": 1.0, "city=Rome": 1.0}),
    ]
    kept = open_csv(write(tmp_path, text), keep=["age", "id"], target="w", categorical="id")
    assert examples_of(kept)[1] == (0.0, 1.0, {"id=2": 1.0})
    last = open_csv(write(tmp_path, "a,b\n1,2\n"))
    assert last.format.target == "b" and examples_of(last) == [(2.0, 1.0, {"a": 1.0})]


def test_the_label_is_no_column_that_is_dropped(tmp_path):
    path = write(tmp_path, "a,class,target,z\n1,2,3,4\n")
    assert examples_of(open_csv(path, ignore="target")) == [(2.0, 1.0, {"a": 1.0, "z": 4.0})]
    last = open_csv(path, ignore=["target", "class", "z"])
    assert examples_of(last) == [(1.0, 1.0, {})]
    none = open_csv(path, ignore=["target", "class", "z", "a"], unlabelled="keep")
    assert none.format.target is None and math.isnan(examples_of(none)[0][0])


@pytest.mark.parametrize("names", [None, ["b", "a"], ["a", "b"]])
def test_rows_ascend_wherever_the_constant_is(tmp_path, names):
    path = write(tmp_path, "a,b,y\n1,2,3\n")
    known = None if names is None else FeatureNames(names)
    stream = open_csv(path, constant=0.5, names=known)
    # What `examples_of` asserts of every row is that its columns ascend.
    assert examples_of(stream) == [(3.0, 1.0, {"intercept": 0.5, "a": 1.0, "b": 2.0})]


@pytest.mark.parametrize("bits", range(1, 13))
def test_hashed_rows_ascend_wherever_the_constant_is(tmp_path, bits):
    for name in "abcdefgh":
        stream = open_csv(write(tmp_path, f"{name},y\n2,3\n"), constant=0.5, bits=bits)
        assert sum(examples_of(stream)[0][2].values()) == 2.5


def test_hashed_columns_are_where_their_names_are_hashed(tmp_path):
    path = write(tmp_path, "age,city,y\n31,Bonn,1\n0,Rome,2\n")
    stream = open_csv(path, bits=10, constant=0.5, remember=8)
    rows = examples_of(stream)
    assert rows[0] == (1.0, 1.0, {"Constant": 0.5, "age": 31.0, "city=Bonn": 1.0})
    assert stream.names.column("city=Rome") == Features(10).columns(["city=Rome"])[0]
    assert not stream.format.parallel and open_csv(path, bits=10).format.parallel
    assert [block.width for block in stream] == [1024]


def test_named_labels_are_mapped_and_remembered(tmp_path):
    path = write(tmp_path, "a,class\n1,UP\n2,DOWN\n3,UP\n")
    found = open_csv(path, labels="binary")
    assert [row[0] for row in examples_of(found)] == [1.0, -1.0, 1.0]
    assert found.label_map == {"DOWN": -1.0, "UP": 1.0}
    given_pair = open_csv(path, labels=("UP", "DOWN"))
    assert [row[0] for row in examples_of(given_pair)] == [-1.0, 1.0, -1.0]
    assert given_pair.label_map == {"UP": -1.0, "DOWN": 1.0}
    numbers = open_csv(write(tmp_path, "a,class\n1,2\n2,1\n"), labels="binary")
    assert [row[0] for row in examples_of(numbers)] == [1.0, -1.0]
    assert numbers.label_map == {1.0: -1.0, 2.0: 1.0}


def test_labels_may_be_missing_where_that_is_wanted(tmp_path):
    stream = open_csv(write(tmp_path, "a,y\n1,?\n2,5\n"), unlabelled="keep")
    assert [math.isnan(row[0]) for row in examples_of(stream)] == [True, False]
    named = open_csv(write(tmp_path, "a,y\n1,?\n2,v\n3,u\n"), unlabelled="keep", labels="binary")
    assert named.label_map == {} and [row[0] for row in examples_of(named)][1:] == [1.0, -1.0]
    without = open_csv(write(tmp_path, "a,b\n1,3\n"), unlabelled="keep")
    (row,) = examples_of(without)
    assert math.isnan(row[0]) and row[2] == {"a": 1.0, "b": 3.0}


def test_a_dictionary_that_does_not_grow_leaves_new_names_out(tmp_path):
    names = FeatureNames(["city=Rome", "age"])
    path = write(tmp_path, "age,city,size,y\n31,Bonn,5,1\n2,Rome,5,2\n")
    stream = open_csv(path, names=names, grow=False)
    assert [row[2] for row in examples_of(stream)] == [
        {"age": 31.0},
        {"city=Rome": 1.0, "age": 2.0},
    ]
    assert list(names) == ["city=Rome", "age"]


@pytest.mark.compiled
def test_many_categories_and_small_blocks(tmp_path):
    rows = [f"{k % 7},name {k % 5000},{k}" for k in range(20_000)]
    path = write(tmp_path, "\n".join(["a,b,y", *rows]))
    stream = open_csv(path, rows=100)
    for _ in range(2):
        assert [row[2] for row in examples_of(stream)] == [
            ({"a": float(k % 7)} if k % 7 else {}) | {f"b=name {k % 5000}": 1.0}
            for k in range(20_000)
        ]
    assert len(stream.names) == 5001


def test_a_byte_order_mark_compression_and_several_files(tmp_path):
    first = write(tmp_path, b"\xef\xbb\xbfa,y\r\n1,2\r\n")
    second = tmp_path / "b.csv.gz"
    second.write_bytes(gzip.compress(b"a,y\n3,4"))
    assert examples_of(open_csv([first, second])) == [
        (2.0, 1.0, {"a": 1.0}),
        (4.0, 1.0, {"a": 3.0}),
    ]
    other = write(tmp_path, "y,a\n1,2\n", "c.csv")
    with pytest.raises(
        StreamError, match=r"c.csv, line 1: found the header 'y,a', expected that of"
    ):
        list(open_csv([first, other]))


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b,class\n1,u,X\n2,v,Y\n")))
    stream = open_csv("-", labels="binary")
    assert [row[0] for row in examples_of(stream)] == [-1.0, 1.0]
    with pytest.raises(StreamError, match="standard input can be read once only"):
        list(stream)


REFUSED = {
    "1,x,0\n": (r"line 1002, column 1: found 'z'", "z,x,0\n", "number in column 'a'"),
    "2,x,0\n": (r"line 1002, column 3: found ''", "2,,0\n", "a value in column 'b'"),
    "3,x,0\n": (r"line 1002, column 5: found 'up'", "3,x,up\n", "two classes"),
    "4,x,0\n": (r"line 1002, column 1: found '4,x'", "4,x\n", "3 fields, there are 2"),
    "5,x,0\n": (r"line 1002, column 1: found '5,x,0,1'", "5,x,0,1\n", "3 fields, there are 4"),
    "6,x,0\n": (r"line 1002, column 3: found '\"x,0'", '6,"x,0\n', "a closing quote within 1 MiB"),
    "7,x,0\n": (r"line 1002, column 6: found 'z,0'", '7,"x"z,0\n', "after the closing quote"),
    "8,x,0\n": (r"line 1002, column 1: found '1e999'", "1e999,x,0\n", "a finite number"),
}


@pytest.mark.parametrize("good", REFUSED)
def test_a_bad_line_is_refused_with_place_text_and_column(tmp_path, good):
    place, bad, expected = REFUSED[good]
    path = write(tmp_path, "a,b,y\n" + good * 1000 + bad + good)
    with pytest.raises(StreamError, match=f"^{path}, {place}, expected ") as caught:
        list(open_csv(path, missing="refuse"))
    assert expected in str(caught.value) and "\n" not in str(caught.value)
    counted = open_csv(path, missing="refuse", on_error="count")
    assert sum(map(len, counted)) == 1001
    assert counted.refused == len(counted.complaints) == bad.count("\n")
    assert counted.complaints[0] == str(caught.value)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n", {"target": "c"}, "target='c': .* has no such column, expected one of 'a', 'b'"),
        ("a,a,y\n1,2,3\n", {}, "two columns are called 'a'"),
        ("a;b\n1;2\n", {}, "found the one field 'a;b', expected several, separated by ','"),
        ("1.5,2\n3,4\n", {}, "found numbers only, .* there is no header"),
        ("a,y\n1,u\n", {"labels": "binary"}, "found the label 'u' in the first rows, expected two"),
        ("a,y\n1,u\n1,v\n1,w\n", {"labels": "binary"}, "found the labels 'u', 'v', 'w' in"),
        ("a,y\n1,2\n", {"keep": "a", "ignore": "a"}, "keep=.*: names all columns that are used"),
        ("a,y\n1,2\n", {"separator": "1"}, "separator='1': expected one of"),
        ("a,y\n1,2\n", {"missing": "no"}, "missing='no': expected"),
        ("a,y\n1,2\n", {"bits": 40}, "bits=40: expected 1 to 31"),
        ("a,y\n1,2\n", {"dtype": "int"}, "dtype='int': expected"),
        ("a,y\n1,2\n", {"target": "y", "weight": "y"}, "target='y': .* both label and weight"),
        (
            "a,y\n1,2\n",
            {"categorical": "a", "numeric": "a"},
            "categorical='a': .* numeric",
        ),
        ('"a,y\n1,2\n', {}, "line 1, column 1: found '\"a,y', expected a closing quote"),
        ("", {}, "expected lines of text"),
        (
            "intercept,y\n1,2\n",
            {"constant": 1.0},
            "constant=1.0: .* 'intercept', the name of",
        ),
        ("a,y\n1,2\n", {"target": "y", "ignore": "y"}, "target='y': .* both label and ignored"),
        ("a,y\n1,2\n", {"weight": "a", "ignore": "a"}, "weight='a': .* both weight and ignored"),
        (b"a,y\n1,\xe9\n2,e\n", {"labels": "binary"}, r"label b'\\xe9', expected labels in UTF"),
    ],
)
def test_what_makes_no_stream_is_refused_in_one_line(tmp_path, text, options, message):
    with pytest.raises((StreamError, ArgumentError), match=message) as caught:
        open_csv(write(tmp_path, text), **options)
    assert "\n" not in str(caught.value)
    # What is said of an option begins with it.
    of_option = isinstance(caught.value, ArgumentError)
    assert of_option == message.startswith(tuple(f"{name}=" for name in options))


def test_a_column_is_numeric_if_nine_tenths_of_its_first_values_are_numbers(tmp_path):
    text = "a,b,y\n" + "1,1,0\n" * 9 + "x,x,0\n" + "NA,x,0\n"
    stream = open_csv(write(tmp_path, text), missing="refuse", on_error="count")
    assert (stream.format.numeric, stream.format.categorical) == (["a"], ["b"])
    assert len(examples_of(stream)) == 9 and "line 11, column 1: found 'x'" in stream.complaints[0]


def test_weights_are_not_negative_and_values_fit_their_type(tmp_path):
    path = write(tmp_path, "a,w,y\n1,1,0\n4e38,-0.5,0\n4e38,2,0\n")
    stream = open_csv(path, weight="w", on_error="count")
    assert [row[:2] for row in examples_of(stream)] == [(0.0, 1.0), (0.0, 2.0)]
    assert "line 3, column 6: found '-0.5', expected a number from 0 as" in stream.complaints[0]
    narrow = open_csv(path, ignore="w", dtype="float32", on_error="count")
    assert len(examples_of(narrow)) == 1 and "at most 3.40282e+38" in narrow.complaints[1]


@pytest.mark.compiled
@needs_data
@pytest.mark.parametrize(
    ("name", "options", "categorical"),
    [
        ("elec2/elec2.csv.xz", {"labels": ("DOWN", "UP")}, []),
        ("bike_sharing/bike_sharing_hour.csv.xz", {"ignore": ("casual", "registered")}, ["dteday"]),
        ("nycflights13/flights.csv.xz", {"target": "distance", "ignore": "time_hour"},
         ["carrier", "tailnum", "origin", "dest"]),
        ("covtype/covtype.csv.xz", {}, []),
    ],
)  # fmt: skip
def test_real_files_read_as_pythons_csv_module_reads_them(name, options, categorical):
    import lzma

    path = Path(str(DATA)) / name
    stream = open_csv(path, missing="indicator", **options)
    assert stream.format.categorical == categorical
    label, pair = stream.format.target, options.get("labels")
    wanted = stream.format.numeric + stream.format.categorical
    blocks = iter(stream)
    rows: list[tuple[float, float, dict[str, float]]] = []
    while len(rows) < 12_000:
        rows += examples_in([next(blocks)], stream.names)
    blocks.close()
    with lzma.open(path, "rt", newline="") as file:
        for number, (found, row) in enumerate(zip(rows, csv.DictReader(file), strict=False)):
            features = {}
            for column in wanted:
                text = row[column]
                if text in ("", "NA"):
                    features[f"{column}=missing"] = 1.0
                elif column in categorical:
                    features[f"{column}={text}"] = 1.0
                elif float(text):
                    features[column] = float(text)
            y = float(row[label]) if pair is None else (-1.0, 1.0)[pair.index(row[label])]
            assert found == (y, 1.0, features), number
