#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Call paths, compared with what the programs know about themselves (mark.h)."""
import os
import pathlib
import sys

import harness
from harness import case, check, same


SOURCES = {"contexts.c", "signals.c", "tail.c", "exceptions.cc", "plugin.c", "coroutine.c"}


def path_of(event):
    """The functions of the program itself on the path, innermost first, up to main."""
    names = []
    for frame in event["stack"]:
        kind = frame.get("kind")
        if kind in ("signal", "cut"):
            names.append(frame["function"])
        elif os.path.basename(frame["file"] or "") in SOURCES:
            names.append(("tail:" if kind == "tail-call" else "") + str(frame["function"]))
        if frame["function"] == "main":
            break
    return names


def fits(got, wanted):
    if wanted.endswith("…"):
        start = wanted[:-1]
        return ("<".join(got) + "<").startswith(start) if start.endswith("<") else \
            "<".join(got).startswith(start)
    return "<".join(got) == wanted


def compare(trace, log="log"):
    """Each marked store is on the path that the log says; returns how many there are."""
    wanted = dict(line.split(" ", 1) for line in pathlib.Path(log).read_text().splitlines())
    marks = [e for e in trace.stores() if str(harness.value(e)) in wanted and e["size"] == 8]
    same(len(marks), len(wanted), "marks")
    for event in marks:
        want, got = wanted[str(harness.value(event))], path_of(event)
        check(fits(got, want), f"expected {want}\nrecorded {'<'.join(got)[:500]}\n"
              f"for {harness.show(event)}")
    return len(marks)


def known(name, *scenarios, at_least=1):
    program = harness.program(name)
    harness.run([program, "pool", "log", *scenarios])
    os.unlink("pool")
    trace = harness.record([program, "pool", "log", *scenarios])
    count = compare(trace)
    check(count >= at_least, f"only {count} marks")
    trace.same_image("pool")
    return trace


for static in ("", "-static"):
    def add(suffix=static):
        what = " in a static program" if suffix else ""

        @case("calls: nested, recursive, indirect, through qsort, into memcpy" + what)
        def calls():
            trace = known(f"contexts{suffix}", "calls", at_least=28)
            copied = [e for e in trace.stores() if harness.value(e) >> 60 or e["size"] > 8]
            check(copied, "memcpy's stores")
            for event in copied:
                path = harness.names(event)
                same(path[-3:], ["copy", "calls", "main"], f"path of memcpy ({path})")
                check("mem" in path[0], f"innermost is {path[0]}")

        @case("longjmp over several frames" + what)
        def leaps():
            known(f"contexts{suffix}", "leaps", "calls", at_least=80)

        @case("recursion 100,000 levels deep, and what comes after it" + what)
        def depths():
            trace = known(f"contexts{suffix}", "depths", "calls")
            deepest = max(trace.stores(), key=lambda e: len(e["stack"]))
            check(len(deepest["stack"]) <= 20, f"{len(deepest['stack'])} frames")

        @case("recursion into all branches of a tree, by itself and by turns, has few contexts" + what)
        def branches():
            trace = known(f"contexts{suffix}", "branches", "calls", at_least=4096 + 3000)
            paths = {str(e["stack"]) for e in trace.stores()}
            check(40 <= len(paths) <= 400, f"{len(paths)} paths")

        @case("a stack that grows by megabytes" + what)
        def growth():
            known(f"contexts{suffix}", "growth", "calls")

        @case("a return that is a jump" + what)
        def odd():
            known(f"contexts{suffix}", "odd", "calls")

        @case("coroutines: the innermost function is right" + what)
        def coroutines():
            known(f"contexts{suffix}", "coroutines", at_least=100)

        @case("signal handlers, and handlers in handlers" + what)
        def signals():
            trace = known(f"signals{suffix}", "normal", at_least=50)
            same([e["args"]["signal"] for e in trace.kinds("signal")], [10, 12, 1, 10] * 5,
                 "signals")

        @case("siglongjmp out of a handler" + what)
        def jumps():
            known(f"signals{suffix}", "jumps", "normal", at_least=100)

        @case("handlers on an alternate stack, left by return and by siglongjmp" + what)
        def alternate():
            known(f"signals{suffix}", "alternate_low", "normal", at_least=100)

        @case("an alternate stack that lies above the running one" + what)
        def above():
            known(f"signals{suffix}", "alternate_high", "normal", at_least=100)

        @case("a timer's signal at any time" + what)
        def timer():
            known(f"signals{suffix}", "timer", "normal", at_least=200)
    add()


@case("C++ exceptions, with cleanups and rethrown")
def exceptions():
    known("exceptions", at_least=75)


@case("tail calls, calls through pointers, inlined functions")
def tails():
    known("tail", at_least=6)


if __name__ == "__main__":
    sys.exit(harness.main())
