"""The text format of Vowpal Wabbit, and why the kernel of `vw_lines` refuses a line.

    [label [importance [0]]] ['tag]|[namespace[:scale]] feature[:value] ... |...

- Numbers before the first bar are label, importance weight and initial prediction, separated by
  spaces. A word there that begins with ' or touches the bar is a tag: `1|f x` has no label.
- A namespace follows its bar at once; after a space features have none. Its scale multiplies
  the values of its features.
- A feature without a value has 1. A value that begins with a digit, a sign or a point is a
  number; any other is a word up to the next space, and the feature is name and word together,
  with value 1 whatever the scale. A value without a name is numbered within its namespace.
- Features of value 0 are left out. Spaces and tabs part features; blank lines are no examples.

What Vowpal Wabbit reads only with a warning, or otherwise than it looks, is refused: numbers
with something behind them, values that are not finite or not there, an initial prediction
other than 0, a fourth number, a negative importance, a tab before the bar (it ignores what
stands before it), a carriage return within the line. The words e, E, e5, ... and words that
begin with inf or nan are words here; there they are numbers.
"""

from __future__ import annotations

import re
import sys

from noregret.streams.errors import Malformed
from noregret.streams.numbers import decimal

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEAD_WORD = re.compile(rb"[^ |]+")
_FEATURE = re.compile(rb"[^ \t:|]*(?::([^ \t|]*))?")
#: First bytes of numbers; a value that begins so and is no number is refused.
_NUMERIC = tuple(bytes([byte]) for byte in b"0123456789+-.")
_NOT_FINITE = (b"", b"inf", b"infinity", b"nan")
_LARGEST = sys.float_info.max
#: The range of each number before the bar, by its place; there is no fourth.
_HEAD = {
    3: (1.0, 0.0, "at most three numbers before the '|'"),
    0: (-_LARGEST, _LARGEST, "a finite number as label"),
    1: (
        0.0,
        _LARGEST,
        "an importance of 0 or more, or a tag that begins with ' or touches the '|'",
    ),
    2: (0.0, 0.0, "no initial prediction other than 0"),
}


def _words(line: bytes, start: int, bar: int) -> tuple[list[re.Match[bytes]], str]:
    """Return the words before the bar, and the tag among them, which is none of them."""
    words = list(_HEAD_WORD.finditer(line, start, bar))
    if words and (words[-1].end() == bar or words[-1].group().startswith(b"'")):
        return words, words.pop().group().removeprefix(b"'").decode("utf-8", "backslashreplace")
    return words, ""


def tag_of(line: bytes) -> str:
    """Return the tag of a line, without the quote that it may begin with; nothing for none.

    >>> tag_of(b"1 0.5 'first|a x"), tag_of(b"1 second|a x"), tag_of(b"1 |a x")
    ('first', 'second', '')
    """
    return _words(line, 0, max(line.find(b"|"), 0))[1]


def refusal(line: bytes, start: int) -> Malformed:
    """Return why a line is refused.

    Args:
        line: the line without its end.
        start: where the kernel stopped: the namespace or feature that begins here is at fault, or
            what is before the first bar.

    >>> str(refusal(b"1 |f x:1 y:2.5.1", 9))
    "column 10: found 'y:2.5.1', expected a finite number after the colon"
    >>> str(refusal(b"1 |f:two x", 3))
    "column 4: found 'f:two', expected a finite number as scale of the namespace"
    """
    line = line.removesuffix(b"\r")
    bar = line.find(b"|")
    if b"\r" in line:
        return Malformed(line.index(b"\r"), b"\r", "no carriage return within a line")
    if start <= bar or bar < 0:
        return _head_refusal(line, bar)
    token = _FEATURE.match(line, start)
    assert token is not None
    value = token[1]
    if line[start - 1] == ord("|"):
        if line[start] == ord(":"):
            return Malformed(start - 1, line[start - 1 :], "a namespace or a space after the '|'")
        expected = "a finite number as scale of the namespace"
    elif value is not None and value.lower() in _NOT_FINITE:
        expected = "a value after the colon"
    elif value is not None and value.startswith(_NUMERIC) and not abs(decimal(value)) <= _LARGEST:
        expected = "a finite number after the colon"
    else:
        expected = "a value times its scale that is finite"
    return Malformed(start, token[0], expected)


def _head_refusal(line: bytes, bar: int) -> Malformed:
    start = len(_BYTE_ORDER_MARK) if line.startswith(_BYTE_ORDER_MARK) else 0
    if bar < 0:
        return Malformed(start, line[start:], "a '|' before the features")
    tab = line.find(b"\t", start, bar)
    if tab >= 0:
        return Malformed(tab, line[tab : bar + 1], "spaces, not a tab, before the '|'")
    words, _ = _words(line, start, bar)
    for place, (least, most, expected) in _HEAD.items():
        if place < len(words) and not least <= decimal(words[place].group()) <= most:
            return Malformed(words[place].start(), words[place].group(), expected)
    expected = "a label and a space before the '|' (what touches the '|' is a tag)"
    return Malformed(start, line[start : bar + 1], expected)
