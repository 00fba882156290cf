#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
load common

# The status of the job in $pid.
ended() {
	status=0
	wait "$pid" || status=$?
}

teardown() {
	[ -z "${pid:-}" ] || kill -KILL -- "-$pid" 2>/dev/null || true
}

@test "Ctrl-C stops the program and leaves a whole trace" {
	background "$HOLDFAST" record -o t -- "$VICTIM" pool store 10 touch ready wait .
	wait_for test -e ready
	kill -INT -- "-$pid"
	ended
	[ "$status" -eq 130 ]
	is_whole t
	output_has store
}

@test "a program that handles Ctrl-C ends as it likes" {
	background "$HOLDFAST" record -o t -- "$VICTIM" pool trap 2 touch ready wait .
	wait_for test -e ready
	kill -INT -- "-$pid"
	ended
	[ "$status" -eq 2 ]
	is_whole t
}

@test "a signal to holdfast alone is passed on" {
	for sig in TERM HUP INT; do
		background "$HOLDFAST" record -o "t$sig" -- "$VICTIM" pool store 1 touch "ready$sig" wait .
		wait_for test -e "ready$sig"
		kill "-$sig" "$pid"
		ended
		[ "$status" -eq $((128 + $(kill -l "$sig"))) ]
		is_whole "t$sig"
	done
}

@test "a program killed outright leaves a readable trace" {
	background "$HOLDFAST" record -o t -- "$VICTIM" pool store 10 touch ready wait .
	wait_for test -e ready
	kill -KILL "$(pgrep -P "$pid")"
	ended
	[ "$status" -eq 137 ]
	run -0 holdfast dump t
	output_has store
}

@test "holdfast killed outright takes the program along; the trace is known as incomplete" {
	background "$HOLDFAST" record -o t -- "$VICTIM" pool flood 3000000 touch ready wait .
	wait_for test -e ready
	program=$(pgrep -P "$pid")
	kill -KILL "$pid"
	wait "$pid" || true
	gone() { ! kill -0 "$program"; }
	wait_for gone
	run holdfast dump t
	output_has "incomplete"
}

@test "with --follow-forks a second Ctrl-C ends the wait for a daemon" {
	background "$HOLDFAST" record --follow-forks -o t -- \
		setsid "$VICTIM" pool store 3 daemon 60 touch ready
	wait_for test -e ready
	sleep 0.5
	kill -INT -- "-$pid"
	ended
	run -0 holdfast dump t
	output_has store
}
