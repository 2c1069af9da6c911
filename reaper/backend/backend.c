#include "backend.h"

/* Trees first: what is mounted in them, and which processes work there, is asked after that. */
const struct backend *const backends[BACKEND_COUNT] = {
	&worktree_backend,
	&path_backend,
	&container_backend,
	&cgroup_backend,
	&process_backend,
	&mount_backend,
};

const struct backend *backend_of(enum kind kind)
{
	static const struct backend *const owners[KIND_COUNT] = {
		[KIND_WORKTREE] = &worktree_backend,
		[KIND_BRANCH] = &worktree_backend,
		[KIND_CONTAINER] = &container_backend,
		[KIND_VOLUME] = &container_backend,
		[KIND_NETWORK] = &container_backend,
		[KIND_CGROUP] = &cgroup_backend,
		[KIND_SCOPE] = &cgroup_backend,
		[KIND_PATH] = &path_backend,
		[KIND_MOUNT] = &mount_backend,
		[KIND_PROCESS] = &process_backend,
	};

	assert(kind < KIND_COUNT);
	return owners[kind];
}
