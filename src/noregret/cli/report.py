"""`noregret report`: a page and pictures about a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from noregret.cli.given import require_outputs
from noregret.cli.writing import Output, to_json
from noregret.visible import visible

if TYPE_CHECKING:
    from noregret.runs.naming import Names
    from noregret.runs.record import Record
    from noregret.vocabulary.learners import Learner

_TOP = 20


def report(
    *,
    model: Path,
    files: list[str] | None,
    out: Path,
    pictures: bool,
    as_json: bool,
) -> None:
    """Run `noregret report`."""
    require_outputs([model, *(files or ())], ("--out", out))
    from noregret.cli.inspect import names_for
    from noregret.plot import require_matplotlib
    from noregret.runs import record as records

    require_matplotlib()
    learner, record = records.load(model)
    names = names_for(learner, record, files, _TOP, progress=not as_json)
    page, *drawn = write_report(learner, record, out, names, pictures)
    if as_json:
        told = {"model": str(model), "page": str(page), "pictures": [*map(str, drawn)]}
        print(to_json(told))
        return
    print("\n".join(map(visible, (page, *drawn))))


def write_report(
    learner: Learner, record: Record, out: Path, names: Names, pictures: bool = True
) -> list[Path]:
    """Write the page and, where wanted, its pictures beside it; return what was written."""
    from noregret.runs.reporting import report_page

    if not record.points:
        raise ValueError(f"--report {out}: there is nothing to draw yet")
    text, drawn = report_page(learner, record, names)
    written = [out]
    with Output(out) as output:
        output.write(text)
    for picture in drawn if pictures else ():
        path = out.with_name(f"{out.stem}-{picture.name}.png")
        with Output(path) as output:
            output.write(picture.png())
        written.append(path)
    return written
