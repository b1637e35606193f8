"""Words for components and learners: every public class has one, and refusals name the argument."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.component import POSITIVE
from noregret.vocabulary import words as vocabulary
from noregret.vocabulary.learners import Spec, make_mirror, make_rate
from noregret.vocabulary.listing import KINDS
from noregret.vocabulary.named import make, parse_spec
from noregret.vocabulary.presets import PRESETS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("logistic", nr.losses.Logistic()),
        ("hinge:0.5", nr.losses.Hinge(0.5)),
        ("Hinge:margin=0.5", nr.losses.Hinge(0.5)),
        ("quantile:0.9", nr.losses.Quantile(0.9)),
        ("scale-free", nr.rates.ScaleFree()),
        ("Scale_Free", nr.rates.ScaleFree()),
        ("p-norm:4", nr.mirrors.PNorm(4.0)),
        ("elastic-net:0.1", nr.mirrors.ElasticNet(0.1)),
        ("box:-2,high=3", nr.mirrors.Box(-2.0, 3.0)),
        ("per-coordinate:2,invariant=true", nr.rates.PerCoordinate(2.0, True)),
        ("power_hinge:2,margin=0.5", nr.losses.PowerHinge(2.0, 0.5)),
        ("one-against-rest:hinge:2", nr.losses.OneAgainstRest(nr.losses.Hinge(2.0))),
        ("log_loss", nr.losses.Logistic()),
        ("squared_error", nr.losses.Squared()),
        ("absolute_error", nr.losses.Absolute()),
        ("pinball:0.1", nr.losses.Quantile(0.1)),
        ("ovr", nr.losses.OneAgainstRest()),
        ("OvR:log_loss", nr.losses.OneAgainstRest()),
        ("multinomial", nr.losses.Softmax()),
        ("crammer_singer", nr.losses.MulticlassHinge()),
        ("adagrad", nr.rates.PerCoordinate()),
    ],
)
def test_words_stand_for_components(text: str, expected: Any) -> None:
    assert nr.spec(text) == expected
    assert nr.spec(expected) is expected


@pytest.mark.parametrize("kind", ["loss", "mirror", "rate"])
def test_every_public_class_has_a_word_and_no_two_share_one(kind: str) -> None:
    room = {"loss": nr.losses, "mirror": nr.mirrors, "rate": nr.rates}[kind]
    made = [cls for cls in vars(room).values() if isinstance(cls, type)]
    public = {cls.__name__ for cls in made if "__dataclass_params__" in vars(cls)}
    found = nr.words(kind)
    assert {type(nr.spec(word.name, kind)).__name__ for word in found} == public
    assert len(found) == len(public) >= 8
    for word in found:
        # A word alone is enough: no two kinds share one, and the usage can be read back.
        assert nr.spec(word.name) == nr.spec(word.name, kind)
        plain = word.usage.replace("[", "").replace("]", "")
        if "=S" not in plain:
            assert nr.spec(plain) == nr.spec(word.name)
        assert word.about and "\n" not in word.about


def test_a_newcomer_has_its_word_without_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class InventedLoss(nr.losses.Loss):
        """A loss of a test."""

        sharpness: float = field(metadata=POSITIVE)

    monkeypatch.setattr(nr.losses, "InventedLoss", InventedLoss, raising=False)
    monkeypatch.setattr(nr.losses, "__all__", [*nr.losses.__all__, "InventedLoss"])
    for kept in (vocabulary.classes, vocabulary._spellings):
        kept.cache_clear()
    try:
        assert nr.spec("invented_loss:2") == InventedLoss(2.0)
        assert nr.words("loss")[-1] == (
            "invented-loss", "invented-loss:sharpness=SHARPNESS", "A loss of a test.",
        )  # fmt: skip
        with pytest.raises(ArgumentError, match="sharpness") as error:
            nr.spec("invented-loss", "loss")
        assert error.value.argument == "loss"
        monkeypatch.setattr(nr.rates, "InventedLoss", InventedLoss, raising=False)
        monkeypatch.setattr(nr.rates, "__all__", [*nr.rates.__all__, "InventedLoss"])
        vocabulary.classes.cache_clear()
        vocabulary._spellings.cache_clear()
        with pytest.raises(ArgumentError, match="is a loss and a rate: say which"):
            nr.spec("invented-loss:1")
    finally:
        monkeypatch.undo()
        for kept in (vocabulary.classes, vocabulary._spellings):
            kept.cache_clear()


@pytest.mark.parametrize(
    ("text", "kind", "argument", "words"),
    [
        ("logisitc", "loss", "loss", ["did you mean logistic?", "nr.words('loss')"]),
        ("quantil:0.9", None, "text", ["did you mean quantile?"]),
        ("mulitnomial", "loss", "loss", ["did you mean multinomial?"]),
        ("logistic", "rate", "rate", ["no such rate", "nr.words('rate')"]),
        ("hinge:x", "loss", "loss", ["expected a number for margin, found 'x'"]),
        ("hinge:", "rate", "rate", ["no such rate"]),
        ("hinge:-1", "loss", "loss", ["must be above 0 and at most 1e90, got -1.0"]),
        ("logistic:1", "loss", "loss", ["takes nothing after a colon"]),
        ("elastic-net:0.1,l2=0.5", "mirror", "mirror", ["found 'l2=0.5'", "elastic-net[:l1=0]"]),
        ("power-hinge:2,1", "loss", "loss", ["found '1', expected power-hinge[:r="]),
        ("per-coordinate:1,invariant=2", "rate", "rate", ["expected true or false for invariant"]),
        ("ovr:sofmax", "loss", "loss", ["did you mean softmax?"]),
        ("ovr:squared", "loss", "loss", ["labels -1 and +1"]),
        ("logistic", "lss", "kind", ["did you mean loss?"]),
        (nr.losses.Hinge, "loss", "loss", ["did you forget the parentheses?"]),
        (nr.rates.Constant(1.0), "loss", "loss", ["expected a loss or the word of one"]),
        (None, None, "text", ["expected a component"]),
    ],
)
def test_refusals_name_the_argument_in_a_line(
    text: Any, kind: str | None, argument: str, words: list[str]
) -> None:
    with pytest.raises(ArgumentError) as error:
        nr.spec(text, kind)
    assert error.value.argument == argument and isinstance(error.value, ValueError)
    assert all(word in str(error.value) for word in words), str(error.value)
    assert "\n" not in str(error.value) and "--" not in str(error.value)
    again = pickle.loads(pickle.dumps(error.value))
    assert str(again) == str(error.value) and again.argument == argument


def test_words_of_an_unknown_kind() -> None:
    assert [len(nr.words(kind)) > 5 for kind in KINDS] == [True] * 4
    with pytest.raises(ArgumentError, match="did you mean learner"):
        nr.words("learners")


@pytest.mark.parametrize(
    ("make", "arguments", "expected"),
    [
        (make_mirror, ("ball", 3.0), "Ball(radius=3.0)"),
        (make_mirror, ("ball:3", None), "Ball(radius=3.0)"),
        (make_mirror, ("entropy", 2.0), "Entropy(scale=2.0)"),
        (make_rate, ("constant", 0.5), "Constant(eta=0.5)"),
        (make_rate, ("constant:0.5", None), "Constant(eta=0.5)"),
        (make_rate, ("per_coordinate", 2.0), "PerCoordinate(scale=2.0, invariant=False)"),
        (make_rate, ("strongly-convex", 2.0), "StronglyConvex(sigma=2.0)"),
        (make_rate, ("coin-betting:2", None), "CoinBetting(wealth=2.0)"),
    ],
)
def test_sizes_may_be_given_apart(make: Any, arguments: tuple[Any, ...], expected: str) -> None:
    assert repr(make(*arguments)) == expected


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"loss": "nonsense"}, "loss"),
        ({"mirror": "ball"}, "radius"),
        ({"mirror": "ball", "radius": -1.0}, "radius"),
        ({"mirror": "ball:1", "radius": 2.0}, "radius"),
        ({"radius": 2.0}, "radius"),
        ({"mirror": "entropy"}, "features"),
        ({"rate": "quick"}, "rate"),
        ({"rate": "scale-free", "eta": 1.0}, "eta"),
        ({"rate": "coin-betting", "eta": 1.0}, "eta"),
        ({"rate": "constant:1", "eta": 1.0}, "eta"),
        ({"rate": "constant", "eta": -1.0}, "eta"),
        ({"rate": "grid", "eta": 1.0}, "eta"),
        ({"rate": "grid", "update": "agile"}, "update"),
        ({"rate": "grid", "average": True}, "average"),
        ({"update": "desc"}, "update"),
        ({"C": 2.0}, "C"),
        ({"k": 2}, "k"),
        ({"update": "exact", "rate": "constant"}, "rate"),
        ({"update": "exact", "eta": 1.0}, "eta"),
        ({"update": "exact", "average": True}, "average"),
        ({"classes": 3}, "classes"),
        ({"loss": "softmax", "classes": -1}, "classes"),
        ({"loss": "softmax", "rate": "doubling"}, "rate"),
        ({"loss": "softmax", "mirror": "entropy"}, "mirror"),
        ({"loss": "softmax", "update": "exact"}, "update"),
        ({"loss": "softmax", "C": 1.0}, "C"),
        ({"loss": "pairwise-hinge"}, "loss"),
    ],
)
def test_learners_that_make_no_sense_name_the_argument(
    options: dict[str, Any], argument: str
) -> None:
    with pytest.raises(ArgumentError) as error:
        Spec(**options).make()
    assert error.value.argument == argument
    assert "\n" not in str(error.value) and "--" not in str(error.value)


def test_an_average_is_refused_where_the_rate_keeps_none() -> None:
    for options in ({}, {"rate": "scale-free"}, {"rate": "coin-betting"}):
        with pytest.raises(ArgumentError, match=r"keeps none: choose another rate") as error:
            Spec(average=True, **options).fresh()
        assert error.value.argument == "average"
    sparse = Spec(average=True, mirror="soft-threshold:0.1", rate="adaptive")
    with pytest.raises(ArgumentError, match="choose another mirror"):
        sparse.fresh()
    for options in ({"rate": "adaptive"}, {"mirror": "ball:2"}, {"eta": 0.5}):
        kept, plain = Spec(average=True, **options).fresh(), Spec(**options).fresh()
        assert kept.rate == plain.rate and kept.average.size == 0
    # A model of before may have been learnt so, and is replayed by its words.
    assert repr(Spec(average=True).make().rate) == "Adaptive(scale=None)"


def test_a_mixture_of_several_classes_in_words() -> None:
    learner = Spec(loss="softmax", rate="mixture", classes=3, blocks=True).make()
    assert (type(learner), learner.outputs) == (nr.experts.ScoreAggregate, 3)
    assert learner.blocks and Spec(loss="softmax", rate="Mixture").make().outputs == 0
    for options, argument in (
        ({"loss": "multiclass-hinge"}, "loss"),
        ({"mirror": "p-norm:3"}, "mirror"),
        ({"update": "mistakes"}, "update"),
        ({"classes": -1}, "classes"),
        ({"eta": 2.0}, "eta"),
        ({"radius": 2.0}, "radius"),
        ({"average": True}, "average"),
        ({"C": 2.0}, "C"),
        ({"rate": "grid"}, "rate"),
    ):
        with pytest.raises(ArgumentError) as error:
            Spec(**{"loss": "softmax", "rate": "mixture"} | options).make()
        assert error.value.argument == argument and "\n" not in str(error.value)


def test_words_are_kept_as_we_spell_them() -> None:
    spec = Spec(loss="Log_Loss", mirror="P_Norm:3", rate="Inverse_Sqrt:0.5")
    assert spec.as_dict() == {"mirror": "p-norm:3", "rate": "inverse-sqrt:0.5"}
    assert Spec(rate="GRID").rate == "grid" and Spec(loss="ovr:log").loss.endswith(":logistic")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_makes_a_learner(name: str) -> None:
    assert make(name, parse_spec(name.upper().replace("-", "_"), "logistic")).rounds == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nothing", "no such learner"),
        ("adagard", "did you mean adagrad?"),
        ("pa:D=1", "found 'D=1', expected KEY=VALUE with a key among loss, mirror"),
        ("pa:C=x", "expected a number for C, found 'x'"),
        ("ogd:C=1", "C=1.0: belongs to the updates exact, aggressive"),
        ("pa:eta=1", "eta=1.0: the update exact has none"),
        ("ball/adaptive", "radius: the map ball needs one"),
        ("ball/adaptve:radius=1", "did you mean adaptive?"),
        ("default:loss=squard", "did you mean squared?"),
    ],
)
def test_errors_about_a_learner_name_it(text: str, complaint: str) -> None:
    with pytest.raises(ArgumentError) as error:
        make(text, parse_spec(text, "logistic"))
    assert (error.value.argument, error.value.found) == ("learner", text)
    assert complaint in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(ValueError, match="CoinBetting needs a loss with a steepest slope"):
        make("x", parse_spec("coin-betting:loss=squared", "logistic"))


def test_options_of_a_learner_override_its_preset() -> None:
    spec = parse_spec("pa:C=0.5,loss=squared-hinge:2", "logistic")
    assert (spec.C, spec.loss, spec.update) == (0.5, "squared-hinge:2", "exact")
    assert spec.as_dict() == {"C": 0.5, "loss": "squared-hinge:2", "update": "exact"}
    mixture = Spec(rate="grid", mirror="ball", radius=2.0).make()
    assert len(mixture.learners) == 11 and mixture.learners[0].mirror.radius == 2.0
