"""Options in a file: `--config run.toml` reads them, `--print-config` writes them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from noregret.arguments import meant
from noregret.cli.table import Option


def read_config(path: Path, options: list[Option]) -> dict[str, Any]:
    """Return the values of a file by the names of their options.

    Numbers are texts, so that they are converted and checked as on the command line.
    """
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: is not TOML in UTF-8: {error}") from None
    known = {one.key: one for one in options}
    values = {}
    for key, value in told.items():
        one = known.get(key.replace("_", "-"))
        if one is None:
            raise ValueError(f"{path}: there is no option {key}{meant(key, known)}")
        parts = value if one.several and isinstance(value, list) else [value]
        kinds = (bool,) if one.kind is bool else (str, int, float)
        for part in parts:
            if type(part) not in kinds:
                expected = "true or false" if one.kind is bool else "a text or a number"
                raise ValueError(f"{path}, {key}: found {part!r}, expected {expected}")
        texts = [part if one.kind is bool else str(part) for part in parts]
        values[one.name] = texts if one.several else texts[0]
    return values


def config_text(options: list[Option], values: dict[str, Any]) -> str:
    r"""Return the options that are not at their default as TOML.

    >>> passes = Option("passes", "learn", "", int, default=1)
    >>> config_text([passes], {"passes": 3})
    'passes = 3\n'
    """
    told = [one for one in options if values[one.name] not in (None, (), one.silent)]
    return "".join(f"{one.key} = {_toml(values[one.name])}\n" for one in told)


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str | Path):
        # The escapes of JSON are among those of TOML, which wants DEL escaped as well.
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower()
