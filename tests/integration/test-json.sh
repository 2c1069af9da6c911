#!/usr/bin/env bash
# What --json writes keeps to reaper/report.schema.json, which is installed for whoever reads it: of a
# plan, of a pass, with everything in it that may be null or not, and with nothing that the schema does
# not name.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"

schema=$(dirname "$0")/../../reaper/report.schema.json

# Reads a document. Stricter than the schema as it is published: a reader shall ignore what it does not
# know, but this program shall write nothing that nobody can know.
# shellcheck disable=SC2016 # the signs are of the schema
keeps_to_schema() { # default: a report; else the name of one of its definitions
	/usr/bin/python3 -c '
import json, sys
from jsonschema import Draft202012Validator

def close(schema):
    if isinstance(schema, dict):
        if "properties" in schema:
            schema["additionalProperties"] = False
        for part in schema.values():
            close(part)
    elif isinstance(schema, list):
        for part in schema:
            close(part)

schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
if sys.argv[2]:
    part = schema["$defs"][sys.argv[2]]
    if part.pop("$ref", None):  # a run, and more
        run = schema["$defs"]["run"]
        part["properties"] = run["properties"] | part["properties"]
        part["required"] = run["required"] + part["required"]
    schema = {"$defs": schema["$defs"]} | part
close(schema)
bad = list(Draft202012Validator(schema).iter_errors(json.load(sys.stdin)))
for error in bad:
    print("/".join(map(str, error.absolute_path)) + ": " + error.message[:300])
sys.exit(len(bad) > 0)
' "$schema" "${1:-}"
}

good() { keeps_to_schema "${2:-}" <"$1"; }
not_good() { ! jq "$2" "$1" | keeps_to_schema; } # document, what is done to it first

report() { # file, arguments
	reap "${@:2}" --json >"$1" || true
	jq --exit-status '.runs | length > 0' "$1" >/dev/null
}

# A run of each sort, so that each field is there with and without a value.
make_runs() {
	local run
	for run in ended failed alive pinned dirty late; do
		add_worktree "$run"
		register_run "$run" --created -3h --ttl 2h
	done
	add_cgroup dirty # so that something of it goes
	reap register dirty --cgroup "$cgroup_locator/dirty"
	reap finish ended --ok --at -1h
	reap finish failed --failed --at -1h
	reap finish dirty --ok --at -1h
	reap renew alive --ttl 1d
	reap pin pinned --by "$(printf 'a\xc3\xa4')" --reason 'to be looked at' --for 2d
	echo new >"$(tree dirty)/new"
	mkdir "$root/$(printf 'not\xffutf8')"
	add_worktree rubbish
	echo '[run' >"$root/rubbish.sbx"
} >/dev/null

world_new $'[policy]\nunsaved = keep\n[containers]\nengine = unix:///nowhere/engine.sock'
make_runs

report "$world/plan" list --size
check "a plan keeps to the schema" good "$world/plan"
check "and has what it is about: bytes, a pin, a source that failed, a name that is no text" \
	jq --exit-status '([.runs[] | select(.bytes)] | length > 0) and any(.runs[]; .pin) and
		any(.sources[]; .ok == false) and any(.runs[]; .run_b64)' "$world/plan"
check "totals say what holds the space" jq --exit-status \
	'.totals | .pinned_bytes > 0 and .kept_bytes >= .pinned_bytes and .unmeasured == 0' "$world/plan"

report "$world/shown" --dry-run --state finished --sort -run
check "what is filtered keeps to it, too" good "$world/shown"
check "has only what was asked for, in that order" same 'failed ended dirty' \
	"$(jq -r '[.runs[].run] | join(" ")' "$world/shown")"
check "and says how many are hidden" same \
	"$(jq '.totals.runs' "$world/plan")" "$(jq '.totals.hidden + (.runs | length)' "$world/shown")"

check "no filter goes with a pass" exits 2 reap --state finished
check "nor with another verb" exits 2 reap pins --sort run

# No settings are read then, and two documents would be none: one repository.
XDG_STATE_HOME=$world "$SBX_REAP" list --json --repo "$repo" --root "$root" >"$world/visit" || true
check "of a repository that is named it keeps to the schema" good "$world/visit"
check "and says which that is" same "$repo" "$(jq -r .repo "$world/visit")"

sed -i '/^\[containers\]/,/^engine/d' "$world/reap.ini"
report "$world/pass"
check "a pass keeps to it" good "$world/pass"
check "and did something, and could not do something" jq --exit-status \
	'any(.runs[]; .result == "reaped") and any(.runs[]; .result == "partial")' "$world/pass"

reap hold --by ada --for 1h >/dev/null 2>&1
report "$world/held" --dry-run
check "so does what a person holds" good "$world/held"
check "which is in it" jq --exit-status '.hold.by == "ada"' "$world/held"

# Each run that there is, whatever it is kept for.
whys_are_good() {
	local run
	while read -r run; do
		reap why "$run" --json >"$world/why" && good "$world/why" why || return 1
		jq --exit-status '(.changes | length > 0) and (.next | length > 0) and
			(.evidence | length > 0)' "$world/why" >/dev/null || { cat "$world/why"; return 1; }
	done < <(jq -r '.runs[].run | select(test("^[a-z]+$"))' "$world/held")
}
check "so does why of each run, with what would change it and what to do" whys_are_good
check "a change without a moment is seen" exits 1 keeps_to_schema why \
	< <(jq 'del(.changes[0].at)' "$world/why")

# The other verbs.
touch "$root/alone.keep"
printf '[pin\n' >"$root/broken.keep"
reap pin pinned --by bob --reason "more of it" --for 2h >/dev/null
verb_is_good() { # verb, what must be in it
	reap "$1" --json >"$world/$1" 2>/dev/null || true
	good "$world/$1" "$1" && { jq --exit-status "$2" "$world/$1" >/dev/null || { cat "$world/$1"; return 1; }; }
}
check "so do pins, of rows and of files, readable or not" verb_is_good pins \
	'any(.pins[]; .by) and any(.pins[]; .file) and any(.pins[]; .error) and any(.pins[]; .bytes) and
		any(.pins[]; .ends_soon)'
sed -i 's/^unsaved = keep/&\npinned_bytes_warn = 1K/' "$world/reap.ini"
reap list --size --state claimed --json >"$world/warned" || true
check "so does a list with what is to be said of pins" good "$world/warned"
check "that one ends soon and they hold too much, whatever is shown" jq --exit-status \
	'.pins.too_large and (.pins.ending | length == 1 and .[0].run == "pinned" and .[0].until)' "$world/warned"
check "which was neither before" jq --exit-status '.pins == {too_large: false, ending: []}' "$world/plan"
check "so does log" verb_is_good log \
	'any(.entries[]; .reason) and any(.entries[]; .run)'
check "so do stats" verb_is_good stats '.total.reaped > 0 and (.there.largest | length > 0)'
check "a cause that is not on the list is seen" exits 1 keeps_to_schema stats \
	< <(jq '.total.causes[0].cause = "bored"' "$world/stats")
check "nor is an entry without a moment one of the log" exits 1 keeps_to_schema log \
	< <(jq 'del(.entries[0].at)' "$world/log")
check "nor a pin without an owner, if only null" exits 1 keeps_to_schema pins \
	< <(jq 'del(.pins[0].by)' "$world/pins")

# The check itself: it must see what it is there for.
check "a field that is missing is seen" not_good "$world/plan" 'del(.runs[0].verdict)'
check "a field that nobody knows is seen" not_good "$world/plan" '.runs[0].more = 1'
check "a word that is not on the list is seen" not_good "$world/plan" '.runs[0].reason = "bored"'
check "a number in the place of a moment is seen" not_good "$world/plan" '.now = 0'

# Each word of the list, and no other: the program's own list is what --reason tells.
said=$(reap list --reason bored 2>&1) || true
reasons=$(sed -n 's/.*the reasons are //p' <<<"$said" | tr -d ' ')
check "the schema knows each reason" same "$(tr , '\n' <<<"$reasons" | sort)" \
	"$(jq -r '."$defs".reason.enum[]' "$schema" | sort)"

tap_done
