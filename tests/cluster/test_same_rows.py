"""Rows, columns, labels and names of a cluster run are those of one process, to the bit."""

import json
import random

import numpy as np
import pytest

import noregret as nr
from noregret.streams import source
from tests.cluster.joint import gathered, row_list, same_as_one_process, written

#: Shards of whole files, and several shards a file.
SHARDS = (2, 7)
CITIES = [f"city{k}" for k in range(40)]


@pytest.fixture(params=[1 << 22, 300])
def chunk(request, monkeypatch):
    """Chunks of text that hold a whole file, and small ones, which cut it."""
    monkeypatch.setattr(source, "CHUNK", request.param)


def csv_text(rows: int, seed: int, labels=("UP", "DOWN")) -> str:
    r = random.Random(seed)
    lines = [
        f"{r.randint(0, 9)},{r.choice(CITIES)},{r.choice(['', 'p', 'q'])},"
        f"{r.choice(['cheap pills', 'see you', 'pills you see'])},{r.random():.3f},"
        f"{r.choice(labels)}"
        for _ in range(rows)
    ]
    return "\n".join(["age,city,kind,words,importance,class", *lines, ""])


def test_csv_with_categories_words_and_products(tmp_path, chunk):
    paths = written(tmp_path, "csv", *(csv_text(rows, rows) for rows in (20, 31, 9)))
    found = same_as_one_process(
        paths,
        SHARDS,
        labels="binary",
        text="words",
        bits=0,
        weight="importance",
        interactions=["age*city"],
        constant=1.0,
    )
    assert found.notes
    assert found.label_map == {"DOWN": -1.0, "UP": 1.0}


def test_csv_where_later_files_look_like_other_types(tmp_path, chunk):
    # By themselves, the second file would have numbers where the first has names.
    first = "a,b,y\n" + "x,1.5,1\nz,2.5,0\n" * 4
    second = "a,b,y\n" + "7,2,0\n8,3,1\n" * 5
    same_as_one_process(written(tmp_path, "csv", first, second, first), SHARDS, labels="binary")


@pytest.mark.parametrize("bits", [0, 6])
def test_vw(tmp_path, chunk, bits):
    def text(rows, seed):
        r = random.Random(seed)
        lines = []
        for _ in range(rows):
            weight = r.choice(["", "", " 2.5"])
            words = " ".join(r.choice(CITIES) for _ in range(3))
            lines.append(f"{r.choice([-1, 1])}{weight} |a {words} |b {r.choice(CITIES)}:0.5")
        return "\n".join([*lines, ""])

    paths = written(tmp_path, "vw", text(25, 1), text(11, 2), text(40, 3))
    options = {"remember": 30} if bits else {}
    same_as_one_process(
        paths, SHARDS, labels="binary", bits=bits, interactions=["ab"], constant=1.0, **options
    )


def test_json_lines(tmp_path, chunk):
    def text(rows, seed):
        r = random.Random(seed)
        held = [
            {
                "y": r.choice(["ham", "spam"]),
                r.choice(CITIES): r.random(),
                "home": {"city": r.choice(CITIES), "owned": r.random() < 0.5},
                "words": r.choices(CITIES, k=3),
                "kind": r.choice([None, "p"]),
            }
            for _ in range(rows)
        ]
        return "".join(json.dumps(one) + "\n" for one in held)

    paths = written(tmp_path, "jsonl", text(20, 1), text(13, 2), text(31, 3))
    same_as_one_process(paths, SHARDS, labels="binary")


def svmlight_text(rows: int, seed: int, labels, first: int = 1, most: int = 30) -> str:
    r = random.Random(seed)
    lines = []
    for _ in range(rows):
        columns = sorted(r.sample(range(first, most), 4))
        features = " ".join(f"{k}:{r.random():.4f}" for k in columns)
        lines.append(f"{r.choice(labels)} {features}")
    return "\n".join([*lines, ""])


def test_svmlight(tmp_path, chunk):
    # The widest row is in the last file.
    texts = (svmlight_text(25, k, (0.5, 1.5, -3), most=20 + 5 * k) for k in range(3))
    same_as_one_process(written(tmp_path, "svm", *texts), SHARDS, constant=1.0)


def test_svmlight_from_zero_in_single_precision(tmp_path, chunk):
    texts = [svmlight_text(25, k, (0, 1), first=0) for k in range(2)]
    paths = written(tmp_path, "svm", *texts)
    same_as_one_process(paths, SHARDS, labels="binary", first_index=0, width=40, dtype="float32")


def test_empty_files_and_files_given_twice(tmp_path):
    a, b, c = written(tmp_path, "svm", "", svmlight_text(20, 1, (0, 1)), "")
    stream = same_as_one_process([a, b, b, c], (1, 2), labels="binary")
    assert [file.name for file in stream.files] == [b, b]


def test_patterns_and_compression(tmp_path):
    import gzip

    for k in range(3):
        path = tmp_path / f"part{k}.csv.gz"
        path.write_bytes(gzip.compress(csv_text(15 + k, k, ("1", "0")).encode()))
    same_as_one_process(str(tmp_path / "part*.csv.gz"), SHARDS, labels="binary", bits=0)


def test_addresses(tmp_path):
    pytest.importorskip("fsspec")
    written(tmp_path, "csv", *(csv_text(15 + k, k) for k in range(3)))
    same_as_one_process(f"file://{tmp_path}/*.csv", SHARDS, labels="binary")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_tables(tmp_path, kind):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    paths = []
    for seed, rows in enumerate((110, 140, 30)):
        r = random.Random(seed)
        table = arrow.table(
            {
                "id": [f"n{seed}.{k}" for k in range(rows)],
                "city": [r.choice([*CITIES, None]) for _ in range(rows)],
                "age": [r.choice([1.5, None, 3.0]) for _ in range(rows)],
                "y": [r.choice(["a", "b"]) for _ in range(rows)],
            }
        )
        paths.append(str(tmp_path / f"t{seed}.{kind}"))
        if kind == "parquet":
            pyarrow.parquet.write_table(table, paths[-1], row_group_size=70)
        else:
            with (
                arrow.OSFile(paths[-1], "wb") as sink,
                arrow.ipc.new_file(sink, table.schema) as writer,
            ):
                writer.write_table(table, max_chunksize=105)
    found = same_as_one_process(paths, SHARDS, labels="binary")
    # The remark about distinct values is made of the first rows of all, by whoever reads them.
    assert sum("distinct" in note for note in found.notes) == 1


def parquet_file(path, rows, seed, group, cities=CITIES, labels=("a", "b")):
    """Write rows of two columns of names and two of numbers, some of them missing."""
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    r = random.Random(seed)
    # New names turn up until the end.
    names = [[*cities[: 3 + k * len(cities) // rows], None] for k in range(rows)]
    table = arrow.table(
        {
            "city": [r.choice(names[k]) for k in range(rows)],
            "age": [r.choice([1.5, None, 3.0]) for _ in range(rows)],
            "kind": [r.choice(names[k]) for k in range(rows)],
            "words": [" ".join(r.choices(cities, k=2)) for _ in range(rows)],
            "y": [r.choice(labels) for _ in range(rows)],
        }
    )
    pyarrow.parquet.write_table(table, path, row_group_size=group)
    return str(path)


@pytest.mark.parametrize("batch", [16, 24, 1 << 14])
@pytest.mark.parametrize("rule", ["binary", "classes"])
def test_row_groups_of_parquet(tmp_path, monkeypatch, batch, rule):
    """Also those that are smaller than a batch, or no multiple of one."""
    pytest.importorskip("pyarrow")
    from noregret.streams import table_inputs

    monkeypatch.setattr(table_inputs, "BATCH", batch)
    paths = [
        parquet_file(tmp_path / f"t{k}.parquet", rows, k, group)
        for k, (rows, group) in enumerate(((200, 20), (150, 7), (40, 40)))
    ]
    options = {"text": "words", "interactions": ["city*kind"], "labels": rule}
    same_as_one_process(paths, (2, 7, 12), **options)
    found = same_as_one_process(paths[0], (1, 3, 5), **options)
    assert any(one.groups for one in found.files) == (batch < 30)


def test_a_worker_reads_its_own_row_groups_only(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    from noregret.streams import table_inputs

    monkeypatch.setattr(table_inputs, "BATCH", 10)
    path = parquet_file(tmp_path / "t.parquet", 400, 1, 10)
    read = []
    of_groups = table_inputs.TableFile._of_groups

    def noted(self, reader, columns):
        batches, total = of_groups(self, reader, columns)
        if "city" in columns:
            read.append(total)
        return batches, total

    monkeypatch.setattr(table_inputs.TableFile, "_of_groups", noted)
    for count in (1, 2, 4):
        read.clear()
        found, _ = gathered(path, 4, count, labels="binary")
        assert found.rows == [100] * 4 and sorted(read) == [100] * 4
        assert [one.groups for one in found.files] == [
            (10 * k, 10 * (k + 1), 100 * k) for k in range(4)
        ]


def test_refused_rows_and_labels_of_row_groups(tmp_path, monkeypatch):
    """Messages have the row of the file, and the first one is that of one process."""
    pytest.importorskip("pyarrow")
    from noregret.streams import StreamError, labels, table_inputs

    monkeypatch.setattr(table_inputs, "BATCH", 10)
    monkeypatch.setattr(table_inputs, "LOOK", 50)
    monkeypatch.setattr(labels, "LOOK", 50)
    path = parquet_file(tmp_path / "t.parquet", 240, 3, 10)
    found = same_as_one_process(
        path, (1, 4, 6), labels="binary", missing="refuse", on_error="count"
    )
    assert found.refused > 20 and len(found.complaints) == 10
    path = parquet_file(tmp_path / "u.parquet", 240, 4, 10, labels=("a",) * 30 + ("b", "c"))
    for options in ({"labels": ("a", "b")}, {"missing": "refuse", "labels": "binary"}):
        with pytest.raises(StreamError) as alone:
            list(nr.read(path, **options))
        for count in (1, 2, 4):
            with pytest.raises(StreamError) as several:
                gathered(path, 4, count, **options)
            assert str(several.value) == str(alone.value)


@pytest.mark.parametrize("rule", ["binary", "classes", "real"])
def test_compact_form(tmp_path, rule):
    pytest.importorskip("pyarrow")
    from noregret.streams.binary import write_binary

    paths = written(tmp_path, "csv", csv_text(40, 1), csv_text(25, 2))
    stream = nr.read(paths, labels=rule if rule != "real" else "binary")
    blocks = list(stream)
    files = []
    for k, block in enumerate(blocks):
        part = Named(block, stream)
        files.append(str(tmp_path / f"{k}.arrow"))
        write_binary(part, files[-1])
    same_as_one_process(files, SHARDS, labels=rule)


class Named(list):
    """A block with the names and labels of its stream, as `write_binary` wants them."""

    def __init__(self, block, stream):
        super().__init__([block])
        self.names, self.label_map, self.width = stream.names, stream.label_map, stream.width


def test_values_of_two_types_become_the_wider(tmp_path):
    pytest.importorskip("pyarrow")
    from noregret.streams.binary import write_binary

    (path,) = written(tmp_path, "svm", svmlight_text(12, 1, (0.5, 2)))
    stream = nr.read(path)
    for name, dtype in (("a", "float32"), ("b", "float64")):
        write_binary(stream, tmp_path / f"{name}.arrow", dtype=dtype)
    files = [str(tmp_path / f"{name}.arrow") for name in "ab"]
    for count in (1, 2):
        _, blocks = gathered(files, 2, count)
        assert [block.values.dtype for block in blocks] == [np.float64] * 2
        assert row_list(blocks[1]) == row_list(next(iter(stream)))


def test_rows_are_sealed_after_columns_were_renumbered(tmp_path):
    # The first row of the second file has columns 1 and 2 of its worker, 3 and 2 of all.
    paths = written(tmp_path, "csv", "c,d,y\nb,v,1\na,w,0\n", "c,d,y\na,v,1\nb,w,0\n")
    _, blocks = gathered(paths, 2, 2, labels="binary", constant=1.0)
    assert all(block.ordered for block in blocks)
    assert blocks[1].dense().tolist() == [[1, 0, 1, 1, 0], [1, 1, 0, 0, 1]]
    assert blocks[1].indices.tolist() == [0, 2, 3, 0, 1, 4]


@pytest.mark.parametrize("rule", ["real", "binary"])
def test_a_worker_reads_its_own_batches_only(tmp_path, monkeypatch, rule):
    # Labels were not mapped when the file was written: "binary" must see all of them.
    pytest.importorskip("pyarrow")
    from noregret.streams import binary
    from noregret.streams.binary_file import BinaryFile

    monkeypatch.setattr(binary, "BATCH_ROWS", 5)
    (text,) = written(tmp_path, "svm", svmlight_text(163, 1, (0, 1)))
    path = tmp_path / "a.arrow"
    binary.write_binary(nr.read(text), path)
    whole = [row for block in nr.read(path, labels=rule) for row in row_list(block)]
    assert len(whole) == 163
    read = []
    checked = BinaryFile._checked

    def noted(self, number):
        read.append(number)
        return checked(self, number)

    monkeypatch.setattr(BinaryFile, "_checked", noted)
    for count in (1, 2, 3):
        read.clear()
        found, blocks = gathered(path, 4, count, labels=rule)
        assert found.files[0].batches == 33
        assert [row_list(block) for block in blocks] == [
            [row for start in range(5 * k, 163, 20) for row in whole[start : start + 5]]
            for k in range(4)
        ]
        if rule == "real":
            assert sorted(read) == [*range(33)]
        else:
            assert len(read) == 33 * count
