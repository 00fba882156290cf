/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The persistency machine: what each instruction or system call does to what it covers.
 *
 * A model is a row of one table (ops.c): for each *act* its *effect*, and the size of a *unit*,
 * the bytes whose stores persist in program order. Whoever follows the persistency of a run asks
 * model_effect() what an event does and model_covers() to which bytes, and keeps what it needs:
 *
 *   check      of each byte, whether it is open and whose fence it waits for      (model.c)
 *   crash      of each unit, lo and hi (struct model_unit), and when lo rose      (crash/build.c)
 *   explore    of each unit, its state (struct model_unit)                        (symbolic/behave.c)
 *
 * No rule of a model stands in these. reference.c has the rules once more, for tests, which
 * compare it with all three. Names and sizes of files, and files that are not mapped, are crash's alone:
 * enum model_files says which of their changes are one unit (crash/meta.c).
 */
#ifndef HOLDFAST_MODEL_MACHINE_H
#define HOLDFAST_MODEL_MACHINE_H

#include "trace/trace.h"

#define MODEL_PAGE 4096u /* of memory: mmap and msync work on pages, under every model */

enum model_act {
	MODEL_NO_ACT, /* also msync without MS_SYNC and sync_file_range, which promise nothing */
	MODEL_STORE,
	MODEL_NT_STORE,
	MODEL_CLFLUSH,
	MODEL_CLFLUSHOPT,
	MODEL_CLWB,
	MODEL_FENCE, /* sfence, mfence, a LOCK-prefixed instruction */
	MODEL_MSYNC,
	MODEL_FSYNC, /* and fdatasync */
	MODEL_FILE_WRITE,
	MODEL_ACTS,
};

enum model_effect {
	MODEL_NOTHING,
	MODEL_OPENS,     /* a store: the new value is not guaranteed */
	MODEL_WAITS,     /* what it covers is guaranteed when this thread fences */
	MODEL_PERSISTS,  /* what it covers is guaranteed now */
	MODEL_COMPLETES, /* a fence: what waits for this thread is guaranteed now */
};

/* Sizes and names of files, and what is written to files that are not mapped. */
enum model_files {
	MODEL_FILES_AT_ONCE, /* durable at once, in order */
	MODEL_FILES_APART, /* durable once synced; until then nothing is ordered, a rename is atomic */
	/* Likewise, but names change in order: a sync of one brings all before it. */
	MODEL_FILES_JOURNAL,
	/* Names change in order, but a sync brings only those of what it syncs, ahead of others. */
	MODEL_FILES_COMMITS,
};

struct model_ops {
	const char *name, *about;
	uint32_t unit;              /* bytes; a flush that has an effect covers whole units */
	uint8_t effect[MODEL_ACTS]; /* enum model_effect */
	uint8_t files;              /* enum model_files; if it is not AT_ONCE: */
	bool appended; /* what is appended is there with the size that shows it; a cut is, at once */
	bool replaces; /* what replaces another file by rename is there before it does */
	/* fdatasync of a file brings its names only as they were when it was made, or its size last changed. */
	bool datasync;
};
/* By name; the name NULL stands for the default, the first. NULL: no such model. */
const struct model_ops *model_find(const char *name);
const struct model_ops *model_at(size_t i); /* NULL past the last */
/* Some flush instruction does something; if none does, msync is the flush. */
bool model_flushes(const struct model_ops *);

/* `class`: the instruction's enum trace_site; a flush of an unknown kind counts as clwb. */
static inline enum model_act model_act(const struct trace_event *e, unsigned class)
{
	switch (e->kind) {
	case TRACE_STORE: return e->flags & TRACE_F_NT ? MODEL_NT_STORE : MODEL_STORE;
	case TRACE_FLUSH:
		return class == TRACE_SITE_CLFLUSH      ? MODEL_CLFLUSH
		       : class == TRACE_SITE_CLFLUSHOPT ? MODEL_CLFLUSHOPT
							: MODEL_CLWB;
	case TRACE_FENCE: return MODEL_FENCE;
	case TRACE_SYNC: return e->arg[2] & 4 /* MS_SYNC */ ? MODEL_MSYNC : MODEL_NO_ACT;
	case TRACE_FILE_SYNC: return e->arg[1] != TRACE_SYNC_RANGE ? MODEL_FSYNC : MODEL_NO_ACT;
	case TRACE_FILE_WRITE: return MODEL_FILE_WRITE;
	default: return MODEL_NO_ACT;
	}
}

static inline enum model_effect model_effect(const struct model_ops *m, const struct trace_event *e,
					     unsigned class)
{
	return (enum model_effect)m->effect[model_act(e, class)];
}

/* The class of an event's instruction, for model_effect: only flushes are told apart by it. */
unsigned model_flush_class(const struct trace_defs *, const struct trace_event *);
static inline unsigned model_class(const struct trace_defs *defs, const struct trace_event *e)
{
	return e->kind == TRACE_FLUSH ? model_flush_class(defs, e) : TRACE_SITE_OTHER;
}

/* The bytes that an act covers: addresses, or for TRACE_FILE_… offsets in the file arg[0]. */
struct model_range {
	uint64_t lo, hi;
};
struct model_range model_covers(const struct trace_event *);

/* A byte of a PM file as one number, wherever it is mapped. */
#define MODEL_FILE_SHIFT 44
static inline uint64_t model_file_byte(uint64_t file, uint64_t off)
{
	return ((file + 1) << MODEL_FILE_SHIFT) + off;
}

/*
 * A unit by versions: version v holds the unit's first v stores. A crash leaves any version
 * from lo to hi.
 *
 *      stores to the unit   1   2   3   4   5
 *                           ■   ■   □   □   □
 *                               ▲lo     ▲     ▲hi     2: guaranteed; 5: stored
 *                                       asked        4: guaranteed after some thread's fence
 */
struct model_unit {
	uint32_t hi, lo, asked;
};
/* What waits for a thread's fence: the first `upto` stores of a unit, by the caller's number. */
struct model_waits {
	struct model_wait {
		uint32_t unit, upto;
	} * p;
	size_t n, cap;
};

/* The first `upto` stores are guaranteed. True: some were not before. */
static inline bool model_unit_raise(struct model_unit *u, uint32_t upto)
{
	if (upto <= u->lo)
		return false;
	u->lo = upto;
	return true;
}

/* Something by a thread covers the unit; a store counts in hi already. True: lo was raised. */
static inline bool model_unit_cover(struct model_unit *u, enum model_effect effect, uint32_t unit,
				    struct model_waits *thread)
{
	if (effect == MODEL_PERSISTS)
		return model_unit_raise(u, u->hi);
	if (effect == MODEL_WAITS && u->lo < u->hi) {
		u->asked = u->hi;
		VEC_PUSH(thread, ((struct model_wait){ unit, u->hi }));
	}
	return false;
}

/* Of the newest store to the unit. */
enum model_state { MODEL_UNKNOWN, MODEL_DIRTY, MODEL_PENDING, MODEL_PERSISTENT };
static inline enum model_state model_unit_state(const struct model_unit *u)
{
	return u->lo < u->hi ? (u->asked < u->hi ? MODEL_DIRTY : MODEL_PENDING)
			     : (u->hi ? MODEL_PERSISTENT : MODEL_UNKNOWN);
}

#endif
