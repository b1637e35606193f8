"""`noregret report`: a page and pictures about a saved model."""

from __future__ import annotations

import sys
from pathlib import Path

from noregret.cli.given import require_outputs
from noregret.cli.inspect import names_for
from noregret.cli.writing import Output, to_json
from noregret.plot import require_matplotlib
from noregret.runs.predicting import Names
from noregret.runs.record import Record, load
from noregret.runs.reporting import report_page
from noregret.visible import visible
from noregret.vocabulary import learners as choices

_TOP = 20


def report(
    *,
    model: Path,
    files: list[str] | None,
    out: Path,
    pictures: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run `noregret report`."""
    require_outputs([model, *(files or ())], ("--out", out))
    require_matplotlib()
    learner, record = load(model)
    names = names_for(learner, record, files, _TOP)
    page, *drawn = map(str, write_report(learner, record, out, names, pictures))
    if as_json:
        told = to_json({"model": str(model), "page": page, "pictures": drawn})
        print(told, file=sys.stderr if page == "-" else sys.stdout)
    elif not quiet and page != "-":
        print("\n".join(map(visible, (page, *drawn))))


def write_report(
    learner: choices.Learner, record: Record, out: Path, names: Names, pictures: bool = True
) -> list[Path]:
    """Write the page and, where wanted, its pictures beside it; return what was written."""
    if not record.points:
        raise ValueError(f"--report {out}: there is nothing to draw yet")
    text, drawn = report_page(learner, record, names)
    written = [out]
    with Output(out) as output:
        output.write(text)
    for picture in drawn if pictures and str(out) != "-" else ():
        path = out.with_name(f"{out.stem}-{picture.name}.png")
        with Output(path) as output:
            output.write(picture.png())
        written.append(path)
    return written
