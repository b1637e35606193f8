"""Loss and certified floor of a learner on a real stream."""

from __future__ import annotations

import picture

import noregret as nr
from noregret.cli.demo import digits
from noregret.evaluate import follow, marks

folder, _ = picture.asked(__doc__)
learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Ball(10.0), nr.rates.Adaptive())
points = list(follow(learner, digits(), lambda: 10.0, marks(8)))
axes = nr.plot.loss(
    points,
    ax=nr.plot.sheet(7.2, 4.2),
    title="Handwritten digits, even or odd",
    subtitle="no fixed linear predictor with ‖u‖₂ ≤ 10 can have lost less than the floor",
    ylabel="logistic loss a round",
)
nr.plot.save(axes, folder / "floor_over_time.png")
