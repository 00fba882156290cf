# SPDX-License-Identifier: BSD-3-Clause
"""Runs a tool on the cases of the corpus, through its adapter, and judges what it says.

An adapter is an executable that gets a request and prints an answer, both JSON; README.md says what is in
them. Answers are kept until the whole scoreboard is done, so that a run that was interrupted goes on where it
was; their names are hashes of everything that an answer depends on: tool, adapter, request, files, binary.
"""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import corpus

# Which labels an analysis is held to, by what they call seen_by.
ANALYSES = {
    "misuse": lambda seen: "misuse" in seen,
    "oracle": lambda seen: "oracle" in seen,
    "crash": lambda seen: "crash" in seen and "input" not in seen,
    "output": lambda seen: "output" in seen,
    "input": lambda seen: "input" in seen,
}
CAMPAIGNS = ("crash", "output")  # try crash states: a case has one of them
# What a crash can prove.
CRASH_CLASSES = {name for name, row in corpus.load_classes().items() if row.get("crash")}
NO_ANSWER = {"findings": [], "errors": [], "counts": {}, "cut": False, "seconds": {}}


# ---- running a tool ----

class Tool:
    """An adapter: what it can do, and a hash of all that its answers depend on."""

    def __init__(self, adapter):
        self.adapter = pathlib.Path(adapter).resolve()
        about = json.loads(subprocess.run([self.adapter, "--about"], stdout=subprocess.PIPE, check=True).stdout)
        self.name, self.analyses = about["tool"], set(about["analyses"])
        self.identity = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
        for path in [self.adapter, *about.get("files", [])]:
            self.identity.update(hashlib.sha256(pathlib.Path(path).read_bytes()).digest())


class Stopped(Exception):
    """The scoreboard is being ended."""


class Runner:
    """Asks a tool, keeps its answers."""

    def __init__(self, tool, tree, binaries, kept):
        self.tool, self.tree, self.binaries, self.kept = tool, tree, pathlib.Path(binaries), pathlib.Path(kept)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-eval.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.live, self.lock, self.stopped = set(), threading.Lock(), False
        self.kept.mkdir(parents=True, exist_ok=True)

    def close(self):
        shutil.rmtree(self.work, ignore_errors=True)

    def stop(self):
        """Ends what runs; nothing new is begun."""
        with self.lock:
            self.stopped = True
            for process in self.live:
                os.killpg(process.pid, signal.SIGTERM)

    def place(self, case):
        """Where the answer is kept."""
        key = self.tool.identity.copy()
        binary = self.binaries / case.program / case.flag
        key.update(json.dumps([case.request(self.tree, "BINARY", "FOLDER"), case.more], sort_keys=True).encode())
        for data in (binary.read_bytes(), *(case.files[name] for name in sorted(case.files))):
            key.update(hashlib.sha256(data).digest())
        return self.kept / f"{key.hexdigest()[:32]}.json"

    def kept_answer(self, case):
        """What an interrupted run has left; None if there is nothing."""
        place = self.place(case)
        return dict(json.loads(place.read_text()), kept=True) if place.exists() else None

    def answer(self, case, enough):
        """The tool's answer. enough: whether findings show what is looked for."""
        place, begin = self.place(case), time.monotonic()
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        try:
            result = self.ask_twice(case, folder, enough)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        result["elapsed"] = round(time.monotonic() - begin, 1)
        if not result["errors"]:
            aside = place.with_suffix(".new")
            aside.write_text(json.dumps(result))
            aside.rename(place)
        return result

    def ask_twice(self, case, folder, enough):
        for name, data in case.files.items():
            (folder / name).write_bytes(data)
        request = case.request(self.tree, str(self.binaries / case.program / case.flag), str(folder), free_port() if case.row else 0)
        first = self.ask(request, folder)
        resumed = [a for a in case.analyses if a in CAMPAIGNS]
        if not (case.more and first["cut"] and resumed) or enough(first["findings"]):
            return first
        second = self.ask(dict(request, analyses=resumed, effort=case.more, resume=True), folder)
        return joined(first, second)

    def ask(self, request, folder):
        path = folder / "request.json"
        path.write_text(json.dumps(request, indent=1))
        # Tools may keep what they learn of libraries in the cache, which all cases of a run share.
        env = dict(os.environ, PMEM_IS_PMEM_FORCE="1", NO_COLOR="1", XDG_CACHE_HOME=str(self.work / "cache"))
        with self.lock:
            if self.stopped:
                raise Stopped
            process = subprocess.Popen([self.tool.adapter, path], env=env, cwd=folder, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
            self.live.add(process)
        out, text = process.communicate()
        with self.lock:
            self.live.discard(process)
            if self.stopped:
                raise Stopped
        return read_answer(process.returncode, out, text.decode(errors="replace").strip())


def read_answer(status, out, text):
    try:
        answer = {**NO_ANSWER, **json.loads(out)} if status == 0 else None
        for finding in answer["findings"] if answer else []:
            if finding["analysis"] not in ANALYSES or not isinstance(finding["stack"], list):
                raise ValueError(f"not a finding: {finding}")
            finding.setdefault("classes", [])
            finding.setdefault("kind", "/".join(finding["classes"]))
    except (ValueError, KeyError, TypeError) as error:
        answer, text = None, f"{error!r}: {out[:500]!r} {text}"
    return answer or dict(NO_ANSWER, errors=[{"analysis": "adapter", "message": f"status {status}: {text}"}])


def joined(first, second):
    """What a resumed crash campaign found stands for what it had found before."""
    both = dict(second, findings=[f for f in first["findings"] if f["analysis"] not in CAMPAIGNS] + second["findings"])
    both["errors"] = first["errors"] + second["errors"]
    for field in ("counts", "seconds"):
        both[field] = {name: first[field].get(name, 0) + second[field].get(name, 0) for name in {**first[field], **second[field]}}
    return both


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- judging ----

def marker(label):
    """(file, line) of the marked statement."""
    for path in corpus.files(label["program"]):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if label["marker"] in line:
                return path, number
    raise RuntimeError(f"{label['id']}: no {label['marker']} in its program")


def on_stack(stack, place):
    """A file is a path, or a name alone."""
    for frame in stack:
        name = frame.get("file")
        if name and frame.get("line") == place[1] and (name == place[0].name or os.path.realpath(name) == str(place[0])):
            return True
    return False


def names(finding, place):
    return any(on_stack(stack, place) for stack in [finding["stack"], *(finding.get("related") or [])])


def classes(label):
    return {label["class"], *(label.get("also") or [])}


def shows(finding, label, place):
    """Whether a finding by input is the bug: what it took may be a crash, or not."""
    return bool(set(finding["classes"]) & (classes(label) | CRASH_CLASSES)) and names(finding, place)


def verdict(findings, right):
    return "found" if any(map(right, findings)) else "elsewhere" if findings else "missed"


def overall(verdicts):
    """One analysis is enough to find a bug; what does not exist yet cannot miss it."""
    for v in ("found", "elsewhere", "missed"):
        if v in verdicts.values():
            return v
    return "not available"


def describe(finding):
    first = next((f for f in finding["stack"] if f.get("file")), {})
    return {"kind": finding["kind"], "level": finding.get("level", ""), "message": finding.get("message", ""),
            "id": finding.get("id", ""), "place": f"{os.path.basename(first.get('file') or '?')}:{first.get('line')}"}


def by(answer, *analyses):
    return [f for f in answer["findings"] if f["analysis"] in analyses] if answer else []


def judge_bug(label, place, answers, available):
    """The verdicts on one bug, from the answers to its parts. place: file and line of the marked statement, as built."""
    (source, line), seen, wanted = marker(label), set(label["seen_by"]), classes(label)
    able = [a for a, held in ANALYSES.items() if held(seen)]
    ops, inputs = answers.get("ops"), answers.get("input")
    verdicts = {}
    if "models" in label:
        return judge_files_bug(label, place, answers, available)
    for analysis in able:
        if analysis not in available:
            verdicts[analysis] = "not available"
        elif analysis in ("misuse", "oracle"):
            verdicts[analysis] = verdict([f for f in by(ops, analysis) if wanted & set(f["classes"])], lambda f: names(f, place))
        elif analysis in CAMPAIGNS:
            part = answers.get("output") if analysis == "output" else ops
            verdicts[analysis] = verdict(by(part, analysis), lambda f: names(f, place))
        elif analysis == "input":
            verdicts[analysis] = verdict(by(inputs, "input"), lambda f: shows(f, label, place)) if inputs else "not tried"
    result = {"id": label["id"], "class": label["class"], "set": label.get("set", "older"), "able": able, "verdicts": verdicts,
              "place": f"{source.relative_to(corpus.ROOT.parent)}:{line}"}
    judge_crashes(result, by(ops, "crash"), wanted, place, seen)
    result["after"] = min((f["after"] for f in by(inputs, "input") if "after" in f and shows(f, label, place)), default=None)
    result["seed_shows"] = any(shows(f, label, place) for f in by(answers.get("seed"), "misuse", "crash"))
    result["said"] = {a: [describe(f) for part in ("ops", "output", "input") for f in by(answers.get(part), a)] for a in ANALYSES}
    result["verdict"] = "found" if result.get("extra") else overall(verdicts)
    return result


def judge_files_bug(label, place, answers, available):
    """The verdict is that of the model under which it is worst: all that the label names must show it."""
    (source, line), seen = marker(label), set(label["seen_by"])
    one, others, result = dict(label), [], None
    del one["models"]
    for model in label["models"]:
        mine = {part.split(",")[0]: answer for part, answer in answers.items() if part.endswith(f", {model}")}
        if mine or not answers: # nothing was asked that could see it
            others.append(dict(judge_bug(one, place, mine, available), model=model))
    ranks = ("found", "elsewhere", "missed", "not available")
    result = max(others, key=lambda r: max([ranks.index(v) for v in r["verdicts"].values() if v in ranks], default=0))
    for analysis in result["able"]:
        result["verdicts"][analysis] = max((r["verdicts"][analysis] for r in others), key=ranks.index)
    result["verdict"] = max((r["verdict"] for r in others), key=ranks.index)
    result["unexpected"] = [f for r in others for f in r["unexpected"]]
    result["unexpected"] += [dict(describe(f), at_marker=names(f, place)) for part, answer in answers.items() if part.startswith("not, ")
                             for f in by(answer, "crash")]
    return result


def judge_crashes(result, findings, wanted, place, seen):
    """A crash finding is right if it names the statement, whatever it calls the bug."""
    named = [f for f in findings if names(f, place)]
    if "crash" in seen and "crash" not in result["able"]:
        result["extra"] = bool(named)
    if named:
        result["crash_kinds"] = sorted({f["kind"] for f in named})
        result["class_agrees"] = any(wanted & set(f["classes"]) for f in named)
    result["unexpected"] = [] if "crash" in seen else [dict(describe(f), at_marker=names(f, place)) for f in findings]
    result["odd"] = [describe(f) for f in findings if not CRASH_CLASSES & set(f["classes"])]


def judge_correct(answers, allowed=()):
    """What is reported on a correct program is false, unless it is of a class that is right by definition."""
    return [dict(describe(f), part=part) for part, answer in answers.items() for f in answer["findings"]
            if not set(f["classes"]) & set(allowed)]
