#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Flushes, fences and non-temporal stores in every addressing mode (gen_forms.py): natively and
recorded, each event at the address that the processor computed, with the bytes in memory."""
import pathlib
import sys

import harness
from harness import case, check

NAMES = ["clwb", "clflushopt", "clflush", "movnti-32", "movnti-64", "movntq"] + [
    f"{v}{name}{width}" for name in ("movntdq", "movntps", "movntpd")
    for v, width in (("", ""), ("v", "-128"), ("v", "-256"))] + [
    "maskmovdqu", "vmaskmovdqu", "maskmovq", "fences"]


@harness.once
def run_recorded():
    """(log of the recorded run, trace)"""
    harness.need_cpu("avx2")
    folder = harness.shared("forms")
    pools = folder / "pool", folder / "low"
    command = harness.program("forms")
    trace = harness.record([command, pools[0], folder / "log", pools[1]],
                           trace=str(folder / "trace"))
    return folder / "log", trace


@case("every form runs alike natively and recorded")
def alike():
    harness.need_cpu("clwb", "clflushopt", "avx2")
    log, _ = run_recorded()
    native = pathlib.Path("native")
    harness.run([harness.program("forms"), "pool", native, "low"])
    check(native.read_text() == log.read_text(), "the program's two logs differ")
    groups = []
    harness.read_log(log, groups)
    harness.same([name for name, _ in groups], NAMES, "groups")


def add(number, name):
    @case(f"{name}: every addressing mode is recorded exactly")
    def compare():
        log, trace = run_recorded()
        groups = []
        harness.read_log(log, groups)
        events = harness.by_operation(trace)
        wanted = groups[number][1]
        check(len(wanted) >= 50, f"only {len(wanted)} forms")
        harness.exactly(events[number], wanted)


for position, group in enumerate(NAMES):
    add(position, group)


@case("the image of both pools")
def image():
    _, trace = run_recorded()
    trace.same_image(harness.shared("forms") / "pool", harness.shared("forms") / "low")


if __name__ == "__main__":
    sys.exit(harness.main())
