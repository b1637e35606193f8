"""Ledgers of shards merged into one, held against one ledger of all rows and exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret import losses, mirrors, rates
from noregret.learners.foreign import Certifier
from noregret.proof.ledger import MOST_ROUNDS, Entry, Promise, new_ledger
from noregret.proof.merging import RULES, MixedCertificate, Rule, merged_error, merged_ledger
from tests.truth.referee import exact_loss

Vector = npt.NDArray[np.float64]
LOSSES = [losses.Hinge(), losses.Logistic(), losses.Squared(), losses.Absolute()]


def certified(loss: Any, X: Vector, y: Vector, p: Vector, weight: Any = None) -> Certifier:
    certifier = Certifier(loss)
    if len(y):
        certifier.add(X, y, p, weight)
    return certifier


def together(loss: Any, certifiers: list[Certifier], width: int) -> MixedCertificate:
    """Return the certificate of all, as a run over shards makes it."""
    kept = [certifier.arrays() for certifier in certifiers]
    ledgers = [one["ledger"] for one in kept]
    gradient = sum(np.pad(one["gradient"], (0, width - len(one["gradient"]))) for one in kept)
    return MixedCertificate(
        loss, mirrors.Euclidean(), rates.Constant(1.0), merged_ledger(ledgers), gradient,
        played=False, shards=len(kept), every=7, gradient_slack=merged_error(ledgers, width),
    )  # fmt: skip


def stream(seed: int, loss: Any, n: int = 60, d: int = 4) -> tuple[Vector, ...]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * 10.0 ** random.uniform(-3, 3, (n, 1))
    y = random.choice([-1.0, 1.0], n) if loss.labels == "sign" else random.normal(size=n)
    weight = 10.0 ** random.uniform(-2, 2, n)
    return X, y, random.normal(size=n), np.where(random.random(n) < 0.1, 0.0, weight)


def test_every_entry_of_the_ledger_has_a_rule() -> None:
    assert list(RULES) == list(Entry), "say in noregret.proof.merging how the entry is merged"


def test_low_parts_follow_the_sums_that_they_belong_to() -> None:
    for place, rule in RULES.items():
        assert (rule is Rule.TWOFOLD) == (f"{place.name}_LOW" in Entry.__members__)
        assert (rule is Rule.LOW) == place.name.endswith("_LOW")


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_merge_is_the_ledger_of_all_rows(loss: Any) -> None:
    rows = stream(3, loss)
    whole = certified(loss, *rows).arrays()
    cuts = [0, 17, 17, 40, 41, 60]
    shards = [certified(loss, *(part[a:b] for part in rows)) for a, b in pairwise(cuts)]
    both = together(loss, shards, 4)
    for place in Entry:
        if RULES[place] not in (Rule.WITHDRAWN, Rule.LOW):
            assert both.ledger[place] == pytest.approx(whole["ledger"][place], rel=1e-13), place
    np.testing.assert_allclose(both.gradient, whole["gradient"], rtol=1e-11)
    one = certified(loss, *rows).certificate()
    assert both.delta < one.delta
    for radius in (0.0, 0.01, 1.0):
        assert both.floor(radius) == pytest.approx(one.floor(radius), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_floor_of_all_rows_is_at_least_the_sum_of_the_shards_floors(loss: Any) -> None:
    rows = stream(5, loss)
    shards = [certified(loss, *(part[k::8] for part in rows)) for k in range(8)]
    both, radius = together(loss, shards, 4), 0.01
    own = [shard.certificate() for shard in shards]
    # Without the step that raises a negative floor to 0.
    apart = sum(
        c.intercept - c.slack - radius * (np.linalg.norm(c.gradient) + c.delta) for c in own
    )
    together_ = both.intercept - both.slack - radius * (np.linalg.norm(both.gradient) + both.delta)
    assert together_ >= apart - 1e-12 * abs(both.loss)


whole_numbers = st.integers(-8, 8).map(float)


@st.composite
def shards_of_whole_numbers(draw: st.DrawFn) -> list[list[tuple[Any, ...]]]:
    row = st.tuples(st.tuples(whole_numbers, whole_numbers), whole_numbers, whole_numbers,
                    st.integers(0, 3).map(float))  # fmt: skip
    return draw(st.lists(st.lists(row, max_size=5), min_size=1, max_size=5))


@given(shards_of_whole_numbers(), st.sampled_from([losses.Squared(), losses.Absolute()]))
def test_a_printed_floor_is_never_above_the_exact_one(shards: Any, loss: Any) -> None:
    certifiers, intercept, Z = [], Fraction(0), [Fraction(0), Fraction(0)]
    for rows in shards:
        X, y, p, weight = (np.array(part) for part in zip(*rows, strict=True)) if rows else (
            np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros(0))  # fmt: skip
        certifiers.append(certified(loss, X, y, p, weight))
        for x, label, prediction, mass in rows:
            label, prediction, mass = map(Fraction, (label, prediction, mass))
            slope = Fraction(float(loss.slope(float(label), float(prediction))))
            value = exact_loss(loss, label, prediction)[0]
            intercept += mass * (value - slope * prediction)
            Z = [z + mass * slope * Fraction(v) for z, v in zip(Z, x, strict=True)]
    both = together(loss, certifiers, 2)
    for radius in (0.0, 0.5, 3.0):
        floor, square = Fraction(both.floor(radius)), Fraction(radius) ** 2 * sum(z * z for z in Z)
        exact = float(intercept) - radius * math.sqrt(sum(float(z) ** 2 for z in Z))
        # floor <= a - B ||Z||, without a root.
        assert floor == 0 or (intercept >= floor and (intercept - floor) ** 2 >= square)
        assert float(floor) >= exact - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_sums_that_cancel_between_shards_stay_within_their_slack(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 40
    X = random.normal(size=(n, 2)) * 10.0 ** random.uniform(-4, 4, (n, 1))
    y, p = random.normal(size=(2, n)) * 10.0 ** random.uniform(0, 8, (2, n))
    # Half of the rows take back what the others have summed up, but for its rounding.
    order = random.permutation(2 * n)
    X, y, p = (np.concatenate(two)[order] for two in ((X, X), (y, p), (p, y)))
    shards = [certified(losses.Squared(), X[k : k + 10], y[k : k + 10], p[k : k + 10])
              for k in range(0, 2 * n, 10)]  # fmt: skip
    both = together(losses.Squared(), shards, 2)
    labels, given = ([Fraction(v) for v in part] for part in (y, p))
    intercept = sum(a * a - b * b for a, b in zip(labels, given, strict=True))
    assert abs(Fraction(both.intercept) - intercept) <= Fraction(both.slack)
    slopes = [2 * (b - a) for a, b in zip(labels, given, strict=True)]
    off = Fraction(0)
    for k in range(2):
        exact = sum(g * Fraction(x) for g, x in zip(slopes, X[:, k], strict=True))
        off += abs(Fraction(both.gradient[k]) - exact)
    assert 0 < off <= Fraction(both.delta)


def test_rounding_of_the_merge_enters_the_slack() -> None:
    ledgers = []
    for total, low in ((1.0, 2.0**-60), (2.0**-53, 2.0**-120), (1e16, 0.25)):
        ledger = new_ledger()
        ledger[[Entry.ROUNDS, Entry.LOSS, Entry.LOSS_LOW, Entry.MAGNITUDE]] = 1.0, total, low, total
        ledgers.append(ledger)
    both = merged_ledger(ledgers)
    exact = sum(Fraction(o[Entry.LOSS]) + Fraction(o[Entry.LOSS_LOW]) for o in ledgers)
    error = abs(exact - Fraction(both[Entry.LOSS]) - Fraction(both[Entry.LOSS_LOW]))
    assert both[Entry.LOSS] == 1e16 + 2.0 and error <= abs(Fraction(both[Entry.LOSS_LOW])) / 2**53
    assert both[Entry.MAGNITUDE] > sum(o[Entry.MAGNITUDE] for o in ledgers)
    assert Fraction(both[Entry.MAGNITUDE]) >= sum(Fraction(o[Entry.MAGNITUDE]) for o in ledgers)


def test_broken_promises_are_counted_through_the_shards() -> None:
    first, second, third = (new_ledger() for _ in range(3))
    first[Entry.ROUNDS], second[Entry.ROUNDS], third[Entry.ROUNDS] = 10.0, 5.0, 7.0
    second[[Entry.PROMISE_BROKEN, Entry.BROKEN_PROMISE]] = 4.0, Promise.LIPSCHITZ
    third[[Entry.PROMISE_BROKEN, Entry.BROKEN_PROMISE]] = 1.0, Promise.CONVEX
    third[[Entry.LIMIT_BROKEN, Entry.ROW_LIMIT]] = 3.0, 2.0
    first[Entry.ROW_LIMIT] = second[Entry.ROW_LIMIT] = 1.0
    both = merged_ledger([first, second, third])
    assert both[Entry.PROMISE_BROKEN] == 14.0 and both[Entry.BROKEN_PROMISE] == Promise.LIPSCHITZ
    assert both[Entry.LIMIT_BROKEN] == 18.0 and both[Entry.ROW_LIMIT] == 2.0
    assert both[Entry.FEATURE_BROKEN] == 0.0
    proof = MixedCertificate(
        losses.Hinge(), mirrors.Euclidean(), rates.Constant(1.0), both, np.zeros(2), shards=3
    )
    assert proof.floor(1.0) == -math.inf and "round 14" in proof.text()


def test_ledgers_without_rounds_change_nothing() -> None:
    ledger = certified(losses.Hinge(), *stream(1, losses.Hinge())).arrays()["ledger"]
    np.testing.assert_array_equal(merged_ledger([new_ledger(), ledger, new_ledger()]), ledger)
    np.testing.assert_array_equal(merged_ledger([new_ledger()] * 3), new_ledger())
    assert merged_error([new_ledger()] * 3, 5) == 0.0


def test_more_rounds_than_can_be_counted_are_refused() -> None:
    ledger = new_ledger()
    ledger[Entry.ROUNDS] = MOST_ROUNDS
    with pytest.raises(OverflowError, match="cannot be counted"):
        merged_ledger([ledger, ledger])


def test_rates_that_differ_are_withdrawn() -> None:
    ledgers = [new_ledger(), new_ledger()]
    for ledger, eta in zip(ledgers, (0.5, 0.25), strict=True):
        ledger[[Entry.ROUNDS, Entry.FIRST_ETA, Entry.LAST_ETA]] = 1.0, 1.0, eta
    both = merged_ledger(ledgers)
    assert (both[Entry.FIRST_ETA], both[Entry.LAST_ETA]) == (1.0, 0.0)
    assert both[Entry.CURVED_SQUARES] == math.inf
