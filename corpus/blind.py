# SPDX-License-Identifier: BSD-3-Clause
"""The corpus under other names: every function, file, type, field, variable and macro of its own becomes a random word.

What a finder says must not depend on what people call things. Names are replaced in the tokens of the sources, not with
#define, so that symbols and debug information have the new ones; comments go. Lines stay where they are: a marked
statement has the same line in the renamed file. What others define keeps its name: keywords, whatever the included headers of
the system, of libraries and of Holdfast mention, attributes, strings, main. The functions of C++ programs are moved into
namespaces. A name and a seed always give the same word.
"""
import fnmatch
import hashlib
import json
import pathlib
import re
import shutil
import subprocess

import corpus

INCLUDE = corpus.ROOT.parent / "include"
TOKEN = re.compile(r"""
    (?P<comment> //(?:\\\n|[^\n])* | /\*.*?\*/ )
  | (?P<string> (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)" | (?:u8|[uUL])?(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*') )
  | (?P<number> \.?[0-9](?:[eEpP][+-]|'(?=\w)|[\w.])* )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<space> (?:\\\n|[^\S\n])+ )
  | (?P<newline> \n )
  | (?P<other> . )""", re.X | re.S)
BLANK = {"comment", "space", "newline"}
KEYWORDS = set("""
    auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return
    short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof main defined
    alignas alignof bool catch class constexpr const_cast decltype delete dynamic_cast explicit export false final friend mutable
    namespace new noexcept nullptr operator override private protected public reinterpret_cast static_assert static_cast template
    this thread_local throw true try typeid typename using virtual wchar_t char16_t char32_t""".split())
RESERVED = re.compile(r"_[A-Z_]")
SYLLABLES = [c + v for c in "b d f g h j k l m n p r s t v z".split() for v in "a e i o u".split()]
OPEN, CLOSE = set("([{"), set(")]}")


def tokens(text):
    """(kind, text) of each; together they are the text."""
    return [(m.lastgroup, m[0]) if m.lastgroup != "mark" else ("string", m[0]) for m in TOKEN.finditer(text)]


def words(text):
    return {t for kind, t in tokens(text) if kind == "word"}


def blank(comment):
    """As many lines as it had."""
    return "\n" * comment.count("\n") or " "


# ---- one file ----

class File:
    """The tokens of a file, and what each is part of."""

    def __init__(self, text):
        self.token = tokens(text)
        self.part = [""] * len(self.token)  # "include", "line" (of a directive that is left alone), "directive", "attribute" or ""
        self.directives()
        self.attributes()

    def directives(self):
        fresh, name = True, None  # at the beginning of a line; the directive that it is
        for i, (kind, text) in enumerate(self.token):
            if kind == "newline":
                fresh, name = True, None
            elif fresh and text == "#":
                name, fresh = "", False
            elif name == "" and kind == "word":
                name, self.part[i] = text, "line"
                continue
            elif kind not in BLANK:
                fresh = False
            if name is not None:
                self.part[i] = {"include": "include", "pragma": "line", "error": "line", "line": "line"}.get(name, "directive")

    def attributes(self):
        """What stands in __attribute__((…)) and [[…]]."""
        solid = [i for i, (kind, _) in enumerate(self.token) if kind not in BLANK]
        for at, i in enumerate(solid):
            two = "".join(self.token[k][1] for k in solid[at:at + 2])
            if self.token[i][1] not in ("__attribute__", "__attribute") and two != "[[":
                continue
            depth = 0
            for k in solid[at + (two != "[["):]:
                depth += (self.token[k][1] in OPEN) - (self.token[k][1] in CLOSE)
                self.part[k] = self.part[k] or "attribute"
                if depth == 0:
                    break

    def code(self):
        """The tokens that are neither blank nor a directive's."""
        return [i for i, (kind, _) in enumerate(self.token) if kind not in BLANK and self.part[i] in ("", "attribute")]

    def renamed(self, word, path):
        """The texts of the tokens with other names; path: what an included file of one's own is called."""
        out = []
        for (kind, text), part in zip(self.token, self.part):
            if kind == "comment":
                text = blank(text)
            elif kind == "word" and part in ("", "directive"):
                text = word(text)
            elif kind == "string" and part == "include":
                text = f'"{path(text[1:-1])}"'
            out.append(text)
        return out

    def main(self, code):
        """Where the definition of main begins, in code; its length if there is none."""
        start, depth = 0, 0
        for at, i in enumerate(code):
            text = self.token[i][1]
            if text == "main" and depth == 0:
                return start
            depth += (text in OPEN) - (text in CLOSE)
            if depth == 0 and text in (";", "}"):
                start = at + 1
        return len(code)

    def wrap(self, out, names):
        """Puts all but main into namespaces, on the lines that are there."""
        last = max((i for i, part in enumerate(self.part) if part == "include"), default=-1)
        code = [i for i in self.code() if i > last]
        end = self.main(code)
        if not end:
            return
        out[code[0]] = "".join(f"namespace {n} {{ " for n in names) + out[code[0]]
        using = "" if end == len(code) else f" using namespace {'::'.join(names)};"
        out[code[end - 1]] += " }" * len(names) + using


# ---- names ----

class Names:
    """The words that names become. kept: those that stay."""

    def __init__(self, seed, kept):
        self.seed, self.kept, self.given = seed, kept, {}

    def word(self, name):
        if name in self.kept or RESERVED.match(name):
            return name
        return self.fresh(name)

    def fresh(self, name):
        """A word for a name, whatever it is."""
        digest = hashlib.sha256(f"{self.seed} {name}".encode()).digest()
        word = "".join(SYLLABLES[byte % len(SYLLABLES)] for byte in digest[:5])
        if word in self.kept or self.given.setdefault(word, name) != name:
            raise RuntimeError(f"seed {self.seed} has no word for {name}: take another")
        return word


def foreign(files, compiler, options):
    """All words in what files include that is not the corpus's own, and in what the compiler defines."""
    lines = sorted({f"#include {m}" for path in files for m in re.findall(r'^#\s*include\s+([<"][^>"]+[>"])', path.read_text(), re.M)
                    if m[0] == "<" or not any((folder / m[1:-1]).exists() for folder in (path.parent, corpus.ROOT))})
    done = subprocess.run([compiler, "-E", "-dD", *options, f"-I{INCLUDE}", "-"], input="\n".join(lines) + "\n", stdout=subprocess.PIPE,
                          check=True, text=True)
    return words(re.sub(r"^# \d.*$", "", done.stdout, flags=re.M))


# ---- the tree ----

class Tree(corpus.Tree):
    """The sources of the corpus under other names, in a folder of their own."""

    def __init__(self, root, seed):
        super().__init__()
        self.root = pathlib.Path(root)
        common = corpus.common()
        files = [p for name in corpus.load_programs() for p in corpus.files(name)] + common
        plus = [p for p in files if p.suffix in (".cc", ".hpp")]
        # Some programs define _GNU_SOURCE: what headers hide from the others keeps its name, too.
        kept = KEYWORDS | foreign([p for p in files if p not in plus], "gcc", ["-xc", "-std=gnu11", "-D_GNU_SOURCE"])
        more = foreign(plus + common, "g++", ["-xc++", "-std=gnu++17"]) if plus else set()
        shared = set().union(*(words(p.read_text()) for p in common))
        # What both languages see has one name in both.
        self.c, self.plus = Names(seed, kept | more & shared), Names(seed, kept | more)
        self.files = files

    def word(self, name):
        return self.c.word(name)

    def path(self, path):
        """Where a file of the corpus is."""
        *folders, file = path.relative_to(corpus.ROOT).parts
        stem, dot, ending = file.partition(".")
        return self.root.joinpath(*(self.c.fresh(f) for f in folders), self.c.fresh(f"file {stem}") + dot + ending)

    def included(self, path, name):
        """What an include of this name is called in a file."""
        for folder in (path.parent, corpus.ROOT):
            if (folder / name).exists():
                new = self.path(folder / name)
                return new.name if folder == path.parent else str(new.relative_to(self.root))
        return name

    def text(self, path):
        file, names = File(path.read_text()), self.plus if path.suffix in (".cc", ".hpp") else self.c
        out = file.renamed(names.word, lambda name: self.included(path, name))
        if names is self.plus:
            file.wrap(out, [self.plus.fresh(f"{depth} namespace of {path.parent}") for depth in ("outer", "inner")])
        return "".join(out)

    def write(self):
        shutil.rmtree(self.root, ignore_errors=True)
        for path in self.files:
            place = self.path(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(self.text(path))


# ---- builds ----

BUILDS = {f"{cc}{level}": (cc, cxx, level) for cc, cxx in (("gcc", "g++"), ("clang", "clang++")) for level in ("-O0", "-O2")}
EXCUSES = corpus.ROOT / "blind.jsonl"


def load_excuses():
    """What a compiler takes away from a bug: rows of `id`, `builds` (a glob), `analyses` and `why`."""
    return [json.loads(line) for line in EXCUSES.read_text().splitlines() if line.strip()]


class Build:
    """One way to build the programs, and where its binaries and results are: as they are, or renamed."""

    def __init__(self, binaries, out, name="", tree=None, make=()):
        self.bin, self.out, self.name, self.tree, self.make = binaries, out, name, tree or corpus.Tree(), make
        self.title, self.about = (f"{name}: ", f"with other names, {name}") if name else ("", "")

    def place(self, path, line):
        """Of a statement, in what is built."""
        return self.tree.path(path), line

    def excused(self):
        """(id, analysis) of what this build does not show."""
        rows = [r for r in load_excuses() if fnmatch.fnmatch(self.name, r["builds"])] if self.name else []
        return {(r["id"], who) for r in rows for who in (*r["analyses"], "found")}

    def forget(self):
        """Binaries and sources under other names are not needed any more."""
        if self.name:
            shutil.rmtree(self.bin, ignore_errors=True)


def build(name, seed, out):
    """With other names, in a folder of its own."""
    cc, cxx, level = BUILDS[name]
    place = out / name / "bin"
    return Build(place, out / name, name, Tree(place / "sources", seed), [f"BLIND={seed}", f"CC={cc}", f"CXX={cxx}", f"CFLAGS={level} -g -w"])
