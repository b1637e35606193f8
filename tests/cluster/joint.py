"""What a cluster run reads, put together again, and what one process reads."""

import pickle
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.cluster import Gathered, Reader, deal, gather
from noregret.streams import Block
from noregret.workers import Threads


class Posted(Threads):
    """Threads whose arguments and results travel as those of processes do."""

    def hosts(self, method: str, *arguments: Any) -> list[Any]:
        return [sent(found) for found in super().hosts(method, *sent(arguments))]


def sent(message: Any) -> Any:
    """Return a message as another process gets it: its arrays cannot be written to."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(body, buffers=[bytes(one.raw()) for one in buffers])


def workers(shards: int, count: int) -> Threads:
    return Posted([None] * shards, count, host=Reader)


def gathered(inputs: Any, shards: int, count: int, **options: Any) -> tuple[Gathered, list[Block]]:
    """Return what the driver knows, and the blocks of all shards."""
    hosts = workers(shards, count)
    found = gather(hosts, inputs, **options)
    return found, [block for host in hosts._hosts for block in host.shards]


def row_list(block: Block) -> list[tuple[bytes, ...]]:
    """Return each row as bytes: columns, values, label and weight."""
    weight = np.ones(len(block)) if block.weight is None else block.weight
    return [
        tuple(
            one.tobytes() for one in (block.indices[a:b], block.values[a:b], block.y[k], weight[k])
        )
        for k, (a, b) in enumerate(pairwise(block.indptr.tolist()))
    ]


def in_file_order(found: Gathered, blocks: Sequence[Block]) -> list[tuple[bytes, ...]]:
    """Return the rows of all shards in the order of the files."""
    shards = [row_list(block) for block in blocks]
    parts = deal(found.files, len(blocks))
    order: list[tuple[bytes, ...]] = []
    for file in range(len(found.files)):
        own = [shards[k] for k, several in enumerate(parts) if several[0].file == file]
        # Rows of one file take turns; shards with several files have them one after the other.
        total = sum(map(len, own))
        order += [own[r % len(own)][r // len(own)] for r in range(total)]
    return order


def same_as_one_process(inputs: Any, shards: Sequence[int], **options: Any) -> Gathered:
    """Compare every number of shards and workers with one process, to the bit."""
    stream = nr.read(inputs, **options)
    rows = [row for block in stream for row in row_list(block)]
    assert rows
    for count in shards:
        with_one_worker: list[Any] = []
        for several in (1, 2, 3):
            found, blocks = gathered(inputs, count, several, **options)
            assert in_file_order(found, blocks) == rows
            assert found.rows == [len(block) for block in blocks]
            assert found.stored == [block.nonzeros for block in blocks]
            assert found.width == stream.width
            assert {block.width for block in blocks} == {stream.width}
            assert found.label_map == stream.label_map
            assert found.notes == stream.notes
            assert (found.refused, found.complaints) == (stream.refused, stream.complaints)
            assert plain(found.names) == plain(stream.names)
            own = [row_list(block) for block in blocks]
            with_one_worker = with_one_worker or own
            assert own == with_one_worker
    return found


def plain(names: Any) -> Any:
    """Return names in a form that can be compared."""
    if hasattr(names, "arrays"):
        return {key: array.tolist() for key, array in names.arrays().items()}
    return names


def written(folder: Path, suffix: str, *texts: str) -> list[str]:
    """Write texts to files a, b, ...; return their paths."""
    paths = [folder / f"{chr(ord('a') + k)}.{suffix}" for k in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return [*map(str, paths)]
