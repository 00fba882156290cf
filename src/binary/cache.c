/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was decoded and learnt, kept in a folder.
 *
 *	BUILD-ID.binary    a decoded file: header, then the arrays of struct binary one after another
 *	HASH.learnt        what runs of a program have shown: its stores into PM, its indirect calls
 *
 * A file is written under another name and moved into place. What does not read right (another
 * version, cut short, changed, of another file with the same build-id) is as if it were not there, and
 * failing to write is no error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/internal.h"

#define MAGIC "HFBINARY"
#define VERSION 2u

struct head {
	char magic[8];
	uint32_t version, flags;
	uint64_t id;       /* of what it is about */
	uint64_t checksum; /* of all the file, this taken as 0 */
	uint64_t size;     /* of what follows the head */
	uint32_t ncode, nunit, ninsn, npm;
	uint32_t count[8];
};

static char *path_in(const char *folder, const char *name, const char *ending)
{
	return xasprintf("%s/%s.%s", folder, name, ending);
}

static uint64_t checksum(const struct head *head, const void *rest)
{
	struct head h = *head;
	h.checksum = 0;
	return hash_seeded(rest, h.size, hash_bytes(&h, sizeof h));
}

/* The whole file, if it is a sound one of that kind; xmalloc'ed. */
static struct head *read_file(const char *path, uint64_t id)
{
	struct head *h = NULL;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size >= sizeof *h) {
		h = xmalloc((size_t)st.st_size);
		while (n < (size_t)st.st_size) {
			ssize_t got = read(fd, (char *)h + n, (size_t)st.st_size - n);
			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				break;
			n += (size_t)got;
		}
	}
	close(fd);
	if (h && n == (size_t)st.st_size && !memcmp(h->magic, MAGIC, sizeof h->magic) &&
	    h->version == VERSION && h->id == id && h->size == n - sizeof *h &&
	    h->checksum == checksum(h, h + 1))
		return h;
	free(h);
	return NULL;
}

static void write_file(const char *folder, const char *path, const struct buf *text)
{
	char *fresh = xasprintf("%s.%d.tmp", path, (int)getpid());
	int fd, bad;
	mkdir(folder, 0777);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	bad = fd < 0 || write_all(fd, text->p, text->n);
	if (fd >= 0 && (close(fd) || bad || rename(fresh, path)))
		unlink(fresh);
	free(fresh);
}

static void seal(struct buf *text)
{
	struct head h;
	memcpy(&h, text->p, sizeof h);
	memcpy(h.magic, MAGIC, sizeof h.magic);
	h.version = VERSION;
	h.size = text->n - sizeof h;
	h.checksum = checksum(&h, text->p + sizeof h);
	memcpy(text->p, &h, sizeof h);
}

/* --- decoded files --- */

void binary_cache_save(const struct binary *b, const char *folder)
{
	struct buf text = { 0 };
	struct head h = { .flags = b->flags,
			  .id = b->id,
			  .ncode = b->ncode,
			  .nunit = b->nunit,
			  .ninsn = b->ninsn,
			  .npm = b->npm,
			  .count = { (uint32_t)b->load.n, (uint32_t)b->text.n, (uint32_t)b->func.n,
				     (uint32_t)b->block.n, (uint32_t)b->edge.n,
				     (uint32_t)b->import.n, (uint32_t)b->export.n,
				     (uint32_t)b->names.n } };
	char *path = path_in(folder, b->build_id, "binary");
	buf_add(&text, &h, sizeof h);
	buf_add(&text, b->load.p, b->load.n * sizeof *b->load.p);
	buf_add(&text, b->text.p, b->text.n * sizeof *b->text.p);
	buf_add(&text, b->code, BITS_WORDS(b->ncode) * sizeof *b->code);
	buf_add(&text, b->pm, BITS_WORDS(b->ncode) * sizeof *b->pm);
	buf_add(&text, b->func.p, b->func.n * sizeof *b->func.p);
	buf_add(&text, b->block.p, b->block.n * sizeof *b->block.p);
	buf_add(&text, b->edge.p, b->edge.n * sizeof *b->edge.p);
	buf_add(&text, b->import.p, b->import.n * sizeof *b->import.p);
	buf_add(&text, b->export.p, b->export.n * sizeof *b->export.p);
	buf_add(&text, b->names.p, b->names.n);
	seal(&text);
	write_file(folder, path, &text);
	buf_free(&text);
	free(path);
}

struct source {
	const char *p;
	size_t left;
	bool bad;
};

/* The next n elements, xmalloc'ed. */
static void *get(struct source *s, size_t n, size_t size)
{
	void *to;
	if (s->bad || n > s->left / size) {
		s->bad = true;
		n = 0;
	}
	to = xcalloc(n + 1, size);
	if (n)
		memcpy(to, s->p, n * size);
	s->p += n * size;
	s->left -= n * size;
	return to;
}

#define GET(s, v, count) ((v)->p = get((s), (count), sizeof *(v)->p), (v)->n = (v)->cap = (count))

/* The checksum is right, so this is our own; but an index out of bounds would be a crash. */
static bool is_sound(const struct binary *b)
{
	for (size_t i = 0; i < b->func.n; i++)
		if (b->func.p[i].name >= b->names.n || b->func.p[i].pos >= b->ncode)
			return false;
	for (size_t i = 0; i < b->import.n; i++)
		if (b->import.p[i] >= b->names.n)
			return false;
	for (size_t i = 0; i < b->export.n; i++)
		if (b->export.p[i].name >= b->names.n || b->export.p[i].block >= b->block.n)
			return false;
	for (size_t i = 0; i < b->edge.n; i++)
		if (b->edge.p[i] >= b->block.n)
			return false;
	for (size_t i = 0; i < b->block.n; i++) {
		const struct block *k = &b->block.p[i];
		if (k->pos >= b->ncode || k->len > b->ncode - k->pos || k->unit >= b->nunit ||
		    k->nedge > b->edge.n || k->edge > b->edge.n - k->nedge ||
		    (k->call == BLOCK_CALLS && k->callee >= b->block.n) ||
		    (k->call == BLOCK_IMPORT && k->callee >= b->import.n))
			return false;
	}
	return !b->names.n || !b->names.p[b->names.n - 1];
}

bool binary_cache_load(struct binary *b, const char *folder)
{
	char *path = path_in(folder, b->build_id, "binary");
	struct head *h = read_file(path, b->id);
	free(path);
	if (!h)
		return false;
	struct source s = { (const char *)(h + 1), h->size, false };
	b->flags = h->flags;
	b->ncode = h->ncode;
	b->nunit = h->nunit;
	b->ninsn = h->ninsn;
	b->npm = h->npm;
	GET(&s, &b->load, h->count[0]);
	GET(&s, &b->text, h->count[1]);
	b->code = get(&s, BITS_WORDS(b->ncode), sizeof *b->code);
	b->pm = get(&s, BITS_WORDS(b->ncode), sizeof *b->pm);
	GET(&s, &b->func, h->count[2]);
	GET(&s, &b->block, h->count[3]);
	GET(&s, &b->edge, h->count[4]);
	GET(&s, &b->import, h->count[5]);
	GET(&s, &b->export, h->count[6]);
	GET(&s, &b->names, h->count[7]);
	free(h);
	if (!s.bad && !s.left && is_sound(b))
		return true;
	binary_drop(b);
	b->ncode = b->nunit = b->ninsn = b->npm = b->flags = 0;
	return false;
}

/* --- facts --- */

static char *facts_path(const char *folder, uint64_t program)
{
	char name[17];
	snprintf(name, sizeof name, "%016llx", (unsigned long long)program);
	return path_in(folder, name, "learnt");
}

void binary_cache_save_facts(const fact_vec *facts, const char *folder, uint64_t program)
{
	struct buf text = { 0 };
	struct head h = { .id = program, .count = { (uint32_t)facts->n } };
	char *path = facts_path(folder, program);
	buf_add(&text, &h, sizeof h);
	buf_add(&text, facts->p, facts->n * sizeof *facts->p);
	seal(&text);
	write_file(folder, path, &text);
	buf_free(&text);
	free(path);
}

void binary_cache_load_facts(fact_vec *facts, const char *folder, uint64_t program)
{
	char *path = facts_path(folder, program);
	struct head *h = read_file(path, program);
	free(path);
	if (!h)
		return;
	struct source s = { (const char *)(h + 1), h->size, false };
	struct fact *p = get(&s, h->count[0], sizeof *p);
	for (size_t i = 0; !s.bad && i < h->count[0]; i++)
		VEC_PUSH(facts, p[i]);
	free(p);
	free(h);
}
