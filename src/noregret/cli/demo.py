"""`noregret demo`: a real stream, its certificate, and a picture of both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import noregret as nr
from noregret.cli.console import Table, plain_console
from noregret.cli.writing import fitted, require_place, to_json
from noregret.evaluate import Point, follow, marks
from noregret.plot import loss, save, sheet
from noregret.rounding import down
from noregret.streams import Block
from noregret.visible import visible

_RADIUS = 10.0


def demo(
    *,
    out: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run `noregret demo`."""
    try:
        import matplotlib  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ValueError(
            f"the demo needs {error.name}: pip install 'noregret[plot,sklearn]'"
        ) from error
    require_place("--out", out)
    learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(_RADIUS), nr.rates.Adaptive())
    console = plain_console(quiet or as_json)
    table = Table(console, classification=True)
    table.head(
        "Is a handwritten digit even or odd?",
        "1,797 images of 8 x 8 pixels in their original order, scaled to unit length",
        "each is predicted before its label is seen, and seen once",
        f"logistic loss; floor over every fixed linear predictor with ||u||_2 <= {_RADIUS:g}",
    )
    points: list[Point] = []
    for point in follow(learner, digits(), lambda: _RADIUS, marks(per_doubling=8)):
        points.append(point)
        if point.rounds & (point.rounds - 1) == 0:
            table.row(point)
    table.row(points[-1])
    certificate = learner.certificate()
    floor = down(points[-1].average_floor, 3)
    axes = loss(
        points,
        ax=sheet(7.2, 4.2),
        title="Handwritten digits, even or odd",
        subtitle=f"no fixed linear predictor with ‖u‖₂ ≤ {_RADIUS:g} lost less than {floor} "
        f"a round on these {points[-1].rounds:,} images",
        ylabel="logistic loss a round",
    )
    save(axes, out)
    if as_json:
        told = {"out": str(out), "progress": [point.as_dict() for point in points]}
        print(to_json(told | {"certificate": certificate.as_dict()}))
        return
    console.print()
    print(fitted(str(certificate)))
    console.print(f"\nThe picture is in {visible(out)}.")


def digits() -> Iterator[Block]:
    """Yield scikit-learn's digits as one block: unit rows, +1 for even, -1 for odd."""
    from sklearn.datasets import load_digits

    images, digit = load_digits(return_X_y=True)
    images = images / np.linalg.norm(images, axis=1, keepdims=True)
    rows, columns = np.nonzero(images)
    yield Block(
        indptr=np.searchsorted(rows, np.arange(len(images) + 1)).astype(np.uint64),
        indices=columns.astype(np.uint32),
        values=images[rows, columns],
        y=np.where(digit % 2 == 0, 1.0, -1.0),
        width=images.shape[1],
    )
