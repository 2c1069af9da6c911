# shellcheck shell=bash
# A heap of worktrees as agent tools leave them behind, by what their users report: clean ones whose
# process is gone and whose lock is not, half deleted ones, records without trees, trees without records,
# unsaved work of each kind, branches without worktrees. Needs git, and its settings from the caller.

heap='' heap_trees=''

heap_git() { git -C "$heap" "$@"; }

# A worktree as a tool makes it: .claude/worktrees/NAME on the branch worktree-NAME.
heap_tree() { # name, more arguments
	heap_git worktree add --quiet -b "worktree-$1" "$heap_trees/$1" "${@:2}" >/dev/null 2>&1
}

heap_lock() { # name, text
	printf '%s\n' "$2" >"$heap/.git/worktrees/$1/locked"
}

# The same by copying the files of one that git made: hundreds in a moment.
heap_copies() { # first, last
	local n name record
	for ((n = $1; n <= $2; n++)); do
		name=agent-$n record=$heap/.git/worktrees/agent-$n
		cp -r "$heap_trees/model" "$heap_trees/$name"
		cp -r "$heap/.git/worktrees/model" "$record"
		echo "gitdir: $record" >"$heap_trees/$name/.git"
		echo "$heap_trees/$name/.git" >"$record/gitdir"
		echo "ref: refs/heads/worktree-$name" >"$record/HEAD"
		cp "$heap/.git/refs/heads/main" "$heap/.git/refs/heads/worktree-$name"
		heap_lock "$name" "claude agent $name (pid 4194399 start Fri Jun 19 21:37:40 2026)"
	done
}

heap_commit() { # message; on no branch, with its id
	heap_git commit-tree -p main -m "$1" 'main^{tree}'
}

# Nothing in it was touched for three days, and trees that are gone have been so for a hundred.
heap_quiet() {
	find "$heap/.git" -exec touch --no-dereference --date '-3 days' {} +
	find "$heap/.git/worktrees/"gone* -exec touch --no-dereference --date '-100 days' {} +
}

# heap_new DIRECTORY COUNT: a repository with so many clean stale worktrees beside one of each kind.
heap_new() {
	heap=$1 heap_trees=$1/.claude/worktrees
	git init --quiet "$heap"
	mkdir -p "$heap/src" "$heap_trees" "$heap/.worktrees"
	echo 'the readme' >"$heap/README.md"
	echo 'int main(void) { return 0; }' >"$heap/src/main.c"
	printf '/.claude/\n/.worktrees/\n/scratch/\n' >"$heap/.gitignore"
	heap_git add --all
	heap_git commit --quiet --message 'the first commit'

	heap_tree model
	heap_copies 1 "$2"
	heap_tree dirty
	echo 'changed' >>"$heap_trees/dirty/README.md"
	heap_tree untracked
	echo 'new' >"$heap_trees/untracked/new.txt"
	heap_tree unpushed
	git -C "$heap_trees/unpushed" commit --quiet --allow-empty --message 'work of its own'
	heap_git worktree add --quiet --detach "$heap_trees/detached" >/dev/null 2>&1
	heap_git worktree add --quiet --detach "$heap_trees/detached-work" >/dev/null 2>&1
	git -C "$heap_trees/detached-work" commit --quiet --allow-empty --message 'on no branch'
	heap_tree person
	heap_lock person 'keep until pid 4194399 has been looked at'
	heap_tree half # somebody's rm -rf was killed
	rm -rf "${heap_trees:?}/half/src" "${heap_trees:?}/half/README.md"
	heap_tree gone # rm -rf went through, git was not told
	rm -rf "${heap_trees:?}/gone"
	heap_lock gone 'claude session gone (pid 4194399)'
	heap_git worktree add --quiet --detach "$heap_trees/gone-work" >/dev/null 2>&1
	git -C "$heap_trees/gone-work" commit --quiet --allow-empty --message 'only its record names this'
	rm -rf "${heap_trees:?}/gone-work"
	heap_tree moved # by mv
	mv "$heap_trees/moved" "$heap_trees/moved-here"
	heap_tree forgotten # git worktree prune went through, the tree was back later
	rm -rf "${heap:?}/.git/worktrees/forgotten"
	heap_git worktree add --quiet --detach "$heap_trees/with blanks" >/dev/null 2>&1
	heap_tree outer # an agent in a worktree made one within
	git -C "$heap_trees/outer" worktree add --quiet -b inner \
		"$heap_trees/outer/.claude/worktrees/inner" >/dev/null 2>&1
	heap_git worktree add --quiet -b feature "$heap/.worktrees/feature" >/dev/null 2>&1
	heap_git worktree add --quiet -b elsewhere "$heap-elsewhere" >/dev/null 2>&1
	mkdir "$heap_trees/notes" # of a person, no worktree
	echo 'mine' >"$heap_trees/notes/todo"
	heap_git branch worktree-merged
	heap_git branch worktree-alone "$(heap_commit alone)"
	heap_git branch worktree-twin1 "$(heap_commit twins)"
	heap_git branch worktree-twin2 worktree-twin1
	heap_git checkout --quiet -b worktree-head # a person looks at it
	heap_quiet
}
