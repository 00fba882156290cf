/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Are the tracer's expressions what the machine computes, and do solved inputs go where they
 * were to go? Runs a program that takes 64 bytes of standard input, and prints what came of it.
 *
 * usage: symcheck verify RUNS PROGRAM ARGUMENT…    values of expressions, for several inputs
 *        symcheck paths RUNS PROGRAM ARGUMENT…     inputs from the solver, and what they did
 *
 * In verify mode each expression is evaluated here as its nodes come in; in the other, src/solve
 * does it, too.
 */
#include "launch/launch.h"
#include "symbolic/symbolic.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_BYTES 64u
#define MAX_NAMES 256u

struct check {
	uint8_t input[INPUT_BYTES];
	uint64_t *value; /* of each node */
	size_t cap;
	uint64_t nodes, verified, wrong, branches, ops, silent_ops, bad_branches;
	uint64_t op, op_verified; /* the operation that is under way; expressions seen in it */
	struct {
		char *name;
		uint64_t count;
	} concrete[MAX_NAMES];
	size_t nconcrete;

	struct symbolic *symbolic; /* paths mode */
	struct symbolic_run *run;
	struct launch_explorer *explorer;
};

/* ---- what a node is ---- */

static uint64_t entry(const struct trace_event *e, uint64_t i)
{
	unsigned w = EXPR_W((uint32_t)e->arg[1]), size = (w + 7) / 8;
	uint64_t v = 0;
	if ((i + 1) * size <= e->size)
		memcpy(&v, e->data + i * size, size);
	return v & expr_mask(w);
}

static uint64_t node_value(const struct check *c, uint64_t node)
{
	return node < c->cap ? c->value[node] : 0;
}

static void take_node(struct check *c, const struct trace_event *e)
{
	uint32_t word = (uint32_t)e->arg[1];
	uint64_t v[3], node = e->arg[0];
	for (unsigned i = 0; i < 3; i++)
		v[i] = e->flags >> i & 1 ? e->arg[2 + i] : node_value(c, e->arg[2 + i]);
	if (node >= c->cap) {
		c->cap = node * 2 + 1024;
		c->value = xrealloc(c->value, c->cap * sizeof *c->value);
	}
	if (EXPR_OP(word) == EXPR_INPUT)
		c->value[node] = v[0] < INPUT_BYTES ? c->input[v[0]] : 0;
	else if (EXPR_OP(word) == EXPR_TABLE)
		c->value[node] = entry(e, v[0]);
	else
		c->value[node] = expr_apply(word, v[0], v[1], v[2]);
	c->nodes++;
}

static void take_verify(struct check *c, const struct trace_event *e)
{
	uint64_t got = node_value(c, e->arg[0]);
	c->verified++;
	c->op_verified++;
	if (got == e->arg[1])
		return;
	if (c->wrong++ < 20)
		printf("example snippet %" PRIu64 ", node %" PRIu64 ": %#" PRIx64 ", not %#" PRIx64
		       "\n",
		       c->op, e->arg[0], got, e->arg[1]);
}

static void take_concrete(struct check *c, const struct trace_event *e)
{
	size_t i;
	for (i = 0; i < c->nconcrete; i++)
		if (strlen(c->concrete[i].name) == e->size &&
		    memcmp(c->concrete[i].name, e->data, e->size) == 0)
			break;
	if (i == c->nconcrete && i < MAX_NAMES) {
		c->concrete[i].name = xasprintf("%.*s", (int)e->size, (const char *)e->data);
		c->nconcrete++;
	}
	if (i < MAX_NAMES)
		c->concrete[i].count += e->arg[0];
}

static int on_sym(void *arg, const struct trace_event *e, struct err *err)
{
	struct check *c = arg;
	(void)err;
	if (c->run) {
		symbolic_run_record(c->run, e);
		return 0;
	}
	switch (e->kind) {
	case TRACE_SYM_NODE: take_node(c, e); break;
	case TRACE_SYM_VERIFY: take_verify(c, e); break;
	case TRACE_SYM_BRANCH:
		c->branches++;
		c->bad_branches += node_value(c, e->arg[0]) != e->arg[1];
		break;
	case TRACE_SYM_CONCRETE: take_concrete(c, e); break;
	default: break;
	}
	return 0;
}

static int on_event(void *arg, const struct trace_event *e, struct err *err)
{
	struct check *c = arg;
	(void)err;
	if (c->run)
		symbolic_run_record(c->run, e);
	else if (c->symbolic)
		symbolic_prefix(c->symbolic, launch_explorer_defs(c->explorer), e);
	else if (e->kind == TRACE_OP_BEGIN) {
		c->op = e->arg[0];
		c->op_verified = 0;
	} else if (e->kind == TRACE_OP_END) {
		c->ops++;
		c->silent_ops += !c->op_verified;
	}
	return 0;
}

/* ---- running ---- */

static void die(const char *what, const struct err *err)
{
	fprintf(stderr, "symcheck: %s: %s\n", what, err->text);
	exit(1);
}

static void start(struct check *c, struct launch_explorer_opts *opts,
		  const struct sym_source *source, char **argv)
{
	struct err err = { 0 };
	bool used = false;
	opts->run.argv = (const char *const *)argv;
	opts->source = source;
	opts->nsource = 1;
	opts->seed = c->input;
	opts->timeout = 120;
	opts->verify = true;
	c->explorer = launch_explorer_new(opts, on_event, on_sym, c, &err);
	if (!c->explorer)
		die("cannot begin", &err);
	if (launch_explorer_start(c->explorer, &used, &err))
		die("cannot start", &err);
	if (!used) {
		fprintf(stderr, "symcheck: the program does not read its input\n");
		exit(1);
	}
}

static void run_once(struct check *c, const uint8_t *input, const uint32_t *now,
		     struct launch_explorer_run *run)
{
	struct err err = { 0 };
	int done = 0;
	if (launch_explorer_go(c->explorer, input, now, &err))
		die("cannot run", &err);
	while (done == 0)
		done = launch_explorer_poll(c->explorer, 1000, run, &err);
	if (done < 0)
		die("cannot go on", &err);
	if (run->signal || run->hung || run->status) {
		fprintf(stderr, "symcheck: the program ended with status %d, signal %d%s\n",
			run->status, run->signal, run->hung ? ", hung" : "");
		exit(1);
	}
}

/* Always the same, and some bytes that code likes to treat in another way. */
static void make_input(uint8_t *input, uint64_t seed)
{
	static const uint8_t liked[] = { 0, 1, 0x7f, 0x80, 0xff, '0', 'a', ' ' };
	seed = seed * 0x9E3779B97F4A7C15u + 0x1234567;
	for (unsigned i = 0; i < INPUT_BYTES; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		input[i] = seed >> 60 < 5 ? liked[seed >> 32 & 7] : (uint8_t)(seed >> 40);
	}
}

static void verify(struct check *c, unsigned runs, char **argv, const struct sym_source *source)
{
	struct launch_explorer_opts opts = { 0 };
	uint32_t now = INPUT_BYTES;
	make_input(c->input, 0);
	start(c, &opts, source, argv);
	for (unsigned i = 0; i < runs; i++) {
		struct launch_explorer_run run = { 0 };
		make_input(c->input, i);
		run_once(c, c->input, &now, &run);
	}
	printf("snippets %" PRIu64 "\nsilent %" PRIu64 "\nnodes %" PRIu64 "\nverified %" PRIu64
	       "\nwrong %" PRIu64 "\nbranches %" PRIu64 "\nbad-branches %" PRIu64 "\n",
	       c->ops, c->silent_ops, c->nodes, c->verified, c->wrong, c->branches,
	       c->bad_branches);
	for (size_t i = 0; i < c->nconcrete; i++)
		printf("concrete %s %" PRIu64 "\n", c->concrete[i].name, c->concrete[i].count);
}

static void paths(struct check *c, unsigned runs, char **argv, const struct sym_source *source)
{
	struct launch_explorer_opts opts = { 0 };
	struct symbolic_opts symbolic = {
		.source = source, .nsource = 1, .strategy = "random", .random = 4
	};
	struct symbolic_input input = { .byte = c->input, .n = INPUT_BYTES };
	struct err err = { 0 };
	const struct symbolic_stats *s;
	const char *example = NULL;
	uint64_t wrong;
	unsigned done = 0;
	make_input(c->input, 3);
	input.now[0] = INPUT_BYTES;
	c->symbolic = symbolic_new(&symbolic, &err);
	if (!c->symbolic)
		die("cannot begin", &err);
	symbolic_seed(c->symbolic, &input);
	start(c, &opts, source, argv);
	for (; done < runs && symbolic_next(c->symbolic, &input) == 1; done++) {
		struct launch_explorer_run run = { 0 };
		struct symbolic_outcome outcome;
		const uint8_t *cover;
		const uint64_t *block;
		size_t n;
		c->run = symbolic_run_begin(c->symbolic, &input, launch_explorer_defs(c->explorer));
		run_once(c, input.byte, input.now, &run);
		block = launch_explorer_blocks(c->explorer, &cover, &n);
		symbolic_run_cover(c->run, block, cover, n);
		symbolic_run_end(c->run, &outcome);
		c->run = NULL;
		symbolic_input_free(&input);
	}
	s = symbolic_stats(c->symbolic);
	wrong = symbolic_wrong(c->symbolic, &example);
	if (wrong)
		printf("example %s\n", example);
	printf("wrong %" PRIu64 "\nruns %u\npaths %" PRIu64 "\npredicted %" PRIu64
	       "\ndiverged %" PRIu64 "\ninfeasible %" PRIu64 "\nundecided %" PRIu64
	       "\nbranches %" PRIu64 "\n",
	       wrong, done, s->paths, s->predicted, s->diverged, s->infeasible, s->undecided,
	       s->branches);
	symbolic_free(c->symbolic);
}

int main(int argc, char **argv)
{
	struct check c = { 0 };
	struct sym_source source = { .kind = SYM_SRC_STDIN,
				     .len = INPUT_BYTES,
				     .now = INPUT_BYTES };
	if (argc < 4)
		return 2;
	if (strcmp(argv[1], "verify") == 0)
		verify(&c, (unsigned)atoi(argv[2]), argv + 3, &source);
	else
		paths(&c, (unsigned)atoi(argv[2]), argv + 3, &source);
	launch_explorer_free(c.explorer);
	for (size_t i = 0; i < c.nconcrete; i++)
		free(c.concrete[i].name);
	free(c.value);
	return 0;
}
