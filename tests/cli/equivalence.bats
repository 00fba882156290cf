#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Judging by what the program says: programs-crash/said.c, which nothing checks.
load crash-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR/bin
	mkdir -p "$BIN"
	${CC:-cc} -g -O1 -mclflushopt -pthread -I "$HOLDFAST_SOURCE/include" -o "$BIN/said" "$PROGRAMS/said.c"
}

probe() {
	echo "$BIN/said $pool dump $*"
}

# said REPORT OPTIONS… -- WAY…: a campaign on a new pool.
said() {
	local report=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -rf t "$pool"
	crash_json "$report" -o t "${options[@]}" -- "$BIN/said" "$pool" "$@"
}

# "KIND LINE" of each finding, and of the marks of a way.
found() {
	jq -r '.findings[] | "\(.kind) \(.location.line)"' "$1"
}

expected() {
	sed -n "s|.*@$1 \([a-z-]*\).*|\1|;T;=;p" "$PROGRAMS/said.c" | paste - - | sed 's|\(.*\)\t\(.*\)|\2 \1|'
}

@test "a correct program: nothing found, with a probe only" {
	said r.json --probe "$(probe)" -- good
	jq -e '.findings == [] and .incomplete == null and .stats.tested > 6' r.json
	wait_nothing_left
}

@test "operations that are lost, or there in part, are found without any checker, once each" {
	for way in forgets hasty transfers impatient; do
		said r.json --probe "$(probe)" -- "$way"
		[ -n "$(expected "$way")" ]
		diff <(found r.json) <(expected "$way")
		jq -e '.findings[0].level == "error" and .findings[0].witness.verdict == "differs"' r.json
	done
}

@test "a finding says which operation, and what should be there; it can be replayed" {
	said r.json --probe "$(probe)" -- forgets
	jq -e '.findings[0].message | endswith("is lost, operation 1 (id 10), which had ended, is gone")' r.json
	jq -e '.findings[0].witness.output | startswith("line 2 is no such line; it should be '\''number 41'\''")' r.json
	run -1 holdfast replay "$(first_id r.json)" t
	output_has "line 2 is no such line; it should be 'number 41'"
	output_has "what is in the pool is wrong again"
	said r.json --probe "$(probe)" -- hasty
	jq -e '.findings[0].message | test("operation [12] \\(id [12]0\\) has neither happened nor not happened$")' r.json
	jq -e '.findings[0].witness.output |
		test("^line [23] is '\''number 0'\''; it should be '\''number 4[0-9]'\'' if the operation happened, or no such line if it did not")' r.json
	# another command may look at the image
	run -0 holdfast replay --recover "$(probe)" "$(first_id r.json)" t
	output_has "number 0"
}

@test "what all operations rely on is lost: no store of theirs is blamed" {
	said r.json --probe "$(probe head)" -- headless
	diff <(found r.json) <(expected headless)
	jq -e '.findings[0].message | endswith("is lost, operation 1 (id 10) has neither happened nor not happened")' r.json
	jq -e '.findings[0].related | map(select(.role == "persisted")) == []' r.json
}

@test "test works with a probe alone; what check suspects is proved by it" {
	rm -rf t
	report_json test r.json -o t --probe "$(probe)" -- "$BIN/said" "$pool" forgets
	jq -e '.findings | length == 1 and .[0].kind == "missing-flush-and-fence"' r.json
	jq -e '.findings[0].verdict | .state == "proved" and (.text | endswith("operation 1 (id 10), which had ended, is gone"))' r.json
}

@test "what was said is kept: a campaign goes on without asking again" {
	said whole.json --probe "$(probe)" -- hasty
	rm -rf t "$pool"
	crash_json r.json -o t --budget 4 --probe "$(probe)" -- "$BIN/said" "$pool" hasty
	crash_json r.json --resume t
	same_findings whole.json r.json
	jq -e ".stats.resumed > 0" r.json
}

@test "recovery and probe: both are run, and both judge" {
	said r.json --recover "test -s $pool" --probe "$(probe)" -- transfers
	diff <(found r.json) <(expected transfers)
	# what recovery leaves is what the probe sees
	said r.json --recover "cp /dev/null $pool" --probe "test ! -s $pool && echo nothing" -- transfers
	jq -e '.findings == []' r.json
	run -3 holdfast crash --fresh --recover "$BIN/said $pool dump fails" --probe "$(probe)" -o u -- "$BIN/said" "$pool" good
	output_has "ends with status 5"
}

@test "--judge: recovery's own output, or no output at all" {
	said r.json --judge output --recover "$(probe)" -- hasty
	diff <(found r.json) <(expected hasty)
	said r.json --judge status --recover "$(probe)" -- hasty
	jq -e '.findings == []' r.json
}

@test "what is not the same each time is refused, and may be ignored" {
	run -3 holdfast crash -o t --probe "$(probe time)" -- "$BIN/said" "$pool" good
	output_has "not the same each time: line 5 is 'printed at "
	output_has "--ignore REGEX"
	run -3 holdfast crash -o s --probe "seq 99 | shuf" -- "$BIN/said" "$pool" good
	output_has "these are the same lines in another order: sort them ('… | sort')"
	said r.json --ignore 'printed at [0-9.]*' --probe "$(probe time)" -- good
	jq -e '.findings == []' r.json
	said r.json --ignore 'printed at [0-9.]*' --probe "$(probe time)" -- transfers
	diff <(found r.json) <(expected transfers)
	# a line of which nothing is left is none
	said r.json --ignore '.* [+] .*' --probe "$(probe)" -- forgets
	jq -e '.findings[0].witness.output | startswith("line 1 is no such line")' r.json
	run -2 holdfast crash --ignore '(' --probe "$(probe)" t
	output_has "bad regular expression"
}

@test "probes that fail, write, or never end" {
	run -3 holdfast crash -o t --probe "$(probe fails)" -- "$BIN/said" "$pool" good
	output_has "ends with status 5"
	run -3 holdfast crash -o u --output-cap 1M --probe "$(probe endless)" -- "$BIN/said" "$pool" good
	output_has "writes without end"
	said r.json --probe "$(probe writes)" -- good
	jq -e '.findings == []' r.json
	run -3 holdfast crash -o v --timeout 300ms --probe "sleep 100" -- "$BIN/said" "$pool" good
	output_has "does not end in time"
	run -3 holdfast crash -o w --probe "no-such-probe" -- "$BIN/said" "$pool" good
	wait_nothing_left
}

@test "without operations there is nothing to compare with" {
	run -3 holdfast crash -o t --ops-way marks --probe "$(probe)" -- "$BIN/said" "$pool" good unmarked
	output_has "operations are not known"
	output_has "HOLDFAST_OP_BEGIN"
	run -3 holdfast crash -o u --ops-calls 'nosuch*' --probe "$(probe)" -- "$BIN/said" "$pool" good
	output_has "no function of that name stores to persistent memory; those that do"
	output_has "good"
}

@test "operations are found without marks, by calls that are made again and again" {
	run -0 holdfast crash -o t --probe "$(probe)" -- "$BIN/said" "$pool" good unmarked
	output_has "judged: "
	# nobody knows whether these were acknowledged: that they are lost is no bug, unless they are said to be operations
	said r.json --probe "$(probe)" -- forgets unmarked
	jq -e '.findings == []' r.json
	said r.json --ops-calls forgets --probe "$(probe)" -- forgets unmarked
	jq -e '[.findings[] | .kind] == ["lost-operation"]' r.json
	said r.json --probe "$(probe)" -- transfers unmarked
	jq -e '[.findings[] | .kind] == ["half-operation"]' r.json
}

@test "what was persistent already must stay, though nobody has acknowledged it" {
	said r.json --probe "$(probe)" -- renew unmarked
	diff <(found r.json) <(expected renew)
	jq -e '.findings[0].message | endswith("operations 1 to 2, which had ended, are gone")' r.json
	for way in good batch; do
		said r.json --probe "$(probe)" -- "$way" unmarked
		jq -e '.findings == []' r.json
	done
}

@test "a bug that shows as one lost operation and one half is told once, with both" {
	said r.json --probe "$(probe)" -- lopsided
	diff <(found r.json) <(expected lopsided)
	jq -e 'any(.findings[0].related[]; .role == "also-shows" and (.message | startswith("half-operation: ")))' r.json
}

@test "operations that overlap are judged where only one of them has stored something that a crash may lose" {
	said r.json --probe "$(probe)" -- overlap
	jq -e 'all(.findings[]; .location.function == "other")' r.json
	jq -e 'any(.findings[]; .kind == "half-operation" and (.message | test("operation [12] .id 100. has neither happened")))' r.json
}

# served REPORT WAY: a campaign on programs-crash/served.c.
served() {
	${CC:-cc} -g -O1 -mclflushopt -pthread -I "$HOLDFAST_SOURCE/include" -o "$BIN/served" "$PROGRAMS/served.c"
	rm -rf t "$pool"
	crash_json "$1" -o t --probe "$BIN/served $pool dump" -- "$BIN/served" "$pool" "$2"
}

@test "what a leader does for others, who then store something themselves, is not its own operation alone" {
	served r.json leader
	jq -e '.findings == []' r.json
}

@test "what a leader writes for several threads may be there in part, if nobody marks them; what is nobody's entry may not" {
	served r.json group
	jq -e '.findings == []' r.json
	jq -e '.notes[] | select(startswith("judged: 9 operations") and contains("submit 9"))' r.json
	served r.json wrong
	jq -e --argjson line "$(sed -n '/@wrong/=' "$PROGRAMS/served.c" | tail -n 1)" '[.findings[].location.line] == [$line]' r.json
}

@test "what another thread does between operations is none of their damage: a consumer beside a producer" {
	served r.json queue
	jq -e '.findings == []' r.json
	served r.json hasty
	jq -e --argjson line "$(sed -n '/@hasty/=' "$PROGRAMS/served.c" | tail -n 1)" '[.findings[].location.line] == [$line]' r.json
}

@test "operations that nobody marked may be several: what is there between them is fine, other things are not" {
	said r.json --probe "$(probe)" -- batch unmarked
	jq -e '.findings == [] and .stats.tested > 9' r.json
	said r.json --probe "$(probe)" -- careless unmarked
	diff <(found r.json) <(expected careless)
	said r.json --probe "$(probe)" -- batch # as it is marked, it is one
	jq -e '.findings | length > 0 and all(.kind == "half-operation")' r.json
}

@test "messages of recovery, which come only the first time, are no finding; what stays, or looks like an entry, is" {
	said r.json --probe "$(probe repairs)" -- tidy
	jq -e '.findings == [] and .incomplete == null' r.json
	rm -rf t "$pool"
	run -0 holdfast crash -o t --probe "$(probe repairs)" -- "$BIN/said" "$pool" tidy
	output_has "taken for messages of recovery: 'a crash was repaired: 1' and the like, which came in "
	said r.json --probe "$(probe repairs)" -- hasty
	diff <(found r.json) <(expected hasty)
	for word in keeps ghost; do
		said r.json --probe "$(probe $word)" -- tidy
		jq -e 'any(.findings[]; .kind == "half-operation")' r.json
	done
}

@test "entries in another order are no finding, unless the order is all that an operation changes" {
	run -0 holdfast crash -o t --probe "$(probe)" -- "$BIN/said" "$pool" rebuild
	output_has "times entries were all there in another order, which is no finding"
	said r.json --probe "$(probe)" -- sort
	diff <(found r.json) <(expected sort)
}

@test "a probe that shows nothing of what the operations do is not taken for a judge" {
	said r.json --probe "cat $pool >/dev/null; echo fine" -- transfers
	jq -e '.findings == [] and (.incomplete | test("what is printed is the same before and after each of the 3 operations"))' r.json
}

@test "what a lock stores is no operation, though it lies in a file that is mapped" {
	cat >locked.c <<-'C'
		#include <fcntl.h>
		#include <pthread.h>
		#include <stdint.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static struct shared { pthread_mutex_t lock; char gap[64]; uint64_t word[64]; } *s;
		__attribute__((noinline)) static void begin(void) { pthread_mutex_lock(&s->lock); }
		__attribute__((noinline)) static void commit(volatile uint64_t *p, uint64_t i)
		{
			*p = i;
			__asm__ volatile("clwb %0; sfence" : "+m"(*(volatile char *)p) : : "memory");
			pthread_mutex_unlock(&s->lock);
		}
		int main(int argc, char **argv)
		{
			pthread_mutexattr_t a;
			int fd = open(argv[1], O_RDWR | O_CREAT, 0666);
			if (argc < 2 || ftruncate(fd, 4096))
				return 2;
			s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			pthread_mutexattr_init(&a);
			pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
			pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
			pthread_mutex_init(&s->lock, &a);
			for (uint64_t i = 0; i < 5; i++) {
				begin();
				commit(&s->word[i * 8], i + 1);
			}
			return 0;
		}
	C
	cc -g -O1 -pthread -o locked locked.c
	holdfast record -q -o t -- ./locked "$pool"
	run -0 holdfast dump --ops t
	output_has "5 operations: calls that the program makes again and again, and below which it stores (commit 5)"
}

@test "--ops-calls: however a call is left, by an exception, longjmp or deep in recursion, it is one operation" {
	cat >leaves.cc <<-'C'
		#include <csetjmp>
		#include <cstdint>
		#include <fcntl.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static volatile uint64_t *p;
		static jmp_buf out;
		__attribute__((noinline)) static void store(int i)
		{
			p[i * 8] = (uint64_t)i + 1;
			__asm__ volatile("clwb %0; sfence" : "+m"(*(volatile char *)&p[i * 8]) : : "memory");
		}
		__attribute__((noinline)) void put(int i, int depth)
		{
			store(i + depth);
			if (depth)
				put(i, depth - 1);
			else if (i % 3 == 1)
				throw i;
			else if (i % 3 == 2)
				longjmp(out, 1);
		}
		int main(int argc, char **argv)
		{
			int fd = open(argv[1], O_RDWR | O_CREAT, 0666);
			if (argc < 2 || ftruncate(fd, 4096))
				return 2;
			p = (volatile uint64_t *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			for (volatile int i = 0; i < 6; i++) {
				try {
					if (!setjmp(out))
						put(i, i == 3 ? 4 : 0);
				} catch (int) {
				}
			}
			return 0;
		}
	C
	g++ -g -O1 -o leaves leaves.cc
	holdfast record -q -o t -- ./leaves "$pool"
	run -0 holdfast dump --ops --ops-calls put t
	output_has "6 operations: calls of the functions that --ops-calls names (put(int, int) 6)"
	run -1 holdfast crash --ops-calls put --probe "od -An -tu8 $pool" t
	output_has "judged: 6 operations"
	output_has "operation 4 (put(int, int)) has neither happened nor not happened"
}

# What all its rounds do is in main: no call tells one from the next.
rounds_program() {
	cat >rounds.c <<-'C'
		#include <fcntl.h>
		#include <immintrin.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		struct row { uint64_t key, part[3], gap[4]; };
		static struct { uint64_t n, gap[7], sum, more[7]; struct row row[8]; } *s;
		#define PERSIST(p) (_mm_clflushopt((void *)(p)), _mm_sfence())
		int main(int argc, char **argv)
		{
			int fd = open(argv[1], O_RDWR | O_CREAT, 0666);
			if (argc < 3 || posix_fallocate(fd, 0, sizeof *s))
				return 2;
			s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			if (!strcmp(argv[2], "dump")) {
				printf("sum %lu\n", s->sum);
				for (uint64_t i = 0; i < s->n; i++)
					printf("%lu %lu %lu %lu\n", s->row[i].key, s->row[i].part[0], s->row[i].part[1], s->row[i].part[2]);
				return 0;
			}
			for (uint64_t i = 0; i < 8; i++) /* makes things ready, and is no operation */
				s->row[i].gap[0] = i;
			PERSIST(&s->row[7]);
			for (const char *p = argv[3]; *p; p++) {
				struct row *r = &s->row[s->n];
				if (*p == 'a') {
					r->key = s->n + 1;
					for (int k = 0; k < 3; k++) {
						r->part[k] = (uint64_t)(10 * k + *p);
						PERSIST(r);
					}
					s->n++;
					PERSIST(&s->n);
				} else if (*p == 'd') {
					s->n--;
					PERSIST(&s->n);
				} else if (*p == 'h') { /* a row, and then their sum */
					r->key = 7;
					PERSIST(r);
					s->n++;
					PERSIST(&s->n);
					s->sum += 7;
					PERSIST(&s->sum);
				}
				if (*p == 'c') { /* many stores for what persists them */
					for (volatile uint64_t *to = (uint64_t *)&s->row[s->n]; to < (uint64_t *)&s->row[8]; to++)
						*to = s->n;
					PERSIST(&s->row[s->n]);
					s->n++;
					PERSIST(&s->n);
				}
				if (*p == 'u') /* one store, which another round persists */
					s->row[0].part[1] += 2;
				if (*p == 's') { /* behind the others, and by itself */
					s->sum = 1000;
					PERSIST(&s->sum);
				}
			}
			return 0;
		}
	C
	cc -O2 -fno-unroll-loops -mclflushopt -o rounds rounds.c
}

@test "operations that are rounds of a loop, with all work inlined into it, and without debug information" {
	rounds_program
	holdfast record -q -o t -- ./rounds "$pool" run aadadaa
	run -0 holdfast dump --ops t
	output_has "7 operations: rounds of a loop that stores by itself, not only in calls (main 7)"
	crash_json r.json --probe "./rounds $pool dump" t
	jq -e '.findings == [] and .incomplete == null and .stats.tested > 20' r.json
	# one that may begin or not is no finding; what no round leaves is
	rm -rf t "$pool"
	crash_json r.json -o t --probe "./rounds $pool dump" -- ./rounds "$pool" run asasas
	jq -e '.findings == []' r.json
	rm -rf t "$pool"
	holdfast record -q -o t -- ./rounds "$pool" run cccda
	run -0 holdfast dump --ops t
	output_has "5 operations: rounds of a loop that stores by itself, not only in calls (main 5)"
	rm -rf t "$pool"
	holdfast record -q -o t -- ./rounds "$pool" run uuuada
	run -0 holdfast dump --ops t
	output_has "6 operations: rounds of a loop that stores by itself, not only in calls (main 6)"
	rm -rf t "$pool"
	crash_json r.json -o t --probe "./rounds $pool dump" -- ./rounds "$pool" run ahah
	jq -e '[.findings[].kind] == ["half-operation"]' r.json
	jq -e '.findings[0].witness.output |
		startswith("line 1 is '\''sum 0'\'', as if the operation had not happened, and line 3 is '\''7 0 0 0'\'', as if it had\n")' r.json
}

# Its rounds call a helper several times, and make what that stored count by stores of their own.
@test "a round has the calls that it makes, and the stores beside them: the calls are no operations" {
	cat >hooks.c <<-'C'
		#include <fcntl.h>
		#include <immintrin.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		struct node { uint64_t value, next, gap[6]; };
		static struct { uint64_t used, root, last, gap[5]; struct node node[64]; } *s;
		#define PERSIST(p) (_mm_clflushopt((void *)(p)), _mm_sfence())
		__attribute__((noinline)) static uint64_t make(uint64_t value)
		{
			struct node *n = &s->node[s->used + 1];
			s->used++;
			PERSIST(&s->used);
			n->value = value;
			n->next = s->root;
			PERSIST(n);
			return s->used;
		}
		int main(int argc, char **argv)
		{
			int fd = open(argv[1], O_RDWR | O_CREAT, 0666);
			if (argc < 3 || posix_fallocate(fd, 0, sizeof *s))
				return 2;
			s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			for (const char *p = argv[2]; *p && strcmp(argv[2], "dump"); p++) {
				uint64_t first = make((uint64_t)*p), from = s->root;
				for (int i = '0'; i < *p; i++) {
					uint64_t n = make((uint64_t)i);
					s->node[n].next = first;
					PERSIST(&s->node[n]);
					first = n;
				}
				if (argc > 3 && from) { /* behind the newest by now: too early */
					s->node[from].value = (uint64_t)*p;
					PERSIST(&s->node[from]);
				}
				s->root = first;
				PERSIST(&s->root);
			}
			for (uint64_t n = s->root; n && !strcmp(argv[2], "dump"); n = s->node[n].next)
				printf("%lu\n", s->node[n].value);
			return 0;
		}
	C
	cc -g -O1 -mclflushopt -o hooks hooks.c
	holdfast record -q -o t -- ./hooks "$pool" 1302314
	run -0 holdfast dump --ops t
	output_has "7 operations: rounds of a loop that stores by itself, not only in calls (main 7)"
	crash_json r.json --probe "./hooks $pool dump" t
	jq -e '.findings == [] and .incomplete == null and .stats.tested > 20' r.json
	rm -rf t "$pool"
	crash_json r.json -o t --probe "./hooks $pool dump" -- ./hooks "$pool" 1302314 wrong
	jq -e '[.findings[].kind] == ["half-operation"]' r.json
}

@test "operations of programs of others: sqlite3 and LMDB" {
	command -v sqlite3 && command -v mdb_load || skip "not installed"
	{
		echo 'PRAGMA journal_mode=WAL; CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT);' | tr ';' '\n' | sed '/./s/$/;/'
		for i in 1 2 3 4 5 6; do echo "INSERT INTO t VALUES($i, 'v$i');"; done
	} | sed 's/^ //' >script
	holdfast record -q -o t --stdin script -- sqlite3 "$pool" >out
	run -0 holdfast dump --ops t
	output_has "8 operations: calls that the program makes again and again"
	mkdir db
	{
		printf 'VERSION=3\nformat=print\ntype=btree\nmapsize=1048576\nHEADER=END\n'
		for i in $(seq 1000 1249); do printf ' k%d\n v%d\n' "$i" "$i"; done
		echo DATA=END
	} >records
	holdfast record -q -o u -- mdb_load -f records db
	run -0 holdfast dump --ops u
	output_has "3 operations: calls that the program makes again and again"
}

# triple WAY NUMBERS BUDGET: a campaign on programs-crash/triple.c, which reads so many requests.
triple() {
	${CC:-cc} -g -O1 -mclflushopt -o "$BIN/triple" "$PROGRAMS/triple.c"
	seq 100 "$((99 + $2))" >numbers
	rm -rf t "$pool"
	crash_json r.json -o t --budget "$3" --ops-way requests --probe "$BIN/triple $pool dump" -- sh -c "exec $BIN/triple $pool $1 <numbers"
}

# finds WAY LENGTH: so many causes, with one lost store each, at the marked statement.
finds() {
	jq -e --argjson line "$(sed -n "/@$1 /=" "$PROGRAMS/triple.c")" --argjson n "$2" '.findings | length == $n and
		all(.location.line == $line and ([.related[] | select(.role == "lost")] | length) == 1)' r.json
}

@test "what the judge has to ask does not count against the search for a cause" {
	triple hasty 80 150
	finds hasty 1
}

@test "one request may be a batch, but what it is not about stays" {
	triple batch 6 300
	jq -e '.findings == []' r.json
	triple shuffle 6 300
	finds shuffle 2 # what the last was, or one before it
	jq -e 'any(.findings[]; .kind == "half-operation")' r.json
}

# A script of commands. In this order: they begin the pool, three set something each, …
commands() {
	rm -rf t "$pool"
	printf '%s\n' "$1 $pool set a 1" "$1 $pool set b 2" "$1 $pool set c 3" "$1 $pool set d 4" >script
}

@test "commands that a script runs one after the other are operations, if each does one thing" {
	for way in fine HASTY FORGETS; do
		${CC:-cc} -g -O1 -mclflushopt -D$way -o "$BIN/$way" "$PROGRAMS/command.c"
		commands "$BIN/$way"
		crash_json $way.json -o t --follow-forks --probe "$BIN/$way $pool dump" -- /bin/sh script
		holdfast dump --ops t | grep -q "^3 operations: whole commands that are run one after the other ($way 3)"
	done
	jq -e '.findings == [] and .stats.tested > 4' fine.json
	line=$(grep -n @hasty "$PROGRAMS/command.c" | cut -d: -f1)
	jq -e --argjson line "$line" '[.findings[] | [.kind, .location.line]] | unique == [["half-operation", $line]]' HASTY.json
	jq -e '.findings[0].message | test("set b 2")' HASTY.json
	line=$(grep -n @forgets "$PROGRAMS/command.c" | cut -d: -f1)
	jq -e --argjson line "$line" '[.findings[].location.line] == [$line]' FORGETS.json # lost, or half of it is
	jq -e '.findings[0].level == "error" and (.findings[0].kind | test("^(lost|half)-operation$"))' FORGETS.json
	jq -e '.findings[0].message | startswith("if the store at set (command.c:'"$line"') is lost, operation ")' FORGETS.json
	printf '%s\n' "$BIN/fine $pool many 5" "$BIN/fine $pool many 6" "$BIN/fine $pool many 7" >script
	rm -rf t "$pool"
	holdfast record -q -o t --follow-forks -- /bin/sh script
	run -0 holdfast dump --ops t
	output_lacks "whole commands"
}
