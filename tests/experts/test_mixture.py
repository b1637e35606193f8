"""The mixture of several kinds: what it proves, that units do not matter, bits, files, refusals."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.experts.mixture import Mixture
from noregret.experts.representative import LinearPart, linear_part, words_of
from noregret.experts.roster import NARROW, narrow_members, stands_for, wide_members
from noregret.files import store

LOSSES = [
    nr.losses.Logistic(),
    nr.losses.Squared(),
    nr.losses.Hinge(),
    nr.losses.SquaredHinge(),
    nr.losses.Absolute(),
    nr.losses.Huber(1.0),
]
LOGISTIC, SQUARED = LOSSES[:2]


def stream(loss: Any, rounds: int = 150, d: int = 4, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rounds, d)) * np.geomspace(0.1, 10.0, d) + np.arange(d)
    scores = X @ (random.normal(size=d) / np.geomspace(0.1, 10.0, d))
    scores += 0.5 * random.normal(size=rounds)
    return X, np.where(scores > 1.0, 1.0, -1.0) if loss.labels == "sign" else scores


def wide_stream(rounds: int, width: int, seed: int = 0) -> tuple[csr_array, Any]:
    """Rows of five features out of many."""
    random = np.random.default_rng(seed)
    columns = np.sort(
        np.array([random.choice(width, 5, replace=False) for _ in range(rounds)]), axis=1
    )
    X = csr_array(
        (np.ones(5 * rounds), columns.ravel(), np.arange(0, 5 * rounds + 1, 5)),
        shape=(rounds, width),
    )
    return X, np.where(np.asarray(X @ random.normal(size=width)) > 0.0, 1.0, -1.0)


def lost(loss: Any, y: Any, p: Any) -> float:
    return float(sum(loss.value(a, b) for a, b in zip(y, p, strict=True)))


def state_of(learner: Mixture) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner._to_file()[1].items()}


def grown(rounds: int = 60) -> tuple[list[csr_array], Any]:
    """Rows that are narrow at first: the last third has features beyond 512."""
    first, y = wide_stream(rounds, 30)
    second, z = wide_stream(rounds // 2, 3 * NARROW, 1)
    return [first, second], np.concatenate([y, z])


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("blocks", [False, True])
def test_it_keeps_its_promises(loss: Any, blocks: bool) -> None:
    X, y = stream(loss)
    learner = Mixture(loss, blocks=blocks)
    predictions = learner.learn(X, y)
    proof = learner.certificate()
    assert proof.loss == pytest.approx(lost(loss, y, predictions), rel=1e-12)
    totals = proof.members.totals
    assert len(totals) == len(learner.members) == len(narrow_members(loss)) + 1
    regret = proof.loss - totals.min()
    stated = [bound for bound in proof.bounds if bound.applies]
    assert stated and all(regret <= bound.value + 1e-9 for bound in stated)
    # The floor is below the least loss of its class, which the exact solver finds.
    sizes = np.abs(X).max(axis=0)
    for radius in (0.5, 4.0):
        floor = proof.floor(radius)
        found = nr.hindsight(X / sizes, y, loss, radius=radius, tol=1e-6)
        assert floor <= found.primal
        if blocks:
            assert floor >= 0.5 * found.dual


def test_the_members_are_those_of_the_loss_and_the_rows() -> None:
    kinds = {loss: [_named(one) for one in narrow_members(loss)] for loss in LOSSES}
    common = ["ScaleFree", "ScaleFree", "PerCoordinate"]
    assert kinds[LOGISTIC] == ["ScaleFree", *["Constant"] * 3, "BlockLeader", "plain"]
    assert kinds[SQUARED] == ["ScaleFree", "ScaleFree", "Constant", *["Ridge"] * 3, "plain"]
    assert kinds[LOSSES[2]] == [*common, "plain"]
    assert kinds[LOSSES[3]] == ["ScaleFree", "ScaleFree", "BlockLeader", "plain"]
    assert [type(one).__name__ for one in wide_members(LOGISTIC)] == [
        "MirrorDescent",
        "MirrorDescent",
        "MirrorDescent",
    ]
    # Coins need a loss that is nowhere steeper than some number.
    assert [type(one).__name__ for one in wide_members(SQUARED)] == ["MirrorDescent"] * 2
    X, y = wide_stream(20, 2 * NARROW)
    learner = Mixture(LOGISTIC)
    assert learner.wide is None
    learner.learn(X, y)
    assert learner.wide is True and len(learner.members) == 4 and not learner.outgrown


def _named(member: Any) -> str:
    return type(member.learner.rate).__name__ if hasattr(member, "learner") else "plain"


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=str)
def test_shifts_and_units_do_not_matter(loss: Any) -> None:
    X, y = stream(loss, 400)
    random = np.random.default_rng(3)
    plain = lost(loss, y, Mixture(loss).learn(X, y))
    spread = X.std(axis=0)
    moved = (X + random.uniform(-100.0, 100.0, X.shape[1]) * spread) * 10.0 ** random.uniform(
        -3.0, 3.0, X.shape[1]
    )
    other = lost(loss, y, Mixture(loss).learn(moved, y))
    assert other == pytest.approx(plain, rel=0.02)
    # A learner that sees the rows as they are loses much more: the test can fail.
    rate = nr.rates.ScaleFree()
    raw = nr.MirrorDescent(loss, nr.mirrors.Euclidean(), rate).learn(moved, y)
    assert lost(loss, y, raw) > 1.3 * plain


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=str)
def test_one_wild_row_costs_little(loss: Any) -> None:
    X, y = stream(loss, 1000)
    plain = lost(loss, y, Mixture(loss).learn(X, y))
    X[500] *= 1e6
    wild = lost(loss, y, Mixture(loss).learn(X, y))
    assert wild <= 1.05 * plain


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=str)
@pytest.mark.parametrize("blocks", [False, True])
def test_cuts_files_and_copies_change_no_bit(loss: Any, blocks: bool, tmp_path: Path) -> None:
    X, y = stream(loss)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], len(y))
    whole = Mixture(loss, blocks=blocks)
    predictions = whole.learn(X, y, weight)
    parts, made = Mixture(loss, blocks=blocks), []
    for start, stop in ((0, 1), (1, 40), (40, 41), (41, 150)):
        made.append(parts.learn(X[start:stop], y[start:stop], weight[start:stop]))
        parts.save(tmp_path / "model")
        loaded = nr.load(tmp_path / "model")
        assert type(loaded) is Mixture and loaded.wide is parts.wide
        parts = pickle.loads(pickle.dumps(copy.deepcopy(loaded)))
    sparse = Mixture(loss, blocks=blocks)
    assert (sparse.learn(csr_array(X), y, weight) == predictions).all()
    assert (np.concatenate(made) == predictions).all()
    assert state_of(parts) == state_of(whole)
    assert (parts.predict(X) == whole.predict(X)).all()
    assert str(parts.certificate()) == str(whole.certificate())


@pytest.mark.parametrize("cut", [7, 60, 75])
def test_rows_that_grow_wide_are_taken_over_by_the_last_member(cut: int, tmp_path: Path) -> None:
    (first, second), y = grown()
    whole = Mixture(LOGISTIC)
    made = whole.learn(first, y[:60])
    assert whole.wide is False and not whole.outgrown
    assert not np.any(whole.learners[-1].weights)
    made = np.concatenate([made, whole.learn(second, y[60:])])
    assert whole.outgrown and whole.learners[0].outgrown
    assert np.any(whole.learners[-1].weights)
    # The same rows in other parts.
    parts, again = Mixture(LOGISTIC), []
    pieces = [(first, 0, 60), (second, 60, 90)]
    for rows, begin, end in pieces:
        for start, stop in ((begin, min(max(cut, begin), end)), (min(max(cut, begin), end), end)):
            given = rows[start - begin : stop - begin]
            again.append(parts.learn(given, y[start:stop]))
            parts.save(tmp_path / "model")
            parts = nr.load(tmp_path / "model")
    assert (np.concatenate(again) == made).all() and state_of(parts) == state_of(whole)
    assert parts.outgrown
    place, member = whole.representative
    assert 0 <= place < len(whole.learners) and member is whole.learners[place]


def test_a_wide_row_of_no_weight_changes_no_member() -> None:
    (first, second), y = grown()
    weight = np.zeros(30)
    weight[20:] = 1.0
    whole, parts = Mixture(LOGISTIC), Mixture(LOGISTIC)
    for learner in (whole, parts):
        learner.learn(first, y[:60])
    made = whole.learn(second, y[60:], weight)
    single = [parts.learn(second[t : t + 1], y[60 + t : 61 + t], weight[t : t + 1]) for t in
              range(30)]  # fmt: skip
    assert (np.concatenate(single) == made).all() and state_of(parts) == state_of(whole)
    early = Mixture(LOGISTIC)
    early.learn(first, y[:60])
    early.learn(second[:20], y[60:80], weight[:20])
    assert not early.outgrown and whole.outgrown


def test_what_is_refused_changes_nothing() -> None:
    X, y = stream(LOGISTIC)
    fresh = Mixture(LOGISTIC)
    bad = X.copy()
    bad[3, 1] = np.nan
    for given in ((bad, y), (X, y[:-1]), (X, np.full(len(y), 0.5)), (X, y, -np.ones(len(y)))):
        with pytest.raises(ValueError):
            fresh.learn(*given)
        assert fresh.wide is None and fresh.rounds == 0
    # A refused wide row decides nothing either.
    wide, z = wide_stream(5, 2 * NARROW)
    with pytest.raises(ValueError):
        fresh.learn(wide, z * 3.0)
    fresh.learn(X, y)
    before = state_of(fresh)
    for given in ((bad, y), (X[:, :3], y), (X, y[:-1])):
        with pytest.raises(ValueError):
            fresh.learn(*given)
        assert state_of(fresh) == before
    assert fresh.learn(np.empty((0, 4)), []).shape == (0,)
    assert state_of(fresh) == before
    with pytest.raises(ArgumentError, match="expected a loss of one score"):
        Mixture(nr.losses.Softmax())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not linear"):
        _ = fresh.weights


def test_the_linear_part_predicts_as_its_member() -> None:
    for loss in (LOGISTIC, SQUARED):
        X, y = stream(loss)
        learner = Mixture(loss)
        learner.learn(X, y)
        part = linear_part(learner)
        assert isinstance(part, LinearPart) and part.words == words_of(learner)
        place, member = learner.representative
        assert part.words.startswith(f"member {place + 1} of {len(learner.members)}, standardized")
        centre, spread = member.moments
        near = centre + 0.1 * spread * np.random.default_rng(0).normal(size=X.shape)
        low, high = member.limits
        found = np.clip(near @ part.weights + part.offset, low, high)
        assert member.predict(near) == pytest.approx(found, rel=1e-9, abs=1e-9)
        assert part.sizes is not None and (part.sizes == np.abs(X).max(axis=0)).all()
    plain = nr.catalogue.ogd(LOGISTIC, 0.1)
    assert linear_part(plain) is plain and words_of(plain) is None


def test_a_member_that_sees_no_feature_stands_for_nobody() -> None:
    y = np.where(np.arange(120) // 10 % 2 == 0, 1.0, -1.0)
    learner = Mixture(LOGISTIC)
    learner.learn(np.random.default_rng(0).normal(size=(120, 3)), y)
    level = next(k for k, one in enumerate(learner.learners) if one.view.widest == 1)
    shares = np.linspace(0.1, 0.2, len(learner.learners))
    shares[level] = 0.9
    assert learner.learners[level].outgrown
    assert stands_for(learner.learners, shares) == len(shares) - 1


def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path) -> None:
    X, y = stream(LOGISTIC)
    learner = Mixture(LOGISTIC)
    learner.learn(X, y)
    header, arrays = learner._to_file()

    def refused(**changed: Any) -> str:
        store.write(tmp_path / "bad", header | changed, arrays)
        with pytest.raises(ValueError) as error:
            nr.load(tmp_path / "bad")
        message = str(error.value)
        assert "\n" not in message
        return message

    assert "wide" in refused(wide=1)
    assert "member 1 is Standardized, expected plain" in refused(wide=True)
    assert refused(mixing="losses")
    assert refused(stacked=False)
    assert refused(learners=header["learners"][:-1])
    # Members have the settings of the file, and all see rows by the same moments.
    other = copy.deepcopy(header["learners"])
    other[0]["limit"] = 1.5
    store.write(tmp_path / "other", header | {"learners": other}, arrays)
    found = nr.load(tmp_path / "other")
    assert "limit=1.5" in str(found.learners[0]) and found.rounds == learner.rounds
    # Others do not share moments that were made in another way.
    assert found.learners[0].view.scaler is not found.learners[1].view.scaler
    arrays["learner1/moments"][0, 0] += 1.0
    assert "must have learnt the same rows" in refused()


def test_an_aggregate_with_blocks_is_printed_for_the_weights_it_reached() -> None:
    X, y = stream(LOGISTIC)
    rates = (nr.rates.Constant(0.01), nr.rates.Constant(0.1))
    members = [nr.MirrorDescent(LOGISTIC, nr.mirrors.Euclidean(), rate) for rate in rates]
    learner = nr.Aggregate(members, blocks=True)
    learner.learn(X, y)
    proof = learner.certificate()
    assert proof.reach == pytest.approx(float(np.linalg.norm(learner.weights)))
    assert proof.floor() == proof.floor(proof.reach) > 0.0
    assert f"{proof.floor():.4f}"[:4] in str(proof)


@pytest.mark.compiled
def test_machine_code_and_a_long_stream() -> None:
    X, y = stream(LOGISTIC, 20_000, 8)
    learner = Mixture(LOGISTIC)
    predictions = learner.learn(X, y)
    parts = Mixture(LOGISTIC)
    again = [parts.learn(X[t : t + 3001], y[t : t + 3001]) for t in range(0, len(y), 3001)]
    assert (np.concatenate(again) == predictions).all() and state_of(parts) == state_of(learner)
    # Little noise: the best in hindsight has long weights, which one pass takes a while to reach.
    found = nr.hindsight(np.hstack([X, np.ones((len(X), 1))]), y, LOGISTIC, l2=1e-6)
    assert found.converged and lost(LOGISTIC, y, predictions) <= 1.1 * found.primal
