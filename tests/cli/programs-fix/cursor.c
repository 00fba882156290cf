/* SPDX-License-Identifier: BSD-3-Clause */
/* A helper fills in objects, some of which are persistent, with a cursor that moves; what flushes is defined at the end. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void pm_wb(const void *a, size_t n);
struct kv {
	uint64_t klen, vlen;
	char bytes[112];
};
struct store {
	uint64_t used;
	uint64_t pad[7];
	struct kv kv[32];
};

static char *put_bytes(char *to, const char *from, size_t n)
{
	if (n == 0)
		return to;
	do {
		*to++ = *from++;
	} while (--n);
	return to;
}

static void fill(struct kv *kv, const char *k, const char *v)
{
	kv->klen = strlen(k);
	kv->vlen = strlen(v);
	char *p = put_bytes(kv->bytes, k, kv->klen);
	p = put_bytes(p, v, kv->vlen);
	*p = '\0';
}

static int lookup(struct store *s, const char *k)
{
	struct kv tmp;
	int hits = 0;
	for (uint64_t i = 0; i < s->used; i++) {
		fill(&tmp, k, "");
		hits += tmp.klen == s->kv[i].klen && !memcmp(tmp.bytes, s->kv[i].bytes, tmp.klen);
	}
	return hits;
}

static void fence(void);
static void insert(struct store *s, const char *k, const char *v)
{
	struct kv tmp;
	fill(&tmp, k, v);
	if (lookup(s, k))
		return;
	fill(&s->kv[s->used], k, v);
	fence();
	s->used++;
	pm_wb(&s->used, sizeof s->used);
	fence();
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "pool", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 8192))
		return 2;
	struct store *s = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		return 2;
	char k[16], v[64];
	for (int i = 0; i < 12; i++) {
		snprintf(k, sizeof k, "key%d", i % 9);
		snprintf(v, sizeof v, "the value number %d of the store", i);
		insert(s, k, v);
	}
	printf("%d\n", (int)s->used);
	munmap(s, 8192);
	return 0;
}

static void pm_wb(const void *a, size_t n)
{
	for (const char *p = (const char *)((uintptr_t)a & ~(uintptr_t)63); p < (const char *)a + n;
	     p += 64)
		asm volatile("clflushopt %0" : "+m"(*(volatile char *)p));
}
static void fence(void)
{
	asm volatile("sfence" ::: "memory");
}
