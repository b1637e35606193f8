"""Streams of River's data sets, read by `nr.read` and learnt by its estimators alike."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import losses, mirrors, rates

pytest.importorskip("river", reason="river is not installed")

from river import compose, datasets, evaluate, metrics, preprocessing
from river.datasets import synth

from noregret.river import OnlineClassifier, OnlineRegressor
from tests.sizes import sized

STREAMS: dict[str, tuple[Any, Any, int, int]] = {
    "Phishing": (datasets.Phishing(), "binary", 1250, 9),
    "Bananas": (datasets.Bananas(), "binary", 5300, 2),
    "TrumpApproval": (datasets.TrumpApproval(), "real", 1001, 6),
    "ChickWeights": (datasets.ChickWeights(), "real", 578, 3),
    "ImageSegments": (datasets.ImageSegments(), "classes", 2310, 18),
    "AirlinePassengers": (datasets.AirlinePassengers(), "real", 144, 1),
    "WaterFlow": (datasets.WaterFlow(), "real", 1268, 1),
    "SP500Stocks": (datasets.SP500Stocks(), "real", 1257, 10),
    "Agrawal": (synth.Agrawal(seed=1).take(300), "binary", 300, 9),
    "SEA": (synth.SEA(seed=1).take(300), "binary", 300, 3),
    "Friedman": (synth.Friedman(seed=1).take(300), "real", 300, 10),
    "Mv": (synth.Mv(seed=1).take(300), "real", 300, 14),
    "LED": (synth.LED(seed=1).take(300), "real", 300, 7),
    "drift": (synth.ConceptDriftStream(seed=1).take(300), "binary", 300, 9),
}


#: Rows of a stream.
MOST = sized(300, 6000)


@pytest.mark.parametrize("name", STREAMS)
def test_streams_of_river_are_read(name: str) -> None:
    data, labels, examples, features = STREAMS[name]
    if examples > MOST:
        data, examples = islice(data, MOST), MOST
    stream = nr.read(data, labels=labels)
    blocks = list(stream)
    assert sum(len(block) for block in blocks) == examples
    assert len(stream.names) == features and blocks[-1].width == features


def test_moments_are_days() -> None:
    blocks = list(nr.read(datasets.AirlinePassengers()))
    # The first month is January 1949, 21 years before 1970.
    assert [block.values[0] for block in blocks] == [-7670.0]
    assert sum(map(len, nr.read(datasets.AirlinePassengers(), ignore="month"))) == 144


def test_several_labels_an_example_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'label': found"):
        list(nr.read(datasets.SolarFlare()))


@pytest.mark.parametrize("name", ["Phishing", "TrumpApproval", "Mv"])
def test_the_estimator_learns_what_the_core_learns_of_the_stream(name: str) -> None:
    """Names have columns in another order where zeros come first, and sums other roundings."""
    data, labels, examples, _ = STREAMS[name]
    data = list(data) if name != "Mv" else list(synth.Mv(seed=1).take(300))
    data = data[:MOST]
    loss = losses.Logistic() if labels == "binary" else losses.Squared()
    core = nr.MirrorDescent(loss, mirrors.Euclidean(), rates.ScaleFree())
    stream = nr.read(data, labels=labels, constant=1.0)
    for block in stream:
        core.learn(block, block.y)
    kind = OnlineClassifier if labels == "binary" else OnlineRegressor
    model = kind()
    for x, y in data:
        model.learn_one(x, y)
    ours, theirs = model.certificate(), core.certificate()
    assert ours.rounds == theirs.rounds == min(examples, MOST)
    assert ours.loss == pytest.approx(theirs.loss, rel=1e-9)
    assert ours.floor(2.0) == pytest.approx(theirs.floor(2.0), rel=1e-9)
    found = dict(zip(list(stream.names), core.weights, strict=True))
    assert model.weights == pytest.approx({k: v for k, v in found.items() if k != "intercept"})


def test_in_a_pipeline_and_progressively() -> None:
    numbers = compose.SelectType(int, float) | preprocessing.StandardScaler()
    model = numbers | OnlineRegressor()
    error = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    assert error.get() < 0.6


def test_raw_features_of_any_scale_do_as_well() -> None:
    scales = dict(zip(next(iter(datasets.Phishing()))[0], np.logspace(-3, 3, 9), strict=True))
    found = []
    for factor in (0.0, 1.0):
        model, loss = OnlineClassifier(), metrics.LogLoss()
        for x, y in datasets.Phishing():
            x = {name: value * scales[name] ** factor for name, value in x.items()}
            loss.update(y, model.predict_proba_one(x))
            model.learn_one(x, y)
        found.append(loss.get())
    assert found[0] < 0.34 and found[1] == pytest.approx(found[0], rel=1e-6)
