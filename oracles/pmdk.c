/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmdk.h"

#include <stdlib.h>
#include <string.h>

#define NO_SNAPSHOT 2u /* POBJ_XADD_NO_SNAPSHOT */

/* What changes a pool, a transaction or what is persistent; not what is called for every access. */
const char *const pmdk_functions[] = {
	"pmemobj_create*",
	"pmemobj_open*",
	"pmemobj_close",
	"pmemobj_root*",
	"pmemobj_first",
	"pmemobj_*alloc*",
	"pmemobj_*free",
	"pmemobj_*strdup",
	"pmemobj_*wcsdup",
	"pmemobj_*reserve",
	"pmemobj_*publish",
	"pmemobj_cancel",
	"pmemobj_set_value",
	"pmemobj_list_*",
	"pmemobj_mem*",
	"pmemobj_*persist",
	"pmemobj_*flush",
	"pmemobj_tx_begin",
	"pmemobj_tx_commit",
	"pmemobj_tx_abort",
	"pmemobj_tx_end",
	"pmemobj_tx_process",
	"pmemobj_tx_*range*",
	"pmemobj_tx_*lock",
	"pmemobj_mutex_*",
	"pmemobj_rwlock_*",
	"pmemobj_cond_*",
	"pmemobj_volatile",
	"pmemobj_ctl_*",
	"pmemobj_defrag",
	"pmemobj_check*",
	"pmem_msync",
	"pmem_deep_persist",
	"msync",
	NULL,
};
const char *const pmdk_automatic[] = { "pmemobj_create*", "pmemobj_open*", NULL };

void *pmdk_start(const struct holdfast_host *host)
{
	struct pmdk *p = calloc(1, sizeof *p);
	if (p)
		p->host = host;
	return p;
}

void pmdk_end(void *state)
{
	struct pmdk *p = state;
	for (struct pmdk_thread *t = p->threads, *next; t; t = next) {
		next = t->next;
		for (size_t i = 0; i < t->cap; i++)
			free(t->covered[i].p);
		free(t->covered);
		free(t);
	}
	free(p);
}

struct pmdk_thread *pmdk_thread(struct pmdk *p, const struct holdfast_event *e)
{
	struct pmdk_thread *t;
	for (t = p->threads; t; t = t->next)
		if (t->thread == e->thread && t->process == e->process)
			return t;
	t = calloc(1, sizeof *t);
	if (!t)
		abort();
	t->process = e->process;
	t->thread = e->thread;
	t->next = p->threads;
	return p->threads = t;
}

int pmdk_is(const struct holdfast_event *e, const char *function)
{
	return e->function && strcmp(e->function, function) == 0;
}

static int one_of(const struct holdfast_event *e, const char *const *names)
{
	while (*names && !pmdk_is(e, *names))
		names++;
	return *names != NULL;
}

/* ---- pools and objects ---- */

/* An object id is (pool's id, offset); the pool's address is learnt from calls that give both. */
static uint64_t direct(const struct pmdk *p, uint32_t process, uint64_t uuid, uint64_t off)
{
	for (size_t i = 0; i < p->npools; i++)
		if (p->pool[i].process == process && (p->pool[i].uuid == uuid || p->npools == 1))
			return p->pool[i].base + off;
	return 0;
}

static void learn(struct pmdk *p, uint32_t process, uint64_t base, uint64_t uuid)
{
	size_t i;
	if (!base)
		return;
	for (i = 0; i < p->npools; i++)
		if (p->pool[i].base == base && p->pool[i].process == process)
			break;
	if (i == sizeof p->pool / sizeof *p->pool)
		return;
	if (i == p->npools)
		p->npools++;
	p->pool[i] = (struct pmdk_pool){ base, uuid ? uuid : p->pool[i].uuid, process };
}

static void forget(struct pmdk *p, uint32_t process, uint64_t base)
{
	for (size_t i = 0; i < p->npools; i++)
		if (p->pool[i].base == base && p->pool[i].process == process)
			p->pool[i--] = p->pool[--p->npools];
}

#define FIRST_OFFSET 65536u /* objects lie behind a pool's header and its lanes, and are aligned */

int pmdk_is_pointer(const struct pmdk *p, uint32_t process, uint64_t value)
{
	if (value >= FIRST_OFFSET && p->host->is_pm(process, value))
		return 2;
	for (size_t i = 0; i < p->npools; i++) {
		if (p->pool[i].process != process || !value)
			continue;
		if (p->pool[i].uuid == value)
			return 2;
		if (value >= FIRST_OFFSET && value % 16 == 0 &&
		    p->host->is_pm(process, p->pool[i].base + value))
			return 1;
	}
	return 0;
}

int pmdk_in_pool(const struct pmdk *p, const struct holdfast_event *e)
{
	for (size_t i = 0; i < p->npools; i++)
		if (p->pool[i].process == e->process && e->addr >= p->pool[i].base)
			return p->host->is_pm(e->process, e->addr);
	return 0;
}

/* ---- ranges ---- */

#define PAGE 4096u

static struct pmdk_page *page_of(const struct pmdk_thread *t, uint64_t page)
{
	size_t i = (page * 0x9e3779b97f4a7c15ull >> 20) & (t->cap - 1);
	while (t->covered[i].page && t->covered[i].page != page + 1)
		i = (i + 1) & (t->cap - 1);
	return &t->covered[i];
}

static void grow_pages(struct pmdk_thread *t)
{
	struct pmdk_page *old = t->covered;
	size_t n = t->cap;
	t->cap = n ? n * 2 : 64;
	t->covered = calloc(t->cap, sizeof *t->covered);
	if (!t->covered)
		abort();
	for (size_t i = 0; i < n; i++)
		if (old[i].page)
			*page_of(t, old[i].page - 1) = old[i];
	free(old);
}

static void cover_page(struct pmdk_thread *t, uint64_t page, const struct pmdk_range *r)
{
	struct pmdk_page *g;
	if (2 * t->n >= t->cap)
		grow_pages(t);
	g = page_of(t, page);
	t->n += !g->page;
	g->page = page + 1;
	g->n = g->tx == t->tx ? g->n : 0;
	g->tx = t->tx;
	if (g->n == g->cap) {
		g->cap = g->cap ? g->cap * 2 : 8;
		g->p = realloc(g->p, g->cap * sizeof *g->p);
		if (!g->p)
			abort();
	}
	g->p[g->n++] = *r;
}

static void cover(struct pmdk_thread *t, struct pmdk_range r)
{
	if (r.size == 0 || pmdk_covering(t, r.addr, r.size))
		return;
	for (uint64_t page = r.addr / PAGE; page <= (r.addr + r.size - 1) / PAGE; page++)
		cover_page(t, page, &r);
}

static const struct pmdk_range *range_at(const struct pmdk_thread *t, uint64_t addr)
{
	const struct pmdk_page *g = t->cap ? page_of(t, addr / PAGE) : NULL;
	for (size_t i = 0; g && g->page && g->tx == t->tx && i < g->n; i++)
		if (addr >= g->p[i].addr && addr < g->p[i].addr + g->p[i].size)
			return &g->p[i];
	return NULL;
}

/* Several ranges may cover it together; the one that covers its beginning is returned. */
const struct pmdk_range *pmdk_covering(const struct pmdk_thread *t, uint64_t addr, uint64_t size)
{
	const struct pmdk_range *first = range_at(t, addr), *r = first;
	while (r && r->addr + r->size < addr + size)
		r = range_at(t, r->addr + r->size);
	return r ? first : NULL;
}

int pmdk_added_range(const struct pmdk *p, const struct holdfast_event *e, struct pmdk_range *r)
{
	const uint64_t *a = e->arg;
	*r = (struct pmdk_range){ .where = 0 };
	if (pmdk_is(e, "pmemobj_tx_add_range_direct") ||
	    pmdk_is(e, "pmemobj_tx_xadd_range_direct")) {
		r->addr = a[0];
		r->size = a[1];
		r->no_snapshot = pmdk_is(e, "pmemobj_tx_xadd_range_direct") && a[2] & NO_SNAPSHOT;
	} else if (pmdk_is(e, "pmemobj_tx_add_range") || pmdk_is(e, "pmemobj_tx_xadd_range")) {
		uint64_t object = direct(p, e->process, a[0], a[1]);
		r->addr = object ? object + a[2] : 0;
		r->size = a[3];
		r->no_snapshot = pmdk_is(e, "pmemobj_tx_xadd_range") && a[4] & NO_SNAPSHOT;
	}
	return r->addr != 0;
}

int pmdk_persisted_range(const struct holdfast_event *e, struct pmdk_range *r)
{
	static const char *const with_pool[] = { "pmemobj_persist", "pmemobj_flush",
						 "pmemobj_xpersist", "pmemobj_xflush", NULL };
	static const char *const plain[] = { "pmem_msync", "pmem_deep_persist", "msync", NULL };
	if (one_of(e, with_pool))
		*r = (struct pmdk_range){ .addr = e->arg[1], .size = e->arg[2] };
	else if (one_of(e, plain))
		*r = (struct pmdk_range){ .addr = e->arg[0], .size = e->arg[1] };
	else
		return 0;
	return 1;
}

/* ---- sets of words ---- */

#define LINE 64u

static size_t slot_of(const struct pmdk_words *w, uint64_t line)
{
	size_t i = (line * 0x9e3779b97f4a7c15ull >> 20) & (w->cap - 1);
	while (w->line[i] && w->line[i] != line + 1)
		i = (i + 1) & (w->cap - 1);
	return i;
}

static void grow(struct pmdk_words *w)
{
	struct pmdk_words old = *w;
	w->cap = old.cap ? old.cap * 2 : 1024;
	w->line = calloc(w->cap, sizeof *w->line);
	w->mask = calloc(w->cap, 1);
	if (!w->line || !w->mask)
		abort();
	for (size_t i = 0; i < old.cap; i++)
		if (old.line[i]) {
			size_t to = slot_of(w, old.line[i] - 1);
			w->line[to] = old.line[i];
			w->mask[to] = old.mask[i];
		}
	free(old.line);
	free(old.mask);
}

/* The words of [addr, end) in this line. */
static uint8_t words_in(uint64_t line, uint64_t addr, uint64_t end)
{
	uint64_t first = addr > line * LINE ? (addr - line * LINE) / 8 : 0;
	uint64_t last = end < (line + 1) * LINE ? (end - 1 - line * LINE) / 8 : 7;
	return (uint8_t)(0xffu << first & 0xffu >> (7 - last));
}

void pmdk_words_add(struct pmdk_words *w, uint64_t addr, uint64_t size)
{
	for (uint64_t l = addr / LINE; size && l <= (addr + size - 1) / LINE; l++) {
		if (2 * w->n >= w->cap)
			grow(w);
		size_t i = slot_of(w, l);
		w->n += !w->line[i];
		w->line[i] = l + 1;
		w->mask[i] |= words_in(l, addr, addr + size);
	}
}

int pmdk_words_meet(const struct pmdk_words *w, uint64_t addr, uint64_t size)
{
	for (uint64_t l = addr / LINE; size && w->cap && l <= (addr + size - 1) / LINE; l++)
		if (w->mask[slot_of(w, l)] & words_in(l, addr, addr + size))
			return 1;
	return 0;
}

void pmdk_words_free(struct pmdk_words *w)
{
	free(w->line);
	free(w->mask);
}

/* ---- calls and returns ---- */

/* The size that an allocating function was asked for; 0: it is none. */
static uint64_t allocation(const struct holdfast_event *e)
{
	static const char *const size_first[] = { "pmemobj_tx_alloc", "pmemobj_tx_zalloc",
						  "pmemobj_tx_xalloc", NULL };
	static const char *const size_third[] = { "pmemobj_tx_realloc", "pmemobj_tx_zrealloc",
						  "pmemobj_reserve", "pmemobj_xreserve", NULL };
	return one_of(e, size_first) ? e->arg[0] : one_of(e, size_third) ? e->arg[2] : 0;
}

void pmdk_call(struct pmdk *p, const struct holdfast_event *e)
{
	struct pmdk_thread *t = pmdk_thread(p, e);
	struct pmdk_range r;
	if (t->calls++)
		return;
	t->call_where = p->host->where(e);
	t->alloc_size = allocation(e);
	t->root_pool = pmdk_is(e, "pmemobj_root") || pmdk_is(e, "pmemobj_root_construct") ||
				       pmdk_is(e, "pmemobj_first")
			       ? e->arg[0]
			       : 0;
	if (pmdk_is(e, "pmemobj_close"))
		forget(p, e->process, e->arg[0]);
	if (pmdk_is(e, "pmemobj_tx_begin")) /* tx_end is called even if it fails */
		t->depth++;
	if (t->depth && pmdk_added_range(p, e, &r)) {
		r.where = t->call_where;
		cover(t, r);
	}
}

void pmdk_ret(struct pmdk *p, const struct holdfast_event *e)
{
	struct pmdk_thread *t = pmdk_thread(p, e);
	uint64_t object;
	if (t->calls && --t->calls)
		return;
	if (pmdk_is(e, "pmemobj_tx_end") && t->depth && --t->depth == 0)
		t->tx++;
	if (e->unwound)
		return;
	if (pmdk_is(e, "pmemobj_open") || pmdk_is(e, "pmemobj_create"))
		learn(p, e->process, e->result[0], 0);
	if (t->root_pool && e->result[0])
		learn(p, e->process, t->root_pool, e->result[0]);
	if (t->alloc_size && (object = direct(p, e->process, e->result[0], e->result[1])) &&
	    e->result[1])
		cover(t, (struct pmdk_range){ object, t->alloc_size, t->call_where, 1, 0 });
}
