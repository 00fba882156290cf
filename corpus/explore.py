# SPDX-License-Identifier: BSD-3-Clause
"""What corpus/eval and bench/run do with `holdfast explore`.

explore.jsonl says, for each label that needs certain input and for each program, where to begin: an
ordinary input that does not show the bug. Each line has `id` or `program`, and one of

  seed      lines of the op file
  commands  for raw/commands: [what, key, value], encoded
  packets   for raw/kvserver: templates as --packet takes them; `parts`: what $1, $2 … are at first

Seed and commands are symbolic; `before` is what comes ahead of them and is not. `room`: bytes that the
input may grow by. `recover`: the bug takes a crash, too, and the program's own recovery is the judge;
with `after`, the output of these operations must be one of `accept`, for recovery itself does not see
it. `range`: what symbolic bytes may be. `quick`: tried in the quick scoreboard as well.
"""

import json
import pathlib
import re
import shlex
import socket

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


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Start:
    """Where one exploration begins: a row of the table, its files, and the options it means."""

    def __init__(self, row, binary, pool, folder):
        self.row, self.binary, self.pool, self.folder = row, binary, pool, folder
        self.input, self.port = pathlib.Path(folder) / "input", None
        if "packets" in row:
            self.whole, self.port = "".join(fill(p, row["parts"]) for p in row["packets"]).encode(), free_port()
            self.first, self.last = 0, len(self.whole)
        else:
            before, seed = row.get("before", ""), row.get("commands") or row["seed"]
            self.whole, self.first = as_bytes(before) + as_bytes(seed), len(as_bytes(before))
            self.last = len(self.whole) + row.get("room", 0)
        self.input.write_bytes(self.whole)

    def command(self):
        if self.port:
            return [self.binary, "serve", self.pool, str(self.port)]
        return [self.binary, "exec" if "commands" in self.row else "run", self.pool, self.input]

    def sources(self):
        """The options that name what is symbolic."""
        bounds = ["--range", self.row["range"]] if "range" in self.row else []
        if not self.port:
            return ["--sym-file", f"{self.input}:{self.first}-{self.last}", *bounds]
        text = [p.replace("\n", r"\n") for p in self.row["packets"]]
        return ["--port", str(self.port), "--seed", self.input, *bounds, *(word for packet in text for word in ("--packet", packet))]

    def client(self):
        """Options for the same input without anything symbolic."""
        return ["--port", str(self.port), "--client", shlex.join([str(self.binary), "client", str(self.port), str(self.input)])] \
            if self.port else []

    def recovery(self):
        """The command that judges a crash."""
        command = shlex.join([str(self.binary), "recover", str(self.pool)])
        if "after" not in self.row:
            return command
        ops = pathlib.Path(self.folder) / "after"
        ops.write_text(self.row["after"])
        return f"out=$({command} {shlex.quote(str(ops))}) && case $out in {'|'.join(self.row['accept'])}) ;; *) exit 1 ;; esac"


class Explorer:
    """Runs explorations for the scoreboard; `ev` is judge's Evaluation, which runs and counts."""

    CRASHES = ["--budget", "100"]  # for each new behaviour

    def __init__(self, ev, holdfast):
        self.ev, self.holdfast, self.table = ev, holdfast, load()

    def explore(self, name, flag, program, scratch, options):
        """One exploration: its report's findings and statistics, or why there is none."""
        row, report = self.table[name], scratch / "explore.json"
        report.unlink(missing_ok=True)
        (scratch / "pool").unlink(missing_ok=True)
        start = Start(row, self.ev.args.bin / program / flag, scratch / "pool", scratch)
        crash = ["--recover", start.recovery(), *self.CRASHES] if row.get("recover") else []
        command = [self.holdfast, "explore", "-q", "-j", "1", "--fresh", "-o", scratch / "explored", "--json", report,
                   *self.ev.model(program), *crash, *options, *start.sources(), "--", *start.command()]
        status, text = self.ev.run("explore", command, 3600)
        if status not in (0, 1) or not report.exists():
            return {"name": f"{program}/{flag}", "findings": [], "error": f"{program}/{flag}: status {status}: {text}"}
        result = json.loads(report.read_text())
        stats = result["stats"]
        with self.ev.lock:
            self.ev.tried["paths"] += int(stats["paths"])
        return {"name": f"{program}/{flag}", "findings": result["findings"], "stats": stats, "start": start}

    def seed_shows(self, label, scratch, is_it):
        """Whether the input that it begins with shows the bug already; it must not."""
        row, trace, report = self.table[label["id"]], scratch / "seed", scratch / "seed.json"
        start = Start(row, self.ev.args.bin / label["program"] / label["flag"], scratch / "pool", scratch)
        verbs = [["check"]] + ([["crash", "--recover", start.recovery(), *self.CRASHES]] if row.get("recover") else [])
        for verb in verbs:
            (scratch / "pool").unlink(missing_ok=True)
            report.unlink(missing_ok=True)
            where = ["-o", trace] if verb[0] == "crash" else []
            self.ev.run("explore", [self.holdfast, verb[0], "-q", "--json", report, *where, *verb[1:], *start.client(), "--",
                                    *start.command()])
            if any(map(is_it, json.loads(report.read_text())["findings"])):
                return True
        return False

    def bug(self, label, scratch, is_it):
        """Looks for a bug: the verdict, after how many paths, whether its input shows it again."""
        quick = self.ev.args.quick
        if quick and not self.table[label["id"]].get("quick"):
            return {"verdict": "not tried", "findings": []}
        limits = ["--max-paths", "3000", "--max-time", "60s"] if quick else ["--max-time", f"{self.ev.args.explore}s"]
        result = self.explore(label["id"], label["flag"], label["program"], scratch, [*limits, "--max-findings", "1"])
        right = [f for f in result["findings"] if is_it(f)]
        result["verdict"] = "found" if right else "elsewhere" if result["findings"] else "missed"
        result["path"] = min((f["witness"]["path"] for f in right), default=None)
        result["failures"] = [] if quick and "error" in result else self.replay(label, right, scratch)
        if not quick and self.seed_shows(label, scratch, is_it):
            result["failures"].append(f"{label['id']}: the seed shows it")
        result.pop("start", None)
        return result

    def replay(self, label, findings, scratch):
        failures = []
        for f in findings[:1]:
            status, text = self.ev.run("replay", [self.holdfast, "replay", f["id"], scratch / "explored"])
            if status != 1:
                failures.append(f"{label['id']}, {f['id']}: status {status}: {text}")
        return failures

    def correct(self, program, flag, scratch):
        """Explores a correct program: what is found there is false."""
        limits = ["--max-paths", "60", "--max-time", "30s"] if self.ev.args.quick else ["--max-time", f"{self.ev.args.explore}s"]
        result = self.explore(program, flag, program, scratch, limits)
        result.pop("start", None)
        return result
