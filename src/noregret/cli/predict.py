"""`noregret predict`: what a saved model says about examples, without learning them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noregret.cli.options import Given, reads_examples, require_outputs
from noregret.cli.writing import Output

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_LINKS = ("margin", "probability", "label")


@reads_examples
def predict(
    model: Annotated[Path, typer.Argument(help="A model that `learn --save` wrote.")],
    given: Given,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write; - for stdout.")] = Path(
        "-"
    ),
    link: Annotated[
        str,
        typer.Option("--as", help="`margin` as it is, its logistic `probability`, or the `label`."),
    ] = "margin",
    average: Annotated[
        bool, typer.Option("--average", help="Use the average of all weights played.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not measure on stderr.")] = False,
) -> None:
    """Predict with a saved model, one line an example.

    The labels of the file are used for nothing but the measures printed at the end.
    """
    if link not in _LINKS:
        raise ValueError(f"--as {link}: expected one of {', '.join(_LINKS)}")
    require_outputs([model, *given.files], ("--out", out))
    import numpy as np

    from noregret.cli import record as records
    from noregret.cli.naming import require_same_columns
    from noregret.cli.screen import Clock, metrics_line
    from noregret.cli.whole import margins as margins_of
    from noregret.evaluate import metrics_for
    from noregret.learners import MirrorDescent

    learner, record = records.load(model)
    classification = learner.loss.labels == "sign"
    if link != "margin" and not classification:
        raise ValueError(f"--as {link} belongs to classification, and {learner.loss} is not")
    if average and not record.spec.average:
        raise ValueError(f"--average: {model} keeps none, learn it with --average")
    names = {y: written for written, y in record.labels}
    width = learner.dimension if record.spec.needs_width else 0
    stream = given.open(
        record.rule(), record.reading, width, unlabelled="keep", **record.known(grow=False)
    )
    require_same_columns(learner, record, stream)
    weights = learner.average if average and isinstance(learner, MirrorDescent) else None
    metrics = metrics_for(learner.loss.labels)
    clock = Clock(stream, silent=quiet)
    count = 0
    with Output(out) as output:
        for block in stream:
            margins = learner.predict(block) if weights is None else margins_of(block, weights)
            known = ~np.isnan(block.y)
            weight = None if block.weight is None else block.weight[known]
            metrics.add(block.y[known], margins[known], weight)
            if link == "label":
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


def _logistic(margins: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    import numpy as np

    # By the smaller exponential: none overflows, and small probabilities keep their digits.
    small = np.exp(-np.abs(margins))
    return np.where(margins >= 0.0, 1.0, small) / (1.0 + small)


def _label(names: dict[float, object], margin: float) -> str:
    sign = 1.0 if margin > 0.0 else -1.0
    written = names.get(sign, sign)
    return written if isinstance(written, str) else f"{written:g}"
