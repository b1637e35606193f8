"""Has a built site every public name and every example? `python -m tests.project.site SITE`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parents[2] / "examples" / "gallery"
#: Packages whose `__all__` is what users may rely on.
PACKAGES = (
    "bandits", "catalogue", "classes", "domains", "evaluate", "experts", "losses", "mirrors",
    "oco", "plot", "rates", "report", "river", "sklearn", "streams", "tracking",
)  # fmt: skip


def public(module: ModuleType) -> list[str]:
    """Return the names of a module that autodoc lists."""
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    return list(getattr(module, "__all__", own))


def missing(site: Path) -> list[str]:
    """Return the public names that the reference lacks, and the examples without a picture."""
    reference = "".join(path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html"))
    names = [
        f"noregret.{package}.{name}"
        for package in PACKAGES
        for name in public(importlib.import_module(f"noregret.{package}"))
    ]
    gallery = (site / "gallery.html").read_text(encoding="utf-8")
    scripts = [script.stem for script in EXAMPLES.glob("*.py") if script.stem != "picture"]
    return [name for name in names if f'id="{name}"' not in reference] + [
        script for script in scripts if f'id="{script.replace("_", "-")}"' not in gallery
    ]


if __name__ == "__main__":
    absent = missing(Path(sys.argv[1]))
    sys.exit(f"the site lacks {', '.join(absent)}" if absent else 0)
