/*
 * A real repository with real linked worktrees below a root, in a temporary directory that is gone
 * when the test ends:
 *
 *   <base>/repo          branch main: a.txt, dir/b.txt, dir/run.sh, link, .gitignore (*.o, build/)
 *   <base>/ws            the root
 *   <base>/ws/r1         worktree on branch sbx/r1
 */
#pragma once

#include "unit.h"

#include "backend/effects.h"
#include "model.h"

/* Long for a look into such a tree. */
enum { LOOK_MS = 60 * 1000 };

struct git_fixture {
	char *base;
	char *root;
	char *tree; /* <root>/r1 */
	char *repo; /* <base>/repo/.git */
	char *head; /* commit of main */
	struct settings settings;
	char *roots[1], *repos[1];
	void *state; /* of worktree_backend */
	struct arena arena;
};

/* cmocka setup and teardown; *state is the fixture. */
int git_fixture_make(void **state);
int git_fixture_drop(void **state);

/* Everything as it was made, without making it again: as fast as a copy. */
void git_fixture_reset(struct git_fixture *fixture);

/* Runs a shell command in the base directory; it must succeed. */
void git_fixture_sh(const struct git_fixture *fixture, const char *format, ...) PRINTF_LIKE(2, 3);
/* The first line that a command prints; the caller owns it. */
char *git_fixture_ask(const struct git_fixture *fixture, const char *format, ...) PRINTF_LIKE(2, 3);
bool git_fixture_holds(const struct git_fixture *fixture, const char *format, ...)
	PRINTF_LIKE(2, 3);

/* r1 as it was registered: tree, repository, branch, base, device and inode. */
struct resource git_fixture_r1(struct git_fixture *fixture);
