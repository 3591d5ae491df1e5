// SPDX-License-Identifier: ISC
#include "keys/password_client.h"
#include "base/panic.h"
#include "ipc/pack.h"
#include "keys/protocol.h"
#include <stdlib.h>

struct keys_passwords {
	struct ipc_questions *questions;
};

static struct keys_password_question *password_question_of(struct ipc_question *asked)
{
	return CONTAINER_OF(asked, struct keys_password_question, asked);
}

static void pack_password_question(const struct ipc_question *asked, struct buffer *body)
{
	const struct keys_password_question *question =
		CONTAINER_OF(asked, const struct keys_password_question, asked);

	pack_str(body, str_from(question->relay));
	pack_u32(body, question->port);
	pack_str(body, str_from(question->user));
}

static void answer_password_question(struct keys_password_question *question, struct str password,
				     struct str problem)
{
	keys_password_cancel(question);
	question->answered(question->context, password, problem);
}

static bool on_password_answered(struct ipc_question *asked, struct str body)
{
	struct unpack unpack = {body, false};
	struct str password = unpack_str(&unpack);
	struct str problem = unpack_str(&unpack);

	if (!unpack_is_whole(&unpack))
		return false;
	if (asked != NULL)
		answer_password_question(password_question_of(asked), password, problem);
	return true;
}

static void on_password_late(struct ipc_question *asked)
{
	answer_password_question(password_question_of(asked), STR(""),
				 STR("it was not found out in time"));
}

/* What is public comes over each connection. */
static bool on_keys_set_for_passwords(const struct ipc_message *message)
{
	return message->type == KEYS_SET_PART || message->type == KEYS_SET_END;
}

struct keys_passwords *keys_passwords_new(struct os_loop *loop, const char *path)
{
	static const struct ipc_question_kind kind = {.type = KEYS_ASK_PASSWORD,
						      .answer_type = KEYS_PASSWORD,
						      .is_secret = true,
						      .pack = pack_password_question,
						      .answered = on_password_answered,
						      .late = on_password_late,
						      .other = on_keys_set_for_passwords};
	struct keys_passwords *passwords = memory_alloc_zero(1, sizeof *passwords);

	passwords->questions = ipc_questions_new(loop, path, &kind, KEYS_PASSWORD_PATIENCE_US);
	return passwords;
}

void keys_passwords_free(struct keys_passwords *passwords)
{
	if (passwords == NULL)
		return;
	ipc_questions_free(passwords->questions);
	free(passwords);
}

void keys_passwords_ask(struct keys_passwords *passwords, struct keys_password_question *question)
{
	ipc_question_ask(passwords->questions, &question->asked);
}

void keys_password_cancel(struct keys_password_question *question)
{
	ipc_question_cancel(&question->asked);
}
