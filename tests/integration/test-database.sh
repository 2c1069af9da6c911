#!/usr/bin/env bash
# The database broken in every way: each is said (what, where, what would be right), answered with the
# right exit code, and nothing is touched: neither the world nor what lies beside the database. `check`
# finds each. And what goes on while a pass runs.
set -euo pipefail
# shellcheck source=tests/support/world.sh
. "$(dirname "$0")/../support/world.sh"

[ -n "$cgroup_mount" ] || tap_skip_all "no cgroup v2 is mounted"
strace -o /dev/null true 2>/dev/null || tap_skip_all "strace cannot trace here"

export ASAN_OPTIONS=detect_leaks=0 # it cannot run under a tracer
NOBODY=12345

world_new ''
state=$world/state good=$world/good db=$world/state/state.db
mkdir "$state"
sed -i "s|^database = .*|database = $db|" "$world/reap.ini"

add_due() { # run
	add_worktree "$1"
	register_run "$1" --created -3h --ttl 1h
	reap finish "$1" --ok --at -2h >/dev/null
}
add_due r1
reap pin other --for never >/dev/null
reap register other --cgroup "$cgroup_locator/other" >/dev/null
for name in $(seq 8); do
	reap register "filler-$name" --path "$root/filler-$name" --ttl 9d >/dev/null 2>&1 || true
done
reap hold --for 1h >/dev/null
reap >/dev/null 2>&1 || true # a row of everything: passes, a hold
reap resume >/dev/null
cp -a "$state" "$good"

mend() { # as it was
	rm -rf "$state"
	cp -a "$good" "$state"
}

answers() { timeout 60 "$SBX_REAP" "$@" --config "$world/reap.ini" </dev/null; [ $? -le 1 ]; }

by=()
# broken NAME, exit code, what must be said: of a pass, list, a writer and check; nothing is touched.
broken() {
	local name=$1 wanted=$2 pattern=$3 before code=0 said
	before=$(snapshot "$root" "$repo" "$state")
	said=$("${by[@]}" "$SBX_REAP" --config "$world/reap.ini" </dev/null 2>&1) || code=$?
	check "$name: a pass answers $wanted" same "$wanted" "$code"
	check "$name: it is said" says "$pattern" "$said"
	code=0
	said=$("${by[@]}" "$SBX_REAP" check --config "$world/reap.ini" </dev/null 2>&1) || code=$?
	check "$name: check finds it, and says the same" says "bad +database|$pattern" "$said"
	check "$name: check says it with its exit code" same "$wanted" "$code"
	code=0
	"${by[@]}" "$SBX_REAP" register new --created -1h --config "$world/reap.ini" </dev/null >"$world/said" 2>&1 || code=$?
	check "$name: nobody is registered there" test "$code" -ne 0
	check "$name: nothing is touched" same "$before" "$(snapshot "$root" "$repo" "$state")"
	mend
}

overwrite() { # offset, bytes
	head -c "$2" /dev/urandom | dd of="$db" bs=1 seek="$1" conv=notrunc status=none
}
size_of() { stat -c %s "$db"; }

overwrite 0 100
broken "a header of rubbish" 65 'is not an SQLite database'
sqlite3 "$db" 'PRAGMA application_id = 77'
broken "another program's" 65 'belongs to another program'
sqlite3 "$db" 'PRAGMA user_version = 1000'
broken "a newer version's" 65 'its version is 1000'
truncate -s 0 "$db"
broken "of no size" 65 'missing or empty where one has been'
truncate -s 4096 "$db"
broken "of one page" 65 'damaged|malformed'
truncate -s "$(($(size_of) / 2))" "$db"
broken "of half its size" 65 'damaged'
truncate -s -1 "$db"
broken "of a byte less" 65 'it is damaged'
# With rows at the end it opens well, and is found too short by its size.
sqlite3 "$db" "INSERT INTO history (at_s, action, detail, bytes)
	SELECT value, 'held', printf('%.*c', 900, 'x'), 0 FROM generate_series(1, 400)"
truncate -s -1 "$db"
broken "of a byte less of its rows" 65 'its end is cut off'
head -c "$(size_of)" /dev/urandom >"$world/random" && cat "$world/random" >"$db"
broken "of random bytes" 65 'is not an SQLite database'
rm "$db"
broken "missing where one has been" 65 'missing or empty where one has been.*--new-database'
sqlite3 "$db" "UPDATE meta SET identity = lower(hex(randomblob(16)))"
broken "another one of ours" 65 'not the one that the stamp beside it speaks of'
echo rubbish >"$db.stamp"
broken "with a stamp of rubbish" 65 'stamp .*cannot be understood'
rm "$db" && mkdir "$db"
broken "a directory" 65 'not a regular file'
rm "$db" && mkfifo "$db"
broken "a FIFO" 65 'not a regular file'
mv "$db" "$world/elsewhere.db" && ln -s "$world/elsewhere.db" "$db"
broken "a symbolic link" 65 'symbolic link'
rm "$db" && ln -s "$world/nowhere" "$db"
broken "a dangling link" 65 'symbolic link'
ln "$db" "$world/second.db"
broken "a file of two names" 65 '2 names'
rm "$world/second.db" "$world/elsewhere.db"
sqlite3 "$db" 'DROP TABLE pin'
check "a table missing: a pass answers 65" exits 65 reap
check "a table missing: check finds it" says 'no such table: pin' "$(reap check 2>&1)"
mend

# Each page that something begins on: said, and nothing done, before anything is.
while read -r name page; do
	overwrite "$(((page - 1) * 4096))" 4096
	before=$(snapshot "$root" "$state")
	code=0
	said=$(reap 2>&1) || code=$?
	check "page $page, of $name, overwritten: a pass answers 65" same 65 "$code"
	check "page $page, of $name, overwritten: it is said" says "database '$db'" "$said"
	check "page $page, of $name, overwritten: nothing is touched" same "$before" "$(snapshot "$root" "$state")"
	mend
done < <(sqlite3 -separator ' ' "$good/state.db" "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0 AND name <> 'sqlite_sequence'")

# What SQLite does not see while it reads: an index that lacks a row, so that its pin is not found.
unindex() { # table: the entry of its last row in the index of its key
	local page
	page=$(sqlite3 "$db" "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_$1_1'")
	# The number of cells on that page, big-endian at 3: none.
	printf '\0\0' | dd of="$db" bs=1 seek="$(((page - 1) * 4096 + 3))" conv=notrunc status=none
}
unindex pin
check "an index without its row: SQLite finds no pin" same 0 "$(sqlite3 "$db" "SELECT count(*) FROM pin WHERE run = 'other'")"
before=$(snapshot "$root" "$state")
check "an index without its row: a pass answers 65" exits 65 reap
check "an index without its row: a list answers 65" exits 65 reap list
check "an index without its row: check finds it" says 'it is damaged: .* on page' "$(reap check 2>&1 || true)"
check "an index without its row: nothing is touched" same "$before" "$(snapshot "$root" "$state")"
mend

# ------------------------------------------------------------------------------- access and ownership

as_nobody=(setpriv "--reuid=$NOBODY" "--regid=$NOBODY" --clear-groups)
chown -R "$NOBODY:$NOBODY" "$state"
chmod 444 "$db"
by=("${as_nobody[@]}")
broken "a file that is read-only" 65 'cannot be written by us'
chown -R "$NOBODY:$NOBODY" "$state"
chmod 000 "$db"
broken "a file that cannot be read" 65 'cannot be opened.*Permission denied'
chown -R "$NOBODY:$NOBODY" "$state"
chmod 555 "$state"
rm -f "$db-journal" "$db.lock"
broken "a directory that is read-only" 65 'Permission denied'
by=()

# ------------------------------------------------------------------------------------------ the lock

rm "$db.lock" && mkdir "$db.lock"
broken_lock() { # name, what is said
	local code=0 said
	said=$(reap 2>&1) || code=$?
	check "$1: a pass answers 65" same 65 "$code"
	check "$1: it is said" says "$2" "$said"
	check "$1: nothing is reaped" test -e "$(tree r1)"
	check "$1: check finds it" says "bad +lock" "$(reap check 2>&1 || true)"
	mend
}
broken_lock "a lock that is a directory" 'lock file .*(Is a directory|not a regular file)'
rm "$db.lock" && ln -s "$world/nowhere" "$db.lock"
broken_lock "a lock that is a link" 'symbolic link|symbolic links'
rm "$db.lock" && mkfifo "$db.lock"
broken_lock "a lock that is a FIFO" 'not a regular file'
chown -R "$NOBODY:$NOBODY" "$state"
chown 0:0 "$db.lock"
code=0
said=$("${as_nobody[@]}" "$SBX_REAP" --config "$world/reap.ini" </dev/null 2>&1) || code=$?
check "a lock of another user: a pass answers 65" same 65 "$code"
check "a lock of another user: it is said" says "lock file .*Permission denied" "$said"
mend

# ------------------------------------------------------------------ what is mended without a question

for name in "$db.lock" "$db.stamp" "$db-journal" "$db.reserve"; do
	rm -f "$name"
	check "without ${name##*/} all goes on" reap --run nobody
	check "… and it is there again" test -e "$name"
	mend
done
cp "$good/state.db" "$world/backup.db"
reap register late --created -1h >/dev/null
cat "$world/backup.db" >"$db"
check "an older copy of it, put back, is taken" reap --run nobody
mend

# A writer that was killed in the middle of a change: readers say so, the next writer undoes it.
{
	sqlite3 "$db" >/dev/null <<'SQL' || true
PRAGMA journal_mode = TRUNCATE;
PRAGMA cache_size = 5;
PRAGMA cache_spill = 1;
BEGIN IMMEDIATE;
DELETE FROM pin;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
	INSERT INTO pin (run, reason) SELECT 'p' || i, hex(zeroblob(100)) FROM n;
.shell kill -KILL $PPID
SQL
} 2>/dev/null
check "a writer was killed in the middle: there is a hot journal" test -s "$db-journal"
code=0
said=$(reap list 2>&1) || code=$?
check "a reader says so, and what helps" says 'killed in the middle of a change; the next pass' "$said"
check "a reader does not undo it" test -s "$db-journal"
check "check finds it" says 'killed in the middle' "$(reap check 2>&1 || true)"
check "the next pass undoes it" reap --run nobody
check "the pin is there" says '^other ' "$(reap pins)"
mend

# --------------------------------------------------------------------------------- locked by somebody

mkfifo "$world/hold"
sqlite3 "$db" >"$world/held" <"$world/hold" &
holder=$!
exec 7>"$world/hold"
printf '%s\n' '.timeout 60000' 'BEGIN EXCLUSIVE;' "SELECT 'held';" >&7
for ((try = 0; try < 600; try++)); do
	[ ! -s "$world/held" ] || break
	sleep 0.1
done
for verb in '' list 'pin r1' check; do
	code=0
	begin=$(cut -d. -f1 /proc/uptime)
	# shellcheck disable=SC2086
	said=$(reap $verb 2>&1) || code=$?
	took=$(($(cut -d. -f1 /proc/uptime) - begin))
	check "locked by somebody: '${verb:-a pass}' answers 1" same 1 "$code"
	check "… says who, after some seconds" says "locked by another process for longer than 5 s: pid $holder \(sqlite3\)" "$said"
	check "… which are bounded ($took s)" test "$took" -lt 120
done
check "nothing is reaped meanwhile" test -e "$(tree r1)"
exec 7>&-
wait "$holder"
check "when it is free again it all goes on" reap list

# ------------------------------------------------------------------------------ while a pass is at work

: >"$world/calls"
strace -f -qq -o "$world/calls" -e trace=execve,unlinkat -e inject=unlinkat:signal=STOP:when=2 \
	"$SBX_REAP" --config "$world/reap.ini" </dev/null >"$world/out" 2>&1 &
tracer=$! child=''
for ((try = 0; try < 600 && ${#child} == 0; try++)); do
	sleep 0.1
	child=$(awk '/stopped by SIGSTOP/ { print $1; exit }' "$world/calls")
done
pass=$(awk '/execve\(/ { print $1; exit }' "$world/calls")
held_by() { find "/proc/$1/fd" -lname "$db*" -printf '%l\n' | sort -u; }
check "the pass holds lock and database" says 'state.db.lock' "$(held_by "$pass")"
check "who deletes for it holds neither" same '' "$(held_by "$child")"
for verb in list 'why r1' pins 'log' 'pin r2' 'unpin r2' 'register r3 --created -1h' 'renew r3' \
	'finish r3 --ok' 'forget r3' 'hold --for 1h' resume check --dry-run; do
	# shellcheck disable=SC2086
	check "while a pass is stopped '$verb' answers" answers $verb
done
code=0
said=$(reap 2>&1) || code=$?
check "another pass answers 75" same 75 "$code"
check "… and says whose it is" says "another pass holds the lock .*pid $pass, since" "$said"
check "a pin of what is being taken apart is refused" exits 1 reap pin r1
while kill -0 "$tracer" 2>/dev/null; do # each process is stopped once, the pass itself too
	awk '/stopped by SIGSTOP/ { print $1 }' "$world/calls" | xargs -r kill -CONT 2>/dev/null || true
	sleep 0.1
done
wait "$tracer" || true
check "the pass goes on and ends" same 'reaped' "$(reap log r1 --json | jq -r '.entries[-1].action')"

# Killed, it leaves no lock behind.
: >"$world/calls"
add_due r4
{
	strace -qq -o "$world/calls" -e trace=renameat2 -e inject=renameat2:signal=KILL:when=1 \
		"$SBX_REAP" --config "$world/reap.ini" </dev/null >"$world/out" 2>&1 || true
} 2>/dev/null # also what the shell says of a killed child
check "a pass was killed" says 'killed by SIGKILL' "$(cat "$world/calls")"
check "a pass that was killed leaves no lock" reap
check "… and what it began is finished" same 1 "$(reap log r4 --json | jq '[.entries[] | select(.action == "reaped")] | length')"
tap_done
