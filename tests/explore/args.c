/* SPDX-License-Identifier: BSD-3-Clause */
/* Options as a program has them: args POOL [WORD …]; one of the words forgets the flush. */
#include "pool.h"

int main(int argc, char **argv)
{
	struct cell *pool = pool_map(argc, argv);
	for (int i = 2; i < argc; i++) {
		struct cell *cell = &pool[i % CELLS];
		*(volatile uint64_t *)&cell->value = 1; /* BUG */
		if (strcmp(argv[i], "fast") != 0 IF_FIXED(|| 1))
			clwb(cell);
		sfence();
	}
	return 0;
}
