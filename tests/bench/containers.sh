# shellcheck shell=bash
# Containers that were created and never started, of ten runs, beside the engine's own command.

containers_rows() {
	local engine
	for engine in podman docker; do
		row "containers-$engine" 1.0 wall "$containers created containers of $engine, beside $engine rm -f" \
			engine "$engine" 'ours rm'
	done
}

engine_lab() { # engine, arguments
	LAB=$scratch/$1 tests/lab/engine-lab.sh "${@:2}"
}

engine_ask() { # curl options, and last the path of a request
	curl --silent --show-error --fail --max-time 120 --unix-socket "$(<"$scratch/socket")" \
		-H 'Content-Type: application/json' "${@:1:$#-1}" "http://engine/v1.41/${*: -1}"
}

# In the short form only Podman, which costs less, and once for all rows.
engine_up() { # engine
	[ -z "$short" ] || [ "$1" = podman ] || unmeasured 'the short form has one engine'
	command -v "$1" >/dev/null || unmeasured "$1 is missing (scripts/install-deps test)"
	engine_lab "$1" up "$1" >"$scratch/socket" 2>"$scratch/lab.log" ||
		unmeasured "$1 does not start: $(tail -n 1 "$scratch/lab.log")"
}

engine_open() { # engine
	engine_up "$1"
	place_open tmpfs
	workspaces_new "[policy]
keep_ok = 0s
[containers]
engine = unix://$(<"$scratch/socket")"
}

engine_restore() { # contender
	local n
	for ((n = 0; n < containers; n++)); do
		engine_ask --data "{\"Image\":\"sbx-test\",\"Labels\":{\"sbx.run\":\"run-$((n % 10))\"}}" \
			containers/create | jq -er .Id
	done >"$scratch/ids"
	[ "$1" = ours ] || return 0
	for ((n = 0; n < 10 && n < containers; n++)); do
		mkdir -p "$root/run-$n"
		reap register "run-$n" --created -3h --ttl 1h
		reap finish "run-$n" --ok
	done
}

engine_command() { # contender, engine
	case $1 in
	ours) command=("$reaper" --yes --config "$books/reap.ini") ;;
	rm)
		local ids settings # those of the lab, without what its script costs
		mapfile -t ids <"$scratch/ids"
		mapfile -t settings < <(sed 's/^export //' "$scratch/$2/env")
		command=(nsenter --target "$(<"$scratch/$2/holder.pid")" --mount --net --pid --cgroup
			env "${settings[@]}" "$2" rm -f "${ids[@]}")
		;;
	esac
}

engine_proof() { # contender
	[ "$(engine_ask 'containers/json?all=1' | jq length)" = 0 ] || complain 'containers are left' || return
	[ "$1" != ours ] || nothing_left
}

engine_down() { [ -n "$short" ] || engine_lab "$1" down >/dev/null 2>&1; }

engine_close() { # engine
	engine_down "$1"
	place_close
}
