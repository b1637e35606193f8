"""Options that several readers share: each is named once, in the signature of what uses it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_T = TypeVar("_T")
_Opener = TypeVar("_Opener", bound=Callable[..., Any])

#: What every reader takes, so that no format lists it.
_COMMON = ("labels", "rows", "threads", "on_error")


def names_of(function: Callable[..., Any], without: Iterable[str] = ()) -> list[str]:
    """Return the names of the arguments that a function takes, but for some.

    >>> names_of(lambda bits, grow=True: None, without=["grow"])
    ['bits']
    """
    return [name for name in inspect.signature(function).parameters if name not in without]


def takes(
    *functions: Callable[..., Any], without: Iterable[str] = ()
) -> Callable[[_Opener], _Opener]:
    """Note that the options of an opener are also the arguments of these functions."""

    def noted(opener: _Opener) -> _Opener:
        names = [name for function in functions for name in names_of(function, without)]
        vars(opener)["option_names"] = names
        return opener

    return noted


def known(opener: Callable[..., Any]) -> list[str]:
    """Return the options that an opener takes, beside those that all take."""
    own = [
        parameter.name
        for parameter in inspect.signature(opener).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in _COMMON
    ]
    return [*vars(opener).get("option_names", ()), *own]


def made(
    function: Callable[..., _T], options: dict[str, Any], without: Iterable[str] = ()
) -> tuple[_T, dict[str, Any]]:
    """Return what a function makes of its options, and the options that are not its own.

    >>> made(lambda bits=18, grow=True: (bits, grow), {"grow": False, "rows": 5})
    ((18, False), {'rows': 5})
    """
    own = names_of(function, without)
    rest = {name: value for name, value in options.items() if name not in own}
    return function(**{name: options[name] for name in own if name in options}), rest
