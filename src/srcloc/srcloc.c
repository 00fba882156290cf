/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address spaces, and what they share: objects and strings.
 *
 * An address is looked up in three steps: the interval map gives the mapping, the mapping the
 * object and the offset in its file, and the object's cache the answer. Programs run few
 * distinct instructions, so nearly every question ends in the cache.
 */
#include <stdlib.h>
#include <string.h>

#include "srcloc/internal.h"

char *__cxa_demangle(const char *mangled, char *buf, size_t *len, int *status); /* libstdc++ */

struct mapping {
	struct object *object;
	uint64_t addr, offset;
};

struct srcloc {
	struct store *store;
	struct imap at; /* address -> index of the mapping */
	VEC(struct mapping) map;
	struct hmap known;   /* hash of a mapping -> index: a library loaded again and again */
	struct hmap nowhere; /* address in no module -> struct answer * */
	VEC(struct answer *) answers; /* of nowhere */
};

const char *srcloc_pool_add(struct pool *pool, const char *s)
{
	uint64_t hash = hash_bytes(s, strlen(s)), old = 0;
	if (hmap_get(&pool->at, hash, &old) && !strcmp((char *)(uintptr_t)old, s))
		return (char *)(uintptr_t)old;
	char *copy = xstrdup(s);
	VEC_PUSH(&pool->all, copy);
	if (!old) /* two strings of one hash: the second just is not shared */
		hmap_put(&pool->at, hash, (uintptr_t)copy);
	return copy;
}

void srcloc_pool_free(struct pool *pool)
{
	for (size_t i = 0; i < pool->all.n; i++)
		free(pool->all.p[i]);
	VEC_FREE(&pool->all);
	hmap_free(&pool->at);
}

static int range_order(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->hi < y->hi ? -1 : x->hi > y->hi;
}

void srcloc_ranges_sort(struct ranges *r)
{
	if (r->n)
		qsort(r->p, r->n, sizeof *r->p, range_order);
}

const struct range *srcloc_ranges_find(const struct ranges *r, uint64_t at)
{
	size_t after = BISECT(i, r->n, r->p[i].lo <= at);
	return after && at < r->p[after - 1].hi ? &r->p[after - 1] : NULL;
}

const char *srcloc_demangle(struct store *store, const char *name)
{
	int status = 0;
	char *plain = !strncmp(name, "_Z", 2) ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
	char rust[1024];
	if (plain)
		srcloc_rust_name(plain);
	else if (srcloc_rust_v0(name, rust, sizeof rust))
		plain = xstrdup(rust);
	const char *kept = srcloc_pool_add(&store->pool, plain ? plain : name);
	free(plain);
	return kept;
}

/* "" is the object's own folder, ".debug" one below it; only the others hold .build-id. */
static char *debug_path(void)
{
	const char *more = getenv("HOLDFAST_DEBUG_PATH");
	bool any = more && *more;
	return xasprintf(":.debug:%s%s/usr/lib/debug", any ? more : "", any ? ":" : "");
}

static void store_drop(struct store *store)
{
	if (--store->refs)
		return;
	for (size_t i = 0; i < store->objects.n; i++)
		srcloc_object_free(store->objects.p[i]);
	for (size_t i = 0; i < store->types.n; i++)
		free(store->types.p[i]);
	VEC_FREE(&store->types);
	hmap_free(&store->type_at);
	VEC_FREE(&store->objects);
	hmap_free(&store->object_at);
	srcloc_pool_free(&store->pool);
	free(store->debug_path);
	free(store);
}

static struct object *store_object(struct store *store, const char *path, const uint8_t *build_id,
				   size_t len)
{
	uint64_t key =
		hash_mix(hash_bytes(path, strlen(path)), len ? hash_bytes(build_id, len) : 0);
	uint64_t at;
	if (hmap_get(&store->object_at, key, &at))
		return store->objects.p[at];
	struct object *obj = srcloc_object_new(store, path, build_id, len);
	hmap_put(&store->object_at, key, store->objects.n);
	VEC_PUSH(&store->objects, obj);
	return obj;
}

static struct store *kept; /* srcloc_keep: what all new address spaces share */

void srcloc_keep(void)
{
	struct srcloc *s = kept ? NULL : srcloc_new();
	if (s)
		kept = s->store;
	free(s); /* the store stays */
}

struct srcloc *srcloc_new(void)
{
	struct srcloc *s = xcalloc(1, sizeof *s);
	if (kept) {
		s->store = kept;
		s->store->refs++;
		return s;
	}
	s->store = xcalloc(1, sizeof *s->store);
	s->store->refs = 1;
	s->store->debug_path = debug_path();
	s->store->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf, /* not called: paths are given */
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &s->store->debug_path,
	};
	return s;
}

const Dwfl_Callbacks *srcloc_callbacks(const struct srcloc *s)
{
	return &s->store->callbacks;
}

struct srcloc *srcloc_fork(const struct srcloc *from)
{
	struct srcloc *s = xcalloc(1, sizeof *s);
	s->store = from->store;
	s->store->refs++;
	for (size_t i = 0; i < from->at.n; i++) {
		const struct imap_item *it = &from->at.p[i];
		imap_set(&s->at, it->lo, it->hi, it->val);
	}
	for (size_t i = 0; i < from->map.n; i++)
		VEC_PUSH(&s->map, from->map.p[i]);
	return s;
}

void srcloc_free(struct srcloc *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->answers.n; i++)
		free(s->answers.p[i]);
	VEC_FREE(&s->answers);
	VEC_FREE(&s->map);
	imap_free(&s->at);
	hmap_free(&s->known);
	hmap_free(&s->nowhere);
	store_drop(s->store);
	free(s);
}

void srcloc_map(struct srcloc *s, uint64_t addr, uint64_t len, uint64_t offset, const char *path,
		const uint8_t *build_id, size_t build_id_len)
{
	struct mapping m = { .addr = addr, .offset = offset };
	uint64_t key, at;
	if (!len || addr + len < addr)
		return;
	m.object = store_object(s->store, path, build_id, build_id_len);
	key = hash_mix(hash_mix(addr, offset), (uintptr_t)m.object);
	if (!hmap_get(&s->known, key, &at)) {
		at = s->map.n;
		VEC_PUSH(&s->map, m);
		hmap_put(&s->known, key, at);
	}
	imap_set(&s->at, addr, addr + len, at);
}

void srcloc_unmap(struct srcloc *s, uint64_t addr, uint64_t len)
{
	if (len && addr + len >= addr)
		imap_clear(&s->at, addr, addr + len);
}

const char *srcloc_stale(const struct srcloc *s, size_t i)
{
	for (size_t k = 0; k < s->store->objects.n; k++) {
		const struct object *obj = s->store->objects.p[k];
		if (obj->state == OBJECT_STALE && !i--)
			return obj->path;
	}
	return NULL;
}

static const struct answer *nowhere(struct srcloc *s, uint64_t addr)
{
	uint64_t old;
	if (hmap_get(&s->nowhere, addr, &old))
		return (struct answer *)(uintptr_t)old;
	struct answer *a = xcalloc(1, sizeof *a + sizeof a->frame[0]);
	a->n = 1;
	a->frame[0].offset = addr;
	hmap_put(&s->nowhere, addr, (uintptr_t)a);
	VEC_PUSH(&s->answers, a);
	return a;
}

struct srcloc_where srcloc_at(struct srcloc *s, uint64_t addr)
{
	const struct imap_item *it = imap_find(&s->at, addr);
	const struct answer *a;
	if (it) {
		const struct mapping *m = &s->map.p[it->val];
		a = srcloc_object_at(m->object, addr - m->addr + m->offset);
	} else {
		a = nowhere(s, addr);
	}
	return (struct srcloc_where){ a->frame, a->n };
}

uint64_t srcloc_left_at(struct srcloc *s, uint64_t addr, const char *to)
{
	const struct imap_item *it = imap_find(&s->at, addr);
	uint64_t own = srcloc_at(s, addr).frame[0].offset, at = 0;
	if (it && s->map.p[it->val].object->state == OBJECT_READY)
		at = srcloc_object_tail(s->map.p[it->val].object, own, to);
	return at ? addr + (at - own) : addr;
}

const char *srcloc_module(const struct srcloc *s, uint64_t addr)
{
	const struct imap_item *it = imap_find(&s->at, addr);
	return it ? s->map.p[it->val].object->path : NULL;
}

/*
 * The object that a frame is in, and which of the frames of its address it is. Frames of a
 * path are copies, and those of the same place are alike, so the first that fits will do.
 */
static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static struct object *object_of(struct srcloc *s, const struct srcloc_frame *f, size_t *level)
{
	for (size_t i = 0; f->module && i < s->store->objects.n; i++) {
		struct object *obj = s->store->objects.p[i];
		if (strcmp(obj->path, f->module) || obj->state != OBJECT_READY)
			continue;
		frame_vec found = { 0 };
		srcloc_debuginfo_at(obj, f->offset, &found);
		for (*level = 0; *level < found.n; ++*level)
			if (found.p[*level].line == f->line &&
			    same_text(found.p[*level].function, f->function))
				break;
		bool ok = *level < found.n;
		VEC_FREE(&found);
		if (ok)
			return obj;
	}
	return NULL;
}

bool srcloc_lvalue(struct srcloc *s, const struct srcloc_frame *f, const char *statement,
		   struct srcloc_lvalue *out)
{
	size_t level;
	struct object *obj = object_of(s, f, &level);
	return obj && srcloc_object_lvalue(obj, f->offset, level, statement, out);
}

const struct srcloc_type *srcloc_type(struct srcloc *s, const struct srcloc_frame *f,
				      const char *name)
{
	size_t level;
	struct object *obj = object_of(s, f, &level);
	struct scope scope;
	bool tagged = !strncmp(name, "struct ", 7) || !strncmp(name, "union ", 6);
	struct word word = { tagged ? strchr(name, ' ') + 1 : name, 0 };
	Dwarf_Die die, peeled;
	word.n = strlen(word.p);
	if (!obj || !srcloc_debuginfo_scope(obj, f->offset, level, &scope) ||
	    !srcloc_scope_type(&scope, word, tagged, &die))
		return NULL;
	peeled = srcloc_die_peel(die);
	return srcloc_die_is_struct(&peeled) ? srcloc_cached_type(obj, die) : NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

const char *srcloc_text(const struct srcloc_frame *f, char *buf, size_t size)
{
	char name[256];
	const char *function =
		f->function ? srcloc_short_name(f->function, name, sizeof name) : "??";
	unsigned long long offset = f->offset;
	if (f->kind == SRCLOC_SIGNAL || f->kind == SRCLOC_CUT)
		snprintf(buf, size, "%s", function);
	else if (f->plt && f->function)
		snprintf(buf, size, "%s@plt", f->function);
	else if (f->file && f->line)
		snprintf(buf, size, "%s (%s:%u)", function, last_part(f->file), f->line);
	else if (!f->module)
		snprintf(buf, size, "0x%llx", offset);
	else if (f->function)
		snprintf(buf, size, "%s (%s+0x%llx)", function, last_part(f->module), offset);
	else
		snprintf(buf, size, "%s+0x%llx", last_part(f->module), offset);
	return buf;
}
