#!/usr/bin/env bash
# The second wall around whatever deletes: there in every pass; said once where the kernel has none; and
# nothing is deleted where it has one that cannot be put up.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
strace -o /dev/null true 2>/dev/null || tap_skip_all "strace cannot trace here"

export ASAN_OPTIONS=detect_leaks=0 # it cannot run under a tracer
notice='no Landlock'

new_run() { # run
	add_worktree "$1"
	register_run "$1" --created -3h --ttl 1h
	reap finish "$1" --ok --at -2h >/dev/null
}

# A verb on a kernel that answers a system call of Landlock with an error; keeps what it said and its code.
with_fault() { # call, error, the program's arguments
	code=0
	strace -f -qq -o "$world/trace" -e "trace=$1" -e "inject=$1:error=$2" "$SBX_REAP" "${@:3}" \
		--config "$world/reap.ini" </dev/null >"$world/out" 2>"$world/err" || code=$?
}

times_said() { grep -c "$notice" "$world/err" || true; }
gone() { [ ! -e "$(tree "$1")" ] && [ ! -e "$repo/worktrees/$1" ] && [ -z "$(in_trash "$1")" ]; }
in_trash() { find "$root/.sbx-trash" -name "$1:*" 2>/dev/null; }

# Of a trace of the calls that unlink and confine: who deletes without having confined itself before. What
# was started is the pass; it removes directories that are empty and the marker, and nothing else.
unconfined() { # trace
	awk '
		/execve\(/ { pass = $1 }
		/landlock_restrict_self\(.*= 0$/ { confined[$1] = 1 }
		/unlinkat\(/ && $1 != pass && !confined[$1] { print "not confined: " $0 }
		/unlinkat\(/ && $1 != pass { deleted++ }
		/unlinkat\(/ && $1 == pass && !/AT_REMOVEDIR/ && !/\.sbx/ { print "by the pass: " $0 }
		END { if (deleted < 5) print deleted + 0 " calls in a child" }' "$1"
}

world_new ""

# --------------------------------------------------------------------------------- with a wall

check "the check says that there is one" says 'ok +landlock' "$(reap check)"
new_run walled
strace -f -qq -o "$world/trace" -e trace=execve,unlinkat,landlock_restrict_self "$SBX_REAP" \
	--config "$world/reap.ini" </dev/null >/dev/null 2>"$world/err"
check "the run goes" gone walled
check "whoever deletes has confined itself before" same '' "$(unconfined "$world/trace")"
check "and nothing is said of it" same 0 "$(times_said)"

# ------------------------------------------------------------------------- a kernel without one

new_run first
new_run second
with_fault landlock_create_ruleset EOPNOTSUPP --dry-run
check "a dry run says nothing of it" same "0 0" "$code $(times_said)"
with_fault landlock_create_ruleset EOPNOTSUPP
check "a pass goes on" same 0 "$code"
check "and both runs go" gone first
check "the other, too" gone second
check "it is said once a pass, not once a run" same 1 "$(times_said)"
with_fault landlock_create_ruleset EOPNOTSUPP
check "a pass that deletes nothing says nothing" same "0 0" "$code $(times_said)"
with_fault landlock_create_ruleset EOPNOTSUPP check
check "the check warns and fails nothing" says 'warn +landlock .*without a second wall' \
	"$(cat "$world/out")"
check "with exit code 0" same 0 "$code"
new_run older
with_fault landlock_create_ruleset ENOSYS
check "a kernel that has never heard of it is the same" same "0 1" "$code $(times_said)"
check "and the run goes" gone older

# ------------------------------------------------------------------- one that cannot be put up

for call in landlock_create_ruleset landlock_add_rule landlock_restrict_self prctl; do
	run=${call//_/-}
	new_run "$run"
	with_fault "$call" EPERM
	check "$call fails: the pass says that something is not done" same 1 "$code"
	check "$call fails: the run has failed for it" \
		says "failed.*(confine|Landlock).*not permitted" "$(tr '\n' ' ' <"$world/out")"
	check "$call fails: nothing of git's record was deleted" \
		test -e "$repo/worktrees/$run/HEAD"
	check "$call fails: nothing of the tree was deleted" test -e "$(in_trash "$run")/src/main.c"
	check "$call fails: it does not count as a kernel without one" same 0 "$(times_said)"
	reap >"$world/out" 2>&1 || true
	check "$call works again: the next pass finishes" gone "$run"
done
with_fault landlock_create_ruleset EPERM check
check "the check says what is wrong" says 'bad +landlock' "$(cat "$world/out")"
check "with exit code 1" same 1 "$code"
tap_done
