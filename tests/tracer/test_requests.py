#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Markers, pmemcheck's client requests, CPUID, what counts as PM, and PMDK (requests.c, pmdk.c)."""
import os
import pathlib
import sys

import harness
from harness import case, check, same


def record(what, *options):
    command = [harness.program("requests"), "pool", "log", what]
    harness.run(command)
    native = pathlib.Path("log").read_text().splitlines()
    same(native[0], "recording 0", "outside of holdfast")
    trace = harness.record(command, *options)
    log = pathlib.Path("log").read_text().splitlines()
    same(log[0], "recording 1", "HOLDFAST_RECORDING()")
    return trace, native[1:], log[1:]


KINDS = ("store", "flush", "op-begin", "op-end", "mark-pm", "mark-volatile", "tx-begin", "tx-end",
         "tx-add", "tx-remove", "tx-ignore", "hint-map", "hint-unmap", "hint-flush", "hint-fence",
         "hint-clean")


def line(event):
    """The event, written like the program's log."""
    kind, args = event["kind"], event["args"]
    if kind == "store":
        return f"store {args['addr']} {event['size']} {event['data']} {harness.flags_of(event)}"
    if kind == "flush":
        return f"flush {args['addr']} {event['flavour']}"
    words = [kind] + [str(args[k]) for k in ("id", "tx", "addr", "len") if k in args]
    if "tx" in args and args["tx"] >> 63:
        words[1] = "own"
    return " ".join(words)


def compare(trace, log):
    got = [line(e) for e in trace.kinds(*KINDS)]
    for have, want in zip(got, log):
        check(have == want, f"expected {want}\nrecorded {have}")
    same(len(got), len(log), "events")


@case("operations, HOLDFAST_PM and HOLDFAST_VOLATILE")
def own():
    trace, _, log = record("own")
    compare(trace, log)
    for event in trace.kinds("op-begin", "mark-pm"):
        same(harness.names(event)[-2:], ["own", "main"], "where the marker is")


@case("pmemcheck's requests, and what they answer")
def pmemcheck():
    trace, _, log = record("pmemcheck")
    compare(trace, log)


for best, shows in (("clwb", (1, 1)), ("clflushopt", (1, 0)), ("clflush", (0, 0)), (None, (1, 1))):
    def add(cpu=best, bits=shows):
        @case(f"CPUID with --cpu {cpu}" if cpu else "CPUID shows clwb by default")
        def cpuid():
            options = ["--cpu", cpu] if cpu else []
            _, _, log = record("cpu", *options)
            same(log[0], "clflush 1", "leaf 1")
            check(log[1].startswith(f"clflushopt {bits[0]} clwb {bits[1]} "), log[1])
    add()


@case("--pm: only what matches is PM; a pattern without a slash is about the last part")
def narrowed():
    command = [harness.program("files"), "pool", "pieces"]
    for glob, seen in ((os.path.abspath("po*"), True), ("pool", True), ("p?ol", True),
                       ("*/pool", True), ("other", False), (os.path.abspath("pool") + "x", False)):
        trace = harness.record(command, "--pm", glob)
        same(bool(trace.stores()), seen, f"stores with --pm {glob}")
    trace = harness.record(command, "--pm", "other", "--pm", "pool")
    check(trace.stores(), "one of several patterns")
    trace.same_image("pool")


@harness.once
def pmdk():
    """A trace of pmdk.c, with the best flush instruction."""
    folder = harness.shared("pmdk")
    output = harness.run([harness.program("pmdk"), folder / "pool", folder / "raw"],
                         env=dict(os.environ, PMEM_IS_PMEM_FORCE="1"))
    same(output, "is_pmem 1\n", "natively")
    for name in ("pool", "raw"):
        (folder / name).unlink()
    trace = harness.record([harness.program("pmdk"), folder / "pool", folder / "raw"],
                           trace=str(folder / "trace"))
    return folder, trace


def line_of(text):
    """Number of the line of pmdk.c with this comment."""
    source = (harness.SOURCE / "tests/tracer/pmdk.c").read_text().splitlines()
    return next(i for i, s in enumerate(source, 1) if f"/* {text} */" in s)


@case("libpmemobj records with clwb in use")
def pmdk_clwb():
    _, trace = pmdk()
    kinds = {e["flavour"] for e in trace.kinds("flush")}
    same(kinds, {"clwb"}, "flush instructions")
    check(len(trace.kinds("flush")) > 100, "flushes")
    check(trace.kinds("tx-begin") and trace.kinds("tx-add"), "transactions")
    check([e for e in trace.stores() if "nt" in e["flags"]], "non-temporal stores")
    for event in trace.kinds("flush"):
        check("volatile" not in event["flags"], f"not PM: {harness.show(event)}")


@case("dump names the function and line of a libpmemobj program's stores")
def pmdk_lines():
    _, trace = pmdk()
    for text, function in (("insert: value", "insert"), ("insert: next", "insert"),
                           ("insert: counter", "insert"), ("set_direct: store", "set_direct"),
                           ("raw: store", "raw")):
        number = line_of(text)
        found = [e for e in trace.stores() if e["stack"][0]["line"] == number
                 and os.path.basename(e["stack"][0]["file"] or "") == "pmdk.c"]
        check(len(found) >= (20 if function == "insert" else 1), f"{len(found)} stores at {text}")
        for event in found:
            same(harness.names(event)[:2], [function, "main"], text)
    # The library's own stores lead back to the program, too.
    inner = [e for e in trace.stores() if "insert" in harness.names(e)
             and any("libpmemobj" in (f["module"] or "") for f in e["stack"])]
    check(len(inner) > 100, f"{len(inner)} stores of libpmemobj inside insert()")


@case("the images of PMDK's pools")
def pmdk_image():
    folder, trace = pmdk()
    trace.same_image(folder / "pool", folder / "raw")


def changes(stores):
    """What each store adds to the pool, as copies.c logs it: offset and size of the bytes that are new."""
    written = set()
    for at, size in stores:
        new = [at + i for i in range(size) if at + i not in written]
        written.update(new)
        if new:
            yield f"{new[0]} {len(new)}"


@case("libpmem copies with the same stores as natively")
def pmdk_copies():
    # Valgrind has no AVX-512, so it is the best that both have.
    env = dict(os.environ, PMEM_IS_PMEM_FORCE="1", PMEM_AVX512F="0")
    harness.run([harness.program("copies"), "pool", "step", "log"], env=env)
    native = pathlib.Path("log").read_text().splitlines()
    check(len(native) > 16, "stores, natively")
    trace = harness.record([harness.program("copies"), "pool", "run"])
    base = trace.kinds("map")[0]["args"]["addr"]
    base = int(base, 16) if isinstance(base, str) else base
    copied = [e for e in trace.stores() if set(e["data"]) == set("5a")]
    same(list(changes((int(str(e["args"]["addr"]), 0) - base, e["size"]) for e in copied)), native, "stores")


@case("nobody hears of Valgrind: RUNNING_ON_VALGRIND is false, unless pmemcheck's requests are wanted")
def hidden():
    for options, shown in (((), "0"), (("--pmemcheck-requests",), "1")):
        _, native, log = record("valgrind", *options)
        same(native, ["valgrind 0"], "natively")
        same(log, [f"valgrind {shown}"], f"with {options}")


@case("libpmemobj's transactions are known from its calls")
def pmdk_transactions():
    _, trace = pmdk()
    begin, end = trace.kinds("tx-begin"), trace.kinds("tx-end")
    same((len(begin), len(end)), (20, 20), "transactions")
    check("insert" in harness.names(begin[0]), "where it begins")
    same(len(trace.kinds("tx-add")), 20, "ranges added")
    check(not trace.kinds("hint-map", "hint-clean", "hint-flush"), "PMDK makes no requests")
    asked = harness.record([harness.program("pmdk"), "pool", "raw"], "--pmemcheck-requests")
    check(asked.kinds("hint-map"), "PMDK makes requests if they are wanted")


for best in ("clflushopt", "clflush"):
    def add_pmdk(cpu=best):
        @case(f"PMDK takes its {cpu} path with --cpu {cpu}")
        def path():
            trace = harness.record([harness.program("pmdk"), "pool", "raw"], "--cpu", cpu)
            same({e["flavour"] for e in trace.kinds("flush")}, {cpu}, "flush instructions")
            trace.same_image("pool", "raw")
    add_pmdk()


if __name__ == "__main__":
    sys.exit(harness.main())
