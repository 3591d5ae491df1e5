// SPDX-License-Identifier: ISC
/*
 * Whether all users can log in by SCRAM: clients that are offered it take it and try nothing else.
 * The directory is asked for no more than that (the table "lacking"): at the start, and whenever it
 * says that anything has changed. What users do here has no influence, so nothing is to be learnt
 * about them from what is offered.
 */
#include "auth/server/internal.h"
#include "log/event.h"
#include <string.h>

static const struct {
	enum directory_password_method method;
	const char *name;
} methods[AUTH_KEYS] = {{DIRECTORY_PASSWORD_SCRAM_SHA_256, "scram-sha-256"},
			{DIRECTORY_PASSWORD_SCRAM_SHA_1, "scram-sha-1"}};

/* What the settings name is offered in any case. */
static bool is_scram_wanted(const struct auth_server *server)
{
	return server->directory != NULL && server->config->auth.users == CONFIG_AUTH_DIRECTORY &&
	       server->config->auth.mechanism_count == 0;
}

static void ask_keys(struct auth_keys *keys);

static void on_scram_keys_answer(void *context, const struct directory_answer_text *answer)
{
	struct auth_keys *keys = context;
	struct auth_server *server = keys->server;
	bool was_lacking = keys->is_known && keys->is_lacking;
	bool is_news = !keys->has_answered;

	keys->has_answered = true;
	if (answer->error == DIRECTORY_ERROR_NONE) {
		is_news |= !keys->is_known || keys->is_lacking != answer->exists;
		keys->is_known = true;
		keys->is_lacking = answer->exists;
	} else if (!os_timer_is_running(server->keys_again)) {
		os_timer_start(server->keys_again, SECOND_US);
	}
	if (keys->is_known && keys->is_lacking && !was_lacking && is_scram_wanted(server))
		log_event(EVENT_AUTH_WITHHELD,
			  log_string(method, methods[keys - server->user_keys].name));
	if (is_news)
		server->keys_changed(server);
	if (keys->is_due && answer->error == DIRECTORY_ERROR_NONE)
		ask_keys(keys);
}

static void ask_keys(struct auth_keys *keys)
{
	struct auth_server *server = keys->server;

	keys->is_due = keys->question.private != NULL;
	if (keys->is_due)
		return;
	keys->question =
		(struct directory_question){.answered = on_scram_keys_answer, .context = keys};
	directory_client_get(server->directory, "lacking",
			     str_from(methods[keys - server->user_keys].name),
			     DIRECTORY_PATIENCE_US, &keys->question);
}

void auth_keys_ask(struct auth_server *server)
{
	for (size_t i = 0; is_scram_wanted(server) && i < AUTH_KEYS; i++)
		ask_keys(&server->user_keys[i]);
}

static void on_scram_keys_timer(void *context)
{
	auth_keys_ask(context);
}

bool auth_keys_have_all(const struct auth_server *server, enum directory_password_method method)
{
	for (size_t i = 0; is_scram_wanted(server) && i < AUTH_KEYS; i++)
		if (methods[i].method == method)
			return server->user_keys[i].is_known && !server->user_keys[i].is_lacking;
	return true;
}

bool auth_keys_are_awaited(const struct auth_server *server)
{
	for (size_t i = 0; is_scram_wanted(server) && i < AUTH_KEYS; i++)
		if (!server->user_keys[i].has_answered)
			return true;
	return false;
}

void auth_keys_open(struct auth_server *server)
{
	server->keys_again = os_timer_new(server->ways.loop, on_scram_keys_timer, server);
	for (size_t i = 0; i < AUTH_KEYS; i++)
		server->user_keys[i].server = server;
}

void auth_keys_close(struct auth_server *server)
{
	for (size_t i = 0; i < AUTH_KEYS; i++)
		if (server->user_keys[i].question.private != NULL)
			directory_question_cancel(server->directory,
						  &server->user_keys[i].question);
	os_timer_free(server->keys_again);
}
