# SPDX-License-Identifier: BSD-3-Clause
# Shared by the bats files. Each test runs in its own empty folder.
#   HOLDFAST         the program under test        VICTIM          a program to record, victim.c
#   HOLDFAST_SOURCE  the source tree               VICTIM_STATIC   the same, linked statically

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
}

holdfast() {
	"$HOLDFAST" "$@"
}

# jq 1.6 with -e takes it for a success that there was no input: what failed to print would pass.
jq() {
	local out status=0
	[[ $1 == -e || $1 == -se ]] || { command jq "$@"; return; }
	out=$(command jq "$@") || status=$?
	[ -n "$out" ] || return 4
	printf '%s\n' "$out"
	return $status
}

# campaign_setting DIR KEY: as the campaign in this folder was started with.
campaign_setting() {
	python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1] + "/campaign.db").execute("select value from setting where key = ?", sys.argv[2:]).fetchone()[0])' "$@"
}

# A bare chroot has no /dev/pts.
needs_terminal() {
	script -qec true /dev/null >/dev/null 2>&1 || skip "no pseudo-terminal"
}

# as_nobody FOLDER COMMAND…: there, as another user than root; holdfast is one that this user can run.
as_nobody() {
	local where=$1 public=$HOLDFAST
	shift
	if ! setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$HOLDFAST"; then
		public=$(mktemp -d /tmp/holdfast-test-public.XXXXXX)
		cp -rL "$HOLDFAST" "${HOLDFAST%/*}/libexec" "$public"
		chmod -R go+rX "$public"
		set -- "${@/#"$HOLDFAST"/$public/holdfast}"
	fi
	local status=0
	(cd "$where" && setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$where" "$@") || status=$?
	[ "$public" = "$HOLDFAST" ] || rm -rf "$public"
	return "$status"
}

# output_has TEXT: the output of `run` contains it.
output_has() {
	[[ $output == *"$1"* ]] && return
	printf 'expected in the output: %s\nbut it is:\n%s\n' "$1" "$output"
	return 1
}

output_lacks() {
	[[ $output != *"$1"* ]] && return
	printf 'not expected in the output: %s\nbut it is:\n%s\n' "$1" "$output"
	return 1
}

# report_json VERB REPORT OPTIONS…: quiet, any verdict but an error of ours.
report_json() {
	local verb=$1 report=$2 status=0
	shift 2
	holdfast "$verb" -q --json "$report" "$@" >out 2>err || status=$?
	[ "$status" -le 1 ] || {
		cat err
		return 1
	}
	jq -e '.schema == 1' "$report" >/dev/null
}

# wait_for COMMAND…: until it succeeds, minutes if the machine is slow.
wait_for() {
	local i
	for ((i = 0; i < 6000; i++)); do
		"$@" 2>/dev/null && return
		sleep 0.02
	done
	echo "waited in vain for: $*"
	return 1
}

# background COMMAND…: its own process group, signals as in a fresh shell; the pid is in $pid.
background() {
	env --default-signal setsid "$@" >out 2>err 3>&- &
	pid=$!
}

# is_whole DIR: a readable trace of a recording that ended in order.
is_whole() {
	run holdfast dump "$1"
	[ "$status" -eq 0 ] || {
		echo "$output"
		return 1
	}
	output_has "Recorded   whole"
}
