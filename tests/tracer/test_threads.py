#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Threads: whose events are whose, in which order (threads.c)."""
import os
import sys

import harness
from harness import case, check, same


def record(scenario):
    command = [harness.program("threads"), "pool", "log", scenario]
    harness.run(command)
    os.unlink("pool")
    return harness.record(command)


def numbers(trace):
    """{thread of the trace: what the program calls it}, from the order of creation."""
    return {e["args"]["thread"]: i for i, e in enumerate(trace.kinds("thread-start"))}


@case("each thread's stores, flushes and fences, in its own order")
def work():
    trace = record("work")
    number = numbers(trace)
    same(sorted(number.values()), [0, 1, 2, 3, 4], "threads")
    for thread, name in number.items():
        if name == 0:
            continue
        # Without the fences that the C library's locks imply when something is pending.
        mine = [e for e in trace.memory()
                if e["thread"] == thread and e.get("flavour") != "atomic"]
        wanted = harness.read_log(f"log.{name}")
        check(len(wanted) > 300, f"only {len(wanted)} lines in the log")
        harness.exactly(mine, wanted)
        check(all("work" in harness.names(e) for e in mine), f"call paths of thread {name}")
    switches = sum(a["thread"] != b["thread"] for a, b in zip(trace.memory(), trace.memory()[1:]))
    check(switches > 3, f"the threads hardly mix: {switches} switches")
    trace.same_image("pool")


def in_program(event):
    return bool(event["stack"]) and event["stack"][0]["function"] in ("step", "work")


@case("an atomic instruction is a fence only for its own thread's flushes")
def fences():
    trace = record("work")
    pending = {}
    for event in trace.memory():
        thread, flags = event["thread"], event["flags"]
        if event["kind"] == "flush" and event["flavour"] != "clflush" or "nt" in flags:
            pending[thread] = True
        elif event["kind"] == "fence":
            if event["flavour"] == "atomic":
                check(pending.get(thread), f"nothing to order: {harness.show(event)}")
            pending[thread] = False
        elif "atomic" in flags:
            check(not pending.get(thread), f"no fence before {harness.show(event)}")


@case("what is pending in one thread is no business of another's atomics")
def pending():
    trace = record("pending")
    first, second = sorted({e["thread"] for e in trace.stores()})
    got = [(e["thread"], e.get("flavour") or harness.flags_of(e), e["kind"] == "store" and
            harness.value(e)) for e in trace.memory()]
    # The hand-over between the threads may have locked instructions of its own, so the first
    # thread's fence is only known to come between its own stores.
    fence = (first, "atomic", False)
    same([e for e in got if e != fence],
         [(first, "nt", 1), (second, "atomic", 2), (second, "nt", 3), (first, "atomic", 4), (first, "atomic", 9),
          (second, "atomic", False), (second, "atomic", 8)], "events")
    same([e for e in got if e[0] == first], [(first, "nt", 1), fence, (first, "atomic", 4), (first, "atomic", 9)],
         "the first thread's events")


@case("threads that store to the same words: the image is right")
def shared():
    trace = record("shared")
    same(len(trace.stores()), 20000, "stores")
    same(len({e["thread"] for e in trace.stores()}), 4, "threads")
    trace.same_image("pool")


@case("a hundred short-lived threads: each has an id of its own")
def many():
    trace = record("many")
    started = [e["args"]["thread"] for e in trace.kinds("thread-start")]
    same(len(started), 101, "threads started")
    same(len(set(started)), 101, "different ids")
    same([e["args"]["parent"] for e in trace.kinds("thread-start")], [0] + [started[0]] * 100,
         "parents")
    same(sorted(e["args"]["thread"] for e in trace.kinds("thread-exit")), sorted(started),
         "threads ended")
    owner = {e["offset"] // 8: e["thread"] for e in trace.stores()}
    number = numbers(trace)
    same({place: number[thread] - 1 for place, thread in owner.items()},
         {i: i for i in range(100)}, "who stored where")
    check(all(harness.names(e)[0] == "short_lived" for e in trace.stores()), "call paths")


@case("threads that end by pthread_exit, by a bare system call, with stores pending")
def leave():
    trace = record("leave")
    same([harness.value(e) for e in trace.stores()],
         [100, 101, 102, 103, 3, 1, 31, 32, 33], "stores")
    check(not [e for e in trace.kinds("fence") if in_program(e)], "a fence for another thread")
    for event in trace.stores()[-3:]:
        same(harness.names(event)[0], "short_lived", "function")
        check("leaver" not in harness.names(event, all_frames=True), "call path of another thread")
    trace.same_image("pool")


if __name__ == "__main__":
    sys.exit(harness.main())
