/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that see Zydis: decode.c, flow_build.c, pm.c, table.c and writes.c. */
#ifndef HOLDFAST_BINARY_DECODE_H
#define HOLDFAST_BINARY_DECODE_H

#include <Zydis/Zydis.h>

#include "binary/internal.h"

struct decoder {
	ZydisDecoder zydis;
};

/* One instruction with its visible operands. */
struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT_VISIBLE];
	uint64_t next; /* address of the instruction after it */
};
bool binary_decode_full(struct build *, uint32_t pos, struct decoded *);
bool binary_pm_modifies(ZydisMnemonic);

#endif
