#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# holdfast fix on the listings of HIPPOCRATES's paper: its own repairs, in the source.

load common

# Records listing N, repairs it into p.patch, and proves the patch: both compilers, and nothing is left to find or to repair.
repaired() { # N
	cp "$HOLDFAST_SOURCE"/tests/cli/programs-fix/{pool.h,"listing$1.c"} .
	cc -g -O1 -o prog "listing$1.c"
	holdfast record -q --profile-sites -o t -- ./prog pool
	run -0 holdfast fix --source . --patch p.patch t
	git apply p.patch
	for cc in clang gcc; do
		"$cc" -g -O1 -Wall -Wextra -Werror -o prog "listing$1.c"
	done
	rm pool
	holdfast record -q --profile-sites -o t2 -- ./prog pool
	run -0 holdfast check --fail-on error t2
	run -0 --separate-stderr holdfast fix --source . t2
	[ -z "$output" ]
}

# What the patch adds, without indentation, a statement a line.
added() {
	grep '^+[^+]' p.patch | sed 's/^+[[:space:]]*//; s/; /;\n/g'
}

@test "listing 3.1: a flush and a fence after the store" {
	repaired 31
	[ "$(added)" = "$(printf 'flush(oid, sizeof(*oid));\nfence();')" ]
}

@test "listing 3.2: the range that a library's function has written" {
	repaired 32
	[ "$(added)" = "$(printf 'flush(note->text, size);\nfence();')" ]
}

@test "listing 3.3: a fence behind the flush" {
	repaired 33
	[ "$(added)" = "fence();" ]
	grep -A1 'flush(pm, 1);$' listing33.c | tail -1 | grep '^	fence();$'
}

@test "listing 3.4: a flush before the fence" {
	repaired 34
	[ "$(added)" = "flush(&pm[0], sizeof(pm[0]));" ]
}

@test "listings 3.5 and 3.6: a copy of the functions for the one call with PM, and a fence behind it" {
	repaired 35
	[ "$(grep -c 'modify(vol_addr);' listing35.c)" = 1 ]
	grep -A1 '^	modify_pm(pm_addr);$' listing35.c | tail -1 | grep '^	fence();$'
	sed -n '/void update_pm(/,/^}/p' listing35.c | grep 'flush(&addr\[idx\], sizeof(addr\[idx\]));'
	sed -n '/void modify_pm(/,/^}/p' listing35.c | grep 'update_pm(addr, 3, 5);'
	[ "$(sed -n '/void update(char/,/^}/p' listing35.c | grep -c flush)" = 0 ]
	[ "$(holdfast dump --json t2 | grep -o '"flush":[0-9]*')" = '"flush":3' ] # two of start(), one of the copy
}
