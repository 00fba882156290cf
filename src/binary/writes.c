/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a function store through a pointer? One function is decoded, not its file.
 *
 * Stores to the stack, to thread-local and to global variables do not count; what it calls is not
 * looked at. The bounds come from the unwind information, which stripped files have too.
 */
#include "binary/decode.h"

struct range {
	uint64_t at, addr, len;
};

static void take_range(void *arg, uint64_t addr, uint64_t len)
{
	struct range *r = arg;
	if (r->at - addr < len) {
		r->addr = addr;
		r->len = len;
	}
}

static bool is_register(const ZydisDecodedOperand *op, ZydisRegister reg)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value == reg;
}

static bool is_write(const ZydisDecodedOperand *op, bool framed)
{
	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
	    !(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) ||
	    op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	switch (op->mem.base) {
	case ZYDIS_REGISTER_NONE: return op->mem.index != ZYDIS_REGISTER_NONE;
	case ZYDIS_REGISTER_RSP:
	case ZYDIS_REGISTER_RIP: return false;
	case ZYDIS_REGISTER_RBP: return !framed; /* else it is the frame's pointer */
	default: return true;
	}
}

static enum binary_writes look(const uint8_t *code, size_t n)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT_VISIBLE];
	ZydisDecodedInstruction insn;
	ZydisDecoderContext ctx;
	ZydisDecoder z;
	bool framed = false;
	ZydisDecoderInit(&z, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at < n; at += insn.length) {
		if (ZYAN_FAILED(
			    ZydisDecoderDecodeInstruction(&z, &ctx, code + at, n - at, &insn)) ||
		    insn.operand_count_visible > ZYDIS_MAX_OPERAND_COUNT_VISIBLE ||
		    ZYAN_FAILED(ZydisDecoderDecodeOperands(&z, &ctx, &insn, op,
							   insn.operand_count_visible)))
			return BINARY_WRITES_UNKNOWN;
		if (binary_pm_modifies(insn.mnemonic))
			continue; /* a flush or a fence; what bypasses the cache was seen if it ran */
		framed |= insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
			  is_register(&op[0], ZYDIS_REGISTER_RBP) &&
			  is_register(&op[1], ZYDIS_REGISTER_RSP);
		for (unsigned i = 0; i < insn.operand_count_visible; i++)
			if (is_write(&op[i], framed))
				return BINARY_WRITES_YES;
	}
	return BINARY_WRITES_NO;
}

enum binary_writes binary_writes_through_pointer(const char *path, uint64_t addr)
{
	struct range range = { .at = addr };
	enum binary_writes is = BINARY_WRITES_UNKNOWN;
	const uint8_t *code;
	struct err err;
	struct elf elf;
	if (binary_elf_open(&elf, path, &err))
		return is;
	binary_frames_each(&elf, take_range, &range);
	code = range.len ? binary_elf_at(&elf, range.addr, range.len) : NULL;
	if (code)
		is = look(code, range.len);
	binary_elf_close(&elf);
	return is;
}
