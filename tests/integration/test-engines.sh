#!/usr/bin/env bash
# Real engines: Docker, which this script starts for itself on a private socket, beside the Podman of
# SBX_TEST_ENGINE; both at once, one of them dead, and one that dies in the middle of a pass.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "${SBX_TEST_ENGINE:-}" ] || tap_skip_all "no container engine: SBX_TEST_ENGINE is not set"
[ "$(id -u)" = 0 ] || tap_skip_all "only root can start an engine"

podman=${SBX_TEST_ENGINE#unix://} docker='' immutable=''
build=${SBX_BUILD:?the build whose tests are run; scripts/run-tests sets it}
many=200 # containers of one run

end_all() {
	trap - EXIT
	trap '' INT TERM HUP # timeout(1) sends what it gets twice
	[ -z "$immutable" ] || chattr -i "$immutable" 2>/dev/null || true
	lab down 2>/dev/null || echo "# the engine in $world stays"
	world_remove
}

lab() { LAB=$world/docker LAB_OWNER=$$ tests/lab/engine-lab.sh "$@"; }

# Both engines; with little patience where one is to hang.
start_engines() {
	world_new ''
	trap end_all EXIT
	docker=$(lab up docker 2>"$world/lab.log") || {
		sed 's/^/# /' "$world/lab.log"
		exit 1
	}
	settings_of "$world/reap.ini" 60s "$podman" "$docker"
	settings_of "$world/hasty.ini" 1s "$podman" "$docker"
	sed -i "s|^database = .*|database = $world/reap.db|" "$world/hasty.ini"
}

settings_of() { # file, time-out, sockets
	settings "$1" "[policy]
keep_ok = 0s
[limits]
engine_timeout = $2
[containers]
$(printf 'engine = unix://%s\n' "${@:3}")"
}

at() { SBX_TEST_ENGINE=$1 engine "${@:2}"; } # socket, as engine()

# Sets `container`. What is made at Docker goes with it, the rest is written down for world_remove().
add() { # socket, name, run ('' for none), more JSON
	local label=''
	[ -z "$3" ] || label="\"sbx.run\":\"$3\""
	container=$(at "$1" -d "{\"Image\":\"sbx-test\",${4:-}\"Labels\":{$label}}" \
		"containers/create?name=$2" | jq -r .Id)
	[ "$1" = "$docker" ] || echo "$container" >>"$world/containers"
}

start() { at "$1" -X POST "containers/$2/start" >/dev/null; } # socket, container

# A registered run without a tree. What is made for it comes before end_run().
begin_run() { reap register "$1" "${@:2}" >/dev/null; }
end_run() { reap finish "$1" --ok >/dev/null; }

# A removal that is gone on with leaves what was made in the second in which it had begun: it may be a
# successor's. So what a second pass is to remove is older than that.
later() { sleep 1.1; }

names_at() { # socket, pattern
	at "$1" 'containers/json?all=1' | jq -r '.[].Names[0]' | sed -n "s|^/\($2\)\$|\1|p" | sort | xargs
}

has_volume() { at "$1" "volumes/$2" >/dev/null 2>&1; } # socket, volume
lacks_volume() { ! has_volume "$@"; }
is_running() { [ "$(at "$1" "containers/$2/json" | jq .State.Running)" = true ]; }
does_not_answer() { ! at "$1" _ping >/dev/null 2>&1; }
lacks() { ! at "$1" "containers/$2/json" >/dev/null 2>&1; }

# A pass; sets `code` and `said`.
pass() {
	code=0
	said=$(reap --yes --json "$@") || code=$?
}
of_run() { jq -r --arg run "$1" ".runs[] | select(.run == \$run) | $2" <<<"$said"; }
source_at() { # socket
	jq -r --arg at "unix://$1" '.sources[] | select(.at == $at) | .ok' <<<"$said"
}

# Waits for what takes an engine its time; the limit only ends what hangs.
until_holds() {
	local try
	for ((try = 0; try < 600; try++)); do
		! "$@" || return 0
		sleep 0.1
	done
	return 1
}

# ------------------------------------------------------------------------------------------ both up

docker_is_as_good_as_podman() {
	check "what is asked of the backend at Podman holds at Docker" \
		env SBX_TEST_ENGINE="$docker" CMOCKA_MESSAGE_OUTPUT=TAP \
		"$build/tests/integration/test_container"
}

both_are_asked() {
	local engine
	for engine in both docker podman live; do begin_run "$engine"; done
	for engine in "$podman" "$docker"; do
		at "$engine" -d '{"Name":"shared","Labels":{"sbx.run":"both"}}' volumes/create >/dev/null
		add "$engine" both both
		start "$engine" "$container"
		add "$engine" live live
		add "$engine" stranger ''
		at "$engine" -d '{"Name":"theirs"}' volumes/create >/dev/null
	done
	add "$podman" podman ''
	reap register podman --container "$container" >/dev/null
	add "$docker" podman '' # another's, of that name
	add "$docker" docker docker
	for engine in both docker podman; do end_run "$engine"; done
	pass
	check "a pass over two engines does all it should" same 0 "$code"
	check "it saw both" same 'true true' "$(source_at "$podman") $(source_at "$docker")"
	check "what is due went from the one" same 'live stranger' "$(names_at "$podman" '[a-z]*')"
	check "and from the other, but for what only has a name of it" \
		same 'live podman stranger' "$(names_at "$docker" '[a-z]*')"
	for engine in "$podman" "$docker"; do
		check "a volume went from each that had one of that name" \
			lacks_volume "$engine" shared
		check "and one without a label is still there" has_volume "$engine" theirs
		at "$engine" -X DELETE volumes/theirs >/dev/null
	done
}

# --------------------------------------------------------------------------- dead, and stuck so

what_docker_cannot_remove_is_named_until_it_can() {
	local stuck upper
	begin_run stuck
	add "$docker" stuck stuck
	stuck=$container
	upper=$(at "$docker" "containers/$stuck/json" | jq -r .GraphDriver.Data.UpperDir)
	: >"$upper/file"
	immutable=$upper/file
	chattr +i "$immutable"
	begin_run beside
	add "$docker" beside beside
	end_run stuck
	end_run beside
	later
	pass
	check "a container that cannot be removed makes the pass ask for a person" same 1 "$code"
	check "it is named" says "$stuck" "$(of_run stuck .error)"
	check "with the engine's reason" says 'failed to remove root filesystem' "$(of_run stuck .error)"
	check "the engine holds it for dead" same dead \
		"$(at "$docker" "containers/$stuck/json" | jq -r .State.Status)"
	check "and its neighbour goes" same reaped "$(of_run beside .result)"
	chattr -i "$immutable"
	pass --run stuck --early
	check "when the obstacle is gone, so is the dead one" same "0 reaped" \
		"$code $(of_run stuck .result)"
	check "for good" lacks "$docker" "$stuck"
}

# ------------------------------------------------------------------------------- one of them down

back_again='' # at Docker, by its restart policy

one_is_dead() {
	begin_run again
	add "$docker" again again '"HostConfig":{"RestartPolicy":{"Name":"always"}},'
	back_again=$container
	start "$docker" "$back_again"
	begin_run elsewhere
	add "$podman" elsewhere elsewhere
	begin_run bare --no-container
	end_run again
	end_run elsewhere
	end_run bare
	kill -KILL "$(cat "$world/docker/engine.pid")"
	until_holds does_not_answer "$docker"
	pass
	check "with an engine that is dead a pass is blind" same 69 "$code"
	check "and says at which" same 'true false' "$(source_at "$podman") $(source_at "$docker")"
	check "a run of it is kept" same 'keep unknown' "$(of_run again '"\(.verdict) \(.reason)"')"
	check "so is one that may have something there" same 'keep unknown' \
		"$(of_run elsewhere '"\(.verdict) \(.reason)"')"
	check "what it has at the other stays" same 'elsewhere' "$(names_at "$podman" elsewhere)"
	check "and one that never has a container goes" same reaped "$(of_run bare .result)"
}

it_comes_back() {
	check "Docker starts again" lab restart
	check "and by its restart policy the container with it" \
		until_holds is_running "$docker" "$back_again"
	pass
	check "then all that was due goes" same '0 reaped reaped' \
		"$code $(of_run again .result) $(of_run elsewhere .result)"
	check "the one that comes back does so no more" lacks "$docker" "$back_again"
	check "and the other's is gone, too" same '' "$(names_at "$podman" elsewhere)"
}

one_hangs() {
	local engine
	engine=$(cat "$world/docker/engine.pid")
	begin_run hung
	add "$docker" hung hung
	begin_run bare2 --no-container
	end_run hung
	end_run bare2
	kill -STOP "$engine"
	config=$world/hasty.ini pass
	kill -CONT "$engine"
	check "one that hangs makes a pass blind as well" same '69 false' "$code $(source_at "$docker")"
	check "a run of it is kept" same 'keep unknown' "$(of_run hung '"\(.verdict) \(.reason)"')"
	check "and what never has a container goes" same reaped "$(of_run bare2 .result)"
	pass
	check "when it goes on, so does the work" same '0 reaped' "$code $(of_run hung .result)"
}

# ------------------------------------------------------------------------ many, and a restart midway

add_many() { # socket, run: one curl for all
	local index
	for ((index = 0; index < many; index++)); do
		[ "$index" = 0 ] || echo next
		printf 'url = "http://engine/v1.41/containers/create?name=%s-%d"\n' "$2" "$index"
		printf 'unix-socket = "%s"\nheader = "Content-Type: application/json"\n' "$1"
		printf 'data = "{\\"Image\\":\\"sbx-test\\",\\"Labels\\":{\\"sbx.run\\":\\"%s\\"}}"\n' "$2"
	done | curl --silent --show-error --fail-early --config - | jq -r .Id >>"$world/containers"
}

count_many() { at "$1" 'containers/json?all=1' | jq '[.[] | select(.Names[0] | startswith("/many-"))] | length'; }
fewer_than() { [ "$(count_many "$docker")" -lt "$1" ]; }

many_go_though_the_engine_dies_meanwhile() {
	local passing before after
	begin_run many
	add_many "$docker" many
	check "there are many" same "$many" "$(count_many "$docker")"
	end_run many
	later
	reap --yes --json --run many >"$world/many.json" &
	passing=$!
	until_holds fewer_than "$((many - 2))"
	kill -KILL "$(cat "$world/docker/engine.pid")"
	check "Docker starts again in the middle of a pass" lab restart
	code=0
	wait "$passing" || code=$?
	before=$(count_many "$docker")
	printf '# %s of %s were left when the engine died\n' "$before" "$many"
	check "the pass ends by itself, and says how" says '^(0|1|69)$' "$code"
	check "no stranger went along" same 'live podman stranger' "$(names_at "$docker" '[a-z]*')"
	read -r before _ </proc/uptime
	pass --run many --early
	read -r after _ </proc/uptime
	printf '# the rest went in %s s\n' "$(awk "BEGIN { print $after - $before }")"
	check "the next one does the rest" same 0 "$code"
	check "all of it" same 0 "$(count_many "$docker")"
	check "and no stranger" same 'live podman stranger' "$(names_at "$docker" '[a-z]*')"
}

start_engines
docker_is_as_good_as_podman
both_are_asked
what_docker_cannot_remove_is_named_until_it_can
one_is_dead
it_comes_back
one_hangs
many_go_though_the_engine_dies_meanwhile
tap_done
