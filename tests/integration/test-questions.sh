#!/bin/bash
# What a person asks who has never seen it, on a host with 200 runs in every state, and the commands that
# answer: each is one line, and its answer stands where eyes look first.
set -u
# shellcheck source=tests/support/host.sh
. "$(dirname "$0")/../support/host.sh"
host_enter "$@"
# shellcheck source=tests/support/hundreds.sh
. "$sources/tests/support/hundreds.sh"

settings() {
	printf '[containers]\nengine = unix:///run/no-such-engine.sock\n[limits]\nengine_timeout = 1s\n' \
		>/etc/sbx/reap.d/engine.ini
}

answer=''
ask() { # question, command line: what it says is in $answer
	echo "# $1"
	echo "#   $2"
	answer=$(bash -c "$2" 2>&1 </dev/null)
}

first() { # so many rows of a table
	sed -n "2,$(($1 + 1))p" <<<"$answer"
}

disk() {
	ask "What is filling the disk?" "sbx-reap list --size --sort -size"
	check "the largest comes first" says '^huge +failed +[0-9dh]+ +20M +keep +pinned' "$(first 1)"
	check "what it is held by is told below" says 'held by|pinned' "$(grep -v '^[a-z]*-[0-9]' <<<"$answer" | tail -n 12)"
	ask "Whose pins cost most?" "sbx-reap list --size --reason pinned --sort -size --columns size,by,run,pin"
	check "that one's" says '^ *20M +ben +huge +always' "$(first 1)"
	check "then the others, and nothing else" same 11 "$(grep -cE ' (ben|ada) ' <<<"$answer")"
}

why() {
	ask "Why is the run 'race' still here?" "sbx-reap why race"
	check "in the first line" same 'race: keep, retained' "$(head -n 1 <<<"$answer")"
	check "and until when" says '^  due .*in 20h|^  due .*in 21h' "$answer"
	ask "And 'dirty'?" "sbx-reap why dirty"
	check "it goes, and its work is kept first" says '^dirty: reap, finished_ok' "$answer"
	check "which it has" says '^  work +dirty' "$answer"
	ask "And 'locked'?" "sbx-reap why locked"
	check "somebody's lock" says '^locked: keep, locked' "$answer"
	check "with the words of it" says 'ada looks at it' "$answer"
	ask "And 'late', which is over its time?" "sbx-reap why late"
	check "it is stopped next" says '^late: stop, over_deadline' "$answer"
	check "since it lives" says '^  live +yes' "$answer"
}

friday() {
	local until
	until=$(date -u -d 'friday 18:00' +%Y-%m-%dT%H:%M:%SZ)
	[ "$(date -u -d "$until" +%s)" -gt "$(date +%s)" ] || until=$(date -u -d "$until + 7 days" +%Y-%m-%dT%H:%M:%SZ)
	ask "How do I keep 'race' until Friday?" "sbx-reap pin race --until $until --reason 'race in the parser'"
	check "it says until when" says "^race is pinned until $until" "$answer"
	ask "Is it?" "sbx-reap list --reason pinned"
	check "it is" says '^race +failed .* keep +pinned' "$answer"
}

seen() {
	ask "What could not be seen?" "sbx-reap list --reason unknown"
	check "the engine, by its place" says 'no-such-engine.sock' "$answer"
	check "and what is undecided by that" says '^bare +ok .* keep +unknown' "$answer"
	ask "What needs a person?" "sbx-reap list --reason refused,pin_unknown,clock,unsaved_work,backoff"
	check "ten that contradict themselves" same 10 "$(grep -c '^refused-.* refused ' <<<"$answer")"
	check "five whose clock was wrong" same 5 "$(grep -c '^clock-.* clock ' <<<"$answer")"
	check "one with a pin that cannot be read" says '^corrupt .* keep +pin_unknown' "$answer"
	ask "What is nobody's?" "sbx-reap list --reason foreign"
	check "fifteen" same 15 "$(grep -c '^foreign-[0-9]* ' <<<"$answer")"
}

failed() {
	sbx-reap --run stuck >/dev/null 2>&1 </dev/null
	sbx-reap --run stuck >/dev/null 2>&1 </dev/null
	ask "What failed, and when is it tried again?" "sbx-reap list --reason backoff"
	check "that one" says '^stuck .* keep +backoff' "$answer"
	check "since when, how often, when again" says '^stuck: failed 2 times in a row since .* is tried again at' "$answer"
	ask "By what?" "sbx-reap why stuck"
	check "the mount is named" says "$ws/stuck/mounted" "$answer"
}

next_pass() {
	local plan done_runs
	ask "What will the next pass do?" "sbx-reap --dry-run"
	check "what goes stands first" same 63 "$(first 63 | grep -cE ' (reap|stop) ')"
	check "in how many words as it takes" says '^[0-9]+ runs: [0-9]+ to reap, 1 to stop, [0-9]+ kept' "$answer"
	plan=$(awk '$5 == "reap" || $6 == "reap" { print $1 }' <<<"$answer" | sort)
	ask "And tonight?" "sbx-reap list --now +12h --reason finished_failed"
	check "nothing of those more, but in a day" same 0 "$(grep -c '^failed-[0-9]* ' <<<"$answer")"
	ask "Tomorrow?" "sbx-reap list --now +22h --reason finished_failed"
	check "all that failed" same 60 "$(grep -c '^failed-[0-9]* ' <<<"$answer")"
	sbx-reap --yes >/dev/null 2>&1 </dev/null
	done_runs=$(sbx-reap log --since -1h --json | jq -r '.entries[] | select(.action == "reaped") | .run' | sort)
	check "the pass did what was said" same "$plan" "$done_runs"
	ask "Where is the work of 'dirty' now?" "sbx-reap salvages dirty"
	check "there" says 'refs/sbx/salvage/dirty' "$answer"
	ask "What was done?" "sbx-reap log --since -1h"
	check "each run with its reason" says 'ok-17 +reaped +finished_ok' "$answer"
}

settings
hundreds
check "there are 200 runs" same 200 "$(sbx-reap list --json 2>/dev/null | jq '.runs | length')"
disk
why
friday
seen
failed
next_pass
tap_done
