/*
 * What a tree says of its repository, and a repository's records of trees: the files `.git`,
 * `gitdir`, `HEAD` and `locked` (backend/worktree_repo.h, worktree_record.h).
 */
#include "fuzz.h"

#include "backend/worktree_record.h"
#include "base/text.h"

#include <errno.h>
#include <sys/stat.h>

static void prepare(void)
{
	static bool done;

	if (done)
		return;
	MUST(mkdirat(fuzz_directory(), "worktrees", S_IRWXU) == 0);
	MUST(mkdirat(fuzz_directory(), "worktrees/r1", S_IRWXU) == 0);
	done = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct arena arena CLEANUP(arena_done) = { 0 };
	struct worktree_pointer pointer;
	struct worktree_record record;
	const char *line;

	prepare();
	fuzz_file(".git", bytes, length);
	fuzz_file("worktrees/r1/gitdir", bytes, length);
	if (worktree_pointer_read(
		    fuzz_directory(), fuzz_directory_path(), &arena, &pointer, NULL) >= 0 &&
		pointer.kind == POINTER_FILE) {
		const char *name = worktree_target_name("/srv/git/app", pointer.target);

		MUST(fuzz_path_clean(pointer.target));
		MUST(!name || (*name && !strchr(name, '/') && !text_equal(name, "..")));
	}
	if (worktree_record_read(fuzz_directory_path(), "r1", &arena, &record, NULL) > 0) {
		MUST(!record.tree || fuzz_path_clean(record.tree));
		MUST(text_equal(record.name, "r1"));
	}
	if (worktree_line_read(fuzz_directory(), ".git", &arena, &line, NULL, NULL) > 0)
		MUST(strlen(line) <= length);
	(void)worktree_path_same("/srv/ws/r1", "/srv/ws/r1/../r1");
	return 0;
}
