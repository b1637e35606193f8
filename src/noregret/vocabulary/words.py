"""Words for losses, mirror maps and rates, derived from the public classes of the library.

A class has the word that its name spells in lower case, parted by hyphens: `SquaredHinge` is
"squared-hinge". Its fields follow a colon, by their names or the first one by its value alone:
"power-hinge:2,margin=0.5". Capitals, hyphens and underscores make no difference.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from noregret.arguments import ArgumentError, meant
from noregret.component import Component, field_kinds

#: Where the classes of a kind are.
_ROOMS: Mapping[str, str] = {
    "loss": "noregret.losses",
    "mirror": "noregret.mirrors",
    "rate": "noregret.rates",
}
#: What other libraries call them: scikit-learn, Vowpal Wabbit, River, PyTorch.
_ALIASES: Mapping[str, str] = {
    "log": "logistic",
    "log-loss": "logistic",
    "squared-error": "squared",
    "absolute-error": "absolute",
    "pinball": "quantile",
    "oaa": "one-against-rest",
    "one-vs-rest": "one-against-rest",
    "ovr": "one-against-rest",
    "multinomial": "softmax",
    "crammer-singer": "multiclass-hinge",
    "adagrad": "per-coordinate",
}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


class Word(NamedTuple):
    """A word, with what may follow it, and what it stands for in a line."""

    name: str
    usage: str
    about: str


def spec(text: str | Component, kind: str | None = None, argument: str | None = None) -> Any:
    """Return the loss, mirror map or rate that a word stands for.

    Args:
        text: a word, with parameters after a colon; a component is returned as it is.
        kind: "loss", "mirror" or "rate" [default: any of them].
        argument: what an error calls the argument [default: the kind, or "text"].

    >>> spec("hinge:0.5"), spec("Scale_Free"), spec("log_loss", kind="loss")
    (Hinge(margin=0.5), ScaleFree(), Logistic())
    >>> spec("power-hinge:2,margin=0.5"), spec("one-against-rest:hinge:2")
    (PowerHinge(r=2.0, margin=0.5), OneAgainstRest(loss=Hinge(margin=2.0)))
    >>> spec("logisitc", kind="loss")
    Traceback (most recent call last):
    noregret.arguments.ArgumentError: loss='logisitc': no such loss, did you mean logistic?; \
nr.words('loss') lists all
    """
    argument = argument or kind or "text"
    if kind is not None and kind not in _ROOMS:
        raise ArgumentError(
            "kind", f"expected one of {', '.join(_ROOMS)}{meant(kind, _ROOMS)}", kind
        )
    if not isinstance(text, str):
        return _of_kind(text, kind, argument)
    word, cls = find(text, kind, argument)
    try:
        return cls(**_parameters(word, cls, text.partition(":")[2]))
    except ArgumentError as error:
        raise ArgumentError(argument, error.reason, text, error.kind) from None
    except (TypeError, ValueError) as error:
        raise ArgumentError(argument, str(error), text) from None


def find(text: str, kind: str | None = None, argument: str = "text") -> tuple[str, type[Component]]:
    """Return the word that a text begins with, as we spell it, and its class.

    >>> find("Log_Loss"), find("p_norm:4")[0]
    (('logistic', <class 'noregret.losses.margins.Logistic'>), 'p-norm')
    """
    word, kinds = text.partition(":")[0], [kind] if kind else list(_ROOMS)
    found = [one for one in kinds if _key(word) in _spellings(one)]
    if len(found) == 1:
        ours = _spellings(found[0])[_key(word)]
        return ours, classes(found[0])[ours]
    if found:
        raise ArgumentError(argument, f"is a {' and a '.join(found)}: say which, as kind=", text)
    hint = meant(word, [known for one in kinds for known in _known(one)])
    raise ArgumentError(argument, f"no such {' or '.join(kinds)}{hint}", text, kind or "")


def spelt(text: str, kind: str) -> str:
    """Return a text with its word as we spell it.

    >>> spelt("P_Norm:4", "mirror"), spelt("ovr:log_loss", "loss")
    ('p-norm:4', 'one-against-rest:logistic')
    """
    word, cls = find(text, kind, kind)
    rest = text.partition(":")[2]
    if rest and _nested(cls):
        rest = spelt(rest, "loss")
    return f"{word}:{rest}" if rest else word


def first_field(cls: type[Component]) -> str:
    """Return the name of the field whose value follows the colon, '' for none."""
    return next(iter(field_kinds(cls)), "")


@cache
def classes(kind: str) -> dict[str, type[Component]]:
    """Return the classes of a kind by their words."""
    room = importlib.import_module(_ROOMS[kind])
    public = getattr(room, "__all__", None) or [name for name in vars(room) if name[0] != "_"]
    found = [cls for name in public if isinstance(cls := getattr(room, name), type)]
    # Bases of families are no dataclasses of their own.
    kinds: list[Any] = [cls for cls in found if "__dataclass_params__" in vars(cls)]
    return {spelling(cls): cls for cls in kinds}


def spelling(cls: type[Component]) -> str:
    """Return the word of a class.

    >>> from noregret.mirrors import PNorm
    >>> spelling(PNorm)
    'p-norm'
    """
    return re.sub(r"(?<=.)(?=[A-Z])", "-", cls.__name__).lower()


def listed(kind: str) -> list[Word]:
    """Return the words of a kind, each with the first line of its class's docstring."""
    return [
        Word(name, _usage(name, cls), inspect.getdoc(cls).partition("\n")[0])  # type: ignore[union-attr]
        for name, cls in classes(kind).items()
    ]


def _known(kind: str) -> dict[str, str]:
    """Return the words of a kind by all names that they have."""
    words = classes(kind)
    return {alias: word for alias, word in _ALIASES.items() if word in words} | {
        word: word for word in words
    }


@cache
def _spellings(kind: str) -> dict[str, str]:
    return {_key(name): word for name, word in _known(kind).items()}


def _key(word: str) -> str:
    return re.sub(r"[-_ ]", "", word).lower()


def _of_kind(value: Any, kind: str | None, argument: str) -> Any:
    from noregret.losses import Loss, ScoreLoss
    from noregret.mirrors import Mirror
    from noregret.rates import Rate

    bases = {"loss": (Loss, ScoreLoss), "mirror": (Mirror,), "rate": (Rate,), None: (Component,)}
    if not isinstance(value, bases[kind]):
        hint = " (did you forget the parentheses?)" if isinstance(value, type) else ""
        reason = f"expected a {kind or 'component'} or the word of one{hint}"
        raise ArgumentError(argument, reason, value, kind or "loss")
    return value


def _nested(cls: type[Component]) -> bool:
    """Tell whether a component follows the colon."""
    return any(issubclass(one, Component) for one, _ in field_kinds(cls).values())


def _parameters(word: str, cls: type[Component], text: str) -> dict[str, Any]:
    """Return the fields that the text after the colon names."""
    kinds, first, given = field_kinds(cls), first_field(cls), {}
    if text and not kinds:
        raise ArgumentError("", f"{word} takes nothing after a colon")
    if text and _nested(cls):
        return {first: spec(text, "loss")}
    for place, item in enumerate(text.split(",") if text else ()):
        name, equals, value = item.rpartition("=")
        name = name.strip().lower().replace("-", "_") if equals or place else first
        if name not in kinds:
            raise ArgumentError("", f"found {item!r}, expected {_usage(word, cls)}")
        given[name] = _number(name, value.strip(), kinds[name][0])
    return given


def _number(name: str, text: str, kind: type[Any]) -> Any:
    try:
        return _TRUTH[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        wanted = "true or false" if kind is bool else "a number"
        raise ArgumentError("", f"expected {wanted} for {name}, found {text!r}") from None


def _usage(word: str, cls: type[Component]) -> str:
    """Return a word with its parameters and their defaults, in brackets where all have one."""
    parts, needed = [], False
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        value = field.default
        needed |= value is dataclasses.MISSING
        if isinstance(value, Component):
            return f"{word}[:{spelling(type(value))}]"
        plain = f"{value:g}" if isinstance(value, float) else str(value).lower()
        known = value is not None and value is not dataclasses.MISSING
        parts.append(f"{field.name}={plain if known else field.name.upper()}")
    if not parts:
        return word
    return f"{word}:{','.join(parts)}" if needed else f"{word}[:{','.join(parts)}]"
