"""The closed forms of the theorems against the formulas of their references, worked out here."""

from __future__ import annotations

import math

import pytest

from noregret.bandits import theorems
from noregret.experts import expert_theorems as experts
from noregret.proof import closed_forms

L3, L4 = math.log(3.0), math.log(4.0)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (experts.hedge_regret(4, 0.5, 30.0), L4 / 0.5 + 0.5 * 30.0 / 8.0),
        (experts.after_the_fact(4, 0.5, 3.0), L4 / 0.5 + 3.0),
        (experts.local_norms(4, 0.5, 6.0, True), L4 / 0.5 + 0.5 * 6.0 / 2.0),
        (experts.local_norms(4, 0.5, 6.0, False), L4 / 0.5 + 0.5 * 6.0),
        (experts.weighted_majority(4, 0.5, 10), L4 / 0.5 + 0.5 * 10.0),
        (experts.weighted_majority_small(4, 0.25, 8.0), (8.0 + L4 / 0.25) / 0.75 - 8.0),
        (
            experts.anytime_regret(4, 100, 2.0),
            2.0 * (2.0 * math.sqrt(100.0 * L4 / 2.0) + math.sqrt(L4 / 8.0)),
        ),
        (
            experts.doubling_regret(4, 5, 2.0),
            2.0 * math.sqrt(L4 / 2.0) * (1.0 + math.sqrt(2.0) + 2.0),
        ),
        (
            experts.adaptive_regret(4, 7.0, 1.5),
            2.0 * math.sqrt(7.0 * L4) + 1.5 * (4.0 * L4 / 3.0 + 2.0),
        ),
        # b = 0.3 2/3 = 0.2, one switch in five rounds: three times it stays.
        (
            experts.switching_price(3, 0.3, 5, 1),
            L3 + math.log(2.0) - math.log(0.2) - 3.0 * math.log(0.8),
        ),
        (experts.surrogate_mistakes(3, 0.5, 2.0), (2.0 + L3 / 0.5) / 0.75),
        (theorems.exp3_regret(3, 0.1, 50), L3 / 0.1 + 0.1 * 150.0),
        (theorems.exp3_regret_halved(3, 0.1, 15.0), L3 / 0.1 + 7.5),
        (theorems.exp3_rate(4, 50), math.sqrt(2.0 * L4 / 200.0)),
        (theorems.implicit_excess(3, 0.1, 0.05), math.log(60.0) / 0.1),
        (
            theorems.implicit_regret(3, 0.1, 5.0, 0.05),
            L3 / 0.1 + 15.0 + math.log(40.0) + math.log(120.0) / 0.1,
        ),
        (theorems.tsallis_regret(9, 0.2, 7.0), 8.0 / 0.2 + 1.5 * 7.0),
        (
            theorems.one_point_regret(2.0, 3, 1.5, 0.5, 0.1, 0.01, 20),
            3.0 * 0.5 * 0.1 * 20 + 4.0 / 0.02 + 0.01 * 20 * (3.0 * (15.0 + 0.5)) ** 2,
        ),
        (
            theorems.two_point_regret(2.0, 3, 0.5, 0.1, 0.01, 20),
            3.0 * 0.5 * 0.1 * 20 + 4.0 / 0.02 + 0.005 * 20 * 1.5**2,
        ),
        (
            theorems.inside_regret(7.0, 2.0, 0.5, 0.1, 0.3, 0.01, 20),
            (2.0 * 0.5 * 0.1 + 0.3) * 20 + 7.0 + 0.005 * 20 * 4.0,
        ),
        (closed_forms.projected_ogd_regret(2.0, 3.0, 0.5, 16), (8.0 / 0.5 + 9.0 * 0.5) * 4.0),
        (closed_forms.strongly_convex_regret(3.0, 0.5, 10), 9.0 * (1.0 + math.log(10.0))),
        # Above the knee C R^2 = 1 a step gains l - 1/2, below it l^2/2.
        (closed_forms.mitigated(3.0, 0.25, 4.0), 2.5),
        (closed_forms.mitigated(0.5, 0.25, 4.0), 0.125),
        (closed_forms.progress(0.8, 0.5, 2.0), 0.4 - 0.25),
        (closed_forms.amortised_gd(2.0).factor, 2.0),
        (closed_forms.amortised_gd(2.0).eta, 1.0 / 16.0),
        (closed_forms.amortised_egu(2.0, 3.0).factor, 3.0),
        (closed_forms.amortised_egu(2.0, 3.0).eta, 1.0 / 18.0),
        (closed_forms.amortised_eg(2.0).factor, 1.5),
        (closed_forms.amortised_eg(2.0).eta, 1.0 / 6.0),
    ],
)
def test_the_formula(found: float, wanted: float) -> None:
    assert found == pytest.approx(wanted, rel=1e-12)
