"""Rows that learners do not check: no public way leads there with arrays that a caller can change.

An index of 4e9 that is believed ends the process (SIGSEGV), one of 4000 writes beyond an array. So
every attempt here must be refused by the learner, or learn the rows as the parser left them.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import noregret as nr
from noregret.rows.examples import as_rows
from noregret.rows.sealed import sealed_rows
from noregret.streams import Block
from noregret.streams.binary import write_binary

TEXT = "1 1:0.5 3:2\n-1 2:1\n1 1:1 2:1\n-1 3:1\n"
HUGE = 4_000_000_000


@pytest.fixture
def blocks(tmp_path):
    """Return the blocks of a stream, two of two rows, whose arrays nobody has asked for."""
    path = tmp_path / "a.svm"
    path.write_text(TEXT)
    return list(nr.read(path, rows=2))


def learner():
    return nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.Constant(0.1))


def by_norms():
    """Return a learner whose steps depend on the norms of rows: (1, 1) is not (2, 0)."""
    return nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.Adaptive(0.1))


def refused(X, y=(1.0, -1.0)):
    """Whether a learner refuses the rows, for their columns."""
    assert as_rows(X).trusted == 0
    for one in (learner(), nr.MatrixDescent(nr.losses.Softmax(), outputs=2)):
        labels = y if isinstance(one, nr.MirrorDescent) else [0] * len(y)
        with pytest.raises(ValueError, match="a column index is outside"):
            one.learn(X, labels)
        with pytest.raises(ValueError, match="a column index is outside"):
            one.predict(X)
    return True


def fields(**changes):
    plain = {
        "indptr": np.array([0, 1, 2], np.uint64),
        "indices": np.array([0, 1], np.uint32),
        "values": np.ones(2),
        "y": np.array([1.0, -1.0]),
        "width": 2,
    }
    return plain | changes


def test_a_stream_seals_its_blocks(blocks):
    assert [block.ordered for block in blocks] == [True, True]
    assert as_rows(blocks[0]).trusted == 2
    learner().learn(blocks[0], blocks[0].y)
    assert blocks[0].ordered and blocks[0].nonzeros == 3 and blocks[0].dense().shape == (2, 3)
    assert blocks[0].rows(0, 1).ordered


def test_the_constructor_takes_no_word_for_it():
    with pytest.raises(TypeError, match="ordered"):
        Block(**fields(), ordered=True)
    with pytest.raises(TypeError, match="ordered"):
        Block.sound(**fields(), ordered=True)
    with pytest.raises(ValueError, match="column 3999999999 occurs"):
        Block(**fields(indices=np.array([0, HUGE - 1], np.uint32)))
    assert refused(Block.sound(**fields(indices=np.array([0, HUGE], np.uint32))))


def test_no_other_object_is_believed():
    bad = fields(indices=np.array([0, HUGE], np.uint32))
    assert refused(SimpleNamespace(**bad, ordered=True))
    assert refused(SimpleNamespace(**bad, ordered=True, _sealed=True))
    twice = fields(indptr=np.array([0, 2], np.uint64), indices=np.array([1, 1], np.uint32))
    one, merged = by_norms(), by_norms()
    one.learn(SimpleNamespace(**twice, ordered=True), [1.0])
    merged.learn([[0.0, 2.0]], [1.0])
    np.testing.assert_array_equal(one.weights, merged.weights)


@pytest.mark.parametrize("name", ["indptr", "indices", "values"])
def test_an_array_that_was_handed_out_ends_the_trust(blocks, name):
    assert blocks[0].ordered
    getattr(blocks[0], name)
    # The second block lies in the same memory.
    assert not any(block.ordered for block in blocks)
    assert not blocks[1].rows(0, 1).ordered


def test_arrays_changed_through_any_block_are_checked(blocks):
    part = blocks[0].rows(0, 2)
    part.indices[:] = HUGE
    assert refused(blocks[0]) and refused(part) and refused(blocks[1])


def test_a_view_and_a_writeable_flag_change_nothing(blocks):
    indices = blocks[0].indices
    view = indices[1:]
    view.flags.writeable = False
    view.flags.writeable = True
    view[:] = HUGE
    assert refused(blocks[0])


def test_duplicates_written_later_are_added_up(blocks):
    blocks[0].indices[:2] = 1
    one, other = by_norms(), by_norms()
    one.learn(blocks[0], blocks[0].y)
    other.learn(blocks[0].dense(), blocks[0].y)
    np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        dataclasses.replace,
        lambda block: pickle.loads(pickle.dumps(block)),
        lambda block: Block(**{f.name: getattr(block, f.name) for f in dataclasses.fields(block)}),
    ],
    ids=["copy", "deepcopy", "replace", "pickle", "fields"],
)
def test_copies_are_checked_and_do_not_open_the_original(blocks, copied):
    whole = blocks[0].dense()
    other = copied(blocks[0])
    assert not other.ordered
    np.testing.assert_array_equal(other.dense(), whole)
    other.indices[:] = HUGE
    assert refused(other)
    if other.indices is blocks[0].indices:
        assert refused(blocks[0])
    else:
        learner().learn(blocks[0], blocks[0].y)


def test_a_narrower_copy_is_refused(blocks):
    with pytest.raises(ValueError, match="width is 1 but column 2 occurs"):
        dataclasses.replace(blocks[0], width=1)


def test_attributes_set_by_force_are_not_learnt(blocks):
    expected = learner()
    expected.learn(blocks[0].dense(), [1.0, -1.0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        blocks[0].indices = np.array([HUGE] * 3, np.uint32)
    object.__setattr__(blocks[0], "indices", np.array([HUGE] * 3, np.uint32))
    object.__setattr__(blocks[0], "width", 1)
    one = learner()
    one.learn(blocks[0], [1.0, -1.0])
    np.testing.assert_array_equal(one.weights, expected.weights)


def test_a_subclass_that_shows_other_arrays_is_not_believed(blocks):
    class Mine(Block):
        """A block with other arrays."""

        @property
        def ordered(self):
            return True

    bad = fields(indices=np.array([0, HUGE], np.uint32))
    assert refused(Mine.sound(**bad))
    assert sealed_rows(Mine(**fields())) is None


def test_learners_of_other_makers_are_not_given_sealed_rows(blocks):
    class Foreign:
        """A learner of a user, who writes to what it is given."""

        loss = nr.losses.Logistic()
        rounds = dimension = 0

        def learn(self, X, y):
            X.indices[:] = HUGE
            return np.zeros(len(y))

        def predict(self, X):
            return np.zeros(len(X))

        def save(self, path):
            raise NotImplementedError

    aggregate = nr.experts.Aggregate([Foreign(), learner()])
    with pytest.raises(OverflowError, match="a column index is outside"):
        aggregate.learn(blocks[0], blocks[0].y)
    assert refused(blocks[0])


def test_the_width_of_a_stream_cannot_be_lowered(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text(TEXT)
    stream = nr.read(path, rows=1)
    for block in stream:
        stream.width = 0
        assert block.ordered and block.width == 3
        learner().learn(block, block.y)


# --- files that others change meanwhile -----------------------------------------------------

CHANGED = """
import sys, os
import numpy as np
import noregret as nr
path, attack = sys.argv[1:]
learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.Constant(0.1))
stream = nr.read(path, rows=500, target=None) if attack[0] == "t" else nr.read(path, rows=500)
rows = 0
try:
    for block in stream:
        if not rows:
            if attack.endswith("cut"):
                os.truncate(path, 1000)
            else:
                size = os.path.getsize(path)
                with open(path, "r+b") as file:
                    file.seek(1000)
                    file.write(b"\\xfe" * (size - 3000))
        learner.learn(block, block.y)
        rows += len(block)
    print("all", rows)
except (nr.streams.StreamError, ValueError) as error:
    # By the reader, or by the learner that looks at the values.
    print("refused", rows, str(error).count("\\n"))
"""


def _run(path, attack):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    command = [sys.executable, "-c", CHANGED, str(path), attack]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    # A signal would be a negative code.
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.compiled
@pytest.mark.parametrize("attack", ["cut", "overwritten"])
def test_a_compact_file_changed_while_it_is_learnt_does_no_harm(tmp_path, attack):
    pytest.importorskip("pyarrow")
    random = np.random.default_rng(0)
    count, length = 60_000, 20
    rows = Block(
        np.arange(0, count * length + 1, length, dtype=np.uint64),
        np.tile(np.arange(length, dtype=np.uint32), count),
        random.normal(size=count * length),
        np.sign(random.normal(size=count)),
        length,
    )
    path = tmp_path / "a.arrow"
    write_binary([rows], path)
    found = _run(path, attack)
    assert found[0] in ("all", "refused")
    # The first batch had been read: all of it is learnt, as it was.
    assert int(found[1]) > 500


@pytest.mark.compiled
@pytest.mark.each_value
@pytest.mark.parametrize("attack", ["table cut", "table overwritten"])
@pytest.mark.parametrize("suffix", ["arrow", "parquet", "feather"])
def test_a_table_changed_while_it_is_learnt_does_no_harm(tmp_path, suffix, attack):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    random = np.random.default_rng(0)
    columns = {f"x{k}": random.normal(size=100_000) for k in range(6)}
    table = pa.table(columns | {"label": np.sign(random.normal(size=100_000))})
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        pyarrow.parquet.write_table(table, path, compression="none", row_group_size=20_000)
    elif suffix == "feather":
        pyarrow.feather.write_feather(table, path, compression="uncompressed", chunksize=20_000)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=20_000)
    found = _run(path, attack)
    assert found[0] in ("all", "refused") and int(found[1]) > 500
