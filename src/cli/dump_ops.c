/* SPDX-License-Identifier: BSD-3-Clause */
/* holdfast dump --ops: the operations of a run, one on each line. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/dump.h"
#include "report/report.h"

static char *number(uint64_t n)
{
	return xasprintf("%" PRIu64, n);
}

static char *copy(const char *text)
{
	return text && *text ? xstrdup(text) : NULL;
}

static void show_json(const struct infer_ops *ops, const struct infer_op *op)
{
	bool open = op->end == INFER_NO_END, unsaid = op->said == INFER_NO_END;
	struct report_field f[] = {
		{ "index", number(op->index), true },
		{ "id", number(op->id), true },
		{ "name", copy(infer_op_name(ops, op)), false },
		{ "way", xstrdup(infer_ops_way(ops)->name), false },
		{ "process", number(op->process), true },
		{ "thread", number(op->thread), true },
		{ "begin", number(op->begin), true },
		{ "end", open ? NULL : number(op->end), true },
		{ "acknowledged", unsaid ? NULL : number(op->said), true },
		{ "input", copy(op->input), false },
		{ "output", copy(op->output), false },
	};
	report_fields(f, sizeof f / sizeof *f, stdout);
	for (size_t i = 0; i < sizeof f / sizeof *f; i++)
		free(f[i].text);
}

static void show_line(const struct infer_ops *ops, const struct infer_op *op)
{
	const char *name = infer_op_name(ops, op);
	printf("%7" PRIu32 "  id %-5" PRIu64 " P%" PRIu32 " T%-3" PRIu32 " events %" PRIu64,
	       op->index, op->id, op->process, op->thread, op->begin);
	if (op->end == INFER_NO_END)
		printf(" to none");
	else
		printf(" to %" PRIu64, op->end);
	if (op->said != INFER_NO_END && op->said != op->end)
		printf(", acknowledged by %" PRIu64, op->said);
	printf("%s%s", *name ? "  " : "", name);
	if (op->input)
		printf("  '%s'", op->input);
	if (op->output)
		printf(" -> '%s'", op->output);
	putchar('\n');
}

int dump_ops(struct trace_reader *r, const struct infer_ops_opts *opts, bool json, struct err *err)
{
	struct infer_ops *ops = infer_ops_read(r, opts, err);
	size_t n;
	if (!ops)
		return -1;
	const struct infer_op *op = infer_ops_all(ops, &n);
	for (size_t i = 0; i < n; i++)
		json ? show_json(ops, &op[i]) : show_line(ops, &op[i]);
	char *sentence = infer_ops_sentence(ops);
	if (!json)
		puts(sentence ? sentence
			      : "no operations were found: mark them (holdfast.h), or name their "
				"functions with --ops-calls");
	free(sentence);
	infer_ops_free(ops);
	return 0;
}
