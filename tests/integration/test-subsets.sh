#!/usr/bin/env bash
# P6: what is gone already is gone, in any combination. Of the eight things that a run leaves
#
#   t  its tree              r  git's record of it     c  a container         m  its marker
#   d  the tree's .git file  b  its branch             g  a cgroup            w  its row
#
# every one of the 256 subsets is taken away before the pass. A run is named by what it still has:
# "s.t-rb-gmw" has no .git file and no container. Real git, cgroups and engine, one world, one pass.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "${SBX_TEST_ENGINE:-}" ] || tap_skip_all "no container engine: SBX_TEST_ENGINE is not set"
[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"

letters=tdrbcgmw
policy="[policy]
branch = delete
keep_ok = 0
keep_failed = 0
keep_abandoned = 0
keep_orphan = 0
[limits]
brake_runs = 0
time_budget = 15m
[containers]
engine = unix://${SBX_TEST_ENGINE#unix://}"

told=() untold=() impossible=()

has() { [[ $1 == s.*"$2"* ]]; } # run, letter

# Sorts the 256 names into those with a row or a marker, those with neither, and those that cannot be.
name_runs() {
	local mask bit name
	for ((mask = 0; mask < 256; mask++)); do
		name=s.
		for ((bit = 0; bit < 8; bit++)); do
			if ((mask >> bit & 1)); then name+=-; else name+=${letters:bit:1}; fi
		done
		if ! has "$name" t && has "$name" d; then
			impossible+=("$name")
		elif has "$name" m || has "$name" w; then
			told+=("$name")
		else
			untold+=("$name")
		fi
	done
}

began=$(date --utc --date '-3 hours' +%FT%TZ) ended=$(date --utc +%FT%TZ)

write_marker() { # run
	{
		printf '[run]\nid = %s\ncreated = %s\nttl = 1h\n' "$1" "$began"
		printf 'finished = %s\noutcome = ok\n' "$ended"
		printf 'repo = %s\nbranch = sbx/%s\n' "$repo" "$1"
		! has "$1" g || printf 'cgroup = %s/%s\n' "$cgroup_locator" "$1"
		! has "$1" c || printf 'container = %s\n' "$container"
	} >"$root/$1.sbx"
}

# The row, and by our own verb with it the marker, while all of it is there. Nobody says how it ended.
write_row() { # run
	local more=()
	if has "$1" g; then more+=(--cgroup "$cgroup_locator/$1"); fi
	if has "$1" c; then more+=(--container "$container"); fi
	register_run "$1" --created -3h --ttl 1h "${more[@]}"
}

take_away() { # run
	has "$1" m || rm -f "$root/$1.sbx"
	has "$1" b || git -C "$repo" update-ref -d "refs/heads/sbx/$1"
	has "$1" r || rm -r "$repo/worktrees/$1"
	has "$1" d || rm "$(tree "$1")/.git"
	has "$1" t || rm -r "$(tree "$1")"
}

build() { # run
	local container=
	add_worktree "$1"
	if has "$1" g; then add_cgroup "$1"; fi
	if has "$1" c; then add_container "$1"; fi
	if has "$1" w; then
		write_row "$1"
	elif has "$1" m; then
		write_marker "$1"
	fi
	take_away "$1"
}

build_all() { # runs
	local run
	for run in "$@"; do
		build "$run" || return 1
	done
}

# One look at everything; then each run is compared with it.
declare -A seen
note() { # letter, names on standard input
	local name
	while read -r name; do
		seen[$1$name]=$1
	done
}

look() {
	seen=()
	note t < <(ls -A "$root")
	note r < <(ls -A "$repo/worktrees" 2>/dev/null)
	note b < <(git -C "$repo" for-each-ref --format='%(refname:lstrip=3)' refs/heads/sbx/)
	note c < <(containers_of_all)
	note g < <(ls "$cgroup")
	note w < <(reap list --json | jq -r '.runs[] | select(.state != "unregistered") | .run')
	note d < <(cd "$root" && compgen -G '*/.git' | sed 's|/.git$||')
	note m < <(cd "$root" && compgen -G '*.sbx' | sed 's|.sbx$||')
}

left_of() { # run: sets `left` to the letters of what is left
	local at
	left=
	for ((at = 0; at < 8; at++)); do
		left+=${seen[${letters:at:1}$1]:-}
	done
}

verdicts() { jq -r '.runs[] | "\(.run) \(.verdict) \(.reason)"' "$1"; }
nothing_reaped() { same "0 0 0" "$(jq -r '.totals | "\(.reap) \(.reaped) \(.failed)"' "$1")"; }
trash_is_empty() { same '' "$(find "$root/.sbx-trash" -mindepth 1 2>/dev/null)"; }

# What nobody vouches for, but for its container: the rest stays byte for byte.
foreign_snapshot() {
	local run
	for run in "${untold[@]}"; do
		snapshot "$root/$run" "$repo/worktrees/$run" 2>/dev/null || true
	done
	git -C "$repo" for-each-ref
	ls "$cgroup"
}

name_runs
world_new "$policy"
build_all "${told[@]::72}" &
build_all "${told[@]:72}" "${untold[@]}"
wait $!
check "all 256 subsets are accounted for: 144 told, 48 untold, 64 impossible" \
	same "144 48 64" "${#told[@]} ${#untold[@]} ${#impossible[@]}"
printf '# cannot be, a .git file without its tree: %s\n' "${impossible[*]}"

untold_before=$(foreign_snapshot | grep -F -f <(printf '%s\n' "${untold[@]}") || true)
reap --dry-run --json >"$world/plan" 2>"$world/errors" || true
code=0
reap --json >"$world/first" 2>>"$world/errors" || code=$?
check "the first pass ends with exit 0" same "0 " "$code $(cat "$world/errors")"
check "it decided as its dry run did" same "$(verdicts "$world/plan")" "$(verdicts "$world/first")"

look
for run in "${told[@]}"; do
	left_of "$run"
	check "$run: nothing is left" same '' "$left"
done
check "the trash is empty" trash_is_empty

for run in "${untold[@]}"; do
	left_of "$run"
	check "$run: its container alone carried proof" same "${run//[sc.-]/}" "$left"
done
untold_after=$(foreign_snapshot | grep -F -f <(printf '%s\n' "${untold[@]}") || true)
check "what carried no proof stays byte for byte" same "$untold_before" "$untold_after"

before=$(snapshot)
code=0
reap --json >"$world/second" || code=$?
check "a second pass ends with exit 0" same 0 "$code"
check "it reaps nothing" nothing_reaped "$world/second"
check "it changes nothing" same "$before" "$(snapshot)"
check "what is left is listed as foreign" \
	same "keep foreign" "$(jq -r '.runs[] | "\(.verdict) \(.reason)"' "$world/second" | sort -u)"

# A tree that git's own record vouches for goes when the settings say so; the others still stay.
sed -i '/^repo = /a adopt = worktrees' "$world/reap.ini"
code=0
reap --json >"$world/third" || code=$?
check "a pass that adopts worktrees ends with exit 0" same 0 "$code"
look
for run in "${untold[@]}"; do
	left_of "$run"
	if has "$run" t && has "$run" d && has "$run" r; then
		check "$run: adopted, tree and record are gone" same '' "${left//[bcg]/}"
	elif ! has "$run" r; then
		check "$run: without a record it is not adopted" same "${run//[sc.-]/}" "$left"
	fi
done
tap_done
