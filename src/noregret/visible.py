"""Make names from outside printable: file, class and feature names may hold anything.

A name can hold control characters that a terminal obeys, newlines that break one line in two,
characters that reverse the reading order, bytes that are not UTF-8, and square brackets that
rich reads as markup. Every name that reaches a person goes through `visible`.
"""

from __future__ import annotations

import html
import re

#: Control characters (C0, DEL, C1), bidirectional controls, line and paragraph separators, and
#: lone surrogates, which stand for bytes that are not UTF-8.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNPRINTABLE_OR_BACKSLASH = re.compile(rf"\\|{_UNPRINTABLE.pattern}")

_SHOWN = 60  # characters of a value that an error message repeats
_LONGEST_INTEGER = 128  # bits of an integer that is written in base 10


def visible(name: object) -> str:
    r"""Return a name as one line in which every character can be seen.

    Characters that a terminal would obey are escaped as in a Python string.

    >>> print(visible("fold[train].csv"), visible("a\x1b[2Jb\nc"), visible("\u202egpj.exe"))
    fold[train].csv a\x1b[2Jb\nc \u202egpj.exe
    """
    return _UNPRINTABLE.sub(_escape, str(name))


def escaped(name: str) -> str:
    r"""Return a name as one line from which it can be recovered: as `visible`, backslashes doubled.

    >>> print(escaped("a\nb"), escaped("a\\nb"))
    a\nb a\\nb
    """
    return _UNPRINTABLE_OR_BACKSLASH.sub(_escape, name)


def shown(value: object) -> str:
    """Return a value as an error message can repeat it: in one line of at most 60 characters.

    >>> shown("a" * 99)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    huge = type(value) is int and value.bit_length() > _LONGEST_INTEGER
    try:
        text = f"{value:#x}" if huge else " ".join(repr(value).split())
    except ValueError:
        # Python refuses to write integers of more than 4300 digits in decimal, not in base 16.
        text = f"{type(value).__name__} with an integer of more than 4300 digits"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


class Readable:
    """Something that a notebook or a prompt shows: how it was made, and where it stands."""

    def _made(self) -> str:
        """Return the arguments of the constructor, in one line."""
        return ""

    def _standing(self) -> str:
        """Return how far it has come in a few words, '' where there is nothing to say."""
        rounds = getattr(self, "rounds", None)
        return f"{rounds:,} rounds" if isinstance(rounds, int) else ""

    def __repr__(self) -> str:
        standing = self._standing()
        return f"<{type(self).__name__}({self._made()}){': ' * bool(standing)}{standing}>"

    def _repr_html_(self) -> str:
        """Return the constructor and the certificate, where there is one, for a notebook."""
        made = f"<code>{html.escape(f'{type(self).__name__}({self._made()})')}</code>"
        proof = getattr(self, "certificate", None)
        below = html.escape(self._standing()) if proof is None else proof()._repr_html_()
        return f"<div>{made}<br>{below}</div>"


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
