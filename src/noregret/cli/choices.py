"""The names of losses, maps and rates on the command line, and the objects they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from noregret.losses import Loss
    from noregret.mirrors import Mirror
    from noregret.rates import Rate

# name: (class, its parameter that may follow a colon or None)
_Names: TypeAlias = Mapping[str, tuple[str, str | None]]
_LOSSES: _Names = {
    "logistic": ("Logistic", None),
    "hinge": ("Hinge", "margin"),
    "squared-hinge": ("SquaredHinge", "margin"),
    "squared": ("Squared", None),
    "absolute": ("Absolute", None),
    "huber": ("Huber", "delta"),
    "quantile": ("Quantile", "level"),
    "epsilon-insensitive": ("EpsilonInsensitive", "epsilon"),
}
_MIRRORS: _Names = {
    "euclidean": ("Euclidean", None),
    "ball": ("Ball", None),
    "p-norm": ("PNorm", "p"),
    "entropy": ("Entropy", None),
    "unnormalized-entropy": ("UnnormalizedEntropy", "start"),
    "signed-entropy": ("SignedEntropy", None),
    "soft-threshold": ("SoftThreshold", "l1"),
}
_RATES = {
    "constant": ("Constant", "eta"),
    "inverse-sqrt": ("InverseSqrt", "eta"),
    "adaptive": ("Adaptive", "scale"),
    "per-coordinate": ("PerCoordinate", "scale"),
}
_SIZES = {"ball": "radius", "entropy": "scale", "signed-entropy": "radius"}


def names(table: str) -> str:
    """Return the names of one table as a help text lists them.

    >>> names("rate")
    'constant, inverse-sqrt, adaptive, per-coordinate'
    """
    return ", ".join(
        f"{name}[:{parameter.upper()}]" if parameter and table != "rate" else name
        for name, (_, parameter) in _TABLES[table].items()
    )


_TABLES: Mapping[str, _Names] = {"loss": _LOSSES, "mirror": _MIRRORS, "rate": _RATES}


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
    elif name == "p-norm" and not parameters:
        raise ValueError("--mirror p-norm needs its p, as in p-norm:4")
    mirror: Mirror = getattr(mirrors, class_name)(**parameters)
    return mirror


def make_rate(text: str, size: float | None) -> Rate:
    """Return the rate of a name, with its eta or scale where one is given."""
    from noregret import rates

    name, class_name, _ = _lookup("rate", text)
    _, parameter = _RATES[name]
    rate: Rate = getattr(rates, class_name)(**({} if size is None else {parameter: size}))
    return rate


def needs_width(mirror: Mirror) -> bool:
    """Tell whether the map gives weight to features before they occur."""
    return type(mirror).__name__ in ("Entropy", "UnnormalizedEntropy", "SignedEntropy")
