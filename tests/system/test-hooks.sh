#!/usr/bin/env bash
# Hooks in the unit as it is, on a booted systemd: its walls are around them, a unix socket leads out, and
# what the manual says of a network is so.
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

root=/srv/sbx/workspaces
unit=/run/systemd/system/sbx-reap.service.d

# On tmpfs: on the lab's overlay a file and its directory are on different devices.
make_world() {
	mount -t tmpfs -o mode=755 tmpfs /srv
	cp -r /stage/. /
	systemd-sysusers
	systemd-tmpfiles --create
	journalctl --update-catalog
	mkdir -p /etc/sbx/reap.d "$unit"
	printf '[hooks]\nrevoke = /etc/sbx/revoke\nafter = /etc/sbx/after\n[policy]\nkeep_ok = 0s\n[disk]\nhigh = 100%%\nlow = 99%%\n' \
		>/etc/sbx/reap.d/hooks.ini
	systemctl daemon-reload
}

hook() { # name: what is read is its script
	cat >"/etc/sbx/$1"
	chmod 755 "/etc/sbx/$1"
}

ended() { # run
	mkdir "$root/$1"
	sbx-reap register "$1" --created -3h --ttl 1h --no-container >/dev/null
	sbx-reap finish "$1" --ok --at -2h >/dev/null
}

code=0
pass() { # sets `code`
	systemctl reset-failed sbx-reap.service 2>/dev/null || true
	code=0
	systemctl start sbx-reap.service 2>/dev/null ||
		code=$(systemctl show --property ExecMainStatus --value sbx-reap.service)
}

# A service that does for a hook what the unit must not: it answers each connection with "done".
serve() {
	cat >/run/revoker.py <<-'END'
		import os, socket
		server = socket.socket(socket.AF_UNIX)
		server.bind("/run/revoker.sock")
		server.listen()
		while True:
		    client = server.accept()[0]
		    open("/run/revoked", "a").write(client.recv(200).decode())
		    client.sendall(b"done")
		    client.close()
	END
	systemd-run --quiet --unit revoker /usr/bin/python3 /run/revoker.py
	timeout 60 bash -c 'until [ -S /run/revoker.sock ]; do sleep 0.1; done'
}

asks_a_service() {
	serve
	hook revoke <<-'END'
		#!/usr/bin/python3
		import os, socket
		client = socket.socket(socket.AF_UNIX)
		client.connect("/run/revoker.sock")
		client.sendall((os.environ["SBX_RUN"] + "\n").encode())
		assert client.recv(10) == b"done"
	END
	hook after <<-'END'
		#!/bin/bash
		set -e
		env | sort >/srv/sbx/after
	END
	ended r1
	pass
	check "the pass is well" same 0 "$code"
	check "a hook in Python reached its service over a unix socket" same r1 "$(cat /run/revoked)"
	check "one in bash wrote where the unit may" grep -q '^SBX_RUN=r1$' /srv/sbx/after
	check "of the environment of systemd it has nothing" same 'PATH PWD SBX_GENERATION SBX_HOOK SBX_OUTCOME SBX_REASON SBX_ROOT SBX_RUN SBX_TRY' \
		"$(sed 's/=.*//' /srv/sbx/after | grep -vx '_\|SHLVL\|OLDPWD' | paste -sd' ')"
	check "its run is gone" test ! -e "$root/r1"
}

cannot_go_elsewhere() {
	hook revoke <<-'END'
		#!/bin/bash
		: >/etc/written || echo "no writing"
		: </dev/tcp/127.0.0.1/9 || echo "no network"
		exit 4
	END
	ended r2
	pass
	check "what fails makes the unit fail with 1" same 1 "$code"
	check "its run is gone all the same" test ! -e "$root/r2"
	said=$(sbx-reap list || true)
	check "it could neither write elsewhere" says 'Read-only file system.*no writing' "$said"
	check "nor make a socket to a network" says 'Address family not supported by protocol.*no network' "$said"
	check "nothing was written" test ! -e /etc/written
	journalctl --sync
	check "the journal has an entry of its own" same 'revoke r2' "$(journalctl --output json \
		MESSAGE_ID=6f1a8c52d0b94e7d9a3be5c47f10d28e | jq -r '"\(.SBX_HOOK) \(.SBX_RUN)"')"
	check "which the catalog explains" says 'Whatever run r2 was trusted' \
		"$(journalctl -x MESSAGE_ID=6f1a8c52d0b94e7d9a3be5c47f10d28e)"
}

# The drop-in of the manual, but for the address.
may_reach_one_server() {
	printf '[Service]\n%s\n' PrivateNetwork=no 'RestrictAddressFamilies=AF_INET AF_INET6' \
		IPAddressAllow=127.0.0.1 >"$unit/hooks.conf"
	systemctl daemon-reload
	/usr/bin/python3 -m http.server --bind 127.0.0.1 8021 >/dev/null 2>&1 &
	timeout 60 bash -c 'until : </dev/tcp/127.0.0.1/8021; do sleep 0.1; done' 2>/dev/null
	hook revoke <<-'END'
		#!/bin/bash
		: </dev/tcp/127.0.0.1/8021
	END
	pass
	check "with the drop-in a hook reaches its server, and nothing is left to revoke" same '0 []' \
		"$code $(sbx-reap list --json | jq -c .hooks)"
	kill %1
}

inside() {
	make_world
	asks_a_service
	cannot_go_elsewhere
	may_reach_one_server
	tap_done
}

if [ "${1:-}" = --inside ]; then
	inside
else
	outside
fi
