"""`noregret convert`: a stream in the compact form, for many fast passes."""

from __future__ import annotations

from pathlib import Path

from noregret.cli.given import Given, require_outputs
from noregret.cli.writing import to_json
from noregret.runs.interrupt import unwinding
from noregret.runs.progress import Watched
from noregret.streams.binary import write_binary
from noregret.visible import visible


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
    kind = "class" if multiclass else "real" if "labels" not in given.said else "sign"
    stream = Watched(given.open(given.label_rule(kind)))
    with unwinding():
        rows = write_binary(stream, out, dtype="float32" if single else None)
    size = out.stat().st_size
    if as_json:
        counts = {"examples": rows, "features": stream.width, "bytes": size}
        print(to_json({"input": stream.name, "out": str(out), **counts}))
    elif not quiet:
        print(f"{visible(out)}: {rows:,} examples, {stream.width:,} features, {size / 1e6:,.1f} MB")
