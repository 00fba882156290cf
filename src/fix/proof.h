/* SPDX-License-Identifier: BSD-3-Clause */
/* The proof: a copy of the source, and runs of the program that is built from it. */
#ifndef HOLDFAST_FIX_PROOF_H
#define HOLDFAST_FIX_PROOF_H

#include "fix/internal.h"
#include "report/report.h"

/* process.c */
void fix_watch_signals(void);
int fix_interrupted(void); /* the signal that came, or 0 */
/* A copy that commands see where the source is (over.c). */
struct fix_over {
	const char *copy, *root;
};
bool fix_can_put_over(const struct fix_over *);
bool fix_put_over(const struct fix_over *); /* for this process and those that it starts */
/* `over` NULL: all is seen where it is. */
int fix_run(const char *const *argv, const char *cwd, const char *in, const char *out,
	    const char *errors, const struct fix_over *over, int *status);
void fix_remove_tree(const char *path);
char *fix_tail(const char *path, size_t most); /* xmalloc'ed */
bool fix_same_file(const char *a, const char *b);

/* One run of the program: what it did, and what is found in it. */
struct fix_trial {
	int status;               /* the program's */
	uint64_t flushes, fences; /* executed */
	struct report_read check, crash;
	char *dir; /* its recording, its output and errors beside it */
};

/* A copy of the tree and what is mapped to it. */
struct fix_lab {
	struct fix *x;
	const struct fix_proof *o;
	char *temp, *copy; /* the folder of all, and that of the source in it */
	char *root;        /* of the source, without symbolic links */
	struct fix_over over;
	bool is_over; /* the copy is seen where the source is; else paths in the commands are changed */
	char *self;       /* the program that we are */
	VEC(char *) from; /* texts in the commands, and what is in their place */
	VEC(char *) to;
	unsigned trials;
};
/* lab.c */
int fix_lab_open(struct fix_lab *, struct err *);
void fix_lab_close(struct fix_lab *);
/* Builds what is there; -1 and err, with the end of what it said. */
int fix_lab_build(struct fix_lab *, struct err *);
int fix_lab_test(struct fix_lab *, struct err *);
/* Runs the program, and looks at what it did. */
int fix_lab_run(struct fix_lab *, struct fix_trial *, struct err *); /* records it, no more */
int fix_lab_try(struct fix_lab *, bool crash, struct fix_trial *, struct err *);
void fix_trial_free(struct fix_trial *);
/* The copy is as the source is, or patched as it is planned now. */
int fix_lab_restore(struct fix_lab *, struct err *);

/* before.c: a finding of a run with the patch. An error of check that was said of the same store before, called in the same ways. */
bool fix_was_there(const struct fix_lab *, const struct finding_set *before,
		   const struct finding *);
/* … that is of the store that the fixes of an entry are for: they have not helped, though what is lacking has another name now. */
bool fix_is_for(const struct fix_lab *, const struct finding *, size_t entry);

#endif
