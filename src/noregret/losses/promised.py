"""What losses of one and of several scores share: whether each round looks at their promises."""

from __future__ import annotations

from typing import Any, ClassVar

from noregret.component import Component, is_foreign


class Promised(Component):
    """A convex loss whose promises are looked at in each round unless it is one of ours."""

    #: Whether the loss is never negative; floors are then never below zero.
    nonnegative: ClassVar[bool] = True
    #: Whether the class is not one of this package; set for every class by itself.
    foreign: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Directly below are the bases of losses, which have no value that could break a promise.
        # A subclass of one of ours may change its value: it does not inherit the exemption.
        cls.foreign = Promised not in cls.__bases__ and is_foreign(cls)

    def checked(self) -> bool:
        """Tell whether every round checks the loss, see `noregret.proof.loss_promises`."""
        return self.foreign
