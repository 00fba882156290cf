/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording in source terms, as `holdfast dump` shows it.
 *
 *   recording.c          reading it: where modules and PM files are mapped at the current event; names
 *   recording_events.c   a line for each event, for people; recording_json.c the same as JSON
 *   recording_summary.c  counting; recording_page.c the page, and recording_json.c the document
 */
#ifndef HOLDFAST_REPORT_RECORDING_H
#define HOLDFAST_REPORT_RECORDING_H

#include "finding/finding.h"
#include "report/internal.h"

struct report_recording {
	struct trace_reader *reader;
	const struct trace_defs *defs;
	struct srcloc_trace *loc;
	struct trace_maps *maps;
	struct trace_deps *deps;
	struct trace_dep dep; /* of the current event, if it has any */
	uint64_t moved; /* changes of the mapped modules: what was said of addresses is void */
};

/* Where in a PM file an address lies; false: in none. */
bool report_recording_place(const struct report_recording *, uint32_t process, uint64_t addr,
			    uint32_t *file, uint64_t *offset);
/* Calls `use` with each event up to `to`, with the state as the event needs it. */
typedef void report_recording_use(struct report_recording *, const struct trace_event *, void *arg);
int report_recording_each(struct report_recording *, uint64_t to, report_recording_use *use,
			  void *arg, struct err *);

const char *report_recording_path(const struct report_recording *, uint32_t file);
const char *report_recording_name(const struct report_recording *,
				  uint32_t file); /* short, if it is the only one */
/* "clwb", "sfence", "atomic", …; NULL where the kind of event says it all. */
const char *report_recording_flavour(const struct report_recording *, const struct trace_event *);

void report_recording_command(const struct trace_process_def *, struct buf *); /* for a shell */
const char *report_recording_signal(uint64_t number, char buf[32]);            /* "SIGSEGV" */

/* How an argument is written, by its name in the table of events. */
enum report_style {
	REPORT_ADDR,
	REPORT_HEX,
	REPORT_NUMBER,
	REPORT_FILE,
	REPORT_NODE,
	REPORT_MODULE,
	REPORT_STRING,
	REPORT_PROT,
	REPORT_SIGNAL
};
enum report_style report_recording_style(const char *name);
/* A payload is bytes in stores and writes, labels where dependences are told, text in all others. */
bool report_recording_has_bytes(const struct trace_event *);
bool report_recording_has_labels(const struct trace_event *);
void report_recording_hex(struct buf *, const uint8_t *, size_t);
extern const char *const report_recording_flags[]; /* names, by bit; ended by NULL */

/* recording_json.c: an event on a line; `stack` is that of report_recording_stack. */
void report_recording_event_json(const struct report_recording *, const struct trace_event *,
				 const char *stack, struct buf *out);
void report_recording_stack(struct report_recording *, const struct trace_event *, struct buf *out);

/* ---- a summary ---- */

struct report_amount {
	uint64_t count, bytes;
};
enum report_store { REPORT_PLAIN, REPORT_NT, REPORT_ATOMIC, REPORT_KERNEL, REPORT_STORES };
extern const char *const report_store_names[REPORT_STORES];
struct report_site {
	struct srcloc_frame at, via; /* via.module NULL: at says it all */
	struct report_amount stores;
};
struct report_file_use {
	struct report_amount stores, writes;
	struct imap mapped; /* of file offsets, ever */
};
struct report_process_use {
	uint32_t threads;
	bool ended;
	uint64_t status, signal;
};
struct report_counts {
	uint64_t events, kinds[TRACE_KINDS];
	struct report_amount stores[REPORT_STORES], elsewhere; /* elsewhere: in no PM file */
	uint64_t flush[TRACE_SITE_CLASSES], flush_volatile;
	uint64_t fence[TRACE_SITE_CLASSES], fence_atomic;
	struct hmap thread; /* (process, thread) seen */
	VEC(struct report_process_use) process;
	VEC(struct report_file_use) file;
	VEC(struct report_site) site; /* those that store most come first */
	struct hmap site_at;          /* hash of a site's strings -> index */
	struct hmap site_for;         /* (process, ip, ctx) -> index */
	struct hmap path;             /* (process, ip, ctx) whose path `helpers` knows */
	struct finding_helpers *helpers;
	uint64_t moved; /* report_recording.moved when site_for and path were made */
};
struct report_process_use report_process_use(const struct report_counts *, uint32_t process);
uint64_t report_mapped(const struct report_file_use *); /* bytes */
void report_recording_page(struct report_recording *, const struct report_counts *, uint64_t top,
			   FILE *);
void report_recording_document(struct report_recording *, const struct report_counts *,
			       uint64_t top, FILE *);

#endif
