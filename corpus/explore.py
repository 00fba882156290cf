# SPDX-License-Identifier: BSD-3-Clause
"""Bugs that only certain input reaches: what an exploration of the input begins with.

explore.jsonl says, for each label that needs certain input and for each program, where to begin: an
ordinary input that does not show the bug. Each line has `id` or `program`, and one of

  seed      lines of the op file
  commands  for raw/commands: [what, key, value], encoded
  packets   for raw/kvserver: templates as --packet takes them; `parts`: what $1, $2 … are at first

Seed and commands are symbolic; `before` is what comes ahead of them and is not. `room`: bytes that the
input may grow by. `recover`: the bug takes a crash, too, and the program's own recovery is the judge;
with `after`, the output of these operations must be one of `accept`, for recovery itself does not see
it. `range`: what symbolic bytes may be. `quick`: tried in the quick scoreboard as well. `paths`: so many in the
quick scoreboard, of a correct program whose paths take long.
"""

import json
import re
import shlex

import corpus

TABLE = corpus.ROOT / "explore.jsonl"
PART = re.compile(r"\$(\d)(?::(\d+))?")
PART_LENGTH = 8  # without a length


def load():
    """The table by label id or program name."""
    rows = [json.loads(line) for line in TABLE.read_text().splitlines() if line.strip()]
    return {row.get("id") or row["program"]: row for row in rows}


def number(n):
    return bytes([(n.bit_length() + 7) // 8]) + n.to_bytes((n.bit_length() + 7) // 8, "big")


def encode(what, key, value):
    """A command of raw/commands."""
    text, total = what.encode() + number(key) + number(value), 0x811C9DC5
    for byte in text:
        total = ((total << 7 | total >> 25) & 0xFFFFFFFF) ^ byte
    return text + (total or 0xFFFFFFFF).to_bytes(4, "big")


def as_bytes(ops):
    """Operations, or a list of commands."""
    return ops.encode() if isinstance(ops, str) else b"".join(encode(*c) for c in ops)


def fill(template, parts):
    """A packet with its parts in place, with spaces ahead of those that are shorter."""
    return PART.sub(lambda m: parts[int(m[1]) - 1].rjust(int(m[2] or PART_LENGTH)), template)


class Start:
    """Where an exploration begins: a row of the table, for a binary, a pool and a port (of servers) in a folder."""

    def __init__(self, row, binary, pool, folder, port=0):
        self.row, self.binary, self.pool, self.folder, self.port = row, binary, pool, folder, port
        self.serves = "packets" in row
        if self.serves:
            self.whole, self.first = "".join(fill(p, row["parts"]) for p in row["packets"]).encode(), 0
        else:
            before = as_bytes(row.get("before", ""))
            self.whole, self.first = before + as_bytes(row.get("commands") or row["seed"]), len(before)

    def files(self):
        """What the folder must hold, by name."""
        after = {"after": self.row["after"].encode()} if "after" in self.row else {}
        return {"input": self.whole, **after}

    def recovery(self):
        """The command that judges a crash; None where the bug needs none."""
        if not self.row.get("recover"):
            return None
        command = shlex.join([self.binary, "recover", self.pool])
        if "after" not in self.row:
            return command
        accept = "|".join(self.row["accept"])
        return f"out=$({command} {shlex.quote(self.folder + '/after')}) && case $out in {accept}) ;; *) exit 1 ;; esac"

    def request(self):
        """The fields of a request (README.md) that this is about."""
        seed = f"{self.folder}/input"
        if self.serves:
            return {"run": [self.binary, "serve", self.pool, str(self.port)], "recover": self.recovery(), "port": self.port,
                    "client": shlex.join([self.binary, "client", str(self.port), seed]),
                    "input": {"file": seed, "packets": self.row["packets"], "range": self.row.get("range")}}
        verb = "exec" if "commands" in self.row else "run"
        last = len(self.whole) + self.row.get("room", 0)
        return {"run": [self.binary, verb, self.pool, seed], "recover": self.recovery(),
                "input": {"file": seed, "first": self.first, "last": last, "range": self.row.get("range")}}
