/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that end badly or do odd things: rough POOL SCENARIO [MORE…] */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "expect.h"

#define PAGE 4096ul
#define BYTES (1ul << 20)

static volatile uint64_t *pm;

static void stores(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		pm[i % (BYTES / 8)] = i + 1;
}

static void crash(void)
{
	stores(1000);
	*(volatile int *)(uintptr_t)pm[BYTES / 8 - 1] = 1; /* null */
}

static void killed(void)
{
	stores(50000);
	kill(getpid(), SIGKILL);
}

static void unmapped(void)
{
	stores(10);
	munmap((void *)(uintptr_t)pm, BYTES);
	stores(10);
}

/* A handler repairs what a store into read-only PM needs; the store is then made, once. */
static void repair(int sig)
{
	(void)sig;
	mprotect((void *)(uintptr_t)pm, BYTES, PROT_READ | PROT_WRITE);
}

static void repaired(void)
{
	signal(SIGSEGV, repair);
	stores(3);
	mprotect((void *)(uintptr_t)pm, BYTES, PROT_READ);
	stores(5);
}

static void *exits(void *arg)
{
	stores(5);
	exit(42);
	return arg;
}

static void exit_in_thread(void)
{
	pthread_t t;
	pthread_create(&t, NULL, exits, NULL);
	for (;;)
		pause();
}

static void *outlives(void *arg)
{
	for (int i = 0; i < 1000; i++)
		sched_yield();
	stores(6);
	return arg;
}

static void main_leaves(void)
{
	pthread_t t;
	pthread_create(&t, NULL, outlives, NULL);
	pthread_exit(NULL);
}

static void no_files(void)
{
	stores(2);
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	pm[10] = 10;
	volatile uint64_t *other = pool_map("other", PAGE, NULL);
	other[1] = 1;
}

/* Several thousand small mappings, in and out. */
static void patchwork(void)
{
	int fd = open("other", O_RDWR | O_CREAT, 0666);
	static volatile uint64_t *page[2000];
	must(!ftruncate(fd, 2000 * (off_t)PAGE), "ftruncate");
	for (long i = 0; i < 2000; i++) {
		page[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, i * (long)PAGE);
		must(page[i] != MAP_FAILED, "mmap");
		page[i][i % 512] = (uint64_t)i;
	}
	for (long i = 0; i < 2000; i += 2)
		munmap((void *)(uintptr_t)page[i], PAGE);
	for (long i = 1; i < 2000; i += 2)
		page[i][(i + 1) % 512] = (uint64_t)i;
}

/* ---- code that comes and goes ---- */

static void plugins(char **path, int n)
{
	for (int i = 0; i < n; i++) {
		void *lib = dlopen(path[i], RTLD_NOW);
		if (!lib) {
			fprintf(stderr, "%s\n", dlerror());
			exit(96);
		}
		uintptr_t symbol = (uintptr_t)dlsym(lib, "plugin_entry");
		void (*entry)(volatile uint64_t *, uint64_t);
		memcpy(&entry, &symbol, sizeof entry);
		printf("entry=%lx\n", (unsigned long)symbol);
		entry(pm, (uint64_t)i + 1);
		dlclose(lib);
	}
}

typedef void code_fn(volatile uint64_t *, uint64_t);

/* The same bytes of memory hold different code in turn. */
static void rewritten(void)
{
	static const unsigned char stores_at[] = { 0x48, 0x89, 0x77, 0x00, 0xc3 };
	static const unsigned char flushes[] = { 0x66, 0x0f, 0xae, 0x77, 0x00, 0xc3 };
	unsigned char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code_fn *run;
	must(code != MAP_FAILED, "mmap");
	memcpy(&run, &code, sizeof run);
	for (unsigned char i = 0; i < 15; i++) {
		memcpy(code, stores_at, sizeof stores_at); /* mov %rsi, 8*i(%rdi); ret */
		code[3] = (unsigned char)(8 * i);
		run(pm, i + 1u);
		memcpy(code, flushes, sizeof flushes); /* clwb 8*i(%rdi); ret */
		code[4] = (unsigned char)(8 * i);
		run(pm, 0);
	}
	for (unsigned char i = 0; i < 10; i++) { /* only the middle of a block changes */
		static const unsigned char both[] = { 0x48, 0x89, 0x37, 0x66, 0x0f,
						      0xae, 0x77, 0x00, 0xc3 };
		memcpy(code + 64, both, sizeof both);
		code[64 + 7] = (unsigned char)(8 * i);
		unsigned char *at = code + 64;
		memcpy(&run, &at, sizeof run);
		run(pm + 200, i + 1u);
	}
	memcpy(&run, &code, sizeof run);
	/* Unmapped and mapped again at once, without a word of warning. */
	for (unsigned char i = 0; i < 5; i++) {
		munmap(code, PAGE);
		unsigned char *again = mmap(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		must(again == code, "mmap");
		memcpy(code, i % 2 ? stores_at : flushes, sizeof flushes);
		run(pm + 100, i + 1u);
	}
}

/* ---- big pools ---- */

static void huge(const char *path)
{
	unsigned long bytes = 4ul << 30;
	char *p = pool_map(path, bytes, NULL);
	for (unsigned long at = 0; at < bytes; at += 1ul << 28)
		*(volatile uint64_t *)(p + at) = at + 1;
	*(volatile uint64_t *)(p + bytes - 8) = 77;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = { { "crash", crash },
		    { "killed", killed },
		    { "unmapped", unmapped },
		    { "repaired", repaired },
		    { "exit_in_thread", exit_in_thread },
		    { "main_leaves", main_leaves },
		    { "no_files", no_files },
		    { "patchwork", patchwork },
		    { "rewritten", rewritten } };
	if (argc < 3)
		return 2;
	if (!strcmp(argv[2], "huge")) {
		huge(argv[1]);
		return 0;
	}
	pm = (volatile uint64_t *)pool_map(argv[1], BYTES, NULL);
	if (!strcmp(argv[2], "plugins"))
		plugins(argv + 3, argc - 3);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(argv[2], all[i].name))
			all[i].run();
	return 0;
}
