# SPDX-License-Identifier: BSD-3-Clause
"""A C project of many files, with stores that nobody flushes: what `holdfast fix` costs on something large."""
import json
import subprocess

FILES, LINES, BUGS = 100, 500, 4  # files, lines of each, stores of each that are not flushed

HEADER = """#include <stddef.h>
#include <stdint.h>
struct pool { uint64_t word[{words}][8]; };
void flush(const void *at, size_t n);
void fence(void);
{prototypes}
"""

MAIN = """#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "project.h"
void flush(const void *at, size_t n)
{{
	uintptr_t line = (uintptr_t)at & ~(uintptr_t)63;
	for (; line < (uintptr_t)at + n; line += 64)
		__asm__ volatile("clflush %0" : "+m"(*(volatile char *)line) : : "memory");
}}
void fence(void)
{{
	__asm__ volatile("sfence" : : : "memory");
}}
int main(int argc, char **argv)
{{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, sizeof(struct pool)))
		return 2;
	struct pool *p = mmap(NULL, sizeof(struct pool), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (size_t i = 0; i < {words}; i++)
		p->word[i][0] = i;
	flush(p, sizeof(*p));
	fence();
{calls}
	return 0;
}}
"""

STORE = """void set_{name}(struct pool *p, uint64_t value)
{{
	if (value & 1)
		value = mix_{file}_0(value);
	p->word[{word}][0] = value;
}}
"""

MIX = """static uint64_t mix_{file}_{n}(uint64_t value)
{{
	uint64_t sum = value;
	for (unsigned i = 0; i < {n} + 3; i++) {{
		if (sum & 1)
			sum = sum * 3 + i;
		else
			sum /= 2;
	}}
	return sum;
}}
"""


def write(folder):
    """The project in the folder, built as `project`. Returns how many lines it has."""
    folder.mkdir()
    names = [f"{file}_{bug}" for file in range(FILES) for bug in range(BUGS)]
    (folder / "project.h").write_text(HEADER.replace("{words}", str(len(names))).replace(
        "{prototypes}", "\n".join(f"void set_{n}(struct pool *p, uint64_t value);" for n in names)))
    (folder / "main.c").write_text(MAIN.format(words=len(names), calls="\n".join(f"\tset_{n}(p, {2 * i});" for i, n in enumerate(names))))
    for file in range(FILES):
        mixes = (LINES - BUGS * STORE.count("\n")) // MIX.count("\n")
        text = '#include "project.h"\n' + MIX.format(file=file, n=0)
        text += "".join(STORE.format(name=f"{file}_{b}", file=file, word=file * BUGS + b) for b in range(BUGS))
        text += "".join(MIX.format(file=file, n=n).removeprefix("static ") for n in range(1, mixes))
        (folder / f"part{file}.c").write_text(text)
    sources = sorted(folder.glob("*.c"))
    (folder / "compile_commands.json").write_text(json.dumps(
        [{"directory": str(folder), "file": s.name, "command": f"cc -O1 -g -c {s.name}"} for s in sources]))
    for source in sources:
        subprocess.run(["cc", "-O1", "-g", "-c", source.name], cwd=folder, check=True)
    subprocess.run(["cc", "-o", "project", *(s.with_suffix(".o").name for s in sources)], cwd=folder, check=True)
    return sum(s.read_text().count("\n") for s in [*sources, folder / "project.h"])


def bench_project(bench, holdfast, env, peak_kib):
    """The time and memory of a patch for all of it; and what three more findings in each file cost, which are parsed anyway."""
    folder, trace, report = bench.dir / "project", bench.dir / "project.trace", bench.dir / "project.json"
    lines = write(folder)
    run = lambda *words: subprocess.run([holdfast, *words], env=env, check=False, stdout=subprocess.DEVNULL)
    run("record", "-q", "-o", trace, "--", folder / "project", bench.pool / "project.pool")
    run("check", "-q", "--json", report, trace)
    found = json.loads(report.read_text())["findings"]
    first = {f["stack"][0]["file"]: f["id"] for f in found}
    fix = [holdfast, "fix", "-q", "--source", folder, "--patch", bench.dir / "project.patch", trace]
    every, one = bench.time(fix, [*fix[:-1], *(w for i in first.values() for w in ("--only", i)), trace])
    said = f"{len(found)} findings in {len(first)} files"
    bench.row(f"fix: a project of {lines} lines", every, 60, unit=" s", detail=said)
    bench.row(f"fix: a project of {lines} lines, memory", peak_kib(fix) / 1024, 1024, unit=" MiB", detail=said)
    bench.row("fix: planning of 100 findings beyond parsing", max(every - one, 0) / max(len(found) - len(first), 1) * 100, 1, unit=" s",
              detail=f"{every:.2f} s for all, {one:.2f} s for {len(first)}")
