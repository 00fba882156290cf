/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which functions are persistence helpers: by what they do, not by what they are called.
 *
 * People wrap clwb, sfence and memcpy in functions of their own, and look for a bug where these
 * are used. A function is a helper if, over the run, it does nothing to persistent memory but
 * what one row of `rows` allows, by itself and in all functions that it calls for it, and if the
 * types of its parameters show that the memory is its caller's (srcloc_takes). Copies that the
 * compiler inlined, and the instances of a template, count as the one function of the source.
 *
 * A run shows only what it came to. A function that is given an object, or an address as a number,
 * could also store to it on another day: where it has machine code of its own, that must not store
 * through any pointer. One that is given bytes of no type is believed.
 *
 *     insert()               stores, and calls persist():      the program
 *       persist(void *, n)   nothing of its own, calls both:   a helper, as both are
 *         flush(void *, n)   flushes, is given the range:      a helper
 *         fence(void)        only fences:                      a helper
 *
 * The C library, libpmem and system headers are not looked at here: place.c knows them.
 *
 * Where the flush or fence of such a function is in vain whoever calls it, check blames the function
 * all the same (check/group.c).
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "binary/binary.h"
#include "finding/internal.h"
#include "trace/format.h"

#define DEPTH 8u /* functions looked at above an instruction; helpers do not nest deeper */

enum { STORES = 1 << FINDING_STORES, FLUSHES = 1 << FINDING_FLUSHES, FENCES = 1 << FINDING_FENCES };

struct function {
	const char *name, *file; /* interned; without a source file: of the module */
	uint8_t takes;           /* enum srcloc_takes */
	uint8_t does;            /* by itself, or through a library */
	uint8_t all;             /* … and in what it calls */
	bool root;               /* nobody calls it */
	bool helper;
	const char *why;
	const char *module;  /* where it has code of its own; NULL: only seen inlined */
	uint64_t code;       /* an address inside it */
	uint8_t writes;      /* enum binary_writes; only known when asked for */
	uint32_t sites;      /* places that call it */
	VEC(uint32_t) below; /* functions that it calls on the way to PM */
};

struct finding_helpers {
	VEC(struct function) fn;
	struct hmap by_name; /* hash of name and file -> index */
	struct hmap edge;    /* caller, callee; call place, callee */
};

/* ---- rows: what makes a helper ---- */

static bool only_flushes(const struct function *f)
{
	return f->all & FLUSHES && !(f->all & STORES);
}

static bool flushes_range(struct function *f)
{
	return only_flushes(f) && f->takes & SRCLOC_TAKES_RANGE;
}

/* Its machine code has stores that this run did not come to, or that went elsewhere. */
static bool could_store(struct function *f)
{
	if (f->module && !f->writes)
		f->writes = (uint8_t)binary_writes_through_pointer(f->module, f->code);
	return f->writes == BINARY_WRITES_YES;
}

static bool flushes_object(struct function *f)
{
	return only_flushes(f) && f->takes & SRCLOC_TAKES_OBJECT && !could_store(f);
}

static bool flushes_number(struct function *f)
{
	return only_flushes(f) && f->takes & SRCLOC_TAKES_ADDRESS && !could_store(f);
}

/* A guard, whose destructor persists what its constructor was given. */
static bool flushes_held(struct function *f)
{
	return only_flushes(f) && f->takes & SRCLOC_TAKES_HOLDER && !could_store(f);
}

static bool only_fences(struct function *f)
{
	return f->all == FENCES && f->takes & SRCLOC_TAKES_KNOWN;
}

static bool only_copies(struct function *f)
{
	return f->all & STORES && f->takes & SRCLOC_TAKES_COPY;
}

static bool is_bare(struct function *f)
{
	return !f->takes && !(f->all & STORES);
}

static const struct row {
	bool (*holds)(struct function *);
	const char *why;
} rows[] = {
	{ flushes_range, "does nothing to persistent memory but flush what it is given" },
	{ flushes_object,
	  "only flushes the object that it is given, and has no code to store to it" },
	{ flushes_number,
	  "only flushes at the address that it is given, and has no code to store there" },
	{ flushes_held,
	  "only flushes what its object holds the address of, and has no code to store there" },
	{ only_fences, "does nothing to persistent memory but fence" },
	{ only_copies, "copies to a range that it is given" },
	{ is_bare, "only flushes and fences; there is no debug information on what it takes" },
};

/* ---- what was seen ---- */

bool finding_act_of(uint8_t site_class, bool stores, enum finding_act *act)
{
	switch (site_class) {
	case TRACE_SITE_CLFLUSH:
	case TRACE_SITE_CLFLUSHOPT:
	case TRACE_SITE_CLWB: *act = FINDING_FLUSHES; return true;
	case TRACE_SITE_SFENCE:
	case TRACE_SITE_MFENCE: *act = FINDING_FENCES; return true;
	case TRACE_SITE_STORE:
	case TRACE_SITE_NT_STORE: *act = FINDING_STORES; return true;
	default: *act = FINDING_STORES; return site_class == TRACE_SITE_ATOMIC && stores;
	}
}

static struct {
	const char *const *force, *const *forbid;
	size_t nforce, nforbid;
} said;

void finding_helpers_overrule(const char *const *helper, size_t nhelper,
			      const char *const *no_helper, size_t nno_helper)
{
	said.force = helper;
	said.nforce = nhelper;
	said.forbid = no_helper;
	said.nforbid = nno_helper;
}

struct finding_helpers *finding_helpers_new(void)
{
	return xcalloc(1, sizeof(struct finding_helpers));
}

void finding_helpers_free(struct finding_helpers *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->fn.n; i++)
		VEC_FREE(&h->fn.p[i].below);
	VEC_FREE(&h->fn);
	hmap_free(&h->by_name);
	hmap_free(&h->edge);
	free(h);
}

static uint64_t key_of(const struct srcloc_frame *f, const char **name, const char **file)
{
	char *own = finding_function(f);
	*name = finding_intern(own);
	*file = finding_intern(f->file ? f->file : f->module);
	free(own);
	return hash_mix((uintptr_t)*name, (uintptr_t)*file);
}

static uint32_t function_of(struct finding_helpers *h, const struct srcloc_frame *f)
{
	const char *name, *file;
	uint64_t key = key_of(f, &name, &file), i;
	if (!hmap_get(&h->by_name, key, &i)) {
		struct function new = { .name = name, .file = file, .takes = f->takes };
		i = h->fn.n;
		hmap_put(&h->by_name, key, i);
		VEC_PUSH(&h->fn, new);
	}
	if (!f->inlined && !h->fn.p[i].module) {
		h->fn.p[i].module = finding_intern(f->module);
		h->fn.p[i].code = f->offset;
	}
	return (uint32_t)i;
}

static bool is_new(struct finding_helpers *h, uint64_t a, uint64_t b)
{
	uint64_t key = hash_mix(a, b), old;
	if (hmap_get(&h->edge, key, &old))
		return false;
	hmap_put(&h->edge, key, 1);
	return true;
}

static void add_call(struct finding_helpers *h, const struct srcloc_frame *at, uint32_t caller,
		     uint32_t callee)
{
	if (caller == callee) /* recursion */
		return;
	if (is_new(h, (uint64_t)caller << 32 | callee, 1))
		VEC_PUSH(&h->fn.p[caller].below, callee);
	if (is_new(h, hash_mix((uintptr_t)at->file, at->line), (uint64_t)callee << 32 | caller))
		h->fn.p[callee].sites++;
}

void finding_helpers_see(struct finding_helpers *h, struct srcloc_where path, enum finding_act act)
{
	uint32_t inner = 0;
	unsigned depth = 0;
	path = srcloc_path_trim(path);
	for (size_t i = 0; i < path.n && depth < DEPTH; i++) {
		const struct srcloc_frame *f = &path.frame[i];
		if (finding_is_library(f) || !f->function || f->kind == SRCLOC_SIGNAL)
			continue;
		uint32_t fn = function_of(h, f);
		if (!depth++)
			h->fn.p[fn].does |= (uint8_t)(1u << act);
		else
			add_call(h, f, fn, inner);
		if (i + 1 == path.n)
			h->fn.p[fn].root = true;
		inner = fn;
	}
}

/* ---- the verdict ---- */

static bool matches(const char *const *globs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!fnmatch(globs[i], name, 0))
			return true;
	return false;
}

/* What each does together with those that it calls. */
static void add_up(struct finding_helpers *h)
{
	bool changed = true;
	for (size_t i = 0; i < h->fn.n; i++)
		h->fn.p[i].all = h->fn.p[i].does;
	for (unsigned round = 0; changed && round < 2 * DEPTH; round++) {
		changed = false;
		for (size_t i = 0; i < h->fn.n; i++) {
			struct function *f = &h->fn.p[i];
			uint8_t all = f->all;
			for (size_t k = 0; k < f->below.n; k++)
				f->all |= h->fn.p[f->below.p[k]].all;
			changed |= f->all != all;
		}
	}
}

static void judge(struct function *f)
{
	f->helper = false;
	f->why = NULL;
	if (matches(said.force, said.nforce, f->name)) {
		f->helper = true;
		f->why = "named with --helper";
		return;
	}
	if (f->root || matches(said.forbid, said.nforbid, f->name))
		return;
	for (size_t i = 0; i < sizeof rows / sizeof *rows && !f->helper; i++) {
		f->helper = rows[i].holds(f);
		f->why = rows[i].why;
	}
}

void finding_helpers_decide(struct finding_helpers *h)
{
	bool changed = true;
	add_up(h);
	for (size_t i = 0; i < h->fn.n; i++)
		judge(&h->fn.p[i]);
	while (changed) { /* a caller of something that is none is none */
		changed = false;
		for (size_t i = 0; i < h->fn.n; i++) {
			struct function *f = &h->fn.p[i];
			for (size_t k = 0; f->helper && k < f->below.n; k++)
				if (!h->fn.p[f->below.p[k]].helper &&
				    !matches(said.force, said.nforce, f->name)) {
					f->helper = false;
					changed = true;
				}
		}
	}
}

void finding_helpers_mark(const struct finding_helpers *h, struct srcloc_frame *frame, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *name, *file;
		uint64_t at;
		frame[i].helper = frame[i].function &&
				  hmap_get(&h->by_name, key_of(&frame[i], &name, &file), &at) &&
				  h->fn.p[at].helper;
	}
}

void finding_helpers_each(const struct finding_helpers *h,
			  void (*each)(void *, const struct finding_helper *), void *arg)
{
	for (size_t i = 0; i < h->fn.n; i++) {
		const struct function *f = &h->fn.p[i];
		struct finding_helper is = { f->name, f->file, f->why, f->sites };
		if (f->helper)
			each(arg, &is);
	}
}
