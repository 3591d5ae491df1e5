// SPDX-License-Identifier: ISC
#include "supervisor/talk/manager_why.h"
#include "supervisor/talk/manager.h"
#include <errno.h>
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

static int put_question(struct manager_why *why, const char *question, struct buffer *answer)
{
	int error = 0;

	if (why->talk == NULL)
		error = manager_talk_open(why->run, ignore_order_answer_of_why, why, &why->talk);
	return error < 0 ? error : manager_talk_question(why->talk, str_from(question), answer);
}

void manager_why_ask(void *context, struct mail_id id, struct buffer *name)
{
	struct manager_why *why = context;
	char question[MAIL_ID_SIZE + 8];
	char text[MAIL_ID_SIZE];

	mail_id_format(id, text);
	snprintf(question, sizeof question, "why %s", text);
	if (why->error == 0) {
		int result = put_question(why, question, name);

		why->error = result < 0 ? result : 0;
	}
	if (why->error == -ESRCH)
		buffer_append_string(name, "(send: nothing is tried, because Stagepost does not "
					   "run, or has not begun yet)");
	else if (why->error < 0)
		buffer_append_format(name, "(send: it cannot be asked what this waits for: %s)",
				     manager_talk_explain(why->error));
}
