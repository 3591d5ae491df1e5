// SPDX-License-Identifier: ISC
/* Capabilities (capabilities(7)) of processes that have some but are not root. */
#include "os/process/capability.h"
#include "os/process/process.h"
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sets {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int get_sets(struct sets *out)
{
	*out = (struct sets){.header = {.version = _LINUX_CAPABILITY_VERSION_3}};
	return syscall(SYS_capget, &out->header, out->data) != 0 ? -errno : 0;
}

bool os_process_is_root(void)
{
	return geteuid() == 0;
}

bool os_process_may_change_user(void)
{
	const uint32_t identities = 1U << CAP_SETUID | 1U << CAP_SETGID;
	struct sets sets;

	if (os_process_is_root())
		return true;
	return get_sets(&sets) == 0 && (sets.data[0].effective & identities) == identities;
}

/* A change between users neither of which is root leaves all capability sets unchanged. */
int os_capability_keep(uint64_t kept, bool by_programs)
{
	struct sets sets;
	int error = get_sets(&sets);

	if (error < 0)
		return error;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		sets.data[i].permitted &= (uint32_t)(kept >> (32 * i));
		sets.data[i].effective = sets.data[i].permitted;
		sets.data[i].inheritable = by_programs ? sets.data[i].permitted : 0;
	}
	if (syscall(SYS_capset, &sets.header, sets.data) != 0)
		return -errno;
	for (unsigned number = 0; by_programs && number < 32 * _LINUX_CAPABILITY_U32S_3; number++)
		if ((sets.data[number / 32].permitted & 1U << number % 32) != 0 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0) != 0)
			return -errno;
	return 0;
}
