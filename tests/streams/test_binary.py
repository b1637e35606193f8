"""The compact form: written whole or not at all, read where it lies, refused when damaged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.streams import binary
from noregret.streams.binary import write_binary
from noregret.streams.binary_file import BinaryFile, Facts
from noregret.streams.block import Block
from noregret.streams.errors import StreamError
from noregret.streams.names import HashedNames
from tests.files.full_disk import small_files
from tests.sizes import sized
from tests.streams.named_rows import examples_of
from tests.streams.opening import open_binary, open_csv

pa = pytest.importorskip("pyarrow")

DATA = os.environ.get("NOREGRET_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="NOREGRET_DATA does not name a folder of data")


def block_of(rows, dtype=np.float64, weight=None):
    """Return a block of lists of (column, value) with labels 0, 1, ..."""
    flat = [pair for row in rows for pair in row]
    return Block(
        indptr=np.cumsum([0, *map(len, rows)]).astype(np.uint64),
        indices=np.array([column for column, _ in flat], np.uint32),
        values=np.array([value for _, value in flat], dtype),
        y=np.arange(len(rows), dtype=np.float64),
        width=1 + max((column for column, _ in flat), default=0),
        weight=None if weight is None else np.full(len(rows), weight),
    )


def content(blocks):
    return [
        (
            float(block.y[t]),
            None if block.weight is None else float(block.weight[t]),
            block.indices[int(block.indptr[t]) : int(block.indptr[t + 1])].tolist(),
            block.values[int(block.indptr[t]) : int(block.indptr[t + 1])].tolist(),
        )
        for block in blocks
        for t in range(len(block))
    ]


VALUE = st.floats(-(2.0**100), 2.0**100, width=32)
ROW = st.lists(st.tuples(st.integers(0, 2**32 - 2), VALUE), max_size=6)


@given(
    parts=st.lists(st.lists(ROW, max_size=8), max_size=4),
    dtype=st.sampled_from([np.float32, np.float64]),
    weight=st.none() | st.floats(0, 9),
    small=st.booleans(),
)
@settings(max_examples=sized(25, 80))
def test_what_is_written_is_read_back(tmp_path_factory, parts, dtype, weight, small):
    path = tmp_path_factory.mktemp("binary") / "rows.arrow"
    blocks = [block_of(rows, dtype, weight) for rows in parts]
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(binary, "BATCH_ROWS", 3)
            patch.setattr(binary, "BATCH_NONZEROS", 5)
        assert write_binary(blocks, path) == sum(map(len, parts))
    stream = open_binary(path, rows=2)
    back = list(stream)
    assert content(back) == content(blocks)
    assert all(block.values.dtype == dtype and len(block) <= 2 for block in back)
    assert stream.width == max((block.width for block in blocks), default=0)
    assert list(path.parent.iterdir()) == [path]


def test_slices_of_blocks_and_both_types_of_values(tmp_path):
    rows = [[(0, 1.5)], [(1, 0.1), (3, 2.0)], [], [(2, -1.0)]]
    part = block_of(rows).rows(1, 3)
    write_binary([part, block_of(rows, np.float32)], tmp_path / "a.arrow", dtype="float32")
    found = content(open_binary(tmp_path / "a.arrow"))
    assert [row[2] for row in found] == [[1, 3], [], [0], [1, 3], [], [2]]
    assert found[0][3] == [float(np.float32(0.1)), 2.0]
    with pytest.raises(StreamError, match=r"row 3: found 1e\+39, expected a finite float32"):
        write_binary(
            [block_of([[(0, 1.0)], []]), block_of([[(0, 1e39)]])], tmp_path / "b", dtype="float32"
        )
    assert not (tmp_path / "b").exists()


def test_weights_of_some_blocks_only(tmp_path):
    blocks = [block_of([[(0, 1.0)]]), block_of([[(0, 1.0)]], weight=0.5)]
    write_binary(blocks, tmp_path / "a.arrow")
    assert [row[1] for row in content(open_binary(tmp_path / "a.arrow"))] == [1.0, 0.5]


def test_names_and_labels_are_remembered(tmp_path):
    text = tmp_path / "t.csv"
    text.write_text("age,city,class\n31,Bonn,UP\n0,Rome,DOWN\n")
    for bits in (None, 14):
        options = {"bits": 14, "remember": 10} if bits else {}
        source = open_csv(text, labels="binary", constant=1.0, **options)
        path = tmp_path / f"{bits}.arrow"
        write_binary(source, path)
        back = open_binary(path)
        assert examples_of(back) == examples_of(source)
        assert back.label_map == {"DOWN": -1.0, "UP": 1.0}
        assert back.width == source.width and back.bytes_read <= path.stat().st_size
        assert isinstance(back.names, HashedNames) == (bits == 14)
        assert open_binary(path, labels="binary").labels == "real"
        assert examples_of(open_binary(path, labels=("DOWN", "UP"))) == examples_of(source)
        with pytest.raises(StreamError, match="labels that were mapped when it was written"):
            open_binary(path, labels=("UP", "DOWN"))
    both = [tmp_path / "None.arrow"] * 2
    assert examples_of(open_binary(both)) == 2 * examples_of(open_binary(both[0]))
    with pytest.raises(StreamError, match="were not mapped as those of"):
        open_binary([tmp_path / "None.arrow", tmp_path / "14.arrow"])


def test_numbers_as_labels_are_mapped_on_reading(tmp_path):
    write_binary([block_of([[], []])], tmp_path / "a.arrow")
    stream = open_binary(tmp_path / "a.arrow", labels="binary")
    assert [row[0] for row in content(stream)] == [-1.0, 1.0]
    assert stream.label_map == {0.0: -1.0, 1.0: 1.0}


def test_arrays_lie_in_memory_of_their_own_and_nothing_can_be_harmed(tmp_path):
    path = tmp_path / "a.arrow"
    write_binary([block_of([[(k, 1.0)] for k in range(1000)])], path)
    before = path.read_bytes()
    stream = open_binary(path, rows=100)
    blocks = list(stream)
    kept = content(blocks)
    for block in blocks:
        # Kernels are compiled for arrays that can be written to.
        for array in (block.indices, block.values, block.y):
            assert array.flags.aligned and array.flags.writeable
        assert np.shares_memory(block.indices, blocks[0].indices)
    # What others do to the file does not reach the blocks, nor the other way round.
    path.write_bytes(b"\xff" * len(before))
    assert content(blocks) == kept
    path.write_bytes(before)
    blocks[0].values[:] = 7.0
    assert path.read_bytes() == before


def test_a_failure_leaves_the_old_file_as_it_was(tmp_path):
    path = tmp_path / "a.arrow"
    write_binary([block_of([[(0, 1.0)]])], path)
    before = path.read_bytes()

    def broken():
        yield block_of([[(0, 2.0)]])
        raise StreamError("x.csv, line 7: found nonsense")

    with pytest.raises(StreamError, match="line 7: found nonsense"):
        write_binary(broken(), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(StreamError, match="no directory"):
        write_binary([], tmp_path / "none" / "a.arrow")
    with pytest.raises(StreamError, match="not a regular file"):
        write_binary([], tmp_path)


def test_a_full_disk_is_one_line(tmp_path):
    blocks = [block_of([[(0, 1.0)] * 1] * 1000)] * 100
    with small_files(100_000):
        with pytest.raises(StreamError, match=r"a.arrow: .*File too large") as caught:
            write_binary(blocks, tmp_path / "a.arrow")
    assert "\n" not in str(caught.value) and list(tmp_path.iterdir()) == []


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "a.arrow"
    write_binary([block_of([[(0, 1.0)]])], path)
    path.chmod(0o600)
    write_binary([block_of([[(0, 2.0)]])], path)
    assert path.stat().st_mode & 0o777 == 0o600 and content(open_binary(path))[0][3] == [2.0]


def test_an_open_file_that_is_replaced_stays_as_it_was(tmp_path):
    path = tmp_path / "a.arrow"
    write_binary([block_of([[(0, 1.0)]])], path)
    stream = open_binary(path)
    write_binary([block_of([[(0, 2.0)]] * 3)], path)
    assert [row[3] for row in content(stream)] == [[1.0]]
    assert [row[3] for row in content(open_binary(path))] == [[2.0]] * 3


def test_an_open_file_that_is_cut_short_is_an_error_and_no_crash(tmp_path):
    path = tmp_path / "a.arrow"
    sound_file(path)
    blocks = BinaryFile(path).blocks()
    next(blocks)
    os.truncate(path, 100)
    with pytest.raises(StreamError, match="batch 2 of 4: the file was cut short while it was read"):
        next(blocks)


def test_a_writer_that_is_killed_leaves_the_old_file_as_it_was(tmp_path):
    path = tmp_path / "a.arrow"
    write_binary([block_of([[(0, 1.0)]])], path)
    before = path.read_bytes()
    code = (
        "import os, signal, sys\n"
        "import numpy as np\n"
        "from noregret.streams.binary import write_binary\n"
        "from noregret.streams.block import Block\n"
        "rows = np.arange(5000)\n"
        "block = Block(np.arange(5001, dtype=np.uint64), rows.astype(np.uint32),\n"
        "    np.ones(5000), rows.astype(float), 5000)\n"
        "def blocks():\n"
        f"    for _ in range({sized(40, 200)}):\n"
        "        yield block\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_binary(blocks(), sys.argv[1])\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    left = [one for one in tmp_path.iterdir() if one != path]
    # Batches have been written, to a file of another name.
    assert len(left) == 1 and left[0].stat().st_size > 1_000_000
    assert path.read_bytes() == before and content(open_binary(path))
    write_binary([], path)
    assert list(tmp_path.iterdir()) == [path]


def sound_file(path: Path) -> bytes:
    rng = np.random.default_rng(5)
    rows = [
        [(int(c), float(c)) for c in sorted(rng.choice(50, 3, replace=False))] for _ in range(200)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binary, "BATCH_ROWS", 50)
        write_binary([block_of(rows, weight=2.0)], path)
    return path.read_bytes()


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_read_safely_or_refused_in_one_line(tmp_path, seed):
    path = tmp_path / "a.arrow"
    sound = sound_file(path)
    rng = random.Random(seed)
    refused = 0
    count = sized(60, 250)
    for _ in range(count):
        damaged = bytearray(sound)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(damaged))
            damaged[at] = rng.choice([0, 1, 255, 127, 128, rng.randrange(256)])
        if rng.random() < 0.2:
            del damaged[rng.randrange(len(damaged)) :]
        path.write_bytes(damaged)
        try:
            stream = open_binary(path)
            for block in stream:
                # The checks of the constructor, which the reader leaves out.
                Block(block.indptr, block.indices, block.values, block.y, block.width, block.weight)
                assert np.isfinite(block.y).all()
        except StreamError as error:
            refused += 1
            assert "\n" not in str(error) and str(error).startswith(str(path))
    assert refused > count / 5


def rewritten(path, change, told=None):
    """Write the file anew after `change` has been at its batches."""
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_file(file)
        batches = [reader.get_batch(k) for k in range(reader.num_record_batches - 1)]
        _, metadata = reader.get_batch_with_custom_metadata(len(batches))
    schema, batches = change(reader.schema, batches)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
        if told != "none":
            empty = pa.RecordBatch.from_pylist([], schema=schema)
            writer.write_batch(empty, custom_metadata=told or dict(metadata))


def replaced(name, array):
    def change(schema, batches):
        at = schema.get_field_index(name)
        schema = schema.set(at, pa.field(name, array.type))
        return schema, [batch.set_column(at, name, array) for batch in batches[:1]]

    return change


LISTS = pa.array([[60, 61, 62]] * 50, pa.list_(pa.uint32()))


@pytest.mark.parametrize(
    ("change", "told", "message"),
    [
        (replaced("indices", LISTS), None, "a column index is beyond the width"),
        (replaced("indices", LISTS.slice(0, 50).cast(pa.list_(pa.int64()))), None, "indices is "),
        (
            replaced("values", pa.array([[1.0]] * 50, pa.list_(pa.float64()))),
            None,
            "a row has more indices than values",
        ),
        (replaced("label", pa.array([np.nan] * 50)), None, "expected finite labels"),
        (replaced("label", pa.array([None] * 50, pa.float64())), None, "found nulls"),
        (
            replaced("values", pa.array([[1.0, None, 2.0]] * 50, pa.list_(pa.float64()))),
            None,
            "found nulls",
        ),
        (replaced("weight", pa.array([-1.0] * 50)), None, "weights from 0"),
        (lambda schema, batches: (schema, batches[:2]), None, "found 100 rows, expected 200"),
        (
            lambda schema, batches: (schema.remove_metadata(), batches),
            None,
            "not one that noregret",
        ),
        (
            lambda schema, batches: (schema.with_metadata({"noregret": "9"}), batches),
            None,
            "found version 9, expected 1",
        ),
        (lambda schema, batches: (schema, batches), "none", "last batch is not a description"),
        (
            lambda schema, batches: (schema, batches),
            {"noregret": "{"},
            "description cannot be read",
        ),
        (
            lambda schema, batches: (schema, batches),
            {"noregret": Facts(200, 2**40, True, {}).to_json()},
            "description cannot be read",
        ),
        (
            lambda schema, batches: (schema, batches),
            {"noregret": Facts(200, 50, True, {"up": 10**400}).to_json()},
            "description cannot be read",
        ),
        (
            lambda schema, batches: (schema, batches),
            {"noregret": Facts(200, 50, True, {}, 14, -1).to_json()},
            "description cannot be read",
        ),
        (
            lambda schema, batches: (schema, batches),
            {"noregret": Facts(200, 50, True, {}).to_json(), "name_text": "a", "name_offsets": "b"},
            "damaged, buffer size must be a multiple",
        ),
    ],
)
def test_a_file_that_says_something_wrong_is_refused(tmp_path, change, told, message):
    path = tmp_path / "a.arrow"
    sound_file(path)
    rewritten(path, change, told)
    with pytest.raises(StreamError, match=message) as caught:
        list(open_binary(path))
    assert str(caught.value).startswith(str(path))


def test_a_compressed_file_is_refused(tmp_path):
    path = tmp_path / "a.arrow"
    sound_file(path)
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_file(file)
        batches = [reader.get_batch_with_custom_metadata(k) for k in range(5)]
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(path), "wb") as sink:
        with pa.ipc.new_file(sink, reader.schema, options=options) as writer:
            for batch, told in batches:
                writer.write_batch(batch, custom_metadata=told)
    with pytest.raises(StreamError, match="compressed or damaged"):
        list(open_binary(path))


@pytest.mark.compiled
@needs_data
def test_a_real_stream_is_the_same_from_text_and_from_the_compact_form(tmp_path):
    source = open_csv(Path(str(DATA)) / "elec2/elec2.csv.xz", labels="binary", constant=1.0)
    assert write_binary(source, tmp_path / "elec2.arrow") == 45_312
    back = open_binary(tmp_path / "elec2.arrow", rows=5000)
    assert content(back) == content(source)
    assert list(back.names) == list(source.names)
