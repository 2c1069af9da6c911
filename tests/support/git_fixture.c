#include "git_fixture.h"

#include "backend/backend.h"

#include <sys/stat.h>
#include <sys/wait.h>

static char *__attribute__((format(printf, 2, 0)))
format_command(const struct git_fixture *fixture, const char *format, va_list args)
{
	char *command CLEANUP(mem_done) = NULL;

	assert_true(vasprintf(&command, format, args) >= 0);
	return mem_printf("cd '%s' && export HOME='%s' GIT_CONFIG_GLOBAL=/dev/null "
			  "GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "
			  "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b && set -e && %s",
		fixture->base, fixture->base, command);
}

static int run(const char *command)
{
	int status = system(command); /* NOLINT(cert-env33-c): the commands are our own */

	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void git_fixture_sh(const struct git_fixture *fixture, const char *format, ...)
{
	char *command CLEANUP(mem_done) = NULL;
	va_list args;

	va_start(args, format);
	command = format_command(fixture, format, args);
	va_end(args);
	if (run(command) != 0)
		fail_msg("failed: %s", command);
}

bool git_fixture_holds(const struct git_fixture *fixture, const char *format, ...)
{
	char *command CLEANUP(mem_done) = NULL;
	va_list args;

	va_start(args, format);
	command = format_command(fixture, format, args);
	va_end(args);
	return run(command) == 0;
}

char *git_fixture_ask(const struct git_fixture *fixture, const char *format, ...)
{
	char *command CLEANUP(mem_done) = NULL;
	char line[4096] = "";
	va_list args;
	FILE *pipe;

	va_start(args, format);
	command = format_command(fixture, format, args);
	va_end(args);
	pipe = popen(command, "re"); /* NOLINT(cert-env33-c) */
	assert_non_null(pipe);
	assert_non_null(fgets(line, sizeof(line), pipe));
	assert_int_equal(pclose(pipe), 0);
	line[strcspn(line, "\n")] = 0;
	return mem_dup(line);
}

static void make_repository(const struct git_fixture *fixture)
{
	git_fixture_sh(fixture,
		"git init -q -b main repo && cd repo && mkdir dir && echo a >a.txt && "
		"echo b >dir/b.txt && echo '#!/bin/sh' >dir/run.sh && chmod +x dir/run.sh && "
		"ln -s a.txt link && printf '*.o\\nbuild/\\n' >.gitignore && "
		"git add -A && git commit -qm one && cd .. && mkdir -p ws && "
		"git -C repo worktree add -q -b sbx/r1 ../ws/r1 && cp -a . ../$(basename "
		"$PWD).made");
}

int git_fixture_make(void **state)
{
	const char *temporary = getenv("TMPDIR");
	struct git_fixture *fixture = mem_new(sizeof(*fixture));
	char *pattern CLEANUP(mem_done) =
		mem_printf("%s/sbx-test-XXXXXX", temporary ? temporary : "/tmp");

	assert_non_null(mkdtemp(pattern));
	fixture->base = realpath(pattern, NULL);
	fixture->root = mem_printf("%s/ws", fixture->base);
	fixture->tree = mem_printf("%s/ws/r1", fixture->base);
	fixture->repo = mem_printf("%s/repo/.git", fixture->base);
	make_repository(fixture);
	fixture->head = git_fixture_ask(fixture, "git -C repo rev-parse main");
	fixture->roots[0] = fixture->root;
	fixture->repos[0] = fixture->repo;
	fixture->settings.roots = (struct text_list){ fixture->roots, 1 };
	fixture->settings.repos = (struct text_list){ fixture->repos, 1 };
	fixture->settings.policy.lease_s = 900;
	fixture->settings.policy.branch = BRANCH_DELETE;
	assert_int_equal(worktree_backend.open(&fixture->settings, &fixture->state, NULL), 0);
	*state = fixture;
	return 0;
}

int git_fixture_drop(void **state)
{
	struct git_fixture *fixture = *state;

	worktree_backend.close(fixture->state);
	/* A test that failed may have left mounts, and rm would go through them. */
	git_fixture_sh(fixture,
		"cd / && awk -v base='%s/' 'index($5, base) == 1 { print $5 }' "
		"/proc/self/mountinfo | "
		"tac | xargs -r umount -l && rm -rf --one-file-system '%s' '%s.made'",
		fixture->base, fixture->base, fixture->base);
	arena_done(&fixture->arena);
	free(fixture->base);
	free(fixture->root);
	free(fixture->tree);
	free(fixture->repo);
	free(fixture->head);
	free(fixture);
	return 0;
}

void git_fixture_reset(struct git_fixture *fixture)
{
	git_fixture_sh(fixture, "cd .. && rm -rf '%s' && cp -a '%s.made' '%s'", fixture->base,
		fixture->base, fixture->base);
	worktree_backend.close(fixture->state);
	assert_int_equal(worktree_backend.open(&fixture->settings, &fixture->state, NULL), 0);
}

struct resource git_fixture_r1(struct git_fixture *fixture)
{
	struct resource resource = {
		.run = "r1",
		.generation = 1,
		.kind = KIND_WORKTREE,
		.proof = PROOF_ROW,
		.locator = fixture->tree,
		.repo = fixture->repo,
		.base = fixture->head,
		.branch = "sbx/r1",
	};
	struct stat stat;

	if (lstat(fixture->tree, &stat) == 0) {
		resource.dev = stat.st_dev;
		resource.ino = stat.st_ino;
	}
	return resource;
}
