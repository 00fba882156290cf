/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that persist with a macro, or with a function that counts lines; each forgets it once. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FLUSH(p) __asm__ volatile("clflush (%0)" : : "r"(p) : "memory")
#define FENCE() __asm__ volatile("sfence" : : : "memory")
#define PERSIST(p, n)                                                                              \
	do {                                                                                       \
		uintptr_t at_ = (uintptr_t)(p) & ~(uintptr_t)63;                                   \
		for (; at_ < (uintptr_t)(p) + (n); at_ += 64)                                      \
			FLUSH(at_);                                                                \
		FENCE();                                                                           \
	} while (0)
#define STORE_AND_PERSIST(p, v)                                                                    \
	do {                                                                                       \
		*(p) = (v);                                                                        \
		FLUSH(p);                                                                          \
		FENCE();                                                                           \
	} while (0)

struct record {
	uint64_t key, value;
	uint32_t part[12];
};
struct words {
	uint64_t count, pad[7];
	struct record record[8];
	uint64_t last;
};

static inline void write_lines(const void *p, unsigned n)
{
	for (const char *c = p; n--; c += 64)
		FLUSH((uintptr_t)c & ~(uintptr_t)63);
}

static void fill(struct record *r, uint64_t key)
{
	r->key = key;
	r->value = key * 2;
	for (int i = 0; i < 12; i++)
		r->part[i] = (uint32_t)key;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	struct words *w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct record elsewhere;
#ifdef MACRO
	for (uint64_t i = 0; i < 8; i++) {
		memset(&w->record[i], 1, sizeof(w->record[i]));
		PERSIST(&w->record[i], sizeof(w->record[i]));
		STORE_AND_PERSIST(&w->count, i);
		w->last = i;
		PERSIST(&w->last, sizeof(w->last));
	}
	w->last = 77;
#elif defined(LINES)
	memset(w->record, 1, sizeof(w->record));
	write_lines(w->record, sizeof(w->record) / 64);
	FENCE();
	w->last = 1;
	write_lines(&w->last, 1);
	FENCE();
	w->last = 7;
	memset(w->record + 2, 2, 3 * sizeof(*w->record));
#else
	for (uint64_t i = 0; i < 100; i++)
		fill(&elsewhere, i);
	fill(&w->record[0], 1);
	PERSIST(&w->record[0], sizeof(w->record[0]));
	fill(&w->record[1], elsewhere.key);
	w->count = 1;
	PERSIST(&w->count, sizeof(w->count));
#endif
	(void)elsewhere;
	(void)fill;
	(void)write_lines;
	return 0;
}
