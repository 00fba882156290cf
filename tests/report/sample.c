/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a sample report, for the tests that look at one with other programs.
 * usage: sample text|json|sarif|html|… FILE [empty|crash|N]    a report format; N: so many findings more
 */
#include "../unit/report_sample.h"

/* Many more, each in a function of its own. */
static void sample_many(struct sample *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char function[32];
		enum finding_kind kind = i % FINDING_KINDS_COUNT;
		struct finding *f = finding_new(finding_kind_info(kind));
		snprintf(function, sizeof function, "function_%u", i);
		struct srcloc_frame frame = sample_frame(s, function, i % 2 ? "list.c" : "other.c",
							 i % 17 + 1, 1, "prog");
		f->place = sample_place(&frame, 1);
		f->message = xasprintf("finding number %u", i);
		f->event = i;
		sample_step(f, i, 1, "store", "list.c:1");
		finding_add(&s->set, f);
	}
}

static int write_report(const struct report *r, const char *format, const char *path)
{
	struct err err = { 0 };
	int status = -1;
	if (!strcmp(format, "text")) {
		report_text(r, stdout);
		return 0;
	}
	const struct report_format *f;
	for (size_t i = 0; (f = report_format_at(i)); i++)
		if (!strcmp(format, f->name))
			status = f->write(r, path, &err);
	if (status)
		msg_error("%s", err.text);
	return status ? err.status : 0;
}

/* Numbers over time. */
static const char *const columns[] = { "seconds", "images tested", "causes", "nothing" };
static const double rows[] = { 0.5, 3, 0, 0, 1, 40, 1, 0, 12.25, 120, 4, 0 };
static const struct report_chart chart = { columns, 4, rows, 3 };

int main(int argc, char **argv)
{
	static struct sample s;
	if (argc < 3)
		return EXIT_USAGE;
	if (argc > 3 && !strcmp(argv[3], "crash"))
		sample_make_crashes(&s), s.report.chart = &chart;
	else
		sample_make(&s, argc > 3 && !strcmp(argv[3], "empty"));
	if (argc > 3) {
		sample_many(&s, (unsigned)atoi(argv[3]));
		finding_sort(&s.set);
	} else {
		s.report.incomplete = "the program was killed by signal 9";
	}
	int status = write_report(&s.report, argv[1], argv[2]);
	finding_set_free(&s.set);
	return status;
}
