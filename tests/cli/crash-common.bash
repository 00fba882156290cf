# SPDX-License-Identifier: BSD-3-Clause
# For crash.bats, campaign.bats and crash-corpus.bats: programs-crash/app.c as $BIN/app, programs of
# the corpus in $BIN too, and what a crash test must not leave behind.
load common

PROGRAMS=$HOLDFAST_SOURCE/tests/cli/programs-crash
APP_SOURCE=$PROGRAMS/app.c

# A folder that an ordinary user can reach, too.
build_app() {
	export BIN=$BATS_FILE_TMPDIR/bin
	mkdir -p "$BIN"
	${CC:-cc} -g -O0 -mclflushopt -o "$BIN/app" "$APP_SOURCE"
}

# build_corpus PROGRAM/FLAG…
build_corpus() {
	PYTHONDONTWRITEBYTECODE=1 make -s -C "$HOLDFAST_SOURCE/corpus" OUT="$BIN" INCLUDE="$HOLDFAST_SOURCE/include" "${@/#/$BIN/}"
}

# crash_json REPORT OPTIONS…: quiet, any verdict but an error.
crash_json() {
	report_json crash "$@"
}

# marked WAY ROLE: the line of app.c or apart.c that bears the mark.
marked() {
	grep -hn "@$1 $2 " "$APP_SOURCE" "$PROGRAMS/apart.c" | cut -d: -f1
}

# cause REPORT [FILTER]: "KIND persisted LINE lost LINE" of each finding, sorted.
cause() {
	jq -r "[.findings[] ${2:+| select($2)}] | .[] | .kind + ([.related[] | select(.role == \"persisted\" or .role == \"lost\") |
		\" \(.role) \(.location.line // 0)\"] | join(\"\"))" "$1" | sort
}

# cause_of KIND WAY: what cause must print for it.
cause_of() {
	echo "$1 persisted $(marked "$2" persisted) lost $(marked "$2" lost)"
}

# What a campaign found, without what differs from run to run.
essence() {
	jq -S '[.findings[] | {id, kind, message, cause: [.related[] | {role, line: .location.line}]}] | sort_by(.id)' "$1"
}

same_findings() {
	diff <(essence "$1") <(essence "$2")
}

# The first finding's id.
first_id() {
	jq -r '.findings[0].id' "$1"
}

# Everything that a sandbox could leave behind: files, mounts, and processes started from here.
# Other tests run at the same time: what a process still has open is theirs.
leftovers() {
	local folder
	find /tmp /dev/shm "${TMPDIR:-/tmp}" -maxdepth 1 -newer "$BATS_TEST_TMPDIR/.before" \
		\( -name 'holdfast-??????' -o -name 'holdfast-reads.*' -o -name 'holdfast-test-litter' \) 2>/dev/null |
		sort -u | while read -r folder; do
		find /proc/[0-9]*/fd -lname "$folder*" 2>/dev/null | grep -q . || [ ! -e "$folder" ] || echo "$folder"
	done
	grep -vxFf "$BATS_TEST_TMPDIR/.before" /proc/self/mountinfo | grep -e ' - overlay ' -e "$BATS_TEST_TMPDIR" || true
	processes
}

# What a test starts has CRASH_TEST in its environment.
processes() {
	local p args
	for p in $(env -u CRASH_TEST grep -lz "^CRASH_TEST=$BATS_TEST_TMPDIR\$" /proc/[0-9]*/environ 2>/dev/null); do
		args=$(tr '\0' ' ' 2>/dev/null <"${p%/environ}/cmdline") || continue
		[ -z "$args" ] || echo "process ${p//[!0-9]/}: $args"
	done
}

nothing_left() {
	local left
	left=$(leftovers)
	[ -z "$left" ] || {
		printf 'left behind:\n%s\n' "$left"
		return 1
	}
}

# A moment after the end: the kernel takes namespaces down in its own time.
wait_nothing_left() {
	wait_for nothing_left >/dev/null || nothing_left
}

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	cat /proc/self/mountinfo >.before
	pool=$BATS_TEST_TMPDIR/pool
	export CRASH_TEST=$BATS_TEST_TMPDIR
}

teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || [ ! -e err ] || cat err
	[ -z "${pid:-}" ] || kill -KILL -- "-$pid" 2>/dev/null || true
}
