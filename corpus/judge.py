# SPDX-License-Identifier: BSD-3-Clause
"""What corpus/eval does with one program: run every capability on it, judge the JSON reports."""

import collections
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
import zlib

import corpus
import explore

REPO = corpus.ROOT.parent
HOLDFAST = pathlib.Path(os.environ.get("HOLDFAST") or REPO / "build" / "holdfast")
ORACLES = REPO / "build" / "oracles"
TIMEOUT = 120
# Which labels a capability is held to, by what they call seen_by.
CAPABILITIES = {
    "check": lambda seen: "misuse" in seen,
    "oracles": lambda seen: "oracle" in seen,
    "crash": lambda seen: "crash" in seen and "input" not in seen,
    "equivalence": lambda seen: "output" in seen,
    "explore": lambda seen: "input" in seen,
}
ORACLE_KINDS = {"redundant-log", "store-outside-tx", "unlogged-store"}
CRASH_KINDS = {"ordering", "atomicity", "missing-flush", "missing-fence", "missing-flush-and-fence"}
# Labels of these classes are about what a crash leads to, in other words than a crash finding's.
CRASH_CLASSES = {"recovery", "store-outside-tx", "unlogged-store"}
SMALL = 12  # operations
QUICK_STATES, QUICK_MORE = "100", "400"  # budgets, the second where a bug was not found with the first


class Evaluation:
    def __init__(self, args):
        self.args = args
        self.programs = corpus.load_programs()
        verbs = subprocess.run([HOLDFAST, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.available = {"record"} | {c for c in CAPABILITIES if f"\n  {c} " in verbs}
        if "check" in self.available and any(ORACLES.glob("*.so")):
            self.available.add("oracles")
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-eval.", dir="/dev/shm"))
        self.started, self.lock = time.monotonic(), threading.Lock()
        self.live, self.stopped = set(), False
        self.seconds = collections.Counter()
        self.tried = collections.Counter()  # crash states, by what for; paths
        self.explorer = explore.Explorer(self, HOLDFAST) if "explore" in self.available else None

    def stop(self):
        """Ends what runs; nothing new is begun."""
        self.stopped = True
        for process in list(self.live):
            process.terminate()
            process.wait()

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)

    # ---- running holdfast ----

    def run(self, capability, command, timeout=TIMEOUT):
        """Status and stderr."""
        if self.stopped:
            raise RuntimeError("stopped")
        start = time.monotonic()
        # What explorations learn about a program is kept; each begins with what the code alone tells.
        env = dict(os.environ, PMEM_IS_PMEM_FORCE="1", NO_COLOR="1", XDG_CACHE_HOME=str(self.work / "cache"))
        with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as process:
            self.live.add(process)
            try:
                text = process.communicate(timeout=timeout)[1].decode(errors="replace").strip()
                status = process.returncode
            except subprocess.TimeoutExpired:
                process.kill()
                status, text = None, f"did not end within {timeout} s"
        self.live.discard(process)
        with self.lock:
            self.seconds[capability] += time.monotonic() - start
        return status, text

    def command(self, program, flag, verb, scratch, ops=None):
        return [self.args.bin / program / flag, verb, scratch / "pool", *([ops] if ops else [])]

    def model(self, program):
        return ["--model", self.programs[program].get("model", "adr")]

    def timeout(self, program):
        """Recovery takes a millisecond, and libpmemobj's a few more."""
        return ["--timeout", "10s" if program.startswith("pmemobj/") else "2s"]

    def record(self, program, flag, ops, scratch):
        """None, or what is wrong with the image that is rebuilt from the trace."""
        trace, image = scratch / "trace", scratch / "image"
        for old in (trace, image):
            shutil.rmtree(old, ignore_errors=True)
        (scratch / "pool").unlink(missing_ok=True)
        for command in ([HOLDFAST, "record", "-q", "-o", trace, "--", *self.command(program, flag, "run", scratch, ops)],
                        [HOLDFAST, "dump", "--image", image, trace]):
            status, text = self.run("record", command)
            if status:
                return f"{command[1]} ended with {status}: {text}"
        files = [f for f in image.rglob("*") if f.is_file()]
        if len(files) != 1 or files[0].read_bytes() != (scratch / "pool").read_bytes():
            return "the image rebuilt from the trace differs from the pool"
        return None

    def check(self, program, flag, ops, scratch):
        """The findings of `holdfast check`: of the recording, or of another run where custom
        oracles must see more of it."""
        report, what = scratch / "report.json", [scratch / "trace"]
        report.unlink(missing_ok=True)
        extra = self.model(program)
        if "oracles" in self.available and program.startswith("pmemobj/"):
            (scratch / "pool").unlink(missing_ok=True)
            what = ["--", *self.command(program, flag, "run", scratch, ops)]
            for plugin in sorted(ORACLES.glob("*.so")):
                extra += ["--oracle", plugin]
        _, text = self.run("check", [HOLDFAST, "check", "-q", "--json", report, *extra, *what])
        if not report.exists():
            raise RuntimeError(f"check of {program}/{flag} on {ops}: no report\n{text}")
        return json.loads(report.read_text())["findings"]

    def crash(self, what, program, flag, ops, scratch, options):
        """The campaign on the recording: its findings, or why there is none."""
        recover = shlex.join(map(str, self.command(program, flag, "recover", scratch)))
        return self.campaign(what, f"{program}/{flag} on {pathlib.Path(ops).name}", scratch,
                             [*self.model(program), *self.timeout(program), "--fresh", "--recover", recover, *options])

    def campaign(self, what, name, scratch, options):
        report, begin = scratch / "crash.json", time.monotonic()
        report.unlink(missing_ok=True)
        status, text = self.run("crash", [HOLDFAST, "crash", "-q", "-j", "1", "--json", report, *options, scratch / "trace"],
                                self.args.budget * 4 + 600)
        if status not in (0, 1) or not report.exists():
            return {"findings": [], "error": f"{name}: status {status}: {text}"}
        result = json.loads(report.read_text())
        stats = result["stats"]
        with self.lock:
            self.tried[what] += int(stats["tested"])
        return {"findings": result["findings"], "name": name, "options": " ".join(map(str, options)),
                "tested": int(stats["tested"]), "points": int(stats["points"]), "possible_log10": stats["possible_log10"],
                "cut": result["incomplete"], "seconds": round(time.monotonic() - begin, 1)}

    def crash_bug(self, label, place, scratch):
        """Goes on with a campaign that a small budget has ended before the bug was found."""
        program, flag = label["program"], label["flag"]
        result = self.crash("bugs", program, flag, label["ops"], scratch, self.auto())
        if self.args.quick and result.get("cut") and not any(names(f, place) for f in result["findings"]):
            result = self.campaign("bugs", f"{program}/{flag} resumed", scratch, ["--resume", "--budget", QUICK_MORE])
        return result

    def replay(self, label, findings, scratch):
        """Whether each finding's image fails again: how often it was tried, and what did not."""
        if self.args.quick:
            findings = findings[:1] if zlib.crc32(label["id"].encode()) % 4 == 0 else []
        failures, tries = [], 1 if self.args.quick else self.args.replays
        for f in findings:
            for _ in range(tries):
                status, text = self.run("replay", [HOLDFAST, "replay", f["id"], scratch / "trace"])
                if status != 1:
                    failures.append(f"{label['id']}, {f['id']}: status {status}: {text}")
        return {"tries": tries * len(findings), "failures": failures}

    # ---- how thoroughly ----

    def auto(self):
        if self.args.quick:
            return ["--random", "4", "--budget", QUICK_STATES]
        return ["--random", "32", "--budget", f"{self.args.budget}s"]

    def exhaustive(self, program):
        """Not while libpmemobj makes a pool: that is more states than can ever be tested."""
        only = ["--only", "run_op"] if program.startswith("pmemobj/") else []
        return ["--strategy", "exhaustive", "--budget", f"{self.args.budget}s", *only]

    def random_ops(self, program, scratch, seed):
        info = self.programs[program]
        mix = dict(corpus.DEFAULT_MIX, scan=10 if info["scan"] else 0)
        path = scratch / f"random{seed}.ops"
        count = 200 if self.args.quick else 2000
        path.write_text("\n".join(corpus.generate(seed, count, mix, info["keys"])) + "\n")
        return path

    # ---- judging ----

    def judge_label(self, label):
        with scratch_dir(self.work) as scratch:
            return self.judge_trap(label, scratch) if label.get("trap") else self.judge_bug(label, scratch)

    def judge_bug(self, label, scratch):
        program, flag, ops, seen = label["program"], label["flag"], REPO / label["ops"], set(label["seen_by"])
        place, kinds = marker(label), {label["class"], *(label.get("also") or [])}
        able = [c for c, held in CAPABILITIES.items() if held(seen)]
        result = {"id": label["id"], "class": label["class"], "able": able, "verdicts": {}, "campaigns": [],
                  "place": f"{place[0].relative_to(REPO)}:{place[1]}",
                  "record": self.record(program, flag, ops, scratch)}
        findings = self.check(program, flag, ops, scratch) if "check" in self.available else []
        crashes = {"findings": []}
        if "crash" in self.available and ("crash" in seen or not self.args.quick):
            crashes = self.crash_bug(label, place, scratch)
            result["campaigns"].append(crashes)
            result["replay"] = self.replay(label, crashes["findings"], scratch)
        own = {"check": [f for f in findings if f["kind"] not in ORACLE_KINDS],
               "oracles": [f for f in findings if f["kind"] in ORACLE_KINDS]}
        for capability in able:
            if capability not in self.available:
                result["verdicts"][capability] = "not available"
            elif capability in own:
                result["verdicts"][capability] = verdict([f for f in own[capability] if f["kind"] in kinds],
                                                         lambda f: on_stack(f["stack"], place))
        self.judge_crashes(result, crashes["findings"], kinds, place, seen)
        if "explore" in able and self.explorer:
            result["explored"] = self.explorer.bug(
                label, scratch, lambda f: f["kind"] in kinds | CRASH_KINDS and names(f, place))
            result["verdicts"]["explore"] = result["explored"]["verdict"]
            keep_short([result["explored"]])
        result["findings"] = [describe(f) for f in findings]
        keep_short(result["campaigns"])
        result["verdict"] = "found" if result.get("extra") else overall(result["verdicts"])
        return result

    def judge_crashes(self, result, findings, kinds, place, seen):
        """A crash finding is right if it names the statement, whatever it calls the bug."""
        real = [f for f in findings if f["kind"] in CRASH_KINDS and (f.get("witness") or {}).get("type") == "crash"]
        named = [f for f in real if names(f, place)]
        if kinds & CRASH_CLASSES:
            kinds = kinds | {"ordering", "atomicity"}
        if "crash" in result["able"] and "crash" in self.available:
            result["verdicts"]["crash"] = verdict(real, lambda f: names(f, place))
        if "crash" in seen and "crash" not in result["able"]:
            result["extra"] = bool(named)
        if named:
            result["crash_kinds"] = sorted({f["kind"] for f in named})
            result["kind_agrees"] = bool({f["kind"] for f in named} & kinds)
        result["unexpected"] = [] if "crash" in seen else [dict(describe(f), at_marker=names(f, place)) for f in findings]
        result["odd"] = [describe(f) for f in findings if f not in real]

    def judge_trap(self, label, scratch):
        program, flag, ops = label["program"], label["flag"], REPO / label["ops"]
        allowed = label.get("allowed") or []
        result = {"id": label["id"], "campaigns": [], "record": self.record(program, flag, ops, scratch)}
        findings = self.check(program, flag, ops, scratch) if "check" in self.available else []
        result["false"] = [dict(describe(f), ops=ops.name) for f in findings if f["kind"] not in allowed]
        if "crash" in self.available:
            self.crash_correct(result, program, flag, [ops], scratch)
        self.explore_correct(result, program, flag, scratch, allowed)
        return result

    def judge_clean(self, program):
        """The correct program, with every op file and random operations."""
        result = {"program": program, "false": [], "campaigns": [], "record": None}
        with scratch_dir(self.work) as scratch:
            small = sorted((corpus.ROOT / program / "ops").glob("*.ops"))
            seeds = (1,) if self.args.quick else (1, 2)
            for ops in [*([] if self.args.quick else small), *(self.random_ops(program, scratch, s) for s in seeds)]:
                result["record"] = result["record"] or self.record(program, "clean", ops, scratch)
                if "check" in self.available:
                    result["false"] += [dict(describe(f), ops=ops.name)
                                        for f in self.check(program, "clean", ops, scratch)]
            if "crash" in self.available:
                if self.args.quick:
                    small = [max(small, key=lambda f: (operations(f) <= SMALL, operations(f) if operations(f) <= SMALL else 0))]
                self.crash_correct(result, program, "clean", small, scratch)
            self.explore_correct(result, program, "clean", scratch)
        return result

    def explore_correct(self, result, program, flag, scratch, allowed=()):
        if not self.explorer:
            return
        result["explored"] = self.explorer.correct(program, flag, scratch)
        result["false"] += [dict(describe(f), ops="explored") for f in result["explored"]["findings"] if f["kind"] not in allowed]
        keep_short([result["explored"]])

    def crash_correct(self, result, program, flag, small, scratch):
        """No crash state of a correct program may fail: all of them with few operations, a
        choice with many."""
        tasks = [(ops, self.auto() if self.args.quick else self.exhaustive(program)) for ops in small]
        if not self.args.quick:
            tasks.append((self.random_ops(program, scratch, 1), self.auto()))
        for ops, options in tasks:
            bad = self.record(program, flag, ops, scratch)
            result["record"] = result["record"] or bad
            crashes = self.crash("correct programs", program, flag, ops, scratch, options)
            result["false"] += [dict(describe(f), ops=ops.name) for f in crashes["findings"]]
            result["campaigns"].append(crashes)
        keep_short(result["campaigns"])


class scratch_dir:
    def __init__(self, parent):
        self.path = pathlib.Path(tempfile.mkdtemp(dir=parent))

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def operations(path):
    return sum(1 for line in path.read_text().splitlines() if line.strip() and not line.startswith("#"))


def describe(finding):
    loc = finding["location"]
    return {"id": finding["id"], "kind": finding["kind"], "level": finding["level"], "count": finding["count"],
            "place": f"{os.path.basename(loc.get('file') or '?')}:{loc.get('line')}", "message": finding["message"]}


def keep_short(campaigns):
    for c in campaigns:
        c["findings"] = [describe(f) for f in c["findings"]]


def marker(label):
    """(file, line) of the marked statement."""
    for path in sorted((corpus.ROOT / label["program"]).glob("*.[ch]")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if label["marker"] in line:
                return path, number
    raise RuntimeError(f"{label['id']}: no {label['marker']} in its program")


def on_stack(stack, place):
    return any(f.get("file") and f.get("line") == place[1] and os.path.realpath(f["file"]) == str(place[0]) for f in stack)


def names(finding, place):
    """Is the statement the store that survives, or one that is lost?"""
    return on_stack(finding["stack"], place) or any(on_stack(r.get("stack") or [], place) for r in finding.get("related") or []
                                                    if r["role"] in ("persisted", "lost", "also-persisted", "also-lost"))


def verdict(findings, right):
    return "found" if any(map(right, findings)) else "elsewhere" if findings else "missed"


def overall(verdicts):
    """One capability is enough to find a bug; what does not exist yet cannot miss it."""
    for v in ("found", "elsewhere", "missed"):
        if v in verdicts.values():
            return v
    return "not available"
