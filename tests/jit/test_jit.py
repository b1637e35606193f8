"""Components as arguments of kernels, and arithmetic that is strict unless told otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from noregret.component import Component, field_kinds, reassociable
from noregret.jit import axpy2, kernel

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Let no test see the user's cache or another test's."""
    monkeypatch.setenv("NOREGRET_CACHE_DIR", str(tmp_path / "cache"))


# --- components as arguments ----------------------------------------------------------------


def positive_part(v):
    return max(v, 0.0)


@dataclass(frozen=True)
class Base(Component):
    def value(self, y, p, scale=1.0):
        return scale * self._part(self.gap(y, p))

    def _part(self, v):
        return positive_part(v)


@dataclass(frozen=True)
class Margin(Base):
    margin: float = 1.0
    power: int = 1
    flipped: bool = False
    LIFT = 0.25

    def gap(self, y, p):
        gap = (self.margin - y * p) ** self.power
        return (-gap if self.flipped else gap) + self.LIFT


@dataclass(frozen=True)
class Plain(Base):
    def gap(self, y, p):
        return p - y


@dataclass(frozen=True)
class Narrow(Margin):
    def _part(self, v):
        return 10.0 * positive_part(v)


@dataclass(frozen=True)
class Limited(Component):
    radius: float | None = None

    def get(self):
        return self.radius


@kernel
def total(loss, y, p):
    result = 0.0
    for k in range(p.shape[0]):
        result += loss.value(y, p[k]) + loss.value(y, p[k], scale=2.0)
    return result


@kernel
def read_limit(limited):
    return limited.get()


P = np.linspace(-2.0, 2.0, 7)


@pytest.mark.parametrize(
    "loss", [Plain(), Margin(), Margin(0.5, 2, True), Narrow(1.5)], ids=lambda loss: repr(loss)
)
def test_compiled_equals_interpreted(loss):
    assert total(loss, 1.0, P) == pytest.approx(total.py_func(loss, 1.0, P), rel=1e-14)


def test_one_compilation_whatever_the_numbers_of_the_fields():
    for loss in (Margin(1), Margin(1.0), Margin(2.5, power=3.0), Margin(power=2, flipped=1)):
        total(loss, 1.0, P)
    assert sum(signature[0] is Margin._numba_type_ for signature in total.signatures) == 1


def test_a_subclass_does_not_pass_for_its_parent():
    assert Margin._numba_type_ is not Narrow._numba_type_
    assert total(Narrow(), 1.0, P) != total(Margin(), 1.0, P)


def test_none_in_a_field_is_refused_in_one_line():
    assert read_limit(Limited(2)) == 2.0
    with pytest.raises(TypeError, match=r"^Limited\.radius is None, but .* needs a number$"):
        read_limit(Limited())


def test_field_types_come_from_annotations_of_either_kind():
    assert field_kinds(Limited) == {"radius": (float, True)}
    evaluated = dataclass(frozen=True)(
        type("Evaluated", (Component,), {"__annotations__": {"a": float, "b": int | None}})
    )
    assert field_kinds(evaluated) == {"a": (float, False), "b": (int, True)}
    bad = dataclass(frozen=True)(
        type("Bad", (Component,), {"__annotations__": {"a": "list[float]"}})
    )
    with pytest.raises(TypeError, match=r"Bad\.a is annotated list\[float\]"):
        bad([1.0])


# --- arithmetic -----------------------------------------------------------------------------


@kernel
def two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@dataclass(frozen=True)
class Strict(Component):
    def fold(self, total, x):
        return total + x * x

    def error(self, a, b):
        s = a + b
        t = s - a
        return (a - (s - t)) + (b - t)


@dataclass(frozen=True)
class Loose(Component):
    @reassociable
    def fold(self, total, x):
        return total + x * x


@kernel(fast=True)
def errors_in_fast_kernel(strict, a, b):
    return two_sum(a, b)[1], strict.error(a, b)


@kernel(fast=True)
def squares(rule, x):
    total = 0.0
    for k in range(x.shape[0]):
        total = rule.fold(total, x[k])
    return total


def test_two_sum_keeps_its_error_inside_a_fast_kernel():
    a, b = 1.0, 2.0**-60
    assert errors_in_fast_kernel(Strict(), a, b) == (b, b)


def test_only_what_says_so_is_regrouped_inside_a_fast_kernel():
    rows = np.random.default_rng(0).standard_normal((8, 1001))
    in_order = [squares.py_func(Strict(), x) for x in rows]
    assert [squares(Strict(), x) for x in rows] == in_order
    # Regrouped sums differ in the last digits: the compiler would do it where it may.
    regrouped = [squares(Loose(), x) for x in rows]
    assert regrouped != in_order
    assert regrouped == pytest.approx(in_order, rel=1e-13)
    strict, loose = squares.inspect_llvm().values()
    assert "reassoc" not in strict
    assert "reassoc" in loose


@pytest.mark.parametrize("index", [np.uint32(1), np.uint64(2), np.int64(3), 0])
def test_axpy2(index):
    @kernel
    def apply(array, i, a, b, x):
        axpy2(array, i, a, b, x)

    compiled = np.arange(8.0).reshape(4, 2)
    interpreted = compiled.copy()
    for array, function in ((compiled, apply), (interpreted, apply.py_func)):
        function(array, index, 0.5, -3.0, 1.25)
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-15)
    assert np.flatnonzero(compiled[:, 0] != np.arange(0.0, 8.0, 2.0)) == [int(index)]


def test_axpy2_refuses_other_arrays():
    @kernel
    def apply(array):
        axpy2(array, 0, 1.0, 1.0, 1.0)

    with pytest.raises(Exception, match="axpy2 takes"):
        apply(np.zeros((3, 2), np.float32))


def test_an_inner_kernel_is_compiled_into_kernels_and_interpreted_from_python() -> None:
    @kernel(inner=True)
    def last(values):  # type: ignore[no-untyped-def]
        return values[values.shape[0] - 1]

    @kernel
    def twice_the_last(values):  # type: ignore[no-untyped-def]
        return 2.0 * last(values)

    values = np.array([1.0, 2.5])
    assert (last(values), twice_the_last(values)) == (2.5, 5.0)
