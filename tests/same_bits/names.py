"""The families of scenarios, and how scenarios are chosen by name."""

from __future__ import annotations

import fnmatch

FAMILIES = (
    "components", "descent", "matrices", "dual", "solvers", "tracking", "named", "experts", "arms",
    "finite", "convex_games", "refused", "estimators",
)  # fmt: skip
#: How much is played: everything by the interpreter; compiled, every class and every pass at least
#: once; or every pair of classes.
INTERPRETED, COMPILED, PAIRS = range(3)


def wanted(name: str, pattern: str | None) -> bool:
    """Whether a scenario's name has the pattern, as a part or with wildcards."""
    return pattern is None or pattern in name or fnmatch.fnmatchcase(name, pattern)
