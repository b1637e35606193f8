"""Component classes as numba types: a struct of the fields, methods compiled when called."""

# Numba types its public face only, and differently in each version.
# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any
# mypy: disable-error-code="attr-defined,override,union-attr,arg-type"
from __future__ import annotations

import contextlib
import functools
import inspect
import types
from typing import Any

import numba
from numba.core import cgutils
from numba.core import types as nb
from numba.core.dispatcher import Dispatcher
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, register_model, unbox

from noregret.component import CompiledType, Component, field_kinds
from noregret.jit.fingerprint import Fingerprint
from noregret.jit.functions import FAST, INLINE, STRICT, UNCOUNTED, content_named, describe, teach

_NUMBERS = {float: nb.float64, int: nb.int64, bool: nb.boolean}


class ComponentType(nb.Type):
    """The numba type of a component class, equal only to itself."""

    def __init__(self, cls: type[Component], parts: dict[str, ComponentType]) -> None:
        self.cls = cls
        self.parts = tuple(parts.values())
        self.members = {
            name: parts.get(name) or _NUMBERS[kind] for name, (kind, _) in field_kinds(cls).items()
        }
        self.methods: dict[str, Dispatcher] = {}
        # Types and symbols of equal content bear one name in every process.
        names = [f"{cls.__qualname__}.{Fingerprint(describe).of(cls)[:16]}", *map(str, self.parts)]
        super().__init__(" of ".join(names))

    @property
    def key(self) -> tuple[Any, ...]:
        """Return the class and its parts, so that two classes of one name never meet."""
        return self.cls, self.parts

    def method(self, name: str) -> Dispatcher | None:
        """Return the compiled form of a method, None if the class has no such method."""
        function = inspect.getattr_static(self.cls, name, None)
        if not isinstance(function, types.FunctionType):
            return None
        if name not in self.methods:
            walk = Fingerprint(describe)
            digest = walk.of(function)
            teach([reached for reached in walk.functions if reached is not function])
            options = FAST if function.__dict__.get("reassociable") else STRICT
            if not getattr(self.cls, "counted", True):
                options = options | UNCOUNTED
            # Inlined whatever their size: a loop with a call in it is never vectorised.
            compiled = numba.njit(**(options | INLINE))
            self.methods[name] = compiled(content_named(function, digest))
            _lower_method(name)
        return self.methods[name]


#: Types of classes with components as fields: one for each combination of their types.
_composed: dict[tuple[Any, ...], ComponentType] = {}


def _component_type(cls: type[Component], instance: Component | None) -> ComponentType:
    kinds = {name: kind for name, (kind, _) in field_kinds(cls).items()}
    named = [name for name, kind in kinds.items() if issubclass(kind, Component)]
    if named:
        if instance is None:
            raise AttributeError(f"{cls.__name__} has no compiled type without its parts")
        parts = {name: getattr(instance, name)._numba_type_ for name in named}
        key = cls, *parts.values()
        if key not in _composed:
            _composed[key] = ComponentType(cls, parts)
        # From here on numba's C code finds it without a call.
        vars(instance)["_numba_type_"] = _composed[key]
        return _composed[key]
    made = ComponentType(cls, {})
    # From here on the attribute is found without a call: numba's C code looks it up.
    cls._numba_type_ = made
    return made


CompiledType.make = staticmethod(_component_type)


@register_model(ComponentType)
class _ComponentModel(models.StructModel):
    def __init__(self, manager: Any, component: ComponentType) -> None:
        super().__init__(manager, component, list(component.members.items()))


@unbox(ComponentType)
def _unbox_component(component: ComponentType, instance: Any, c: Any) -> NativeValue:
    struct = cgutils.create_struct_proxy(component)(c.context, c.builder)
    failed = cgutils.alloca_once_value(c.builder, cgutils.true_bit)
    with contextlib.ExitStack() as stack:
        for name, kind in component.members.items():
            if isinstance(kind, ComponentType) and not kind.members:
                # A component without fields: skip the look-up by name, which is slow.
                continue
            value = c.pyapi.object_getattr_string(instance, name)
            with cgutils.early_exit_if_null(c.builder, stack, value):
                pass
            missing = c.builder.icmp_unsigned("==", value, c.pyapi.borrow_none())
            with cgutils.early_exit_if(c.builder, stack, missing):
                c.pyapi.decref(value)
                c.pyapi.err_set_string(
                    "PyExc_TypeError",
                    f"{component.cls.__name__}.{name} is None, but a compiled pass needs a number",
                )
            native = c.unbox(kind, value)
            c.pyapi.decref(value)
            with cgutils.early_exit_if(c.builder, stack, native.is_error):
                pass
            setattr(struct, name, native.value)
        c.builder.store(cgutils.false_bit, failed)
    return NativeValue(struct._getvalue(), is_error=c.builder.load(failed))


@infer_getattr
class _ComponentAttribute(AttributeTemplate):
    key = ComponentType

    def generic_resolve(self, component: ComponentType, name: str) -> Any:
        if name in component.members:
            return component.members[name]
        method = component.method(name)
        if method is not None:
            return nb.BoundFunction(_method_template(name, nb.Dispatcher(method)), component)
        constant = inspect.getattr_static(component.cls, name, None)
        return _NUMBERS.get(type(constant))


def _method_template(name: str, method: nb.Dispatcher) -> Any:
    class MethodTemplate(AbstractTemplate):
        key = (ComponentType, name)

        def generic(self, args: Any, kws: Any) -> Any:
            return method.get_call_type(self.context, (self.this, *args), kws).as_method()

    return MethodTemplate


@lower_getattr_generic(ComponentType)
def _lower_attribute(context: Any, builder: Any, component: Any, value: Any, name: str) -> Any:
    if name in component.members:
        struct = cgutils.create_struct_proxy(component)(context, builder, value=value)
        return getattr(struct, name)
    constant = inspect.getattr_static(component.cls, name)
    return context.get_constant(_NUMBERS[type(constant)], constant)


@functools.cache
def _lower_method(name: str) -> None:
    @lower_builtin((ComponentType, name), ComponentType, nb.VarArg(nb.Any))
    def call_method(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        method = nb.Dispatcher(signature.args[0].methods[name])
        call = context.get_function(method, signature)
        context.add_linking_libs(getattr(call, "libs", ()))
        return call(builder, args)
