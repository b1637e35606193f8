"""The members of an aggregate: which learners can be one, and what they take and can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any

import numpy as np

from noregret.arrays import Vector
from noregret.learners.files import KINDS
from noregret.losses import Logistic, Loss
from noregret.rows.examples import Rows

#: What is mixed: predictions, by shares that follow the losses, or probabilities.
LOSSES, PROBABILITIES = MIXINGS = ("losses", "probabilities")
#: The methods and attributes of a learner.
_NEEDED = ("learn", "predict", "loss", "save")


def as_members(learners: Sequence[Any], stack: Any) -> list[Any]:
    """Return the learners and the stack, if there is one, or refuse what is no learner."""
    members = list(learners)
    if not members:
        raise ValueError("an aggregate needs a learner or more, got none")
    if stack is not None:
        members.append(stack)
    for k, member in enumerate(members):
        if not all(hasattr(member, name) for name in _NEEDED):
            which = "the stack" if stack is not None and k == len(learners) else f"learner {k}"
            raise ValueError(f"{which} is {type(member).__name__}, expected a learner")
    if len({id(member) for member in members}) < len(members):
        raise ValueError("the same learner is given twice: each must be its own")
    return members


def require_labels(members: Sequence[Any], loss: Loss) -> None:
    """Refuse members whose labels are not those of the loss: what it takes they all take."""
    if {member.loss.labels for member in members} != {loss.labels}:
        raise ValueError("all losses must take the same labels, -1 and +1 or real ones")


def require_mixing(mixing: str, loss: Loss) -> None:
    """Refuse a way to mix that there is not, or not for this loss."""
    if mixing not in MIXINGS:
        raise ValueError(f"mixing must be 'losses' or 'probabilities', got {mixing!r}")
    if mixing == PROBABILITIES and type(loss) is not Logistic:
        raise ValueError(
            f"mixing='probabilities' is for Logistic(), got {loss}: use mixing='losses'"
        )


def nested(learner: Any) -> Iterator[Any]:
    """Yield the members of an aggregate, and theirs; other learners have none."""
    for member in learner.members if is_aggregate(learner) else ():
        yield member
        yield from nested(member)


def is_aggregate(learner: Any) -> bool:
    """Tell whether a learner is an aggregate, which checks its own members."""
    return hasattr(learner, "_check_members")


def require_weights(learner: Any, name: str) -> None:
    """Refuse weights of examples if a member, or one of its own, takes none."""
    if "weight" not in signature(learner.learn).parameters:
        raise ValueError(f"{name}, a {type(learner).__name__}, takes no weights")
    if is_aggregate(learner):
        learner._check_members()


def check_width(learner: Any, rows: Rows) -> None:
    """Refuse rows whose width a member does not take."""
    if hasattr(learner, "_check_width"):
        learner._check_width(rows)


def can_be_asked(learner: Any) -> bool:
    """Tell whether a learner and all its members check rows before they learn."""
    return all(hasattr(one, "_check_width") for one in (learner, *nested(learner)))


def undoable(learner: Any) -> bool:
    """Tell whether all members can be copied, so that a failed block can be undone."""
    return all(type(one).__name__ in KINDS for one in nested(learner))


def is_linear(learner: Any) -> bool:
    """Tell whether a learner's predictions are <weights, x>, not clipped and not corrected."""
    if is_aggregate(learner):
        return bool(learner._linear())
    parts = getattr(learner, "_parts", None)
    if parts is None or parts.clip is not None:
        return False
    return not parts.rate.corrects(parts.loss.labels)


def mixed_weights(aggregate: Any) -> Vector:
    """Return the shares times the weights of the learners, or refuse what is not linear."""
    if aggregate.mixing == PROBABILITIES or aggregate.stack is not None:
        how = "mixes probabilities" if aggregate.mixing == PROBABILITIES else "has a stack"
        raise ValueError(f"an aggregate that {how} is not linear: read `shares` and `members`")
    if not is_linear(aggregate):
        raise ValueError("a learner of the aggregate predicts by more than weights")
    mixed = np.zeros(aggregate.dimension)
    for share, learner in zip(aggregate.shares, aggregate.learners, strict=True):
        weights = learner.weights
        mixed[: len(weights)] += share * weights
    return mixed
