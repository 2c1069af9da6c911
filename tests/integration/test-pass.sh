#!/usr/bin/env bash
# The whole job with the real program: what is decided, done, left, said, and answered as exit code.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "${SBX_TEST_ENGINE:-}" ] || tap_skip_all "no container engine: SBX_TEST_ENGINE is not set"
[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"

# ------------------------------------------------------------------------------- runs of every kind

new_run() { # run, more arguments of register: tree, cgroup, committed work, some build output
	add_worktree "$1"
	commit_work "$1"
	mkdir "$(tree "$1")/scratch"
	head -c 300000 /dev/zero >"$(tree "$1")/scratch/object.o"
	add_cgroup "$1"
	register_run "$1" --cgroup "$cgroup_locator/$1" "${@:2}"
}

ended() { # run, outcome, more arguments of register
	new_run "$1" --created -30h --ttl 2h "${@:3}"
	reap finish "$1" "--$2" --at -29h >/dev/null
}

# A process in the run's cgroup and tree; sets `worker`.
start_worker() { # run
	(
		echo "$BASHPID" >"$cgroup/$1/cgroup.procs"
		cd "$(tree "$1")"
		exec sleep 300
	) &
	worker=$!
	disown "$worker" # bash shall not report its end; cgroup_remove ends it if nobody else does
	until grep -qx "$worker" "$cgroup/$1/cgroup.procs"; do :; done
}

is_gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:[[:space:]]*Z' "/proc/$1/status"; }

run_field() { jq -r --arg run "$2" ".runs[] | select(.run == \$run) | $3" "$1"; }
decisions() { jq -r '.runs[] | "\(.run) \(.verdict) \(.reason)"' "$1" | sort; }
total() { jq -r ".totals.$2" "$1"; }

gone() { # run: all of it
	same '' "$(
		ls -d "$(tree "$1")" "$repo/worktrees/$1" "$root/$1.sbx" "$cgroup/$1" 2>/dev/null
		find "$root/.sbx-trash" -name "*$1*" 2>/dev/null
	)"
}

whole() { # run: tree, record, branch and cgroup
	[ -e "$(tree "$1")/.git" ] && [ -e "$(tree "$1")/work.txt" ] &&
		[ -d "$repo/worktrees/$1" ] && [ -d "$cgroup/$1" ] &&
		git -C "$repo" rev-parse --quiet --verify "refs/heads/sbx/$1" >/dev/null
}

kinds_of_run() {
	world_new "[policy]
unsaved = keep
[containers]
engine = unix://${SBX_TEST_ENGINE#unix://}"
	ended ok ok
	git -C "$repo" update-ref HEAD sbx/ok # merged
	add_container failed
	engine -X POST "containers/$container/start"
	ended failed failed --container "$container"
	ended pinned failed
	reap pin pinned --by ada --reason 'look at it tomorrow' --for 2d >/dev/null
	new_run killed --created -30h --ttl 2h
	new_run overdue --created -3h --ttl 1h
	start_worker overdue && overdue=$worker
	ended half failed
	rm -rf "$(tree half)/.git" "$(tree half)/src" "$repo/worktrees/half"
	add_worktree marker
	printf '[run]\nid = marker\ncreated = %s\nttl = 1h\nrepo = %s\nbranch = sbx/marker\n' \
		"$(date --utc --date '-40 hours' +%FT%TZ)" "$repo" >"$root/marker.sbx"
	new_run alive --ttl 2h
	start_worker alive && alive=$worker
	mkdir "$root/stranger"
	echo 'somebody else put this here' >"$root/stranger/file"
}

wanted='alive keep live
failed reap finished_failed
half reap finished_failed
killed reap abandoned
marker reap abandoned
ok reap finished_ok
overdue stop over_deadline
pinned keep pinned
stranger keep foreign'

kinds_of_run
everything() { snapshot "$root" "$repo" "$world"/reap.*; }
before=$(everything)
code=0
reap --dry-run --json >"$world/plan" || code=$?
check "a dry run exits with 0" same 0 "$code"
check "a dry run changes not one byte, time or file" same "$before" "$(everything)"
check "each kind of run gets its verdict and reason" same "$wanted" "$(decisions "$world/plan")"
check "list says the same as the dry run" \
	same "$wanted" "$(reap list --json >"$world/list" && decisions "$world/list")"
check "with --exit-code a plan that is not empty is 3" exits 3 reap --dry-run --exit-code
check "why names the reason and the rule" says pinned "$(reap why pinned)"
check "why of an unknown run is 1" exits 1 reap why nobody

code=0
reap --json >"$world/pass" || code=$?
check "the pass exits with 0" same 0 "$code"
check "it decided as the dry run did" same "$wanted" "$(decisions "$world/pass")"
for run in ok failed killed half marker; do
	check "$run: reported as reaped" same reaped "$(run_field "$world/pass" "$run" .result)"
	check "$run: nothing is left" gone "$run"
done
check "five runs are counted as reaped" same 5 "$(total "$world/pass" reaped)"
check "the bytes of their trees are counted" test "$(total "$world/pass" bytes_freed)" -gt 1000000
check "a merged branch goes with its run" \
	exits 1 git -C "$repo" rev-parse --quiet --verify refs/heads/sbx/ok
check "a branch with work of its own stays" git -C "$repo" rev-parse --verify refs/heads/sbx/failed
check "the container that was left running is gone" same '' "$(containers_of_all)"
check "the pinned run is whole" whole pinned
check "the run at work is whole" whole alive
check "its process lives" exits 1 is_gone "$alive"
check "the overdue run was stopped" is_gone "$overdue"
check "its tree stays, to be looked at" test -e "$(tree overdue)/work.txt"
check "what is nobody's stays" test -e "$root/stranger/file"

before=$(snapshot)
check "a second pass exits with 0" exits 0 reap --json
reap --json >"$world/second"
check "it has nothing to do" same "0 0 0" \
	"$(total "$world/second" reap) $(total "$world/second" stop) $(total "$world/second" reaped)"
check "it changes nothing" same "$before" "$(snapshot)"
check "the overdue run is now one that failed" same "keep retained failed" \
	"$(run_field "$world/second" overdue '"\(.verdict) \(.reason) \(.outcome)"')"
check "a forecast says when it falls due" same "reap finished_failed" \
	"$(reap list --json --now +25h | jq -r '.runs[] | select(.run == "overdue") | "\(.verdict) \(.reason)"')"
check "the history remembers" says reaped "$(reap log failed)"

# --------------------------------------------------------------------------------------------- pins

reap unpin pinned >/dev/null
check "unpin takes the mirror away" test ! -e "$root/pinned.keep"
reap >/dev/null
check "an unpinned run goes" gone pinned
check "unpin of nothing is 0" exits 0 reap unpin pinned
check "pin of an unknown run is 0, and says so" says 'no such run is known yet' "$(reap pin later 2>&1)"
reap unpin later >/dev/null

ended handmade failed
: >"$root/handmade.keep"
reap >/dev/null
check "an empty .keep made by hand keeps" whole handmade
printf 'no pin at all \377\n' >"$root/handmade.keep"
check "one that cannot be read keeps too, and wants a person" exits 1 reap
check "as pin_unknown" same pin_unknown \
	"$(reap list --json | jq -r '.runs[] | select(.run == "handmade") | .reason')"
check "it is whole" whole handmade
rm "$root/handmade.keep"

# -------------------------------------------------------------------------------- filters and limits

ended one failed
ended two failed
reap --json --run one >"$world/only" || true
check "--run does that run" gone one
check "and leaves the others" whole two
check "as filtered" same filtered "$(run_field "$world/only" two .reason)"
ended three failed
reap --json --max 1 >"$world/max" || true
check "--max 1 reaps one" same 1 "$(total "$world/max" reaped)"
check "and defers the rest" says deferred "$(decisions "$world/max")"
reap >/dev/null

# -------------------------------------------------------------------------------------- unsaved work

ended unsaved failed
echo 'nowhere else' >"$(tree unsaved)/draft.txt"
start_worker unsaved && unsaved=$worker
code=0
reap --json >"$world/unsaved" || code=$?
check "unsaved work wants a person" same 1 "$code"
check "its tree stays" same 'nowhere else' "$(cat "$(tree unsaved)/draft.txt")"
check "its record and branch too" git -C "$(tree unsaved)" rev-parse --verify sbx/unsaved
check "its processes go" is_gone "$unsaved"
check "its cgroup goes" test ! -e "$cgroup/unsaved"
reap --json >"$world/unsaved" || true
check "from then on it is kept for that reason" same 'keep unsaved_work' \
	"$(run_field "$world/unsaved" unsaved '"\(.verdict) \(.reason)"')"
rm "$(tree unsaved)/draft.txt"
check "without it the run goes" exits 0 reap
check "wholly" gone unsaved

# -------------------------------------------------------------------------- registering, and bad input

add_worktree again
register_run again --created @1700000000
check "the same registration twice is success" register_run again --created @1700000000
check "a contradicting one is an error" exits 1 register_run again --created @1600000000
for bad in ../escape a/b .hidden end.lock x.sbx 'sp ace' ''; do
	check "the identifier '$bad' is refused" exits 2 reap register "$bad"
done
check "a tree outside every root is refused" exits 2 reap register outside --worktree "$world/seed"
check "a verb that does not exist is usage" exits 2 reap reep
check "an option of another verb is usage" exits 2 reap list --ttl 1h
reap forget again >/dev/null
check "what was forgotten is foreign" same foreign \
	"$(reap list --json | jq -r '.runs[] | select(.run == "again") | .reason')"

# ------------------------------------------------------------------------------------------ exit codes

cat >"$world/broken.ini" <<-EOF
	[workspaces]
	root = $root
	[policy]
	keep_ok = ten minutes
EOF
config=$world/broken.ini
check "broken settings are 65" exits 65 reap
check "and named with file and line" says 'broken\.ini:4' "$(reap 2>&1 || true)"
config=$world/rooted.ini
printf '[workspaces]\nroot = /\n' >"$config"
check "the root / is 65" exits 65 reap
config=

settings "$world/blind.ini" "[containers]
engine = unix://$world/no.sock"
config=$world/blind.ini
ended perhaps failed
ended surely failed --no-container
check "a blind pass is 69" exits 69 reap
check "a run that may have containers stays" whole perhaps
check "one that has none goes" gone surely
check "the dead engine is named" same "containers unix://$world/no.sock" \
	"$(reap list --json | jq -r '.sources[] | select(.ok == false) | "\(.name) \(.at)"')"
config=

lock=$(ls "$world"/reap.db*lock*)
exec 9<>"$lock"
flock --exclusive 9
check "a second pass at the same time is 75" exits 75 reap
check "a dry run needs no lock" exits 0 reap --dry-run
exec 9>&-

# -------------------------------------------------------------------------------- the books themselves

chmod 755 "$world"
as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$SBX_REAP" list --json --config "$world/reap.ini" </dev/null
}
before=$(ls -lA "$world")
check "a user without rights can list, and is told what he cannot see" exits 69 as_nobody
check "he sees the books" says '"run": "alive"' "$(as_nobody || true)"
check "and makes no file" same "$before" "$(ls -lA "$world")"

mv "$world/reap.db" "$world/kept.db"
check "a lost database is 65, not an empty one" exits 65 reap
check "nothing new was made" test ! -e "$world/reap.db"
mv "$world/kept.db" "$world/reap.db"
cp "$world/reap.db" "$world/kept.db"
printf 'rubbish, and not a database at all' >"$world/reap.db"
check "a damaged database is 65" exits 65 reap
check "and stays as it is" says rubbish "$(head -c 7 "$world/reap.db")"
cp "$world/kept.db" "$world/reap.db"

# ------------------------------------------------------------- harnesses at work while passes go on

register_many() { # prefix
	local i
	for i in 1 2 3 4 5 6; do
		reap register "$1$i" --ttl 1h >/dev/null &&
			reap finish "$1$i" --ok >/dev/null || return 1
	done
}
register_many a & first=$!
register_many b & second=$!
busy=0
for _ in 1 2 3 4; do
	code=0
	reap >/dev/null || code=$?
	[ "$code" = 0 ] || busy=$code
done
registered=0
wait "$first" && wait "$second" || registered=$?
check "harnesses register side by side while passes are on" same 0 "$registered"
check "and every pass ends well" same 0 "$busy"
tap_done
