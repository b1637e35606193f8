"""What follows from the first lines of separated values: columns, their kinds, labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from noregret.streams.columns import (
    CATEGORY,
    CLASS,
    LABEL,
    LOOK,
    MISSING_TEXTS,
    NAMED_LABEL,
    NUMBER,
    UNKNOWN,
    given_names,
    is_numeric,
    named_pair,
    roles_of,
)
from noregret.streams.csv_grammar import Grammar, split_fields
from noregret.streams.decimals import finite
from noregret.streams.errors import Malformed, StreamError
from noregret.streams.features import largest_of
from noregret.streams.labelling import Labels, are_classes
from noregret.streams.reading import Reading

#: Returns at most this many of the first lines, or as many as can be read ahead.
Head = Callable[[int | None], Sequence[bytes]]


def column_names(line: bytes, separator: bytes, header: bool, where: str) -> list[str]:
    """Return the names of the columns by the first line; numbers from 1 if it is no header."""
    try:
        fields = split_fields(line, separator)
        texts = [field.text.decode() for field in fields]
    except Malformed as error:
        raise StreamError(f"{where}, line 1, {error}") from None
    except UnicodeDecodeError as error:
        raise StreamError(f"{where}, line 1: the header is not UTF-8 ({error.reason})") from None
    numbers = [str(k) for k in range(len(fields) + 1)]
    if len(fields) == 1:
        raise StreamError(
            f"{where}, line 1: found the one field {texts[0]!r:.60}, expected several, parted by "
            f"{separator.decode()!r} (separator= if it is another)",
            "separator",
        )
    if not header:
        return numbers[1:]
    if all(finite(field.text) is not None for field in fields):
        # Data frames without names are written with numbers in their place.
        if texts not in (numbers[1:], numbers[:-1]):
            raise StreamError(
                f"{where}, line 1: found numbers only, expected the names of the columns "
                "(header=False if the file has none)",
                "header",
            )
    return [text or f"column {k + 1}" for k, text in enumerate(texts)]


def learn_grammar(
    names: list[str], head: Head, separator: bytes, reading: Reading, where: str
) -> Grammar:
    """Return the grammar of a file by its first lines, the header not among them."""
    roles, target = roles_of(names, reading, where)
    if UNKNOWN in roles:
        _find_kinds(roles, head(LOOK), separator)
    pair = None
    if target is not None:
        field = roles.index(LABEL)
        pair = _label_names(reading.labels, head, separator, field, len(names), where)
        if pair is not None:
            roles[field] = NAMED_LABEL
        elif are_classes(reading.labels):
            roles[field] = CLASS
    return Grammar(
        separator=separator,
        names=tuple(names),
        roles=tuple(roles),
        pair=pair,
        indicate=reading.missing == "indicator",
        unlabelled=reading.unlabelled == "keep",
        largest=largest_of(reading.dtype),
    )


def sound_rows(
    lines: Sequence[bytes], separator: bytes, fields: list[int], width: int
) -> Iterator[list[bytes]]:
    """Yield what these fields hold in the lines that have as many fields as they should.

    The others are refused when their turn comes, or left out, as the user wants it.
    """
    for line in lines:
        if b'"' not in line:
            # Fast path with the meaning of `split_fields`: thousands of lines are read here.
            plain = line.removesuffix(b"\r").split(separator)
            if len(plain) == width:
                yield [plain[f].strip(b" ") for f in fields]
            continue
        try:
            found = split_fields(line, separator)
        except Malformed:
            continue
        if len(found) == width:
            yield [found[f].text for f in fields]


def _find_kinds(roles: list[int], lines: Sequence[bytes], separator: bytes) -> None:
    """Replace UNKNOWN roles by NUMBER or CATEGORY."""
    unknown = [f for f, role in enumerate(roles) if role == UNKNOWN]
    numbers = dict.fromkeys(unknown, 0)
    others = dict.fromkeys(unknown, 0)
    for texts in sound_rows(lines, separator, unknown, len(roles)):
        for f, text in zip(unknown, texts, strict=True):
            if text not in MISSING_TEXTS:
                (others if finite(text) is None else numbers)[f] += 1
    for f in unknown:
        roles[f] = NUMBER if is_numeric(numbers[f], others[f]) else CATEGORY


def _label_names(
    labels: Labels, head: Head, separator: bytes, field: int, width: int, where: str
) -> tuple[str, str] | None:
    """Return the names of the two labels, None if labels are numbers."""
    if labels != "binary":
        return given_names(labels)
    found: set[bytes] = set()
    for count in (LOOK, None):
        # If the first lines have one label only, look for the other in more of them.
        if len(found) < 2:
            texts = sound_rows(head(count), separator, [field], width)
            found = {text for (text,) in texts} - MISSING_TEXTS
    if all(finite(text) is not None for text in found):
        return None
    try:
        names = [text.decode() for text in found]
    except UnicodeDecodeError as error:
        raise StreamError(
            f"{where}: found the label {error.object!r:.60}, expected labels in UTF-8"
        ) from None
    return named_pair(names, where)
