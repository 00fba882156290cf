#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that end badly, code that comes and goes, odd and big pools (rough.c)."""
import os
import pathlib
import sys
import time

import harness
from harness import case, check, same


def record(scenario, *more, status=0, **options):
    return harness.record([harness.program("rough"), "pool", scenario, *more], status=status,
                          **options)


def ended(trace, status, signal):
    same(trace.one("exit")["args"], {"status": status, "signal": signal}, "the end")
    check(trace.summary()["whole"], "the trace is whole")


@case("a crash: everything up to it, and the signal")
def crash():
    trace = record("crash", status=128 + 11)
    same(len(trace.stores()), 1000, "stores")
    ended(trace, 0, 11)
    trace.same_image("pool")


@case("killed outright: readable, with all that happened")
def killed():
    harness.run([harness.HOLDFAST, "record", "-o", "trace", "--", harness.program("rough"), "pool",
                 "killed"], status=128 + 9)
    trace = harness.Trace("trace", warn=True)
    same(len(trace.stores()), 50000, "stores")
    trace.same_image("pool")


@case("PM that is unmapped and written: the program's own crash")
def unmapped():
    trace = record("unmapped", status=128 + 11)
    same(len(trace.stores()), 10, "stores")
    same(len(trace.kinds("unmap")), 1, "unmap")
    ended(trace, 0, 11)
    trace.same_image("pool")


@case("a store that faults, is repaired by a handler and made again counts once")
def repaired():
    trace = record("repaired")
    same([harness.value(e) for e in trace.stores()], [1, 2, 3, 1, 2, 3, 4, 5], "stores")
    same([e["args"]["signal"] for e in trace.kinds("signal")], [11], "signals")
    trace.same_image("pool")


@case("exit in a thread while others wait")
def exit_in_thread():
    trace = record("exit_in_thread", status=42)
    same(len(trace.stores()), 5, "stores")
    ended(trace, 42, 0)


@case("a main thread that leaves before the others")
def main_leaves():
    trace = record("main_leaves")
    same(len(trace.stores()), 6, "stores")
    ended(trace, 0, 0)
    trace.same_image("pool")


@case("a program that closes every file")
def no_files():
    trace = record("no_files")
    same(len(trace.stores()), 4, "stores")
    trace.same_image("pool", "other")


@case("two thousand small mappings")
def patchwork():
    trace = record("patchwork")
    same(len(trace.stores()), 3000, "stores")
    same(len(trace.kinds("unmap")), 1000, "unmapped")
    trace.same_image("other")


@case("libraries that come and go at the same address keep their names apart")
def plugins():
    order = ["a", "b", "a", "b", "b", "a"]
    trace = record("plugins", *[harness.program(f"libplugin-{p}.so") for p in order])
    addresses = {word for word in harness.record.output.split() if word.startswith("entry=")}
    same(len(addresses), 1, f"addresses of the libraries' function ({addresses})")
    got = [(harness.value(e), e["offset"] // 8, [n for n in harness.names(e) if "plugin" in n])
           for e in trace.stores()]
    wanted = []
    for i, p in enumerate(order, 1):
        at = 100 if p == "a" else 200
        tail = [f"plugin_second_{p}", "plugin_entry", "plugins"]
        wanted += [(i, at, [f"plugin_first_{p}"] + tail), (i, at + 1, tail)]
    same(got, wanted, "stores")
    loaded = [e for e in trace.kinds("module-load") if "libplugin" in e["module"]]
    same(len(loaded), len(order), "loaded")
    check(len(trace.kinds("module-unload")) >= len(order), "unloaded")
    for event in trace.stores():
        name = f"libplugin-{event['stack'][0]['function'][-1]}.so"
        same(os.path.basename(event["stack"][0]["module"]), name, "module")


@case("code that is rewritten in place: stores and flushes of the new code")
def rewritten():
    trace = record("rewritten")
    got = [(e["kind"], e["offset"]) for e in trace.kinds("store", "flush")]
    wanted = []
    for i in range(15):
        wanted += [("store", 8 * i), ("flush", 8 * i)]
    for i in range(10):
        wanted += [("store", 1600), ("flush", 1600 + 8 * i)]
    wanted += [("flush" if i % 2 == 0 else "store", 800) for i in range(5)]
    same(got, wanted, "events")
    trace.same_image("pool")


@case("a sparse pool of 4 GiB: quick, and a small trace")
def huge():
    start = time.monotonic()
    trace = record("huge")
    seconds = time.monotonic() - start
    check(seconds < 30, f"it took {seconds:.1f} seconds")
    size = sum(p.stat().st_size for p in pathlib.Path("trace").rglob("*"))
    check(size < 1 << 20, f"the trace has {size} bytes")
    same([(e["offset"], harness.value(e)) for e in trace.stores()],
         [(i << 28, (i << 28) + 1) for i in range(16)] + [((4 << 30) - 8, 77)], "stores")
    harness.run([harness.HOLDFAST, "dump", "trace", "--image", "image"])
    image = pathlib.Path("image/pool")
    same(image.stat().st_size, 4 << 30, "size of the image")
    check(image.stat().st_blocks * 512 < 1 << 20, "the image is sparse")


if __name__ == "__main__":
    sys.exit(harness.main())
