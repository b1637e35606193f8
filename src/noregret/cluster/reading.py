"""The worker's side of reading: its shards' rows in memory, first by its own columns and labels.

Reading takes two calls. `scan` reads each file of the worker's shards once and keeps their rows;
it returns the names, labels and numbers that were found. `settle` brings rows, labels and weights
into the form that the driver has made of what all workers found. What goes in and out are arrays,
strings, numbers, and lists and dictionaries of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.arguments import ArgumentError
from noregret.cluster.dealing import File, Part, deal, files_of
from noregret.cluster.errors import SAME_FILES, told
from noregret.cluster.held import Held
from noregret.cluster.labelling import LabelNotes
from noregret.streams.block import Block
from noregret.streams.errors import StreamError
from noregret.streams.inputs import find
from noregret.streams.names import FeatureNames, HashedNames, Names
from noregret.streams.reading import COMPACT, Reading
from noregret.streams.resolve import Resolved
from noregret.streams.svmlight import NumberedColumns
from noregret.workers import Host


class Reader(Host):
    """The shards of one worker, which are blocks of rows once they are read and settled."""

    #: Labels and names that `scan` has found, and whether it came to the rows.
    _labels: LabelNotes
    _names: Names | None = None
    _opened = False

    def scan(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Read the rows of all shards hosted here; return what was found, or the error.

        Args:
            plan: `files`, the fields of `File` of all files of the run; `format`, theirs;
                `reading`, how they are read, as `Reading.as_dict` returns it.
        """
        self._opened = False
        try:
            return self._scan([File(*one) for one in plan["files"]], plan)
        except (StreamError, ArgumentError, OSError) as error:
            self.shards = [Held() for _ in self.shards]
            return {"error": told(error), "opening": not self._opened}

    def _scan(self, files: list[File], plan: Mapping[str, Any]) -> dict[str, Any]:
        parts = deal(files, self.count)[self.first : self.first + len(self.shards)]
        own = files_of(parts)
        # The first file decides types of columns and labels, also for workers without rows of it.
        opened = [files[k] for k in sorted({0, *own})]
        require_sizes(opened)
        stream: Any = Resolved([one.name for one in opened], plan["format"]).open(
            Reading.from_dict(plan["reading"])
        )
        if any(one.groups for one in opened):
            stream.restrict([one.groups for one in opened])
        if own[0]:
            stream.leave_first_out()
        self._labels, self._names, self._opened = LabelNotes(stream.labels), stream.names, True
        self.shards = [Held() for _ in parts]
        holders: dict[int, list[tuple[Held, Part]]] = {file: [] for file in own}
        for held, several in zip(self.shards, parts, strict=True):
            for part in several:
                holders[part.file].append((held, part))
        batches = _batches(stream, holders) if plan["format"] == COMPACT else {}
        rows, refused = dict.fromkeys(own, 0), Counter[int]()
        complaints: list[tuple[int, str]] = []
        weighted = False
        for parsed in stream.parts():
            file = own[parsed.number]
            y = self._labels.read(parsed, file, rows[file])
            batch = next(batches.get(file, iter(())), 0)
            for held, part in holders[file]:
                first = (part.place - (batch if part.batches else rows[file])) % part.of
                if not part.batches:
                    chosen = None if part.of == 1 else np.arange(first, len(y), part.of)
                    held.append(parsed.rows, y, parsed.weight, chosen)
                elif first == 0:
                    held.append(parsed.rows, y, parsed.weight)
            rows[file] += len(y)
            refused[file] += len(parsed.faults)
            complaints += [(file, text) for text in stream.complaints[len(complaints) :]]
            weighted |= parsed.weight is not None
        require_sizes([files[k] for k in own])
        if batches:
            # Also of files of which not all batches were read.
            rows = {file: one.facts.rows for file, one in zip(own, stream.files, strict=True)}
        return {
            "rows": rows,
            "refused": dict(refused),
            "complaints": complaints,
            "notes": stream.notes,
            "labels": self._labels.notes,
            "rule": stream.labels,
            "label_map": stream.label_map,
            "target": getattr(getattr(stream, "format", stream), "target", None),
            "names": described(stream.names),
            "width": stream.width,
            "weighted": weighted,
            "dtype": str(np.result_type(*(held.dtype for held in self.shards))),
        }

    def settle(self, common: Mapping[str, Any]) -> dict[str, Any]:
        """Bring the rows into the common form; return the rows and stored features by shard.

        Args:
            common: `names`, the arrays of the dictionary of all names, None where there is none;
                `width`, the number of columns; `label_map`, what labels became; `weighted`,
                whether rows have weights; `dtype`, that of the values.
        """
        columns = None
        if common["names"] is not None and isinstance(self._names, FeatureNames):
            columns = _renumbered(self._names, common["names"])
        self._names = None
        scanned = sum(map(len, self.shards))
        label_map = common["label_map"]
        facts = common["width"], common["weighted"], common["dtype"]
        for k, held in enumerate(self.shards):
            # In place and one by one: memory holds the rows of the shards and little more.
            self.shards[k] = held.block(lambda y: self._labels.meant(y, label_map), columns, *facts)
        rows = [len(block) for block in self.shards]
        stored = [block.nonzeros for block in self.shards]
        return {"rows": rows, "stored": stored, "refused": scanned - sum(rows)}

    def rows(self, shard: int) -> Block:
        """Return the rows of a shard that is hosted here, by its number in the run."""
        if not self.first <= shard < self.first + len(self.shards):
            raise IndexError(f"shard {shard} is hosted by another worker")
        found: Block = self.shards[shard - self.first]
        return found


def _batches(
    stream: Any, holders: Mapping[int, Sequence[tuple[Held, Part]]]
) -> dict[int, Iterator[int]]:
    """Return the numbers of the batches that a stream of the compact form will read, by file.

    Only those of the shards hosted here are read, unless all labels are needed for their meaning.
    """
    for one, several in zip(stream.files, holders.values(), strict=True):
        parts = [part for _, part in several]
        if stream.labels == "real" and all(part.batches for part in parts):
            wanted = ({*range(part.place, one.batches, part.of)} for part in parts)
            one.wanted = sorted(set().union(*wanted))
    return {file: iter(one.wanted) for file, one in zip(holders, stream.files, strict=True)}


def require_sizes(files: Iterable[File]) -> None:
    """Refuse files that are missing or have another size than they had for the driver."""
    for file in files:
        try:
            size = find([file.name])[0].size
        except StreamError as error:
            raise StreamError(f"{error}; {SAME_FILES}", error.argument) from None
        if file.size is not None and size != file.size:
            raise changed(file.name, f"found {size:,} bytes, {file.size:,} when the run began")


def changed(name: str, found: str) -> StreamError:
    """Return the error of a file that is not the same for all who read it.

    >>> str(changed("a.csv", "2 rows and 3"))
    'a.csv: 2 rows and 3: the file changed while it was read; start again when it is complete'
    """
    remedy = "the file changed while it was read; start again when it is complete"
    return StreamError(f"{name}: {found}: {remedy}")


def _renumbered(own: FeatureNames, names: Mapping[str, NDArray[Any]]) -> NDArray[np.uint32] | None:
    """Return the common column of each column of a worker, None if they are the same."""
    everyone = FeatureNames.from_arrays(writable(names))
    arrays = own.arrays()
    columns = everyone.columns_of(arrays["name_text"], arrays["name_offsets"], add=False)
    same = np.array_equal(columns, np.arange(len(columns)))
    return None if same else columns


def writable(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return copies: kernels are compiled anew for the read-only arrays of a message."""
    return {name: np.array(array) for name, array in arrays.items()}


def described(names: Any) -> dict[str, Any] | None:
    """Return the names of columns as plain data, None for columns without names."""
    match names:
        case FeatureNames():
            return {"kind": "dictionary", "arrays": names.arrays()}
        case HashedNames():
            arrays = names.arrays()
            return {"kind": "hashed", "bits": names.bits, "limit": names.limit, "arrays": arrays}
        case NumberedColumns():
            return {"kind": "numbered", **vars(names)}
    return None
