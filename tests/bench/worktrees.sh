# shellcheck shell=bash
# Finished runs with git worktrees: whole passes, and the proof that nothing unsaved is in them.

worktrees_rows() {
	local of="$worktrees finished worktrees of $worktree_files files"
	row worktrees-pass 0.35 wall "$of, whole pass" worktrees 'salvage' 'ours git'
	row worktrees-names 0.02 names 'until the last of their names is free, nothing to be proved' \
		worktrees discard 'ours git'
	row worktrees-clean 0.5 wall "$of, proved clean" clean '' 'ours git'
}

worktrees_make() { # count, how unsaved work is dealt with
	workspaces_new "[policy]
keep_ok = 0s
unsaved = $2"
	repo_new "$worktree_files"
}

# As harnesses leave them: registered, ended well an hour ago.
worktrees_fill() {
	local n
	repo_worktrees "$worktrees"
	for ((n = 1; n <= worktrees; n++)); do
		reap register "run-$n" --repo "$repo" --no-container --created -3h --ttl 1h
		reap finish "run-$n" --ok --at -1h
	done
	place_warm "$root"
}

worktrees_open() { # unsaved
	place_open ext4
	worktrees_make "$worktrees" "$1"
}

worktrees_restore() { # contender
	git -C "$repo" for-each-ref --format 'delete %(refname)' refs/heads/sbx | git -C "$repo" update-ref --stdin
	rm -rf "$root" "$books"/state.db*
	mkdir "$root"
	worktrees_fill
}

# shellcheck disable=SC2016 # for the loop's own shell
worktrees_command() { # contender
	names=$root
	case $1 in
	ours) command=("$reaper" --yes --config "$books/reap.ini") ;;
	git) command=(sh -ec 'cd "$1"
		for tree in "$2"/run-*; do [ -f "$tree" ] || git worktree remove --force "$tree"; done
		git worktree prune' sh "$repo" "$root") ;;
	esac
}

worktrees_proof() { # contender
	[ "$1" = git ] || nothing_left || return
	[ -z "$(find "$root" -mindepth 1 -maxdepth 1 -name 'run-*' -type d)" ] || complain 'trees are left' || return
	[ "$(git -C "$repo" worktree list | wc -l)" = 1 ] || complain 'git still has records of them' || return
	place_settle
}

worktrees_close() { place_close; }

# ------------------------------------------------------------------------------- only looked at

clean_open() {
	place_open ext4
	worktrees_make "$worktrees" salvage
	worktrees_fill
	sleep 1 # git takes files as new as its index for suspect
	clean_before=$(clean_indexes)
}

clean_indexes() { find "$repo/worktrees" -name index -printf '%p %i %T@ %C@\n' | sort; }

clean_restore() { place_warm "$root"; }

# shellcheck disable=SC2016 # for the loop's own shell
clean_command() { # contender
	case $1 in
	ours) command=("$reaper" --dry-run --json --yes --config "$books/reap.ini") ;;
	git) command=(sh -ec 'for tree in "$1"/run-*; do
		[ -f "$tree" ] || GIT_OPTIONAL_LOCKS=0 git -C "$tree" status --porcelain; done' sh "$root") ;;
	esac
}

clean_proof() { # contender
	case $1 in
	ours) [ "$(jq '[.runs[] | select(.work == "clean" and .verdict == "reap")] | length' "$scratch/out")" = \
		"$worktrees" ] || complain 'not all were found clean' || return ;;
	git) [ ! -s "$scratch/out" ] || complain 'git found changes' || return ;;
	esac
	[ "$clean_before" = "$(clean_indexes)" ] || complain 'an index was written'
}

clean_close() { place_close; }
