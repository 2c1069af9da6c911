#!/bin/bash
# A visit: any repository by its name, without settings or a database, and nothing done without a yes.
set -u
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"
# shellcheck source=tests/support/heap.sh
. "$(dirname "$0")/../support/heap.sh"

many=${SBX_HEAP:-30}

# What a slow machine has no time for would only be deferred.
visit() { "$SBX_REAP" "$@" --time-budget 1h --repo "$heap" </dev/null; }

plan() { visit --dry-run --json 2>/dev/null; }

decided() { # run: "verdict reason", of the plan in $world/plan
	jq -r --arg run "$1" '.runs[] | select(.run == $run) | "\(.verdict) \(.reason)"' "$world/plan"
}

words_of() { # run, of the table in $world/table
	grep -F "$1: " "$world/table"
}

dry_run() {
	local before table json
	before=$(snapshot "$world")
	table=$(visit --dry-run 2>&1)
	json=$(plan)
	check "a dry run changes nothing at all" same "$before" "$(snapshot "$world")"
	check "and makes no books" test ! -e "$XDG_STATE_HOME/sbx"
	echo "$table" >"$world/table"
	echo "$json" >"$world/plan"
	check "it says which repository it speaks of" says "^repository $heap/.git\$" "$(cat "$world/table")"
	check "so does its JSON" same "$heap/.git" "$(jq -r .repo "$world/plan")"
}

decisions() {
	local run
	for run in model agent-1 "agent-$many" detached half gone unpushed feature branch@worktree-merged; do
		check "$run goes" same 'reap orphan' "$(decided "$run")"
	done
	for run in dirty untracked detached-work gone-work outer; do
		check "$run holds unsaved work and stays" same 'keep unsaved_work' "$(decided "$run")"
	done
	for run in forgotten 'with blanks' notes app-elsewhere inner moved moved-here branch@worktree-alone; do
		check "$run is foreign" same 'keep foreign' "$(decided "$run")"
	done
	check "where a tree was moved to is told" says "was moved to $heap_trees/moved-here" \
		"$(words_of moved)"
	check "a person's lock keeps" same 'keep locked' "$(decided person)"
	check "and is quoted" says 'keep until pid 4194399' "$(words_of person)"
	check "what lies elsewhere is named with its place" says "$heap-elsewhere: in none" \
		"$(words_of app-elsewhere)"
	check "what no ref contains is said" says 'no other ref contains it' \
		"$(words_of branch@worktree-alone)"
	check "a branch that somebody has checked out is no orphan" same '' \
		"$(decided branch@worktree-head)$(decided branch@worktree-dirty)"
}

living() { # a run that somebody works in, by the pid of its lock and by where it is
	heap_lock agent-1 "claude agent agent-1 (pid $$)"
	sleep 300 &
	local sleeper=$!
	(cd "$heap_trees/agent-2" && exec sleep 300) &
	local worker=$!
	until [ "$(readlink "/proc/$worker/cwd")" = "$heap_trees/agent-2" ]; do sleep 0.05; done
	echo "tool pid=$sleeper" >"$heap/.git/worktrees/agent-3/locked"
	touch --date '-2 days' "$heap/.git/worktrees/agent-3/locked"
	git -C "$heap_trees/agent-4" status >/dev/null
	touch "$heap/.git/worktrees/agent-4/index"
	plan >"$world/plan"
	check "the lock of a living process keeps" same 'keep locked' "$(decided agent-1)"
	check "a process that works in a tree keeps it" same 'keep live' "$(decided agent-2)"
	check "a process that got the number later does not" same 'reap orphan' "$(decided agent-3)"
	check "what git was used in a moment ago is kept" same 'keep retained' "$(decided agent-4)"
	kill "$sleeper" "$worker"
	wait "$sleeper" "$worker" 2>/dev/null
	heap_lock agent-1 'claude agent agent-1 (pid 4194399)'
	heap_quiet
}

# Asks on a terminal, with this input.
asked() { script -qec "$SBX_REAP --time-budget 1h --repo $heap ${*:2}" /dev/null <<<"$1"; }

left() { # the names in the usual root
	find "$heap_trees" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' '
}

yes_and_no() {
	snapshot "$heap" >"$world/before"
	check "without a terminal it needs --yes" exits 2 visit
	check "'no' on a terminal is heard" says 'Nothing was changed' "$(asked n)"
	snapshot "$heap" >"$world/after"
	check "and nothing is changed" cmp "$world/before" "$world/after"
	check "'yes' on a terminal does it" says 'reaped' "$(asked y --run agent-1)"
	check "to what was asked for alone" test ! -e "$heap_trees/agent-1" -a -e "$heap_trees/agent-2"
	check "and leaves no litter" test ! -e "$heap_trees/.sbx-trash"
}

# Killed when some are taken, wherever it is then.
killed() {
	"$SBX_REAP" --yes --time-budget 1h --repo "$heap" >/dev/null 2>&1 </dev/null &
	local pass=$! # of the program itself, not of a shell around it
	while [ -e "$heap_trees/agent-$((many / 2))" ] && kill -0 "$pass" 2>/dev/null; do
		sleep 0.02
	done
	kill -KILL "$pass" 2>/dev/null
	wait "$pass" 2>/dev/null
	check "the next one finishes what a killed one began" exits 1 visit --yes
}

all_done() {
	check "only what must stay is left" same \
		'detached-work dirty forgotten moved-here notes outer person untracked with blanks ' "$(left)"
	check "no trash is left" test ! -e "$heap_trees/.sbx-trash" -a ! -e "$heap/.worktrees/.sbx-trash"
	check "nor a record of what went" same 'app-elsewhere detached-work dirty gone-work inner moved outer person untracked with-blanks ' \
		"$(find "$heap/.git/worktrees" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' ')"
	check "what lies elsewhere was not touched" test -e "$heap-elsewhere/README.md"
	check "nor the repository's own tree" same '' "$(heap_git status --porcelain)"
	check "git finds nothing wrong" heap_git fsck --strict --no-dangling
}

branches() {
	visit --yes >/dev/null 2>&1 # branches of trees that just went: young, by their logs
	heap_quiet
	visit --yes >/dev/null 2>&1
	check "merged branches of tools went, with one of two that hold the same" same \
		'elsewhere feature inner main worktree-alone worktree-dirty worktree-head worktree-moved worktree-outer worktree-person worktree-twin worktree-unpushed worktree-untracked ' \
		"$(heap_git for-each-ref --format='%(refname:short)' refs/heads |
			sed 's/twin[12]/twin/' | tr '\n' ' ')"
	check "another visit finds nothing to do" exits 1 visit --yes
	check "its history is kept" says 'agent-1 ' "$("$SBX_REAP" log --repo "$heap")"
}

pins() {
	touch "$heap_trees/dirty.keep"
	check "a .keep beside a tree pins it" says 'pinned' "$(visit --dry-run | grep '^dirty ')"
	check "pins are listed" says '^dirty' "$("$SBX_REAP" pins --repo "$heap")"
	check "and ended" exits 0 "$SBX_REAP" unpin dirty --repo "$heap"
	check "a pin is set" exits 0 "$SBX_REAP" pin dirty --reason test --repo "$heap"
	check "and shown" says 'pinned' "$("$SBX_REAP" why dirty --repo "$heap")"
}

several() {
	local forest=$world/forest
	mkdir -p "$forest/a/deep" "$forest/b" "$forest/.hidden"
	git init --quiet "$forest/a/deep/one"
	git clone --quiet --bare "$world/seed" "$forest/b/two.git"
	git -C "$forest/b/two.git" worktree add --quiet "$forest/b/two.git/.worktrees/t1" >/dev/null 2>&1
	git init --quiet "$forest/.hidden/three"
	ln -s "$heap" "$forest/link"
	mkdir "$forest/led"
	echo "gitdir: $heap/.git" >"$forest/led/.git" # what somebody wrote there leads nowhere
	check "a directory with many repositories is as good" same \
		"$(printf '%s\n' "$forest/a/deep/one/.git" "$forest/b/two.git" | sort)" \
		"$("$SBX_REAP" list --json --repo "$forest" | jq -r .repo | sort)"
	check "a bare one has its worktrees in it" same t1 \
		"$("$SBX_REAP" list --json --repo "$forest/b/two.git" | jq -r '.runs[].run')"
	check "each once" same 2 \
		"$("$SBX_REAP" list --json --repo "$forest" --repo "$forest/b/two.git" | jq -r .repo | wc -l)"
	"$SBX_REAP" --yes --repo "$forest" </dev/null >/dev/null 2>&1
	check "where nothing is due no books are made" same 0 \
		"$(find "$XDG_STATE_HOME" -name 'two.git-*' -o -name 'one-*' | wc -l)"
	check "a linked worktree leads to its repository" same "$forest/b/two.git" \
		"$("$SBX_REAP" list --json --repo "$forest/b/two.git/.worktrees/t1" | jq -r .repo)"
}

# What a repository's content says must not choose a root.
links() {
	local repo=$world/linked
	git init --quiet "$repo"
	git -C "$repo" commit --quiet --allow-empty --message first
	mkdir -p "$world/aside/worktrees"
	ln -s "$world/aside" "$repo/.claude"
	git -C "$repo" worktree add --quiet "$world/aside/worktrees/w1" >/dev/null 2>&1
	check "a link in a repository leads to no root" same 'keep foreign' \
		"$("$SBX_REAP" list --json --repo "$repo" | jq -r '.runs[] | "\(.verdict) \(.reason)"')"
	check "a directory that is named does" same 'keep retained' \
		"$("$SBX_REAP" list --json --repo "$repo" --root "$world/aside/worktrees" |
			jq -r '.runs[] | "\(.verdict) \(.reason)"')"
}

moved() {
	mv "$world/linked" "$world/linked2"
	check "the worktrees of a repository that was moved are nobody's" same 'keep foreign' \
		"$("$SBX_REAP" list --json --repo "$world/linked2" --root "$world/aside/worktrees" |
			jq -r '.runs[] | "\(.verdict) \(.reason)"' | sort -u)"
}

# A marker is the word of the repository's owner, who may not send a visit to anything else.
guests() {
	local repo=$world/guests
	git init --quiet "$repo"
	git -C "$repo" commit --quiet --allow-empty --message first
	for run in plain group other; do
		git -C "$repo" worktree add --quiet "$repo/.worktrees/$run" >/dev/null 2>&1
		printf '[run]\nid = %s\ncreated = 2020-01-01T00:00:00Z\nfinished = 2020-01-02T00:00:00Z\noutcome = ok\n' \
			"$run" >"$repo/.worktrees/$run.sbx"
	done
	echo "cgroup = $cgroup_locator/somebodys" >>"$repo/.worktrees/group.sbx"
	printf 'repo = %s\nbranch = main\n' "$heap" >>"$repo/.worktrees/other.sbx"
	mkdir "$cgroup/somebodys"
	check "what a marker names besides is not a visit's" same 'group refused,other refused,plain finished_ok' \
		"$("$SBX_REAP" list --json --repo "$repo" | jq -r '.runs[] | "\(.run) \(.reason)"' | paste -sd,)"
	"$SBX_REAP" --yes --repo "$repo" </dev/null >/dev/null 2>&1
	check "and stays" test -d "$cgroup/somebodys" -a -d "$repo/.worktrees/other"
	check "while its own worktree goes" test ! -e "$repo/.worktrees/plain"
}

refused() { # exit code, pattern, arguments
	local output code=0
	output=$("$SBX_REAP" --dry-run "${@:3}" 2>&1 </dev/null) || code=$?
	same "$1" "$code" && says "$2" "$output"
}

mistakes() {
	mkdir -p "$world/empty" "$heap/src"
	check "what is no repository is said" refused 2 'is no git repository, and holds none' \
		--repo "$world/empty"
	check "so is what is not there" refused 2 'No such file' --repo "$world/none"
	check "also of a verb that knows one repository only" same 2 \
		"$("$SBX_REAP" why plain --repo "$world/none" 2>/dev/null; echo $?)"
	check "within a repository that one is named" refused 2 "lies in the repository $heap: name that" \
		--repo "$heap/src"
	check "the whole file system is no repository" refused 2 'whole file system' --repo /
	check "nor a root" refused 2 'whole file system' --repo "$heap" --root /
	check "a home directory is no root" refused 65 'is a home directory' --repo "$heap" --root "$HOME"
	check "a root that is not there is said" refused 2 'No such file' --repo "$heap" --root "$world/none"
	check "--root needs --repo" refused 2 'needs --repo' --root "$world"
	check "--config and --repo exclude each other" refused 2 'exclude each other' \
		--repo "$heap" --config "$world/reap.ini"
	chmod o+w "$heap/.worktrees"
	check "a root that anybody may replace is refused" refused 65 'written by others' --repo "$heap"
	chmod o-w "$heap/.worktrees"
}

world_new ""
export XDG_STATE_HOME=$world/state
mkdir "$XDG_STATE_HOME"
heap_new "$world/app" "$many"
began=$SECONDS
dry_run
echo "# two dry runs over $many worktrees: $((SECONDS - began)) s"
decisions
living
yes_and_no
killed
all_done
branches
pins
several
guests
links
moved
mistakes
tap_done
