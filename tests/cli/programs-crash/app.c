/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store of cells in persistent memory, and ways to get it wrong.
 *
 *   app run POOL WAY…       each on a cell of its own; "grow" and "many" as said below
 *   app check POOL [HOW…]   is every valid cell whole? "wrong: …" and status 1 if not
 *
 * A cell is valid when `valid` is set; its data must be there then, and its two halves equal. A
 * line that a finding must name bears "@WAY ROLE": the store that survives, or one that is lost.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <immintrin.h>

#define PAGE 4096u
#define CELLS 20u /* in a page */
#define PAGES 4u
#define DATA 42u

struct line {
	volatile uint64_t word;
} __attribute__((aligned(64)));

struct cell {
	struct line data, valid, half[1];
};

static char *pm;
static size_t size;
static unsigned next;

static struct cell *cell(unsigned i)
{
	return (struct cell *)(pm + i / CELLS * PAGE) + i % CELLS;
}

static void flush(void *p)
{
	_mm_clflushopt(p);
}

static void persist(void *p)
{
	flush(p);
	_mm_sfence();
}

static void *map(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT, 0666);
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		exit(99);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? exit(99), NULL : p;
}

/* ---- run ---- */

static void good(struct cell *c)
{
	c->data.word = DATA;
	persist(&c->data);
	c->valid.word = 1;
	persist(&c->valid);
}

static void order(struct cell *c)
{
	c->data.word = DATA; /* @order lost */
	flush(&c->data);
	c->valid.word = 1; /* @order persisted */
	flush(&c->valid);
	_mm_sfence();
}

static void no_flush(struct cell *c)
{
	c->data.word = DATA; /* @no-flush lost */
	_mm_sfence();
	c->valid.word = 1; /* @no-flush persisted */
	persist(&c->valid);
}

static void halves(struct cell *c)
{
	good(c);
	c->half[0].word = 2; /* @halves persisted */
	persist(&c->half[0]);
	c->data.word = DATA + 2; /* @halves lost */
	persist(&c->data);
}

/* Whoever could put the halves right would not have the second one for long. */
static void forgets(struct cell *c)
{
	good(c);
	c->half[0].word = 2; /* @forgets persisted */
	persist(&c->half[0]);
	c->data.word = DATA + 2; /* @forgets lost */
	_mm_sfence();
}

/* Correct, but slower than need be. */
static void twice(struct cell *c)
{
	good(c);
	persist(&c->valid); /* @twice flush */
}

static void way(const char *name)
{
	struct cell *c = cell(next++);
	if (!strcmp(name, "good"))
		good(c);
	else if (!strcmp(name, "order"))
		order(c);
	else if (!strcmp(name, "no-flush"))
		no_flush(c);
	else if (!strcmp(name, "halves"))
		halves(c);
	else if (!strcmp(name, "forgets"))
		forgets(c);
	else if (!strcmp(name, "twice"))
		twice(c);
	else
		exit(2);
}

static int run(const char *path, char **ways)
{
	if (*ways && !strcmp(*ways, "none")) /* no persistent memory at all */
		return 0;
	pm = map(path, size = PAGE);
	for (; *ways; ways++)
		if (!strcmp(*ways, "grow")) { /* a page more; the next cell is on it */
			munmap(pm, size);
			pm = map(path, size += PAGE);
			next = (next / CELLS + 1) * CELLS;
		} else if (!strcmp(*ways, "many")) { /* a long campaign with a few causes */
			for (unsigned i = 0; i < 5; i++) {
				way("good");
				way("order");
				way("halves");
			}
			way("no-flush");
		} else if (!strcmp(*ways, "wait")) {
			printf("waits\n");
			fflush(stdout);
			pause();
		} else {
			way(*ways);
		}
	printf("done\n");
	return 0;
}

/* ---- check ---- */

static int wrong(const char *what, unsigned i)
{
	printf("wrong: cell %u %s\n", i, what);
	return 1;
}

static int verify(const char *path)
{
	struct stat st;
	int bad = 0, fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return 0; /* not made yet */
	pm = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (unsigned i = 0; i < (size_t)st.st_size / PAGE * CELLS; i++) {
		struct cell *c = cell(i);
		if (c->valid.word && c->data.word < DATA)
			bad = wrong("has no data", i);
		else if (c->valid.word && c->data.word != DATA + c->half[0].word)
			bad = wrong("is half done", i);
		c->valid.word = 0; /* recovery writes the pool, too */
	}
	return bad;
}

static void leave(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0666);
	if (fd >= 0)
		close(fd);
}

static void daemon_too(void)
{
	if (fork())
		return;
	setsid();
	if (fork())
		_exit(0);
	for (int i = 0; i < 3; i++)
		close(i);
	execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

/* What recovery does besides, before it looks. */
static void before(const char *how, const char *path)
{
	char text[4096];
	if (!strcmp(how, "stdin") && read(0, text, sizeof text) != 0)
		exit(5);
	if (!strcmp(how, "litter")) {
		snprintf(text, sizeof text, "%s.litter", path);
		leave(text);
		leave("litter");
		leave("/tmp/holdfast-test-litter");
		leave("/dev/shm/holdfast-test-litter");
	}
	if (!strcmp(how, "unlink"))
		unlink(path);
	if (!strcmp(how, "daemon"))
		daemon_too();
	if (!strcmp(how, "slow"))
		usleep(5000);
	if (!strcmp(how, "fail"))
		exit(7);
}

/* What recovery does instead of saying that something is wrong. */
static void instead(const char *how)
{
	struct timespec now;
	if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	while (!strcmp(how, "flood"))
		puts("and on and on and on");
	while (!strcmp(how, "hang"))
		usleep(1000);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!strcmp(how, "flaky") && now.tv_nsec / 1000 % 8)
		exit(0);
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "run"))
		return run(argv[2], argv + 3);
	if (argc < 3 || strcmp(argv[1], "check"))
		return 2;
	for (int i = 3; i < argc; i++)
		before(argv[i], argv[2]);
	int bad = verify(argv[2]);
	fflush(stdout);
	for (int i = 3; i < argc && bad; i++)
		instead(argv[i]);
	return bad;
}
