#!/usr/bin/env bash
# What is mounted in workspaces: found before anything goes, taken down where it is the run's, and what
# is behind it stays whole. In mount and pid namespaces of its own, whose first process is this test:
# so there is a PID 1 to be in the same namespace with, or not.
set -euo pipefail
if [ "${MOUNTS_INSIDE:-}" = "" ]; then
	[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP only root can mount"; exit 0; }
	# In the background, so that a signal ends the wait; the namespace goes with its first process.
	MOUNTS_INSIDE=1 SBX_TEST_ID=$$ unshare --mount --propagation private --pid --fork \
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

ended() { # run
	add_worktree "$1"
	commit_work "$1"
	mkdir -p "$(tree "$1")/scratch/m"
	register_run "$1" --created -30h --ttl 2h
	reap finish "$1" --failed --at -29h >/dev/null
}

# Nothing that hangs for ever may hang the test.
reap() { timeout 100 "$SBX_REAP" "$@" --config "$world/reap.ini" </dev/null; }
of_run() { reap "${@:2}" --json | jq -r --arg run "$1" \
	'.runs[] | select(.run == $run) | "\(.verdict) \(.reason) \(.result)"' || true; }
error_of() { reap log "$1" | tail -n 1; }
mounts_of() { awk -v at="$(tree "$1")/" 'index($5, at) == 1 { n++ } END { print n + 0 }' /proc/self/mountinfo; }
mount_resources() { # run: what the list says is mounted in it
	reap list --json | jq -r --arg run "$1" \
		'.runs[] | select(.run == $run) | .resources[] | select(.kind == "mount") | "\(.present) \(.note)"'
}
goes() { [ ! -e "$(tree "$1")" ] && [ "$(mounts_of "$1")" = 0 ]; }

world_new '[policy]
unsaved = keep'
loop=
# Nothing may be left mounted when the world is removed: rm would wait for a server that sleeps.
world_leave() {
	exec 7>&-
	[ -z "$loop" ] || losetup -d "$loop"
	awk -v at="$world/" 'index($5, at) == 1 { print $5 }' /proc/self/mountinfo | tac |
		sed 's/\\/\\\\/g' | xargs -r -n 1 printf '%b\0' | xargs -0 -r -n 1 umount -l 2>/dev/null || true
	world_remove
}
trap world_leave EXIT
outside=$world/outside
mkdir "$outside"
echo precious >"$outside/file"
whole() { same precious "$(cat "$outside/file")"; }
check "check says that PID 1 sees what we see" says '^ok +mount names.* that of PID 1' "$(reap check || true)"

# -------------------------------------------------------------------------- mounts of every kind

ended many
at=$(tree many)/scratch
mkdir "$at/bind" "$at/disk" "$at/bind of the same" "$at/memory" "$at/union"
touch "$at/file"
mount --bind "$outside" "$at/bind"
mount --bind -o ro "$outside/file" "$at/file"
mount --bind "$(tree many)/src" "$at/bind of the same"
mount -t tmpfs scratch "$at/memory"
mkdir "$at/memory/inner"
mount --bind "$outside" "$at/memory/inner"
mount -t tmpfs again "$at/memory"
truncate -s 4M "$world/disk.img"
mkfs.ext4 -q "$world/disk.img"
mount -o loop "$world/disk.img" "$at/disk"
echo kept >"$at/disk/file"
mkdir "$world/upper" "$world/work"
mount -t overlay -o "lowerdir=$outside,upperdir=$world/upper,workdir=$world/work" none "$at/union"
check "each is listed with its kind, what it is and where it comes from" \
	says "^yes ext4 /dev/loop" "$(mount_resources many)"
check "one on another is one place" same 7 "$(mount_resources many | wc -l)"
before=$(cat /proc/self/mountinfo)
check "a dry run finds it due" same 'reap finished_failed null' "$(of_run many --dry-run)"
check "and unmounts nothing" same "$before" "$(cat /proc/self/mountinfo)"
check "the run goes" same 'reap finished_failed reaped' "$(of_run many)"
check "and what was mounted in it" goes many
check "what is behind the binds stays whole" whole
mount -o loop "$world/disk.img" "$world/upper"
check "and what is on the disk" same kept "$(cat "$world/upper/file")"
umount "$world/upper"

# ----------------------------------------------------------------------------------- mounts in use

ended busy
ended other
mount --bind "$outside" "$(tree busy)/scratch/m"
sleep 1000 7<"$(tree busy)/scratch/m/file" &
holder=$!
check "a mount in use stays" same 'reap finished_failed failed' "$(of_run busy)"
check "it is named, and who uses it" says "scratch/m.* pid $holder \(.*\): an open file" "$(error_of busy)"
check "the tree is as it was" test -e "$(tree busy)/src/main.c"
check "nothing was detached behind anybody's back" same 1 "$(mounts_of busy)"
check "the others go" goes other
kill -KILL "$holder"
wait "$holder" 2>/dev/null || true
check "once nobody uses it, the run goes" same 'reap resumed reaped' "$(of_run busy)"
check "and what is behind it stays" whole

ended looped
mount -t tmpfs scratch "$(tree looped)/scratch/m"
truncate -s 1M "$(tree looped)/scratch/m/disk.img"
loop=$(losetup --find --show "$(tree looped)/scratch/m/disk.img")
check "a mount that only the kernel uses stays" same 'reap finished_failed failed' "$(of_run looped)"
check "which is said" says "scratch/m.*the kernel may \(a loop device" "$(error_of looped)"
losetup -d "$loop"
loop=
check "and goes after that" same 'reap resumed reaped' "$(of_run looped)"

# ------------------------------------------------------------------------------------ unsaved work

ended memory
mkdir "$(tree memory)/results"
mount -t tmpfs none "$(tree memory)/results"
echo x >"$(tree memory)/results/numbers"
check "files that vanish with a mount are unsaved work" same 'keep unsaved_work null' "$(of_run memory)"
check "which stays mounted" test -e "$(tree memory)/results/numbers"
check "and is named" says 'results: tmpfs' "$(reap list || true)"
umount "$(tree memory)/results"
check "without it the run goes" same 'reap finished_failed reaped' "$(of_run memory)"

ended covered
echo changed >>"$(tree covered)/src/main.c"
mount --bind "$outside" "$(tree covered)/src"
of_run covered >/dev/null
check "what a mount covered is asked for when it is gone" same 0 "$(mounts_of covered)"
check "and unsaved work that comes to light there stays" \
	says changed "$(cat "$(tree covered)/src/main.c")"
check "and is named" same 'keep unsaved_work null' "$(of_run covered)"
git -C "$(tree covered)" checkout --quiet -- src/main.c
check "without it the run goes" same 'reap finished_failed reaped' "$(of_run covered)"

# --------------------------------------------------------------------------- where nobody answers

fuse_mount() { # run: one whose server never answers; it holds descriptor 7
	exec 7<>/dev/fuse
	mount -i -t fuse.sbxtest -o fd=7,rootmode=40000,user_id=0,group_id=0 sbx "$(tree "$1")/scratch/m"
}

ended asleep
fuse_mount asleep
began=$(cut -d. -f1 /proc/uptime)
check "a FUSE mount whose server sleeps does not hold up the run" \
	same 'reap finished_failed reaped' "$(of_run asleep)"
check "nor the pass" test $(($(cut -d. -f1 /proc/uptime) - began)) -lt 40
check "it is gone" goes asleep
exec 7>&-
ended dead
fuse_mount dead
exec 7>&-
check "one whose server died goes, too" same 'reap finished_failed reaped' "$(of_run dead)"
check "and is gone" goes dead

ended self
fuse_on=$(tree self)
exec 7<>/dev/fuse
mount -i -t fuse.sbxtest -o fd=7,rootmode=40000,user_id=0,group_id=0 sbx "$fuse_on"
check "one on the workspace itself keeps it" same 'keep unknown null' "$(of_run self)"
check "and is shown" says 'yes fuse.sbxtest sbx: mounted over what was registered' "$(mount_resources self)"
exec 7>&-
umount -l "$fuse_on"
check "without it the run goes" same 'reap finished_failed reaped' "$(of_run self)"
mkdir "$root/stranger"
exec 7<>/dev/fuse
mount -i -t fuse.sbxtest -o fd=7,rootmode=40000,user_id=0,group_id=0 sbx "$root/stranger"
check "one that nobody registered hangs no pass" exits 0 timeout 60 "$SBX_REAP" list --config "$world/reap.ini"
exec 7>&-
umount -l "$root/stranger"
rmdir "$root/stranger"

# -------------------------------------------------------------------------------- other namespaces

in_own_namespace() { unshare --mount --propagation private "$@"; }
reap_apart() { in_own_namespace "$SBX_REAP" "$@" --config "$world/reap.ini" </dev/null; }

ended apart
mount --bind "$outside" "$(tree apart)/scratch/m"
check "check says that PID 1 is in another namespace" \
	says '^warn +mount names.* not that of PID 1' "$(reap_apart check || true)"
check "a mount that PID 1 has as well is not unmounted here alone" exits 1 reap_apart
check "the run stays, and says so" says "scratch/m: PID 1 has it in another mount namespace" \
	"$(error_of apart)"
check "the mount and the tree are as they were" same 1 "$(mounts_of apart)"
# shellcheck disable=SC2016 # for the shell within
check "one that only PID 1 has keeps the run, too" exits 1 in_own_namespace \
	bash -c 'umount "$1" && "$2" --config "$3" </dev/null' - "$(tree apart)/scratch/m" "$SBX_REAP" "$world/reap.ini"
check "and says so" says "in another mount namespace" "$(error_of apart)"
check "the tree stays" test -e "$(tree apart)/src/main.c"
umount "$(tree apart)/scratch/m"
# shellcheck disable=SC2016 # for the shell within
check "one that only we have is ours to unmount" exits 0 in_own_namespace \
	bash -c 'mount --bind "$1" "$2" && "$3" --run apart --early --config "$4" </dev/null' - "$outside" \
	"$(tree apart)/scratch/m" "$SBX_REAP" "$world/reap.ini"
check "and the run goes" goes apart
check "what is behind it stays" whole
tap_done
