/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that are calls of functions that were named: from the first event of such a call that changes PM or
 * makes it persistent to the last. However it is left, by a return, an exception or longjmp, that is its
 * end. One inside of another, by recursion for example, is part of it. Calls that store nothing are none.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "infer/internal.h"
#include "infer/walk.h"

#define SHOWN 12 /* names in a message */

/* A function that stores to PM, by itself or by what it calls. */
struct function {
	uint32_t name;
	bool wanted;
	uint64_t stores;
};

struct named {
	const char *globs;
	struct hmap at; /* process and address -> function */
	VEC(struct function) function;
};

/* Of a C++ function, the parameters may be left out. */
static bool any_glob(const char *globs, const char *name)
{
	char *plain = xasprintf("%.*s", (int)strcspn(name, "("), name);
	bool fits = false;
	for (const char *p = globs; *p && !fits;) {
		size_t n = strcspn(p, ",");
		char *one = xasprintf("%.*s", (int)n, p);
		fits = n && (fnmatch(one, name, 0) == 0 || fnmatch(one, plain, 0) == 0);
		free(one);
		p += n + (p[n] == ',');
	}
	free(plain);
	return fits;
}

static struct function *function_of(struct infer_collect *c, uint32_t process, uint64_t target)
{
	struct named *n = c->arg;
	uint64_t key = hash_mix(target, process), i;
	if (!hmap_get(&n->at, key, &i)) {
		uint32_t name = infer_collect_name(c, process, target);
		hmap_put(&n->at, key, i = n->function.n);
		VEC_PUSH(&n->function,
			 ((struct function){ name, any_glob(n->globs, c->ops->name.p[name]), 0 }));
	}
	return &n->function.p[i];
}

static void take_named(void *arg, struct infer_thread *t)
{
	struct infer_collect *c = arg;
	const struct infer_call *call = &t->call.p[t->call.n - 1];
	if (!call->stores)
		return;
	struct function *f = function_of(c, t->process, call->target);
	f->stores += call->stores;
	bool wanted = f->wanted;
	for (size_t i = 0; wanted && i + 1 < t->call.n; i++)
		wanted = !function_of(c, t->process, t->call.p[i].target)->wanted;
	struct infer_child k = {
		.begin = call->begin, .rest = call->end, .said = call->end, .target = call->target
	};
	if (wanted)
		infer_collect_op(c, t, &k);
}

static int most_first(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	return x->stores > y->stores ? -1 : x->stores < y->stores;
}

static int matches_nothing(const struct infer_ops *ops, struct named *n, struct err *err)
{
	char *list = xstrdup("");
	size_t count = n->function.n < SHOWN ? n->function.n : SHOWN;
	if (n->function.n)
		qsort(n->function.p, n->function.n, sizeof *n->function.p, most_first);
	for (size_t i = 0; i < count; i++) {
		char *more = xasprintf("%s%s%s", list, i ? ", " : "",
				       ops->name.p[n->function.p[i].name]);
		free(list);
		list = more;
	}
	err_set(err, EXIT_PROGRAM,
		"%s: no function of that name stores to persistent memory; %s%s%s", n->globs,
		count ? "those that do, by themselves or by what they call: " : "none does", list,
		count < n->function.n ? ", …" : "");
	free(list);
	return -1;
}

int infer_ops_calls(struct infer_ops *ops, struct trace_reader *r,
		    const struct infer_ops_opts *opts, struct err *err)
{
	struct named n = { .globs = opts->calls };
	if (!opts->calls)
		return 0;
	infer_collect(&(struct infer_collect){ .ops = ops, .arg = &n }, r, take_named);
	int bad = ops->op.n ? 0 : matches_nothing(ops, &n, err);
	hmap_free(&n.at);
	VEC_FREE(&n.function);
	return bad;
}
