// SPDX-License-Identifier: ISC
#include "command/rights/check.h"
#include "base/arena.h"
#include "base/panic.h"
#include <errno.h>
#include <string.h>

/* The expected identity of a process. */
struct identity {
	uid_t uid;
	gid_t gid;
	const gid_t *others;
	size_t other_count;
	uint64_t capabilities;
};

/* --- identity --- */

static const struct node_process *supervisor_of(const struct rights_check *check)
{
	return &check->node->processes[0];
}

/* "directory-ldap" runs as the user of "directory". */
static const char *family_of(const struct node_process *process)
{
	static const char *const families[] = {"auth", "directory", "mailbox"};

	for (size_t i = 0; i < COUNT_OF(families); i++)
		if (strncmp(process->program, families[i], strlen(families[i])) == 0)
			return families[i];
	return process->program;
}

static void find_identity(const struct rights_check *check, struct identity *out)
{
	const struct os_inspect_status *own = &supervisor_of(check)->status;
	const struct program_users *users = check->expected->users;
	size_t count =
		own->other_count < OS_INSPECT_GROUPS_MAX ? own->other_count : OS_INSPECT_GROUPS_MAX;

	*out = (struct identity){own->users[1], own->groups[1], own->others, count, 0};
	if (users != NULL && check->process != supervisor_of(check)) {
		const struct os_process_user *user =
			&program_users_of(users, family_of(check->process))->user;

		if (user->change)
			*out = (struct identity){user->uid, user->gid, user->groups,
						 user->group_count, 0};
		out->capabilities = user->capabilities;
	}
	if (out->uid == 0)
		out->capabilities = check->process->rights->capabilities;
}

static void check_users_of_process(const struct rights_check *check,
				   const struct identity *identity)
{
	static const char *const names[] = {"real", "effective", "saved", "file"};
	const struct os_inspect_status *status = &check->process->status;
	struct buffer allowed CLEANUP(buffer_clear) = {0};

	buffer_append_format(&allowed, "user %lu, group %lu%c", (unsigned long)identity->uid,
			     (unsigned long)identity->gid, '\0');
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (status->users[i] != identity->uid)
			rights_report(check, buffer_data(&allowed), "%s user %lu", names[i],
				      (unsigned long)status->users[i]);
		if (status->groups[i] != identity->gid)
			rights_report(check, buffer_data(&allowed), "%s group %lu", names[i],
				      (unsigned long)status->groups[i]);
	}
}

static bool has_group(const struct identity *identity, gid_t group)
{
	if (group == identity->gid)
		return true;
	for (size_t i = 0; i < identity->other_count; i++)
		if (identity->others[i] == group)
			return true;
	return false;
}

static void check_groups(const struct rights_check *check, const struct identity *identity)
{
	const struct os_inspect_status *status = &check->process->status;
	struct buffer allowed CLEANUP(buffer_clear) = {0};

	buffer_append_format(&allowed, "group %lu", (unsigned long)identity->gid);
	for (size_t i = 0; i < identity->other_count; i++)
		buffer_append_format(&allowed, ", %lu", (unsigned long)identity->others[i]);
	buffer_append_byte(&allowed, '\0');
	if (status->other_count > OS_INSPECT_GROUPS_MAX)
		rights_report(check, buffer_data(&allowed), "%zu groups", status->other_count);
	for (size_t i = 0; i < status->other_count && i < OS_INSPECT_GROUPS_MAX; i++)
		if (!has_group(identity, status->others[i]))
			rights_report(check, buffer_data(&allowed), "supplementary group %lu",
				      (unsigned long)status->others[i]);
}

/* --- rights --- */

/* A capability in the bounding set alone could be gained only from a file with capabilities: its
 * programs do not have it unless the supervisor has. */
static void check_capabilities(const struct rights_check *check, uint64_t kept)
{
	static const char *const names[] = {[OS_INSPECT_INHERITABLE] = "inheritable",
					    [OS_INSPECT_PERMITTED] = "permitted",
					    [OS_INSPECT_EFFECTIVE] = "effective",
					    [OS_INSPECT_BOUNDING] = "bounding",
					    [OS_INSPECT_AMBIENT] = "ambient"};
	const uint64_t *has = check->process->status.capabilities;

	for (size_t i = 0; i < OS_INSPECT_SETS; i++) {
		struct buffer allowed CLEANUP(buffer_clear) = {0};
		uint64_t may = kept;

		if (i == OS_INSPECT_BOUNDING)
			may = supervisor_of(check)->status.capabilities[i];
		else if (i == OS_INSPECT_INHERITABLE || i == OS_INSPECT_AMBIENT)
			may = 0;
		if ((has[i] & ~may) == 0)
			continue;
		buffer_append_format(&allowed, "%llx%c", (unsigned long long)may, '\0');
		rights_report(check, buffer_data(&allowed), "%s capabilities %llx", names[i],
			      (unsigned long long)has[i]);
	}
}

/* In addition to filters that a container, or the program that started the node, gave all of it. */
static bool has_filter(const struct rights_check *check)
{
	const struct os_inspect_status *status = &check->process->status;

	return status->seccomp == 2 &&
	       (status->filters == 0 || status->filters > supervisor_of(check)->status.filters);
}

static void check_confinement(const struct rights_check *check)
{
	const struct os_inspect_status *status = &check->process->status;
	unsigned flags = check->process->rights->flags;

	if ((flags & RIGHTS_CONFINED) != 0 && !status->may_not_gain)
		rights_report(check, "no_new_privs", "it may gain rights by running programs");
	if ((flags & RIGHTS_CONFINED) != 0 && !has_filter(check))
		rights_report(check, "a filter", "no filter of its own, seccomp mode %u",
			      status->seccomp);
	if ((flags & RIGHTS_UNTRACEABLE) != 0 && status->may_be_trapped)
		rights_report(check, "not dumpable", "others of its user may trace it");
}

static void check_program_of_process(const struct rights_check *check)
{
	const char *own = supervisor_of(check)->path;
	const char *path = check->process->path;
	size_t directory = strlen(own) - strlen(supervisor_of(check)->program);
	size_t length = strlen(path) - strlen(check->process->program);

	if ((length != directory || strncmp(own, path, length) != 0) &&
	    strstr(path, "/libexec/stagepost/") == NULL)
		rights_report(check, own, "it runs %s", path);
}

/* --- one process --- */

static bool is_user_of_ours(const struct rights_check *check, uid_t uid)
{
	const struct node *node = check->node;

	for (size_t i = 0; i < node->count; i++)
		if ((i == 0 || node->processes[i].parent == supervisor_of(check)) &&
		    node->processes[i].status.users[1] == uid)
			return true;
	return false;
}

/* A process started by one of ours: a program of a pipe service, which may have anything open, or
 * a process that looks up users for "local", "smtpd" or "qmtpd". */
static void check_descendant(const struct rights_check *check)
{
	const struct os_inspect_status *status = &check->process->status;
	const struct node_process *parent = check->process->parent;
	bool is_own = strcmp(parent->path, check->process->path) == 0;
	bool has_users = os_inspect_may_change_user(&supervisor_of(check)->status);

	for (size_t i = 0; i < OS_INSPECT_SETS; i++)
		if (i != OS_INSPECT_BOUNDING && status->capabilities[i] != 0)
			rights_report(check, "none", "a program with capabilities %llx",
				      (unsigned long long)status->capabilities[i]);
	if (!is_own && has_users && status->users[1] != parent->status.users[1] &&
	    is_user_of_ours(check, status->users[1]))
		rights_report(check, "a user of its own", "a program that runs as user %lu",
			      (unsigned long)status->users[1]);
}

static void check_rights_of_process(const struct rights_check *check)
{
	const struct node_process *process = check->process;
	struct identity identity;
	bool is_supervisor = process == supervisor_of(check);

	if (!is_supervisor && process->parent != supervisor_of(check)) {
		check_descendant(check);
		return;
	}
	if (process->rights == NULL) {
		if (process->error == 0)
			rights_report(check, "Stagepost's programs", "it runs %s", process->path);
		return;
	}
	if (!is_supervisor) {
		find_identity(check, &identity);
		check_users_of_process(check, &identity);
		check_groups(check, &identity);
		check_capabilities(check, identity.capabilities);
		check_program_of_process(check);
	}
	check_confinement(check);
	if (process->error == 0)
		rights_check_descriptors(check);
}

void rights_check(const struct node *node, const struct rights_expected *expected,
		  struct rights_findings *findings)
{
	struct rights_check check = {.node = node, .expected = expected, .findings = findings};

	for (size_t i = 0; i < node->count; i++) {
		check.process = &node->processes[i];
		check_rights_of_process(&check);
	}
}
