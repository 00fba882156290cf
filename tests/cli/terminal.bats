#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# On a terminal: the screen while a campaign runs, and lines no wider than it. The terminal is tmux's.
load check-common

setup_file() {
	command -v tmux >/dev/null || return 0
	export BIN=$BATS_FILE_TMPDIR/a-folder-with-a-long-name/and-another-one-in-it
	mkdir -p "$BIN"
	cp "$PROGRAMS/misuse.c" "$BIN"
	build "$BIN/misuse" "$BIN/misuse.c" -pthread
	${CC:-cc} -g -O1 -I "$HOLDFAST_SOURCE/include" -o "$BIN/notes" "$HOLDFAST_SOURCE/demo/notes.c"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	command -v tmux >/dev/null || skip "no tmux"
	needs_terminal
}

teardown() {
	for socket in "$BATS_TEST_TMPDIR"/tmux.*; do
		tmux -S "$socket" kill-server 2>/dev/null || :
	done
}

# terminal COLUMNS COMMAND: in a terminal of this width, a server of its own; its end leaves a file `ended`.
terminal() {
	SOCKET=$(mktemp -u tmux.XXXXXX)
	tmux -S "$SOCKET" -f /dev/null new-session -d -x "$1" -y 60 "unset NO_COLOR; TERM=xterm-256color; export TERM; $2; touch ended; sleep 600"
}

# What is on it, lines that it broke by itself put together again.
screen() {
	tmux -S "$SOCKET" capture-pane -p -J | sed 's/ *$//'
}

# until_screen TEXT: waits until it shows this.
until_screen() {
	for _ in $(seq 600); do
		! screen | grep -qF "$1" || return 0
		[ ! -e ended ] || break
		sleep 0.1
	done
	screen
	false
}

until_ended() {
	for _ in $(seq 600); do
		[ ! -e ended ] || return 0
		sleep 0.1
	done
	false
}

no_wider_than() {
	screen | python3 -c 'import sys
wide = [line for line in sys.stdin.read().splitlines() if len(line) > int(sys.argv[1])]
print(*wide, sep="\n")
sys.exit(bool(wide))' "$1"
}

@test "a campaign has a screen: strategy, causes, recoveries, time; it goes away at the end" {
	# Recoveries take their time, so that there is something to see.
	cat >recover <<-END
		#!/bin/sh
		[ ! -e slow ] || sleep 0.3
		exec "$BIN/notes" my.notes check
	END
	chmod +x recover
	touch slow
	terminal 70 "'$HOLDFAST' crash --jobs 1 --recover ./recover -- '$BIN/notes' my.notes add tea add milk done 1"
	until_screen "  causes      1"
	screen >shown
	grep -q '^crash: [a-z]*, point [0-9]* of [0-9]*, ' shown
	grep -Eq '^  strategy    [a-z]+ +part [0-9]+ of [0-9]+$' shown
	grep -Eq '^  recoveries  [0-9]+ +[0-9.]+ a second, [0-9]+ to find causes$' shown
	grep -Eq '^  causes      1 +the last new one [0-9]+ s ago$' shown
	grep -Eq '^  run time    [0-9]+ s +(about [0-9]+ .*|[?]) left$' shown
	no_wider_than 70
	[ "$(grep -c '^  run time' shown)" = 1 ]
	rm slow
	until_ended
	! screen | grep -q '^  run time'
	screen | grep -q '\[ordering\]'
}

@test "elsewhere there is a line now and then if asked for, and none if not" {
	HOLDFAST_PROGRESS=0.001 run -1 holdfast crash --recover "$BIN/notes my.notes check" -- "$BIN/notes" my.notes add tea add milk
	[[ $output =~ holdfast:\ crash:\ [a-z]+,\ point\ [0-9]+\ of ]]
	output_lacks "  run time"
	run holdfast crash --recover "$BIN/notes my.notes check" -- "$BIN/notes" my.notes add tea
	output_lacks "crash: "
}

@test "of long C++ names the scopes and arguments go, never the function" {
	cat >long.cc <<-'END'
		#include <fcntl.h>
		#include <immintrin.h>
		#include <sys/mman.h>
		#include <unistd.h>
		namespace storage_engine { namespace persistent_containers {
		template <typename Key, typename Value> struct concurrent_persistent_hash_table {
			Value *slot;
			__attribute__((noinline)) void insert_without_a_flush(const Key &key, const Value &value) { slot[key] = value; _mm_sfence(); }
		};
		} }
		int main(int, char **argv) {
			int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
			if (ftruncate(fd, 4096)) return 1;
			storage_engine::persistent_containers::concurrent_persistent_hash_table<unsigned long, unsigned long> table{(unsigned long *)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)};
			table.insert_without_a_flush(8, 7);
			_mm_clflush(table.slot);
		}
	END
	c++ -g -O0 -o long long.cc
	terminal 60 "'$HOLDFAST' check -- ./long pool"
	until_ended
	no_wider_than 60
	screen | grep -Eq '^  at long.cc:8.* in$|^  at long.cc:8.* in …::insert_without_a_flush'
	screen | grep -Eq '^    > …::insert_without_a_flush'
	! screen | grep -q 'storage_engine::persistent_containers::concurrent_persistent_hash_table$'
}

@test "lines of a report are no wider than the terminal: paths are shortened, functions are not" {
	for columns in 50 100; do
		terminal $columns "'$HOLDFAST' check -- '$BIN/misuse' pool missing-both"
		until_ended
		no_wider_than $columns
		screen | grep -Eq ' in missing_both$'
		screen | grep -Eq '…[^ ]*/misuse.c:80'
		screen | grep -Eq '^    > missing_both +[^ ]*misuse.c:80$'
		tmux -S "$SOCKET" kill-server
		rm ended pool
	done
	run -1 holdfast check -- "$BIN/misuse" pool missing-both
	output_has "> missing_both  $BIN/misuse.c:80" # not a terminal: whole
}

@test "help is no wider than the terminal" {
	terminal 70 "'$HOLDFAST' help init"
	until_ended
	no_wider_than 70
	screen | grep -q '^usage: holdfast init'
	run -0 holdfast help init
	[ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' <<<"$output")" -gt 80 ] # not a terminal
}
