#!/usr/bin/env bash
# P7: a pass that is killed anywhere is finished by the next. One run with a tree, a git record, a branch,
# a cgroup and a marker is taken apart under a tracer that kills the pass before its Nth call of one
# kind, for every N and every call that changes the world; then one more pass runs. The calls that
# SQLite makes of its own database are its own to survive; of those, syncs are taken.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
strace -o /dev/null true 2>/dev/null || tap_skip_all "strace cannot trace here"

calls=(unlinkat renameat2 mkdirat rmdir fsync fdatasync)
export ASAN_OPTIONS=detect_leaks=0 # it cannot run under a tracer

new_run() { # run
	add_worktree "$1"
	add_cgroup "$1"
	register_run "$1" --cgroup "$cgroup_locator/$1" --created -3h --ttl 1h
	reap finish "$1" --ok --at -2h >/dev/null
}

traced() { # run, strace's arguments: a pass over that run only
	{
		strace -f -qq -o /dev/null "${@:2}" "$SBX_REAP" --run "$1" \
			--config "$world/reap.ini" </dev/null >/dev/null
	} 2>/dev/null # also what the shell says of a killed child
}

left_of() { # run
	ls -d "$(tree "$1")" "$root/$1.sbx" "$repo/worktrees/$1" "$cgroup/$1" 2>/dev/null || true
	find "$root/.sbx-trash" -name "$1:*" 2>/dev/null || true
	git -C "$repo" for-each-ref "refs/heads/sbx/$1"
}

tombstones() { reap log "$1" --json | jq '[.entries[] | select(.action == "reaped")] | length'; }

# How many such calls an undisturbed pass makes.
count_of() { # call
	new_run "plain-$1"
	strace -f -qq -e "trace=$1" -o "$world/calls" "$SBX_REAP" --run "plain-$1" \
		--config "$world/reap.ini" </dev/null >/dev/null
	grep -c "$1(" "$world/calls" || true
}

# Kills at the Nth call, finishes, and says what is wrong; nothing: all is well.
kill_at() { # call, N
	local run=k-$1-$2 code=0
	new_run "$run"
	if traced "$run" -e "trace=$1" -e "inject=$1:signal=KILL:when=$2"; then
		[ -z "$(left_of "$run")" ] || echo "$1 $2: not killed, and something is left"
		return 0
	fi
	killed=$((killed + 1))
	reap --run "$run" >"$world/out" 2>&1 || code=$?
	[ "$code" = 0 ] || echo "$1 $2: the next pass ends with $code: $(tail -n 3 "$world/out")"
	[ -z "$(left_of "$run")" ] || echo "$1 $2: left: $(left_of "$run" | tr '\n' ' ')"
	[ "$(tombstones "$run")" = 1 ] || echo "$1 $2: $(tombstones "$run") tombstones"
}

world_new '[policy]
branch = delete'
new_run pinned
reap pin pinned --for never >/dev/null
new_run other
before=$(snapshot "$root/pinned" "$root/other" "$root/pinned.sbx" "$root/other.sbx")

killed=0
for call in "${calls[@]}"; do
	count=$(count_of "$call")
	: >"$world/faults"
	for ((n = 1; n <= count; n++)); do
		kill_at "$call" "$n" >>"$world/faults"
	done
	check "killed before any of its $count calls of $call, the next pass finishes" \
		same '' "$(cat "$world/faults")"
done
check "the pass really was killed, at $killed points" test "$killed" -gt 20
check "other runs stay byte for byte" same "$before" \
	"$(snapshot "$root/pinned" "$root/other" "$root/pinned.sbx" "$root/other.sbx")"
tap_done
