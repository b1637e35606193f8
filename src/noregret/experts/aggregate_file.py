"""The members of an aggregate in a file: their headers in a list, their arrays by their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.learners.files import KINDS, learner_of


def kind_of(aggregate: Any) -> str:
    """Return the name of the class that can load an aggregate: a subclass may add methods to it."""
    return next(kind.__name__ for kind in type(aggregate).__mro__ if kind.__name__ in KINDS)


def members_to_file(
    members: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], dict[str, Vector]]:
    """Return the headers and the arrays of members, by what they are called in errors.

    >>> import noregret as nr
    >>> headers, arrays = members_to_file({"learner 0": nr.catalogue.ogd(nr.losses.Hinge(), 0.1)})
    >>> headers[0]["learner"], list(arrays)
    ('MirrorDescent', ['learner0/ledger'])
    """
    headers: list[dict[str, Any]] = []
    arrays: dict[str, Vector] = {}
    for k, (called, member) in enumerate(members.items()):
        kind = type(member).__name__
        if kind not in KINDS:
            raise ValueError(f"{called}, a {kind}, could not be loaded")
        header, own = member._to_file()
        headers.append(header)
        arrays |= {f"learner{k}/{name}": array for name, array in own.items()}
    return headers, arrays


def members_from_file(
    header: Mapping[str, Any], arrays: Mapping[str, Vector]
) -> tuple[list[Any], Any, dict[str, Vector]]:
    """Return the learners of a file, the stack or None, and the arrays of what mixes them."""
    headers, stacked = header["learners"], header["stacked"]
    if not isinstance(stacked, bool):
        raise ValueError(f"stacked is {stacked!r}, expected true or false")
    under: dict[str, dict[str, Vector]] = {}
    for name, array in arrays.items():
        owner, _, short = name.partition("/")
        under.setdefault(owner, {})[short] = array
    members = [learner_of(each, under.get(f"learner{k}", {})) for k, each in enumerate(headers)]
    stack = members.pop() if stacked and members else None
    return members, stack, under.get("mixer", {})


def check_loaded(
    aggregate: Any, mixer: Any, header: Mapping[str, Any], arrays: Mapping[str, Vector]
) -> None:
    """Refuse what mixes members, or a gradient, that is not that of an aggregate."""
    if header["mixing"] != aggregate.mixing:
        raise ValueError(f"mixing is {header['mixing']!r}, expected {aggregate.mixing!r}")
    if mixer.experts != len(aggregate.members):
        raise ValueError(f"{mixer.experts} shares for {len(aggregate.members)} learners")
    if not np.isfinite(arrays["gradient"]).all():
        raise ValueError("the gradient is not that of a learner")
