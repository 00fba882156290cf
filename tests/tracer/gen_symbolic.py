#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes random snippets of code over symbolic bytes, in assembly and in C.

usage: gen_symbolic.py asm|c COUNT OUTPUT

Assembly: snippets of a few instructions, all that expr/ops.c, expr/vec.c and expr/flags.c know,
in all widths, with branches; registers come from the input or are constants. %rdi points to
struct area of symbolic.h. C: functions as people write them: fields, loops, tables, switches,
strings. The same numbers come out each time.
"""
import random
import sys

IN, IN_BYTES, SCRATCH, SCRATCH_BYTES, TABLE = 0, 64, 64, 192, 256

# Registers by width; those in HIGH exclude a REX prefix.
REGS = {
    "b": ["al", "bl", "cl", "dl", "sil", "r8b", "r9b", "r10b"],
    "w": ["ax", "bx", "cx", "dx", "si", "r8w", "r9w", "r10w"],
    "l": ["eax", "ebx", "ecx", "edx", "esi", "r8d", "r9d", "r10d"],
    "q": ["rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10"],
}
HIGH = ["al", "bl", "cl", "dl", "ah", "bh", "ch", "dh"]
BITS = {"b": 8, "w": 16, "l": 32, "q": 64}
CONDITIONS = ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"]
XMM = ["xmm0", "xmm1", "xmm2", "xmm3"]


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.labels = 0

    def one(self, items):
        return self.r.choice(items)

    def width(self, widths="bwlq"):
        return self.one(widths)

    def reg(self, w):
        return "%" + self.one(REGS[w])

    def pair(self, w):
        """Two registers that go together in one instruction."""
        if w == "b" and self.r.random() < 0.4:
            return "%" + self.one(HIGH), "%" + self.one(HIGH)
        return self.reg(w), self.reg(w)

    def number(self, bits):
        value = self.one([self.r.getrandbits(bits), self.r.randrange(4), self.r.randrange(256),
                          1 << self.r.randrange(bits), (1 << self.r.randrange(1, bits + 1)) - 1])
        return value & ((1 << bits) - 1)

    def imm(self, w):
        value = self.number(min(BITS[w], 32))
        if w in "lq" and value >= 1 << 31:
            value -= 1 << 32
        return f"${value}"

    def source(self, bytes_=16):
        """Memory to read: input, what was stored before, or constants."""
        kind = self.r.random()
        if kind < 0.6:
            return f"{IN + self.r.randrange(IN_BYTES - bytes_ + 1)}(%rdi)"
        if kind < 0.9:
            return f"{SCRATCH + self.r.randrange(SCRATCH_BYTES - bytes_ + 1)}(%rdi)"
        return f"{TABLE + self.r.randrange(200)}(%rdi)"

    def target(self, bytes_=16, align=1):
        where = self.r.randrange(SCRATCH_BYTES - bytes_ + 1) // align * align
        return f"{SCRATCH + where}(%rdi)"

    def label(self):
        self.labels += 1
        return f".L{self.labels}"

    # ---- integers ----

    def alu(self):
        w = self.width()
        op = self.one(["add", "sub", "and", "or", "xor", "cmp", "test", "adc", "sbb"])
        a, b = self.pair(w)
        kind = self.r.randrange(5)
        if kind == 0:
            return [f"{op}{w} {self.imm(w)}, {b}"]
        if kind == 1:
            if op == "test":
                return [f"test{w} {b}, {self.source(8)}"]
            return [f"{op}{w} {self.source(8)}, {b}"]
        if kind == 2:
            return [f"{op}{w} {b}, {self.target(8)}"]
        if kind == 3:
            return [f"{op}{w} {self.imm(w)}, {self.target(8)}"]
        return [f"{op}{w} {a}, {b}"]

    def alu1(self):
        w = self.width()
        op = self.one(["inc", "dec", "neg", "not"])
        return [f"{op}{w} {self.one([self.pair(w)[0], self.target(8)])}"]

    def shift(self):
        w = self.width()
        op = self.one(["shl", "shr", "sar", "rol", "ror"])
        to = self.one([self.reg(w), self.reg(w), self.target(8)])
        count = self.one(["%cl", f"${self.r.randrange(BITS[w])}", "$1"])
        return [f"{op}{w} {count}, {to}"]

    def double_shift(self):
        w = self.width("wlq")
        count = self.one(["%cl", f"${self.r.randrange(1, BITS[w])}"])
        lines = ["andb $15, %cl"] if w == "w" and count == "%cl" else []
        return lines + [f"{self.one(['shld', 'shrd'])}{w} {count}, {self.reg(w)}, {self.reg(w)}"]

    def multiply(self):
        w = self.width()
        kind = self.r.randrange(3)
        if kind == 0 or w == "b":
            return [f"{self.one(['mul', 'imul'])}{w} {self.pair(w)[0]}"]
        if kind == 1:
            return [f"imul{w} {self.one([self.reg(w), self.source(8)])}, {self.reg(w)}"]
        return [f"imul{w} {self.imm(w)}, {self.reg(w)}, {self.reg(w)}"]

    def divide(self):
        """Never by zero, and the quotient fits."""
        w = self.width()
        d = self.one(["r8", "r9", "r10"])
        name = {"b": d + "b", "w": d + "w", "l": d + "d", "q": d}[w]
        if w == "b":
            if self.r.random() < 0.5:
                return ["movzbl %al, %eax", f"orb $1, %{name}", f"divb %{name}"]
            return ["movsbw %al, %ax", f"andb $0x7f, %{name}", f"orb $3, %{name}", f"idivb %{name}"]
        acc, hi = {"w": ("ax", "dx"), "l": ("eax", "edx"), "q": ("rax", "rdx")}[w]
        kind = self.r.randrange(4)
        if kind == 0:
            return ["xorl %edx, %edx", f"or{w} $1, %{name}", f"div{w} %{name}"]
        if kind == 1:
            sign = {"w": "cwtd", "l": "cltd", "q": "cqto"}[w]
            return [sign, f"shr{w} $1, %{name}", f"or{w} $3, %{name}", f"idiv{w} %{name}"]
        high = BITS[w] - 1
        if kind == 2:  # all of the upper half matters: it is below the divisor
            return [f"bts{w} ${high}, %{name}", f"shr{w} $1, %{hi}", f"div{w} %{name}"]
        return [f"shr{w} $1, %{name}", f"bts{w} ${high - 1}, %{name}", f"sar{w} $4, %{hi}",
                f"idiv{w} %{name}"]

    def extend(self):
        op, a, b = self.one([("movzbw", "b", "w"), ("movzbl", "b", "l"), ("movzbq", "b", "q"),
                             ("movzwl", "w", "l"), ("movzwq", "w", "q"), ("movsbw", "b", "w"),
                             ("movsbl", "b", "l"), ("movsbq", "b", "q"), ("movswl", "w", "l"),
                             ("movswq", "w", "q"), ("movslq", "l", "q")])
        if self.r.random() < 0.2:
            return [self.one(["cbtw", "cwtl", "cltq", "cwtd", "cltd", "cqto"])]
        return [f"{op} {self.one([self.reg(a), self.source(8)])}, {self.reg(b)}"]

    def move(self):
        w = self.width()
        a, b = self.pair(w)
        return [self.one([f"mov{w} {a}, {b}", f"mov{w} {self.source(8)}, {b}",
                          f"mov{w} {a}, {self.target(8)}", f"mov{w} {self.imm(w)}, {self.target(8)}"])]

    def exchange(self):
        w = self.width()
        a, b = self.pair(w)
        lock = self.one(["", "lock "])
        return [self.one([
            f"xchg{w} {a}, {b}", f"xchg{w} {a}, {self.target(8)}", f"xadd{w} {a}, {b}",
            f"{lock}xadd{w} {a}, {self.target(8)}", f"cmpxchg{w} {a}, {b}",
            f"{lock}cmpxchg{w} {a}, {self.target(8)}",
            f"lock {self.one(['add', 'sub', 'and', 'or', 'xor'])}{w} {a}, {self.target(8)}",
            f"lock {self.one(['inc', 'dec', 'neg', 'not'])}{w} {self.target(8)}",
            f"{lock}cmpxchg8b {self.target(8, 8)}", f"{lock}cmpxchg16b {self.target(16, 16)}"])]

    def bits(self):
        w = self.width("wlq")
        op = self.one(["bsf", "bsr", "popcnt", "lzcnt", "tzcnt", "bswap", "bt", "btm"])
        if op == "bswap":
            w = self.width("lq")
            return [f"bswap{w} {self.reg(w)}"]
        if op == "bt":
            count = self.one([self.reg(w), f"${self.r.randrange(BITS[w])}"])
            return [f"{self.one(['bt', 'bts', 'btr', 'btc'])}{w} {count}, {self.reg(w)}"]
        if op == "btm":
            return [f"{self.one(['bt', 'bts', 'btr', 'btc'])}{w} ${self.r.randrange(BITS[w])}, "
                    f"{self.target(8)}"]
        return [f"{op}{w} {self.one([self.reg(w), self.source(8)])}, {self.reg(w)}"]

    def lea(self):
        a, b = self.reg("q"), self.reg("q")
        w = self.width("lq")
        return [f"lea{w} {self.r.randrange(-128, 5000)}({a},{b},{self.one([1, 2, 4, 8])}), "
                f"{self.reg(w)}"]

    def flags(self):
        return self.one([["lahf"], ["sahf"], ["cmc"], ["clc"], ["stc"], ["pushfq", "popq %rax"],
                         ["pushq %rbx", "popq %rcx"]])

    def condition(self):
        cc = self.one(CONDITIONS)
        w = self.width("wlq")
        return [self.one([f"set{cc} {self.pair('b')[0]}", f"set{cc} {self.target(1)}",
                          f"cmov{cc}{w} {self.reg(w)}, {self.reg(w)}",
                          f"cmov{cc}{w} {self.source(8)}, {self.reg(w)}"])]

    def branch(self):
        label = self.label()
        jump = self.one(["j" + self.one(CONDITIONS)] * 12 + ["jrcxz", "loop", "loope", "loopne"])
        return [f"{jump} {label}"] + self.line() + [f"{label}:"]

    def compared(self):
        w = self.width()
        cc = self.one(CONDITIONS)
        a, b = self.pair(w)
        first = self.one([f"cmp{w} {a}, {b}", f"cmp{w} {self.imm(w)}, {b}", f"test{w} {a}, {b}",
                          f"sub{w} {a}, {b}", f"add{w} {a}, {b}", f"dec{w} {a}", f"and{w} {a}, {b}"])
        label = self.label()
        return [first] + self.one([[f"set{cc} %al"], [f"cmov{cc}q {self.reg('q')}, {self.reg('q')}"],
                                   [f"j{cc} {label}"] + self.line() + [f"{label}:"]])

    def table(self):
        """A load at an address that depends on the input."""
        load = self.one(["movzbl", "movsbl"])
        other = [f"{self.one(['xor', 'add'])}b {IN + self.r.randrange(IN_BYTES)}(%rdi), %al"]
        return [f"movzbl {IN + self.r.randrange(IN_BYTES)}(%rdi), %eax"] + self.one([[], other]) + \
            [f"{load} {TABLE}(%rdi,%rax), {self.reg('l')}"]

    def place(self):
        """An access whose place depends on one input byte or two, within what was stored before, and
        mostly a branch on what is there."""
        w, mask, scale = self.width(), self.one([1, 3, 7, 15]), self.one([1, 2, 4, 8])
        room = SCRATCH_BYTES - mask * scale - 8
        at = f"{SCRATCH + self.r.randrange(room)}(%rdi,%r11,{scale})"
        index = [f"movzbl {IN + self.r.randrange(IN_BYTES)}(%rdi), %r11d"]
        if self.r.random() < 0.6:
            index.append(f"{self.one(['xor', 'add', 'sub'])}b {IN + self.r.randrange(IN_BYTES)}(%rdi), %r11b")
        index.append(f"andl ${mask}, %r11d")
        a = self.reg(w)
        access = self.one([f"mov{w} {at}, {a}", f"mov{w} {a}, {at}", f"mov{w} {a}, {at}", f"mov{w} {self.imm(w)}, {at}",
                           f"{self.one(['add', 'xor', 'sub'])}{w} {a}, {at}", f"movdqu {at}, {self.xmm()}",
                           f"lock cmpxchg{w} {a}, {at}", f"lock xadd{w} {a}, {at}", f"xchg{w} {a}, {at}"])
        label = self.label()
        branch = [f"cmp{w} {self.imm(w)}, {at}", f"j{self.one(CONDITIONS)} {label}"] + self.move() + [f"{label}:"]
        return index + [access] + (branch if self.r.random() < 0.7 else [])

    def string(self):
        save = ["movq %rdi, %r11"]
        back = ["movq %r11, %rdi"]
        w = self.width()
        start = [f"leaq {IN + self.r.randrange(16)}(%r11), %rsi",
                 f"leaq {SCRATCH + self.r.randrange(64)}(%r11), %rdi",
                 f"movl ${self.r.randrange(1, 5)}, %ecx"]
        what = self.one([f"movs{w}", f"rep movs{w}", f"stos{w}", f"rep stos{w}", f"lods{w}",
                         f"scas{w}", f"repne scas{w}", f"repe cmps{w}"])
        return save + start + [what] + back

    # ---- vectors ----

    def xmm(self):
        return "%" + self.one(XMM)

    def vector(self):
        op = self.one("""
            paddb paddw paddd paddq psubb psubw psubd psubq pcmpeqb pcmpeqw pcmpeqd pcmpgtb
            pcmpgtw pcmpgtd pand por pxor pandn andps orps xorps andnps andpd orpd xorpd
            pminub pmaxub pminsw pmaxsw pavgb pavgw pmullw pmulhw pmulhuw pmuludq pmaddwd psadbw
            paddsb paddsw paddusb paddusw psubsb psubsw psubusb psubusw packsswb packssdw packuswb
            punpcklbw punpcklwd punpckldq punpcklqdq punpckhbw punpckhwd punpckhdq punpckhqdq
            unpcklps unpckhps unpcklpd unpckhpd movss movsd movhlps movlhps""".split())
        return [f"{op} {self.xmm()}, {self.xmm()}"]

    def vector_imm(self):
        kind = self.r.randrange(4)
        if kind == 0:
            op = self.one(["pshufd", "pshuflw", "pshufhw", "shufps"])
            return [f"{op} ${self.r.randrange(256)}, {self.xmm()}, {self.xmm()}"]
        if kind == 1:
            op = self.one(["psllw", "pslld", "psllq", "psrlw", "psrld", "psrlq", "psraw", "psrad"])
            return [f"{op} ${self.r.randrange(70)}, {self.xmm()}"]
        if kind == 2:
            return [f"{self.one(['pslldq', 'psrldq'])} ${self.r.randrange(18)}, {self.xmm()}"]
        op = self.one(["psllw", "pslld", "psllq", "psrlw", "psrld", "psrlq", "psraw", "psrad"])
        return [f"movl ${self.r.randrange(20)}, %eax", "movd %eax, %xmm3", f"{op} %xmm3, %xmm0"]

    def vector_move(self):
        x, at = self.xmm(), self.source(16)
        r32, r64 = self.reg("l"), self.reg("q")
        return self.one([
            [f"movdqu {at}, {x}"], [f"movdqu {x}, {self.target(16)}"], [f"movq {at}, {x}"],
            [f"movq {x}, {self.target(8)}"], [f"movd {r32}, {x}"], [f"movd {x}, {r32}"],
            [f"movq {r64}, {x}"], [f"movq {x}, {r64}"], [f"movhps {at}, {x}"],
            [f"movlps {at}, {x}"], [f"movhps {x}, {self.target(8)}"], [f"movss {at}, {x}"],
            [f"movsd {at}, {x}"], [f"movss {x}, {self.target(4)}"], [f"movups {at}, {x}"],
            [f"movdqa {self.xmm()}, {x}"], [f"movq {self.xmm()}, {x}"],
            [f"pinsrw ${self.r.randrange(8)}, {r32}, {x}"],
            [f"pextrw ${self.r.randrange(8)}, {x}, {r32}"],
            [f"pmovmskb {x}, {r32}"], [f"movmskps {x}, {r32}"], [f"movmskpd {x}, {r32}"]])

    def search(self):
        """As the string functions do it."""
        a, b = self.xmm(), self.xmm()
        r = self.reg("l")
        return [self.one([f"pcmpeqb {a}, {b}", f"pminub {a}, {b}", f"psubb {a}, {b}"]),
                f"pmovmskb {b}, {r}", self.one([f"testl {r}, {r}", f"subl $0xffff, {r}"])] + \
            self.condition() + [f"bsfl {r}, {r}"]

    def line(self):
        scalar = [self.alu] * 6 + [self.alu1, self.alu1, self.shift, self.shift, self.double_shift,
                                   self.multiply, self.divide, self.extend, self.extend, self.move,
                                   self.move, self.exchange, self.bits, self.bits, self.lea,
                                   self.flags, self.condition, self.condition, self.compared,
                                   self.compared, self.branch]
        vector = [self.vector] * 5 + [self.vector_imm, self.vector_imm, self.vector_move,
                                      self.vector_move, self.vector_move, self.search]
        rare = [self.table, self.string, self.place, self.place, self.place]
        return self.one(self.one([scalar] * 5 + [vector] * 3) if self.r.random() < 0.93 else rare)()

    def start(self):
        lines = []
        for i, name in enumerate(REGS["q"]):
            kind = self.r.random()
            if kind < 0.35:
                lines.append(f"movq {IN + self.r.randrange(IN_BYTES - 8)}(%rdi), %{name}")
            elif kind < 0.5:
                lines.append(f"movzbl {IN + self.r.randrange(IN_BYTES)}(%rdi), %{REGS['l'][i]}")
            elif kind < 0.65:
                lines.append(f"movslq {IN + self.r.randrange(IN_BYTES - 4)}(%rdi), %{name}")
            else:
                lines.append(f"movabsq ${self.number(64)}, %{name}")
        for x in XMM:
            lines.append(f"movdqu {self.source(16)}, %{x}")
        if self.r.random() < 0.5:
            lines.append("addq %rax, %rbx")
        return lines

    def snippet(self):
        lines = self.start()
        for _ in range(self.r.randrange(2, 7)):
            lines += self.line()
        for i in self.r.sample(range(8), 3):
            lines.append(f"movq %{REGS['q'][i]}, {self.target(8)}")
        lines.append(f"movdqu {self.xmm()}, {self.target(16)}")
        return lines


def assembly(count):
    maker = Maker(1)
    out = ["/* written by gen_symbolic.py */", "\t.text"]
    for i in range(count):
        out.append(f"snippet{i}:")
        out += [line if line.endswith(":") else "\t" + line for line in maker.snippet()]
        out.append("\tret")
    out += ["\t.data", "\t.globl snippets", "\t.balign 8", "snippets:"]
    out += [f"\t.quad snippet{i}" for i in range(count)]
    out += ["\t.globl nsnippets", f"nsnippets: .quad {count}",
            '\t.section .note.GNU-stack,"",@progbits']
    return out


# ---- C ----

class CMaker:
    TYPES = ["uint8_t", "int8_t", "uint16_t", "int16_t", "uint32_t", "int32_t", "uint64_t", "int64_t"]

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.one = self.r.choice

    def leaf(self):
        kind = self.r.random()
        if kind < 0.7:
            return f"GET({self.one(self.TYPES)}, {self.r.randrange(56)})"
        if kind < 0.85:
            return self.one("xyz")
        return self.one([str(self.r.randrange(300)), f"{self.r.getrandbits(31):#x}", "10", "'a'"])

    def expr(self, depth):
        if depth == 0:
            return self.leaf()
        a, b = self.expr(depth - 1), self.expr(self.r.randrange(depth))
        kind = self.r.randrange(10)
        if kind < 4:
            return f"({a} {self.one(['+', '-', '*', '&', '|', '^'])} {b})"
        if kind == 4:
            return f"({a} {self.one(['<<', '>>'])} ({b} & 7))"
        if kind == 5:
            return f"({a} {self.one(['/', '%'])} (({b} & 0x7fff) + 1))"
        if kind == 6:
            return f"({self.one(self.TYPES)}){a}"
        if kind == 7:
            return f"({a} {self.one(['<', '<=', '==', '!=', '>', '>='])} {b})"
        if kind == 8:
            return f"({a} < {b} ? {self.leaf()} : {self.leaf()})"
        return f"{self.one(['~', '-', '!'])}({a})"

    def statement(self):
        v = self.one("xyz")
        e = self.expr(2)
        at = self.r.randrange(48)
        word = self.one(["GET", "put", "add", "10", "-7", "key"])
        return self.one([
            f"{v} = {e};", f"{v} += {e};", f"{v} ^= (uint64_t){e} >> {self.r.randrange(8)};",
            f"if ({e}) {v} = {self.expr(1)}; else {v}++;",
            f"if ({self.leaf()} {self.one(['<', '==', '>='])} {self.leaf()}) {v} -= {self.leaf()};",
            f"for (int i = 0; i < (in[{at}] & 3); i++) {v} = {v} * 31 + in[i];",
            f"switch (in[{at}] & 7) {{ case 0: {v} = 1; break; case 1: {v} += y; break;"
            f" case 2: {v} = {e}; break; case 5: x ^= 3; break; default: z--; }}",
            f"{v} += table[in[{at}]];", f"{v} += strlen(text(in, {at}));",
            f"{v} ^= (uint64_t)strcmp(text(in, {at}), \"{word}\");",
            f"{v} ^= (uint64_t)memcmp(in + {at}, \"{word}\", {len(word)}) & 0xff;",
            f"{v} += (uint64_t)strtol(text(in, {at}), NULL, 10);",
            f"{v} += strchr(text(in, {at}), '{word[0]}') != NULL;",
            f"{{ {self.one(['uint8_t', 'uint16_t', 'uint32_t', 'uint64_t'])} b[16] = {{ {self.r.randrange(99)}, {self.r.randrange(99)} }};"
            f" b[in[{at}] & 15] = (uint8_t){v}; b[(in[{at + 1}] ^ in[{at + 3}]) % 16] ^= {self.r.randrange(1, 99)};"
            f" if (b[(in[{at + 2}] + {self.r.randrange(9)}) & 15] > {self.r.randrange(1, 60)}) {v}++; {v} += b[in[{at + 4}] % 16]; }}",
            f"{{ uint8_t b[16]; memcpy(b, in + {at}, 16); b[3] = (uint8_t){v}; {v} += b[{at % 16}]; }}",
        ])


def c_code(count):
    maker = CMaker(2)
    out = ["/* written by gen_symbolic.py */", '#include "symbolic.h"', ""]
    for i in range(count):
        out += [f"static uint64_t f{i}(const uint8_t *in)", "{",
                "\tuint64_t x = in[0], y = 1, z = 77;"]
        out += ["\t" + maker.statement() for _ in range(maker.r.randrange(2, 5))]
        out += ["\treturn x ^ y ^ z;", "}"]
    out.append("c_snippet *const C_SNIPPETS[] = {")
    out += [f"\tf{i}," for i in range(count)]
    out += ["\tNULL,", "};"]
    return out


def main():
    kind, count, output = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    lines = assembly(count) if kind == "asm" else c_code(count)
    with open(output, "w") as file:
        file.write("\n".join(lines) + "\n")


main()
