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

@test "holdfast killed outright takes the program along; the trace is known to be cut short" {
	background "$HOLDFAST" record -o t -- "$VICTIM" pool flood 3000000 touch ready wait .
	wait_for test -e ready
	program=$(pgrep -P "$pid")
	kill -KILL "$pid"
	wait "$pid" || true
	gone() { ! kill -0 "$program"; }
	wait_for gone
	run holdfast dump t
	output_has "Recorded   cut short"
}

@test "holdfast killed outright: what was done 200 ms before is in the trace" {
	background "$HOLDFAST" record -o t -- "$VICTIM" pool store 30 touch ready wait .
	wait_for test -e ready
	kept() { holdfast dump t | grep -q "store 30"; }
	wait_for kept # while it runs
	kill -KILL "$pid"
	wait "$pid" || true
	kept
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

@test "Ctrl-C typed at a terminal reaches the program exactly once" {
	needs_terminal
	cat >count <<-'END'
		#!/bin/sh
		n=0
		trap 'n=$((n + 1)); : >came' INT
		: >ready
		while [ ! -e enough ]; do sleep 0.05; done
		echo "in all: $n"
	END
	chmod +x count
	cat >type <<-'END'
		import os, pty, sys, time
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], ["holdfast", "record", "-q", "-o", "t", "--", "./count"])
		while not os.path.exists("ready"):
		    time.sleep(0.02)
		os.write(fd, b"\x03")
		while not os.path.exists("came"):
		    time.sleep(0.02)
		time.sleep(0.5)  # a second one would come as well
		open("enough", "w").close()
		try:
		    while text := os.read(fd, 4096):
		        print(text.decode(), end="")
		except OSError:
		    pass
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
	run -0 timeout 600 python3 type "$HOLDFAST"
	output_has "in all: 1"
	is_whole t
}
