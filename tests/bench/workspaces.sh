# shellcheck shell=bash
# A root with workspaces, settings and a database of their own, in the place that is used now; for the
# families that measure whole passes and lists.

root='' repo='' books=''

# workspaces_new [SETTING-LINES]
workspaces_new() {
	root=$place/workspaces repo=$place/repo books=$place/books
	mkdir "$root" "$books"
	cat >"$books/reap.ini" <<-SETTINGS
		[state]
		database = $books/state.db
		[workspaces]
		root = $root
		${1:-}
		[cgroups]
		root = ${group##*/}
		[disk]
		high = 100%
		low = 99%
	SETTINGS
}

# What a set-up says is in the way only when it fails.
reap() {
	"$reaper" "$@" --config "$books/reap.ini" >"$scratch/reap.log" 2>&1 </dev/null && return
	complain "$(tail -n 3 "$scratch/reap.log")"
}

rows_of() { sqlite3 "$books/state.db" "$1"; }

nothing_left() { # the root has no workspace, its trash nothing, the books no run
	local left
	left=$(find "$root" -mindepth 1 ! -path "$root/.sbx-trash" | head -n 3)
	[ -z "$left" ] || complain "left: $left" || return
	[ "$(rows_of 'SELECT count(*) FROM run')" = 0 ] || complain "the books still have runs"
}

# Registering a thousand runs one by one takes minutes; each is a row as that of the first.
books_copy_run() { # count
	local n
	for ((n = 2; n <= $1; n++)); do
		stat --format "$n %d %i %.9W" "$root/run-$n"
		sed "s/run-1\$/run-$n/; s/sbx\/run-1\b/sbx\/run-$n/" "$root/run-1.sbx" >"$root/run-$n.sbx"
	done >"$scratch/trees"
	sqlite3 "$books/state.db" <<-SQL
		CREATE TEMP TABLE tree (n INTEGER, dev INTEGER, ino INTEGER, born TEXT);
		.mode list
		.separator ' '
		.import $scratch/trees tree
		INSERT INTO run SELECT 'run-' || n, generation, registered, created_s, ttl_s, deadline_s, last_sign_s,
			finished_s, outcome, no_container, engine_clear_s, claim_pass, claim_goal, claim_s,
			claim_begun_s, salvage_failed_s, salvage_failed FROM run, tree WHERE run = 'run-1';
		INSERT INTO resource (run, kind, locator, repo, base, branch, token, at, dev, ino)
			SELECT 'run-' || n, kind, replace(locator, 'run-1', 'run-' || n), repo, base,
				replace(branch, 'run-1', 'run-' || n),
				CASE kind WHEN 'worktree' THEN tree.born ELSE token END, at,
				CASE kind WHEN 'worktree' THEN tree.dev ELSE resource.dev END,
				CASE kind WHEN 'worktree' THEN tree.ino ELSE resource.ino END
			FROM resource, tree WHERE run = 'run-1';
	SQL
}

# Git without this machine's settings, and a repository of one commit with so many files.
repo_new() { # files
	local n
	export GIT_CONFIG_GLOBAL=$scratch/gitconfig GIT_CONFIG_NOSYSTEM=1
	printf '[user]\nname = bench\nemail = bench@localhost\n[advice]\ndetachedHead = false\n[gc]\nauto = 0\n' \
		>"$GIT_CONFIG_GLOBAL"
	git init --quiet --initial-branch main "$place/seed"
	"$bench/make_tree" packages "$place/seed/src" "$1" $(($1 / 20 + 1))
	git -C "$place/seed" add --all
	git -C "$place/seed" commit --quiet --message 'the first commit'
	git clone --quiet --bare "$place/seed" "$repo"
	rm -rf "${place:?}/seed"
}

repo_worktrees() { # count
	local n
	for ((n = 1; n <= $1; n++)); do
		git -C "$repo" worktree add --quiet -b "sbx/run-$n" "$root/run-$n" >/dev/null 2>&1
	done
}
