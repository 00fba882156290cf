/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Definitions as bytes: a DEFS chunk is a run of records, each a tag and varints. Ids and
 * addresses are differences from the record of the same tag before, since they mostly grow.
 */
#include <string.h>

#include "trace/internal.h"

enum tag {
	DEF_PROCESS = 1,
	DEF_ENDED,
	DEF_SITE,
	DEF_CTX,
	DEF_MODULE,
	DEF_STRING,
	DEF_FILE,
	DEF_NODE,
	DEF_DIFFERS,
	DEF_TAGS
};

static void put(struct defs_out *o, const uint64_t *v, size_t n)
{
	uint8_t bytes[10 * VARINT_MAX], *end = bytes;
	for (size_t i = 0; i < n; i++)
		end = put_varint(end, v[i]);
	buf_add(&o->buf, bytes, (size_t)(end - bytes));
}

static void put_text(struct defs_out *o, const char *text, size_t n)
{
	put(o, (uint64_t[]){ n }, 1);
	buf_add(&o->buf, text, n);
}

static uint64_t diff(uint64_t v, uint64_t base)
{
	return zigzag((int64_t)(v - base));
}

void trace_defs_put_process(struct defs_out *o, const struct trace_process_def *def)
{
	/* TRACE_NO_PROCESS is written as 0. */
	put(o,
	    (uint64_t[]){ DEF_PROCESS, def->pid, def->parent, (uint32_t)(def->parent_index + 1),
			  def->birth, def->first_event },
	    6);
	put_text(o, def->command, def->command_len);
}

void trace_defs_put_ended(struct defs_out *o, uint32_t process)
{
	put(o, (uint64_t[]){ DEF_ENDED, process }, 2);
}

void trace_defs_put_site(struct defs_out *o, uint32_t process, uint32_t id,
			 const struct trace_site_def *def)
{
	struct defs_base *b = &o->base;
	put(o,
	    (uint64_t[]){ DEF_SITE, diff(process, b->process), diff(id, b->site),
			  diff(def->ip, b->ip), def->class, def->size },
	    6);
	b->process = process;
	b->site = id;
	b->ip = def->ip;
}

void trace_defs_put_ctx(struct defs_out *o, uint32_t process, uint32_t id,
			const struct trace_ctx_def *def)
{
	struct defs_base *b = &o->base;
	put(o,
	    (uint64_t[]){ DEF_CTX, diff(process, b->process), diff(id, b->ctx),
			  (uint64_t)id - def->parent, diff(def->call_ip, b->call),
			  diff(def->target, b->target) },
	    6);
	b->process = process;
	b->ctx = id;
	b->call = def->call_ip;
	b->target = def->target;
}

void trace_defs_put_module(struct defs_out *o, uint32_t process, uint32_t id,
			   const struct trace_module_def *def)
{
	put(o, (uint64_t[]){ DEF_MODULE, process, id }, 3);
	put_text(o, (const char *)def->build_id, def->build_id_len);
	put_text(o, def->path, strlen(def->path));
}

void trace_defs_put_string(struct defs_out *o, uint32_t process, uint32_t id, const char *text)
{
	put(o, (uint64_t[]){ DEF_STRING, process, id }, 3);
	put_text(o, text, strlen(text));
}

void trace_defs_put_file(struct defs_out *o, const struct trace_file_def *def)
{
	put(o,
	    (uint64_t[]){ DEF_FILE, def->dev, def->ino, def->size, def->process,
			  def->has_snapshot },
	    6);
	put_text(o, def->path, strlen(def->path));
}

void trace_defs_put_node(struct defs_out *o, const struct trace_node_def *def)
{
	put(o,
	    (uint64_t[]){ DEF_NODE, def->kind, def->dev, def->ino, def->size, def->process,
			  def->has_snapshot },
	    7);
	put_text(o, def->path, strlen(def->path));
	put_text(o, def->target, strlen(def->target));
}

void trace_defs_put_differs(struct defs_out *o, const char *text)
{
	size_t n = strlen(text);
	put(o, (uint64_t[]){ DEF_DIFFERS }, 1);
	put_text(o, text, n < TRACE_MAX_PAYLOAD ? n : TRACE_MAX_PAYLOAD);
}

/* Reading: the mirror image. Each parser returns false if the record makes no sense. */

struct parse {
	struct cursor in;
	struct trace_defs *defs;
	struct defs_base base;
};

static uint32_t get32(struct parse *s)
{
	uint64_t v = get_varint(&s->in);
	if (v > UINT32_MAX)
		s->in.bad = true;
	return (uint32_t)v;
}

static uint32_t get32_delta(struct parse *s, uint32_t base)
{
	uint64_t v = get_delta(&s->in, base);
	if (v > UINT32_MAX)
		s->in.bad = true;
	return (uint32_t)v;
}

/* A NUL-terminated copy of a text, at most TRACE_MAX_PAYLOAD long; the length as stored. */
static size_t get_text(struct parse *s, char text[TRACE_MAX_PAYLOAD + 1])
{
	uint64_t n = get_varint(&s->in);
	const uint8_t *p;
	text[0] = '\0';
	if (n > TRACE_MAX_PAYLOAD)
		s->in.bad = true;
	p = get_bytes(&s->in, n);
	if (!p)
		return 0;
	memcpy(text, p, n);
	text[n] = '\0';
	return n;
}

static bool parse_process(struct parse *s)
{
	struct trace_process_def def = { 0 };
	char text[TRACE_MAX_PAYLOAD + 1];
	def.pid = get32(s);
	def.parent = get32(s);
	def.parent_index = get32(s) - 1;
	def.birth = (uint8_t)get32(s);
	def.first_event = get_varint(&s->in);
	def.command_len = (uint32_t)get_text(s, text);
	def.command = text;
	return !s->in.bad && trace_defs_process(s->defs, &def) != DEFS_BAD;
}

static bool parse_ended(struct parse *s)
{
	uint32_t process = get32(s);
	if (s->in.bad || !trace_process(s->defs, process))
		return false;
	trace_defs_ended(s->defs, process);
	return true;
}

static bool parse_site(struct parse *s)
{
	struct defs_base *b = &s->base;
	struct trace_site_def def;
	b->process = get32_delta(s, b->process);
	b->site = get32_delta(s, b->site);
	b->ip = get_delta(&s->in, b->ip);
	def.ip = b->ip;
	def.class = (uint8_t)get32(s);
	def.size = (uint16_t)get32(s);
	return !s->in.bad && trace_defs_site(s->defs, b->process, b->site, &def) != DEFS_BAD;
}

static bool parse_ctx(struct parse *s)
{
	struct defs_base *b = &s->base;
	struct trace_ctx_def def;
	b->process = get32_delta(s, b->process);
	b->ctx = get32_delta(s, b->ctx);
	def.parent = b->ctx - get32(s);
	def.call_ip = b->call = get_delta(&s->in, b->call);
	def.target = b->target = get_delta(&s->in, b->target);
	return !s->in.bad && trace_defs_ctx(s->defs, b->process, b->ctx, &def) != DEFS_BAD;
}

static bool parse_module(struct parse *s)
{
	struct trace_module_def def = { 0 };
	char text[TRACE_MAX_PAYLOAD + 1];
	uint32_t process = get32(s), id = get32(s);
	const uint8_t *build;
	def.build_id_len = get_varint(&s->in);
	if (def.build_id_len > sizeof def.build_id)
		return false;
	build = get_bytes(&s->in, def.build_id_len);
	if (!build)
		return false;
	memcpy(def.build_id, build, def.build_id_len);
	get_text(s, text);
	def.path = text;
	return !s->in.bad && trace_defs_module(s->defs, process, id, &def) != DEFS_BAD;
}

static bool parse_string(struct parse *s)
{
	char text[TRACE_MAX_PAYLOAD + 1];
	uint32_t process = get32(s), id = get32(s);
	get_text(s, text);
	return !s->in.bad && trace_defs_string(s->defs, process, id, text) != DEFS_BAD;
}

static bool parse_file(struct parse *s)
{
	struct trace_file_def def = { 0 };
	char text[TRACE_MAX_PAYLOAD + 1];
	def.dev = get_varint(&s->in);
	def.ino = get_varint(&s->in);
	def.size = get_varint(&s->in);
	def.process = get32(s);
	def.has_snapshot = get_varint(&s->in) != 0;
	get_text(s, text);
	def.path = text;
	return !s->in.bad && def.size <= INT64_MAX && trace_process(s->defs, def.process) &&
	       trace_defs_file(s->defs, &def) != DEFS_BAD;
}

static bool parse_node(struct parse *s)
{
	struct trace_node_def def = { 0 };
	char path[TRACE_MAX_PAYLOAD + 1], target[TRACE_MAX_PAYLOAD + 1];
	def.kind = (uint8_t)get32(s);
	def.dev = get_varint(&s->in);
	def.ino = get_varint(&s->in);
	def.size = get_varint(&s->in);
	def.process = get32(s);
	def.has_snapshot = get_varint(&s->in) != 0;
	get_text(s, path);
	get_text(s, target);
	def.path = path;
	def.target = target;
	return !s->in.bad && def.size <= INT64_MAX && trace_process(s->defs, def.process) &&
	       trace_defs_node(s->defs, &def) != DEFS_BAD;
}

static bool parse_differs(struct parse *s)
{
	char text[TRACE_MAX_PAYLOAD + 1];
	get_text(s, text);
	if (!s->in.bad)
		trace_defs_differs(s->defs, text);
	return !s->in.bad;
}

int trace_defs_parse(struct trace_defs *defs, const uint8_t *bytes, size_t n, size_t *at)
{
	static bool (*const parsers[])(struct parse *) = {
		[DEF_PROCESS] = parse_process, [DEF_ENDED] = parse_ended,
		[DEF_SITE] = parse_site,       [DEF_CTX] = parse_ctx,
		[DEF_MODULE] = parse_module,   [DEF_STRING] = parse_string,
		[DEF_FILE] = parse_file,       [DEF_NODE] = parse_node,
		[DEF_DIFFERS] = parse_differs,
	};
	struct parse s = { .in = { .p = bytes, .end = bytes + n }, .defs = defs };
	while (s.in.p < s.in.end) {
		uint8_t tag = *s.in.p;
		*at = (size_t)(s.in.p++ - bytes);
		if (tag < DEF_PROCESS || tag >= DEF_TAGS || !parsers[tag](&s))
			return -1;
	}
	return 0;
}
