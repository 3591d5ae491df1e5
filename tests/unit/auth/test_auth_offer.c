// SPDX-License-Identifier: ISC
/* Which mechanisms are offered, as far as that hangs on the keys that users have: a directory that
 * answers when the test wants it. */
#include "auth/server/internal.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "test.h"
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
	return false;
}

const struct dovecot_mechanism *dovecot_mechanisms(const struct dovecot *dovecot, size_t *count_out)
{
	(void)dovecot, (void)count_out;
	fail_msg("there is no Dovecot");
	return NULL;
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
