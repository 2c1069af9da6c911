/*
 * A machine with few mounts and one user, for a process that asks about all of them over and over: in
 * its own mount namespace, which has to be private (workdir_own_mounts).
 */
#pragma once

/*
 * Takes away what is mounted but /, /dev, /proc, cgroup2 and what lies on the way to them and to
 * `needed`; and all users but root. `needed` is a directory that this may write to.
 */
void small_host_make(const char *needed);
