#!/usr/bin/env bash
# What was salvaged, with the real program: listed, shown, checked, restored, ended, found again.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

out=''

got() { # exit code, pattern, arguments
	local code=0
	out=$(reap "${@:3}" 2>&1) || code=$?
	same "exit $1" "exit $code" && says "$2" "$out"
}

sql() { sqlite3 "$world/reap.db" "$1"; }
has_ref() { git -C "$repo" rev-parse --quiet --verify "refs/sbx/salvage/$1" >/dev/null; }
lacks_ref() { ! has_ref "$1"; }
no_file() { [ ! -e "$1" ]; }
rows() { reap salvages "$@" --json | jq -r '.entries[].run' | paste -sd' '; }
entries() { reap log "$1" --json | jq -r '.entries[].action' | paste -sd' '; }

# salvage RUN [AGE-IN-DAYS]: a worktree with work, salvaged as a commit and on the books; then it goes.
salvage() {
	local files made
	add_worktree "$1"
	echo "the work of $1" >"$(tree "$1")/work.txt"
	git -C "$(tree "$1")" add work.txt
	files=$(git -C "$(tree "$1")" write-tree)
	git -C "$repo" update-ref "refs/sbx/salvage/$1" "$(printf \
		'Salvaged from %s\n\nSbx-Run: %s\nSbx-Generation: 3\nSbx-Tree: %s\nSbx-Branch: sbx/%s\n' \
		"$(tree "$1")" "$1" "$(tree "$1")" "$1" | git -C "$repo" commit-tree "$files" -p main)"
	git -C "$repo" worktree remove --force "$(tree "$1")"
	made=$(($(date +%s) - ${2:-0} * 86400))
	sql "INSERT INTO salvage (run, generation, made_s, form, tree, branch, repo, ref, commit_id, bytes)
		VALUES ('$1', 3, $made, 'commit', '$(tree "$1")', 'sbx/$1', '$repo',
		'refs/sbx/salvage/$1', '$(git -C "$repo" rev-parse "refs/sbx/salvage/$1")', 7)"
}

# archive RUN AGE-IN-DAYS: on the books as an archive; its content does not matter here.
archive() {
	mkdir -p "$world/salvage"
	echo x >"$world/salvage/$1,3.tar.zst"
	sql "INSERT INTO salvage (run, generation, made_s, form, tree, path, bytes)
		VALUES ('$1', 3, $(($(date +%s) - $2 * 86400)), 'archive', '$(tree "$1")',
		'$world/salvage/$1,3.tar.zst', 7)"
}

listing() {
	check "nothing is salvaged, and that is no error" same "" "$(reap salvages)"
	check "nothing to restore is said" got 1 "nothing is on the books" restore r1 "$world/none"
	salvage r1
	salvage r2 1
	check "the newest comes first" same "r1 r2" "$(rows)"
	check "of one run" same "r2" "$(rows r2)"
	check "the line says where, and until when" got 0 \
		"r1 .*Z .*Z .* commit .* refs/sbx/salvage/r1 in $repo" salvages
	check "why shows it, also when nothing else is known" got 1 "restore r1 brings" why r1
	sql "UPDATE salvage SET tree = tree || char(27) || 'x', repo = repo || char(10) WHERE run = 'r2'"
	check "what a run chose is escaped" got 0 'in .*\\x0a' salvages r2
	sql "UPDATE salvage SET repo = '$repo' WHERE run = 'r2'"
}

restoring() {
	check "a run is restored to its branch" got 0 "on branch sbx/r1" restore r1 "$world/back"
	check "it is a worktree as before" same "?? work.txt" "$(git -C "$world/back" status --porcelain)"
	check "what was salvaged stays" same "r1 r2" "$(rows)"
	check "it is in the history" same "restored" "$(entries r1)"
	check "a directory that is not empty is refused" got 1 "not empty" restore r1 "$world/back"
	check "it is nobody's run" got 0 "nobody's run" restore r1 "$world/second"
	check "the default is a directory of that name" in_default
	check "by its commit" got 0 "HEAD is at" restore r1 "$world/c" \
		--from "$(git -C "$repo" rev-parse refs/sbx/salvage/r1)"
	check "by its generation" got 0 "restored" restore r1 "$world/g" --from 3
	check "one that is not there is said" got 1 "nothing like that" restore r1 "$world/x" --from 4
	check "it left nothing" no_file "$world/x"
	check "two that could be meant are not guessed" ambiguous
	check "a third operand is a usage error" got 2 "too much" restore r1 a b
}

in_default() {
	(cd "$world" && reap restore r2 >/dev/null 2>&1) && [ -e "$world/r2/work.txt" ]
}

ambiguous() {
	sql "INSERT INTO salvage (run, generation, made_s, form, tree, path, bytes)
		VALUES ('r1', 3, 1, 'archive', 'x', '/nowhere/r1,3.tar.zst', 1)"
	got 1 "there are 2" restore r1 "$world/x" --from 3
	sql "DELETE FROM salvage WHERE path IS NOT NULL"
}

checking() {
	check "all that is on the books is there" got 0 "salvage .* 2 on the books are there, 0 are not" check
	git -C "$repo" update-ref -d refs/sbx/salvage/r2
	check "what is missing is named" got 1 "refs/sbx/salvage/r2 in .*: its ref is gone" check
}

# r2's ref is gone by now.
ending() {
	salvage r3 31
	salvage r4 31
	salvage r5 29
	salvage r6 31
	archive r7 31
	reap pin r4 >/dev/null
	touch "$root/r6.keep" "$world/salvage/r9,1.tar.zst.tmp"
	sql "UPDATE salvage SET made_s = made_s - 86400 * 40 WHERE run = 'r2'"
	check "a dry run ends nothing" got 0 "" --dry-run
	check "also not what is due" has_ref r3
	check "a pass ends what is due" got 0 "" --yes
	check "its ref goes" lacks_ref r3
	check "a pinned one stays" has_ref r4
	check "so does one with a .keep" has_ref r6
	check "a younger one stays" has_ref r5
	check "an archive goes" no_file "$world/salvage/r7,3.tar.zst"
	check "an unfinished archive is swept" no_file "$world/salvage/r9,1.tar.zst.tmp"
	check "the books say the same" same "r1 r4 r5 r6" "$(rows | tr ' ' '\n' | sort | paste -sd' ')"
	check "and the history" same "salvage ended" "$(entries r3)"
	check "one that was gone already is done" same "restored salvage ended" "$(entries r2)"
}

failing() {
	salvage r8 31
	archive r10 31
	git -C "$repo" update-ref refs/sbx/salvage/r3 main
	sql "INSERT INTO salvage (run, generation, made_s, form, tree, repo, ref, commit_id, bytes)
		VALUES ('r3', 4, 1, 'commit', 'x', '$repo', 'refs/sbx/salvage/r3', '$(printf '1%.0s' {1..40})', 1)"
	rm "$world/salvage/r10,3.tar.zst"
	mkdir "$world/salvage/r10,3.tar.zst"
	check "one that cannot be ended is said, and does not stop the pass" \
		got 1 "salvaged from run r10 is kept for another pass" --yes
	check "the others ended" lacks_ref r8
	check "it is tried again" got 1 "run r10" --yes
	check "a ref that was moved is left" has_ref r3
	check "and is off the books" same "" "$(rows r3)"
	rmdir "$world/salvage/r10,3.tar.zst"
	check "until it is gone" got 0 "" --yes
}

# Nothing but its salvage keeps the commit of this one: of a run that could not be removed for weeks.
keeping() {
	local commit
	add_worktree r11
	commit_work r11
	register_run r11 --created -40d --ttl 2h
	reap finish r11 --ok --at -39d >/dev/null
	commit=$(git -C "$repo" commit-tree "sbx/r11^{tree}" -p sbx/r11 -m 'Sbx-Run: r11')
	git -C "$repo" update-ref refs/sbx/salvage/r11 "$commit"
	sql "INSERT INTO salvage (run, generation, made_s, form, tree, branch, repo, ref, commit_id, bytes)
		VALUES ('r11', (SELECT generation FROM run WHERE run = 'r11'), $(($(date +%s) - 86400 * 35)),
		'commit', '$(tree r11)', 'sbx/r11', '$repo', 'refs/sbx/salvage/r11', '$commit', 7)"
	salvage r12 31
	reap hold >/dev/null
	check "held, a pass ends nothing" got 1 "" --yes
	check "not even what is due" has_ref r12
	reap resume >/dev/null
	check "a pass over one run" got 0 "" --yes --run r9
	check "leaves the others' alone" has_ref r12
	check "a run whose commit its salvage has goes" got 0 "" --yes
	check "its tree is gone" no_file "$(tree r11)"
	check "what is due ends with that" lacks_ref r12
	check "its own salvage does not" has_ref r11
	check "it is kept from then on" got 0 "" --yes
	check "as long as any" has_ref r11
	sql "DELETE FROM salvage WHERE run = 'r11'"
	git -C "$repo" update-ref -d refs/sbx/salvage/r11
}

finding_again() {
	rm -f "$world/reap.db" "$world/salvage"/*
	check "a new database has what refs tell of" got 1 "and 4 salvages read in, 1 not" check --new-database
	check "whose they are" same "r1 r4 r5 r6" "$(rows | tr ' ' '\n' | sort | paste -sd' ')"
	check "it can be restored" got 0 "restored" restore r5 "$world/again"
}

# From a run that goes to the same status, by nothing but the program.
really() {
	local before
	settings "$world/real.ini" "[policy]
		keep_ok = 0
		unsaved = salvage"
	config=$world/real.ini
	add_worktree w1
	add_worktree w2
	for run in w1 w2; do
		(cd "$(tree $run)" && echo more >>README.md && git add README.md && echo again >>README.md &&
			git rm -q --cached src/main.c && echo new >new && ln -s new link && mkdir scratch &&
			echo s >scratch/s)
	done
	git init -q "$(tree w2)/scratch/nested"
	before=$(git -C "$(tree w1)" status --porcelain=v2)
	for run in w1 w2; do
		register_run $run --no-container
		reap finish $run --ok >/dev/null
	done
	check "a pass salvages and removes" got 0 "w1.*reaped" --yes
	check "the trees are gone" no_file "$(tree w1)"
	check "they are on the books" same "w1 w2" "$(rows | tr ' ' '\n' | sort | paste -sd' ')"
	check "a commit comes back" got 0 "restored" restore w1 "$world/w1"
	check "with the same status" same "$before" "$(git -C "$world/w1" status --porcelain=v2)"
	check "what holds a repository comes back" got 0 "restored .*w2,.*tar.zst" restore w2 "$world/w2"
	check "with the same status too" same "$before" "$(git -C "$world/w2" status --porcelain=v2)"
	check "and the repository in it" git -C "$world/w2/scratch/nested" status --short
	config=
}

world_new ''
reap --yes >/dev/null # makes the books
listing
restoring
checking
ending
failing
keeping
finding_again
really
tap_done
