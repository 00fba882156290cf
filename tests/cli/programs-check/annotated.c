/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with pmemcheck's annotations: annotated [lost|clean|tx]. Its persistent memory is on the heap, so only they tell. */
#include <holdfast/pmemcheck.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What pmemcheck is told of is done, too: Holdfast goes by the instructions. */
static void persist(const volatile uint64_t *p)
{
	_mm_clflush((const void *)p);
	_mm_sfence();
	VALGRIND_PMC_DO_FLUSH(p, 8);
	VALGRIND_PMC_DO_FENCE;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	volatile uint64_t *pm = (volatile uint64_t *)aligned_alloc(4096, 4096);
	if (!pm)
		return 1;
	VALGRIND_PMC_REGISTER_PMEM_MAPPING(pm, 4096);
	printf("mapped %d\n", (int)VALGRIND_PMC_CHECK_IS_PMEM_MAPPING(pm, 4096));
	pm[0] = 1;
	persist(pm);
	if (!strcmp(way, "tx")) {
		VALGRIND_PMC_START_TX;
		VALGRIND_PMC_ADD_TO_TX(pm, 8);
		pm[0] = 2;
		persist(pm);
		VALGRIND_PMC_END_TX;
		VALGRIND_PMC_REMOVE_PMEM_MAPPING(pm, 4096);
	}
	if (!strcmp(way, "lost") || !strcmp(way, "clean"))
		pm[0] = 3; /* @lost */
	if (!strcmp(way, "clean"))
		VALGRIND_PMC_SET_CLEAN(pm, 8);
	VALGRIND_PMC_EMIT_LOG("end");
	free((void *)pm);
	return 0;
}
