/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jump tables, as gcc and clang write them:
 *
 *	cmp  $7, %edi                        cmp  $7, %edi
 *	ja   default                         ja   default
 *	lea  table(%rip), %rdx
 *	movslq (%rdx,%rdi,4), %rax           jmp  *table(,%rdi,8)
 *	add  %rdx, %rax
 *	jmp  *%rax
 *
 * Found by going back over the instructions before the jump, in order of address: where the table
 * begins, and how many entries it has. With no bound to be seen, entries are believed as long as
 * they lead to instructions of the same function. What is missed is learnt when it runs.
 */
#include <string.h>

#include "binary/decode.h"

#define LOOK_BACK 24       /* instructions, for the load and the bound */
#define LOOK_BACK_BASE 512 /* … for the table's address, which moves out of loops */
#define MAX_ENTRIES 4096   /* that a bound may allow */
#define MAX_GUESSED 512    /* with no bound */

struct table {
	uint64_t addr;
	bool relative; /* 4 bytes, added to the table's address; otherwise 8, absolute */
};

static ZydisRegister whole(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

static bool is_reg(const struct decoded *d, unsigned i, ZydisRegister reg)
{
	return i < d->insn.operand_count_visible && d->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       whole(d->op[i].reg.value) == reg;
}

static bool is_memory(const struct decoded *d, unsigned i)
{
	return i < d->insn.operand_count_visible && d->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/* The instruction before the one at *pos, over bytes that nothing has led to (yet). */
static bool step_back(struct build *b, uint32_t *pos, struct decoded *d)
{
	uint32_t at = *pos - b->at.pos;
	while (at && b->slot[at - 1].kind == INSN_NONE)
		at--;
	for (uint32_t len = 1; len <= 15 && len <= at; len++) {
		const struct insn *slot = &b->slot[at - len];
		if (slot->kind > INSN_INSIDE && slot->kind != INSN_BAD && slot->len == len) {
			*pos = b->at.pos + at - len;
			return binary_decode_full(b, *pos, d);
		}
	}
	return false;
}

/* The address that the instruction puts into reg; 0: none that can be told. */
static uint64_t address_into(const struct decoded *d, ZydisRegister reg)
{
	if (!is_reg(d, 0, reg))
		return 0;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_LEA && d->op[1].mem.base == ZYDIS_REGISTER_RIP)
		return d->next + (uint64_t)d->op[1].mem.disp.value;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_MOV && d->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return d->op[1].imm.value.u;
	return 0;
}

/* The table's address in reg: the nearest one before pos, or else the first in the function. */
static uint64_t base_of(struct build *b, uint32_t pos, ZydisRegister reg)
{
	struct decoded d;
	uint64_t addr;
	for (int n = 0; n < LOOK_BACK_BASE && step_back(b, &pos, &d); n++) {
		addr = address_into(&d, reg);
		if (addr)
			return addr;
	}
	for (uint32_t i = 0, n = 0; i < b->at.len && n < LOOK_BACK_BASE; i++) {
		if (b->slot[i].kind != INSN_PLAIN || !binary_decode_full(b, b->at.pos + i, &d))
			continue;
		n++;
		addr = address_into(&d, reg);
		if (addr)
			return addr;
	}
	return 0;
}

/* [table + index*8], with the table as a number or in a register. */
static bool absolute_table(struct build *b, uint32_t pos, const ZydisDecodedOperand *op,
			   struct table *t)
{
	t->relative = false;
	t->addr = (uint64_t)op->mem.disp.value;
	if (op->mem.index == ZYDIS_REGISTER_NONE || op->mem.scale != 8)
		return false;
	if (op->mem.base != ZYDIS_REGISTER_NONE) {
		uint64_t base = base_of(b, pos, whole(op->mem.base));
		if (!base)
			return false;
		t->addr += base;
	}
	return t->addr != 0;
}

/* The sum of x and y is jumped to: one was loaded from the table, the other is its address. */
static bool relative_table(struct build *b, uint32_t pos, ZydisRegister x, ZydisRegister y,
			   struct table *t)
{
	struct decoded d;
	t->relative = true;
	for (int n = 0; n < LOOK_BACK && step_back(b, &pos, &d); n++) {
		bool to_x = is_reg(&d, 0, x), to_y = is_reg(&d, 0, y);
		if (!to_x && !to_y)
			continue;
		if (d.insn.mnemonic == ZYDIS_MNEMONIC_LEA) {
			t->addr = address_into(&d, to_x ? x : y);
			return t->addr != 0;
		}
		if ((d.insn.mnemonic == ZYDIS_MNEMONIC_MOVSXD ||
		     d.insn.mnemonic == ZYDIS_MNEMONIC_MOV) &&
		    is_memory(&d, 1)) {
			t->addr = base_of(b, pos, to_x ? y : x);
			return t->addr != 0;
		}
	}
	return false;
}

static bool find_table(struct build *b, uint32_t jump, struct table *t)
{
	struct decoded d;
	ZydisRegister reg;
	uint32_t pos = jump;
	if (!binary_decode_full(b, jump, &d) || !d.insn.operand_count_visible)
		return false;
	if (is_memory(&d, 0))
		return absolute_table(b, jump, &d.op[0], t);
	if (d.op[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	reg = whole(d.op[0].reg.value);
	for (int n = 0; n < LOOK_BACK && step_back(b, &pos, &d); n++) {
		if (!is_reg(&d, 0, reg))
			continue;
		if (d.insn.mnemonic == ZYDIS_MNEMONIC_ADD &&
		    d.op[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
			return relative_table(b, pos, reg, whole(d.op[1].reg.value), t);
		if (d.insn.mnemonic == ZYDIS_MNEMONIC_LEA && d.op[1].mem.scale == 1)
			return relative_table(b, pos, whole(d.op[1].mem.base),
					      whole(d.op[1].mem.index), t);
		if (d.insn.mnemonic != ZYDIS_MNEMONIC_MOV)
			return false;
		if (is_memory(&d, 1))
			return absolute_table(b, pos, &d.op[1], t);
		if (d.op[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
			return false;
		reg = whole(d.op[1].reg.value);
	}
	return false;
}

/* How many entries the code before the jump lets through; 0: cannot be told. */
static uint32_t find_bound(struct build *b, uint32_t pos)
{
	struct decoded d;
	uint32_t more = 0;
	bool compared = false;
	for (int n = 0; n < LOOK_BACK && step_back(b, &pos, &d); n++) {
		bool constant = d.insn.operand_count_visible == 2 &&
				d.op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
				d.op[1].imm.value.u < MAX_ENTRIES;
		switch (d.insn.mnemonic) {
		case ZYDIS_MNEMONIC_JNBE:
		case ZYDIS_MNEMONIC_JBE:
			compared = true;
			more = 1;
			break;
		case ZYDIS_MNEMONIC_JNB:
		case ZYDIS_MNEMONIC_JB:
			compared = true;
			more = 0;
			break;
		case ZYDIS_MNEMONIC_CMP:
			if (compared)
				return constant ? (uint32_t)d.op[1].imm.value.u + more : 0;
			break;
		case ZYDIS_MNEMONIC_AND:
			if (constant && !compared)
				return (uint32_t)d.op[1].imm.value.u + 1;
			break;
		default: break;
		}
	}
	return 0;
}

/* The position that entry i leads to; NONE: to no code. */
static uint32_t entry(const struct build *b, const struct table *t, uint32_t i)
{
	const uint8_t *p;
	int32_t rel;
	if (!t->relative)
		return binary_pos(b->out, binary_elf_pointer(b->elf, t->addr + 8 * (uint64_t)i));
	p = binary_elf_at(b->elf, t->addr + 4 * (uint64_t)i, 4);
	if (!p)
		return NONE;
	memcpy(&rel, p, 4);
	return binary_pos(b->out, t->addr + (uint64_t)(int64_t)rel);
}

void binary_table_resolve(struct build *b, uint32_t jump)
{
	struct table t = { 0 };
	uint32_t end = jump + b->slot[jump - b->at.pos].len;
	uint32_t bound, n;
	if (!find_table(b, jump, &t))
		return;
	bound = find_bound(b, jump);
	n = bound ? bound : MAX_GUESSED;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t to = entry(b, &t, i);
		bool own = to != NONE && to - b->at.pos < b->at.len;
		if (to == NONE || (!own && !bound))
			return;
		if (own && b->slot[to - b->at.pos].kind == INSN_INSIDE)
			return;
		VEC_PUSH(&b->way, ((struct way){ end, to }));
		if (own)
			VEC_PUSH(&b->work, to);
	}
}
