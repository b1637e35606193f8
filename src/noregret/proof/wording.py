"""The words of a certificate: what is summed, for which class, and what is taken on trust.

Heading, class line, bounds and JSON of a certificate name one objective: the quantity whose sum
over the rounds the loss, the floor and the regret are about.

A certificate is true if value, slope, intercept and conjugate of a loss belong to one convex
function. For built-in losses that is proved and tested; a user's own loss promises it. Each round
checks these promises with one more value; what it cannot check is named as an assumption.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from noregret.component import Component
from noregret.proof.curves import curved_floor
from noregret.proof.ledger import Promise
from noregret.proof.statement import PARABOLAS, at_least, at_most, finite, measured, row
from noregret.rounding import down, exact, up

_WORDS: dict[float, str] = {
    Promise.NONNEGATIVE: "values >= 0",
    Promise.LIPSCHITZ: "slopes of at most lipschitz()",
    Promise.CONVEX: "convexity",
    Promise.INTERCEPT: "an intercept not above value - slope * p",
    Promise.CONJUGATE: "its conjugate",
}


@dataclass(frozen=True)
class Broken:
    """A promise that a loss broke, and the first round that showed it.

    >>> str(Broken("Wavy", 17, "convexity"))
    'Wavy broke its promise of convexity in round 17'
    """

    loss: str
    round: int
    promise: str

    def __str__(self) -> str:
        return f"{self.loss} broke its promise of {self.promise} in round {self.round:,}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return dict(vars(self))


class WrongConjugate(ValueError):
    """A dual value above a primal one: the given conjugate is not that of the loss."""


def broken_in(loss: Any, rounds: float, which: float) -> Broken | None:
    """Return the promise `which` that a loss broke in a round, None where the round is 0.

    >>> from noregret.losses import Hinge
    >>> str(broken_in(Hinge(), 3.0, float(Promise.CONVEX)))
    'Hinge broke its promise of convexity in round 3'
    """
    if not rounds > 0.0:
        return None
    return Broken(type(loss.promising()).__name__, int(rounds), _WORDS.get(which, "convexity"))


def assumption_of(loss: Any, conjugate: bool = False) -> str | None:
    """Return what a user's own loss is trusted for, None for built-in losses.

    conjugate: whether its conjugate is used, too [default: False].

    >>> from noregret.losses import Hinge
    >>> assumption_of(Hinge()) is None
    True
    """
    loss = loss.promising()
    if not loss.foreign:
        return None
    steepest = loss.lipschitz()
    promises = {
        "to be convex": True,
        "never to be negative": loss.nonnegative,
        f"to have slopes of at most {exact(steepest)}": steepest < float("inf"),
        "to have the conjugate it gives": conjugate,
    }
    words = listed([promise for promise, given in promises.items() if given])
    return f"{type(loss).__name__} is taken at its word {words}"


def listed(words: list[str]) -> str:
    """Return words as a list in a sentence.

    >>> listed(["to be convex", "never to be negative", "to be right"])
    'to be convex, never to be negative and to be right'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def named(component: Component) -> str:
    """Return the name of a loss or map with the parameters that differ from their defaults.

    >>> from noregret import losses
    >>> named(losses.Hinge()), named(losses.Hinge(0.5)), named(losses.OneAgainstRest())
    ('Hinge', 'Hinge(margin=0.5)', 'OneAgainstRest(Logistic)')
    """
    fields: Any = getattr(component, "__dataclass_fields__", {})
    parts = []
    for name, value in component.fields().items():
        if isinstance(value, Component):
            parts.append(named(value))
        elif value != fields[name].default:
            parts.append(f"{name}={exact(value) if isinstance(value, float) else value}")
    kind = type(component).__name__
    return f"{kind}({', '.join(parts)})" if parts else kind


def weighted(loss: str, least: float, most: float) -> str:
    """Return what an example adds to a sum of losses, in words.

    Args:
        loss: the loss in words.
        least: the smallest example weight, from 0.
        most: the largest.

    >>> weighted("Hinge", 1.0, 1.0), weighted("Hinge", 100.0, 100.0)
    ('Hinge', '100 x Hinge')
    >>> weighted("Hinge", 0.5, 20.0)
    'weight x Hinge (weights 0.5 to 20)'
    """
    if least == most:
        # Print all digits: another factor would name another sum.
        return loss if least == 1.0 else f"{exact(least)} x {loss}"
    return f"weight x {loss} (weights {down(least)} to {up(most)})"


def objective_words(
    loss: str,
    sigma: float = 0.0,
    predictor: str = "u",
    passes: tuple[int, int] = (1, 1),
    weights: tuple[float, float] = (1.0, 1.0),
) -> str:
    """Return what a round adds to the sums of a certificate, in words.

    `loss` is the loss of an example, `sigma` the factor of the penalty (sigma/2)||u||_2^2 that
    every round carries (0: none), `predictor` the letter of a comparator, `passes` how often an
    example was learnt at least and at most, `weights` the smallest and the largest example weight.

    >>> objective_words("Hinge"), objective_words("Hinge", 0.5, passes=(3, 3))
    ('Hinge', 'Hinge + (0.5/2)||u||_2^2 a round, over 3 passes')
    >>> objective_words("Hinge", passes=(1, 3))
    'Hinge, over 1 to 3 passes'
    >>> objective_words("Hinge", weights=(2.0, 2.0)), objective_words("Hinge", weights=(0.5, 2.0))
    ('2 x Hinge', 'weight x Hinge (weights 0.5 to 2)')
    """
    words = weighted(loss, *weights)
    if sigma > 0.0:
        words += f" + ({exact(sigma)}/2)||{predictor}||_2^2 a round"
    least, most = passes
    if most > 1:
        words += (
            f", over {most:,} passes" if least == most else f", over {least:,} to {most:,} passes"
        )
    return words


def loss_lines(certificate: Any) -> list[str]:
    """Return the lines of the learner's loss, and of its mistakes for signs or classes."""
    rounds, penalised = certificate.rounds, certificate.curvature > 0.0
    lines = [measured(f"learner's {'penalised ' * penalised}loss", certificate.loss, rounds)]
    if penalised:
        name, note = "learner's plain loss", ", without the penalty"
        lines.append(measured(name, certificate.plain_loss, rounds, note))
    if certificate.loss_function.labels != "real":
        part = f"{certificate.mistakes / max(rounds, 1):.2%}"
        uneven = certificate.example_weights != (1.0, 1.0)
        note = f"{part}{' of the rounds, not weighted' * uneven}"
        lines.append(row("mistakes", f"{certificate.mistakes:,}", note))
    return lines


def floor_and_origin(certificate: Any, radius: float | None) -> tuple[float, str]:
    """Return the largest floor, and which one it is in words if there are several."""
    floors = certificate.floors(radius)
    origin, floor = max(floors.items(), key=lambda one: one[1])
    if origin == PARABOLAS:
        return floor, f", by {origin}{_reaching(curved_floor(certificate, radius)[1])}"
    return floor, f", by lines at {origin}" if len(floors) > 1 else ""


def floor_lines(certificate: Any, radius: float | None, words: str) -> list[str]:
    """Return the floor, the class that it is about in words, and the regret that it proves."""
    regret = certificate.regret_bound(radius)
    floor, note = floor_and_origin(certificate, radius)
    return [
        at_least("certified floor", floor, certificate.rounds, note),
        f"    {words}",
        at_most("regret at most", regret, certificate.rounds),
    ]


def _reaching(radius: float) -> str:
    """Return the radius that parabolas were made for in words, nothing if it is any."""
    return "" if radius == math.inf else f" of radius {exact(radius)}"


def assumption_lines(certificate: Any) -> list[str]:
    """Return the line of the assumption, if there is one."""
    return [f"  assumption: {certificate.assumption}"] if certificate.assumption else []


def bound_lines(certificate: Any, radius: float | None, letter: str = "u") -> list[str]:
    """Return the lines of the theorems about a class, and of the meaning of L(u)."""
    bounds = certificate.bounds_for(radius)
    lines = [f"  {bound}".replace("L(u)", f"L({letter})") for bound in bounds]
    if any(bound.applies for bound in bounds):
        lines.append(f"    L({letter}): what such a {letter} lost by {certificate.objective}")
    return lines


def certificate_dict(certificate: Any, radius: float | None) -> dict[str, Any]:
    """Return a certificate as plain numbers, ready for JSON.

    `loss`, `floor`, `regret_bound` and `bounds` are about `objective`; `plain_loss` is the loss
    without a penalty. `radius` is None where the class is not a ball, `floor` and `regret_bound`
    where they are infinite.
    """
    result: dict[str, Any] = {
        "rounds": certificate.rounds,
        "objective": certificate.objective,
        "example_weights": list(certificate.example_weights),
        "mistakes": certificate.mistakes,
        "loss": certificate.loss,
        "average_loss": certificate.average_loss,
        "plain_loss": certificate.plain_loss,
        "radius": radius if radius is not None else certificate.class_radius,
        "rounding_slack": certificate.slack,
        "assumption": certificate.assumption,
    }
    if certificate.broken is not None:
        nothing: dict[str, Any] = {"floor": None, "regret_bound": None, "bounds": []}
        return result | nothing | {"broken": certificate.broken.as_dict()}
    if radius is not None or certificate.radius is not None:
        result["class"] = certificate.describe(radius)
        result["floor"] = finite(certificate.floor(radius))
        floors = certificate.floors(radius)
        if len(floors) > 1:
            result["floors"] = {origin: finite(floor) for origin, floor in floors.items()}
        result["regret_bound"] = finite(certificate.regret_bound(radius))
        result["bounds"] = [bound.as_dict() for bound in certificate.bounds_for(radius)]
    return result
