#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The adapter for holdfast: misuse and oracle are `check`, crash and output are `crash`, input is `explore`.

The program is recorded once, and the pool that the recording gives must be the real one; check and crash work
on the recording. For crash a checker judges, for output what the program prints after a crash, and nothing else. HOLDFAST names another binary than build/holdfast.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True
import corpus  # noqa: E402

BUILD = corpus.ROOT.parent / "build"
HOLDFAST = pathlib.Path(os.environ.get("HOLDFAST") or BUILD / "holdfast")
ORACLES = sorted((BUILD / "oracles").glob("*.so"))
ORACLE_KINDS = {"redundant-log", "store-outside-tx", "unlogged-store"}
JUDGES = {"recover": "--recover", "probe": "--probe", "continue": "--continue", "ops": "--ops-file"}  # fields of a request
GUILTY = ("persisted", "lost", "also-persisted", "also-lost")  # roles of statements that a crash finding names
# A run takes milliseconds, a question to the solver hardly more: what takes as long as this is not just slow.
RUN_SECONDS, SOLVER_SECONDS = 60, 30
CLASSES = corpus.classes_of("holdfast")


def about():
    """What the tool can do, and the files that it consists of."""
    version = subprocess.run([HOLDFAST, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    tracer = sorted(f for f in [*(HOLDFAST.parent / "tracer").glob("*"), *HOLDFAST.parent.glob("src/*/*.so")] if f.is_file())
    return {"tool": version, "analyses": ["misuse", *(["oracle"] if ORACLES else []), "crash", "output", "input"],
            "files": [str(f) for f in [HOLDFAST, *tracer, *ORACLES, corpus.ROOT / "corpus.py", corpus.ROOT / "classes.jsonl"]]}


def frames(stack):
    return [{"file": f.get("file"), "line": f.get("line"), "function": f.get("function")} for f in stack or []]


def neutral(finding, analysis):
    """A finding of a JSON report in the words of the corpus."""
    related = [] if analysis in ("misuse", "oracle") else finding.get("related") or []
    paths = [frames(p.get("stack")) for p in finding.get("paths") or []]  # more call paths to the same statement
    return {"analysis": analysis, "classes": CLASSES.get(finding["kind"], []), "kind": finding["kind"], "level": finding["level"],
            "id": finding["id"], "message": finding["message"], "stack": frames(finding["stack"]),
            "related": [*paths, *(frames(r.get("stack")) for r in related if r["role"] in GUILTY)]}


def crash_options(request):
    effort = request["effort"]
    budget = str(effort["states"]) if "states" in effort else f"{effort['seconds']}s"
    options = ["--model", request["model"], "--timeout", f"{request['patience']}s"]
    options += [word for field, option in JUDGES.items() if request.get(field) for word in (option, request[field])]
    if effort.get("all"):
        options += ["--strategy", "exhaustive"]
    else:
        options += ["--random", "4" if "states" in effort else "32"]
    only = ["--only", effort["only"]] if "only" in effort else []
    return [*options, *only, "--budget", budget]


def client_options(request):
    return ["--port", str(request["port"]), "--client", request["client"]] if "client" in request else []


def explore_options(request):
    """What is symbolic, how far to go, how to judge a crash, and the program."""
    effort, source = request["effort"], request["input"]
    limits = [word for name, option in (("paths", "--max-paths"), ("seconds", "--max-time"), ("findings", "--max-findings"))
              if name in effort for word in (option, f"{effort[name]}s" if name == "seconds" else str(effort[name]))]
    crash = ["--recover", request["recover"], "--budget", str(effort["crash_states"])] if request["recover"] else []
    bounds = ["--range", source["range"]] if source["range"] else []
    if "packets" in source:
        symbolic = ["--port", str(request["port"]), "--seed", source["file"],
                    *(word for packet in source["packets"] for word in ("--packet", packet.replace("\n", r"\n")))]
    else:
        symbolic = ["--sym-file", f"{source['file']}:{source['first']}-{source['last']}"]
    return ["--model", request["model"], "--timeout", f"{RUN_SECONDS}s", "--solver-timeout", f"{SOLVER_SECONDS}s", *crash, *limits, *bounds,
            *symbolic, "--", *request["run"]]


class Session:
    """One request."""

    def __init__(self, request):
        self.request, self.pool = request, pathlib.Path(request["pool"])
        self.trace, self.explored, self.report = pathlib.Path("trace"), pathlib.Path("explored"), pathlib.Path("report.json")
        self.answer = {"version": 1, "findings": [], "errors": [], "counts": {}, "cut": False, "seconds": {}}

    def run(self, what, *command):
        """Status and stderr."""
        start = time.monotonic()
        done = subprocess.run([HOLDFAST, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
        seconds = self.answer["seconds"]
        seconds[what] = seconds.get(what, 0) + time.monotonic() - start
        return done.returncode, done.stderr.decode(errors="replace").strip()

    def fail(self, what, text):
        self.answer["errors"].append({"analysis": what, "message": text})

    def count(self, what, number):
        self.answer["counts"][what] = self.answer["counts"].get(what, 0) + int(number)

    def reported(self, what, *command):
        """The JSON report of a command; None if there is none."""
        self.report.unlink(missing_ok=True)
        status, text = self.run(what, command[0], "-q", "--json", self.report, *command[1:])
        if status in (0, 1) and self.report.exists():
            return json.loads(self.report.read_text())
        self.fail(what, f"status {status}: {text}")
        return None

    def record(self):
        """The recording, and whether the image that is rebuilt from it is the real one."""
        image = pathlib.Path("image")
        for old in (self.trace, image):
            shutil.rmtree(old, ignore_errors=True)
        self.remove_pool()
        for command in (["record", "-q", "-o", self.trace, *client_options(self.request), "--", *self.request["run"]],
                        ["dump", "--image", image, self.trace]):
            status, text = self.run("record", *command)
            if status:
                return self.fail("record", f"{command[0]} ended with {status}: {text}")
        if self.differs(image):
            return self.fail("record", "the image rebuilt from the trace differs from the pool")
        return self.count("images", 1)

    def remove_pool(self):
        """Whatever it is, and what lies beside it by a longer name."""
        for path in self.pool.parent.glob(f"{self.pool.name}*"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def differs(self, image):
        """From what is there: one file, or for programs that keep their data in files, all that there are."""
        made = {f for f in image.rglob("*") if f.is_file()}
        if self.request["library"] != "posix":
            return len(made) != 1 or made.pop().read_bytes() != self.pool.read_bytes()
        folder = self.pool.parent
        real = {f for path in folder.glob(f"{self.pool.name}*") for f in [path, *path.rglob("*")] if f.is_file()}
        by_place = {str(f.relative_to(folder)): f.read_bytes() for f in real}
        return by_place != {str(f).split(f"/{folder.name}/")[-1].removeprefix(f"{image}/"): f.read_bytes() for f in made}

    def check(self, analyses):
        """The recording, or another run where custom oracles must see more of it."""
        what, options = [self.trace], ["--model", self.request["model"]]
        if "oracle" in analyses and self.request["library"] == "pmemobj":
            self.remove_pool()
            what = ["--", *self.request["run"]]
            options += [word for plugin in ORACLES for word in ("--oracle", plugin)]
        report = self.reported("check", "check", *options, *what)
        for f in report["findings"] if report else []:
            self.answer["findings"].append(neutral(f, "oracle" if f["kind"] in ORACLE_KINDS else "misuse"))

    def crash(self, what):
        """A campaign: crash or output."""
        request = self.request
        if request.get("resume"):
            options = ["--resume", "--budget", str(request["effort"]["states"])]
        else:
            options = ["--fresh", *crash_options(request)]
        report = self.reported(what, "crash", "-j", "1", *options, self.trace)
        if not report:
            return
        self.count("states" if what == "crash" else "compared", report["stats"]["tested"])
        self.answer["cut"] = bool(report["incomplete"])
        for f in report["findings"]:
            if (f.get("witness") or {}).get("type") != "crash":
                self.fail(what, f"{f['id']}: a finding without a crash")
            self.answer["findings"].append(self.replay(neutral(f, what), self.trace))

    def explore(self):
        self.remove_pool()
        report = self.reported("explore", "explore", "-j", "1", "--fresh", "-o", self.explored, *explore_options(self.request))
        if not report:
            return
        self.count("paths", report["stats"]["paths"])
        for f in report["findings"]:
            found = dict(neutral(f, "input"), after=f["witness"]["path"])
            self.answer["findings"].append(self.replay(found, self.explored))

    def replay(self, finding, folder):
        """Adds how often the finding was shown again, and why not."""
        wanted = self.request.get("replay")
        before = sum("replay" in f for f in self.answer["findings"])
        if not wanted or before >= wanted.get("findings", before + 1):
            return finding
        results = [self.run("replay", "replay", finding["id"], folder) for _ in range(wanted["times"])]
        failures = [f"status {status}: {text}" for status, text in results if status != 1]
        return dict(finding, replay={"tries": len(results), "failures": failures})


def main():
    if sys.argv[1:] == ["--about"]:
        print(json.dumps(about()))
        return 0
    request = json.loads(pathlib.Path(sys.argv[1]).read_text())
    session, analyses = Session(request), request["analyses"]
    if set(analyses) - {"input"} and not request.get("resume"):
        session.record()
    if "misuse" in analyses or "oracle" in analyses:
        session.check(analyses)
    for what in ("crash", "output"):
        if what in analyses:
            session.crash(what)
    if "input" in analyses:
        session.explore()
    print(json.dumps(session.answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
