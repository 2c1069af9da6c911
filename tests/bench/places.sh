# shellcheck shell=bash
# Filesystems of their own to measure on, as loop images in the scratch directory. They are mounted in the
# private mount namespace of scripts/bench, and a loop device goes with its mount.

place='' # where the filesystem that is used now is mounted

place_has() { # filesystem
	grep -qw "$1" /proc/filesystems || modprobe "$1" 2>/dev/null ||
		unmeasured "this kernel has no $1"
	[ "$1" = tmpfs ] || command -v "mkfs.$1" >/dev/null ||
		unmeasured "mkfs.$1 is missing (scripts/install-deps bench)"
}

# place_open FILESYSTEM [SIZE [INODES]]: a fresh one; the files of the image are sparse.
place_open() {
	local image=$scratch/disks/$1 size=${2:-8G} inodes=${3:-3000000}
	place_has "$1"
	place=$scratch/$1
	mkdir -p "$place"
	[ "$1" = tmpfs ] || { rm -f "$image" && truncate --size "$size" "$image"; }
	case $1 in
	ext4) # what the kernel would go on to write to a new one disturbs
		mkfs.ext4 -q -F -N "$inodes" "$image" >"$scratch/mkfs.log" 2>&1
		mount -o loop,noinit_itable "$image" "$place"
		;;
	xfs)
		mkfs.xfs -q -f "$image" >"$scratch/mkfs.log" 2>&1
		mount -o loop "$image" "$place"
		;;
	btrfs)
		mkfs.btrfs -q -f "$image" >"$scratch/mkfs.log" 2>&1
		mount -o loop "$image" "$place"
		;;
	tmpfs) mount -t tmpfs -o "size=$size,nr_inodes=$inodes" none "$place" ;;
	esac
}

place_close() {
	umount "$place"
	rm -f "$scratch"/disks/*
}

place_settle() { sync -f "$place"; } # what is still to be written is no part of what comes

place_cool() {
	place_settle
	find "$scratch/disks" -type f -exec sync {} + # only what is written can be dropped
	[ -n "$short" ] || echo 3 >/proc/sys/vm/drop_caches
}

place_warm() { # directory
	place_settle
	find "$1" -size +1G >/dev/null # all of their names and inodes
}
