#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Names and files over time: the image before any moment is what the folder was then (names.c)."""
import os
import pathlib
import shutil
import sys

import harness
from harness import case, check, same


def prepare():
    """What is there before the program starts."""
    home = pathlib.Path("w")
    (home / "sub" / "deep").mkdir(parents=True)
    (home / "sub" / "deep" / "file").write_text("deep")
    (home / "sub" / "old").write_text("old in sub")
    (home / "old").write_text("old contents")
    (home / "big").write_text("".join(str(i) for i in range(5000)))
    (home / "twin").write_text("twin")
    os.link(home / "twin", home / "twin2")
    (home / "untouched").write_text("nobody looks at this")
    pathlib.Path("snapshots").mkdir()


def tree(folder):
    """path -> what is there; files that are one have the same number, that of the first."""
    found, inodes = {}, {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("folder",)
        else:
            one = inodes.setdefault(path.stat().st_ino, name)
            found[name] = ("file", path.read_bytes(), one)
    return found


def differences(image, real, touched):
    """What nobody has touched is not in the recording."""
    bad = []
    for name in sorted(set(image) | set(real)):
        if name not in image and name not in touched:
            continue
        if image.get(name) != real.get(name):
            bad.append(f"{name}: is {str(real.get(name))[:200]}, in the image {str(image.get(name))[:200]}")
    return bad


def touched(trace):
    """All names in the recording, with what is in renamed folders."""
    home = os.getcwd() + "/w/"
    found = set()
    for event in trace.events:
        if event["kind"].startswith("node-"):
            for path in (event.get("text", ""), event.get("to", "")):
                if path.startswith(home):
                    found.add(path[len(home):])
    return found


def compare(scenario, *more, options=()):
    prepare()
    trace = harness.record([harness.program("names"), "../snapshots", scenario, *more], *options,
                           trace=os.path.abspath("trace"), cwd="w")
    begins = [e["num"] for e in trace.kinds("op-begin")]
    same(len(begins), len(os.listdir("snapshots")), "moments")
    names, seen = touched(trace), 0
    for number, event in enumerate(begins):
        shutil.rmtree("image", ignore_errors=True)
        harness.run([harness.HOLDFAST, "dump", "trace", "--image", "image", "--at", str(event)])
        inside = pathlib.Path("image/w")  # if something outside of it is in the recording, too
        image = tree(inside if inside.is_dir() else "image")
        bad = differences(image, tree(f"snapshots/{number}"), names)
        seen += len(image)
        check(not bad, f"{scenario}, moment {number}, before event {event}:\n" + "\n".join(bad))
    check(seen > 2, f"{scenario}: the images are nearly empty")
    return trace


for one, about in {
    "log": "a log beside the pool",
    "relative": "relative names, and those of other folders",
    "replaced": "one file replaces the other, or changes places with it, mapped or not",
    "folders": "renamed folders, with what is in them",
    "links": "hard links and symbolic ones",
    "contents": "all ways to write, cut and copy",
    "mapped": "written, then mapped, then written again",
    "ranges": "holes, and ranges that are zeroed, cut out and put in",
    "descriptors": "a file opened twice, replaced and removed while it is open, made without a name, written past the page cache",
}.items():
    case(about)(lambda one=one: compare(one))

@case("two processes write, cut and rename the same files, by descriptors of both")
def processes():
    trace = compare("processes", options=["--follow-forks"])
    writers = {e["process"] for e in trace.kinds("node-write")}
    check(len(writers) > 1, "both are in the recording")


@case("files that come from outside of the folders that count, and that leave them")
def outside():
    trace = compare("outside", options=["--persist", os.path.abspath("w") + "/*"])
    check(not any(e.get("text", "").endswith("/other") for e in trace.events), "other is not recorded")


@case("other programs write, rename and link the pool without mapping it")
def others():
    names = harness.program("names")
    trace = harness.record(["sh", "-c", f"{names} . quiet; printf hello | dd of=pool conv=notrunc bs=1 seek=100;"
                            "mv pool second; ln second third; echo more >> second; rm second"], "--follow-forks")
    check(trace.kinds("file-write"), "what dd wrote is in the pool")
    same(sorted(trace.image()), ["third"], "names at the end")
    trace.same_image("third")


for seed in range(1, 13):
    case(f"at random, {seed}")(lambda seed=seed: compare("random", str(seed)))

if __name__ == "__main__":
    sys.exit(harness.main())
