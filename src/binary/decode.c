/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions of one function.
 *
 * First along its jumps from the entry, jump tables included: that never mistakes data for
 * code. Then whatever bytes are left, in order: exception handlers, and the targets of jumps that
 * could not be told. Each byte of the function has a slot; at the end the slots are read off in
 * order.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/decode.h"

void binary_decode_start(struct build *b)
{
	b->decoder = xcalloc(1, sizeof *b->decoder);
	ZydisDecoderInit(&b->decoder->zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

void binary_decode_end(struct build *b)
{
	free(b->decoder);
	b->decoder = NULL;
}

static uint32_t function_end(const struct build *b)
{
	return b->at.pos + b->at.len;
}

static uint64_t address(const struct build *b, uint32_t pos)
{
	return b->addr + (pos - b->at.pos);
}

bool binary_decode_full(struct build *b, uint32_t pos, struct decoded *d)
{
	ZydisDecoderContext ctx;
	const ZydisDecoder *z = &b->decoder->zydis;
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(z, &ctx, b->bytes + pos,
						      function_end(b) - pos, &d->insn)) ||
	    d->insn.operand_count_visible > ZYDIS_MAX_OPERAND_COUNT_VISIBLE ||
	    ZYAN_FAILED(ZydisDecoderDecodeOperands(z, &ctx, &d->insn, d->op,
						   d->insn.operand_count_visible)))
		return false;
	d->next = address(b, pos) + d->insn.length;
	return true;
}

bool binary_decode_is_padding(struct build *b, uint32_t pos, uint32_t end, uint32_t *len)
{
	ZydisDecodedInstruction insn;
	*len = 1;
	if (b->bytes[pos] == 0 || b->bytes[pos] == 0xcc)
		return true;
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&b->decoder->zydis, NULL, b->bytes + pos,
						      end - pos, &insn)))
		return false;
	*len = insn.length;
	return insn.mnemonic == ZYDIS_MNEMONIC_NOP;
}

static uint32_t import_of(struct build *b, uint32_t symbol)
{
	struct binary *out = b->out;
	Elf64_Sym sym;
	uint64_t known;
	const char *name;
	if (hmap_get(&b->import_of, symbol, &known))
		return (uint32_t)known;
	if (!binary_elf_symbol(b->elf, &b->elf->dynsym, symbol, &sym) ||
	    !(name = binary_elf_symbol_name(b->elf, &b->elf->dynsym, sym.st_name)) || !*name)
		return NONE;
	VEC_PUSH(&out->import, (uint32_t)out->names.n);
	buf_puts(&out->names, name);
	buf_add(&out->names, "", 1);
	hmap_put(&b->import_of, symbol, out->import.n - 1);
	return (uint32_t)out->import.n - 1;
}

/* A jump or call through a pointer: only one that the loader fills is known. */
static uint8_t kind_through(struct build *b, uint32_t pos, bool call, uint32_t *target)
{
	uint8_t unknown = call ? INSN_CALL_UNKNOWN : INSN_JUMP_UNKNOWN;
	struct decoded d;
	*target = NONE;
	if (!binary_decode_full(b, pos, &d) || !d.insn.operand_count_visible ||
	    d.op[0].type != ZYDIS_OPERAND_TYPE_MEMORY || d.op[0].mem.base != ZYDIS_REGISTER_RIP)
		return unknown;
	const struct reloc *r = binary_elf_reloc(b->elf, d.next + (uint64_t)d.op[0].mem.disp.value);
	if (!r)
		return unknown;
	if (r->type == R_X86_64_RELATIVE) {
		*target = binary_pos(b->out, (uint64_t)r->addend);
		if (*target == NONE)
			return unknown;
		return call ? INSN_CALL : INSN_JUMP;
	}
	if (r->type == R_X86_64_IRELATIVE)
		return unknown;
	*target = import_of(b, r->symbol);
	if (*target == NONE)
		return unknown;
	return call ? INSN_CALL_IMPORT : INSN_JUMP_IMPORT;
}

static uint8_t kind_direct(struct build *b, uint32_t pos, const ZydisDecodedInstruction *insn,
			   uint8_t kind, uint32_t *target)
{
	uint64_t to = address(b, pos) + insn->length + (uint64_t)insn->raw.imm[0].value.s;
	*target = to - b->addr < b->at.len ? b->at.pos + (uint32_t)(to - b->addr)
					   : binary_pos(b->out, to);
	if (*target != NONE || kind == INSN_COND)
		return kind;
	return kind == INSN_CALL ? INSN_CALL_UNKNOWN : INSN_JUMP_UNKNOWN;
}

static uint8_t kind_of(struct build *b, uint32_t pos, const ZydisDecodedInstruction *insn,
		       uint32_t *target)
{
	*target = NONE;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR: return kind_direct(b, pos, insn, INSN_COND, target);
	case ZYDIS_CATEGORY_RET: return INSN_RET;
	case ZYDIS_CATEGORY_CALL:
		if (insn->raw.imm[0].is_relative)
			return kind_direct(b, pos, insn, INSN_CALL, target);
		return kind_through(b, pos, true, target);
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (insn->mnemonic != ZYDIS_MNEMONIC_JMP)
			return INSN_PLAIN;
		if (insn->raw.imm[0].is_relative)
			return kind_direct(b, pos, insn, INSN_JUMP, target);
		return kind_through(b, pos, false, target);
	default: break;
	}
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2: return INSN_STOP;
	default: return INSN_PLAIN;
	}
}

/* Takes the instruction into its slots; false: no instruction. */
static bool take(struct build *b, uint32_t pos)
{
	struct insn *slot = &b->slot[pos - b->at.pos];
	ZydisDecodedInstruction insn;
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&b->decoder->zydis, NULL, b->bytes + pos,
						      function_end(b) - pos, &insn))) {
		if (slot->kind == INSN_NONE)
			slot->kind = INSN_BAD;
		return false;
	}
	slot->pos = pos;
	slot->len = insn.length;
	slot->kind = kind_of(b, pos, &insn, &slot->target);
	slot->pm = binary_pm_modifies(insn.mnemonic);
	for (unsigned i = 1; i < insn.length; i++)
		if (slot[i].kind == INSN_NONE)
			slot[i].kind = INSN_INSIDE;
	return true;
}

static void want(struct build *b, uint32_t pos)
{
	if (pos - b->at.pos < b->at.len)
		VEC_PUSH(&b->work, pos);
}

/* Decodes from pos to the end of straight code. */
static void follow(struct build *b, uint32_t pos)
{
	while (pos < function_end(b)) {
		const struct insn *slot = &b->slot[pos - b->at.pos];
		if (slot->kind > INSN_INSIDE || !take(b, pos))
			return;
		switch (slot->kind) {
		case INSN_COND: want(b, slot->target); break;
		case INSN_JUMP: want(b, slot->target); return;
		case INSN_JUMP_UNKNOWN: VEC_PUSH(&b->unknown_jumps, pos); return;
		case INSN_JUMP_IMPORT:
		case INSN_RET:
		case INSN_STOP: return;
		default: break;
		}
		pos += slot->len;
	}
}

static void follow_all(struct build *b)
{
	while (b->work.n || b->unknown_jumps.n) {
		if (b->work.n)
			follow(b, b->work.p[--b->work.n]);
		else
			binary_table_resolve(b, b->unknown_jumps.p[--b->unknown_jumps.n]);
	}
}

static void emit(struct build *b)
{
	struct binary *out = b->out;
	for (uint32_t i = 0; i < b->at.len; i++) {
		const struct insn *slot = &b->slot[i];
		if (slot->kind <= INSN_INSIDE || slot->kind == INSN_BAD)
			continue;
		VEC_PUSH(&b->insn, *slot);
		bit_set(out->code, slot->pos);
		out->ninsn++;
		if (slot->pm) {
			bit_set(out->pm, slot->pos);
			out->npm++;
		}
	}
}

void binary_decode_function(struct build *b, const struct func *f)
{
	uint32_t len;
	b->at = *f;
	b->addr = binary_addr(b->out, f->pos);
	if (b->nslot < f->len) {
		b->nslot = f->len;
		free(b->slot);
		b->slot = xmalloc(b->nslot * sizeof *b->slot);
	}
	memset(b->slot, 0, f->len * sizeof *b->slot);
	want(b, f->pos);
	follow_all(b);
	for (uint32_t i = 0; i < f->len; i++) {
		if (b->slot[i].kind != INSN_NONE)
			continue;
		if (binary_decode_is_padding(b, f->pos + i, function_end(b), &len)) {
			for (uint32_t k = 0; k < len; k++)
				if (b->slot[i + k].kind == INSN_NONE)
					b->slot[i + k].kind = INSN_INSIDE;
			continue;
		}
		want(b, f->pos + i);
		follow_all(b);
	}
	emit(b);
}
