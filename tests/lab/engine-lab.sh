#!/bin/bash
# A throw-away real container engine on a unix socket, for tests.
#
#   export LAB=$(mktemp -d)/lab
#   tests/lab/engine-lab.sh up podman|docker   # stdout: the socket path (podman's speaks Docker's API too)
#   tests/lab/engine-lab.sh exec CMD ARGS...   # run CMD inside the lab (its pids, mounts, netns, cgroups)
#   tests/lab/engine-lab.sh restart            # stop the engine process only (containers as it leaves them), start it
#   tests/lab/engine-lab.sh reboot             # all processes, mounts, netns and /run vanish; storage stays; start
#   tests/lab/engine-lab.sh down               # kill and remove everything
#
# Needs: root, Debian 12, apt. Not needed: a registry, systemd as PID 1, CAP_SYS_RESOURCE.
# The engine runs in its own mount, net, pid and cgroup namespaces with its own /run, /dev/shm and
# /var/lib/containers. So no mount, bridge, veth, iptables rule, netns file, /run entry or net sysctl
# reaches the host, bridge networks work, and killing the namespace's init ends every process of
# the lab. On the host one sees $LAB, the processes, and /sys/fs/cgroup/*/engine-lab-<hash>.
# $LAB/engine.pid and $LAB/holder.pid are host pids (kill -9, kill -STOP them from outside);
# State.Pid in the engine's answers is a pid of the lab: look at it by `exec`.
#
# LAB_OWNER=PID: `up` sees to it that the lab goes down when that process has ended, however it did.
#
# Knobs, read by `up` on an empty $LAB:
#   LAB_STORAGE=overlay|vfs   LAB_CGROUP=host|v1|v2 (what the engine sees; host: as the host has them)
#   LAB_RUNTIME=runc|crun (podman)
set -euo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
: "${LAB:?set LAB to a scratch folder}"
SELF=$(readlink -f "$0")
mkdir -p "$(dirname "$LAB")"
LAB=$(readlink -f "$LAB")
export LAB LAB_STORAGE=${LAB_STORAGE:-overlay} LAB_CGROUP=${LAB_CGROUP:-host} LAB_RUNTIME=${LAB_RUNTIME:-runc}
CG=engine-lab-$(printf %s "$LAB" | cksum | cut -d' ' -f1)
SOCK=$LAB/engine.sock

say() { printf 'engine-lab: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
# /proc/uptime, not date: the wall clock of a test machine may jump.
now() { local u r; read -r u r < /proc/uptime; echo "${u/./}"; }
took() { local d=$(($(now) - $1)); printf '%d.%02d s' $((d / 100)) $((d % 100)); }
# A pid counts only with the start time that was noted: numbers are reused.
start_time() {
  local s; local -a f
  s=$(< "$1") || return 0
  read -ra f <<< "${s##*) }"
  echo "${f[19]}"
} 2>/dev/null
note_pid() { # name, /proc of the host
  local p
  read -r p _ < "$2/self/stat"
  start_time "$2/$p/stat" > "$LAB/$1.start"
  echo "$p" > "$LAB/$1.tmp"; mv "$LAB/$1.tmp" "$LAB/$1.pid"
}
pid_of() {
  local p t
  [ -s "$LAB/$1.pid" ] || return 0
  p=$(< "$LAB/$1.pid"); t=$(start_time "/proc/$p/stat")
  [ -z "$t" ] || [ "$t" != "$(< "$LAB/$1.start")" ] || echo "$p"
}

# A zombie counts as gone: PID 1 may reap late, and kill -0 succeeds on a zombie.
alive() {
  local k v
  [ -n "${1:-}" ] || return 1
  while read -r k v; do
    [ "$k" = State: ] || continue
    case $v in Z* | X*) return 1 ;; *) return 0 ;; esac
  done < "/proc/$1/status" 2>/dev/null
  return 1
} 2>/dev/null
stop_pid() { # pid, seconds before KILL
  local p=$1 n=$(($2 * 50))
  alive "$p" || return 0
  if [ "$2" != 0 ]; then # not for 0: CONT would let a stopped engine serve its queued requests
    kill -TERM "$p" 2>/dev/null || true
    kill -CONT "$p" 2>/dev/null || true
  fi
  while [ $n -gt 0 ] && alive "$p"; do sleep 0.02; n=$((n - 1)); done
  kill -KILL "$p" 2>/dev/null || true
  n=250; while [ $n -gt 0 ] && alive "$p"; do sleep 0.02; n=$((n - 1)); done
}

apt_need() {
  local miss=() p t made=''
  for p in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || miss+=("$p")
  done
  [ ${#miss[@]} -gt 0 ] || return 0
  t=$(now)
  if [ ! -e /usr/sbin/policy-rc.d ]; then # no postinst may start a daemon
    printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d; made=1
  fi
  local ok=1
  { apt-get -q -o DPkg::Lock::Timeout=300 update &&
    apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install --no-install-recommends "${miss[@]}"
  } >> "$LAB/apt.log" 2>&1 < /dev/null || ok=0
  [ -z "$made" ] || rm -f /usr/sbin/policy-rc.d
  [ $ok = 1 ] || { tail -5 "$LAB/apt.log" >&2; die "apt-get failed, see $LAB/apt.log"; }
  say "apt installed ${miss[*]} in $(took "$t")"
}

# ---- cgroups ---------------------------------------------------------------------------------
cg_roots() { # mount point of every cgroup hierarchy of the host, v1 and v2
  awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/self/mounts | sort -u
}
cg_join() { # move this (sub)shell into the lab's cgroup of every hierarchy
  local r f
  for r in $(cg_roots); do
    mkdir -p "$r/$CG" 2>/dev/null || continue
    if [ -e "$r/$CG/cpuset.cpus" ] && [ -z "$(< "$r/$CG/cpuset.cpus")" ]; then # v1 cpuset starts empty
      for f in cpuset.cpus cpuset.mems; do cat "$r/$f" > "$r/$CG/$f"; done
    fi
    echo "$BASHPID" > "$r/$CG/cgroup.procs"
  done
}
cg_thaw() { # a paused container cannot die before it is thawed
  local f
  while read -r f; do
    case $f in *freezer.state) echo THAWED > "$f" ;; *) echo 0 > "$f" ;; esac
  done < <(for f in $(cg_roots); do find "$f/$CG" -mindepth 2 \
    \( -name freezer.state -o -name cgroup.freeze \) 2>/dev/null; done)
} 2>/dev/null
cg_pids() { # host pids in the lab's cgroups, but this shell
  local r
  for r in $(cg_roots); do
    [ -d "$r/$CG" ] && find "$r/$CG" -name cgroup.procs -exec cat {} + 2>/dev/null
  done | sort -un | grep -vx "$$" || true
}
cg_remove() {
  local r n=100
  for r in $(cg_roots); do
    while [ -d "$r/$CG" ] && [ $n -gt 0 ]; do
      find "$r/$CG" -depth -type d -exec rmdir {} + 2>/dev/null || { sleep 0.05; n=$((n - 1)); }
    done
    [ ! -d "$r/$CG" ] || say "left: $r/$CG"
  done
}

# ---- namespaces ------------------------------------------------------------------------------
holder() { # init of the lab's pid namespace
  local c d view=$LAB_CGROUP
  mount --make-rprivate /
  mkdir -p "$LAB/hostproc" "$LAB/var-lib-containers" /var/lib/containers
  mount --bind /proc "$LAB/hostproc"
  mount -t proc proc /proc
  ip link set lo up
  mount -t tmpfs -o mode=755 tmpfs /run; mkdir -p /run/lock
  mount -t tmpfs tmpfs /dev/shm
  mount --bind "$LAB/var-lib-containers" /var/lib/containers
  # the same hierarchies, rooted at the lab's cgroups
  mapfile -t c < <(cut -d: -f2 /proc/self/cgroup | grep . || true)
  [ ${#c[@]} -gt 0 ] || view=v2
  [ "$view" = v2 ] || grep -q ' cgroup2 ' /proc/self/mounts || view=v1
  umount -R /sys/fs/cgroup
  if [ "$view" = v2 ]; then
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
  else
    mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
    for d in "${c[@]}"; do
      mkdir "/sys/fs/cgroup/${d#name=}"; mount -t cgroup -o "$d" cgroup "/sys/fs/cgroup/${d#name=}"
    done
    [ "$view" = v1 ] || { mkdir /sys/fs/cgroup/unified; mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified; }
  fi
  note_pid holder "$LAB/hostproc"
  trap : TERM INT HUP
  while :; do sleep 1000000 & wait $! || true; done # bash reaps the orphans it adopts
}
holder_ok() { # a dying init (it waits for a frozen process) cannot be entered any more
  local h; h=$(pid_of holder)
  alive "$h" && readlink "/proc/$h/ns/mnt" > /dev/null
}
start_holder() {
  holder_ok && return 0
  kill_all 0
  rm -f "$LAB/holder.pid"
  (cg_join; exec setsid unshare --mount --net --pid --cgroup --fork -- "$SELF" __holder) \
    < /dev/null > "$LAB/holder.log" 2>&1 &
  local n=500
  until [ -s "$LAB/holder.pid" ]; do
    sleep 0.02; n=$((n - 1)); [ $n -gt 0 ] || { cat "$LAB/holder.log" >&2; die "no namespaces"; }
  done
}
in_lab() {
  local h
  holder_ok || die "the lab is not up"
  h=$(pid_of holder)
  (cg_join; exec nsenter --target "$h" --mount --net --pid --cgroup --root --wdns="$PWD" -- "$@")
}
kill_all() { # the engine is stopped first, so that nothing new appears
  local h p n=200
  stop_pid "$(pid_of engine)" "${1:-0}"
  h=$(pid_of holder)
  if alive "$h"; then
    kill -KILL "$h" 2>/dev/null || true
    while [ $n -gt 0 ] && alive "$h"; do cg_thaw; sleep 0.02; n=$((n - 1)); done
  fi
  for p in $(cg_pids); do kill -KILL "$p" 2>/dev/null || true; done # nsenter parents and the like
  cg_remove
}

# ---- engines ---------------------------------------------------------------------------------
conf_podman() {
  local n pids=2048; n=$(ulimit -Hn); { [ "$n" = unlimited ] || [ "$n" -gt 4096 ]; } && n=4096
  [ "$LAB_CGROUP" != v2 ] || pids=0 # cgroup2 has no pids controller where v1 has it
  cat > "$LAB/storage.conf" <<E
[storage]
driver = "$LAB_STORAGE"
graphroot = "$LAB/root"
runroot = "/run/containers/storage"
E
  # Limits: root in a container may lack CAP_SYS_RESOURCE, so podman's default of 1048576 files is EPERM, and
  # podman lowers its own NPROC. Soft = hard: podman 4.3.1's Docker-compatible create swaps them.
  cat > "$LAB/containers.conf" <<E
[containers]
default_ulimits = ["nofile=$n:$n", "nproc=4096:4096"]
pids_limit = $pids
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "$LAB_RUNTIME"
static_dir = "$LAB/root/libpod"
tmp_dir = "/run/libpod"
volume_path = "$LAB/volumes"
[network]
network_backend = "netavark"
network_config_dir = "$LAB/networks"
E
  printf 'export %s\n' "CONTAINERS_CONF=$LAB/containers.conf" "CONTAINERS_STORAGE_CONF=$LAB/storage.conf" \
    "DOCKER_HOST=unix://$SOCK" > "$LAB/env"
}
conf_docker() {
  local d=$LAB_STORAGE; [ "$d" = vfs ] || d=overlay2
  cat > "$LAB/daemon.json" <<E
{ "storage-driver": "$d", "bridge": "none", "iptables": false, "ip6tables": false, "ip-forward": false,
  "ip-masq": false, "userland-proxy": false, "data-root": "$LAB/data", "exec-root": "/run/docker",
  "pidfile": "/run/docker.pid", "hosts": ["unix://$SOCK"] }
E
  echo "export DOCKER_HOST=unix://$SOCK" > "$LAB/env"
}
engine() { # inside the lab; becomes the engine
  note_pid engine "$LAB/hostproc"
  # shellcheck disable=SC1091
  . "$LAB/env"
  case $1 in
    podman) exec podman system service --time=0 "unix://$SOCK" ;;
    docker) rm -f /run/docker.pid; exec dockerd --config-file "$LAB/daemon.json" ;;
  esac
}
start_engine() {
  local e t n=1500; e=$(< "$LAB/engine"); t=$(now)
  rm -f "$SOCK" "$LAB/engine.pid"
  in_lab "$SELF" __spawn "$e"
  until [ -s "$LAB/engine.pid" ] && [ "$(curl -s -m 5 --unix-socket "$SOCK" http://d/_ping 2>/dev/null || true)" = OK ]; do
    [ ! -s "$LAB/engine.pid" ] || alive "$(pid_of engine)" || { tail -5 "$LAB/engine.log" >&2; die "$e exited"; }
    sleep 0.04; n=$((n - 1)); [ $n -gt 0 ] || die "$e does not answer, see $LAB/engine.log"
  done
  say "$e (host pid $(pid_of engine)) answers after $(took "$t")"
}
load_image() { # through the API: the same for both, no registry, no CLI
  local r=$LAB/rootfs a code
  code=$(curl -s -o /dev/null -w '%{http_code}' --unix-socket "$SOCK" http://d/v1.41/images/sbx-test/json)
  [ "$code" != 200 ] || return 0
  rm -rf "$r"; mkdir -p "$r"/{bin,tmp,etc,proc,sys,dev}
  cp /bin/busybox "$r/bin/"
  for a in sh sleep cat echo ls touch true false kill mkdir dd ps id env rm; do ln -s busybox "$r/bin/$a"; done
  echo 'root:x:0:0::/:/bin/sh' > "$r/etc/passwd"
  code=$(tar -C "$r" --owner=0 --group=0 --numeric-owner -c . |
    curl -s -o "$LAB/import.out" -w '%{http_code}' --unix-socket "$SOCK" -X POST -H 'Content-Type: application/x-tar' -T - \
      'http://d/v1.41/images/create?fromSrc=-&repo=sbx-test&tag=latest&changes=CMD%20%5B%22/bin/sleep%22,%22100000%22%5D')
  rm -rf "$r"
  [ "$code" = 200 ] || { cat "$LAB/import.out" >&2; die "the image import answered $code"; }
}

case ${1:-} in exec | restart | reboot) [ -s "$LAB/engine" ] || die "no lab in $LAB" ;; esac
case ${1:-} in
  up)
    t=$(now)
    case ${2:-} in podman | docker) ;; *) die "up podman|docker" ;; esac
    [ "$(id -u)" = 0 ] || die "needs root"
    [ ${#SOCK} -le 107 ] || die "too long for a unix socket: $SOCK"
    mkdir -p "$LAB"
    if [ -n "${LAB_OWNER:-}" ]; then setsid "$SELF" __watch "$LAB_OWNER" < /dev/null > /dev/null 2>&1 & fi
    [ -e "$LAB/.engine-lab" ] || [ -z "$(ls -A "$LAB")" ] || die "$LAB is not empty and not a lab"
    : > "$LAB/.engine-lab"
    if [ -s "$LAB/engine" ]; then
      [ "$(< "$LAB/engine")" = "$2" ] || die "$LAB holds $(< "$LAB/engine")"
    else
      case $2 in
        podman) apt_need curl busybox-static iproute2 util-linux podman netavark iptables "$LAB_RUNTIME" ;;
        docker) apt_need curl busybox-static iproute2 util-linux docker.io ;;
      esac
      "conf_$2"
      echo "$LAB_CGROUP" > "$LAB/cgroup"
      echo "$2" > "$LAB/engine"
    fi
    LAB_CGROUP=$(< "$LAB/cgroup")
    start_holder
    alive "$(pid_of engine)" || start_engine
    load_image
    say "up in $(took "$t")"
    echo "$SOCK" ;;
  exec)
    shift
    # shellcheck disable=SC1091
    . "$LAB/env"
    in_lab "$@" ;;
  restart) stop_pid "$(pid_of engine)" 20; start_engine ;;
  reboot) LAB_CGROUP=$(< "$LAB/cgroup"); kill_all 0; start_holder; start_engine ;; # start_holder is then fresh
  down)
    [ -e "$LAB/.engine-lab" ] || { [ ! -e "$LAB" ] || die "$LAB is not a lab"; exit 0; }
    t=$(now); kill_all 0
    # only our files: nothing is mounted below $LAB in the host's mount namespace
    rm -rf --one-file-system "$LAB"
    say "down in $(took "$t")" ;;
  __watch)
    tail --pid="$2" --follow /dev/null
    [ ! -e "$LAB" ] || exec "$SELF" down ;;
  __holder) holder ;;
  # nsenter must not stay the engine's parent (it would stop itself when the engine is stopped)
  __spawn) setsid "$SELF" __engine "$2" < /dev/null >> "$LAB/engine.log" 2>&1 & ;;
  __engine) engine "$2" ;;
  *) die "usage: LAB=DIR $0 up podman|docker | exec CMD... | restart | reboot | down" ;;
esac
