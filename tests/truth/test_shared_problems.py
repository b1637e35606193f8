"""Is what the solver over shards says true? A short run of the problems, and of the judge."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import mpmath
import numpy as np
import pytest

import noregret as nr
from noregret.batch import Problem
from tests.sizes import sized
from tests.truth.claims import Tally
from tests.truth.exact_objectives import LOSSES, MAPS, ExactObjective, conjugate, rational
from tests.truth.hindsight_problems import Combo
from tests.truth.objectives import DIGITS, Objective
from tests.truth.shared_problems import COMBOS, main, run_one

#: Problems a combination, and the combinations: 49 problems in the short form.
PROBLEMS = sized(1, 5)
SHORT = sized(COMBOS[::2], COMBOS)


@pytest.mark.parametrize("combo", SHORT, ids=lambda combo: combo.name)
def test_every_statement_is_true(combo: Combo) -> None:
    total = Tally()
    for k in range(PROBLEMS):
        tally = run_one(combo, [99, k])
        if tally is not None:
            assert not tally.false, "\n".join([f"problem {k}", *tally.false[:5]])
            total.add(tally)
    assert total.checked["weak duality"] >= 1
    assert sum(count for kind, count in total.checked.items() if "verified" in kind) >= 4


def _caught(combo: Combo) -> set[str]:
    tallies = [run_one(combo, [99, k]) for k in range(4)]
    return {text.split(":")[0] for tally in tallies if tally for text in tally.false}


def test_the_judge_catches_rounding_that_is_ignored() -> None:
    with (
        mock.patch("noregret.batch.verifying.gamma", lambda terms: 0.0),
        mock.patch("noregret.batch.verifying.certified_floor", lambda a, b, c, _: a - b - c),
        mock.patch("noregret.mirrors.norms.EPSILON", 0.0),
    ):
        assert {"verified primal, exact", "verified dual, exact"} <= _caught(COMBOS[0])


def test_the_judge_catches_a_dual_one_part_in_a_thousand_million_too_large() -> None:
    plain = nr.mirrors.Euclidean
    true_conjugate = plain.conjugate_upper
    with mock.patch.object(
        plain, "conjugate_upper", lambda *given: true_conjugate(*given) * (1.0 - 1e-9)
    ):
        assert {"dual", "dual, exact", "verified dual, exact"} <= _caught(COMBOS[0])


def test_both_judges_agree() -> None:
    """Fractions and 100 digits, at random slopes and weights."""
    for k, loss in enumerate(one() for one in LOSSES):
        for mirror in (nr.mirrors.Euclidean(), nr.mirrors.Ball(0.7), nr.mirrors.ElasticNet(0.4)):
            assert type(mirror) in MAPS
            random = np.random.default_rng(k)
            X, y = random.normal(size=(5, 2)), random.choice([-1.0, 1.0], 5)
            problem = Problem.of(X, y, loss, mirror, 0.3, offset=random.normal(size=5))
            assert rational(problem)
            slopes, weights = problem.clipped(random.normal(size=5)), random.normal(size=2)
            exact = ExactObjective(problem)
            with mpmath.workdps(DIGITS):
                judge = Objective(problem)
                dual = exact.dual(slopes)
                assert dual is not None
                assert float(dual) == pytest.approx(float(judge.dual(slopes)), rel=1e-14)
                primal = float(judge.primal(weights))
            assert float(exact.primal(weights)) == pytest.approx(primal, rel=1e-14)
            assert conjugate(nr.losses.Hinge(), Fraction(1), Fraction(1, 2)) is None


def test_the_command_prints_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--problems", "2", "--seed", "3"]) == 0
    assert "2 problems (0 refused)" in capsys.readouterr().out
