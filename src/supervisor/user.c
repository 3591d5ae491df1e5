// SPDX-License-Identifier: ISC
#include "supervisor/user.h"
#include "base/panic.h"
#include "confine/rights/rights.h"
#include "log/event.h"
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
static int find_for_program(const struct program_users *users, const struct config *config,
			    const struct supervisor_program *program, struct program_user *entry)
{
	const char *name = config_process_user(config, program->name);
	bool becomes = program->becomes_others != NULL && program->becomes_others(config);
	struct os_process_user *user = &entry->user;
	int error = *name != '\0' ? find_system_user(name, user) : 0;

	if (error < 0)
		return error;
	if (user->change)
		user->group_count = os_process_groups_find(name, user->gid, entry->groups);
	if (becomes && users->own == 0) { /* with his groups: it delivers as him, too */
		user->change = user->may_gain = true;
		user->uid = 0;
		user->gid = 0;
	}
	if (users->node.change && users->node.gid != user->gid)
		entry->groups[user->group_count++] = users->node.gid;
	user->groups = entry->groups;
	if (program->keeps_rights || (becomes && users->own != 0))
		user->capabilities = rights_find(program->name)->capabilities;
	if (becomes && users->own != 0)
		user->may_gain = true;
	return 0;
}

int program_users_find(struct program_users *users, const struct config *config, uid_t own,
		       bool may_change)
{
	int error = 0;

	*users = (struct program_users){.own = own};
	for (size_t i = 0; i < SUPERVISOR_PROGRAMS; i++)
		users->programs[i].user.uid = own;
	if (!may_change)
		return 0;
	if (*config->user != '\0')
		error = find_system_user(config->user, &users->node);
	for (size_t i = 0; error == 0 && i < SUPERVISOR_PROGRAMS; i++)
		error = find_for_program(users, config, &supervisor_programs[i],
					 &users->programs[i]);
	return error;
}

const struct program_user *program_users_of(const struct program_users *users, const char *program)
{
	for (size_t i = 0; i < SUPERVISOR_PROGRAMS; i++)
		if (strcmp(supervisor_programs[i].name, program) == 0)
			return &users->programs[i];
	panic("no user for %s", program);
}
