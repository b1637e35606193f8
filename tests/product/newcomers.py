"""Components that no list of a test names: what is added to a package is tested without a word."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import ModuleType
from typing import Any


def newcomers(
    room: ModuleType, base: type, known: Iterable[object], without: str = "", **given: float
) -> list[Any]:
    """Return instances of the public classes of a package that are not yet known.

    room: the package or module, such as `noregret.losses`.
    known: instances that a test lists; their classes are left out.
    without: further names to leave out, parted by spaces [default: none].
    given: values of the fields of that name, for classes that have them; others have defaults.
    """
    left_out = {type(one).__name__ for one in known} | set(without.split())
    public = getattr(room, "__all__", None) or [name for name in vars(room) if name[0] != "_"]
    kinds = [getattr(room, name) for name in public if name not in left_out]
    found = [kind for kind in kinds if inspect.isclass(kind) and issubclass(kind, base)]
    # Bases of families are no dataclasses of their own.
    kinds = [kind for kind in found if "__dataclass_params__" in vars(kind)]
    return [
        kind(**{name: value for name, value in given.items() if name in kind.__annotations__})
        for kind in kinds
    ]
