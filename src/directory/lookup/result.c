// SPDX-License-Identifier: ISC
/* An answer's targets, and the verdict on a recipient that follows from them. */
#include "directory/lookup/internal.h"
#include "mail/localpart.h"
#include "mail/template.h"
#include <string.h>

/* Grows the array by doubling in the arena, so N targets cost O(N). */
static void make_room_for_target(struct directory_result *result)
{
	size_t count = result->target_count;
	struct directory_target *grown;

	if ((count & (count - 1)) != 0)
		return;
	grown = arena_alloc(result->arena, (count == 0 ? 1 : 2 * count) * sizeof *grown);
	if (count > 0)
		memcpy(grown, result->targets, count * sizeof *grown);
	result->targets = grown;
}

void directory_result_add(struct directory_result *result, const struct directory_target *target)
{
	struct directory_target *added;

	if (result->target_count == DIRECTORY_TARGETS_MAX) {
		result->answer = DIRECTORY_UNKNOWN;
		mail_verdict_set(&result->verdict, "4.4.6",
				 "The address becomes more than %d others", DIRECTORY_TARGETS_MAX);
		return;
	}
	make_room_for_target(result);
	added = &result->targets[result->target_count++];
	*added = *target;
	added->service = arena_copy_str(result->arena, target->service);
	added->server = arena_copy_str(result->arena, target->server);
	added->address = arena_copy_str(result->arena, target->address);
}

const char *directory_judge_recipient(const struct directory_result *result, bool client_may_relay,
				      struct mail_verdict *verdict)
{
	const char *text = mail_status_public_text(str_from(result->verdict.status));

	*verdict = result->verdict;
	if (result->answer == DIRECTORY_NOT_LOCAL && !client_may_relay)
		mail_verdict_set(verdict, "5.7.1", "Relaying denied");
	if (text == NULL)
		return NULL;
	mail_verdict_set(verdict, result->verdict.status, "%s", text);
	return result->verdict.text;
}

/* Whether the program of TARGET, if it is one's, can be given SENDER. */
static bool takes_sender(const struct config *config, const struct directory_target *target,
			 struct str sender)
{
	const struct config_service *service = config_service_find(config, target->service);
	struct mail_template_recipient recipient;
	struct mail_template_values values;
	struct buffer text CLEANUP(buffer_clear) = {0};
	bool takes = true;

	if (target->kind != DIRECTORY_TARGET_LOCAL || service == NULL ||
	    service->kind != CONFIG_SERVICE_PIPE ||
	    mail_template_values(target->address, &recipient, &values) < 0)
		return true;
	values.sender = sender;
	for (size_t i = 0; takes && i < service->command_count; i++)
		takes = mail_template_fill(MAIL_TEMPLATE_ARGUMENT, service->command[i], &values,
					   &text) == 0;
	return takes;
}

void directory_judge_sender(const struct directory_result *result, const struct config *config,
			    struct str sender, struct mail_verdict *verdict)
{
	for (size_t i = 0; i < result->target_count; i++)
		if (!takes_sender(config, &result->targets[i], sender))
			mail_verdict_set(verdict, "5.1.7",
					 "This recipient cannot take mail from such a sender");
}

/* --- mailboxes of users of this machine --- */

static bool is_owned(const struct config *config, const struct directory_target *target)
{
	const struct config_service *service = config_service_find(config, target->service);

	return target->kind == DIRECTORY_TARGET_LOCAL && service != NULL && service->user != NULL &&
	       strcmp(service->user, "%u") == 0;
}

/* A name that no user can have is not looked for. */
static void add_owner(struct str address, struct buffer *names)
{
	struct mail_localpart local;
	struct str name;

	if (mail_localpart_parse(mail_parts_of(address).local, &local) < 0)
		return;
	name = mail_localpart_user(&local);
	if (!mail_name_is_path_safe(name) || str_find(name, '\0') >= 0)
		return;
	buffer_append_str(names, name);
	buffer_append_byte(names, '\0');
}

bool directory_result_owners(const struct directory_result *result, const struct config *config,
			     struct str address, struct buffer *names)
{
	if (result->answer != DIRECTORY_FOUND || mail_is_postmaster(address))
		return false;
	for (size_t i = 0; i < result->target_count; i++) {
		const struct directory_target *target = &result->targets[i];

		if (target->kind == DIRECTORY_TARGET_NONE)
			continue;
		if (!is_owned(config, target) || mail_is_postmaster(target->address))
			return false;
		add_owner(target->address, names);
	}
	return true;
}
