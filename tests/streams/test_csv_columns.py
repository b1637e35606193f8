"""CSV as programs write it: no header, positions, quoted line ends, encodings, dates, booleans."""

from __future__ import annotations

import csv
import datetime
import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.streams import StreamError, csv_records, source
from noregret.streams.moments import part_names
from tests.streams.named_rows import examples_of
from tests.streams.plain_csv import moment


def write(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(argument: str, path: Path, **options: Any) -> str:
    with pytest.raises((StreamError, ArgumentError)) as caught:
        list(nr.read(path, **options))
    assert caught.value.argument == argument and "\n" not in str(caught.value)
    return str(caught.value)


def test_columns_without_a_header_are_numbered_from_0(tmp_path):
    path = write(tmp_path, "1.5,x,2\n3,y,4\n")
    stream = nr.read(path, header=False)
    assert stream.format.target == "2"
    assert examples_of(stream) == [
        (2.0, 1.0, {"0": 1.5, "1=x": 1.0}),
        (4.0, 1.0, {"0": 3.0, "1=y": 1.0}),
    ]
    with_options = nr.read(path, header=False, target="0", ignore="1", weight="2")
    assert examples_of(with_options) == [(1.5, 2.0, {}), (3.0, 4.0, {})]


@pytest.mark.parametrize(
    ("target", "name"),
    [(0, "a"), (-1, "c"), (-3, "a"), (1, "b"), ("1", "b"), ("-1", "c"), ("c", "c"), (2, "c")],
)
def test_the_target_by_name_or_position(tmp_path, target, name):
    stream = nr.read(write(tmp_path, "a,b,c\n1,2,3\n"), target=target)
    assert stream.format.target == name
    pa = pytest.importorskip("pyarrow")
    assert nr.read(pa.table({"a": [1], "b": [2], "c": [3]}), target=target).target == name


def test_a_column_called_0_comes_before_position_0(tmp_path):
    path = write(tmp_path, "a,0,-1\n1,2,3\n")
    assert [row[0] for row in examples_of(nr.read(path, target=0))] == [2.0]
    assert [row[0] for row in examples_of(nr.read(path, target=-1))] == [3.0]
    assert "has 3 columns" in refusal("target", path, target=3)
    assert "has 3 columns" in refusal("target", path, target=-4)
    assert "target='z': " in refusal("target", path, target="z")


def test_a_first_line_that_may_be_data_is_told(tmp_path):
    hint = "if the first line is data, say that there is no header: columns are then 0, 1, ..."
    numbers = refusal("header", write(tmp_path, "1.5,2\n3,4\n"))
    assert numbers.endswith(
        f"line 1: found numbers only, expected the names of the columns; {hint}"
    )
    twice = refusal("header", write(tmp_path, "5,5,x\n3,4,y\n"))
    assert twice.endswith(f"two columns are called '5', expected different names; {hint}")
    assert hint not in refusal("header", write(tmp_path, "a,a,x\n3,4,y\n"))
    mixed = nr.read(write(tmp_path, "5.1,3.5,setosa\n4.9,3,setosa\n"), labels="classes")
    assert mixed.notes == [f"line 1: '5.1' is taken for the name of a column; {hint}"]
    frame = nr.read(write(tmp_path, "0,1,2\n5,6,7\n"))
    assert frame.notes == [] and frame.format.target == "2"


def quoted_rows(count: int) -> list[tuple[str, str, str]]:
    rng = random.Random(4)
    words = ["plain", "two\nlines", 'a "quote"', "\n", "\r\n", 'tail"', "x" * 50, ",\n,"]
    return [(str(k), rng.choice(words), str(k % 3)) for k in range(count)]


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("chunk", [200, 333, 1 << 22])
def test_quoted_fields_may_hold_line_ends(tmp_path, monkeypatch, chunk, threads):
    rows = quoted_rows(400)
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow(["a", "te\nxt", "y"])
    writer.writerows(rows)
    path = write(tmp_path, held.getvalue())
    monkeypatch.setattr(source, "CHUNK", chunk)
    stream = nr.read(path, threads=threads, categorical="te\nxt")
    found = examples_of(stream)
    assert len(found) == 400
    for (a, text, y), (label, _, features) in zip(rows, found, strict=True):
        expected = {f"te\nxt={text}": 1.0} | ({"a": float(a)} if a != "0" else {})
        assert label == float(y) and features == expected
    # Lines are counted as an editor counts them.
    bad = write(tmp_path, 'a,t,y\n1,"x\ny",2\n3,"p\nq",z\n4,"r",5\n')
    assert f"{bad}, line 4, column 9: found 'z'" in refusal("labels", bad, threads=threads)
    skipping = nr.read(bad, threads=threads, on_error="skip")
    assert [row[0] for row in examples_of(skipping)] == [2.0, 5.0] and skipping.refused == 1


def test_a_stray_quote_costs_its_line_only(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "CHUNK", 400)
    lines = ["1,x,2\n"] * 300
    lines[7] = '1,"x,2\n'
    stream = nr.read(write(tmp_path, "a,t,y\n" + "".join(lines)), on_error="count")
    assert len(examples_of(stream)) == 299 and stream.refused == 1
    assert "line 9, column 3: found '\"x,2', expected a closing quote" in stream.complaints[0]


@pytest.mark.compiled
def test_a_quoted_field_has_a_longest_length(tmp_path):
    limit = csv_records.LONGEST_QUOTED
    fits = write(tmp_path, f'a,t,y\n1,"{"x" * (limit - 1)}",2\n1,"{"x" * limit}",2\n1,x,3\n')
    stream = nr.read(fits, on_error="count")
    assert [row[0] for row in examples_of(stream)] == [2.0, 3.0]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "shift_jis"])
def test_other_encodings_are_recoded(tmp_path, encoding):
    city = "東京" if encoding == "shift_jis" else "Köln"
    text = f"größe,stadt,y\n1,{city},2\n3,{city},4\n".replace(
        "größe", "size" if encoding == "shift_jis" else "größe"
    )
    path = write(tmp_path, text.encode(encoding))
    stream = nr.read(path, encoding=encoding)
    assert [row[2][f"stadt={city}"] for row in examples_of(stream)] == [1.0, 1.0]
    assert examples_of(stream) == examples_of(nr.read(write(tmp_path, text, "u.csv")))


def test_a_wrong_encoding_is_told_with_the_remedy(tmp_path):
    path = write(tmp_path, "größe,y\n1,2\n".encode("latin-1"))
    assert "the header is not UTF-8" in refusal("encoding", path)
    assert "latin-1" in refusal("encoding", path)
    assert "is not ascii" in refusal("encoding", path, encoding="ascii")
    wide = write(tmp_path, "a,y\n1,2\n".encode("utf-16"))
    assert "the content is UTF-16" in refusal("encoding", wide)
    for wrong in ("klingon", "hex"):
        assert "an encoding that Python knows" in refusal("encoding", path, encoding=wrong)


def test_booleans_are_numbers(tmp_path):
    text = "a,b,c,y\ntrue,True,TRUE,1\nfalse,False,FALSE,2\n,maybe,1,3\n"
    stream = nr.read(write(tmp_path, text), categorical="b")
    assert stream.format.numeric == ["a", "c"]
    assert [row[2] for row in examples_of(stream)] == [
        {"a": 1.0, "b=True": 1.0, "c": 1.0},
        {"b=False": 1.0},
        {"a=missing": 1.0, "b=maybe": 1.0, "c": 1.0},
    ]


@pytest.mark.parametrize("number", ["1,5", "-0,25", "1.234,5"])
def test_decimal_commas_are_refused_with_a_hint(tmp_path, number):
    path = write(tmp_path, f"a;y\n{number};1\n2;3\n")
    message = refusal("categorical", path, separator=";")
    assert f"column 'a' holds {number!r}, a number with a comma" in message
    stream = nr.read(path, separator=";", categorical="a")
    assert examples_of(stream)[0][2] == {f"a={number}": 1.0}


def test_missing_values_are_an_indicator_with_one_remark_a_column(tmp_path):
    text = "age,city,y\n" + "1,x,1\n" * 2000 + ",x,2\n,,3\n"
    stream = nr.read(write(tmp_path, text), rows=500)
    blocks = iter(stream)
    next(blocks)
    found = examples_of(stream)
    assert found[2000][2] == {"age=missing": 1.0, "city=x": 1.0}
    assert found[2001][2] == {"age=missing": 1.0, "city=missing": 1.0}
    assert stream.notes == [
        f"column {name!r}: missing values count as 0 with the indicator feature '{name}=missing'"
        for name in ("age", "city")
    ]
    assert len(examples_of(stream)) == 2002 and len(stream.notes) == 2
    assert "expected a value in column 'age'" in refusal(
        "missing", tmp_path / "table.csv", missing="refuse"
    )


def test_a_text_is_not_missing_because_it_begins_so(tmp_path):
    # 319 bytes: the word of "?" is 1, its length, and then its byte, which as a number is 319.
    texts = ["?!", "?" * 5, "?" * 6, "?" * 319, "NAN", "NA NA NA"]
    path = write(tmp_path, "a,y\n" + "".join(f"{text},1\n" for text in texts))
    assert [row[2] for row in examples_of(nr.read(path))] == [{f"a={text}": 1.0} for text in texts]


@pytest.mark.parametrize("threads", [0, 2])
def test_names_of_missing_values_come_in_the_order_of_the_file(tmp_path, monkeypatch, threads):
    monkeypatch.setattr(source, "CHUNK", 300)
    columns = [chr(97 + k) for k in range(12)]
    rows = []
    for k in range(400):
        row = ["1"] * 12
        if k % 30 == 0:
            row[(7 * k // 30) % 12] = ""
        rows.append(",".join([*row, "2"]) + "\n")
    stream = nr.read(
        write(tmp_path, ",".join([*columns, "y"]) + "\n" + "".join(rows)), threads=threads
    )
    assert stream.format.parallel
    found = examples_of(stream)
    order = [columns[(7 * k) % 12] for k in range(12)]
    assert list(stream.names) == columns + [f"{name}=missing" for name in order]
    assert sum(any("missing" in name for name in row[2]) for row in found) == 14


def expected_parts(when: datetime.datetime, name: str = "t") -> dict[str, float]:
    days = (when - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    weekday = "Mon Tue Wed Thu Fri Sat Sun".split()[when.weekday()]
    parts = {f"{name}.month={when.month}": 1.0, f"{name}.weekday={weekday}": 1.0}
    return parts | {f"{name}.hour={when.hour}": 1.0} | ({name: days} if days else {})


def test_dates_are_days_and_parts_of_the_calendar(tmp_path):
    text = "d,t,y\n2024-02-29,2024-02-29 18:30:00,1\n1970-01-01,1970-01-01T00:00,2\n,,3\n"
    stream = nr.read(write(tmp_path, text))
    assert stream.format.dates == ["d", "t"]
    found = [row[2] for row in examples_of(stream)]
    first = expected_parts(datetime.datetime(2024, 2, 29, 18, 30))
    days = {"d": 19782.0, "d.month=2": 1.0, "d.weekday=Thu": 1.0}
    assert found[0] == pytest.approx(first | days, rel=1e-15)
    assert found[1] == expected_parts(datetime.datetime(1970, 1, 1)) | {
        "d.month=1": 1.0, "d.weekday=Thu": 1.0,
    }  # fmt: skip
    assert found[2] == {"d=missing": 1.0, "t=missing": 1.0}
    assert list(stream.names)[:64] == part_names("d", False) + part_names("t", True)
    assert moment(b"2024-06-01T01:00:00+02:00") == (19874 + 23 / 24, 6, 18, 21)
    bad = write(tmp_path, "d,y\n" + "2024-01-01,1\n" * 20 + "2024-13-01,2\n")
    assert "line 22, column 1: found '2024-13-01', expected an ISO date" in refusal(
        "categorical", bad
    )
    assert nr.read(bad, categorical="d").format.dates == []


@pytest.mark.parametrize(
    ("sound", "unsound"),
    [
        ("2024-02-29", "2023-02-29"),
        ("2000-02-29", "1900-02-29"),
        ("2024-04-30", "2024-04-31"),
        ("2024-01-01T23:59", "2024-01-01T24:00"),
        ("2024-01-01T00:00+23:59", "2024-01-01T00:00+24:00"),
        ("2024-01-01T00:00-2300", "2024-01-01T00:00-2360"),
    ],
)
def test_no_day_or_time_is_read_that_no_calendar_or_clock_has(tmp_path, sound, unsound):
    path = write(tmp_path, f"d,y\n{sound},1\n")
    when = datetime.datetime.fromisoformat(sound)
    zone = when.utcoffset() or datetime.timedelta()
    days = (when.replace(tzinfo=None) - zone - datetime.datetime(1970, 1, 1)).total_seconds()
    assert examples_of(nr.read(path))[0][2]["d"] == days / 86400
    # The first lines tell that the column has dates.
    bad = write(tmp_path, "d,y\n" + f"{sound},1\n" * 20 + f"{unsound},2\n", "bad.csv")
    assert f", line 22, column 1: found {unsound!r}, " in refusal("categorical", bad)


def test_dates_may_be_named_where_the_first_rows_are_empty(tmp_path):
    path = write(tmp_path, "d,y\n" + ",1\n" * 1000 + "2024-01-01,2\n")
    assert "expected a finite number in column 'd'" in refusal("", path)
    stream = nr.read(path, dates="d")
    assert examples_of(stream)[-1][2] == {"d": 19723.0, "d.month=1": 1.0, "d.weekday=Mon": 1.0}
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(ArgumentError, match=r"dates='d': .* int64 in .*, expected dates"):
        nr.read(pa.table({"d": [1], "y": [2]}), dates="d")


def test_dates_of_arrow_are_those_of_text(tmp_path):
    pa = pytest.importorskip("pyarrow")
    rng = random.Random(0)
    begin = datetime.datetime(1950, 1, 1)
    moments = [
        begin + datetime.timedelta(days=rng.randrange(40000), seconds=rng.randrange(86400),
                                   milliseconds=rng.randrange(1000))
        for _ in range(500)
    ]  # fmt: skip
    y = [float(k) for k in range(500)]
    lines = [f"{t.isoformat(' ')},{t.date()},{k}\n" for k, t in enumerate(moments)]
    stream = nr.read(write(tmp_path, "t,d,y\n" + "".join(lines)))
    text = examples_of(stream)
    for unit in ("ms", "us", "ns"):
        table = pa.table({
            "t": pa.array(moments, pa.timestamp(unit)),
            "d": pa.array([t.date() for t in moments], rng.choice([pa.date32(), pa.date64()])),
            "y": y,
        })  # fmt: skip
        frame = nr.read(table)
        assert examples_of(frame) == text and list(frame.names) == list(stream.names)
    zoned = pa.array([moments[0], None], pa.timestamp("s", tz="America/New_York"))
    (row, missing) = examples_of(nr.read(pa.table({"t": zoned, "y": [1, 2]})))
    local = zoned[0].as_py()
    assert row[2][f"t.hour={local.hour}"] == row[2][f"t.month={local.month}"] == 1.0
    days = (local - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) / datetime.timedelta(days=1)
    assert row[2]["t"] == pytest.approx(days) and missing[2] == {"t=missing": 1.0}


def test_a_column_of_which_every_value_is_another_is_told(tmp_path):
    lines = "".join(f"word {k},x{k % 3},{k}\n" for k in range(1000))
    path = write(tmp_path, "text,kind,y\n" + lines)
    note = "column 'text': 1,000 distinct values in 1,000 rows: is it text, or to be ignored?"
    assert nr.read(path).notes == [note]
    assert nr.read(path, categorical="text").notes == []
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": [f"word {k}" for k in range(1000)], "y": np.arange(1000.0)})
    frame = nr.read(table)
    list(frame)
    assert frame.notes == [note]


def test_what_was_ignored_while_learning_need_not_be_there_to_predict(tmp_path):
    path = write(tmp_path, "a,b\n1,2\n")
    assert "ignore='leak': " in refusal("ignore", path, ignore="leak")
    (row,) = examples_of(nr.read(path, ignore="leak", target="y", unlabelled="keep"))
    assert row[2] == {"a": 1.0, "b": 2.0}
