/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes and edges of flow.h, from the instructions of one file.
 *
 * Block by block: `now` has the node of each register's value at the instruction at work, 0 if it is
 * certainly no address. Only whole pointers are followed, 64 bits; what a shift or a product makes of
 * one is none. A slot of the stack is known by the register and displacement that name it: in code of
 * compilers that is the frame pointer, or a stack pointer that does not move between calls. A call
 * through a pointer may lead to any function of the file whose address stands in its data.
 */
#include <stdlib.h>
#include <string.h>

#include "binary/decode.h"
#include "binary/flow.h"

#define MAX_BLOCKS 200000u
#define VECTORS 16 /* registers that are followed inside a block only */
#define REGS (FLOW_REGS + VECTORS)
#define CALLER_SAVED 0x0fc7u /* rax, rcx, rdx, rsi, rdi, r8 to r11 */

struct maker {
	struct flow *w;
	const struct binary_view *v;
	const struct binary *b;
	const struct block *block;
	uint32_t file, at; /* position at work */
	const uint8_t *bytes;
	ZydisDecoder zydis;
	struct decoded d;
	uint8_t *framed;    /* units whose rbp is the frame pointer */
	uint16_t *clobbers; /* of each unit: registers that it changes, a bit each */
	uint32_t now[REGS];
};

/* ---- operands ---- */

static int number(ZydisRegister r)
{
	if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
		return r - ZYDIS_REGISTER_RAX;
	if (r >= ZYDIS_REGISTER_XMM0 && r <= ZYDIS_REGISTER_XMM15)
		return FLOW_REGS + (r - ZYDIS_REGISTER_XMM0);
	return -1;
}

static int reg_of(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER ? number(op->reg.value) : -1;
}

/* The whole register of which this is a part, -1: none that is followed. */
static int clobbered(const ZydisDecodedOperand *op)
{
	if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return -1;
	return number(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, op->reg.value));
}

static uint32_t unit_of(const struct maker *m)
{
	return m->block->unit;
}

static bool is_stack(const struct maker *m, ZydisRegister r)
{
	return r == ZYDIS_REGISTER_RSP || (r == ZYDIS_REGISTER_RBP && m->framed[unit_of(m)]);
}

/* A place that is named without a pointer: *kind, *space, *at. */
static bool is_place(const struct maker *m, const ZydisDecodedOperand *op, char *kind,
		     uint64_t *space, uint32_t *at)
{
	*at = (uint32_t)op->mem.disp.value;
	*space = (uint64_t)m->file << 32;
	if (op->mem.segment == ZYDIS_REGISTER_FS) {
		*kind = 't';
		return op->mem.base == ZYDIS_REGISTER_NONE;
	}
	*kind = 'g';
	if (op->mem.base == ZYDIS_REGISTER_RIP) {
		*at = (uint32_t)(m->d.next + (uint64_t)op->mem.disp.value);
		return true;
	}
	if (op->mem.base == ZYDIS_REGISTER_NONE && op->mem.index == ZYDIS_REGISTER_NONE)
		return true;
	if (!is_stack(m, op->mem.base) || op->mem.index != ZYDIS_REGISTER_NONE)
		return false;
	*kind = op->mem.base == ZYDIS_REGISTER_RSP ? 's' : 'b';
	*space |= unit_of(m);
	return true;
}

static uint32_t base_node(const struct maker *m, ZydisRegister r)
{
	int i = number(r);
	return i < 0 || i >= FLOW_REGS || is_stack(m, r) ? 0 : m->now[i];
}

/* The address of an operand, as a value. */
static uint32_t address(struct maker *m, const ZydisDecodedOperand *op)
{
	uint32_t node = binary_flow_node(m->w), at;
	uint32_t base = base_node(m, op->mem.base), index = base_node(m, op->mem.index);
	uint64_t space;
	char kind;
	if (is_place(m, op, &kind, &space, &at)) {
		binary_flow_add(m->w, node, binary_flow_variable(m->w, kind, space, at));
		return node;
	}
	if (index) {
		binary_flow_edge(m->w, base, node, op->mem.scale > 1 ? FLOW_DERIVE : FLOW_MIXED);
		if (op->mem.scale <= 1)
			binary_flow_edge(m->w, index, node, FLOW_MIXED);
	} else {
		binary_flow_edge(m->w, base, node, op->mem.disp.value ? FLOW_DERIVE : FLOW_COPY);
	}
	return node;
}

static uint32_t load(struct maker *m, const ZydisDecodedOperand *op)
{
	uint32_t node, at;
	uint64_t space;
	char kind;
	if (op->size < 64)
		return 0;
	node = binary_flow_node(m->w);
	if (is_place(m, op, &kind, &space, &at)) {
		binary_flow_edge(m->w, binary_flow_place(m->w, kind, space, at), node, FLOW_COPY);
		return node;
	}
	bool plain = op->mem.index == ZYDIS_REGISTER_NONE;
	uint32_t base = base_node(m, op->mem.base), index = base_node(m, op->mem.index);
	binary_flow_access(m->w, base, plain ? (uint32_t)op->mem.disp.value : NONE, node, false);
	if (!plain && op->mem.scale <= 1)
		binary_flow_access(m->w, index, NONE, node, false);
	return node;
}

static void note_store(struct maker *m, uint32_t base, uint32_t index, bool scaled)
{
	struct flow_store s = { m->file, m->at, base, index, scaled };
	hmap_put(&m->w->store_at, (uint64_t)m->file << 32 | m->at, m->w->store.n);
	VEC_PUSH(&m->w->store, s);
}

static void store(struct maker *m, const ZydisDecodedOperand *op, uint32_t value)
{
	uint64_t space;
	uint32_t at;
	char kind;
	if (is_place(m, op, &kind, &space, &at)) {
		if (op->size >= 64)
			binary_flow_edge(m->w, value, binary_flow_place(m->w, kind, space, at),
					 FLOW_COPY);
		return;
	}
	bool plain = op->mem.index == ZYDIS_REGISTER_NONE;
	uint32_t base = base_node(m, op->mem.base), index = base_node(m, op->mem.index);
	if (is_stack(m, op->mem.base))
		return;
	note_store(m, base, index, op->mem.scale > 1);
	if (op->size >= 64)
		binary_flow_access(m->w, base, plain ? (uint32_t)op->mem.disp.value : NONE, value,
				   true);
}

/* ---- instructions ---- */

/* The address of the slot that the register points to. */
static uint32_t stack_address(struct maker *m, ZydisRegister r)
{
	uint64_t space = (uint64_t)m->file << 32 | unit_of(m);
	uint32_t node = binary_flow_node(m->w);
	char kind = r == ZYDIS_REGISTER_RSP ? 's' : 'b';
	binary_flow_add(m->w, node, binary_flow_variable(m->w, kind, space, 0));
	return node;
}

static uint32_t value_of(struct maker *m, const ZydisDecodedOperand *op)
{
	int r = reg_of(op);
	if (r >= 0 && is_stack(m, op->reg.value))
		return stack_address(m, op->reg.value);

	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return load(m, op);
	return r >= 0 ? m->now[r] : 0;
}

/* Both flow into a new value. */
static uint32_t join(struct maker *m, uint32_t a, uint32_t b, enum flow_edge kind)
{
	uint32_t node = binary_flow_node(m->w);
	binary_flow_edge(m->w, a, node, kind);
	binary_flow_edge(m->w, b, node, kind);
	return node;
}

/* A number that is the address of a variable, in code that does not move. */
static uint32_t constant(struct maker *m, const ZydisDecodedOperand *op)
{
	uint64_t a = op->imm.value.u;
	uint32_t node;
	for (size_t i = 0; a > 0xffff && i < m->b->load.n; i++)
		if (a - m->b->load.p[i].addr < m->b->load.p[i].len + 0x10000 &&
		    !m->b->load.p[i].code) {
			node = binary_flow_node(m->w);
			binary_flow_add(m->w, node,
					binary_flow_variable(m->w, 'g', (uint64_t)m->file << 32,
							     (uint32_t)a));
			return node;
		}
	return 0;
}

/* What an instruction with two operands leaves in the first one. */
static uint32_t result(struct maker *m, bool *other)
{
	const ZydisDecodedOperand *a = &m->d.op[0], *b = &m->d.op[1];
	switch (m->d.insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return constant(m, b);
		return value_of(m, b);
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_MOVNTI:
	case ZYDIS_MNEMONIC_VMOVQ:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVDQU:
	case ZYDIS_MNEMONIC_VMOVDQA: return value_of(m, b);
	case ZYDIS_MNEMONIC_LEA: return address(m, b);
	case ZYDIS_MNEMONIC_ADD:
		if (b->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return join(m, value_of(m, a), value_of(m, b), FLOW_MIXED);
		return join(m, value_of(m, a), 0, FLOW_DERIVE);
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR: return join(m, value_of(m, a), 0, FLOW_DERIVE);
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_PUNPCKLQDQ: return join(m, value_of(m, a), value_of(m, b), FLOW_COPY);
	default:
		*other = m->d.insn.meta.category != ZYDIS_CATEGORY_CMOV;
		return *other ? 0 : join(m, value_of(m, a), value_of(m, b), FLOW_COPY);
	}
}

static void instruction(struct maker *m)
{
	const struct decoded *d = &m->d;
	bool other = false;
	uint32_t value = 0;
	unsigned n = d->insn.operand_count_visible;
	if (n >= 2)
		value = result(m, &other);
	for (unsigned i = 0; i < n; i++) {
		const ZydisDecodedOperand *op = &d->op[i];
		if (!(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
			store(m, op, i ? 0 : value);
		else if (clobbered(op) >= 0)
			m->now[clobbered(op)] = reg_of(op) >= 0 && (!i || !other) ? value : 0;
	}
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOVSB:
	case ZYDIS_MNEMONIC_MOVSW:
	case ZYDIS_MNEMONIC_MOVSQ:
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_STOSQ: note_store(m, m->now[7], 0, false); break;
	case ZYDIS_MNEMONIC_CMPXCHG: m->now[0] = join(m, m->now[0], value, FLOW_COPY); break;
	case ZYDIS_MNEMONIC_LEAVE: m->now[5] = 0; break;
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV: m->now[0] = m->now[2] = 0; break;
	default: break;
	}
}

/* ---- blocks ---- */

static uint32_t returned(struct maker *m)
{
	return binary_flow_place(m->w, 'u', m->file, unit_of(m));
}

static const uint8_t args[6] = { 7, 6, 2, 1, 8, 9 };

/* What all calls through pointers have in common. */
static uint32_t through(struct maker *m, uint64_t arg)
{
	return binary_flow_place(m->w, 'x', m->file, arg);
}

static void call_through(struct maker *m, const struct flow_call *c)
{
	for (uint64_t i = 0; i < 6; i++)
		binary_flow_edge(m->w, c->arg[i], through(m, i), FLOW_CALL);
	binary_flow_edge(m->w, through(m, 6), c->result, FLOW_CALL);
}

static void call(struct maker *m)
{
	uint16_t lost = CALLER_SAVED;
	struct flow_call c = { .file = m->file, .block = (uint32_t)(m->block - m->b->block.p) };
	for (int i = 0; i < 6; i++)
		c.arg[i] = m->now[args[i]];
	c.result = m->block->tail ? returned(m) : binary_flow_node(m->w);
	if (m->block->call != BLOCK_CALLS && !m->block->tail)
		binary_flow_add(m->w, c.result, binary_flow_object(m->w));
	if (m->block->call == BLOCK_UNKNOWN && !(m->block->tail && m->block->nedge))
		call_through(m, &c);
	hmap_put(&m->w->call_at, (uint64_t)c.file << 32 | c.block, m->w->call.n);
	VEC_PUSH(&m->w->call, c);
	/* Of functions of the same file compilers know which registers they leave alone. */
	if (m->block->call == BLOCK_CALLS)
		lost &= m->clobbers[m->b->block.p[m->block->callee].unit];
	for (unsigned i = 0; i < FLOW_REGS; i++)
		if (lost >> i & 1)
			m->now[i] = 0;
	memset(m->now + FLOW_REGS, 0, VECTORS * sizeof *m->now);
	if (lost & 1)
		m->now[0] = c.result;
}

static bool decode(struct maker *m, uint32_t end)
{
	ZydisDecoderContext ctx;
	struct decoded *d = &m->d;
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&m->zydis, &ctx, m->bytes + m->at,
						      end - m->at, &d->insn)) ||
	    d->insn.operand_count_visible > ZYDIS_MAX_OPERAND_COUNT_VISIBLE ||
	    ZYAN_FAILED(ZydisDecoderDecodeOperands(&m->zydis, &ctx, &d->insn, d->op,
						   d->insn.operand_count_visible)))
		return false;
	d->next = binary_addr(m->b, m->at) + d->insn.length;
	return true;
}

static uint32_t entry(const struct maker *m, uint32_t block, int reg)
{
	return m->w->first[m->file] + block * FLOW_REGS + (uint32_t)reg;
}

static void leave_block(struct maker *m, uint32_t block)
{
	uint64_t state = 0;
	uint32_t to;
	while (binary_learn_way(m->v, m->file, block, &state, &to))
		for (int r = 0; r < FLOW_REGS; r++)
			binary_flow_edge(m->w, m->now[r], entry(m, to, r), FLOW_COPY);
}

static void make_block(struct maker *m, uint32_t block)
{
	m->block = &m->b->block.p[block];
	uint32_t end = m->block->pos + m->block->len;

	memset(m->now, 0, sizeof m->now);
	for (int r = 0; r < FLOW_REGS; r++)
		m->now[r] = entry(m, block, r);
	for (m->at = m->block->pos; m->at < end && decode(m, end); m->at += m->d.insn.length) {
		if (m->d.insn.meta.category == ZYDIS_CATEGORY_RET)
			binary_flow_edge(m->w, m->now[0], returned(m), FLOW_COPY);
		else if (m->d.insn.meta.category != ZYDIS_CATEGORY_CALL)
			instruction(m);
	}
	if (m->block->call != BLOCK_NO_CALL)
		call(m);
	leave_block(m, block);
}

/* Which registers an instruction changes. */
static uint16_t changes(const struct decoded *d)
{
	unsigned set = 0;
	for (unsigned i = 0; i < d->insn.operand_count_visible; i++) {
		int r = clobbered(&d->op[i]);
		if (r >= 0 && r < FLOW_REGS && d->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			set |= 1u << r;
	}
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
	case ZYDIS_MNEMONIC_CMPXCHG: return (uint16_t)(set | 5); /* rax, rdx */
	default: return (uint16_t)set;
	}
}

/* Frame pointers, and what functions change. */
static void look_ahead(struct maker *m)
{
	for (size_t i = 0; i < m->b->block.n; i++) {
		const struct block *b = &m->b->block.p[i];
		uint32_t end = b->pos + b->len;
		for (m->at = b->pos; m->at < end && decode(m, end); m->at += m->d.insn.length) {
			m->clobbers[b->unit] |= changes(&m->d);
			if (m->d.insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
			    reg_of(&m->d.op[0]) == ZYDIS_REGISTER_RBP - ZYDIS_REGISTER_RAX &&
			    reg_of(&m->d.op[1]) == ZYDIS_REGISTER_RSP - ZYDIS_REGISTER_RAX)
				m->framed[b->unit] = 1;
		}
		if (b->call != BLOCK_NO_CALL)
			m->clobbers[b->unit] |= CALLER_SAVED;
	}
}

/* Functions that a table or a variable of the file points to. */
static void make_pointed(struct maker *m, const struct elf *e)
{
	for (size_t i = 0; i < e->reloc.n; i++) {
		uint64_t to = binary_elf_pointer(e, e->reloc.p[i].at);
		uint32_t pos = to ? binary_pos(m->b, to) : NONE;
		uint32_t func = pos == NONE ? NONE : binary_func_of(m->b, pos);
		uint32_t block = pos == NONE ? NONE : binary_block_from(m->b, pos);
		if (func == NONE || block == NONE || m->b->func.p[func].pos != pos)
			continue;
		for (uint64_t k = 0; k < 6; k++)
			binary_flow_edge(m->w, through(m, k), entry(m, block, args[k]), FLOW_CALL);
		binary_flow_edge(m->w,
				 binary_flow_place(m->w, 'u', m->file, m->b->block.p[block].unit),
				 through(m, 6), FLOW_CALL);
	}
}

static void make_all(struct maker *m)
{
	m->w->first[m->file] = (uint32_t)m->w->node.n;
	for (size_t i = 0; i < m->b->block.n * FLOW_REGS; i++)
		binary_flow_node(m->w);
	ZydisDecoderInit(&m->zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	look_ahead(m);
	for (uint32_t i = 0; i < m->b->block.n; i++)
		make_block(m, i);
}

bool binary_flow_build(struct flow *w, const struct binary_view *v, uint32_t file)
{
	struct maker *m = xcalloc(1, sizeof *m);
	struct err ignored;
	struct elf e;
	bool ok = v->file.p[file].b->block.n <= MAX_BLOCKS &&
		  !binary_elf_open(&e, v->file.p[file].path, &ignored);
	if (ok) {
		m->w = w;
		m->v = v;
		m->file = file;
		m->b = v->file.p[file].b;
		m->bytes = binary_code_bytes(&e, m->b);
		m->framed = xcalloc(m->b->nunit + 1, 1);
		m->clobbers = xcalloc(m->b->nunit + 1, sizeof *m->clobbers);
		make_all(m);
		make_pointed(m, &e);
		binary_elf_close(&e);
		free((void *)(uintptr_t)m->bytes);
		free(m->framed);
		free(m->clobbers);
	}
	free(m);
	return ok;
}
