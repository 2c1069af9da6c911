#!/bin/bash
# The recipes of the README do what it says of them, as they stand there: its blocks are what is run.
set -u
# shellcheck source=tests/support/host.sh
. "$(dirname "$0")/../support/host.sh"
host_enter "$@"
cd "$sources" || exit
: "${SBX_TEST_ENGINE:?scripts/test starts one}"

ws=/srv/sbx/workspaces

# The blocks of the section, one file each: $host/recipe.1 and so on.
extract() {
	awk -v name="$host/recipe." '
		/^## / { inside = $2 == "Recipes"; next }
		inside && /^    / { if (!block) n++; block = 1; print substr($0, 5) > (name n); next }
		{ block = 0 }' README.md
}

of_run() { # run, query: of the plan
	sbx-reap list --json 2>/dev/null | jq -r --arg run "$1" ".runs[] | select(.run == \$run) | $2"
}

goes() { # run
	sbx-reap --run "$1" --early >/dev/null 2>&1 </dev/null
	[ ! -e "$ws/$1" ] && [ "$(of_run "$1" .run)" = '' ]
}

agent_hooks() {
	install -m 755 "$host/recipe.1" "$host/bin/agent-worktree-hook"
	git -C /srv/git/app worktree add -q -b agent/a1 "$ws/a1"
	check "a worktree that an agent's tool makes is registered" \
		agent-worktree-hook <<<"{\"event\": \"worktree-create\", \"path\": \"$ws/a1\", \"more\": 1}"
	check "as a run with its branch" same "active $ws/a1 agent/a1" "$(of_run a1 \
		'"\(.state) \([.resources[] | select(.kind == "worktree" or .kind == "branch") | .locator] | join(" "))"')"
	check "when the tool lets go of it, it ends" \
		agent-worktree-hook <<<"{\"event\": \"worktree-remove\", \"path\": \"$ws/a1\"}"
	check "which is on record" same 'finished ok' "$(of_run a1 '"\(.state) \(.outcome)"')"
	check "and a pass takes it" goes a1
	check "an event that is none is an error" exits 1 agent-worktree-hook <<<'{"event": "worktree-create"}'
}

ci_runner() {
	install -m 755 "$host/recipe.2" "$host/bin/ci-job-started"
	install -m 755 "$host/recipe.3" "$host/bin/ci-job-ended"
	export CI_JOB_ID=17
	check "a job that starts is registered" ci-job-started
	echo artifact >"$ws/job-17/file"
	check "and alive as long as its runner is" same 'keep live' "$(of_run job-17 '"\(.verdict) \(.reason)"')"
	check "one that ends well is on record" env CI_JOB_STATUS=success ci-job-ended
	check "and goes" goes job-17
	CI_JOB_ID=18
	ci-job-started >/dev/null
	check "so is one that fails" env CI_JOB_STATUS=failed ci-job-ended
	check "and is kept a day" same 'failed retained' "$(of_run job-18 '"\(.outcome) \(.reason)"')"
}

# By the engine's own word.
engine() {
	curl --silent --show-error --fail --max-time 60 --unix-socket "${SBX_TEST_ENGINE#unix://}" \
		"${@:1:$#-1}" "http://engine/v1.41/${*: -1}"
}

labelled() { # what: those of run r7
	engine "$1" | jq '[(if type == "object" then .Volumes else . end)[] | select(.Labels["sbx.run"] == "r7")] | length'
}

compose() {
	mkdir "$ws/r7"
	cp "$host/recipe.4" "$ws/r7/compose.yaml"
	printf '[containers]\nengine = %s\n' "unix://${SBX_TEST_ENGINE#unix://}" >/etc/sbx/reap.d/engine.ini
	engine -X POST 'images/sbx-test/tag?repo=docker.io/agents/db&tag=latest' >/dev/null
	sbx-reap register r7 >/dev/null
	check "compose starts the project" env RUN=r7 DOCKER_HOST="unix://${SBX_TEST_ENGINE#unix://}" \
		sh -c "cd $ws/r7 && docker-compose -f compose.yaml -p r7 up -d"
	check "its container, volume and network are the run's" same '1 1 1' \
		"$(labelled 'containers/json?all=1') $(labelled volumes) $(labelled networks)"
	sbx-reap finish r7 --ok >/dev/null
	check "a pass takes the run" goes r7
	check "with all of the project" same '0 0 0' \
		"$(labelled 'containers/json?all=1') $(labelled volumes) $(labelled networks)"
}

extract
check "there are as many blocks as are tried" same 4 "$(find "$host" -name 'recipe.*' | wc -l)"
agent_hooks
ci_runner
compose
tap_done
