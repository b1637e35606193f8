"""`noregret convert`: a stream in the compact form, for many fast passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noregret.cli.given import Given, require_outputs
from noregret.cli.writing import to_json
from noregret.runs.interrupt import unwinding
from noregret.visible import visible

if TYPE_CHECKING:
    from noregret.runs.progress import Clock
    from noregret.streams import Block, Stream


def convert(
    given: Given,
    *,
    out: Path,
    single: bool,
    multiclass: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run `noregret convert`."""
    if out.suffix.lower() != ".arrow":
        raise ValueError(f"--out {out}: expected a name that ends in .arrow")
    require_outputs(given.files, ("--out", out))
    from noregret.runs.progress import Clock
    from noregret.streams.binary_write import write_binary

    kind = "class" if multiclass else "real" if "labels" not in given.said else "sign"
    rule = given.label_rule(kind)
    stream = given.open(rule)
    clock = Clock(stream, silent=quiet or as_json)
    watched = _Watched(stream, clock)
    with unwinding():
        rows = write_binary(watched, out, dtype="float32" if single else None)
    clock.close(rows)
    size = out.stat().st_size
    if as_json:
        counts = {"examples": rows, "features": stream.width, "bytes": size}
        print(to_json({"input": stream.name, "out": str(out), **counts}))
    elif not quiet:
        print(f"{visible(out)}: {rows:,} examples, {stream.width:,} features, {size / 1e6:,.1f} MB")


class _Watched:
    """A stream that tells a clock about its progress; what else is asked of it, it passes on."""

    def __init__(self, stream: Stream, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock

    def __iter__(self) -> Iterator[Block]:
        count = 0
        for block in self._stream:
            yield block
            count += len(block)
            self._clock.tell(count)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
