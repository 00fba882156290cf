/* SPDX-License-Identifier: BSD-3-Clause */
/* --fault: which system calls are to fail. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/internal.h"

static const char *const call_names[] = {
#define X(NAME, name, which) name,
	TRACE_FAULT_CALLS(X)
#undef X
};
#define CALLS (sizeof call_names / sizeof *call_names)

static int bad(const char *text, struct err *err)
{
	return err_set(
		err, EXIT_USAGE,
		"--fault %s: it is eio:CALL or eio:CALL:N, where CALL is fsync, write, rename, "
		"truncate or fallocate, enospc:BYTES, short-write or short-write:N; N+ means "
		"the N-th and all that follow",
		text);
}

/* ":N", ":N+" or nothing. */
static bool take_which(const char *s, uint64_t *n, bool *later)
{
	char *end;
	*n = 1;
	*later = false;
	if (!*s)
		return true;
	if (*s++ != ':' || !isdigit((unsigned char)*s))
		return false;
	*n = strtoull(s, &end, 10);
	*later = *end == '+';
	return *n > 0 && !end[*later];
}

/* "4096", "64K", "1M", "2G" */
static bool take_bytes(const char *s, uint64_t *n)
{
	static const char units[] = "KMG";
	char *end;
	if (!isdigit((unsigned char)*s))
		return false;
	*n = strtoull(s, &end, 10);
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (!*end)
		return true;
	if (!unit || end[1])
		return false;
	*n <<= 10 * (unit - units + 1);
	return true;
}

static char *words(enum trace_fault what, size_t call, uint64_t n, bool later)
{
	return xasprintf("%d,%zu,%" PRIu64 ",%d", what, call, n, later);
}

char *launch_fault(const char *text, struct err *err)
{
	uint64_t n;
	bool later;
	if (!strncmp(text, "short-write", 11) && take_which(text + 11, &n, &later))
		return words(TRACE_FAULT_SHORT, TRACE_FAULT_WRITE, n, later);
	if (!strncmp(text, "enospc:", 7) && take_bytes(text + 7, &n))
		return words(TRACE_FAULT_FULL, TRACE_FAULT_WRITE, n, true);
	for (size_t i = 0; !strncmp(text, "eio:", 4) && i < CALLS; i++) {
		size_t len = strlen(call_names[i]);
		if (!strncmp(text + 4, call_names[i], len) &&
		    take_which(text + 4 + len, &n, &later))
			return words(TRACE_FAULT_ERROR, i, n, later);
	}
	bad(text, err);
	return NULL;
}
