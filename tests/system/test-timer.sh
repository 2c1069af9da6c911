#!/usr/bin/env bash
# Installed with `make install` on a booted systemd: the timer starts a pass under the unit's whole
# hardening, an expired run goes, a pinned one and one at work stay, and there is always a next elapse.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/lab.sh
. tests/support/lab.sh

outside() {
	lab_stage
	lab_install
	lab_boot --timeout 300
}

# ------------------------------------------------------------------------------------ in the lab

root=/srv/sbx/workspaces repo=/srv/git/app.git
metrics=/var/lib/prometheus/node-exporter/sbx_reap.prom

put_in_place() {
	cp -r /stage/. /
	systemd-sysusers
	systemd-tmpfiles --create
	systemctl daemon-reload
}

# On tmpfs: on the lab's overlay a file and its directory are on different devices.
make_world() {
	mount -t tmpfs -o mode=755 tmpfs /srv
	put_in_place
	mkdir -p /srv/git /etc/sbx/reap.d
	printf '[workspaces]\nrepo = %s\n' "$repo" >/etc/sbx/reap.d/lab.ini
	install -d -o nobody /var/lib/prometheus/node-exporter
	printf '[metrics]\ntextfile = %s\n' "$metrics" >/etc/sbx/reap.d/metrics.ini
	git config --global user.name test
	git config --global user.email test@localhost
	git init --quiet /srv/git/seed
	echo /scratch/ >/srv/git/seed/.gitignore
	git -C /srv/git/seed add .gitignore
	git -C /srv/git/seed commit --quiet --message first
	git clone --quiet --bare /srv/git/seed "$repo"
}

make_run() { # run, when it began, more arguments of register
	git -C "$repo" worktree add --quiet -b "sbx/$1" "$root/$1" 2>/dev/null
	sbx-reap register "$1" --repo "$repo" --created "$2" --ttl 2h "${@:3}" >/dev/null
}

# The agents work as nobody, in trees and directories of their own: the unit's capabilities are needed.
agent() { # unit, tree
	systemd-run --quiet --uid=nobody --slice=sbx.slice --working-directory="$root/$2" --unit="$1" \
		sleep 1000
}

expired_run() { # run, more arguments of register
	make_run "$1" -30h "${@:2}"
	mkdir "$root/$1/scratch"
	echo secret >"$root/$1/scratch/file"
	mkdir -m 1777 "$root/$1/scratch/sticky"
	touch "$root/$1/scratch/sticky/file"
	chown -R nobody "$root/$1"
	chmod 500 "$root/$1/scratch"
	chattr +a "$root/$1/scratch/sticky"
}

make_runs() {
	expired_run expired --cgroup /sbx.slice/leak.service
	agent leak.service expired
	sbx-reap finish expired --failed --at -29h >/dev/null
	expired_run pinned
	sbx-reap finish pinned --failed --at -29h >/dev/null
	sbx-reap pin pinned --by ada --for 2d >/dev/null
	expired_run occupied
	sbx-reap finish occupied --failed --at -29h >/dev/null
	agent stranger.service occupied
	make_run overdue -3h
	agent overdue.service overdue
	sbx-reap register overdue --pid "$(systemctl show --property MainPID --value overdue.service)" >/dev/null
	make_run working -10m --cgroup /sbx.slice/agent.service
	agent agent.service working
}

# Its service would come back in an hour, of which the run has told nobody.
triggered_run() {
	systemd-run --quiet --slice=sbx.slice --unit=back.service --on-active=1h sleep 1000
	systemctl start back.service
	make_run triggered -30h --scope back.service
	sbx-reap finish triggered --failed --at -29h >/dev/null
}

# The timer as it is, but with a first elapse that a test can wait for.
start_timer() {
	mkdir -p /etc/systemd/system/sbx-reap.timer.d
	printf '[Timer]\nOnActiveSec=1s\nRandomizedDelaySec=0\nAccuracySec=1ms\n' \
		>/etc/systemd/system/sbx-reap.timer.d/soon.conf
	systemctl daemon-reload
	systemctl enable --quiet --now sbx-reap.timer
}

within() { # seconds, command: until it holds
	local try
	for ((try = $1 * 10; try > 0; try--)); do
		"${@:2}" && return 0
		sleep 0.1
	done
	echo "not within $1 s"
	journalctl --unit sbx-reap.service --no-pager --lines 40
	systemctl status --no-pager sbx-reap.service sbx-reap.timer
	return 1
}

pass_ended() { [ -n "$(property InactiveEnterTimestamp)" ] && [ "$(property ActiveState)" != activating ]; }
property() { systemctl show --property "$1" --value "${2:-sbx-reap.service}"; }
goes() { [ ! -e "$root/$1" ] && [ ! -e "$repo/worktrees/$1" ] && [ ! -e "$root/$1.sbx" ]; }
stays() { [ -e "$root/$1/.git" ] && [ -d "$repo/worktrees/$1" ] && [ -e "$root/$1.sbx" ]; }

next_elapse_is_set() {
	local next
	next=$(property NextElapseUSecRealtime sbx-reap.timer)
	[ -n "$next" ] && [ "$next" != infinity ] && [ "$(date --date "$next" +%s)" -gt "$(date +%s)" ]
}

entries() { journalctl --unit sbx-reap.service --output json --no-pager SBX_RUN=expired; }
catalog_is_whole() {
	local ids
	mapfile -t ids < <(sed -n 's/^-- //p' /usr/lib/systemd/catalog/sbx-reap.catalog | sort)
	same "$(grep -oE '"[0-9a-f]{32}"' reaper/report_journal.c | tr -d '"' | sort)" "$(printf '%s\n' "${ids[@]}")" &&
		journalctl --dump-catalog --no-pager "${ids[@]}"
}

inside() {
	make_world
	check "the settings are valid as installed" sbx-reap check
	make_runs
	start_timer
	check "the timer starts a pass" within 60 pass_ended
	check "the pass succeeds" same "success 0" "$(property Result) $(property ExecMainStatus)"
	check "the expired run is gone" goes expired
	check "what it left running is gone, too" test ! -e /sys/fs/cgroup/sbx.slice/leak.service
	check "the pinned run stays" stays pinned
	check "a run in whose tree a process works that is not its own stays" stays occupied
	check "and that process works on" systemctl is-active --quiet stranger.service
	check "the overdue run's process is stopped, wherever it runs" \
		bash -c '! systemctl is-active --quiet overdue.service'
	check "its tree stays" stays overdue
	check "the run at work stays" stays working
	check "and works on" systemctl is-active --quiet agent.service
	check "the journal has the pass" \
		bash -c 'journalctl --unit sbx-reap.service --no-pager | grep -q expired'
	journalctl --sync
	check "as an entry with fields, under its unit" same "finished_failed reaped worktree,branch,cgroup" \
		"$(entries | jq -r '"\(.SBX_REASON) \(.SBX_RESULT) \(.SBX_KIND | join(","))"')"
	check "that says it once" same 1 "$(journalctl --unit sbx-reap.service --no-pager --output cat | grep -c '^expired')"
	check "the overdue run's has another kind" same stopped \
		"$(journalctl --output cat MESSAGE_ID=03658a8785804092b40790335a485cc4 | sed -n 's/^overdue: \([a-z]*\),.*/\1/p')"
	check "the pass itself is one" says '^[0-9]+ runs: 1 reaped, .* 1 stopped' \
		"$(journalctl --unit sbx-reap.service --output cat --no-pager MESSAGE_ID=2dda208da56e4ccbba16b102008a6e06)"
	journalctl --update-catalog # as dpkg's trigger does
	check "the catalog explains each" catalog_is_whole
	check "with the words of the entry" says 'Everything that run expired left behind is gone' \
		"$(journalctl --catalog --no-pager SBX_RUN=expired)"

	check "Prometheus is told, in a file of its own user" same "nobody 644" "$(stat --format '%U %a' "$metrics")"
	check "what the pass did" grep -qxF 'sbx_reap_runs_reaped_total{reason="finished_failed"} 1' "$metrics"

	check "the kernel can confine what deletes" bash -c 'sbx-reap check | grep -q "^ok *landlock"'
	check "and under the unit nothing was deleted without that" \
		bash -c '! journalctl --unit sbx-reap.service --no-pager | grep -qiE "landlock|confine"'

	check "the timer has a next elapse" next_elapse_is_set
	systemctl restart sbx-reap.timer
	check "also after a restart" next_elapse_is_set
	put_in_place
	check "also after a reinstall" next_elapse_is_set

	systemctl stop sbx-reap.timer # whose pass would come in between
	within 60 pass_ended
	triggered_run
	check "a run whose service a timer starts again is not done with" \
		bash -c '! systemctl start sbx-reap.service'
	check "the service is stopped" bash -c '! systemctl is-active --quiet back.service'
	check "the timer is nobody's, and stays" systemctl is-active --quiet back.timer
	check "it is named, with what a person can do" \
		says 'back.timer starts back.service again: systemctl stop back.timer' \
		"$(journalctl --unit sbx-reap.service --output cat --no-pager SBX_RUN=triggered)"
	systemctl stop back.timer
	check "which done, a pass succeeds" systemctl start sbx-reap.service
	check "and the run is gone" goes triggered
	systemctl start sbx-reap.timer

	exec 9<>"$(ls /var/lib/sbx/*lock*)"
	flock --exclusive 9
	check "a pass that finds another at work is no failure" systemctl start sbx-reap.service
	exec 9>&-
	echo 'keep_ok = soon' >>/etc/sbx/reap.d/lab.ini
	check "a pass with broken settings is one" \
		bash -c '! systemctl start sbx-reap.service && systemctl is-failed --quiet sbx-reap.service'
	check "and the timer goes on" next_elapse_is_set
	tap_done
}

if [ "${1:-}" = --inside ]; then inside; else outside; fi
