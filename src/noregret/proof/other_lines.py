"""Lines that do not touch at the predictions, beside those of a certificate that do.

Any lines below the losses of the same rounds prove a floor: that of a certificate is the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from noregret.arrays import Vector
from noregret.proof.certificate import Certificate
from noregret.proof.curves import of_ledger
from noregret.proof.evidence import Evidence
from noregret.proof.ledger import LINES
from noregret.proof.quadratic import Quadratic

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
    >>> from noregret.proof.ledger import Entry
    >>> proof = nr.certify([[1.0]], [2.0], [0.0], nr.losses.Squared())
    >>> tangent, one = proof.ledger.copy(), np.array([-2.0])
    >>> tangent[Entry.INTERCEPT] = 3.0  # (u - 2)^2 >= 3 - 2 u, with the same value at u = 1
    >>> round(proof.floor(1.0), 6), round(with_blocks(proof, tangent, one).floor(1.0), 6)
    (0.0, 1.0)
    """
    if not (np.all(np.isfinite(ledger[LINES])) and np.all(np.isfinite(gradient))):
        return certificate
    evidence = certificate.evidence if evidence is None else evidence
    lines = of_ledger(certificate, ledger, gradient, evidence)
    return replace(certificate, blocks=(*certificate.blocks, lines))


def with_curves(certificate: _Proof, curves: Sequence[Quadratic]) -> _Proof:
    """Return the certificate with the parabolas of all rounds, one sum for each radius.

    Sums that overflowed are left out.
    """
    return replace(certificate, curves=tuple(one for one in curves if one.sound()))
