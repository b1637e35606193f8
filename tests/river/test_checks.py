"""River's own checks of estimators, none of them left out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from noregret import losses, mirrors, rates

river = pytest.importorskip("river", reason="river is not installed")

from river.checks import yield_checks  # noqa: E402

from noregret.river import OnlineClassifier, OnlineRegressor  # noqa: E402

MODELS: dict[str, Any] = {
    "classifier": OnlineClassifier(),
    "hinge, one rate": OnlineClassifier(losses.Hinge(), rates.Constant(0.5)),
    "softmax": OnlineClassifier(losses.Softmax()),
    "regressor": OnlineRegressor(),
    "absolute, p-norm": OnlineRegressor(
        losses.Absolute(), rates.Adaptive(), mirrors.PNorm(4.0), False, "indicator"
    ),
}


#: The longest for the interpreter are tried as machine code.
LONG = ("classifier", "softmax")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.compiled] if name in LONG else []) for name in MODELS],
)
def test_all_checks_pass(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = MODELS[name]
    assert model._unit_test_skips() == set()
    passed: Counter[str] = Counter()
    for check in yield_checks(model):
        check(model.clone())
        passed[check.__name__] += 1
    with capsys.disabled():
        print(
            f"\nRiver's checks of {type(model).__name__} ({name}): {passed.total()} passed, "
            f"0 left out, {len(passed)} kinds"
        )
    assert len(passed) >= 20
