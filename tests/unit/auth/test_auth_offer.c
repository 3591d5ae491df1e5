// SPDX-License-Identifier: ISC
/* Which mechanisms are offered, as far as that hangs on the keys that users have: a directory that
 * answers when the test wants it. */
#include "auth/server/internal.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

#define PLAIN  "PLAIN LOGIN"
#define SHA256 "SCRAM-SHA-256"
#define SHA1   "SCRAM-SHA-1"

enum key { KEY_SHA256, KEY_SHA1 };

static const char *const key_names[AUTH_KEYS] = {"scram-sha-256", "scram-sha-1"};

static struct auth_server server;
static struct auth_asker asker;
static struct config config;
static struct directory_question *questions[AUTH_KEYS]; /* NULL: it is not asked */
static void (*on_again)(void *context);                 /* of the timer */
static bool is_waiting;                                 /* it runs */
static char offered[256]; /* what who asks was told last; "?": nothing yet */
static unsigned tellings;
static unsigned withheld; /* as the log has it */
static bool are_tokens_known;
static struct dovecot_mechanism its_mechanisms[AUTH_MECHANISMS_MAX + 1]; /* Dovecot's */
static size_t its_mechanism_count;

void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question)
{
	(void)client, (void)patience_us;
	assert_string_equal(table, "lacking");
	for (size_t i = 0; i < AUTH_KEYS; i++)
		if (str_equal(key, str_from(key_names[i]))) {
			assert_null(questions[i]);
			questions[i] = question;
			question->private = (struct directory_question_private *)question;
			return;
		}
	fail_msg("another method is asked about");
}

void directory_question_cancel(struct directory_client *client, struct directory_question *question)
{
	(void)client;
	for (size_t i = 0; i < AUTH_KEYS; i++)
		if (questions[i] == question)
			questions[i] = NULL;
	question->private = NULL;
}

struct os_timer *os_timer_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	(void)loop;
	assert_ptr_equal(context, &server);
	on_again = call;
	return NULL;
}

void os_timer_free(struct os_timer *timer)
{
	(void)timer;
	is_waiting = false;
}

void os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	(void)timer;
	assert_true(delay_us > 0);
	is_waiting = true;
}

bool os_timer_is_running(const struct os_timer *timer)
{
	(void)timer;
	return is_waiting;
}

void log_write(enum log_name name, const struct log_field *fields)
{
	(void)fields;
	assert_int_equal(name, EVENT_AUTH_WITHHELD);
	withheld++;
}

bool auth_tokens_are_known(const struct auth_tokens *tokens)
{
	(void)tokens;
	return are_tokens_known;
}

const struct dovecot_mechanism *dovecot_mechanisms(const struct dovecot *dovecot, size_t *count_out)
{
	assert_ptr_equal(dovecot, &its_mechanisms);
	*count_out = its_mechanism_count;
	return its_mechanisms;
}

void ipc_server_each(struct ipc_server *ipc,
		     void (*call)(void *client, struct ipc_channel *channel))
{
	(void)ipc;
	call(&asker, NULL);
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t count)
{
	struct unpack unpack = {body, false};
	struct buffer names CLEANUP(buffer_clear) = {0};

	(void)channel, (void)descriptors;
	assert_int_equal(type, AUTH_OFFER);
	assert_int_equal(tag + count, 0);
	for (uint32_t left = unpack_u32(&unpack); left > 0; left--) {
		if (names.length > 0)
			buffer_append_byte(&names, ' ');
		buffer_append_str(&names, unpack_str(&unpack));
		(void)unpack_u32(&unpack);
	}
	assert_true(unpack_is_whole(&unpack));
	buffer_append_byte(&names, '\0');
	assert_true(names.length <= sizeof offered);
	memcpy(offered, buffer_data(&names), names.length);
	tellings++;
}

/* As auth_server_new() does it. */
static int set_up(void **state)
{
	(void)state;
	config = (struct config){.auth = {.users = CONFIG_AUTH_DIRECTORY}};
	server = (struct auth_server){.directory = (struct directory_client *)&server,
				      .ipc = (struct ipc_server *)&server,
				      .config = &config,
				      .keys_changed = auth_offer_update};
	asker = (struct auth_asker){.server = &server};
	memset(questions, 0, sizeof questions);
	is_waiting = false;
	tellings = withheld = 0;
	are_tokens_known = false;
	its_mechanism_count = 0;
	strcpy(offered, "?");
	auth_keys_open(&server);
	return 0;
}

static void configure(void)
{
	auth_keys_ask(&server);
	auth_offer_update(&server);
}

static int tear_down(void **state)
{
	(void)state;
	auth_keys_close(&server);
	assert_true(questions[KEY_SHA256] == NULL && questions[KEY_SHA1] == NULL);
	assert_false(is_waiting);
	return 0;
}

/* IS_LACKING: some user has a password, and no such keys. */
static void answer(enum key key, enum directory_error error, bool is_lacking)
{
	struct directory_question *question = questions[key];
	const struct directory_answer_text text = {.error = error, .exists = is_lacking};

	assert_non_null(question);
	questions[key] = NULL;
	question->private = NULL;
	question->answered(question->context, &text);
}

static void answer_both(bool lacks_sha256, bool lacks_sha1)
{
	answer(KEY_SHA256, DIRECTORY_ERROR_NONE, lacks_sha256);
	answer(KEY_SHA1, DIRECTORY_ERROR_NONE, lacks_sha1);
}

/* Clients take it, and try nothing else. */
static void scram_is_for_all_users_or_for_none(void **state)
{
	static const struct {
		bool lacks_sha256, lacks_sha1;
		const char *offered;
	} cases[] = {
		{true, true, PLAIN},
		{false, true, SHA256 "-PLUS " SHA256 " " PLAIN},
		{true, false, SHA1 "-PLUS " SHA1 " " PLAIN},
		{false, false, SHA256 "-PLUS " SHA1 "-PLUS " SHA256 " " SHA1 " " PLAIN},
	};

	(void)state;
	configure();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		answer_both(cases[i].lacks_sha256, cases[i].lacks_sha1);
		assert_string_equal(offered, cases[i].offered);
		assert_int_equal(auth_offer_has_binding(&server),
				 !cases[i].lacks_sha256 || !cases[i].lacks_sha1);
		/* by clients that know of it */
		assert_non_null(auth_offer_find(&server, STR(SHA256)));
		assert_non_null(auth_offer_find(&server, STR(SHA1 "-PLUS")));
		auth_keys_ask(&server); /* a user has changed */
	}
	assert_int_equal(withheld, 3);
}

/* A client that has begun with what it was told cannot be told later. */
static void nothing_is_offered_before_that_is_known(void **state)
{
	(void)state;
	configure();
	auth_offer_tell(&asker, NULL);
	assert_int_equal(tellings, 0);
	answer(KEY_SHA1, DIRECTORY_ERROR_NONE, true);
	auth_offer_tell(&asker, NULL);
	assert_int_equal(tellings, 0);
	answer(KEY_SHA256, DIRECTORY_ERROR_NONE, false);
	assert_int_equal(tellings, 1);
	assert_string_equal(offered, SHA256 "-PLUS " SHA256 " " PLAIN);
}

/* Nobody waits for a directory that does not answer; it is asked again. */
static void what_is_unknown_is_not_offered(void **state)
{
	(void)state;
	configure();
	answer(KEY_SHA256, DIRECTORY_ERROR_LATER, false);
	answer(KEY_SHA1, DIRECTORY_ERROR_NONE, false);
	assert_string_equal(offered, SHA1 "-PLUS " SHA1 " " PLAIN);
	assert_true(is_waiting);
	is_waiting = false;
	on_again(&server);
	answer_both(false, false);
	assert_non_null(strstr(offered, SHA256));
	assert_false(is_waiting);
	assert_int_equal(withheld, 0);
}

/* While the directory does not answer, what it has said holds. */
static void what_was_known_holds(void **state)
{
	(void)state;
	configure();
	answer_both(false, true);
	assert_int_equal(tellings, 1);
	auth_keys_ask(&server);
	answer(KEY_SHA256, DIRECTORY_ERROR_LATER, false);
	answer(KEY_SHA1, DIRECTORY_ERROR_LATER, false);
	auth_offer_tell(&asker, NULL);
	assert_string_equal(offered, SHA256 "-PLUS " SHA256 " " PLAIN);
	assert_int_equal(tellings, 2);
	is_waiting = false;
	on_again(&server);
	answer_both(false, true); /* no news */
	assert_int_equal(tellings, 2);
	assert_int_equal(withheld, 1);
}

/* An answer that was under way may be of before. */
static void a_change_meanwhile_is_asked_about(void **state)
{
	(void)state;
	configure();
	auth_keys_ask(&server);
	auth_keys_ask(&server);
	answer_both(false, false);
	answer_both(true, false);
	assert_string_equal(offered, SHA1 "-PLUS " SHA1 " " PLAIN);
	assert_true(questions[KEY_SHA256] == NULL && questions[KEY_SHA1] == NULL);
}

/* The operator knows. */
static void what_the_settings_name_is_offered(void **state)
{
	static const char *mechanisms[] = {SHA1, "PLAIN"};

	(void)state;
	config.auth.mechanisms = mechanisms;
	config.auth.mechanism_count = COUNT_OF(mechanisms);
	configure();
	assert_true(questions[KEY_SHA256] == NULL && questions[KEY_SHA1] == NULL);
	assert_string_equal(offered, SHA1 " PLAIN");
	config.auth.mechanism_count = 0;
	configure();
	answer_both(true, true);
	assert_string_equal(offered, PLAIN);
}

/* They bind with passwords. */
static void users_of_an_ldap_server_have_no_keys(void **state)
{
	(void)state;
	config.auth.users = CONFIG_AUTH_LDAP;
	server.ways.binder = (const struct auth_binder *)&server;
	configure();
	assert_true(questions[KEY_SHA256] == NULL && questions[KEY_SHA1] == NULL);
	assert_string_equal(offered, PLAIN);
}

/* In PLACE is NAME. */
static void check_offered(size_t place, const char *name, unsigned needs, bool is_own)
{
	assert_true(place < server.offered_count);
	assert_string_equal(server.offered[place].name, name);
	assert_int_equal(server.offered[place].needs, needs);
	assert_int_equal(server.offered[place].own != NULL, is_own);
	assert_false(server.offered[place].is_withheld);
}

/* All lists of up to three of its mechanisms, in all orders, twice the same among them: those that
 * we know first, in our order, then the others in its own. */
static void dovecot_offers_what_is_not_bound(void **state)
{
	static const struct {
		const char *name;
		unsigned rank, needs; /* rank 0: unknown to us */
	} all[] = {
		{"LOGIN", 5, AUTH_NEEDS_SECURED},
		{"CRAM-MD5", 0, AUTH_NEEDS_SECURED},
		{"SCRAM-SHA-1", 2, AUTH_NEEDS_SECURED},
		{"SCRAM-SHA-1-PLUS", 9, 0},
		{"X-PLUS", 9, 0},
		{"-PLUS", 9, 0},
		{"PLUS", 0, AUTH_NEEDS_SECURED},
		{"XOAUTH2", 3, AUTH_NEEDS_SECURED},
		{"PLAIN", 4, AUTH_NEEDS_SECURED},
		{"SCRAM-SHA-256", 1, AUTH_NEEDS_SECURED},
	};
	static const size_t kinds = COUNT_OF(all) + 1; /* or nothing */

	(void)state;
	config.auth.users = CONFIG_AUTH_DOVECOT;
	server.dovecot = (struct dovecot *)(void *)&its_mechanisms;
	for (size_t i = 0; i < kinds * kinds * kinds; i++) {
		const size_t picked[] = {i % kinds, i / kinds % kinds, i / kinds / kinds};
		size_t place = 0;

		its_mechanism_count = 0;
		for (size_t j = 0; j < COUNT_OF(picked); j++)
			if (picked[j] < COUNT_OF(all))
				strcpy(its_mechanisms[its_mechanism_count++].name,
				       all[picked[j]].name);
		auth_offer_update(&server);
		for (unsigned rank = 1; rank <= 5; rank++)
			for (size_t j = 0; j < COUNT_OF(picked); j++)
				if (picked[j] < COUNT_OF(all) && all[picked[j]].rank == rank) {
					check_offered(place++, all[picked[j]].name,
						      all[picked[j]].needs, false);
					break;
				}
		for (size_t j = 0; j < COUNT_OF(picked); j++) {
			bool is_again = false;

			for (size_t k = 0; k < j; k++)
				is_again |= picked[k] == picked[j];
			if (picked[j] < COUNT_OF(all) && all[picked[j]].rank == 0 && !is_again)
				check_offered(place++, all[picked[j]].name, all[picked[j]].needs,
					      false);
		}
		assert_int_equal(server.offered_count, place);
		assert_false(auth_offer_has_binding(&server));
	}
	assert_int_equal(withheld, 0);
}

/* As many as clients are told of; what a client is told is just the settings' choice of it. */
static void dovecot_may_have_too_many(void **state)
{
	static const char *mechanisms[] = {"M16", "M3", "OAUTHBEARER"};

	(void)state;
	config.auth.users = CONFIG_AUTH_DOVECOT;
	server.dovecot = (struct dovecot *)(void *)&its_mechanisms;
	for (size_t count = AUTH_MECHANISMS_MAX - 1; count <= AUTH_MECHANISMS_MAX + 1; count++) {
		its_mechanism_count = count;
		for (size_t i = 0; i < count; i++)
			snprintf(its_mechanisms[i].name, sizeof its_mechanisms[i].name, "M%zu", i);
		auth_offer_update(&server);
		assert_int_equal(server.offered_count,
				 count < AUTH_MECHANISMS_MAX ? count : AUTH_MECHANISMS_MAX);
		for (size_t i = 0; i < server.offered_count; i++)
			check_offered(i, its_mechanisms[i].name, AUTH_NEEDS_SECURED, false);
		assert_null(auth_offer_find(&server, STR("M16")));
	}
	config.auth.mechanisms = mechanisms;
	config.auth.mechanism_count = COUNT_OF(mechanisms);
	auth_offer_update(&server);
	assert_string_equal(offered, "M3 M16");
	are_tokens_known = true; /* which we judge by ourselves, whoever has the users */
	auth_offer_update(&server);
	assert_string_equal(offered, "OAUTHBEARER M3 M16");
	check_offered(0, "OAUTHBEARER", AUTH_NEEDS_SECURED, true);
}

/* Certificates prove who a user is, where clients are asked for one and the directory has users. */
static void certificates_need_an_authority(void **state)
{
	struct config_listen listens[] = {{.client_authority = ""}, {.client_authority = ""}};

	(void)state;
	config.listens = listens;
	config.listen_count = COUNT_OF(listens);
	for (unsigned i = 0; i < 3 * 2 * 3; i++) {
		static const enum config_auth_users users[] = {
			CONFIG_AUTH_DIRECTORY, CONFIG_AUTH_LDAP, CONFIG_AUTH_DOVECOT};
		bool has_directory = i / 3 % 2 > 0;
		unsigned who = i / 6;
		const struct auth_offered *found;

		config.auth.users = users[i % 3];
		server.directory = has_directory ? (struct directory_client *)&server : NULL;
		listens[0].client_authority = who == 1 ? "a.pem" : "";
		listens[1].client_authority = who == 2 ? "a.pem" : "";
		auth_offer_update(&server);
		found = auth_offer_find(&server, STR("EXTERNAL"));
		if (who > 0 && has_directory && users[i % 3] != CONFIG_AUTH_DOVECOT) {
			assert_ptr_equal(found, &server.offered[0]);
			assert_true((found->needs & AUTH_NEEDS_CERTIFICATE) != 0);
			assert_ptr_equal(found->own, sasl_mechanism_find(STR("EXTERNAL")));
		} else {
			assert_null(found);
		}
		assert_int_equal(auth_offer_find(&server, STR("PLAIN")) != NULL,
				 has_directory && users[i % 3] == CONFIG_AUTH_DIRECTORY);
		assert_null(auth_offer_find(&server, STR("XOAUTH2")));
	}
	config.listen_count = 0;
	server.directory = (struct directory_client *)&server;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(scram_is_for_all_users_or_for_none),
		TEST(nothing_is_offered_before_that_is_known),
		TEST(what_is_unknown_is_not_offered),
		TEST(what_was_known_holds),
		TEST(a_change_meanwhile_is_asked_about),
		TEST(what_the_settings_name_is_offered),
		TEST(users_of_an_ldap_server_have_no_keys),
		TEST(dovecot_offers_what_is_not_bound),
		TEST(dovecot_may_have_too_many),
		TEST(certificates_need_an_authority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
