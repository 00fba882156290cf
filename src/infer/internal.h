/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/infer/ share. */
#ifndef HOLDFAST_INFER_INTERNAL_H
#define HOLDFAST_INFER_INTERNAL_H

#include "infer/infer.h"

/* ops.c: what the ways add to. */
struct infer_ops {
	VEC(struct infer_op) op; /* in the order of begins, once a way has found them */
	VEC(char *) name;        /* [0] is "" */
	const struct infer_way *way;
};

/* The ways: ops_marks.c, ops_calls.c, ops_requests.c, ops_rounds.c, ops_answers.c, ops_inferred.c, ops_commands.c. The reader stands at the beginning. */
typedef int infer_find_fn(struct infer_ops *, struct trace_reader *, const struct infer_ops_opts *,
			  struct err *);
infer_find_fn infer_ops_marks, infer_ops_calls, infer_ops_requests, infer_ops_rounds,
	infer_ops_answers, infer_ops_inferred, infer_ops_commands;
void infer_ops_forget(struct infer_ops *); /* those that were found */
/* The number of a name, a new one if need be; 0, which is none: there are `most` others already. */
uint32_t infer_ops_name(struct infer_ops *, const char *, size_t most);
/* By one way, from the beginning. Whoever asks for others' operations drops what they have found. */
int infer_ops_by(infer_find_fn *, struct infer_ops *, struct trace_reader *,
		 const struct infer_ops_opts *, struct err *);
void infer_ops_drop(struct infer_ops *);

/* ops_inferred.c: which calls would be taken: who makes them, how many, how many stores they cover, and where the last begins. */
struct infer_covered {
	uint64_t function, calls, stores, last;
};
struct infer_covered infer_ops_covered(struct trace_reader *);

/* steps.c: are the calls that would be taken otherwise only steps of these operations? -1: err. */
int infer_ops_are_steps(const struct infer_ops *calls, const struct infer_ops *of,
			struct trace_reader *, struct err *);

#define INFER_NAMES 64u /* kinds of requests that are told apart by name */

/* collect.c: walks through a trace (walk.h) and takes calls as operations. */
struct infer_thread;
struct infer_child;
struct infer_collect {
	struct infer_ops *ops;
	void *arg;                /* of whoever collects */
	struct srcloc_trace *src; /* the walk's */
	struct hmap name;         /* process and address -> name */
};
void infer_collect(struct infer_collect *, struct trace_reader *,
		   void (*closed)(void *collect, struct infer_thread *));
void infer_collect_op(struct infer_collect *, const struct infer_thread *,
		      const struct infer_child *);
uint32_t infer_collect_name(struct infer_collect *, uint32_t process, uint64_t function);

/* ---- likely invariants ---- */

/* control.c: which branches the accesses of a run depend on. */
#define INFER_LEVELS 2u /* an access, the branch, and the branch that this depends on */
struct infer_control;
struct infer_control *infer_control_new(const struct trace_defs *);
void infer_control_event(struct infer_control *, const struct trace_event *); /* of modules */
struct binary_view;
/* The code of a process, with what is loaded at this address. */
const struct binary_view *infer_control_view(struct infer_control *, uint32_t process, uint64_t ip);
void infer_control_branch(struct infer_control *, const struct trace_event *,
			  const struct trace_dep *, const struct trace_deps *);
/* The labels of the branches that the newest event depends on. Returns how many, at most `max`. */
size_t infer_control_labels(struct infer_control *, const struct trace_event *,
			    const struct trace_dep *, const struct trace_deps *,
			    struct trace_label *out, size_t max);
void infer_control_forget(struct infer_control *); /* all branches so far */
void infer_control_free(struct infer_control *);

/* Which operation an event is in; events in order. Where only one is under way, all threads work for it; if there are none at
 * all, the run is one. */
struct infer_inside {
	const struct infer_op *op;
	size_t n, next;
	struct hmap now; /* process and thread -> op + 1 */
	uint64_t last;   /* end of the latest that began */
	bool single;     /* no other was under way when the last began */
};
void infer_inside_init(struct infer_inside *, const struct infer_ops *);
/* The number of the operation, from 1; 0: it is in none. *begin: its first event. *alone: a new one has begun, and
 * no other was under way. */
uint32_t infer_inside_at(struct infer_inside *, const struct trace_event *, uint64_t *begin,
			 bool *alone);
void infer_inside_free(struct infer_inside *);

/* statement.c: instructions in their calling contexts, and the statements that they are of. */
struct infer_where {
	uint32_t process, site, ctx;
	uint32_t statement; /* once they are found */
	bool stores;
	uint64_t ip;
};
struct infer_statement {
	struct finding_place place;
	const struct srcloc_frame *main; /* of the place */
	char *target;
	bool asked; /* … for */
};
struct infer_statements {
	VEC(struct infer_where) where;
	struct trace_wheres wheres; /* numbered as in where */
	VEC(struct infer_statement) v;
	struct hmap at; /* hash of the source line -> statement */
};
uint32_t infer_where(struct infer_statements *, const struct trace_event *);
/* UINT32_MAX: there is none. */
uint32_t infer_where_find(const struct infer_statements *, uint32_t process, uint32_t site,
			  uint32_t ctx);
/* The call paths of some, with helpers marked, for those who free them and their frames. */
struct finding_place *infer_paths(const struct infer_where *, size_t n, const struct trace_defs *,
				  struct srcloc_trace *);
void infer_statements_find(struct infer_statements *, const struct trace_defs *,
			   struct srcloc_trace *);
void infer_statements_free(struct infer_statements *);

/* depend.c: dependences between words of PM, and who stores to them. */
/* A word is aligned, and known by its first byte (model_file_byte); what is accessed in a smaller piece, by that byte. */
#define INFER_WORD 8u
#define INFER_WORD_OF(byte) ((byte) - (byte) % INFER_WORD)
#define INFER_WORDS 8u   /* of an access that are looked at */
#define INFER_WRITERS 8u /* places that are kept of a word */
struct infer_dependence {
	uint64_t x, y; /* words */
	uint64_t count, event;
	uint8_t rule;
};
struct infer_writer {
	uint32_t where, next; /* next of the same word, and 1 */
};
struct infer_depend {
	const struct trace_defs *defs;
	struct trace_maps *maps;
	struct trace_deps *deps;
	struct infer_control *control;
	struct infer_inside inside;
	struct infer_statements *statements;
	VEC(struct infer_dependence) v;
	struct hmap at;
	VEC(struct infer_writer) writer;
	struct hmap first; /* word -> writer + 1 */
};
void infer_depend_init(struct infer_depend *, const struct trace_defs *, const struct infer_ops *,
		       struct infer_statements *);
int infer_depend_event(struct infer_depend *, const struct trace_event *, struct err *);
struct infer_words {
	uint64_t v[INFER_WORDS];
	unsigned n;
};
void infer_words(uint64_t byte, uint64_t size, struct infer_words *out);
uint64_t infer_depend_writers(const struct infer_depend *, uint64_t word); /* the first, and 1 */
/* Is there this dependence? */
bool infer_depend_has(const struct infer_depend *, enum infer_rule, uint64_t x, uint64_t y);
void infer_depend_free(struct infer_depend *);

/* beliefs.c */
struct infer_beliefs {
	struct infer_statements statements;
	struct infer_depend depend;
	VEC(struct infer_belief) v;
	struct srcloc_trace *src;
	bool own_src;
};
/* support.c: how often the beliefs hold. */
int infer_support(struct infer_beliefs *, struct trace_reader *, const struct infer_ops *,
		  const struct model_ops *, struct err *);

#endif
