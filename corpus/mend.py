# SPDX-License-Identifier: BSD-3-Clause
"""A laboratory for repairs: copies of corpus programs that are built, looked at, repaired and looked at again.

Nothing here trusts what `holdfast fix` says of its own work: a patch is applied with git, compiled with two compilers, and the
result is recorded, checked and crashed as if somebody else had written it.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import corpus

REPO = corpus.ROOT.parent
HOLDFAST = pathlib.Path(os.environ.get("HOLDFAST") or REPO / "build" / "holdfast")
FLAGS = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}
LACKS = ("missing-flush", "missing-fence", "missing-flush-and-fence")
PATIENCE = "60s"


class Broken(Exception):
    """A step did not do what it should; the text says which."""


def run(command, folder, good=(0,), **more):
    env = dict(os.environ, PMEM_IS_PMEM_FORCE="1", NO_COLOR="1", GIT_CEILING_DIRECTORIES=str(folder.parent),
               XDG_CACHE_HOME=str(folder / "cache"))
    done = subprocess.run([str(c) for c in command], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **more)
    if done.returncode not in good:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise Broken(f"{pathlib.Path(str(command[0])).name} {command[1]} ended with {done.returncode}: {said[-600:]}")
    return done.stdout.decode(errors="replace")


class Program:
    """A copy of a corpus program, with one flag, in a folder of its own."""

    def __init__(self, folder, name, flag, ops, flags=()):
        self.folder, self.name, self.flag, self.flags = pathlib.Path(folder), name, flag, [*FLAGS, *flags]
        self.info = corpus.load_program(name)
        self.tree = self.folder / "src"
        for part in (name, "common"):
            shutil.copytree(corpus.ROOT / part, self.tree / part)
        self.sources = [self.copy_of(p) for p in [*corpus.sources(name), *corpus.sources("common")]]
        self.cxx = any(p.suffix == ".cc" for p in self.sources)
        self.binary, self.pool, self.ops = self.folder / "program", self.folder / "pool", self.folder / "ops"
        self.ops.write_bytes(ops)
        (self.tree / "compile_commands.json").write_text(json.dumps(
            [{"directory": str(self.tree), "file": str(s), "arguments": [*self.command("gcc", s), "-c", str(s)]} for s in self.sources]))

    def copy_of(self, path):
        return self.tree / path.relative_to(corpus.ROOT)

    def command(self, compiler, source):
        c, cxx = COMPILERS[compiler]
        define = [] if self.flag == "clean" else [f"-D{self.flag}"]
        start = [cxx, "-std=gnu++17"] if source.suffix == ".cc" else [c, "-std=gnu11"]
        return [*start, *self.flags, f"-I{self.tree}", f"-I{REPO / 'include'}", *define]

    def build(self, compiler="gcc"):
        objects = []
        for i, source in enumerate(self.sources):
            objects.append(self.folder / f"{i}.o")
            run([*self.command(compiler, source), "-c", source, "-o", objects[-1]], self.folder)
        linker = COMPILERS[compiler][self.cxx]
        run([linker, *objects, "-pthread", "-o", self.binary, *shlex.split(self.info["libs"])], self.folder)

    # ---- looking ----

    @property
    def model(self):
        return self.info.get("model", "adr")

    def holdfast(self, *words, good=(0,)):
        return run([HOLDFAST, *words], self.folder, good)

    def record(self, trace):
        shutil.rmtree(self.folder / trace, ignore_errors=True)
        self.pool.unlink(missing_ok=True)
        self.holdfast("record", "-q", "--profile-sites", "-o", trace, "--", self.binary, "run", self.pool, self.ops)
        kinds = json.loads(self.holdfast("dump", "--json", trace))["kinds"]
        return {"flushes": kinds.get("flush", 0), "fences": kinds.get("fence", 0), "syncs": kinds.get("sync", 0)}

    def report(self, verb, trace, *options):
        path = self.folder / "report.json"
        path.unlink(missing_ok=True)
        self.holdfast(verb, "-q", "--json", path, "--model", self.model, *options, trace, good=(0, 1))
        report = json.loads(path.read_text())
        self.cut = bool(report.get("incomplete"))  # there was more to try
        return report["findings"]

    def check(self, trace):
        return self.report("check", trace)

    def crash(self, trace, effort):
        only = ["--only", "run_op"] if self.name.startswith("pmemobj/") else []
        return self.report("crash", trace, "-j", "1", "--fresh", "--timeout", PATIENCE, *effort, *only,
                           "--recover", shlex.join(map(str, [self.binary, "recover", self.pool])))

    # ---- repairing ----

    def fix(self, trace, *options):
        """The patch; empty: nothing is proposed. And what is said."""
        patch = self.folder / "fix.patch"
        patch.unlink(missing_ok=True)
        done = self.holdfast("fix", "--source", self.tree, "--compile-commands", self.tree / "compile_commands.json", "--model", self.model,
                             "--patch", patch, *options, trace, good=(0, 1))
        return patch.read_text() if patch.exists() else "", done

    def apply(self, patch):
        (self.folder / "applied.patch").write_text(patch)
        for words in (["--check"], []):
            run(["git", "apply", *words, self.folder / "applied.patch"], self.tree)

    def marked(self, marker):
        """Where a marker is in the copy: patches move lines."""
        for path in sorted(self.tree.rglob("*")):
            if path.is_file():
                for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                    if marker in line:
                        return path, number
        raise Broken(f"{marker} is gone")


# ---- findings ----

def stacks(finding):
    return [finding["stack"], *(p["stack"] for p in finding.get("paths") or []), *(r["stack"] for r in finding.get("related") or [])]


def names(finding, place, folder):
    """Whether the statement is on a call path; reports have paths from where they were made."""
    return any(frame.get("file") and frame.get("line") == place[1] and os.path.realpath(folder / frame["file"]) == os.path.realpath(place[0])
               for stack in stacks(finding) for frame in stack or [])


def errors(findings):
    return [f for f in findings if f["level"] == "error"]


def said(findings):
    return "; ".join(f"{f['kind']} at {pathlib.Path(f['location']['file'] or '?').name}:{f['location']['line']}"
                     if isinstance(f.get("location"), dict) else f["kind"] for f in findings[:3])


# ---- statements that persist, as a recording shows them ----

CALL = re.compile(r"^\s*(?:\}\s*)?[A-Za-z_][\w:.>-]*\s*\(.*\)\s*;\s*(?://.*|/\*.*\*/\s*)?$", re.S)


def persisting(program, trace):
    """{(file, line): acts}: the program's statements that are calls, and flush, fence or sync, and do nothing else to PM. The frame that counts is the outermost of
    those that do nothing else, which is the one whose caller stores or calls something that does."""
    acts, storing, through = {}, set(), set()
    events = [json.loads(line) for line in program.holdfast("dump", "--events", "--json", trace).splitlines()]
    for event in events:
        own = [f for f in event.get("stack") or [] if (f.get("file") or "").startswith(str(program.tree))]
        if event["kind"] == "store":
            storing.update(f["function"] for f in own)
            through.update((f["file"], f["line"]) for f in own)
    for event in events:
        if event["kind"] not in ("flush", "fence", "sync"):
            continue
        for frame in event.get("stack") or []:
            if not (frame.get("file") or "").startswith(str(program.tree / program.name)):
                continue
            if frame["function"] in storing or frame["function"] == "main":
                acts.setdefault((frame["file"], frame["line"]), set()).add(event["kind"])
                break
    return {place: kinds for place, kinds in acts.items()
            if place not in through and (kinds == {"sync"} or "sync" not in kinds) and statement(*place)}


def statement(path, line):
    """The lines of a statement that is one call, beginning there; None: it is something else."""
    lines = pathlib.Path(path).read_text().splitlines()
    for end in range(line, min(line + 4, len(lines)) + 1):
        text = "\n".join(lines[line - 1:end])
        if ";" in text:
            before = lines[line - 2].strip() if line > 1 else ""
            whole = before.endswith(("{", "}", ";", ":", "*/")) or not before or before.startswith(("#", "//", "if", "else", "for", "while"))
            return range(line, end + 1) if whole and CALL.match(text) and text.count("(") == text.count(")") else None
    return None


def replace(path, span, text):
    """Puts a statement in the place of another one; the number of lines stays."""
    path = pathlib.Path(path)
    lines = path.read_text().splitlines(keepends=True)
    indent = re.match(r"\s*", lines[span[0] - 1]).group()
    for number in span:
        lines[number - 1] = "\n"
    lines[span[0] - 1] = f"{indent}{text}\n"
    path.write_text("".join(lines))


def text_of(path, line):
    """The statement as it is written, on one line."""
    lines = pathlib.Path(path).read_text().splitlines()
    return " ".join(lines[number - 1].strip() for number in statement(path, line))
