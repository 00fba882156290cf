/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/crash/ share besides the history. */
#ifndef HOLDFAST_CRASH_INTERNAL_H
#define HOLDFAST_CRASH_INTERNAL_H

#include "crash/crash.h"
#include "crash/history.h"
#include "crash/strategy.h"
#include "infer/infer.h"

#define CRASH_CHECKPOINT 32u

/* build.c: 0, or -1 and err: the trace is damaged, or cannot be crash-tested (EXIT_PROGRAM). */
int crash_history_read(struct crash_history *, struct srcloc_trace *, struct err *);

/* pieces.c: slots and checkpoints, once all stores are there. */
void crash_pieces_index(struct crash_history *);
void crash_pieces_free(struct crash_history *);
uint32_t crash_slots_end(const struct crash_history *, uint32_t line); /* from line.first on */

/* history.c: columns of events. */
void crash_when_add(struct crash_when *, uint64_t event);
uint64_t crash_when(const struct crash_when *, size_t i);

/* names.c: what changes when, once the tree is whole; and all names before an event. */
void crash_names_index(struct crash_history *);
void crash_names_at(const struct crash_history *, uint64_t event, crash_names *out);
void crash_names_free(crash_names *);
void crash_names_add(const struct crash_history *, uint64_t event, const struct trace_name *,
		     crash_names *);
/* The first name of each file, or NULL; and the hash of sizes and names. */
void crash_names_first(const struct crash_history *, const crash_names *, const char **first);
uint64_t crash_names_hash(const struct crash_history *, const uint64_t *size,
			  const char *const *first, const crash_names *);

/* meta.c: sizes and names as units. */
bool crash_is_meta(const struct crash_history *, uint32_t line);
/* A crash may lose what is in it: PM, and under a model of file systems all. */
static inline bool crash_line_counts(const struct crash_history *h, uint32_t line)
{
	return h->line.p[line].file < h->npm || h->meta != CRASH_NO_FILE;
}
bool crash_state_has_meta(const struct crash_history *, const struct crash_state *); /* lost */
uint64_t crash_meta_hash(const struct crash_state *, const struct crash_cursor *);
void crash_meta_index(struct crash_history *);
void crash_meta_free(struct crash_history *);
void crash_view_init(struct crash_view *, const struct crash_history *);
void crash_view_free(struct crash_view *);
/* Of a state; the cursor stands at its event. */
void crash_view_of(struct crash_view *, const struct crash_cursor *, const struct crash_state *);
/* The file was cut, and that is lost: none of its lines shows what was stored after it. */
bool crash_cut_is_lost(const struct crash_cursor *, const struct crash_state *, uint32_t file);
/* The version in which a line of data shows in the image. */
uint32_t crash_shown_version(const struct crash_cursor *, const struct crash_state *,
			     uint32_t line);

/* The place of that number, UINT32_MAX if the history has none. */
uint32_t crash_place_find(const struct crash_history *, uint32_t process, uint32_t site,
			  uint32_t ctx);

/* points.c: where to crash. */
struct crash_point {
	uint64_t event; /* crash just before it; the number of events: after the last */
	uint32_t
		place; /* the call path: of a persistency instruction, a store, …; past the last: the end */
	uint64_t recent; /* what was stored before this event is old there */
	uint64_t shape;  /* the places of recent stores that are not guaranteed there */
	uint8_t rank;    /* crash_spot */
	bool extra;      /* likewise */
};
typedef VEC(struct crash_point) crash_point_list;
struct crash_points {
	crash_point_list v; /* sorted by event */
	uint64_t paths;     /* distinct call paths */
	uint64_t found;     /* points before --max-per-path, --only and --after */
	uint8_t *forgotten; /* a bit per record: points_recent.c; NULL: none is */
};
void crash_points_free(struct crash_points *);
/* points_recent.c: sets `recent` and `shape`; they are sorted by event. Returns which records are forgotten. */
uint8_t *crash_points_look(const struct crash_history *, crash_point_list *);
int crash_points_find(const struct crash_history *, const struct crash_opts *,
		      struct srcloc_trace *, struct crash_points *, struct err *);
/* --only names a function or file on the call path of a place, or nothing. */
bool crash_place_wanted(const struct crash_history *, const struct crash_opts *,
			struct srcloc_trace *, uint32_t place);

struct crash_cause;

/*
 * suspect.c and suspect_plan.c: stores that are suspected to be missing, and the states that lose them
 * while everything else is as up to date as it may be.
 */
struct crash_suspect {
	VEC(uint32_t) place;     /* that made them, sorted */
	VEC(uint32_t) statement; /* one place for each statement; none: not looked up yet */
	uint64_t event;          /* one of them */
	uint64_t stores;         /* that may be lost: events */
	uint64_t lost;           /* … that the plan loses, one at a time */
	struct crash_cause
		*own; /* it fails, though it would before the store was made, too; or NULL */
};
struct crash_plan {
	struct crash_state state;
	uint64_t hash; /* of its image */
	uint32_t suspect;
	uint8_t rank; /* the lower, the earlier */
};
struct crash_suspects {
	VEC(struct crash_suspect) v;
	VEC(struct crash_plan) plan; /* in the order in which they are to be tested */
};
/* suspect_stores.c: the stores of those places that are wanted (not 0), in order. */
struct crash_store {
	uint64_t cover; /* the event that guarantees some of it, or the end of the run */
	uint32_t place;
	uint32_t piece; /* the first of its event */
};
typedef VEC(struct crash_store) crash_stores;
void crash_stores_of(const struct crash_history *, const uint32_t *wanted, crash_stores *out);
/* Makes the plan for all of them; `points` are where a crash may matter. */
void crash_suspects_plan(struct crash_suspects *, const struct crash_history *,
			 const struct crash_points *);
/* The places of a history, as numbers; those that it does not have are left out. */
void crash_suspects_add(struct crash_suspects *, const struct crash_history *,
			const struct finding_store *, size_t n, uint64_t event);
void crash_suspects_free(struct crash_suspects *);
/* After the plan was tested: what proves a suspicion by itself. */
int crash_suspects_confirm(struct crash *, struct err *);

/* breach.c: the states that break what the program seems to rely on, in the order in which they are to be tested. */
enum crash_breach_kind {
	CRASH_BREACH_ORDER, /* a store is there, and an earlier one is not */
	CRASH_BREACH_END,   /* what is guaranteed when an operation has ended */
	CRASH_BREACH_EARLY, /* a store is there, and another is not made yet */
};
struct crash_breach {
	uint64_t event;
	uint32_t line, version; /* what is there beside what is guaranteed; UINT32_MAX: nothing */
	uint32_t member;        /* of its cluster */
	uint8_t kind;
	uint64_t order;
};
struct crash_breaches {
	VEC(struct crash_breach) v;
};
#define CRASH_ALIKE 2u /* states of a cluster that are tested where nothing ends the campaign */
/* `most`: states of a cluster; 0: all. */
void crash_breaches_plan(struct crash_breaches *, const struct crash_history *,
			 const struct infer_ops *, const struct infer_beliefs *, uint64_t most);

/* ---- strategies ---- */

/* What they look at; all parts of one share the cursor. */
struct crash_world {
	const struct crash_history *h;
	const struct crash_points *points;
	struct crash_cursor cursor;
	struct crash_wishes wishes;
	uint64_t seed;
	const struct crash_suspects *suspects; /* may be NULL */
	const struct crash_breaches *breaches; /* likewise */
	bool (*reads)(void *arg, const struct crash_state *, uint32_t **line, size_t *n);
	void *reads_arg;
	struct srcloc_trace *src;            /* NULL: there is no source */
	const struct crash_opts *opts;       /* NULL: everything is wanted */
	struct crash_gen *maker;             /* who made the last state, not who combines, … */
	uint64_t number;                     /* … and how many it had made before */
	struct crash_behaviour_counts *told; /* NULL: nobody wants to know */
	bool (*settle)(void *arg); /* crash_gen_settle; NULL: there is nobody to wait for */
	void *settle_arg;
};
/* gen.c: a strategy at work (strategy.h has what it may ask). */
struct crash_gen {
	struct crash_world *w;
	const struct crash_strategy *strategy;
	char *name;
	void *own;
	size_t point;  /* the current one, for strategies that go from point to point, … */
	size_t only;   /* … or the only one, and 1 */
	uint64_t step; /* their progress inside it */
	uint64_t rng;
	uint64_t
		recent; /* CRASH_NEAR: only what is stored from this event on may be lost; else 0 */
	VEC(uint32_t) near; /* CRASH_NEAR: for crash_gen_open … */
	uint64_t near_at;   /* … at this event, and 1 */
	VEC(uint32_t) some; /* for crash_gen_some */
	uint64_t some_at;   /* the event that it is for, and 1 */
	uint64_t made;      /* states */
};
/* By name, "a+b" too; NULL stands for the default. NULL: there is none. */
const struct crash_strategy *crash_strategy_find(const char *name);
struct crash_gen *crash_gen_new(struct crash_world *, const char *name); /* NULL: unknown */

/* behaviours.c: of a history; src and opts may be NULL. */
struct crash_behaviours *crash_behaviours_new(const struct crash_history *, struct srcloc_trace *,
					      const struct crash_opts *);

/* feedback.c: verdicts for those who made the states. */
struct crash_heard {
	struct crash_gen *maker;
	uint64_t number, seq, hash;
	struct crash_state state;
};
void crash_feedback_add(struct crash *, struct crash_world *, const struct crash_state *,
			uint64_t hash);
bool crash_feedback_full(const struct crash *); /* wait for all verdicts */
/* Hands on those that are surely there, or all; returns how many. */
size_t crash_feedback_give(struct crash *, bool all);
void crash_feedback_forget(struct crash *);

/* ---- the engine ---- */

/* What an image of the runner holds at the moment. */
struct crash_cell {
	bool ready;        /* the initial contents are there */
	size_t record;     /* the cursor's, when it was built */
	uint32_t *version; /* per line */
	VEC(uint32_t) odd; /* lines that were not at hi */
	bool *uncut;       /* files with lines that were not, as a cut was lost */
	uint64_t *size;
	uint64_t names; /* which: `key` of what was shown; 0: they are not set yet */
};

/* Why states fail: the few stores that explain it. */
struct crash_cause {
	struct crash_state state; /* the smallest that was found */
	uint32_t persisted;       /* piece: with it, recovery fails; UINT32_MAX: none */
	VEC(uint32_t) lost;       /* pieces: with all of these, it does not */
	VEC(uint32_t) also;       /* pieces of the same lines that may be lost as well */
	VEC(uint32_t) with; /* pieces of the same lines that must persist, or it does not fail */
	bool prefix;        /* nothing is lost out of order: the window between the two */
	bool wrong_order;   /* … which would be fine the other way round */
	bool neither;       /* the lost one without the persisted one fails as well */
	struct crash_verdict verdict;
	char *output, *backtrace;
	uint64_t count;      /* failing states that it explains */
	uint64_t recoveries; /* it took to find it */
	uint64_t
		beside; /* a window: states that were tried outside of it, or apart from it, in vain */
	uint64_t apart; /* piece, and 1, that is lost, too: recovery fails in any case; 0: none */
	bool flaky;
	uint64_t sure; /* the job with which it was seen CRASH_SURE times; 0: not yet */
};

struct crash_job {
	struct crash_state state;
	uint64_t seq;
	uint64_t key;         /* of the run: crash_suffix_key */
	const char *strategy; /* that made it */
	size_t ticket;        /* of crash_progress */
	struct crash_verdict verdict;
	bool done;
};

struct crash {
	struct crash_opts opts;
	struct srcloc_trace *src;
	struct crash_history *h;
	struct crash_points points;
	/* Each user of the history has a cursor of its own; strategies get one as well. */
	struct crash_cursor building;  /* images */
	struct crash_cursor searching; /* for causes */
	struct crash_cursor reporting;
	VEC(struct finding_scene *) scene;
	struct hmap scene_at; /* by state and cause */
	struct crash_cursor judging;
	struct crash_view
		view; /* of the image that is being built, where some of its sizes or names are lost */
	struct {
		const uint64_t *size;
		const crash_names *names;
		uint64_t key;
	} shown; /* the image's */
	struct crash_counts counts;
	VEC(struct runner_file) file;
	/* while running */
	struct runner *runner;
	const struct crash_hooks *hooks;
	struct crash_cell *cell;
	struct crash_gen *gen; /* the strategy at work, while there is one */
	struct err *err;       /* what went wrong while it waited, if `failed` */
	bool failed;
	struct crash_suffix *suffix; /* NULL: none */
	struct crash_texts *texts;   /* NULL: none yet */
	bool again;                  /* runs are the second on their image: chatter.c */
	char *chatter;               /* an example of what is said only at first, or NULL */
	struct hmap dropped; /* what is said in an operation -> 1: it lacks what stays, 2: no */
	struct crash_leaders *leaders; /* NULL: nobody has asked yet */
	struct hmap calm; /* how a state is judged -> 1: it only says more at first, 2: no */
	struct hmap
		shuffled; /* what is said in an operation -> 1: what should be, in another order, 2: no */
	int order; /* 1: entries change places when others come or go, 2: they do not, 0: not known yet */
	size_t deaf; /* so many operations were looked at, and what is said shows none of them */
	struct hmap
		group; /* the base of operations that overlap -> 1: their lines are known, 2: not */
	struct hmap verdict; /* key of a run -> verdict and status, before they are judged … */
	struct hmap said;    /* … by what is said */
	struct hmap
		window; /* by window and the store that opens it: the job that proved it, and 1 */
	struct hmap asked;     /* crash_asked */
	struct hmap made;      /* image hashes that strategies made */
	uint64_t seq, certain; /* jobs so far; those that have been waited for and dealt with */
	uint64_t inflight;     /* … that were started and have no verdict yet */
	uint64_t settling;     /* the one whose verdict is being dealt with */
	VEC(struct crash_job *) job; /* in the order of generation, from `head` on */
	size_t head;
	VEC(struct crash_heard) heard; /* states whose makers want to know, from `hearing` on */
	size_t hearing;
	VEC(struct crash_cause) cause;
	struct crash_suspects suspects;
	struct crash_breaches breaches;
	VEC(struct finding *) told;      /* by cause: the finding that the last report made of it */
	struct crash_verdict empty;      /* what recovery says of the initial image */
	uint64_t created;                /* event from which on recovery's refusals count */
	struct finding_helpers *helpers; /* NULL: not looked for yet */
	struct finding_place *path;      /* by place */
	VEC(uint64_t) statement; /* per place: which source statement it is; 0: not looked up */
	VEC(char *) also;        /* crash_also */
	double started, until;   /* crash_until */
	uint64_t trials;         /* images tested before: of no crash, and in no budget */
	double slowest;          /* seconds: of the recoveries that succeeded */
	bool stopping, patient;  /* patient: a hasty verdict was wrong */
};

/* crash.c: this runner has the cells from now on. */
void crash_use(struct crash *, struct runner *);

/* image.c: makes a cell's image that of a state. */
int crash_materialise(struct crash *, unsigned cell, const struct crash_state *, struct err *);
/* Where recovery crashes on it, malloc'ed; NULL: cannot be told. */
char *crash_backtrace(struct crash *, const struct crash_state *, struct err *);
void crash_cells_free(struct crash *);

/* engine.c: the verdict on a state, now. `fresh`: run it even if it is known. The output, if
 * wanted, is malloc'ed. */
int crash_try(struct crash *, const struct crash_state *, bool fresh, struct crash_verdict *,
	      char **output, struct err *);
/* … before it is judged by what is said, with the operations after the first `ended`; it is kept. */
int crash_run_state(struct crash *, const struct crash_state *, size_t ended, bool fresh,
		    struct crash_verdict *, char **output, struct err *);
/* The same of a run, in this process or an earlier one of the campaign. */
bool crash_known(struct crash *, uint64_t key, struct crash_verdict *);
/* … and judged, as far as that is known; `hash` is the image's. */
bool crash_known_state(struct crash *, const struct crash_state *, uint64_t hash,
		       struct crash_verdict *);
bool crash_failed(const struct crash *, const struct crash_state *, struct crash_verdict);
/* Nobody has asked for this image before, of those whose verdicts were dealt with, and of this function. */
bool crash_asked(struct crash *, const struct crash_state *);

/* patience.c: for the next start, in ms; 0: the whole timeout. The second learns from a verdict. The third: a hang is none
 * with the whole timeout, so that hasty verdicts do not count from now on. */
unsigned crash_patience(const struct crash *);
void crash_patience_learn(struct crash *, const struct runner_result *);
bool crash_was_hasty(struct crash *, struct crash_verdict first, struct crash_verdict again);

/* shard.c: the image of this key is to be tested here. The second looks at what crash_also was told. */
bool crash_is_mine(const struct crash *, uint64_t key);
int crash_look_also(struct crash *, struct err *);
/* engine.c: for a strategy; the cursor is to be freed. */
struct crash_world crash_look(struct crash *);

/* suffix.c: the operations that follow a crash. NULL and err: their file cannot be read. */
struct crash_suffix;
struct crash_suffix *crash_suffix_new(const struct crash_opts *, size_t operations, struct err *);
void crash_suffix_free(struct crash_suffix *);
/* The line of an operation, from 0, without its end; malloc'ed, NULL: not known. */
char *crash_suffix_line(const struct crash_suffix *, size_t);
/* The next start in this cell runs those after the first `from`. */
int crash_suffix_put(struct crash *, unsigned cell, size_t from, struct err *);
/* From now on these are run first, and what they print is not heard. */
void crash_suffix_before(struct crash *, const size_t *line, size_t n);
/* Runs on images with that hash, with these operations, are the same. */
uint64_t crash_suffix_key(const struct crash *, uint64_t hash, size_t from);

/* said.c: what was said, as text. */
void crash_said_keep(struct crash *, uint64_t said, const char *, size_t n);
void crash_said_free(struct crash_texts *);
/* What is said of a state with the operations after the first `ended`: malloc'ed; NULL and err. */
char *crash_said(struct crash *, const struct crash_state *, size_t ended, uint64_t said,
		 struct err *);
/* It lacks a line that both of the others have. */
bool crash_said_drops(const char *was, const char *before, const char *after);
/* Sets line and how: where it is neither. */
void crash_said_differ(const char *was, const char *before, const char *after,
		       struct crash_verdict *);
/* The first line that is wrong, what it should be, and what was said; malloc'ed. */
char *crash_said_compare(const char *was, const char *before, const char *after, bool flying);
/* Fails: the same image, that of `where`, made it say this, then that. */
int crash_said_unsteady(const char *where, const char *, const char *, struct err *);

/* What is said with everything persistent before an event, and the operations that follow number op, from 1: 1 and
 * what is said, 0 if it is not known or fails, -1. */
int crash_said_at(struct crash *, size_t op, uint64_t event, bool run, uint64_t *said,
		  struct err *);
/* coarse.c: 1 if files are as before the run and nothing is acknowledged; if operation op, from 1, may be several. */
int crash_unborn(struct crash *, size_t op, size_t ended, bool run, uint64_t said, struct err *);
int crash_coarse(struct crash *, size_t op, uint64_t event, bool run, uint64_t said, struct err *);

/* chatter.c: messages about repairs, which come only the first time. The first line of `was` that one of the others has not, if it
 * is one; NULL: there is none, or it is not. */
const char *crash_chatter_in(const char *was, const char *before, const char *after);
/* 1 and what is said when asked again, after such messages; 0: there are none; -1. */
int crash_chatter(struct crash *, const struct crash_state *, size_t op, const char *was,
		  const char *before, const char *after, uint64_t *again, struct err *);

/* overlap.c: operations that overlap, as far as --continue can make what they may leave. */
bool crash_overlap_can(const struct crash *, uint64_t event);
uint64_t crash_overlap_key(const struct crash_history *, uint64_t event); /* see crash_judge_key */
int crash_overlap_judge(struct crash *, const struct crash_state *, bool run,
			struct crash_verdict *, struct err *);
/* Which have begun, from 1; false: they do not overlap, or are too many. */
bool crash_overlap_which(const struct crash_history *, uint64_t event, size_t *first, size_t *last);
char *crash_overlap_what(const struct crash_history *, uint64_t event); /* NULL: they do not */
/* What is said if those in flight had happened, or had not; malloc'ed, NULL and err. */
char *crash_overlap_said(struct crash *, uint64_t event, bool happened, struct err *);

/* So many have begun before an event. */
size_t crash_ops_begun(const struct crash_history *, uint64_t event);
/* ops.c: the history's operations are these. -1 and err: there are none. */
int crash_ops_take(struct crash_history *, const struct infer_ops *, struct err *);
void crash_ops_free(struct crash_history *);
/* Makes a state's verdict RUNNER_DIFFERS if what is said is not fine there. `run`: what it is compared with is
 * looked for, if it is not known yet. */
int crash_judge(struct crash *, const struct crash_state *, bool run, struct crash_verdict *,
		struct err *);
/* explain_faults.c: a system call has failed before it, because it was to: the answer may have been that it did, and
 * nothing is promised. */
bool crash_has_failed(const struct crash_history *, uint64_t event);
/* States with the same are judged alike; `hash` is the image's. */
uint64_t crash_judge_key(const struct crash *, const struct crash_state *, uint64_t hash);
/* Which operation is damaged; it stays as it is if none is. */
void crash_judge_operation(struct crash *, const struct crash_state *, struct crash_verdict,
			   struct finding_operation *);
/* "operation 7 (id 7), which had ended, is gone" */
char *crash_judge_what(struct crash *, const struct crash_state *, struct crash_verdict);
/* At the end: does what was said show any of the operations? See crash_deaf. */
void crash_judge_hears(struct crash *);
/* What is said matters there. */
bool crash_judge_can(const struct crash *, const struct crash_state *);
/* What was said becomes: the first line that is wrong, what it should be, and what was said. */
int crash_judge_explain(struct crash *, const struct crash_state *, char **output, struct err *);

/* reads.c: what recovery reads of a state's image before it writes it, in the order of the first
 * reads, as numbers of lines; false: cannot be told. For crash_world.reads. */
bool crash_reads_lines(void *crash, const struct crash_state *, uint32_t **line, size_t *n);

/* minimise.c: finds the cause of a failing state, or counts it for a known one. */
int crash_explain_state(struct crash *, const struct crash_state *, struct crash_verdict,
			struct err *);
/* recognise.c. A cause is added to those that are known, or is one of them: its number. */
size_t crash_cause_add(struct crash *, struct crash_cause *);
void crash_cause_count(struct crash *, size_t cause); /* it is seen once more */
#define CRASH_SURE 3u                                 /* so often: it is established */
bool crash_cause_fails_so(const struct crash_cause *, struct crash_verdict);
/* A cause of a hang that was established well before job `seq` is in this state: it need not be
 * run. The other takes all causes out of the state that were established by then. */
#define CRASH_WINDOW 64u /* states generated ahead of the oldest without a verdict */
bool crash_contains_hang(struct crash *, const struct crash_state *, uint64_t seq);
void crash_heal_known(struct crash *, struct crash_state *, uint64_t seq);

/* cause.c: do they fail for the same reason? Of what is said, in the same line and way; between other operations
 * that line may have another number. */
bool crash_same_way(const struct crash_verdict *, const struct crash_verdict *);
/* Is this cause in a state? The other makes `out` the same with the cause's lost lines
 * up to date; false if there are none. */
bool crash_cause_in(struct crash *, const struct crash_cause *, const struct crash_state *);
#define CRASH_NEAR_PIECES 20000u /* that are looked at for a cause */
bool crash_heal(struct crash *, const struct crash_cause *, const struct crash_state *,
		struct crash_state *out);
/* The place of the first flush of its line after a piece, in the operation; UINT32_MAX: none. */
uint32_t crash_flush_of(const struct crash_history *, uint32_t piece);
/* explain.c: the event that guarantees a piece; that of the end of the run if nothing does. */
uint64_t crash_cover_of(const struct crash_history *, uint32_t piece);
/* Its thread has gone on without a guarantee for the piece, which comes with event `cover`: the operation has
 * ended, or a fence or sync of the thread has come and gone. Whoever guarantees it then does so by chance. */
bool crash_is_abandoned(const struct crash_history *, uint32_t piece, uint64_t cover);
/* The event with which it is abandoned, if that is a fence or a sync; UINT64_MAX: it is not. */
uint64_t crash_forgotten_at(const struct crash_history *, uint32_t piece);
/* The end of the operation that made a piece; UINT64_MAX: there is none. */
uint64_t crash_operation_end(const struct crash_history *, uint32_t piece);
bool crash_same_statement(struct crash *, uint32_t place_a, uint32_t place_b);
/* place.c: the call path of a place, with helpers marked; lives as long as the crash. */
const struct finding_place *crash_path(struct crash *, uint32_t place);
/* The program's own, not a library's on its behalf: that one has an order of its own. */
bool crash_own_store(struct crash *, uint32_t piece);
void crash_paths_free(struct crash *);
/* "EVENT FILE:OFFSET:VERSION …" and back. */
char *crash_state_text(const struct crash *, const struct crash_state *);
int crash_state_parse(const struct crash *, const char *, struct crash_state *, struct err *);
void crash_cause_free(struct crash_cause *);
/* witness.c: crash_diff, with a cursor that stands at the state's event. */
void crash_diff_at(struct crash *, const struct crash_cursor *, const struct crash_state *,
		   void (*each)(void *, const struct crash_lost *), void *);
/* scene.c: what there is to see; `state` is the cause's as text. One more user has it. */
struct finding_scene *crash_scene(struct crash *, const struct crash_cause *, const char *state);
void crash_scenes_free(struct crash *);
/* explain.c: a cause in words. */
struct finding *crash_cause_finding(struct crash *, const struct crash_cause *);

#endif
