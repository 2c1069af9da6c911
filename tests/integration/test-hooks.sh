#!/usr/bin/env bash
# The hooks of a site with the real program: when they are run, for whom, how often, and that whatever they
# do keeps nothing from being killed and removed, and is not forgotten.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"

world_new ""
hooks=$world/hooks seen=$world/seen prom=$world/prom/sbx_reap.prom
mkdir "$hooks" "$world/later" "$seen" "$world/prom"

# What a hook does: each call writes a line "HOOK RUN" and what it saw, then runs $world/do-HOOK if there is one.
for name in revoke after; do
	cat >"$hooks/$name" <<-EOS
		#!/bin/sh
		echo "\$SBX_HOOK \$SBX_RUN" >>"$seen/calls"
		env | sort >"$seen/\$SBX_HOOK-\$SBX_RUN"
		{ [ ! -e "$root/\$SBX_RUN" ] || echo tree
		cat "$cgroup/\$SBX_RUN/cgroup.procs" 2>/dev/null; } >"$seen/\$SBX_HOOK-\$SBX_RUN.world"
		[ ! -e "$world/do-\$SBX_HOOK" ] || . "$world/do-\$SBX_HOOK"
	EOS
	chmod 755 "$hooks/$name"
done
mv "$hooks/after" "$world/later/"
with_hooks() { # how long they may take
	settings "$world/reap.ini" "[policy]
keep_ok = 0s
keep_failed = 1h
[limits]
hook_timeout = $1
[metrics]
textfile = $prom
[hooks]
revoke = $hooks/revoke
after = $world/later/after"
}
does() { printf '%s\n' "$2" >"$world/do-$1"; } # hook, commands
does_nothing() { rm -f "$world/do-revoke" "$world/do-after"; }
calls() { sort "$seen/calls" 2>/dev/null | paste -sd, || true; }
forget_calls() { rm -f "$seen"/*; }
books() { sqlite3 "$world/reap.db" "$1"; }
ready_again() { books "UPDATE duty SET last_s = last_s - 86400 WHERE last_s IS NOT NULL"; } # tries are not waited for
credentials() { reap why "$1" --json 2>/dev/null | jq -r '.credentials.state'; }
history_of() { reap log "$1" --json | jq -r '.entries[].action' | paste -sd' '; }
value() { awk -v name="$1" '$1 == name { print $2 }' "$prom"; }

new_run() { # run: a tree and a process in its cgroup
	add_worktree "$1"
	add_cgroup "$1"
	register_run "$1" --cgroup "$cgroup_locator/$1" --no-container --created -3h --ttl 2h
	(
		echo "$BASHPID" >"$cgroup/$1/cgroup.procs"
		exec sleep 600
	) &
	disown $!
	until grep -q . "$cgroup/$1/cgroup.procs"; do sleep 0.05; done
}
ended() { # run, outcome
	new_run "$1"
	reap finish "$1" "--$2" --at -10m >/dev/null
}
whole() { [ -e "$(tree "$1")/.git" ] && grep -q . "$cgroup/$1/cgroup.procs"; }
gone() { [ ! -e "$(tree "$1")" ] && [ ! -e "$cgroup/$1" ]; }
with_hooks 60s

# ---------------------------------------------------------------------------------------- a dry run

ended r1 ok
plan=$(reap --dry-run)
check "a dry run runs no hook" same '' "$(calls)"
check "it says that one would run, for whom" \
	says "^hook: revoke $hooks/revoke would run for 1 run, before anything of them is touched: r1\$" "$plan"
check "and the other one" says "^hook: after $world/later/after would run for 1 run when they are gone: r1\$" "$plan"
check "its JSON says so, too" same pending "$(reap --dry-run --json | jq -r '.runs[] | select(.run == "r1").credentials.state')"
check "list runs none either" same '' "$(reap list >/dev/null; calls)"

# -------------------------------------------------------------------------------------------- order

check "the pass is well" exits 0 reap
check "each hook is run once" same 'after r1,revoke r1' "$(calls)"
check "the first before a process was killed or the tree touched" \
	same 'tree 1' "$(sed 's/^[0-9]*$/1/' "$seen/revoke-r1.world" | paste -sd' ')"
check "the other when nothing is left" same '' "$(cat "$seen/after-r1.world")"
generation=$(books "SELECT max(generation) FROM history WHERE run = 'r1'")
wanted="PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
PWD=/
SBX_GENERATION=$generation
SBX_HOOK=revoke
SBX_OUTCOME=ok
SBX_REASON=finished_ok
SBX_ROOT=$root
SBX_RUN=r1
SBX_TRY=1"
check "its environment is what the manual says (and what the shell adds)" \
	same "$wanted" "$(grep -v '^_=\|^OLDPWD=\|^SHLVL=' "$seen/revoke-r1")"
check "the history has the words" \
	same 'registered finished claimed revoked reaped after' "$(history_of r1)"
forget_calls
check "another pass runs nothing" exits 0 reap
check "indeed" same '' "$(calls)"

# ------------------------------------------------------------- what is over is revoked, and stays

ended kept failed
check "a finished run that is retained" exits 0 reap
check "has its credentials revoked" same 'revoke kept' "$(calls)"
check "why says so" says '^  credentials +revoked at 20' "$(reap why kept)"
check "and nothing else of it was touched" whole kept
reap --run kept --early >/dev/null
check "when it goes they are not revoked again" same 'after kept,revoke kept' "$(calls)"
forget_calls
ended pinned failed
reap pin pinned >/dev/null
reap >/dev/null
check "a pin does not keep them" same 'revoke pinned' "$(calls)"
check "but all else" whole pinned
forget_calls
new_run alive
reap renew alive --ttl 1h >/dev/null
reap >/dev/null
check "those of a living run are not touched" same '' "$(calls)"
check "why says that there is nothing to do" same none "$(credentials alive)"
new_run late
reap >/dev/null
check "one that is over its deadline is stopped" same '' "$(cat "$cgroup/late/cgroup.procs" 2>/dev/null)"
check "and revoked first" same 'revoke late tree 1' \
	"$(calls) $(sed 's/^[0-9]*$/1/' "$seen/revoke-late.world" | paste -sd' ')"
new_run renewed
reap pin renewed >/dev/null
forget_calls
reap >/dev/null
check "a pinned one that is over its deadline is revoked" same 'revoke renewed' "$(calls)"
reap renew renewed >/dev/null
reap >/dev/null
check "a heartbeat gives no time, so it is not again" same 'revoke renewed' "$(calls)"
reap renew renewed --ttl 1h >/dev/null
check "one that is renewed has credentials to lose again" same none "$(credentials renewed)"
reap >/dev/null
check "which it keeps while it lives" same 'revoke renewed' "$(calls)"
reap finish renewed --failed >/dev/null
reap >/dev/null
check "and loses when that time is over" same 'revoke renewed,revoke renewed' "$(calls)"
reap >/dev/null
check "once" same 'revoke renewed,revoke renewed' "$(calls)"
reap unpin pinned >/dev/null
reap unpin renewed >/dev/null
reap --run pinned --run late --run renewed --early >/dev/null
forget_calls

# ------------------------------------------------------------------------------- a revoker that fails

does revoke 'printf "no \033[2J vault\n" >&2; exit 7'
ended r2 ok
code=0
report=$(reap) || code=$?
check "a revocation that fails makes the exit code 1" same 1 "$code"
check "and keeps nothing from being killed and removed" gone r2
check "the report says for whom, how often, when again, and why, harmless" says \
	'^not revoked: r2: failed 1 time in a row since .* is tried again by the next pass: .*/revoke: it ended with exit code 7: no \\x1b\[2J vault$' "$report"
check "the history, too" says 'revoke failed' "$(history_of r2)"
check "and Prometheus" same 1 "$(value 'sbx_reap_revocations{state="failed"}')"
check "list has exit code 1 for it, with the run gone" exits 1 reap list
check "and why says what is left" says 'hook of one that is gone: failed 1 time' "$(reap why r2 2>&1 || true)"
check "the after hook was run all the same" same 'after r2,revoke r2' "$(calls)"
reap >/dev/null || true
check "the next pass tries again" same 'after r2,revoke r2,revoke r2' "$(calls)"
check "and counts" same 2 "$(reap list --json | jq '.hooks[] | select(.run == "r2").failed_count')"
check "told of that the hook is" says '^SBX_TRY=2$' "$(cat "$seen/revoke-r2")"
reap >/dev/null || true
check "the one after it waits" same 'after r2,revoke r2,revoke r2' "$(calls)"
does_nothing
ready_again
check "when it succeeds" exits 0 reap
check "it was tried once more" same 3 "$(grep -c 'revoke r2' "$seen/calls")"
check "the run's reason is the one from before" says '^SBX_REASON=finished_ok$' "$(cat "$seen/revoke-r2")"
ready_again
reap >/dev/null
check "and never again" same 3 "$(grep -c 'revoke r2' "$seen/calls")"
check "nothing is left to do" same '[]' "$(reap list --json | jq -c .hooks)"
check "Prometheus hears of it" same 0 "$(value 'sbx_reap_revocations{state="failed"}')"
forget_calls

does after 'exit 1'
ended r3 ok
check "an after hook that fails is told of, too" exits 1 reap
check "its run is gone" gone r3
check "it is tried again" same 'after r3,after r3,revoke r3' "$(reap >/dev/null || true; calls)"
does_nothing
ready_again
check "until it succeeds" exits 0 reap
forget_calls

# ------------------------------------------------------------------------- a name that is used again

does revoke 'exit 1'
ended again ok
reap >/dev/null || true
ready_again
does_nothing
forget_calls
new_run again
reap renew again --ttl 1h >/dev/null
check "what was not revoked is not while another run has the name" exits 1 reap
check "for it would be the living one's" same '' "$(calls)"
reap finish again --ok --at -1s >/dev/null
check "when that is over" exits 0 reap
check "both are revoked by one call" same 'after again,revoke again' "$(calls)"
forget_calls

does revoke 'exit 1'
ended given-up ok
reap >/dev/null || true
check "a person may take it upon herself" says 'revoke hook of generation [0-9]+, which was failed, is forgotten' "$(reap forget given-up --hooks)"
does_nothing
ready_again
forget_calls
check "then it is over" exits 0 reap
check "and nothing is run" same '' "$(calls)"

does revoke 'exit 1'
new_run longer
reap pin longer >/dev/null
reap >/dev/null || true
reap renew longer --ttl 1h >/dev/null
does_nothing
check "one that failed and was given more time needs nobody" exits 0 reap
check "list neither" exits 0 reap list
check "it is no alert" same 0 "$(value 'sbx_reap_revocations{state="failed"}')"
check "it is told" says 'it was given more time' "$(reap list 2>&1)"
reap unpin longer >/dev/null
reap finish longer --ok --at -1s >/dev/null
reap >/dev/null || true
forget_calls

does revoke 'exit 1'
ended twice ok
reap >/dev/null || true
does_nothing
new_run twice
reap renew twice --ttl 1h >/dev/null
check "what is owed can be dropped alone" says 'is forgotten' "$(reap forget twice --hooks)"
check "the living run of that name keeps its row" same 1 "$(books "SELECT count(*) FROM run WHERE run = 'twice'")"
check "and its marker" test -e "$root/twice.sbx"
check "twice is success" says 'owe nothing' "$(reap forget twice --hooks)"
reap finish twice --ok --at -1s >/dev/null
does revoke 'exit 1'
reap >/dev/null || true
does_nothing
new_run twice
check "the record can be dropped alone" says "stays: 'sbx-reap forget twice --hooks'" "$(reap forget twice 2>&1)"
check "what an earlier run lost is not forgotten with it" same failed "$(reap list --json | jq -r '.hooks[] | select(.run == "twice").state')"
check "with only that left, forget says what to use" says 'not on record.*' "$(reap forget twice 2>&1)"
check "and drops nothing" same failed "$(reap list --json | jq -r '.hooks[] | select(.run == "twice").state')"
reap forget twice --hooks >/dev/null
while read -r pid; do kill "$pid"; done <"$cgroup/twice/cgroup.procs"
rm -rf "${root:?}/twice"
forget_calls

# ---------------------------------------------------------------- what nobody will do, or nobody need do

pending() { books "UPDATE duty SET state = 'pending', count = 0, last_s = NULL, error = NULL WHERE state = 'failed'"; }
does revoke 'exit 1'
ended waits ok
reap >/dev/null || true
pending
does_nothing
forget_calls
new_run waits
reap renew waits --ttl 1h >/dev/null
check "one that waits for the end of another run of its name needs nobody" exits 0 reap
check "list neither" exits 0 reap list
check "the report says what it waits for" says \
	'^not revoked yet: waits: another run has that name, and its revocation counts for both$' "$(reap)"
check "it is no alert" same 0 "$(value 'sbx_reap_revocations{state="pending"}')"
reap finish waits --ok --at -1s >/dev/null
check "then it is done" exits 0 reap
check "once, for both" same 'after waits,revoke waits' "$(calls)"
does revoke 'exit 1'
does after 'exit 1'
ended unset ok
reap >/dev/null || true
pending
sed -i '/^revoke\|^after/d' "$world/reap.ini"
does_nothing
forget_calls
check "what no hook is set for any more needs a person" exits 1 reap
check "list says so, too" exits 1 reap list
check "the report says of which, and what to do" says \
	"^not revoked yet: unset: \\[hooks\\] revoke is not set: set it, or do by hand what it did and say 'sbx-reap forget RUN --hooks'\$" "$(reap || true)"
check "of the other hook, too" says '^hook after not run yet: unset: \[hooks\] after is not set: ' "$(reap || true)"
check "and why, with the command" says "do by hand what it did and say 'sbx-reap forget unset --hooks'" "$(reap why unset 2>&1 || true)"
check "it is an alert" same 1 "$(value 'sbx_reap_revocations{state="pending"}')"
reap forget unset --hooks >/dev/null
check "when she says that it is done, it is" exits 0 reap
check "and nothing was run" same '' "$(calls)"
with_hooks 60s
ended trimmed ok
does after 'exit 1'
sed -i 's/^keep_ok = 0s/&\nhistory = 0s/' "$world/reap.ini"
reap >/dev/null || true
check "a hook that is owed is not forgotten with the history" exits 1 reap
does_nothing
ready_again
forget_calls
check "it is run" exits 0 reap
check "for whom it was owed" same 'after trimmed' "$(calls)"
books "UPDATE history SET at_s = at_s - 1" # a pass trims what is of a second before its own
reap >/dev/null
check "then its tombstone may go" same '' "$(history_of trimmed)"
with_hooks 60s
forget_calls

# ---------------------------------------------------------------------------------- a hook that hangs

with_hooks 1s
does revoke 'echo "$$" >"'"$seen"'/hung"; setsid sleep 600 & echo "$!" >"'"$seen"'/away"; sleep 600'
ended r4 ok
code=0
report=$(reap) || code=$?
check "one that hangs is killed" same 1 "$code"
check "said so" says 'not revoked: r4: .* it was not done within 1s, and was killed' "$report"
check "and its run goes" gone r4
all_dead() {
	local pid
	while read -r pid; do
		! kill -0 "$pid" 2>/dev/null || return 1
	done < <(cat "$seen/hung" "$seen/away" 2>/dev/null)
}
check "nothing that it started is left" all_dead
with_hooks 10m
sed -i 's/^hook_timeout.*/&\ntime_budget = 8s/' "$world/reap.ini"
ready_again
begun=$SECONDS
report=$(reap) || true
check "one has no more than the hooks' part of a pass" \
	says 'not revoked: r4: .* it was not done within (1s|[0-9]+ ms), and was killed' "$report"
check "and the pass ends" test $((SECONDS - begun)) -lt 120
does_nothing
ready_again
with_hooks 60s
reap >/dev/null
forget_calls

# ------------------------------------------------------------------------- a hook that nobody may run

refused() { # what is wrong, what the program says
	local report code=0
	ended "$1" ok
	report=$(reap 2>&1) || code=$?
	check "$1: exit code 1" same 1 "$code"
	check "$1: said before anything else" says "the revoke hook is not run: .*$2" "$report"
	check "$1: of its run, too" says "not revoked: $1: .*$2" "$report"
	check "$1: which is gone" gone "$1"
	check "$1: check says so" says "$2" "$(reap check 2>&1 || true)"
	check "$1: it was not run" same "after $1" "$(calls)"
	reap forget "$1" --hooks >/dev/null
	forget_calls
}
mv "$hooks/revoke" "$hooks/away"
refused missing "$hooks/revoke: No such file or directory"
mv "$hooks/away" "$hooks/revoke"
chmod 775 "$hooks/revoke"
refused writable "$hooks/revoke can be written by group or others: chmod go-w"
chmod 755 "$hooks/revoke"
chown nobody "$hooks"
refused of-another "$hooks belongs to uid"
chown root "$hooks"
check "a hook that may be run is fine for check" says "^ok +hook +revoke $hooks/revoke\$" "$(reap check 2>&1 || true)"

# ------------------------------------------------------------------------------------ killed between

does revoke "until [ -s '$world/pass.pid' ]; do sleep 0.01; done; kill -KILL \$(cat '$world/pass.pid')"
ended r5 ok
killed_by_hook() {
	"$SBX_REAP" --config "$world/reap.ini" </dev/null >/dev/null &
	echo "$!" >"$world/pass.pid.new"
	mv "$world/pass.pid.new" "$world/pass.pid"
	wait "$!"
}
check "a pass is killed by its own hook" exits 137 killed_by_hook
check "it has touched nothing" test -e "$(tree r5)/.git"
does_nothing
check "the next one goes on" exits 0 reap
check "and runs the hook again, since nobody wrote down what came of it" \
	same 'after r5,revoke r5,revoke r5' "$(calls)"
check "the run is gone" gone r5
forget_calls

# -------------------------------------------------------------------------------------- not in these

ended r6 ok
reap hold >/dev/null
reap >/dev/null || true
check "while passes are held none is run" same '' "$(calls)"
reap resume >/dev/null
"$SBX_REAP" --repo "$repo" --root "$root" --yes </dev/null >/dev/null 2>&1 || true
check "a visit of a repository runs none" same '' "$(calls)"
reap forget r6 >/dev/null
check "neither does forget, or finish before" same '' "$(calls)"
tap_done
