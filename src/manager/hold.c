// SPDX-License-Identifier: ISC
/* Messages that an operator holds: each has a trigger of its own. */
#include "manager/internal.h"
#include <stdio.h>

struct trigger *hold_find_any(struct manager *manager, struct mail_id message)
{
	char id[MAIL_ID_SIZE];
	char name[MAIL_ID_SIZE + 8];

	if (!triggers_have_any(manager->triggers)) /* nearly always, and it is asked often */
		return NULL;
	mail_id_format(message, id);
	snprintf(name, sizeof name, "hold.%s", id);
	return triggers_find(manager->triggers, str_from(name));
}

struct trigger *hold_find(struct manager *manager, struct mail_id message)
{
	struct trigger *hold = hold_find_any(manager, message);

	return hold != NULL && triggers_until(manager->triggers, hold).length == 0 ? hold : NULL;
}

void hold_end_if_over(struct manager *manager, struct mail_id message)
{
	struct trigger *hold = hold_find_any(manager, message);
	struct str until;

	if (hold == NULL)
		return;
	until = triggers_until(manager->triggers, hold);
	if (until.length > 0 && triggers_find(manager->triggers, until) == NULL)
		triggers_release(manager->triggers, hold);
}

void hold_take_over(struct manager *manager, const struct message *message)
{
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct buffer reason CLEANUP(buffer_clear) = {0};
	char id[MAIL_ID_SIZE];

	mail_id_format(message->id, id);
	buffer_append_format(&name, "hold.%s", id);
	buffer_append_format(&reason, "it was held as " STR_FORMAT,
			     STR_ARGUMENTS(message->control->envelope->handed));
	(void)triggers_set(manager->triggers, buffer_view(&name), buffer_view(&reason));
}
