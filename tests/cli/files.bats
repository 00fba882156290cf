#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Programs that keep their data in files, and sync them.
load crash-common

setup_file() {
	export BIN=$BATS_FILE_TMPDIR/bin
	mkdir -p "$BIN"
	${CC:-cc} -D_GNU_SOURCE -g -O0 -o "$BIN/syncs" "$PROGRAMS/syncs.c"
}

@test "every way to sync is recorded, of files and of folders" {
	mkdir w && cd w
	holdfast record -q -o ../t -- "$BIN/syncs"
	cd ..
	holdfast dump --events t | sed -n 's/.* node-sync *node=\([^ ]*\).*\(how=.*len=[0-9]*\).*/\1 \2/p' >syncs
	diff syncs - <<'END'
0 how=0 offset=0x0 len=0
0 how=1 offset=0x0 len=0
0 how=2 offset=0x0 len=4096
3 how=0 offset=0x0 len=0
1 how=0 offset=0x0 len=3
1 how=0 offset=0x3 len=3
2 how=1 offset=0x64 len=3
0 how=1 offset=0x7 len=2
none how=3 offset=0x0 len=0
none how=3 offset=0x0 len=0
END
}
