"""`ScaleFree` written down a feature at a time in plain Python.

It shares with the library the losses (which are tested on their own) and nothing else.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from noregret import losses

Vector = npt.NDArray[np.float64]


def reference(loss: losses.Loss, X: Vector, y: Vector, weight: Vector) -> Vector:
    """Return the predictions by the definition, a feature at a time."""
    d = X.shape[1]
    theta, G, m, v = ([0.0] * d for _ in range(4))
    S, A = [1.0, 0.5], [0.0, 0.0]
    mass = lengths = residuals = residual_mass = low = high = centre = 0.0
    real, lipschitz = loss.labels == "real", loss.lipschitz()
    c = 0.0 if real or lipschitz < math.inf else 1.0
    predictions = np.zeros(len(X))
    for t in range(len(X)):
        x, w = X[t].tolist(), float(weight[t])
        R = 1.0
        if real:
            R = math.sqrt(residuals / residual_mass) if residual_mass > 0.0 else 0.0
        if lipschitz < math.inf:
            c = max(c, w * lipschitz)
        size = [max(m[i], abs(x[i])) for i in range(d)]
        used = [i for i in range(d) if x[i] != 0.0]
        f = math.sqrt(mass / lengths) if lengths > 0.0 else 0.0
        q = [0.0, 0.0]
        for i in used:
            if G[i] > 0.0:
                q[0] += R * f * x[i] * theta[i] / (size[i] * math.sqrt(G[i] + (c * size[i]) ** 2))
            q[1] += R * f * x[i] * v[i] / size[i]
        p = S[0] * q[0] + S[1] * q[1]
        if real:
            p = min(max(p + centre, low), high)
        predictions[t] = p
        if w == 0.0:
            continue
        first, label = mass == 0.0, float(y[t])
        mass, m = mass + w, size
        lengths += w * sum((x[i] / m[i]) ** 2 for i in used)
        if real and first:
            low = high = centre = label
            continue
        unit, touch = 1.0, p
        if real:
            near = 5.0 * R if R > 0.0 else math.inf
            touch = min(max(p, label - near), label + near)
            unit = R * (loss.slope(label, label + R) - loss.slope(label, label - R)) / 4.0
            low, high = min(low, label), max(high, label)
            centre += w * min(max(label - centre, -near), near) / mass
            residuals += w * (touch - label) ** 2
            residual_mass += w
        g = w * loss.slope(label, touch)
        for j in range(2):
            z = g * S[j] * q[j] / unit if unit > 0.0 else 0.0
            A[j] = 0.99 * A[j] + z * z
            S[j] = min(max(S[j] * math.exp(-0.05 * z / math.sqrt(A[j] + 1.0)), 1e-3), 1e3)
        if not lipschitz < math.inf:
            c = max(c, abs(g))
        for i in used if g != 0.0 else []:
            z = g * x[i]
            theta[i], G[i] = theta[i] - z, G[i] + z * z
            v[i] -= z / math.sqrt(G[i])
    return predictions
