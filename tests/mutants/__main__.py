"""`python -m tests.mutants`: try every mutation of the list, one after the other.

Exits with 1 unless at least 95 percent of the mutations that are not equivalent were killed.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from tests.mutants.catalogue import MUTATIONS
from tests.mutants.mutation import Mutation, Verdict, judge
from tests.mutants.server import Server

SHARE = 0.95


def main(arguments: list[str] | None = None) -> int:
    """Try the mutations and print the table of those that survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="only mutations whose line contains this")
    parser.add_argument("--jobs", type=int, default=2, help="mutations at a time [default: 2]")
    parser.add_argument("--list", action="store_true", help="print the mutations, try none")
    given = parser.parse_args(arguments)
    chosen = [mutation for mutation in MUTATIONS if given.only in mutation.name]
    if given.list:
        print("\n".join(mutation.name for mutation in chosen))
        return 0
    verdicts = _judged(chosen, given.jobs)
    return _reported(verdicts)


def _judged(chosen: list[Mutation], jobs: int) -> list[Verdict]:
    verdicts = []
    servers: SimpleQueue[Server] = SimpleQueue()
    for _ in range(jobs):
        servers.put(Server())

    def judged(mutation: Mutation) -> Verdict:
        server = servers.get()
        try:
            return judge(mutation, server)
        finally:
            servers.put(server)

    with ThreadPoolExecutor(jobs) as pool:
        for number, verdict in enumerate(pool.map(judged, chosen), 1):
            verdicts.append(verdict)
            state = "equivalent" if verdict.mutation.equivalent else verdict.outcome
            print(f"[{number}/{len(chosen)}] {state}: {verdict.mutation.name}", flush=True)
            if verdict.survived or verdict.detail.startswith("no answer"):
                print(f"    {verdict.detail}", flush=True)
    while not servers.empty():
        servers.get().close()
    return verdicts


def _reported(verdicts: list[Verdict]) -> int:
    meant = [verdict for verdict in verdicts if not verdict.mutation.equivalent]
    killed = sum(verdict.outcome == "killed" for verdict in meant)
    equivalent = len(verdicts) - len(meant)
    share = killed / len(meant) if meant else 1.0
    print(f"{len(verdicts)} mutations: {killed} killed, {len(meant) - killed} survived, "
          f"{equivalent} equivalent: {share:.1%}")  # fmt: skip
    for package in sorted({verdict.mutation.package for verdict in verdicts}):
        there = [verdict for verdict in verdicts if verdict.mutation.package == package]
        tried = [verdict for verdict in there if not verdict.mutation.equivalent]
        fell = sum(verdict.outcome == "killed" for verdict in tried)
        print(
            f"  {package:<12}{fell:>4} of {len(tried)} killed, {len(there) - len(tried)} equivalent"
        )
    for verdict in meant:
        if verdict.survived:
            print(f"survived: {verdict.mutation.name}\n    {verdict.detail}")
    wrongly = [v for v in verdicts if v.mutation.equivalent and v.outcome == "killed"]
    for verdict in wrongly:
        print(f"called equivalent, but a test noticed it: {verdict.mutation.name}")
    return int(share < SHARE or bool(wrongly))


if __name__ == "__main__":
    sys.exit(main())
