# SPDX-License-Identifier: BSD-3-Clause
# For check.bats and oracle.bats: the programs of programs-check/, built once a file, in $BIN.
load common

PROGRAMS=$HOLDFAST_SOURCE/tests/cli/programs-check

# build NAME SOURCE [OPTIONS]: from a folder of its own, so that paths in reports are short.
build() {
	local name=$1 source=$2
	shift 2
	case $source in
	*.cc) ${CXX:-c++} -g -O0 -mclflushopt -o "$name" "$source" "$@" ;;
	*) ${CC:-cc} -g -O0 -mclflushopt -o "$name" "$source" "$@" ;;
	esac
}

# oracle NAME SOURCE [OPTIONS]: a plug-in.
oracle() {
	build "$1" "$2" -shared -fPIC -I"$HOLDFAST_SOURCE/include" "${@:3}"
}

# marked FILE WAY…: "KIND FILE:LINE", sorted, of the lines that bear these marks.
marked() {
	local way file=$1
	for way in "${@:2}"; do
		sed -n "s|.*@$way \([a-z-]*\).*|\1|;T;=;p" "$PROGRAMS/$file" |
			paste - - | sed "s|\(.*\)\t\(.*\)|\2 $file:\1|"
	done | sort
}

# found REPORT.json [FILTER]: the same of what was found.
found() {
	jq -r "[.findings[] ${2:+| select($2)}] | sort_by(.kind, .location.line) | .[] |
		\"\(.kind) \(.location.file // \"?\" | sub(\".*/\"; \"\")):\(.location.line // 0)\"" "$1" | sort
}

# same COMMAND-A COMMAND-B: both print the same.
same() {
	diff <(eval "$1") <(eval "$2")
}

# check_json REPORT OPTIONS…: quiet, any verdict but an error of ours.
check_json() {
	report_json check "$@"
}

# is FILE LEVEL WORD…: these ways of the file's program, built plain and optimised, show what is marked, of this level, and
# nothing graver than a note besides.
is() {
	local how file=$1 level=$2
	shift 2
	for how in plain optimised; do
		check_json r.json -- "$BIN/$how" pool "$1"
		same "marked $file $*" "found r.json '.level == \"$level\"'" || { echo "$how"; return 1; }
		jq -e --arg level "$level" '[.findings[] | select(.level != $level and .level != "note")] == []' r.json
	done
}

# What must be equal between a live run and a recording of the same program, which has events of names, too.
essence() {
	jq -S '[.findings[] | {id, kind, level, count, message, data,
		file: .location.file, line: .location.line, function: .location.function,
		stack: [.stack[] | {function, line}],
		related: [.related[]? | {role, line: .location.line}]}]' "$1"
}
