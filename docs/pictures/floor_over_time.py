"""Loss and certified floor of a learner on a real stream."""

from __future__ import annotations

import picture

import noregret as nr
from noregret.cli.demo import digits
from noregret.evaluate import follow, marks
from noregret.report import draw

folder, _ = picture.asked(__doc__)
learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(10.0), nr.rates.Adaptive())
points = [point for point in follow(learner, digits(), lambda: 10.0, marks(8)) if point.rounds > 9]
draw(
    [point.rounds for point in points],
    [point.average_loss for point in points],
    [point.average_floor for point in points],
    folder / "floor_over_time.png",
    title="Handwritten digits, even or odd",
    subtitle="no fixed linear predictor with ‖u‖₂ ≤ 10 can have lost less than the floor",
    ylabel="logistic loss a round",
)
