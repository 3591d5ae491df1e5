// SPDX-License-Identifier: ISC
#include "auth/server/internal.h"
#include "base/panic.h"
#include "log/event.h"
#include "os/file/file.h"
#include "os/file/secret.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ASKERS_MAX = 256,                               /* connections of each user */
	SERVER_BACKLOG_MAX = 4 * AUTH_MESSAGE_MAX * 64, /* bytes of answers that were not read */
};

/* --- connections --- */

static void *on_auth_client_connected(void *context, struct ipc_channel *channel)
{
	struct auth_asker *asker = memory_alloc_zero(1, sizeof *asker);

	asker->server = context;
	asker->channel = channel;
	ipc_channel_set_secret(channel);
	auth_offer_tell(asker, channel);
	return asker;
}

static bool on_auth_request(void *context, struct ipc_channel *channel,
			    const struct ipc_message *message)
{
	struct auth_asker *asker = context;
	struct auth_attempt *attempt;
	void (*end)(struct auth_attempt * attempt) = NULL;

	(void)channel;
	if (message->type == AUTH_BEGIN)
		return auth_attempt_begin(asker, message->tag, message->body);
	if (message->type == AUTH_FOLLOW)
		return auth_logins_follow(asker, message->tag, message->body);
	HASH_FIND(hh, asker->attempts, &message->tag, sizeof message->tag, attempt);
	if (message->type == AUTH_RESPOND)
		return attempt != NULL && auth_attempt_respond(attempt, message->body);
	if (message->body.length > 0)
		return false;
	if (message->type == AUTH_UNFOLLOW) {
		auth_logins_unfollow(asker, message->tag);
		return true;
	}
	if (message->type == AUTH_CANCEL)
		end = auth_attempt_cancel;
	else if (message->type == AUTH_LEAVE)
		end = auth_attempt_leave;
	else if (message->type == AUTH_FORGIVE)
		end = auth_attempt_free;
	if (end != NULL && attempt != NULL)
		end(attempt);
	return end != NULL;
}

static void on_auth_client_lost(void *context)
{
	struct auth_asker *asker = context;

	while (asker->attempts != NULL)
		auth_attempt_free(asker->attempts);
	auth_logins_lose(asker);
	free(asker);
}

static const struct ipc_server_kind server_kind = {.clients_max = ASKERS_MAX,
						   .backlog_max = SERVER_BACKLOG_MAX,
						   .connected = on_auth_client_connected,
						   .message = on_auth_request,
						   .lost = on_auth_client_lost};

/* --- files --- */

/* Appends what is at PATH, at most MOST bytes: 0, or -errno. */
static int read_auth_file(const char *path, size_t most, struct buffer *out)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
	ssize_t length;

	if (file < 0)
		return file;
	length = os_file_read(file, buffer_reserve(out, most + 1), most + 1, 0);
	os_file_close(file);
	if (length < 0)
		return (int)length;
	if ((size_t)length > most)
		return -EFBIG;
	buffer_commit(out, (size_t)length);
	return 0;
}

static void log_bad_file(const char *path, struct str why, int error)
{
	if (why.length > 0)
		log_event(EVENT_AUTH_ERROR, log_string(file, path), log_str(text, why));
	else
		log_event(EVENT_AUTH_ERROR, log_string(file, path), log_error(error));
}

static void read_keys(struct auth_server *server)
{
	const struct config_auth *settings = &server->config->auth;

	server->keys = auth_jwt_keys_new();
	for (size_t i = 0; i < settings->token_key_count; i++) {
		struct buffer pem CLEANUP(buffer_clear) = {0};
		struct buffer why CLEANUP(buffer_clear) = {0};
		int error = read_auth_file(settings->token_keys[i], AUTH_JWT_FILE_MAX, &pem);

		if (error == 0)
			error = auth_jwt_keys_add(server->keys, buffer_view(&pem), &why);
		if (error < 0)
			log_bad_file(settings->token_keys[i], buffer_view(&why), error);
	}
}

/* The first line. */
static void read_secret(struct auth_server *server)
{
	const char *path = server->config->auth.introspection_secret_file;
	int error;

	buffer_clear(&server->secret);
	if (*path == '\0')
		return;
	error = os_secret_read(path, &server->secret);
	if (error == -ENODATA)
		log_bad_file(path, STR("its first line is empty"), error);
	else if (error < 0)
		log_bad_file(path, STR(""), error);
}

static void open_tokens(struct auth_server *server)
{
	const struct config_auth *settings = &server->config->auth;
	struct auth_tokens_settings tokens = {.rules = {.issuer = settings->token_issuer,
							.audience = settings->token_audience,
							.claim = settings->token_claim,
							.scope = settings->token_scope},
					      .url = settings->introspection_url,
					      .user = settings->introspection_user};

	read_keys(server);
	read_secret(server);
	tokens.keys = server->keys;
	tokens.secret = buffer_view(&server->secret);
	server->tokens = auth_tokens_new(server->ways.https, &tokens);
}

/* --- settings --- */

static void check_required_mechanisms(const struct auth_server *server)
{
	const struct config_auth *settings = &server->config->auth;

	for (size_t i = 0; i < settings->mechanism_count; i++)
		if (settings->users != CONFIG_AUTH_DOVECOT &&
		    sasl_mechanism_find(str_from(settings->mechanisms[i])) == NULL)
			log_event(EVENT_AUTH_ERROR, log_string(setting, "auth.mechanisms"),
				  log_string(text, "no such mechanism"),
				  log_string(mechanism, settings->mechanisms[i]));
}

static void on_mechanisms(void *context)
{
	auth_offer_update(context);
}

static void apply_auth_settings(struct auth_server *server, const struct config *config)
{
	const struct auth_failures_settings failures = {
		.limit = config->auth.failure_limit,
		.memory_us = config->auth.failure_memory_us,
		.exempt = config->auth.failure_exempt,
		.exempt_count = config->auth.failure_exempt_count,
	};

	server->config = config;
	auth_failures_configure(server->failures, &failures);
	open_tokens(server);
	check_required_mechanisms(server);
	if (config->auth.users == CONFIG_AUTH_DOVECOT && server->dovecot == NULL)
		server->dovecot =
			dovecot_new(server->ways.loop, config->auth.socket, on_mechanisms, server);
	auth_keys_ask(server);
	auth_offer_update(server);
}

/* What was asked of an issuer of tokens, or of a Dovecot that is not asked any more. */
static void end_attempts(void *context, struct ipc_channel *channel)
{
	const struct auth_asker *asker = context;
	struct auth_attempt *attempt;
	struct auth_attempt *next;

	(void)channel;
	HASH_ITER (hh, asker->attempts, attempt, next)
		if (attempt->token != NULL ||
		    (attempt->dovecot.dovecot != NULL && asker->server->is_leaving_dovecot)) {
			dovecot_cancel(&attempt->dovecot);
			if (attempt->state == ATTEMPT_ASKS)
				auth_attempt_refuse(attempt, AUTH_TEMPORARY, STR(""),
						    "the settings have changed");
		}
}

static void forget_tokens(struct auth_server *server)
{
	auth_tokens_free(server->tokens);
	auth_jwt_keys_free(server->keys);
}

void auth_server_configure(struct auth_server *server, const struct config *config)
{
	server->is_leaving_dovecot =
		config->auth.users != CONFIG_AUTH_DOVECOT || server->dovecot == NULL ||
		strcmp(config->auth.socket, dovecot_path(server->dovecot)) != 0;
	ipc_server_each(server->ipc, end_attempts);
	if (server->is_leaving_dovecot) {
		dovecot_free(server->dovecot);
		server->dovecot = NULL;
	}
	forget_tokens(server);
	apply_auth_settings(server, config);
}

void auth_server_set_users(struct auth_server *server, const uid_t *users, size_t count)
{
	ipc_server_set_users(server->ipc, users, count);
}

int auth_server_new(const struct auth_server_ways *ways, const struct config *config,
		    struct auth_server **server_out)
{
	static const struct directory_client_handler directory = {auth_logins_hear_directory};
	struct auth_server *server = memory_alloc_zero(1, sizeof *server);
	int error = auth_checks_new(ways->loop, config->auth.threads, &server->checks);

	if (error < 0) {
		free(server);
		return error;
	}
	server->ways = *ways;
	server->failures = auth_failures_new();
	server->known = auth_known_new();
	server->inventor = auth_inventor_new(ways->seed);
	if (ways->directory != NULL)
		server->directory = directory_client_new(ways->loop, &ways->directory, 1, NULL,
							 &directory, server);
	auth_logins_open(server);
	server->keys_changed = auth_offer_update;
	auth_keys_open(server);
	apply_auth_settings(server, config);
	server->ipc = ipc_server_new(ways->loop, ways->listening, &server_kind, server);
	*server_out = server;
	return 0;
}

void auth_server_free(struct auth_server *server)
{
	if (server == NULL)
		return;
	ipc_server_free(server->ipc);
	dovecot_free(server->dovecot);
	forget_tokens(server);
	auth_logins_close(server);
	auth_keys_close(server);
	auth_checks_free(server->checks);
	directory_client_free(server->directory);
	auth_failures_free(server->failures);
	auth_known_free(server->known);
	auth_inventor_free(server->inventor);
	buffer_clear(&server->secret);
	free(server);
}
