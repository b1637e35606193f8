"""Learners named in one word, with options after a colon: `pa:C=0.1`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from noregret.arguments import ArgumentError, meant
from noregret.vocabulary.learners import Learner, Spec, of_several
from noregret.vocabulary.presets import PRESETS, PRESETS_OF_SEVERAL


def parse_spec(text: str, loss: str, features: int = 0, several: bool = False) -> Spec:
    """Return the learner that a text such as `pa:C=0.1` or `ball/adaptive:radius=10` names.

    NAME is one of the presets or MIRROR/RATE; options after the colon are those of `learn`. With
    `several` a loss of two classes stands for one of several.

    >>> parse_spec("ball/adaptive:radius=10", "hinge")
    ... # doctest: +NORMALIZE_WHITESPACE
    Spec(loss='hinge', mirror='ball', radius=10.0, rate='adaptive', eta=None, update='descent',
         C=None, k=None, features=0, average=False, classes=0, blocks=False,
         rowless=False)
    """
    name, _, rest = text.partition(":")
    mirror, slash, rate = name.partition("/")
    preset = name.lower().replace("_", "-")
    if not slash and preset not in PRESETS:
        reason = f"no such learner{meant(name, PRESETS)}, expected one or MIRROR/RATE"
        raise ArgumentError("learner", reason, text, "learner")
    chosen: dict[str, Any] = {"mirror": mirror, "rate": rate} if slash else dict(PRESETS[preset])
    if several:
        chosen |= PRESETS_OF_SEVERAL.get(preset, {})
    kinds = {field.name: str(field.type) for field in fields(Spec) if "bool" not in str(field.type)}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals or key not in kinds:
            raise ArgumentError(
                "learner",
                f"found {item!r}, expected KEY=VALUE with a key among {', '.join(kinds)}",
                text,
            )
        number = int if "int" in kinds[key] else float if "float" in kinds[key] else str
        try:
            chosen[key] = number(value)
        except ValueError:
            raise ArgumentError(
                "learner", f"expected a number for {key}, found {value!r}", text
            ) from None
    with _named(text):
        spec = Spec(**{"loss": loss, "features": features, **chosen})
        return replace(spec, loss=of_several(spec.loss)) if several else spec


def make(text: str, spec: Spec) -> Learner:
    """Return the learner of a text and what it was parsed to; errors name the text."""
    with _named(text):
        return spec.fresh()


@contextmanager
def _named(text: str) -> Iterator[None]:
    """Name the learner in errors about its parts."""
    try:
        yield
    except ArgumentError as error:
        raise ArgumentError("learner", f"{error.place}: {error.reason}", text, error.kind) from None
