/* SPDX-License-Identifier: BSD-3-Clause */
/* Fixture: variables and types that statements assign to; the statements are in the test. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MARK(name) __asm__ volatile(".globl mark_" #name "\nmark_" #name ":\n\tnop" ::: "memory")
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline, noclone))

enum color { RED, GREEN };

struct slot {
	uint32_t hash;
	char key[20];
	uint64_t value;
};

struct log {
	uint64_t magic;
	struct {
		uint64_t head, tail;
	} at;
	union {
		int32_t number;
		double real;
	};
	bool open;
	enum color color;
	struct slot slot[4];
	uint64_t keys[8];
	struct log *next;
	uint8_t low : 3, high : 5;
	const volatile int16_t steps;
	uint8_t grid[3][5];
	char text[];
};

typedef struct {
	int64_t count;
	struct log *log;
} list_t;

typedef union {
	struct {
		uint64_t hi, lo;
	} oid;
	struct slot *_type;
} slot_oid;

struct log the_log;
list_t the_list;
slot_oid the_oid;
struct log *volatile sink;

NOINLINE struct slot *slot_of(struct log *l, int i)
{
	return &l->slot[i];
}

INLINE void inner(uint64_t *p, uint64_t v)
{
	*p = v;
	MARK(inner);
}

INLINE void middle(list_t *p, uint64_t v)
{
	struct slot *s = slot_of(p->log, 1);
	inner(&s->value, v);
	MARK(middle);
}

NOINLINE void plain(struct log *log, struct log **pp, list_t *list, int i)
{
	void *raw = log;
	uint64_t *word = &log->magic, local = 3;
	struct log copy = *log;
	MARK(plain);
	sink = &copy;
	if (i > 2) {
		struct slot *log = &the_log.slot[i & 3]; /* hides the parameter */
		log->hash = (uint32_t)i;
		MARK(hidden);
		sink = (struct log *)log;
	}
	*word = local;
	(*pp)->magic = (uint64_t)(uintptr_t)raw;
	middle(list, local);
	MARK(end);
}

int main(int argc, char **argv)
{
	struct log *p = &the_log;
	(void)argv;
	the_list.log = p;
	plain(p, &p, &the_list, argc);
	return slot_of(p, 1)->value == 3 && the_oid._type;
}
