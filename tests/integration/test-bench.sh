#!/usr/bin/env bash
# scripts/bench in its short form: each row runs, both sides really do their work, and nothing is left.
# How fast anything is is no matter here.
set -euo pipefail
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

[ "$(id -u)" = 0 ] || tap_skip_all "only root can mount what it measures on"
grep -q ' cgroup2 ' /proc/self/mounts || tap_skip_all "no cgroup v2 is mounted"
for tool in gnuplot mkfs.xfs rsync; do
	command -v "$tool" >/dev/null || tap_skip_all "$tool is missing (scripts/install-deps bench)"
done

BENCH_OUT=$(mktemp -d)
TMPDIR=$(mktemp -d)
export BENCH_OUT TMPDIR
trap 'rm -rf "$BENCH_OUT" "$TMPDIR"' EXIT
trap 'exit 143' TERM INT HUP

left() { # of a run: what is mounted, in loop devices, groups, and files
	grep -F "$TMPDIR" /proc/self/mounts /sys/block/loop*/loop/backing_file 2>/dev/null || true
	find "$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)" -maxdepth 1 -name "sbx-bench-$1"
	find "$TMPDIR" -mindepth 1
}

begin() { # arguments; sets `bench`, its process
	scripts/bench --short "$@" >"$BENCH_OUT/said" 2>&1 &
	bench=$!
}

left_in_time() { # what is still there when a killed one has been swept up
	local try
	for ((try = 0; try < 300; try++)); do
		[ -n "$(left "$bench")" ] || return 0
		sleep 0.1
	done
	left "$bench"
}

verdicts() { cut -f 8 "$BENCH_OUT/bench.tsv" | grep -cE "$1" || true; }

make -s MODE=release BUILD=build/release build-bench >&2

# ----------------------------------------------------------------------------------------- each row

code=0
begin
wait "$bench" || code=$?
check "every row runs, and its contenders do their work" same 0 "$code"
[ "$code" = 0 ] || sed 's/^/# /' "$BENCH_OUT/said"
check "each has a verdict" same "$(scripts/bench --list | wc -l)" "$(verdicts '^(met|missed|behind|none)$')"
sed -n 's/^none: /# /p' "$BENCH_OUT/bench.txt"
check "the table is JSON, too" jq -e '.lines | length > 30' "$BENCH_OUT/bench.json"
check "and a picture" same PNG "$(head -c 4 "$BENCH_OUT/bench.png" | tail -c 3)"
check "nothing is left" same '' "$(left "$bench")"

# ----------------------------------------------------------------------------- who is killed, who cheats

begin --rows tree-btrfs --rounds 1000
until [ -n "$(find "$TMPDIR" -name samples.tsv -size +0)" ]; do sleep 0.1; done
kill -KILL "$bench"
wait "$bench" 2>/dev/null || true
check "nor of one that was killed" same '' "$(left_in_time)"

mkdir "$BENCH_OUT/bin"
printf '#!/bin/sh\nexit 0\n' >"$BENCH_OUT/bin/python3"
chmod 755 "$BENCH_OUT/bin/python3"
code=0
PATH=$BENCH_OUT/bin:$PATH scripts/bench --short --rows tree-ext4-warm >"$BENCH_OUT/said" 2>&1 || code=$?
check "who does nothing is not fast, but an error" same '1 1' "$code $(verdicts '^error$')"
check "a row that is not there is no success" exits 2 scripts/bench --short --rows nonsense
tap_done
