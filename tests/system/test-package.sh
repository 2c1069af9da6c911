#!/usr/bin/env bash
# The Debian package on a booted systemd: clean for lintian, installed and off, switched on, upgraded in
# the middle of a pass and from the first version's books, not downgraded, removed, installed again,
# rebooted, purged with and without the state. SBX_DEB names a package that is built already.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/support/lab.sh
. tests/support/lab.sh

outside() {
	local deb=${SBX_DEB:-}
	lab_stage
	[ -n "$deb" ] || deb=$(make --silent deb)
	cp "$deb" "$stage/this.deb"
	repack "$stage" older 0.0.1
	mkdir -p "$stage/srv/state"
	lab_boot --boots 2 --timeout 1000 --bind "$stage/srv:/srv"
}

# The same package under another version, with other settings as installed.
repack() { # stage, name, version
	local tree=$1/$2 this
	this=$(dpkg-deb --field "$1/this.deb" Version)
	dpkg-deb --raw-extract "$1/this.deb" "$tree"
	sed -i "s/^Version: .*/Version: $3/" "$tree/DEBIAN/control"
	sed -i "s/${this//./\\.}/$3/g" "$tree/DEBIAN/preinst"
	echo "; installed by $3" >>"$tree/etc/sbx/reap.ini"
	dpkg-deb --root-owner-group -Znone --build "$tree" "$1/$2.deb" >/dev/null
}

# ------------------------------------------------------------------------------------ in the lab

root=/srv/sbx/workspaces db=/var/lib/sbx/state.db wants=/etc/systemd/system/timers.target.wants

make_world() {
	rm -f /usr/sbin/policy-rc.d # of this machine; what it would forbid is what is looked at here
	rm -f /var/lib/man-db/auto-update # indexing manuals at each installation takes longer than all else
	echo precious >/srv/precious
}

# As apt does it without a person: settings that she changed stay.
install() { dpkg --force-confdef,confold,unsafe-io --install "/stage/$1.deb" </dev/null; }
is_installed() { same "installed $1" "$(dpkg-query --show --showformat '${db:Status-Status} ${Version}' sbx-reap)"; }
version_of() { dpkg-deb --field "/stage/$1.deb" Version; }
property() { systemctl show --property "$1" --value "${2:-sbx-reap.service}"; }
timer_is() { same "$1" "$(systemctl is-enabled sbx-reap.timer) $(systemctl is-active sbx-reap.timer)"; }

within() { # seconds, command: until it holds
	local try
	for ((try = $1 * 10; try > 0; try--)); do
		"${@:2}" && return 0
		sleep 0.1
	done
	echo "not within $1 s"
	journalctl --unit sbx-reap.service --no-pager --lines 40
	return 1
}

# Not while a pass is at work: the timer's next elapse is set when that ends.
next_elapse_is_set() {
	local next
	next=$(property NextElapseUSecRealtime sbx-reap.timer)
	[ -n "$next" ] && [ "$next" != infinity ] && [ "$(date --date "$next" +%s)" -gt "$(date +%s)" ]
}

expired_run() { # run
	mkdir -p "$root/$1/src"
	echo work >"$root/$1/src/file"
	sbx-reap register "$1" --created -30h --ttl 2h --no-container >/dev/null
	sbx-reap finish "$1" --ok --at -28h >/dev/null
}

goes() { [ ! -e "$root/$1" ] && [ ! -e "$root/$1.sbx" ]; }
stays() { [ -e "$root/$1/src/file" ]; }
has_its_books() { says '"registered"' "$(sbx-reap log late --json)"; } # a pin has a file beside the tree, too
pinned_by_ada() { says "^$1 .*ada" "$(sbx-reap pins)"; }
ends() { ! systemctl is-active --quiet sbx-reap.service && [ "$(property ActiveState)" != activating ]; }

is_off() {
	install older
	check "it is installed" is_installed 0.0.1
	check "the program is that of the package" \
		same "sbx-reap $(version_of this)" "$(sbx-reap --version)"
	check "the timer is neither enabled nor started" timer_is "disabled inactive"
	check "no pass was started" same "" "$(property ExecMainStartTimestamp)"
	check "members of sbx may read the books, and nobody else" \
		same "750 root sbx" "$(stat -c '%a %U %G' /var/lib/sbx)"
	check "there is a place for a person's settings" test -d /etc/sbx/reap.d
	check "the settings are valid as installed" sbx-reap check
	check "the manual pages are there" test -s /usr/share/man/man8/sbx-reap.8.gz \
		-a -s /usr/share/man/man5/sbx-reap.ini.5.gz -a -s /usr/share/man/man5/sbx-reap-marker.5.gz
	check "bash completes it" bash -c '. /usr/share/bash-completion/completions/sbx-reap; complete -p sbx-reap'
	check "zsh and fish do" test -s /usr/share/zsh/vendor-completions/_sbx-reap \
		-a -s /usr/share/fish/vendor_completions.d/sbx-reap.fish
}

# The timer as it is, but with a first elapse that a test can wait for.
is_switched_on() {
	printf '[policy]\nunsaved = discard\n' >/etc/sbx/reap.d/ada.ini
	echo '; changed by ada' >>/etc/sbx/reap.ini
	expired_run expired
	expired_run kept
	sbx-reap pin kept --by ada --for never >/dev/null
	mkdir -p /etc/systemd/system/sbx-reap.timer.d
	printf '[Timer]\nOnActiveSec=1s\nRandomizedDelaySec=0\nAccuracySec=1ms\n' \
		>/etc/systemd/system/sbx-reap.timer.d/soon.conf
	systemctl daemon-reload
	systemctl enable --quiet --now sbx-reap.timer
	check "the timer reaps what a run left behind" within 60 goes expired
	check "and not what is pinned" stays kept
	rm -r /etc/systemd/system/sbx-reap.timer.d
	systemctl daemon-reload
	within 60 ends
	check "it has a next elapse" within 60 next_elapse_is_set
}

first_version_of_the_books() {
	local identity
	identity=$(sqlite3 "$db" 'SELECT identity FROM meta')
	rm "$db"
	sed "s/IDENTITY/$identity/" tests/fixtures/database/first.sql | sqlite3 "$db"
}

# A pass that waits for an engine which never answers.
pass_at_work() {
	printf '[Socket]\nListenStream=/run/engine.sock\n' >/run/systemd/system/engine.socket
	printf '[Service]\nExecStart=sleep infinity\n' >/run/systemd/system/engine.service
	systemctl daemon-reload
	systemctl start engine.socket
	printf '[containers]\nengine = unix:///run/engine.sock\n[limits]\nengine_timeout = 5m\n' \
		>/etc/sbx/reap.d/engine.ini
	systemctl start --no-block sbx-reap.service
	within 60 systemctl is-active --quiet engine.service
	pass=$(property MainPID)
}

quiet_timer() {
	systemctl stop sbx-reap.timer
	within 60 ends
}

is_upgraded() {
	quiet_timer
	first_version_of_the_books
	check "an upgrade succeeds" install this
	check "it is installed" is_installed "$(version_of this)"
	check "a timer that was stopped stays so" timer_is "enabled inactive"
	check "a person's settings are as she left them" grep -q 'changed by ada' /etc/sbx/reap.ini
	check "and the new ones lie beside them" test -e /etc/sbx/reap.ini.dpkg-dist
	check "a pass with the first version's books succeeds" systemctl start sbx-reap.service
	check "they are those of this version now" \
		bash -c "[ \"\$(sqlite3 $db 'PRAGMA user_version')\" -gt 1 ]"
	check "a pin of the first version holds" pinned_by_ada early
}

is_upgraded_during_a_pass() {
	pass_at_work
	systemctl start sbx-reap.timer
	check "an upgrade during a pass succeeds" install this
	check "the pass goes on" same "$pass activating" "$(property MainPID) $(property ActiveState)"
	check "and so does the timer" timer_is "enabled active"
	rm /etc/sbx/reap.d/engine.ini
	systemctl stop sbx-reap.service engine.socket engine.service 2>/dev/null
	check "which has a next elapse" within 60 next_elapse_is_set
}

is_not_downgraded() {
	local said code=0
	expired_run late
	sbx-reap pin late --by ada --for never >/dev/null
	said=$(install older 2>&1) || code=$?
	check "a downgrade is refused" same 1 "$code"
	check "and it is said why" says "$(version_of this) is installed, 0\\.0\\.1 is older" "$said"
	check "this version is still there" is_installed "$(version_of this)"
	check "and its timer goes on" timer_is "enabled active"
	quiet_timer
	cp "$db" /srv/state.db
	sqlite3 "$db" 'PRAGMA user_version = 1000'
	said=$(sbx-reap list 2>&1) || code=$?
	check "the books of a newer program are refused by this one" same 65 "$code"
	check "and it says so" says "newer sbx-reap" "$said"
	cp /srv/state.db "$db"
	systemctl start sbx-reap.timer
}

is_removed() {
	check "it can be removed" dpkg --remove sbx-reap
	check "the timer is gone" same inactive "$(systemctl is-active sbx-reap.timer)"
	check "and nothing is left that would start it" test ! -L "$wants/sbx-reap.timer"
	check "the settings stay" grep -q 'changed by ada' /etc/sbx/reap.ini
	check "and those beside them" test -e /etc/sbx/reap.d/ada.ini
	check "the books stay" test -s "$db"
	check "the workspaces stay" stays late
}

is_installed_again() {
	install this >/dev/null
	check "installed again it has its books" has_its_books
	check "and is off until a person switches it on" timer_is "disabled inactive"
	systemctl enable --quiet --now sbx-reap.timer
	check "switched on it has a next elapse" within 60 next_elapse_is_set
	install this >/dev/null
	check "and after it was installed over itself" within 60 next_elapse_is_set
	systemctl daemon-reload
	check "and after a reload" within 60 next_elapse_is_set
	systemctl daemon-reexec
	check "and when systemd was started anew" within 60 next_elapse_is_set
}

is_purged() {
	local said
	said=$(dpkg --purge sbx-reap 2>&1)
	check "purged it says that its state stays" says "/var/lib/sbx .*stays" "$said"
	check "and it does" test -s "$db"
	check "the packaged settings go" test ! -e /etc/sbx/reap.ini
	check "what a person put beside them stays" test -e /etc/sbx/reap.d/ada.ini
	rm /etc/sbx/reap.d/ada.ini
	install this >/dev/null
	check "and installed once more it has its books" has_its_books
}

is_purged_with_its_state() {
	ln -s /srv /var/lib/sbx/elsewhere
	mkdir /var/lib/sbx/mounted
	mount --bind /srv /var/lib/sbx/mounted
	touch /etc/sbx/purge-state
	check "purged when asked to" dpkg --purge sbx-reap
	check "while something is mounted there all of it stays" test -s "$db"
	check "and what is mounted, above all" same precious "$(cat /srv/precious)"
	umount /var/lib/sbx/mounted
	install this >/dev/null
	touch /etc/sbx/purge-state
	check "purged when asked to, with nothing mounted" dpkg --purge sbx-reap
	check "the books go" test ! -e "$db"
	check "the workspaces do not" stays late
	check "nor where a symlink leads" same precious "$(cat /srv/precious)"
	check "of the settings nothing is left" test ! -e /etc/sbx

	rm -rf /var/lib/sbx
	install this >/dev/null
	rm -r /var/lib/sbx
	ln -s /srv/state /var/lib/sbx
	echo precious >/srv/state/state.db
	touch /etc/sbx/purge-state
	dpkg --purge sbx-reap >/dev/null 2>&1
	check "where a symlink leads nothing goes" same precious "$(cat /srv/state/state.db)"
	rm /var/lib/sbx
	install this >/dev/null
	touch /etc/sbx/purge-state
	dpkg --purge sbx-reap >/dev/null
	check "and without any of that nothing stays" test ! -e /var/lib/sbx
}

is_there_after_a_reboot() {
	check "after a reboot the timer runs" timer_is "enabled active"
	check "and has a next elapse" within 60 next_elapse_is_set
	check "and the pin holds" pinned_by_ada late
}

inside() {
	export DEBIAN_FRONTEND=noninteractive
	if [ "$BOOT_LAB_BOOT" = 1 ]; then
		make_world
		check "lintian finds nothing" lintian --allow-root --pedantic \
			--fail-on error,warning,pedantic /stage/this.deb
		is_off
		is_switched_on
		is_upgraded
		is_upgraded_during_a_pass
		is_not_downgraded
		is_removed
		is_installed_again
	else
		is_there_after_a_reboot
		is_purged
		is_purged_with_its_state
	fi
	tap_done
}

if [ "${1:-}" = --inside ]; then inside; else outside; fi
