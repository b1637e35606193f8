"""The benchmarks of experts run, and what they print about real data is true."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from bench import experts as speed
from bench import load
from noregret.experts import best_combination
from noregret.plot import shares, sheet
from tests.sizes import sized

FILE = Path(os.environ.get("NOREGRET_DATA", "")) / "opera_electric_load" / "electric_load.csv.xz"


def test_the_lines_of_the_speed_table() -> None:
    lines = speed.lines(sized(200, 1000), 2)
    assert len(lines) == 4 and all(line.value > 0.0 for line in lines)
    assert [line.at_most for line in lines] == [speed.BAR, None, None, None]


@pytest.mark.skipif(
    "NOREGRET_DATA" not in os.environ or not FILE.is_file(),
    reason="NOREGRET_DATA does not name a folder of real data",
)
def test_the_load_of_france() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(FILE)
    weeks = load.forecasts(table)
    assert weeks.forecasts.shape == (677, 6)
    # Nobody sees the week it speaks about: later weeks change nothing.
    cut = load.forecasts(table.iloc[:300])
    assert np.array_equal(cut.forecasts, weeks.forecasts[: len(cut.load)])
    best = best_combination(weeks.forecasts, weeks.load, load.SQUARED)
    proofs = dict(load.run(weeks))
    for proof in proofs.values():
        assert all(proof.regret() <= bound.value for bound in proof.bounds if bound.applies)
    slopes = proofs["AdaHedge on slopes"]
    assert slopes.combination_regret is not None
    assert 0.0 < slopes.loss - best.loss <= slopes.combination_regret
    assert slopes.loss < slopes.best_loss < proofs["exp-concave rate"].loss


def test_a_picture_of_weights(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    weights = np.random.default_rng(0).dirichlet(np.ones(11), 50)
    figure = shares(weights, ax=sheet(), title="weights").figure
    figure.savefig(tmp_path / "weights.png")
    assert (tmp_path / "weights.png").stat().st_size > 1000
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert len(words) == 8 and words[-1] == "4 others"
    first = int(np.argmax(weights.mean(axis=0)))
    assert words[0] == f"expert {first}"
    with pytest.raises(ValueError, match="names has 1 entries, expected 11"):
        shares(weights, ["one"])
    with pytest.raises(ValueError, match="weights must be rows of numbers >= 0"):
        shares(-weights)
