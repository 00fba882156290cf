#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ways of writing to PM that are easily missed (hostile*.c): what is recorded makes the file that is
there at the end, and the self-check agrees; or the self-check says so, with its cause."""
import json
import os
import pathlib
import shutil
import sys

import harness
from harness import case, check


def scenario(program, name, *options, differs=False):
    """Records it, natively tried first."""
    command = [harness.program(program), "pool", name]
    try:
        harness.run(command)
    except harness.Fail as fail:
        if "status 77" in str(fail):
            raise harness.Skip("not on this machine")
        raise
    for path in pathlib.Path(".").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    trace = harness.record(command, *options, differs=differs)
    if not differs:
        same_extents(trace) if pathlib.Path("pool").stat().st_size > MANY else trace.same_image("pool")
    return trace


MANY = 1 << 30


def extents(path):
    """{offset: bytes} of the pages of a file that are not zero; holes are not read."""
    found, at = {}, 0
    with open(path, "rb") as file:
        end = os.fstat(file.fileno()).st_size
        while at < end:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA) // 4096 * 4096
            except OSError:
                break
            page = os.pread(file.fileno(), 4096, at)
            if page.strip(b"\0"):
                found[at] = page
            at += 4096
    return end, found


def same_extents(trace):
    harness.run([harness.HOLDFAST, "dump", trace.folder, "--image", "image"])
    built = next(p for p in pathlib.Path("image").rglob("pool"))
    check(extents(built) == extents("pool"), "the image differs")


# What is recorded with an option, and what is not: then the self-check names the cause.
OPTIONS = {name: ["--follow-forks"] for name in ("exec_writes", "vforked", "child_writes", "spawned", "forked",
                                                 "cloned", "cut_by_child", "poked")}
UNSEEN = {name: "io_uring" for name in ("uring", "ring_reads", "ring_files", "fixed_buffers")}
UNSEEN["poked"] = "another process's memory"

for which in ("hostile", "hostile_calls", "hostile_files", "hostile_maps", "hostile_code",
              "hostile_faults", "hostile_more", "hostile_rare"):
    for scene in harness.run([harness.program(which), "list"]).split():
        def add(program=which, name=scene):
            @case(f"{program}: {name}")
            def run():
                scenario(program, name, *OPTIONS.get(name, []), differs=name in UNSEEN)
                check(UNSEEN.get(name, "") in harness.record.output, harness.record.output)
        add()


for scene in ("vforked", "spawned", "forked"):
    def add_unfollowed(name=scene):
        @case(f"hostile_code: {name}, children not recorded")
        def run():
            scenario("hostile_code", name, differs=True)
            check("a child process that was not recorded" in harness.record.output,
                  harness.record.output)
    add_unfollowed()


@case("hostile_code: wide, with dependences")
def _wide_deps():
    scenario("hostile_code", "wide", "--deps")


@case("hostile_code: wide, with symbolic masks")
def _wide_symbolic():
    pathlib.Path("masks").write_bytes(bytes(16))
    out = harness.run([harness.HOLDFAST, "explore", "--sym-stdin", "16", "--stdin", "masks", "-j", "1",
                       "--max-paths", "2", "-o", "explored", "--",
                       harness.program("hostile_code"), "pool", "wide"])
    check("1 paths in 1 runs" in out and "under the tracer" not in out, out)


@case("explore has the self-check, too")
def _explored():
    def explore(status, *more, follow=()):
        shutil.rmtree("explored", ignore_errors=True)
        return harness.run([harness.HOLDFAST, "explore", "--sym-stdin", "1", "-j", "1", "-o", "explored",
                            "--json", "report.json", "--fail-on", "none", *more, "--",
                            harness.program("hostile_code"), "pool", "child_writes"], status=status)

    said = explore(0)
    check(harness.DIFFERS in said and "a child process that was not recorded" in said, said)
    why = json.loads(pathlib.Path("report.json").read_text())["incomplete"]
    check(harness.DIFFERS in why, why)
    explore(3, "--incomplete", "error")
    said = explore(0, "--follow-forks")
    check(harness.DIFFERS not in said, said)


@case("hostile_files: exec_writes, checked and explored as it runs")
def _exec_writes():
    command = ["--follow-forks", "--", harness.program("hostile_files"), "pool", "exec_writes"]
    for verb in (["check"], ["explore", "--sym-stdin", "1", "-j", "1", "-o", "explored"]):
        said = harness.run([harness.HOLDFAST, *verb, "--fail-on", "none", *command])
        check(harness.DIFFERS not in said, said)


@case("hostile_files: exec_writes, what the child syncs is told")
def _exec_syncs():
    trace = scenario("hostile_files", "exec_writes", "--follow-forks")
    out = harness.run([harness.HOLDFAST, "dump", "--events", trace.folder])
    check("file-sync" in out, out)


if __name__ == "__main__":
    sys.exit(harness.main())
