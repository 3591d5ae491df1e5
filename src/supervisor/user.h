// SPDX-License-Identifier: ISC
/*
 * supervisor/user.h - as which users the processes of a node run. They share a group: that of
 * the node's user, which has search permission for the run directory and may connect to the sockets
 * there.
 */
#ifndef SUPERVISOR_USER_H
#define SUPERVISOR_USER_H

#include "config/config.h"
#include "os/process/process.h"
#include "supervisor/program.h"

/* The user of a program; the others get his uid, and trust only him as that program. */
struct program_user {
	struct os_process_user user;
	gid_t groups[OS_PROCESS_GROUPS_MAX + 1];
};

/* Not to be copied: there are pointers into it. */
struct program_users {
	uid_t own;                                         /* of the supervisor */
	struct os_process_user node;                       /* of the node: the queue's owner */
	struct program_user programs[SUPERVISOR_PROGRAMS]; /* in the order of supervisor_programs */
};

/* Looks up USERS, for a supervisor with the uid OWN that MAY_CHANGE its user. 0 or -errno; logs
 * users that do not exist. */
MUST_CHECK int program_users_find(struct program_users *users, const struct config *config,
				  uid_t own, bool may_change);
const struct program_user *program_users_of(const struct program_users *users, const char *program);

#endif
