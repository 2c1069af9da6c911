# shellcheck shell=bash
# One tree removed, on each filesystem. The contender is remove_tree: rmtree() behind its wall, as the purge
# of the trash calls it; the rest of a pass is in other rows.

trees_rows() {
	local all='ours rm find rsync tmpfiles python' goal
	row tree-ext4-warm 0.50 wall "$tree_files files in $tree_directories directories, ext4, warm" \
		tree 'ext4 packages warm' "$all"
	row tree-ext4-cold 0.40 wall 'the same, cold cache' tree 'ext4 packages cold' 'ours rm'
	row flat-ext4-warm 0.70 wall "one directory of $flat_files files, ext4, warm" tree 'ext4 flat warm' 'ours rm'
	row flat-ext4-cold 0.70 wall 'the same, cold cache' tree 'ext4 flat cold' 'ours rm'
	for goal in xfs:0.85 btrfs:0.75 tmpfs:0.45; do
		row "tree-${goal%:*}" "${goal#*:}" wall "the tree of tree-ext4-warm on ${goal%:*}" \
			tree "${goal%:*} packages warm" 'ours rm'
	done
	row subvolume-btrfs 0.10 wall 'the same as a btrfs subvolume' tree 'btrfs subvolume warm' 'ours rm'
}

tree_open() { # filesystem
	place_open "$1"
	mkdir "$place/empty"
	printf 'R %s - - - -\n' "$place/tree" >"$scratch/tmpfiles.conf"
}

tree_restore() { # contender, filesystem, shape, warm|cold
	case $3 in
	flat) "$bench/make_tree" flat "$place/tree" "$flat_files" ;;
	packages) "$bench/make_tree" packages "$place/tree" "$tree_files" "$tree_directories" ;;
	subvolume)
		btrfs -q subvolume create "$place/tree"
		"$bench/make_tree" packages "$place/tree/in" "$tree_files" "$tree_directories"
		;;
	esac
	if [ "$4" = warm ]; then
		place_warm "$place/tree"
	else
		place_cool
		"$bench/remove_tree" || true # the programs are no part of what is cold
		rm --version >/dev/null
	fi
}

tree_command() { # contender
	case $1 in
	ours) command=("$bench/remove_tree" "$place" tree) ;;
	rm) command=(rm -rf "$place/tree") ;;
	find) command=(find "$place/tree" -delete) ;;
	rsync) command=(rsync --recursive --delete "$place/empty/" "$place/tree/") ;;
	tmpfiles) command=(systemd-tmpfiles --remove "$scratch/tmpfiles.conf") ;;
	python) command=(python3 -c 'import shutil, sys; shutil.rmtree(sys.argv[1])' "$place/tree") ;;
	esac
}

tree_proof() { # contender, filesystem, shape
	[ "$1" != rsync ] || rmdir "$place/tree" # it leaves the top
	[ ! -e "$place/tree" ] || complain "$place/tree is still there" || return
	[ "$3" != subvolume ] || btrfs subvolume sync "$place" >/dev/null
	place_settle
}

tree_close() { place_close; }
