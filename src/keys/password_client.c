// SPDX-License-Identifier: ISC
#include "keys/password_client.h"
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "keys/protocol.h"
#include <stdlib.h>
#include <utlist.h>

struct keys_passwords {
	struct ipc_client *client;
	struct keys_password_question *questions; /* in the order asked */
	uint32_t next_tag;
};

static void forget_password_question(struct keys_password_question *question)
{
	DL_DELETE2(question->passwords->questions, question, previous, next);
	question->passwords = NULL;
	question->tag = 0;
}

static void send_password_question(struct keys_passwords *passwords,
				   struct keys_password_question *question)
{
	struct buffer body = {0};

	if (++passwords->next_tag == 0)
		passwords->next_tag = 1;
	question->tag = passwords->next_tag;
	pack_str(&body, str_from(question->relay));
	pack_u32(&body, question->port);
	pack_str(&body, str_from(question->user));
	ipc_channel_send(ipc_client_channel(passwords->client), KEYS_ASK_PASSWORD, question->tag,
			 buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void on_passwords_connected(void *context)
{
	struct keys_passwords *passwords = context;
	struct keys_password_question *question;

	ipc_channel_set_secret(ipc_client_channel(passwords->client));
	DL_FOREACH2 (passwords->questions, question, next)
		send_password_question(passwords, question);
}

/* They are asked again when there is a connection. */
static void on_passwords_lost(void *context)
{
	struct keys_passwords *passwords = context;
	struct keys_password_question *question;

	DL_FOREACH2 (passwords->questions, question, next)
		question->tag = 0;
}

/* The question with TAG may have been cancelled. */
static bool take_password_answer(struct keys_passwords *passwords,
				 const struct ipc_message *message)
{
	struct unpack unpack = {message->body, false};
	struct str password = unpack_str(&unpack);
	struct str problem = unpack_str(&unpack);
	struct keys_password_question *question;

	if (!unpack_is_whole(&unpack) || message->tag == 0)
		return false;
	DL_FOREACH2 (passwords->questions, question, next)
		if (question->tag == message->tag) {
			forget_password_question(question);
			question->answered(question->context, password, problem);
			return true;
		}
	return true;
}

static void on_password_message(void *context, struct ipc_message *message)
{
	struct keys_passwords *passwords = context;
	bool is_public = message->type == KEYS_SET_PART || message->type == KEYS_SET_END;

	if (!is_public &&
	    (message->type != KEYS_PASSWORD || !take_password_answer(passwords, message)))
		ipc_channel_refuse(ipc_client_channel(passwords->client), message->type);
}

struct keys_passwords *keys_passwords_new(struct os_loop *loop, const char *path)
{
	static const struct ipc_client_handler handler = {on_passwords_connected,
							  on_password_message, on_passwords_lost};
	struct keys_passwords *passwords = memory_alloc_zero(1, sizeof *passwords);

	passwords->client = ipc_client_new(loop, path, &handler, passwords);
	return passwords;
}

void keys_passwords_free(struct keys_passwords *passwords)
{
	if (passwords == NULL)
		return;
	while (passwords->questions != NULL)
		forget_password_question(passwords->questions);
	ipc_client_free(passwords->client);
	free(passwords);
}

void keys_passwords_ask(struct keys_passwords *passwords, struct keys_password_question *question)
{
	question->passwords = passwords;
	question->tag = 0;
	DL_APPEND2(passwords->questions, question, previous, next);
	if (ipc_client_channel(passwords->client) != NULL)
		send_password_question(passwords, question);
}

void keys_password_cancel(struct keys_password_question *question)
{
	if (question->passwords != NULL)
		forget_password_question(question);
}
