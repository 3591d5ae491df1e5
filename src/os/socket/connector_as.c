// SPDX-License-Identifier: ISC
/* Connecting as another user. */
#include "base/panic.h"
#include "os/process/process.h"
#include "os/socket/connector.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <unistd.h>

static bool take_identity(const gid_t *groups, size_t count, gid_t gid, uid_t uid)
{
	return setgroups(count, groups) == 0 && setegid(gid) == 0 && seteuid(uid) == 0;
}

/* For the peer (SO_PEERCRED) the kernel records the effective ids of the process that calls
 * connect(2). The real ids stay root's, so that USER can neither signal nor trace this process
 * meanwhile. (Sources: unix(7), kill(2), ptrace(2).) */
int os_connector_connect_as(const struct os_process_user *user, const char *path, int kind)
{
	gid_t groups[NGROUPS_MAX];
	const gid_t gid = getegid();
	const uid_t uid = geteuid();
	int count;
	int result;

	if (!user->change)
		return os_socket_connect_unix(path, kind);
	count = getgroups(NGROUPS_MAX, groups);
	if (count < 0)
		return -errno;
	result = take_identity(user->groups, user->group_count, user->gid, user->uid)
			 ? os_socket_connect_unix(path, kind)
			 : -errno;
	if (seteuid(uid) != 0 || !take_identity(groups, (size_t)count, gid, uid))
		panic("cannot be root again");
	return result;
}
