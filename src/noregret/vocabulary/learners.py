"""The names of losses, maps, rates and learners on the command line, and what they stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from noregret.experts import Aggregate
    from noregret.learners import DualAscent, MatrixDescent, MirrorDescent
    from noregret.losses import Loss, ScoreLoss
    from noregret.mirrors import Mirror
    from noregret.rates import Rate

    Learner: TypeAlias = MirrorDescent | MatrixDescent | DualAscent | Aggregate

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
#: Losses of several classes; `one-against-rest` may be followed by a loss of two.
ONE_AGAINST_REST = "one-against-rest"
#: Lost least on what was tried, and its floors say most.
SOFTMAX = "softmax"
_SEVERAL: _Names = {
    SOFTMAX: ("Softmax", None),
    ONE_AGAINST_REST: ("OneAgainstRest", "loss"),
    "multiclass-hinge": ("MulticlassHinge", "margin"),
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
    "coin-betting": ("CoinBetting", None),
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
#: Not one rate but many, each with a learner of its own.
GRID = "grid"
ASCENTS = ("exact", "aggressive", "conservative", "window", "mini", "leader")
#: What several classes go with.
_OF_SEVERAL = {
    "mirror": ("euclidean", "ball", "p-norm"),
    "rate": ("scale-free", "constant", "inverse-sqrt", "adaptive"),
    "update": ("descent", "mistakes"),
}
RATE = "scale-free"


def names(table: str) -> str:
    """Return the names of one table as a help text lists them.

    >>> names("rate")
    ... # doctest: +NORMALIZE_WHITESPACE
    'scale-free, coin-betting, constant, inverse-sqrt, adaptive, per-coordinate, strongly-convex,
     doubling, grid'
    """
    if table == "rate":
        return ", ".join([*_RATES, GRID])
    return ", ".join(
        f"{name}[:{parameter.upper()}]" if parameter else name
        for name, (_, parameter) in _TABLES[table].items()
    )


_TABLES: Mapping[str, _Names] = {
    "loss": _LOSSES,
    "several": _SEVERAL,
    "mirror": _MIRRORS,
    "rate": _RATES,
}
_OF_CLASSES = 6
LOSS_HELP = (
    f"Of two classes: {', '.join(names('loss').split(', ')[:_OF_CLASSES])}. "
    f"Of numbers: {', '.join(names('loss').split(', ')[_OF_CLASSES:])}. Logistic by default."
)
SEVERAL_HELP = (
    f"{LOSS_HELP} Of several classes: {names('several')}; softmax by default with --multiclass."
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


def is_several(text: str) -> bool:
    """Return whether a loss is one of several classes."""
    return text.partition(":")[0] in _SEVERAL


def of_several(text: str | None) -> str:
    """Return the loss of several classes that a loss of two stands for.

    >>> of_several(None), of_several("hinge:2"), of_several("softmax")
    ('softmax', 'one-against-rest:hinge:2', 'softmax')
    """
    if text is None or is_several(text):
        return text or SOFTMAX
    if make_loss(text).labels != "sign":
        raise ValueError(f"--multiclass: {text} is a loss of numbers, expected one of classes")
    return f"{ONE_AGAINST_REST}:{text}"


def any_loss(text: str) -> Loss | ScoreLoss:
    """Return the loss of a name, be it of several classes."""
    if not is_several(text):
        return make_loss(text)
    from noregret import losses

    name, _, inner = text.partition(":")
    if name == ONE_AGAINST_REST:
        if is_several(inner):
            raise ValueError(f"--loss {text}: expected a loss of two classes after the colon")
        return losses.OneAgainstRest(make_loss(inner or "logistic"))
    _, class_name, parameters = _lookup("several", text)
    loss: ScoreLoss = getattr(losses, class_name)(**parameters)
    return loss


def make_loss(text: str) -> Loss:
    """Return the loss of a name, as in `hinge` or `quantile:0.9`."""
    from noregret import losses

    if is_several(text):
        raise ValueError(f"--loss {text}: several classes are for `learn` and `compare` only")
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
    #: How many classes there are from the beginning; others may join.
    classes: int = 0

    def make(self) -> Learner:
        """Return a fresh learner, or say in one line what does not go together."""
        if is_several(self.loss):
            return self._matrix()
        loss = make_loss(self.loss)
        if self.classes:
            raise ValueError(f"--classes: belongs to several classes, and {self.loss} is of two")
        if self.update in ASCENTS:
            return self._ascent(loss)
        if self.update not in DESCENTS:
            known = ", ".join(DESCENTS + ASCENTS)
            raise ValueError(f"--update {self.update}: expected one of {known}")
        for option, value in (("-C", self.C), ("-k", self.k)):
            if value is not None:
                raise ValueError(f"{option} belongs to the updates {', '.join(ASCENTS)}")
        if self.rate == GRID:
            return self._grid(loss)
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

    def _matrix(self) -> MatrixDescent:
        """Return a learner of several classes, as many as will appear."""
        rate = self.rate or self._rate()
        chosen = {"mirror": self.mirror.partition(":")[0], "rate": rate, "update": self.update}
        for option, value in chosen.items():
            if value not in _OF_SEVERAL[option]:
                known = ", ".join(_OF_SEVERAL[option])
                raise ValueError(f"--{option} {value}: several classes take one of {known}")
        for option, said in (("-C", self.C), ("-k", self.k), ("--average", self.average or None)):
            if said is not None:
                raise ValueError(f"{option}: belongs to learners of two classes or of numbers")
        if self.classes < 0:
            raise ValueError(f"--classes {self.classes}: expected a number above 0")
        from noregret.learners import MatrixDescent

        return MatrixDescent(
            any_loss(self.loss),  # type: ignore[arg-type]
            make_mirror(self.mirror, self.radius),
            make_rate(rate, self.eta),
            outputs=self.classes or None,
            dimension=self.features or None,
            conservative=self.update == "mistakes",
        )

    def _grid(self, loss: Loss) -> Aggregate:
        if self.update != "descent" or self.average:
            raise ValueError(f"--rate {GRID} belongs to --update descent, and keeps no average")
        if self.eta is not None:
            raise ValueError(f"--rate {GRID} has nothing to tune: drop --eta")
        from noregret.experts import rate_grid

        return rate_grid(loss, make_mirror(self.mirror, self.radius), dimension=self._dimension())

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
