#include "fsuser.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

/* In the C library, without a header of its own (capset(2)). */
int capget(struct __user_cap_header_struct *header, struct __user_cap_data_struct *data);
int capset(struct __user_cap_header_struct *header, const struct __user_cap_data_struct *data);

int fsuser_of(int dir, struct fsuser *ret_user, struct error *error)
{
	struct stat stat;

	if (fstat(dir, &stat) < 0)
		return error_set(error, errno, "find the owner of a directory");
	*ret_user = (struct fsuser){
		.uid = stat.st_uid,
		.gid = stat.st_gid,
		.other = geteuid() == 0 && stat.st_uid != 0,
	};
	return 0;
}

/* The kernel takes it away together with the powers to write (capabilities(7)). */
static void keep_search(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (capget(&header, data) < 0)
		return;
	data[0].effective |= data[0].permitted & 1U << CAP_DAC_READ_SEARCH;
	(void)capset(&header, data); /* without it most places are reached as well */
}

int fsuser_begin(const struct fsuser *user, struct error *error)
{
	if (!user->other)
		return 0;
	(void)setfsgid(user->gid);
	(void)setfsuid(user->uid);
	/* Neither says whether it worked; asked with a user that there is none of, both tell. */
	if (setfsgid((gid_t)-1) != (int)user->gid || setfsuid((uid_t)-1) != (int)user->uid) {
		fsuser_end(user);
		return error_set(error, EPERM, "write as user %u", user->uid);
	}
	keep_search();
	return 0;
}

void fsuser_end(const struct fsuser *user)
{
	if (!user->other)
		return;
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
}
