"""`noregret predict`: what a saved model says about examples, without learning them."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noregret.cli.options import Given, ModelFile, reads_examples, require_outputs
from noregret.cli.writing import Output
from noregret.visible import escaped

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: How predictions of two classes, and of several, may be written.
_LINKS = ("margin", "probability", "label")
_SEVERAL = ("label", "score", "probability")


@reads_examples
def predict(
    model: ModelFile,
    given: Given,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write; - for stdout.")] = Path(
        "-"
    ),
    link: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="`margin` as it is (by default), its logistic `probability`, or the `label`. Of "
            "several classes: the `label` (by default), or a table with the `score` or the "
            "`probability` of each, parted by tabs.",
        ),
    ] = None,
    average: Annotated[
        bool, typer.Option("--average", help="Use the average of all weights played.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not measure on stderr.")] = False,
) -> None:
    """Predict with a saved model, one line an example.

    The labels of the file are used for nothing but the measures printed at the end.
    """
    if link is not None and link not in _LINKS + _SEVERAL:
        raise ValueError(f"--as {link}: expected one of {', '.join(_LINKS + _SEVERAL[1:2])}")
    require_outputs([model, *given.files], ("--out", out))
    import numpy as np

    from noregret.evaluate import metrics_for
    from noregret.learners import MirrorDescent
    from noregret.runs import record as records
    from noregret.runs.naming import require_same_columns
    from noregret.runs.progress import Clock
    from noregret.runs.whole import margins as margins_of
    from noregret.runs.wording import metrics_line

    learner, record = records.load(model)
    several = learner.loss.labels == "class"
    classification = learner.loss.labels == "sign"
    link = link or ("label" if several else "margin")
    if link != "margin" and not classification and not several:
        raise ValueError(f"--as {link} belongs to classification, and {learner.loss} is not")
    if link not in (_SEVERAL if several else _LINKS):
        expected = ", ".join(_SEVERAL if several else _LINKS)
        raise ValueError(f"--as {link}: expected one of {expected}, by the classes of {model}")
    table = _Classes(learner.loss, record.classes, link) if several else None
    if average and not record.spec.average:
        raise ValueError(f"--average: {model} keeps none, learn it with --average")
    names = {y: _written(written) for written, y in record.labels}
    width = learner.dimension if record.spec.needs_width else 0
    stream = given.open(
        record.rule(), record.reading, width, unlabelled="keep", **record.known(grow=False)
    )
    require_same_columns(learner, record, stream)
    weights = learner.average if average and isinstance(learner, MirrorDescent) else None
    metrics = metrics_for(learner.loss)
    clock = Clock(stream, silent=quiet)
    count = 0
    with Output(out) as output:
        if table is not None:
            table.head(output)
        for block in stream:
            margins = learner.predict(block) if weights is None else margins_of(block, weights)
            known = ~np.isnan(block.y)
            weight = None if block.weight is None else block.weight[known]
            metrics.add(block.y[known], margins[known], weight)
            if table is not None:
                table.write(output, margins)
            elif link == "label":
                output.write("".join(f"{_label(names, p)}\n" for p in margins.tolist()))
            else:
                output.numbers(margins if link == "margin" else _logistic(margins))
            count += len(block)
            clock.tell(count)
    clock.close(count)
    if not count:
        raise ValueError(f"{stream.name}: the file has no examples")
    if not quiet:
        measured = metrics_line(metrics.summary()) or "none has a label"
        print(f"{count:,} examples: {measured}", file=sys.stderr)


class _Classes:
    """How the scores of several classes are written."""

    def __init__(self, loss: Any, names: list[str], link: str) -> None:
        from noregret.evaluate.classes import link_of

        self._names, self._link = names, link
        self._logs = link_of(loss)
        if link == "probability" and self._logs is None:
            raise ValueError(f"--as probability: the scores of {loss} mean none")

    def head(self, output: Output) -> None:
        """Write the names of the columns, if there are several."""
        if self._link != "label":
            line = io.StringIO()
            csv.writer(line, "excel-tab", lineterminator="\n").writerow(map(escaped, self._names))
            output.write(line.getvalue())

    def write(self, output: Output, scores: npt.NDArray[np.float64]) -> None:
        """Write a line a row; classes that were not learnt, or have no name, have no score."""
        import numpy as np

        from noregret.evaluate.classes import predicted

        scores = scores[:, : len(self._names)]
        if self._link == "label":
            output.classes(predicted(scores), self._names)
            return
        whole = np.full((len(scores), len(self._names)), -np.inf)
        whole[:, : scores.shape[1]] = scores
        if self._link == "probability" and self._logs is not None:
            whole = np.exp(self._logs(whole))
        output.write("".join("\t".join(map(repr, row)) + "\n" for row in whole.tolist()))


def _logistic(margins: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    import numpy as np

    # By the smaller exponential: none overflows, and small probabilities keep their digits.
    small = np.exp(-np.abs(margins))
    return np.where(margins >= 0.0, 1.0, small) / (1.0 + small)


def _label(names: dict[float, str], margin: float) -> str:
    sign = 1.0 if margin > 0.0 else -1.0
    return names.get(sign, f"{sign:g}")


def _written(label: Any) -> str:
    return escaped(label) if isinstance(label, str) else f"{label:g}"
