#!/usr/bin/env bash
# Worlds in which it would be easy to remove the wrong thing, to stop for ever, or to say otherwise.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "${SBX_TEST_ENGINE:-}" ] || tap_skip_all "no container engine: SBX_TEST_ENGINE is not set"
[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
command -v strace >/dev/null || tap_skip_all "strace is not installed"

of_run() { reap "${@:2}" --json | jq -r --arg run "$1" \
	'.runs[] | select(.run == $run) | "\(.verdict) \(.reason) \(.result)"' || true; }
moment() { date --utc --date "$1" +%FT%TZ; }

ended() { # run
	add_worktree "$1"
	commit_work "$1"
	register_run "$1" --created -30h --ttl 2h
	reap finish "$1" --failed --at -29h >/dev/null
}

mark() { # run, when it was created
	printf '[run]\nid = %s\ncreated = %s\nttl = 2h\nrepo = %s\nbranch = sbx/%s\n' \
		"$1" "$(moment "$2")" "$repo" "$1" >"$root/$1.sbx"
}

# A pass that dies when it calls a system function for the first time.
killed_pass() { # system call
	{ strace -f -o /dev/null -e trace="$1" -e inject="$1:signal=KILL:when=1" \
		"$SBX_REAP" --config "${config:-$world/reap.ini}" </dev/null; } >/dev/null 2>&1 || true
}

world_new ""

# ----------------------------------------------------------------------------- pins that have ended

ended kept
printf '[pin]\nuntil = %s\n' "$(moment '-1 hour')" >"$root/kept.keep"
check "a .keep whose end has passed stops nothing" same 'reap finished_failed reaped' "$(of_run kept)"
check "the tree is gone" test ! -e "$(tree kept)"
rm -f "$root/kept.keep"

# ------------------------------------------------------------- refused in the middle of its removal

ended stuck
killed_pass renameat2
mv "$(tree stuck)" "$world/elsewhere"
mkdir "$(tree stuck)"
echo 'not the run'"'"'s' >"$(tree stuck)/file"
check "another tree in the place of a half removed one is refused" same 'keep refused null' \
	"$(of_run stuck)"
exec 9<>"$world/reap.db.lock"
flock --exclusive 9
check "it cannot be forgotten while a pass is on" exits 1 reap forget stuck
exec 9>&-
check "forget is the way out" exits 0 reap forget stuck
check "and removes nothing" test -e "$(tree stuck)/file"
check "what it leaves is foreign" same 'keep foreign null' "$(of_run stuck)"
rm -r "$(tree stuck)" "$world/elsewhere"
git -C "$repo" worktree prune

# --------------------------------------------------------------------------------- names used again

add_worktree again
mark again '-40 hours'
killed_pass renameat2
check "a pass that died has begun" says 'resumed' "$(of_run again --dry-run)"
git -C "$repo" worktree remove --force "$(tree again)"
git -C "$repo" worktree add --quiet "$(tree again)" sbx/again
mark again now
check "a new marker of that name is a new run" same 'keep live null' "$(of_run again --dry-run)"
reap >/dev/null
check "its tree stays" test -e "$(tree again)/.git"
check "it can be pinned after that pass" exits 0 reap pin again
reap unpin again >/dev/null
rm -rf "$root/again.sbx" "$(tree again)"

# ------------------------------------------------------------------- what another run's record names

settings "$world/adopt.ini" "[policy]
keep_orphan = 0s
[containers]
engine = unix://${SBX_TEST_ENGINE#unix://}"
sed -i '/^\[workspaces\]/a adopt = worktrees' "$world/adopt.ini"
config=$world/adopt.ini
git -C "$repo" worktree add --quiet -b sbx/owner "$(tree orphan)"
reap register owner --worktree "$(tree orphan)" --repo "$repo" --ttl 2h >/dev/null
add_container orphan
check "an orphan by its label goes" same 'reap orphan reaped' "$(of_run orphan)"
check "and not the tree of that name, which a live run has registered" \
	test -e "$(tree orphan)/README.md"
check "that run is as live as before" same 'keep live null' "$(of_run owner --dry-run)"

add_worktree labelled
register_run labelled --created -3h --ttl 1h
reap finish labelled --failed --at now >/dev/null 2>&1 || reap finish labelled --failed >/dev/null
add_container labelled
printf '[run]\nid = other\ncreated = %s\nttl = 9h\ncontainer = %s\n' \
	"$(moment now)" "$container" >"$root/other.sbx"
check "the run that a container is labelled for goes" same 'reap requested reaped' \
	"$(of_run labelled --run labelled --early)"
check "and not the container, which another run's marker names" \
	says labelled "$(containers_of_all)"
rm "$root/other.sbx"

# -------------------------------------------------------------------------- what lies in the trash

mkdir -p "$root/.sbx-trash"
chmod 700 "$root/.sbx-trash"
mkdir -p "$root/.sbx-trash/lost:1700000000:0/src"
check "trash without any record goes, and is reported so" same 'reap resumed reaped' \
	"$(of_run lost)"
mkdir -p "$root/.sbx-trash/young:1700000000:0/src"
add_container young
sed -i 's/^keep_orphan.*/keep_orphan = 1h/' "$config"
check "old trash does not make a container of that name due" same 'keep retained null' \
	"$(of_run young)"
check "the container stays" says young "$(containers_of_all)"
rm -r "$root/.sbx-trash/young:1700000000:0"

# ------------------------------------------------------------------------------------- a lost root

sed -i 's/^keep_orphan.*/keep_orphan = 0s/' "$config"
mkdir "$world/other"
sed -i "/^\[workspaces\]/a root = $world/other" "$config"
printf '[run]\nid = young\ncreated = %s\nttl = 20h\n' "$(moment now)" >"$world/other/young.sbx"
mv "$world/other" "$world/unmounted"
check "what may have its record in a root that is lost is unknown" same 'keep unknown null' \
	"$(of_run young)"
check "and stays" says young "$(containers_of_all)"
tap_done
