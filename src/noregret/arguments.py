"""The error of an argument whose value is refused, with its name in a field."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ArgumentError(ValueError):
    """The value of an argument is refused.

    A command line that has the argument as an option says so by the fields, see `said`.

    Args:
        argument: name of the argument, such as "loss" or "radius".
        reason: what is wrong and what was expected, without the name.
        found: the value that was given [default: the argument is missing or has no say].
        kind: the kind of words that `nr.words(kind)` lists, where it should have been one of
            them [default: none].

    >>> raise ArgumentError("radius", "must be above 0", -1.0)
    Traceback (most recent call last):
    noregret.arguments.ArgumentError: radius=-1.0: must be above 0
    """

    def __init__(self, argument: str, reason: str, found: Any = None, kind: str = "") -> None:
        super().__init__(argument, reason, found, kind)
        self.argument, self.reason, self.found, self.kind = argument, reason, found, kind

    def __str__(self) -> str:
        return self.said(self.place, f"nr.words({self.kind!r})")

    @property
    def place(self) -> str:
        """The argument, with the value that was found."""
        return self.argument if self.found is None else f"{self.argument}={self.found!r}"

    def said(self, place: str, listing: str) -> str:
        """Return the message with other words for the argument and for where its words are listed.

        >>> ArgumentError("loss", "no such loss", "square", "loss").said("--loss square", "help")
        '--loss square: no such loss; help lists all'
        """
        return f"{place}: {self.reason}" + (f"; {listing} lists all" if self.kind else "")


def refuse(reasons: Mapping[str, object], error: type[Exception] = ValueError) -> None:
    """Raise an error [default: ValueError] with the first reason that applies.

    >>> refuse({"a needs b": False, "c excludes d": True})
    Traceback (most recent call last):
    ValueError: c excludes d
    """
    for reason, applies in reasons.items():
        if applies:
            raise error(reason)


def meant(word: str, known: Iterable[str]) -> str:
    """Return the question whether the nearest of the known words was meant, or ''.

    >>> meant("logisitc", ["hinge", "logistic"])
    ', did you mean logistic?'
    """
    nearest = get_close_matches(word.lower().replace("_", "-"), list(known), 1)
    return f", did you mean {nearest[0]}?" if nearest else ""
