/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a trace, one chunk in memory at a time.
 *
 * Opening makes a table of all chunks: from the index that the end chunk points at, or, if
 * the recording was cut short or the index is damaged, by walking from chunk to chunk and
 * checking each. Definitions are added as the reader passes them; seeking forward adds
 * those in between, and they stay known when it goes back.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/internal.h"

struct place {
	uint64_t offset, first;
	uint32_t events;
	uint16_t type;
};

struct trace_reader {
	struct trace_source src;
	char *path;
	VEC(struct place) chunk;
	uint64_t events;
	bool whole;
	struct err why; /* not whole: what is missing */
	bool bad_tail;  /* after the last chunk of the table come bad bytes, see why */
	struct trace_defs defs;
	size_t defs_to; /* chunks before this one have had their definitions added */
	size_t at;      /* next chunk to read */
	uint64_t num;   /* next event */
	struct trace_load load;
	struct chunk cur;
	struct trace_decoder *dec;
	struct err stuck; /* status != 0: trace_next fails with this until a seek */
};

/* Puts the file's name before what is wrong with it. */
static int say_where(const struct trace_reader *r, struct err *err)
{
	struct err e = *err;
	return err_set(err, e.status, "%s: %s", r->path, e.text);
}

static void add_place(struct trace_reader *r, uint64_t offset, uint16_t type, uint32_t events)
{
	VEC_PUSH(&r->chunk, ((struct place){ offset, r->events, events, type }));
	r->events += events;
}

/* --- opening --- */

static int read_header(struct trace_reader *r, struct err *err)
{
	struct cursor in;
	struct chunk c;
	uint64_t version, page;
	int got = trace_chunk_load(&r->src, 0, &c, &r->load, err);
	if (got == 0 || (got < 0 && r->src.size < CHUNK_HEAD))
		return err_set(err, EXIT_USAGE, "not a whole trace: %s", err->text);
	if (got < 0)
		return -1;
	if (c.type != CHUNK_HEADER)
		return err_set(err, EXIT_USAGE, "not a trace: it does not start with a header");
	in = (struct cursor){ .p = r->load.raw, .end = r->load.raw + c.raw };
	version = get_varint(&in);
	page = get_varint(&in);
	if (in.bad || version == 0 || page != CHUNK_PAGE)
		return err_set(err, EXIT_USAGE, "bad header at offset 0");
	if (version > TRACE_FILE_VERSION)
		return err_set(err, EXIT_USAGE,
			       "format version %" PRIu64 "; this holdfast reads up to version %u",
			       version, TRACE_FILE_VERSION);
	return 0;
}

/* A valid end chunk in the last bytes of the file. */
static bool find_end(struct trace_reader *r, struct chunk_end *end)
{
	struct err ignored;
	struct chunk c;
	uint64_t v[3];
	if (r->src.size < CHUNK_END_BYTES ||
	    trace_chunk_load(&r->src, r->src.size - CHUNK_END_BYTES, &c, &r->load, &ignored) != 1 ||
	    c.type != CHUNK_END || c.raw != CHUNK_END_RAW)
		return false;
	memcpy(v, r->load.raw, sizeof v);
	*end = (struct chunk_end){ le64toh(v[0]), le64toh(v[1]), le64toh(v[2]) };
	return true;
}

static bool read_entries(struct trace_reader *r, size_t n, const struct chunk_end *end,
			 uint64_t *offset)
{
	struct cursor in = { .p = r->load.raw, .end = r->load.raw + n };
	while (cursor_left(&in)) {
		uint64_t type = get_varint(&in), length = get_varint(&in), events = get_varint(&in);
		if (in.bad || type > UINT16_MAX || length < CHUNK_HEAD ||
		    length > end->index - *offset || events > CHUNK_MAX_EVENTS ||
		    (events && type != CHUNK_EVENTS) || r->chunk.n >= end->chunks)
			return false;
		add_place(r, *offset, (uint16_t)type, (uint32_t)events);
		*offset += length;
	}
	return true;
}

/* The table from the index; false if anything about it is wrong. */
static bool read_index(struct trace_reader *r, const struct chunk_end *end)
{
	uint64_t at = end->index, offset = 0, stop = r->src.size - CHUNK_END_BYTES;
	struct err ignored;
	struct chunk c;
	while (at < stop) {
		if (trace_chunk_load(&r->src, at, &c, &r->load, &ignored) != 1 ||
		    c.type != CHUNK_INDEX || !read_entries(r, c.raw, end, &offset))
			return false;
		at += CHUNK_HEAD + c.stored;
	}
	return at == stop && offset == end->index && r->chunk.n == end->chunks &&
	       r->events == end->events;
}

static void scan_stopped(struct trace_reader *r, const struct err *why, bool bad)
{
	char rest[sizeof why->text];
	memcpy(rest, why->text, sizeof rest);
	if (r->events)
		err_set(&r->why, why->status,
			"the recording was cut short after event %" PRIu64 " (%.900s)",
			r->events - 1, rest);
	else
		err_set(&r->why, why->status,
			"the recording was cut short before any event (%.900s)", rest);
	r->bad_tail = bad;
}

/* Chunk by chunk from the front, each checked, up to the first that is not whole. */
static void scan(struct trace_reader *r)
{
	uint64_t at = 0;
	struct err why = { 0 };
	struct chunk c;
	int got = 1;
	r->chunk.n = 0;
	r->events = 0;
	while (at < r->src.size) {
		got = trace_chunk_fetch(&r->src, at, &c, &r->load, &why);
		if (got != 1)
			break;
		if (c.type == CHUNK_END) {
			err_set(&r->why, EXIT_USAGE,
				"the index is damaged, or bytes follow the end");
			return;
		}
		if (c.events && (c.type != CHUNK_EVENTS || c.first != r->events)) {
			got = err_set(
				&why, EXIT_USAGE,
				"bad chunk at offset %" PRIu64 ": event numbers do not follow", at);
			break;
		}
		if (c.type != CHUNK_INDEX)
			add_place(r, at, c.type, c.events);
		at += CHUNK_HEAD + c.stored;
	}
	if (got == 1)
		err_set(&why, EXIT_USAGE, "the file ends without an end mark");
	scan_stopped(r, &why, got < 0);
}

static struct trace_reader *start(struct trace_reader *r, struct err *err)
{
	struct chunk_end end;
	r->dec = trace_decoder_new();
	if (read_header(r, err)) {
		say_where(r, err);
		trace_close(r);
		return NULL;
	}
	r->whole = find_end(r, &end) && read_index(r, &end);
	if (!r->whole)
		scan(r);
	return r;
}

struct trace_reader *trace_open_mem(const void *bytes, size_t n, struct err *err)
{
	struct trace_reader *r = xcalloc(1, sizeof *r);
	r->src = (struct trace_source){ .fd = -1, .mem = bytes, .size = n };
	r->path = xstrdup("trace");
	return start(r, err);
}

struct trace_reader *trace_open(const char *dir, struct err *err)
{
	struct trace_reader *r = xcalloc(1, sizeof *r);
	struct stat st;
	r->path = xasprintf("%s/%s", dir, TRACE_FILE_NAME);
	r->src.fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->src.fd < 0) {
		err_errno(err, EXIT_USAGE, "%s is not a trace: cannot open %s", dir, r->path);
	} else if (fstat(r->src.fd, &st) || !S_ISREG(st.st_mode)) {
		err_set(err, EXIT_USAGE, "%s is not a regular file", r->path);
	} else {
		r->src.size = (uint64_t)st.st_size;
		return start(r, err);
	}
	trace_close(r);
	return NULL;
}

void trace_close(struct trace_reader *r)
{
	if (!r)
		return;
	if (r->src.fd >= 0)
		close(r->src.fd);
	trace_decoder_free(r->dec);
	trace_load_free(&r->load);
	trace_defs_free(&r->defs);
	VEC_FREE(&r->chunk);
	free(r->path);
	free(r);
}

const struct trace_defs *trace_defs(const struct trace_reader *r)
{
	return &r->defs;
}

uint64_t trace_count(const struct trace_reader *r)
{
	return r->events;
}

bool trace_is_whole(const struct trace_reader *r, const char **why)
{
	if (why)
		*why = r->whole ? NULL : r->why.text;
	return r->whole;
}

/* --- reading --- */

/* Something after opening turned out to be bad: the trace is not whole after all. */
static int stuck(struct trace_reader *r, struct err *err)
{
	say_where(r, err);
	r->stuck = *err;
	r->whole = false;
	r->why = *err;
	return -1;
}

static int load_chunk(struct trace_reader *r, size_t i, struct err *err)
{
	const struct place *p = &r->chunk.p[i];
	if (trace_chunk_load(&r->src, p->offset, &r->cur, &r->load, err) != 1)
		return stuck(r, err);
	if (r->cur.type != p->type || r->cur.events != p->events ||
	    (p->events && r->cur.first != p->first)) {
		err_set(err, EXIT_USAGE, "bad chunk at offset %" PRIu64 ": not what the index says",
			p->offset);
		return stuck(r, err);
	}
	return 0;
}

/* Adds the definitions in chunks before `to`. Uses the chunk buffer. */
static int add_defs(struct trace_reader *r, size_t to, struct err *err)
{
	size_t at;
	for (; r->defs_to < to; r->defs_to++) {
		if (r->chunk.p[r->defs_to].type != CHUNK_DEFS)
			continue;
		if (load_chunk(r, r->defs_to, err))
			return -1;
		if (trace_defs_parse(&r->defs, r->load.raw, r->cur.raw, &at)) {
			err_set(err, EXIT_USAGE,
				"bad definition at byte %zu of the chunk at offset %" PRIu64, at,
				r->chunk.p[r->defs_to].offset);
			return stuck(r, err);
		}
	}
	return 0;
}

static int bad_events(struct trace_reader *r, struct err *err)
{
	err_set(err, EXIT_USAGE, "bad bytes at event %" PRIu64 " in the chunk at offset %" PRIu64,
		r->num, r->chunk.p[r->at - 1].offset);
	return stuck(r, err);
}

/* Makes the next chunk with events the current one. 1, 0: there is none, -1. */
static int next_chunk(struct trace_reader *r, struct err *err)
{
	while (r->at < r->chunk.n && !r->chunk.p[r->at].events)
		r->at++;
	if (add_defs(r, r->at, err))
		return -1;
	if (r->at == r->chunk.n) {
		if (r->bad_tail) {
			*err = r->why;
			return say_where(r, err);
		}
		return 0;
	}
	r->num = r->chunk.p[r->at].first;
	if (load_chunk(r, r->at, err))
		return -1;
	r->at++;
	if (trace_decoder_start(r->dec, &r->cur, r->load.raw))
		return bad_events(r, err);
	return 1;
}

int trace_next(struct trace_reader *r, struct trace_event *ev, struct err *err)
{
	if (r->stuck.status) {
		*err = r->stuck;
		return -1;
	}
	if (!trace_decoder_left(r->dec)) {
		int got = next_chunk(r, err);
		if (got <= 0)
			return got;
	}
	if (!trace_decoder_next(r->dec, &r->defs, ev))
		return bad_events(r, err);
	ev->num = r->num++;
	if (ev->kind == TRACE_EXIT || ev->kind == TRACE_EXEC)
		trace_defs_ended(&r->defs, ev->process);
	return 1;
}

/* Index of the last chunk with events that starts at or before num. */
static size_t chunk_of(const struct trace_reader *r, uint64_t num)
{
	size_t after = BISECT(i, r->chunk.n, r->chunk.p[i].first <= num);
	return after ? after - 1 : 0;
}

int trace_seek(struct trace_reader *r, uint64_t num, struct err *err)
{
	struct trace_event ev;
	bool here = !r->stuck.status && trace_decoder_left(r->dec) && num >= r->num &&
		    num - r->num < trace_decoder_left(r->dec);
	if (num > r->events)
		return err_set(err, EXIT_USAGE, "there is no event %" PRIu64 ", only %" PRIu64, num,
			       r->events);
	if (!here) {
		r->stuck.status = 0;
		trace_decoder_stop(r->dec);
		r->at = num == r->events ? r->chunk.n : chunk_of(r, num);
		r->num = num == r->events ? num : r->chunk.p[r->at].first;
	}
	while (r->num < num)
		if (trace_next(r, &ev, err) != 1)
			return -1;
	return 0;
}

/* --- for the image --- */

/* Goes back to where the reader was, since the chunk buffer has been used for something else. */
static int go_back(struct trace_reader *r, uint64_t num, struct err was_stuck, int bad,
		   struct err *err)
{
	struct err ignored;
	if (trace_seek(r, num, bad ? &ignored : err) && !bad)
		return -1;
	if (was_stuck.status)
		r->stuck = was_stuck;
	return bad;
}

int trace_reader_defs(struct trace_reader *r, struct err *err)
{
	struct err was_stuck = r->stuck;
	uint64_t num = r->num;
	trace_decoder_stop(r->dec);
	return go_back(r, num, was_stuck, add_defs(r, r->chunk.n, err), err);
}

int trace_reader_pages(struct trace_reader *r, trace_pages_use *use, void *arg, struct err *err)
{
	struct err was_stuck = r->stuck;
	uint64_t num = r->num;
	int bad = 0;
	trace_decoder_stop(r->dec);
	for (size_t i = 0; !bad && i < r->chunk.n; i++) {
		if (r->chunk.p[i].type != CHUNK_PAGES)
			continue;
		bad = load_chunk(r, i, err);
		if (!bad && use(arg, r->load.raw, r->cur.raw)) {
			err_set(err, EXIT_USAGE, "bad pages in the chunk at offset %" PRIu64,
				r->chunk.p[i].offset);
			bad = stuck(r, err);
		}
	}
	return go_back(r, num, was_stuck, bad, err);
}
