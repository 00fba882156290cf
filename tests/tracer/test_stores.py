#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stores of every width and kind, atomics, masked stores, the processor's state (stores.c)."""
import sys

import harness
from harness import case, check



@harness.once
def run_both():
    folder = harness.shared("stores")
    command = harness.program("stores")
    harness.run([command, folder / "pool", folder / "native", folder / "next"])
    (folder / "pool").unlink()
    (folder / "next").unlink()
    trace = harness.record([command, folder / "pool", folder / "log", folder / "next"],
                           trace=str(folder / "trace"))
    return folder, trace


@case("every store has the same effect natively and recorded")
def alike():
    harness.need_cpu("clwb")  # the recorded program sees it in any case
    folder, _ = run_both()
    native, log = (  # the processor's state has fields that are not the program's
        [line for line in (folder / name).read_text().splitlines() if not line.startswith("area")]
        for name in ("native", "log"))
    for a, b in zip(native, log):
        check(a == b, f"natively {a}\nrecorded {b}")
    harness.same(len(log), len(native), "lines")
    check(len(native) > 800, f"only {len(native)} lines")


@case("every store is recorded, with its bytes and flags, and nothing else")
def recorded():
    folder, trace = run_both()
    harness.in_pieces(trace.memory(), harness.read_log(folder / "log"))


@case("stores up to 32 bytes are recorded in one piece")
def whole():
    folder, trace = run_both()
    groups = []
    harness.read_log(folder / "log", groups)
    sizes = {(harness.addr(e), e["size"], e["data"]) for e in trace.stores()}
    split = sorted({name for name, wanted in groups for w in wanted
                    if w.kind == "store" and w.size <= 32 and "mask" not in name
                    and name not in ("backwards",)
                    and (w.addr, w.size, w.data) not in sizes})
    check(not split, f"split: {split}")


@case("the images of the pools")
def image():
    folder, trace = run_both()
    trace.same_image(folder / "pool", folder / "next")


if __name__ == "__main__":
    sys.exit(harness.main())
