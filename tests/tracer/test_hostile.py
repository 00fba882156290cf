#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ways of writing to PM that are easily missed (hostile.c, hostile_calls.c, hostile_files.c): what is
recorded makes the file that is there at the end, and the self-check agrees."""
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
        trace.same_image("pool")
    return trace


# What is recorded with an option, and what is not: then the self-check names the cause.
OPTIONS = {"exec_writes": ["--follow-forks"]}
UNSEEN = {"uring": "io_uring"}

for which in ("hostile", "hostile_calls", "hostile_files"):
    for scene in harness.run([harness.program(which), "list"]).split():
        def add(program=which, name=scene):
            @case(f"{program}: {name}")
            def run():
                scenario(program, name, *OPTIONS.get(name, []), differs=name in UNSEEN)
                check(UNSEEN.get(name, "") in harness.record.output, harness.record.output)
        add()


if __name__ == "__main__":
    sys.exit(harness.main())
