#!/usr/bin/env bash
# Trees that were made to stop, mislead or exhaust the removal, against the whole program: what is in a
# workspace never decides what else goes, and never keeps it from going (P1, P5).
set -euo pipefail
[ -n "${SBX_TEST_NAMESPACE:-}" ] ||
	SBX_TEST_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"

world_new ''
mount -t tmpfs -o mode=755 sbx-test "$root" # thousands of directories, without a disk under them
trap 'umount --lazy "$root"; world_remove' EXIT
victim=$world/victim
mkdir -p "$victim/sub"
echo precious >"$victim/file"
echo precious >"$victim/sub/file"

new_run() { # run; sets `scratch`, a directory that its .gitignore ignores
	add_worktree "$1"
	register_run "$1" --created -3h --ttl 1h
	reap finish "$1" --ok --at -2h >/dev/null
	scratch=$(tree "$1")/scratch
	mkdir "$scratch"
}

of_run() { reap "${@:2}" --json | jq -r --arg run "$1" \
	'.runs[] | select(.run == $run) | "\(.verdict) \(.reason) \(.result)"' || true; }

left() { # run
	ls -d "$root/$1" "$repo/worktrees/$1" 2>/dev/null || true
	find "$root/.sbx-trash" -name "$1:*" 2>/dev/null || true
}

goes() { # run
	same 'reap finished_ok reaped' "$(of_run "$1")"
	same '' "$(left "$1")"
}

before=$(snapshot "$victim")

new_run links
ln -s / "$scratch/root"
ln -s . "$scratch/loop"
ln -s "$victim" "$scratch/absolute"
ln -s ../../../victim "$scratch/relative"
ln -s "$victim/file" "$scratch/file"
ln -s nowhere "$scratch/dangling"
ln -s /proc/self/root "$scratch/magic"
check "links to everywhere are unlinked" goes links

new_run names
(
	cd "$scratch"
	names=('...' '-rf' $'a\nb' $'\e[2J' "$(printf 'n%.0s' {1..255})" $'\xff\xfe')
	for byte in {1..255}; do
		printf -v name '\\x%x' "$byte"
		printf -v name '%b' "$name"
		[ "$name" = / ] || [ "$name" = . ] || names+=("$name")
	done
	mkdir -- "${names[@]}"
)
check "names of any bytes go" goes names

new_run kinds
mkfifo "$scratch/fifo"
mknod "$scratch/null" c 1 3
mknod "$scratch/whiteout" c 0 0
mknod "$scratch/disk" b 7 99
truncate --size 1T "$scratch/sparse"
fallocate --length 64M "$scratch/large"
chmod 06777 "$scratch/sparse"
freed=$(reap --run kinds --json | jq '.totals.bytes_freed')
check "fifos, devices and sparse files go, and count by what they held on disk" \
	test "$freed" -ge $((64 << 20)) -a "$freed" -lt $((80 << 20))
check "and leave nothing" same '' "$(left kinds)"

# A chain of directories in steps that are no longer than a path may be.
deepen() { # steps of 19
	local step i
	printf -v step 'd%.0s' {1..200}
	step=$(for ((i = 0; i < 19; i++)); do printf '%s/' "$step"; done)
	export -n PWD OLDPWD # too long for an environment
	for ((i = 0; i < $1; i++)); do
		mkdir -p "$step"
		cd -P "$step" 2>/dev/null
	done
}

# A registered path is scratch, where nothing is compared before it goes.
new_path() { # run; sets `scratch`
	add_worktree "$1"
	scratch=$root/$1-scratch
	mkdir "$scratch"
	register_run "$1" --created -3h --ttl 1h --path "$scratch"
	reap finish "$1" --ok --at -2h >/dev/null
}

result_of() { jq -r --arg run "$1" '.runs[] | select(.run == $run).result' "$world/$1.json"; }

new_path deep
(cd "$scratch" && deepen 80)
(
	ulimit -n 64
	ulimit -s 256
	reap --run deep --json >"$world/deep.json"
) || true
check "a tree far deeper than PATH_MAX goes with 64 descriptors and a stack of 256 KiB" same \
	reaped "$(result_of deep)"
check "and leaves nothing of it" test ! -e "$scratch" -a -z "$(left deep)"

new_path closed
mkdir -p "$scratch/a/b/c"
touch "$scratch/a/b/c/file"
chmod 000 "$scratch/a/b/c" "$scratch/a/b" "$scratch/a" "$scratch"
setpriv --bounding-set=-dac_override,-dac_read_search "$SBX_REAP" --config "$world/reap.ini" \
	--run closed --json </dev/null >"$world/closed.json" || true
check "closed directories go without CAP_DAC_OVERRIDE, for their owner" same \
	reaped "$(result_of closed)"
check "and leave nothing, closed" test ! -e "$scratch" -a -z "$(left closed)"

new_run flagged
mkdir "$scratch/fixed"
touch "$scratch/fixed/file" "$scratch/log"
chattr +a "$scratch/log"
chattr +i "$scratch/fixed/file" "$scratch/fixed" "$(tree flagged)"
check "immutable and append-only things go" goes flagged

new_run r1
new_run r10
rm -rf "$(tree r10)"
add_worktree r10-live
register_run r10-live --ttl 5h
check "a run goes" same 'reap finished_ok reaped' "$(of_run r1 --run r1)"
check "and not the live one whose name only begins like it" test -e "$(tree r10-live)/README.md"

check "what is not the run's is whole at the end" same "$before" "$(snapshot "$victim")"
tap_done
