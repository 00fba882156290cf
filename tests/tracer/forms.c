/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs every form of gen_forms.py and logs what should be recorded: forms POOL LOG LOWPOOL
 *
 * The address of a form is the one that LEA computed from the same operand; the bytes are read
 * from memory after the group has run (each form has a line of its own). Each group is an
 * operation, so that its events can be told apart.
 */
#include "expect.h"
#include "holdfast.h"

struct row {
	uint64_t expected; /* address that the generator meant */
	uint32_t slot;
	uint8_t kind, size, seg, delta;
};
struct group {
	const char *name;
	void (*run)(void);
	const struct row *row;
	uint64_t rows;
};
extern const struct group form_group[];
extern const uint64_t form_groups, form_fs_base, form_gs_base, form_high, form_low, form_bytes;
extern uint64_t lea_results[];

static const char *const kind_name[] = { "clwb", "clflushopt", "clflush", "sfence", "mfence" };

static int expect_row(const struct row *r)
{
	uint64_t addr = lea_results[r->slot];
	addr += r->seg == 1 ? form_fs_base : r->seg == 2 ? form_gs_base : 0;
	if (r->kind == 3 || r->kind == 4) {
		expect_fence(kind_name[r->kind]);
		return 0;
	}
	if (addr != r->expected) {
		fprintf(stderr, "a form is at %#lx, but was meant to be at %#lx\n", addr,
			r->expected);
		return 1;
	}
	if (r->kind <= 2)
		expect_flush((void *)addr, kind_name[r->kind]);
	else
		expect_store((void *)(addr + r->delta), r->size, "nt");
	return 0;
}

int main(int argc, char **argv)
{
	int wrong = 0;
	if (argc != 4)
		return 2;
	pool_map(argv[1], form_bytes, (void *)form_high);
	pool_map(argv[3], form_bytes, (void *)form_low);
	expect_open(argv[2]);
	for (uint64_t g = 0; g < form_groups; g++) {
		const struct group *group = &form_group[g];
		HOLDFAST_OP_BEGIN(g);
		group->run();
		HOLDFAST_OP_END(g);
		fprintf(expect_file, "group %s\n", group->name);
		for (uint64_t i = 0; i < group->rows; i++)
			wrong |= expect_row(&group->row[i]);
	}
	return wrong;
}
