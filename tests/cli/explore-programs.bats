#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What `explore` finds: the programs of tests/explore, each with one bug that only certain input
# reaches, and without it; servers, libpmemobj and recovery.
load common

setup_file() {
	export CORPUS=$BATS_FILE_TMPDIR/corpus
	PYTHONDONTWRITEBYTECODE=1 make -s -C "$HOLDFAST_SOURCE/corpus" "OUT=$CORPUS" \
		"$CORPUS/raw/kvserver/BUG_KVSERVER_TOP_UNFLUSHED" "$CORPUS/pmemobj/queue/BUG_QUEUE_NODE_SHORT"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache # nothing is known from earlier explorations
}

# marked NAME [N]: the number of the Nth line with a BUG comment in a program.
marked() {
	grep -n 'BUG' "$HOLDFAST_SOURCE/tests/explore/$1.c" | sed -n "${2:-1}s/:.*//p"
}

# explore NAME OPTIONS… [-- ARGS…]: explores a program with a pool of its own; the report is r.json.
explore() {
	local name=$1 options=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	rm -rf pool d
	report_json explore r.json -j 1 -o d --max-paths 200 "${options[@]}" -- "$EXPLORE_PROGRAMS/$name" pool "$@"
}

# finds LINE [KIND]: there is such a finding, with an input as its witness, and replaying shows it.
finds() {
	local id
	id=$(jq -r --argjson line "$1" --arg kind "${2:-missing-flush}" '[.findings[] |
		select(.kind == $kind and .location.line == $line and .witness.type == "input")][0].id' r.json)
	[ "$id" != null ] || {
		jq -c '.findings[] | [.kind, .location.file, .location.line, .witness]' r.json
		return 1
	}
	run -1 holdfast replay "$id" d
}

finds_nothing() {
	jq -e '.findings == []' r.json || {
		jq -c '.findings[] | [.kind, .location.file, .location.line, .message]' r.json
		return 1
	}
}

# both NAME LINE OPTIONS… [-- ARGS…]: the bug is found, and nothing where it is fixed.
both() {
	local name=$1 line=$2
	shift 2
	explore "$name" "$@"
	finds "$line"
	explore "$name-fixed" "$@"
	finds_nothing
}

@test "listing 7: the missing fence is found on the second path" {
	printf r >seed
	explore listing7 --strategy pm --max-paths 2 --sym-stdin 1 --seed seed
	finds "$(marked listing7)" missing-fence
	jq -e '.findings[0].witness.path == 2' r.json
	[ "$(cat d/findings/*/stdin)" = w ]
	explore listing7-fixed --sym-stdin 1 --seed seed
	finds_nothing
}

@test "listing 7: the priorities are those of the paper" {
	holdfast explore -q -j 1 -o d --show-priorities --sym-stdin 1 -- "$EXPLORE_PROGRAMS/listing7" pool >priorities || [ $? -eq 1 ]
	for want in '2 take(&a' '2 if (do_read)' '0 seen = pbuf' '0 foo();' '2 *(volatile uint64_t *)&pbuf[x]' '1 clwb(&pbuf' '0 _exit(0)'; do
		run -0 grep -cF " ${want#* }" <(grep ' main ' priorities)
		[ "$output" -eq 1 ]
		[ "$(grep -F " ${want#* }" priorities | awk '{ print $1 }')" = "${want%% *}" ]
	done
}

@test "an index that the flush masks: the flush can miss the stored line" {
	printf '\003' >seed
	both masked "$(marked masked)" --sym-stdin 1 --seed seed
}

@test "commands with checksums: many paths, nothing found" {
	explore parser --sym-stdin 12 --max-paths 100
	finds_nothing
	jq -e '.stats.paths >= 50' r.json
}

# ends NAME PATHS: explores all paths, in few runs; the inputs take those that an enumeration of all inputs over a small alphabet takes.
ends() {
	head -c 12 /dev/zero >seed
	rm -rf suite
	explore "$1" --sym-stdin 12 --seed seed --max-paths 20000 --export suite
	finds_nothing
	jq -e --argjson paths "$2" '.incomplete == null and .stats.paths == $paths and .stats.runs <= 1.5 * $paths and .stats.diverged == 0' r.json || {
		jq -c '.incomplete, .stats' r.json
		return 1
	}
	"$EXPLORE_PROGRAMS/$1-enumerate" | sort >all
	[ "$(wc -l <all)" -eq "$2" ]
	"$EXPLORE_PROGRAMS/$1-enumerate" suite/*/stdin | sort | diff all -
}

@test "a table in PM whose slot depends on the input: exactly the paths that there are" {
	ends slots 574
}

@test "chains in PM: exactly the paths that there are" {
	ends chains 559
}

@test "a checksum by table: all paths behind it, in one run each" {
	head -c 12 /dev/zero >seed
	both crc "$(marked crc)" --sym-stdin 12 --seed seed
	jq -e '.incomplete == null and .stats.paths == 4 and .stats.runs == 4' r.json
}

@test "an argument" {
	both args "$(marked args)" --sym-arg 2 -- slow
}

@test "an environment variable" {
	MODE=ab both env "$(marked env)" --sym-env MODE
}

@test "string functions, numbers and a jump table" {
	printf 'set 5555' >seed
	explore strings --sym-stdin 8 --seed seed
	finds "$(marked strings 1)"
	finds "$(marked strings 2)"
	explore strings-fixed --sym-stdin 8 --seed seed
	finds_nothing
}

@test "a program with threads" {
	both threads "$(marked threads)" --sym-stdin 1
}

@test "a program that forks" {
	both forks "$(marked forks)" --sym-stdin 1
}

@test "input that goes through a pipe, a FIFO, Unix sockets, a thread or a file and back" {
	for how in pipe fifo pair socket messages thread file nothing; do
		explore channels --sym-stdin 4 -- "$how"
		finds "$(marked channels)"
		[ "$(cat d/findings/*/stdin)" = deep ]
		jq -e '.incomplete == null' r.json
	done
	explore channels-fixed --sym-stdin 4 -- pipe
	finds_nothing
}

# not_followed HOW WORDS: nothing is found, and it is said why that proves nothing.
not_followed() {
	rm -rf pool d
	run -3 holdfast explore -j 1 -o d --incomplete error --sym-stdin 4 --json r.json -- "$EXPLORE_PROGRAMS/channels" pool "$1"
	finds_nothing
	output_has "0 branches left to try"
	output_has "incomplete: input bytes left $2 at by_$1 (channels.c:"
	jq -e --arg words "input bytes left $2 at by_$1" '.incomplete | startswith($words)' r.json
}

@test "input that another process gets is not followed, which is said" {
	not_followed other "through a pipe to another process"
	output_has "(channels.c:$(grep -n LEFT "$HOLDFAST_SOURCE/tests/explore/channels.c" | cut -d: -f1))"
	not_followed sharer "through a pipe to another process"
	not_followed child "to a child process"
	not_followed memory "through memory that another process shares"
	not_followed mapping "through a file that is mapped later"
	not_followed event "through the kernel (splice, sendmmsg, an eventfd, a message queue)"
	not_followed many "through the kernel (splice, sendmmsg, an eventfd, a message queue)"
	not_followed splice "through the kernel (splice, sendmmsg, an eventfd, a message queue)"
}

@test "floating point is not followed, which is said; the rest is" {
	both floats "$(marked floats)" --sym-stdin 2
	run holdfast explore -j 1 -o e --max-paths 10 --sym-stdin 2 -- "$EXPLORE_PROGRAMS/floats" pool
	output_has "not followed"
}

@test "time and random numbers: --pin makes runs alike" {
	both clock "$(marked clock)" --pin --sym-stdin 1
	jq -e '.stats.diverged == 0' r.json
}

@test "a program that ignores its input" {
	run -0 holdfast explore -j 1 -o d --sym-stdin 4 -- "$EXPLORE_PROGRAMS/ignores" pool
	output_has "never used the symbolic input"
}

@test "recovery on any image: the place that is not checked leads out of the pool" {
	"$EXPLORE_PROGRAMS/recover" good make
	for name in recover recover-fixed; do
		rm -rf d
		cp good pool
		report_json explore r.json -j 1 -o d --max-paths 300 --sym-pm pool:0-96 -- "$EXPLORE_PROGRAMS/$name" pool
		if [ $name = recover ]; then
			finds "$(marked recover)" program-crash
			cmp good pool
		else
			finds_nothing
		fi
	done
	rm -rf d
	report_json explore r.json -j 1 -o d --max-paths 300 --sym-pm pool:0-96 -- "$EXPLORE_PROGRAMS/recover" pool
	id=$(jq -r '.findings[0].id' r.json)
	cp "$(ls -d d/findings/"$id"/pm-*)" bad
	status=0
	"$EXPLORE_PROGRAMS/recover" bad || status=$?
	[ "$status" -eq 139 ]
	"$EXPLORE_PROGRAMS/recover-fixed" bad || [ $? -eq 1 ]
}

@test "a server whose packets are in part symbolic" {
	port=$((20000 + (BASHPID * 7 + RANDOM) % 20000))
	kv=$CORPUS/raw/kvserver/BUG_KVSERVER_TOP_UNFLUSHED
	packets=('put 1234567890123456789 1234567890123456789\n' 'put 1234567890123456780 $1:19\n')
	printf '%b' "${packets[0]}" "${packets[1]/'$1:19'/         1234567890}" >seed
	report_json explore r.json -j 1 -o d --max-paths 2000 --max-findings 1 --port "$port" --range 0x20-0x39 --packet "${packets[0]}" \
		--packet "${packets[1]}" --seed seed -- "$kv" serve pool "$port"
	line=$(grep -n 'BUG(kvserver-top-unflushed)' "$HOLDFAST_SOURCE/corpus/raw/kvserver/kvserver.c" | cut -d: -f1)
	finds "$line"
	jq -e '[.findings[].witness.path] | min > 1' r.json
}

@test "a libpmemobj program that reads commands from a symbolic file" {
	printf 'put 7 11\nput 7 2\n' >ops
	report_json explore r.json -j 1 -o d --max-paths 300 --max-findings 1 --sym-file ops:9-17 -- \
		"$CORPUS/pmemobj/queue/BUG_QUEUE_NODE_SHORT" run pool ops
	line=$(grep -n 'BUG(queue-node-short)' "$HOLDFAST_SOURCE/corpus/pmemobj/queue/queue.c" | cut -d: -f1)
	finds "$line"
	[ "$(cat ops)" = $'put 7 11\nput 7 2' ]
}
