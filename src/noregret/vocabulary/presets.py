"""Learners named in one word, as `compare` and `warmup` take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from noregret.vocabulary.learners import GRID, Spec, of_several

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
    if not slash and name not in PRESETS:
        raise ValueError(f"learner {text!r}: expected {', '.join(PRESETS)} or MIRROR/RATE")
    chosen: dict[str, Any] = {"mirror": mirror, "rate": rate} if slash else dict(PRESETS[name])
    if several:
        chosen |= _OF_SEVERAL.get(name, {})
    spec = replace(Spec(loss=loss, features=features), **chosen)
    kinds = {field.name: str(field.type) for field in fields(Spec) if field.name != "average"}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals or key not in kinds:
            raise ValueError(
                f"learner {text!r}: found {item!r}, expected KEY=VALUE with a key among "
                f"{', '.join(kinds)}"
            )
        try:
            number = int if "int" in kinds[key] else float if "float" in kinds[key] else str
            chosen = {key: number(value)}
            spec = replace(spec, **chosen)
        except ValueError:
            raise ValueError(f"learner {text!r}: {key} expects a number, found {value!r}") from None
    return replace(spec, loss=of_several(spec.loss)) if several else spec
