/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside src/model: who keeps what. */
#ifndef HOLDFAST_MODEL_INTERNAL_H
#define HOLDFAST_MODEL_INTERNAL_H

#include "model/model.h"

/*
 * A location is a byte of a PM file (model_file_byte), or of a range without a file,
 * 1 << 63 | process << 48 | address. A line's key is its location / 64.
 */
#define LOC_ANONYMOUS (1ull << 63)
#define LINE_BLOCK_BYTES (2u << 20) /* a huge page */
#define LINE_GROUP 8u
#define LINE_BLOCK ((uint32_t)(LINE_BLOCK_BYTES / sizeof(struct line_group)))
#define LINE_SMALL_BLOCKS 32u
#define RECENT 1024u

struct process {
	bool known;
	struct imap maps; /* address range -> what to add to get the location */
	struct imap_item last;
	struct hmap where; /* site, ctx -> model_where */
	struct {           /* … and those looked up of late: key + 1 */
		uint64_t key;
		model_where where;
	} recent[RECENT];
	VEC(uint32_t) thread; /* thread number -> global index + 1 */
	bool ended;
};

/* A flush that waits, of a thread other than the line's `flusher`. */
struct extra {
	uint64_t mask;
	uint32_t thread, next;
};

/* writers.c: sets of writers, shared by lines. */
#define WRITERS_RECENT 8192u
struct writer_set {
	uint32_t first, n;
};
struct writer_step {
	uint64_t mask;
	uint32_t where, from, to;
	bool used;
};
struct writers {
	VEC(struct model_writer) entry;
	VEC(struct writer_set) set; /* number 0 is the empty set */
	struct hmap known;          /* hash of the entries -> set */
	struct writer_step recent[WRITERS_RECENT];
};

/* marks.c: a set of bytes. */
struct marks {
	struct hmap masks; /* line -> its bytes */
	struct imap runs;  /* lines of which all bytes belong to it */
};

/*
 * rest.c: most lines are at rest, and many of them alike but for what they hold. Those share one `struct rest`.
 */
struct at_rest {
	uint64_t open, ever, meant, asked, chance, same, late, flushed;
	uint32_t before
		[MODEL_WORDS]; /* so many events before the newest store of all, if it is open */
	uint32_t writers;
	model_where store[MODEL_WORDS], flush;
	uint32_t storer : 24, atomic : 8;
	uint8_t newest; /* the word that was stored to last */
	uint8_t in_op;
	uint16_t again;
	uint32_t flusher, op;
	bool marked, in_flight;
};
struct rest {
	uint32_t lines, next; /* that share it; in its chain, or among the free ones: index + 1 */
	uint32_t hash;
	struct at_rest is;
};
struct slim_line {
	uint32_t at; /* its rest, or AWAKE | its number among those that are awake, or NO_LINE */
	uint32_t flush_when, when;
	uint32_t copy : 29, nth : 3; /* nth: so many of its group were touched before it */
	uint16_t value[MODEL_WORDS];
};
#define NO_LINE UINT32_MAX /* it was not touched yet */
#define COPY_MAX (UINT32_MAX >> 3)
/* Lines that follow each other. A line's index is its group's number * LINE_GROUP + which of them it is. */
struct line_group {
	uint64_t key; /* of its lines, / LINE_GROUP */
	struct slim_line line[LINE_GROUP];
};
#define AWAKE (1u << 31)
#define AWAKE_BLOCK 1024u
#define TIRED 4096u
struct rests {
	VEC(struct rest) v;
	uint32_t free, heads, used;
	uint32_t *head; /* hash -> index + 1 */
};

/* What a word of a line holds, as far as it is known: values.c. */
struct model_copy {
	uint8_t byte[8];
	uint8_t known; /* one bit each */
	uint8_t word;
	uint32_t next; /* of the line: index + 1, 0: none */
};

struct model {
	const struct model_ops *ops;
	const struct trace_defs *defs;
	struct model_watch watch;
	VEC(struct process *) process;
	VEC(struct model_thread *) thread;
	VEC(struct model_place) place;
	VEC(struct line_group *) block; /* of LINE_BLOCK groups each */
	VEC(struct model_line *) awake; /* blocks of AWAKE_BLOCK lines: they never move */
	uint32_t nawake, awake_free;    /* a list by `index`: number + 1 */
	VEC(uint32_t) tired;            /* numbers of lines that may go to rest, the oldest first */
	size_t tired_first;
	uint32_t rest_after;
	struct rests rests;
	size_t nlines, ngroups;
	uint32_t *slot; /* hash: number of the group + 1 */
	uint8_t *tag;   /* … some bits of its key's hash */
	size_t slots;
	struct { /* the thread that was asked for last; NULL: none */
		struct process *process;
		uint32_t thread, id;
	} last_thread;
	uint64_t last_key; /* the group that was looked up last: a flush mostly follows its store */
	uint32_t last_group;     /* its number + 1, 0: none */
	VEC(struct extra) extra; /* index 0 is unused */
	uint32_t extra_free;
	VEC(struct model_copy) copy;     /* of words of some lines, see model_line */
	VEC(struct model_flight) flight; /* number 0 is that of lines that have none */
	uint32_t flight_free;            /* a list; 0: none */
	struct writers writers;
	struct marks volatiles; /* locations that the program declared volatile */
	struct marks hinted;    /* … or a library, until it takes it back */
	uint32_t op;
};

/* lines.c */
static inline struct line_group *model_group(const struct model *m, uint32_t number)
{
	return &m->block.p[number / LINE_BLOCK][number % LINE_BLOCK];
}
static inline struct slim_line *model_slim(const struct model *m, uint32_t index)
{
	return &model_group(m, index / LINE_GROUP)->line[index % LINE_GROUP];
}
static inline uint64_t model_key_of(const struct model *m, uint32_t index)
{
	return model_group(m, index / LINE_GROUP)->key * LINE_GROUP + index % LINE_GROUP;
}
void model_lines_free(struct model *);
struct model_line *model_line_find(struct model *, uint64_t key, uint32_t *index);
struct model_line *model_line_get(struct model *, uint64_t key, uint32_t *index);
/* The line's flight, to be changed; it gets one, or it has one. */
struct model_flight *model_flight_begin(struct model *, struct model_line *);
static inline struct model_flight *model_flight_of(struct model *m, const struct model_line *l)
{
	return &m->flight.p[l->flight];
}
void model_flight_free(struct model *, struct model_line *);
/* Takes it back, if nothing is open and nobody's fence is waited for. */
void model_flight_end(struct model *, struct model_line *);
typedef void model_each(struct model *, struct model_line *, uint64_t mask, void *arg);
void model_lines_in(struct model *, uint64_t lo, uint64_t hi, model_each *, void *arg);
void model_open_lines_in(struct model *, uint64_t lo, uint64_t hi, model_each *, void *arg);

/* rest.c */
struct model_line *model_wake(struct model *, uint32_t index);
static inline struct model_line *model_awake(const struct model *m, uint32_t at)
{
	return &m->awake.p[at % AWAKE / AWAKE_BLOCK][at % AWAKE_BLOCK];
}
/* It stays where it is until the model has done with an event. */
static inline struct model_line *model_line(struct model *m, uint32_t index)
{
	uint32_t at = model_slim(m, index)->at;
	return at & AWAKE ? model_awake(m, at) : model_wake(m, index);
}
struct model_line *model_line_new(struct model *, uint32_t index);
/* It may go to rest. */
static inline void model_tire(struct model *m, struct model_line *l)
{
	if (!l->tired)
		VEC_PUSH(&m->tired, model_slim(m, l->index)->at);
	l->tired = true;
}
void model_lines_rest(struct model *);
void model_rests_free(struct model *);
size_t model_rests_memory(const struct model *);

/* pending.c */
void model_unflush(struct model *, struct model_line *, uint64_t mask);
void model_add_pending(struct model *, struct model_line *, uint32_t index, uint32_t thread,
		       uint64_t mask);
uint64_t model_take_pending(struct model *, struct model_line *, uint32_t thread);

/* writers.c */
void model_writers_add(struct model *, struct model_flight *, uint64_t mask, model_where);
/* After `open` has changed: these bytes are no longer part of it. */
void model_writers_persisted(struct model *, struct model_line *, uint64_t mask);
void model_writers_free(struct writers *);
size_t model_writers_memory(const struct writers *);

/* values.c; before `open` changes. data: what the line holds from its first byte on, where the mask is set. */
void model_values_store(struct model *, const struct model_step *, struct model_flight *,
			const uint8_t *data);
/* What these bytes are is not known any more. */
void model_values_forget(struct model *, struct model_line *, uint64_t mask);

/* ranges.c */
struct process *model_process_new(struct model *, uint32_t process);
static inline struct process *model_process(struct model *m, uint32_t process)
{
	if (process < m->process.n && m->process.p[process]->known)
		return m->process.p[process];
	return model_process_new(m, process);
}
void model_map(struct model *, const struct trace_event *);
void model_register(struct model *, uint32_t process, uint64_t addr, uint64_t len);
void model_unregister(struct model *, uint32_t process, uint64_t addr, uint64_t len);
void model_set_volatile(struct model *, struct marks *which, uint64_t lo, uint64_t hi, bool on);

/* marks.c */
void model_marks_set(struct marks *, uint64_t lo, uint64_t hi, bool on);
uint64_t model_marks_in(const struct marks *, uint64_t line);
void model_marks_free(struct marks *);
/* The bytes of a line that are declared volatile. */
static inline uint64_t model_marks(const struct model *m, uint64_t key)
{
	return model_marks_in(&m->volatiles, key) | model_marks_in(&m->hinted, key);
}
static inline uint64_t model_unwatched(const struct model *m, const struct model_line *l)
{
	return l->marked ? model_marks(m, l->key) : 0;
}

/* Bits of the bytes [from, to) of a line. */
static inline uint64_t model_mask(unsigned from, unsigned to)
{
	uint64_t upto = to >= 64 ? ~0ull : (1ull << to) - 1;
	return upto & ~((1ull << from) - 1);
}

#endif
