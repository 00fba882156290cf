/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors: an image takes two in its cell, and two here. What we need beyond the limit that we were started
 * with, we take, as far as the hard limit allows; commands get the limit that they would have without us.
 */
#include "runner/caller.h"

#include <sys/resource.h>

#define OTHERS 256u /* that we need besides */
#define MOST_FILES 8192u

static struct rlimit own; /* what we were started with */
static bool raised;

static size_t hard_limit(void)
{
	struct rlimit r;
	if (getrlimit(RLIMIT_NOFILE, &r))
		return 0;
	return r.rlim_max > 1u << 20 ? 1u << 20 : (size_t)r.rlim_max;
}

size_t runner_most_files(void)
{
	size_t hard = hard_limit(), most = hard > OTHERS ? (hard - OTHERS) / 2 : 0;
	return most < MOST_FILES ? most : MOST_FILES;
}

unsigned runner_descriptors_for(unsigned cells, size_t files)
{
	struct rlimit r;
	size_t hard = hard_limit(), room = hard > OTHERS ? hard - OTHERS : 0;
	if (files && cells > room / (2 * files))
		cells = room >= 2 * files ? (unsigned)(room / (2 * files)) : 1;
	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= OTHERS + cells * 2 * files)
		return cells;
	if (!raised)
		own = r;
	r.rlim_cur = r.rlim_max;
	raised = !setrlimit(RLIMIT_NOFILE, &r) || raised;
	return cells;
}

void runner_descriptors_as_before(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &own);
}
