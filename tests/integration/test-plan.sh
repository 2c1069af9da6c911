#!/usr/bin/env bash
# Approve what you saw: a pass that is given a dry run's JSON removes exactly what that shows.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
world_new ""

finished() { # run: with a clean tree, due since an hour
	add_worktree "$1"
	register_run "$1" --created -3h
	reap finish "$1" --ok --at -1h >/dev/null
}
reason() { jq -r --arg run "$2" '.runs[] | select(.run == $run) | .reason' "$1"; }
stand() { find "$root" -mindepth 1 -maxdepth 1 -type d ! -name '.*' -printf '%f\n' | sort | paste -sd' '; }
plan() { reap --dry-run --json "$@" >"$world/plan" || true; }
pass() { # its JSON is $world/pass, what it says besides $world/said, its exit code $code
	code=0
	reap --json --plan "$world/plan" >"$world/pass" 2>"$world/said" || code=$?
}
refused() { # pattern of what it says; the plan is $world/bad
	code=0
	reap --plan "$world/bad" >/dev/null 2>"$world/said" || code=$?
	same 2 "$code" && says "^sbx-reap: --plan $world/bad: $1" "$(cat "$world/said")"
}

# ------------------------------------------------------------------------------- exactly what it shows

for run in seen pinned signed worked moved gone; do finished "$run"; done
before=$(snapshot)
plan
check "a dry run for approval changes nothing" same "$before" "$(snapshot)"
check "each run has a seal" same 6 "$(jq -r '.runs[].seal' "$world/plan" | grep -cE '^[0-9a-f]{16}$')"
plan_again=$(jq -c '[.runs[].seal]' "$world/plan")
sleep 1.1
plan
check "that is the same as long as nothing changes" same "$plan_again" "$(jq -c '[.runs[].seal]' "$world/plan")"

finished late # due as the others, but nobody saw it
reap pin pinned --for 1h >/dev/null
reap finish signed --failed --at -30h >/dev/null 2>&1 || true # contradicts, so it changes nothing
commit_work worked
mv "$root/moved" "$root/elsewhere"
cp -a "$root/elsewhere" "$root/moved" # the same path, another directory
rm -rf "$root/elsewhere"
reap --run gone >/dev/null

check "a dry run of the plan says what would go" same 'seen signed' \
	"$(reap --dry-run --json --plan "$world/plan" 2>/dev/null |
		jq -r '.runs[] | select(.verdict == "reap") | .run' | paste -sd' ')"
check "and removes nothing" same 'late moved pinned seen signed worked' "$(stand)"
pass
check "what is as it was seen goes, and nothing else" same 'late moved pinned worked' "$(stand)"
check "what was not seen is filtered" same filtered "$(reason "$world/pass" late)"
check "what is pinned since is pinned" same pinned "$(reason "$world/pass" pinned)"
check "what was worked in since is changed" same changed "$(reason "$world/pass" worked)"
check "another tree in its place is not taken for it" same refused "$(reason "$world/pass" moved)"
check "what is gone meanwhile is said" same 'sbx-reap: run gone of the plan is there no more' "$(cat "$world/said")"
reap forget moved >/dev/null
pass
check "the same plan twice removes nothing more" same 'late moved pinned worked' "$(stand)"

# -------------------------------------------------------------------------- as a person decided it

finished early
reap finish early --ok >/dev/null 2>&1 || true
add_worktree fresh
register_run fresh --created -1h
reap finish fresh --ok >/dev/null
plan --run fresh --early
pass
check "what --early asked for goes early" same requested "$(reason "$world/pass" fresh)"
check "and is gone" exits 1 test -e "$root/fresh"

add_worktree young
register_run young --created -1h
reap finish young --ok >/dev/null
plan --now +7d
check "a forecast may show what is not due yet" same finished_ok "$(reason "$world/plan" young)"
pass
check "which its plan does not take away before its time" same retained "$(reason "$world/pass" young)"

finished last
plan
jq '.runs = []' "$world/plan" >"$world/empty"
check "a plan of nothing removes nothing" exits 0 reap --plan "$world/empty"
check "not a single one" exits 0 test -e "$root/last"
check "a plan comes from stdin, too" exits 0 eval \
	"'$SBX_REAP' --plan - --config '$world/reap.ini' <'$world/plan' >/dev/null"
check "and is acted on" exits 1 test -e "$root/last"

reap hold >/dev/null
finished held
plan
check "under a hold a plan shows nothing that goes" same held "$(reason "$world/plan" held)"
reap resume >/dev/null
plan
reap hold >/dev/null
pass
check "and a hold holds an approved plan, too" same 'held 1' "$(reason "$world/pass" held) $code"
reap resume >/dev/null

# ------------------------------------------------------------------------- the brake, and a full disk

printf '[limits]\nbrake_runs = 2\nbrake_share = 10%%\n' >>"$world/reap.ini"
for run in b1 b2 b3; do finished "$run"; done
plan --yes
pass
check "an approved plan passes the brake" exits 1 test -e "$root/b3"

# ------------------------------------------------------------------------------------------ bad plans

finished safe
plan
before=$(snapshot "$root/safe")
echo 'RUN STATE' >"$world/bad"
check "a table is no plan" refused 'it is no JSON, or not all of it; what .sbx-reap --dry-run --json. printed is wanted'
head -c 300 "$world/plan" >"$world/bad"
check "nor is half of one" refused 'it is no JSON, or not all of it'
: >"$world/bad"
check "nor nothing" refused 'it is empty'
printf '{"schema":1,\0"runs":[]}' >"$world/bad"
check "nor what holds a NUL byte" refused 'it holds a NUL byte'
echo '{"schema":1}' >"$world/bad"
check "nor JSON of something else" refused 'it lists no runs'
jq '.schema = 2' "$world/plan" >"$world/bad"
check "nor one of a later program" refused 'it is of schema 2, and this program knows 1'
jq '.dry_run = false' "$world/plan" >"$world/bad"
check "nor the report of a pass" refused 'it tells of a pass that was made'
jq '.host = "other\u001b[2J"' "$world/plan" >"$world/bad"
check "nor one of another host, whatever that is called" refused 'it is of other.x1b\[2J, and this host is '
jq 'del(.runs[].seal)' "$world/plan" >"$world/bad"
check "nor one without seals" refused 'a run in it has no seal'
jq '.runs += .runs' "$world/plan" >"$world/bad"
check "nor one that names a run twice" refused 'it lists a run twice'
jq '.runs = (.runs | map(1)) + ["safe", null, [1]]' "$world/plan" >"$world/bad"
check "what is no run in it is none" exits 0 reap --plan "$world/bad"
jq '.runs[].seal = "0000000000000000"' "$world/plan" >"$world/plan.new"
mv "$world/plan.new" "$world/plan"
pass
check "a seal that is wrong is a change" same changed "$(reason "$world/pass" safe)"
check "a file that is not there is said" exits 2 reap --plan "$world/nowhere"
check "a directory is no plan" exits 2 reap --plan "$world"
check "--plan and --run exclude each other" exits 2 reap --plan "$world/plan" --run safe
check "--plan belongs to a pass" exits 2 reap list --plan "$world/plan"
check "and none of that touched anything" same "$before" "$(snapshot "$root/safe")"

tap_done
