"""Weights of both signs from learners whose weights are positive: doubled features.

A row x becomes x' = (U x, -U x); weights w' of sum 1 on it predict as w = U (w'+ - w'-) does on x,
and ||w||_1 <= U. Every w of that ball is reached: the reduction loses nothing.
Reference: Herbster and Warmuth, Tracking the Best Linear Predictor, section 5.1 speaks of features
-1 and +1, for which its theorems need it; Kivinen and Warmuth, Exponentiated Gradient versus
Gradient Descent, 1997 (EG+-).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from noregret.component import require_positive

Vector = npt.NDArray[np.float64]


def doubled_features(X: Any, radius: float = 1.0) -> Any:
    """Return the rows (U x, -U x) with U = radius, sparse if X is a scipy sparse matrix.

    >>> doubled_features([[-0.5]], 2.0)
    array([[-1.,  1.]])
    """
    require_positive("doubled_features: radius", radius)
    if hasattr(X, "tocsr"):
        import scipy.sparse

        scaled = radius * X.tocsr()
        return scipy.sparse.hstack([scaled, -scaled], format="csr")
    rows = np.atleast_2d(np.asarray(X, np.float64))
    return np.hstack([radius * rows, -radius * rows])


def folded_weights(weights: npt.ArrayLike, radius: float = 1.0) -> Vector:
    """Return the w = U (w'+ - w'-) that weights on doubled features stand for.

    >>> folded_weights([0.25, 0.75], 2.0)
    array([-1.])
    """
    both = np.asarray(weights, np.float64)
    if both.ndim != 1 or len(both) % 2:
        raise ValueError(f"weights must be one a doubled feature, got the shape {both.shape}")
    half = len(both) // 2
    return radius * (both[:half] - both[half:])
