/* SPDX-License-Identifier: BSD-3-Clause */
/* HIPPOCRATES, listing 3.1: an identifier in PM is cleared, and neither flushed nor fenced. */
#include "pool.h"

static void set(uint64_t *oid, uint64_t value)
{
	*oid = value;
	flush(oid, sizeof(*oid));
	fence();
}

static void release(uint64_t *oid, int if_free)
{
	if (if_free != 0) {
		*oid = 0;
	}
}

int main(int argc, char **argv)
{
	uint64_t *oid = (uint64_t *)pool_open(argv[argc - 1]);
	set(oid, 7);
	release(oid, argc);
	return 0;
}
