"""What the pictures of the gallery share: a page, a palette, and where to put it."""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from noregret.plot import style

BLUE, ORANGE, GREEN, GREY = "#1b4965", "#ca6702", "#2f855a", "#94a3b8"


def asked(about: str | None) -> tuple[Path, bool]:
    """Return the folder for the picture, and whether a small one will do."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("folder", nargs="?", default=".", type=Path, help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="a smaller example, in a second")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    return given.folder, given.quick


def page(title: str, panels: int = 1, height: float = 4.0) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, side by side."""
    with style():
        figure = Figure(figsize=(7.2 if panels == 1 else 10.0, height), dpi=150)
        figure.set_layout_engine("constrained")
        figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=11)
        return figure, [figure.add_subplot(1, panels, k + 1) for k in range(panels)]


def write(figure: Figure, path: Path) -> None:
    """Write the picture and say where."""
    with style():
        figure.savefig(path)
    print(f"wrote {path}")
