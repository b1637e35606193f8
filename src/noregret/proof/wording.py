"""The words of a certificate: what is summed, for which class, and the numbers beside them.

Heading, class line, bounds and JSON of a certificate name one objective: the quantity whose sum
over the rounds the loss, the floor and the regret are about.
"""

from __future__ import annotations

from typing import Any

from noregret.component import Component
from noregret.proof.statement import at_least, at_most, measured, row
from noregret.rounding import down, exact, up


def named(component: Component) -> str:
    """Return the name of a loss or map with the parameters that are not the usual ones.

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
        # All digits: with another factor it would be another sum.
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
    """Return what the learner lost, and its mistakes where labels are signs or classes."""
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


def floor_lines(certificate: Any, radius: float | None, words: str) -> list[str]:
    """Return the floor, the class that it is about in words, and the regret that it proves."""
    floor, regret = certificate.floor(radius), certificate.regret_bound(radius)
    return [
        at_least("certified floor", floor, certificate.rounds),
        f"    {words}",
        at_most("proved regret", regret, certificate.rounds, ", at most"),
    ]


def assumption_lines(certificate: Any) -> list[str]:
    """Return what is taken on trust, if anything is."""
    return [f"  assumption: {certificate.assumption}"] if certificate.assumption else []


def bound_lines(certificate: Any, radius: float | None, letter: str = "u") -> list[str]:
    """Return the theorems about a class, and what the L(u) in them is."""
    bounds = certificate.bounds_for(radius)
    lines = [f"  {bound}".replace("L(u)", f"L({letter})") for bound in bounds]
    if any(bound.applies for bound in bounds):
        lines.append(f"    L({letter}): what such a {letter} lost by {certificate.objective}")
    return lines


def certificate_dict(certificate: Any, radius: float | None) -> dict[str, Any]:
    """Return a certificate as plain numbers, ready for JSON.

    `loss`, `floor`, `regret_bound` and `bounds` are about `objective`; `plain_loss` is the loss
    without a penalty. `radius` is None where the class is no ball.
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
        result["floor"] = certificate.floor(radius)
        result["regret_bound"] = certificate.regret_bound(radius)
        result["bounds"] = [bound.as_dict() for bound in certificate.bounds_for(radius)]
    return result
