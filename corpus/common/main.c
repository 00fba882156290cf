/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/corpus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "holdfast.h"

#define WRONG_SHOWN 20
#define DUMP_MAX 4096

static int recovering;
static unsigned long wrongs;

void corpus_wrong(const char *format, ...)
{
	va_list ap;

	if (wrongs++ >= WRONG_SHOWN || !recovering)
		return;
	va_start(ap, format);
	fputs("wrong: ", stdout);
	vprintf(format, ap);
	putchar('\n');
	va_end(ap);
}

static int usage(const char *argv0)
{
	fprintf(stderr, "usage: %s run POOL OPS\n       %s recover POOL [OPS]\n       %s dump POOL [OPS]\n",
		argv0, argv0, argv0);
	return 2;
}

/* One line of an op file: a verb and one or two numbers. */
struct op {
	char verb[8];
	uint64_t key;
	uint64_t arg;
};

static int parse(const char *line, struct op *op)
{
	int fields = sscanf(line, "%7s %" SCNu64 " %" SCNu64, op->verb, &op->key, &op->arg);
	int needs_arg = strcmp(op->verb, "put") == 0 || strcmp(op->verb, "upd") == 0 ||
			strcmp(op->verb, "scan") == 0;
	int known = needs_arg || strcmp(op->verb, "get") == 0 || strcmp(op->verb, "del") == 0;

	return known && fields == 2 + needs_arg;
}

static enum corpus_result execute(const struct corpus_program *p, void *store, const struct op *op,
				  uint64_t *out)
{
	switch (op->verb[0]) {
	case 'p': return p->put ? p->put(store, op->key, op->arg, out) : CORPUS_NA;
	case 'g': return p->get ? p->get(store, op->key, out) : CORPUS_NA;
	case 'd': return p->del ? p->del(store, op->key, out) : CORPUS_NA;
	default: return p->upd ? p->upd(store, op->key, op->arg, out) : CORPUS_NA;
	}
}

static void print_result(enum corpus_result result, uint64_t value)
{
	static const char *const words[] = { "new", "old", "", "none", "full", "ok", "na" };

	if (result == CORPUS_VALUE)
		printf("%" PRIu64 "\n", value);
	else if (result == CORPUS_OLD)
		printf("old %" PRIu64 "\n", value);
	else
		puts(words[result]);
}

static void print_scan(const struct corpus_pair *pairs, size_t n)
{
	if (n == 0)
		fputs("none", stdout);
	for (size_t i = 0; i < n; i++)
		printf("%s%" PRIu64 "=%" PRIu64, i ? " " : "", pairs[i].key, pairs[i].value);
	putchar('\n');
}

/* The markers enclose the operation itself, not the printing: what is printed is acknowledged. */
static void run_op(const struct corpus_program *p, void *store, const struct op *op,
		   unsigned long n)
{
	struct corpus_pair pairs[CORPUS_SCAN_MAX];
	enum corpus_result result = CORPUS_NA;
	uint64_t value = 0;
	size_t count = 0;
	int is_scan = op->verb[0] == 's' && p->scan;

	HOLDFAST_OP_BEGIN(n);
	if (is_scan)
		count = p->scan(store, op->key,
				op->arg < CORPUS_SCAN_MAX ? op->arg : CORPUS_SCAN_MAX, pairs);
	else if (op->verb[0] != 's')
		result = execute(p, store, op, &value);
	HOLDFAST_OP_END(n);
	if (is_scan)
		print_scan(pairs, count);
	else
		print_result(result, value);
	fflush(stdout);
}

/* The next operation: 1, 0 at the end, or -1 if it is none. */
static int next_op(const struct corpus_program *p, FILE *in, struct op *op)
{
	char line[128];

	while (fgets(line, sizeof(line), in)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (parse(line, op))
			return 1;
		fprintf(stderr, "%s: bad operation: %s", p->name, line);
		return -1;
	}
	return 0;
}

static int run_ops(const struct corpus_program *p, void *store, FILE *in)
{
	struct op op;
	unsigned long n = 0;
	int more;

	while ((more = next_op(p, in, &op)) > 0)
		run_op(p, store, &op, ++n);
	return more ? 2 : 0;
}

/* What the store says of the keys that the operations mention. */
static int dump_keys(const struct corpus_program *p, void *store, FILE *in)
{
	struct op op;
	enum corpus_result result;
	uint64_t value = 0;
	int more;

	while ((more = next_op(p, in, &op)) > 0) {
		result = p->get(store, op.key, &value);
		printf("%" PRIu64 ": ", op.key);
		print_result(result, value);
	}
	return more ? 2 : 0;
}

/* Prints what is in the store, whether it is well or not. */
static int dump(const struct corpus_program *p, void *store, FILE *in)
{
	static struct corpus_pair pairs[DUMP_MAX];
	size_t n = p->scan ? p->scan(store, 1, DUMP_MAX, pairs) : 0;

	for (size_t i = 0; i < n; i++)
		printf("%" PRIu64 "=%" PRIu64 "\n", pairs[i].key, pairs[i].value);
	return in ? dump_keys(p, store, in) : 0;
}

/* Opens an op file. Locking a stream is an atomic instruction, which fences, and would hide a fence
 * that the program forgot; so neither this stream nor stdout is locked, and it is never closed. */
static FILE *open_ops(const char *path)
{
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");

	if (in)
		__fsetlocking(in, FSETLOCKING_BYCALLER);
	__fsetlocking(stdout, FSETLOCKING_BYCALLER);
	return in;
}

int corpus_main(const struct corpus_program *p, int argc, char **argv)
{
	FILE *ops = NULL;
	void *store;
	int status = 0, dumping;

	if (argc < 3 || argc > 4)
		return usage(argv[0]);
	recovering = strcmp(argv[1], "recover") == 0;
	dumping = strcmp(argv[1], "dump") == 0;
	if (!recovering && !dumping && (strcmp(argv[1], "run") != 0 || argc != 4))
		return usage(argv[0]);
	if (argc == 4 && !(ops = open_ops(argv[3]))) {
		fprintf(stderr, "%s: %s: %s\n", p->name, argv[3], strerror(errno));
		return 2;
	}
	store = p->open(argv[2]);
	if (!store) {
		fprintf(stderr, "%s: %s: %s\n", p->name, argv[2], strerror(errno));
		return recovering ? 1 : 2;
	}
	if (recovering) {
		p->check(store);
		if (wrongs)
			printf("%lu wrong\n", wrongs);
	}
	if (dumping)
		status = dump(p, store, ops);
	else if (ops && !(recovering && wrongs))
		status = run_ops(p, store, ops);
	p->close(store);
	return recovering && wrongs ? 1 : status;
}
