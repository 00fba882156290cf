/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements: what the instructions of a run are in the source, whatever the call path. That of a store which a
 * helper or a library makes is the one that called it (finding/place.c).
 */
#include <stdlib.h>
#include <string.h>

#include "infer/internal.h"

uint32_t infer_where_find(const struct infer_statements *s, uint32_t process, uint32_t site,
			  uint32_t ctx)
{
	return trace_where_find(&s->wheres, process, site, ctx);
}

uint32_t infer_where(struct infer_statements *s, const struct trace_event *e)
{
	uint32_t n = trace_where_of(&s->wheres, e);
	if (n == s->where.n)
		VEC_PUSH(&s->where, ((struct infer_where){ e->process, e->site, e->ctx, UINT32_MAX,
							   false, e->ip }));
	s->where.p[n].stores |= e->kind == TRACE_STORE;
	return n;
}

static uint32_t intern(struct infer_statements *s, const struct infer_where *w,
		       struct finding_place place)
{
	const struct srcloc_frame *f = finding_main_frame(&place);
	uint64_t key = f && f->file ? hash_seeded(f->file, strlen(f->file), f->line)
				    : hash_mix(w->ip, w->process);
	uint64_t at;
	if (hmap_get(&s->at, key, &at)) {
		free(place.frame);
		return (uint32_t)at;
	}
	hmap_put(&s->at, key, s->v.n);
	VEC_PUSH(&s->v, ((struct infer_statement){ .place = place, .main = f }));
	return (uint32_t)s->v.n - 1;
}

struct finding_place *infer_paths(const struct infer_where *where, size_t n,
				  const struct trace_defs *defs, struct srcloc_trace *src)
{
	struct finding_helpers *helpers = finding_helpers_new();
	struct finding_place *place = xcalloc(n + 1, sizeof *place);
	for (size_t i = 0; i < n; i++) {
		const struct infer_where *w = &where[i];
		const struct trace_site_def *site = trace_site(defs, w->process, w->site);
		struct srcloc_where path = srcloc_path(src, w->process, w->ip, w->ctx);
		enum finding_act act;
		if (site && finding_act_of(site->class, w->stores, &act))
			finding_helpers_see(helpers, path, act);
		place[i] = finding_place_copy(path);
	}
	finding_helpers_decide(helpers);
	for (size_t i = 0; i < n; i++)
		finding_helpers_mark(helpers, place[i].frame, place[i].n);
	finding_helpers_free(helpers);
	return place;
}

void infer_statements_find(struct infer_statements *s, const struct trace_defs *defs,
			   struct srcloc_trace *src)
{
	struct finding_place *place = infer_paths(s->where.p, s->where.n, defs, src);
	for (size_t i = 0; i < s->where.n; i++)
		s->where.p[i].statement = intern(s, &s->where.p[i], place[i]);
	free(place);
}

void infer_statements_free(struct infer_statements *s)
{
	for (size_t i = 0; i < s->v.n; i++) {
		free(s->v.p[i].place.frame);
		free(s->v.p[i].target);
	}
	VEC_FREE(&s->v);
	VEC_FREE(&s->where);
	trace_wheres_free(&s->wheres);
	hmap_free(&s->at);
}

/* ---- in words ---- */

/* "struct node" and "next": "node->next". */
static char *target_text(const struct srcloc_lvalue *lv)
{
	static const char *const kinds[] = { "struct ", "union ", "class " };
	const char *type = lv->type;
	if (!type)
		return *lv->member ? xstrdup(lv->member) : NULL;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strncmp(type, kinds[i], strlen(kinds[i])))
			type += strlen(kinds[i]);
	return *lv->member ? xasprintf("%s->%s", type, lv->member) : xasprintf("*%s", type);
}

const char *infer_statement_target(struct infer_beliefs *b, uint32_t statement)
{
	struct infer_statement *s = &b->statements.v.p[statement];
	struct srcloc_lvalue lv = { 0 };
	const char *text;
	if (s->asked)
		return s->target;
	s->asked = true;
	text = s->main && s->main->file ? finding_source_line(s->main->file, s->main->line) : NULL;
	if (text && srcloc_trace_lvalue(b->src, s->main, text, &lv))
		s->target = target_text(&lv);
	return s->target;
}
