"""Pictures and pages about what a run lost and what is proved about it."""

from noregret.report.confusion import confusion_figure
from noregret.report.figures import (
    draw,
    features_figure,
    loss_figure,
    mistakes_figure,
    rate_figure,
    regret_figure,
    require_matplotlib,
)
from noregret.report.page import Card, Picture, page

__all__ = [
    "Card",
    "Picture",
    "confusion_figure",
    "draw",
    "features_figure",
    "loss_figure",
    "mistakes_figure",
    "page",
    "rate_figure",
    "regret_figure",
    "require_matplotlib",
]
