# SPDX-License-Identifier: BSD-3-Clause
"""What the scoreboard says while it runs: how far it is, and about how long it will take.

On a terminal that is one line which is written over again and again, elsewhere a line every minute. How long
a case takes is known from the last time, or guessed from its like; what has been done so far tells how much
faster or slower this machine is today.
"""
import json
import shutil
import sys
import time

EVERY = 60  # seconds between lines where there is no terminal
GUESS = 30  # seconds of guesses that count as much as those measured: the first cases say little


def span(seconds):
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


class Progress:
    def __init__(self, cases, jobs, path, guess, out=sys.stderr):
        self.path, self.jobs, self.out, self.live = path, jobs, out, out.isatty()
        self.known = json.loads(path.read_text()) if path.exists() else {}
        self.expect = {case.name: self.known.get(self.key(case)) or guess(case) for case in cases}
        self.total, self.done, self.kept = len(cases), 0, 0
        self.begun, self.expected, self.measured = {}, 0.0, 0.0
        self.started = self.said = time.monotonic()

    @staticmethod
    def key(case):
        return f"{case.name} {json.dumps(case.effort, sort_keys=True)}"

    def begin(self, case):
        self.begun[case.name] = time.monotonic()

    def end(self, case, answer):
        self.begun.pop(case.name, None)
        self.done += 1
        if answer.get("kept"):
            self.kept += 1
        else:
            self.measured += answer["elapsed"]
            self.expected += self.expect[case.name]
            self.known[self.key(case)] = answer["elapsed"]
        del self.expect[case.name]

    def left(self):
        """Seconds by the clock."""
        pace = (self.measured + GUESS) / (self.expected + GUESS)
        now = time.monotonic()
        work = sum(max(pace * seconds - (now - self.begun.get(name, now)), 0) for name, seconds in self.expect.items())
        return work / self.jobs

    def text(self):
        kept = f" ({self.kept} of them before)" if self.kept else ""
        return (f"eval: {self.done} of {self.total} cases{kept}, {span(time.monotonic() - self.started)} so far, "
                f"about {span(self.left())} to go: {'; '.join(sorted(self.begun))}")

    def show(self, now=False):
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{self.text()[:width]}\033[K", end="", file=self.out, flush=True)
        elif now or time.monotonic() - self.said >= EVERY:
            self.said = time.monotonic()
            print(self.text(), file=self.out, flush=True)

    def close(self):
        if self.live:
            print("\r\033[K", end="", file=self.out, flush=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.known, indent=0, sort_keys=True) + "\n")
