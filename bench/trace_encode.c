/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast traces are written and read, and how small they are.
 *
 *   trace_encode            two made-up programs: an append-only log, and a hash table with
 *                           random keys and values, each with flushes and fences
 *   trace_encode DIR        the events of a recorded trace, written and read again
 *
 * Prints one line each: events, bytes per event on disk, million events per CPU second written
 * (encoded, compressed, on disk) and read (decompressed, decoded).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/trace.h"

#define EVENTS 10000000u
#define PM 0x600000000000u

static VEC(struct trace_event) events;
static VEC(uint8_t) bytes; /* payloads; data holds offsets until all are there */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may be busy on this machine */
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t rnd(void)
{
	static uint64_t s = 88172645463325252u;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return s;
}

static void add(struct trace_event ev, const void *data)
{
	ev.data = (const uint8_t *)(uintptr_t)bytes.n;
	VEC_RESERVE(&bytes, bytes.n + ev.size);
	if (ev.size)
		memcpy(bytes.p + bytes.n, data, ev.size);
	bytes.n += ev.size;
	VEC_PUSH(&events, ev);
}

static void store(uint32_t site, uint64_t addr, uint64_t value)
{
	add((struct trace_event){ .kind = TRACE_STORE,
				  .nargs = 1,
				  .site = site,
				  .ctx = 2 + site % 7,
				  .size = 8,
				  .thread = 1,
				  .arg = { addr } },
	    &value);
}

static void persist(uint32_t site, uint64_t addr)
{
	add((struct trace_event){ .kind = TRACE_FLUSH,
				  .nargs = 1,
				  .site = site,
				  .ctx = 3,
				  .thread = 1,
				  .arg = { addr & ~63ull } },
	    NULL);
	add((struct trace_event){ .kind = TRACE_FENCE, .site = site + 1, .ctx = 3, .thread = 1 },
	    NULL);
}

static void make_log(void)
{
	for (uint64_t i = 0; events.n < EVENTS; i++) {
		store(1, PM + 4096 + i * 32, i);
		store(2, PM + 4096 + i * 32 + 8, rnd() % 1000);
		store(3, PM + 4096 + i * 32 + 16, 0);
		persist(4, PM + 4096 + i * 32);
		store(6, PM, 4096 + (i + 1) * 32);
		persist(7, PM);
	}
}

static void make_table(void)
{
	for (uint64_t i = 0; events.n < EVENTS; i++) {
		uint64_t slot = PM + rnd() % (1u << 21) * 32;

		store(1, slot + 8, rnd());
		store(2, slot + 16, i);
		persist(3, slot);
		store(5, slot, rnd() % 1000000);
		persist(6, slot);
	}
}

static int load(const char *dir, struct err *err)
{
	struct trace_reader *r = trace_open(dir, err);
	struct trace_event ev;
	int got;

	if (!r)
		return -1;
	while ((got = trace_next(r, &ev, err)) == 1 && events.n < 4 * EVENTS) {
		ev.process = 0;
		add(ev, ev.data);
	}
	trace_close(r);
	return got < 0 ? -1 : 0;
}

static int write_trace(const char *dir, struct err *err)
{
	struct trace_process_def def = { .parent_index = TRACE_NO_PROCESS };
	struct trace_writer *w = trace_create(dir, err);
	uint32_t process;

	if (!w || trace_put_process(w, &def, &process, err))
		return -1;
	for (size_t i = 0; i < events.n; i++)
		if (trace_put_event(w, &events.p[i], err))
			return -1;
	return trace_finish(w, err);
}

static int read_trace(const char *dir, struct err *err)
{
	struct trace_reader *r = trace_open(dir, err);
	struct trace_event ev;
	uint64_t n = 0;
	int got;

	if (!r)
		return -1;
	while ((got = trace_next(r, &ev, err)) == 1)
		n++;
	trace_close(r);
	if (got == 0 && n != events.n)
		return err_set(err, EXIT_INTERNAL, "read %" PRIu64 " of %zu events", n, events.n);
	return got;
}

static int measure(const char *name, struct err *err)
{
	char dir[] = "/tmp/trace_encode.XXXXXX", file[64];
	double start, written, read;
	struct stat st = { 0 };
	int bad;

	for (size_t i = 0; i < events.n; i++)
		events.p[i].data = bytes.p + (uintptr_t)events.p[i].data;
	if (!mkdtemp(dir))
		return err_errno(err, EXIT_INTERNAL, "mkdtemp");
	snprintf(file, sizeof file, "%s/trace", dir);
	start = seconds();
	bad = write_trace(dir, err);
	written = seconds();
	bad = bad || stat(file, &st) || read_trace(dir, err);
	read = seconds();
	unlink(file);
	rmdir(dir);
	if (bad)
		return -1;
	printf("%-12s %9zu events  %6.2f bytes/event  %6.1f M/s written  %6.1f M/s read\n", name,
	       events.n, (double)st.st_size / (double)events.n,
	       (double)events.n / (written - start) / 1e6,
	       (double)events.n / (read - written) / 1e6);
	events.n = bytes.n = 0;
	return 0;
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	int bad;

	if (argc > 1) {
		bad = load(argv[1], &err) || measure("recorded", &err);
	} else {
		make_log();
		bad = measure("log", &err);
		make_table();
		bad = bad || measure("hash table", &err);
	}
	if (bad)
		msg_error("%s", err.text);
	free(events.p);
	free(bytes.p);
	return bad ? EXIT_INTERNAL : EXIT_NOTHING;
}
