/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How grave it is that a store is not persistent when its mapping goes away: one table. A row is a
 * piece of evidence, what it says and what it weighs; a finding shows the rows that spoke.
 *
 * An error takes strong evidence that the program needs the bytes after a crash. With less it is a
 * suspicion; with none, or where the word is a lock, it is data that need not be in PM.
 */
#include "check/internal.h"

#define ERROR 3 /* so much makes an error */

static bool same_bytes(const struct check_facts *f)
{
	return f->same_bytes;
}

static bool same_statement(const struct check_facts *f)
{
	return f->same_statement;
}

static bool published(const struct check_facts *f)
{
	return f->published && !f->object;
}

static bool left_out(const struct check_facts *f)
{
	return (f->published || f->perhaps) && f->object;
}

static bool flushed(const struct check_facts *f)
{
	return f->flushed;
}

/* Data are written once, mostly; locks, counters and hints again and again. */
static bool once(const struct check_facts *f)
{
	return f->once && !f->data && !f->published && !f->perhaps && !f->header;
}

/* Where a fence in vain follows, it adds nothing: that the flush is missing there is no more than likely. */
static bool only_once(const struct check_facts *f)
{
	return once(f) && !f->awaited;
}

static bool followed(const struct check_facts *f)
{
	return f->followed && once(f);
}

static bool counts(const struct check_facts *f)
{
	return f->counter && !f->awaited && !f->recovery_reads;
}

/* What a flush for something else covers again and again is likely to be part of the same object; but a count
 * is there beside whatever is counted. */
static bool beside(const struct check_facts *f)
{
	return f->beside && (f->stray || f->replaced || once(f)) && !f->published && !f->perhaps &&
	       !counts(f);
}

static bool perhaps(const struct check_facts *f)
{
	return f->perhaps && !f->published && !f->object;
}

/* Beside something far before that is pointed to, it says nothing: an array in DRAM style, say. */
static bool pointer(const struct check_facts *f)
{
	return f->pointer && (f->published || !f->perhaps);
}

static bool awaited(const struct check_facts *f)
{
	return f->awaited;
}

static bool lock(const struct check_facts *f)
{
	return f->lock;
}

static bool mark(const struct check_facts *f)
{
	return f->mark;
}

/* What is written once at each place is no lock. */
static bool atomic(const struct check_facts *f)
{
	return f->atomic && !f->lock && !f->once && !f->atomics;
}

static bool atomics(const struct check_facts *f)
{
	return f->atomics && !f->lock && !f->once;
}

static bool offset(const struct check_facts *f)
{
	return f->offset && !f->atomic && !f->lock;
}

static bool data(const struct check_facts *f)
{
	return f->data;
}

static bool header(const struct check_facts *f)
{
	return f->header && !f->published && !f->perhaps;
}

static bool by_chance(const struct check_facts *f)
{
	return f->by_chance && !f->stray && !f->same_bytes && !f->same_statement;
}

/* Of an object of which other fields are persisted it says no more than that. */
static bool stray(const struct check_facts *f)
{
	return f->stray && !left_out(f);
}

static bool unasked(const struct check_facts *f)
{
	return f->unasked;
}

static bool left(const struct check_facts *f)
{
	return f->left && stray(f);
}

/* Of what is in another object's line by chance, a link is more likely to be needed than a hint or a count. */
static bool link(const struct check_facts *f)
{
	return f->link && stray(f) && !pointer(f);
}

static bool covered(const struct check_facts *f)
{
	return f->covered && f->stray && !beside(f) && !f->published && !f->perhaps;
}

static bool replaced(const struct check_facts *f)
{
	return f->replaced;
}

/*
 * State of one run: at most one of the next four speaks. What counts is a counter, or a statistic where nothing is
 * persisted by the code that counts; what does not is idle in such code, and seldom persisted elsewhere.
 */
static bool counter(const struct check_facts *f)
{
	return counts(f) && !f->idle;
}

static bool statistic(const struct check_facts *f)
{
	return counts(f) && f->idle;
}

/* As lists of what was used last, caches and statistics are kept up by what only reads; but a setter leaves it to its callers. */
static bool idle(const struct check_facts *f)
{
	return !counts(f) && f->idle && !f->same_statement && !f->awaited && !f->recovery_reads;
}

/* As what is made anew at each start is: it was persisted with its object, and then lives in DRAM, so to speak. */
static bool seldom(const struct check_facts *f)
{
	return !counts(f) && !idle(f) && f->seldom && f->same_bytes && !f->same_statement &&
	       !f->awaited && !f->recovery_reads;
}

static bool recovery_reads(const struct check_facts *f)
{
	return f->recovery_reads;
}

static bool recovery_overwrites(const struct check_facts *f)
{
	return f->recovery_overwrites;
}

static bool recovery_ignores(const struct check_facts *f)
{
	return f->recovery_ignores;
}

static const struct row {
	const char *name;
	bool (*speaks)(const struct check_facts *);
	int weight;
	const char *text;
	bool doubt; /* it is no error then, whatever else there is */
} rows[] = {
	{ "same-bytes", same_bytes, 3, "the program persists these bytes at other times" },
	{ "same-statement", same_statement, 3,
	  "the program persists other stores of this statement" },
	{ "flushed", flushed, 3, "the program flushes it on purpose, and no fence follows" },
	{ "published", published, 3,
	  "a pointer in persistent memory leads to the object, of which nothing is persisted" },
	{ "left-out", left_out, 2, "the program persists other fields of the same object" },
	{ "beside", beside, 1, "the program persists what lies right beside it" },
	{ "perhaps-published", perhaps, 2,
	  "what looks like an offset or a pointer in persistent memory leads to it" },
	{ "pointer", pointer, 1, "what is stored is itself a pointer to persistent memory" },
	{ "awaited", awaited, 2,
	  "a fence right after it waits for nothing, as if its flush were missing" },
	{ "stray", stray, 1, "the flush that covers it later is made for something else" },
	{ "unasked", unasked, 1, "that flush is asked for other bytes of the line only" },
	{ "left", left, 1,
	  "that flush is of a later round: the statement has stored elsewhere since" },
	{ "link", link, 1,
	  "what is stored may be the offset of something that the program persists" },
	{ "covered", covered, 1, "the function that stores it flushes the line itself, later" },
	{ "replaced", replaced, 1,
	  "fences passed it by, and others, who persist what they store, overwrite it" },
	{ "lock", lock, -9, "the word is used as a lock: atomic instructions take turns with it" },
	{ "mark", mark, -9,
	  "an atomic instruction takes back one bit of what its thread has just persisted, as a mark that it was not" },
	{ "atomic", atomic, -3, "an atomic instruction stores a small number, as into a lock" },
	{ "atomic-data", atomics, -1,
	  "an atomic instruction stores a small number, but the program persists what others store" },
	{ "atomic-offset", offset, -1,
	  "an atomic instruction stores what may be an offset, as into the ends of a queue" },
	{ "data", data, 2,
	  "it is written once, to lines of its own, by code that persists what else it stores" },
	{ "once", only_once, 1, "it is written once at each place, as data are" },
	{ "followed", followed, 1,
	  "the same code goes on to store something else, and persists that" },
	{ "header", header, 2,
	  "it is a block, or a word stored but once, at the beginning of the file, where the program persists other things" },
	{ "counter", counter, 0,
	  "its values are counted up or down, and seldom persisted: it may be counted anew after a restart",
	  true },
	{ "statistic", statistic, -4,
	  "code that never flushes or fences anything counts with it, as for statistics", true },
	{ "idle", idle, 0,
	  "it is stored again and again by code that never flushes or fences anything", true },
	{ "seldom", seldom, 0,
	  "it is stored many times for each time that the bytes are persisted: it may be state of one run",
	  true },
	{ "recovery-reads", recovery_reads, 2, "recovery reads it before it writes it" },
	{ "recovery-overwrites", recovery_overwrites, -1,
	  "recovery overwrites it without reading it" },
	{ "recovery-ignores", recovery_ignores, 0,
	  "recovery, run on what the program left, does not look at it" },
	{ "by-chance", by_chance, 0,
	  "some of it was persisted, but only by a library or together with something else in the line" },
};

enum check_verdict check_evidence(const struct check_facts *f)
{
	int weight = 0;
	bool doubt = false;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].speaks(f)) {
			weight += rows[i].weight;
			doubt |= rows[i].doubt;
		}
	return weight >= ERROR && !doubt ? CHECK_ERROR
	       : weight > 1              ? CHECK_SUSPICION
					 : CHECK_TRANSIENT;
}

void check_evidence_add(const struct check_facts *f, struct finding *to)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].speaks(f))
			finding_add_why(to, rows[i].name, rows[i].weight, xstrdup(rows[i].text));
}
