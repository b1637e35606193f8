"""Mirror maps: each links the sum of the gradients to weights, in a geometry of its own."""

from noregret.mirrors.base import Mirror
from noregret.mirrors.entropies import Entropy, UnnormalizedEntropy
from noregret.mirrors.norms import Ball, Box, Euclidean, SoftThreshold
from noregret.mirrors.pnorm import PNorm
from noregret.mirrors.separable import ElasticNet, Power
from noregret.mirrors.two_sided import Hypentropy, SignedEntropy

#: Stands for "no upper end" where a box must be finite.
LARGEST_BOUND = 1e150

__all__ = [
    "LARGEST_BOUND",
    "Ball",
    "Box",
    "ElasticNet",
    "Entropy",
    "Euclidean",
    "Hypentropy",
    "Mirror",
    "PNorm",
    "Power",
    "SignedEntropy",
    "SoftThreshold",
    "UnnormalizedEntropy",
]
