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
		free(t->why);
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

static const struct {
	const char *name;
	enum pmdk_act act;
} functions[] = {
	{ "pmemobj_open", PMDK_OPEN },
	{ "pmemobj_create", PMDK_OPEN },
	{ "pmemobj_close", PMDK_CLOSE },
	{ "pmemobj_root", PMDK_ROOT },
	{ "pmemobj_root_construct", PMDK_ROOT },
	{ "pmemobj_first", PMDK_ROOT },
	{ "pmemobj_tx_begin", PMDK_TX_BEGIN },
	{ "pmemobj_tx_end", PMDK_TX_END },
	{ "pmemobj_tx_add_range", PMDK_ADD },
	{ "pmemobj_tx_xadd_range", PMDK_ADD },
	{ "pmemobj_tx_add_range_direct", PMDK_ADD_DIRECT },
	{ "pmemobj_tx_xadd_range_direct", PMDK_ADD_DIRECT },
	{ "pmemobj_persist", PMDK_PERSIST },
	{ "pmemobj_flush", PMDK_PERSIST },
	{ "pmemobj_xpersist", PMDK_PERSIST },
	{ "pmemobj_xflush", PMDK_PERSIST },
	{ "pmem_msync", PMDK_PERSIST_ADDRESS },
	{ "pmem_deep_persist", PMDK_PERSIST_ADDRESS },
	{ "msync", PMDK_PERSIST_ADDRESS },
	{ "pmemobj_tx_alloc", PMDK_ALLOC_FIRST },
	{ "pmemobj_tx_zalloc", PMDK_ALLOC_FIRST },
	{ "pmemobj_tx_xalloc", PMDK_ALLOC_FIRST },
	{ "pmemobj_tx_realloc", PMDK_ALLOC_THIRD },
	{ "pmemobj_tx_zrealloc", PMDK_ALLOC_THIRD },
	{ "pmemobj_reserve", PMDK_ALLOC_THIRD },
	{ "pmemobj_xreserve", PMDK_ALLOC_THIRD },
};

static enum pmdk_act look_up(const char *function)
{
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!strcmp(functions[i].name, function))
			return functions[i].act;
	return PMDK_OTHER;
}

/* The same few functions are called again and again, and their names mostly come as the same pointers. */
static enum pmdk_act recall(struct pmdk *p, const char *function)
{
	size_t slot = ((uintptr_t)function >> 4) % PMDK_RECENT;
	if (strcmp(p->recent[slot].name, function) != 0) {
		if (strlen(function) >= PMDK_NAME)
			return look_up(function);
		strcpy(p->recent[slot].name, function);
		p->recent[slot].act = look_up(function);
	}
	return p->recent[slot].act;
}

enum pmdk_act pmdk_act(struct pmdk *p, const struct holdfast_event *e)
{
	if (p->asked != e->num + 1) {
		p->asked = e->num + 1;
		p->act = e->function ? recall(p, e->function) : PMDK_OTHER;
	}
	return p->act;
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

static void cover_page(struct pmdk_thread *t, uint64_t page, struct pmdk_piece piece)
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
	g->p[g->n++] = piece;
}

/* The number of a reason; the same few come again and again. */
static uint32_t why_of(struct pmdk_thread *t, uint64_t where, int fresh)
{
	uint32_t *recent = &t->recent[(where * 2 + (uint64_t)fresh) % PMDK_WHYS];
	if (*recent && *recent <= t->nwhy && t->why[*recent - 1].where == where &&
	    t->why[*recent - 1].fresh == fresh)
		return *recent - 1;
	if (t->nwhy == t->whycap) {
		t->whycap = t->whycap ? t->whycap * 2 : 64;
		t->why = realloc(t->why, t->whycap * sizeof *t->why);
		if (!t->why)
			abort();
	}
	t->why[t->nwhy++] = (struct pmdk_why){ where, fresh };
	return (*recent = (uint32_t)t->nwhy) - 1;
}

static void cover(struct pmdk_thread *t, uint64_t addr, uint64_t size, int fresh)
{
	uint64_t end = addr + size;
	if (size == 0 || pmdk_covering(t, addr, size))
		return;
	uint32_t why = why_of(t, t->call_where, fresh);
	for (uint64_t page = addr / PAGE; page <= (end - 1) / PAGE; page++) {
		uint64_t from = page * PAGE < addr ? addr % PAGE : 0;
		uint64_t to = end < (page + 1) * PAGE ? end % PAGE : PAGE;
		cover_page(t, page, (struct pmdk_piece){ (uint16_t)from, (uint16_t)to, why });
	}
}

static const struct pmdk_piece *piece_at(const struct pmdk_thread *t, uint64_t addr)
{
	const struct pmdk_page *g = t->cap ? page_of(t, addr / PAGE) : NULL;
	unsigned at = addr % PAGE;
	for (size_t i = 0; g && g->page && g->tx == t->tx && i < g->n; i++)
		if (at >= g->p[i].from && at < g->p[i].to)
			return &g->p[i];
	return NULL;
}

/* Several ranges may cover it together. */
const struct pmdk_why *pmdk_covering(const struct pmdk_thread *t, uint64_t addr, uint64_t size)
{
	const struct pmdk_piece *first = piece_at(t, addr), *piece = first;
	uint64_t at = addr, end = addr + size;
	while (piece && (at = at / PAGE * PAGE + piece->to) < end)
		piece = piece_at(t, at);
	return piece ? &t->why[first->why] : NULL;
}

/* Those with flags have an x in their names. */
static int no_snapshot(const struct holdfast_event *e, uint64_t flags)
{
	return e->function[strlen("pmemobj_tx_")] == 'x' && flags & NO_SNAPSHOT;
}

int pmdk_added_range(struct pmdk *p, const struct holdfast_event *e, struct pmdk_range *r)
{
	const uint64_t *a = e->arg;
	enum pmdk_act act = pmdk_act(p, e);
	*r = (struct pmdk_range){ 0 };
	if (act == PMDK_ADD_DIRECT) {
		r->addr = a[0];
		r->size = a[1];
		r->no_snapshot = no_snapshot(e, a[2]);
	} else if (act == PMDK_ADD) {
		uint64_t object = direct(p, e->process, a[0], a[1]);
		r->addr = object ? object + a[2] : 0;
		r->size = a[3];
		r->no_snapshot = no_snapshot(e, a[4]);
	}
	return r->addr != 0;
}

int pmdk_persisted_range(struct pmdk *p, const struct holdfast_event *e, struct pmdk_range *r)
{
	enum pmdk_act act = pmdk_act(p, e);
	if (act == PMDK_PERSIST)
		*r = (struct pmdk_range){ .addr = e->arg[1], .size = e->arg[2] };
	else if (act == PMDK_PERSIST_ADDRESS)
		*r = (struct pmdk_range){ .addr = e->arg[0], .size = e->arg[1] };
	else
		return 0;
	return 1;
}

/* ---- sets of words ---- */

#define GROUP 512u /* bytes: a bit for each of 64 words */

static size_t slot_of(const struct pmdk_words *w, uint64_t number)
{
	size_t i = (number * 0x9e3779b97f4a7c15ull >> 20) & (w->cap - 1);
	while (w->group[i].number && w->group[i].number != number + 1)
		i = (i + 1) & (w->cap - 1);
	return i;
}

static void grow(struct pmdk_words *w)
{
	struct pmdk_words old = *w;
	w->cap = old.cap ? old.cap * 2 : 256;
	w->group = calloc(w->cap, sizeof *w->group);
	if (!w->group)
		abort();
	for (size_t i = 0; i < old.cap; i++)
		if (old.group[i].number)
			w->group[slot_of(w, old.group[i].number - 1)] = old.group[i];
	free(old.group);
}

/* The words of [addr, end) in this group. */
static uint64_t words_in(uint64_t number, uint64_t addr, uint64_t end)
{
	uint64_t from = number * GROUP, first = addr > from ? (addr - from) / 8 : 0;
	uint64_t last = end < from + GROUP ? (end - 1 - from) / 8 : 63;
	return ~0ull << first & ~0ull >> (63 - last);
}

void pmdk_words_add(struct pmdk_words *w, uint64_t addr, uint64_t size)
{
	for (uint64_t g = addr / GROUP; size && g <= (addr + size - 1) / GROUP; g++) {
		if (2 * w->n >= w->cap)
			grow(w);
		size_t i = slot_of(w, g);
		w->n += !w->group[i].number;
		w->group[i].number = g + 1;
		w->group[i].mask |= words_in(g, addr, addr + size);
	}
}

int pmdk_words_meet(const struct pmdk_words *w, uint64_t addr, uint64_t size)
{
	for (uint64_t g = addr / GROUP; size && w->cap && g <= (addr + size - 1) / GROUP; g++)
		if (w->group[slot_of(w, g)].mask & words_in(g, addr, addr + size))
			return 1;
	return 0;
}

void pmdk_words_free(struct pmdk_words *w)
{
	free(w->group);
}

/* ---- calls and returns ---- */

void pmdk_call(struct pmdk *p, const struct holdfast_event *e)
{
	struct pmdk_thread *t = pmdk_thread(p, e);
	struct pmdk_range r;
	if (t->calls++)
		return;
	enum pmdk_act act = pmdk_act(p, e);
	t->call_where = p->host->where(e);
	t->alloc_size = act == PMDK_ALLOC_FIRST   ? e->arg[0]
			: act == PMDK_ALLOC_THIRD ? e->arg[2]
						  : 0;
	t->root_pool = act == PMDK_ROOT ? e->arg[0] : 0;
	if (act == PMDK_CLOSE)
		forget(p, e->process, e->arg[0]);
	if (act == PMDK_TX_BEGIN) /* tx_end is called even if it fails */
		t->depth++;
	if (t->depth && pmdk_added_range(p, e, &r))
		cover(t, r.addr, r.size, 0);
}

void pmdk_ret(struct pmdk *p, const struct holdfast_event *e)
{
	struct pmdk_thread *t = pmdk_thread(p, e);
	uint64_t object;
	if (t->calls && --t->calls)
		return;
	enum pmdk_act act = pmdk_act(p, e);
	if (act == PMDK_TX_END && t->depth && --t->depth == 0) {
		t->tx++;
		t->nwhy = 0;
	}
	if (e->unwound)
		return;
	if (act == PMDK_OPEN)
		learn(p, e->process, e->result[0], 0);
	if (t->root_pool && e->result[0])
		learn(p, e->process, t->root_pool, e->result[0]);
	if (t->alloc_size && (object = direct(p, e->process, e->result[0], e->result[1])) &&
	    e->result[1])
		cover(t, object, t->alloc_size, 1);
}
