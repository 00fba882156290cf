#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# holdfast explore: its options, bad input, the folder, and what is said. What it finds is tested in
# explore-programs.bats.
load common

setup_file() {
	export DONE=$BATS_FILE_TMPDIR/done
	mkdir "$DONE"
	cd "$DONE" || exit
	# one exploration that tests look at; they do not change it
	"$HOLDFAST" explore -j 1 -o d --sym-stdin 4 --json r.json --sarif r.sarif --html r.html --csv r.csv \
		--show-priorities --export suite -- "$EXPLORE_PROGRAMS/listing7" "$DONE/pool" >priorities 2>said ||
		[ $? -eq 1 ]
}

program() {
	echo "$EXPLORE_PROGRAMS/$1"
}

explore() {
	holdfast explore -j 1 -o d "$@"
}

# refused TEXT OPTIONS…: wrong usage, said with this text, and nothing is made.
refused() {
	local text=$1
	shift
	run -2 explore "$@"
	output_has "$text"
	[ ! -e d ]
}

done_id() {
	jq -r '.findings[0].id' "$DONE/r.json"
}

# ---- bad input ----

@test "a pool that is opened after the input was read has its name in findings" {
	cat >late.c <<-'EOF'
		#include <fcntl.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			char c;
			if (argc < 2 || read(0, &c, 1) != 1 || c != 'x')
				return 0;
			int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
			if (fd < 0 || ftruncate(fd, 4096))
				return 1;
			volatile long *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			p[0] = 1;
			__builtin_ia32_clflush((void *)p);
			__builtin_ia32_mfence();
			p[0] = 2;
			return 0;
		}
	EOF
	${CC:-cc} -g -o late late.c
	report_json explore r.json -o d --sym-stdin 1 -- ./late pool
	jq -e '[.findings[] | .data] == ["pool+0x0, 8 bytes"]' r.json
}

@test "--max-time: what still runs then is broken off" {
	cat >slow.c <<-'EOF'
		#include <unistd.h>
		int main(void)
		{
			char c;
			if (read(0, &c, 1) == 1 && c > 'x')
				sleep(1);
			sleep(900);
			return 0;
		}
	EOF
	cc -o slow slow.c
	timeout 600 "$HOLDFAST" explore -o d --timeout 15m --max-time 2s --sym-stdin 1 -- ./slow 2>err
	grep -q "incomplete: the time was over; holdfast explore --resume d goes on" err
	timeout 600 "$HOLDFAST" explore -o e --max-time 2s --recover 'sleep 900' --timeout 15m --sym-stdin 4 -- "$EXPLORE_PROGRAMS/parser" pool 2>err
	grep -q "incomplete: the time was over" err
}

@test "something must be symbolic, and there must be a program" {
	refused "nothing is symbolic" -- "$(program listing7)" pool
	refused "a program to run is needed" --sym-stdin 4
	run -3 explore --sym-stdin 4 -- ./no-such-program
	output_has "no such program"
	[ ! -e d ]
}

@test "arguments: unknown numbers, lengths of 0, longer than allowed" {
	local p
	p=$(program args)
	refused "there is no number 3" --sym-arg 3 -- "$p" pool word
	refused "takes the number of an argument" --sym-arg word -- "$p" pool word
	refused "length of 0" --sym-arg 2:0 -- "$p" pool word
	refused "has 4 bytes, but only 2 are symbolic" --sym-arg 2:2 -- "$p" pool word
	refused "the argument is empty" --sym-arg 2 -- "$p" pool ""
	refused "--sym-args needs MIN MAX LEN" --sym-args 1 2
	refused "takes three numbers" --sym-args 1 2 three -- "$p" pool
	refused "from MIN to MAX" --sym-args 3 2 4 -- "$p" pool
}

@test "files and pools: not there, empty, nothing in the range, too much" {
	local p
	p=$(program recover)
	refused "there is no such file; give a length" --sym-file ops -- "$p" pool
	: >ops
	refused "it is empty; give a length" --sym-file ops -- "$p" pool
	refused "the file ends at 0, before byte 8" --sym-file ops:8-16 -- "$p" pool
	refused "there is no such pool" --sym-pm pool -- "$p" pool
	truncate -s 1M pool
	refused "1048576 symbolic bytes are too many, 65536 are the limit" --sym-pm pool -- "$p" pool
	refused "there is nothing in 64-64" --sym-pm pool:64-64 -- "$p" pool
	refused "of a pool of 1048576 bytes" --sym-pm pool:0-2000000 -- "$p" pool
	refused "takes PATH:FROM-END or PATH:LEN" --sym-pm pool:1-x -- "$p" pool
}

@test "seeds: longer than the source, not there, for which of several sources" {
	printf 12345 >seed
	refused "the seed seed has 5 bytes, but stdin only 4 symbolic ones" --sym-stdin 4 --seed seed -- "$(program listing7)" pool
	refused "cannot read none" --sym-stdin 4 --seed none -- "$(program listing7)" pool
	refused "there are several sources" --sym-stdin 8 --sym-env MODE:4 --seed seed -- "$(program env)" pool
	refused "has 5 bytes, but only 4 are symbolic" --sym-stdin 4 --stdin seed -- "$(program listing7)" pool
}

@test "ranges: empty, without a byte in common, no range at all" {
	refused "no byte is in it" --sym-stdin 4 --range 9-3 -- "$(program listing7)" pool
	refused "and in the other ranges too" --sym-stdin 4 --printable --range 0-31 -- "$(program listing7)" pool
	refused "--range takes" --sym-stdin 4 --range many -- "$(program listing7)" pool
}

@test "packets: what is after a dollar sign and a backslash, and seeds that are unlike them" {
	refused "a digit from 1 to 9" --packet 'put $x' -- "$(program listing7)" pool
	refused "are known after a backslash" --packet 'put $1\q' -- "$(program listing7)" pool
	refused "no symbolic part" --packet 'put 1' -- "$(program listing7)" pool
	refused "of 0 bytes makes no sense" --packet 'put $1:0' -- "$(program listing7)" pool
	refused "the packets take 12 bytes, --sym-socket allows 4" --sym-socket 4 --packet 'put $1' -- "$(program listing7)" pool
	printf 'get 12345678' >seed
	refused "is not like the packets" --packet 'put $1' --seed seed -- "$(program listing7)" pool
	refused "are for servers" --sym-stdin 4 --port 80 -- "$(program listing7)" pool
}

@test "times, sizes, strategies and recovery commands are checked before anything is run" {
	refused "not a time" --sym-stdin 4 --max-time soon -- "$(program listing7)" pool
	refused "not a size" --sym-stdin 4 --max-memory much -- "$(program listing7)" pool
	refused "pm|coverage|dfs|bfs|random" --sym-stdin 4 --strategy best -- "$(program listing7)" pool
	run -3 explore --sym-stdin 4 --recover ./no-such-checker -- "$(program listing7)" pool
	output_has "no-such-checker"
}

# ---- programs that are no use ----

@test "a program that ignores its input: said, one path, status 0" {
	run -0 explore --sym-stdin 4 --json r.json -- "$(program ignores)" pool
	output_has "the program never used the symbolic input"
	jq -e '.stats.runs == 1 and (.incomplete | test("never used"))' r.json
}

@test "a program that ends before it uses its input: its last words are shown" {
	run -0 explore --sym-stdin 4 -- "$(program listing7)" no-such-folder/pool
	output_has "the program never used the symbolic input: it ended with status 2"
	output_has "it said: usage: "
}

@test "a program that writes no PM: said" {
	run -0 explore --sym-stdin 4 --max-paths 3 -- /bin/cat
	output_has "never wrote persistent memory"
}

# ---- what is left, and what is said ----

@test "the report: an input as the witness, the files, how to replay it" {
	jq -e '.verb == "explore" and .incomplete == null and (.findings | length) == 1' "$DONE/r.json"
	jq -e '.findings[0] | .kind == "missing-fence" and .witness.type == "input" and .witness.path == 2' "$DONE/r.json"
	jq -e '.findings[0].witness | .input == "d/findings/'"$(done_id)"'" and (.text | startswith("stdin: 1 byte"))' "$DONE/r.json"
	jq -e '.findings[0].witness.replay == "holdfast replay '"$(done_id)"' d"' "$DONE/r.json"
	jq -e '.stats | .paths >= 2 and .runs >= .paths and .queries >= 1 and .cores == 1 and .blocks > 0 and .pm_sites > 0' "$DONE/r.json"
	jq -e '.runs[0].results[0].properties | .witness == "input" and .input != null' "$DONE/r.sarif"
	jq -e '.chart.columns == ["seconds", "paths", "blocks", "pm sites", "behaviours", "findings"]' "$DONE/r.json"
	grep -q '"chart":' "$DONE/r.html"
	run cat "$DONE/said"
	output_has "stdin: 1 byte, \"w\""
	output_has "runs a second and core"
	output_has "solver:"
	output_has "basic blocks of the program"
}

@test "the pool and the folder of the program stay as they were" {
	[ ! -e "$DONE/pool" ]
	truncate -s 4096 pool
	cp pool before
	run -1 explore -q --sym-stdin 4 --json r.json -- "$(program listing7)" pool
	jq -e '.findings[0].location.file | endswith("listing7.c")' r.json
	cmp pool before
	[ "$(echo *)" = "before d pool r.json" ]
}

@test "coverage over time as CSV, in the folder too" {
	[ "$(head -n 1 "$DONE/r.csv")" = "seconds,paths,blocks,pm sites,behaviours,findings" ]
	cmp "$DONE/r.csv" "$DONE/d/coverage.csv"
	[[ $(tail -n 1 "$DONE/r.csv") =~ ^[0-9.]+,[0-9]+,[0-9]+,[0-9]+,[0-9]+,1$ ]]
}

@test "how runs are kept apart is said once" {
	holdfast explore -o d --max-paths 3 --sym-stdin 4 -- "$EXPLORE_PROGRAMS/channels-fixed" pool pipe 2>err
	[ "$(grep -c 'runs are kept apart ' err)" -eq 1 ]
}

@test "priorities, by source line" {
	run cat "$DONE/priorities"
	[[ $output =~ " 2 * "[^$'\n']*"*(volatile uint64_t *)&pbuf[x].value = v" ]]
	[[ $output =~ " 1 * "[^$'\n']*"clwb(&pbuf[x]);" ]]
	[[ $output =~ " 0   "[^$'\n']*"foo();" ]]
}

@test "the test suite: an input a folder, each with a script that runs the program" {
	[ -d "$DONE/suite/00001" ] && [ -d "$DONE/suite/00002" ]
	cp -r "$DONE/suite" .
	for dir in suite/*; do
		[ -f "$dir/stdin" ]
		(cd / && "$BATS_TEST_TMPDIR/$dir/run")
	done
	[ "$(head -c 1 suite/00002/stdin)" = w ]
	rm -f "$DONE/pool" # the scripts run the program as it is
}

@test "show and status know explorations" {
	run -0 holdfast show "$DONE/d"
	output_has "missing-fence"
	run -0 holdfast show "$(done_id)" "$DONE/d"
	output_has "stdin: 1 byte"
	run -0 holdfast status "$DONE/d"
	output_has "finished, strategy pm"
	output_has "findings: 1"
	holdfast status --json "$DONE/d" | jq -e '.verb == "explore" and .findings == 1 and .paths >= 2'
}

@test "replay: the program as it is, then check; from any folder; an unknown id" {
	run -1 holdfast replay "$(done_id)" "$DONE/d"
	output_has "the program ended with status 0"
	output_has "check finds it again"
	[ ! -e "$DONE/pool" ]
	run -2 holdfast replay ffff "$DONE/d"
	output_has "there is no finding ffff"
}

@test "replay of a crash: the program dies again, as it is; gdb said where" {
	"$(program recover)" pool make
	run -1 explore --sym-pm pool:0-256 --max-findings 1 --json r.json -- "$(program recover)" pool
	jq -e '.findings[0] | .kind == "program-crash" and .level == "error" and .location.function == "redo"' r.json
	jq -e '.findings[0].witness | .type == "input" and (.backtrace | test("SIGSEGV")) and (.text | startswith("pm-pool: changed"))' r.json
	cp pool before
	run -1 holdfast replay "$(jq -r '.findings[0].id' r.json)" d
	output_has "signal 11"
	cmp pool before
}

@test "a hang: found, if it hangs without the tracer too" {
	cat >hang.c <<-'C'
		#include <unistd.h>
		int main(void)
		{
			char c = 0;
			if (read(0, &c, 1) == 1 && c == 'h')
				for (;;)
					pause();
			return 0;
		}
	C
	cc -g -o hang hang.c
	run -1 explore --sym-stdin 1 --timeout 3s --json r.json -- ./hang
	jq -e '[.findings[] | select(.kind == "program-hang")] | length == 1' r.json
	[ "$(cat d/findings/*/stdin)" = h ]
	run -1 holdfast replay "$(jq -r '.findings[0].id' r.json)" d
	output_has "did not end in time"
}

@test "--recover: the path with the wrong order is found by a crash, with its input" {
	cat >order.c <<-'C'
		#include <fcntl.h>
		#include <stdint.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		struct pool {
			volatile uint64_t valid;
			char line[56];
			volatile uint64_t data;
		};
		static void flush(volatile void *p)
		{
			__asm__ volatile("clwb %0" : "+m"(*(volatile char *)p) : : "memory");
		}
		static void fence(void)
		{
			__asm__ volatile("sfence" : : : "memory");
		}
		int main(int argc, char **argv)
		{
			int fd = open(argv[2], O_RDWR | O_CREAT, 0666);
			struct pool *p;
			char c = 0;
			if (argc < 3 || ftruncate(fd, 4096))
				return 2;
			p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			if (!strcmp(argv[1], "check"))
				return p->valid && p->data != 7;
			if (read(0, &c, 1) != 1)
				return 0;
			p->data = 7;
			if (c != 'b') {
				flush(&p->data);
				fence();
			}
			p->valid = 1;
			flush(&p->data);
			flush(&p->valid);
			fence();
			return 0;
		}
	C
	cc -g -O1 -o order order.c
	run -1 explore --sym-stdin 1 --recover './order check pool' --json r.json -- ./order run pool
	output_lacks "images to test" # not for each path
	jq -e '.findings | map(select(.level == "error")) | length == 1 and .[0].kind == "ordering" and .[0].witness.type == "crash"' r.json
	[ "$(cat d/findings/*/stdin)" = b ]
	run -1 holdfast replay "$(jq -r '.findings[] | select(.kind == "ordering").id' r.json)" d
	output_has "recovery failed again"
	[ ! -e pool ]
}

@test "--probe: the path whose operation is lost is found by what is printed, with its input" {
	cat >ledger.c <<-'C'
		#include <fcntl.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		#include "holdfast.h"
		static volatile uint64_t *p;
		int main(int argc, char **argv)
		{
			int fd = open(argv[2], O_RDWR | O_CREAT, 0666);
			char c = 0;
			if (argc < 3 || ftruncate(fd, 4096))
				return 2;
			p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			if (!strcmp(argv[1], "dump"))
				return printf("%d\n", (int)*p) < 0;
			if (read(0, &c, 1) != 1)
				return 0;
			HOLDFAST_OP_BEGIN(1);
			*p = 7;
			if (c != 'b')
				__asm__ volatile("clwb %0; sfence" : "+m"(*(volatile char *)p) : : "memory");
			HOLDFAST_OP_END(1);
			return 0;
		}
	C
	cc -g -O1 -I "$HOLDFAST_SOURCE/include" -o ledger ledger.c
	run -1 explore --sym-stdin 1 --probe './ledger dump pool' --json r.json -- ./ledger run pool
	jq -e '[.findings[] | select(.witness.verdict == "differs")] | length == 1 and .[0].kind == "lost-operation"' r.json
	jq -e '.findings[] | select(.kind == "lost-operation").witness.operation | .index == 1 and .fate == "gone"' r.json
	run -1 holdfast replay "$(jq -r '.findings[] | select(.kind == "lost-operation").id' r.json)" d
	output_has "what is in the pool is wrong again"
}

# counts POOL OPS: a line each, of which all but "?" count, and all print; "b" forgets to persist that.
counts() {
	cat >counts.c <<-'C'
		#include <fcntl.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <sys/mman.h>
		#include <unistd.h>
		#include "holdfast.h"
		int main(int argc, char **argv)
		{
			int fd = open(argv[1], O_RDWR | O_CREAT, 0666), ops = argc > 2 ? open(argv[2], O_RDONLY) : -1;
			char line[2];
			if (ops < 0 || ftruncate(fd, 4096))
				return 2;
			volatile uint64_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			while (read(ops, line, 2) == 2) {
				HOLDFAST_OP_BEGIN(1);
				if (line[0] != '?')
					++*p;
				if (line[0] != 'b')
					__asm__ volatile("clwb %0; sfence" : "+m"(*(volatile char *)p) : : "memory");
				HOLDFAST_OP_END(1);
				printf("%d\n", (int)*p);
			}
			return 0;
		}
	C
	cc -g -O1 -I "$HOLDFAST_SOURCE/include" -o counts counts.c
}

@test "--continue: the operations of each path are those of its own input" {
	counts
	printf 'a\na\nx\n?\na\n' >ops
	run -1 explore --sym-file ops:4-5 --ops-file ops --continue './counts pool {ops}' --json r.json -- ./counts pool ops
	jq -e '[.findings[] | select(.witness.verdict == "differs")] | length == 1 and .[0].kind == "lost-operation"' r.json
	jq -e '.findings[] | select(.kind == "lost-operation").witness.operation | .index == 3 and .input == "b"' r.json
	run -1 holdfast replay "$(jq -r '.findings[] | select(.kind == "lost-operation").id' r.json)" d
	output_has "what is in the pool is wrong again"
	run -2 explore --fresh --sym-stdin 4 --continue './counts pool {ops}' -- ./counts pool ops
	output_has "--continue needs --ops-file"
}

@test "--continue: paths without operations in their input are counted, and no reason to end; check goes on" {
	counts
	run -1 explore --sym-stdin 4 --ops-file stdin --continue './counts pool {ops}' -- ./counts pool /dev/stdin
	output_has "could not be crashed: --ops-file: "
	output_has "is not a text file: it has zero bytes"
}

# ---- stopping and going on ----

@test "limits: --max-paths, --max-findings, --max-time; it says that it can go on" {
	run -0 explore --sym-stdin 12 --max-paths 5 --json r.json -- "$(program parser)" pool
	jq -e '.stats.runs == 5 and (.incomplete | test("--resume d goes on"))' r.json
	run -1 explore --fresh --sym-stdin 4 --max-findings 1 --json r.json -- "$(program listing7)" pool
	jq -e '.stats.runs == 2' r.json
	run -0 explore --fresh --sym-stdin 12 --max-time 1s --json r.json -- "$(program parser)" pool
	jq -e '.incomplete | test("the time was over")' r.json
}

@test "an exploration that is there is not overwritten; --resume finds the same paths again and goes on" {
	run -0 explore -q --sym-stdin 12 --max-paths 20 -- "$(program parser)" pool
	run -2 explore --sym-stdin 12 -- "$(program parser)" pool
	output_has "--resume goes on, --fresh starts anew"
	run -2 holdfast explore --resume --sym-stdin 8 d
	output_has "start another with --fresh"
	run -2 holdfast explore --resume none
	output_has "--resume needs the exploration's folder"
	run -0 holdfast explore -q --resume --max-paths 10 --json r.json d
	jq -e '.stats.paths >= 28 and .stats.paths <= 30' r.json
	run -0 holdfast status d
	output_has "go on with: holdfast explore --resume d"
}

@test "Ctrl-C: a report, the status as found, and nothing is left" {
	background "$HOLDFAST" explore -j 1 -o d --sym-stdin 12 -- "$(program parser)" pool
	has_paths() { [ "$(holdfast status --json d | jq .paths)" -ge 5 ]; }
	wait_for has_paths
	kill -INT -- "-$pid"
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 3 ] # nothing was found, but not all was looked at
	run cat err
	output_has "interrupted; holdfast explore --resume d goes on"
	run -0 holdfast status d
	output_has "stopped"
}

@test "kill -9: nothing runs on, and it can be gone on with" {
	background "$HOLDFAST" explore -j 1 -o d --sym-stdin 12 -- "$(program parser)" "$PWD/pool"
	has_paths() { [ "$(holdfast status --json d | jq .paths)" -ge 5 ]; }
	wait_for has_paths
	kill -KILL "$pid"
	gone() { ! pgrep -f "parser $PWD/pool"; }
	wait_for gone
	run -0 holdfast status d
	output_has "interrupted"
	run -0 holdfast explore -q --resume --max-paths 5 d
}

# ---- ways to run ----

@test "memory that the program names: each piece as it comes up; replay under check" {
	cat >memory.c <<-'C'
		#include <fcntl.h>
		#include <stdint.h>
		#include <sys/mman.h>
		#include <unistd.h>
		#include "holdfast.h"
		static void flush(volatile void *p)
		{
			__asm__ volatile("clwb %0; sfence" : "+m"(*(volatile char *)p) : : "memory");
		}
		int main(void)
		{
			int fd = open("pool", O_RDWR | O_CREAT, 0666);
			unsigned a = 1;
			unsigned char b = 2;
			volatile uint64_t *p;
			if (ftruncate(fd, 4096))
				return 2;
			p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			p[8] = 3;
			flush(&p[8]);
			HOLDFAST_SYMBOLIC(&a, sizeof(a));
			if (a == 1000)
				HOLDFAST_SYMBOLIC(&b, sizeof(b));
			if (b == 77)
				p[8] = 4;
			p[0] = 1;
			flush(p);
			return 0;
		}
	C
	cc -g -O1 -I "$HOLDFAST_SOURCE/include" -o memory memory.c
	run -1 explore --sym-memory --json r.json -- ./memory
	jq -e '.findings[0].witness.text == "memory1: 4 bytes, \"\\xe8\\x03\\x00\\x00\"\nmemory2: 1 byte, \"M\""' r.json
	output_lacks "another value than the machine"
	run -1 holdfast replay "$(jq -r '.findings[0].id' r.json)" d
	output_has "check finds it again"
}

@test "arguments that may be there: each number of them is tried" {
	run -1 explore --sym-args 1 2 4 --json r.json -- "$(program args)" pool
	jq -e '[.findings[] | select(.level == "error" or .level == "warning").witness.text] | any(test("fast"))' r.json
	run -0 holdfast status d
	output_has "finished"
}

@test "new processes instead of forks, several at a time, and every strategy: the same finding" {
	for how in --no-fork "-j 2" "--strategy coverage" "--strategy dfs" "--strategy bfs" "--strategy random"; do
		# shellcheck disable=SC2086
		run -1 holdfast explore -q --fresh -o d $how --sym-stdin 4 --json r.json -- "$(program listing7)" pool
		jq -e '.findings[0].kind == "missing-fence"' r.json
		[ "$(cat d/findings/*/stdin)" = w ]
	done
}

@test "--printable and --range: inputs keep to them" {
	run -0 explore -q --sym-stdin 12 --printable --max-paths 30 --export suite -- "$(program parser)" pool
	[ "$(cat suite/*/stdin | LC_ALL=C tr -d ' -~' | wc -c)" -eq 0 ]
	run -0 explore -q --fresh --sym-stdin 4 --range 0-x --range stdin:0x61-0x76 --export other -- "$(program listing7)" pool
	[ "$(cat other/*/stdin | LC_ALL=C tr -d 'a-v' | wc -c)" -eq 0 ]
}

@test "replay: a program whose source is not there, with and without symbols" {
	cp "$HOLDFAST_SOURCE"/tests/explore/{clock.c,pool.h} .
	gcc -g -O1 -I "$HOLDFAST_SOURCE/include" clock.c -o there
	rm clock.c pool.h
	strip -o stripped there
	for program in there stripped; do
		run -1 holdfast explore -j 1 -o "d-$program" --pin --sym-stdin 1 -- "./$program" pool
		id=$(holdfast show "d-$program" | cut -d' ' -f1)
		run -1 holdfast replay "$id" "d-$program"
		output_has "check finds it again"
	done
}
