"""`noregret predict`: what a saved model says about examples, without learning them."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np

from noregret.cli.given import Given, require_outputs
from noregret.cli.writing import Output, to_json
from noregret.evaluate import metrics_for
from noregret.runs.facts import metrics_line
from noregret.runs.predicting import Predictor
from noregret.runs.progress import Watched
from noregret.runs.record import load
from noregret.visible import escaped


def predict(
    given: Given,
    *,
    model: Path,
    out: Path,
    kind: str | None,
    average: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run `noregret predict`."""
    require_outputs([model, *given.files], ("--out", out))
    learner, record = load(model)
    predictor = Predictor(learner, record, kind, average)
    watched = Watched(given.again(learner, record))
    metrics = metrics_for(learner.loss)
    with Output(out) as output:
        several = bool(predictor.classes) and predictor.kind != "label"
        if several:
            head = io.StringIO()
            names = map(escaped, predictor.classes)
            csv.writer(head, "excel-tab", lineterminator="\n").writerow(names)
            output.write(head.getvalue())
        for block in watched:
            scores = predictor.scores(block)
            known = ~np.isnan(block.y)
            weight = None if block.weight is None else block.weight[known]
            metrics.add(block.y[known], scores[known], weight)
            rows = predictor.shown(scores).tolist()
            lines = [
                _written(row)
                if predictor.kind == "label"
                else "\t".join(map(repr, row if several else (row,)))
                for row in rows
            ]
            if block.ids is not None:
                # As Vowpal Wabbit writes tags.
                lines = [f"{line} {name}" for line, name in zip(lines, block.ids, strict=True)]
            output.write("".join(f"{line}\n" for line in lines))
    summary = metrics.summary()
    if as_json:
        told = {"model": str(model), "input": watched.name, "out": str(out), "as": predictor.kind}
        told |= {"classes": predictor.classes, "examples": watched.count, "metrics": summary}
        # Where predictions take stdout, as with `learn --predictions -`.
        print(to_json(told), file=sys.stderr if str(out) == "-" else sys.stdout)
    elif not quiet:
        measured = metrics_line(summary) or "none has a label"
        print(f"{watched.count:,} examples: {measured}", file=sys.stderr)


def _written(label: Any) -> str:
    return escaped(label) if isinstance(label, str) else f"{label:g}"
