"""Declarative model files: a class lists its fields once; saving and loading follow from the list.

A `Setting` is an argument of the constructor; all other fields are state, which a loaded file puts
into a fresh object. The order of the list is that of the header, so that equal objects give equal
files.
"""

from __future__ import annotations

import inspect
import operator
import os
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from noregret.arrays import as_number, as_whole
from noregret.component import Component
from noregret.files import store
from noregret.visible import Readable, shown

Header = dict[str, Any]
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Field:
    """One entry of a file, a plain JSON value in the header under `name`.

    at: the attribute that it is stored from, dotted if it is inside another one [default: _name].
    """

    name: str
    at: str = ""

    def get(self, owner: Any) -> Any:
        """Return the value of the attribute."""
        return operator.attrgetter(self.at or f"_{self.name}")(owner)

    def set(self, owner: Any, value: Any) -> None:
        """Set the attribute."""
        path, _, last = (self.at or f"_{self.name}").rpartition(".")
        setattr(operator.attrgetter(path)(owner) if path else owner, last, value)

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the field in the header or the arrays of a file."""
        header[self.name] = self.get(owner)

    def arguments(self, header: Header, arrays: Arrays) -> Header:
        """Return the arguments of the constructor that the field gives: none for state."""
        return {}

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Put the field of a file into a fresh object, or refuse it."""
        self.set(owner, header[self.name])


@dataclass(frozen=True)
class Setting(Field):
    """An argument of the constructor, read from the attribute `at` [default: name].

    of: the base class of a component, such as a loss; None for plain values [default: None].
    keyword: the name of the argument if it is not that of the field [default: name].
    """

    of: type[Component] | None = None
    keyword: str = ""

    def get(self, owner: Any) -> Any:
        """Return the value of the argument."""
        return operator.attrgetter(self.at or self.name)(owner)

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the argument in the header."""
        value = self.get(owner)
        header[self.name] = store.component_to_header(value) if self._is_part(value) else value

    def arguments(self, header: Header, arrays: Arrays) -> Header:
        """Return the argument of the constructor; this checks plain values."""
        value = header[self.name]
        if self._is_part(value):
            value = store.component_from_header(value, self.of)  # type: ignore[arg-type]
        return {self.keyword or self.name: value}

    def _is_part(self, value: Any) -> bool:
        # An optional component, such as a domain, may be None.
        return self.of is not None and value is not None

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Do nothing: the constructor received the argument."""


class Count(Field):
    """A whole number from 0 to 2^53 in the header."""

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Check and set the count."""
        self.set(owner, as_whole(self.name, header[self.name], least=0))


class Number(Field):
    """A finite number in the header."""

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Check and set the number."""
        self.set(owner, as_number(self.name, header[self.name]))


class Numbers(Field):
    """A dictionary of finite numbers in the header, with the keys of a fresh object."""

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Check and set the numbers."""
        self.set(owner, {key: as_number(key, header[self.name][key]) for key in self.get(owner)})


class Random(Field):
    """The state of a random generator on PCG64 in the header."""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the state of the generator."""
        header[self.name] = dict(self.get(owner).bit_generator.state)

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Set a generator that goes on from that state."""
        bits = np.random.PCG64(0)
        bits.state = header[self.name]
        self.set(owner, np.random.Generator(bits))


@dataclass(frozen=True)
class Array(Field):
    """An array with the shape and the type that it has in a fresh object.

    unbounded: allow infinities [default: False].
    missing: allow infinities and NaN, which stands for an unknown number [default: False].
    words: the error for another shape or type, {0} the object [default: names both shapes].
    """

    unbounded: bool = False
    missing: bool = False
    words: str = ""

    def write(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Enter the array."""
        arrays[self.name] = self.get(owner)

    def read(self, owner: Any, header: Header, arrays: Arrays) -> None:
        """Copy the array into the one of the fresh object."""
        kept, given = self.get(owner), arrays[self.name]
        if given.shape != kept.shape or given.dtype != kept.dtype:
            shapes = f"{given.shape} of {given.dtype}, expected {kept.shape} of {kept.dtype}"
            raise ValueError(self.words.format(owner) or f"{self.name} has shape {shapes}")
        odd = np.isnan(given) if self.unbounded else ~np.isfinite(given)
        if odd.any() and not self.missing:
            found = "NaN" if np.isnan(given).any() else "infinities"
            raise ValueError(f"{self.name} holds {found}, expected numbers")
        kept[...] = given


Fields = tuple[Field, ...]


class Saved(Readable):
    """Base of objects that a model file stores, by the list `_FIELDS`.

    >>> import tempfile
    >>> class Counter(Saved):
    ...     _KIND, _FIELDS = "game", (Setting("step"), Count("total"))
    ...     def __init__(self, step):
    ...         self.step, self._total = step, 0
    >>> counter = Counter(3)
    >>> counter._total = 9
    >>> counter._to_file()
    ({'game': 'Counter', 'step': 3, 'total': 9}, {})
    >>> Counter._from_file(*counter._to_file())._total
    9
    """

    #: The key of the header that names the class: "game", "bandit" or "learner".
    _KIND: ClassVar[str]
    _FIELDS: ClassVar[Fields]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the object to a file, atomically; `nr.load` resumes it to the bit."""
        store.write(path, *self._to_file())

    def _made(self) -> str:
        """Return the settings that are not the defaults, in the order of the constructor."""
        fields = [field for field in self._FIELDS if isinstance(field, Setting)]
        given = {field.keyword or field.name: field.get(self) for field in fields}
        parts = []
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = given.get(name, parameter.default)
            # An array has no single truth value to compare by.
            if value is not parameter.default and not (
                np.isscalar(value) and value == parameter.default
            ):
                parts.append(
                    shown(value) if isinstance(value, Component) else f"{name}={shown(value)}"
                )
        return ", ".join(parts)

    def _to_file(self) -> tuple[Header, Arrays]:
        """Return the header and the arrays of a file."""
        header: Header = {self._KIND: type(self).__name__}
        arrays: Arrays = {}
        for field in self._FIELDS:
            field.write(self, header, arrays)
        return header, arrays

    @classmethod
    def _from_file(cls, header: Header, arrays: Arrays) -> Self:
        """Return the object that `_to_file` described, or refuse invalid fields."""
        arguments: Header = {}
        for field in cls._FIELDS:
            arguments |= field.arguments(header, arrays)
        made = cls(**arguments)
        for field in cls._FIELDS:
            field.read(made, header, arrays)
        made._check_loaded()
        return made

    def _check_loaded(self) -> None:
        """Refuse fields that are valid one by one but not together."""
