"""Lines that do not touch at the predictions, beside those of a certificate that do.

Any lines below the losses of the same rounds prove a floor: that of a certificate is the largest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from noregret.arrays import Vector
from noregret.proof.certificate import Certificate
from noregret.proof.evidence import Evidence
from noregret.proof.ledger import Entry

#: What lines enter in a ledger.
LINES = [
    Entry.INTERCEPT,
    Entry.INTERCEPT_LOW,
    Entry.MAGNITUDE,
    Entry.TRAVEL,
    Entry.SCALED_TRAVEL,
]
_Proof = TypeVar("_Proof", bound=Certificate)


def with_blocks(
    certificate: _Proof, ledger: Vector, gradient: Vector, evidence: Evidence | None = None
) -> _Proof:
    """Return the certificate with lines at blocks of rows beside those it has.

    Args:
        certificate: that of the same rounds.
        ledger: INTERCEPT, MAGNITUDE and the travels of these lines.
        gradient: their Z.
        evidence: what belongs to that Z [default: that of the certificate].

    >>> import noregret as nr
    >>> proof = nr.certify([[1.0]], [2.0], [0.0], nr.losses.Squared())
    >>> tangent, one = proof.ledger.copy(), np.array([-2.0])
    >>> tangent[Entry.INTERCEPT] = 3.0  # (u - 2)^2 >= 3 - 2 u, with the same value at u = 1
    >>> round(proof.floor(1.0), 6), round(with_blocks(proof, tangent, one).floor(1.0), 6)
    (0.0, 1.0)
    """
    if not (np.all(np.isfinite(ledger[LINES])) and np.all(np.isfinite(gradient))):
        return certificate
    own = certificate.ledger.copy()
    own[LINES] = ledger[LINES]
    # Of the losses, which are the same, and of these lines.
    own[Entry.MAGNITUDE] += abs(certificate.ledger[Entry.MAGNITUDE])
    evidence = certificate.evidence if evidence is None else evidence
    lines = certificate.of_lines(ledger=own, gradient=gradient, evidence=evidence)
    return replace(certificate, blocks=(*certificate.blocks, lines))
