/* Child processes that only wait, for tests. They die with the test program, however it ends. */
#pragma once

#include <sys/types.h>

/* A child that sleeps in the given working directory (NULL: ours). It is there on return. */
pid_t child_start(const char *directory);

/* The same in the last of so many directories that it makes, each in the one before. */
pid_t child_start_below(const char *directory, unsigned levels);

/* The same in another root directory. */
pid_t child_start_in_root(const char *root);

/* A child whose leader has ended while a second thread sleeps on in the directory. */
pid_t child_start_leaderless(const char *directory);

/*
 * A child whose leader works where we do, while a second thread has a working directory of its own.
 */
pid_t child_start_unshared(const char *directory);

/* Kills it (whatever state it is in) and takes its exit. */
void child_end(pid_t pid);

/* Waits until it has ended, but leaves it a zombie. */
void child_wait_zombie(pid_t pid);
