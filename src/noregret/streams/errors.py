"""Errors of streams."""

from __future__ import annotations


def short(text: str, most: int = 40) -> str:
    """Return a text, or its beginning, to be shown in a message."""
    return text if len(text) <= most else text[: most - 3] + "..."


class StreamError(ValueError):
    """A stream that cannot be read: one line that says where, what was found and expected.

    Attributes:
        argument: the option of `Reading` that it is about, "" for none: a command line names its
            own by it.
    """

    def __init__(self, message: str, argument: str = ""):
        super().__init__(message)
        self.argument = argument


class CutShort(StreamError):
    """An input that ends inside a line: the last line has no line end and cannot be read.

    Every example before that line was delivered.
    """


class Malformed(Exception):
    """A line that breaks the rules of its format, before its place in the file is known.

    `argument` is the option of `Reading` that would change that, "" for none.

    >>> str(Malformed(4, b"3:x", "a finite number after the colon"))
    "column 5: found '3:x', expected a finite number after the colon"
    """

    def __init__(self, column: int, text: bytes, expected: str, argument: str = ""):
        shown = short(text.decode("utf-8", "backslashreplace"))
        super().__init__(f"column {column + 1}: found {shown!r}, expected {expected}")
        self.argument = argument
