"""What the estimators for River make of dictionaries, labels, frames, and what they refuse."""

from __future__ import annotations

import copy
import math
import pickle
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from noregret import losses, mirrors, rates

pytest.importorskip("river", reason="river is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

from noregret.river import OnlineClassifier, OnlineRegressor  # noqa: E402
from noregret.river.features import MOST_PLANNED, FeatureColumns  # noqa: E402
from tests.river.journeys import TOWNS, journeys  # noqa: E402


def examples(count: int, seed: int = 3) -> list[tuple[dict[str, Any], float]]:
    """Return dictionaries of numbers and text that come and go, with a target."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(count):
        x: dict[Any, Any] = {f"f{i}": float(rng.standard_normal()) for i in range(4)}
        if k % 3:
            x["town"] = str(rng.choice(["Bonn", "Rome", "Oslo"]))
        if k % 4 == 1:
            del x["f2"]
        x[7] = bool(rng.integers(2))
        found.append((x, x["f0"] - 2.0 * x.get("f2", 0.0) + (x.get("town") == "Rome")))
    return found


def learnt(model: Any, count: int = 60) -> Any:
    for x, target in examples(count):
        model.learn_one(x, target if isinstance(model, OnlineRegressor) else target > 0.0)
    return model


def known(model: Any) -> tuple[Any, ...]:
    learner = model._learner if isinstance(model, OnlineRegressor) else model._scorer.learner
    arrays = learner._arrays()
    return {name: array.tobytes() for name, array in arrays.items()}, dict(model._features.names)


@pytest.mark.parametrize("make", [OnlineRegressor, OnlineClassifier])
def test_plans_and_rules_make_the_same_rows(make: Callable[[], Any]) -> None:
    features = FeatureColumns(constant=True)
    for x, _ in examples(30):
        columns, values = features.row(x, grow=True)
        planned = dict(zip(columns.tolist(), values.tolist(), strict=True))
        columns, values = features.by_rules(x, grow=False)
        ruled = dict(zip(columns.tolist(), values.tolist(), strict=True))
        assert {k: v for k, v in planned.items() if v} == ruled
        assert (np.diff(columns.astype(int)) > 0).all()
    model = learnt(make())
    assert {"f0", "town=Rome", "7"} < set(model.weights)


def test_the_order_of_keys_does_not_matter() -> None:
    features = FeatureColumns(constant=False)
    features.row({"a": 1.0, "b": 2.0, "c": 3.0}, grow=True)
    for _ in range(2):
        columns, values = features.row({"c": 3.0, "a": 1.0, "b": 2.0}, grow=True)
        assert columns.tolist() == [0, 1, 2] and values.tolist() == [1.0, 2.0, 3.0]


def test_a_prediction_takes_the_features_that_are_there_and_adds_none() -> None:
    model, other = OnlineClassifier(), OnlineClassifier()
    for one in (model, other):
        for b in range(9):
            one.learn_one({"a": 1.0, "b": b}, b > 3)
    # The plan of the last dictionary is for its very keys.
    known = model.predict_proba_one({"a": 1.0, "b": 4.0})
    assert known == other.predict_proba_one({"b": 4.0, "a": 1.0})
    alone = other.predict_proba_one({"a": 1.0})
    assert model.predict_proba_one({"a": 1.0, "c": 4.0}) == alone != known
    absent = defaultdict(float, a=1.0, c=4.0)
    assert model.predict_proba_one(absent) == alone and set(absent) == {"a", "c"}
    assert model.predict_proba_one({"a": 1.0, "b": "text"}) == alone


def test_memory_stays_bounded_by_the_names() -> None:
    features = FeatureColumns(constant=True)
    rng = np.random.default_rng(1)
    for _ in range(3000):
        chosen = rng.choice(500, 50, replace=False)
        features.row({f"w{k}": 1.0 for k in chosen}, grow=True)
    assert len(features.names) == 500
    assert sum(len(plan.columns) for plan in features._plans.values()) <= MOST_PLANNED


REFUSED: dict[str, tuple[dict[str, Any], Any, float]] = {
    "'b': found None, expected a value": ({"a": 1.0, "b": None}, True, 1.0),
    "'b': found nan, expected a value": ({"a": 1.0, "b": math.nan}, True, 1.0),
    "'b': found inf, expected a number of size at most": ({"a": 1.0, "b": math.inf}, True, 1.0),
    "'b': found -1e[+]101, expected": ({"a": 1.0, "b": -1e101}, True, 1.0),
    "'b': found <object": ({"a": 1.0, "b": object()}, True, 1.0),
    "'b': found 1000": ({"a": 1.0, "b": 10**400}, True, 1.0),
    "weight row 0: -1": ({"a": 1.0, "b": 1.0}, True, -1.0),
    "weight row 0: nan": ({"a": 1.0, "new": 1.0}, True, math.nan),
    "y is None, expected a label": ({"a": 1.0, "b": 1.0}, None, 1.0),
    "y is nan, expected a label": ({"a": 1.0, "b": 1.0}, math.nan, 1.0),
}


@pytest.mark.parametrize("complaint", REFUSED)
@pytest.mark.parametrize("fresh", [True, False])
def test_what_is_refused_changes_nothing(complaint: str, fresh: bool) -> None:
    model = OnlineClassifier()
    if not fresh:
        for k in range(5):
            model.learn_one({"a": 1.0 - k, "b": 0.5}, k % 2 == 0)
    before = pickle.dumps(model)
    x, y, w = REFUSED[complaint]
    with pytest.raises(ValueError, match=complaint):
        model.learn_one({**x, "unheard": 2.0}, y, w)
    assert pickle.dumps(model) == before
    model.learn_one({"a": 1.0}, False)


def test_a_target_that_is_no_number_is_refused() -> None:
    model = OnlineRegressor()
    before = pickle.dumps(model)
    for y in ("x", None, [1.0, 2.0], 10**400, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"^y is .*, expected a number$|y row 0"):
            model.learn_one({"a": 1.0}, y)
    with pytest.raises(ValueError, match="y row 1: label nan"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1.0, math.nan]))
    assert pickle.dumps(model) == before


def test_missing_values_as_a_feature() -> None:
    model = OnlineClassifier(missing="indicator")
    model.learn_one({"a": 1.0}, True)
    for absent in (math.nan, None):
        model.learn_one({"a": absent}, False)
    assert set(model.weights) == {"a", "a=missing"}
    assert model.predict_proba_one({"a": math.nan})[True] < 0.5


@pytest.mark.parametrize("kind", ["numbers", "mixed"])
@pytest.mark.parametrize("make", [OnlineRegressor, OnlineClassifier])
def test_frames_are_learnt_as_their_rows(make: Callable[[], Any], kind: str) -> None:
    rows = [
        (
            {"b": x["f1"], "a": x["f0"], "n": int(4 * x["f3"]), "t": x[7]}
            | ({"town": x.get("town", "none")} if kind == "mixed" else {}),
            y if make is OnlineRegressor else y > 0.0,
        )
        for x, y in examples(60)
    ]
    one, many = make(), make()
    for x, y in rows:
        one.learn_one(x, y, 0.5)
    for start in (0, 25):
        part = rows[start : 25 if start == 0 else 60]
        frame = pd.DataFrame([x for x, _ in part], index=range(100, 100 + len(part)))
        many.learn_many(frame, pd.Series([y for _, y in part]), 0.5)
    assert pickle.dumps(one) == pickle.dumps(many)
    # A column that nobody knows is not looked at.
    frame["unheard"] = 1.0
    answers = many.predict_many(frame)
    assert list(answers.index) == list(frame.index)
    assert answers.tolist() == pytest.approx([one.predict_one(x) for x, _ in rows[25:]])
    if make is OnlineClassifier:
        chances = many.predict_proba_many(frame).to_dict("records")
        assert chances == [pytest.approx(one.predict_proba_one(x)) for x, _ in rows[25:]]


def test_two_labels_of_any_kind() -> None:
    model = OnlineClassifier()
    assert model.predict_one({"a": 1.0}) is None and model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_many(pd.DataFrame({"a": [1.0]})).tolist() == [None]
    model.learn_one({"a": 1.0}, "ham")
    assert model.predict_one({"a": 1.0}) == "ham"
    assert model.predict_proba_one({"a": 1.0}) == {"ham": 1.0}
    for _ in range(5):
        model.learn_one({"a": -1.0}, ("spam", 1))
        model.learn_one({"a": 1.0}, "ham")
    assert model.classes == ["ham", ("spam", 1)] and model.weights["a"] < 0.0
    assert model.predict_one({"a": -1.0}) == ("spam", 1) and model.predict_one({"a": 1.0}) == "ham"


def test_truth_values_are_known_together() -> None:
    model = OnlineClassifier()
    model.learn_one({"a": 1.0}, np.bool_(True))
    assert set(model.predict_proba_one({"a": 1.0})) == {False, True}
    assert model.predict_one({"a": 1.0}) is True and model.weights["a"] > 0.0


@pytest.mark.parametrize(
    "loss", ["log_loss", losses.Hinge(), losses.Softmax(), "multiclass-hinge"], ids=str
)
def test_labels_that_appear_on_the_way(loss: Any) -> None:
    one, many = OnlineClassifier(loss), OnlineClassifier(loss)
    rows = journeys(300)
    right = 0
    for x, town in rows:
        right += one.predict_one(x) == town
        one.learn_one(x, town)
    assert set(one.classes) == set(TOWNS) and right > 200
    for start in range(0, 300, 75):
        part = rows[start : start + 75]
        many.learn_many(pd.DataFrame([x for x, _ in part]), pd.Series([y for _, y in part]))
    frame = pd.DataFrame([x for x, _ in rows])
    assert one.certificate().as_dict() == many.certificate().as_dict()
    assert one.certificate().rounds == 300
    assert many.predict_many(frame).tolist() == [one.predict_one(x) for x, _ in rows]
    assert len(one.weights["f0"]) == len(TOWNS)
    if loss == "log_loss" or isinstance(loss, losses.Softmax):
        chances = many.predict_proba_many(frame)
        assert list(chances.columns) == one.classes
        assert chances.sum(axis=1).tolist() == pytest.approx([1.0] * 300)
        ours = [one.predict_proba_one(x) for x, _ in rows]
        assert chances.to_dict("records") == [pytest.approx(each) for each in ours]


def test_a_third_label_goes_on_where_two_were() -> None:
    binary, more = OnlineClassifier(), OnlineClassifier()
    rows = [(x, town == "Bonn") for x, town in journeys(100)]
    for model in (binary, more):
        for x, y in rows:
            model.learn_one(x, y)
    more.learn_one({"f0": 0.0}, "neither", 0.0)
    assert more.classes == [False, True, "neither"]
    for x, _ in rows:
        ours, theirs = more.predict_proba_one(x), binary.predict_proba_one(x)
        # One against the rest: the third has a score of 0, which is an even chance.
        assert ours["neither"] == pytest.approx(0.5 / 1.5)
        assert ours[True] == pytest.approx(theirs[True] / 1.5)


@pytest.mark.parametrize("loss", ["logistic", losses.Softmax()], ids=str)
def test_a_refused_example_brings_no_label(loss: Any) -> None:
    model = OnlineClassifier(loss)
    for x, town in journeys(100):
        model.learn_one(x, town)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="'f0': found nan"):
        model.learn_one({"f0": math.nan}, "Lima")
    frame = pd.DataFrame({"f0": [1.0, math.nan], "new": [1.0, 2.0]})
    with pytest.raises(ValueError, match="'f0': found nan"):
        model.learn_many(frame, pd.Series(["Lima", "Bonn"]))
    with pytest.raises(ValueError, match="weight row 1"):
        model.learn_many(frame.fillna(0.0), pd.Series(["Lima", "Bonn"]), [1.0, -1.0])
    with pytest.raises(ValueError, match="expected a label"):
        model.learn_many(frame.fillna(0.0), pd.Series(["Lima", None]))
    assert pickle.dumps(model) == before


def test_words_stand_for_losses_rates_and_maps() -> None:
    model = OnlineRegressor("huber:2", "inverse_sqrt:0.5", "p-norm:3")
    assert (model.loss, model.rate) == (losses.Huber(2.0), rates.InverseSqrt(0.5))
    assert model.mirror == mirrors.PNorm(3.0) and model.clone().mirror == model.mirror
    with pytest.raises(ValueError, match="did you mean logistic") as error:
        OnlineClassifier("logisitc")
    assert error.value.argument == "loss"


def test_losses_and_maps_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="is for real targets"):
        OnlineClassifier(losses.Squared())
    with pytest.raises(ValueError, match="is for classes, expected one of real targets"):
        OnlineRegressor(losses.Logistic())
    with pytest.raises(ValueError, match="must know its features in advance"):
        OnlineRegressor(losses.Absolute(), rates.Constant(0.1), mirrors.Entropy(1.0))


@pytest.mark.parametrize("make", [OnlineRegressor, OnlineClassifier])
@pytest.mark.parametrize("twin", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on_by_themselves(make: Callable[[], Any], twin: Callable[[Any], Any]) -> None:
    model = learnt(make(), 20)
    other, third = twin(model), twin(model)
    learnt(model)
    learnt(other)
    assert known(model) == known(other) != known(third)
    fresh = model.clone()
    assert fresh.certificate().rounds == 0 and fresh._get_params() == model._get_params()


@pytest.mark.parametrize(
    "model",
    [OnlineRegressor(), OnlineRegressor(losses.Absolute(), rates.Adaptive(), mirrors.PNorm(3.0))],
    ids=str,
)
def test_several_threads_may_ask_at_a_time(model: Any) -> None:
    model = learnt(model.clone())
    asked = [{f"f{i}": float(k - i) for i in range(4)} for k in range(500)]
    expected = [model.predict_one(x) for x in asked]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: [model.predict_one(x) for x in asked], range(16)):
            assert found == expected


def test_parameters_are_fixed_once_made() -> None:
    model = OnlineClassifier()
    with pytest.raises(ValueError, match="not a mutable attribute"):
        model.mutate({"rate": rates.Constant(0.1)})
    assert model.clone({"rate": rates.Constant(0.1)}).rate == rates.Constant(0.1)


def test_the_certificate_speaks_of_the_examples() -> None:
    proof = learnt(OnlineRegressor(), 200).certificate()
    assert proof.rounds == 200 and proof.loss > 0.0
    # The targets are linear: these weights lose nothing, and features are measured by their sizes.
    sizes = [max(abs(x.get(name, 0.0)) for x, _ in examples(200)) for name in ("f0", "f2")]
    assert proof.floor(math.hypot(sizes[0], 2.0 * sizes[1], 1.0)) == 0.0 < proof.floor(1.0)


def test_keys_that_are_equal_have_names_of_their_own() -> None:
    one, other = OnlineRegressor(), OnlineRegressor()
    for model, keys in ((one, (1, True, 1.0, 1)), (other, ("1", "True", "1.0", "1"))):
        for place, key in enumerate(keys):
            model.learn_one({key: 2.0 + place}, 1.0)
    assert one.weights == other.weights and list(one.weights) == ["1", "True", "1.0"]


def test_a_third_label_that_cannot_be_is_refused_before_any_row() -> None:
    model = OnlineClassifier(mirror=mirrors.PNorm(3.0), rate=rates.Constant(0.1))
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]})
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"y has a third label, and .* OneAgainstRest"):
        model.learn_many(X, pd.Series(["u", "v", "w", "u"]))
    with pytest.raises(ValueError, match="expected a label that can be the key"):
        model.learn_many(X, pd.Series(["u", ["v"], "w", "u"]))
    with pytest.raises(ValueError, match=r"weight has shape \(3,\), expected \(4,\)"):
        model.learn_many(X, pd.Series(["u", "v", "v", "u"]), [1.0, 1.0, 1.0])
    assert pickle.dumps(model) == before
    # 1 equals True, but of numbers only those seen are labels.
    model.learn_many(X, pd.Series([1, 2, 2, 1]))
    assert model.classes == [1, 2] and model.certificate().rounds == 4
    with pytest.raises(ValueError, match="third label"):
        model.learn_one({"a": 1.0}, 3)
    assert model.classes == [1, 2]


def test_an_example_that_diverges_brings_neither_names_nor_labels() -> None:
    regressor = OnlineRegressor(losses.Squared(), rates.Constant(1e140))
    regressor.learn_one({"a": 1.0}, 1.0)
    before = known(regressor)
    with pytest.raises(OverflowError, match="round 2 overflows"):
        regressor.learn_one({"a": 1e60, "b": 1.0}, 1.0)
    assert known(regressor) == before
    classifier = OnlineClassifier(losses.Logistic(), rates.Constant(1e140))
    classifier.learn_one({"a": 1.0}, "x")
    with pytest.raises(OverflowError, match="round 2 overflows"):
        classifier.learn_one({"a": 1e60}, "y")
    assert classifier.classes == ["x"]


def test_two_keys_of_one_name_add_up() -> None:
    features = FeatureColumns(constant=False)
    x = {"town": "Rome", "town=Rome": 2.0}
    for row in (features.by_rules(x, grow=True), features.row(x, grow=True)):
        assert [part.tolist() for part in row] == [[0], [3.0]]


def test_columns_of_a_frame_come_in_the_order_of_their_names() -> None:
    features = FeatureColumns(constant=False)
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]})
    sorted_rows = features.rows(frame, grow=True)
    turned = features.rows(frame[["c", "a", "b"]], grow=False)
    assert turned.indices.tolist() == sorted_rows.indices.tolist()
    assert turned.values.tolist() == sorted_rows.values.tolist()
