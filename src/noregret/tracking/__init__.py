"""Following the best moving predictor, and proving that no fixed one will do.

Trackers themselves are learners of `nr.catalogue` (c_gd, c_egu, c_eg, ...); this package states
their bounds against moving comparators, proves drift, and has the kernel form.
"""

from noregret.tracking.drift import DriftProof, drift_proof
from noregret.tracking.hilbert import KernelDescent
from noregret.tracking.hilbert_certificate import KernelCertificate
from noregret.tracking.kernels import Gaussian, Linear, Polynomial
from noregret.tracking.lemmas import ShiftingBounds
from noregret.tracking.mixture import Tracker
from noregret.tracking.path import hindsight_path
from noregret.tracking.schedules import KernelSchedule, Schedule
from noregret.tracking.shifting import shifting_bounds, tuned_alpha

__all__ = [
    "DriftProof",
    "Gaussian",
    "KernelCertificate",
    "KernelDescent",
    "KernelSchedule",
    "Linear",
    "Polynomial",
    "Schedule",
    "ShiftingBounds",
    "Tracker",
    "drift_proof",
    "hindsight_path",
    "shifting_bounds",
    "tuned_alpha",
]
