#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Watched functions: arguments, results, and ways out (watch.c)."""
import pathlib
import sys

import harness
from harness import case, check, same


def record(scenario, *globs):
    command = [harness.program("watch"), "pool", "log", scenario]
    harness.run(command)
    return harness.record(command, *[word for glob in globs for word in ("--watch", glob)])


def lines(trace):
    """The recorded calls and returns, written like the program's log."""
    found = []
    for event in trace.kinds("call", "return"):
        name, args = event["function"], event["args"]
        if event["kind"] == "call":
            values = [int(args[f"a{i}"], 16) for i in range(6)]
            found.append(" ".join(["call", name] + [f"{v:x}" for v in values]))
        elif "unwound" in event["flags"]:
            found.append(f"unwound {name}")
        else:
            found.append(f"return {name} {int(args['result'], 16):x}")
    return found


def compare(trace, only=None, log=None):
    wanted = [line for line in (log or pathlib.Path("log").read_text().splitlines())
              if only is None or line.split()[1] in only]
    check(len(wanted) >= 4, f"only {len(wanted)} lines in the log")
    got = lines(trace)
    for number, (have, want) in enumerate(zip(got, wanted)):
        check(have == want, f"line {number}: expected {want}\nrecorded {have}\n"
              f"before it: {got[max(0, number - 3):number]}")
    same(len(got), len(wanted), "calls and returns")


@case("six arguments and the result; nested, recursive, left by longjmp")
def simple():
    trace = record("simple", "w_*")
    compare(trace)
    # Stores in between are where they belong.
    inside = 0
    for event in trace.events:
        inside += {"call": 1, "return": -1}.get(event["kind"], 0)
        check(event["kind"] != "store" or inside > 0, "a store outside of every watched function")
    same(inside, 0, "calls without a return")


@case("only what the patterns name")
def globs():
    compare(record("simple", "w_sum", "w_lea?"), only={"w_sum", "w_leap"})
    compare(record("simple", "w_f*"), only={"w_fact"})
    same(lines(record("simple", "no_such_function")), [], "calls and returns")


@case("call paths are the same with and without watching")
def paths():
    def stacks(trace):
        return [harness.names(e) for e in trace.stores()]
    same(stacks(record("simple", "w_*")), stacks(record("simple")), "paths")


@case("tail-called")
def tail():
    trace = record("tail", "w_*")
    # Both return at once: the one that was jumped to first.
    compare(trace)


@case("functions of libraries, and callbacks from them")
def library():
    command = [harness.program("contexts"), "pool", "log", "calls"]
    trace = harness.record(command, "--watch", "qsort", "--watch", "compare")
    calls = trace.kinds("call", "return")
    same((calls[0]["function"], calls[-1]["function"]), ("qsort", "qsort"), "first and last")
    same([int(calls[0]["args"][k], 16) for k in ("a1", "a2")], [5, 4], "qsort's arguments")
    compares = [e for e in calls if e["function"] == "compare"]
    check(len(compares) >= 8, f"only {len(compares)} calls and returns of compare")
    same([e["kind"] for e in compares], ["call", "return"] * (len(compares) // 2), "compare")


@case("left by a C++ exception")
def exception():
    trace = harness.record([harness.program("exceptions"), "pool", "log"],
                           "--watch", "*thrower*", "--watch", "*catcher*")
    got = [(e["kind"], e["function"].split("(")[0].split("::")[-1], "unwound" in e["flags"])
           for e in trace.kinds("call", "return")]
    even = [("call", "catcher", False), ("call", "thrower", False), ("return", "thrower", False),
            ("return", "catcher", False)]
    odd = even[:2] + [("return", "thrower", True), ("return", "catcher", False)]
    same(got, (even + odd) * 5, "calls and returns")
    same([int(e["args"]["result"], 16) & 0xffffffff for e in trace.kinds("return")
          if "catcher" in e["function"]], [0, 17] * 5, "results")


@case("in a signal handler that returns, and in one that jumps out")
def handlers():
    compare(record("handlers", "w_*"))


@case("the same on an alternate stack")
def alternate():
    compare(record("alternate", "w_*"))


@case("threads that end inside a watched function")
def threads():
    trace = record("threads", "w_*")
    compare(trace)
    per_thread = {}
    for event in trace.kinds("call", "return"):
        per_thread.setdefault(event["thread"], []).append(event["kind"])
    same(len(per_thread), 4, "threads")


if __name__ == "__main__":
    sys.exit(harness.main())
