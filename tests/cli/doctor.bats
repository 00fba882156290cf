#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Where namespaces are refused: programs-view/refuse.c makes such a place anywhere.
load common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR
	${CC:-cc} -O1 -D_GNU_SOURCE -o "$BIN/refuse" "$HOLDFAST_SOURCE/tests/cli/programs-view/refuse.c"
}

@test "here, where the tests run, nothing is missing" {
	run -0 holdfast doctor
	output_has "record"
	output_lacks "missing "
}

@test "JSON: one document, a row a check, with what it costs and how to mend it" {
	run -0 --separate-stderr holdfast doctor --json "$VICTIM"
	jq -e '.works and (.checks | length > 10) and (.checks | all(.name and .what and .found and .cost and .mend and .state))' <<<"$output"
	[ "$(jq -r '.checks[] | select(.name == "program") | .state' <<<"$output")" = ok ]
}

@test "a program with debug information, without it, and one that there is not" {
	cp "$VICTIM" stripped
	strip stripped
	[ "$(holdfast doctor --json "$VICTIM" | jq -r '.checks[] | select(.name == "debug-information") | .state')" = ok ]
	run -0 holdfast doctor ./stripped
	output_has "stripped has none"
	output_has "compile with -g"
	run -3 holdfast doctor ./nothing-here
	output_has "missing  program"
	run -2 holdfast doctor one two
	output_has "one program at a time"
}

@test "no Valgrind: status 3, with what to do; and a verb that fails says so" {
	export HOLDFAST_VALGRIND=/nonexistent/valgrind
	run -3 holdfast doctor
	output_has "missing  valgrind"
	output_has "apt install valgrind"
	output_has "no program can be run here"
	run -3 holdfast check -- "$VICTIM"
	output_has "this machine lacks: valgrind" # and perhaps more
	output_has "'holdfast doctor' says how to mend that"
	run -3 holdfast check -- ./nothing-here # which is not for want of Valgrind
	output_has "no such program: ./nothing-here"
	output_lacks "this machine lacks"
}

@test "namespaces are refused: what is less, and the view that is used" {
	"$BIN/refuse" true || skip "no filter of system calls is allowed here"
	run -0 "$BIN/refuse" "$HOLDFAST" doctor "$VICTIM_STATIC"
	output_has "through a preloaded library (--view preload)"
	output_has "less     user-namespaces"
	output_has "kernel.unprivileged_userns_clone"
	output_has "less     program-sandbox"
	holdfast record -q -o t -- "$VICTIM" pool >/dev/null 2>&1 || true
	run -3 "$BIN/refuse" "$HOLDFAST" crash --view mount --recover true t
	output_has "this machine lacks: user-namespaces, mount-namespaces, overlay;"
	run -3 "$BIN/refuse" "$HOLDFAST" crash --recover ./nothing-here t
	output_has "./nothing-here: not found"
	output_lacks "this machine lacks"
}

@test "a failure that is not the machine's says nothing of it" {
	run -3 holdfast check -- ./nothing-here
	output_lacks "this machine lacks"
}

@test "an ordinary user" {
	[ "$(id -u)" -eq 0 ] || skip "only root can become another user"
	local home
	home=$(mktemp -d /tmp/holdfast-test.XXXXXX)
	run -0 as_nobody "$home" "$HOLDFAST" doctor --json
	rmdir "$home"
	jq -e '.checks[] | select(.name == "sandbox") | .state == "ok"' <<<"$output"
}
