"""Pictures of learners and their runs: every function draws on matplotlib axes and returns them.

`nr.evaluate.progressive` returns a trial, which most of these draw. They need the extra `plot`.

>>> import noregret as nr, numpy as np
>>> X = np.random.default_rng(0).normal(size=(500, 3))
>>> learner = nr.MirrorDescent(nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
>>> trial = nr.evaluate.progressive(learner, X, np.where(X[:, 0] > 0.1, 1, -1))
>>> nr.plot.loss(trial, ax=nr.plot.sheet()).get_ylabel()
'loss a round'
>>> nr.plot.roc(trial, ax=nr.plot.sheet()).get_ylabel()
'true positives, of all positives'
>>> nr.plot.weights(learner, ["a", "b", "c"], ax=nr.plot.sheet()).get_yticklabels()[0].get_text()
'a'
"""

from noregret.plot.canvas import require_matplotlib, save, sheet, style
from noregret.plot.confusion import confusion
from noregret.plot.course import loss, mistakes, rate, regret
from noregret.plot.drift_picture import drift
from noregret.plot.features import weights
from noregret.plot.gap_picture import gap
from noregret.plot.margins import precision_recall, reliability, roc
from noregret.plot.shares import shares
from noregret.plot.targets import predictions, residuals

__all__ = [
    "confusion",
    "drift",
    "gap",
    "loss",
    "mistakes",
    "precision_recall",
    "predictions",
    "rate",
    "regret",
    "reliability",
    "require_matplotlib",
    "residuals",
    "roc",
    "save",
    "shares",
    "sheet",
    "style",
    "weights",
]
