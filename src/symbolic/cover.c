/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coverage, and what runs teach the static view: where files are loaded, which stores hit PM,
 * where calls and jumps go. What the view was told once it is not told again.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolic/internal.h"

#define MAX_FRAMES 64u /* of a call stack; deeper ones are cut at the outer end */
#define MAX_FOLLOW (1u << 20)
#define EXACT 32u /* rounds of a loop that are told apart */

void symbolic_cover_free(struct cover *c)
{
	hmap_free(&c->vex);
	hmap_free(&c->block);
	hmap_free(&c->pm);
	hmap_free(&c->pm_in);
	hmap_free(&c->call);
	hmap_free(&c->module);
	hmap_free(&c->way);
	hmap_free(&c->follows);
	hmap_free(&c->stacks.by_hash);
	VEC_FREE(&c->ways);
	VEC_FREE(&c->follow);
	VEC_FREE(&c->own);
	VEC_FREE(&c->stacks.ip);
	VEC_FREE(&c->stacks.stack);
	free(c->own_path);
}

static bool is_own(const struct cover *c, uint64_t addr)
{
	for (size_t i = 0; i < c->own.n; i++)
		if (addr >= c->own.p[i].lo && addr < c->own.p[i].hi)
			return true;
	return false;
}

/* Code that the view does not know counts by its own address. */
static uint64_t block_of(const struct symbolic *s, uint64_t addr)
{
	uint64_t lo, hi;
	return binary_view_block(s->view, addr, &lo, &hi) ? lo : addr;
}

/* False: seen before. */
static bool first_time(struct hmap *m, uint64_t key)
{
	if (hmap_get(m, key, NULL))
		return false;
	hmap_put(m, key, 1);
	return true;
}

bool symbolic_cover_ran(struct symbolic *s, uint64_t addr)
{
	struct cover *c = &s->cover;
	if (!first_time(&c->vex, addr) || !first_time(&c->block, block_of(s, addr)))
		return false;
	c->own_blocks += is_own(c, addr);
	c->version++;
	return true;
}

/* Eight flags at a time: most blocks did not run. */
size_t symbolic_cover_blocks(struct symbolic *s, const uint64_t *block, const uint8_t *ran,
			     size_t n)
{
	size_t new = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t eight;
		if (!(i & 7) && i + 8 <= n) {
			memcpy(&eight, ran + i, 8);
			if (!eight) {
				i += 7;
				continue;
			}
		}
		if (ran[i])
			new += symbolic_cover_ran(s, block[i] & ~SYM_BLOCK_SLOW);
	}
	return new;
}

bool symbolic_cover_known(const struct symbolic *s, const struct symbolic_way *w)
{
	return hmap_get(&s->cover.block, w->block, NULL);
}

static uint32_t add_way(struct cover *c, uint64_t key, struct symbolic_way w)
{
	hmap_put(&c->way, key, c->ways.n);
	VEC_PUSH(&c->ways, w);
	return (uint32_t)c->ways.n - 1;
}

uint32_t symbolic_cover_way(struct symbolic *s, uint64_t ip, unsigned kind, unsigned side,
			    uint64_t target)
{
	struct symbolic_way w = {
		.ip = ip, .target = target, .kind = (uint8_t)kind, .side = (uint8_t)side
	};
	uint64_t key = hash_mix(ip, kind << 8 | side), i;
	if (hmap_get(&s->cover.way, key, &i))
		return (uint32_t)i;
	w.block = block_of(s, target);
	w.taken = side == WAY_OTHER;
	return add_way(&s->cover, key, w);
}

/* Each number up to EXACT; then the highest bit and the two behind it. */
static uint64_t round_of(uint64_t times)
{
	unsigned shift;
	if (times < EXACT)
		return times;
	shift = 61 - (unsigned)__builtin_clzll(times);
	return (uint64_t)EXACT << 8 | (uint64_t)shift << 3 | times >> shift;
}

uint32_t symbolic_cover_round(struct symbolic *s, uint32_t way, uint32_t stack, uint64_t times,
			      uint64_t line)
{
	struct symbolic_way w = s->cover.ways.p[way];
	uint64_t key = hash_mix(hash_mix(w.ip, stack),
				(round_of(times) + 1) << 16 | (uint64_t)w.kind << 8 | w.side);
	uint64_t i;
	if (line)
		key = hash_mix(key, line);
	if (hmap_get(&s->cover.way, key, &i))
		return (uint32_t)i;
	w.tried = w.failed = w.seen = w.wet = 0;
	w.taken = w.side == WAY_OTHER;
	w.is_round = true;
	return add_way(&s->cover, key, w);
}

void symbolic_cover_follows(struct symbolic *s, uint32_t way, uint64_t ip)
{
	struct cover *c = &s->cover;
	struct follow f = { way, ip };
	if (c->follow.n < MAX_FOLLOW && first_time(&c->follows, hash_mix(way, ip)))
		VEC_PUSH(&c->follow, f);
}

/* ---- what the view is told ---- */

/* The first file that is loaded is the program. */
void symbolic_cover_module(struct symbolic *s, const struct trace_defs *defs,
			   const struct trace_event *e)
{
	struct cover *c = &s->cover;
	struct range r = { e->arg[0], e->arg[0] + e->arg[1] };
	const struct trace_module_def *m =
		defs ? trace_module(defs, e->process, (uint32_t)e->arg[3]) : NULL;
	if (!m || !m->path)
		return;
	if (!first_time(&c->module, hash_seeded(m->path, strlen(m->path), r.lo)))
		return;
	if (!c->own_path)
		c->own_path = xstrdup(m->path);
	if (strcmp(c->own_path, m->path) == 0)
		VEC_PUSH(&c->own, r);
	binary_view_load(s->view, m->path, r.lo, e->arg[1], e->arg[2]);
	s->learnt = true;
}

/* The C library's memcpy() does it for its caller: the view says who it is that counts. */
void symbolic_cover_pm(struct symbolic *s, const struct trace_event *e, uint32_t stack)
{
	struct cover *c = &s->cover;
	const struct stack *st = &c->stacks.stack.p[stack];
	const uint64_t *calls = c->stacks.ip.p + st->at;
	uint64_t site = e->ip;
	if (e->flags & TRACE_F_KERNEL || !first_time(&c->pm_in, hash_mix(e->ip, stack)))
		return;
	if (e->kind == TRACE_STORE && binary_view_saw_pm_in(s->view, e->ip, calls, st->n))
		s->learnt = true;
	for (uint32_t i = 0; i < st->n && !binary_view_modifies_pm(s->view, site); i++)
		site = calls[i];
	if (binary_view_modifies_pm(s->view, site) && first_time(&c->pm, site))
		c->own_pm += is_own(c, site);
}

void symbolic_cover_map(struct symbolic *s, const struct trace_event *e, uint32_t stack)
{
	const struct stack *st = &s->cover.stacks.stack.p[stack];
	if (e->flags & TRACE_F_PM && first_time(&s->cover.pm_in, hash_mix(e->ip, stack)) &&
	    binary_view_saw_map(s->view, s->cover.stacks.ip.p + st->at, st->n))
		s->learnt = true;
}

/* ---- call stacks ---- */

static uint32_t intern(struct stacks *st, const uint64_t *ip, uint32_t n)
{
	uint64_t hash = hash_bytes(ip, n * sizeof *ip), i;
	struct stack stack = { st->ip.n, n };
	if (!n)
		return 0;
	if (hmap_get(&st->by_hash, hash, &i))
		return (uint32_t)i;
	for (uint32_t k = 0; k < n; k++)
		VEC_PUSH(&st->ip, ip[k]);
	hmap_put(&st->by_hash, hash, st->stack.n);
	VEC_PUSH(&st->stack, stack);
	return (uint32_t)st->stack.n - 1;
}

static void saw_call(struct symbolic *s, const struct trace_ctx_def *d)
{
	if (first_time(&s->cover.call, hash_mix(d->call_ip, d->target)) &&
	    binary_view_saw_call(s->view, d->call_ip, d->target))
		s->learnt = true;
}

uint32_t symbolic_cover_stack(struct symbolic *s, const struct trace_defs *defs, uint32_t process,
			      uint32_t ctx, struct hmap *seen)
{
	uint64_t ip[MAX_FRAMES], known, key = (uint64_t)process << 32 | ctx;
	uint32_t n = 0, at = ctx;
	if (!defs || ctx < TRACE_CTX_FIRST)
		return 0;
	if (hmap_get(seen, key, &known))
		return (uint32_t)known;
	while (at >= TRACE_CTX_FIRST && n < MAX_FRAMES) {
		const struct trace_ctx_def *d = trace_ctx(defs, process, at);
		if (!d || d->parent >= at)
			break;
		if (d->call_ip >= TRACE_CTX_SIGNAL_MAX) {
			ip[n++] = d->call_ip;
			saw_call(s, d);
		}
		at = d->parent;
	}
	known = intern(&s->cover.stacks, ip, n);
	hmap_put(seen, key, known);
	return (uint32_t)known;
}
