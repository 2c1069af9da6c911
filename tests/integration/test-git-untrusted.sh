#!/usr/bin/env bash
# P5, P4, P10 against repositories as a run may leave them: nothing that they name is run, looking at
# them writes nothing (no access time either), and one that is damaged holds up only its own runs.
# shellcheck disable=SC2016 # what stands in single quotes is for later
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
command -v strace >/dev/null || tap_skip_all "strace is not installed"

policy='[policy]
unsaved = keep
keep_failed = 0
branch = delete'
world_new "$policy"
git config --global protocol.file.allow always

over() { # run, its repository or nothing for a clone
	reap register "$1" --worktree "$(tree "$1")" ${2:+--repo "$2"} --created -30h --ttl 2h >/dev/null
	reap finish "$1" --failed --at -29h >/dev/null
}

verdicts() { # of a run, by the report of a look or a pass
	jq -r --arg run "$1" '.runs[] | select(.run == $run) | "\(.verdict) \(.reason) \(.result)"' "$2"
}

# ------------------------------------------------------------------- a worktree, a clone, a submodule

add_worktree linked
add_worktree dirty
echo 'not saved' >"$(tree dirty)/new"
git clone --quiet "$repo" "$(tree clone)"
add_worktree super
git -C "$(tree super)" submodule --quiet add "$repo" sub 2>/dev/null
git -C "$(tree super)" commit --quiet --message 'a submodule'
git -C "$repo" branch kept sbx/super
for run in linked dirty clone super; do over "$run" "$([ "$run" = clone ] || echo "$repo")"; done

# --------------------------------------------------------------------- whatever can name a program

canary=$world/canary
printf '#!/bin/sh\necho "$0 $*" >>%s/ran\n' "$world" >"$canary"
chmod +x "$canary"
mkdir "$world/bin" "$world/home"
for name in git ssh gpg less vi sh bash git-lfs git-remote-ext git-upload-pack; do
	ln "$canary" "$world/bin/$name"
done

name_programs() { # in a file of settings
	local key
	for key in core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy \
		core.alternateRefsCommand credential.helper sequence.editor gpg.program gpg.ssh.program \
		gpg.ssh.defaultKeyCommand filter.x.clean filter.x.smudge filter.x.process diff.external \
		diff.x.command diff.x.textconv merge.x.driver mergetool.x.cmd difftool.x.cmd \
		interactive.diffFilter tar.x.command trailer.x.command trailer.x.cmd \
		uploadpack.packObjectsHook remote.origin.uploadpack remote.origin.receivepack \
		remote.origin.vcs web.browser; do
		git config -f "$1" "$key" "$canary"
	done
	git config -f "$1" filter.x.required true
	git config -f "$1" core.hooksPath "$world/hooks"
	git config -f "$1" alias.status "!$canary"
	git config -f "$1" submodule.sub.update "!$canary"
	git config -f "$1" remote.origin.url "ext::$canary"
	git config -f "$1" protocol.ext.allow always
}
name_programs "$world/programs"
plant() { cat "$world/programs" >>"$1"; } # a file of settings

hooks() { # a directory
	local name
	mkdir -p "$1"
	for name in applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit \
		prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push \
		pre-receive update proc-receive post-receive post-update reference-transaction \
		push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman \
		post-index-change; do
		ln -f "$canary" "$1/$name"
	done
}

hooks "$world/hooks"
clone=$(tree clone)/.git
module=$(git -C "$(tree super)/sub" rev-parse --absolute-git-dir)
for dir in "$repo" "$clone" "$module"; do
	plant "$dir/config"
	git config -f "$dir/config" core.repositoryformatversion 1
	git config -f "$dir/config" extensions.worktreeConfig true
	plant "$dir/config.worktree"
	hooks "$dir/hooks"
	mkdir -p "$dir/info"
	echo '* filter=x diff=x merge=x' >"$dir/info/attributes"
done
for run in linked dirty super; do
	plant "$repo/worktrees/$run/config.worktree"
	hooks "$repo/worktrees/$run/hooks"
done
plant "$world/home/.gitconfig"
mkdir -p "$world/home/.config/git"
plant "$world/home/.config/git/config"
# Where git would obey it: named in what is committed and in what is not.
for run in linked dirty super; do
	echo '* filter=x diff=x merge=x' >"$(tree "$run")/.gitattributes"
done
git config -f "$(tree super)/.gitmodules" submodule.sub.update "!$canary" # git refuses it by now
rm -f "$world/ran"

# Under strace, with canaries where programs are looked for: leaves the report in $world/report.
traced() { # arguments of the program
	env HOME="$world/home" GIT_CONFIG_GLOBAL="$world/home/.gitconfig" GIT_CONFIG_SYSTEM="$canary" \
		GIT_SSH="$canary" GIT_ASKPASS="$canary" GIT_EDITOR="$canary" PATH="$world/bin:$PATH" \
		ASAN_OPTIONS=detect_leaks=0 "$(command -v strace)" -f -qq -o "$world/trace" \
		-e trace=execve,execveat "$SBX_REAP" "$@" --config "$world/reap.ini" \
		</dev/null >"$world/report" 2>"$world/complaints" || true
}

nothing_ran() {
	same 1 "$(grep -c 'exec' "$world/trace")" && [ ! -e "$world/ran" ] && return 0
	cat "$world/trace" "$world/ran" "$world/complaints"
	return 1
}

check_quiet() { # arguments of the program
	traced "$@"
	check "sbx-reap $*: runs nothing" nothing_ran
}

check "the canary sings" bash -c '"$0" && rm "$1"' "$canary" "$world/ran"

# ------------------------------------------------------------------------------ looking writes nothing

contents() { find "$root" "$repo" -type f -print0 | sort -z | xargs -0r sha256sum; }

# By a list of names: a listing renews the access times of directories. So does readlink(2) that of a
# symlink, and nothing asks it not to: theirs is not compared.
look() {
	xargs -0r stat -c '%n %i %h %f %u %g %s %X %Y %Z' <"$world/names"
	xargs -0r stat -c '%n %i %h %f %u %g %s %Y %Z' <"$world/links"
}

contents >"$world/contents"
find "$root" "$repo" ! -type l -print0 | sort -z >"$world/names"
find "$root" "$repo" -type l -print0 | sort -z >"$world/links"
xargs -0r touch -a -d 2001-01-01 <"$world/names" # so old that any reading renews them
look >"$world/before"

for words in 'list --json --size' '--dry-run --json' 'why dirty' 'why super' 'check'; do
	# shellcheck disable=SC2086
	check_quiet $words
	look >"$world/after"
	check "sbx-reap $words: leaves no trace" diff "$world/before" "$world/after"
done
contents | diff "$world/contents" - >"$world/difference" || true
check "every byte is as it was" test ! -s "$world/difference"

# ----------------------------------------------------------------------------------------------- a pass

for run in linked super; do rm "$(tree "$run")/.gitattributes"; done
git config -f "$(tree super)/.gitmodules" --unset submodule.sub.update
traced --dry-run --json
cp "$world/report" "$world/planned"
check_quiet --yes --json
for run in linked super clone; do
	check "it is planned that $run goes" same 'reap finished_failed null' \
		"$(verdicts "$run" "$world/planned")"
	check "it went" test ! -e "$(tree "$run")"
done
check "what is not saved stays" same 'keep unsaved_work null' "$(verdicts dirty "$world/report")"
check "and is whole" test -e "$(tree dirty)/new"

# ------------------------------------------------------- what is damaged holds up nothing but its own runs

damages=(
	'rm HEAD; mkfifo HEAD'
	'rm config; mkfifo config'
	'rm -f packed-refs; mkfifo packed-refs'
	'mkfifo objects/info/alternates'
	'mkfifo shallow'
	'rm -f config; ln -s /dev/zero config'
	'rm -f packed-refs; ln -s /dev/zero packed-refs'
	'rm -f packed-refs; mkdir packed-refs'
	'truncate -s 2G config'
	'truncate -s 2G packed-refs'
	'truncate -s 2G objects/info/alternates'
	'git config -f config include.path /dev/zero'
	'for i in 1 2 3 4 5 6 7 8 9; do git config -f config --add include.path config; done'
	'echo "[junk" >config'
	'rm -rf objects; mkdir objects'
	'rm -rf objects'
	'git config -f config core.repositoryformatversion 2'
	'git config -f config core.repositoryformatversion 1; git config -f config extensions.refStorage reftable'
	'w=$(echo worktrees/*); rm $w/index; mkfifo $w/index'
	'w=$(echo worktrees/*); rm $w/HEAD; mkfifo $w/HEAD'
	'w=$(echo worktrees/*); rm $w/gitdir; mkfifo $w/gitdir; rm "$tree/.git"; mkfifo "$tree/.git"'
	'w=$(echo worktrees/*); echo junk >$w/HEAD'
	'rm "$tree/.git"; ln -s /dev/zero "$tree/.git"'
	'git symbolic-ref refs/heads/a refs/heads/b; git symbolic-ref refs/heads/b refs/heads/a
		echo "ref: refs/heads/a" >"$(echo worktrees/*)/HEAD"'
)
sed -i "/^repo = /d" "$world/reap.ini"
plain=$world/plain.git
git clone --quiet --bare "$world/seed" "$plain"
for i in "${!damages[@]}"; do
	repo=$world/damaged-$i.git
	cp -a "$plain" "$repo"
	add_worktree "damaged-$i"
	over "damaged-$i" "$repo"
done
repo=$world/healthy.git
cp -a "$plain" "$repo"
add_worktree zz-healthy # the last in the order of a pass
over zz-healthy "$repo"
repo=$world/sha256.git
git init --quiet --bare --object-format=sha256 "$repo"
git -C "$repo" update-ref refs/heads/main "$(git -C "$repo" commit-tree -m first \
	"$(git -C "$repo" hash-object -w -t tree /dev/null)")"
add_worktree sha256
over sha256 "$repo"
for i in "${!damages[@]}"; do
	(cd "$world/damaged-$i.git" && export tree && tree=$(tree "damaged-$i") && eval "${damages[i]}") >/dev/null 2>&1 || true
done

began=$(cut -d. -f1 /proc/uptime)
timeout 120 "$SBX_REAP" --yes --json --config "$world/reap.ini" </dev/null >"$world/report" \
	2>"$world/complaints" || true
took=$(($(cut -d. -f1 /proc/uptime) - began))
for i in "${!damages[@]}"; do
	check "unknown or refused: ${damages[i]//$'\n'/;}" says '^keep (unknown|refused) null$' \
		"$(verdicts "damaged-$i" "$world/report")"
	check "the tree stays" test -e "$(tree "damaged-$i")/README.md"
done
check "a repository with SHA-256 is unknown" says '^keep unknown' "$(verdicts sha256 "$world/report")"
check "the others go on" same 'reap finished_failed reaped' "$(verdicts zz-healthy "$world/report")"
check "nothing hung ($took seconds)" test "$took" -lt 60
tap_done
