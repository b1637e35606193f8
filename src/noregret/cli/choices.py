"""The names of losses, maps and rates on the command line, and the objects they stand for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noregret.losses import Loss
    from noregret.mirrors import Mirror
    from noregret.rates import Rate

# name: (class, its parameter that may follow a colon or None)
_LOSSES = {
    "logistic": ("Logistic", None),
    "hinge": ("Hinge", "margin"),
    "squared-hinge": ("SquaredHinge", "margin"),
    "squared": ("Squared", None),
    "absolute": ("Absolute", None),
    "huber": ("Huber", "delta"),
    "quantile": ("Quantile", "level"),
    "epsilon-insensitive": ("EpsilonInsensitive", "epsilon"),
}
_MIRRORS = {
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


_TABLES = {"loss": _LOSSES, "mirror": _MIRRORS, "rate": _RATES}


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
    parameter = _RATES[name][1]
    rate: Rate = getattr(rates, class_name)(**({} if size is None else {parameter: size}))
    return rate


def needs_width(mirror: Mirror) -> bool:
    """Tell whether the map gives weight to features before they occur."""
    return type(mirror).__name__ in ("Entropy", "UnnormalizedEntropy", "SignedEntropy")


def own_radius(mirror: Mirror) -> float | None:
    """Return the size of the set the map keeps its weights in, None if it has none."""
    size = getattr(mirror, "radius", getattr(mirror, "scale", None))
    return None if size is None else float(size)


def comparators(mirror: Mirror, radius: str) -> str:
    """Describe the set of predictors that the floor speaks of."""
    return {
        "2": f"‖u‖₂ ≤ {radius}",
        "1": f"‖u‖₁ ≤ {radius}",
        "q": f"‖u‖_{_exponent(mirror):.4g} ≤ {radius}",
        "simplex": f"u ≥ 0, Σu = {radius}",
        "subsimplex": f"u ≥ 0, Σu ≤ {radius}",
    }[mirror.geometry]


def size_of(mirror: Mirror, weights: NDArray[np.float64]) -> float:
    """Return the norm of weights that the map's floor is stated in."""
    import numpy as np

    return float(np.linalg.norm(weights, _exponent(mirror)))


def _exponent(mirror: Mirror) -> float:
    if mirror.geometry == "q":
        p = float(getattr(mirror, "p", math.nan))
        return p / (p - 1.0)
    return 2.0 if mirror.geometry == "2" else 1.0
