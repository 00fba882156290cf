# SPDX-License-Identifier: BSD-3-Clause
"""The corpus under other names: tokens, what is renamed and what is not, and whether all of it still compiles. Prints TAP.

usage: test_blind.py SOURCE-FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "corpus"))
import blind  # noqa: E402
import corpus  # noqa: E402

TRICKY = r'''#include <stdio.h>
#include "own.h" /* a comment
of two lines */
#define TWICE(x) ((x) + \
	(x)) // to the end \
of the next line
#pragma GCC push_options
#if defined(BUG_X) && !defined(__clang__)
struct __attribute__((packed, aligned(8))) thing { int field; };
#endif
static const char *text = "thing /* no comment */ \" still text", c = '"', d = '\'';
[[maybe_unused]] static double big = 1'000.5e+3, hex = 0x1p-3;
auto raw = R"x(thing )" thing)x";
int main(void) { return printf("%d", (int)big); }
'''


def renamed(text, kept=()):
    names = blind.Names(1, blind.KEYWORDS | set(kept))
    return "".join(blind.File(text).renamed(names.word, lambda name: f"<{name}>")), names


def tokens_are_the_text():
    for path in [*(SOURCE / "corpus").rglob("*.c"), *(SOURCE / "corpus").rglob("*.hpp")]:
        text = path.read_text()
        assert "".join(t for _, t in blind.tokens(text)) == text, path
    assert "".join(t for _, t in blind.tokens(TRICKY)) == TRICKY


def kinds_of_tokens():
    kinds = {t: kind for kind, t in blind.tokens(TRICKY)}
    assert kinds["1'000.5e+3"] == kinds["0x1p-3"] == "number"
    assert kinds[r'"thing /* no comment */ \" still text"'] == kinds["'\"'"] == kinds[r"'\''"] == "string"
    assert kinds['R"x(thing )" thing)x"'] == "string"
    assert kinds["/* a comment\nof two lines */"] == kinds["// to the end \\\nof the next line"] == "comment"


def names_change_and_nothing_else():
    out, names = renamed(TRICKY, {"printf", "GCC", "push_options"})
    for word in ("thing {", "field", "TWICE", "BUG_X", "*text", "big", "comment\n", "next line"):
        assert word not in out, word
    for word in ("#include <stdio.h>", '"<own.h>"', "#pragma GCC push_options", "defined(", "__clang__", "packed, aligned(8)",
                 '"thing /* no comment */', "maybe_unused", "int main(void)", 'R"x(thing )" thing)x"', "printf("):
        assert word in out, word
    assert names.word("thing") in out and f"-D{names.word('BUG_X')}" != "-DBUG_X"


def lines_stay():
    out, _ = renamed(TRICKY)
    assert out.count("\n") == TRICKY.count("\n")
    assert [n for n, line in enumerate(out.splitlines()) if "main" in line] == [
        n for n, line in enumerate(TRICKY.splitlines()) if "main" in line]


def words_depend_on_name_and_seed():
    one, two, other = blind.Names(1, set()), blind.Names(1, set()), blind.Names(2, set())
    names = [f"name{i}" for i in range(5000)]
    assert [one.word(n) for n in names] == [two.word(n) for n in reversed(names)][::-1]
    assert len({one.word(n) for n in names}) == len(names)
    assert one.word("flush") != other.word("flush")


def what_others_define_stays():
    kept = blind.foreign(corpus.files("pmemobj/list") + corpus.common(), "gcc", ["-xc", "-std=gnu11"])
    assert {"pmemobj_persist", "TOID_DECLARE", "POBJ_LIST_ENTRY", "uint64_t"} <= kept
    assert not {"pm_flush", "corpus_main", "pobj_open"} & kept


def functions_move_into_namespaces():
    text = '#include <vector>\n#ifndef G\n#define G\nint f() { return 1; }\nstatic int\nmain() { return f(); }\n#endif\n'
    file = blind.File(text)
    out = [t for _, t in file.token]
    file.wrap(out, ["a", "b"])
    lines = "".join(out).splitlines()
    assert lines[3] == "namespace a { namespace b { int f() { return 1; } } } using namespace a::b;", lines
    assert lines[5] == "main() { return f(); }", lines


def all_of_it_compiles(folder):
    """… and no name of the corpus is left in what is compiled."""
    tree = blind.Tree(folder, "7")
    tree.write()
    assert tree.word("FALLOC_FL_KEEP_SIZE") == "FALLOC_FL_KEEP_SIZE"  # of a header that shows it to _GNU_SOURCE alone
    for name in ("raw/log", "raw/sorted", "pmemobj/list"):
        for path in corpus.sources(name):
            new = tree.path(path)
            compiler = ["g++", "-std=gnu++17"] if new.suffix == ".cc" else ["gcc", "-std=gnu11"]
            obj = pathlib.Path(folder) / "out.o"
            subprocess.run([*compiler, "-c", "-g", "-w", f"-I{folder}", f"-I{blind.INCLUDE}", "-o", obj, new], check=True)
            held = obj.read_bytes()
            for word in (path.name, "pm_flush", "corpus_main", "SortedList"):
                assert word.encode() not in held, (name, word)
            assert tree.word("corpus_main").encode() in held, name


def main():
    with tempfile.TemporaryDirectory() as folder:
        tests = [tokens_are_the_text, kinds_of_tokens, names_change_and_nothing_else, lines_stay, words_depend_on_name_and_seed,
                 what_others_define_stays, functions_move_into_namespaces, lambda: all_of_it_compiles(folder)]
        failed = 0
        print(f"1..{len(tests)}")
        for number, test in enumerate(tests, 1):
            name = "all of it compiles" if number == len(tests) else test.__name__.replace("_", " ")
            try:
                test()
                print(f"ok {number} {name}")
            except Exception:  # pylint: disable=broad-except
                failed += 1
                print(f"not ok {number} {name}")
                print("\n".join(f"# {line}" for line in traceback.format_exc().splitlines()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
