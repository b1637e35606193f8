"""The theorems about games, in terms of the recorded sums, each with its preconditions.

For lazy games with non-increasing rates, regret(u) <= (R(u) - R(w_1)) / eta_T + sum_t D_t, with
D_t the divergence of the conjugate at the rate of round t (Lemma 2.20, and McMahan 2017 for
falling rates). D_t <= (eta_t/2) c ||z_t||_*^2 gives the form with observed gradients, and a
promised limit on ||z_t||_* the form in advance: after the fact <= observed <= in advance. The
theorems about leaders bound the regret on the losses themselves, not on their lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from noregret.component import built_in
from noregret.oco.game_certificate import Comparators
from noregret.proof import closed_forms
from noregret.proof.ledger import Entry
from noregret.proof.statement import Statement
from noregret.rounding import exact

if TYPE_CHECKING:
    from noregret.oco.leaders import LeaderFacts

SURVEY = "Shalev-Shwartz 2012"


def game_bounds(comparators: Comparators) -> Iterator[Statement]:
    """Return the bounds that speak about a mirror-descent game."""
    certificate = comparators.certificate
    if certificate.rate.strong_convexity() > 0.0:
        yield from _strongly_convex(comparators)
    elif certificate.mirror.threshold(1.0) > 0.0:
        return
    elif certificate.evidence.factors is not None:
        yield comparators.bound(
            "per-coordinate rates, after the fact",
            "Duchi, Hazan, Singer 2011; McMahan 2017, Theorem 1 with the observed rates",
            comparators.weighted(certificate.evidence.factors) + certificate.monitors.divergence,
        )
    elif certificate.setting.steady:
        yield from _mirror_descent(comparators)


def _complexity(comparators: Comparators) -> tuple[float, str]:
    """Return the term of the bound that depends on the comparators, or why there is none."""
    certificate = comparators.certificate
    rate, ledger, setting = certificate.rate, certificate.ledger, certificate.setting
    reason = comparators.outside()
    if reason or not ledger[Entry.LAST_ETA]:
        # Without a gradient no step was made, and the term is 0.
        return 0.0, reason
    if rate.restarts():
        epochs = range(certificate.rounds.bit_length())
        etas = (rate.at(2.0**m - 1.0, 0.0, 0.0) for m in epochs)
        return sum(map(comparators.complexity, etas)), ""
    first, last = float(ledger[Entry.FIRST_ETA]), float(ledger[Entry.LAST_ETA])
    if certificate.lazy or first == last:
        return comparators.complexity(last), ""
    widest = setting.widest()
    if not math.isfinite(widest):
        return 0.0, "agile steps at a falling rate need a domain of bounded divergence"
    return comparators.complexity(first) + widest * (1.0 / last - 1.0 / first), ""


def _mirror_descent(comparators: Comparators) -> Iterator[Statement]:
    certificate = comparators.certificate
    ledger, monitors = certificate.ledger, certificate.monitors
    smoothness = certificate.setting.mirror.smoothness()
    complexity, reason = _complexity(comparators)
    title = "mirror descent" if certificate.lazy else "agile mirror descent"
    theorem = f"{SURVEY}, Theorem 2.21" if certificate.lazy else "Cesa-Bianchi 2024, eq. 5-6"
    if certificate.rate.restarts():
        title, theorem = "doubling trick", f"{SURVEY}, section 2.3.1 with Theorem 2.21"
    yield comparators.bound(
        f"{title}, after the fact",
        f"{SURVEY}, Lemma 2.20; falling rates: McMahan 2017, Theorem 1",
        complexity + monitors.divergence,
        reason,
    )
    if not built_in(certificate.setting.mirror) and math.isnan(smoothness):
        reason = reason or f"{type(certificate.setting.mirror).__name__} declares no smoothness()"
        yield comparators.bound(f"{title}, observed gradients", theorem, math.inf, reason)
    if smoothness > 0.0:
        observed = 0.5 * smoothness * float(ledger[Entry.RATED_SQUARES])
        yield comparators.bound(
            f"{title}, observed gradients", theorem, complexity + observed, reason
        )
        yield from _in_advance(comparators, title, theorem, complexity, reason)
    if certificate.setting.mirror.local_norms():
        yield from _local_norms(comparators, complexity, reason)


def _in_advance(
    comparators: Comparators, title: str, theorem: str, complexity: float, reason: str
) -> Iterator[Statement]:
    certificate = comparators.certificate
    limit = float(certificate.ledger[Entry.ROW_LIMIT])
    if not math.isfinite(limit):
        return
    smoothness, rate = certificate.setting.mirror.smoothness(), certificate.rate
    value = complexity + 0.5 * smoothness * limit**2 * certificate.monitors.etas
    scale = rate.gradient_scale()
    if scale > 0.0:
        if not certificate.lazy:
            return
        # eta_T >= scale / (limit sqrt(T)), and sum eta_t ||z_t||^2 <= 2 scale limit sqrt(T).
        both = 0.0 if reason else comparators.complexity(1.0) / scale + smoothness * scale
        value = limit * math.sqrt(certificate.rounds) * both
    reason = reason or _since(f"||z||_* <= {exact(limit)}", certificate.ledger[Entry.LIMIT_BROKEN])
    yield comparators.bound(f"{title}, in advance", f"{theorem}, promised limit", value, reason)


def _since(claim: str, first: float) -> str:
    """Return since which round a claim does not hold, '' if it always did (round 0)."""
    return f"{claim} does not hold since round {int(first)}" if first else ""


def _local_norms(comparators: Comparators, complexity: float, outside: str) -> Iterator[Statement]:
    certificate = comparators.certificate
    if certificate.lazy and certificate.setting.domain is not None:
        return
    monitors = certificate.monitors
    theorem = certificate.setting.mirror.local_norms()
    yield comparators.bound(
        "exponentiated gradient, local norms",
        f"{SURVEY}, Theorem {theorem}",
        complexity + monitors.local,
        outside or _since("eta z_i >= -1", monitors.steep_round),
    )
    yield comparators.bound(
        "exponentiated gradient, costs >= 0",
        f"{SURVEY}, proof of Theorem {theorem} with exp(-a) <= 1 - a + a^2/2",
        complexity + 0.5 * monitors.local,
        outside or _since("z_i >= 0", monitors.negative_round),
    )
    if certificate.setting.mirror.normalised():
        yield comparators.bound(
            "exponentiated gradient, range of costs",
            f"{SURVEY}, Lemma 2.20 with Hoeffding's lemma",
            complexity + 0.125 * certificate.setting.mirror.smoothness() * monitors.ranges,
            outside,
        )


def _strongly_convex(comparators: Comparators) -> Iterator[Statement]:
    certificate = comparators.certificate
    ledger, sigma = certificate.ledger, certificate.rate.strong_convexity()
    reason = comparators.outside_domain()
    rounds = certificate.rounds
    yield comparators.bound(
        "strongly convex OGD, observed gradients",
        "Cesa-Bianchi 2024, strongly convex case, before bounding the gradients",
        float(ledger[Entry.CURVED_SQUARES]) / (2.0 * sigma),
        reason,
    )
    yield comparators.bound(
        "strongly convex OGD",
        "Cesa-Bianchi 2024, strongly convex case, with the largest gradient seen",
        closed_forms.strongly_convex_regret(float(ledger[Entry.LARGEST_ROW]), sigma, rounds),
        reason,
    )
    limit = float(ledger[Entry.ROW_LIMIT])
    if math.isfinite(limit):
        yield comparators.bound(
            "strongly convex OGD, in advance",
            "Cesa-Bianchi 2024, strongly convex case, promised limit",
            closed_forms.strongly_convex_regret(limit, sigma, rounds),
            reason or _since(f"||z||_2 <= {exact(limit)}", ledger[Entry.LIMIT_BROKEN]),
        )


def leader_bounds(facts: LeaderFacts, comparators: Comparators) -> Iterator[Statement]:
    """Return the bounds that speak about follow the leader."""
    measured, rounding = facts.measured(comparators), 2.0 * comparators.certificate.slack
    outside = comparators.outside_domain()
    yield comparators.bound(
        "follow the leader, after the fact",
        f"{SURVEY}, Lemma 2.1",
        facts.stability + rounding,
        outside,
        measured,
    )
    reason = outside
    if facts.other_round:
        reason = f"a loss other than ||w - z||^2/2 was met in round {facts.other_round}"
    elif comparators.certificate.setting.domain is not None:
        reason = "the quadratic game has no domain"
    yield comparators.bound(
        "quadratic game, observed",
        f"{SURVEY}, Corollary 2.2",
        facts.gaps + rounding,
        reason,
        measured,
    )
    if not reason and facts.first > facts.largest:
        reason = "||w_1|| is above the largest ||z_t||"
    growth = math.log(comparators.certificate.rounds) + 1.0
    yield comparators.bound(
        "quadratic game",
        f"{SURVEY}, Corollary 2.2",
        4.0 * facts.largest**2 * growth + rounding,
        reason,
        measured,
    )


def regularized_bounds(facts: LeaderFacts, comparators: Comparators) -> Iterator[Statement]:
    """Return the bounds that speak about follow the regularised leader."""
    certificate = comparators.certificate
    ledger, smoothness = certificate.ledger, certificate.setting.mirror.smoothness()
    eta = float(ledger[Entry.LAST_ETA])
    reason = comparators.outside()
    complexity = comparators.complexity(eta) if not reason else 0.0
    forms = [
        ("FoReL, exact stability", "Lemma 2.3 with F_(t+1) in place of f_t", facts.sharp),
        ("FoReL, after the fact", "Lemma 2.3", facts.stability),
    ]
    if smoothness > 0.0:
        observed = eta * smoothness * float(ledger[Entry.SQUARES])
        worst = eta * smoothness * certificate.rounds * float(ledger[Entry.LARGEST_SQUARE])
        forms += [
            ("FoReL, observed gradients", "Theorem 2.11, stability halved", 0.5 * observed),
            ("FoReL, observed gradients, plain", "Theorems 2.4 and 2.11", observed),
            ("FoReL, largest gradient", "Theorem 2.11", worst),
        ]
    measured = facts.measured(comparators)
    for name, theorem, stability in forms:
        value = complexity + stability + 2.0 * certificate.slack
        yield comparators.bound(name, f"{SURVEY}, {theorem}", value, reason, measured)
