/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of src/report share. */
#ifndef HOLDFAST_REPORT_INTERNAL_H
#define HOLDFAST_REPORT_INTERNAL_H

#include <cjson/cJSON.h>

#include "report/report.h"

/* place.c: how places are named. */
const char *report_folder(void);           /* the current folder; "" if it has no name */
const char *report_path(const char *file); /* relative if the file is in that folder */
const char *report_base(const char *path); /* its last part */
/* "list.c:41:5", "prog+0x1234" or "?"; free it. Column 0 is left out. */
char *report_where(const struct srcloc_frame *, bool column);
const char *report_function(const struct srcloc_frame *);
const char *report_name(const struct srcloc_frame *, size_t columns); /* srcloc_fit_name */
/* The path up to main; all of it if there is no main. */
struct srcloc_where report_trim(const struct finding_place *);
/* A role in words: "last store", "also lost"; free it. */
char *report_role(const char *);
/* What recovery did: "failed with exit status 3", "crashed with signal 11 (SIGSEGV)"; free it. */
char *report_verdict(const struct finding_crash *);
/* The summary: "2 errors, 1 performance, 0 warnings (3 suppressed)"; free it. */
char *report_summary(const struct finding_set *);

/* A piece of source around a frame's line. */
enum report_source { REPORT_SOURCE, REPORT_SOURCE_CHANGED, REPORT_SOURCE_GONE, REPORT_NO_SOURCE };
struct report_excerpt {
	enum report_source state;
	uint32_t first, n; /* lines that there are */
};
struct report_excerpt report_excerpt(const struct srcloc_frame *, uint32_t context);
/* What to tell people about that state; NULL: nothing. */
const char *report_source_note(enum report_source);

/* out.c: text as UTF-8 whatever bytes it has, and whole files. */
void report_utf8(struct buf *, const char *);
void report_add_operation(cJSON *to, const struct finding_operation *); /* where it is known */
cJSON *report_add_text(cJSON *object, const char *name, const char *text);
cJSON *report_text_item(const char *text);
int report_write(const char *path, const char *data, size_t n, struct err *);
/* What is printed, as a file. */
int report_write_printed(const struct report *, void (*print)(const struct report *, FILE *),
			 const char *path, struct err *);
int report_write_json(const char *path, cJSON *, struct err *); /* frees the tree */

/* finding_json.c: a finding as the report has it, or as it is kept: with full paths and all. */
cJSON *report_finding_tree(const struct finding *, bool whole);
/* SARIF: a path as a URI, one that is relative to the folder of the report if it is below; what repairs a finding. */
void report_add_uri(cJSON *, const char *path, bool folder);
void report_add_artifact(cJSON *, const char *path);
void report_add_fixes(cJSON *result, const struct report *, const struct finding *);
/* scene_json.c: what there is to see at a crash, in its witness; NULL: nothing is there. */
void report_add_scene(cJSON *witness, const struct finding_scene *);
struct finding_scene *report_scene_of(const cJSON *witness);
cJSON *report_steps(const struct finding_step *, size_t n);
/* parse.c: what is not of the type that it should be is not there. */
char *report_own_text(const cJSON *, const char *name); /* NULL: none */
uint64_t report_number(const cJSON *, const char *name);
struct finding_step report_step_of(const cJSON *);
/* NULL: it is damaged. */
struct finding *report_finding_of(const cJSON *, struct err *);
/* "tail", "signal", …: the name of an enum srcloc_kind; NULL for SRCLOC_CODE. */
#define REPORT_PATHS 32 /* call paths of a finding that are written out */
const char *report_how(uint8_t kind);

/* json.c */
cJSON *report_tree(const struct report *);
/* The same, with what the page needs besides: excerpts, and the kinds' titles and help. */
cJSON *report_tree_for_page(const struct report *);

/* sarif_rules.c: the rules of a run; a kind's number among them. */
struct report_rules {
	VEC(const struct finding_kind_info *) kind;
};
void report_rules_collect(struct report_rules *, const struct finding_set *);
size_t report_rule_index(const struct report_rules *, const struct finding_kind_info *);
cJSON *report_rules_json(const struct report_rules *);
const char *report_sarif_level(enum finding_level);

#endif
