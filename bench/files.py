# SPDX-License-Identifier: BSD-3-Clause
"""The section `files` of bench/run: recording sqlite3, recoveries a second on small folders, and what a large file costs."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
INSERTS, EACH = 20000, 100  # rows, and rows in a transaction
IMAGES = 300
SPARSE = 1 << 30  # bytes of a file of which 40 KiB are touched


def crash(bench, tool, blocks, size):
    """The figures of a campaign on a file of this size; and KiB that are kept of it."""
    folder = bench.dir / f"files-{size}"
    folder.mkdir()
    with open(folder / "blocks", "wb") as f:
        f.write(bytes(40960))
        f.truncate(size)
    report = folder / "report.json"
    subprocess.run([tool, "crash", "-q", "--model", "posix", "--budget", str(IMAGES), "-o", folder / "trace",
                    "--json", report, "--recover", f"{blocks} good check", "--", blocks, "good", "run"],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kept = sum(f.stat().st_blocks for f in (folder / "trace").iterdir()) / 2
    return json.loads(report.read_text())["stats"], kept


def run(bench, tool, none, record):
    sql = bench.dir / "inserts.sql"
    rows = [f"insert into t values({i}, 'a row of some length {i}');" for i in range(INSERTS)]
    lines = ["create table t(a integer primary key, b);"]
    for i in range(0, INSERTS, EACH):
        lines += ["begin;", *rows[i:i + EACH], "commit;"]
    sql.write_text("\n".join(lines) + "\n")
    shell = ["sh", "-c", f"rm -f {bench.dir}/db; exec \"$@\"", "sh"]
    sqlite = ["sqlite3", str(bench.dir / "db"), f".read {sql}"]
    alone, recorded = bench.time([*shell, *none, *sqlite], [*shell, *record(bench, sqlite)])
    bench.row(f"record/none, sqlite3, {INSERTS} inserts, {EACH} in a transaction", recorded / alone, 3,
              detail=f"{recorded:.2f} s, {alone:.2f} s")
    blocks = bench.build("blocks", "-D_GNU_SOURCE", source=ROOT / "tests" / "cli" / "programs-crash" / "blocks.c")
    for size, what in ((40960, "40 KiB"), (SPARSE, "1 GiB")):
        stats, kept = crash(bench, tool, blocks, size)
        bench.row(f"recoveries a second, a file of {what}", stats["tested"] / stats["seconds_recovery"], 100, "/s", True,
                  detail=f"{stats['tested']} on {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.0f}")
    bench.row("KiB kept of a file of 1 GiB with 40 KiB of data", kept, 1024, "KiB")
