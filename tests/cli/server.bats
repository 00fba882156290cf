#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Programs that serve: --client, --port, --ready, --stop. The server is the corpus's.
load common

setup_file() {
	export KV=$BATS_FILE_TMPDIR/raw/kvserver
	PYTHONDONTWRITEBYTECODE=1 make -s -C "$HOLDFAST_SOURCE/corpus" "OUT=$BATS_FILE_TMPDIR" \
		"$KV/clean" "$KV/BUG_KVSERVER_ITEM_TWICE"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	port=$((20000 + (BASHPID * 7 + RANDOM) % 20000))
	printf 'put 1 11\nput 2 22\nget 1\n' >ops
	echo shutdown >shutdown
	export SERVER_TEST=$BATS_TEST_TMPDIR
}

# What a test starts has SERVER_TEST in its environment.
teardown() {
	[ -z "${pid:-}" ] || kill -KILL -- "-$pid" 2>/dev/null || true
	wait_for nothing_runs
}

nothing_runs() {
	! env -u SERVER_TEST grep -qz "^SERVER_TEST=$BATS_TEST_TMPDIR\$" /proc/[0-9]*/environ 2>/dev/null
}

ended() {
	status=0
	wait "$pid" || status=$?
}

@test "a server is recorded while its client runs, and then stopped" {
	run -0 holdfast record -o t --port "$port" --client "$KV/clean client $port ops" -- \
		"$KV/clean" serve pool "$port"
	output_has "listening $port"
	output_has $'new\nnew\n11'
	output_lacks signal
	output_lacks "client ended"
	is_whole t
	output_has "op-begin 3, op-end 3"
	output_has "killed by SIGTERM"
	! pgrep -f "serve pool $port"
}

@test "--ready: the output passes through, each stream as it came" {
	run -0 --separate-stderr holdfast record -q -o t --ready "^listening $port\$" \
		--client "$KV/clean client $port ops >replies" -- "$KV/clean" serve pool "$port"
	[ "$output" = "listening $port" ]
	[ -z "$stderr" ]
	[ "$(tr '\n' ' ' <replies)" = "new new 11 " ]
	is_whole t

	run -0 --separate-stderr holdfast record -q -o u --ready '^ready .*now$' --client 'echo client' -- \
		"$VICTIM" pool say 'not ready now' warn 'ready, are we?' warn 'ready right now' say more store 3 wait .
	[ "$stderr" = $'ready, are we?\nready right now' ]
	[[ $output == *"not ready now"* && $output == *client* ]]
}

@test "--port and --ready together: both must be true" {
	run -3 holdfast record -o t --port "$port" --ready listening --ready-timeout 1 --client true -- \
		"$KV/clean" serve pool 0
	output_has "nothing listened on port $port"
	run -0 holdfast record -o t --port "$port" --ready listening --client "$KV/clean client $port ops" -- \
		"$KV/clean" serve pool "$port"
}

@test "much output passes through" {
	run -0 holdfast record -q -o t --ready 'last$' --client 'echo done' -- \
		sh -c 'i=0; while [ $i -lt 3000 ]; do echo "$i xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; i=$((i + 1)); done; echo last; exec sleep 100'
	[ "$(grep -c xxxx <<<"$output")" -eq 3000 ]
	output_has done
}

@test "--stop with a command, or a client that ends the server: it ends as it likes" {
	run -0 holdfast record -o t --port "$port" --client "$KV/clean client $port ops" \
		--stop "$KV/clean client $port shutdown" -- "$KV/clean" serve pool "$port"
	is_whole t
	output_has "exit status 0"
	cat shutdown >>ops
	run -0 holdfast record -o u --port "$port" --client "$KV/clean client $port ops" --stop true -- \
		"$KV/clean" serve pool "$port"
	is_whole u
	output_has "exit status 0"
}

@test "--stop with a signal, by name or number" {
	for sig in INT SIGINT 2; do
		run -0 holdfast record -f -o t --ready yes --client true --stop $sig -- \
			"$VICTIM" pool say yes wait .
		output_lacks "ended by signal"
		is_whole t
		output_has "killed by SIGINT"
	done
	run -2 holdfast record -f -o t --ready yes --client true --stop INT -- "$VICTIM" pool trap 2 say yes wait .
	is_whole t
	output_has "exit status 2"
}

@test "a server that dies from another signal is said to" {
	run -134 holdfast record -o t --ready yes --client true --stop true -- "$VICTIM" pool say yes raise 6
	output_has "ended by signal 6"
}

@test "the client's failure is said" {
	run -0 holdfast record -o t --ready yes --client 'echo hopeless; exit 7' -- "$VICTIM" pool say yes wait .
	output_has hopeless
	output_has "the client ended with status 7"
	run -0 holdfast record -o u --ready yes --client 'no-such-client' -- "$VICTIM" pool say yes wait .
	output_has "the client ended with status 127"
	run -0 holdfast record -o v --ready yes --client 'kill -KILL $$' -- "$VICTIM" pool say yes wait .
	output_has "the client ended with status 137"
	run -0 holdfast record -o w --ready yes --client true --stop 'exit 5' -- \
		"$VICTIM" pool say yes touch ready
	output_lacks "client ended"
}

@test "the client runs outside the tracer, and does not share standard input" {
	unset PMEM_IS_PMEM_FORCE
	run -0 holdfast record -q -o t --ready "for the server" --client 'env; cat' -- \
		"$VICTIM" pool cat . wait . <<<"for the server"
	output_has "for the server"
	output_lacks VALGRIND
	output_lacks PMEM_IS_PMEM_FORCE
}

@test "a server that ends before it is ready is an error" {
	run -3 holdfast record -o t --port "$port" --client true -- "$VICTIM" pool say oops exit 5
	output_has oops
	output_has "ended with status 5 before it was ready: nothing listened on port $port"
	[ ! -e t ]
	run -3 holdfast record -o t --ready yes --client 'touch client' -- "$VICTIM" pool say no
	output_has "ended with status 0 before it was ready: no line of its output matched 'yes'"
	[ ! -e t ]
	[ ! -e client ]
}

@test "a server that takes too long to get ready is an error" {
	run -3 holdfast record -o t --ready yes --ready-timeout 1 --client true -- "$VICTIM" pool say no wait .
	output_has "not ready after 1 second: no line of its output matched 'yes'"
	[ ! -e t ]
	nothing_runs
}

@test "what cannot work is refused before anything runs" {
	run -2 holdfast record -o t --client true -- "$VICTIM" pool touch ran
	output_has "--client needs --port or --ready"
	run -2 holdfast record -o t --port 80 -- "$VICTIM" pool touch ran
	output_has "need --client"
	run -2 holdfast check --stop INT -- "$VICTIM" pool touch ran
	output_has "need --client"
	for bad in 0 65536 http 80x -1; do
		run -2 holdfast record -o t "--port=$bad" --client true -- "$VICTIM" pool touch ran
		output_has "from 1 to 65535"
	done
	run -2 holdfast record -o t --ready '(' --client true -- "$VICTIM" pool touch ran
	output_has "regular expression"
	background "$KV/clean" serve other "$port"
	wait_for grep -q listening out
	run -3 holdfast record -o t --port "$port" --client true -- "$VICTIM" pool touch ran
	output_has "something listens on port $port already"
	[ ! -e ran ]
	[ ! -e t ]
}

@test "nothing is left behind: not by the client, not by the server" {
	run -0 holdfast record -o t --ready yes --client 'sleep 1000 & setsid sleep 1000 & sleep 0.3' -- \
		"$VICTIM" pool say yes wait .
	nothing_runs
	run -0 holdfast record -o u --ready yes --client true -- \
		sh -c 'sleep 1000 & setsid sleep 1000 & echo yes; exec sleep 1000'
	nothing_runs
}

@test "a server, or a client, that does not end is killed" {
	run -137 holdfast record -o t --ready yes --client true --ready-timeout 10 -- \
		sh -c 'trap "" TERM; echo yes; while :; do sleep 0.1; done'
	output_has "did not end within 10 seconds"
	run -0 holdfast record -o u --ready yes --client 'exec sleep 1000' --ready-timeout 10 -- \
		"$VICTIM" pool say yes
	output_has "the client went on"
	output_has "the client ended with status 137"
	nothing_runs
}

@test "Ctrl-C ends both, whatever they are doing" {
	background "$HOLDFAST" record -o t --ready yes --client 'touch client; exec sleep 1000' -- \
		"$VICTIM" pool store 3 say yes wait .
	wait_for test -e client
	kill -INT -- "-$pid"
	ended
	[ "$status" -eq 130 ]
	is_whole t
	nothing_runs

	background "$HOLDFAST" record -o u --ready yes --client true -- "$VICTIM" pool touch here wait .
	wait_for test -e here
	kill -INT -- "-$pid"
	ended
	[ "$status" -eq 130 ]
	nothing_runs

	background "$HOLDFAST" record -o v --ready yes --client true --stop 'touch stopping; exec sleep 1000' -- \
		"$VICTIM" pool say yes wait .
	wait_for test -e stopping
	kill -TERM "$pid"
	ended
	nothing_runs
}

@test "holdfast killed outright takes server and client along" {
	background "$HOLDFAST" record -o t --ready yes --client 'touch client; exec sleep 1000' -- \
		"$VICTIM" pool store 3 say yes wait .
	wait_for test -e client
	kill -KILL "$pid"
	wait "$pid" || true
	wait_for nothing_runs
}

@test "a server that forks and leaves is followed" {
	run -0 holdfast record --follow-forks -o t --ready yes --client 'sleep 0.2' -- \
		sh -c "'$VICTIM' pool store 3 say yes wait . & exit 0"
	is_whole t
	output_has "store 3"
	nothing_runs
}

@test "check of a server finds the same as check of its trace" {
	run -0 holdfast check --port "$port" --client "$KV/clean client $port ops" -- \
		"$KV/clean" serve pool "$port"
	output_lacks "signal"
	run -1 holdfast check --json live.json --port "$port" \
		--client "$KV/clean client $port ops" -- "$KV/BUG_KVSERVER_ITEM_TWICE" serve bad "$port"
	output_has "kvserver.c"
	rm bad
	run -0 holdfast record -o t --port "$port" --client "$KV/clean client $port ops" -- \
		"$KV/BUG_KVSERVER_ITEM_TWICE" serve bad "$port"
	run -1 holdfast check --json trace.json t
	[ "$(jq -c '[.findings[].id]' live.json)" = "$(jq -c '[.findings[].id]' trace.json)" ]
	run holdfast check --ready yes --client 'exit 9' -- "$VICTIM" pool store 3 say yes wait .
	output_has "the client ended with status 9"
}
