"""The driver's side of reading: a plan for all workers, and one form for what they found.

Workers host runs of neighbouring shards, and neighbouring shards read neighbouring files. So the
names that worker after worker met, in the order of the workers and each once, are in the order in
which one process would meet them: columns, and the numbers of classes, depend on the files alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from noregret.arguments import ArgumentError
from noregret.cluster.dealing import File, Part, deal
from noregret.cluster.errors import raised
from noregret.cluster.labelling import decide
from noregret.cluster.reading import changed, writable
from noregret.cluster.row_groups import in_pieces
from noregret.streams.errors import StreamError
from noregret.streams.inputs import STANDARD_INPUT, Input, Inputs, find
from noregret.streams.labels import LabelMap
from noregret.streams.names import FeatureNames, HashedNames, Names
from noregret.streams.reading import COMPACT, FRAME, LINES, PAIRS, Reading, refuse_unknown
from noregret.streams.resolve import resolve
from noregret.streams.stream import KEPT
from noregret.streams.svmlight import NumberedColumns
from noregret.workers import Workers

PARQUET = "parquet"
_ONE_PROCESS = "can be read by one process only: save it to a file that every worker can read"


@dataclass(frozen=True)
class Gathered:
    """What the driver knows of the rows that its workers hold.

    Attributes:
        files: the files in their order, some of Parquet in pieces; of text, those that are not
            empty.
        rows: the number of rows of each shard.
        stored: the number of stored features of each shard.
        width: the number of columns.
        names: what the columns are called, None if they have no names.
        label_map: labels as they were written and what they became; empty for real labels.
        refused: how many lines of all files were left out.
        complaints: why the first of them were, with on_error="count".
        notes: remarks that a user should see, each in one line.
    """

    files: list[File]
    rows: list[int]
    stored: list[int]
    width: int
    names: Names | None
    label_map: LabelMap
    refused: int
    complaints: list[str]
    notes: list[str]


def gather(
    workers: Workers, inputs: Inputs, reading: Reading | None = None, **options: Any
) -> Gathered:
    r"""Let each worker read the rows of its shards; hosts must be `Reader`s.

    Rows, columns and labels of every shard are the same to the bit for any number of workers, and
    those that `noregret.read` gives.

    Args:
        workers: the workers of the run, which has `workers.count` shards.
        inputs: paths, patterns or addresses of files that every worker can read.
        reading: how they are read [default: `Reading()`].
        options: fields of `Reading`, in place of those of `reading`.

    >>> import tempfile, pathlib
    >>> from noregret.cluster import Reader
    >>> from noregret.workers import Threads
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.csv"
    ...     _ = path.write_text("age,city,class\n31,Bonn,UP\n0,Rome,DOWN\n7,Rome,UP\n")
    ...     workers = Threads([None] * 2, workers=2, host=Reader)
    ...     found = gather(workers, path, labels="binary")
    >>> found.rows, list(found.names), found.label_map
    ([2, 1], ['age', 'city=Bonn', 'city=Rome'], {'DOWN': -1.0, 'UP': 1.0})
    >>> [rows.tolist() for rows in workers.call("dense")]
    [[[31.0, 1.0, 0.0], [7.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]]
    """
    refuse_unknown(options)
    whole = replace(reading or Reading(), **options)
    plan = planned(inputs, whole, workers.count)
    files = [File(*one) for one in plan["files"]]
    parts = deal(files, workers.count)
    found = workers.hosts("scan", plan)
    _raise_first(found)
    rows = _rows_of_files(found, files)
    first = found[0]
    notes = [note for one in found for note in one["labels"]]
    meaning = decide(
        first["rule"], notes, rows, [file.name for file in files], first["target"], whole.on_error
    )
    names = _merged([one["names"] for one in found])
    width = max(one["width"] for one in found)
    if isinstance(names, FeatureNames):
        width = max(width, len(names))
    common = {
        "names": names.arrays() if isinstance(names, FeatureNames) else None,
        "width": width,
        "label_map": meaning.label_map,
        "weighted": any(one["weighted"] for one in found),
        "dtype": str(np.result_type(*(one["dtype"] for one in found))),
    }
    settled = workers.hosts("settle", common)
    held = [count for one in settled for count in one["rows"]]
    _require_rows(held, parts, files, rows)
    refused, complaints = _refused(found)
    return Gathered(
        files=files,
        rows=held,
        stored=[count for one in settled for count in one["stored"]],
        width=width,
        names=names,
        # Files of the compact form keep what labels became when they were written.
        label_map=meaning.label_map or dict(first["label_map"]),
        refused=refused + sum(one["refused"] for one in settled),
        complaints=[*complaints, *meaning.complaints][: KEPT if whole.on_error == "count" else 0],
        notes=[*dict.fromkeys(note for one in found for note in one["notes"])],
    )


def planned(inputs: Inputs, reading: Reading, shards: int) -> dict[str, Any]:
    """Return what workers need to know to read: the files with their sizes, and how.

    Paths become absolute, since workers may run in other directories.

    Args:
        inputs: paths, patterns or addresses.
        reading: how they are read.
        shards: number of shards, at least 1.
    """
    several = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
    if isinstance(several, list | tuple) and STANDARD_INPUT in several:
        raise StreamError(f"standard input {_ONE_PROCESS}")
    resolved = resolve(inputs, reading.format)
    if resolved.format in (FRAME, PAIRS):
        raise StreamError(f"found a {type(inputs).__name__}, expected files, read by the workers")
    resolved.refuse_unknown(reading.said, reading)
    if reading.shuffle is not None:
        raise ArgumentError(
            "shuffle", "rows stay at their workers, in the order of the files", reading.shuffle
        )
    files = [_file(one) for one in find(resolved.inputs)]
    if resolved.format in LINES:
        # Without a first line a file cannot decide what columns are.
        files = [file for file in files if file.size != 0] or files
    if resolved.format == COMPACT and len(files) < shards:
        # Import here: it needs pyarrow.
        from noregret.streams.binary_file import BinaryFile

        files = [file._replace(batches=BinaryFile(Path(file.name)).batches) for file in files]
    if resolved.format == PARQUET and len(files) < shards:
        files = in_pieces(files, shards)
    return {"files": files, "format": resolved.format, "reading": reading.as_dict()}


def _file(one: Input) -> File:
    if one.path is None:
        return File(one.name, one.remote_size)
    try:
        size = one.size
    except OSError as error:
        raise StreamError(f"{one.name}: {error.strerror or error}") from error
    if size is None:
        raise StreamError(f"{one.name}: a pipe {_ONE_PROCESS}")
    return File(os.path.abspath(one.name), size)


def _raise_first(found: Sequence[Mapping[str, Any]]) -> None:
    """Raise the error of the first file that has one; those of opening files come before all."""
    errors = [one for one in found if "error" in one]
    if errors:
        raise raised(min(errors, key=lambda one: not one["opening"])["error"]) from None


def _rows_of_files(found: Sequence[Mapping[str, Any]], files: Sequence[File]) -> list[int]:
    """Return the rows of each file, for which all who read it must have found the same number."""
    rows: dict[int, int] = {}
    for one in found:
        for file, count in one["rows"].items():
            if rows.setdefault(file, count) != count:
                raise changed(files[file].name, f"found {rows[file]:,} rows, then {count:,}")
    return [rows[file] for file in range(len(files))]


def _refused(found: Sequence[Mapping[str, Any]]) -> tuple[int, list[str]]:
    """Return how many lines were refused and the first messages, of each file once."""
    counts: dict[int, int] = {}
    complaints: list[str] = []
    for one in found:
        complaints += [text for file, text in one["complaints"] if file not in counts]
        counts = one["refused"] | counts
    return sum(counts.values()), complaints


def _merged(several: Sequence[Mapping[str, Any] | None]) -> Names | None:
    """Return the names of all columns, in the order in which the files have them."""
    first = several[0]
    if first is None:
        return None
    if first["kind"] == "numbered":
        return NumberedColumns(first["first_index"], first["shift"], first["width"])
    held = [writable(one["arrays"]) for one in several if one is not None]
    if first["kind"] == "hashed":
        hashed = HashedNames(first["bits"], first["limit"])
        for one in held:
            hashed.remember_all(one["name_text"], one["name_offsets"], one["name_slots"])
        return hashed
    names = FeatureNames.from_arrays(held[0])
    for one in held[1:]:
        names.columns_of(one["name_text"], one["name_offsets"])
    return names


def _require_rows(
    held: Sequence[int],
    parts: Sequence[Sequence[Part]],
    files: Sequence[File],
    rows: Sequence[int],
) -> None:
    """Refuse shards without rows."""
    total, shards = sum(held), len(held)
    if total < shards:
        raise ArgumentError(
            "shards", f"found {total:,} rows in all, expected at least one a shard", shards
        )
    for number, count in enumerate(held):
        if not count:
            file, of = parts[number][0].file, parts[number][0].of
            several = f" for {of} of the shards" if of > 1 else ""
            raise ArgumentError(
                "shards",
                f"{files[file].name} has {rows[file]:,} rows{several}, which leaves shard "
                f"{number + 1} none; expected fewer shards or files of similar size",
                shards,
            )
