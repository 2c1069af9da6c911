#!/usr/bin/env bash
# Mounts behind which nobody answers: as a root, as a repository, as a tree, above a path. What lies there is unknown and kept, a reason names the mount, nothing hangs, and
# everything else goes. In mount and pid namespaces of its own.
set -euo pipefail
if [ "${SILENT_INSIDE:-}" = "" ]; then
	[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP only root can mount"; exit 0; }
	# In the background, so that a signal ends the wait; the namespace goes with its first process.
	SILENT_INSIDE=1 SBX_TEST_ID=$$ unshare --mount --propagation private --pid --fork \
		--kill-child=TERM --mount-proc "$0" &
	trap 'kill -KILL $! 2>/dev/null' EXIT
	trap 'exit 143' INT TERM HUP
	wait $! && trap - EXIT
	exit
fi
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
[ -e /dev/fuse ] || tap_skip_all "there is no /dev/fuse"

# Nothing that hangs for ever may hang the test.
reap() { timeout 100 "$SBX_REAP" "$@" --config "$world/reap.ini" </dev/null; }

world_new ''
# Nothing may be left mounted when the world is removed: rm would wait for a server that sleeps.
world_leave() {
	exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&-
	awk -v at="$world/" 'index($5, at) == 1 { print $5 }' /proc/self/mountinfo | tac |
		xargs -r -n 1 umount -l 2>/dev/null || true
	world_remove
}
trap world_leave EXIT

old=("--no-container" --created -30h --ttl 2h)
over() { reap finish "$1" --failed --at -29h >/dev/null; }
tree_of() { # root, run
	git -C "$repo" worktree add --quiet -b "sbx/$2" "$1/$2" >/dev/null 2>&1
	reap register "$2" --worktree "$1/$2" --repo "$repo" --branch "sbx/$2" "${old[@]}" >/dev/null
	over "$2"
}

# Each of these lies where somebody will not answer any more, but the first.
mkdir -p "$world/far" "$world/many/a/ws" "$world/many/b/ws" "$world/paths/box"
git clone --quiet --bare "$repo" "$world/lost.git"
git clone --quiet --bare "$repo" "$world/other.git"
cat >"$world/reap.ini" <<-EOF
	[state]
	database = $world/reap.db
	[workspaces]
	root = $root
	root = $world/far
	root = $world/many/*/ws
	path_root = $world/paths
	repo = $repo
	repo = $world/lost.git
	[cgroups]
	root = ${cgroup_locator#/}
	[disk]
	high = 100%
	low = 99%
EOF
tree_of "$root" good
tree_of "$world/far" far
tree_of "$world/many/a/ws" pattern
tree_of "$world/many/b/ws" neighbour
tree_of "$root" covered
for run in lost other; do
	git -C "$world/$run.git" worktree add --quiet -b "sbx/$run" "$root/$run" >/dev/null 2>&1
	reap register $run --worktree "$root/$run" --repo "$world/$run.git" "${old[@]}" >/dev/null
	over $run
done
mkdir "$world/paths/box/deep"
reap register above --path "$world/paths/box/deep" "${old[@]}" >/dev/null
over above

fuse() { # descriptor, where
	mount -i -t fuse.sbxtest -o "fd=$1,rootmode=40000,user_id=0,group_id=0" sbx "$2"
}
exec 3<>/dev/fuse 4<>/dev/fuse 5<>/dev/fuse 6<>/dev/fuse 7<>/dev/fuse 8<>/dev/fuse
fuse 5 "$world/far"
fuse 6 "$world/many/a"
fuse 7 "$world/lost.git"
fuse 8 "$world/other.git"
fuse 3 "$root/covered"
fuse 4 "$world/paths/box"

report() { jq -r --arg run "$1" '.runs[] | select(.run == $run) | "\(.verdict) \(.reason)"' "$world/out"; }
why() { jq -r --arg run "$1" '.runs[] | select(.run == $run) | .error // .fault // ""' "$world/out"; }
told() { jq -r '.sources[] | select(.ok == false) | "\(.name) \(.at): \(.error)"' "$world/out"; }
all_are_unknown() {
	local run
	for run in far pattern lost other covered above; do
		same "keep unknown" "$(report "$run")" || { echo "$run"; return 1; }
	done
}
ends() { # in a minute, with this exit code
	local wanted=$1 start=$SECONDS code=0
	shift
	"$@" >"$world/out" 2>"$world/err" || code=$?
	same "$wanted" "$code" && [ $((SECONDS - start)) -lt 90 ]
}

check "a list ends" ends 69 reap list --json
check "and has every run that lies there as unknown" all_are_unknown
check "a source names the root, and the mount that it lies on" \
	says "^markers $world/far: it does not answer.* fuse.sbxtest that is mounted at $world/far" "$(told)"
check "and what of a pattern does not answer" says "^markers $world/many/a: it does not answer" "$(told)"
check "and the repository that is configured" says "^worktrees $world/lost.git: it does not answer" "$(told)"
check "and the one that only a run names" says "^worktrees $world/other.git: it does not answer" "$(told)"
check "what can be seen is due" same "reap finished_failed" "$(report good)"
check "also of the same pattern" same "reap finished_failed" "$(report neighbour)"
check "why says what is unknown, and where that comes from" says "$world/other.git: it does not answer" \
	"$(reap why other || true)"
check "check ends, and names the root" says "fuse.sbxtest that is mounted at $world/far" "$(reap check || true)"
# What the command line names, and what a named repository has, is not touched either.
refuses() { # pattern, arguments of the program
	local pattern=$1
	shift
	ends 69 "$SBX_REAP" "$@" && says "$pattern" "$(cat "$world/err")"
}
heap=$world/heap
git init --quiet "$heap"
git -C "$heap" -c user.name=t -c user.email=t@t commit --quiet --allow-empty -m one
check "a named repository is told to be silent" \
	refuses "^sbx-reap: --repo '$world/lost.git': it does not answer" --dry-run --repo "$world/lost.git"
check "so is a place below it" \
	refuses "^sbx-reap: --repo '$world/lost.git/a/b': it does" list --repo "$world/lost.git/a/b"
check "so is a named root" \
	refuses "^sbx-reap: --root '$world/far/x'" list --repo "$heap" --root "$world/far/x"
check "so is the tree of a registration" refuses "^sbx-reap: --worktree '$world/far/x'" \
	register late --worktree "$world/far/x" --repo "$heap"
mkdir "$heap/.worktrees"
exec 9<>/dev/fuse
fuse 9 "$heap/.worktrees"
check "a usual place for trees that is silent is a source that is" \
	ends 69 env XDG_STATE_HOME="$world/visits" "$SBX_REAP" list --json --repo "$heap"
check "and is told" says "^markers $heap/.worktrees: it does not answer" "$(told)"
umount -l "$heap/.worktrees"
exec 9>&-
check "a pass ends" ends 69 reap --json
check "and keeps what it cannot see" all_are_unknown
check "what it can see is gone" test ! -e "$root/good"
check "also of the same pattern" test ! -e "$world/many/b/ws/neighbour"
check "no process is left that waits for an answer" \
	same "" "$(ps -e -o comm= -o stat= | awk '$1 ~ /^sbx-reap/ && $2 !~ /^Z/')"

# The mounts go; what they hid is seen again.
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&-
for at in far many/a lost.git other.git workspaces/covered paths/box; do
	umount -l "$world/$at"
done
check "the next pass takes all of it" ends 0 reap --json
check "and nothing is left" same "" \
	"$(find "$root" "$world/far" "$world"/many/*/ws -mindepth 1 -maxdepth 1 ! -name .sbx-trash)"

# What was salvaged into a repository that falls silent stays, and is told.
salvages() { sqlite3 "$world/reap.db" "SELECT count(*) FROM salvage WHERE run = 'kept'"; }
sqlite3 "$world/reap.db" "INSERT INTO salvage (run, generation, made_s, form, tree, repo, ref, commit_id, bytes) VALUES ('kept', 1, 1, 'commit', '$root/kept', '$world/other.git', 'refs/sbx/salvage/kept', '1234567890123456789012345678901234567890', 1)"
exec 3<>/dev/fuse
fuse 3 "$world/other.git"
check "a pass ends where what was salvaged does not answer" ends 1 reap --json
check "and says so" says "salvaged from run kept is kept for another pass: $world/other.git: it does not answer" \
	"$(cat "$world/err")"
check "check says it as well" says "$world/other.git: it does not answer" "$(reap check || true)"
check "it stays on the books" same 1 "$(salvages)"
exec 3>&-
umount -l "$world/other.git"
check "when it answers again the next pass ends" ends 0 reap --json
check "and the salvage with it" same 0 "$(salvages)"
tap_done
