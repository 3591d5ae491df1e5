// SPDX-License-Identifier: ISC
#include "supervisor/talk/manager_why.h"
#include "supervisor/talk/manager.h"
#include <stdio.h>

void manager_why_clear(struct manager_why *why)
{
	manager_talk_close(why->talk);
	why->talk = NULL;
}

static void ignore_order_answer_of_why(void *context, struct mail_id id,
				       const struct order_answer *answer)
{
	(void)context;
	(void)id;
	(void)answer;
}

static void put_question(struct manager_why *why, const char *question, struct buffer *answer)
{
	if (!why->is_over && why->talk == NULL)
		why->is_over = manager_talk_open(why->run, ignore_order_answer_of_why, why,
						 &why->talk) < 0;
	if (!why->is_over)
		why->is_over = manager_talk_question(why->talk, str_from(question), answer) < 0;
}

bool manager_why_has_pauses(struct manager_why *why)
{
	struct buffer first CLEANUP(buffer_clear) = {0};

	put_question(why, "paused", &first);
	if (first.length == 0)
		put_question(why, "crowded", &first);
	return first.length > 0;
}

void manager_why_ask(void *context, struct mail_id id, struct buffer *name)
{
	char question[MAIL_ID_SIZE + 8];
	char text[MAIL_ID_SIZE];

	mail_id_format(id, text);
	snprintf(question, sizeof question, "why %s", text);
	put_question(context, question, name);
}
