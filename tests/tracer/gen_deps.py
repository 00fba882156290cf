#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random snippets of code over PM and other memory, and an interpreter that knows their dependences.

usage: gen_deps.py COUNT OUTPUT

Each snippet is a function of two pointers, to PM (%rdi) and to volatile memory (%rsi), both AREA bytes of known
contents. While it is written, it is also executed: on values, and on labels, byte by byte. snippets(COUNT) gives, for each,
the events that it should make:

    ("load", offset, size, address)   ("store", offset, size, data, address)   ("branch", labels)

Labels are numbers of the snippet's loads, from 0. The same numbers come out each time.
"""
import random
import sys

AREA = 256
MOST = 8
REGS = ["rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11"]
LOW = {"rax": "a", "rbx": "b", "rcx": "c", "rdx": "d"}
SIZES = {"b": 1, "w": 2, "l": 4, "q": 8}
XMM = ["xmm0", "xmm1", "xmm2", "xmm3"]


def part(reg, w, high=False):
    """The name of a register's part."""
    if reg in LOW:
        x = LOW[reg]
        return "%" + {"b": x + ("h" if high else "l"), "w": x + "x", "l": "e" + x + "x", "q": reg}[w]
    return "%" + reg + {"b": "b", "w": "w", "l": "d", "q": ""}[w]


def newest(*sets):
    return frozenset(sorted(frozenset().union(*sets), reverse=True)[:MOST])


NONE = frozenset()


def initial(i):
    """Byte i of both areas, before each snippet."""
    return (i * 37 + 11) & 255


class Unfit(Exception):
    """What VEX simplifies so that nothing is computed."""


class Snippet:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.text, self.events, self.loads, self.labels = [], [], 0, 0
        self.live = True       # what is written is also executed
        self.branched = False  # a branch had labels
        self.value = dict.fromkeys(REGS, 0)
        self.label = {reg: [NONE] * 8 for reg in REGS}
        self.xmm = {x: [NONE] * 16 for x in XMM}
        self.xval = {x: bytes(16) for x in XMM}
        self.memory = {"rdi": bytearray(map(initial, range(AREA))), "rsi": bytearray(map(initial, range(AREA)))}
        self.shadow = [NONE] * AREA
        self.stack = []
        self.flags = None      # (labels, conditions that are known: name -> value)

    # ---- registers ----

    def get(self, reg, w, high=False):
        n = SIZES[w]
        shift = 8 if high else 0
        labels = self.label[reg][1:2] if high else self.label[reg][:n if n < 4 else 8]
        return self.value[reg] >> shift & ((1 << 8 * n) - 1), newest(*labels)

    def put(self, reg, w, value, labels, high=False):
        n = SIZES[w]
        if n >= 4:
            self.value[reg] = value & ((1 << 8 * n) - 1)
            self.label[reg] = [labels] * 8
            return
        shift = 8 if high else 0
        mask = ((1 << 8 * n) - 1) << shift
        self.value[reg] = self.value[reg] & ~mask | value << shift & mask
        for i in range(n):
            self.label[reg][i + high] = labels

    # ---- memory ----

    def load(self, base, at, n, address=NONE):
        value = int.from_bytes(self.memory[base][at:at + n], "little")
        if base == "rsi":
            return value, newest(address, *self.shadow[at:at + n])
        self.events.append(("load", at, n, address))
        self.loads += 1
        return value, frozenset([self.loads - 1])

    def store(self, base, at, n, value, labels, address=NONE):
        self.memory[base][at:at + n] = value.to_bytes(n, "little")
        if base == "rsi":
            self.shadow[at:at + n] = [labels] * n
        else:
            self.events.append(("store", at, n, labels, address))

    # ---- choices ----

    def one(self, items):
        return self.r.choice(items)

    def two(self):
        return self.r.sample(REGS, 2)

    def imm(self):
        return self.r.randrange(3, 100)

    def place(self, n):
        return self.one(["rdi", "rdi", "rsi"]), self.r.randrange(AREA - 64 - n)

    def out(self, text):
        self.text.append("\t" + text)

    # ---- instructions ----

    def constant(self):
        reg, value = self.one(REGS), self.r.randrange(1 << 30)
        self.out(f"mov ${value}, %{reg}")
        if self.live:
            self.put(reg, "q", value, NONE)

    def mov(self):
        w, (a, b) = self.one("bwlq"), self.two()
        self.out(f"mov{w} {part(a, w)}, {part(b, w)}")
        if self.live:
            self.put(b, w, *self.get(a, w))

    def high(self):
        """A byte from or to AH, BH, CH or DH."""
        a, b = self.r.sample(list(LOW), 2)
        up, to_up = self.r.random() < 0.5, self.r.random() < 0.5
        self.out(f"movb {part(a, 'b', up)}, {part(b, 'b', to_up)}")
        if self.live:
            self.put(b, "b", *self.get(a, "b", up), high=to_up)

    def extend(self):
        w, (a, b) = self.one("bw"), self.two()
        self.out(f"movz{w}q {part(a, w)}, %{b}")
        if self.live:
            self.put(b, "q", *self.get(a, w))

    def read(self):
        w, reg = self.one("bwlqq"), self.one(REGS)
        base, at = self.place(8)
        self.out(f"mov{w} {at}(%{base}), {part(reg, w)}")
        if self.live:
            self.put(reg, w, *self.load(base, at, SIZES[w]))

    def write(self):
        w, reg = self.one("bwlqq"), self.one(REGS)
        base, at = self.place(8)
        self.out(f"mov{w} {part(reg, w)}, {at}(%{base})")
        if self.live:
            self.store(base, at, SIZES[w], *self.get(reg, w))

    def indexed(self):
        """A load or store at an address that may have labels."""
        index, reg = self.two()
        base, at = self.place(8)
        w, loads = self.one("bwlq"), self.r.random() < 0.5
        self.out(f"andl $0x38, {part(index, 'l')}")
        self.out(f"mov{w} {at}(%{base},%{index}), {part(reg, w)}" if loads else
                 f"mov{w} {part(reg, w)}, {at}(%{base},%{index})")
        if not self.live:
            return
        value, labels = self.get(index, "l")
        self.put(index, "l", value & 0x38, labels)
        self.flags = None
        at += value & 0x38
        if loads:
            self.put(reg, w, *self.load(base, at, SIZES[w], labels))
        else:
            self.store(base, at, SIZES[w], *self.get(reg, w), labels)

    def compute(self, op, w, x, y):
        """The result and flags of x op y, for what was done to x."""
        bits = 8 * SIZES[w]
        mask = (1 << bits) - 1
        labels = newest(x[1], y[1])
        a, b = x[0], y[0]
        for value, whose in (x, y):
            if op in ("and", "or", "imul", "test") and not whose and value in (0, mask):
                raise Unfit
        result = {"add": a + b, "sub": a - b, "cmp": a - b, "and": a & b, "test": a & b, "or": a | b,
                  "xor": a ^ b, "imul": a * b}[op] & mask
        sign = result >> bits - 1
        known = {"z": result == 0, "s": sign == 1}
        if op in ("sub", "cmp"):
            less = (a ^ 1 << bits - 1) < (b ^ 1 << bits - 1)
            known.update({"b": a < b, "be": a <= b, "l": less, "le": less or a == b})
        if op != "imul":
            known.update({"n" + name: not truth for name, truth in known.items()})
        self.flags = None if op == "imul" else (labels, known)
        return result, labels

    def alu(self):
        op, w = self.one(["add", "sub", "and", "or", "xor", "cmp", "test"]), self.one("bwlqq")
        a, b = self.two()
        self.out(f"{op}{w} {part(a, w)}, {part(b, w)}")
        if self.live:
            result = self.compute(op, w, self.get(b, w), self.get(a, w))
            if op not in ("cmp", "test"):
                self.put(b, w, *result)

    def alu_imm(self):
        op, w = self.one(["add", "sub", "and", "or", "xor", "cmp"]), self.one("bwlq")
        reg, imm = self.one(REGS), self.imm()
        self.out(f"{op}{w} ${imm}, {part(reg, w)}")
        if self.live:
            result = self.compute(op, w, self.get(reg, w), (imm, NONE))
            if op != "cmp":
                self.put(reg, w, *result)

    def alu_memory(self):
        """From memory, or to it: there it is loaded, too."""
        op, w, reg = self.one(["add", "sub", "xor", "cmp"]), self.one("bwlq"), self.one(REGS)
        base, at = self.place(8)
        to = op != "cmp" and self.r.random() < 0.4
        self.out(f"{op}{w} " + (f"{part(reg, w)}, {at}(%{base})" if to else f"{at}(%{base}), {part(reg, w)}"))
        if not self.live:
            return
        loaded, own = self.load(base, at, SIZES[w]), self.get(reg, w)
        result = self.compute(op, w, *((loaded, own) if to else (own, loaded)))
        if to:
            self.store(base, at, SIZES[w], *result)
        elif op != "cmp":
            self.put(reg, w, *result)

    def multiply(self):
        w, (a, b) = self.one("lq"), self.two()
        self.out(f"imul{w} {part(a, w)}, {part(b, w)}")
        if self.live:
            self.put(b, w, *self.compute("imul", w, self.get(b, w), self.get(a, w)))

    def lea(self):
        (a, b), c = self.two(), self.one(REGS)
        at = self.imm()
        self.out(f"leaq {at}(%{a},%{b},4), %{c}")
        if self.live:
            (x, p), (y, q) = self.get(a, "q"), self.get(b, "q")
            self.put(c, "q", x + 4 * y + at, newest(p, q))

    def shift(self):
        reg, by = self.one(REGS), self.r.randrange(1, 8)
        self.out(f"shlq ${by}, %{reg}")
        if self.live:
            value, labels = self.get(reg, "q")
            self.put(reg, "q", value << by, labels)
            self.flags = None

    def invert(self):
        w, reg = self.one("bwlq"), self.one(REGS)
        self.out(f"not{w} {part(reg, w)}")
        if self.live:
            value, labels = self.get(reg, w)
            self.put(reg, w, ~value, labels)

    def exchange(self):
        a, b = self.two()
        self.out(f"xchgq %{a}, %{b}")
        if self.live:
            x, y = self.get(a, "q"), self.get(b, "q")
            self.put(a, "q", *y)
            self.put(b, "q", *x)

    def spill(self):
        a, b = self.two()
        self.out(f"pushq %{a}")
        self.out(f"popq %{b}")
        if self.live:
            self.put(b, "q", *self.get(a, "q"))

    # ---- conditions ----

    def condition(self):
        """One that is known, with its labels; not live: any."""
        if not self.live:
            return "z", True, NONE
        if not self.flags:
            self.alu_imm()
        labels, known = self.flags
        name = self.one(sorted(known))
        return name, known[name], labels

    def setcc(self):
        reg = self.one(REGS)
        name, truth, labels = self.condition()
        self.out(f"set{name} {part(reg, 'b')}")
        if self.live:
            self.put(reg, "b", int(truth), labels)

    def cmov(self):
        a, b = self.two()
        name, truth, labels = self.condition()
        self.out(f"cmov{name}q %{a}, %{b}")
        if self.live:
            value, chosen = self.get(a if truth else b, "q")
            self.put(b, "q", value, newest(labels, chosen))

    def branch(self):
        name, truth, labels = self.condition()
        target = f"{self.labels}f"
        self.out(f"j{name} {target}")
        was = self.live
        if was:
            if labels or self.branched:
                self.events.append(("branch", labels))
            self.branched = self.branched or bool(labels)
            self.live = not truth
        for _ in range(self.r.randrange(1, 4)):
            self.one([self.mov, self.read, self.write, self.alu, self.lea])()
        self.out(f"{self.labels}:")
        self.labels = (self.labels + 1) % 10
        self.live = was
        self.flags = None

    # ---- vectors ----

    def xread(self):
        x, n = self.one(XMM), self.one([4, 8, 16, 16])
        base, at = self.place(16)
        self.out({4: "movss", 8: "movq", 16: "movdqu"}[n] + f" {at}(%{base}), %{x}")
        if self.live:
            value, labels = self.load(base, at, n)
            self.xval[x] = value.to_bytes(16, "little")
            self.xmm[x] = [labels] * n + [NONE] * (16 - n)

    def xwrite(self):
        x, n = self.one(XMM), self.one([4, 8, 16, 16])
        base, at = self.place(16)
        self.out({4: "movss", 8: "movq", 16: "movdqu"}[n] + f" %{x}, {at}(%{base})")
        if self.live:
            value = int.from_bytes(self.xval[x][:n], "little")
            self.store(base, at, n, value, newest(*self.xmm[x][:n]))

    def xcompute(self):
        x, y = self.r.sample(XMM, 2)
        self.out(f"paddb %{x}, %{y}")
        if self.live:
            self.xval[y] = bytes((a + b) & 255 for a, b in zip(self.xval[x], self.xval[y]))
            self.xmm[y] = [newest(*self.xmm[x], *self.xmm[y])] * 16

    def xmove(self):
        x, y = self.r.sample(XMM, 2)
        self.out(f"movdqa %{x}, %{y}")
        if self.live:
            self.xval[y] = self.xval[x]
            self.xmm[y] = [newest(*self.xmm[x])] * 16

    def xfrom(self):
        x, reg = self.one(XMM), self.one(REGS)
        self.out(f"movq %{x}, %{reg}")
        if self.live:
            self.put(reg, "q", int.from_bytes(self.xval[x][:8], "little"), newest(*self.xmm[x][:8]))

    def xto(self):
        x, reg = self.one(XMM), self.one(REGS)
        self.out(f"movq %{reg}, %{x}")
        if self.live:
            value, labels = self.get(reg, "q")
            self.xval[x] = value.to_bytes(16, "little")
            self.xmm[x] = [labels] * 8 + [NONE] * 8

    # ---- strings ----

    def copy(self):
        """rep movsb; %rdi and %rsi are put back."""
        n, (fb, fa), (tb, ta) = self.r.randrange(1, 12), self.place(16), self.place(16)
        for line in ("pushq %rdi", "pushq %rsi", f"leaq {fa}(%{fb}), %rcx", f"leaq {ta}(%{tb}), %rdi", "movq %rcx, %rsi",
                     f"movl ${n}, %ecx", "rep movsb", "popq %rsi", "popq %rdi"):
            self.out(line)
        if not self.live:
            return
        for i in range(n):
            self.store(tb, ta + i, 1, *self.load(fb, fa + i, 1))
        self.put("rcx", "q", 0, NONE)

    # ---- the snippet ----

    def write_all(self):
        ways = ([self.read] * 5 + [self.write] * 6 + [self.alu] * 3 +
                [self.constant, self.mov, self.mov, self.high, self.extend, self.indexed, self.indexed, self.alu_imm,
                 self.alu_memory, self.alu_memory, self.multiply, self.lea, self.shift, self.invert, self.exchange, self.spill,
                 self.setcc, self.cmov, self.cmov, self.branch, self.branch, self.xread, self.xread, self.xwrite, self.xwrite,
                 self.xcompute, self.xmove, self.xfrom, self.xto, self.copy])
        self.out("pushq %rbx")
        for reg in REGS:
            value = self.r.randrange(1, 1 << 30)
            self.out(f"mov ${value}, %{reg}")
            self.put(reg, "q", value, NONE)
        for x in XMM:
            self.out(f"pxor %{x}, %{x}")
        for _ in range(self.r.randrange(8, 24)):
            self.one(ways)()
        self.out("popq %rbx")
        self.out("ret")


def snippets(count):
    seed = 0
    for _ in range(count):
        while True:
            s = Snippet(seed)
            seed += 1
            try:
                s.write_all()
                break
            except Unfit:
                pass
        yield s


def main():
    count = int(sys.argv[1])
    with open(sys.argv[2], "w", encoding="ascii") as out:
        print("\t.text\n\t.globl deps_snippets, deps_count", file=out)
        for i, s in enumerate(snippets(count)):
            print(f"snippet{i}:", *s.text, sep="\n", file=out)
        print("\t.section .data.rel.ro,\"aw\"\n\t.balign 8\ndeps_snippets:", file=out)
        for i in range(count):
            print(f"\t.quad snippet{i}", file=out)
        print(f"deps_count:\t.quad {count}\n\t.section .note.GNU-stack,\"\",@progbits", file=out)


if __name__ == "__main__":
    main()
