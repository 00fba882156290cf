#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Coming from other tools: pmemcheck's macros without its header.
load check-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR
	build "$BIN/annotated" "$PROGRAMS/annotated.c" -I "$HOLDFAST_SOURCE/include" -Wall -Wextra -Werror
}

@test "pmemcheck's macros: nothing outside, memory, flushes and fences under Holdfast" {
	run -0 "$BIN/annotated" lost
	[ "$output" = "mapped 0" ]
	run -1 holdfast check -- "$BIN/annotated" lost
	output_has "mapped 1"
	output_has "annotated.c:$(grep -n '@lost' "$PROGRAMS/annotated.c" | cut -d: -f1)"
	output_has "1 error"
	run -0 holdfast check -- "$BIN/annotated" clean
	run -0 holdfast check -- "$BIN/annotated" tx
	run -0 holdfast record -o rec -- "$BIN/annotated" tx
	run -0 holdfast dump --events rec
	output_has "tx-begin"
	output_has "tx-add"
}

@test "pmemcheck's macros compile in C and C++, with both compilers, and to nothing" {
	for compiler in gcc clang; do
		$compiler -std=c11 -pedantic -Wall -Wextra -Werror -I "$HOLDFAST_SOURCE/include" -fsyntax-only "$PROGRAMS/annotated.c"
		$compiler -x c++ -std=c++17 -Wall -Wextra -Werror -I "$HOLDFAST_SOURCE/include" -fsyntax-only "$PROGRAMS/annotated.c"
	done
	gcc -DHOLDFAST_DISABLE -Wall -Wextra -Werror -I "$HOLDFAST_SOURCE/include" -o disabled "$PROGRAMS/annotated.c"
	run -0 ./disabled
	[ "$output" = "mapped 0" ]
}
