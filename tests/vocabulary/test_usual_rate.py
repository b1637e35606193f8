"""What is learnt where no rate is named: one rule for words, models and estimators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.experts import ScoreAggregate
from noregret.losses import ScoreLoss
from noregret.vocabulary.learners import Spec
from noregret.vocabulary.listing import words
from noregret.vocabulary.named import make, parse_spec
from noregret.vocabulary.words import classes, spec

#: Every online learner refuses the negative logarithm, which is infinite at 0.
SINGLE = [
    name
    for name, cls in classes("loss").items()
    if not issubclass(cls, ScoreLoss) and name != "negative-log"
]
X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.where(X @ [1.0, -2.0, 0.5] > 0.0, 1.0, -1.0)


@pytest.mark.parametrize("loss", SINGLE)
def test_every_loss_of_one_score_has_the_mixture(loss: str) -> None:
    made = Spec(loss).make()
    assert type(made) is nr.Mixture and made.loss == spec(loss, "loss")
    assert Spec(loss).settled() == Spec(loss, rate="mixture")


def test_the_mixture_of_the_default_learns_what_the_mixture_learns() -> None:
    ours, theirs = Spec().make(), nr.Mixture(nr.losses.Logistic())
    np.testing.assert_array_equal(ours.learn(X, Y), theirs.learn(X, Y))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize(
    ("chosen", "rate"),
    [
        ({"mirror": "ball:2"}, "adaptive"),
        ({"mirror": "ball", "radius": 2.0}, "adaptive"),
        ({"mirror": "p-norm:4"}, "adaptive"),
        ({"mirror": "soft-threshold:0.1"}, "adaptive"),
        ({"eta": 0.5}, "adaptive"),
        ({"update": "agile"}, "adaptive"),
        ({"update": "mistakes", "loss": "hinge"}, "adaptive"),
        ({"average": True}, "adaptive"),
        ({"features": 3}, "scale-free"),
        ({"rate": "scale_free"}, "scale-free"),
        ({"rate": "Constant:0.5"}, "constant:0.5"),
        ({"loss": "one-against-rest"}, "scale-free"),
        ({"loss": "multiclass-hinge"}, "scale-free"),
        ({"loss": "softmax", "mirror": "p-norm:3"}, "adaptive"),
        ({"loss": "softmax", "features": 3}, "scale-free"),
        ({"loss": "softmax"}, "mixture"),
        ({"loss": "softmax", "classes": 4}, "mixture"),
        ({"blocks": True}, "mixture"),
        ({"blocks": True, "rowless": True}, "mixture"),
    ],
    ids=str,
)
def test_what_belongs_to_one_learner_makes_it_one(chosen: dict[str, Any], rate: str) -> None:
    settled = Spec(**chosen).settled()
    assert settled.rate == rate
    made, same = Spec(**chosen).make(), settled.make()
    assert type(made) is type(same)
    mixed = isinstance(made, nr.Mixture | ScoreAggregate)
    assert mixed == (rate == "mixture")
    if not mixed:
        assert made.rate == same.rate and type(made.rate) is type(spec(rate, "rate"))
    assert settled == replace(Spec(**chosen), rate=rate)


@pytest.mark.parametrize("update", ["exact", "aggressive", "leader"])
def test_dual_ascent_has_no_rate_to_choose(update: str) -> None:
    chosen = Spec("hinge", update=update)
    assert chosen.settled() == chosen and type(chosen.make()) is nr.DualAscent


def test_options_of_another_learner_are_refused_as_if_no_mixture_were_there() -> None:
    for chosen, place, reason in (
        ({"radius": 2.0}, "radius", "belongs to the maps ball"),
        ({"C": 2.0}, "C", "belongs to the updates exact"),
        ({"loss": "softmax", "C": 2.0}, "C", "belongs to learners of two classes"),
        ({"loss": "softmax", "average": True}, "average", "belongs to learners of two classes"),
    ):
        with pytest.raises(ArgumentError, match=reason) as refused:
            Spec(**chosen).make()  # type: ignore[arg-type]
        assert refused.value.argument == place


def test_an_average_does_not_choose_another_rate() -> None:
    with pytest.raises(ArgumentError, match="the usual rate, mixture, keeps none: choose another"):
        Spec(average=True).fresh()
    assert Spec(average=True, rate="adaptive").fresh().rate == nr.rates.Adaptive()


def test_presets_of_one_word() -> None:
    alone = make("scale-free", parse_spec("scale-free", "hinge"))
    assert type(alone) is nr.MirrorDescent and alone.rate == nr.rates.ScaleFree()
    assert type(make("default", parse_spec("default", "hinge"))) is nr.Mixture
    several = {name: parse_spec(name, "softmax", several=True) for name in ("default", "softmax")}
    assert type(several["default"].make()) is ScoreAggregate
    assert type(several["softmax"].make()) is nr.MatrixDescent
    assert type(parse_spec("default", "hinge", several=True).make()) is nr.MatrixDescent
    told = {word.name: word.about for word in words("learner")}
    assert told["default"] == "loss logistic, rate mixture"
    assert told["scale-free"] == "rate scale-free"
