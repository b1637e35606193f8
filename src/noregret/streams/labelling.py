"""The rules by which labels are read, in the words of a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from noregret.arguments import ArgumentError


@dataclass(frozen=True)
class Classes:
    """Labels are names of classes, numbered from 0 as they appear, after those `known` before."""

    known: tuple[str, ...] = ()


Labels: TypeAlias = (
    Literal["real", "binary", "classes"] | Classes | tuple[float, float] | tuple[str, str]
)
"""How labels are read: as written, mapped to -1/+1, numbered, or mapped from a given pair."""


def check(labels: Labels) -> None:
    """Refuse what is no rule for labels.

    >>> check(("ham", "spam"))
    """
    if isinstance(labels, Classes) and len({*labels.known}) < len(labels.known):
        raise ArgumentError("labels", "expected names of classes, each of them once", labels)
    words = isinstance(labels, tuple) and all(isinstance(one, str) for one in labels)
    numbers = isinstance(labels, tuple) and all(
        isinstance(one, int | float) and one - one == 0 for one in labels
    )
    if (
        labels not in ("real", "binary", "classes")
        and not isinstance(labels, Classes)
        and not ((words or numbers) and len(labels) == 2 and labels[0] != labels[1])
    ):
        raise ArgumentError(
            "labels", 'expected "real", "binary", "classes" or a pair (negative, positive)', labels
        )


def are_classes(labels: Labels) -> bool:
    """Return whether labels are names of classes, as many as there may be."""
    return labels == "classes" or isinstance(labels, Classes)
