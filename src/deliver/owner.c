// SPDX-License-Identifier: ISC
#include "deliver/owner.h"
#include "mail/localpart.h"
#include <errno.h>
#include <string.h>

static bool refuse_owner(struct mail_verdict *why, const char *status, const char *format,
			 const char *name)
{
	mail_verdict_set(why, status, format, name);
	return false;
}

/* The recipient's own account. If it does not exist the recipient may be told, unlike for a user
 * named in the configuration. */
bool owner_find_recipient(const struct config *config, struct str address,
			  struct os_process_account *owner_out, struct mail_verdict *why_out)
{
	struct mail_parts parts = mail_parts_of(address);
	struct mail_localpart local;
	char name[sizeof owner_out->name];
	struct str user;
	int error;

	if (mail_localpart_parse(parts.local, &local) < 0)
		return refuse_owner(why_out, "5.1.3", "%s", "No user can have such a name");
	user = mail_localpart_user(&local);
	if (user.length >= sizeof name || !mail_name_is_path_safe(user))
		return refuse_owner(why_out, "5.1.1", "%s", "No user can have such a name");
	memcpy(name, user.data, user.length);
	name[user.length] = '\0';
	error = os_process_account_find(name, owner_out);
	if (error == -ENOENT)
		return refuse_owner(why_out, "5.1.1", "No user is called %s", name);
	if (error < 0)
		return refuse_owner(why_out, "4.3.0", "Cannot look the user up: %s",
				    strerror(-error));
	if (!config_has_mail_user(config, owner_out->user.uid))
		return refuse_owner(why_out, "5.1.1",
				    "%s is an account of the system, which has no mail of its own",
				    name);
	return true;
}

static bool find_named(const char *name, struct os_process_account *owner, struct mail_verdict *why)
{
	int error = os_process_account_find(name, owner);

	if (error < 0)
		return refuse_owner(why, "4.3.5", "There is no user %s to deliver as", name);
	if (owner->user.uid == 0 && os_process_may_change_user())
		return refuse_owner(why, "4.3.5", "Nothing is delivered as %s", name);
	return true;
}

/* 1: one of our processes runs as UID; 0: none; -errno: unknown. */
static int is_user_of_node(const struct config *config, uid_t uid)
{
	struct os_process_account account;
	uid_t supervisor; /* the run directory's owner */
	int error = os_process_owner_of(config->run, &supervisor);

	if (error < 0 || supervisor == uid)
		return error < 0 ? error : 1;
	if (*config->user != '\0')
		error = os_process_account_find(config->user, &account);
	if (error < 0 || (*config->user != '\0' && account.user.uid == uid))
		return error < 0 ? error : 1;
	for (size_t i = 0; i < CONFIG_PROCESSES; i++) {
		if (*config->processes[i].user == '\0')
			continue;
		error = os_process_account_find(config->processes[i].user, &account);
		if (error < 0 || account.user.uid == uid)
			return error < 0 ? error : 1;
	}
	return 0;
}

/* The same for GID: that group may connect to the sockets in the run directory, and look addresses
 * up. */
static int is_our_group(const struct config *config, gid_t gid)
{
	struct os_process_account account;
	int error;

	if (*config->user == '\0')
		return os_process_effective_group() == gid;
	error = os_process_account_find(config->user, &account);
	return error < 0 ? error : account.user.gid == gid;
}

/* A program may be anybody's: with one of our users it could stop our processes, or impersonate
 * them. It has no groups but its user's own. */
static bool check_program_owner(const struct config *config, const struct os_process_account *owner,
				struct mail_verdict *why)
{
	int result = owner->user.change ? is_user_of_node(config, owner->user.uid) : 1;

	if (result < 0)
		return refuse_owner(why, "4.3.0", "Cannot look our own users up: %s",
				    strerror(-result));
	if (result > 0)
		return refuse_owner(why, "4.3.5",
				    "No program is run as %s, as whom we run ourselves",
				    owner->user.change ? owner->name : "root");
	result = is_our_group(config, owner->user.gid);
	if (result < 0)
		return refuse_owner(why, "4.3.0", "Cannot look our own users up: %s",
				    strerror(-result));
	if (result > 0)
		return refuse_owner(why, "4.3.5",
				    "No program is run as %s, whose group is that of our sockets",
				    owner->name);
	return true;
}

bool owner_find(const struct config *config, const struct config_service *service,
		struct str address, struct os_process_account *owner_out,
		struct mail_verdict *why_out)
{
	struct os_process_account owner = {0};
	bool is_pipe = service->kind == CONFIG_SERVICE_PIPE;
	const char *process_user = config_process_user(config, is_pipe ? "pipe" : "local");
	const char *name = service->user;
	bool may_change = os_process_may_change_user();
	bool is_found = true;

	if (strcmp(name, "%u") == 0)
		is_found = owner_find_recipient(config, address, &owner, why_out);
	else if (*name != '\0')
		is_found = find_named(name, &owner, why_out);
	else if (may_change && *process_user != '\0')
		is_found = find_named(process_user, &owner, why_out);
	if (!is_found)
		return false;
	if (owner.user.change && !may_change && owner.user.uid == os_process_effective_user())
		owner.user.change = false;
	if (owner.user.change && !may_change)
		return refuse_owner(why_out, "4.3.5",
				    "Only when started by root can mail be delivered as %s",
				    owner.name);
	owner.user.keeps_groups = !is_pipe && strcmp(owner.name, process_user) == 0;
	if (is_pipe && may_change && !check_program_owner(config, &owner, why_out))
		return false;
	*owner_out = owner;
	return true;
}
