# SPDX-License-Identifier: BSD-3-Clause
"""What the tracer's tests share: TAP, recording, and comparing a trace with a program's own log.

A test program is started with `pool` and `log` as its first arguments. It keeps its data in the
pool and writes down, one line each, the events that it expects to be recorded (expect.h):

    store ADDR SIZE BYTES FLAGS [THREAD]      flush ADDR KIND [THREAD]      fence KIND [THREAD]
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

HOLDFAST = os.environ["HOLDFAST"]
PROGRAMS = pathlib.Path(os.environ["TRACER_PROGRAMS"])
SOURCE = pathlib.Path(os.environ["HOLDFAST_SOURCE"])


class Fail(Exception):
    """A test did not find what it expected."""


class Skip(Exception):
    """A test cannot be run on this machine."""


def check(condition, *why):
    if not condition:
        raise Fail(" ".join(str(w) for w in why))


def same(got, wanted, what):
    check(got == wanted, f"{what}: expected {wanted!r}, but it is {got!r}")


def need_cpu(*flags):
    """Skips the case where the processor itself cannot do it."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    have = set(text.partition("\nflags")[2].partition("\n")[0].split())
    lacks = sorted(set(flags) - have)
    if lacks:
        raise Skip(f"this processor has no {', '.join(lacks)}")


# ---- TAP ----

CASES = []


def case(name):
    """Decorates a test; it runs in an empty folder of its own."""
    def add(function):
        CASES.append((name, function))
        return function
    return add


def main():
    words = sys.argv[1:]
    cases = [c for c in CASES if not words or any(w in c[0] for w in words)]
    print(f"1..{len(cases)}", flush=True)
    bad = 0
    home = os.getcwd()
    for number, (name, function) in enumerate(cases, 1):
        folder = tempfile.mkdtemp(prefix="hf-tracer-")
        os.chdir(folder)
        try:
            function()
            print(f"ok {number} - {name}", flush=True)
        except Skip as skip:
            print(f"ok {number} - {name} # skip {skip}", flush=True)
        except Exception as error:  # one broken case must not hide the others
            bad += 1
            text = str(error) if isinstance(error, (Fail, OSError)) else traceback.format_exc()
            print(f"not ok {number} - {name}")
            print("\n".join(f"# {line}" for line in text.splitlines()[:60]), flush=True)
        finally:
            os.chdir(home)
            if not os.environ.get("TRACER_KEEP"):
                shutil.rmtree(folder, ignore_errors=True)
            else:
                print(f"# kept in {folder}")
    return 1 if bad else 0


SHARED = tempfile.TemporaryDirectory(prefix="hf-tracer-shared-")


def shared(name):
    """A folder that lives until the end, for what several cases look at."""
    folder = pathlib.Path(SHARED.name) / name
    folder.mkdir(exist_ok=True)
    return folder


def once(function):
    """Runs it at the first call only; where that fails or is skipped, so are the later ones."""
    kept = []

    def call():
        if not kept:
            kept.append(Fail("what this case needs has failed before"))
            try:
                kept[0] = function()
            except Skip as skip:
                kept[0] = skip
        if isinstance(kept[0], Exception):
            raise kept[0]
        return kept[0]
    return call


# ---- running ----

def program(name):
    return str(PROGRAMS / name)


def run(command, status=0, **options):
    """Runs it; fails unless it ends with that status (a negative one: that signal)."""
    done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=3600, **options)
    output = done.stdout.decode(errors="replace")
    check(done.returncode == status, f"{command}: status {done.returncode}, not {status}\n{output}")
    return output


DIFFERS = " is not what was recorded: "


def record(command, *options, status=0, trace="trace", differs=False, **more):
    """Records a command and loads the trace. The self-check at the end must be silent, or speak if
    it `differs`."""
    shutil.rmtree(trace, ignore_errors=True)
    record.output = run([HOLDFAST, "record", "-o", trace, *options, "--", *command],
                        status=status, **more)
    check((DIFFERS in record.output) == differs, f"the self-check says:\n{record.output}")
    return Trace(trace)


class Trace:
    """A recorded trace: its events as dump's JSON gives them, and its summary."""

    def __init__(self, folder, warn=False):
        self.folder = folder
        done = subprocess.run([HOLDFAST, "dump", folder, "--events", "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=3600)
        message = done.stderr.decode(errors="replace")
        check(done.returncode == 0, f"dump of {folder}: status {done.returncode}\n{message}")
        check(warn or not message, f"dump of {folder}: {message}")
        self.events = [json.loads(line) for line in done.stdout.splitlines()]

    def summary(self):
        return json.loads(run([HOLDFAST, "dump", self.folder, "--json"]))

    def kinds(self, *kinds):
        return [e for e in self.events if e["kind"] in kinds]

    def one(self, kind):
        found = self.kinds(kind)
        check(len(found) == 1, f"{len(found)} {kind} events instead of one")
        return found[0]

    def stores(self):
        return self.kinds("store")

    def memory(self):
        """Stores, flushes and fences: what the programs' logs are about."""
        return self.kinds("store", "flush", "fence")

    def image(self, out="image"):
        """Rebuilds all files; returns {name: bytes}."""
        shutil.rmtree(out, ignore_errors=True)
        run([HOLDFAST, "dump", self.folder, "--image", out])
        return {p.name: p.read_bytes() for p in pathlib.Path(out).rglob("*") if p.is_file()}

    def same_image(self, *files):
        """The rebuilt files equal the real ones, byte for byte."""
        built = self.image()
        for path in files:
            name = pathlib.Path(path).name
            check(name in built, f"no image of {path}; there are {sorted(built)}")
            differ(built[name], pathlib.Path(path).read_bytes(), name)


def differ(built, real, name):
    if built == real:
        return
    check(len(built) == len(real), f"{name}: rebuilt {len(built)} bytes, real {len(real)}")
    bad = [i for i in range(len(real)) if built[i] != real[i]]
    raise Fail(f"{name}: {len(bad)} bytes differ, the first at {bad[0]:#x}: "
               f"rebuilt {built[bad[0]]:#04x}, real {real[bad[0]]:#04x}")


# ---- comparing ----

def addr(event):
    return int(event["args"]["addr"], 16)


def value(event):
    return int.from_bytes(bytes.fromhex(event["data"]), "little")


def names(event, all_frames=False):
    """The functions on the call path, innermost first, up to main."""
    path = []
    for frame in event["stack"]:
        path.append(frame["function"])
        if frame["function"] == "main" and not all_frames:
            break
    return path


def show(event):
    kind, flags = event["kind"], ",".join(event["flags"])
    text = f"T{event['thread']} {kind} {event.get('flavour', '')}"
    if kind != "fence":
        text += f" {event['args'].get('addr')}"
    if kind == "store":
        text += f" {event['size']} {event['data']}"
    where = event["stack"][0] if event["stack"] else {}
    return f"#{event['num']} {text} [{flags}] at {where.get('function')}:{where.get('line')}"


Expected = collections.namedtuple("Expected", "kind addr size data what before thread line")


def read_log(path="log", groups=None):
    """The program's log, as a list of Expected; `what` is the flags or the kind. A line
    "group NAME" begins a list of its own in `groups`, or only says what the next ones are."""
    wanted, label = [], ""
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        words = line.split()
        kind = words.pop(0)
        if kind == "group":
            label = " ".join(words)
            if groups is not None:
                wanted = []
                groups.append((label, wanted))
            continue
        where = int(words.pop(0), 16) if kind != "fence" else 0
        bytes_follow = kind in ("store", "area")
        size = int(words.pop(0)) if bytes_follow else 0
        data = words.pop(0) if bytes_follow else ""
        what = words.pop(0)
        before = words.pop(0) if kind == "area" else ""
        thread = int(words.pop(0)) if words else 0
        wanted.append(Expected(kind, where, size, data, what, before, thread,
                               f"log:{number}: {line} ({label})"))
    return wanted


def flags_of(event):
    return ",".join(f for f in event["flags"] if f != "volatile") or "plain"


def is_what(event, want):
    """Does the event fit, as a whole?"""
    if event["kind"] != want.kind:
        return False
    if want.kind == "fence":
        return event["flavour"] == want.what
    if addr(event) != want.addr:
        return False
    if want.kind == "flush":
        return event["flavour"] == want.what
    return (event["size"], event["data"], flags_of(event)) == (want.size, want.data, want.what)


def exactly(events, wanted):
    """The events are the wanted ones, one by one."""
    for got, want in zip(events, wanted):
        check(is_what(got, want), f"expected {want.line}\nrecorded {show(got)}")
    count = f"{len(events)} events, expected {len(wanted)}"
    if len(events) < len(wanted):
        raise Fail(f"{count}; the first that lacks: {wanted[len(events)].line}")
    if len(events) > len(wanted):
        raise Fail(f"{count}; the first too many: {show(events[len(wanted)])}")


def take_pieces(events, at, want):
    """The events from `at` on that make up the wanted store; returns the first that does not."""
    data, missing = bytes.fromhex(want.data), set(range(want.size))
    while missing:
        check(at < len(events), f"nothing more is recorded, but expected {want.line}")
        got = events[at]
        why = f"expected {want.line}\nrecorded {show(got)}"
        check(got["kind"] == "store" and flags_of(got) == want.what, why)
        start = addr(got) - want.addr
        piece = set(range(start, start + got["size"]))
        check(piece <= missing, why)
        check(got["data"] == data[start:start + got["size"]].hex(), why)
        missing -= piece
        at += 1
    return at


def take_area(events, at, want):
    """An instruction that writes somewhere in an area: what changed must be recorded, nothing
    may be recorded outside of it, and replaying must give what is there now."""
    data, before = bytearray.fromhex(want.before), bytes.fromhex(want.before)
    covered = set()
    while at < len(events) and events[at]["kind"] == "store":
        start = addr(events[at]) - want.addr
        if start < 0 or start >= want.size or len(covered) >= want.size:
            break
        piece = bytes.fromhex(events[at]["data"])
        why = f"expected {want.line[:60]}\nrecorded {show(events[at])}"
        check(start + len(piece) <= want.size and flags_of(events[at]) == want.what, why)
        data[start:start + len(piece)] = piece
        covered |= set(range(start, start + len(piece)))
        at += 1
    after = bytes.fromhex(want.data)
    missing = [i for i in range(want.size) if after[i] != before[i] and i not in covered]
    check(not missing, f"changed but not recorded: bytes {missing} of {want.line[:60]}")
    check(bytes(data) == after, f"what is recorded is not what is there: {want.line[:60]}")
    return at


def in_pieces(events, wanted):
    """Like exactly(), but a wanted store may be recorded in several, in any order, that do not
    overlap and together make it up: `rep movsb`, a masked store by lanes."""
    at = 0
    for want in wanted:
        if want.kind == "store":
            at = take_pieces(events, at, want)
        elif want.kind == "area":
            at = take_area(events, at, want)
        else:
            check(at < len(events) and is_what(events[at], want), f"expected {want.line}\n"
                  f"recorded {show(events[at]) if at < len(events) else 'nothing'}")
            at += 1
    check(at == len(events),
          f"recorded but not expected: {show(events[at]) if at < len(events) else ''}")


def by_operation(trace, kinds=("store", "flush", "fence")):
    """{operation: its events}, from the program's HOLDFAST_OP_BEGIN and _END markers. Outside
    of them, only fences that locks of the C library imply may be."""
    found, current = collections.OrderedDict(), None
    for event in trace.events:
        if event["kind"] == "op-begin":
            current = found.setdefault(event["args"]["id"], [])
        elif event["kind"] == "op-end":
            current = None
        elif event["kind"] in kinds:
            if current is not None:
                current.append(event)
            else:
                check(event.get("flavour") == "atomic",
                      f"recorded outside of an operation: {show(event)}")
    return found
