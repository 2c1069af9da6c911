#!/bin/bash
# boot-lab.sh - run a command under a REAL systemd (PID 1) on a pure cgroup v2 tree,
# over a throw-away copy-on-write view of this machine's own root file system.
#
#   boot-lab.sh [options] -- COMMAND [ARG...]     run COMMAND as a service, return its exit code
#   boot-lab.sh [options] --shell                 interactive root shell (needs a terminal)
#
#   --bind SRC[:DEST]     bind-mount a host directory read-write (repeatable)
#   --bind-ro SRC[:DEST]  the same, read-only
#   --chdir DIR           working directory (default: DEST of the first bind, else /root)
#   --setenv K=V          environment of the command (repeatable)
#   --property K=V        systemd property of the command's service (repeatable)
#   --timeout SEC         give up after SEC seconds of command time (default 900; exit code 124)
#   --journal FILE        save the lab's whole journal to FILE before teardown
#   --size SIZE           size limit of the RAM that takes the writes (default 4G)
#   --host-net            container: share the host's network (default: only an own "lo")
#   --boots N             run COMMAND N times, as long as it answers 0, with a reboot between; the
#                         environment's BOOT_LAB_BOOT is 1, 2 … (container only)
#   --vm                  a real VM (qemu TCG, Debian's kernel): slower, but ALL cgroup v2
#                         controllers (memory, pids, cpu, io...), quota, own clock, all caps
#   --vm-mem MB           memory of the VM (default 1500)
#
# stdin reaches COMMAND in container mode only (the VM gives it /dev/null).
# Scratch space is under TMPDIR (default /tmp); the VM's kernel is kept in BOOT_LAB_CACHE
# (default TMPDIR/boot-lab.cache). Needs: root, Debian 12, apt, a cgroup2 mount somewhere.
# Exit code: that of COMMAND; 255 = COMMAND killed by a signal; 124 = timeout;
# 125 = the lab itself failed.
set -u -o pipefail
PROG=${0##*/}
die() { echo "$PROG: $*" >&2; exit 125; }

MODE=nspawn SHELLMODE="" TIMEOUT=900 JOURNAL="" SIZE=4G HOSTNET="" CHDIR="" VMMEM=1500 BOOTS=1
SCRATCH=${TMPDIR:-/tmp}
REGISTER=/run/boot-lab        # which lab is alive: known to every later run, whatever its TMPDIR
BINDS=() ENVS=() PROPS=()
need() { [ $# -ge 2 ] || die "$1 needs a value"; }
while [ $# -gt 0 ]; do
  case $1 in
    --bind|--bind-ro) need "$@"; s=${2%%:*} d=${2#*:}; s=$(realpath -e -- "$s") || die "no such directory: $2"
                [[ $2 == *:* ]] || d=$s
                BINDS+=("${1#--}|$s|$d"); [ -n "$CHDIR" ] || CHDIR=$d; shift 2;;
    --chdir)    need "$@"; CHDIR=$2; shift 2;;
    --setenv)   need "$@"; ENVS+=("$2"); shift 2;;
    --property) need "$@"; PROPS+=(-p "$2"); shift 2;;
    --timeout)  need "$@"; TIMEOUT=$2; shift 2;;
    --journal)  need "$@"; JOURNAL=$(realpath -m -- "$2"); shift 2;;
    --size)     need "$@"; SIZE=$2; shift 2;;
    --host-net) HOSTNET=1; shift;;
    --boots)    need "$@"; BOOTS=$2; shift 2;;
    --vm)       MODE=vm; shift;;
    --vm-mem)   need "$@"; VMMEM=$2; shift 2;;
    --shell)    SHELLMODE=1; shift;;
    -h|--help)  sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; exit 0;;
    --)         shift; break;;
    *)          die "unknown option $1 (the command goes after --)";;
  esac
done
[ "$(id -u)" = 0 ] || die "must be root"
[ -n "$SHELLMODE" ] || [ $# -gt 0 ] || die "no command"
[ -z "$SHELLMODE" ] || [ $MODE = nspawn ] || die "--shell works in container mode only"
[ "$BOOTS" = 1 ] || [ $MODE$SHELLMODE = nspawn ] || die "--boots works in container mode only"
[ -n "$CHDIR" ] || CHDIR=/root
CG2=$(awk '$3=="cgroup2"{print $2; exit}' /proc/self/mounts)
[ -n "$CG2" ] || die "no cgroup2 mount on this machine"

# ---------------------------------------------------------------- packages
apt_install() { # serialised, and patient with other apt users
  ( exec 9>/run/boot-lab-apt.lock; flock 9
    export DEBIAN_FRONTEND=noninteractive
    for _ in 1 2 3 4 5; do
      { apt-get -qq update &&
        apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 install "$@"; } >&2 && exit 0
      sleep 5
    done
    exit 1 ) >/dev/null || die "apt-get install $* failed"
}
miss=()
command -v systemd-nspawn >/dev/null || miss+=(systemd-container)
[ -x /lib/systemd/systemd ]          || miss+=(systemd systemd-sysv)
command -v dbus-daemon >/dev/null    || miss+=(dbus)
CACHE=${BOOT_LAB_CACHE:-$SCRATCH/boot-lab.cache}
if [ $MODE = vm ]; then
  command -v qemu-system-x86_64 >/dev/null || miss+=(qemu-system-x86)
  [ -x /usr/lib/qemu/virtiofsd ]           || miss+=(qemu-system-common)
  [ "$(dpkg-query -W -f '${db:Status-Status}' busybox-static 2>/dev/null)" = installed ] || miss+=(busybox-static)
  command -v depmod >/dev/null             || miss+=(kmod)
  command -v cpio >/dev/null               || miss+=(cpio)
fi
command -v setfattr >/dev/null || miss+=(attr)
[ ${#miss[@]} = 0 ] || apt_install "${miss[@]}"

if [ $MODE = vm ]; then (   # kernel + tiny initramfs, kept in $CACHE; nothing goes to /boot or /lib
  mkdir -p "$CACHE"
  { [ -O "$CACHE" ] && [ ! -L "$CACHE" ] && chmod 700 "$CACHE"; } || die "$CACHE is not ours"
  exec 9>"$CACHE/lock"; flock 9; cd "$CACHE" || exit 1
  [ -e ok ] && exit 0
  rm -rf k ird ./*.deb
  pkg=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image-6/{print $2; exit}')
  if [ -z "$pkg" ]; then apt-get -qq update; pkg=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image-6/{print $2; exit}'); fi
  apt-get -qq -o APT::Sandbox::User=root download "$pkg" || exit 1
  dpkg -x ./linux-image-*.deb k && rm -f ./*.deb || exit 1
  kv=$(ls k/lib/modules); depmod -b k "$kv"
  mkdir -p ird/{bin,mod,proc,sys,dev,newroot}; cp "$(command -v busybox)" ird/bin/busybox
  m=k/lib/modules/$kv/kernel
  cp "$m"/drivers/virtio/virtio{,_ring,_pci,_pci_modern_dev,_pci_legacy_dev}.ko \
    "$m"/fs/fuse/{fuse,virtiofs}.ko "$m"/drivers/block/loop.ko ird/mod/ || exit 1
  cat > ird/init <<'EOF'
#!/bin/busybox sh
export PATH=/bin; /bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for p in 1 2 3; do for m in /mod/*.ko; do insmod $m 2>/dev/null; done; done
mount -t virtiofs labroot /newroot || { echo "boot-lab: root mount failed"; poweroff -f; }
for d in dev proc sys; do mount --move /$d /newroot/$d; done
exec switch_root /newroot /lib/systemd/systemd
EOF
  chmod +x ird/init; (cd ird && find . | cpio -o -H newc --quiet | gzip -1) > ird.gz && touch ok
) || die "could not prepare the VM's kernel"; fi

# ---------------------------------------------------------------- teardown that survives SIGKILL
startof() { sed -n 's/^.*) \([^ZX]\) //p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f19; }   # start time; empty if gone or zombie
alive() { [ -n "$1" ] && [ "$(startof "${1%%:*}")" = "${1##*:}" ]; }
wipe() { # cgroup dir, run dir, entry in the register: kill every process of the lab, remove all
  local cg=$1 run=$2 entry=$3 h
  if [ -d "$cg" ]; then
    { echo 1 > "$cg/cgroup.kill"; } 2>/dev/null
    for _ in $(seq 200); do grep -q 'populated 1' "$cg/cgroup.events" 2>/dev/null || break; sleep .05; done
    for _ in $(seq 40); do find "$cg" -depth -type d -exec rmdir {} + 2>/dev/null; [ -d "$cg" ] || break; sleep .05; done
  fi
  # v1 leftovers, if any, of the same name
  for h in /sys/fs/cgroup/*/"${cg##*/}"; do [ -d "$h" ] && find "$h" -depth -type d -exec rmdir {} + 2>/dev/null; done
  [ -z "$run" ] || rm -rf --one-file-system "$run"
  rm -f "$entry.dir" "$entry.owner" "$entry.janitor"
}
for c in "$CG2"/sbx-boot-lab-*; do           # sweep what an earlier, utterly killed run left
  [ -d "$c" ] || continue
  r=$REGISTER/${c##*sbx-boot-lab-}
  alive "$(cat "$r.owner" 2>/dev/null)" || alive "$(cat "$r.janitor" 2>/dev/null)" ||
    wipe "$c" "$(cat "$r.dir" 2>/dev/null)" "$r"
done
RUN=$(mktemp -d "$SCRATCH/boot-lab.XXXXXXXX") || die mktemp
mkdir -p "$RUN/io" "$RUN/fs" "$REGISTER"
ENTRY=$REGISTER/${RUN##*.}
ME=$$:$(startof $$); echo "$RUN" > "$ENTRY.dir"; echo "$ME" > "$ENTRY.owner"
CG=$CG2/sbx-boot-lab-${RUN##*.}
export RUN CG ME ENTRY MODE SIZE CACHE HOSTNET VMMEM TIMEOUT
export -f startof alive wipe
# shellcheck disable=SC2016 # it expands in the janitor
setsid bash -c 'trap "" INT TERM HUP QUIT
  echo "$$:$(startof $$)" > "$ENTRY.janitor"
  while alive "$ME" && [ ! -e "$RUN/done" ]; do sleep .1; done; wipe "$CG" "$RUN" "$ENTRY"' </dev/null >/dev/null 2>&1 &
JANITOR=$!
# shellcheck disable=SC2317 # called by the traps
finish() { trap - EXIT; touch "$RUN/done" 2>/dev/null; wait "$JANITOR" 2>/dev/null; exit "$1"; }
trap 'finish 130' INT; trap 'finish 143' TERM; trap 'finish 129' HUP; trap 'finish $?' EXIT
mkdir "$CG" || exit 125

# ---------------------------------------------------------------- the command
{ printf '#!/bin/bash\nexport HOME=/root USER=root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin BOOT_LAB=%s\n' $MODE
  echo 'read -r BOOT_LAB_BOOT < /.boot-lab/boot; export BOOT_LAB_BOOT'
  for e in "${ENVS[@]}"; do printf 'export %s=%q\n' "${e%%=*}" "${e#*=}"; done
  printf 'cd %q || exit 125\n' "$CHDIR"
  if [ -n "$SHELLMODE" ]; then echo 'exec bash -i'; else printf 'exec'; printf ' %q' "$@"; echo; fi
} > "$RUN/io/cmd"
echo 1 > "$RUN/io/boot"; : > "$RUN/io/out"; : > "$RUN/io/err"

# ---------------------------------------------------------------- what runs in the private namespaces
cat > "$RUN/inner" <<'EOF'
set -e
F=$RUN/fs R=$RUN/fs/root
mount -t tmpfs -o "size=$SIZE,mode=755" boot-lab "$F"
mkdir "$F/up" "$F/work" "$R"
for d in tmp var/tmp var/log/journal; do          # start empty there
  [ -d "/$d" ] || continue; mkdir -p "$F/up/$d"; chmod --reference="/$d" "$F/up/$d"; setfattr -n trusted.overlay.opaque -v y "$F/up/$d"
done
mount -t overlay boot-lab-root -o "lowerdir=/,upperdir=$F/up,workdir=$F/work" "$R"
S=$R/etc/systemd/system
rm -rf "$S"/*.wants "$S"/*.requires "$R"/etc/rc?.d/S* "$R/.dockerenv" "$R/run/.containerenv"   # vendor units only
: > "$R/etc/fstab"; echo lab > "$R/etc/hostname"; systemd-id128 new > "$R/etc/machine-id"
rm -f "$R/etc/resolv.conf"; : > "$R/etc/resolv.conf"
[ -z "$HOSTNET" ] || cp -L /etc/resolv.conf "$R/etc/resolv.conf" 2>/dev/null || true
mkdir -p "$R/etc/systemd/journald.conf.d" "$R/etc/tmpfiles.d" "$R/.boot-lab" "$S/multi-user.target.wants"
printf '[Journal]\nStorage=volatile\nRateLimitIntervalSec=0\nReadKMsg=no\nForwardToConsole=no\n' > "$R/etc/systemd/journald.conf.d/lab.conf"
for u in getty.target console-getty.service serial-getty@ttyS0.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount; do ln -sf /dev/null "$S/$u"; done
ln -sf /lib/systemd/system/multi-user.target "$S/default.target"
ln -sf /lib/systemd/system/dbus.service "$S/multi-user.target.wants/dbus.service"
if [ "$MODE" = nspawn ]; then
  ln -sf /dev/null "$S/systemd-sysctl.service"    # the kernel is shared: no sysctl may leak out
  for i in $(seq 0 63); do echo "b /dev/loop$i 0660 root disk - 7:$i"; done > "$R/etc/tmpfiles.d/lab-loop.conf"
  mount -t tmpfs -o mode=755 run /run             # nspawn insists on a non-disk /run
  mount -t cgroup2 cgroup2 /sys/fs/cgroup         # private: pure v2, rooted at our own cgroup
  A=(); while IFS='|' read -r how src dst; do [ -n "$how" ] && A+=("--$how=$src:$dst"); done < "$RUN/binds"
  for d in /dev/fuse /dev/loop-control; do [ -e $d ] && A+=("--bind=$d"); done
  [ -n "$HOSTNET" ] || A+=(--private-network)
  # SECCOMP=0: nspawn's own filter would refuse landlock, bpf, fanotify, keyctl, quotactl...
  rc=133                                          # its answer when the container wants to be booted anew
  while [ $rc = 133 ]; do rc=0; env SYSTEMD_SECCOMP=0 SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet --directory="$R" --boot \
    --register=no --keep-unit --machine=boot-lab --console=pipe --link-journal=no \
    --resolv-conf=off --timezone=off "${A[@]}" "--bind=$RUN/io:/.boot-lab" || rc=$?; done
  exit $rc
else
  while IFS='|' read -r how src dst; do [ -n "$how" ] || continue
    mkdir -p "$R/$dst"; mount --rbind "$src" "$R/$dst"; [ $how = bind ] || mount -o remount,bind,ro "$R/$dst"
  done < "$RUN/binds"
  mount --bind "$RUN/io" "$R/.boot-lab"
  for u in kmod-static-nodes.service systemd-modules-load.service modprobe@.service sys-kernel-debug.mount sys-kernel-tracing.mount \
    dev-hugepages.mount systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-random-seed.service; do ln -sf /dev/null "$S/$u"; done
  mkdir -p "$R/usr/lib/modules"; mount --bind "$CACHE/k/lib/modules" "$R/usr/lib/modules"
  cat > "$S/boot-lab.service" <<'X'
[Unit]
After=multi-user.target dbus.service
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
ExecStart=/bin/bash /.boot-lab/cmd
StandardInput=null
StandardOutput=append:/.boot-lab/out
StandardError=append:/.boot-lab/err
Delegate=yes
ExecStopPost=+/bin/sh -c 'journalctl -o short-precise --no-pager > /.boot-lab/journal 2>&1; echo "$SERVICE_RESULT $EXIT_CODE $EXIT_STATUS" > /.boot-lab/rc; sync'
X
  { echo "RuntimeMaxSec=$TIMEOUT"; cat "$RUN/props"; } >> "$S/boot-lab.service"
  ln -s ../boot-lab.service "$S/multi-user.target.wants/"
  /usr/lib/qemu/virtiofsd --socket-path="$F/vfs.sock" -o source="$R" -o cache=always -o xattr -o announce_submounts -o sandbox=chroot &
  for i in $(seq 100); do [ -S "$F/vfs.sock" ] && break; sleep .05; done
  exec qemu-system-x86_64 -M q35,accel=tcg,memory-backend=mem -object "memory-backend-memfd,id=mem,size=${VMMEM}M,share=on" \
    -m "${VMMEM}M" -cpu max -smp "$(nproc)" -nographic -nodefaults -no-reboot -serial stdio \
    -kernel "$CACHE"/k/boot/vmlinuz-* -initrd "$CACHE/ird.gz" \
    -append "console=ttyS0 rdinit=/init quiet panic=-1 mitigations=off audit=0 systemd.show_status=0" \
    -chardev "socket,id=vfs,path=$F/vfs.sock" -device vhost-user-fs-pci,chardev=vfs,tag=labroot
fi
EOF
printf '%s\n' "${BINDS[@]}" > "$RUN/binds"
for e in "${PROPS[@]}"; do [ "$e" = -p ] || printf '%s\n' "$e"; done > "$RUN/props"
( echo $BASHPID > "$CG/cgroup.procs" && exec setsid unshare --mount --cgroup --pid --fork --kill-child --mount-proc \
    --propagation private -- bash "$RUN/inner" ) </dev/null >"$RUN/console" 2>&1 &
LAB=$!
failed() { echo "$PROG: $*; the console said:" >&2; tail -n 25 "$RUN/console" >&2; exit 125; }

# ---------------------------------------------------------------- VM: stream its output, wait for power-off
if [ $MODE = vm ]; then
  ( exec tail -q -c +1 -s .2 -f --pid=$LAB "$RUN/io/out" ) & T1=$!
  ( exec tail -q -c +1 -s .2 -f --pid=$LAB "$RUN/io/err" >&2 ) & T2=$!
  end=$((SECONDS + TIMEOUT + 120)) late=
  while kill -0 $LAB 2>/dev/null; do
    [ $SECONDS -lt $end ] || { late=1; echo 1 > "$CG/cgroup.kill"; break; }
    sleep .2 & wait $!
  done
  wait $LAB; wait $T1 $T2
  [ -z "$JOURNAL" ] || cp "$RUN/io/journal" "$JOURNAL" 2>/dev/null
  [ -z "$late" ] || { echo "$PROG: timeout" >&2; exit 124; }
  read -r result code status < "$RUN/io/rc" 2>/dev/null || failed "the VM ended without an exit code"
  [ "$result" != timeout ] || { echo "$PROG: timeout" >&2; exit 124; }
  [ "$code" = exited ] && exit "$status"; exit 255
fi

# ---------------------------------------------------------------- container: wait for PID 1, then for "running"
P="" s="" rc=0
boot() { # until there is another PID 1 than before, and it is "running"
  local was=$P
  for _ in $(seq 1200); do
    P=$(head -n1 "$CG/payload/init.scope/cgroup.procs" 2>/dev/null) && [ -n "$P" ] && [ "$P" != "$was" ] && break
    kill -0 $LAB 2>/dev/null || failed "systemd-nspawn ended"
    sleep .05
  done
  { [ -n "$P" ] && [ "$P" != "$was" ]; } || failed "no new PID 1 after 60 s"
  for _ in $(seq 600); do
    s=$(nsenter -t "$P" -a -r -- systemctl is-system-running --wait 2>/dev/null)
    case $s in running|degraded) break;; esac
    kill -0 $LAB 2>/dev/null || failed "the container ended while booting"
    sleep .05
  done
  case $s in running) ;; degraded) nsenter -t "$P" -a -r -- systemctl --failed --no-legend --no-pager >&2;; *) failed "systemd did not come up (state: $s)";; esac
  R=(nsenter -t "$P" -a -r -- systemd-run --quiet --wait --collect --unit=boot-lab -p Delegate=yes "${PROPS[@]}")
}
for n in $(seq "$BOOTS"); do
  [ "$n" = 1 ] || { echo "$n" > "$RUN/io/boot"; nsenter -t "$P" -a -r -- systemctl reboot; }
  boot
  if [ -n "$SHELLMODE" ]; then
    "${R[@]}" --setenv="TERM=${TERM:-xterm}" --pty /bin/bash /.boot-lab/cmd; rc=$?
  else
    timeout -k 5 "$TIMEOUT" "${R[@]}" --pipe /bin/bash /.boot-lab/cmd <&0 & W=$!
    wait $W; rc=$?
  fi
  [ $rc = 0 ] || break
done
[ -z "$JOURNAL" ] || nsenter -t "$P" -a -r -- journalctl -o short-precise --no-pager > "$JOURNAL" 2>&1
exit $rc
