# SPDX-License-Identifier: BSD-3-Clause
"""The section `explore` of bench/run: paths a second, the cost of what is concrete, memory, and how
soon the corpus's bugs are found with `pm` and with `coverage`."""
import json
import math
import os
import pathlib
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "corpus"), str(ROOT / "corpus" / "adapters")]
sys.dont_write_bytecode = True
import cases  # noqa: E402
import corpus  # noqa: E402
import holdfast  # noqa: E402
import judge  # noqa: E402

PARSER_PATHS = 1000
OBJ_PATHS = 100
NODES = 400000  # rounds of bench/nodes.c
SEARCH_PATHS, SEARCH_SECONDS = 3000, 120
# Programs with a table in PM and how many paths they have, which their comments count by hand. KLEE 3.2 on a parser of this shape (three
# commands of four bytes, put, get, delete, add and swap on 16 slots, on LLVM bitcode): 784 paths, then it ends, in 14 s of CPU.
TABLES = {"slots": 574, "chains": 559}
KLEE_CPU, RUNS_PER_PATH = 14, 1.5


def command(bench, *options):
    """An exploration on one core, whose report goes to bench.report."""
    return [bench.holdfast, "explore", "-q", "-j", "1", "--fail-on", "none", "--fresh", "-o", bench.dir / "explored",
            "--json", bench.report, *options]


def stats_of(bench, *options):
    """The figures of an exploration that knows nothing from earlier ones."""
    for kept in bench.cache.rglob("*.learnt"):
        kept.unlink()
    subprocess.run(command(bench, *options), check=True, stdout=subprocess.DEVNULL, env=bench.env)
    return json.loads(bench.report.read_text())["stats"]


def corpus_binary(bench, program, flag):
    out = bench.dir / "corpus"
    subprocess.run(["make", "-s", "-C", corpus.ROOT, f"OUT={out}", f"INCLUDE={ROOT / 'include'}", out / program / flag], check=True)
    return out / program / flag


def fresh(bench):
    pool = bench.pool / "explore.pool"
    pool.unlink(missing_ok=True)
    return pool


def bench_paths(bench):
    """Paths a second, all on one core: program, tracer and solver."""
    parser = bench.build("parser", source=ROOT / "tests" / "explore" / "parser.c")
    queue, ops = corpus_binary(bench, "pmemobj/queue", "clean"), bench.dir / "ops"
    ops.write_text("put 7 11\nput 7 2\n")
    for name, least, options in (
            ("parser, 12 bytes", 150, ["--max-paths", str(PARSER_PATHS), "--sym-stdin", "12", "--", parser, fresh(bench)]),
            ("libpmemobj queue, 8 bytes", 10, ["--max-paths", str(OBJ_PATHS), "--sym-file", f"{ops}:9-17", "--",
                                               queue, "run", fresh(bench), ops])):
        rounds = [stats_of(bench, *options) for _ in range(min(bench.runs, 3))]
        stats = sorted(rounds, key=lambda s: s["paths"] / s["seconds"])[len(rounds) // 2]
        bench.row(f"paths a second on one core, {name}", stats["paths"] / stats["seconds"], least, "/s", True,
                  detail=f"{stats['paths']:.0f} paths in {stats['seconds']:.1f} s; {stats['queries']:.0f} queries")
        bench.row("    share of the solver", 100 * stats["solver_seconds"] / stats["seconds"], unit="%")
        bench.row("    answered from the cache", 100 * stats["cache_hits"] / max(stats["queries"], 1), unit="%",
                  detail=f"{100 - 100 * stats['z3_queries'] / max(stats['queries'], 1):.0f} % without Z3")


def bench_ends(bench):
    """Explorations that come to an end by themselves, with all paths, though addresses depend on the input."""
    seed = bench.dir / "zeros"
    seed.write_bytes(bytes(12))
    for name, paths in TABLES.items():
        program = bench.build(name, "-O1", "-fno-stack-protector", source=ROOT / "tests" / "explore" / f"{name}.c")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        stats = stats_of(bench, "--max-time", "5m", "--sym-stdin", "12", "--seed", seed, "--", program, fresh(bench))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        ended = not json.loads(bench.report.read_text()).get("incomplete")
        bench.row(f"CPU of all paths, {name}, 12 bytes", cpu, KLEE_CPU, " s",
                  detail=f"{stats['paths']:.0f} paths; KLEE 3.2: 784 paths of such a parser in {KLEE_CPU} s")
        bench.row("    runs a path", stats["runs"] / stats["paths"], RUNS_PER_PATH, "")
        bench.row("    paths more or less than there are, and it did not end", abs(stats["paths"] - paths) + (not ended), 0, "")


def bench_concrete(bench):
    """Programs that never use their input: all of the run is what is concrete. It is recorded and judged while it runs, as `check` does it."""
    for name, ops in (("rawhash", 4000000), ("objtree", 200000), ("volatile", 60)):
        program = bench.program(name, ops)
        record = [bench.holdfast, "record", "-q", "--force", "-o", bench.dir / "trace", "--", *program]
        check = [bench.holdfast, "check", "-q", "--fail-on", "none", "--", *program]
        alone = command(bench, "--max-paths", "1", "--sym-stdin", "1", "--", *program)
        recorded, checked, explored = bench.time(record, check, alone)
        again = json.loads(bench.report.read_text())["stats"]["self_check_seconds"]
        bench.row(f"explore / check, what is concrete, {name} {ops}", (explored - again) / checked, 2,
                  detail=f"check {checked:.2f} s, explore {explored:.2f} s, of which {again:.2f} s to record its first input again, once an exploration")
        bench.row("    explore / record, all of it", explored / recorded, detail=f"record {recorded:.2f} s")


def bench_memory(bench, peak_kib):
    program = [bench.build("nodes"), fresh(bench), str(NODES)]
    options = ["--max-paths", "2", "--sym-stdin", "8", "--", *program]
    peak = peak_kib(command(bench, *options)) / 1024  # of the largest process: holdfast itself, or the program
    stats = json.loads(bench.report.read_text())["stats"]
    bench.row("memory for a million nodes", peak / stats["nodes"] * 1e6, 2048, "MiB", detail=f"{stats['nodes']:.0f} nodes, {peak:.0f} MiB")


def paths_until(bench, label, strategy):
    """After how many paths the bug is found, and whether it is: if not, how many were tried."""
    case = next(c for c in cases.Plan(False, 0, SEARCH_SECONDS, 0, 0).bug(label) if c.part == "input")
    case.effort["paths"] = SEARCH_PATHS
    for name, data in case.files.items():
        (bench.dir / name).write_bytes(data)
    (bench.dir / "pool").unlink(missing_ok=True)
    request = case.request(corpus.Tree(), str(corpus_binary(bench, label["program"], label["flag"])), str(bench.dir), judge.free_port())
    stats = stats_of(bench, "--strategy", strategy, *holdfast.explore_options(request))
    findings = [(f["witness"]["path"], holdfast.neutral(f, "input")) for f in json.loads(bench.report.read_text())["findings"]]
    paths = [path for path, f in findings if judge.shows(f, label, judge.marker(label))]
    return (min(paths), True) if paths else (stats["runs"], False)


def bench_search(bench):
    """Paths until each bug of the corpus that needs certain input is found."""
    ratios, missed = [], {"pm": 0, "coverage": 0}
    print(f"   {'paths until it is found':<32} {'pm':>8} {'coverage':>8}")
    for label in corpus.load_labels():
        if "input" not in label["seen_by"]:
            continue
        paths = {s: paths_until(bench, label, s) for s in missed}
        print(f"   {label['id']:<32} " + " ".join(f"{'' if found else '>'}{n:.0f}".rjust(8) for n, found in paths.values()), flush=True)
        for s in missed:
            missed[s] += not paths[s][1]
        ratios.append(paths["pm"][0] / paths["coverage"][0])
    bench.row("paths with pm / with coverage, geometric mean", math.exp(sum(map(math.log, ratios)) / len(ratios)), 0.5,
              detail=f"{len(ratios)} bugs; not found: {missed['pm']} with pm, {missed['coverage']} with coverage")
    bench.row("bugs that pm does not find", missed["pm"], 0, "")


def bench_explore(bench, peak_kib):
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:1])  # solver, tracer and program take turns
    try:
        bench_paths(bench)
        bench_ends(bench)
    finally:
        os.sched_setaffinity(0, cores)
    bench_concrete(bench)
    bench_memory(bench, peak_kib)
    bench_search(bench)
