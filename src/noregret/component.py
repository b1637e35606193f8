"""The base class of losses, mirror maps, domains and rates: a frozen dataclass of numbers."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar

from noregret.visible import shown

_KINDS: dict[str, type[Any]] = {
    "float": float,
    "int": int,
    "bool": bool,
}

#: What a value of each type must be, for the message.
_WORDS = {float: "a number", int: "a whole number", bool: "True or False"}

_Method = TypeVar("_Method", bound=Callable[..., Any])


def allowed(words: str, test: Callable[[float], bool]) -> Mapping[str, Any]:
    """Return the metadata of a dataclass field that limits its values.

    words: what a value must be, for the message.
    test: whether a value is allowed; NaN should not be.

    >>> from dataclasses import dataclass, field
    >>> @dataclass(frozen=True)
    ... class Scaled(Component):
    ...     scale: float = field(default=1.0, metadata=POSITIVE)
    >>> Scaled(0)
    Traceback (most recent call last):
    ValueError: Scaled(scale) must be a finite number above 0, got 0.0
    """
    return {"allowed": (words, test)}


POSITIVE = allowed("must be a finite number above 0", lambda value: 0.0 < value < float("inf"))
#: The squared margin times the largest weight of an example is still far from overflow.
MARGIN = allowed("must be above 0 and at most 1e90", lambda value: 0.0 < value <= 1e90)
NONNEGATIVE = allowed("must be a finite number >= 0", lambda value: 0.0 <= value < float("inf"))


class CompiledType:
    """Descriptor that asks `noregret.jit`, once a class, for the class's compiled type.

    Every class carries its own, or a subclass would pass for its parent. Classes of
    mathematical objects thereby need not know the compiler, nor pay for its import.
    """

    #: Set by `noregret.jit` when that is imported.
    make: ClassVar[Callable[[type[Component], Component | None], Any] | None] = None

    def __get__(self, instance: Component | None, owner: type[Component]) -> Any:
        """Return the compiled type of the class, which takes this descriptor's place.

        A class with components as fields has one type for each combination of their types.
        """
        if CompiledType.make is None:
            raise AttributeError(f"{owner.__name__} has no compiled type before noregret.jit")
        return CompiledType.make(owner, instance)


class Component:
    """Base of the mathematical objects that compiled passes take as arguments.

    A subclass is a frozen dataclass whose fields are numbers, or components in turn, and whose
    methods are plain Python on scalars. The same methods run interpreted (for tests) and
    compiled (in the passes), so a formula is written once. Subclass it indirectly, through
    `noregret.losses.Loss` or `noregret.mirrors.Mirror`.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Shifted(Component):
    ...     offset: float = 1
    >>> Shifted(2).offset
    2.0
    """

    #: How error messages name a field, from the names of the class and of the field.
    _parameter: ClassVar[str] = "{}({})"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._numba_type_ = CompiledType()  # type: ignore[attr-defined]

    def __post_init__(self) -> None:
        """Coerce fields to their types, so that 1 and 1.0 compile once, and check their limits."""
        fields: Mapping[str, Any] = getattr(self, "__dataclass_fields__", {})
        for name, (kind, optional) in field_kinds(type(self)).items():
            value = getattr(self, name)
            if value is None and optional:
                continue
            if issubclass(kind, Component):
                if not isinstance(value, kind):
                    raise ValueError(
                        f"{type(self).__name__}({name}=...) must be a {kind.__name__}, "
                        f"got {shown(value)}"
                    )
                continue
            try:
                coerced = kind(value)
                # int() cuts fractions off, and bool() takes anything.
                if kind is not float and coerced != value:
                    raise ValueError
                object.__setattr__(self, name, coerced)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(
                    f"{type(self).__name__}({name}=...) must be {_WORDS[kind]}, got {shown(value)}"
                ) from error
            words, test = fields[name].metadata.get("allowed", ("", bool))
            if words and not test(getattr(self, name)):
                place = self._parameter.format(type(self).__name__, name)
                raise ValueError(f"{place} {words}, got {getattr(self, name)}")

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields: the compiled type belongs to this process."""
        return self.fields()

    def fields(self) -> dict[str, Any]:
        """Return the fields by name: numbers, None or components."""
        return {name: getattr(self, name) for name in field_kinds(type(self))}

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


def field_kinds(cls: type[Component]) -> dict[str, tuple[type[Any], bool]]:
    """Return for each field of a component class its type and whether None is allowed."""
    kinds: dict[str, tuple[type[Any], bool]] = {}
    fields: tuple[Any, ...] = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    for field in fields:
        given = field.type
        name = given.__name__ if isinstance(given, type) else str(given)
        kind = _KINDS.get(name.removesuffix("| None").strip())
        if kind is None:
            home = next(
                one for one in cls.__mro__ if field.name in vars(one).get("__annotations__", ())
            )
            kind = getattr(sys.modules.get(home.__module__), name, None)
        if kind is None or not issubclass(kind, (float, int, Component)):
            raise TypeError(
                f"{cls.__name__}.{field.name} is annotated {name}; "
                "a component's fields are float, int, bool or components"
            )
        kinds[field.name] = (kind, name.endswith("| None"))
    return kinds


def built_in(component: Component) -> bool:
    """Tell whether a component's class belongs to this package, which proves its declarations.

    A user's subclass does not: a method that it overrides may contradict them.

    >>> built_in(Component())
    True
    """
    return type(component).__module__.startswith("noregret.")


def reassociable(method: _Method) -> _Method:
    """Let the compiler regroup this method's sums when it is one step of a reduction.

    Methods are compiled in strict arithmetic; one that folds a feature into a running total
    would then keep the whole loop over a row from being vectorised.
    """
    method.__dict__["reassociable"] = True
    return method


def yes(self: Any) -> bool:
    """Return True, as the implementation of a yes-or-no method of a component."""
    return True
