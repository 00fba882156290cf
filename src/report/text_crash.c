/* SPDX-License-Identifier: BSD-3-Clause */
/* What the report for people says of a crash (the state, what recovery made of it) and of an input. */
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

#define OUTPUT_LINES 10
#define TRACE_LINES 12

size_t report_text_crash_columns(void)
{
	return strlen("backtrace");
}

static size_t count_lines(const char *text)
{
	size_t n = 0;
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		n++;
	return n;
}

/* Lines `from` to `to` of a text, each behind a bar; says how many are left out. */
static void put_lines(const struct text_out *o, const char *text, size_t from, size_t to)
{
	size_t all = count_lines(text), number = 0;
	if (from)
		fprintf(o->f, "      | … %zu more …\n", from);
	for (const char *p = text; *p && number < to; number++) {
		size_t n = strcspn(p, "\n");
		if (number >= from) {
			char *line = xasprintf("%.*s", (int)n - (n && p[n - 1] == '\r'), p);
			fputs(*line ? "      | " : "      |", o->f);
			report_text_put(o, line, TEXT_LINE_WIDTH);
			fputc('\n', o->f);
			free(line);
		}
		p += n + (p[n] == '\n');
	}
	if (number < all)
		fprintf(o->f, "      | … %zu more …\n", all - number);
}

/* "before event 130, 1 line lost, 2 lines ahead" */
static char *state_of(const struct finding_crash *crash)
{
	return xasprintf("before event %llu, %llu line%s lost, %llu line%s ahead",
			 (unsigned long long)crash->event, (unsigned long long)crash->lines_lost,
			 crash->lines_lost == 1 ? "" : "s", (unsigned long long)crash->lines_ahead,
			 crash->lines_ahead == 1 ? "" : "s");
}

/* "7 (id 107): put 3 4, in flight", "7 to 9, which overlap" */
static char *operation_of(const struct finding_operation *op)
{
	if (!op->index)
		return NULL;
	if (op->last)
		return xasprintf("%llu to %llu, which overlap", (unsigned long long)op->index,
				 (unsigned long long)op->last);
	return xasprintf("%llu (id %llu)%s%s, %s", (unsigned long long)op->index,
			 (unsigned long long)op->id, op->input ? ": " : "",
			 op->input ? op->input : "", op->fate);
}

void report_text_crash(const struct text_out *o, const struct finding_crash *crash, size_t columns)
{
	char *state = state_of(crash), *verdict = report_verdict(crash);
	char *operation = operation_of(&crash->op);
	report_text_labelled(o, "state", columns, state);
	report_text_labelled(o, "operation", columns, operation);
	report_text_label(o, "recovery", columns);
	report_text_color(o, RED);
	report_text_put(o, verdict, SIZE_MAX);
	report_text_plain(o);
	fputc('\n', o->f);
	if (crash->output && *crash->output) {
		size_t n = count_lines(crash->output);
		put_lines(o, crash->output, n > OUTPUT_LINES ? n - OUTPUT_LINES : 0, n);
	}
	if (crash->backtrace && *crash->backtrace) {
		report_text_labelled(o, "backtrace", columns, "of the recovery");
		put_lines(o, crash->backtrace, 0, TRACE_LINES);
	}
	free(state);
	free(operation);
	free(verdict);
}

/* "  input     stdin: 4 bytes, …", a line a source */
void report_text_input(const struct text_out *o, const struct finding_input *input, size_t columns)
{
	const char *label = "input";
	for (const char *p = input->text ? input->text : ""; *p;) {
		size_t n = strcspn(p, "\n");
		char *line = xasprintf("%.*s", (int)n, p);
		report_text_labelled(o, label, columns, line);
		label = "";
		free(line);
		p += n + (p[n] == '\n');
	}
	report_text_labelled(o, "files", columns, input->folder);
	if (input->backtrace && *input->backtrace) {
		report_text_labelled(o, "backtrace", columns, "of a run without the tracer");
		put_lines(o, input->backtrace, 0, TRACE_LINES);
	}
}

char *report_text_crash_seen(const struct finding *f)
{
	const struct finding_crash *crash = f->crash;
	uint64_t states = crash->states ? crash->states : f->count;
	return xasprintf("in %llu crash state%s, %llu recover%s", (unsigned long long)states,
			 states == 1 ? "" : "s", (unsigned long long)crash->recoveries,
			 crash->recoveries == 1 ? "y" : "ies");
}
