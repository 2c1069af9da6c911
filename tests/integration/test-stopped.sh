#!/usr/bin/env bash
# SIGTERM in the middle of a pass: it ends soon, says so, and the next one goes on.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"
world_new ''

ended() { # run
	add_worktree "$1"
	register_run "$1" --no-container --created -30h --ttl 2h
	reap finish "$1" --failed --at -29h >/dev/null
}
of_run() { jq -r --arg run "$1" '.runs[] | select(.run == $run) | "\(.verdict) \(.reason) \(.result)"' "$2"; }

# The first run in the plan has more to delete than can be deleted while this test looks on: the child
# that deletes is stopped as soon as it is there, so that it cannot be done before the signal comes.
ended big
mkdir "$(tree big)/scratch"
(cd "$(tree big)/scratch" && seq 60000 | xargs touch)
ended small

pass=
deleting_child() { # of the pass: the one that holds what was set aside
	local child=
	read -r child _ <"/proc/$pass/task/$pass/children" || [ -n "$child" ] || return 1
	find "/proc/$child/fd" -lname "$root/.sbx-trash/*" | grep -q . || return 1
	kill -STOP "$child" && echo "$child"
} 2>/dev/null
start_pass() {
	"$SBX_REAP" --config "$world/reap.ini" --json </dev/null >"$world/out.json" 2>"$world/err" &
	pass=$!
	child=
	until child=$(deleting_child); do
		kill -0 "$pass" 2>/dev/null || break
	done
}
start_pass
check "a child deletes the tree" test -n "$child"
kill -TERM "$pass"
start=$SECONDS code=0
wait "$pass" || code=$?
check "the pass ends soon, with exit code 1" same 1 "$code"
check "long before its time is up" test $((SECONDS - start)) -lt 60
check "and its child with it" test ! -e "/proc/$child"
check "it has written its report, and is no failure" same "reap finished_failed partial" "$(of_run big "$world/out.json")"
check "that says why and what follows" says 'asked to stop while it was taken apart; the next one goes on' \
	"$(jq -r '.runs[] | select(.run == "big") | .error' "$world/out.json")"
check "the other run is deferred" same "keep deferred null" "$(of_run small "$world/out.json")"
check "and its tree whole" test -e "$(tree small)/README.md"
check "the history has it" says 'partial.*asked to stop' "$(reap log big)"
check "the run stays claimed" same "claimed" "$(reap list --json | jq -r '.runs[] | select(.run == "big") | .state')"
check "the next pass goes on" exits 0 reap
check "and finishes both" same "" "$(find "$root" -mindepth 1 -name '*[a-z]*' ! -name .sbx-trash)"

tap_done
