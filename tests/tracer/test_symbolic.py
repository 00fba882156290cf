#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Symbolic execution in the tracer: 10,000 random snippets (gen_symbolic.py, symbolic.c).

symcheck runs them and evaluates the expressions that the tracer sends: on the run's own input
each must be what the machine computed. And inputs that the solver made must take the branch that
they were made for.
"""
import os
import pathlib
import sys

from harness import HOLDFAST, case, check, main, once, program, run

SNIPPETS = 10000
RUNS = 2      # of all of them, each with an input of its own
PATHS = 80    # runs with inputs from the solver for each of these, first snippet and how many:
GROUPS = [(first, 300) for first in range(0, 9000, 1000)] + \
    [(first, 30) for first in range(9100, 10000, 200)]

os.environ["HOLDFAST_LIBEXEC"] = str(pathlib.Path(HOLDFAST).parent / "libexec/holdfast")


def symcheck(mode, runs, first, count):
    """What it printed, as (numbers by name, operations that were not followed, examples)."""
    numbers, concrete, examples = {}, {}, []
    text = run([program("symcheck"), mode, runs, program("symbolic"), first, count])
    for line in text.splitlines():
        words = line.split()
        if words[0] == "example":
            examples.append(line)
        elif words[0] == "concrete":
            concrete[words[1]] = int(words[2])
        else:
            numbers[words[0]] = int(words[1])
    return numbers, concrete, examples


@once
def verified():
    return symcheck("verify", RUNS, 0, SNIPPETS)


@case("there are 10,000 snippets")
def _():
    check(int(run([program("symbolic"), 0, 0])) == SNIPPETS)


@case("each expression has the machine's value")
def _():
    numbers, _, examples = verified()
    print(f"# {numbers}")
    check(numbers["snippets"] == RUNS * SNIPPETS, numbers)
    check(numbers["verified"] > 20 * numbers["snippets"], "too few were looked at:", numbers)
    check(numbers["wrong"] == 0, f"{numbers['wrong']} are wrong:\n" + "\n".join(examples))


@case("hardly a snippet has no expression")
def _():
    numbers, _, _ = verified()
    check(numbers["silent"] < numbers["snippets"] // 100, numbers)


@case("conditions of the path are true of the run's input")
def _():
    numbers, _, _ = verified()
    check(numbers["branches"] > SNIPPETS // 4, numbers)
    check(numbers["bad-branches"] == 0, numbers)


@case("every operation of theirs is followed")
def _():
    _, concrete, _ = verified()
    check(not concrete, "not followed:", concrete)


@once
def solved():
    """The numbers of all groups together."""
    total = {}
    for first, count in GROUPS:
        numbers, _, examples = symcheck("paths", PATHS, first, count)
        check(not examples, *examples)
        for name, number in numbers.items():
            total[name] = total.get(name, 0) + number
    print(f"# {total}")
    return total


@case("solved inputs take the branch that they were made for")
def _():
    total = solved()
    predicted, diverged = total["predicted"], total["diverged"]
    print(f"# {diverged} of {predicted} diverged: {100 * diverged / max(predicted, 1):.2f} %")
    check(predicted > len(GROUPS) * PATHS // 2, f"only {predicted} were predicted")
    check(diverged < predicted / 100, f"{diverged} of {predicted} diverged")


@case("simplified by the solver's pool, expressions still have the machine's value")
def _():
    check(solved()["wrong"] == 0, solved())


if __name__ == "__main__":
    sys.exit(main())
