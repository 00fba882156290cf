#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What system calls do to PM: stores by the kernel (kernel.c), changes of the files that back
it, and mappings that come, change and go (files.c)."""
import os
import pathlib
import sys

import harness
from harness import case, check, same


@case("stores by the kernel, with their bytes")
def kernel():
    command = [harness.program("kernel"), "pool", "log"]
    harness.run(command)
    os.unlink("pool")
    trace = harness.record(command)
    harness.in_pieces(trace.memory(), harness.read_log())
    trace.same_image("pool")


@case("a store by the kernel is on the call path of the system call")
def kernel_path():
    trace = harness.record([harness.program("kernel"), "pool", "log"])
    for event in trace.stores():
        path = harness.names(event)
        check(path[-1] == "main" and path[-2] in ("reads", "sockets", "others"), path)


def scenario(name, images=("pool",)):
    """Records a scenario of files.c, natively tried first, and compares the image."""
    try:
        harness.run([harness.program("files"), "pool", name])
    except harness.Fail as fail:
        if "status 77" in str(fail):
            raise harness.Skip(str(fail).splitlines()[-1])
        raise
    for path in pathlib.Path(".").iterdir():
        path.unlink()
    trace = harness.record([harness.program("files"), "pool", name])
    trace.same_image(*images)
    return trace


def args(events, *keys):
    return [tuple(e["args"][k] for k in keys) for e in events]


@case("write, pwrite, writev, pwritev and O_APPEND into a mapped pool")
def writes():
    trace = scenario("writes")
    found = trace.kinds("file-write")
    # A write is recorded in pieces of at most 32 KiB: put those of the big one together.
    same([(e["args"]["offset"], e["size"]) for e in found][:6],
         [(100, 6), (5000, 5), (5005, 5), (5010, 10), (5020, 6), (8190, 10)], "first writes")
    big = b"".join(bytes.fromhex(e["data"]) for e in found[7:-2])
    same(big, bytes((i * 13 + i // 300) & 255 for i in range(100000)), "the big write")
    same([(e["args"]["offset"], bytes.fromhex(e["data"])) for e in found[-2:]],
         [(100003, b"appended"), (100011, b"appended too")], "appended")
    check(all(e["file"] == os.path.abspath("pool") for e in found), "files")
    check(all(harness.names(e)[-2:] == ["writes", "main"] for e in found), "call paths")


@case("ftruncate, truncate and O_TRUNC")
def sizes():
    trace = scenario("sizes")
    same([size for size, in args(trace.kinds("file-truncate"), "size")],
         [77824, 12388, 65536, 65486, 65536, 131072, 0, 65536], "sizes")
    same(len(trace.kinds("file-open")), 2, "opened")


@case("fallocate: growing and punching holes")
def holes():
    trace = scenario("holes")
    same(args(trace.kinds("file-allocate"), "mode", "offset", "len"),
         [("0x0", 65436, 2000), ("0x1", 65536, 81920), ("0x3", 4396, 8269)], "fallocate")


@case("fallocate: zeroing, collapsing and inserting ranges")
def rare_holes():
    trace = scenario("rare_holes")
    same(args(trace.kinds("file-allocate"), "mode", "offset", "len"),
         [("0x10", 20490, 500), ("0x10", 65526, 4096), ("0x8", 8192, 4096),
          ("0x20", 16384, 8192)], "fallocate")


@case("msync, fsync, fdatasync, sync_file_range")
def syncs():
    trace = scenario("syncs")
    base = int(trace.one("map")["args"]["addr"], 16)
    same([(harness.addr(e) - base, e["args"]["len"], e["args"]["flags"])
          for e in trace.kinds("sync")], [(0, 4096, "0x4"), (4096, 8192, "0x1")], "msync")
    same(args(trace.kinds("file-sync"), "how", "offset", "len"),
         [(0, 0, 0), (1, 0, 0), (2, 4096, 8192)], "syncs of the file")


@case("rename and unlink of the pool, but not of a link to it")
def renames():
    trace = scenario("renames")
    same([os.path.basename(e["text"]) for e in trace.kinds("file-rename")],
         ["second", "third", "pool"], "new names")
    same(len(trace.kinds("file-unlink")), 1, "one of two names is unlinked")


@case("a pool that is unlinked and made again is another file")
def recreated():
    trace = scenario("recreated", images=())
    files = [e["args"]["file"] for e in trace.kinds("map")]
    same(len(set(files)), len(files), f"different files of {files}")
    built = trace.image()
    same(list(built), ["pool"], "what has a name at the end")
    harness.differ(built["pool"], pathlib.Path("pool").read_bytes(), "pool")
    same([(e["args"]["file"], e["data"]) for e in trace.kinds("file-write")],
         [(files[0], b"nameless".hex())], "what was written to the first file without a name")


@case("mremap: grown, moved, in parts, shrunk")
def remaps():
    trace = scenario("remaps")
    check(all(e.get("file") == os.path.abspath("pool") for e in trace.stores()), "stores")
    same(len(trace.stores()), 128 + 7, "stores")


@case("a read-only shared mapping becomes PM when it becomes writable")
def protections():
    trace = scenario("protections")
    offsets = [e["offset"] for e in trace.stores()]
    same(offsets, [8, 8192, 4112, 12312], "stores at")
    check(trace.kinds("protect"), "mprotect of PM is recorded")


@case("a writable and executable shared mapping is PM")
def executable():
    trace = scenario("executable")
    same([e["offset"] for e in trace.stores()], [8, 16], "stores at")


@case("mappings in pieces: aliases, holes, covered and mapped again")
def pieces():
    trace = scenario("pieces")
    same([e["offset"] for e in trace.stores()[128:]],
         [8192 + 24, 8192 + 32, 4 * 4096 + 40, 7 * 4096 + 40, 8 * 4096 + 48, 10 * 4096 + 48,
          12 * 4096 + 56, 64], "stores at")


@case("private and anonymous mappings, memfd and devices are not PM")
def volatiles():
    trace = scenario("volatiles", images=())
    same(trace.stores() + trace.kinds("map"), [], "stores and mappings")


@case("copy_file_range, sendfile and splice into the pool")
def copies():
    scenario("copies")


if __name__ == "__main__":
    sys.exit(harness.main())
