#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# holdfast crash --shard and holdfast merge: a campaign in pieces finds what it finds in one.
load crash-common

setup_file() {
	build_app
	build_corpus raw/log/BUG_LOG_TAIL_BEFORE_BODY raw/level/BUG_LEVEL_TOKEN_FIRST
}

check() {
	echo "$BIN/app check $pool $*"
}

# findings REPORT
findings() {
	jq -r '.findings[] | "\(.id) \(.level) \(.kind) \(.message)"' "$1" | sort
}

# shards N DIR OPTIONS…: s1 … sN, of the recording DIR
shards() {
	local n=$1 from=$2
	shift 2
	for k in $(seq "$n"); do
		crash_json "s$k.json" -o "s$k" --shard "$k/$n" "$@" "$from"
	done
}

@test "two programs of the corpus in three shards: the same findings, with few runs more" {
	for pair in raw/log/BUG_LOG_TAIL_BEFORE_BODY:put raw/level/BUG_LEVEL_TOKEN_FIRST:insert; do
		bin=$BIN/${pair%:*}
		rm -rf t s1 s2 s3 whole all "$pool"
		holdfast record -q -o t -- "$bin" run "$pool" "$HOLDFAST_SOURCE/corpus/$(dirname "${pair%:*}")/ops/${pair#*:}.ops" >/dev/null
		crash_json whole.json -j 2 -o whole --recover "$bin recover $pool" t
		shards 3 t --recover "$bin recover $pool"
		[ ! -e t/campaign.db ]
		report_json merge all.json -o all s3 s1 s2
		[ "$(findings whole.json | wc -l)" -gt 0 ]
		diff <(findings whole.json) <(findings all.json)
		jq -e '.incomplete == null and .verb == "merge"' all.json
		# the parts together have done what the whole did
		[ "$(jq .stats.tested all.json)" -lt $(($(jq .stats.tested whole.json) / 3)) ]
		run -1 holdfast replay "$(first_id all.json)" all
	done
}

@test "shards that are missing, or did not end: said, incomplete, and what is there is found" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good order halves no-flush >/dev/null
	crash_json whole.json -o whole --recover "$(check)" t
	shards 3 t --recover "$(check)"
	report_json merge part.json -o part s1 s3
	jq -e '.incomplete == "shard 2 of 3 is missing"' part.json
	# whichever shard has found something
	[ -z "$(comm -23 <(jq -r '.findings[].id' s1.json s3.json | sort -u) <(jq -r '.findings[].id' part.json | sort -u))" ]
	# a part, and what it lacks
	report_json merge all.json -o all part s2
	diff <(findings whole.json) <(findings all.json)
	jq -e '.incomplete == null' all.json
	rm -rf s2
	crash_json s2.json -o s2 --shard 2/3 --budget 1 --recover "$(check)" t
	report_json merge cut.json -o cut s1 s2 s3
	jq -e '.incomplete | test("^shard 2 of 3 did not end .holdfast crash --resume s2.$")' cut.json
	crash_json s2.json --resume s2
	report_json merge again.json -o again s1 s2 s3
	diff <(findings whole.json) <(findings again.json)
}

@test "what does not belong together is refused" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good order >/dev/null
	rm -f "$pool"
	holdfast record -q -o u -- "$BIN/app" run "$pool" good order >/dev/null
	shards 2 t --recover "$(check)"
	crash_json x.json -o other --shard 2/2 --recover "$(check)" u
	run -2 holdfast merge -o m s1 other
	output_has "s1 and other are campaigns on different recordings: record once"
	[ ! -e m ]
	crash_json x.json -o settings --shard 2/2 --seed 7 --recover "$(check)" t
	run -2 holdfast merge -o m s1 settings
	output_has "s1 and settings are shards of different campaigns: --seed is '' in the first and '7' in the second"
	crash_json x.json -o three --shard 2/3 --recover "$(check)" t
	run -2 holdfast merge -o m s1 three
	output_has "s1 is one of 2 shards, three one of 3"
	cp -r s1 twin
	run -2 holdfast merge -o m s1 twin s2
	output_has "shard 1 of 2 is there twice: s1 and twin"
	crash_json x.json -o whole --recover "$(check)" t
	run -2 holdfast merge -o m s1 whole
	output_has "whole holds no shard of a campaign"
	cp -r s2 damaged
	printf 'damaged, and not a database' >damaged/campaign.db
	run -2 holdfast merge -o m s1 damaged
	output_has "damaged/campaign.db"
	run -2 holdfast merge -o m s1 nowhere
	run -2 holdfast merge
	run -2 holdfast merge -o s2 s1 s2
	for bad in 0/3 4/3 1 1/ /3x x/3 1/0 1/2000 1,2/1; do
		run -2 holdfast crash -o v --shard "$bad" --recover "$(check)" t
		output_has "--shard: '$bad' is not K/N"
	done
	[ ! -e m ]
}

@test "test in shards: what check suspects is proved as in one piece" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good no-flush order >/dev/null
	report_json test whole.json -o whole --recover "$(check)" t
	for k in 1 2; do
		report_json test "s$k.json" -o "s$k" --shard "$k/2" --recover "$(check)" t
	done
	report_json merge all.json -o all s1 s2
	diff <(findings whole.json) <(findings all.json)
}

@test "a shard is interrupted, and goes on" {
	holdfast record -q -o t -- "$BIN/app" run "$pool" good order halves no-flush many >/dev/null
	crash_json s2.json -o s2 --shard 2/2 --recover "$(check slow slow)" t
	background "$HOLDFAST" crash -o s1 --shard 1/2 --recover "$(check slow slow)" t
	tested() { [ "$(holdfast status --json s1 | jq '.tested // 0')" -gt 4 ]; }
	wait_for tested
	kill -KILL "$pid" 2>/dev/null || true # it may have been quick
	wait "$pid" 2>/dev/null || true
	run -2 holdfast crash --resume --shard 2/2 s1
	output_has "--shard is '1/2' in this campaign"
	crash_json s1.json --resume s1
	jq -e '.stats.resumed > 3 and .incomplete == null' s1.json
	report_json merge all.json -o all s1 s2
	crash_json whole.json --recover "$(check slow slow)" t
	diff <(findings whole.json) <(findings all.json)
}

@test "an array of jobs under Slurm" {
	command -v sbatch >/dev/null && sinfo >/dev/null 2>&1 || skip "there is no Slurm here"
	holdfast record -q -o t -- "$BIN/app" run "$pool" good order >/dev/null
	crash_json whole.json -o whole --recover "$(check)" t
	sbatch --wait --array=1-3 -D "$PWD" --wrap "'$HOLDFAST' crash -q -o s\$SLURM_ARRAY_TASK_ID --shard \$SLURM_ARRAY_TASK_ID/3 --recover '$(check)' t" || true
	report_json merge all.json -o all s1 s2 s3
	diff <(findings whole.json) <(findings all.json)
}
