"""Dates and moments in text and what features they are: days since 1970, and parts of a calendar.

Read are ISO 8601 dates, YYYY-MM-DD, alone or with a time after a T or a space, HH:MM, HH:MM:SS or
with a fraction, and with a zone behind it, Z, +HH:MM or +HHMM. The features of a column "when":
- "when": days since the beginning of 1970, in UTC if there is a zone, with the time as fraction;
- "when.month=5", "when.weekday=Mon" and, where the column has times, "when.hour=13", as they are
  written. They are categories, so that a linear predictor can give each of them a weight of its
  own (one sine and cosine cannot follow two rush hours a day). Years are left out: the days carry
  the trend, and a year that is still to come would have no weight.

All names of parts are known in advance: a column of dates adds 20 columns, one of moments 44.
"""

from __future__ import annotations

import datetime
import re

import numpy as np

from noregret.jit import byte_at, kernel

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: Where the parts of a calendar are among the names of a column; the days come first.
MONTHS, WEEKDAYS, HOURS, PARTS = 1, 13, 20, 44

_0, _1 = np.uint64(0), np.uint64(1)
_MONTHS, _WEEKDAYS_AT, _HOURS = (np.uint64(k) for k in (MONTHS, WEEKDAYS, HOURS))
_ISO = re.compile(
    rb"(\d{4}-\d\d-\d\d)(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?"
    rb"(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?)?"
)
_DAY = 86400.0


def part_names(column: str, timed: bool) -> list[str]:
    """Return the names of the features of a column; those of hours only where it is `timed`."""
    months = [f"{column}.month={month}" for month in range(1, 13)]
    weekdays = [f"{column}.weekday={day}" for day in _WEEKDAYS]
    return [column, *months, *weekdays, *(f"{column}.hour={h}" for h in range(24) if timed)]


def is_moment(text: bytes) -> bool:
    """Return whether a text is a date or a moment, by the rules of `read_moment`.

    >>> [is_moment(text) for text in (b"1970-01-02", b"2024-02-29T18:00:00+02:00", b"2023-02-29")]
    [True, True, False]
    """
    found = _ISO.fullmatch(text)
    try:
        return found is not None and bool(datetime.date.fromisoformat(found[1].decode()))
    except ValueError:
        return False


def has_time(text: bytes) -> bool:
    """Return whether a moment has a time beside its date."""
    return len(text) > len(b"1970-01-01")


@kernel(inline=True)
def _two(text, at):  # type: ignore[no-untyped-def]
    """Return the number of two digits, 100 for anything else."""
    tens = np.uint8(byte_at(text, at) - np.uint8(48))
    ones = np.uint8(byte_at(text, at + _1) - np.uint8(48))
    if tens > np.uint8(9) or ones > np.uint8(9):
        return np.int64(100)
    return np.int64(tens) * np.int64(10) + np.int64(ones)


@kernel
def read_moment(text, begin, end):  # type: ignore[no-untyped-def]
    """Return days since 1970 and the places of month, weekday and hour of text[begin:end].

    Last comes whether it is a date or a moment at all.
    """
    none = 0.0, _0, _0, _0, False
    length = end - begin
    if length < np.uint64(10):
        return none
    century, years = _two(text, begin), _two(text, begin + np.uint64(2))
    month, day = _two(text, begin + np.uint64(5)), _two(text, begin + np.uint64(8))
    dash = np.uint8(ord("-"))
    if century > 99 or years > 99 or century + years == 0 or month < 1 or month > 12 or day < 1:
        return none
    if byte_at(text, begin + np.uint64(4)) != dash or byte_at(text, begin + np.uint64(7)) != dash:
        return none
    year = century * 100 + years
    leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
    # 31, and 30 for April, June, September, November.
    most = 31 - ((month - 1) % 7) % 2
    if month == 2:
        most = 29 if leap else 28
    if day > most:
        return none
    # Years begin in March, so that the day of a leap year is the last.
    shifted = year - np.int64(month < 3)
    place = (month + 9) % 12
    days = shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400
    days += (place * 306 + 5) // 10 + day - 1 - 719468
    hour = minute = second = ahead = np.int64(0)
    fraction = 0.0
    at = begin + np.uint64(10)
    if at < end:
        mark = byte_at(text, at)
        if length < np.uint64(16) or (mark != np.uint8(ord("T")) and mark != np.uint8(ord(" "))):
            return none
        hour, minute = _two(text, at + _1), _two(text, at + np.uint64(4))
        if byte_at(text, at + np.uint64(3)) != np.uint8(ord(":")):
            return none
        at += np.uint64(6)
        if end - at >= np.uint64(3) and byte_at(text, at) == np.uint8(ord(":")):
            second = _two(text, at + _1)
            at += np.uint64(3)
            if at < end and byte_at(text, at) == np.uint8(ord(".")):
                at += _1
                digits = _0
                number, scale = 0.0, 1.0
                while at < end and np.uint8(byte_at(text, at) - np.uint8(48)) < np.uint8(10):
                    number = number * 10.0 + np.float64(byte_at(text, at) - np.uint8(48))
                    scale *= 10.0
                    digits += _1
                    at += _1
                if digits == _0 or digits > np.uint64(9):
                    return none
                fraction = number / scale
        if at < end and byte_at(text, at) == np.uint8(ord("Z")):
            at += _1
        elif at < end:
            sign = byte_at(text, at)
            colon = np.uint64(end - at == np.uint64(6))
            if end - at != np.uint64(5) + colon:
                return none
            if sign != np.uint8(ord("+")) and sign != dash:
                return none
            if colon == _1 and byte_at(text, at + np.uint64(3)) != np.uint8(ord(":")):
                return none
            hours, minutes = _two(text, at + _1), _two(text, at + np.uint64(3) + colon)
            if hours > 23 or minutes > 59:
                return none
            ahead = (hours * 60 + minutes) * 60 * (-1 if sign == dash else 1)
            at = end
        if at != end or hour > 23 or minute > 59 or second > 59:
            return none
    seconds = np.float64((hour * 60 + minute) * 60 + second - ahead) + fraction
    weekday = np.uint64((days + 719468 + 2) % 7)
    value = np.float64(days) + seconds / _DAY
    return value, np.uint64(month), _WEEKDAYS_AT + weekday, _HOURS + np.uint64(hour), True
