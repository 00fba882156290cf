# SPDX-License-Identifier: BSD-3-Clause
"""What the corpus scripts share: programs, labels, op files, and the in-memory references."""

import json
import pathlib
import random

ROOT = pathlib.Path(__file__).resolve().parent
DEFAULT_MIX = {"put": 45, "get": 20, "del": 20, "upd": 15, "scan": 0}


def load_program(name):
    """A program ("raw/log"): the contents of its program.json."""
    return {"mode": "map", "keys": 200, "scan": False, "libs": "", "selftest": True,
            **json.loads((ROOT / name / "program.json").read_text())}


def load_programs():
    """All programs by name."""
    names = (str(path.parent.relative_to(ROOT)) for path in sorted(ROOT.glob("*/*/program.json")))
    return {name: load_program(name) for name in names}


def files(name):
    """The sources and headers of a program."""
    return sorted(p for p in (ROOT / name).iterdir() if p.suffix in (".c", ".h", ".cc", ".hpp"))


def sources(name):
    """What is compiled of a program: C, or C++ if it has any."""
    return [p for p in files(name) if p.suffix in (".c", ".cc")]


def common():
    """What all programs share."""
    return files("common")


class Tree:
    """What binaries are built from: the corpus as it is. blind.Tree has it under other names."""

    root = ROOT

    def word(self, name):
        """What an identifier is called."""
        return name

    def path(self, path):
        """Where a file of the corpus is."""
        return path

    def write(self):
        """Makes the files."""


def load_labels():
    """All labels in file order."""
    text = (ROOT / "labels.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def load_classes():
    """The classes of bugs by name: what they mean, and what tools call them."""
    rows = [json.loads(line) for line in (ROOT / "classes.jsonl").read_text().splitlines() if line.strip()]
    return {row["class"]: row for row in rows}


def classes_of(tool):
    """The classes that each word of a tool stands for."""
    words = {}
    for name, row in load_classes().items():
        for word in row.get(tool, []):
            words.setdefault(word, []).append(name)
    return words


def generate(seed, count, mix=None, keys=200):
    """Random operations. Half of them go to a small, slowly moving set of hot keys, so that
    updates, deletes, re-insertions and collisions are frequent."""
    rng = random.Random(seed)
    mix = mix or DEFAULT_MIX
    verbs, weights = zip(*mix.items())
    hot = [rng.randint(1, keys) for _ in range(max(2, keys // 16))]
    for _ in range(count):
        if rng.random() < 0.02:
            hot[rng.randrange(len(hot))] = rng.randint(1, keys)
        key = rng.choice(hot) if rng.random() < 0.5 else rng.randint(1, keys)
        verb = rng.choices(verbs, weights)[0]
        if verb in ("put", "upd"):
            yield f"{verb} {key} {rng.randint(1, 999999)}"
        elif verb == "scan":
            yield f"scan {key} {rng.randint(1, 8)}"
        else:
            yield f"{verb} {key}"


class MapReference:
    """Key-value semantics: what most programs implement."""

    def __init__(self, scan=False):
        self.data = {}
        self.has_scan = scan

    def execute(self, verb, key, arg):
        return getattr(self, verb)(key, arg)

    def put(self, key, value):
        old = self.data.get(key)
        self.data[key] = value
        return "new" if old is None else f"old {old}"

    def upd(self, key, value):
        return self.put(key, value) if key in self.data else "none"

    def get(self, key, _):
        return str(self.data[key]) if key in self.data else "none"

    def delete(self, key, _):
        return f"old {self.data.pop(key)}" if key in self.data else "none"

    def scan(self, key, n):
        if not self.has_scan:
            return "na"
        keys = sorted(k for k in self.data if k >= key)[:n]
        return " ".join(f"{k}={self.data[k]}" for k in keys) or "none"


class ArrayReference(MapReference):
    """A growable array indexed by key. put past the end grows it, filling with 0; del K cuts it to
    K elements; upd never grows."""

    def __init__(self, scan=False):
        super().__init__(scan)
        self.data = []

    def put(self, key, value):
        if key < len(self.data):
            old = self.data[key]
            self.data[key] = value
            return f"old {old}"
        self.data += [0] * (key - len(self.data)) + [value]
        return "new"

    def upd(self, key, value):
        return self.put(key, value) if key < len(self.data) else "none"

    def get(self, key, _):
        return str(self.data[key]) if key < len(self.data) else "none"

    def delete(self, key, _):
        if key >= len(self.data):
            return "none"
        old = self.data[key]
        del self.data[key:]
        return f"old {old}"

    def scan(self, key, n):
        if not self.has_scan:
            return "na"
        part = range(key, min(key + n, len(self.data)))
        return " ".join(f"{i}={self.data[i]}" for i in part) or "none"


class QueueReference(MapReference):
    """First in, first out. put enqueues (key, value); del dequeues and get reads the oldest entry,
    the key being ignored; upd replaces the oldest entry's value; scan lists from the oldest."""

    def __init__(self, scan=False):
        super().__init__(scan)
        self.data = []

    def put(self, key, value):
        self.data.append((key, value))
        return "new"

    def upd(self, key, value):
        if not self.data:
            return "none"
        old = self.data[0]
        self.data[0] = (old[0], value)
        return f"old {old[1]}"

    def get(self, key, _):
        return str(self.data[0][1]) if self.data else "none"

    def delete(self, key, _):
        return f"old {self.data.pop(0)[1]}" if self.data else "none"

    def scan(self, key, n):
        if not self.has_scan:
            return "na"
        return " ".join(f"{k}={v}" for k, v in self.data[:n]) or "none"


MODES = {"map": MapReference, "array": ArrayReference, "queue": QueueReference}


def reference(program):
    """A fresh reference for a program (an entry of load_programs())."""
    return MODES[program["mode"]](program["scan"])


def expected(ref, line):
    """Executes one op line on a reference and returns the result line a program must print."""
    verb, key, *rest = line.split()
    arg = int(rest[0]) if rest else None
    return ref.execute({"del": "delete"}.get(verb, verb), int(key), arg)
