"""The names of losses, maps, rates and learners on the command line, and what they stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from noregret.learners import DualAscent, MirrorDescent
    from noregret.losses import Loss
    from noregret.mirrors import Mirror
    from noregret.rates import Rate

# name: (class, its parameter that may follow a colon or None)
_Names: TypeAlias = Mapping[str, tuple[str, str | None]]
_LOSSES: _Names = {
    "logistic": ("Logistic", None),
    "hinge": ("Hinge", "margin"),
    "squared-hinge": ("SquaredHinge", "margin"),
    "power-hinge": ("PowerHinge", "r"),
    "one-sided-huber": ("OneSidedHuber", "margin"),
    "exponential": ("Exponential", None),
    "squared": ("Squared", None),
    "absolute": ("Absolute", None),
    "huber": ("Huber", "delta"),
    "quantile": ("Quantile", "level"),
    "epsilon-insensitive": ("EpsilonInsensitive", "epsilon"),
    "squared-epsilon-insensitive": ("SquaredEpsilonInsensitive", "epsilon"),
    "negative-log": ("NegativeLog", None),
}
_MIRRORS: _Names = {
    "euclidean": ("Euclidean", None),
    "ball": ("Ball", None),
    "p-norm": ("PNorm", "p"),
    "power": ("Power", "p"),
    "entropy": ("Entropy", None),
    "unnormalized-entropy": ("UnnormalizedEntropy", "start"),
    "signed-entropy": ("SignedEntropy", None),
    "hypentropy": ("Hypentropy", "beta"),
    "soft-threshold": ("SoftThreshold", "l1"),
    "elastic-net": ("ElasticNet", "l1"),
}
_RATES: _Names = {
    "scale-free": ("ScaleFree", None),
    "constant": ("Constant", "eta"),
    "inverse-sqrt": ("InverseSqrt", "eta"),
    "adaptive": ("Adaptive", "scale"),
    "per-coordinate": ("PerCoordinate", "scale"),
    "strongly-convex": ("StronglyConvex", "sigma"),
    "doubling": ("Doubling", "eta"),
}
#: Maps whose weights are not 0 before anything is learnt.
_WIDE = ("entropy", "unnormalized-entropy", "signed-entropy")
_SIZES = {"ball": "radius", "entropy": "scale", "signed-entropy": "radius"}
#: Maps that say nothing without a parameter.
_NEEDED = {"p-norm": "4", "power": "1.5"}

#: Updates of `MirrorDescent`, then those of `DualAscent`.
DESCENTS = ("descent", "agile", "mistakes")
ASCENTS = ("exact", "aggressive", "conservative", "window", "mini", "leader")
RATE = "scale-free"


def names(table: str) -> str:
    """Return the names of one table as a help text lists them.

    >>> names("rate")
    'scale-free, constant, inverse-sqrt, adaptive, per-coordinate, strongly-convex, doubling'
    """
    return ", ".join(
        f"{name}[:{parameter.upper()}]" if parameter and table != "rate" else name
        for name, (_, parameter) in _TABLES[table].items()
    )


_TABLES: Mapping[str, _Names] = {"loss": _LOSSES, "mirror": _MIRRORS, "rate": _RATES}
_OF_CLASSES = 6
LOSS_HELP = (
    f"Of classes: {', '.join(names('loss').split(', ')[:_OF_CLASSES])}. "
    f"Of numbers: {', '.join(names('loss').split(', ')[_OF_CLASSES:])}. Logistic unless told."
)


def _lookup(table: str, text: str) -> tuple[str, str, dict[str, float]]:
    """Return name, class name and parameters of `NAME` or `NAME:VALUE`."""
    name, colon, value = text.partition(":")
    if name not in _TABLES[table]:
        raise ValueError(f"--{table} {text}: expected one of {names(table)}")
    class_name, parameter = _TABLES[table][name]
    if not colon:
        return name, class_name, {}
    if parameter is None or table == "rate":
        raise ValueError(f"--{table} {text}: {name} takes nothing after a colon")
    try:
        return name, class_name, {parameter: float(value)}
    except ValueError:
        raise ValueError(
            f"--{table} {text}: expected a number for {parameter}, found {value!r}"
        ) from None


def make_loss(text: str) -> Loss:
    """Return the loss of a name, as in `hinge` or `quantile:0.9`."""
    from noregret import losses

    _, class_name, parameters = _lookup("loss", text)
    loss: Loss = getattr(losses, class_name)(**parameters)
    return loss


def make_mirror(text: str, radius: float | None) -> Mirror:
    """Return the mirror map of a name, as in `ball` with a radius or `p-norm:4`."""
    from noregret import mirrors

    name, class_name, parameters = _lookup("mirror", text)
    if radius is not None:
        if name not in _SIZES:
            raise ValueError(
                f"--radius belongs to the maps {', '.join(_SIZES)}, and {name} is unbounded; "
                "for the floor alone say --floor-radius"
            )
        parameters[_SIZES[name]] = radius
    elif name in ("ball", "signed-entropy"):
        raise ValueError(f"--mirror {name} needs --radius")
    elif name in _NEEDED and not parameters:
        raise ValueError(f"--mirror {name} needs its p, as in {name}:{_NEEDED[name]}")
    mirror: Mirror = getattr(mirrors, class_name)(**parameters)
    return mirror


def check_floor_radius(radius: float | None) -> None:
    """Refuse the size of a class that cannot be one."""
    if radius is not None and not 0.0 <= radius < math.inf:
        raise ValueError(f"--floor-radius must be a finite number >= 0, got {radius}")


def make_rate(text: str, size: float | None) -> Rate:
    """Return the rate of a name, with its eta or scale where one is given."""
    from noregret import rates

    name, class_name, _ = _lookup("rate", text)
    _, parameter = _RATES[name]
    if size is None:
        rate: Rate = getattr(rates, class_name)()
        return rate
    if parameter is None:
        raise ValueError(f"--rate {text} has nothing to tune: drop --eta, or choose another rate")
    scaled: Rate = getattr(rates, class_name)(**{parameter: size})
    return scaled


@dataclass(frozen=True)
class Spec:
    """A learner in the words of the command line."""

    loss: str = "logistic"
    mirror: str = "euclidean"
    radius: float | None = None
    rate: str | None = None
    eta: float | None = None
    update: str = "descent"
    C: float | None = None
    k: int | None = None
    features: int = 0
    #: Keep the average of all weights played, which takes twice the memory.
    average: bool = False

    def make(self) -> MirrorDescent | DualAscent:
        """Return a fresh learner, or say in one line what does not go together."""
        loss = make_loss(self.loss)
        if self.update in ASCENTS:
            return self._ascent(loss)
        if self.update not in DESCENTS:
            known = ", ".join(DESCENTS + ASCENTS)
            raise ValueError(f"--update {self.update}: expected one of {known}")
        for option, value in (("-C", self.C), ("-k", self.k)):
            if value is not None:
                raise ValueError(f"{option} belongs to the updates {', '.join(ASCENTS)}")
        from noregret.learners import MirrorDescent

        agile = self.update == "agile"
        bounded = agile and self.mirror == "ball"
        mirror = make_mirror(
            "euclidean" if bounded else self.mirror, None if bounded else self.radius
        )
        domain = None
        if bounded:
            from noregret import domains

            if self.radius is None:
                raise ValueError("--mirror ball needs --radius")
            domain = domains.Ball(self.radius)
        return MirrorDescent(
            loss,
            mirror,
            make_rate(self.rate or self._rate(), self.eta),
            domain,
            lazy=not agile,
            conservative=self.update == "mistakes",
            dimension=self._dimension(),
            averaging=self.average,
        )

    @property
    def needs_width(self) -> bool:
        """Whether the map gives weight to features before they occur."""
        return self.mirror.partition(":")[0] in _WIDE

    def _rate(self) -> str:
        """Return the rate of those who name none: the one that tunes itself, where it can."""
        plain = (self.mirror, self.update, self.eta, self.average)
        return RATE if plain == ("euclidean", "descent", None, False) else "adaptive"

    def _ascent(self, loss: Loss) -> DualAscent:
        if self.average:
            raise ValueError(f"--average: update {self.update} keeps no average of its weights")
        if self.rate is not None or self.eta is not None:
            raise ValueError(f"--update {self.update} has no rate: its steps follow from -C")
        from noregret.learners import DualAscent

        mirror = make_mirror(self.mirror, self.radius)
        return DualAscent(
            loss,
            mirror,
            1.0 if self.C is None else self.C,
            self.update,
            1 if self.k is None else self.k,
            dimension=self._dimension(),
        )

    def _dimension(self) -> int | None:
        if self.needs_width and not self.features:
            raise ValueError(
                f"--mirror {self.mirror} needs --features, the number of features in advance"
            )
        return self.features or None

    def as_dict(self) -> dict[str, Any]:
        """Return what was chosen, without what was left at its default."""
        return {name: value for name, value in asdict(self).items() if value != _PLAIN[name]}


_PLAIN = asdict(Spec())

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
}


def parse_spec(text: str, loss: str, features: int = 0) -> Spec:
    """Return the learner that a text such as `pa:C=0.1` or `ball/adaptive:radius=10` names.

    NAME is one of the presets or MIRROR/RATE; options after the colon are those of `learn`.

    >>> parse_spec("ball/adaptive:radius=10", "hinge")
    ... # doctest: +NORMALIZE_WHITESPACE
    Spec(loss='hinge', mirror='ball', radius=10.0, rate='adaptive', eta=None, update='descent',
         C=None, k=None, features=0, average=False)
    """
    name, _, rest = text.partition(":")
    mirror, slash, rate = name.partition("/")
    if not slash and name not in PRESETS:
        raise ValueError(f"learner {text!r}: expected {', '.join(PRESETS)} or MIRROR/RATE")
    chosen: dict[str, Any] = {"mirror": mirror, "rate": rate} if slash else dict(PRESETS[name])
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
    return spec
