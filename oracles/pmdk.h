/* SPDX-License-Identifier: BSD-3-Clause */
/* What a libpmemobj program's calls say: its pools, its transactions, and what they cover. */
#ifndef HOLDFAST_ORACLES_PMDK_H
#define HOLDFAST_ORACLES_PMDK_H

#include "holdfast/oracle.h"

struct pmdk_range {
	uint64_t addr, size;
	int no_snapshot; /* added without saving the old contents */
};

/* Why a range is covered by a transaction. */
struct pmdk_why {
	uint64_t where; /* the call that covered it */
	int fresh;      /* allocated in the transaction, not added */
};

/* What is covered of a page. A transaction may have millions of ranges, so that each has eight bytes. */
struct pmdk_page {
	uint64_t page; /* its number + 1; 0: free */
	uint64_t tx;   /* the transaction that they are of: others are over */
	struct pmdk_piece {
		uint16_t from, to; /* bytes of the page */
		uint32_t why;      /* index in the thread's */
	} * p;
	uint32_t n, cap;
};
#define PMDK_WHYS 256u

struct pmdk_thread {
	uint32_t process, thread;
	unsigned calls; /* library functions that are running, one inside the other */
	unsigned depth; /* transactions, likewise */
	uint64_t alloc_size, call_where; /* of the outermost call */
	uint64_t root_pool;
	uint64_t tx; /* how many are over */
	struct pmdk_page *covered;
	size_t n, cap;
	struct pmdk_why *why; /* of this transaction */
	size_t nwhy, whycap;
	uint32_t recent[PMDK_WHYS]; /* indices + 1, by a hash */
	struct pmdk_thread *next;
};

/* Words of eight bytes, as a set: a group of 64, and a bit for each of its words. */
struct pmdk_words {
	struct pmdk_group {
		uint64_t number, mask; /* + 1; 0: free */
	} * group;
	size_t n, cap;
};
void pmdk_words_add(struct pmdk_words *, uint64_t addr, uint64_t size);
int pmdk_words_meet(const struct pmdk_words *, uint64_t addr, uint64_t size);
void pmdk_words_free(struct pmdk_words *);

struct pmdk_pool {
	uint64_t base, uuid;
	uint32_t process;
};

/* What a function of the library is to us; pmdk.c has the table. */
enum pmdk_act {
	PMDK_OTHER,
	PMDK_OPEN,
	PMDK_CLOSE,
	PMDK_ROOT, /* gives an object of a pool */
	PMDK_TX_BEGIN,
	PMDK_TX_END,
	PMDK_ADD,             /* an object's part to the transaction */
	PMDK_ADD_DIRECT,      /* … by its address */
	PMDK_PERSIST,         /* of a pool */
	PMDK_PERSIST_ADDRESS, /* of any memory */
	PMDK_ALLOC_FIRST,     /* the size is the first argument */
	PMDK_ALLOC_THIRD,
};

#define PMDK_RECENT 64u /* functions that were looked up of late */
#define PMDK_NAME 48u

struct pmdk {
	const struct holdfast_host *host;
	struct pmdk_thread *threads;
	struct pmdk_pool pool[64];
	size_t npools;
	struct {
		enum pmdk_act act;
		char name[PMDK_NAME]; /* "": none */
	} recent[PMDK_RECENT];
	uint64_t asked; /* event + 1 that pmdk_act was last asked about … */
	enum pmdk_act act;
};

extern const char *const pmdk_functions[]; /* what to watch */
extern const char *const pmdk_automatic[]; /* … and what to load for */
void *pmdk_start(const struct holdfast_host *);
void pmdk_end(void *);
struct pmdk_thread *pmdk_thread(struct pmdk *, const struct holdfast_event *);
/* Of a call or a return. */
enum pmdk_act pmdk_act(struct pmdk *, const struct holdfast_event *);
/* Give these every call and return; they keep the state. */
void pmdk_call(struct pmdk *, const struct holdfast_event *);
void pmdk_ret(struct pmdk *, const struct holdfast_event *);
/* Is this a call that adds a range to the transaction, or persists one by hand? */
int pmdk_added_range(struct pmdk *, const struct holdfast_event *, struct pmdk_range *);
int pmdk_persisted_range(struct pmdk *, const struct holdfast_event *, struct pmdk_range *);
/* Why the thread's transaction covers all of [addr, addr+size): its beginning, to be exact. NULL: it does not. */
const struct pmdk_why *pmdk_covering(const struct pmdk_thread *, uint64_t addr, uint64_t size);
/* A pool's number in object ids, or an address in a pool. 2: yes; 1: it may be an object's offset; 0: no. */
int pmdk_is_pointer(const struct pmdk *, uint32_t process, uint64_t value);
/* Does the event's address lie in a pool that the program has opened? */
int pmdk_in_pool(const struct pmdk *, const struct holdfast_event *);

#endif
