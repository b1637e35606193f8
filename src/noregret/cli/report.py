"""`noregret report`: a page and pictures about a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret.cli.options import ModelFile, NamingFiles, require_outputs
from noregret.cli.writing import Output
from noregret.visible import visible

if TYPE_CHECKING:
    from noregret.runs.naming import Names
    from noregret.runs.record import Record
    from noregret.vocabulary.learners import Learner

_TOP = 20


def report(
    model: ModelFile,
    files: NamingFiles = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("report.html"),
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Write PNG files beside it as well.")
    ] = True,
) -> None:
    """Write one HTML file about a run, with every picture inside, and the pictures as PNG.

    Average loss and certified floor, regret a round, mistakes, rates, the largest weights, and
    the certificate itself.
    """
    require_outputs([model, *(files or ())], ("--out", out))
    from noregret.cli.inspect import names_for
    from noregret.plot import require_matplotlib
    from noregret.runs import record as records

    require_matplotlib()
    learner, record = records.load(model)
    names = names_for(learner, record, files, _TOP)
    for path in write_report(learner, record, out, names, pictures):
        typer.echo(visible(path))


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
