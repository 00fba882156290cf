#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Where namespaces are refused: programs-view/refuse.c makes such a place anywhere.
load crash-common

setup_file() {
	build_app
	build_corpus pmemobj/rbtree/clean pmemobj/rbtree/BUG_RBTREE_COUNT_OUTSIDE
	${CC:-cc} -O1 -D_GNU_SOURCE -o "$BIN/refuse" "$HOLDFAST_SOURCE/tests/cli/programs-view/refuse.c"
	"$BIN/refuse" true || skip "no filter of system calls is allowed here"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	pool=$PWD/pool
}

refused() {
	"$BIN/refuse" "$HOLDFAST" "$@"
}

# The pool stays as the program left it, whatever recovery did to its own.
untouched() {
	cmp "$pool" "$1"
}

@test "auto takes the next view, says so once, and finds the same" {
	run -1 refused crash -o t --json r.json --recover "$BIN/app check $pool" -- "$BIN/app" run "$pool" order halves
	output_has "recovery sees the image through a preloaded library"
	[ "$(grep -c 'recovery sees' <<<"$output")" -eq 1 ]
	diff <(cause r.json) <(cause_of atomicity halves; cause_of ordering order)
	run -1 refused replay "$(first_id r.json)" t
	rm "$pool"
	run -0 refused crash -q -o u --recover "$BIN/app check $pool" -- "$BIN/app" run "$pool" good
	wait_nothing_left
}

@test "a view that was asked for by name and is refused: status 3, with the reason" {
	run -3 refused crash -o t --view mount --recover "$BIN/app check $pool" -- "$BIN/app" run "$pool" good
	output_has "as --view mount asks: cannot make a sandbox: Operation not permitted"
	run -3 refused crash -o u --view userns --recover "$BIN/app check $pool" -- "$BIN/app" run "$pool" good
	output_has "not permitted"
	wait_nothing_left
}

@test "recovery by a shell pipeline, and by an interpreter" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" order >/dev/null
	cp "$pool" before
	crash_json mount.json --recover "$BIN/app check $pool" t
	run -1 refused crash --fresh --json r.json --recover "cat $pool | cat >copy && $BIN/app check copy 2>&1 | (! grep wrong)" t
	[ "$(jq '.findings | length' r.json)" -eq 1 ]
	untouched before
	cat >judge.py <<'END'
import subprocess, sys
open(sys.argv[2], "r+b").close()
sys.exit(subprocess.call([sys.argv[1], "check", sys.argv[2]]))
END
	run -1 refused crash --fresh --json r.json --recover "python3 judge.py $BIN/app $pool" t
	same_findings mount.json r.json
	untouched before
	wait_nothing_left
}

@test "libpmemobj: clean, and its bug is found and replays" {
	ops=$HOLDFAST_SOURCE/corpus/pmemobj/rbtree/ops/put.ops
	run -0 refused crash -q -o t --budget 60 --random 2 --recover "$BIN/pmemobj/rbtree/clean recover $pool" \
		-- "$BIN/pmemobj/rbtree/clean" run "$pool" "$ops"
	rm -f "$pool"
	bug=$BIN/pmemobj/rbtree/BUG_RBTREE_COUNT_OUTSIDE
	run -1 refused crash -q -o u --json r.json --budget 60 --random 2 --recover "$bug recover $pool" -- "$bug" run "$pool" "$ops"
	run -1 refused replay "$(first_id r.json)" u
	wait_nothing_left
}

@test "a statically linked recovery: refused in words, and {pool} is the way out" {
	${CC:-cc} -static -g -O0 -mclflushopt -o static "$APP_SOURCE"
	run -3 refused crash -o t --recover "./static check $pool" -- ./static run "$pool" order
	output_has "statically linked"
	output_has "{pool}"
	rm "$pool"
	run -1 refused crash -o u --json r.json --view subst --recover "./static check {pool}" -- ./static run "$pool" order
	diff <(cause r.json) <(cause_of ordering order)
	wait_nothing_left
}

@test "explore says once how runs are kept apart; servers are run one at a time, which share a port" {
	build_corpus raw/kvserver/BUG_KVSERVER_TOP_UNFLUSHED
	run -0 refused explore -j 2 -o t --max-paths 12 --json r.json --port 47123 --packet 'put 12 34\n' --packet 'upd $1:4 $2:4\n' \
		-- "$BIN/raw/kvserver/BUG_KVSERVER_TOP_UNFLUSHED" serve "$pool" 47123
	[ "$(grep -c 'runs are kept apart through a preloaded library: .*servers are run one at a time' <<<"$output")" -eq 1 ]
	jq -e '.stats.diverged == 0 and .stats.runs == 12' r.json
	wait_nothing_left
}

@test "explore: runs, the pool and a renamed input are kept apart there as well" {
	local name
	for name in explorer explorer_more; do
		"$BIN/refuse" "${HOLDFAST%/*}/tests/tracer/$name" 3>&- >out 2>&1 || {
			cat out
			return 1
		}
	done
}

@test "explore: the paths of a server are crashed there, with a port that everybody shares" {
	build_corpus raw/kvserver/BUG_KVSERVER_IN_PLACE
	local server=$BIN/raw/kvserver/BUG_KVSERVER_IN_PLACE
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	printf 'put 1234567890123456789 1234567890123456789\nupd 1234567890123456789  123456789012345678\n' >seed
	run -1 refused explore -j 1 -o x --max-paths 100 --max-findings 1 --budget 100 --json r.json --seed seed \
		--packet 'put 1234567890123456789 1234567890123456789\n' --packet 'upd 1234567890123456789 $1:19\n' \
		--range 0x20-0x39 --recover "$server recover $pool" -- "$server" serve "$pool" "$port"
	jq -e '.findings | length == 1 and .[0].kind == "atomicity"' r.json
	wait_nothing_left
}

@test "explore: a place is the program's, not the preloaded library's" {
	run refused explore -j 1 -o x --sym-stdin 4 -- "$EXPLORE_PROGRAMS/channels" "$pool" mapping
	output_has "through a file that is mapped later at by_mapping (channels.c:"
}

@test "explore: a path of a program that is called by a relative name is recorded there as well" {
	cat >torn.c <<-'C'
		#include <fcntl.h>
		#include <stdint.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			int fd = open(argv[1], O_RDWR | O_CREAT, 0600), in = argc > 2 ? open(argv[2], O_RDONLY) : -1;
			char c = 0;
			if (fd < 0 || ftruncate(fd, 4096))
				return 2;
			volatile uint64_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			if (in < 0)
				return p[0] != p[8];
			if (read(in, &c, 1) == 1 && c == 'b') {
				p[0] = 1;
				__asm__ volatile("clwb %0; sfence" : "+m"(*(volatile char *)p) : : "memory");
				p[8] = 1;
				__asm__ volatile("clwb %0; sfence" : "+m"(*(volatile char *)(p + 8)) : : "memory");
			}
			return 0;
		}
	C
	cc -g -O1 -o torn torn.c
	echo a >in
	run -1 refused explore -j 1 -o x --sym-file in:0-1 --recover './torn pool' --json r.json -- ./torn pool in
	output_lacks "could not be crashed"
	jq -e '[.findings[] | select(.kind == "atomicity")] | length == 1' r.json
}
