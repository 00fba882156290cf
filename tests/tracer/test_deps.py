#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Dependences (record --deps): random snippets against an interpreter (gen_deps.py), and how programs are made (deps_more.c)."""
import pathlib
import sys

import harness
from harness import case, check, once, same

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import gen_deps  # noqa: E402

SNIPPETS = 4000


def told(events):
    """What gen_deps expects of an operation, from its events; loads by their order in it."""
    order, out = {}, []
    for e in events:
        data = frozenset(order.get(n, ("outside", n)) for n in e.get("from", []))
        address = frozenset(order.get(n, ("outside", n)) for n in e.get("address_from", []))
        if e["kind"] == "load":
            order[e["num"]] = len(order)
            out.append(("load", e["offset"], e["args"]["size"], address))
        elif e["kind"] == "store":
            out.append(("store", e["offset"], e["size"], data, address))
        elif e["kind"] == "branch":
            out.append(("branch", data))
    return out


def by_operation(trace):
    current, found = None, {}
    for e in trace.events:
        if e["kind"] == "op-begin":
            current = e["args"]["id"]
            found[current] = []
        elif e["kind"] == "op-end":
            current = None
        elif current is not None:
            found[current].append(e)
    return found


def renamed(event, names):
    """An expected event, with loads by the order in which they were recorded; None: it comes from one that was not."""
    sets = [frozenset(names.get(n) for n in x) if isinstance(x, frozenset) else x for x in event]
    return None if any(isinstance(x, frozenset) and None in x for x in sets) else tuple(sets)


def compare(got, wanted):
    """What is wrong, or None; and how many loads were not recorded. VEX leaves out those whose result nobody uses."""
    names, at, missing = {}, 0, 0
    for number, event in enumerate(wanted):
        if at < len(got) and got[at] == renamed(event, names):
            if event[0] == "load":
                names[sum(e[0] == "load" for e in wanted[:number])] = sum(e[0] == "load" for e in got[:at])
            at += 1
        elif event[0] == "load":
            missing += 1
        else:
            return f"it is {got[at:at + 1]} but should be {event}, with loads {names}", missing
    return (f"more than there should be: {got[at:]}" if at < len(got) else None), missing


@once
def recorded():
    return harness.record([harness.program("deps"), "pool"], "--deps")


@case("dependences of random snippets are those of the interpreter")
def _():
    operations = by_operation(recorded())
    wrong, events, missing = [], 0, 0
    for i, s in enumerate(gen_deps.snippets(SNIPPETS)):
        got = told(operations[i])
        bad, left_out = compare(got, s.events)
        events += len(got)
        missing += left_out
        if bad:
            wrong.append(f"snippet {i}: {bad}\n" + "\n".join(s.text))
    print(f"# {events} events; {missing} loads of no use")
    check(events > 5 * SNIPPETS, events)
    check(missing < events / 20, f"{missing} loads are missing")
    check(not wrong, f"{len(wrong)} of {SNIPPETS} are wrong; the first:\n" + "\n".join(wrong[:1]))


# ---- code of all sorts ----

KINDS = ["copies", "vectors", "masked", "floats", "helpers", "many", "adds", "exchanges", "fails", "calls", "pointers", "jumped",
         "loops", "overwritten", "remapped", "interrupted", "gathers", "forgotten"]


@once
def sorts():
    operations = by_operation(harness.record([harness.program("deps_more"), "pool", "operations"], "--deps"))
    return {name: operations[i] for i, name in enumerate(KINDS)}


def words(events, number):
    """The loads of pm[…] that an event comes from, as word numbers, newest first."""
    at = {e["num"]: e["offset"] // 8 for e in events if e["kind"] == "load"}
    return [at[n] for n in number]


def stores(events):
    """[(word, [words that its data comes from]), …]"""
    return [(e["offset"] // 8, words(events, e.get("from", []))) for e in events if e["kind"] == "store"]


def branches(events):
    return [words(events, e.get("from", [])) for e in events if e["kind"] == "branch"]


@case("what is copied byte by byte, or in vectors, comes from what was there")
def _():
    events = sorts()["copies"]
    loads = {e["num"]: range(e["offset"], e["offset"] + e["args"]["size"]) for e in events if e["kind"] == "load"}
    copied = [e for e in events if e["kind"] == "store"]
    same(sum(e["size"] for e in copied), 200, "bytes")
    for e in copied:
        came = {b for n in e["from"] for b in loads[n]}
        check(set(range(e["offset"] - 1024, e["offset"] - 1024 + e["size"])) <= came, e)
        check(len(came) <= e["size"] + 64, "from elsewhere, too:", e)


EXPECTED = [
    ("a part of a vector that was in volatile memory", "vectors", [(100, [0])]),
    ("loads by a mask: those that are made", "masked", [(100, [3, 1])]),
    ("floating point", "floats", [(100, [3, 1])]),
    ("helpers of VEX, of values and of registers", "helpers", [(100, [3, 1]), (102, [8, 4])]),
    ("eight labels, the newest", "many", [(100, [11, 10, 9, 8, 7, 6, 5, 4])]),
    ("an atomic addition comes from what was there", "adds", [(100, [100, 100, 1])]),
    ("an exchange that succeeds", "exchanges", [(7, [7, 1])]),
    ("one that fails stores nothing, and gives what was there", "fails", [(100, [8])]),
    ("longjmp keeps what memory has", "jumped", [(100, [1])]),
    ("what the kernel writes has no labels", "overwritten", [(100, []), (101, [0])]),
    ("memory that moves takes its labels along; new memory has none", "remapped", [(100, [1]), (101, [])]),
    ("a handler has labels of its own, and registers keep theirs", "interrupted", [(101, [2]), (100, [1])]),
]
for about, kind, wanted in EXPECTED:
    case(about)(lambda kind=kind, wanted=wanted: same(stores(sorts()[kind]), wanted, kind))


@case("code that loads and stores most fits into blocks")
def _():
    events = sorts()["gathers"]
    same(len([e for e in events if e["kind"] == "load"]), 60 * 8 + 60 * 8, "loads")
    word, came = stores(events)[-1]
    same((word, set(came)), (100, {0}), "the last store")


@case("a table that is full: labels are lost, that is told, and later ones are known")
def _():
    events = sorts()["forgotten"]
    check(any(e["kind"] == "labels-lost" for e in events), "nothing was lost")
    same(stores(events), [(100, []), (101, [2])], "stores")


@case("a call through a pointer that was loaded is a branch")
def _():
    same(branches(sorts()["pointers"]), [[1]], "labels")


@case("branches without labels are told behind one that has some, and not a thousand times")
def _():
    told_ = branches(sorts()["loops"])
    same(told_[0], [1], "the first")
    check(2 <= len(told_) <= 5 and not any(told_[1:]), told_)


@case("activations: each call has its own, and leads to where it was called")
def _():
    events = sorts()["calls"]
    frames = {e["args"]["activation"]: e["args"] for e in events if e["kind"] == "frame"}
    branch = next(e for e in events if e["kind"] == "branch")
    one, two, after = (e["activation"] for e in events if e["kind"] == "store")
    same(after, branch["activation"], "where it branched")
    check(one != two and one != after and two != after, one, two, after)
    same({frames[one]["parent"], frames[two]["parent"]}, {after}, "the caller")
    check(frames[one]["call"] != frames[two]["call"], "the places of the calls")


@case("activations: longjmp and signal handlers come back to where they were")
def _():
    for kind in ("jumped", "interrupted"):
        events = sorts()[kind]
        first = next(e for e in events if e["kind"] == "load")
        last = [e for e in events if e["kind"] == "store"][-1]
        same(last["activation"], first["activation"], kind)
        check(len({e["activation"] for e in events if "activation" in e}) == 2, kind)
    calls = [e["args"]["call"] for e in sorts()["interrupted"] if e["kind"] == "frame"]
    check("0xa" in calls, "the handler of signal 10 has a frame of its own:", calls)


@case("exceptions: what memory has stays, and the activation is that of the catch")
def _():
    events = by_operation(harness.record([harness.program("deps_throw"), "pool"], "--deps"))[0]
    thrown, kept = stores(events)
    same(kept, (101, [1]), "kept")
    same(thrown, (100, [3]), "thrown")
    accesses = [e for e in events if e["kind"] in ("load", "store")]
    same(accesses[-1]["activation"], accesses[0]["activation"], "activation")


@case("threads: each has registers and activations of its own")
def _():
    events = harness.record([harness.program("deps_more"), "pool", "threads"], "--deps").events
    loads = {e["num"]: e for e in events if e["kind"] == "load"}
    seen = 0
    for e in events:
        if e["kind"] != "store" or e["offset"] // 8 < 200 or e["offset"] // 8 > 202 or "from" not in e:
            continue
        me = e["offset"] // 8 - 200
        same(sorted(loads[n]["offset"] // 8 for n in e["from"]), [100 + me, 104 + me], "loads")
        same({loads[n]["thread"] for n in e["from"]}, {e["thread"]}, "threads")
        same({loads[n]["activation"] for n in e["from"]}, {e["activation"]}, "activations")
        seen += 1
    same(seen, 15000, "stores")


@case("fork: labels end there, and the child's are its own")
def _():
    events = harness.record([harness.program("deps_more"), "pool", "child"], "--deps", "--follow-forks").events
    at = {e["num"]: e for e in events if e["kind"] == "load"}
    found = {e["offset"] // 8: (e["process"], [(at[n]["process"], at[n]["offset"] // 8) for n in e.get("from", [])])
             for e in events if e["kind"] == "store" and e["offset"] // 8 in (100, 101, 102) and e["num"] > min(at)}
    same(found, {100: (1, []), 101: (1, [(1, 2)]), 102: (0, [(0, 1)])}, "stores")


@case("check finds in such a trace what it finds without")
def _():
    harness.record([harness.program("deps_throw"), "pool"], "--deps", trace="with")
    harness.record([harness.program("deps_throw"), "pool"], trace="without")
    found = [harness.run([harness.HOLDFAST, "check", "--fail-on", "none", folder]) for folder in ("with", "without")]
    ids = [[line for line in text.splitlines() if line.split()[:1] == ["id"]] for text in found]
    check(ids[0], "nothing is found")
    same(ids[0], ids[1], "findings")


if __name__ == "__main__":
    sys.exit(harness.main())
