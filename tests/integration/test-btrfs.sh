#!/usr/bin/env bash
# Workspaces on btrfs: subvolumes in them and workspaces that are one, writable, read-only, nested, and
# snapshots. A subvolume has a device number of its own and is no mount; its top is always inode 256.
# On a loop image, in a mount namespace of its own.
set -euo pipefail
[ -n "${SBX_TEST_NAMESPACE:-}" ] ||
	SBX_TEST_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
command -v mkfs.btrfs >/dev/null || tap_skip_all "btrfs-progs is not installed"
grep -qw btrfs /proc/filesystems || modprobe btrfs 2>/dev/null ||
	tap_skip_all "this kernel has no btrfs"

world_new ''
truncate --size 300M "$world/disk"
mkfs.btrfs --quiet "$world/disk" >/dev/null 2>&1
trap 'umount --lazy "$root"; world_remove' EXIT
mount --options loop "$world/disk" "$root"

of_run() { reap "${@:2}" --json | jq -r --arg run "$1" \
	'.runs[] | select(.run == $run) | "\(.verdict) \(.reason) \(.result)"' || true; }

subvolume() { btrfs -q subvolume create "$1"; }
read_only() { btrfs -q property set -ts "$1" ro true; }
end_run() { reap finish "$1" --ok --at -2h >/dev/null; }

register_tree() { # run: git's worktree, made where the tree is already
	git -C "$repo" worktree add --quiet --force -b "sbx/$1" "$(tree "$1")" >/dev/null 2>&1
	register_run "$1" --created -3h --ttl 1h
}

left() { # run
	ls -d "$root/$1" 2>/dev/null || true
	find "$root/.sbx-trash" -name "$1:*" 2>/dev/null || true
	btrfs subvolume list "$root" | grep -E "(^|[ /])$1(:|/|\$)" || true
}

victim=$root/victim # not the run's, and snapshots of it are
subvolume "$victim"
echo precious >"$victim/file"
subvolume "$victim/nested"
before=$(snapshot "$victim")

# ------------------------------------------------------------------------------ subvolumes in a run

add_worktree inside
register_run inside --created -3h --ttl 1h
mkdir -p "$(tree inside)/scratch/deep"
cd "$(tree inside)/scratch"
subvolume writable
echo x >writable/file
subvolume read-only
mkdir -p read-only/a/b
echo x >read-only/a/b/file
chmod 0500 read-only/a read-only
subvolume read-only/nested
echo x >read-only/nested/file
read_only read-only/nested
read_only read-only
subvolume empty
read_only empty
subvolume deep/flagged
touch deep/flagged/file
chattr +i deep/flagged/file deep/flagged
read_only deep/flagged
btrfs -q subvolume snapshot "$victim" copied
btrfs -q subvolume snapshot -r "$victim" copied/again
cd "$world"
check "subvolumes are no mounts" same "$root" \
	"$(findmnt --noheadings --output TARGET --target "$(tree inside)/scratch/writable")"
end_run inside
check "a run with subvolumes of every kind goes" same 'reap finished_ok reaped' "$(of_run inside)"
check "and leaves nothing" same '' "$(left inside)"
check "what its snapshots were of stays" same "$before" "$(snapshot "$victim")"

# ------------------------------------------------------------------------- a run that is a subvolume

for kind in writable read-only flagged; do
	run=own-$kind
	subvolume "$(tree "$run")"
	register_tree "$run"
	check "a tree that is a subvolume is the one registered, $kind" \
		same 'keep retained null' "$(reap finish "$run" --failed >/dev/null && of_run "$run" --dry-run)"
	reap forget "$run" >/dev/null
	register_run "$run" --created -3h --ttl 1h
	[ "$kind" != flagged ] || chattr +a "$(tree "$run")"
	[ "$kind" = writable ] || read_only "$(tree "$run")"
	end_run "$run"
	check "it goes" same 'reap finished_ok reaped' "$(of_run "$run")"
	check "and leaves nothing, $kind" same '' "$(left "$run")"
	check "nor in git" same '' "$(git -C "$repo" worktree list | grep -w "$run" || true)"
done

subvolume "$(tree swapped)"
register_tree swapped
mv "$(tree swapped)" "$root/away"
subvolume "$(tree swapped)"
cp -a "$root/away/." "$(tree swapped)"
end_run swapped
check "another subvolume in its place, of the same inode number, is refused" \
	same 'keep refused null' "$(of_run swapped)"
check "and stays" test -e "$(tree swapped)/README.md"

# ------------------------------------------------------------------------------- what cannot be done

add_worktree shared
register_run shared --created -3h --ttl 1h
mkdir "$(tree shared)/scratch"
subvolume "$(tree shared)/scratch/s"
echo mine >"$(tree shared)/scratch/s/file"
ln "$(tree shared)/scratch/s/file" "$(tree shared)/scratch/s/other"
chattr +i "$(tree shared)/scratch/s/file"
read_only "$(tree shared)/scratch/s"
end_run shared
check "an immutable file with two links in a read-only subvolume stays, and says why" \
	says 'it is immutable, and it has other hard links' "$(reap --run shared 2>&1 || true)"
chattr -i "$root"/.sbx-trash/shared:*/scratch/s/file
check "when a person has mended it, it goes" same 'reap resumed reaped' "$(of_run shared)"
check "and leaves nothing of it" same '' "$(left shared)"
check "what is not the run's is whole at the end" same "$before" "$(snapshot "$victim")"
tap_done
