#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is read from PM (loads.c): by instructions, by the kernel, from files; what is left out."""
import collections
import pathlib
import sys

import harness
from harness import case, check, same

BYTES = 4 << 20
BASE = 0x10000000000
LINE = 64
LETTER = 0x41


def record(scenario, *options):
    pathlib.Path("pool").write_bytes(bytes([LETTER]) * BYTES)
    command = [harness.program("loads"), "pool", "log", scenario]
    return harness.record(command, *options)


def by_step(trace, *kinds):
    """[(address, size), …] of what each operation read."""
    found, current = collections.defaultdict(list), None
    for event in trace.events:
        if event["kind"] == "op-begin":
            current = event["args"]["id"]
        elif event["kind"] == "op-end":
            current = None
        elif event["kind"] in kinds:
            check(current is not None, f"outside of an operation: {event}")
            found[current].append(event)
    return found


def ranges(events):
    return [(harness.addr(e), e["args"]["size"]) for e in events]


def bytes_of(pairs):
    return {b for at, size in pairs for b in range(at, at + size)}


def wanted():
    for line in pathlib.Path("log").read_text().splitlines():
        _, number, name, at, size = line.split()
        yield int(number), name, int(at, 16), int(size)


@case("loads of every kind are recorded, as lines where nothing was stored")
def insns():
    steps = by_step(record("insns", "--loads"), "load")
    seen = 0
    for number, name, at, size in wanted():
        got = ranges(steps[number])
        lines = {b // LINE for b in range(at, at + size)}
        check(set(range(at, at + size)) <= bytes_of(got), f"{name} at {at:#x}: {got}")
        same({b // LINE for b in bytes_of(got)}, lines, f"{name} at {at:#x}: lines")
        if name not in ("jump", "fxrstor"):  # which store first
            same(len(got), len(lines), f"{name} at {at:#x}: {got}: events")
        seen += 1
    check(seen > 150, f"only {seen} loads")


@case("where something was stored, just the bytes that were loaded are recorded")
def stored():
    steps = by_step(record("stored", "--loads"), "load")
    for number, name, at, size in wanted():
        got = ranges(steps[number])
        check(bytes_of(got) == set(range(at, at + size)), f"{name} at {at:#x}: {got}")


@case("what is known already is not recorded again")
def again():
    trace = record("again", "--loads")
    steps = by_step(trace, "load")
    found = {n: [(a - BASE, s) for a, s in ranges(e)] for n, e in steps.items()}
    table = {1: [(0, 64)], 2: None, 3: None, 4: [(16, 8)], 5: None, 6: [(0x1008, 8)],
             7: [(0x1000, 8)], 8: [(0x2000, 64), (0x2040, 64)], 10: None}
    for number, want in table.items():
        same(found.get(number), want, f"step {number}")
    walk = set(found[9])
    missing = [i for i in range(40000) if (i * 64, 64) not in walk and i not in (0, 64, 128, 129)]
    check(not missing, f"lines that are not recorded: {missing[:10]}")
    check(found[11][0][0] == 0, "a load of what the kernel stored")
    check(all(e["offset"] == harness.addr(e) - BASE for e in trace.kinds("load")), "offsets")
    check(all(harness.names(e)[-2:] == ["again", "main"] for e in trace.kinds("load")), "paths")


@case("read-only and private mappings are loaded from, with --pm")
def mappings():
    trace = record("mappings", "--loads", "--pm", "pool")
    steps = by_step(trace, "load", "store")
    got = {n: [(e["kind"], e.get("offset")) for e in events] for n, events in steps.items()}
    same(got, {1: [("load", 64)], 2: [("load", 128), ("load", 256)],
               3: [("load", 64), ("store", 320), ("load", 320)],
               4: [("load", 128)], 5: [("load", 64)], 7: [("load", 128)],
               8: [("load", None)] * 2}, "what was read and written")
    same([e["flags"] for e in trace.kinds("map")], [[], [], ["pm"], ["pm", "fixed"], []],
         "mappings")
    same([e["args"]["size"] for e in steps[8]], [4, 4], "only what is marked as PM")
    trace.same_image("pool")


@case("without --pm private mappings count when the file is known")
def mappings_unnamed():
    trace = record("mappings", "--loads")
    same([n for n, _ in sorted(by_step(trace, "load").items())], [1, 2, 3, 4, 5, 7, 8], "steps")


@case("what the kernel reads from PM for the program")
def kernel():
    steps = by_step(record("kernel", "--loads"), "load")
    lines = {n: sorted({(a - BASE) // LINE for a, _ in ranges(e)}) for n, e in steps.items()}
    same(lines, {1: [64, 65], 3: list(range(128, 192)), 4: [192, 256, 257], 5: [320],
                 6: [384, 385], 7: list(range(0x7000 // 64, BYTES // 64))}, "lines")
    check(all(e["flags"] == [] and e["stack"] for s in steps.values() for e in s), "paths")


@case("reads of the file by system calls, with --pm")
def reads():
    trace = record("reads", "--loads", "--pm", "pool")
    steps = by_step(trace, "file-read", "load")
    got = {n: [(e["args"]["offset"], e["args"]["len"]) for e in s] for n, s in steps.items()}
    same(got, {1: [(0, 10)], 2: [(10, 100)], 3: [(1000, 50)], 4: [(110, 25)], 5: [(2000, 25)],
               7: [(700, 60)], 8: [(135, 60)], 9: [(900, 33)], 10: [(1100, 44)]}, "reads")
    pool = str(pathlib.Path("pool").resolve())
    check(all(e["file"] == pool for s in steps.values() for e in s), "the file")


@case("reads of files that nothing names are not recorded")
def reads_unnamed():
    same(record("reads", "--loads").kinds("file-read"), [], "reads")


@case("without --loads nothing that is read is recorded")
def off():
    for scenario in ("insns", "mappings", "kernel", "reads"):
        trace = record(scenario, "--pm", "pool")
        same(trace.kinds("load", "file-read"), [], scenario)
    same(len(record("mappings").kinds("map")), 2, "mappings of PM")


@case("stores, flushes and fences are the same with and without loads")
def alike():
    lists = []
    for options in ([], ["--loads"]):
        trace = record("stored", *options)
        lists.append([(e["kind"], e["args"], e.get("data"), e["flags"]) for e in trace.memory()])
    same(lists[0], lists[1], "events")


if __name__ == "__main__":
    sys.exit(harness.main())
