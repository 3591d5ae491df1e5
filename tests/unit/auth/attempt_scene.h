// SPDX-License-Identifier: ISC
/*
 * tests/unit/auth/attempt_scene.h - a process that asks the server "auth" for attempts, whose
 * mechanisms, directory, Dovecot, passwords, tokens and failures do what a test says.
 */
#ifndef TESTS_UNIT_AUTH_ATTEMPT_SCENE_H
#define TESTS_UNIT_AUTH_ATTEMPT_SCENE_H

#include "auth/server/internal.h"
#include "base/panic.h"
#include "fake_loop.h"
#include "ipc/pack.h"
#include "log_lines.h"
#include "os/clock.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* A mechanism: what it is, says and has found out. */
struct sasl {
	enum sasl_state state;
	enum auth_refusal refusal;
	const char *message, *user, *secret, *reason;
	bool has_failed, has_told;
	struct sasl_peer peer;
	/* what it was given last */
	char taken[40], answered_user[40];
	unsigned takes, answers;
	enum sasl_finding finding;
	bool has_keys;
	struct directory_scram keys;
	enum sasl_state next; /* after that */
};

static struct {
	struct config config;
	struct auth_server server;
	struct auth_asker asker;
	struct auth_offered offered;
	bool is_offered, has_binding;
	/* mechanisms */
	struct sasl script;
	struct sasl *sasl; /* the last one */
	unsigned sasl_freed;
	/* what was sent last */
	unsigned sent;
	uint32_t tag, outcome, refusal;
	char message[AUTH_MESSAGE_MAX + 1], user[AUTH_USER_MAX + 1], stamp[300];
	/* others */
	bool is_refused;
	unsigned failures, forgiven, added_failures, known_added;
	bool is_known;
	int64_t delay_us;
	char failed_user[40];
	struct directory_question *question; /* the open one */
	char asked_user[40];
	unsigned cancelled_questions;
	struct dovecot_request *request; /* likewise */
	struct dovecot_ask ask;
	char asked_certificate[40], asked_initial[40], response[40];
	auth_token_judged *token_judged;
	void *token_context;
	struct auth_token_request *token_place;
	unsigned cancelled_tokens, cancelled_checks;
	/* a password that is checked */
	char hashes[5][40];
	size_t hash_count, learnt;
	bool is_spoilt, is_bound, is_full;
	enum auth_trust trust;
	auth_password_judged *judged;
	void *judged_context;
} world;

/* --- mechanisms --- */

struct sasl *sasl_new(const struct sasl_mechanism *mechanism, const struct sasl_peer *peer)
{
	struct sasl *sasl = memory_alloc_zero(1, sizeof *sasl);

	(void)mechanism;
	*sasl = world.script;
	sasl->peer = *peer;
	world.sasl = sasl;
	return sasl;
}

void sasl_free(struct sasl *sasl)
{
	world.sasl_freed += sasl != NULL;
	if (sasl == world.sasl)
		world.sasl = NULL;
	free(sasl);
}

enum sasl_state sasl_state(const struct sasl *sasl)
{
	return sasl->state;
}

struct str sasl_message(const struct sasl *sasl)
{
	return str_from(sasl->message);
}

void sasl_take(struct sasl *sasl, struct str message)
{
	assert_true(message.length < sizeof sasl->taken);
	memcpy(sasl->taken, message.data, message.length);
	sasl->taken[message.length] = '\0';
	sasl->takes++;
	sasl->state = sasl->next;
}

struct str sasl_user(const struct sasl *sasl)
{
	return str_from(sasl->user);
}

struct str sasl_secret(const struct sasl *sasl)
{
	return str_from(sasl->secret);
}

void sasl_answer(struct sasl *sasl, enum sasl_finding finding, struct str user,
		 const struct directory_scram *keys)
{
	sasl->answers++;
	sasl->finding = finding;
	memcpy(sasl->answered_user, user.data, user.length);
	sasl->answered_user[user.length] = '\0';
	sasl->has_keys = keys != NULL;
	if (keys != NULL)
		sasl->keys = *keys;
	sasl->state = sasl->next;
}

bool sasl_has_failed(const struct sasl *sasl)
{
	return sasl->has_failed;
}

bool sasl_has_told(const struct sasl *sasl)
{
	return sasl->has_told;
}

void sasl_claimed(const struct sasl *sasl, struct buffer *out)
{
	buffer_append_string(out, sasl->user);
}

enum auth_refusal sasl_refusal(const struct sasl *sasl)
{
	return sasl->refusal;
}

const char *sasl_reason(const struct sasl *sasl)
{
	return sasl->reason;
}

const struct sasl_mechanism *sasl_mechanism_find(struct str name)
{
	static const struct sasl_mechanism scram = {.name = "SCRAM",
						    .keys = DIRECTORY_PASSWORD_SCRAM_SHA_256};

	assert_true(str_equal(name, STR("SCRAM")));
	return &scram;
}

const struct auth_offered *auth_offer_find(const struct auth_server *server, struct str name)
{
	assert_ptr_equal(server, &world.server);
	return world.is_offered && str_equal(name, str_from(world.offered.name)) ? &world.offered
										 : NULL;
}

bool auth_offer_has_binding(const struct auth_server *server)
{
	assert_ptr_equal(server, &world.server);
	return world.has_binding;
}

/* --- failures --- */

struct in6_addr auth_failures_client(const struct in6_addr *address)
{
	struct in6_addr client = *address;

	client.s6_addr[15] = 0;
	return client;
}

bool auth_failures_is_refused(struct auth_failures *failures, const struct in6_addr *client,
			      int64_t now_us)
{
	(void)failures, (void)client;
	assert_int_equal(now_us, os_clock_boot_us());
	return world.is_refused;
}

unsigned auth_failures_count(struct auth_failures *failures, const struct in6_addr *client,
			     int64_t now_us)
{
	(void)failures, (void)client;
	assert_int_equal(now_us, os_clock_boot_us());
	return world.failures;
}

int64_t auth_failures_add(struct auth_failures *failures, const struct in6_addr *client,
			  struct str user, int64_t now_us)
{
	(void)failures, (void)client;
	assert_int_equal(now_us, os_clock_boot_us());
	memcpy(world.failed_user, user.data, user.length);
	world.failed_user[user.length] = '\0';
	world.added_failures++;
	world.failures++;
	return world.delay_us;
}

void auth_failures_forgive(struct auth_failures *failures, const struct in6_addr *client,
			   struct str user)
{
	(void)failures, (void)client;
	assert_true(user.length > 0);
	world.forgiven++;
}

void auth_known_add(struct auth_known *known, const struct in6_addr *client, int64_t now_us)
{
	(void)known;
	assert_int_equal(client->s6_addr[15], 0);
	assert_int_equal(now_us, os_clock_boot_us());
	world.known_added++;
}

bool auth_known_has(const struct auth_known *known, const struct in6_addr *client, int64_t now_us)
{
	(void)known, (void)now_us;
	assert_int_equal(client->s6_addr[15], 0);
	return world.is_known;
}

/* --- passwords --- */

struct auth_password *auth_password_new(const struct auth_binder *binder, struct str user,
					struct str password)
{
	assert_true(str_equal(user, STR("lisa")) && str_equal(password, STR("secret")));
	world.is_bound = binder != NULL;
	world.hash_count = 0;
	world.is_spoilt = false;
	return (struct auth_password *)(void *)&world;
}

void auth_password_add_hash(struct auth_password *password, struct str hash)
{
	char *place = world.hashes[world.hash_count++];

	assert_ptr_equal(password, &world);
	assert_true(world.hash_count <= COUNT_OF(world.hashes));
	memcpy(place, hash.data, hash.length);
	place[hash.length] = '\0';
}

void auth_password_spoil(struct auth_password *password)
{
	assert_ptr_equal(password, &world);
	world.is_spoilt = true;
}

struct auth_check *auth_password_check(struct auth_password *password, struct auth_checks *checks,
				       const struct in6_addr *client, enum auth_trust trust,
				       auth_password_judged *judged, void *context)
{
	assert_ptr_equal(password, &world);
	assert_ptr_equal(checks, world.server.checks);
	assert_int_equal(client->s6_addr[15], 0);
	world.trust = trust;
	world.judged = judged;
	world.judged_context = context;
	return world.is_full ? NULL : (struct auth_check *)(void *)&world;
}

void auth_check_cancel(struct auth_check *check)
{
	world.cancelled_checks += check != NULL;
}

void auth_inventor_learn(struct auth_inventor *inventor, struct str hash)
{
	(void)inventor;
	assert_true(hash.length > 0);
	world.learnt++;
}

struct str auth_inventor_hash(const struct auth_inventor *inventor)
{
	(void)inventor;
	return STR("invented");
}

void auth_inventor_keys(const struct auth_inventor *inventor, struct str user,
			enum directory_password_method method, struct directory_scram *keys_out)
{
	(void)inventor;
	assert_true(str_equal(user, STR("lisa")));
	memset(keys_out, 0, sizeof *keys_out);
	keys_out->method = method;
	keys_out->iterations = 5000;
	keys_out->salt_length = 4;
	memset(keys_out->salt, 'i', 4);
	keys_out->key_length = 32;
}

void auth_login_stamp(const struct auth_server *server, struct str hash, struct buffer *out)
{
	assert_ptr_equal(server, &world.server);
	buffer_reset(out);
	buffer_append_string(out, "of ");
	buffer_append_str(out, hash);
}

/* --- tokens, the directory, Dovecot --- */

void auth_tokens_ask(struct auth_tokens *tokens, struct str token, auth_token_judged *done,
		     void *context, struct auth_token_request **request_out)
{
	(void)tokens;
	assert_true(str_equal(token, STR("secret")));
	world.token_judged = done;
	world.token_context = context;
	*request_out = (struct auth_token_request *)(void *)&world;
}

void auth_token_request_cancel(struct auth_token_request *request)
{
	world.cancelled_tokens += request != NULL;
}

void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question)
{
	assert_ptr_equal(client, world.server.directory);
	assert_string_equal(table, "user");
	assert_true(patience_us > 0 && key.length < sizeof world.asked_user);
	memcpy(world.asked_user, key.data, key.length);
	world.asked_user[key.length] = '\0';
	world.question = question;
	question->private = (struct directory_question_private *)(void *)&world;
}

void directory_question_cancel(struct directory_client *client, struct directory_question *question)
{
	assert_ptr_equal(client, world.server.directory);
	assert_ptr_equal(question, world.question);
	question->private = NULL;
	world.question = NULL;
	world.cancelled_questions++;
}

void dovecot_begin(struct dovecot *dovecot, const struct dovecot_ask *ask,
		   struct dovecot_request *request)
{
	request->dovecot = dovecot;
	world.request = request;
	world.ask = *ask;
	memcpy(world.asked_certificate, ask->certificate_name.data, ask->certificate_name.length);
	memcpy(world.asked_initial, ask->initial.data, ask->initial.length);
}

void dovecot_respond(struct dovecot_request *request, struct str response)
{
	assert_ptr_equal(request, world.request);
	memcpy(world.response, response.data, response.length);
	world.response[response.length] = '\0';
}

void dovecot_cancel(struct dovecot_request *request)
{
	request->dovecot = NULL;
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct unpack unpack = {body, false};
	struct str text[3];
	char *const places[] = {world.message, world.user, world.stamp};

	assert_ptr_equal(channel, world.asker.channel);
	assert_int_equal(type, AUTH_ANSWER);
	assert_true(descriptors == NULL && descriptor_count == 0);
	world.sent++;
	world.tag = tag;
	world.outcome = unpack_u32(&unpack);
	world.refusal = unpack_u32(&unpack);
	for (size_t i = 0; i < COUNT_OF(text); i++) {
		text[i] = unpack_str(&unpack);
		memcpy(places[i], text[i].data, text[i].length);
		places[i][text[i].length] = '\0';
	}
	assert_true(unpack_is_whole(&unpack));
}

/* --- the scene --- */

/* What AUTH_BEGIN says. */
struct auth_wanted {
	const char *address;
	bool is_secured, has_initial;
	struct str exporter, end_point, certificate, certificate_name, protocol, session, mechanism,
		initial;
	const char *more; /* than there should be */
};

static inline struct auth_wanted usual_attempt(void)
{
	return (struct auth_wanted){.address = "::ffff:192.0.2.7",
				    .is_secured = true,
				    .protocol = STR("submission"),
				    .session = STR("1:2"),
				    .mechanism = STR("SCRAM"),
				    .exporter = STR(""),
				    .end_point = STR(""),
				    .certificate = STR(""),
				    .certificate_name = STR(""),
				    .initial = STR(""),
				    .more = ""};
}

static inline bool begin_attempt(uint32_t tag, const struct auth_wanted *wanted)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, wanted->address, &address), 1);
	pack_str(&body, str_slice((const char *)&address, sizeof address));
	pack_u32(&body, wanted->is_secured);
	pack_str(&body, wanted->exporter);
	pack_str(&body, wanted->end_point);
	pack_str(&body, wanted->certificate);
	pack_str(&body, wanted->certificate_name);
	pack_str(&body, wanted->protocol);
	pack_u32(&body, 4711);
	pack_str(&body, wanted->session);
	pack_str(&body, wanted->mechanism);
	pack_u32(&body, wanted->has_initial);
	pack_str(&body, wanted->initial);
	buffer_append_string(&body, wanted->more);
	return auth_attempt_begin(&world.asker, tag, buffer_view(&body));
}

static inline struct auth_attempt *find_attempt(uint32_t tag)
{
	struct auth_attempt *attempt;

	HASH_FIND(hh, world.asker.attempts, &tag, sizeof tag, attempt);
	return attempt;
}

static inline bool respond_to(uint32_t tag, struct str message, const char *more)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, message);
	buffer_append_string(&body, more);
	return auth_attempt_respond(find_attempt(tag), buffer_view(&body));
}

static inline void begin_world(void)
{
	static const struct sasl_mechanism *const own =
		(const struct sasl_mechanism *)(const void *)&world;

	while (world.asker.attempts != NULL)
		auth_attempt_free(world.asker.attempts);
	assert_null(world.server.tallies);
	buffer_clear(&log_lines);
	memset(&world, 0, sizeof world);
	world.server.config = &world.config;
	world.server.directory = (struct directory_client *)(void *)&world.config;
	world.asker.server = &world.server;
	world.asker.channel = (struct ipc_channel *)(void *)&world;
	world.is_offered = true;
	world.offered = (struct auth_offered){.name = "SCRAM", .own = own};
	world.script = (struct sasl){
		.message = "challenge", .user = "lisa", .secret = "secret", .reason = "wrong"};
	world.config.auth.failure_limit = 9;
}

static inline int set_up_attempts(void **state)
{
	(void)state;
	fake_begin(1);
	fake_advance(5 * SECOND_US);
	begin_world();
	return 0;
}

static inline int tear_down_attempts(void **state)
{
	(void)state;
	begin_world();
	return fake_timers() > 0 ? -1 : 0;
}

#define ATTEMPT_TEST(name) \
	cmocka_unit_test_setup_teardown(name, set_up_attempts, tear_down_attempts)

#endif
