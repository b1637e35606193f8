"""What every test runs under: properties without a clock, and the same examples each time."""

from __future__ import annotations

import gc

import pytest
from hypothesis import HealthCheck, settings

from tests.sizes import without_repeats

# What is collected stays until the end: to look for garbage meanwhile would double the time.
gc.disable()

# A busy machine must not turn a true property into a failure: no deadline, and no complaint that
# making examples takes long. Hypothesis does the same by itself, but only where CI is set.
settings.register_profile(
    "fixed",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# `make fuzz` tries new examples in every run.
settings.register_profile("explore", settings.get_profile("fixed"), derandomize=False)
settings.load_profile("fixed")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases of tests marked `each_value` whose values all occur in others."""
    items[:], left = without_repeats(items)
    if left:
        config.hook.pytest_deselected(items=left)


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but not among what was collected."""
    gc.freeze()
    gc.enable()
