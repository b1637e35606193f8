"""Which rows belong to which shard."""

import pytest

from noregret.arguments import ArgumentError
from noregret.cluster import File, Part, deal
from noregret.cluster.dealing import files_of
from noregret.workers import shares


def of_sizes(*sizes):
    return [File(f"{k}.csv", size) for k, size in enumerate(sizes)]


def test_whole_neighbouring_files_balanced_by_bytes():
    parts = deal(of_sizes(10, 10, 10, 30, 30, 30, 60), 3)
    assert [[part.file for part in several] for several in parts] == [[0, 1, 2, 3], [4, 5], [6]]
    assert all(part == Part(part.file) for several in parts for part in several)


def test_no_shard_without_a_file():
    assert [len(several) for several in deal(of_sizes(1000, 1, 1, 1), 4)] == [1, 1, 1, 1]
    assert [len(several) for several in deal(of_sizes(1, 1, 1, 1000), 3)] == [2, 1, 1]


def test_shards_in_proportion_to_the_bytes_of_few_files():
    parts = deal(of_sizes(100, 650, 0), 9)
    assert [several[0].file for several in parts] == [0] + [1] * 7 + [2]
    assert [several[0].place for several in parts] == [0, *range(7), 0]
    assert {several[0].of for several in parts} == {1, 7}


@pytest.mark.parametrize("sizes", [(5,), (5, 80, 7), tuple(range(1, 20)), (0, 0, 0)])
@pytest.mark.parametrize("shards", [1, 2, 3, 5, 16])
def test_every_row_belongs_to_one_shard_and_workers_read_neighbouring_files(sizes, shards):
    parts = deal(of_sizes(*sizes), shards)
    assert len(parts) == shards
    for file in range(len(sizes)):
        for row in range(40):
            owners = [
                part
                for several in parts
                for part in several
                if part.file == file and row % part.of == part.place
            ]
            assert len(owners) == 1
    for workers in (1, 2, 3):
        for begin, end in shares(shards, workers):
            files = {part.file for several in parts[begin:end] for part in several}
            assert files == {*files_of(parts[begin:end])}


def test_unknown_sizes_count_as_equal():
    assert deal([("a", None), ("b", 10**9)], 4) == deal([("a", 1), ("b", 1)], 4)


def test_refusals():
    with pytest.raises(ArgumentError, match="shards=0: expected at least 1"):
        deal(of_sizes(1), 0)
    with pytest.raises(ArgumentError, match="files: expected at least one"):
        deal([], 2)


def test_large_files_of_the_compact_form_are_dealt_by_batches():
    parts = deal([File("a.arrow", 900, 24), File("b.arrow", 900, 23)], 6)
    assert [several[0].of for several in parts] == [3] * 6
    assert [several[0].batches for several in parts] == [True] * 3 + [False] * 3
    # A shard that has all batches of a file has all its rows.
    assert deal([File("a.arrow", 900, 24)], 1) == [[Part(0)]]
