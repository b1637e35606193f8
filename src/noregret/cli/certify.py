"""`noregret certify`: anyone's predictions against every fixed linear predictor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from noregret.cli.given import Given
from noregret.cli.writing import fitted, to_json
from noregret.evaluate import metrics_for
from noregret.learners.foreign import Certifier
from noregret.proof.wording import floor_and_origin
from noregret.rounding import down, down_each
from noregret.runs.facts import metrics_line
from noregret.runs.progress import Watched
from noregret.visible import visible
from noregret.vocabulary import learners as choices


def certify(
    given: Given,
    *,
    predictions: Path,
    loss: str,
    class_radius: list[float] | None,
    mirror: str,
    probabilities: bool,
    blocks: bool,
    as_json: bool,
) -> None:
    """Run `noregret certify`."""
    chosen = choices.make_loss(loss)
    shape = choices.make_mirror(mirror, None)
    radii = class_radius or [1.0, 10.0, 100.0]
    if probabilities and chosen.labels != "sign":
        raise ValueError(f"--probabilities are margins of classification, and {loss} is not")
    certifier = Certifier(chosen, shape, blocks)
    metrics = metrics_for(chosen)
    stream = Watched(given.open(given.label_rule(chosen.labels)))
    numbers = _numbers(predictions, probabilities)
    for block in stream:
        made = np.fromiter(islice(numbers, len(block)), np.float64)
        if len(made) < len(block):
            raise ValueError(
                f"{predictions}: holds {stream.count + len(made):,} predictions, expected one for "
                f"every example of {stream.name}"
            )
        certifier.add(block, block.y, made, block.weight)
        metrics.add(block.y, made, block.weight)
    count = stream.count
    if next(numbers, None) is not None:
        raise ValueError(f"{predictions}: holds more predictions than the {count:,} examples")
    certificate = certifier.certificate()
    if as_json:
        result = {
            "predictions": str(predictions),
            "input": stream.name,
            "metrics": metrics.summary(),
            "certificate": certificate.as_dict(radii[0]),
            "floors": [
                {"radius": radius, "floor": certificate.floor(radius)}
                | ({"by": certificate.floors(radius)} if blocks else {})
                for radius in radii
            ],
        }
        print(to_json(result))
        return
    lines = [
        f"{visible(predictions)} on {visible(stream.name)}: {count:,} predictions, "
        f"{certificate.objective}",
        f"  {'their own loss':<26}{certificate.loss:>14.6g}  "
        f"{certificate.average_loss:.6g} a round",
        f"  {metrics_line(metrics.summary())}",
        f"  no fixed linear predictor lost less than this by {certificate.objective}",
    ]
    for radius in radii:
        floor, note = floor_and_origin(certificate, radius)
        lines.append(
            f"    {down(floor):>14}  {down(down_each(floor, count))} a round{note}  "
            f"{certificate.describe(radius)}"
        )
    print(fitted("\n".join(lines)))


def _numbers(path: Path, probabilities: bool) -> Iterator[float]:
    """Yield the first number of every line, probabilities as margins."""
    with path.open(encoding="utf-8", errors="backslashreplace") as lines:
        for place, line in enumerate(lines, 1):
            try:
                value = float(line.split(maxsplit=1)[0])
            except (IndexError, ValueError):
                value = math.nan
            if not math.isfinite(value):
                shown = line.strip()[:40]
                raise ValueError(f"{path}, line {place}: found {shown!r}, expected a finite number")
            if probabilities:
                if not 0.0 <= value <= 1.0:
                    raise ValueError(
                        f"{path}, line {place}: found {value:g}, expected a probability"
                    )
                # Certainty is a margin of 700, where the loss of being wrong is still a number.
                inside = 0.0 < value < 1.0
                value = math.log(value) - math.log1p(-value) if inside else 1400.0 * value - 700.0
            yield value
