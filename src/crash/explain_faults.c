/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls that failed because they were to (--fault), in words. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "crash/explain.h"

static bool is_sync(const struct crash_fault *f)
{
	return f->call == SYS_fsync || f->call == SYS_fdatasync;
}

static const char *name_of(uint32_t call)
{
	switch (call) {
	case SYS_fsync: return "fsync";
	case SYS_fdatasync: return "fdatasync";
	case SYS_ftruncate: return "ftruncate";
	case SYS_fallocate: return "fallocate";
	case SYS_rename:
	case SYS_renameat:
	case SYS_renameat2: return "rename";
	default: return "write";
	}
}

/* "fsync(log) failed with EIO" */
static char *words(const struct crash_history *h, const struct crash_fault *f)
{
	const char *path = f->file == CRASH_NO_FILE ? NULL : h->file.p[f->file].path;
	const char *base = path ? strrchr(path, '/') + 1 : NULL;
	char *call = base ? xasprintf("%s(%s)", name_of(f->call), base) : xstrdup(name_of(f->call));
	const char *error = f->error ? strerrorname_np(f->error) : NULL;
	char *text = f->error ? xasprintf("%s failed with %s", call, error ? error : "an error")
			      : xasprintf("%s wrote only %" PRIu64 " bytes", call, f->bytes);
	free(call);
	return text;
}

static char *at(struct crash *c, const struct crash_fault *f)
{
	char *what = words(c->h, f), *place = crash_place_words(c, f->place);
	char *text = xasprintf("%s at %s", what, place);
	free(what);
	free(place);
	return text;
}

bool crash_has_failed(const struct crash_history *h, uint64_t event)
{
	for (size_t i = 0; i < h->fault.n; i++)
		if (h->fault.p[i].error && h->fault.p[i].event < event)
			return true;
	return false;
}

char *crash_faults(struct crash *c)
{
	size_t n = c->h->fault.n;
	if (!n)
		return NULL;
	char *first = at(c, &c->h->fault.p[0]), *text;
	text = n > 1 ? xasprintf("fault: %s, and %zu more", first, n - 1)
		     : xasprintf("fault: %s", first);
	free(first);
	return text;
}

/* The failed sync was to bring this to disk. */
static bool is_given_up(const struct crash_history *h, const struct crash_fault *f, uint32_t piece)
{
	struct crash_piece p = crash_piece_at(h, piece);
	uint32_t file =
		crash_is_meta(h, p.line) ? crash_sized_file(h, p.line) : h->line.p[p.line].file;
	return is_sync(f) && p.event < f->event && file == f->file && file != CRASH_NO_FILE;
}

const struct crash_fault *crash_fault_behind(const struct crash_history *h,
					     const struct crash_cause *cause)
{
	bool nothing_lost = !cause->lost.n; /* from somewhere on, all states fail */
	for (size_t i = h->fault.n; i-- > 0;) {
		const struct crash_fault *f = &h->fault.p[i];
		if (f->event < cause->state.event &&
		    (nothing_lost || is_given_up(h, f, cause->lost.p[0])))
			return f;
	}
	return NULL;
}

void crash_fault_say(struct crash *c, const struct crash_fault *fault, struct finding *f)
{
	char *where = at(c, fault), *message = xasprintf("after %s: %s", where, f->message);
	struct finding_related r = { .role = "fault",
				     .message = words(c->h, fault),
				     .event = fault->event };
	r.place = finding_place_clone(crash_path(c, fault->place));
	VEC_PUSH(&f->related, r);
	free(where);
	free(f->message);
	free(f->advice);
	f->message = message;
	f->advice = xstrdup(
		is_sync(fault)
			? "what a failed fsync was to bring to disk may be lost, and the next "
			  "one does not bring it: write it again, or stop"
		: fault->error ? "undo what was done when a call fails, or stop"
			       : "look at how much was written, and write the rest");
}
