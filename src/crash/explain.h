/* SPDX-License-Identifier: BSD-3-Clause */
/* What explain.c (causes in words) has from explain_files.c, where the model is one of file systems. */
#ifndef HOLDFAST_CRASH_EXPLAIN_H
#define HOLDFAST_CRASH_EXPLAIN_H

#include "crash/internal.h"

/* "rename(tmp, db)", "the write of 4096 bytes to tmp". malloc'ed, as all of these. */
char *crash_change_words(const struct crash_history *, uint32_t piece);
/* The file whose size the line is; CRASH_NO_FILE: it has names. */
uint32_t crash_sized_file(const struct crash_history *, uint32_t line);
/* `covered`: the lost one is guaranteed by the end of its operation. */
enum finding_kind crash_files_kind(const struct crash_history *, const struct crash_cause *,
				   bool covered);
/* Either place may be NULL: there is no such change. */
char *crash_files_message(const struct crash_history *, const struct crash_cause *,
			  const char *at_persisted, const char *at_lost, const char *does);
char *crash_files_advice(const struct crash_history *, const struct crash_cause *,
			 enum finding_kind);

/* explain_join.c: `best` of each cause is the cause whose finding it is told with, itself or another, which gets to say so. The
 * findings are those of the causes. */
void crash_join(struct crash *, struct finding **, size_t *best);
/* explain.c: "save (save.c:12)" */
char *crash_place_words(struct crash *, uint32_t place);
/* explain_faults.c: the fault that led to it, or NULL; and the finding says so. */
const struct crash_fault *crash_fault_behind(const struct crash_history *,
					     const struct crash_cause *);
void crash_fault_say(struct crash *, const struct crash_fault *, struct finding *);

#endif
