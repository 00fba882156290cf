/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes into a trace: events, and definitions before the first event that uses them. A
 * definition that says nothing new is dropped here.
 */
#include "trace/internal.h"

#define DEFS_LIMIT 262144u /* write definitions when this many bytes wait */

int trace_put_event(struct trace_writer *w, const struct trace_event *ev, struct err *err)
{
	if (trace_writer_good(w, err))
		return -1;
	if (ev->size > TRACE_MAX_PAYLOAD || ev->nargs != trace_kind_args(ev->kind) ||
	    ev->kind == TRACE_PAD || ev->kind >= TRACE_KINDS ||
	    ev->process >= trace_processes(&w->defs))
		return err_set(err, EXIT_INTERNAL, "event %llu makes no sense",
			       (unsigned long long)w->events);
	if (trace_encoder_full(w->enc, ev->size) && trace_writer_flush(w, err))
		return -1;
	if (!trace_encoder_count(w->enc))
		w->since = trace_now_ms();
	trace_encoder_add(w->enc, ev);
	w->events++;
	if (ev->kind == TRACE_EXIT || ev->kind == TRACE_EXEC)
		trace_defs_ended(&w->defs, ev->process);
	return 0;
}

/* --- definitions --- */

static int bad_def(struct err *err, const char *what, uint32_t id)
{
	return err_set(err, EXIT_INTERNAL, "the definition of %s %u makes no sense", what, id);
}

/*
 * Before a definition is added to what waits. An id that gets a new meaning must not change
 * the meaning of events before it: they are written first, with what they need.
 */
static int before(struct trace_writer *w, enum defs_result how, struct err *err)
{
	if (trace_writer_good(w, err))
		return -1;
	if (!w->pending.buf.n && !trace_encoder_count(w->enc))
		w->since = trace_now_ms();
	if (how == DEFS_CHANGED && trace_encoder_count(w->enc))
		return trace_writer_flush(w, err);
	return w->pending.buf.n > DEFS_LIMIT ? trace_writer_defs(w, err) : 0;
}

int trace_put_process(struct trace_writer *w, const struct trace_process_def *given,
		      uint32_t *index, struct err *err)
{
	struct trace_process_def def = *given;
	def.first_event = w->events;
	*index = trace_processes(&w->defs);
	if (def.command_len > TRACE_MAX_PAYLOAD || trace_defs_process(&w->defs, &def) == DEFS_BAD)
		return bad_def(err, "process", def.pid);
	if (before(w, DEFS_NEW, err))
		return -1;
	trace_defs_put_process(&w->pending, &def);
	return 0;
}

int trace_put_ended(struct trace_writer *w, uint32_t process, struct err *err)
{
	trace_defs_ended(&w->defs, process);
	if (before(w, DEFS_NEW, err))
		return -1;
	trace_defs_put_ended(&w->pending, process);
	return 0;
}

int trace_put_differs(struct trace_writer *w, const char *text, struct err *err)
{
	if (before(w, DEFS_NEW, err))
		return -1;
	trace_defs_put_differs(&w->pending, text);
	return 0;
}

/* Whether a definition must be written: 1 or 0; -1 if it cannot be. */
static int news(struct trace_writer *w, enum defs_result how, const char *what, uint32_t id,
		struct err *err)
{
	if (how == DEFS_BAD)
		return bad_def(err, what, id);
	if (how == DEFS_SAME)
		return 0;
	return before(w, how, err) ? -1 : 1;
}

int trace_put_site(struct trace_writer *w, uint32_t process, uint32_t id,
		   const struct trace_site_def *def, struct err *err)
{
	int is_new = news(w, trace_defs_site(&w->defs, process, id, def), "site", id, err);
	if (is_new > 0)
		trace_defs_put_site(&w->pending, process, id, def);
	return is_new < 0 ? -1 : 0;
}

int trace_put_ctx(struct trace_writer *w, uint32_t process, uint32_t id,
		  const struct trace_ctx_def *def, struct err *err)
{
	int is_new = news(w, trace_defs_ctx(&w->defs, process, id, def), "context", id, err);
	if (is_new > 0)
		trace_defs_put_ctx(&w->pending, process, id, def);
	return is_new < 0 ? -1 : 0;
}

int trace_put_module(struct trace_writer *w, uint32_t process, uint32_t id,
		     const struct trace_module_def *def, struct err *err)
{
	int is_new = news(w, trace_defs_module(&w->defs, process, id, def), "module", id, err);
	if (is_new > 0)
		trace_defs_put_module(&w->pending, process, id, def);
	return is_new < 0 ? -1 : 0;
}

int trace_put_string(struct trace_writer *w, uint32_t process, uint32_t id, const char *text,
		     struct err *err)
{
	int is_new = news(w, trace_defs_string(&w->defs, process, id, text), "string", id, err);
	if (is_new > 0)
		trace_defs_put_string(&w->pending, process, id, text);
	return is_new < 0 ? -1 : 0;
}

int trace_put_file(struct trace_writer *w, const struct trace_file_def *def, int fd, uint32_t *id,
		   struct err *err)
{
	struct trace_file_def with = *def;
	with.has_snapshot = fd >= 0;
	*id = trace_files(&w->defs);
	if (!trace_process(&w->defs, def->process) || def->size > INT64_MAX ||
	    trace_defs_file(&w->defs, &with) == DEFS_BAD)
		return bad_def(err, "file", *id);
	if (before(w, DEFS_NEW, err))
		return -1;
	trace_defs_put_file(&w->pending, &with);
	return fd >= 0 ? trace_snapshot(w, *id, fd, err) : 0;
}

int trace_put_node(struct trace_writer *w, const struct trace_node_def *def, int fd, uint32_t *id,
		   struct err *err)
{
	struct trace_node_def with = *def;
	with.has_snapshot = fd >= 0;
	*id = trace_nodes(&w->defs);
	if (!trace_process(&w->defs, def->process) || def->size > INT64_MAX ||
	    trace_defs_node(&w->defs, &with) == DEFS_BAD)
		return bad_def(err, "node", *id);
	if (before(w, DEFS_NEW, err))
		return -1;
	trace_defs_put_node(&w->pending, &with);
	return fd >= 0 ? trace_snapshot(w, PAGES_NODE + *id, fd, err) : 0;
}

const struct trace_defs *trace_writer_known(const struct trace_writer *w)
{
	return &w->defs;
}
