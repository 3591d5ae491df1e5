// SPDX-License-Identifier: ISC
/* Whether the processes may open what the configuration names, each as the user that it has. */
#include "supervisor/machine_check/access.h"
#include "supervisor/access.h"
#include "supervisor/user.h"
#include <stdio.h>

/* As whom they run: each list begins with the supervisor. */
struct supervisor_identities {
	struct program_users users;
	struct os_process_user own;
	gid_t groups[OS_PROCESS_GROUPS_MAX];
	struct machine_process processes[SUPERVISOR_PROGRAMS + 1];
	size_t count;
};

static void add_identity(struct supervisor_identities *identities, const char *program,
			 const char *file, const struct os_process_user *user)
{
	identities->processes[identities->count++] = (struct machine_process){program, file, user};
}

/* The unit starts the supervisor as a user of its own; without a unit, he is who asks. */
static int find_own_user(struct supervisor_identities *identities, const struct machine_unit *unit)
{
	struct os_process_user *own = &identities->own;
	struct str user = unit != NULL ? machine_unit_user(unit) : STR("");
	struct str group = unit != NULL ? machine_unit_group(unit) : STR("");
	char name[64];
	int error;

	*own = (struct os_process_user){.uid = os_process_effective_user()};
	if (user.length == 0)
		return 0;
	snprintf(name, sizeof name, STR_FORMAT, STR_ARGUMENTS(user));
	error = os_process_user_find(name, own);
	if (error < 0)
		return error;
	own->group_count = os_process_groups_find(name, own->gid, identities->groups);
	own->groups = identities->groups;
	snprintf(name, sizeof name, STR_FORMAT, STR_ARGUMENTS(group));
	return group.length > 0 ? os_process_group_find(name, &own->gid) : 0;
}

static void add_programs(struct supervisor_identities *identities, const struct config *config,
			 const struct machine_unit *unit)
{
	uint64_t capabilities = unit != NULL ? machine_unit_capabilities(unit) : UINT64_MAX;

	for (size_t i = 0; i < SUPERVISOR_PROGRAMS; i++) {
		const struct supervisor_program *program = &supervisor_programs[i];
		struct os_process_user *user = &identities->users.programs[i].user;

		if ((program->is_wanted != NULL && !program->is_wanted(config)) ||
		    (program->count != NULL && program->count(config) == 0))
			continue;
		user->capabilities &= capabilities;
		add_identity(identities, program->name,
			     program->file != NULL ? program->file(config) : program->name, user);
	}
}

int supervisor_check_access(const struct config *config, struct str text,
			    const struct machine_unit *unit, bool reads_secrets,
			    machine_found *found, void *context)
{
	static struct supervisor_identities identities;

	identities.count = 0;
	if (find_own_user(&identities, unit) < 0 ||
	    program_users_find(&identities.users, config, identities.own.uid,
			       os_process_may_change_user()) < 0)
		return -1; /* machine_check() says so */
	add_identity(&identities, "stagepost", "stagepost", &identities.own);
	add_programs(&identities, config, unit);
	return machine_check_access(config, text, identities.processes, identities.count, unit,
				    reads_secrets, found, context);
}
