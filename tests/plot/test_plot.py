"""The pictures of `nr.plot`: what is drawn is what was measured, and what cannot be is refused."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.evaluate import Classification, Multiclass, Point, Regression, Trial
from noregret.report import pictures

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")


@cache
def _two(loss: Any = None, rounds: int = 600) -> tuple[Trial, Any, Any]:
    """Return a trial of two classes with its rows and labels, one feature of a huge size."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rounds, 3)) * [1.9e6, 1.0, 1.0]
    y = np.where(X[:, 0] / 1.9e6 + 0.5 * rng.normal(size=rounds) > 0.0, 1.0, -1.0)
    learner = nr.MirrorDescent(
        loss or nr.losses.Logistic(), nr.mirrors.Euclidean(), nr.rates.ScaleFree()
    )
    return nr.evaluate.progressive(learner, X, y), X, y


@cache
def _several() -> Trial:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 3))
    return nr.evaluate.progressive(nr.MatrixDescent(nr.losses.Softmax()), X, X.argmax(axis=1))


@cache
def _real() -> Trial:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 2))
    learner = nr.MirrorDescent(nr.losses.Squared(), nr.mirrors.Euclidean(), nr.rates.ScaleFree())
    return nr.evaluate.progressive(learner, X, X @ [1.0, -2.0])


def _texts(axes: Any) -> list[str]:
    axes.figure.draw_without_rendering()
    every = [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels()]
    return [text.get_text() for text in every if text.get_text()]


def test_every_function_draws_on_the_axes_that_it_is_given_and_returns_them() -> None:
    two, several, real = _two()[0], _several(), _real()
    drawn = {
        "loss": two, "regret": two, "mistakes": two, "roc": two, "precision_recall": two,
        "reliability": several, "confusion": several, "predictions": real, "residuals": real,
    }  # fmt: skip
    for name, run in drawn.items():
        axes = nr.plot.sheet()
        assert getattr(nr.plot, name)(run, ax=axes) is axes, name
        assert axes.get_title(loc="left") and axes.get_ylabel(), name
    axes = nr.plot.sheet()
    assert nr.plot.weights(two.learner, ax=axes) is axes


def test_without_axes_a_figure_of_pyplot_is_made() -> None:
    from matplotlib import pyplot

    before = set(pyplot.get_fignums())
    figure = nr.plot.loss(_two()[0]).figure
    assert set(pyplot.get_fignums()) - before == {figure.number}
    pyplot.close(figure)


def test_the_loss_picture_has_the_numbers_of_the_points() -> None:
    trial = _two()[0]
    axes = nr.plot.loss(trial, ax=nr.plot.sheet())
    losses, floors = axes.lines
    points = [point for point in trial.points if point.rounds >= 10]
    assert list(losses.get_xdata()) == [point.rounds for point in points]
    assert list(losses.get_ydata()) == [point.average_loss for point in points]
    assert list(floors.get_ydata()) == [point.average_floor for point in points]
    assert any("certified" in text for text in _texts(axes))


@pytest.mark.parametrize(
    ("loss", "floor"), [(0.5, 0.0), (0.5, 0.49), (1e-9, 0.0), (3.0, 2.9), (5e9, 4.9e9)]
)
def test_labels_of_curves_never_overlap(loss: float, floor: float) -> None:
    points = [Point(t, loss * t, 0, 1.0, floor * t, (loss - floor) * t) for t in (10, 100, 1000)]
    axes = nr.plot.loss(points, ax=nr.plot.sheet())
    axes.figure.draw_without_rendering()
    one, other = (text.get_window_extent() for text in axes.texts if "\n" in text.get_text())
    assert not one.overlaps(other)
    # Nor do they reach into the numbers below the axis, or out of the picture.
    ticks = [tick.get_window_extent() for tick in axes.get_xticklabels() if tick.get_text()]
    assert not any(box.overlaps(tick) for box in (one, other) for tick in ticks)
    assert all(box.x1 <= axes.figure.bbox.x1 and box.y0 >= 0.0 for box in (one, other))


def test_regrets_that_only_rounding_proves_do_not_stretch_the_axis() -> None:
    regrets = [1e-200, 1e-200, 0.05, 0.04]
    rounds = [10, 100, 1000, 10_000]
    points = [Point(t, v * t, 0, 1.0, 0.0, v * t) for t, v in zip(rounds, regrets, strict=True)]
    axes = nr.plot.regret(points, ax=nr.plot.sheet())
    low, high = axes.get_ylim()
    assert 0.01 < low < 0.04 and 0.05 < high < 0.2
    assert axes.lines[0].get_ydata()[0] < low and axes.lines[0].get_ydata()[2] == pytest.approx(
        0.05
    )


def test_a_regret_of_zero_is_said_in_words() -> None:
    points = [Point(t, 0.0, 0, 1.0, 0.0, 0.0) for t in (10, 20)]
    assert "0 at the most" in _texts(nr.plot.regret(points, ax=nr.plot.sheet()))


@pytest.mark.parametrize("share", [0.9, 0.05, 0.0003])
def test_ticks_of_mistakes_can_be_told_apart(share: float) -> None:
    points = [Point(t, 1.0, round(share * t), 1.0, 0.0, 1.0) for t in (10_000, 20_000, 40_000)]
    axes = nr.plot.mistakes(points, ax=nr.plot.sheet())
    axes.figure.draw_without_rendering()
    ticks = [tick.get_text() for tick in axes.get_yticklabels()]
    assert len(ticks) >= 3 and len(set(ticks)) == len(ticks) and all("%" in t for t in ticks)


def test_weights_are_drawn_times_the_size_of_their_feature() -> None:
    trial, X, _ = _two()
    learner: Any = trial.learner
    axes = nr.plot.weights(learner, ["big", "$a", "b" * 50], ax=nr.plot.sheet())
    assert axes.get_xlabel() == "weight × largest |x| of the feature"
    widths = [bar.get_width() for bar in axes.patches]
    expected = learner.weights * np.abs(X).max(axis=0)
    assert widths == pytest.approx(sorted(expected, key=lambda value: -abs(value)))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    # The raw weight of the first is a millionth of the others'.
    assert labels[0] == "big" and np.abs(learner.weights).argmax() != 0
    assert max(map(len, labels)) <= 28


def test_where_no_sizes_are_known_the_axis_says_so() -> None:
    learner = nr.MirrorDescent(nr.losses.Hinge(), nr.mirrors.Euclidean(), nr.rates.Constant(1))
    learner.learn([[100.0, 0.0], [0.0, 1.0]], [1, -1])
    axes = nr.plot.weights(learner, ax=nr.plot.sheet())
    assert axes.get_xlabel() == "weight, in the feature's own unit"
    axes = nr.plot.weights(learner, sizes=[100.0, 1.0], ax=nr.plot.sheet())
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([1e4, -1.0])
    with pytest.raises(ValueError, match=r"sizes has shape \(1,\), expected \(2,\)"):
        nr.plot.weights(learner, sizes=[1.0])
    with pytest.raises(ValueError, match="names has 1 entries, expected 2"):
        nr.plot.weights(learner, ["a"])
    with pytest.raises(ValueError, match="top must be at least 1, got 0"):
        nr.plot.weights(learner, top=0)


def test_curves_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(7)
    y = np.where(rng.random(5000) < 0.3, 1.0, -1.0)
    margins, weight = 0.7 * y + rng.standard_normal(5000), rng.exponential(size=5000)
    metrics = Classification()
    metrics.add(y, margins, weight)
    axes = nr.plot.roc(metrics, ax=nr.plot.sheet())
    _, curve, dot = axes.lines
    x, y_drawn = curve.get_xdata(), curve.get_ydata()
    area = sklearn.roc_auc_score(y, margins, sample_weight=weight)
    assert sklearn.auc(x, y_drawn) == pytest.approx(area, abs=1e-4)
    assert (x[0], y_drawn[0], x[-1], y_drawn[-1]) == (0.0, 0.0, 1.0, 1.0)
    predicted = margins > 0.0
    right = (weight * predicted)[y > 0.0].sum() / weight[y > 0.0].sum()
    assert dot.get_ydata()[0] == pytest.approx(right)
    axes = nr.plot.precision_recall(metrics, ax=nr.plot.sheet())
    average = sklearn.average_precision_score(y, margins, sample_weight=weight)
    told = float(axes.get_title(loc="left").rpartition(" ")[2])
    assert told == pytest.approx(average, abs=2e-3)


def test_confusion_is_that_of_scikit_learn_for_two_classes() -> None:
    trial, _, y = _two()
    metrics: Any = trial.metrics
    assert metrics.confusion.sum() == len(y)
    axes = nr.plot.confusion(trial, np.array(["no", "yes"]), ax=nr.plot.sheet())
    words = _texts(axes)
    shares = metrics.confusion / metrics.confusion.sum(axis=1, keepdims=True)
    assert {f"{share:.1%}" for share in shares.ravel()} <= set(words)
    assert words.count("no") == words.count("yes") == 2


def test_predictions_of_numbers_say_how_many_are_drawn() -> None:
    axes = nr.plot.predictions(_real(), ax=nr.plot.sheet())
    (dots,) = axes.collections
    assert len(dots.get_offsets()) == 300
    assert any(text.startswith("300 rounds") for text in _texts(axes))


@pytest.mark.parametrize(
    ("name", "run", "words"),
    [
        ("roc", Regression(), "found Regression, expected the metrics Classification"),
        ("roc", Classification(), "both labels"),
        ("reliability", Classification(), "no probabilities"),
        ("reliability", Multiclass(), "no probabilities"),
        ("confusion", Multiclass(), "no predictions"),
        ("predictions", Multiclass(), "found Multiclass, expected the metrics Regression"),
        ("residuals", Regression(), "no predictions"),
        ("loss", [Point(1, 1.0, 0, 1.0, 0.0, 1.0)], "at least two points, got 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(name: str, run: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refusal:
        getattr(nr.plot, name)(run)
    assert "\n" not in str(refusal.value)


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match="pictures need matplotlib") as refusal:
        nr.plot.sheet()
    assert str(refusal.value) == "pictures need matplotlib: pip install 'noregret[plot]'"


def test_a_report_has_the_pictures_that_mean_something() -> None:
    names = {
        kind: [picture.name for picture in pictures(trial.learner, trial.points, trial.metrics)]
        for kind, trial in (
            ("logistic", _two()[0]),
            ("hinge", _two(nr.losses.Hinge())[0]),
            ("classes", _several()),
            ("numbers", _real()),
        )
    }
    course, curves = ["loss", "regret"], ["confusion", "roc", "precision-recall"]
    assert names["logistic"] == [*course, "mistakes", *curves, "reliability", "weights"]
    assert names["hinge"] == [*course, "mistakes", *curves, "weights"]
    assert names["classes"] == [*course, "mistakes", "confusion", "reliability", "weights"]
    assert names["numbers"] == [*course, "predictions", "residuals", "weights"]


def test_a_picture_has_its_title_in_png_and_leaves_it_to_the_page_in_svg() -> None:
    trial = _two()[0]
    first = next(iter(pictures(trial.learner, trial.points, trial.metrics)))
    before = first.png()
    svg = first.svg()
    assert first.png() == before
    assert first.title == "Loss and certified floor" and first.title not in svg
    assert svg == first.svg() and before.startswith(b"\x89PNG")
    assert 'width="345.6pt"' in svg and not first.wide
