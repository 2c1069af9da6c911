#!/usr/bin/env bash
# scripts/sbx-run on a booted systemd, with a Podman for --untrusted: what COMMAND sees and what it does not,
# how its end goes on record, and that a pass cleans up after it wherever it was killed.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/lab.sh
. tests/support/lab.sh

outside() {
	lab_stage
	lab_install
	lab_boot --timeout 900
}

# ------------------------------------------------------------------------------------ in the lab

root=/srv/sbx/workspaces repo=/srv/git/app.git out=/root/out

make_world() {
	mount -t tmpfs -o mode=755 tmpfs /srv
	mkdir -p /var/lib/containers
	mount -t tmpfs tmpfs /var/lib/containers
	cp -r /stage/. /
	systemd-sysusers
	systemd-tmpfiles --create
	systemctl daemon-reload
	mkdir -p /srv/git /etc/sbx/reap.d "$out"
	cat >/etc/sbx/reap.d/lab.ini <<-END
		[policy]
		lease = 1s
		deadline_grace = 0s
		keep_ok = 1s
		keep_failed = 1s
		keep_abandoned = 1s
		keep_orphan = 1s
	END
	ip link add host0 type bridge # the lab has no more than lo, in which a run would see no less
	useradd --create-home ci
	make_repository
	echo hush >/root/token
	chmod 600 /root/token
}

make_repository() {
	git init --quiet --bare "$repo"
	chown -R ci: "$repo"
	as_ci 'git config --global user.name test && git config --global user.email test@localhost &&
		git clone --quiet '"$repo"' seed && cd seed && echo one >file && git add file &&
		git commit --quiet --message first && git push --quiet origin HEAD' 2>/dev/null
}

# From here on, since each question to the engine takes its time.
make_engine() {
	local name
	mkdir -p /root/image/bin
	cp /bin/busybox /root/image/bin/
	for name in sh env cat id ls sleep stat touch; do ln -s busybox "/root/image/bin/$name"; done
	tar -C /root/image -c . | podman import --quiet - sbx-test >/dev/null 2>&1
	systemctl start podman.socket
	printf '[containers]\nengine = unix:///run/podman/podman.sock\n' >/etc/sbx/reap.d/engine.ini
}

as_ci() { runuser -u ci -- sh -c "cd && $1"; }

# In the background; what it says goes to $out/RUN, its exit code to $out/RUN.code.
begin() { # run, more arguments of sbx-run
	{
		code=0
		sbx-run "$1" --repo "$repo" "${@:2}" || code=$?
		echo "$code" >"$out/$1.new"
		mv "$out/$1.new" "$out/$1.code"
	} >"$out/$1" 2>&1 </dev/null &
}

code_of() { # run
	until_it test -e "$out/$1.code"
	cat "$out/$1.code"
}

answer() { # run, more arguments of sbx-run: its exit code
	rm -f "$out/$1.code"
	begin "$@"
	code_of "$1"
}

said() { cat "$out/$1"; }
outcome() { sbx-reap list --json | jq -r --arg run "$1" '.runs[] | select(.run == $run) | .outcome'; }
property() { systemctl show --property "$2" --value "sbx-run-$1.service"; }

until_it() { # command: until it holds; a test that waits for ever is ended by the lab
	until "$@"; do sleep 0.05; done
}

# ------------------------------------------------------------------------------------ one by one

wrong_calls() {
	check "help needs no system" says "^  --untrusted" "$(sbx-run --help)"
	check "a run identifier that is no name is a wrong call" same 2 "$(answer "a b" -- true)"
	check "so is a missing command" same 2 "$(answer w1)"
	check "so is a variable that is not set" same 2 "$(answer w1 --allow-env NOT_SET_AT_ALL -- true)"
	check "so is a secret without a file" same 2 "$(answer w1 --secret a=/nowhere -- true)"
	check "so is a network without a container" same 2 "$(answer w1 --network bridge -- true)"
	check "so is the host's network for what is not trusted" \
		same 2 "$(answer w1 --untrusted --image sbx-test --network host -- true)"
	check "what is no repository is refused" same 125 "$(repo=/srv answer w1 -- true)"
	mkdir /root/app && git init --quiet /root/app
	check "and so is one of root's" same 125 "$(repo=/root/app answer w1 -- true)"
	check "an engine that the reaper does not look at is refused" \
		same 125 "$(answer w1 --untrusted --image sbx-test -- true)"
	mkdir "/srv/git/a b" && git -C "/srv/git/a b" init --quiet && chown -R ci: "/srv/git/a b"
	check "so is a path that systemd would split" same 125 "$(repo="/srv/git/a b" answer w1 -- true)"
	check "and named" says "^sbx-run: /srv/git/a b/.git: a path with blanks" "$(said w1)"
	chown -R 4321 "/srv/git/a b"
	check "so is a repository of nobody's" same 125 "$(repo="/srv/git/a b" answer w1 -- true)"
	check "and says so" says "belongs to uid 4321, which has no account" "$(said w1)"
	check "after all of that nothing is on record" same 0 "$(sbx-reap list --json | jq '.runs | length')"
}

# shellcheck disable=SC2016,SC1003 # as it is written
what_a_command_sees() {
	export NAMED='two  words $HOME ${X} "q" \' LEAKED=leaked
	check "a command that succeeds is a success" same 0 \
		"$(answer seen --allow-env NAMED --secret token=/root/token -- /bin/sh -c '
			/usr/bin/env -u PWD >env; cat "$CREDENTIALS_DIRECTORY/token"; cat </sys/class/net/lo/operstate
			cat /proc/net/dev; id -un; touch /etc/here || echo "cannot write"; echo "$((1 + 1)) %n"
			echo work >unsaved; touch /tmp/private && echo "has a tmp"; ls -d /home/* || echo "no homes"; grep -E "^(NoNewPrivs|CapBnd)" /proc/self/status')"
	check "and is on record as one" same ok "$(outcome seen)"
	check "with all that it is made of" same "branch scope worktree" \
		"$(sbx-reap list --json | jq -r '[.runs[] | select(.run == "seen") | .resources[].kind] | sort | join(" ")')"
	check "it sees the variables that were named, as they are, and no other" same \
		"$(printf '%s\n' 'CREDENTIALS_DIRECTORY=/run/credentials/sbx-run-seen.service' "NAMED=$NAMED" \
			PATH=/usr/local/bin:/usr/bin:/bin SBX_RUN=seen)" "$(LC_ALL=C sort "$root/seen/env")"
	check "it reads the secret, works as the repository's owner, and writes nowhere else" same \
		"hush ci cannot_write 2_%n" "$(grep -xE 'hush|ci|cannot write|2 %n' "$out/seen" | tr ' \n' '_ ' | sed 's/ $//')"
	check "it can gain no rights" same "CapBnd: 0000000000000000 NoNewPrivs: 1" \
		"$(grep -E '^(NoNewPrivs|CapBnd)' "$out/seen" | tr '\t\n' '  ' | sed 's/ $//')"
	check "it has temporary files of its own" bash -c 'grep -qx "has a tmp" "$0" && [ ! -e /tmp/private ]' "$out/seen"
	check "it sees no home, not even its user's" grep -qx "no homes" "$out/seen"
	check "it has a loopback of its own and no other network" same "lo:" "$(grep -oE '(lo|eth|host)[0-9]*:' "$out/seen")"
	check "with --network host it has the host's" same "0 $(readlink /proc/self/ns/net)" \
		"$(answer shown --network host -- readlink /proc/self/ns/net) $(said shown)"
	check "a second run of that name is refused" same 125 "$(answer seen -- true)"
	check "which does the first no harm" same ok "$(outcome seen)"
}

# What it would have git run later, outside of the fence.
# shellcheck disable=SC2016 # expands in the unit
what_a_command_can_do_to_the_repository() {
	as_ci "git --git-dir=$repo config filter.where.smudge 'readlink /proc/self/ns/net; :' &&
		echo 'file filter=where' >$repo/info/attributes"
	check "what a filter does is done inside" same 0 \
		"$(answer filtered -- sh -c '[ "$(cat file)" = "$(readlink /proc/self/ns/net)" ]')"
	as_ci "git --git-dir=$repo config --remove-section filter.where && rm $repo/info/attributes"
	check "a command can do with git what work needs" same 0 "$(answer commits -- sh -c '
		export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
		echo two >file && git commit --quiet --all --message two && git switch --quiet --create more HEAD^ &&
		echo more >more && git add more && git commit --quiet --message more &&
		git switch --quiet - && git cherry-pick more && git rebase --quiet more && git branch --quiet -D more &&
		echo three >file && git stash --quiet && git stash pop --quiet && git pack-refs --all')"
	check "what makes git run programs it cannot write" same "0 tried all" "$(answer plants -- sh -c '
		cd "$(git rev-parse --git-common-dir)" || exit 1
		for name in config config.worktree hooks/pre-commit info/attributes modules/a remotes/a branches/a \
			worktrees/plants/commondir worktrees/plants/gitdir worktrees/commits/config.worktree; do
			! touch "$name" || echo "wrote $name"
			! mv "${name%%/*}" moved || echo "moved $name"
		done
		! git config core.fsmonitor /bin/true || echo configured; echo "tried all"') $(grep -E '^(wrote|moved|configured|tried)' "$out/plants")"
	mkdir -p /srv/git/evil && cp -a "$repo/." /srv/git/evil && echo /srv/git/evil >"$repo/commondir"
	check "a repository that leads git elsewhere is refused" same 125 "$(answer led -- true)"
	check "and is named" says "^sbx-run: $repo/commondir leads git to /srv/git/evil" "$(said led)"
	rm -r "$repo/commondir" /srv/git/evil
	as_ci "mkdir -p $repo/refs/heads/sbx && touch $repo/refs/heads/sbx/there.lock"
	check "where git cannot make a worktree, it was never started" same 125 "$(answer there -- true)"
	check "and that is said" says "^sbx-run: git makes no worktree of $repo at $root/there" "$(said there)"
	as_ci "rm $repo/refs/heads/sbx/there.lock"
}

# shellcheck disable=SC2016 # expands in the unit
how_a_command_ends() {
	begin seven -- sh -c 'exit 7'
	begin late --ttl 1s -- sleep 1000
	begin killed -- sh -c 'kill -TERM $$'
	begin none -- /no/such/command
	check "its exit code is passed on" same "7 failed" "$(code_of seven) $(outcome seven)"
	check "one that is out of time ends with 124" same "124 failed" "$(code_of late) $(outcome late)"
	check "one that is killed ends with 128 and the signal" \
		same "143 failed" "$(code_of killed) $(outcome killed)"
	check "one that is not there ends with 127" same "127 failed" "$(code_of none) $(outcome none)"
}

active() { systemctl is-active --quiet "sbx-run-$1.service"; }
ended() { ! active "$1"; }

# shellcheck disable=SC2016 # expands in the unit
what_a_neighbour_sees() {
	local held stopped lost
	sbx-run held --repo "$repo" --memory 64M --secret token=/root/token -- \
		sh -c 'until [ -e go ]; do sleep 0.1; done' >"$out/held" 2>&1 &
	held=$!
	sbx-run stopped --repo "$repo" -- sleep 1000 >"$out/stopped" 2>&1 &
	stopped=$!
	until_it active held
	check "the memory limit is the unit's" same 67108864 "$(property held MemoryMax)"
	check "there is no swap beyond it, nor any number of processes" \
		same "0 4096" "$(property held MemorySwapMax) $(property held TasksMax)"
	check "the unit is in the slice" same sbx.slice "$(property held Slice)"
	check "its secret is in no property of the unit and on no command line" \
		bash -c '! { systemctl show sbx-run-held.service; cat /proc/[0-9]*/cmdline; } 2>/dev/null | grep -aq hus[h]'
	check "another user cannot read it" \
		exits 1 runuser -u nobody -- cat /run/credentials/sbx-run-held.service/token
	check "nor can another run of the same user" \
		same 1 "$(answer nosy -- cat /run/credentials/sbx-run-held.service/token)"
	kill -KILL "$held"
	{ wait "$held" || true; } 2>/dev/null
	check "nor its environment" same 1 \
		"$(answer peeps -- cat "/proc/$(property held MainPID)/environ")"
	check "nor a secret of a container that starts later" same "0 0" "$(rmdir /run/sbx-run
		answer hides -- stat -c %a /run/sbx-run) $(tail -n 1 "$out/hides")"
	check "when its harness is killed it goes on" active held
	as_ci "touch $root/held/go"
	until_it ended held
	check "and its outcome goes on record all the same" same ok "$(outcome held)"
	until_it active stopped
	kill -TERM "$stopped"
	{ code=0 && wait "$stopped" || code=$?; } 2>/dev/null
	check "a harness that is asked to end, ends with its command" same "143 failed" "$code $(outcome stopped)"
	check "which has ended" ended stopped
	sbx-run lost --repo "$repo" -- sh -c 'until [ -e go ]; do sleep 0.1; done' >"$out/lost" 2>&1 &
	lost=$!
	until_it active lost
	kill -KILL "$(pgrep -P "$lost" -x systemd-run)"
	{ code=0 && wait "$lost" || code=$?; } 2>/dev/null
	check "a harness that loses sight of its command says so" \
		same "125 sbx-run: lost sight of lost, which goes on as sbx-run-lost.service" "$code $(tail -n 1 "$out/lost")"
	check "and does not call it ended" same null "$(outcome lost)"
	as_ci "touch $root/lost/go"
	until_it ended lost
	check "which it is later, by itself" same ok "$(outcome lost)"
}

# shellcheck disable=SC2016 # expands in the unit
what_an_untrusted_one_sees() {
	make_engine
	begin farlate --untrusted --image sbx-test --ttl 15s -- sleep 1001
	check "an untrusted command's exit code is passed on" same 5 \
		"$(answer far --untrusted --image sbx-test --allow-env NAMED --secret token=/root/token -- /bin/sh -c '
			env; cat "$CREDENTIALS_DIRECTORY/token"; ls /sys/class/net; id -u; cat .git/HEAD /proc/self/status
			touch /here || echo "cannot write"; ls /srv || echo "no host"; echo work >unsaved; exit 5')"
	check "and the run has failed" same failed "$(outcome far)"
	check "it sees the variables that were named, and no other" same \
		"CREDENTIALS_DIRECTORY HOME HOSTNAME NAMED PATH PWD SBX_RUN SHLVL" \
		"$(sed -n 's/^\([A-Z_]*\)=.*/\1/p' "$out/far" | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"
	check "as they are" grep -qxF "NAMED=$NAMED" "$out/far"
	check "it reads its secret" grep -qx hush "$out/far"
	check "it is the repository's owner" grep -qx "$(id -u ci)" "$out/far"
	check "it can gain no rights" same "CapBnd: 0000000000000000 NoNewPrivs: 1" \
		"$(grep -E '^(NoNewPrivs|CapBnd)' "$out/far" | tr '\t\n' '  ' | sed 's/ $//')"
	check "it has no network" same lo "$(grep -xE 'lo|eth.*|host.*' "$out/far")"
	check "it writes nowhere but in its tree" grep -qx "cannot write" "$out/far"
	check "it does not see the host" grep -qx "no host" "$out/far"
	check "it is on a branch of a clone" grep -qx "ref: refs/heads/sbx/far" "$out/far"
	check "of which the repository knows nothing" \
		bash -c "! git --git-dir=$repo show-ref | grep -q sbx/far && [ ! -e $repo/worktrees/far ]"
	check "its container has the label" same far \
		"$(podman inspect --format '{{index .Config.Labels "sbx.run"}}' sbx-far)"
	check "one that is out of time ends with 124" same 124 "$(code_of farlate)"
	check "and all of its container with it" bash -c '! pgrep -x -f "sleep 1001"'
}

# install as the unit finds it, which says whose the directory is and fails when it is told to.
# shellcheck disable=SC2016 # as it is written
how_secrets_reach_a_container() {
	cat >/usr/local/bin/install <<-'END'
		#!/bin/sh
		[ -z "$RUNTIME_DIRECTORY" ] || stat -c 'directory of %u' "$RUNTIME_DIRECTORY" >&2
		case $RUNTIME_DIRECTORY in */uncopied) exit 1 ;; esac
		exec /usr/bin/install "$@"
	END
	chmod +x /usr/local/bin/install
	check "a secret is copied while the directory is root's" same "0 directory of 0 $(id -u ci) 400" \
		"$(answer copied --untrusted --image sbx-test --secret token=/root/token -- \
			stat -c '%u %a' /run/secrets/token) $(grep '^directory' "$out/copied" | sort -u) $(tail -n 1 "$out/copied")"
	check "a container whose secrets are not copied does not start" same "125 failed" \
		"$(answer uncopied --untrusted --image sbx-test --secret token=/root/token -- true) $(outcome uncopied)"
	check "nor is there one" bash -c '! podman container exists sbx-uncopied'
	rm /usr/local/bin/install
}

# ------------------------------------------------------------------------------------ asked to end

# A signal before there is a unit, and one that comes while systemd-run is about to make it.
# shellcheck disable=SC2016 # expands in the unit
when_it_is_asked_to_end() {
	local PATH=/root/enders:$PATH polite
	mkdir /root/enders
	cat >/root/enders/sbx-reap <<-'END'
		#!/bin/bash
		real=$(PATH=${PATH#/root/enders:} command -v "${0##*/}")
		case "${0##*/} $*" in
		sbx-reap\ renew*end-early* | systemd-run*end-late*) kill -TERM "$PPID" && sleep 1 ;;
		esac
		exec "$real" "$@"
	END
	chmod +x /root/enders/sbx-reap
	ln -s sbx-reap /root/enders/systemd-run
	check "asked to end before it starts its command, it does not" \
		same "143 failed" "$(answer end-early -- touch "started") $(outcome end-early)"
	check "so nothing was started" bash -c '[ ! -e "$0/started" ] && [ ! -e "$0/file" ]' "$root/end-early"
	check "asked while it does, it ends it" same "143 failed" "$(answer end-late -- sleep 1000) $(outcome end-late)"
	sbx-run polite --repo "$repo" -- \
		sh -c 'trap "exit 0" TERM; touch ready; while :; do sleep 0.1; done' >"$out/polite" 2>&1 &
	polite=$!
	until_it test -e "$root/polite/ready"
	kill -TERM "$polite"
	{ code=0 && wait "$polite" || code=$?; } 2>/dev/null
	check "a command that ends well when it is asked to, ended well" same "143 ok" "$code $(outcome polite)"
}

# ------------------------------------------------------------------------------------ killed anywhere

# In front of the programs that sbx-run calls: kills it before or after the call that the run is named for.
make_killers() {
	mkdir /root/killers
	cat >/root/killers/sbx-reap <<-'END'
		#!/bin/bash
		case ${0##*/} in
		sbx-reap) point=$1; [[ $1 != register || "$*" = *--ttl* ]] || point=again ;;
		setpriv) point=git; [[ "$*" = *"worktree add"* || "$*" = *" clone "* ]] || point=other ;;
		*) point=${0##*/} ;;
		esac
		real=$(PATH=${PATH#/root/killers:} command -v "${0##*/}")
		[[ "$*" != *"die-$point-before"* ]] || { kill -KILL "$PPID"; exit 1; }
		[[ "$*" = *"die-$point-after"* ]] || exec "$real" "$@"
		"$real" "$@" &
		[ "$point" = systemd-run ] || wait
		[ "$point" != systemd-run ] || until systemctl is-active --quiet "sbx-run-die-$point-after.service"; do sleep 0.05; done
		kill -KILL "$PPID"
	END
	chmod +x /root/killers/sbx-reap
	ln -s sbx-reap /root/killers/setpriv
	ln -s sbx-reap /root/killers/mkdir
	ln -s sbx-reap /root/killers/systemd-run
}

points=(register mkdir git again renew systemd-run)

kill_everywhere() {
	local point when PATH=/root/killers:$PATH
	make_killers
	for point in "${points[@]}"; do
		for when in before after; do
			begin "die-$point-$when" --ttl 2s -- sleep 1000
		done
	done
	begin die-git-after-far --untrusted --image sbx-test --ttl 2s -- sleep 1000
	for point in "${points[@]}"; do
		for when in before after; do
			check "sbx-run is killed $when its $point" same 137 "$(code_of "die-$point-$when")"
		done
	done
	check "and after a clone" same 137 "$(code_of die-git-after-far)"
}

# ------------------------------------------------------------------------------------ and then

nothing_left() {
	local left
	left=$(
		find "$root" -mindepth 1 ! -name .sbx-trash
		git --git-dir="$repo" for-each-ref --format='%(refname)' refs/heads/sbx
		find "$repo/worktrees" -mindepth 1 -maxdepth 1 2>/dev/null
		systemctl list-units --all --no-legend --plain 'sbx-*.service' | grep -v '^sbx-reap' || true
		find /sys/fs/cgroup/sbx.slice -mindepth 1 -type d 2>/dev/null
		podman ps --all --quiet
		find /run/credentials /run/sbx-run -mindepth 1 -name '*sbx-*' 2>/dev/null
		sbx-reap list --json | jq -r '.runs[].run'
	)
	same "" "$left"
}

# The time limits of those that were killed are 2 s; nothing else has to be waited for.
all_due() { [ "$(sbx-reap list --json | jq '[.runs[] | select(.verdict == "keep")] | length')" = 0 ]; }

then_the_reaper() {
	check "there are runs to reap" test "$(sbx-reap list --json | jq '.runs | length')" -gt 15
	until_it all_due
	systemctl start sbx-reap.service
	check "the pass under the unit succeeds" same "success 0" \
		"$(systemctl show --property Result --value sbx-reap.service) $(systemctl show --property ExecMainStatus --value sbx-reap.service)"
	check "of all those runs nothing is left" nothing_left
	check "what a run had not saved is salvaged" same work \
		"$(git --git-dir="$repo" show "$(git --git-dir="$repo" for-each-ref --format='%(refname)' refs/sbx/salvage/seen | head -n 1):unsaved")"
	check "also what an untrusted one had not" bash -c "sbx-reap salvages far | grep -q far"
}

# Each line with sbx-run of the README and the manual pages, as it stands, one run after the other.
as_the_manual_says() {
	local line name count=0
	as_ci "git clone --quiet $repo app && cd app && printf 'check:\\n\\ttrue\\n' >Makefile &&
		git add Makefile && git commit --quiet --message make"
	mv /home/ci/app /srv/git/app
	for name in agent run-the-agent; do install -m 755 /bin/true "/usr/local/bin/$name"; done
	install -D -m 600 /root/token /etc/agent/token
	while read -r line; do
		count=$((count + 1))
		check "'$line' works" env LANG=C sh -c "$line </dev/null"
		check "and is on record" same ok "$(outcome r1)"
		sbx-reap --run r1 --early >/dev/null </dev/null
		check "and goes" test ! -e "$root/r1"
	done < <(sed -n 's/^\(\.Dl \|    \)\{0,1\}\(sbx-run r1 .*\)/\2/p' README.md reaper/*.[58] scripts/*.[15])
	check "those were all of them" same 3 "$count"
}

inside() {
	make_world
	as_the_manual_says
	wrong_calls
	what_a_command_sees
	what_a_command_can_do_to_the_repository
	how_a_command_ends
	what_a_neighbour_sees
	what_an_untrusted_one_sees
	how_secrets_reach_a_container
	when_it_is_asked_to_end
	kill_everywhere
	then_the_reaper
	tap_done
}

if [ "${1:-}" = --inside ]; then inside; else outside; fi
