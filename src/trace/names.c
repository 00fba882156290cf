/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of events, their arguments and site classes, from the table in format.h. */
#include <string.h>

#include "trace/internal.h"

#define ARG_NAME_MAX 16

static const struct {
	const char *name;
	const char *args; /* separated by single spaces */
	uint8_t nargs;
} kinds[TRACE_KINDS] = {
#define X(NAME, name, nargs, args) { name, args, nargs },
	TRACE_EVENTS(X)
#undef X
};

static const char *const classes[TRACE_SITE_CLASSES] = {
	[TRACE_SITE_OTHER] = "other",       [TRACE_SITE_STORE] = "store",
	[TRACE_SITE_NT_STORE] = "nt-store", [TRACE_SITE_ATOMIC] = "atomic",
	[TRACE_SITE_CLFLUSH] = "clflush",   [TRACE_SITE_CLFLUSHOPT] = "clflushopt",
	[TRACE_SITE_CLWB] = "clwb",         [TRACE_SITE_SFENCE] = "sfence",
	[TRACE_SITE_MFENCE] = "mfence",     [TRACE_SITE_SYSCALL] = "syscall",
};

const char *trace_kind_name(unsigned kind)
{
	return kind < TRACE_KINDS ? kinds[kind].name : NULL;
}

unsigned trace_kind_args(unsigned kind)
{
	return kind < TRACE_KINDS ? kinds[kind].nargs : 0;
}

const char *trace_site_class_name(unsigned class)
{
	return class < TRACE_SITE_CLASSES ? classes[class] : NULL;
}

/* The table has the names in one string, callers want them apart: cut once, on first use. */
static char arg_names[TRACE_KINDS][TRACE_MAX_ARGS][ARG_NAME_MAX];

static void cut_names(unsigned kind)
{
	const char *s = kinds[kind].args;
	for (unsigned i = 0; i < kinds[kind].nargs && i < TRACE_MAX_ARGS; i++) {
		size_t n = strcspn(s, " ");
		memcpy(arg_names[kind][i], s, n < ARG_NAME_MAX ? n : ARG_NAME_MAX - 1);
		s += n + (s[n] == ' ');
	}
}

const char *trace_arg_name(unsigned kind, unsigned i)
{
	if (kind >= TRACE_KINDS || i >= kinds[kind].nargs)
		return NULL;
	if (!arg_names[kind][0][0])
		cut_names(kind);
	return arg_names[kind][i];
}

/* Which argument is a file's id, or -1. */
int trace_file_arg(unsigned kind)
{
	switch (kind) {
	case TRACE_MAP: return 2;
	case TRACE_NODE_PM: return 1;
	case TRACE_FILE_OPEN:
	case TRACE_FILE_TRUNCATE:
	case TRACE_FILE_ALLOCATE:
	case TRACE_FILE_WRITE:
	case TRACE_FILE_READ:
	case TRACE_FILE_SYNC:
	case TRACE_FILE_RENAME:
	case TRACE_FILE_UNLINK: return 0;
	default: return -1;
	}
}

bool trace_node_arg(unsigned kind)
{
	return (kind >= TRACE_NODE_THERE && kind <= TRACE_NODE_ALLOCATE) ||
	       kind == TRACE_NODE_SYNC || kind == TRACE_FAULT;
}
