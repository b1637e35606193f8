"""The named algorithms: what they are composed of, and that they refuse what means nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from noregret import catalogue, domains, losses, mirrors, rates
from noregret.learners import MirrorDescent
from noregret.proof import closed_forms

HINGE = losses.Hinge()

LEARNERS: dict[str, Callable[[], MirrorDescent]] = {
    "perceptron": catalogue.perceptron,
    "p_norm": lambda: catalogue.p_norm(4),
    "winnow": catalogue.winnow,
    "simplex_winnow": lambda: catalogue.simplex_winnow(0.5),
    "balanced_winnow": lambda: catalogue.balanced_winnow(2.0, margin=0.5),
    "ogd": lambda: catalogue.ogd(HINGE, 0.1),
    "coin_betting": lambda: catalogue.coin_betting(),
    "online_ridge": lambda: catalogue.online_ridge(0.5),
    "vovk_azoury_warmuth": catalogue.vovk_azoury_warmuth,
    "kalman": catalogue.kalman,
    "implicit_newton": catalogue.implicit_newton,
    "block_leader": catalogue.block_leader,
    "certified_newton": lambda: catalogue.certified_newton(radius=30.0),
    "aioli": lambda: catalogue.aioli(radius=30.0),
    "arow": catalogue.arow,
    "lazy_ogd": lambda: catalogue.lazy_ogd(HINGE, 0.5, 0.1),
    "projected_ogd": lambda: catalogue.projected_ogd(HINGE, 1.0),
    "strongly_convex_ogd": lambda: catalogue.strongly_convex_ogd(HINGE, 0.5),
    "eg": lambda: catalogue.eg(HINGE, 0.3),
    "unnormalized_eg": lambda: catalogue.unnormalized_eg(HINGE, 0.3),
    "signed_eg": lambda: catalogue.signed_eg(HINGE, 2.0, 0.1),
}


@pytest.fixture(scope="module")
def stream() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    X = (rng.random((60, 5)) < 0.4).astype(float)
    return X, np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_is_fresh_learns_and_proves(
    name: str, stream: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = stream
    one, two = LEARNERS[name](), LEARNERS[name]()
    assert one is not two and one.rounds == 0
    predictions = one.learn(X, y)
    assert two.rounds == 0
    assert np.array_equal(two.learn(X, y), predictions)
    certificate = one.certificate()
    radius = certificate.radius or 2.0
    floor = certificate.floor(radius)
    assert 0.0 <= floor <= certificate.loss
    rng = np.random.default_rng(12)
    for _ in range(50):
        u = rng.dirichlet(np.full(5, 0.5)) * radius
        own = sum(one.loss.value(label, float(p)) for label, p in zip(y, X @ u, strict=True))
        assert floor <= own
        for theorem in certificate.bounds_for(radius):
            if theorem.applies and (theorem.measure == "mistakes" or not one._parts.conservative):
                if "ones" in theorem.name or certificate.curvature:
                    continue  # its comparators are 0/1 vectors; or the loss is regularised
                measured = (
                    certificate.mistakes if theorem.measure == "mistakes" else certificate.loss
                )
                assert measured <= theorem.factor * own + theorem.value + 1e-9, theorem


def test_parts() -> None:
    table: list[tuple[MirrorDescent, Any]] = [
        (catalogue.perceptron(), (HINGE, mirrors.Euclidean(), rates.Constant(1))),
        (catalogue.p_norm(3), (HINGE, mirrors.PNorm(3), rates.Constant(1))),
        (
            catalogue.winnow(0.1),
            (losses.WinnowHinge(), mirrors.UnnormalizedEntropy(), rates.Constant(0.1)),
        ),
        (
            catalogue.simplex_winnow(0.5, eta=0.3),
            (losses.Hinge(0.5), mirrors.Entropy(), rates.Constant(0.3)),
        ),
        (catalogue.eg(HINGE, 0.3, scale=2), (HINGE, mirrors.Entropy(2), rates.Constant(0.3))),
        (
            catalogue.unnormalized_eg(HINGE, 0.3, start=0.1),
            (HINGE, mirrors.UnnormalizedEntropy(0.1), rates.Constant(0.3)),
        ),
        (
            catalogue.signed_eg(HINGE, 2, 0.1),
            (HINGE, mirrors.SignedEntropy(2), rates.Constant(0.1)),
        ),
        (catalogue.lazy_ogd(HINGE, 2, 0.1), (HINGE, mirrors.Ball(2), rates.Constant(0.1))),
        (
            catalogue.strongly_convex_ogd(HINGE, 0.5),
            (HINGE, mirrors.Euclidean(), rates.StronglyConvex(0.5)),
        ),
    ]
    for learner, parts in table:
        assert (learner.loss, learner.mirror, learner.rate) == parts
    projected = catalogue.projected_ogd(HINGE, 2.0)._parts
    assert (projected.domain, projected.lazy) == (domains.Ball(2.0), False)


def test_tuning() -> None:
    tuned = catalogue.ogd(losses.Huber(0.5), radius=2.0, row_limit=3.0, horizon=25)
    assert tuned.rate == rates.Constant(2.0 / (1.5 * 5.0))
    X, y = np.array([[3.0]] * 25), np.ones(25)
    tuned.learn(X, y)
    (advance,) = [b for b in tuned.certificate().bounds_for(2.0) if "in advance" in b.name]
    assert advance.applies
    assert advance.value == pytest.approx(closed_forms.tuned_regret(2.0, 25 * 1.5**2))
    tuned.learn([[3.5]], [1.0])
    (advance,) = [b for b in tuned.certificate().bounds_for(2.0) if "in advance" in b.name]
    assert not advance.applies and "since round 26" in advance.reason
    # The best C of the theorem maximises the guaranteed progress.
    balanced = catalogue.balanced_winnow(2.0, margin=0.5, row_limit=0.8)
    C = balanced.rate.eta  # type: ignore[attr-defined]
    square = (2.0 * 0.8) ** 2
    best = closed_forms.progress(0.5, C, square)
    assert best > max(closed_forms.progress(0.5, C * f, square) for f in (0.9, 1.1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: catalogue.winnow(0.5), r"winnow\(eta\) must lie strictly between 0 and 1/2"),
        (lambda: catalogue.winnow(0.0), r"winnow\(eta\) must lie strictly between 0 and 1/2"),
        (lambda: catalogue.ogd(HINGE), "ogd needs eta, or a horizon"),
        (lambda: catalogue.ogd(losses.Squared(), horizon=9), "Squared has no Lipschitz constant"),
        (lambda: catalogue.projected_ogd(losses.Squared(), 1.0), "has no Lipschitz constant"),
        (lambda: catalogue.projected_ogd(HINGE, 0.0), "above 0"),
        (lambda: catalogue.projected_ogd(HINGE, 1.0, row_limit=0.0), "row_limit must be"),
        (lambda: catalogue.ogd(HINGE, horizon=0), r"ogd\(horizon\) must be a whole number >= 1"),
        (lambda: catalogue.ogd(HINGE, horizon=9, row_limit=0.0), "row_limit must be a finite"),
        (lambda: catalogue.balanced_winnow(0.0), "radius must be a finite number above 0"),
        (lambda: catalogue.c_egu(0.5, 0, 1.0, 1.0), r"c_egu\(dimension\) must be a whole number"),
        (lambda: catalogue.signed_c_eg(-1.0, 0.5, -1.0), "radius must be a finite number above 0"),
        (lambda: catalogue.multiclass_ogd(1.0, 0), r"multiclass_ogd\(rounds\) must be a whole"),
        (
            lambda: catalogue.bregman_step(HINGE, mirrors.Euclidean(), ["1"], [1.0], 1.0),
            "weights must hold numbers: found text",
        ),
        (lambda: catalogue.p_norm(1.5), r"PNorm\(p\) must be a finite number >= 2"),
    ],
)
def test_what_means_nothing_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_perceptron_mistakes_do_not_depend_on_the_rate(
    stream: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = stream
    runs = [
        np.sign(
            MirrorDescent(HINGE, mirror, rates.Constant(eta), conservative=True).learn(X, y)
        ).tolist()
        for mirror in (mirrors.Euclidean(), mirrors.PNorm(2))
        for eta in (0.125, 1.0, 4.0)
    ]
    assert all(run == runs[0] for run in runs)


def test_online_to_batch_random_draws_a_play(stream: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = stream
    plays = [np.zeros(5)]
    learner = catalogue.ogd(HINGE, 0.1)
    for t in range(len(y)):
        learner.learn(X[t], y[t])
        plays.append(learner.weights)
    average = catalogue.online_to_batch(catalogue.ogd(HINGE, 0.1), X, y)
    assert average == pytest.approx(np.mean(plays[:-1], axis=0), rel=1e-12)
    drawn = set()
    for seed in range(30):
        one = catalogue.online_to_batch(catalogue.ogd(HINGE, 0.1), X, y, "random", seed)
        matches = [t for t, w in enumerate(plays[:-1]) if np.allclose(one, w, atol=1e-13)]
        assert matches
        drawn.add(matches[0])
    assert len(drawn) > 10


def test_online_to_batch_knows_the_first_play_of_its_learner() -> None:
    """The first weights are those of the learner given, domain and all, and it learns all rows."""
    first = {np.random.default_rng(seed).integers(2) == 0: seed for seed in range(20)}[True]
    learner = MirrorDescent(
        losses.Squared(),
        mirrors.Euclidean(),
        rates.Constant(0.1),
        domains.Box(0.05, 0.4),
        lazy=False,
    )
    w = catalogue.online_to_batch(learner, np.ones((2, 3)), [1.0, 1.0], "random", first)
    assert w.tolist() == [0.05, 0.05, 0.05]
    assert learner.rounds == 2


def test_online_to_batch_checks_its_arguments(stream: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = stream
    used = catalogue.perceptron()
    used.learn(X, y)
    with pytest.raises(ValueError, match="needs a fresh learner, this one has 60"):
        catalogue.online_to_batch(used, X, y)
    with pytest.raises(ValueError, match="method must be 'average' or 'random', got 'best'"):
        catalogue.online_to_batch(catalogue.perceptron(), X, y, "best")
    assert math.isfinite(used.certificate().loss)
