#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""fork, vfork, exec and posix_spawn, followed and not (forks.c)."""
import os
import pathlib
import sys

import harness
from harness import case, check, same

FIRST = 4096 * 8  # of the words


def record(scenario, *options, **more):
    command = [harness.program("forks"), "pool", "log", scenario]
    harness.run(command)
    for name in ("pool", "log", "second"):
        if os.path.exists(name):
            os.unlink(name)
    return harness.record(command, *options, **more)


def words(trace, process=None):
    """(word, value) of each store there, of one process or all."""
    return [((e["offset"] - FIRST) // 64, harness.value(e)) for e in trace.stores()
            if e["file"].endswith("/pool") and e["offset"] >= FIRST
            and process in (None, e["process"])]


def births(trace):
    return [p["birth"] for p in trace.summary()["processes"]]


@case("fork: the child is not recorded, but the fork is")
def unfollowed():
    trace = record("parent", differs=True)
    same(words(trace), [(0, 1), (2, 3)], "stores")
    same(births(trace), ["start"], "processes")
    pid = trace.one("fork")["args"]["child"]
    check(pid > 1, f"child {pid}")
    same(harness.names(trace.one("fork"))[-2:], ["parent", "main"], "where it forked")


@case("fork, followed: the child's stores, with call paths of its own")
def followed():
    trace = record("parent", "--follow-forks")
    same(births(trace), ["start", "fork"], "processes")
    same(words(trace, 0), [(0, 1), (2, 3)], "the parent's stores")
    same(words(trace, 1), [(1, 2)], "the child's stores")
    summary = trace.summary()["processes"]
    same(summary[1]["parent"], summary[0]["pid"], "the child's parent")
    same(trace.one("fork")["args"]["child"], summary[1]["pid"], "the child")
    same([(e["process"], e["args"]["status"]) for e in sorted(
        trace.kinds("exit"), key=lambda e: e["process"])], [(0, 0), (1, 3)], "exits")
    log = dict(line.split(" ", 1) for line in pathlib.Path("log").read_text().splitlines())
    marks = [e for e in trace.stores() if e["offset"] < FIRST]
    same(len(marks), len(log), "marks")
    for event in marks:
        same("<".join(harness.names(event)), log[str(harness.value(event))], "path")
    trace.same_image("pool")


@case("children of children, a pool of their own, death by a signal")
def family():
    trace = record("family", "--follow-forks")
    same(births(trace), ["start", "fork", "fork"], "processes")
    same([words(trace, i) for i in range(3)], [[(4, 4)], [(1, 1), (3, 3)], [(2, 2)]], "stores")
    own = [e for e in trace.stores() if e["file"] == os.path.abspath("second")]
    same([(e["process"], e["offset"], harness.value(e)) for e in own], [(2, 40, 5)], "second pool")
    same(trace.summary()["processes"][2]["signal"], 15, "signal that ended the grandchild")
    trace.same_image("pool", "second")


@case("fork in a thread, while another runs")
def from_thread():
    trace = record("thread", "--follow-forks")
    same(words(trace, 0), [(6, 6), (8, 8), (9, 9)], "the parent's stores")
    same(words(trace, 1), [(7, 7)], "the child's stores")
    trace.same_image("pool")


for scenario in ("turns", "talk"):
    def add_order(name=scenario):
        @case(f"parent and child take turns ({name}): the order is what it was")
        def order():
            trace = record(name, "--follow-forks")
            values = [v for _, v in words(trace)]
            same(len(values), 201, "stores")
            wrong = [(a, b) for a, b in zip(values, values[1:]) if a > b]
            check(not wrong, f"{len(wrong)} of 200 out of order: {wrong[:5]}")
            trace.same_image("pool")
    add_order()


@case("forty children at once")
def crowd():
    trace = record("crowd", "--follow-forks")
    same(len(births(trace)), 41, "processes")
    for i in range(40):
        mine = [v for w, v in words(trace) if w == i]
        same(mine, [i * 100 + k for k in range(50)], f"stores of child {i}")
    trace.same_image("pool")


@case("more processes at once than can be recorded: it is said which are not")
def too_many():
    trace = record("too_many", "--follow-forks", differs=True)
    lost = harness.record.output.count("is not recorded")
    check(lost > 0, "nothing is said")
    same(len(births(trace)) + lost, 71, "recorded and not recorded processes")
    same(len(words(trace)), 71 - lost, "stores")


@case("a child that outlives its parent")
def orphan():
    trace = record("orphan", "--follow-forks")
    same(sorted(words(trace)), [(1, 1), (2, 2)], "stores")
    check(trace.summary()["whole"], "the trace is whole")
    trace.same_image("pool")


def replaced(trace):
    summary = trace.summary()["processes"]
    same([p["birth"] for p in summary], ["start", "exec"], "processes")
    same(summary[0]["pid"], summary[1]["pid"], "the same pid")
    same(summary[1]["command"][-1], "replaced", "the new command")
    same(words(trace, 1), [(3, 33)], "stores of the new program")
    trace.same_image("pool")


@case("exec: the process goes on as another program; failed ones do not count")
def replace():
    trace = record("replace")
    same(words(trace, 0), [(1, 11), (2, 22)], "stores of the old program")
    replaced(trace)
    event = trace.kinds("exec")[-1]
    same(event["text"], harness.program("forks"), "the program")
    same(harness.names(event)[-3:], ["again", "replace", "main"], "where")
    check(trace.summary()["whole"], "the trace is whole")


@case("fexecve")
def replace_by_fd():
    trace = record("replace_by_fd")
    same(words(trace, 0), [(1, 11)], "stores of the old program")
    replaced(trace)


for how in ("vfork", "spawn"):
    def add(name=how):
        @case(f"{name} and exec: the child is not recorded")
        def alone():
            trace = record(name, differs=True)
            same(words(trace), [(1, 11), (2, 22)], "stores")
            check("a child process that was not recorded" in harness.record.output, "the cause")
            same(len(trace.kinds("fork")), 1, "forks")

        @case(f"{name} and exec, followed")
        def along():
            trace = record(name, "--follow-forks")
            same(words(trace, 0), [(1, 11), (2, 22)], "the parent's stores")
            same([e["process"] for e in trace.stores() if harness.value(e) == 33],
                 [len(births(trace)) - 1], "who stored")
            same(births(trace)[-1], "exec", "the last process")
            trace.same_image("pool")
    add()


if __name__ == "__main__":
    sys.exit(harness.main())
