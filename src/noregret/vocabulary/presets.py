"""Learners named in one word, as `compare` and `warmup` take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from noregret.arguments import ArgumentError, meant
from noregret.vocabulary.learners import GRID, Learner, Spec, of_several
from noregret.vocabulary.words import Word, listed

#: Whose words are listed.
KINDS = ("loss", "mirror", "rate", "learner")
#: Learners by the names people know them by; what follows a colon overrides.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "ogd": {"rate": "constant", "eta": 0.1},
    "sgd": {"rate": "inverse-sqrt"},
    "adagrad": {"rate": "per-coordinate"},
    "perceptron": {"loss": "hinge", "rate": "constant", "update": "mistakes"},
    "pa": {"loss": "hinge", "update": "exact"},
    "pa2": {"loss": "squared-hinge", "update": "exact"},
    "leader": {"update": "leader"},
    "coin-betting": {"rate": "coin-betting"},
    "grid": {"rate": GRID},
    "softmax": {"loss": "softmax"},
    "one-against-rest": {"loss": "one-against-rest"},
    "multiclass-hinge": {"loss": "multiclass-hinge"},
}
#: Where the loss of several classes is another than that of two, one against the rest.
_OF_SEVERAL: Mapping[str, Mapping[str, Any]] = {"perceptron": {"loss": "multiclass-hinge"}}


def parse_spec(text: str, loss: str, features: int = 0, several: bool = False) -> Spec:
    """Return the learner that a text such as `pa:C=0.1` or `ball/adaptive:radius=10` names.

    NAME is one of the presets or MIRROR/RATE; options after the colon are those of `learn`. With
    `several` a loss of two classes stands for one of several.

    >>> parse_spec("ball/adaptive:radius=10", "hinge")
    ... # doctest: +NORMALIZE_WHITESPACE
    Spec(loss='hinge', mirror='ball', radius=10.0, rate='adaptive', eta=None, update='descent',
         C=None, k=None, features=0, average=False, classes=0)
    """
    name, _, rest = text.partition(":")
    mirror, slash, rate = name.partition("/")
    preset = name.lower().replace("_", "-")
    if not slash and preset not in PRESETS:
        reason = f"no such learner{meant(name, PRESETS)}, expected one or MIRROR/RATE"
        raise ArgumentError("learner", reason, text, "learner")
    chosen: dict[str, Any] = {"mirror": mirror, "rate": rate} if slash else dict(PRESETS[preset])
    if several:
        chosen |= _OF_SEVERAL.get(preset, {})
    kinds = {field.name: str(field.type) for field in fields(Spec) if field.name != "average"}
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


def words(kind: str) -> list[Word]:
    """Return the words of a kind, each with what may follow it and a line about it.

    Args:
        kind: "loss", "mirror", "rate" or "learner".

    >>> words("rate")[0].usage, words("rate")[0].about
    ('constant[:eta=1]', 'The constant rate eta, above 0 [default: 1].')
    """
    if kind not in KINDS:
        raise ArgumentError("kind", f"expected one of {', '.join(KINDS)}{meant(kind, KINDS)}", kind)
    if kind != "learner":
        return listed(kind)
    usual = {"loss": "logistic", "rate": "scale-free"}
    return [
        Word(name, name, ", ".join(f"{key} {value}" for key, value in (settings or usual).items()))
        for name, settings in PRESETS.items()
    ]


@contextmanager
def _named(text: str) -> Iterator[None]:
    """Name the learner in errors about its parts."""
    try:
        yield
    except ArgumentError as error:
        raise ArgumentError("learner", f"{error.place}: {error.reason}", text, error.kind) from None
