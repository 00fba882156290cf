/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Priorities against a slow and obvious twin on random programs; caches that are not what they should
 * be; files that are not what they say.
 */
#include "binary/fixture.h"

static uint64_t rnd_state = 88172645463325252u;

static uint32_t rnd(uint32_t below)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return (uint32_t)(rnd_state >> 20) % below;
}

/* ---- random programs ---- */

#define FUNCTIONS 10
#define LENGTH 24

enum op { NOP, PM, BRANCH, JUMP, CALL, TAIL, TAIL_IF, RET };

struct node {
	enum op op;
	int to; /* an instruction of the function, or a function */
	uint64_t addr;
};

static struct node node[FUNCTIONS][LENGTH];
static bool returns[FUNCTIONS];

/* Functions call only later ones: what recursion counts is another test's. */
static void make_nodes(void)
{
	static const enum op often[] = {
		NOP, NOP, PM, PM, BRANCH, BRANCH, BRANCH, JUMP, CALL, RET
	};
	for (int f = 0; f < FUNCTIONS; f++)
		for (int i = 0; i < LENGTH; i++) {
			struct node *n = &node[f][i];
			n->op = i == LENGTH - 1 ? RET : often[rnd(10)];
			if (n->op == CALL && f == FUNCTIONS - 1)
				n->op = NOP;
			if (n->op == CALL && !rnd(3))
				n->op = rnd(2) ? TAIL : TAIL_IF;
			n->to = (int)(n->op == CALL || n->op == TAIL || n->op == TAIL_IF
					      ? (uint32_t)f + 1 + rnd((uint32_t)(FUNCTIONS - 1 - f))
					      : rnd(LENGTH));
		}
}

static void write_nodes(void)
{
	FILE *out = fopen(in_dir("random.s"), "w");
	assert_non_null(out);
	fprintf(out, ".text\n");
	for (int f = 0; f < FUNCTIONS; f++) {
		fprintf(out, ".type f%d,@function\nf%d:\n", f, f);
		for (int i = 0; i < LENGTH; i++) {
			const struct node *n = &node[f][i];
			fprintf(out, "i%d_%d: ", f, i);
			switch (n->op) {
			case NOP: fprintf(out, "inc %%eax\n"); break;
			case PM: fprintf(out, "clwb (%%rdi)\n"); break;
			case BRANCH: fprintf(out, "jnz i%d_%d\n", f, n->to); break;
			case JUMP: fprintf(out, "jmp i%d_%d\n", f, n->to); break;
			case CALL: fprintf(out, "call f%d\n", n->to); break;
			case TAIL: fprintf(out, "jmp f%d\n", n->to); break;
			case TAIL_IF: fprintf(out, "jnz f%d\n", n->to); break;
			case RET: fprintf(out, "ret\n"); break;
			}
		}
		fprintf(out, ".size f%d,.-f%d\n.p2align 4\n", f, f);
	}
	fprintf(out, ".section .note.GNU-stack,\"\",@progbits\n");
	assert_int_equal(fclose(out), 0);
	run("cc -shared -nostdlib random.s -o random.so");
}

static void find_nodes(void)
{
	char cmd[PATH_MAX + 64], line[256], type;
	unsigned long long addr;
	int f, i;
	snprintf(cmd, sizeof cmd, "nm %s", in_dir("random.so"));
	FILE *in = popen(cmd, "r");
	assert_non_null(in);
	while (fgets(line, sizeof line, in))
		if (sscanf(line, "%llx %c i%d_%d", &addr, &type, &f, &i) == 4)
			node[f][i].addr = addr;
	pclose(in);
}

/* Where instruction i of f may go on to, in f. */
static int next_of(int f, int i, int to[2])
{
	const struct node *n = &node[f][i];
	switch (n->op) {
	case BRANCH:
		to[0] = i + 1;
		to[1] = n->to;
		return 2;
	case JUMP: to[0] = n->to; return 1;
	case CALL: to[0] = i + 1; return returns[n->to] ? 1 : 0;
	case TAIL:
	case RET: return 0;
	default: to[0] = i + 1; return 1;
	}
}

/* reach[i][k]: k can come after i */
static void find_reach(int f, bool reach[LENGTH][LENGTH])
{
	memset(reach, 0, sizeof(bool[LENGTH][LENGTH]));
	for (int i = 0; i < LENGTH; i++) {
		int to[2], n = next_of(f, i, to);
		while (n-- > 0)
			reach[i][to[n]] = true;
	}
	for (int k = 0; k < LENGTH; k++)
		for (int i = 0; i < LENGTH; i++)
			for (int j = 0; j < LENGTH; j++)
				reach[i][j] |= reach[i][k] && reach[k][j];
}

/* The definition, word by word: the cycle that i is in, then the best of what leaves it. */
static uint32_t twin(int f, int i, bool reach[LENGTH][LENGTH], const uint32_t callee[FUNCTIONS])
{
	uint32_t sum = 0, best = 0;
	for (int k = 0; k < LENGTH; k++) {
		const struct node *n = &node[f][k];
		int to[2], ways;
		if (k != i && !(reach[i][k] && reach[k][i]))
			continue;
		sum += n->op == PM;
		if (n->op == CALL)
			sum += callee[n->to];
		if ((n->op == TAIL || n->op == TAIL_IF) && callee[n->to] > best)
			best = callee[n->to];
		ways = next_of(f, k, to);
		while (ways-- > 0) {
			int t = to[ways];
			if (t == i || (reach[i][t] && reach[t][i]))
				continue;
			uint32_t p = twin(f, t, reach, callee);
			best = p > best ? p : best;
		}
	}
	return sum + best;
}

static void check_nodes(void)
{
	struct binary_view *v = binary_view_new(NULL);
	uint32_t callee[FUNCTIONS];
	bool reach[LENGTH][LENGTH];
	load(v, "random.so", 0);
	binary_view_update(v);
	for (int f = FUNCTIONS - 1; f >= 0; f--) {
		find_reach(f, reach);
		returns[f] = false;
		for (int i = 0; i < LENGTH; i++)
			if ((!i || reach[0][i]) &&
			    (node[f][i].op == RET ||
			     ((node[f][i].op == TAIL || node[f][i].op == TAIL_IF) &&
			      returns[node[f][i].to])))
				returns[f] = true;
		for (int i = 0; i < LENGTH; i++) {
			uint32_t want = twin(f, i, reach, callee);
			uint32_t got = binary_view_priority(v, node[f][i].addr);
			if (got != want)
				fail_msg("i%d_%d: %u, not %u", f, i, got, want);
			if (!i)
				callee[f] = want;
		}
	}
	binary_view_free(v);
}

static void test_twin(void **state)
{
	(void)state;
	for (int round = 0; round < 25; round++) {
		make_nodes();
		write_nodes();
		find_nodes();
		check_nodes();
	}
}

/* ---- learning in steps gives what learning at once gives ---- */

static void test_steps(void **state)
{
	struct binary_view *steps, *once;
	size_t n = 0;
	(void)state;
	make_nodes();
	write_nodes();
	find_nodes();
	steps = binary_view_new(NULL);
	once = binary_view_new(NULL);
	load(steps, "random.so", 0);
	load(once, "random.so", 0);
	binary_view_update(steps);
	for (int k = 0; k < 20; k++) {
		uint64_t ip = node[rnd(FUNCTIONS)][rnd(LENGTH)].addr;
		assert_int_equal(binary_view_saw_pm(steps, ip), binary_view_saw_pm(once, ip));
		binary_view_update(steps);
		n++;
	}
	assert_int_equal(n, 20);
	binary_view_update(once);
	for (int f = 0; f < FUNCTIONS; f++)
		for (int i = 0; i < LENGTH; i++)
			assert_int_equal(binary_view_priority(steps, node[f][i].addr),
					 binary_view_priority(once, node[f][i].addr));
	binary_view_free(steps);
	binary_view_free(once);
}

/* ---- the cache ---- */

static struct buf read_whole(const char *path)
{
	struct buf text = { 0 };
	char part[4096];
	FILE *f = fopen(path, "r");
	size_t n;
	assert_non_null(f);
	while ((n = fread(part, 1, sizeof part, f)))
		buf_add(&text, part, n);
	fclose(f);
	return text;
}

static void write_whole(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void same_binary(const struct binary *a, const struct binary *b)
{
	assert_int_equal(binary_functions(a), binary_functions(b));
	assert_int_equal(binary_blocks(a), binary_blocks(b));
	assert_int_equal(binary_instructions(a), binary_instructions(b));
	assert_int_equal(binary_pm_instructions(a), binary_pm_instructions(b));
	for (size_t i = 0; i < binary_functions(a); i++) {
		const struct binary_function *f = binary_function(a, i), *g = binary_function(b, i);
		assert_int_equal(f->addr, g->addr);
		assert_int_equal(f->size, g->size);
		assert_string_equal(f->name, g->name);
	}
}

/* The only file in the cache folder. */
static char *cached(void)
{
	char line[PATH_MAX];
	run("ls cache > list && test $(wc -l < list) = 1");
	FILE *f = fopen(in_dir("list"), "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof line, f));
	fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return xasprintf("%s/cache/%s", fixture_dir, line);
}

static void test_cache(void **state)
{
	struct err err;
	char folder[PATH_MAX];
	(void)state;
	snprintf(folder, sizeof folder, "%s", in_dir("cache"));
	struct binary *fresh = opened("random.so"),
		      *b = binary_open(in_dir("random.so"), folder, &err);
	char *path = cached();
	struct buf text = read_whole(path);
	binary_free(b);
	b = binary_open(in_dir("random.so"), folder, &err);
	same_binary(fresh, b);
	binary_free(b);
	for (int i = 0; i < 300; i++) { /* changed, cut short, longer */
		struct buf bad = { 0 };

		buf_add(&bad, text.p, i % 3 == 1 ? rnd((uint32_t)text.n) : text.n);
		if (i % 3 == 0)
			bad.p[i < 150 ? rnd(100) : rnd((uint32_t)bad.n)] ^= (char)(1 + rnd(255));
		if (i % 3 == 2)
			buf_add(&bad, "longer", 1 + rnd(6));
		write_whole(path, bad.p, bad.n);
		b = binary_open(in_dir("random.so"), folder, &err);
		assert_non_null(b);
		same_binary(fresh, b);
		binary_free(b);
		buf_free(&bad);
	}
	struct buf again = read_whole(path); /* what was bad is made again */
	assert_int_equal(again.n, text.n);
	assert_memory_equal(again.p, text.p, text.n);

	/* another file with the same build-id */
	run("cp random.so whole.so && cc -shared -nostdlib random.s -o random.so -Wl,--build-id=0x12");
	run("rm -rf cache && cp random.so other.so && strip other.so");
	binary_free(binary_open(in_dir("random.so"), folder, &err));
	struct binary *other = opened("other.so");
	b = binary_open(in_dir("other.so"), folder, &err);
	same_binary(other, b);
	binary_free(other);
	binary_free(b);
	/* a folder that cannot be */
	b = binary_open(in_dir("whole.so"), in_dir("random.so/no"), &err);
	same_binary(fresh, b);
	binary_free(b);
	binary_free(fresh);
	buf_free(&text);
	buf_free(&again);
	free(path);
}

/* ---- files that lie ---- */

/* Every question there is, for whatever came of it. */
static void ask(const char *path)
{
	struct err err;
	struct binary *b = binary_open(path, NULL, &err);
	struct binary_view *v = binary_view_new(NULL);
	for (size_t i = 0; b && i < binary_functions(b); i++) {
		const struct binary_function *f = binary_function(b, i);
		assert_ptr_equal(binary_function_at(b, f->addr), f);
		assert_true(strlen(f->name) > 0);
		binary_is_code(b, f->addr + f->size);
	}
	for (uint64_t off = 0; off < 0x8000; off += 0x1000)
		binary_view_load(v, path, 0x10000 + off, 0x1000, off);
	for (uint64_t ip = 0x10000; ip < 0x18000; ip += 7) {
		binary_view_saw_call(v, ip, 0x10000 + rnd(0x8000));
		binary_view_saw_jump(v, ip, 0x10000 + rnd(0x8000));
		if (!rnd(16))
			binary_view_saw_pm(v, ip);
	}
	binary_view_update(v);
	for (uint64_t ip = 0x10000; ip < 0x18000; ip += 13)
		binary_view_priority_in(v, ip, &ip, 1);
	binary_view_free(v);
	binary_free(b);
}

static void test_lies(void **state)
{
	char path[PATH_MAX];
	(void)state;
	write_text("lies.cc", MARKS FLUSH
		   "extern \"C\" int puts(const char *); char pm;\n"
		   "int f(int i) { switch (i) { case 1: return puts(\"a\"); case 2: CLWB(&pm);\n"
		   "  case 3: return 9; case 4: return puts(\"b\") + 1; case 5: throw 1; }\n"
		   "  try { puts(\"c\"); } catch (int) { return 3; } return i; }\n");
	run("c++ -O2 -shared -fPIC lies.cc -o lies.so");
	struct buf good = read_whole(in_dir("lies.so"));
	snprintf(path, sizeof path, "%s", in_dir("lie.so"));
	uint64_t sections = 0;
	memcpy(&sections, good.p + 40, sizeof sections);
	for (int i = 0; i < 1500; i++) {
		struct buf bad = { 0 };
		buf_add(&bad, good.p, i % 10 ? good.n : rnd((uint32_t)good.n));
		for (uint32_t k = 0; bad.n && k < 1 + rnd(6); k++) {
			uint32_t at = rnd((uint32_t)bad.n);
			if (i % 3 == 0)
				at = rnd(64 + 13 * 56); /* headers */
			else if (i % 3 == 1)
				at = (uint32_t)sections + rnd(30 * 64);
			if (at < bad.n)
				bad.p[at] = rnd(3) ? (char)rnd(256) : rnd(2) ? '\xff' : '\x7f';
		}
		write_whole(path, bad.p, bad.n);
		ask(path);
		buf_free(&bad);
	}
	buf_free(&good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twin),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_lies),
	};
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
