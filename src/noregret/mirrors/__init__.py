"""Mirror maps: each links the sum of the gradients to weights, in a geometry of its own."""

from noregret.mirrors.base import Mirror
from noregret.mirrors.entropies import Entropy, SignedEntropy, UnnormalizedEntropy
from noregret.mirrors.norms import Ball, Box, Euclidean, PNorm, SoftThreshold

#: Stands for "no upper end" where a box must be finite.
LARGEST_BOUND = 1e150

__all__ = [
    "LARGEST_BOUND",
    "Ball",
    "Box",
    "Entropy",
    "Euclidean",
    "Mirror",
    "PNorm",
    "SignedEntropy",
    "SoftThreshold",
    "UnnormalizedEntropy",
]
