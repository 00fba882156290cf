#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes forms.S: flushes, fences and non-temporal stores in every addressing mode.

usage: gen_forms.py OUTPUT

One function per instruction. Each form is: load the registers that its address is made of,
the instruction, and a LEA with the very same address, whose result is kept for forms.c: the
processor itself says which address was meant. Where the result should be is known here, too,
and forms.c compares.

The pools lie at fixed addresses, one of them below 4 GiB and in reach of RIP-relative addresses
and of 32-bit ones; so everything is known when this is assembled.
"""
import itertools
import sys

HIGH, LOW = 0x10000000000, 0x30000000
POOL_BYTES = 1 << 20
FS_BASE, GS_BASE = HIGH - 0x7770, HIGH - 0x13330
REGS = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
        "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"]
M64, M32 = (1 << 64) - 1, (1 << 32) - 1


def reg32(reg):
    return reg + "d" if reg[1:].isdigit() else "e" + reg[1:]


class Mode:
    """An addressing mode. disp: bytes of the displacement, 0, 1 or 4."""

    def __init__(self, base=None, index=None, scale=1, disp=0, seg="", addr32=False, rip=False):
        self.base, self.index, self.scale, self.disp = base, index, scale, disp
        self.seg, self.addr32, self.rip = seg, addr32, rip
        # What is only a 32-bit number must point into the low pool, unless a segment helps.
        absolute = not base and not rip and not index
        self.low = not seg and (addr32 or rip or absolute or not base)

    def regs(self):
        return {r for r in (self.base, self.index) if r}


def solve(mode, target, salt):
    """(register values, displacement) that make the mode mean the target; None: impossible."""
    wanted = target - {"": 0, "fs": FS_BASE, "gs": GS_BASE}[mode.seg]
    disp = {0: 0, 1: (salt * 37 % 255) - 127 or 1, 4: 0x1000 + salt * 0x111}[mode.disp]
    if mode.rip or not mode.base and not mode.index:
        return {}, wanted
    if not mode.base:
        disp = wanted - (salt % 1000 + 1) * mode.scale
        return {mode.index: salt % 1000 + 1}, disp
    values = {}
    if mode.index == mode.base:
        if (wanted - disp) % (1 + mode.scale):
            return None
        values[mode.base] = (wanted - disp) // (1 + mode.scale)
    else:
        step = (salt * 0x9E3779B1 + 12345) & 0xFFFFF if mode.index and mode.index != "riz" else 0
        values[mode.base] = wanted - disp - step * mode.scale
        if mode.index and mode.index != "riz":
            values[mode.index] = step
    if mode.addr32:  # what is above the lower half must not matter
        values = {r: (v & M32) | 0xABCD0000 << 32 for r, v in values.items()}
    return {r: v & M64 for r, v in values.items()}, disp


def operand(mode, disp, seg=True):
    prefix = f"%{mode.seg}:" if mode.seg and seg else ""
    name = (lambda r: reg32(r) if mode.addr32 and r != "riz" else r)
    index = mode.index and ("eiz" if mode.addr32 and mode.index == "riz" else name(mode.index))
    if mode.rip:
        # low_pool is LOW, but only for the linker: the assembler takes numbers for distances.
        return f"{prefix}low_pool+({disp - LOW})(%{'eip' if mode.addr32 else 'rip'})"
    if not mode.base and not index:
        return f"{prefix}{disp:#x}"
    inner = f"%{name(mode.base)}" if mode.base else ""
    if index:
        inner += f",%{index},{mode.scale}"
    number = f"{disp:#x}" if disp or not mode.base else ""
    return f"{prefix}{number}({inner})"


def encoding(mode):
    return {0: "", 1: "{disp8} ", 4: "{disp32} "}[mode.disp] if mode.base else ""


# ---- the modes ----

def plain_modes():
    for disp, base in itertools.product((0, 1, 4), REGS):
        yield Mode(base, disp=disp)
        yield Mode(base, "riz", disp=disp)  # a SIB byte without an index


def index_modes(full):
    for base, index, scale, disp in itertools.product(REGS, REGS, (1, 2, 4, 8), (0, 1, 4)):
        if index == "rsp":
            continue
        # The short list still has every base, index, scale and width, in different company.
        number = REGS.index(base) * 5 + REGS.index(index) * 3 + scale + disp
        if full or number % 37 == 0:
            yield Mode(base, index, scale, disp)
    for index, scale in itertools.product(REGS, (1, 2, 4, 8)):
        if index != "rsp":
            yield Mode(None, index, scale, 4)


def special_modes():
    yield Mode(disp=4)
    yield Mode(rip=True, disp=4)
    for seg in ("fs", "gs"):
        yield Mode(disp=4, seg=seg)
        yield Mode(rip=True, disp=4, seg=seg)
        for base, disp in itertools.product(("rax", "rsp", "rbp", "r11", "r12", "r13"), (0, 1, 4)):
            yield Mode(base, disp=disp, seg=seg)
        yield Mode("rbx", "r9", 4, 1, seg=seg)
        yield Mode(None, "r14", 8, 4, seg=seg)
        yield Mode("rdi", "r15", 2, 0, seg=seg, addr32=True)
    yield Mode(rip=True, disp=4, addr32=True)
    for base, disp in itertools.product(REGS, (0, 1, 4)):
        yield Mode(base, disp=disp, addr32=True)
        yield Mode(base, "r10" if base != "r10" else "rcx", 8, disp, addr32=True)
    yield Mode(None, "rdx", 4, 4, addr32=True)


def all_modes(full):
    return itertools.chain(plain_modes(), index_modes(full), special_modes())


# ---- writing ----

class Writer:
    def __init__(self):
        self.text, self.rows, self.groups = [], [], []
        self.slots = self.row_count = 0

    def begin(self, name):
        self.groups.append(name)
        self.rows.append(f"rows_{len(self.groups) - 1}:")
        self.first = self.row_count
        self.text.append(f"run_{len(self.groups) - 1}:\n\tENTER")
        self.line = {LOW: 0, HIGH: 0}
        self.salt = 0

    def end(self):
        self.text.append("\tLEAVE")
        self.groups[-1] = (self.groups[-1], self.row_count - self.first)

    def row(self, kind, size=0, seg="", delta=0, expected=0):
        number = {"": 0, "fs": 1, "gs": 2}[seg]
        self.rows.append(f"\t.quad {expected & M64:#x}\n\t.long {self.slots}\n"
                         f"\t.byte {KINDS.index(kind)}, {size}, {number}, {delta}")
        self.row_count += 1

    def target(self, mode, align):
        """Lines of its own for each form (two: it may cross), at any place that is aligned."""
        pool = LOW if mode.low else HIGH
        self.line[pool] += 2
        place = (self.salt * 7) % 64 // align * align if align < 64 else 0
        return pool + self.line[pool] * 64 % POOL_BYTES + place

    def prepare(self, mode, align):
        """The registers for a fresh target: (target, displacement)."""
        solved = None
        while not solved:
            self.salt += 1
            target = self.target(mode, align)
            solved = solve(mode, target, self.salt)
        values, disp = solved
        for reg, number in values.items():
            self.text.append(f"\tmovabs ${number:#x}, %{reg}")
        return target, disp

    def keep_address(self, mode, disp):
        into = next(iter(mode.regs() - {"riz"}), "rax")
        self.text.append(f"\t{encoding(mode)}lea {operand(mode, disp, seg=False)}, %{into}\n"
                         f"\tmov %{into}, lea_results+{8 * self.slots}(%rip)")
        self.slots += 1

    def form(self, mode, instruction, kind, size=0, align=1, setup=None):
        target, disp = self.prepare(mode, align)
        if setup:
            self.text.append(setup)
        self.text.append(f"\t{encoding(mode)}{instruction} {operand(mode, disp)}")
        self.row(kind, size, mode.seg, 0, target)
        self.keep_address(mode, disp)

    def raw(self, kind, code, mode, size=0, align=1):
        """An encoding that the assembler would not choose; its address is (%rbx)."""
        target, disp = self.prepare(mode, align)
        self.text.append("\t.byte " + ", ".join(f"{b:#x}" for b in code))
        self.row(kind, size, mode.seg, 0, target)
        self.keep_address(mode, disp)

    def masked(self, instruction, seg, addr32, data, mask_reg, mask, width):
        """maskmovq and its like: the address is in rdi; one row for each run of mask bytes."""
        mode = Mode("rdi", seg=seg, addr32=addr32)
        target, disp = self.prepare(mode, 1)
        prefix = (f"{seg} " if seg else "") + ("addr32 " if addr32 else "")
        self.text.append(mask_setup(mask_reg, mask, width))
        self.text.append(f"\t{prefix}{instruction} %{mask_reg}, %{data}")
        at = 0
        while at < width:
            length = 0
            while at + length < width and mask >> (at + length) & 1:
                length += 1
            if length:
                self.row("nt", length, seg, at, target)
            at += length or 1
        self.keep_address(mode, disp)


def mask_setup(reg, mask, width):
    """Puts 0x80 or 0x7f into each byte of the register: only the top bit counts."""
    number = sum((0x80 if mask >> i & 1 else 0x7F) << 8 * i for i in range(width))
    lines = [f"\tmovabs ${number & M64:#x}, %rax"]
    if width == 8:
        lines.append(f"\tmovq %rax, %{reg}")
    else:
        lines.append(f"\tmovq %rax, %{reg}\n\tmovabs ${number >> 64:#x}, %rax\n"
                     f"\tpinsrq $1, %rax, %{reg}")
    return "\n".join(lines)


KINDS = ["clwb", "clflushopt", "clflush", "sfence", "mfence", "lfence", "nt"]


def flush_group(w, name):
    w.begin(name)
    for number, mode in enumerate(all_modes(full=True)):
        w.form(mode, name, name)
        if number % 50 == 0:
            w.text.append("\tsfence")
            w.row("sfence")
    prefix = [] if name == "clflush" else [0x66]
    code = [0x0F, 0xAE, 0x33 if name == "clwb" else 0x3B]
    rbx, low = Mode("rbx"), Mode("rbx", addr32=True)
    for extra in ([0x2E], [0x3E], [0x26], [0x36], [0x3E, 0x2E]):
        w.raw(name, extra + prefix + code, rbx)
        w.raw(name, prefix + extra + code, rbx)
    for rex in (0x40, 0x42, 0x44, 0x46, 0x48, 0x4A, 0x4C, 0x4E):
        w.raw(name, prefix + [rex] + code, rbx)
    for extra, mode in (([0x67], low), ([0x64], Mode("rbx", seg="fs")),
                        ([0x65], Mode("rbx", seg="gs")),
                        ([0x65, 0x67], Mode("rbx", seg="gs", addr32=True)),
                        ([0x67, 0x65], Mode("rbx", seg="gs", addr32=True))):
        w.raw(name, extra + prefix + code, mode)
        w.raw(name, prefix + extra + code, mode)
        w.raw(name, extra[:1] + prefix + extra[1:] + [0x48] + code, mode)
    if prefix:
        w.raw(name, [0x66, 0x66] + code, rbx)
    w.end()


def sources(kind):
    """Registers to store from, taking turns."""
    many = {"r64": REGS, "r32": [reg32(r) for r in REGS], "mm": [f"mm{i}" for i in range(8)],
            "xmm": [f"xmm{i}" for i in range(16)], "ymm": [f"ymm{i}" for i in range(16)]}[kind]
    return itertools.cycle(many)


def store_group(w, name, instruction, kind, size):
    w.begin(name)
    registers, number = sources(kind), 0
    for mode in all_modes(full=False):
        taken = mode.regs() | {reg32(r) for r in mode.regs()} | {"rsp", "esp"}
        source = next(r for r in registers if r not in taken)
        number += 1
        setup = None
        if kind in ("r32", "r64"):
            setup = f"\tmovabs ${0x0123456789ABCDEF * number & M64:#x}, %" + (
                source if kind == "r64" else next(r for r in REGS if reg32(r) == source))
        if mode.base == "rsp":  # in a block of its own, where the stack pointer is just there
            via = next(r for r in REGS if r not in taken and source not in (r, reg32(r)))
            setup = (setup or "") + f"\n\tlea 1f(%rip), %{via}\n\tjmp *%{via}\n1:"
        w.form(mode, f"{instruction} %{source},", "nt", size, size, setup)
        if number % 16 == 0:
            w.text.append("\tmfence")
            w.row("mfence")
    w.end()


def masked_group(w, name, kind, width):
    w.begin(name)
    masks = [(1 << width) - 1, 0, 1, 1 << (width - 1), 0x5555 % (1 << width), 0x6D % (1 << width),
             0xC3 % (1 << width), (1 << width) - 2, 0x81 % (1 << width), 0xE7E7 % (1 << width)]
    data = sources(kind)
    forms = list(itertools.product(masks, ("", "fs", "gs"), (False, True)))
    for mask, seg, addr32 in forms:
        if seg == "fs" and addr32:
            continue
        source = next(data)
        mask_reg = kind + ("7" if source != kind + "7" else "6")
        w.text.append(f"\tRELOAD_{kind.upper()}")
        w.masked(name, seg, addr32, source, mask_reg, mask, width)
    w.end()


def fence_group(w):
    w.begin("fences")
    for kinds in itertools.product(("sfence", "mfence", "lfence"), repeat=3):
        for kind in kinds:
            w.text.append(f"\t{kind}")
            if kind != "lfence":
                w.row(kind)
        w.text.append("\tnop")
    w.end()


HEAD = """\
/* SPDX-License-Identifier: BSD-3-Clause */
/* Made by gen_forms.py. */
.allow_index_reg
#define ARCH_PRCTL 158
#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
.macro LOADX i
	vmovdqu patterns+32*\\i(%rip), %ymm\\i
.endm
.macro LOADM i
	movq patterns+8*\\i(%rip), %mm\\i
.endm
.macro RELOAD_XMM
	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	LOADX \\i
	.endr
.endm
.macro RELOAD_MM
	.irp i,0,1,2,3,4,5,6,7
	LOADM \\i
	.endr
.endm
.macro PRCTL code, value
	mov $ARCH_PRCTL, %eax
	mov $\\code, %edi
	movabs \\value, %rsi
	syscall
.endm
.macro ENTER
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, saved_sp(%rip)
	PRCTL ARCH_GET_FS, $saved_fs
	PRCTL ARCH_SET_FS, $FS_BASE
	PRCTL ARCH_SET_GS, $GS_BASE
	RELOAD_XMM
	RELOAD_MM
.endm
.macro LEAVE
	mov saved_sp(%rip), %rsp
	mov $ARCH_PRCTL, %eax
	mov $ARCH_SET_FS, %edi
	mov saved_fs(%rip), %rsi
	syscall
	emms
	vzeroupper
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
.endm
"""


def write(w, out):
    out.write(HEAD)
    out.write(f".set FS_BASE, {FS_BASE:#x}\n.set GS_BASE, {GS_BASE:#x}\n.text\n")
    out.write("\n".join(w.text))
    out.write("\n.section .rodata\n.balign 8\n" + "\n".join(w.rows) + "\n.balign 32\npatterns:\n")
    for i in range(16 * 32):
        out.write(f"\t.byte {(i * 167 + 13) % 255 + 1}\n")
    for name, number in (("form_groups", len(w.groups)), ("form_fs_base", FS_BASE),
                         ("form_gs_base", GS_BASE), ("form_high", HIGH), ("form_low", LOW),
                         ("form_bytes", POOL_BYTES)):
        out.write(f".globl {name}\n.balign 8\n{name}: .quad {number:#x}\n")
    out.write(".globl form_group\n.balign 8\nform_group:\n")
    for number, (name, rows) in enumerate(w.groups):
        out.write(f"\t.quad name_{number}, run_{number}, rows_{number}, {rows}\n")
    for number, (name, _) in enumerate(w.groups):
        out.write(f"name_{number}: .asciz \"{name}\"\n")
    out.write(f".bss\n.balign 8\n.globl lea_results\nlea_results: .skip {8 * w.slots + 8}\n"
              "saved_sp: .skip 8\nsaved_fs: .skip 8\n.section .note.GNU-stack,\"\",@progbits\n")


def main():
    w = Writer()
    for name in ("clwb", "clflushopt", "clflush"):
        flush_group(w, name)
    store_group(w, "movnti-32", "movntil", "r32", 4)
    store_group(w, "movnti-64", "movntiq", "r64", 8)
    store_group(w, "movntq", "movntq", "mm", 8)
    for name in ("movntdq", "movntps", "movntpd"):
        store_group(w, name, name, "xmm", 16)
        store_group(w, f"v{name}-128", f"v{name}", "xmm", 16)
        store_group(w, f"v{name}-256", f"v{name}", "ymm", 32)
    masked_group(w, "maskmovdqu", "xmm", 16)
    masked_group(w, "vmaskmovdqu", "xmm", 16)
    masked_group(w, "maskmovq", "mm", 8)
    fence_group(w)
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        write(w, out)


if __name__ == "__main__":
    main()
