# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of a tool: the cases of the scoreboard, and the request that an adapter gets for each.

A case is one program with one input. A bug or a trap has a few of them (its parts), a clean program one for
each op file. README.md says what the fields of a request mean.
"""
import dataclasses
import pathlib
import shlex
import zlib

import corpus
import explore

VERSION = 1
FILE_MODELS = ("posix", "ext4")  # of programs that keep their data in files
INCLUDE = corpus.ROOT.parent / "include"
SMALL = 12  # operations
STATES, MORE_STATES = 100, 400  # quick: images, and how many more where a bug was not found with these
HIDDEN_STATES = 3000  # … of a bug that hides
BUG_PATHS, CORRECT_PATHS = 3000, 30  # quick
PATIENCE, SHORT_PATIENCE = 60, 2  # seconds after which a recovery hangs: the second where some do, so that it is not for long
RANDOM_OPS, QUICK_RANDOM_OPS = 2000, 200


@dataclasses.dataclass
class Case:
    subject: str  # a label's id, or a program
    part: str
    program: str
    flag: str
    analyses: list
    effort: dict
    files: dict  # contents by name, in the folder of the case
    row: dict = None  # of explore.jsonl: where the input comes from
    replay: dict = None  # which findings must show again
    hangs: bool = False  # recovery does not end in some states
    more: dict = None  # the effort that is added where the first did not find a bug
    model: str = None  # what survives a crash, where the program's own is not the one
    judges: tuple = ("probe",)  # for output: what says how it is after a crash; "continue": the rest of the operations is executed

    @property
    def name(self):
        return f"{self.subject}, {self.part}"

    def request(self, tree, binary, folder, port=0):
        """As JSON. Nothing here but these arguments differs from one run to the next."""
        info, pool, effort = corpus.load_program(self.program), f"{folder}/pool", dict(self.effort)
        sources = [tree.path(p) for p in [*corpus.sources(self.program), *corpus.sources("common")]]
        if "only" in effort:
            effort["only"] = tree.word(effort["only"])
        request = {"version": VERSION, "case": f"{self.program}/{self.flag}", "binary": binary, "pool": pool,
                   "sources": [str(s) for s in sources], "include": [str(tree.root), str(INCLUDE)],
                   "define": [] if self.flag == "clean" else [tree.word(self.flag)], "libs": shlex.split(info["libs"]),
                   "library": self.program.split("/")[0], "model": self.model or info.get("model", "adr"),
                   "analyses": self.analyses, "effort": effort, "patience": SHORT_PATIENCE if self.hangs else PATIENCE}
        if self.replay:
            request["replay"] = self.replay
        if self.row:
            request.update(explore.Start(self.row, binary, pool, folder, port).request())
            if "input" not in self.analyses:
                del request["input"]
        else:
            request.update(run=[binary, "run", pool, f"{folder}/ops"], recover=shlex.join([binary, "recover", pool]))
        if "output" in self.analyses:
            request.update(self.output(info, binary, pool, f"{folder}/ops"))
        return request

    def output(self, info, binary, pool, ops):
        """What shows the contents after a crash. No checker: recovery is what opening a pool does."""
        keys = [] if info["scan"] else [ops]
        ways = {"probe": {"probe": shlex.join([binary, "dump", pool, *keys])},
                "continue": {"continue": shlex.join([binary, "run", pool]) + " {ops}", "ops": ops}}
        return {"recover": None, **{field: value for judge in self.judges for field, value in ways[judge].items()}}


def operations(path):
    return sum(1 for line in path.read_text().splitlines() if line.strip() and not line.startswith("#"))


def in_files(program):
    return program.startswith("posix/")


def with_ops(path):
    return {"ops": pathlib.Path(path).read_bytes()}


def ops_of(program):
    return sorted((corpus.ROOT / program / "ops").glob("*.ops"))


def random_ops(program, seed, count):
    info = corpus.load_program(program)
    mix = dict(corpus.DEFAULT_MIX, scan=10 if info["scan"] else 0)
    return {"ops": ("\n".join(corpus.generate(seed, count, mix, info["keys"])) + "\n").encode()}


def with_row(row):
    return explore.Start(row, "", "", "").files()


class Plan:
    """Which cases there are, and how thoroughly each is looked at: by work in the quick form, by time otherwise."""

    def __init__(self, quick, seconds, bug_seconds, correct_seconds, replays):
        self.quick, self.seconds, self.replays = quick, seconds, replays
        self.bug_seconds, self.correct_seconds, self.table = bug_seconds, correct_seconds, explore.load()

    # ---- effort ----

    def some(self):
        return {"states": STATES} if self.quick else {"seconds": self.seconds}

    @staticmethod
    def operations(program):
        """Not while libpmemobj makes a pool: that is more states than can ever be tested."""
        return {"only": "run_op"} if program.startswith("pmemobj/") else {}

    def all(self, program):
        return self.some() if self.quick else {"seconds": self.seconds, "all": True, **self.operations(program)}

    def output(self, program):
        return {**self.some(), **self.operations(program)}

    def more(self, label):
        return {"states": HIDDEN_STATES if "hidden" in label else MORE_STATES} if self.quick else None

    def paths(self, bug, row):
        if not self.quick:
            return {"seconds": self.bug_seconds, "findings": 1} if bug else {"seconds": self.correct_seconds}
        return {"paths": BUG_PATHS, "findings": 1} if bug else {"paths": row.get("paths", CORRECT_PATHS)}

    # ---- cases ----

    def bug(self, label):
        if in_files(label["program"]):
            yield from self.files_bug(label)
            return
        seen, make = label["seen_by"], self.maker(label["id"], label)
        analyses = ["misuse", "oracle"] + (["crash"] if "crash" in seen or not self.quick else [])
        replay = {"times": self.replays}
        if self.quick:  # a sample
            replay = {"times": 1, "findings": 1} if zlib.crc32(label["id"].encode()) % 4 == 0 else None
        yield make("ops", analyses, self.some(), with_ops(corpus.ROOT.parent / label["ops"]), replay=replay,
                   hangs=label.get("hangs", False), more=self.more(label))
        if "output" in seen:
            yield make("output", ["output"], self.output(label["program"]), with_ops(corpus.ROOT.parent / label["ops"]), replay=replay,
                       hangs=label.get("hangs", False), more=self.more(label),
                       judges=("continue",) if label.get("damage") == "later" else ("probe",))
        row = self.table.get(label["id"])
        if "input" not in seen or (self.quick and not row.get("quick")):
            return
        yield make("input", ["input"], {"crash_states": STATES, **self.paths(True, row)}, with_row(row), row=row, replay={"times": 1})
        if not self.quick:
            yield make("seed", ["misuse", "crash"] if row.get("recover") else ["misuse"], {"states": STATES}, with_row(row), row=row)

    def files_bug(self, label):
        """Under each model that shows it; in the quick form under one of them. Under the others nothing may be found, nor by what does not see it."""
        seen, make, ops = set(label["seen_by"]), self.maker(label["id"], label), with_ops(corpus.ROOT.parent / label["ops"])
        models = [zlib.crc32(label["id"].encode()) % len(label["models"])] if self.quick else range(len(label["models"]))
        replay = {"times": 1, "findings": 1} if self.quick and zlib.crc32(label["id"].encode()) % 8 == 0 else None if self.quick else {"times": self.replays}
        for model in (label["models"][i] for i in models):
            same = {"replay": replay, "hangs": label.get("hangs", False), "more": self.more(label), "model": model}
            if not self.quick or seen - {"output"}:
                analyses = ["misuse"] if self.quick and "crash" not in seen else ["misuse", "crash"]
                yield make(f"ops, {model}", analyses, self.some(), ops, **same)
            if "output" in seen:
                yield make(f"output, {model}", ["output"], self.some(), ops, judges=("continue",) if label.get("damage") == "later" else ("probe",), **same)
        for model in [] if self.quick else sorted({*FILE_MODELS} - {*label["models"]}):
            yield make(f"not, {model}", ["crash"], self.some(), ops, model=model)

    def files_correct(self, subject, about, small):
        """A trap or a clean program, under each model. The analyses that need no crash find the same under all."""
        make, drawn = self.maker(subject, about), FILE_MODELS[zlib.crc32(subject.encode()) % len(FILE_MODELS)]
        for model, path in ((model, path) for path in small for model in FILE_MODELS):
            first = ["misuse"] if model == FILE_MODELS[0] else []
            if not self.quick or not about.get("trap") or model == drawn:
                yield make(f"{path.stem}, {model}", ["misuse", "crash"] if self.quick and about.get("trap") else [*first, "crash"], self.some(), with_ops(path),
                           model=model)
            if not (self.quick and model == drawn):
                yield make(f"{path.stem}, output, {model}", ["output"], self.some(), with_ops(path), judges=("probe", "continue"), model=model)
        for model in () if self.quick else FILE_MODELS:
            yield make(f"random 1, {model}", ["misuse", "crash"], self.some(), random_ops(about["program"], 1, QUICK_RANDOM_OPS), model=model)

    def trap(self, label):
        if in_files(label["program"]):
            yield from self.files_correct(label["id"], label, [corpus.ROOT.parent / label["ops"]])
            return
        program, make = label["program"], self.maker(label["id"], label)
        yield make("ops", ["misuse", "oracle", "crash"], self.all(program), with_ops(corpus.ROOT.parent / label["ops"]))
        yield make("output", ["output"], self.output(program), with_ops(corpus.ROOT.parent / label["ops"]), judges=("probe", "continue"))
        if not self.quick:
            yield make("random 1", ["crash"], self.some(), random_ops(program, 1, RANDOM_OPS))
        row = self.table[program]
        yield make("input", ["input"], self.paths(False, row), with_row(row), row=row)

    def clean(self, program):
        make, small = self.maker(program, {"program": program, "flag": "clean"}), ops_of(program)
        one = max([f for f in small if operations(f) <= SMALL] or small[:1], key=operations)
        if in_files(program):
            yield from self.files_correct(program, {"program": program, "flag": "clean"}, [one] if self.quick else small)
            return
        if self.quick:
            yield make("random 1", ["misuse", "oracle"], {}, random_ops(program, 1, QUICK_RANDOM_OPS))
            yield make(one.stem, ["crash"], self.all(program), with_ops(one))
            yield make("output", ["output"], self.output(program), with_ops(one), judges=("probe", "continue"))
        else:
            for path in small:
                yield make(path.stem, ["misuse", "oracle", "crash"], self.all(program), with_ops(path))
                yield make(f"{path.stem}, output", ["output"], self.output(program), with_ops(path), judges=("probe", "continue"))
            yield make("random 1", ["misuse", "oracle", "crash"], self.some(), random_ops(program, 1, RANDOM_OPS))
            yield make("random 2", ["misuse", "oracle"], {}, random_ops(program, 2, RANDOM_OPS))
        row = self.table[program]
        yield make("input", ["input"], self.paths(False, row), with_row(row), row=row)

    @staticmethod
    def maker(subject, about):
        def make(part, analyses, effort, files, **more):
            return Case(subject, part, about["program"], about["flag"], analyses, effort, files, **more)
        return make
