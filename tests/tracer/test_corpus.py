#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs: the image rebuilt from the trace equals the pool, byte for byte. The programs
are the corpus's, among them two with threads, and run on random operations."""
import json
import os
import sys

import harness
from harness import case, check

os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # the corpus has scripts; leave its folder clean
CORPUS = harness.SOURCE / "corpus"
PROGRAMS = ["raw/log", "raw/array", "raw/cceh", "raw/fastfair", "raw/level", "raw/clht",
            "raw/queue2", "msync/wal", "pmemobj/btree", "pmemobj/hashmap_atomic", "pmemobj/queue"]


@harness.once
def build():
    out = harness.shared("corpus")
    make = ["make", "-s", "-C", CORPUS, "-j2", f"OUT={out}"]
    harness.run(make + [out / name / "clean" for name in PROGRAMS])
    return out


def add(name):
    @case(f"{name}: the rebuilt pool is the real one")
    def whole():
        about = json.loads((CORPUS / name / "program.json").read_text())
        harness.run([CORPUS / "gen-ops", "--seed", "7", "--count", "150", "--keys",
                     about.get("keys", 200), "--output", "ops"])
        trace = harness.record([build() / name / "clean", "run", "pool", "ops"])
        check(len(trace.stores()) > 100, f"only {len(trace.stores())} stores")
        trace.same_image("pool")


for program in PROGRAMS:
    add(program)


if __name__ == "__main__":
    sys.exit(harness.main())
