"""Options in a file: `--config run.toml` reads them, `--print-config` writes them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from noregret.arguments import meant
from noregret.cli.table import Option


def read_config(path: Path, options: list[Option]) -> dict[str, Any]:
    """Return the values of a file by the names of their options, numbers as texts.

    Texts are converted and checked as those of the command line are.
    """
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: is not TOML in UTF-8: {error}") from None
    known = {one.key: one for one in options}
    values = {}
    for key, value in told.items():
        one = known.get(key.replace("_", "-"), known.get(key))
        if one is None:
            raise ValueError(f"{path}: no option is called {key}{meant(key, known)}")
        values[one.name] = _value(f"{path}, {key}", one, value)
    return values


def _value(where: str, one: Option, value: Any) -> Any:
    """Return what the parser of the command line takes for a value."""
    if one.kind is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{where}: expected true or false, found {value!r}")
        return value
    parts = value if isinstance(value, list) and one.several else [value]
    for part in parts:
        if not isinstance(part, str | int | float) or isinstance(part, bool):
            wanted = "texts or numbers in [ ]" if one.several else "a text or a number"
            raise ValueError(f"{where}: expected {wanted}, found {part!r}")
    texts = [str(part) for part in parts]
    return texts if one.several else texts[0]


def config_text(options: list[Option], values: dict[str, Any]) -> str:
    r"""Return the options that are not at their default as TOML.

    >>> passes = Option("passes", "learn", "", int, default=1)
    >>> config_text([passes], {"passes": 3})
    'passes = 3\n'
    """
    lines = []
    for one in options:
        value = values[one.name]
        silent = () if one.several else False if one.kind is bool and not one.default else None
        if value not in (one.default, silent, None):
            lines.append(f"{one.key} = {_toml(value)}\n")
    return "".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str | Path):
        # The escapes of JSON are among those of TOML, which wants DEL escaped as well.
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower()
