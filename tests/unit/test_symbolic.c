/* SPDX-License-Identifier: BSD-3-Clause */
/* The exploration engine, on programs that are C functions (symbolic_util.h). */
#include "symbolic_util.h"

#define ALL 10000u

static void each_strategy(void (*test)(const char *strategy))
{
	const char *name, *about;
	for (size_t i = 0; (name = symbolic_search_at(i, &about)); i++)
		test(name);
	test("bfs+random-path+pm");
}

/* ---- every path, once ---- */

/* Four bits of two bytes: 16 paths. */
static void nested(struct vm *vm)
{
	struct sym a = vm_in(vm, 0), b = vm_in(vm, 1);
	vm->leaf |= vm_less(vm, 0x100, a, 100);
	vm->leaf |= vm_less(vm, 0x110, b, 50) << 1;
	vm->leaf |= vm_is(vm, 0x120, vm_op(vm, EXPR_AND, a, vm_const(8, 1)), 1) << 2;
	vm->leaf |= vm_is(vm, 0x130, vm_op(vm, EXPR_AND, b, vm_const(8, 1)), 1) << 3;
}

static void nested_by(const char *strategy)
{
	struct exploration x;
	open_engine(&x, (struct symbolic_opts){ .strategy = strategy }, 2);
	explore(&x, nested, ALL);
	assert_int_equal(leaves(&x), 16);
	assert_int_equal(x.runs, 16);
	assert_int_equal(symbolic_stats(x.s)->paths, 16);
	assert_int_equal(symbolic_stats(x.s)->predicted, 15);
	assert_int_equal(symbolic_stats(x.s)->diverged, 0);
	assert_int_equal(symbolic_stats(x.s)->candidates, 0);
	close_engine(&x);
}

static void test_all_paths(void **state)
{
	(void)state;
	each_strategy(nested_by);
}

/* Commands of four bytes: letter, key, value and the sum of the three, up to `n` of them. */
static void commands(struct vm *vm, unsigned n)
{
	vm->leaf = 1;
	for (unsigned i = 0; i < n; i++) {
		struct sym c = vm_in(vm, 4 * i), k = vm_in(vm, 4 * i + 1), v = vm_in(vm, 4 * i + 2);
		struct sym sum = vm_op(vm, EXPR_ADD, vm_op(vm, EXPR_ADD, c, k), v);
		struct sym ok = vm_op(vm, EXPR_EQ, sum, vm_in(vm, 4 * i + 3));
		vm->leaf *= 4;
		if (!vm_if(vm, 0x200, ok))
			return;
		if (vm_is(vm, 0x210, c, 'S'))
			vm->leaf += 1;
		else if (vm_is(vm, 0x220, c, 'G'))
			vm->leaf += 2;
		else if (vm_less(vm, 0x230, k, 16))
			vm->leaf += 3;
		else
			return;
	}
	vm->leaf += 1024;
}

static void three_commands(struct vm *vm)
{
	commands(vm, 3);
}

/* Each command: three ways to go on, two ways to stop. */
static void commands_by(const char *strategy)
{
	struct exploration x;
	unsigned paths = (1 + 3 + 9) * 2 + 27;
	open_engine(&x, (struct symbolic_opts){ .strategy = strategy, .random = 7 }, 12);
	explore(&x, three_commands, ALL);
	assert_int_equal(x.runs, paths);
	assert_int_equal(symbolic_stats(x.s)->paths, paths);
	assert_int_equal(symbolic_stats(x.s)->diverged, 0);
	close_engine(&x);
}

static void test_checksums(void **state)
{
	(void)state;
	each_strategy(commands_by);
}

/* A loop that tests the same byte again forks once; x ^ x and fixed bytes never do. */
static void repeats(struct vm *vm)
{
	struct sym a = vm_in(vm, 0), b = vm_in(vm, 1);
	for (int i = 0; i < 5; i++)
		vm->leaf += vm_is(vm, 0x300 + (uint64_t)i * 16, a, 9);
	vm->leaf += vm_is(vm, 0x380, vm_op(vm, EXPR_XOR, a, a), 0);
	vm->leaf += vm_is(vm, 0x390, b, 1) ? 100 : 0;
}

static void test_no_needless_forks(void **state)
{
	static const uint8_t fixed[] = { 0, 1 };
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ .fixed = fixed }, 2);
	explore(&x, repeats, ALL);
	assert_int_equal(x.runs, 2);
	assert_int_equal(x.leaf[1], 1);
	assert_int_equal(x.leaf[6], 1);
	close_engine(&x);
}

/* ---- other values ---- */

/* A jump through a table of five. */
static void jumps(struct vm *vm)
{
	struct sym a = vm_in(vm, 0);
	if (!vm_less(vm, 0x400, a, 5))
		return;
	vm_decision(vm, SYM_JUMP, 0x410, vm_address(vm, 0x9000, a, 4));
	vm->leaf = 1 + (int)a.v;
}

static void jumps_by(const char *strategy)
{
	struct exploration x;
	open_engine(&x, (struct symbolic_opts){ .strategy = strategy }, 1);
	explore(&x, jumps, ALL);
	assert_int_equal(leaves(&x), 6);
	assert_int_equal(x.runs, 6);
	assert_int_equal(x.why[SYMBOLIC_TARGET], 4);
	close_engine(&x);
}

static void test_jump_targets(void **state)
{
	(void)state;
	each_strategy(jumps_by);
}

static void look_up(struct vm *vm)
{
	vm_decision(vm, SYM_LOAD, 0x420, vm_address(vm, 0x9000, vm_in(vm, 0), 3));
}

static void test_target_limit(void **state)
{
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ .max_targets = 3 }, 1);
	explore(&x, look_up, ALL);
	assert_int_equal(x.runs, 4);
	assert_int_equal(symbolic_stats(x.s)->diverged, 0);
	close_engine(&x);
}

/* ---- flushes that miss ---- */

#define POOL 0x10000u

static struct sym masked(struct vm *vm, struct sym a, uint64_t mask)
{
	return vm_op(vm, EXPR_AND, a, vm_const(8, mask));
}

/* The leaf is 1 if the store's line is not flushed. */
static void masked_index(struct vm *vm)
{
	struct sym a = vm_in(vm, 0), to, line;
	if (!vm_less(vm, 0x500, a, 16))
		return;
	to = vm_address(vm, POOL, masked(vm, a, 15), 6);
	line = vm_address(vm, POOL, masked(vm, a, 7), 6);
	vm_store(vm, 0x510, to);
	vm_flush(vm, 0x520, line);
	vm_fence(vm, 0x530);
	vm->leaf = to.v / 64 != line.v / 64;
}

static void test_miss_masked_index(void **state)
{
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ 0 }, 1);
	explore(&x, masked_index, 2);
	assert_int_equal(x.why[SYMBOLIC_MISS], 1);
	assert_int_equal(x.leaf[1], 1);
	assert_true(x.last.new_behaviour);
	close_engine(&x);
}

/* The flush is where the store is: no input can tell them apart. */
static void right_index(struct vm *vm)
{
	struct sym to = vm_address(vm, POOL, masked(vm, vm_in(vm, 0), 15), 6);
	struct sym line = vm_op(vm, EXPR_AND, to, vm_const(64, ~(uint64_t)63));
	vm_store(vm, 0x510, to);
	vm_flush(vm, 0x520, line);
}

/* … but with entries of 24 bytes a store may reach into the next line. */
static void crosses_line(struct vm *vm)
{
	struct sym wide = vm_zext(vm, 64, vm_in(vm, 0));
	struct sym off = vm_op(vm, EXPR_MUL, wide, vm_const(64, 20));
	struct sym to = vm_op(vm, EXPR_ADD, off, vm_const(64, POOL));
	vm_store(vm, 0x510, to);
	vm_flush(vm, 0x520, to);
	vm->leaf = (to.v + 7) / 64 != to.v / 64;
}

/* The store moves, the flush stays; and the other way round. */
static void fixed_flush(struct vm *vm)
{
	struct sym to = vm_address(vm, POOL, masked(vm, vm_in(vm, 0), 31), 3);
	vm_store(vm, 0x510, to);
	for (uint64_t i = 0; i < 3; i++)
		vm_flush(vm, 0x520, vm_const(64, POOL + 64 * i));
	vm->leaf = to.v >= POOL + 192;
}

static void fixed_store(struct vm *vm)
{
	struct sym line = vm_address(vm, POOL, masked(vm, vm_in(vm, 0), 1), 6);
	vm_store(vm, 0x510, vm_const(64, POOL + 8));
	vm_flush(vm, 0x520, line);
	vm->leaf = line.v != POOL;
}

/* The store is in one of two pages, and the first is synced. */
static void fixed_sync(struct vm *vm)
{
	struct sym to = vm_address(vm, POOL, masked(vm, vm_in(vm, 0), 31), 8);
	const uint64_t arg[] = { POOL, 100, 4 };
	vm_store(vm, 0x510, to);
	vm_emit(vm, TRACE_SYNC, 0, 0x520, 3, arg);
	vm->leaf = to.v >= POOL + 4096;
}

static unsigned missed_under(const char *model, program *prog)
{
	struct exploration x;
	unsigned run;
	open_engine(&x, (struct symbolic_opts){ .model = model_find(model) }, 1);
	explore(&x, prog, 2);
	assert_int_equal(x.why[SYMBOLIC_MISS], x.leaf[1]);
	run = x.first[1];
	close_engine(&x);
	return run;
}

static void test_miss(void **state)
{
	(void)state;
	assert_int_equal(missed_under(NULL, right_index), 0);
	assert_int_equal(missed_under(NULL, crosses_line), 2);
	assert_int_equal(missed_under(NULL, fixed_flush), 2);
	assert_int_equal(missed_under(NULL, fixed_store), 2);
	assert_int_equal(missed_under(NULL, fixed_sync), 2);
}

/* Where a store needs no flush, or a flush does nothing, there is nothing to ask. */
static void test_miss_under_other_models(void **state)
{
	(void)state;
	assert_int_equal(missed_under("eadr", fixed_flush), 0);
	assert_int_equal(missed_under("eadr", fixed_sync), 0);
	assert_int_equal(missed_under("msync", fixed_flush), 0);
	assert_int_equal(missed_under("msync", fixed_sync), 2);
}

/* A load at the same index holds it, until that is let go; and no more than a few inputs are made. */
static void held_index(struct vm *vm)
{
	struct sym a = vm_in(vm, 0);
	vm_decision(vm, SYM_LOAD, 0x540, vm_address(vm, 0x9000, a, 3));
	vm_store(vm, 0x510, vm_address(vm, POOL, a, 3));
	vm_flush(vm, 0x520, vm_const(64, POOL));
	vm->leaf = a.v > 7;
}

static void test_miss_is_limited(void **state)
{
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ .max_targets = 200 }, 1);
	explore(&x, held_index, ALL);
	assert_int_equal(x.first[1], 2);
	assert_in_range(x.why[SYMBOLIC_MISS], 1, 4);
	close_engine(&x);
}

/* ---- lines ---- */

/* Four paths, which the second byte chooses; the first one chooses one of eight lines. */
static void any_line(struct vm *vm)
{
	struct sym to = vm_address(vm, POOL, masked(vm, vm_in(vm, 0), 7), 6), b = vm_in(vm, 1);
	bool high = vm_less(vm, 0x500, b, 100), even = vm_is(vm, 0x502, masked(vm, b, 1), 0);
	vm_store(vm, 0x510, to);
	vm_flush(vm, 0x520, to);
	vm->leaf = (unsigned)(to.v - POOL) / 64 + 8 * (high + 2u * even);
}

/* The line is no path, but all are run, by instruction and not by path. */
static void test_lines(void **state)
{
	unsigned lines = 0;
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ 0 }, 2);
	explore(&x, any_line, ALL);
	for (unsigned i = 0; i < 8; i++)
		lines += x.leaf[i] || x.leaf[i + 8] || x.leaf[i + 16] || x.leaf[i + 24];
	assert_int_equal(lines, 8);
	assert_int_equal(symbolic_stats(x.s)->paths, 4);
	assert_in_range(x.why[SYMBOLIC_LINE], 7, 14);
	close_engine(&x);
	open_engine(&x, (struct symbolic_opts){ .max_targets = 3 }, 2);
	explore(&x, any_line, ALL);
	assert_in_range(x.why[SYMBOLIC_LINE], 3, 6);
	close_engine(&x);
}

/* ---- lengths ---- */

/* Reads all there is; two letters must be right, the third counts. */
static void reader(struct vm *vm)
{
	uint32_t n = vm_read(vm, 0x600, 64);
	if (n < 1 || !vm_is(vm, 0x610, vm_in(vm, 0), 'P'))
		return;
	vm->leaf = 1;
	if (n < 2 || !vm_is(vm, 0x620, vm_in(vm, 1), 'M'))
		return;
	vm->leaf = 2;
	if (n >= 7 && vm_is(vm, 0x630, vm_in(vm, 6), '!'))
		vm->leaf = 3;
}

static void longer_by(const char *strategy)
{
	struct sym_source source = { .kind = SYM_SRC_STDIN, .len = 7, .now = 0 };
	struct exploration x;
	open_engine(&x,
		    (struct symbolic_opts){ .source = &source, .nsource = 1, .strategy = strategy },
		    0);
	explore(&x, reader, ALL);
	assert_int_equal(leaves(&x), 4);
	assert_true(x.why[SYMBOLIC_LONGER] >= 3);
	assert_in_range(x.runs, 6, 40);
	close_engine(&x);
}

static void test_longer(void **state)
{
	(void)state;
	each_strategy(longer_by);
}

/* New bytes have the lowest value that is allowed, fixed ones keep theirs. */
static void test_longer_keeps_ranges(void **state)
{
	struct sym_source source = { .kind = SYM_SRC_STDIN, .len = 4, .now = 1 };
	uint8_t lo[4] = { ' ', ' ', '0', ' ' }, hi[4] = { '~', '~', '9', '~' };
	uint8_t fixed[4] = { 0, 0, 0, 1 }, bytes[4] = { 'a', 0, 0, '!' };
	struct symbolic_input seed = { .byte = bytes, .n = 4, .now = { 2 } }, in;
	struct exploration x;
	(void)state;
	open_engine(&x,
		    (struct symbolic_opts){
			    .source = &source, .nsource = 1, .lo = lo, .hi = hi, .fixed = fixed },
		    0);
	symbolic_seed(x.s, &seed);
	explore(&x, reader, 1);
	do
		assert_int_equal(symbolic_next(x.s, &in), 1);
	while (in.why != SYMBOLIC_LONGER && (symbolic_input_free(&in), true));
	assert_int_equal(in.now[0], 4);
	assert_int_equal(in.byte[2], '0');
	assert_int_equal(in.byte[3], '!');
	symbolic_input_free(&in);
	close_engine(&x);
}

/* ---- constraints on bytes ---- */

static void ranges(struct vm *vm)
{
	struct sym a = vm_in(vm, 0);
	assert_in_range(a.v, ' ', '~');
	if (vm_is(vm, 0x700, a, '\n'))
		vm->leaf = 1;
	else if (vm_is(vm, 0x710, a, '~'))
		vm->leaf = 2;
	else if (vm_less(vm, 0x720, a, ' '))
		vm->leaf = 3;
}

static void test_ranges(void **state)
{
	uint8_t lo = ' ', hi = '~';
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ .lo = &lo, .hi = &hi }, 1);
	explore(&x, ranges, ALL);
	assert_int_equal(leaves(&x), 2);
	assert_int_equal(x.leaf[2], 1);
	assert_int_equal(symbolic_stats(x.s)->infeasible, 2);
	close_engine(&x);
}

/* ---- programs that do not do as expected ---- */

static unsigned lies;

/* Every second run takes a branch that depends on nothing in the input. */
static void moody(struct vm *vm)
{
	struct sym a = vm_in(vm, 0), b = vm_in(vm, 1);
	if (lies++ & 1)
		vm_is(vm, 0x800, b, 77);
	vm->leaf = vm_is(vm, 0x810, a, 1) + 2 * vm_is(vm, 0x820, b, 1);
}

static void test_divergence(void **state)
{
	struct exploration x;
	const struct symbolic_stats *st;
	(void)state;
	lies = 0;
	open_engine(&x, (struct symbolic_opts){ .strategy = "bfs" }, 2);
	explore(&x, moody, 2);
	assert_true(x.last.diverged);
	explore(&x, moody, ALL);
	st = symbolic_stats(x.s);
	assert_in_range(st->diverged, 1, st->predicted - 1);
	assert_int_equal(leaves(&x), 4);
	close_engine(&x);
}

/* The same branches, but a constant of the moment in the condition: 3 one time, 4 the next. */
static void other_constant(struct vm *vm)
{
	struct sym a = vm_in(vm, 0), b = vm_in(vm, 1);
	vm->leaf = vm_less(vm, 0x830, a, 3 + (lies++ & 1) * 100);
	vm->leaf += 2 * vm_is(vm, 0x840, b, 1);
	vm->leaf += 4 * vm_is(vm, 0x850, b, 2);
}

/* What is asked must hold for the input it starts from, also then (the solver's twin looks). */
static void test_conditions_of_the_moment(void **state)
{
	struct exploration x;
	(void)state;
	lies = 0;
	open_engine(&x, (struct symbolic_opts){ .strategy = "bfs" }, 2);
	explore(&x, other_constant, 200);
	assert_true(x.runs < 200);
	assert_true(leaves(&x) >= 4);
	close_engine(&x);
}

/* An access at a symbolic address kills the program before it can say so. */
static void deadly(struct vm *vm)
{
	struct sym a = vm_in(vm, 0);
	uint64_t how[2] = { 0, 11 };
	if (a.v == 0) {
		vm_decision(vm, SYM_LOAD, 0x860, vm_address(vm, 0x9000, a, 3));
		return;
	}
	vm->leaf = 1;
	vm_emit(vm, TRACE_EXIT, 0, 0, 2, how);
}

static void test_death_is_no_divergence(void **state)
{
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ 0 }, 1);
	explore(&x, deadly, ALL);
	assert_int_equal(x.leaf[1], 1);
	assert_true(x.last.new_path);
	assert_int_equal(symbolic_stats(x.s)->predicted, 1);
	assert_int_equal(symbolic_stats(x.s)->diverged, 0);
	close_engine(&x);
}

static void test_dropped_run(void **state)
{
	struct symbolic_input in;
	struct exploration x;
	struct vm vm = { .in = &in };
	(void)state;
	open_engine(&x, (struct symbolic_opts){ 0 }, 2);
	assert_int_equal(symbolic_next(x.s, &in), 1);
	vm.run = symbolic_run_begin(x.s, &in, NULL);
	nested(&vm);
	symbolic_run_drop(vm.run);
	assert_int_equal(symbolic_stats(x.s)->runs, 0);
	assert_int_equal(symbolic_stats(x.s)->candidates, 0);
	run_input(&x, nested, &in);
	symbolic_input_free(&in);
	explore(&x, nested, ALL);
	assert_int_equal(x.runs, 16);
	close_engine(&x);
}

/* Several runs at a time, as with several tracers. */
static void test_overlapping_runs(void **state)
{
	struct symbolic_input in[3];
	struct vm vm[3];
	struct exploration x;
	unsigned n, runs = 0;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ .strategy = "random" }, 12);
	do {
		for (n = 0; n < 3 && symbolic_next(x.s, &in[n]); n++) {
			vm[n] = (struct vm){ .in = &in[n] };
			vm[n].run = symbolic_run_begin(x.s, &in[n], NULL);
		}
		for (unsigned i = 0; i < n; i++) {
			three_commands(&vm[i]);
			symbolic_run_end(vm[i].run, &x.last);
			symbolic_input_free(&in[i]);
		}
		runs += n;
	} while (n);
	assert_int_equal(runs, 53);
	assert_int_equal(symbolic_stats(x.s)->paths, 53);
	close_engine(&x);
}

/* ---- what strategies do ---- */

/* Sixteen branches one after the other; only the last but one leads to PM. */
static void late_pm(struct vm *vm)
{
	for (uint32_t i = 0; i < 16; i++)
		if (vm_is(vm, 0x1000 + 16 * i, vm_in(vm, i), 'x') && i == 14) {
			vm_store(vm, 0x2000, vm_const(64, POOL));
			vm->leaf = 1;
		}
}

static uint32_t only_behind_14(struct symbolic *s, uint64_t ip, uint32_t stack)
{
	(void)s;
	(void)stack;
	return ip == 0x10e1 ? 5 : 0;
}

static void test_pm_goes_there_first(void **state)
{
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ 0 }, 16);
	x.s->priority = only_behind_14;
	explore(&x, late_pm, 50);
	assert_int_equal(x.first[1], 2);
	close_engine(&x);

	open_engine(&x, (struct symbolic_opts){ .strategy = "bfs" }, 16);
	explore(&x, late_pm, 15);
	assert_int_equal(x.first[1], 0);
	close_engine(&x);
}

/* A way that becomes better only later: when the view has learnt, ranks are worked out again. */
static bool learnt_about_3;

static uint32_t learning(struct symbolic *s, uint64_t ip, uint32_t stack)
{
	(void)s;
	(void)stack;
	return ip == 0x1031 ? 100u * learnt_about_3 : ip == 0x1081 ? 1 : 0;
}

static void test_pm_learns(void **state)
{
	struct symbolic_input in;
	struct exploration x;
	(void)state;
	learnt_about_3 = false;
	open_engine(&x, (struct symbolic_opts){ 0 }, 16);
	x.s->priority = learning;
	explore(&x, late_pm, 2);
	x.s->learnt = learnt_about_3 = true;
	assert_int_equal(symbolic_next(x.s, &in), 1);
	assert_int_equal(in.ip, 0x1030);
	symbolic_input_free(&in);
	close_engine(&x);
}

static void test_dfs_and_bfs(void **state)
{
	struct symbolic_input in;
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ .strategy = "dfs" }, 16);
	explore(&x, late_pm, 1);
	assert_int_equal(symbolic_next(x.s, &in), 1);
	assert_int_equal(in.ip, 0x10f0);
	symbolic_input_free(&in);
	close_engine(&x);

	open_engine(&x, (struct symbolic_opts){ .strategy = "bfs" }, 16);
	explore(&x, late_pm, 1);
	assert_int_equal(symbolic_next(x.s, &in), 1);
	assert_int_equal(in.ip, 0x1000);
	symbolic_input_free(&in);
	close_engine(&x);
}

/* A loop over 24 bytes that forks at each, then one branch to new code. */
static void drawn_into_loop(struct vm *vm)
{
	for (uint32_t i = 0; i < 24; i++)
		vm_is(vm, 0x3000, vm_in(vm, i), ' ');
	vm->leaf = vm_is(vm, 0x3100, vm_in(vm, 24), 'x');
	if (vm->leaf && vm_is(vm, 0x3200, vm_in(vm, 25), 'y'))
		vm->leaf = 2;
}

/* 2^24 paths in all: new code is found among the first hundred. */
static void test_coverage_finds_new_code(void **state)
{
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ .strategy = "coverage", .random = 3 }, 26);
	explore(&x, drawn_into_loop, 100);
	assert_in_range(x.first[2], 3, 100);
	close_engine(&x);
}

static void same_twice(const char *strategy)
{
	struct exploration a, b;
	open_engine(&a, (struct symbolic_opts){ .strategy = strategy, .random = 5 }, 12);
	open_engine(&b, (struct symbolic_opts){ .strategy = strategy, .random = 5 }, 12);
	explore(&a, three_commands, 30);
	explore(&b, three_commands, 30);
	assert_int_equal(a.inputs, b.inputs);
	close_engine(&a);
	close_engine(&b);
}

static void test_deterministic(void **state)
{
	struct exploration a, b;
	(void)state;
	each_strategy(same_twice);
	open_engine(&a, (struct symbolic_opts){ .strategy = "random", .random = 5 }, 12);
	open_engine(&b, (struct symbolic_opts){ .strategy = "random", .random = 6 }, 12);
	explore(&a, three_commands, 30);
	explore(&b, three_commands, 30);
	assert_int_not_equal(a.inputs, b.inputs);
	close_engine(&a);
	close_engine(&b);
}

static void test_names(void **state)
{
	struct symbolic_opts opts = { .strategy = "best" };
	struct err err;
	(void)state;
	assert_null(symbolic_new(&opts, &err));
	assert_int_equal(err.status, EXIT_USAGE);
	opts.strategy = "pm+best";
	assert_null(symbolic_new(&opts, &err));
	const char *about;
	assert_string_equal(symbolic_search_at(0, &about), "pm");
	for (size_t i = 0; symbolic_search_at(i, &about); i++)
		assert_non_null(about);
}

/* ---- behaviours ---- */

static unsigned rounds;

/* Store and flush, again and again; a flush of its own line, or of one beside it. */
static void loop_of_rounds(struct vm *vm)
{
	for (unsigned i = 0; i < rounds % 100; i++) {
		vm_store(vm, 0xa00, vm_const(64, POOL + 64u * i));
		vm_flush(vm, 0xa10, vm_const(64, POOL + 64u * i + (rounds >= 100 ? 64 : 0)));
		vm_fence(vm, 0xa20);
	}
}

static bool behaves_anew(struct exploration *x, unsigned n)
{
	uint8_t byte = 0;
	struct symbolic_input in = { .byte = &byte, .n = 1 };
	rounds = n;
	run_input(x, loop_of_rounds, &in);
	return x->last.new_behaviour;
}

static void test_behaviours(void **state)
{
	struct exploration x;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ 0 }, 1);
	assert_true(behaves_anew(&x, 0));
	assert_true(behaves_anew(&x, 1));
	assert_true(behaves_anew(&x, 3));
	assert_false(behaves_anew(&x, 4));
	assert_false(behaves_anew(&x, 90));
	assert_false(behaves_anew(&x, 1));
	assert_true(behaves_anew(&x, 101));
	assert_false(behaves_anew(&x, 101));
	assert_int_equal(symbolic_stats(x.s)->behaviours, 4);
	assert_int_equal(symbolic_stats(x.s)->runs, 8);
	assert_int_equal(symbolic_stats(x.s)->paths, 1);
	close_engine(&x);
}

/* Store, and sync the page or the one behind it. */
static void sync_of_a_page(struct vm *vm)
{
	const uint64_t arg[] = { POOL + 4096u * rounds, 64, 4 };
	vm_store(vm, 0xa00, vm_const(64, POOL + 128));
	vm_emit(vm, TRACE_SYNC, 0, 0xa10, 3, arg);
}

static unsigned behaviours_under(const char *model, program *prog)
{
	struct symbolic_input in = { .byte = (uint8_t[]){ 0 }, .n = 1 };
	struct exploration x;
	unsigned n;
	open_engine(&x, (struct symbolic_opts){ .model = model_find(model) }, 1);
	for (rounds = 0; rounds < 2; rounds++)
		run_input(&x, prog, &in);
	n = (unsigned)symbolic_stats(x.s)->behaviours;
	close_engine(&x);
	return n;
}

/* What a sync makes persistent counts; where the store is persistent at once, it is nothing. */
static void test_behaviours_under_models(void **state)
{
	(void)state;
	assert_int_equal(behaviours_under("adr", sync_of_a_page), 2);
	assert_int_equal(behaviours_under("msync", sync_of_a_page), 2);
	assert_int_equal(behaviours_under("eadr", sync_of_a_page), 1);
}

/* A fence completes what its own thread has flushed. */
static void flush_and_fence_of_two_threads(struct vm *vm)
{
	struct trace_event e = { .kind = TRACE_FENCE, .ip = 0xa20, .thread = rounds };
	vm_store(vm, 0xa00, vm_const(64, POOL));
	vm_flush(vm, 0xa10, vm_const(64, POOL));
	symbolic_run_record(vm->run, &e);
}

static void test_behaviours_of_threads(void **state)
{
	(void)state;
	assert_int_equal(behaviours_under(NULL, flush_and_fence_of_two_threads), 2);
}

/* ---- what the tracer says ---- */

/* A block counts once, fast or slow, before the snapshot or after it. */
static void test_blocks(void **state)
{
	uint64_t block[20] = { 0 };
	uint8_t ran[20] = { 0 };
	struct symbolic_input in;
	struct exploration x;
	struct symbolic_run *run;
	(void)state;
	for (unsigned i = 0; i < 20; i++)
		block[i] = 0x100 + 16 * (i / 2) + (i % 2 ? SYM_BLOCK_SLOW : 0);
	open_engine(&x, (struct symbolic_opts){ 0 }, 1);
	ran[0] = 1;
	symbolic_prefix_cover(x.s, block, ran, 20);
	assert_int_equal(symbolic_next(x.s, &in), 1);
	run = symbolic_run_begin(x.s, &in, NULL);
	ran[1] = ran[16] = ran[17] = ran[19] = 1;
	symbolic_run_cover(run, block, ran, 20);
	symbolic_run_end(run, &x.last);
	assert_int_equal(x.last.new_blocks, 2);
	symbolic_input_free(&in);
	close_engine(&x);
}

static void send(struct symbolic_run *run, unsigned kind, const char *text, const uint64_t *arg)
{
	struct trace_event e = { .kind = (uint8_t)kind,
				 .size = text ? (uint32_t)strlen(text) : 0,
				 .data = (const uint8_t *)text };
	memcpy(e.arg, arg, 5 * sizeof *arg);
	symbolic_run_record(run, &e);
}

static void test_concrete(void **state)
{
	uint64_t one[5] = { 1 }, five[5] = { 5 }, count;
	struct exploration x;
	struct symbolic_run *run;
	uint8_t byte = 0;
	(void)state;
	open_engine(&x, (struct symbolic_opts){ 0 }, 1);
	run = symbolic_run_begin(x.s, &(struct symbolic_input){ .byte = &byte, .n = 1 }, NULL);
	send(run, TRACE_SYM_CONCRETE, "AddF64", one);
	send(run, TRACE_SYM_CONCRETE, "cpuid", five);
	send(run, TRACE_SYM_CONCRETE, "AddF64", five);
	symbolic_run_end(run, &x.last);
	assert_false(x.last.used_input);
	assert_string_equal(symbolic_concrete(x.s, 0, &count), "AddF64");
	assert_int_equal(count, 6);
	assert_string_equal(symbolic_concrete(x.s, 1, &count), "cpuid");
	assert_null(symbolic_concrete(x.s, 2, &count));
	close_engine(&x);
}

/* Values that the machine did not have, and nodes that make no sense: counted, and no constraint. */
static void test_wrong(void **state)
{
	static const uint64_t bad[][5] = {
		{ 2, EXPR_WORD(EXPR_ADD, 8, 8, 0), 1, 99, 0 },         /* no such node */
		{ 3, EXPR_WORD(EXPR_ADD, 16, 16, 0), 1, 1, 0 },        /* width */
		{ 4, EXPR_WORD(EXPR_OPS_COUNT, 8, 8, 0), 1, 1, 0 },    /* operation */
		{ 5, EXPR_WORD(EXPR_EXTRACT, 8, 8, 4), 1, 0, 0 },      /* bits */
		{ 6, EXPR_WORD(EXPR_TABLE, 8, 8, 0), 1, 0, 0 },        /* no entries */
		{ UINT64_MAX, EXPR_WORD(EXPR_NOT, 8, 8, 0), 1, 0, 0 }, /* number */
		{ 7, EXPR_WORD(EXPR_NOT, 0, 0, 0), 1, 0, 0 },          /* no bits */
	};
	size_t n = sizeof bad / sizeof *bad;
	uint64_t branch[5] = { 2, 1, 3, 4 }, verify[5] = { 1, 41 };
	struct exploration x;
	struct vm vm = { 0 };
	const char *example;
	uint8_t byte = 42;
	struct symbolic_input in = { .byte = &byte, .n = 1 };
	(void)state;
	open_engine(&x, (struct symbolic_opts){ 0 }, 1);
	vm.in = &in;
	vm.run = symbolic_run_begin(x.s, &in, NULL);
	vm_in(&vm, 0);
	send(vm.run, TRACE_SYM_VERIFY, NULL, verify);
	assert_int_equal(symbolic_wrong(x.s, &example), 1);
	assert_non_null(strstr(example, "0x29"));
	for (size_t i = 0; i < n; i++)
		send(vm.run, TRACE_SYM_NODE, NULL, bad[i]);
	assert_int_equal(symbolic_wrong(x.s, NULL), 1 + n);
	send(vm.run, TRACE_SYM_BRANCH, NULL, branch);
	branch[0] = 1;
	branch[1] = 7;
	send(vm.run, TRACE_SYM_BRANCH, NULL, branch);
	assert_int_equal(symbolic_wrong(x.s, NULL), 2 + n);
	symbolic_run_end(vm.run, &x.last);
	assert_int_equal(x.last.branches, 0);
	symbolic_free(x.s);
}

/* ---- memory ---- */

/* Each path has expressions of its own; small letters count as capitals. */
static void wide(struct vm *vm)
{
	struct sym sum = vm_const(8, 0);
	uint8_t upper[256];
	for (unsigned i = 0; i < 256; i++)
		upper[i] = (uint8_t)(i >= 'a' && i <= 'z' ? i - 32 : i);
	for (uint32_t i = 0; i < 64; i++) {
		struct sym a = vm_table(vm, vm_in(vm, i), upper);
		sum = vm_op(vm, EXPR_ADD, vm_op(vm, EXPR_MUL, sum, vm_const(8, 3)), a);
		if (vm_is(vm, 0x4000 + 16 * i, a, 'A'))
			sum = vm_op(vm, EXPR_XOR, sum, vm_const(8, i));
	}
	vm->leaf = vm_is(vm, 0x5000, sum, 1);
}

/* Depth first has few that wait, and so never needs to drop any. */
static void memory_by(const char *strategy)
{
	struct exploration x;
	size_t most = 3 << 19;
	const struct symbolic_stats *st;
	open_engine(&x, (struct symbolic_opts){ .strategy = strategy, .max_memory = most }, 64);
	explore(&x, wide, 300);
	st = symbolic_stats(x.s);
	assert_int_equal(x.runs, 300);
	assert_int_equal(st->paths, 300);
	assert_true(st->dropped > 0 || strcmp(strategy, "dfs") == 0);
	assert_true(st->memory < 2 * most);
	assert_int_equal(st->diverged, 0);
	assert_true(st->candidates > 0);
	close_engine(&x);
}

static void test_memory(void **state)
{
	(void)state;
	each_strategy(memory_by);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_paths),
		cmocka_unit_test(test_checksums),
		cmocka_unit_test(test_no_needless_forks),
		cmocka_unit_test(test_jump_targets),
		cmocka_unit_test(test_target_limit),
		cmocka_unit_test(test_miss_masked_index),
		cmocka_unit_test(test_miss),
		cmocka_unit_test(test_miss_under_other_models),
		cmocka_unit_test(test_miss_is_limited),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_longer),
		cmocka_unit_test(test_longer_keeps_ranges),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_divergence),
		cmocka_unit_test(test_conditions_of_the_moment),
		cmocka_unit_test(test_death_is_no_divergence),
		cmocka_unit_test(test_dropped_run),
		cmocka_unit_test(test_overlapping_runs),
		cmocka_unit_test(test_pm_goes_there_first),
		cmocka_unit_test(test_pm_learns),
		cmocka_unit_test(test_dfs_and_bfs),
		cmocka_unit_test(test_coverage_finds_new_code),
		cmocka_unit_test(test_deterministic),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_behaviours),
		cmocka_unit_test(test_behaviours_under_models),
		cmocka_unit_test(test_behaviours_of_threads),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_concrete),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
