#!/usr/bin/env bash
# P7: a pass that is killed anywhere is finished by the next. One run with a tree, a git record, a branch,
# a cgroup and a marker is taken apart under a tracer that kills the pass before its Nth call of one
# kind, for every N and every call that changes the world; then one more pass runs. The calls that
# SQLite makes of its own database are its own to survive; of those, syncs are taken. What a pass has
# processes of its own delete (git's record, the tree) is killed in those, one by one, too.
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

traced() { # run, strace's arguments: a pass over that run only; its JSON is kept
	{
		strace -qq -o "$world/calls" "${@:2}" "$SBX_REAP" --run "$1" --json \
			--config "$world/reap.ini" </dev/null >"$world/json"
	} 2>/dev/null # also what the shell says of a killed child
}

left_of() { # run
	ls -d "$(tree "$1")" "$root/$1.sbx" "$repo/worktrees/$1" "$cgroup/$1" 2>/dev/null || true
	find "$root/.sbx-trash" -name "$1:*" 2>/dev/null || true
	git -C "$repo" for-each-ref "refs/heads/sbx/$1"
}

tombstones() { reap log "$1" --json | jq '[.entries[] | select(.action == "reaped")] | length'; }

# How many such calls an undisturbed pass makes itself.
count_of() { # call
	new_run "plain-$1"
	traced "plain-$1" -e "trace=$1"
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
	expect_finished "$run" "$1 $2"
}

# One more pass, and what is wrong after it.
expect_finished() { # run, where it was killed
	local code=0
	reap --run "$1" >"$world/out" 2>&1 || code=$?
	[ "$code" = 0 ] || echo "$2: the next pass ends with $code: $(tail -n 3 "$world/out")"
	[ -z "$(left_of "$1")" ] || echo "$2: left: $(left_of "$1" | tr '\n' ' ')"
	[ "$(tombstones "$1")" = 1 ] || echo "$2: $(tombstones "$1") tombstones"
}

# A run of which the first thing deleted is git's record or, when that is gone, the tree.
new_run_of() { # record or tree, run
	add_worktree "$2"
	register_run "$2" --created -3h --ttl 1h
	reap finish "$2" --ok --at -2h >/dev/null
	[ "$1" = record ] || rm -r "$repo/worktrees/$2"
}

# How many calls of unlinkat the first process makes that a pass starts.
count_of_child() { # record or tree
	new_run_of "$1" "plain-of-$1"
	traced "plain-of-$1" -f -e trace=execve,unlinkat
	awk '/execve\(/ { pass = $1; next }
		$1 != pass { child = child ? child : $1; count += $1 == child }
		END { print count + 0 }' "$world/calls"
}

# Kills that process at its Nth call: the pass goes on, and says that the run failed, and why.
kill_child_at() { # record or tree, N
	local run=c-$1-$2 code=0
	new_run_of "$1" "$run"
	traced "$run" -f -e trace=unlinkat -e "inject=unlinkat:signal=KILL:when=$2" || code=$?
	[ "$code" = 1 ] || echo "$1 $2: the pass ends with $code"
	jq -e --arg run "$run" '.runs[] | select(.run == $run) |
		.result == "failed" and (.error | contains("SIGKILL"))' "$world/json" >/dev/null ||
		echo "$1 $2: not reported: $(jq -c '.runs[] | [.run, .result, .error]' "$world/json")"
	killed=$((killed + 1))
	expect_finished "$run" "$1 $2"
}

is_dead() { # pid: gone, or a zombie that nobody has taken yet
	[ ! -e "/proc/$1" ] || grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null || [ ! -e "/proc/$1" ]
}
deleted_by() { grep -c "^$1 .*unlinkat(.* = 0" "$world/calls"; }

# Stops that process after its second call, and kills the pass. It goes with the pass, and deletes no more.
kill_pass_of_stopped_child() {
	local run=stopped tracer try pass child='' before
	new_run_of tree "$run"
	traced "$run" -f -e trace=execve,unlinkat -e inject=unlinkat:signal=STOP:when=2 &
	tracer=$!
	for ((try = 0; try < 600 && ${#child} == 0; try++)); do
		child=$(awk '/stopped by SIGSTOP/ { print $1; exit }' "$world/calls" 2>/dev/null)
		sleep 0.1
	done
	pass=$(awk '/execve\(/ { print $1; exit }' "$world/calls")
	[ -n "$child" ] && [ "$child" != "$pass" ] || echo "no process was stopped: $(cat "$world/calls")"
	before=$(deleted_by "$child")
	kill -KILL "$pass"
	wait "$tracer" || true
	is_dead "$child" || echo "process $child lives on"
	same "$before" "$(deleted_by "$child")"
	expect_finished "$run" "with its process stopped"
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
for thing in record tree; do
	count=$(count_of_child "$thing")
	: >"$world/faults"
	for ((n = 1; n <= count; n++)); do
		kill_child_at "$thing" "$n" >>"$world/faults"
	done
	check "of who deletes the $thing, killed before any of its $count calls, it is said, and the next pass finishes" \
		same '' "$(cat "$world/faults")"
	check "there are such calls" test "$count" -gt 3
done
check "who deletes ends with the pass that is killed" same '' "$(kill_pass_of_stopped_child)"
killed=$((killed + 1))
check "the pass or its process really was killed, at $killed points" test "$killed" -gt 20
check "other runs stay byte for byte" same "$before" \
	"$(snapshot "$root/pinned" "$root/other" "$root/pinned.sbx" "$root/other.sbx")"
tap_done
