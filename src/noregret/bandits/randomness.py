"""Random generators that can be put in a file and go on from there, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np


def generator(seed: int | np.random.Generator | None) -> np.random.Generator:
    """Return a generator of the kind that files hold.

    >>> generator(7).random() == generator(7).random()
    True
    """
    if isinstance(seed, np.random.Generator):
        if type(seed.bit_generator) is not np.random.PCG64:
            kind = type(seed.bit_generator).__name__
            raise ValueError(f"seed must be a number or a generator on PCG64, got one on {kind}")
        return seed
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise ValueError(f"seed must be a whole number, a generator or None, got {seed!r}")
    return np.random.Generator(np.random.PCG64(seed))


def generator_to_header(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator as a header keeps it."""
    return dict(rng.bit_generator.state)


def generator_from_header(state: dict[str, Any]) -> np.random.Generator:
    """Return the generator that `generator_to_header` described.

    >>> rng = generator(7)
    >>> generator_from_header(generator_to_header(rng)).random() == rng.random()
    True
    """
    bits = np.random.PCG64(0)
    bits.state = state  # type: ignore[assignment]
    return np.random.Generator(bits)
