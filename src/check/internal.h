/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside src/check: oracles and the causes that they collect. */
#ifndef HOLDFAST_CHECK_INTERNAL_H
#define HOLDFAST_CHECK_INTERNAL_H

#include <string.h>

#include "check/check.h"
#include "holdfast/oracle.h"

/*
 * One distinct cause: a kind at a place, however often it happens. The example is the first
 * instance: what the line had gone through by then.
 */
struct cause {
	enum finding_kind kind;
	const struct finding_kind_info *custom; /* a plug-in's kind; NULL: one of ours */
	model_where where;
	uint64_t count;
	uint64_t extra;   /* the oracle's own */
	uint64_t fenced;  /* instances that a fence followed */
	uint64_t runtime; /* flushes that only a lock of the runtime completed */
	uint64_t blocks;  /* instances that are part of a block which was written once */
	uint64_t whole;   /* … of a block that one statement stores */
	uint64_t once;    /* instances that nobody else, nor this place again, has stored to */
	uint64_t wanted;  /* flushes that are made on purpose, and never fenced */
	bool elsewhere;   /* instances are of more than one word */
	model_where runtime_where;
	uint64_t key;      /* the line, 0: none */
	uint8_t byte, len; /* the bytes concerned */
	uint32_t thread;   /* of the guilty event */
	uint64_t event;    /* the guilty event */
	/* numbers + 1 of what shaped the state; 0: did not happen */
	uint64_t store, flush, fence, end;
	model_where store_where, flush_where, fence_where, end_where;
	uint8_t end_kind; /* enum trace_kind of what ended the line's life */
};
struct causes {
	VEC(struct cause *) v;
	struct hmap index;
};

struct oracle_state;

/* What oracles are told of: steps of the model. */
enum check_step {
	CHECK_STORE,
	CHECK_FLUSH,
	CHECK_FENCE,
	CHECK_SYNC,
	CHECK_PERSIST,
	CHECK_OP_END,
	CHECK_GONE,
	CHECK_STEPS,
};
/* An oracle that has a callback for a kind of step. */
struct check_listener {
	void (*tell)(struct oracle_state *, const struct model_step *);
	struct oracle_state *oracle;
};

/* targets.c: which places in PM pointers lead to, and which places store such pointers. */
enum { TARGETS_WAITING = 16, TARGETS_RECENT = 256 };
struct target_chunk {
	uint64_t number, *bits;
};
struct targets {
	struct hmap chunk;  /* location / CHUNK -> bits, one for 16 bytes */
	struct hmap offset; /* the same for numbers that may be offsets in the file */
	struct target_chunk chunks[TARGETS_RECENT], offsets[TARGETS_RECENT]; /* … used of late */
	uint64_t lo, hi;       /* where PM is mapped, roughly */
	VEC(uint8_t) pointers; /* by model_where: it has stored one */
	struct target_bit {    /* yet to be set: their memory was asked for, and comes meanwhile */
		uint64_t *word, bit;
	} waiting[TARGETS_WAITING];
	uint32_t nwaiting; /* … so far */
};

/* A lock that the C or C++ runtime took while flushes waited; or another event that is remembered with its place. */
struct runtime_lock {
	uint64_t num; /* event + 1; 0: none */
	model_where where;
};

/* asked.c: of threads, what the watched calls that they are in name. */
struct check_asking;
#define CHECK_ASKED_RECENT 64u
struct check_asked {
	VEC(struct check_asking *) thread;
	struct check_asked_name { /* functions that were called of late */
		uint32_t process, name;
		int row;
		bool used;
	} recent[CHECK_ASKED_RECENT];
};

enum { CHECK_PMEM = 1, CHECK_PMEMOBJ = 2 };

struct check {
	VEC(struct check_listener) listener[CHECK_STEPS];
	struct model *model;
	const struct trace_defs *defs;
	struct srcloc_trace *srcloc;
	const char *replay;
	struct finding_helpers *helpers; /* as of the last report; NULL: there was none */
	bool notes, include_libs;
	struct trace_event last; /* the newest event, without arguments and data */
	bool any;
	struct oracle_state *state;        /* of each oracle */
	VEC(struct finding_place *) place; /* by model_where; resolved when asked for */
	VEC(uint32_t) statement;           /* by model_where, as of the last report; from 1 */
	uint32_t statements;
	VEC(uint64_t)
	user; /* by model_where: the statement that uses the setter it is in; 0: in none */
	VEC(uint32_t) author; /* … and a number for both, from 1 */
	uint32_t authors;
	VEC(model_where) wanted;       /* places that findings will name */
	VEC(uint64_t) persisted;       /* files of which something became persistent */
	VEC(uint8_t) persister;        /* by model_where: what foreign.c knows; 0: not known yet */
	VEC(uint8_t) flags;            /* by model_where: what is known of the place, origin.c */
	VEC(struct runtime_lock) lock; /* by thread: the newest lock of the C or C++ runtime */
	VEC(struct runtime_lock) vain; /* by thread: the newest flush of a clean line, flush.c */
	struct targets targets;
	struct check_asked asked;
	const struct trace_use *recovery;
	struct hmap recovery_at; /* path and offset -> which of these */
	unsigned library;        /* that the program uses */
	struct plugins *plugins;
	struct check_disk *files; /* NULL: the model has none */
};

/* How often two places had to do with each other: pairs.c. Few pairs, met again and again. */
#define PAIRS_RECENT 256u
struct pair {
	model_where a, b;
	uint64_t count;
	uint8_t near; /* for check_near: 0 is not known yet, or one of these; for others 1 no, 2 yes */
};
enum { CHECK_NOT_NEAR = 1, CHECK_NEAR, CHECK_NEAR_AFTER };
struct pairs {
	VEC(struct pair) v;
	struct hmap at;                /* a and b -> index */
	uint32_t recent[PAIRS_RECENT]; /* index + 1 */
};
struct pair *check_pair_hit(struct pairs *, model_where a, model_where b, uint64_t count);
void check_pairs_free(struct pairs *);
/* What unpersisted.c counts of a place: words that became persistent on purpose; words that were open at the end of an
 * operation, with and without a fence since; words that became persistent by chance, and those that did although the
 * program had forgotten them (chance.c); words that were changed as locks are, and otherwise; words that became persistent
 * by a flush that was for nothing else; words of STRAY that were left from an earlier round;
 * stores of what may lead to something that is persisted; words of STRAY that the flush was not asked for. */
enum {
	PERSISTED,
	FENCED,
	UNFENCED,
	BY_CHANCE,
	STRAY,
	TURNS,
	ONWARD,
	ALONE,
	LEFT,
	LINKS,
	UNASKED,
	MARKS
};
/* chance.c, with the state of unpersisted.c: a store of the function of `at` that was made persistent
 * only together with something else; NULL: there is none. */
const struct srcloc_frame *check_by_chance(struct oracle_state *, const struct srcloc_frame *at);
/* The line's open bytes are all one place's. */
bool check_is_alone(const struct model_line *);
/* Words that become persistent on purpose. */
uint64_t check_purpose(struct oracle_state *, const struct model_step *);
/* Has the storing thread fenced since it stored this word? Not to be asked of what a fence persists: it has, by then. */
bool check_fenced_since(struct check *, const struct model_step *, int word);
/* The word is left from an earlier round: its statement has stored to another line since, and a fence has passed. */
bool check_is_left(struct oracle_state *, const struct model_step *, unsigned word);
/* chance.c: remembers a store; a fence. */
void check_note_round(struct oracle_state *, const struct model_step *);
void check_note_fence(struct oracle_state *, const struct model_step *);
uint64_t check_stores(const struct oracle_state *, uint32_t statement); /* how many it has made */
/* Nearly all stores of the statement are to bytes of which the newest value was not persisted on purpose. */
bool check_is_seldom(const struct oracle_state *, uint32_t statement);
/* Most of what the author stores is persisted on purpose. */
bool check_persists(struct oracle_state *, uint32_t author);
/* Most of its stores are to bytes whose newest value was not persistent either. */
bool check_is_repeated(const struct oracle_state *, uint32_t statement);
/* A word that becomes persistent by chance, while those of `purpose` do on purpose: was it forgotten? */
bool check_is_stray(struct oracle_state *, const struct model_step *, unsigned word,
		    uint64_t purpose);
/* All the statement's stores were forgotten, as far as can be told from who flushed them; awaited: a fence that has
 * nothing to wait for follows it. */
struct check_group;
bool check_was_forgotten(struct oracle_state *, const struct check_group *, bool awaited);
/* replaced.c, with the state of unpersisted.c: stores that are overwritten before they are persistent. */
void check_note_replaced(struct oracle_state *, const struct model_step *);
/* counter.c, likewise: what the store does to the number; the statement counts, and is mostly not
 * persisted; idle: by code that persists nothing. */
void check_note_count(struct oracle_state *, const struct model_step *);
bool check_counts(const struct oracle_state *, uint32_t statement, uint64_t persisted, bool idle);
/* The hash of a number, as model/values.c has it of what the step stores, if it had stored that. */
uint16_t check_number_hash(const struct model_step *, uint64_t value);
/* They were, on all call paths of the group, by others who persist what they store: the place of one, + 1; or 0. */
uint64_t check_was_replaced(struct oracle_state *, const struct check_group *, bool awaited);
/* flush.c: that the flush found its line clean is chance: something else in the line was flushed. */
bool check_flush_by_chance(struct check *, model_where);
/* lock.c, likewise: counts TURNS, ONWARD and MARKS, and notes what sort of values atomic instructions store. */
enum { CHECK_WIDE = 1, CHECK_OFFSETS = 2, CHECK_SMALL = 4 };
void check_note_lock(struct oracle_state *, const struct model_step *);
/* Most stores of the statement take back a mark that said that the word was not persistent yet. */
bool check_takes_marks(const struct oracle_state *, uint32_t statement);

bool check_same_function(const struct srcloc_frame *, const struct srcloc_frame *);
/* One of the two works for the other: both are in one function, or one's function is among the
 * callers of the other, below main and its like. */
bool check_related(struct check *, model_where, model_where);
static inline uint64_t check_function_key(const struct srcloc_frame *f)
{
	return hash_mix((uintptr_t)f->function, (uintptr_t)f->file);
}

/* A location that atomic instructions store to: lock.c. Values are hashes; 0: not known. */
struct check_atom {
	uint16_t was, is; /* the newest change by such an instruction */
	uint16_t now;     /* what it holds */
	uint32_t when;    /* the newest store's event, modulo 2^32 */
	model_where where;
};

/* The newest store of a place, and the newest to another line than that: events + 1, modulo 2^32. How many stores it has
 * made, and how many of them to what had been persisted on purpose, and was not changed since. */
struct check_round {
	uint64_t key;
	uint32_t here, elsewhere;
	uint32_t stores, anew;
};

/* What a place stores: numbers that are one or two more or less than those before them, and how many in all. */
struct check_count {
	uint32_t stores, steps, switches; /* … from 0 to 1, or back */
};

/* The newest fences of a thread, to see which came since: chance.c. */
#define CHECK_FENCES 8u
struct check_fences {
	uint64_t num[CHECK_FENCES]; /* events + 1 */
	model_where where[CHECK_FENCES];
	unsigned n;
};

/* What an oracle keeps: causes, and a few counters for every place, which it names itself. */
#define TALLY 12
struct oracle_state {
	struct check *check;
	struct causes causes;
	struct pairs pairs, writers;
	struct pairs awaited;    /* a store, the fence in vain that follows it */
	VEC(uint8_t) expected;   /* by model_where: it is a store of one of these pairs */
	struct pairs kin, lines; /* two stores to one line: chance.c, unpersisted.c */
	struct pairs inside;     /* a store, a fence on the way to which its function may be */
	struct pairs replaced;   /* a store, the one that overwrites it before it is persistent */
	struct hmap atomics;     /* places of atomic instructions -> sort of values: lock.c */
	uint64_t newest;         /* the line of the newest store */
	struct hmap persisting;  /* functions on the way to flushes and fences: facts.c */
	struct hmap storing;     /* functions that store to PM, as far as places were looked at */
	model_where places;      /* … so many */
	struct hmap atom;        /* location -> index in atoms */
	VEC(struct check_atom) atoms;
	struct check_handed {
		uint64_t lo, hi, num; /* locations; the event */
		model_where where;
	} handed; /* the newest range that the kernel was only asked to write */
	VEC(struct check_count) counts;  /* by model_where: counter.c */
	VEC(struct check_round) rounds;  /* by model_where: chance.c */
	VEC(struct check_fences) fences; /* by thread */
	VEC(uint32_t) tally;
};
/* Counts a store and the flush that persists it, and says whether the flush is made by the function that
 * stores, or by one that works closely with it: as far as that can be told before the run is over. */
bool check_near(struct oracle_state *, model_where store, model_where flush);
/* … but in the source the store comes after the flush: asked of what is near. */
bool check_near_after(struct oracle_state *, model_where store, model_where flush);
/* The function that stores is on the path of the other place; remembered. */
bool check_inside(struct oracle_state *, model_where store, model_where);
/* The function that stores, or its caller, is anywhere on the path to the flush. */
bool check_shares_path(struct check *, model_where store, model_where flush);
/* The TALLY counters of a place. */
static inline uint32_t *oracle_tally(struct oracle_state *o, model_where w)
{
	size_t old = o->tally.n, need = ((size_t)w + 1) * TALLY;
	if (need > old) {
		VEC_RESERVE(&o->tally, need);
		o->tally.n = need;
		memset(o->tally.p + old, 0, (need - old) * sizeof *o->tally.p);
	}
	return o->tally.p + (size_t)w * TALLY;
}

/* An oracle: callbacks, any of which may be NULL. */
struct check_oracle {
	const char *name;
	void (*store)(struct oracle_state *, const struct model_step *);
	void (*flush)(struct oracle_state *, const struct model_step *);
	void (*fence)(struct oracle_state *, const struct model_step *);
	void (*sync)(struct oracle_state *, const struct model_step *);
	void (*persist)(struct oracle_state *, const struct model_step *);
	void (*op_end)(struct oracle_state *, const struct model_step *);
	void (*gone)(struct oracle_state *, const struct model_step *);
	void (*report)(struct oracle_state *, struct finding_set *);
	/* Its first counter says how often an instruction was of use: a helper whose instruction never
	 * is, whoever calls it, is to blame itself (group.c). */
	bool blames_helpers;
};
extern const struct check_oracle *const check_oracles[]; /* ended by NULL */
extern const struct check_oracle check_oracle_unpersisted, check_oracle_flush;
struct oracle_state *check_unpersisted(const struct check *); /* of which others may ask */
struct oracle_state *check_state_of(const struct check *, const struct check_oracle *);

/* files.c, which is told of nodes and answers, and not of steps. */
extern const struct check_oracle check_oracle_files;
struct check_disk *check_disk_new(void);
void check_disk_free(struct check_disk *);
void check_disk_event(struct oracle_state *, struct check_disk *, const struct trace_event *);

/* cause.c: counts an instance; returns the cause, with *fresh set if it is the first. */
struct cause *check_cause_hit(struct oracle_state *, enum finding_kind, model_where, bool *fresh);
/* Fills the example from the line's state; word: which of its words, -1 the whole line. */
void check_cause_example(struct check *, struct cause *, const struct model_step *, int word);
void check_cause_ends(struct check *, struct cause *, const struct model_step *);
/* The finding for a cause; the message is a format without the location. */
struct finding *check_cause_finding(struct check *, const struct cause *, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds a further place to a finding; where1: place + 1, 0 for none. */
void check_cause_relate(struct check *, struct finding *, const char *role, const char *what,
			uint64_t where1);
void check_causes_free(struct causes *);
/* A finding says that what is stored there is lost, or late. */
bool check_is_reported(struct check *, model_where store, const struct finding_set *);

/*
 * group.c: all causes of one kind at one statement, whatever the call path, the inlined copy or the
 * template instance. The example is the one with the most `extra`, else the first; counts,
 * extras and the statement's tally are those of all, also of places where nothing was wrong.
 */
struct check_group {
	struct cause k;
	uint64_t most; /* `extra` of the cause that has the most */
	uint32_t tally[TALLY];
	VEC(struct check_member {
		model_where where;
		uint64_t count;
	})
	member;
};
typedef VEC(struct check_group) check_groups;
check_groups check_group(struct oracle_state *);
/* The TALLY counters of all places that have the same number, by that, up to `most`; to be freed. */
uint32_t *check_tallies(const struct oracle_state *, const uint32_t *number, uint32_t most);
/* One of them, of all places of a statement. */
uint64_t check_tallied(const struct oracle_state *, uint32_t statement, unsigned which);
void check_groups_free(check_groups *);
/* check_cause_finding for a group, with all its call paths. */
struct finding *check_group_finding(struct check *, const struct check_group *, const char *fmt,
				    ...) __attribute__((format(printf, 3, 4)));
/* "all 12 flushes here are", "3 of 12 flushes here are", "it is"; returns buf. */
const char *check_count_text(uint64_t vain, uint64_t all, const char *what, char *buf, size_t size);
void check_statements(struct check *); /* numbers them, before oracles report */
const struct finding_place *check_place(struct check *, model_where);
/* The frame of the statement, or, in a setter, of the one that uses it; *n: frames from there on. NULL: not known. */
const struct srcloc_frame *check_author(struct check *, model_where, size_t *n);

/* Files, by the keys of their lines. */
void check_file_persisted(struct check *, uint64_t key);
bool check_file_was_persisted(const struct check *, uint64_t key);
bool check_same_file(uint64_t key, uint64_t other);

/* origin.c: an atomic instruction that the C or C++ runtime executed for purposes of its own. */
bool check_is_runtime(struct check *, model_where);
/* Does a word, or the file name of a frame's module, match one of the globs, NULL the last? */
bool check_named(const char *const *globs, const char *word);
bool check_in_module(const struct srcloc_frame *, const char *const *globs);
/* "exit()": what the program called when it did; returns buf. */
const char *check_runtime_text(struct check *, model_where, char *buf, size_t size);

/* asked.c: a watched function is called or returns. */
void check_asked_call(struct check *, const struct trace_event *);
/* A flush, and what becomes persistent. */
void check_asked_flush(struct oracle_state *, const struct model_step *);
void check_asked_persisted(struct check *, const struct model_step *);
/* The bytes of the line that are asked for: by the call that makes this flush, 0 if there is none; by the flushes that wait, all
 * if one of them is made by no such call. */
uint64_t check_asked_now(struct check *, const struct model_step *);
uint64_t check_asked_bytes(struct check *, const struct model_line *);
/* Some of what this flush is asked for became persistent by chance, with what another one was asked for. */
bool check_asked_is_chance(struct check *, const struct model_step *);
void check_asked_free(struct check_asked *);

/* targets.c */
void check_targets_map(struct check *, const struct trace_event *);
void check_targets_store(struct check *, const struct trace_event *);
void check_targets_free(struct targets *);
/* An address, or else a number that may be an offset, of this byte or of one at most `reach` before it
 * was stored: *target is its location. */
bool check_targets_find(struct check *, uint64_t loc, uint64_t reach, uint64_t *target);
bool check_targets_offset(struct check *, uint64_t loc, uint64_t reach, uint64_t *target);
bool check_targets_pointer(const struct check *, model_where);
/* The event stores one word, which may lead to something that is persisted on purpose. */
bool check_targets_link(struct check *, const struct trace_event *);
/* A number that may be an offset of something in a PM file. */
bool check_targets_may_be_offset(const struct check *, uint64_t value);

/* advice.c: what to do about a missing-… or late-persist finding; static text. */
const char *check_advice(const struct check *, enum finding_kind);
void check_advice_module(struct check *, const char *path); /* the program has loaded it */

/* evidence.c: how grave a store is that is not persistent. */
struct check_facts {
	bool same_bytes;     /* the program persists these bytes, on purpose, at other times */
	bool same_statement; /* … others that this statement stores */
	bool published;      /* a pointer leads to the object */
	bool perhaps;   /* … or to something far before it, or a number that may be an offset */
	bool object;    /* … of which the program persists other bytes */
	bool beside;    /* the program persists the word before it or after it */
	bool pointer;   /* what is stored is a pointer to PM */
	bool awaited;   /* a fence that has nothing to wait for follows it */
	bool lock;      /* atomic instructions take turns with it, as with a lock */
	bool mark;      /* they take back a bit of it, once it is persistent */
	bool atomic;    /* an atomic instruction stores a small number, as into locks */
	bool atomics;   /* … and the program persists what others store */
	bool by_chance; /* some were persisted, but together with something else or by a library */
	bool offset;    /* atomic instructions store nothing but what may be offsets in the file */
	bool data;      /* blocks that are written once, by code that persists something else */
	bool flushed;   /* it is flushed on purpose: only the fence is missing */
	bool once;      /* each is written once */
	bool followed;  /* … and what the same code stores next is persisted */
	bool header; /* blocks in the first object of a file, or a word in its first line, stored once, beside what is persisted */
	bool stray;  /* … all of them, after fences, with what was stored since */
	bool unasked; /* … by calls that name other bytes */
	bool left;    /* … by the flush of a later round */
	bool seldom;  /* its bytes were persisted on purpose once in many stores of the statement */
	bool idle;    /* … again and again, by code that never flushes or fences anything */
	bool link;    /* what is stored may lead to something that is persisted */
	bool covered; /* … but flushes of the line by functions that have */
	bool replaced; /* fences passed it by, and others overwrote it */
	bool counter;  /* a count that is seldom persisted */
	/* What recovery does, if it is known: it reads some of the bytes before it writes them, writes
	 * all of them without reading any, or leaves them alone. */
	bool recovery_reads, recovery_overwrites, recovery_ignores;
};
/* facts.c: with the state of unpersisted.c. Recovery is not asked yet. */
void check_note_awaited(struct oracle_state *, const struct model_step *);
/* A store fence with nothing to wait for has come right after stores of this place, so far. */
bool check_is_expected(const struct oracle_state *, model_where);
/* The statement counts, and is persisted now and then, or belongs to code that never persists anything. */
bool check_is_lazy(struct check *, const struct check_group *);
struct check_facts check_facts_of(struct oracle_state *, const struct check_group *);
enum check_verdict { CHECK_ERROR, CHECK_SUSPICION, CHECK_TRANSIENT };
/* What the rows say; adds those that speak to the finding. */
enum check_verdict check_evidence(const struct check_facts *);
void check_evidence_add(const struct check_facts *, struct finding *);

/* recovery.c: what the recovery does to the example's bytes; nothing if that is not known. */
void check_recovery_known(struct check *, const struct trace_use *, size_t n);
void check_recovery_look(const struct check *, const struct cause *, struct check_facts *);

/* foreign.c: does the place belong to a library that decided by itself what to do? */
bool check_foreign(struct check *, model_where);
void check_blame_libraries(struct check *); /* with --include-libs, findings are placed in them */
bool check_by_pmdk(struct check *, model_where); /* … and is it one of PMDK's? */
/* On whose account a flush is made; remembered, for those who ask while events go by. */
enum check_persister {
	CHECK_BY_PROGRAM = 1, /* in its own code, or by a primitive that it called */
	CHECK_BY_LIBRARY,     /* libpmemobj's, for the program: a transaction commits, say */
	CHECK_BY_ALLOCATOR,   /* … to allocate: zeros, and what it keeps itself */
	CHECK_BY_LINK,        /* … to publish or to link: the words that it stores */
};
enum check_persister check_persister(struct check *, model_where);

/* values.c: bytes by location; the map is zeroed to begin with. */
void check_values_put(struct hmap *, uint64_t loc, const uint8_t *data, size_t n);
size_t check_values_get(struct hmap *, uint64_t loc, void *buf, size_t len); /* bytes known */
void check_values_free(struct hmap *);

/* find.c: where plug-ins are; those in the folders are looked at once for each name. */
typedef VEC(char *) check_files;
check_files check_find(const char *word);
check_files check_find_all(void);
void check_files_free(check_files *);
int check_attempt(const char *path, struct err *); /* can it be loaded without harm? attempt.c */
const struct holdfast_oracle *check_find_open(const char *path, void **handle, struct err *);

/* load.c and plugin.c: custom oracles, named, and those that load by themselves unless CHECK_NO_ORACLE is named. */
struct plugins *check_plugins_load(struct check *, const char *const *word, size_t n, struct err *);
char *check_plugins_text(const struct plugins *); /* who loaded, and why; NULL: nobody */
void check_plugins_event(struct plugins *, const struct trace_event *);
void check_plugins_end(struct plugins *);
void check_plugins_report(struct plugins *, struct finding_set *);
void check_plugins_free(struct plugins *);
const char *const *check_plugins_watches(const struct plugins *, size_t *n);

#endif
