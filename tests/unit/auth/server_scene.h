// SPDX-License-Identifier: ISC
/* tests/unit/auth/server_scene.h - the server "auth", of whose parts only calls are seen. */
#ifndef TESTS_UNIT_AUTH_SERVER_SCENE_H
#define TESTS_UNIT_AUTH_SERVER_SCENE_H

#include "auth/server/internal.h"
#include "base/panic.h"
#include "log_lines.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dovecot {
	char path[40];
};

static struct {
	struct auth_server *server;
	const struct ipc_server_kind *kind;
	struct auth_asker *asker; /* the one that is connected */
	struct ipc_channel *channel;
	struct config config;
	char folder[SCRATCH_SIZE];
	/* calls, in their order */
	struct buffer calls;
	struct auth_tokens_settings tokens;
	char secret[60];
	struct auth_failures_settings failures;
	int checks_error;
	unsigned open; /* parts that are not freed */
	size_t keys;
	bool is_malformed;
	struct auth_attempt *attempts[3];
} world;

static void note(const char *call)
{
	buffer_append_format(&world.calls, "%s%s", world.calls.length > 0 ? " " : "", call);
}

static void expect_calls(const char *expected)
{
	buffer_append_byte(&world.calls, '\0');
	assert_string_equal(buffer_data(&world.calls), expected);
	buffer_clear(&world.calls);
}

/* --- parts --- */

#define PART(name, new_arguments)                     \
	struct name *name##_new new_arguments         \
	{                                             \
		world.open++;                         \
		return (struct name *)(void *)&world; \
	}                                             \
	void name##_free(struct name *part)           \
	{                                             \
		world.open -= part != NULL;           \
	}

PART(auth_failures, (void))
PART(auth_known, (void))
PART(auth_jwt_keys, (void))

struct auth_inventor *auth_inventor_new(struct str seed)
{
	assert_true(str_equal(seed, STR("seed")));
	world.open++;
	return (struct auth_inventor *)(void *)&world;
}

void auth_inventor_free(struct auth_inventor *inventor)
{
	world.open -= inventor != NULL;
}

int auth_checks_new(struct os_loop *loop, unsigned threads, struct auth_checks **checks_out)
{
	(void)loop;
	assert_int_equal(threads, 5);
	if (world.checks_error < 0)
		return world.checks_error;
	world.open++;
	*checks_out = (struct auth_checks *)(void *)&world;
	return 0;
}

void auth_checks_free(struct auth_checks *checks)
{
	world.open -= checks != NULL;
}

void auth_failures_configure(struct auth_failures *failures,
			     const struct auth_failures_settings *settings)
{
	assert_non_null(failures);
	world.failures = *settings;
}

int auth_jwt_keys_add(struct auth_jwt_keys *keys, struct str pem, struct buffer *why)
{
	assert_non_null(keys);
	if (str_equal(pem, STR("bad"))) {
		buffer_append_string(why, "is no key");
		return -EINVAL;
	}
	assert_true(pem.length > 0);
	world.keys++;
	return 0;
}

struct auth_tokens *auth_tokens_new(struct https *https,
				    const struct auth_tokens_settings *settings)
{
	assert_ptr_equal(https, &world.config);
	world.open++;
	world.tokens = *settings;
	memcpy(world.secret, settings->secret.data, settings->secret.length);
	world.secret[settings->secret.length] = '\0';
	return (struct auth_tokens *)(void *)&world;
}

void auth_tokens_free(struct auth_tokens *tokens)
{
	world.open -= tokens != NULL;
}

struct dovecot *dovecot_new(struct os_loop *loop, const char *path, void (*changed)(void *context),
			    void *context)
{
	struct dovecot *dovecot = memory_alloc_zero(1, sizeof *dovecot);

	(void)loop;
	assert_non_null(context);
	snprintf(dovecot->path, sizeof dovecot->path, "%s", path);
	world.open++;
	note("dovecot");
	changed(context);
	return dovecot;
}

void dovecot_free(struct dovecot *dovecot)
{
	if (dovecot == NULL)
		return;
	world.open--;
	note("no-dovecot");
	free(dovecot);
}

const char *dovecot_path(const struct dovecot *dovecot)
{
	return dovecot->path;
}

void dovecot_cancel(struct dovecot_request *request)
{
	request->dovecot = NULL;
}

struct directory_client *directory_client_new(struct os_loop *loop, const char *const *servers,
					      size_t server_count,
					      const struct directory_dialer *dialer,
					      const struct directory_client_handler *handler,
					      void *context)
{
	(void)loop, (void)dialer;
	assert_int_equal(server_count, 1);
	assert_string_equal(servers[0], "unix:/directory");
	assert_true(handler->state == auth_logins_hear_directory && context != NULL);
	world.open++;
	return (struct directory_client *)(void *)&world;
}

void directory_client_free(struct directory_client *client)
{
	world.open -= client != NULL;
}

const struct sasl_mechanism *sasl_mechanism_find(struct str name)
{
	static const struct sasl_mechanism plain = {.name = "PLAIN"};

	return str_equal(name, STR("PLAIN")) ? &plain : NULL;
}

void auth_logins_open(struct auth_server *server)
{
	(void)server;
	world.open++;
}

void auth_logins_close(struct auth_server *server)
{
	(void)server;
	world.open--;
}

void auth_keys_open(struct auth_server *server)
{
	(void)server;
	world.open++;
}

void auth_keys_close(struct auth_server *server)
{
	(void)server;
	world.open--;
}

void auth_keys_ask(struct auth_server *server)
{
	(void)server;
	note("keys");
}

void auth_offer_update(struct auth_server *server)
{
	(void)server;
	note("offer");
}

void auth_offer_tell(void *asker, struct ipc_channel *channel)
{
	assert_ptr_equal(channel, world.channel);
	assert_non_null(((struct auth_asker *)asker)->server);
	note("tell");
}

void auth_logins_hear_directory(void *server, bool is_up)
{
	(void)server, (void)is_up;
}

/* --- messages --- */

#define TAKES(name)                                                        \
	bool name(struct auth_asker *asker, uint32_t tag, struct str body) \
	{                                                                  \
		assert_ptr_equal(asker, world.asker);                      \
		assert_int_equal(tag, 7);                                  \
		assert_true(str_equal(body, STR("body")));                 \
		note(#name);                                               \
		return !world.is_malformed;                                \
	}

TAKES(auth_attempt_begin)
TAKES(auth_logins_follow)

bool auth_attempt_respond(struct auth_attempt *attempt, struct str body)
{
	assert_int_equal(attempt->tag, 7);
	assert_true(str_equal(body, STR("body")));
	note("respond");
	return !world.is_malformed;
}

void auth_logins_unfollow(struct auth_asker *asker, uint32_t tag)
{
	assert_ptr_equal(asker, world.asker);
	assert_int_equal(tag, 7);
	note("unfollow");
}

void auth_logins_lose(struct auth_asker *asker)
{
	assert_ptr_equal(asker, world.asker);
	note("lose");
}

static void end_attempt(struct auth_attempt *attempt, const char *how)
{
	note(how);
	HASH_DEL(attempt->asker->attempts, attempt);
	free(attempt);
}

void auth_attempt_free(struct auth_attempt *attempt)
{
	end_attempt(attempt, "free");
}

void auth_attempt_cancel(struct auth_attempt *attempt)
{
	end_attempt(attempt, "cancel");
}

void auth_attempt_leave(struct auth_attempt *attempt)
{
	end_attempt(attempt, "leave");
}

void auth_attempt_refuse(struct auth_attempt *attempt, enum auth_refusal refusal, struct str user,
			 const char *reason)
{
	assert_int_equal(refusal, AUTH_TEMPORARY);
	assert_int_equal(user.length, 0);
	assert_string_equal(reason, "the settings have changed");
	end_attempt(attempt, "refuse");
}

/* --- connections --- */

struct ipc_server *ipc_server_new(struct os_loop *loop, int listening,
				  const struct ipc_server_kind *kind, void *context)
{
	(void)loop, (void)context;
	assert_int_equal(listening, 6);
	world.kind = kind;
	world.open++;
	return (struct ipc_server *)(void *)&world;
}

void ipc_server_free(struct ipc_server *ipc)
{
	world.open -= ipc != NULL;
}

void ipc_server_set_users(struct ipc_server *ipc, const uid_t *users, size_t count)
{
	assert_non_null(ipc);
	assert_int_equal(users[count - 1], 9);
	note("users");
}

void ipc_server_each(struct ipc_server *ipc,
		     void (*call)(void *client, struct ipc_channel *channel))
{
	assert_non_null(ipc);
	if (world.asker != NULL)
		call(world.asker, world.channel);
}

void ipc_channel_set_secret(struct ipc_channel *channel)
{
	assert_ptr_equal(channel, world.channel);
	note("secret");
}

/* --- the scene --- */

static void open_server(void)
{
	const struct auth_server_ways ways = {.listening = 6,
					      .directory = "unix:/directory",
					      .https = (struct https *)(void *)&world.config,
					      .seed = STR("seed")};

	assert_int_equal(auth_server_new(&ways, &world.config, &world.server), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	assert_int_equal(scratch_make(world.folder), 0);
	world.channel = (struct ipc_channel *)(void *)&world.folder;
	world.config.auth = (struct config_auth){.users = CONFIG_AUTH_DIRECTORY,
						 .socket = "/one",
						 .threads = 5,
						 .failure_limit = 8,
						 .failure_memory_us = 9,
						 .token_issuer = "issuer",
						 .token_audience = "audience",
						 .token_claim = "claim",
						 .token_scope = "scope",
						 .introspection_url = "url",
						 .introspection_user = "user",
						 .introspection_secret_file = ""};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	auth_server_free(world.server);
	auth_server_free(NULL);
	assert_int_equal(world.open, 0);
	buffer_clear(&world.calls);
	buffer_clear(&log_lines);
	return scratch_remove(world.folder);
}

#endif
