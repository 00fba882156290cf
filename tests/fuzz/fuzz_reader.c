/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bad bytes for the reader. A small trace with everything in it is cut at every byte and
 * then changed in 100,000 random ways; each time it is opened, read, sought in, and its
 * images rebuilt. Built with ASan and UBSan, which turn a bad access, an overflow or a huge
 * allocation into a failure; an alarm does the same for a hang.
 *
 * Changes that the checksum must catch (cuts, flipped bits, chunks out of order) may only
 * shorten what is read: every event that comes must be the one that was written. Changes
 * with the checksum made right again get to the decoders, and need only be survived.
 *
 *   fuzz_reader [mutations [seed]]
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/internal.h"

#define PM 0x600000000000u
#define HANG_SECONDS 60

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "max_allocation_size_mb=300:hard_rss_limit_mb=1500:detect_leaks=1";
}

static uint64_t rnd_state = 88172645463325252u;

static uint64_t rnd(void)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return rnd_state;
}

static _Noreturn void die(const char *what, const struct err *err)
{
	msg_error("%s: %s", what, err ? err->text : "");
	abort();
}

/* --- the trace --- */

struct piece {
	struct chunk head;
	struct buf stored, raw;
};

static struct buf original;
static VEC(struct piece) pieces;
static VEC(struct trace_event) written; /* data is a copy */

static void put_event(struct trace_writer *w, struct trace_event ev)
{
	struct err err = { 0 };
	uint8_t *copy = xmalloc(ev.size + 1u);
	ev.nargs = (uint8_t)trace_kind_args(ev.kind);
	if (trace_put_event(w, &ev, &err))
		die("put", &err);
	if (ev.size)
		memcpy(copy, ev.data, ev.size);
	ev.data = copy;
	VEC_PUSH(&written, ev);
}

static uint32_t put_process(struct trace_writer *w, uint32_t pid, uint32_t parent, uint8_t birth)
{
	struct err err = { 0 };
	char command[] = "prog";
	struct trace_process_def def = { .pid = pid,
					 .parent_index = parent,
					 .birth = birth,
					 .command = command,
					 .command_len = 4 };
	uint32_t index;
	if (trace_put_process(w, &def, &index, &err))
		die("process", &err);
	return index;
}

static void put_defs(struct trace_writer *w, uint32_t process)
{
	struct err err = { 0 };
	char path[] = "/lib/libpmem.so.1";
	struct trace_module_def module = { .build_id_len = 20, .path = path };
	for (uint32_t i = 1; i < 40; i++) {
		struct trace_site_def site = { 0x401000 + i * 5 + process, i % TRACE_SITE_CLASSES,
					       8 };
		struct trace_ctx_def ctx = { i, 0x400000 + i * 16 + process, 0x402000 + i * 64 };
		if (trace_put_site(w, process, i, &site, &err) ||
		    trace_put_ctx(w, process, i + 1, &ctx, &err))
			die("site", &err);
	}
	if (trace_put_module(w, process, 1, &module, &err) ||
	    trace_put_string(w, process, 1, "pmemobj_tx_begin", &err))
		die("module", &err);
}

/* Two files with holes and equal pages. */
static void put_files(struct trace_writer *w, const char *dir)
{
	struct err err = { 0 };
	char *path = xasprintf("%s/pool", dir);
	struct trace_file_def def = { .path = path, .size = 20 * CHUNK_PAGE + 100 };
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	uint32_t id;
	if (fd < 0 || ftruncate(fd, (off_t)def.size) || pwrite(fd, "one", 3, 0) != 3 ||
	    pwrite(fd, "two", 3, 5 * CHUNK_PAGE) != 3 || pwrite(fd, "one", 3, 9 * CHUNK_PAGE) != 3)
		die("pool", NULL);
	if (trace_put_file(w, &def, fd, &id, &err) || trace_put_file(w, &def, fd, &id, &err))
		die("file", &err);
	for (uint8_t kind = 0; kind < TRACE_IS_KINDS; kind++) {
		struct trace_node_def node = {
			.path = path, .target = path, .kind = kind, .size = def.size
		};
		if (trace_put_node(w, &node, kind ? -1 : fd, &id, &err))
			die("node", &err);
	}
	close(fd);
	unlink(path);
	free(path);
}

static void put_some(struct trace_writer *w, uint32_t process, unsigned n)
{
	static const uint32_t sizes[] = { 1, 2, 4, 8, 8, 8, 16, 32, 33, 200 };
	uint8_t bytes[200];
	for (unsigned i = 0; i < n; i++) {
		struct trace_event ev = { .process = process,
					  .thread = 1 + i / 20 % 3,
					  .ctx = i % 5,
					  .site = 1 + i % 7 };
		for (unsigned k = 0; k < sizeof bytes; k++)
			bytes[k] = (uint8_t)(i * k);
		ev.kind = i % 3 ? TRACE_STORE : (uint8_t)(1 + i / 3 % (TRACE_KINDS - 1));
		for (unsigned k = 0; k < TRACE_MAX_ARGS && k < trace_kind_args(ev.kind); k++)
			ev.arg[k] = PM + rnd() % 65536;
		if (trace_file_arg(ev.kind) >= 0)
			ev.arg[trace_file_arg(ev.kind)] = i % 3;
		if (ev.kind == TRACE_STORE || ev.kind == TRACE_FILE_WRITE ||
		    ev.kind == TRACE_NODE_WRITE)
			ev.size = sizes[i % 10];
		if (ev.kind == TRACE_FILE_WRITE || ev.kind == TRACE_FILE_TRUNCATE ||
		    ev.kind == TRACE_NODE_WRITE || ev.kind == TRACE_NODE_TRUNCATE)
			ev.arg[1] = i * 100;
		if (trace_node_arg(ev.kind))
			ev.arg[0] = i % 4;
		if (trace_node_arg(ev.kind) && !ev.size) {
			ev.size = (uint32_t)sizeof "/a/b/c\0/a/d" - 1;
			memcpy(bytes, "/a/b/c\0/a/d", ev.size);
		}
		if (ev.kind == TRACE_FILE_ALLOCATE || ev.kind == TRACE_NODE_ALLOCATE) {
			ev.arg[1] = i % 2 ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
					  : FALLOC_FL_COLLAPSE_RANGE;
			ev.arg[2] = CHUNK_PAGE;
			ev.arg[3] = CHUNK_PAGE;
		}
		ev.data = ev.size ? bytes : NULL;
		put_event(w, ev);
	}
}

static void put_maps(struct trace_writer *w, uint32_t process)
{
	for (uint64_t f = 0; f < 2; f++)
		put_event(w, (struct trace_event){
				     .kind = TRACE_MAP,
				     .process = process,
				     .flags = TRACE_F_PM,
				     .arg = { PM + f * 65536, 65536, f, f * CHUNK_PAGE, 3, 1 } });
}

/* The other way round: the file as chunks. */
static void cut_pieces(void)
{
	struct trace_source src = { .fd = -1, .mem = (uint8_t *)original.p, .size = original.n };
	struct trace_load load = { 0 };
	struct err err = { 0 };
	for (uint64_t at = 0; at < original.n;) {
		struct piece p = { 0 };
		if (trace_chunk_load(&src, at, &p.head, &load, &err) != 1)
			die("chunk", &err);
		buf_add(&p.stored, load.stored, p.head.stored);
		buf_add(&p.raw, load.raw, p.head.raw);
		at += CHUNK_HEAD + p.head.stored;
		VEC_PUSH(&pieces, p);
	}
	trace_load_free(&load);
}

static void slurp(const char *path)
{
	char bytes[4096];
	FILE *f = fopen(path, "re");
	size_t n;
	if (!f)
		die("open", NULL);
	while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
		buf_add(&original, bytes, n);
	fclose(f);
}

static void make_trace(void)
{
	struct err err = { 0 };
	char dir[] = "/tmp/holdfast-fuzz.XXXXXX", path[64];
	struct trace_writer *w;
	uint32_t first, child;
	if (!mkdtemp(dir) || !(w = trace_create(dir, &err)))
		die("create", &err);
	first = put_process(w, 10, TRACE_NO_PROCESS, TRACE_BIRTH_START);
	put_defs(w, first);
	put_files(w, dir);
	put_maps(w, first);
	put_some(w, first, 150);
	put_event(w, (struct trace_event){ .kind = TRACE_FORK, .process = first, .arg = { 11 } });
	if (trace_writer_flush(w, &err))
		die("flush", &err);
	child = put_process(w, 11, first, TRACE_BIRTH_FORK);
	put_defs(w, child);
	put_some(w, child, 100);
	put_some(w, first, 50);
	if (trace_writer_flush(w, &err))
		die("flush", &err);
	child = put_process(w, 11, child, TRACE_BIRTH_EXEC);
	put_maps(w, child);
	put_some(w, child, 60);
	if (trace_put_ended(w, child, &err) || trace_finish(w, &err))
		die("finish", &err);
	snprintf(path, sizeof path, "%s/trace", dir);
	slurp(path);
	unlink(path);
	rmdir(dir);
	cut_pieces();
}

/* --- reading everything --- */

static volatile uint64_t touched; /* so that reads are not optimised away */

static void touch(const void *p, size_t n)
{
	const uint8_t *b = p;
	for (size_t i = 0; i < n; i++)
		touched += b[i];
}

static void touch_defs(const struct trace_defs *d, const struct trace_event *ev)
{
	const struct trace_ctx_def *c = trace_ctx(d, ev->process, ev->ctx);
	const struct trace_site_def *site = trace_site(d, ev->process, ev->site);
	const struct trace_module_def *m = trace_module(d, ev->process, 1);
	const char *s = trace_string(d, ev->process, 1);
	while (c) { /* ends, since a parent's id is lower */
		touched += c->call_ip;
		c = trace_ctx(d, ev->process, c->parent);
	}
	touched += site ? site->ip : 0;
	touched += m ? strlen(m->path) + m->build_id_len : 0;
	touched += s ? strlen(s) : 0;
	touched += trace_process(d, ev->process)->pid;
}

static void compare(const struct trace_event *ev)
{
	const struct trace_event *want = &written.p[ev->num];
	if (ev->num >= written.n || ev->kind != want->kind || ev->flags != want->flags ||
	    ev->process != want->process || ev->thread != want->thread || ev->site != want->site ||
	    ev->ctx != want->ctx || ev->size != want->size ||
	    memcmp(ev->arg, want->arg, sizeof ev->arg) ||
	    (ev->size && memcmp(ev->data, want->data, ev->size)))
		die("an event is not what was written", NULL);
}

static uint64_t read_events(struct trace_reader *r, bool must_match)
{
	struct err err = { 0 };
	struct trace_event ev;
	uint64_t n = 0;
	int got;
	while ((got = trace_next(r, &ev, &err)) == 1) {
		if (ev.size)
			touch(ev.data, ev.size);
		touch_defs(trace_defs(r), &ev);
		if (must_match)
			compare(&ev);
		n++;
	}
	if (got < 0 && !strstr(err.text, "offset"))
		die("an error that does not say where", &err);
	return n;
}

static void read_image(struct trace_reader *r)
{
	static uint8_t bytes[65536];
	struct err err = { 0 };
	struct trace_image *im = trace_image_new(r, &err);
	if (!im)
		return;
	if (trace_image_run(im, UINT64_MAX, &err))
		touched++;
	for (uint32_t f = 0; f < trace_files(trace_defs(r)); f++) {
		uint64_t size = trace_image_size(im, f);
		size_t n = size < sizeof bytes ? (size_t)size : sizeof bytes;
		if (trace_image_read(im, f, 0, bytes, n) ||
		    trace_image_read(im, f, size - n, bytes, n))
			die("image", NULL);
		touch(bytes, n);
	}
	trace_image_free(im);
}

static void count_name(void *arg, const struct trace_name *n)
{
	(void)arg;
	touched += strlen(n->path) + n->moved;
}

static void read_names(struct trace_reader *r)
{
	struct err err = { 0 };
	struct trace_tree *t = trace_tree_read(r, &err);
	if (!t)
		return;
	trace_tree_names(t, 0, count_name, NULL);
	trace_tree_names(t, trace_count(r) / 2, count_name, NULL);
	trace_tree_names(t, UINT64_MAX, count_name, NULL);
	trace_tree_free(t);
}

/* Returns the number of events read. */
/* Labels and activations, whatever they say. */
static void read_deps(struct trace_reader *r)
{
	struct err err = { 0 };
	struct trace_deps *d = trace_deps_new();
	struct trace_event ev;
	struct trace_dep dep;
	if (!trace_seek(r, 0, &err))
		while (trace_next(r, &ev, &err) == 1)
			if (trace_deps_event(d, &ev, &dep, &err) == 1)
				for (unsigned i = 0; i < dep.ndata; i++)
					touch(&dep.data[i], sizeof dep.data[i]);
	trace_deps_free(d);
}

static uint64_t read_all(const struct buf *b, bool must_match)
{
	struct err err = { 0 };
	struct trace_reader *r;
	const char *why;
	uint64_t n, count;
	char *exact = xmalloc(b->n); /* so that ASan sees one byte too far */
	memcpy(exact, b->p, b->n);
	r = trace_open_mem(exact, b->n, &err);
	if (!r) {
		free(exact);
		return 0;
	}
	count = trace_count(r);
	n = read_events(r, must_match);
	if (n > count)
		die("more events than there are", NULL);
	for (unsigned i = 0; i < 3; i++)
		if (!trace_seek(r, rnd() % (count + 2), &err))
			read_events(r, must_match);
	if (!trace_is_whole(r, &why))
		touch(why, strlen(why));
	read_image(r);
	read_names(r);
	read_deps(r);
	trace_close(r);
	free(exact);
	return n;
}

/* --- changes --- */

static void copy_original(struct buf *b)
{
	b->n = 0;
	buf_add(b, original.p, original.n);
}

static uint64_t odd_number(void)
{
	static const uint64_t odd[] = { 0,
					1,
					2,
					127,
					128,
					255,
					4096,
					65535,
					65536,
					65537,
					1u << 20,
					16u << 20,
					(16u << 20) + 1,
					INT32_MAX,
					UINT32_MAX,
					INT64_MAX,
					UINT64_MAX };
	return rnd() % 3 ? odd[rnd() % (sizeof odd / sizeof *odd)] : rnd();
}

/* Bytes of a buffer: bits, bytes, numbers, runs of varint "more" bits. */
static void spoil(char *p, size_t n)
{
	for (unsigned times = 1 + (unsigned)(rnd() % 4); n && times > 0; times--) {
		size_t at = rnd() % n, len = 1 + rnd() % 8;
		uint64_t v = odd_number();
		if (len > n - at)
			len = n - at;
		switch (rnd() % 4) {
		case 0: p[at] ^= (char)(1 << rnd() % 8); break;
		case 1: p[at] = (char)rnd(); break;
		case 2: memcpy(p + at, &v, len); break;
		default: memset(p + at, 0xff, len);
		}
	}
}

static void add_piece(struct buf *b, const struct piece *p)
{
	uint8_t head[CHUNK_HEAD];
	struct chunk c = p->head;
	trace_chunk_pack(head, &c, (const uint8_t *)p->stored.p);
	buf_add(b, head, sizeof head);
	buf_add(b, p->stored.p, p->stored.n);
}

static void add_pieces(struct buf *b, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		add_piece(b, &pieces.p[i]);
}

/* Chunks swapped, left out or doubled; all checksums are right, the order is not. */
static void shuffle(struct buf *b)
{
	size_t i = 1 + rnd() % (pieces.n - 1), k = 1 + rnd() % (pieces.n - 1);
	b->n = 0;
	for (size_t n = 0; n < pieces.n; n++) {
		if (n == i)
			add_piece(b, &pieces.p[k]);
		else if (n == k && rnd() % 2)
			add_piece(b, &pieces.p[i]);
		else
			add_piece(b, &pieces.p[n]);
	}
}

/* One header with another length, count or type, and the right checksum. */
static void wrong_header(struct buf *b)
{
	size_t i = rnd() % pieces.n;
	struct piece p = pieces.p[i];
	uint64_t v = odd_number();
	switch (rnd() % 7) {
	case 0: p.head.type = (uint16_t)(rnd() % 8); break;
	case 1: p.head.flags = (uint16_t)v; break;
	case 2: p.head.raw = (uint32_t)v; break;
	case 3: p.head.stored = (uint32_t)(v % (p.stored.n + 1)); break;
	case 4: p.head.first = v; break;
	case 5: p.head.events = (uint32_t)v; break;
	default: p.head.process = (uint32_t)v;
	}
	b->n = 0;
	add_pieces(b, 0, i);
	add_piece(b, &p);
	add_pieces(b, i + 1, pieces.n);
}

/* One payload with other bytes: as stored, or unpacked, changed, and stored plain. */
static void wrong_payload(struct buf *b, bool unpack)
{
	size_t i = rnd() % pieces.n;
	struct piece p = pieces.p[i];
	struct buf changed = { 0 };
	buf_add(&changed, unpack ? p.raw.p : p.stored.p, unpack ? p.raw.n : p.stored.n);
	if (unpack && rnd() % 8 == 0) /* shorter or longer */
		changed.n = rnd() % (changed.n + 1);
	else if (unpack && rnd() % 8 == 0)
		buf_add(&changed, p.raw.p, rnd() % (p.raw.n + 1));
	spoil(changed.p, changed.n);
	if (unpack) {
		p.head.flags = 0;
		p.head.raw = (uint32_t)changed.n;
	}
	p.head.stored = (uint32_t)changed.n;
	p.stored = changed;
	b->n = 0;
	add_pieces(b, 0, i);
	add_piece(b, &p);
	add_pieces(b, i + 1, pieces.n);
	buf_free(&changed);
}

static void mutate(struct buf *b)
{
	uint64_t how = rnd() % 16;
	if (how < 3) {
		copy_original(b);
		spoil(b->p, b->n);
		read_all(b, true);
	} else if (how < 4) {
		copy_original(b);
		b->n = rnd() % b->n;
		buf_add(b, original.p + rnd() % original.n / 2, rnd() % (original.n / 2));
		read_all(b, true);
	} else if (how < 6) {
		shuffle(b);
		read_all(b, false);
	} else if (how < 8) {
		wrong_header(b);
		read_all(b, false);
	} else {
		wrong_payload(b, how > 8);
		read_all(b, false);
	}
}

static void cut_everywhere(void)
{
	struct buf b = { 0 };
	uint64_t n = 0;
	for (size_t size = 0; size <= original.n; size++) {
		uint64_t got;
		alarm(HANG_SECONDS);
		copy_original(&b);
		b.n = size;
		got = read_all(&b, true);
		if (got < n)
			die("a longer file has fewer events", NULL);
		n = got;
	}
	if (n != written.n)
		die("the whole trace is not read", NULL);
	buf_free(&b);
}

static void release(void)
{
	for (size_t i = 0; i < pieces.n; i++) {
		buf_free(&pieces.p[i].stored);
		buf_free(&pieces.p[i].raw);
	}
	for (size_t i = 0; i < written.n; i++)
		free((void *)(uintptr_t)written.p[i].data);
	VEC_FREE(&pieces);
	VEC_FREE(&written);
	buf_free(&original);
}

int main(int argc, char **argv)
{
	unsigned long mutations = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
	struct buf b = { 0 };
	if (argc > 2)
		rnd_state = strtoull(argv[2], NULL, 0) | 1;
	make_trace();
	cut_everywhere();
	for (unsigned long i = 0; i < mutations; i++) {
		alarm(HANG_SECONDS);
		mutate(&b);
	}
	printf("fuzz_reader: %zu bytes, %zu chunks, %zu events; cut at every byte, %lu mutations\n",
	       original.n, pieces.n, written.n, mutations);
	buf_free(&b);
	release();
	return 0;
}
