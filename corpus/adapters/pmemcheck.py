#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The adapter for pmemcheck, Valgrind's tool of the PMDK project, which Debian's valgrind does not have.

usage: pmemcheck.py REQUEST       PMEMCHECK names a valgrind with it (valgrind without it)
       pmemcheck.py --log FILE    the answer that a log means

pmemcheck knows only of the memory that PMDK, or the program itself, tells it of: programs of pmemobj/.
Its log has sections. Each begins with a line that counts, and lists stores or flushes, each with a stack:

    Number of stores not made persistent: 1
    Stores not made persistent properly:
    [0]    at 0x10926E: set (app.c:12)
           by 0x1092F0: main (app.c:30)
            Address: 0x6600040    size: 8    state: DIRTY
"""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True
import corpus  # noqa: E402

SECTIONS = {"stores not made persistent": "not persistent", "overwritten stores": "overwritten",
            "redundantly flushed stores": "flushed twice", "unnecessary flushes": "unnecessary flush",
            "stores made outside of transactions": "outside of transactions"}
HEAD = re.compile(r"Number of (.+): \d+$")
FRAME = re.compile(r"(\[\d+\])?\s*(?:at|by) 0x[0-9A-Fa-f]+: (.*?)(?: \((?:in )?([^()]*?)(?::(\d+))?\))?$")
ADDRESS = re.compile(r"Address: (\S+)\s+size: (\d+)(?:\s+state: (\w+))?")
OPTIONS = ["--tool=pmemcheck", "--mult-stores=yes", "--flush-check=yes", "--flush-align=yes", "--fullpath-after="]
CLASSES = corpus.classes_of("pmemcheck")


def command():
    return os.environ.get("PMEMCHECK", "valgrind")


def about():
    version = subprocess.run([command(), "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    return {"tool": f"pmemcheck of {version}", "analyses": ["misuse", "oracle"], "files": [str(corpus.ROOT / "classes.jsonl")]}


def finding(section, stack, address):
    """Stores are told apart by what became of them; all but those of transactions are misuse."""
    kind = f"{section}, {address[3]}" if section == "not persistent" else section
    return {"analysis": "oracle" if section == "outside of transactions" else "misuse", "kind": kind,
            "classes": CLASSES.get(kind, []), "stack": stack, "message": f"{address[2]} bytes at {address[1]}"}


def parse(text):
    section, stack = None, []
    for line in text.splitlines():
        line = re.sub(r"^==\d+== ?", "", line).strip()
        head, frame, address = HEAD.match(line), FRAME.match(line), ADDRESS.match(line)
        if head:
            section = SECTIONS.get(head[1])
        elif frame:
            stack = [] if frame[1] else stack
            stack.append({"function": frame[2], "file": frame[3] if frame[4] else None, "line": int(frame[4]) if frame[4] else None})
        elif address and section and stack:
            yield finding(section, stack, address)
            stack = []


def distinct(findings):
    """One for each kind and stack, however many stores were made there."""
    seen = {}
    for f in findings:
        seen.setdefault((f["kind"], json.dumps(f["stack"])), f)
    return list(seen.values())


def run(request):
    log = pathlib.Path("pmemcheck.log")
    pathlib.Path(request["pool"]).unlink(missing_ok=True)
    done = subprocess.run([command(), *OPTIONS, f"--log-file={log}", *request["run"]], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    text = log.read_text(errors="replace") if log.exists() else ""
    if "Number of stores not made persistent" in text:
        return text, []
    return text, [{"analysis": "misuse", "message": f"status {done.returncode}: {done.stderr.decode(errors='replace')}{text[-500:]}"}]


def main():
    errors = []
    if sys.argv[1:] == ["--about"]:
        print(json.dumps(about()))
        return 0
    if sys.argv[1] == "--log":
        text, analyses = pathlib.Path(sys.argv[2]).read_text(errors="replace"), ["misuse", "oracle"]
    else:
        request = json.loads(pathlib.Path(sys.argv[1]).read_text())
        analyses, (text, errors) = request["analyses"], run(request)
    findings = [f for f in distinct(parse(text)) if f["analysis"] in analyses]
    print(json.dumps({"version": 1, "findings": findings, "errors": errors}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
