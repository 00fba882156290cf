#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How often code that stores to PM stores elsewhere (record --profile-sites; profile.c)."""
import collections
import sys

import harness
from harness import case, check, same

TIMES = 1000


def counts(trace, process=0):
    """{(function, its caller, …): how many}; dump has the call path of a count as its stack."""
    found = collections.Counter()
    for event in trace.kinds("volatile"):
        if event["process"] == process and event["args"]["count"]:
            path = [name for name in harness.names(event) if name != "main"]
            found[tuple(path)] += event["args"]["count"]
    return found


@harness.once
def trace():
    pool = harness.shared("profile")
    return harness.record([harness.program("profile"), pool / "pool", "log", TIMES], "--profile-sites", "--follow-forks",
                          trace=str(pool / "trace"))


@case("stores elsewhere are counted by call path, also those before the first to PM")
def by_path():
    got = counts(trace())
    same(got[("update", "modify")], TIMES, "update called by modify")
    same(got[("update", "other")], 2 * TIMES, "update called by other")


@case("code that never stores to PM is left out")
def left_out():
    same([p for p in counts(trace()) if "never_pm" in p], [], "paths with never_pm")


@case("of a library's function all ways through it are counted: other lengths, other instructions")
def copies():
    got = {path: n for path, n in counts(trace()).items() if "copy" in path}
    check(sum(got.values()) >= TIMES, f"stores by copies: {got}")


@case("each process counts its own")
def processes():
    same(counts(trace(), 1)[("update", "modify")], 5, "update called by modify, in the child")


@case("what is recorded of PM is the same as without counting")
def same_events():
    command = [harness.program("profile"), "pool", "log", 10]
    plain = harness.record(command, "--follow-forks")
    counted = harness.record(command, "--profile-sites", "--follow-forks")

    def story(recording):
        return [(e["kind"], e["process"], e.get("size"), e.get("data"), harness.names(e))
                for e in recording.events if e["kind"] in ("store", "flush", "fence", "map", "unmap")]
    same(story(counted), story(plain), "events")
    same(plain.kinds("volatile"), [], "counts without the option")


@case("a run that stores nothing elsewhere says that it was counted")
def nothing():
    recording = harness.record([harness.program("profile"), "pool", "log", 0], "--profile-sites")
    check([e for e in recording.kinds("volatile") if not e["args"]["count"]], "no event says so")


if __name__ == "__main__":
    sys.exit(harness.main())
