"""What example weights do to the words of a statement: the sum of which losses it is about."""

from __future__ import annotations

from noregret.rounding.printed import down, up


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
        return loss if least == 1.0 else f"{f'{least!r}'.removesuffix('.0')} x {loss}"
    return f"weight x {loss} (weights {down(least)} to {up(most)})"
