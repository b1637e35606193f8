"""The list of mutations is not stale, and the runner tells killed from survived."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.mutants.catalogue import MUTATIONS
from tests.mutants.mutation import Mutation, judge
from tests.mutants.server import Server


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name[:80])
def test_every_mutation_changes_the_sources(mutation: Mutation) -> None:
    assert compile(mutation.applied(), str(mutation.file()), "exec")


def test_no_mutation_is_listed_twice() -> None:
    names = [(mutation.place, mutation.old, mutation.new) for mutation in MUTATIONS]
    assert len({*names}) == len(names)


PROBE = ("tests/mutants/probe.py",)
TEXT = "return _rounded(value, digits, ROUND_FLOOR)"


def test_the_runner_tells_killed_from_survived() -> None:
    fault = Mutation("rounding.py", TEXT, TEXT.replace("FLOOR", "CEILING"), PROBE)
    harmless = Mutation("rounding.py", TEXT, f"{TEXT}  # changed", PROBE)
    # The probe needs nothing of what takes seconds to import.
    server = Server(preloaded=())
    try:
        assert judge(fault, server).outcome == "killed"
        assert judge(harmless, server).outcome == "survived"
        assert judge(replace(fault, compiled=True), server).outcome == "killed"
    finally:
        server.close()
