#!/usr/bin/env bash
# The alert rules and the dashboard: each alert fires in promtool, and a real Prometheus, which scrapes a
# real node_exporter that reads what the program wrote, fires those that are to fire and no others.
set -euo pipefail
# A loopback of its own, so that ports are free and nobody else listens.
[ "${SBX_OWN_NET:-}" = "$PPID" ] || SBX_OWN_NET=$$ exec unshare --net --fork --kill-child "$0" "$@"
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
cd "$(dirname "$0")/../.."
rules=$PWD/units/sbx-reap.rules.yml dashboard=units/sbx-reap.dashboard.json
exporter=127.0.0.1:9100 prometheus=127.0.0.1:9090

world_new ""
mkdir "$world/prom"
file=$world/prom/sbx_reap.prom
with_metrics=$'[metrics]\n'textfile=$file$'\n[policy]\npinned_bytes_warn = 1T\n[disk]\nhigh = 99%\nlow = 98%'
settings "$world/reap.ini" "$with_metrics"

# ------------------------------------------------------------------------------ what promtool says

passes_tests() { # a file of tests/fixtures/metrics
	sed "s|RULES|$rules|" "tests/fixtures/metrics/$1" >"$world/$1"
	promtool test rules "$world/$1"
}
check "the rules are valid" promtool check rules "$rules"
check "each alert fires when it should and is silent before" passes_tests alerts.yml
check "those of a slow change, too" passes_tests alerts-slow.yml
check "no alert is without such a test" same "$(sed -n 's/^ *- alert: //p' "$rules" | sort)" \
	"$(sed -n 's/^  - name: //p' tests/fixtures/metrics/alerts*.yml | sort)"

# ------------------------------------------------------------------ that they speak of what is told

mkdir "$root/r1" # to be measured
reap register r1 --no-container >/dev/null
reap pin r1 >/dev/null
reap >/dev/null
sqlite3 "$world/reap.db" "INSERT INTO probe_result VALUES ('due', 'ok', strftime('%s', 'now'))"
reap --size >/dev/null
names() { grep -oE 'sbx_reap_[a-z0-9_]+' "$1" | sort -u; }
unknown_names() { names "$1" | comm -23 - <(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$file" | sort); }
check "the rules use names that a pass writes" same "" "$(unknown_names "$rules")"
check "the dashboard does, too" same "" "$(unknown_names "$dashboard")"
check "the dashboard shows what hooks are owed" same "sbx_reap_after_hooks sbx_reap_revocations" \
	"$(names "$dashboard" | grep -E 'hooks|revocations' | paste -sd' ')"
# shellcheck disable=SC2016 # jq's variables
overlapping='[.panels[] | {id} + .gridPos] | . as $all | .[] as $a | $all[] as $b
	| select($a.id < $b.id and $a.x < $b.x + $b.w and $b.x < $a.x + $a.w and $a.y < $b.y + $b.h and $b.y < $a.y + $a.h)
	| "\($a.id) \($b.id)"'
check "none of its panels lies on another one" same '' "$(jq -r "$overlapping" "$dashboard")"
expressions() { jq -r '.panels[].targets[].expr | gsub("[$]instance"; ".*")' "$dashboard"; }

# --------------------------------------------------------------------------------- a real Prometheus

cat >"$world/prometheus.yml" <<EOS
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ["$rules"]
scrape_configs:
  - {job_name: node, static_configs: [{targets: ["$exporter"]}]}
EOS
ip link set lo up
prometheus-node-exporter --collector.disable-defaults --collector.textfile --web.disable-exporter-metrics \
	--collector.textfile.directory="$world/prom" --web.listen-address="$exporter" >"$world/exporter.log" 2>&1 &
prometheus --config.file="$world/prometheus.yml" --storage.tsdb.path="$world/tsdb" \
	--web.listen-address="$prometheus" >"$world/prometheus.log" 2>&1 &

api() { curl --silent --show-error --fail --max-time 30 --get "http://$prometheus/api/v1/$1" "${@:2}"; }
# What an expression gives: a line a sample.
ask() { api query --data-urlencode "query=$1" | jq -r '.data.result[] | "\(.metric | del(.instance, .job)) \(.value[1])"'; }
firing() { api alerts | jq -r '.data.alerts[] | select(.state == "firing") | .labels.alertname' | sort | paste -sd' '; }
within() { # seconds, command: until it holds
	local try
	for ((try = $1 * 5; try > 0; try--)); do
		"${@:2}" >/dev/null 2>&1 && return 0
		sleep 0.2
	done
	tail -n 20 "$world/exporter.log" "$world/prometheus.log"
	"${@:2}"
}
sees() { same "$2" "$(ask "$1" | paste -sd,)"; } # expression, what it gives
fires() { same "$1" "$(firing)"; }
healthy() { same '["ok"]' "$(api rules | jq -c '[.data.groups[].rules[].health] | unique')"; }
is_valid() { # expression
	api query --data-urlencode "query=$1" | jq -e '.status == "success"' >/dev/null
}
are_valid() { local line; while read -r line; do is_valid "$line" || { echo "$line"; return 1; }; done; }

check "Prometheus sees what the pass told" within 120 sees \
	'sbx_reap_decisions{reason="pinned"}' '{"__name__":"sbx_reap_decisions","reason":"pinned"} 1'
check "node_exporter finds no fault in it" within 60 sees node_textfile_scrape_error \
	'{"__name__":"node_textfile_scrape_error"} 0'
check "Prometheus finds none in the rules" within 60 healthy
check "every panel of the dashboard has an expression that it takes" are_valid < <(expressions)
check "after a pass that is well no alert fires" fires ''

sed -i 's/^\(sbx_reap_last_pass_timestamp_seconds\) .*/\1 1000000000/; s/^sbx_reap_brake .*/sbx_reap_brake 1/' "$file"
check "when passes fail to come the alert fires, and that of the brake" within 60 fires 'SbxReapBrake SbxReapSilent'
check "its words are whole" says '^No pass of sbx-reap ended for [0-9]+d' \
	"$(api alerts | jq -r '.data.alerts[] | select(.labels.alertname == "SbxReapSilent") | .annotations.summary')"
reap >/dev/null
check "after the next pass they are over" within 60 fires ''
tap_done
