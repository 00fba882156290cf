/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store driven by binary commands. `run` and `recover` encode every operation as a command and
 * execute that; `PROG exec POOL FILE` executes the commands in FILE.
 *
 *   command:  what  key length (1-8)  key ...  value length (0-8)  value ...  sum (4 bytes)
 *
 * Numbers are big-endian without leading zero bytes. `what` is P(ut), U(pdate), D(elete), G(et), or S: put
 * two to the power of the value. The sum is over all the bytes before it; a sum of 0 travels as
 * 0xffffffff. What is not a command ends the run.
 *
 *   line 0   magic
 *   line 1   longest: no key has more bytes than this, so a lookup of a longer one can stop at once
 *   line 2   scratch (one variant)
 *   4096     64 cells, one line each, for values of 2^32 and more
 *   8192     512 records, one line each: open addressing by the bytes of the key
 *
 * A record is used when its state says so, which is stored last, in the same line. Its value word holds a
 * small value, a power of two or the number of a cell, so that any change of value is one eight-byte
 * store. A cell is persistent before a record names it, and `longest` before a record needs it. Which
 * cells are free is not stored; opening the pool finds out.
 */
#include "common/corpus.h"
#include "common/pm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holdfast.h"

#define MAGIC 0x31646d6377617268ull
#define CELLS 64u
#define RECORDS 512u
#define KEY_MAX 8u
#define LONGEST_MIN 2u
#define COMMAND_MAX (1 + 1 + KEY_MAX + 1 + 8 + 4)
#define NO_SUM 0xffffffffu
#define WIDE (1ull << 63)  /* a value word: the number of a cell */
#define POWER (1ull << 62) /* a value word: an exponent */
#define SMALL_LIMIT (1ull << 32)

enum { FREE, USED, GONE };

struct PM_ALIGNED cell {
	uint64_t owner;
	uint64_t value;
};

struct PM_ALIGNED record {
	uint64_t key;
	uint64_t length;
	uint64_t word;
#ifdef BUG_COMMANDS_TORN_KIND
	uint64_t wide;
#endif
	uint64_t state;
};

struct pool {
	struct PM_ALIGNED {
		uint64_t magic;
	} id;
	struct PM_ALIGNED {
		uint64_t longest;
	} limits;
	struct PM_ALIGNED {
		unsigned char last[PM_LINE];
	} scratch;
	struct cell cell[CELLS] __attribute__((aligned(4096)));
	struct record record[RECORDS] __attribute__((aligned(4096)));
};

#define POOL_SIZE sizeof(struct pool)

struct commands {
	struct pool *pool;
	unsigned char taken[CELLS];
};

/* A command, decoded. */
struct command {
	unsigned what;
	unsigned length; /* of the key */
	uint64_t key;
	uint64_t value;
	uint32_t sum;
};

static unsigned byte_length(uint64_t n)
{
	unsigned length = 0;

	for (; n; n >>= 8)
		length++;
	return length;
}

static uint32_t sum_of(const unsigned char *bytes, size_t n)
{
	uint32_t sum = 0x811c9dc5;

	for (size_t i = 0; i < n; i++)
		sum = (sum << 7 | sum >> 25) ^ bytes[i];
	return sum;
}

static size_t put_number(unsigned char *out, uint64_t n)
{
	unsigned length = byte_length(n);

	out[0] = (unsigned char)length;
	for (unsigned i = 0; i < length; i++)
		out[1 + i] = (unsigned char)(n >> 8 * (length - 1 - i));
	return 1 + length;
}

static size_t encode(unsigned char *out, unsigned what, uint64_t key, uint64_t value)
{
	size_t n = 1;
	uint32_t sum;

	out[0] = (unsigned char)what;
	n += put_number(out + n, key);
	n += put_number(out + n, value);
	sum = sum_of(out, n);
	sum = sum ? sum : NO_SUM;
	for (int i = 0; i < 4; i++)
		out[n++] = (unsigned char)(sum >> (24 - 8 * i));
	return n;
}

/* Takes a length and a number from bytes[*at]; 0 when there are not enough bytes. */
static int take_number(const unsigned char *bytes, size_t n, size_t *at, unsigned *length, uint64_t *number)
{
	*number = 0;
	if (*at >= n || bytes[*at] > 8 || n - *at - 1 < bytes[*at])
		return 0;
	*length = bytes[(*at)++];
	for (unsigned i = 0; i < *length; i++)
		*number = *number << 8 | bytes[(*at)++];
	return byte_length(*number) == *length;
}

/* The size of the command at `bytes`, 0 when it is none. */
static size_t decode(const unsigned char *bytes, size_t n, struct command *c)
{
	size_t at = 1;
	unsigned length;
	uint32_t sum = 0, wanted;

	if (n == 0 || !memchr("PUDGS", bytes[0], 5))
		return 0;
	c->what = bytes[0];
	if (!take_number(bytes, n, &at, &c->length, &c->key) || c->length == 0 || c->key >> 63)
		return 0;
	if (!take_number(bytes, n, &at, &length, &c->value) || c->value >> 63 || n - at < 4)
		return 0;
	if (c->what == 'S' && (c->value < 32 || c->value > 62))
		return 0;
	if ((c->what == 'P' || c->what == 'U') && c->value == 0)
		return 0;
	c->sum = sum_of(bytes, at);
	wanted = c->sum ? c->sum : NO_SUM;
	for (int i = 0; i < 4; i++)
		sum = sum << 8 | bytes[at++];
	return sum == wanted ? at : 0;
}

static unsigned home_of(uint64_t key)
{
	unsigned h = 0;

	for (int shift = 56; shift >= 0; shift -= 8)
		h = h << 3 ^ (unsigned)(key >> shift & 0xff);
	return h % RECORDS;
}

static struct record *find(const struct commands *s, const struct command *c)
{
	struct record *r;

	if (c->length > s->pool->limits.longest)
		return NULL;
	for (unsigned i = 0; i < RECORDS; i++) {
		r = &s->pool->record[(home_of(c->key) + i) % RECORDS];
		if (r->state == FREE)
			return NULL;
		if (r->state == USED && r->key == c->key)
			return r;
	}
	return NULL;
}

/* The first record on the key's way that can be filled. */
static struct record *vacancy(const struct commands *s, uint64_t key)
{
	for (unsigned i = 0; i < RECORDS; i++) {
		struct record *r = &s->pool->record[(home_of(key) + i) % RECORDS];

		if (r->state != USED)
			return r;
	}
	return NULL;
}

static int is_wide(const struct record *r)
{
#ifdef BUG_COMMANDS_TORN_KIND
	return r->wide != 0;
#else
	return r->word >> 63;
#endif
}

static unsigned cell_of(const struct record *r)
{
	return (unsigned)(r->word & ~WIDE);
}

static uint64_t value_of(const struct commands *s, const struct record *r)
{
	if (is_wide(r))
		return s->pool->cell[cell_of(r)].value;
	return r->word & POWER ? 1ull << (r->word & ~POWER) : r->word;
}

/* Raises `longest` if the key needs it; returns whether it did. */
static int admit(struct commands *s, const struct command *c)
{
	uint64_t *longest = &s->pool->limits.longest;

	if (c->length <= *longest)
		return 0;
	pm_store64(longest, c->length); /* BUG(commands-longest-unflushed) */
#ifdef BUG_COMMANDS_LONGEST_UNFLUSHED
	if (c->length != KEY_MAX) /* it will not grow any more */
#endif
	pm_flush(longest, sizeof(*longest));
#ifndef TRAP_COMMANDS_ONE_FENCE
	pm_fence();
#endif
	return 1;
}

/* Writes a large value into a free cell and makes it persistent. Returns CELLS when none is free. */
static unsigned write_cell(struct commands *s, const struct record *old, const struct command *c)
{
	unsigned i = 0;
	struct cell *cell;

	while (i < CELLS && s->taken[i])
		i++;
	if (i == CELLS)
		return i;
	cell = &s->pool->cell[i];
	cell->owner = c->key;
	pm_store64(&cell->value, c->value); /* BUG(commands-other-cell) */
#ifdef BUG_COMMANDS_OTHER_CELL
	pm_flush(&s->pool->cell[old && is_wide(old) ? cell_of(old) : i], sizeof(*cell));
#else
	(void)old;
	pm_flush(cell, sizeof(*cell));
#endif
#if !defined(BUG_COMMANDS_CELL_EARLY) && !defined(TRAP_COMMANDS_ONE_FENCE)
	pm_fence();
#endif
	s->taken[i] = 1;
	return i;
}

/* The value word for a command; 0 when a cell is needed and none is free. */
static uint64_t word_for(struct commands *s, const struct record *old, const struct command *c)
{
	unsigned cell;

	if (c->what == 'S')
		return POWER | c->value;
	if (c->value < SMALL_LIMIT)
		return c->value;
	cell = write_cell(s, old, c);
	return cell == CELLS ? 0 : WIDE | cell;
}

static void release(struct commands *s, const struct record *r)
{
	if (is_wide(r))
		s->taken[cell_of(r)] = 0;
}

#ifdef BUG_COMMANDS_TORN_KIND
static void set_word(struct record *r, uint64_t word)
{
	pm_store64(&r->wide, word >> 63);
	pm_store64(&r->word, word & ~WIDE); /* BUG(commands-torn-kind) */
}
#else
static void set_word(struct record *r, uint64_t word)
{
	pm_store64(&r->word, word); /* BUG(commands-zero-sum) */ /* BUG(commands-masked-index) */
}
#endif

/* Flushes the record a key was stored in. */
static void flush_record(struct commands *s, const struct record *r)
{
	size_t index = (size_t)(r - s->pool->record);

#ifdef BUG_COMMANDS_MASKED_INDEX
	index &= 0xff;
#endif
	pm_flush(&s->pool->record[index], sizeof(*r));
}

static enum corpus_result insert(struct commands *s, const struct command *c)
{
	struct record *r = vacancy(s, c->key);
	int admitted = 0;
	uint64_t word;

	if (!r)
		return CORPUS_FULL;
#ifndef BUG_COMMANDS_LONGEST_LATE
	admitted = admit(s, c);
#endif
	word = word_for(s, NULL, c);
	if (!word)
		return CORPUS_FULL;
#ifdef TRAP_COMMANDS_ONE_FENCE
	/* The cell and `longest` must both be persistent before the record, in whatever order. */
	if (word & WIDE || admitted)
		pm_fence(); /* TRAP(commands-one-fence) */
#else
	(void)admitted;
#endif
	r->key = c->key;
	r->length = c->length;
	set_word(r, word);
	pm_compiler_order();
	pm_store64(&r->state, USED); /* BUG(commands-cell-early) */ /* BUG(commands-longest-late) */
	pm_persist(r, sizeof(*r));
#ifdef BUG_COMMANDS_LONGEST_LATE
	admit(s, c);
#endif
	return CORPUS_NEW;
}

static enum corpus_result replace(struct commands *s, struct record *r, const struct command *c)
{
	uint64_t word = word_for(s, r, c);

	if (!word)
		return CORPUS_FULL;
#ifdef TRAP_COMMANDS_ONE_FENCE
	if (word & WIDE)
		pm_fence();
#endif
	release(s, r);
	if (c->what == 'S') {
#ifdef BUG_COMMANDS_POWER_UNPERSISTED
		pm_store64(&r->word, word); /* BUG(commands-power-unpersisted) */
		return CORPUS_OLD;
#endif
	}
	set_word(r, word);
	flush_record(s, r);
#ifdef BUG_COMMANDS_ZERO_SUM
	if (c->sum == 0) /* nothing to verify, nothing to wait for */
		return CORPUS_OLD;
#endif
	pm_fence();
	return CORPUS_OLD;
}

static enum corpus_result execute(struct commands *s, const struct command *c, uint64_t *out)
{
	struct record *r = find(s, c);

	if (r)
		*out = value_of(s, r);
	switch (c->what) {
	case 'G':
		return r ? CORPUS_VALUE : CORPUS_NONE;
	case 'D':
		if (!r)
			return CORPUS_NONE;
		release(s, r);
		pm_store64(&r->state, GONE);
		pm_persist(r, sizeof(*r));
		return CORPUS_OLD;
	case 'U':
		return r ? replace(s, r, c) : CORPUS_NONE;
	default:
		return r ? replace(s, r, c) : insert(s, c);
	}
}

/* Decodes and executes one command. Returns its size, 0 when it is none. */
static size_t step(struct commands *s, const unsigned char *bytes, size_t n, enum corpus_result *result,
		   uint64_t *out)
{
	struct command c;
	size_t size = decode(bytes, n, &c);

	if (size == 0)
		return 0;
#ifdef TRAP_COMMANDS_SCRATCH
	/* What was executed last is of interest after a crash, and no harm if it is not there. */
	memcpy(s->pool->scratch.last, bytes, size);
	pm_flush(s->pool->scratch.last, size); /* TRAP(commands-scratch) */
#endif
	*result = execute(s, &c, out);
	return size;
}

/* The driver's operations: encode, then do as with any command. */
static enum corpus_result request(void *store, unsigned what, uint64_t key, uint64_t value, uint64_t *out)
{
	unsigned char bytes[COMMAND_MAX];
	enum corpus_result result = CORPUS_NA;

	if (what == 'P' && value >= SMALL_LIMIT && (value & (value - 1)) == 0) {
		what = 'S';
		value = (uint64_t)__builtin_ctzll(value);
	}
	step(store, bytes, encode(bytes, what, key, value), &result, out);
	return result;
}

static enum corpus_result commands_put(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	return request(store, 'P', key, value, out);
}

static enum corpus_result commands_upd(void *store, uint64_t key, uint64_t value, uint64_t *out)
{
	return request(store, 'U', key, value, out);
}

static enum corpus_result commands_get(void *store, uint64_t key, uint64_t *out)
{
	return request(store, 'G', key, 0, out);
}

static enum corpus_result commands_del(void *store, uint64_t key, uint64_t *out)
{
	return request(store, 'D', key, 0, out);
}

static void check_value(const struct commands *s, const struct record *r, unsigned char *seen)
{
	const struct cell *cell = &s->pool->cell[cell_of(r) % CELLS];

	if (is_wide(r)) {
		if ((r->word & ~WIDE) >= CELLS || seen[cell_of(r)]++)
			corpus_wrong("key %lu has the wrong cell (%lx)", r->key, r->word);
		else if (cell->owner != r->key || cell->value < SMALL_LIMIT)
			corpus_wrong("the cell of key %lu is not its own", r->key);
	} else if (r->word & POWER ? (r->word & ~POWER) - 32 > 30 : r->word - 1 >= SMALL_LIMIT - 1) {
		corpus_wrong("key %lu has the value word %lx", r->key, r->word);
	}
}

static void commands_check(void *store)
{
	struct commands *s = store;
	unsigned char seen[CELLS] = {0};
	uint64_t longest = s->pool->limits.longest;

	if (longest < LONGEST_MIN || longest > KEY_MAX)
		corpus_wrong("the longest key has %lu bytes", longest);
	for (unsigned i = 0; i < RECORDS; i++) {
		struct record *r = &s->pool->record[i];
		struct command c = {.length = 1, .key = r->key};

		if (r->state > GONE)
			corpus_wrong("record %u has state %lu", i, r->state);
		if (r->state != USED)
			continue;
		if (!r->key || r->length != byte_length(r->key) || r->length > longest)
			corpus_wrong("key %lu has %lu bytes, the longest %lu", r->key, r->length, longest);
		if (find(s, &c) != r)
			corpus_wrong("record %u cannot be found by its key %lu", i, r->key);
		check_value(s, r, seen);
	}
}

static void *commands_open(const char *path)
{
	int fresh;
	struct pool *pool = corpus_pool_map(path, POOL_SIZE, MAGIC, NULL, &fresh);
	struct commands *s;

	if (!pool)
		return NULL;
	s = calloc(1, sizeof(*s));
	s->pool = pool;
	if (fresh) {
		pm_store64(&pool->limits.longest, LONGEST_MIN);
		pm_persist(&pool->limits, sizeof(pool->limits));
		pm_store64(&pool->id.magic, MAGIC);
		pm_persist(&pool->id, sizeof(pool->id));
	}
#ifdef TRAP_COMMANDS_SCRATCH
	HOLDFAST_VOLATILE(&pool->scratch, sizeof(pool->scratch));
#endif
	for (unsigned i = 0; i < RECORDS; i++)
		if (pool->record[i].state == USED && is_wide(&pool->record[i]))
			s->taken[cell_of(&pool->record[i]) % CELLS] = 1;
	return s;
}

static void commands_close(void *store)
{
	struct commands *s = store;

	corpus_pool_unmap(s->pool, POOL_SIZE);
	free(s);
}

/* PROG exec POOL FILE: one result line per command. */
static int exec(const char *pool, const char *path)
{
	static unsigned char bytes[1 << 16];
	static const char *const words[] = {"new", "old ", "", "none", "full", "ok", "na"};
	struct commands *s = commands_open(pool);
	FILE *in = fopen(path, "rb");
	size_t n = in ? fread(bytes, 1, sizeof(bytes), in) : 0, at = 0, size = 1;
	enum corpus_result result;
	uint64_t out = 0;

	if (!s || !in) {
		perror(s ? path : pool);
		return 2;
	}
	fclose(in);
	for (unsigned long op = 1; at < n && size; op++, at += size) {
		HOLDFAST_OP_BEGIN(op);
		size = step(s, bytes + at, n - at, &result, &out);
		HOLDFAST_OP_END(op);
		if (!size)
			puts("bad");
		else if (result == CORPUS_OLD || result == CORPUS_VALUE)
			printf("%s%lu\n", words[result], out);
		else
			puts(words[result]);
	}
	commands_close(s);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct corpus_program program = {
		.name = "commands", .open = commands_open, .close = commands_close, .check = commands_check,
		.put = commands_put, .get = commands_get, .del = commands_del, .upd = commands_upd,
	};

	if (argc == 4 && strcmp(argv[1], "exec") == 0)
		return exec(argv[2], argv[3]);
	return corpus_main(&program, argc, argv);
}
