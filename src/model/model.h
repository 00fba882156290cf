/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is guaranteed to survive a crash, byte by byte.
 *
 * A model follows the events of a run and knows, for every byte of PM that was stored, whether
 * its newest value is guaranteed persistent:
 *
 *      store         clwb by T          fence by T
 *   ─────────▶ dirty ─────────▶ pending ──────────▶ persistent
 *                 └──────────── clflush, msync ────────▲
 *   a non-temporal store by T is pending at once
 *
 * That is the model `adr`; models differ in what a store, a flush, a fence and a sync do, and are
 * rows of one table (machine.h). `open` bytes are those that are dirty or pending. A line is 64
 * bytes of a PM file, wherever it is mapped.
 */
#ifndef HOLDFAST_MODEL_MODEL_H
#define HOLDFAST_MODEL_MODEL_H

#include "model/machine.h"

#define MODEL_WORDS 8
#define MODEL_NOBODY UINT32_MAX

/* A place in the program: an instruction in its calling context. An index, interned. */
typedef uint32_t model_where;
struct model_place {
	uint32_t process, site, ctx;
	uint8_t class; /* enum trace_site */
	bool acts;     /* it did something to PM; others map it, call, begin, end … */
	bool stores;   /* it stored there */
	uint64_t ip;
};

/*
 * The state of one line. A run's memory is bounded by the lines it touches: those that nothing happens to rest
 * in a third of this (rest.c). What matters only while some of it is not guaranteed is in its `flight`, for few
 * lines are in that state at a time.
 */
struct model_line {
	uint64_t key;  /* see model_key_text */
	uint64_t open; /* bytes whose newest value is not guaranteed; one bit each */
	uint64_t ever; /* bytes that were guaranteed at some time */
	/* Kept by whoever watches: bytes that were persisted on purpose; that flushes which wait were asked for; that
	 * became persistent last, although nobody had asked for them. */
	uint64_t meant, asked, chance;
	uint32_t
		flight; /* see model_flight; 0: nothing is open, and no thread's fence is waited for */
	uint32_t storer : 24; /* thread of the newest store */
	uint32_t atomic : 8; /* words that atomic instructions stored to: kept by whoever watches */
	uint32_t op;         /* operation that last listed the line in op_lines */
	model_where store[MODEL_WORDS]; /* newest store to each 8-byte word */
	/* Its event's number, modulo 2^32. Good for words that are open, and for the one stored to last. */
	uint32_t when[MODEL_WORDS];
	uint16_t newest[MODEL_WORDS]; /* hash of the newest store to each word: where, what */
	uint32_t
		copy : 31; /* number + 1 of the first of its words that are kept byte by byte: values.c */
	uint32_t marked : 1; /* some of its bytes are declared volatile: marks.c */
	model_where flush;   /* newest flush, valid if flush_when is not 0 */
	uint32_t flush_when;
	uint32_t index : 31, tired : 1; /* rest.c */
	uint8_t in_op;                  /* words that were stored to in operation `op` */
	uint8_t last;                   /* the word that was stored to last */
};

struct model_flight {
	uint64_t flushed; /* the part of `open` that thread `flusher` has flushed, not fenced */
	uint64_t same;    /* the part of `open` that was stored anew with the guaranteed value */
	uint64_t late;    /* bytes of `open` that were so already when their operation ended */
	uint32_t flusher; /* MODEL_NOBODY: no flush of the line waits for a fence */
	uint32_t
		more; /* further threads' flushes that wait: index of a list, 0 is none; of a flight that is
			   * free, the next such */
	uint32_t writers; /* who wrote the open bytes, see model_writers */
	uint16_t again;   /* two bits a word: times the same place overwrote its own open value */
};

/* One bit for each word of which the mask has a byte. */
static inline unsigned model_words(uint64_t mask)
{
	mask |= mask >> 4;
	mask |= mask >> 2;
	mask |= mask >> 1;
	return (unsigned)((mask & 0x0101010101010101ull) * 0x0102040810204080ull >> 56);
}
/* for each such word w, in order: most masks are of one word */
#define MODEL_EACH_WORD(w, mask)                                                                   \
	for (unsigned left_ = model_words(mask), w = 0;                                            \
	     left_ && (w = (unsigned)__builtin_ctz(left_), true); left_ &= left_ - 1)

/* How often the word's newest place has overwritten its own open value, up to 3. */
static inline unsigned model_again(const struct model_flight *f, int w)
{
	return f->again >> (w * 2) & 3;
}

struct model_thread {
	uint32_t process, thread;
	uint64_t pm_num;       /* newest store, flush or fence: number + 1 */
	bool cut;              /* it was running when another thread ended the process */
	uint64_t signal_num;   /* newest signal that it handled: number + 1, 0: none */
	VEC(uint32_t) waiting; /* lines that it has flushed and not fenced */
	uint64_t fence_num;    /* newest fence: number + 1, 0: none */
	uint64_t fence_before; /* … and the one before it */
	uint64_t flush_num;    /* … flush that had something to flush */
	uint64_t store_num;    /* … store */
	model_where fence, store;
	uint64_t op_begin;      /* number + 1 of the current operation's begin; 0: outside */
	uint32_t depth;         /* operations and transactions may nest */
	uint32_t tx;            /* transactions among them */
	VEC(uint32_t) op_lines; /* lines stored to in the current operation, each once */
	uint32_t op;            /* its number */
};

/* What happened to a line, before the model applies it. */
struct model_step {
	const struct trace_event *ev;
	struct model_thread *thread;
	uint32_t thread_id;
	model_where where;
	struct model_line *line;  /* NULL: a flush of a line that was never stored to */
	uint64_t mask;            /* bytes of the line that are concerned */
	enum model_effect effect; /* of the event */
};

/* Callbacks; any may be NULL. All but `op_end` and `gone` come before the state changes. */
struct model_watch {
	void *arg;
	void (*store)(void *, const struct model_step *);
	void (*flush)(void *, const struct model_step *);
	void (*fence)(void *, const struct model_step *); /* line is NULL */
	void (*sync)(void *,
		     const struct model_step *); /* msync or fsync; mask: lines that are open */
	void (*persist)(void *, const struct model_step *);
	void (*op_end)(void *, const struct model_step *);
	void (*gone)(void *, const struct model_step *); /* line->open is lost from sight */
};

struct model;
struct model *model_new(const struct model_ops *, const struct trace_defs *,
			const struct model_watch *);
void model_feed(struct model *, const struct trace_event *);
/* The trace is over: `gone` for every line that is still mapped and open. */
void model_end(struct model *, const struct trace_event *last);
void model_free(struct model *);
/*
 * When so many more lines have become persistent, a line goes to rest (rest.c): some thousands. UINT32_MAX: never, and
 * `when` stays good for all words.
 */
void model_rest_after(struct model *, uint32_t lines);
const struct model_ops *model_ops(const struct model *);

const struct model_place *model_place(const struct model *, model_where);
size_t model_places(const struct model *);
size_t model_lines(const struct model *);
size_t model_memory(const struct model *); /* bytes, for the benchmarks */
struct model_thread *model_thread(struct model *, uint32_t id);
uint32_t model_thread_of(struct model *, const struct trace_event *);
size_t model_threads(const struct model *); /* that did anything to PM so far */
/* The line that holds addr in a process, or NULL if it was never stored to; good until the model is fed. */
struct model_line *model_line_at(struct model *, uint32_t process, uint64_t addr);
struct model_line *model_line_of_key(struct model *, uint64_t key);
/* Good until something is stored; one of zeros and MODEL_NOBODY if the line has none. */
const struct model_flight *model_flight(const struct model *, const struct model_line *);
bool model_is_pm(struct model *, uint32_t process, uint64_t addr);
/* Declared volatile by the program, or by a library on its behalf. */
bool model_is_volatile(struct model *, uint32_t process, uint64_t addr);
/* A number for a byte of PM that does not depend on where it is mapped; 0: not PM. */
uint64_t model_location(struct model *, uint32_t process, uint64_t addr);
/* The place of an event. */
model_where model_where_of(struct model *, const struct trace_event *);
/*
 * The places that wrote open bytes of the line: a byte belongs to the last that has it, and those before have
 * written it as well, in whatever order. Very long lists lack some of these.
 */
struct model_writer {
	uint64_t mask;
	model_where where;
	uint32_t zero; /* sets of them are compared as bytes */
};
const struct model_writer *model_writers(const struct model *, const struct model_line *,
					 size_t *n);
/* Bytes that are flushed by any thread and wait for its fence. */
uint64_t model_pending(const struct model *, const struct model_line *);
/* Flushed by this very thread. */
uint64_t model_pending_by(const struct model *, const struct model_line *, uint32_t thread_id);
uint64_t model_key_file(uint64_t key); /* the same for all lines of a file */
/* "pool+0x40" for a byte of the line. */
const char *model_key_text(const struct model *, uint64_t key, unsigned byte, char *buf,
			   size_t size);
/* The hash that `newest` keeps of what a store puts into a word; data: from its first byte there on. */
uint16_t model_value_hash(uint64_t mask, const uint8_t *data, unsigned word);
/* An event number that was kept modulo 2^32, given a later one. */
uint64_t model_when(uint32_t when, uint64_t now);

#endif
