// SPDX-License-Identifier: ISC
/*
 * The users of the processes. They share a group: that of the node's user, which has search
 * permission for the run directory and may connect to the sockets there.
 */
#include "base/panic.h"
#include "log/event.h"
#include "program/rights/rights.h"
#include "program/serve/internal.h"
#include <string.h>

static int find_system_user(const char *name, struct os_process_user *out)
{
	int error = os_process_user_find(name, out);

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string(user, name), log_error(error));
	return error;
}

/* Delivering as other users requires the right to change the user: root stays root, and another
 * supervisor passes on the capabilities in the table of rights. */
static int find_for_program(const struct supervisor *supervisor,
			    const struct serve_program *program, struct program_user *entry)
{
	const char *name = config_process_user(supervisor->config, program->name);
	bool becomes =
		program->becomes_others != NULL && program->becomes_others(supervisor->config);
	struct os_process_user *user = &entry->user;
	int error = *name != '\0' ? find_system_user(name, user) : 0;

	if (error < 0)
		return error;
	if (user->change)
		user->group_count = os_process_groups_find(name, user->gid, entry->groups);
	if (becomes && supervisor->uid == 0) { /* with his groups: it delivers as him, too */
		user->change = user->may_gain = true;
		user->uid = 0;
		user->gid = 0;
	}
	if (supervisor->user.change && supervisor->user.gid != user->gid)
		entry->groups[user->group_count++] = supervisor->user.gid;
	user->groups = entry->groups;
	if (program->keeps_rights || (becomes && supervisor->uid != 0))
		user->capabilities = rights_find(program->name)->capabilities;
	if (becomes && supervisor->uid != 0)
		user->may_gain = true;
	return 0;
}

int serve_find_users(struct supervisor *supervisor, uid_t uid, bool may_change)
{
	const struct config *config = supervisor->config;
	int error = 0;

	supervisor->uid = uid;
	for (size_t i = 0; i < SERVE_PROGRAMS; i++) {
		supervisor->users[i] = (struct program_user){{0}};
		supervisor->users[i].user.uid = uid;
	}
	if (!may_change)
		return 0;
	if (*config->user != '\0')
		error = find_system_user(config->user, &supervisor->user);
	for (size_t i = 0; error == 0 && i < SERVE_PROGRAMS; i++)
		error = find_for_program(supervisor, &serve_programs[i], &supervisor->users[i]);
	return error;
}

const struct program_user *serve_user(const struct supervisor *supervisor, const char *program)
{
	for (size_t i = 0; i < SERVE_PROGRAMS; i++)
		if (strcmp(serve_programs[i].name, program) == 0)
			return &supervisor->users[i];
	panic("no user for %s", program);
}
