#!/usr/bin/env bash
# P7 on full disks: with no byte and no inode left on what holds database, repository, markers, trash and
# workspaces, one pass frees space; and when only one of them is full. Also outputs that are full, and a
# disk that turns read-only in the middle. All disks are small ones of this test, in a mount namespace of
# its own.
set -euo pipefail
[ -n "${SBX_TEST_NAMESPACE:-}" ] ||
	SBX_TEST_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
strace -o /dev/null true 2>/dev/null || tap_skip_all "strace cannot trace here"

export ASAN_OPTIONS=detect_leaks=0 # it cannot run under a tracer

# ---------------------------------------------------------------------------------------- the disks

disks=()
disks_remove() {
	local disk
	for disk in "${disks[@]}"; do
		umount --lazy "$disk" 2>/dev/null || true
	done
	world_remove
}

# disk NAME KIND [MORE]: $world/NAME, a filesystem of 24 MB and 600 inodes (of btrfs, 120 MB and as many
# as there is room for).
disk() {
	local at=$world/$1
	mkdir "$at"
	case $2 in
	tmpfs) mount -t tmpfs -o size=24M,nr_inodes=600,mode=755 sbx-test "$at" ;;
	ext4)
		truncate --size 24M "$at.image"
		# shellcheck disable=SC2086
		mke2fs -q -t ext4 -m 0 -N 600 -b 4096 ${3:-} "$at.image"
		mount -o loop "$at.image" "$at"
		;;
	btrfs)
		truncate --size 120M "$at.image"
		mkfs.btrfs --quiet "$at.image" >/dev/null 2>&1
		mount -o loop "$at.image" "$at"
		;;
	esac
	disks+=("$at")
}

fill() { # disk, [only inodes]: first all inodes, then all bytes
	local i
	mkdir "$1/fill"
	for ((i = 0; i < 700; i++)); do
		: >"$1/fill/$i" || break
	done 2>/dev/null
	[ -z "${2:-}" ] || return 0
	touch "$1/fill/0"
	dd if=/dev/zero of="$1/fill/0" bs=64k || true
	dd if=/dev/zero of="$1/fill/0" bs=512 oflag=append conv=notrunc || true
	sync -f "$1"
	dd if=/dev/zero of="$1/fill/1" bs=512 || true
} 2>/dev/null

free_of() { df --output=avail,iavail "$1" | tail -n 1 | xargs; }
is_full() { [[ $(free_of "$1") =~ ^0\  ]] || [[ $(free_of "$1") =~ \ (0|-)$ ]]; }

# ---------------------------------------------------------------------------------------- the world

# A world on disks: where the state, the repository and the roots are.
use() { # directory of the state, of the rest
	mkdir -p "$1/state" "$2/workspaces"
	root=$2/workspaces repo=$2/repo.git config=$1/state/reap.ini
	[ ! -e "$config" ] || return 0
	git clone --quiet --bare "$world/seed" "$repo"
	settings "$config" '[policy]
branch = keep'
}

add_due() { # run: clean, over for long, with 200 kB that git ignores
	add_worktree "$1"
	mkdir "$(tree "$1")/scratch"
	head -c 200000 /dev/zero >"$(tree "$1")/scratch/big"
	register_run "$1" --created -3h --ttl 1h
	reap finish "$1" --ok --at -2h >/dev/null
}

left_of() { # run
	ls -d "$(tree "$1")" "$root/$1.sbx" "$repo/worktrees/$1" 2>/dev/null || true
	find "$root/.sbx-trash" -name "$1:*" 2>/dev/null || true
}
tombstones() { reap log "$1" --json | jq '[.entries[] | select(.action == "reaped")] | length'; }
of_run() { jq -r --arg run "$1" '.runs[] | select(.run == $run) | "\(.verdict) \(.reason) \(.result)"' "$world/json"; }

pass() { # of which the JSON is kept; sets `code`
	code=0
	"${by[@]}" "$SBX_REAP" --json --config "$config" "$@" </dev/null >"$world/json" 2>"$world/said" || code=$?
}
by=()

expect_reaped() { # run...
	local run
	for run in "$@"; do
		same "reap finished_ok reaped" "$(of_run "$run")" || cat "$world/json" "$world/said"
		same '' "$(left_of "$run")" || return 1
		same 1 "$(tombstones "$run")" || return 1
	done
}

world_new ''
trap disks_remove EXIT

# -------------------------------------------------------------------------------- everything is full

# Of each kind of filesystem: due runs, one that is salvaged, one over its deadline, a pinned one.
all_full() { # kind, [a file that is missing beside the database, and then the trash is]
	local kind=$1 at=$world/$1${2:+-without}
	disk "$(basename "$at")" "$kind"
	use "$at" "$at"
	add_due due-1
	add_due due-2
	add_due unsaved
	echo "not committed" >"$(tree unsaved)/work.txt"
	reap finish unsaved --ok --at -150m >/dev/null 2>&1 || true
	add_due pinned
	reap pin pinned --for never >/dev/null
	add_worktree over
	register_run over --created -3h --ttl 1h
	reap --run nobody >/dev/null 2>&1 || true # as every five minutes
	before=$(snapshot "$(tree pinned)" "$root/pinned.sbx" "$root/pinned.keep")
	fill "$at"
	[ -z "${2:-}" ] || rm -r "$at/state/$2" "$root/.sbx-trash"
	fill_again "$at"
	check "$kind${2:+, without a trash and $2}: there is neither a byte nor an inode" is_full "$at"
	pass
	check "$kind${2:+, without a trash and $2}: one pass reaps what is due" expect_reaped due-1 due-2
	check "$kind${2:+, without a trash and $2}: a pinned run stays byte for byte" same "$before" \
		"$(snapshot "$(tree pinned)" "$root/pinned.sbx" "$root/pinned.keep")"
	check "$kind${2:+, without a trash and $2}: unsaved work is salvaged or stays" salvaged_or_there
	check "$kind${2:+, without a trash and $2}: the database is whole" database_is_whole
	rm -r "$at/fill"
	pass --run unsaved --early
	check "$kind${2:+, without a trash and $2}: when there is room it is salvaged" salvaged_unsaved
	umount "$at"
}

fill_again() { # what was freed meanwhile
	local i
	for ((i = 1000; i < 1700; i++)); do
		: >"$1/fill/$i" || break
	done 2>/dev/null
}

salvaged_unsaved() {
	same '' "$(left_of unsaved)" || { cat "$world/json" "$world/said"; return 1; }
	git -C "$repo" show refs/sbx/salvage/unsaved:work.txt | grep -qx 'not committed'
}
salvaged_or_there() { [ -e "$(tree unsaved)/work.txt" ] || salvaged_unsaved; }
database_is_whole() { same ok "$(sqlite3 "$(dirname "$config")/reap.db" 'PRAGMA integrity_check')"; }

all_full tmpfs
all_full ext4 reap.db.lock
if grep -qw btrfs /proc/filesystems && command -v mkfs.btrfs >/dev/null; then
	all_full btrfs
fi

# ------------------------------------------------------------------------------- one of them is full

disk state tmpfs
disk roots tmpfs
disk temporary tmpfs
use "$world/state" "$world/roots"

add_due state-full
reap --run nobody >/dev/null 2>&1
fill "$world/state"
pass
check "only the disk of the database is full: it is reaped" expect_reaped state-full
add_worktree late
check "and a run can be registered there, finished and pinned" \
	reap register late --worktree "$(tree late)" --repo "$repo" --branch sbx/late --created -3h
check "… finished" reap finish late --failed --at -2h
check "… pinned" reap pin late --for never
rm -r "$world/state/fill"
reap unpin late >/dev/null
check "what was given up is put by again when there is room" \
	same 1048576 "$(stat -c %s "$world/state/state/reap.db.reserve")"

add_due roots-full
add_worktree over
sleep 1000 &
register_run over --created -3h --ttl 1h --pid $!
add_worktree ends
register_run ends --created -3h --ttl 1h
fill "$world/roots"
check "only the disk of the roots is full: a harness can end its run" reap finish ends --ok --at -2h
pass
check "… and it is reaped" expect_reaped roots-full ends
check "… a run over its deadline is stopped, and its marker says so" grep -q '^outcome = failed' "$root/over.sbx"
rm -r "$world/roots/fill"

add_due temporary-full
fill "$world/temporary"
by=(env TMPDIR="$world/temporary")
pass
check "only the temporary directory is full: it is reaped" expect_reaped temporary-full
by=()

# A clone on a full disk without a trash, broken off while it is deleted in place.
disk clones tmpfs
use "$world/clones" "$world/clones"
for n in 3 25 40; do
	run=clone-$n
	git clone --quiet "$repo" "$(tree "$run")"
	reap register "$run" --worktree "$(tree "$run")" --repo "$(tree "$run")" --created -3h --ttl 1h >/dev/null
	reap finish "$run" --ok --at -2h >/dev/null
	reap --run nobody >/dev/null 2>&1
	fill "$world/clones"
	rm -r "$root/.sbx-trash"
	fill_again "$world/clones"
	strace -f -qq -o /dev/null -e trace=unlinkat -e "inject=unlinkat:signal=KILL:when=$n" \
		"$SBX_REAP" --config "$config" </dev/null >/dev/null 2>&1 || true
	pass
	check "a clone is broken off at removal $n: the next pass finishes" \
		same " 1" "$(left_of "$run") $(tombstones "$run")"
	rm -r "$world/clones/fill"
done

# Under the unit what a filesystem keeps for root is not to be had.
disk kept ext4 '-m 40'
use "$world/kept" "$world/kept"
add_due kept
reap --run nobody >/dev/null 2>&1
fill_as=(setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource)
"${fill_as[@]}" dd if=/dev/zero of="$world/kept/fill" bs=4096 2>/dev/null || true
check "for who may not use what is kept for root the disk is full" \
	exits 1 "${fill_as[@]}" dd if=/dev/zero of="$world/kept/more" bs=8192 count=1 status=none
by=("${fill_as[@]}")
pass
check "… and it is reaped" expect_reaped kept
by=()
umount "$world/kept"

# --------------------------------------------------------------------------------- full outputs

use "$world/state" "$world/roots"
for how in --json ''; do
	add_due "output${how:-table}"
	code=0
	# shellcheck disable=SC2086
	timeout 60 "$SBX_REAP" $how --config "$config" </dev/null >/dev/full 2>"$world/said" || code=$?
	check "a report${how:+ with $how} that cannot be written: exit code 1" same 1 "$code"
	check "… it is said" says 'standard output: No space' "$(cat "$world/said")"
	check "… and the work is done" same '' "$(left_of "output${how:-table}")"
done
add_due pipe
# shellcheck disable=SC2016
check "nobody reads the report: the work is done, and exit code 0" \
	bash -c 'timeout 60 "$SBX_REAP" --config "$0" </dev/null | true; exit "${PIPESTATUS[0]}"' "$config"
check "… it is" same '' "$(left_of pipe)"
add_due messages
# shellcheck disable=SC2016
check "standard error is full: the work is done, and exit code 0" \
	bash -c 'timeout 60 "$SBX_REAP" --config "$0" </dev/null >/dev/null 2>/dev/full' "$config"
check "… it is" same '' "$(left_of messages)"
add_due closed
# shellcheck disable=SC2016
check "nothing is open: the work is done" \
	bash -c 'timeout 60 "$SBX_REAP" --config "$0" <&- >&- 2>&-' "$config"
check "… it is" same '' "$(left_of closed)"

# ----------------------------------------------------------------------------- read-only in the middle

# Starts a pass that stops at its Nth call, or its child does; sets `tracer` and `stopped`.
start_and_stop() { # call, N
	local try
	stopped=''
	: >"$world/calls"
	strace -f -qq -o "$world/calls" -e "trace=$1" -e "inject=$1:signal=STOP:when=$2" \
		"$SBX_REAP" --json --config "$config" </dev/null >"$world/json" 2>"$world/said" &
	tracer=$!
	for ((try = 0; try < 600 && ${#stopped} == 0; try++)); do
		sleep 0.1
		stopped=$(awk '/stopped by SIGSTOP/ { print $1; exit }' "$world/calls")
	done
}
go_on() { # sets `code`
	kill -CONT "$stopped"
	code=0
	wait "$tracer" || code=$?
}

n=0
for at in 'renameat2 1' 'unlinkat 2' 'unlinkat 6'; do
	n=$((n + 1))
	add_due "ro-$n"
	# shellcheck disable=SC2086
	start_and_stop $at
	mount -o remount,ro "$world/roots"
	go_on
	check "read-only from ${at% *} ${at#* } on: the run failed" \
		same "reap finished_ok failed" "$(of_run "ro-$n")"
	check "… it says why" says 'Read-only file system' "$(jq -r '.runs[].error // empty' "$world/json")"
	check "… with exit code 1, and nothing is called reaped that is there" same 1 "$code"
	check "… no tombstone" same 0 "$(tombstones "ro-$n")"
	mount -o remount,rw "$world/roots"
	pass
	check "… writable again the next pass finishes" same " 1" "$(left_of "ro-$n") $(tombstones "ro-$n")"
done

# The kernel itself makes everything read-only in the middle: also the database.
if [ -d /sys/fs/ext4 ]; then
	disk broken ext4
	mount -o remount,errors=remount-ro "$world/broken"
	use "$world/broken" "$world/broken"
	reap --run nobody >/dev/null 2>&1
	device=$(basename "$(findmnt -n -o SOURCE "$world/broken")")
	for at in 'renameat2 1' 'unlinkat 2'; do
		run=broken-${at% *}
		add_due "$run"
		sync -f "$world/broken"
		# shellcheck disable=SC2086
		start_and_stop $at
		[[ $device == loop* ]] # never a disk of the machine
		echo broken >"/sys/fs/ext4/$device/trigger_fs_error"
		go_on
		check "the disk fails at ${at}: exit code 1 or 65" grep -qxE '1|65' <<<"$code"
		check "… it says so" says 'read-only|Read-only|input or output' "$(cat "$world/said" "$world/json")"
		check "… and calls nothing reaped" same '' "$(grep -o '"result": *"reaped"' "$world/json" || true)"
		umount "$world/broken"
		e2fsck -fy "$world/broken.image" >/dev/null 2>&1 || true
		mount -o loop,errors=remount-ro "$world/broken.image" "$world/broken"
		device=$(basename "$(findmnt -n -o SOURCE "$world/broken")")
		pass
		check "… mended, the next pass finishes" same " 1" "$(left_of "$run") $(tombstones "$run")"
	done
fi
tap_done
