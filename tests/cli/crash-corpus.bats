#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Crash campaigns on programs of the corpus: a server, Debian's libpmemobj, msync, absolute pointers.
load crash-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR/bin PMEM_IS_PMEM_FORCE=1
	build_corpus raw/kvserver/clean raw/kvserver/BUG_KVSERVER_LINK_EARLY raw/log/clean raw/log/BUG_LOG_TAIL_BEFORE_BODY \
		pmemobj/rbtree/clean pmemobj/rbtree/BUG_RBTREE_COUNT_OUTSIDE msync/wal/clean
}

ops() {
	echo "$HOLDFAST_SOURCE/corpus/$1"
}

# names REPORT PROGRAM MARKER: a finding has the marked statement as the store that survives or one that is lost.
names() {
	local line
	line=$(grep -n "BUG($3)" "$HOLDFAST_SOURCE/corpus/$2" | cut -d: -f1)
	jq -e --argjson line "$line" --arg file "$(basename "$2")" 'any(.findings[];
		any((.stack, (.related[] | select(.role == "persisted" or .role == "lost") | .stack))[];
		.line == $line and (.file // "" | endswith($file))))' "$1" >/dev/null
}

# as_user FOLDER COMMAND…: root as nobody, others as themselves.
as_user() {
	local where=$1
	shift
	if [ "$(id -u)" -eq 0 ]; then
		as_nobody "$where" "$@"
	else
		(cd "$where" && "$@")
	fi
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# server WHO FLAG REPORT: the server, worked by a client; as recovery, the server judged by a client.
server() {
	local who=$1 bin=$BIN/raw/kvserver/$2 report=$3 port
	port=$(free_port)
	home=$(mktemp -d /tmp/holdfast-test-server.XXXXXX)
	printf 'put 1 11\nput 2 22\nput 3 33\nput 1 44\n' >"$home/ops"
	cp "$bin" "$home/kvserver"
	[ "$who" = root ] || [ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$home"
	local command=("$HOLDFAST" crash -q -o t --json r.json --budget 150 --random 2 --port "$port"
		--client "./kvserver client $port ops" --stop TERM
		--recover "./kvserver serve pool $port" --recover-client "./kvserver client $port ops && ./kvserver recover pool"
		-- ./kvserver serve pool "$port")
	status=0
	if [ "$who" = root ]; then
		(cd "$home" && "${command[@]}") >out 2>err || status=$?
	else
		as_user "$home" "${command[@]}" >out 2>err || status=$?
	fi
	cp "$home/r.json" "$report" || cat err
	# every finding replays
	if [ "$status" -eq 1 ]; then
		(cd "$home" && "$HOLDFAST" replay "$(first_id r.json)" t >replay.out 2>&1) || replayed=$?
	fi
	rm -rf "$home"
}

@test "a server: clean, as root" {
	server root clean r.json
	[ "$status" -eq 0 ]
	jq -e '(.findings | length) == 0 and .stats.tested > 20' r.json
	wait_nothing_left
}

@test "a server: its bug is found, as root and as an ordinary user" {
	for who in root user; do
		[ $who = user ] || [ "$(id -u)" -eq 0 ] || continue
		replayed=0
		server $who BUG_KVSERVER_LINK_EARLY r.json
		[ "$status" -eq 1 ]
		names r.json raw/kvserver/kvserver.c kvserver-link-early
		[ "$replayed" -eq 1 ]
		wait_nothing_left
	done
}

@test "a libpmemobj program: clean, and its bug is found and replays" {
	crash_json r.json -o t --budget 150 --random 2 --recover "$BIN/pmemobj/rbtree/clean recover $pool" \
		-- "$BIN/pmemobj/rbtree/clean" run "$pool" "$(ops pmemobj/rbtree/ops/put.ops)"
	jq -e '(.findings | length) == 0 and .stats.tested > 100' r.json
	rm -f "$pool"
	crash_json r.json -o u --budget 150 --random 2 --recover "$BIN/pmemobj/rbtree/BUG_RBTREE_COUNT_OUTSIDE recover $pool" \
		-- "$BIN/pmemobj/rbtree/BUG_RBTREE_COUNT_OUTSIDE" run "$pool" "$(ops pmemobj/rbtree/ops/put.ops)"
	names r.json pmemobj/rbtree/rbtree.c rbtree-count-outside
	run -1 holdfast replay "$(first_id r.json)" u
	wait_nothing_left
}

@test "a libpmemobj program as an ordinary user" {
	home=$(mktemp -d /tmp/holdfast-test-user.XXXXXX)
	cp "$BIN/pmemobj/rbtree/BUG_RBTREE_COUNT_OUTSIDE" "$home/rbtree"
	cp "$(ops pmemobj/rbtree/ops/put.ops)" "$home/ops"
	[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$home"
	run -1 as_user "$home" "$HOLDFAST" crash -o t --json r.json --budget 150 --random 2 --recover "./rbtree recover pool" \
		-- ./rbtree run pool ops
	cp "$home/r.json" r.json
	rm -rf "$home"
	names r.json pmemobj/rbtree/rbtree.c rbtree-count-outside
	wait_nothing_left
}

@test "a raw program: exhaustively, clean and not" {
	crash_json r.json -o t --strategy exhaustive --recover "$BIN/raw/log/clean recover $pool" \
		-- "$BIN/raw/log/clean" run "$pool" "$(ops raw/log/ops/put.ops)"
	jq -e '(.findings | length) == 0 and .incomplete == null' r.json
	rm -f "$pool"
	crash_json r.json -o u --recover "$BIN/raw/log/BUG_LOG_TAIL_BEFORE_BODY recover $pool" \
		-- "$BIN/raw/log/BUG_LOG_TAIL_BEFORE_BODY" run "$pool" "$(ops raw/log/ops/put.ops)"
	names r.json raw/log/log.c log-tail-before-body
}

@test "reads: which lines a command reads before it writes them, and nothing else" {
	local bin=$BIN/raw/log/clean
	"$bin" run "$pool" "$(ops raw/log/ops/put.ops)" >/dev/null
	holdfast reads -- "$bin" recover "$pool" >out 2>err
	[ "$(tail -n 1 out)" = end ]
	sed '$d' out | sort -u >lines
	[ "$(wc -l <lines)" -eq "$(($(wc -l <out) - 1))" ]
	! grep -vE "^$pool 0x[0-9a-f]*[048c]0$" lines
	grep -qx "$pool 0x0" lines
	run -3 holdfast reads -- ./no-such-program
	[ -z "$(find . -name '*.hft')" ]
	nothing_left
}

@test "exhaustive: states that recovery cannot tell apart are one" {
	local bin=$BIN/raw/log/clean
	holdfast record -q -o t -- "$bin" run "$pool" "$(ops raw/log/ops/compact.ops)" >/dev/null
	crash_json r.json --budget 3000 --strategy exhaustive --recover "$bin recover $pool" t
	jq -e '.incomplete == null and .stats.possible_log10 > 4 and .stats.tested < 1000' r.json
	nothing_left
}

@test "mmap and msync: only what was synced is safe, and that is enough" {
	crash_json r.json -o t --model msync --budget 200 --random 2 --recover "$BIN/msync/wal/clean recover $pool" \
		-- "$BIN/msync/wal/clean" run "$pool" "$(ops msync/wal/ops/two.ops)"
	jq -e '(.findings | length) == 0 and .stats.tested > 5' r.json
}

@test "exhaustive without namespaces: what recovery reads cannot be told, and nothing is left out" {
	local bin=$BIN/raw/log/clean
	holdfast record -q -o t -- "$bin" run "$PWD/pool" "$(ops raw/log/ops/compact.ops)" >/dev/null
	crash_json r.json -j 1 --budget 1000 --view subst --strategy exhaustive --recover "$bin recover {pool}" t
	jq -e '.stats.tested >= 1000' r.json
	nothing_left
}
