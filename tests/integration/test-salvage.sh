#!/usr/bin/env bash
# P8: unsaved work is kept before its tree goes, with the real program from the pass to the restored
# tree: by default nothing is asked of anybody and nothing is lost. Where it cannot be kept, the tree
# stays.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

of_run() { # run, arguments of a pass
	reap "${@:2}" --json | jq -r --arg run "$1" \
		'.runs[] | select(.run == $run) | "\(.verdict) \(.reason) \(.result)"' || true
}

over() { # run: registered, and over long enough ago
	register_run "$1" --created -30h --ttl 2h
	reap finish "$1" --ok --at -29h >/dev/null
}

# What git says of a tree, and all that is in its files.
state_of() { # directory
	git -C "$1" status --porcelain=v2 --untracked-files=all
	git -C "$1" diff --binary
	git -C "$1" diff --cached --binary
	git -C "$1" log -1 --format=%H
	(cd "$1" && find . -path ./.git -prune -o -type f -printf '%P %m\n' -o -type l -printf '%P -> %l\n' |
		grep -av '^scratch/' | sort)
}

restored_is() { # run, state before
	rm -rf "$world/back"
	reap restore "$1" "$world/back" >/dev/null || return 1
	same "$2" "$(state_of "$world/back")"
}

drop_restored() {
	git -C "$repo" worktree remove --force "$world/back"
}

world_new ""

# ----------------------------------------------------------------------- everything a tree can hold

add_worktree mixed
cd "$(tree mixed)"
echo changed >>README.md                       # not staged
echo staged >src/staged.c && git add src/staged.c
echo 'and then changed' >>src/staged.c          # staged differs from both
git rm --quiet --cached src/main.c              # only the index lost it
echo new >'new file' && printf 'x\0y' >$'odd \xff\nname'
chmod +x README.md && ln -s nowhere link
mkdir scratch && echo rubbish >scratch/object.o # ignored
git commit --quiet --allow-empty -m 'a commit that nobody has'
cd "$world"
over mixed
before=$(state_of "$(tree mixed)")
check "a dry run says that it is salvaged first" says 'mixed: .*salvaged first' "$(reap --dry-run)"
check "and that nobody is needed" exits 0 reap --dry-run
check "nothing is salvaged by that" same '' "$(git -C "$repo" for-each-ref refs/sbx)"
check "a run with every kind of unsaved work goes" same 'reap finished_ok reaped' "$(of_run mixed)"
check "its tree is gone" test ! -e "$(tree mixed)"
check "what was salvaged is listed" says '^mixed .*refs/sbx/salvage/mixed' "$(reap salvages)"
check "its first parent is what HEAD was" same 'a commit that nobody has' \
	"$(git -C "$repo" log -1 --format=%s 'refs/sbx/salvage/mixed^1')"
check "what was ignored is not in it" same '' \
	"$(git -C "$repo" ls-tree -r --name-only refs/sbx/salvage/mixed -- scratch)"
check "the repository is whole" git -C "$repo" fsck --strict --no-dangling
check "restored, status, index and files are as they were" restored_is mixed "$before"
drop_restored
check "the history has it" says salvaged "$(reap log mixed)"

# ----------------------------------------------------------------------------- commits that nobody has

add_worktree ahead
commit_work ahead
git -C "$(tree ahead)" checkout --quiet --detach
git -C "$(tree ahead)" commit --quiet --allow-empty -m 'detached'
over ahead
before=$(state_of "$(tree ahead)")
check "a clean tree with commits of its own goes" same 'reap finished_ok reaped' "$(of_run ahead)"
check "and comes back" restored_is ahead "$before"
drop_restored

# ------------------------------------------------------------------------------------------ twice

add_worktree again
echo one >"$(tree again)/draft"
over again
reap >/dev/null
add_worktree again 2>/dev/null || git -C "$repo" worktree add --quiet "$(tree again)" sbx/again
echo two >"$(tree again)/draft"
over again
reap >/dev/null
check "a name that is used again loses nothing of the first" same 'one two' \
	"$(git -C "$repo" for-each-ref --format='%(refname)' refs/sbx/salvage |
		grep -E '/again($|,)' | while read -r ref; do git -C "$repo" show "$ref:draft"; done |
		sort | paste -sd' ')"

# ------------------------------------------------------------------------------ a repository within

add_worktree nested
git init --quiet "$(tree nested)/scratch/inner"
echo deep >"$(tree nested)/scratch/inner/file"
git -C "$(tree nested)/scratch/inner" add file
git -C "$(tree nested)/scratch/inner" commit --quiet -m deep
over nested
check "a repository within the tree is kept as an archive" same 'reap finished_ok reaped' \
	"$(of_run nested)"
check "which is listed" says '^nested .*\.tar\.zst' "$(reap salvages nested)"
rm -rf "$world/back"
check "and comes back" reap restore nested "$world/back"
check "with its commits" same deep \
	"$(git -C "$world/back/scratch/inner" log -1 --format=%s 2>/dev/null)"
rm -rf "$world/back"
git -C "$repo" worktree prune

# ------------------------------------------------------------------------ killed while it is salvaged

killed=0
for call in rename renameat2 fsync unlinkat; do
	for n in 1 2 4 8; do
		run=kill-$call-$n
		add_worktree "$run"
		echo "of $run" >"$(tree "$run")/draft"
		over "$run"
		{
			ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o /dev/null -e "trace=$call" \
				-e "inject=$call:signal=KILL:when=$n" "$SBX_REAP" --run "$run" \
				--config "$world/reap.ini" >/dev/null </dev/null
		} >/dev/null 2>&1 || killed=$((killed + 1))
		# --early: where only the process that salvages was killed, the pass has noted a failure.
		reap --run "$run" --early >/dev/null 2>&1 || echo "$run: the next pass fails" >>"$world/faults"
		[ ! -e "$(tree "$run")" ] || echo "$run: the tree is there" >>"$world/faults"
		[ "$(git -C "$repo" show "refs/sbx/salvage/$run:draft" 2>/dev/null)" = "of $run" ] ||
			echo "$run: not salvaged" >>"$world/faults"
	done
done
check "killed anywhere ($killed times), the next pass finishes and the work is there" \
	same '' "$(cat "$world/faults" 2>/dev/null)"
check "it really was killed" test "$killed" -gt 5
check "and on the books" same '' "$(git -C "$repo" for-each-ref --format='%(refname)' refs/sbx/salvage |
	grep kill- | while read -r ref; do reap salvages | grep -qF " $ref " || echo "$ref"; done)"

# ------------------------------------------------------------------------------- where it cannot be

settings "$world/keep.ini" '[policy]
unsaved = keep'
config=$world/keep.ini
add_worktree stays
echo draft >"$(tree stays)/draft"
over stays
check "unsaved = keep keeps it" same 'keep unsaved_work null' "$(of_run stays)"
unset config

mkdir "$world/small"
cat >"$world/full.sh" <<-EOF
	set -e
	mount -t tmpfs -o size=1M tmpfs "$world/small"
	sed 's|^database = .*|database = $world/small/reap.db|' "$world/reap.ini" >"$world/full.ini"
	"$SBX_REAP" register full --worktree "$(tree full)" --created -30h --ttl 2h --config "$world/full.ini"
	"$SBX_REAP" finish full --ok --at -29h --config "$world/full.ini"
	"$SBX_REAP" --json --config "$world/full.ini" </dev/null >"$world/full.json" || true
	"$SBX_REAP" pin full --config "$world/full.ini" >/dev/null && echo pinned
	"$SBX_REAP" unpin full --config "$world/full.ini" >/dev/null
	mount -o remount,size=64M "$world/small"
	"$SBX_REAP" --json --run full --early --config "$world/full.ini" </dev/null >"$world/room.json"
	find "$world/small/salvage" -type f -size +2900k
EOF
of_full() { # report
	jq -r '.runs[] | select(.run == "full") | "\(.verdict) \(.reason) \(.result)"' "$1"
}
git init --quiet "$(tree full)"
head -c 3000000 /dev/urandom >"$(tree full)/big"
said=$(unshare -m --propagation private bash "$world/full.sh" 2>"$world/full.err") || said+=" failed"
check "what does not fit on the disk has failed for now" same 'reap finished_ok failed' \
	"$(of_full "$world/full.json")"
check "and says so" says 'salvaged yet: .* free' "$(cat "$world/full.json")"
check "it may be pinned until then" says '^pinned$' "$said"
check "as soon as there is room it is tried again, and goes" same 'reap finished_ok reaped' \
	"$(of_full "$world/room.json")"
check "with its work in an archive" says 'salvage/full,[0-9]+\.tar\.zst' "$said"
tap_done
