// SPDX-License-Identifier: ISC
/* What a mechanism asks, and what it is answered: for each kind of question and each answer of the
 * directory, the checks, the issuer of tokens and Dovecot, against a plain description. */
#include "attempt_scene.h"

static struct auth_attempt *begin_asking(enum sasl_state question)
{
	const struct auth_wanted wanted = usual_attempt();

	world.script.state = question;
	world.script.next = SASL_WANTS_MESSAGE;
	assert_true(begin_attempt(7, &wanted));
	assert_int_equal(find_attempt(7)->state, ATTEMPT_ASKS);
	assert_int_equal(world.sent, 0);
	return find_attempt(7);
}

/* Keys of the method that the mechanism has, and others. */
static struct buffer scram_text(enum directory_password_method method, char byte)
{
	struct directory_scram keys = {.method = method, .iterations = 4096, .salt_length = 4};
	struct buffer text = {0};

	keys.key_length = method == DIRECTORY_PASSWORD_SCRAM_SHA_1 ? 20 : 32;
	memset(keys.salt, byte, sizeof keys.salt);
	memset(keys.stored_key, byte, sizeof keys.stored_key);
	memset(keys.server_key, byte, sizeof keys.server_key);
	directory_scram_print(&keys, &text);
	return text;
}

/* --- records --- */

enum record {
	RECORD_ACTIVE,
	RECORD_SAYS_ACTIVE,
	RECORD_DISABLED,
	RECORD_NONE,
	RECORD_LATER,
	RECORDS
};

static const char *const record_reasons[RECORDS] = {
	NULL, NULL, "the user is not active", "no such user", "the directory does not answer"};

/* With the COUNT passwords. */
static void answer_record(enum record record, const struct str *passwords, size_t count)
{
	static const char *const states[RECORDS] = {"name Lisa", "state active", "state disabled",
						    "state active", "state active"};
	struct str results[8];
	struct buffer texts[8] = {{0}};
	struct directory_question *question = world.question;
	struct directory_answer_text answer = {
		.error = record == RECORD_LATER ? DIRECTORY_ERROR_LATER : DIRECTORY_ERROR_NONE,
		.exists = record != RECORD_NONE,
		.results = results};

	assert_string_equal(world.asked_user, "lisa");
	results[answer.result_count++] = str_from(states[record]);
	for (size_t i = 0; i < count; i++) {
		buffer_append_string(&texts[i], "password ");
		buffer_append_str(&texts[i], passwords[i]);
		results[answer.result_count++] = buffer_view(&texts[i]);
	}
	results[answer.result_count++] = STR("password_hint x");
	question->private = NULL;
	world.question = NULL;
	question->answered(question->context, &answer);
	for (size_t i = 0; i < count; i++)
		buffer_clear(&texts[i]);
}

static void passwords_are_checked_or_as_if(void **state)
{
	const struct str passwords[] = {STR("first"), STR("second")};

	(void)state;
	for (size_t n = 0; n < RECORDS * 3; n++) {
		enum record record = (enum record)(n / 3);
		bool is_active = record <= RECORD_SAYS_ACTIVE;
		size_t count = is_active ? n % 3 : 0;
		struct auth_attempt *attempt;

		begin_world();
		attempt = begin_asking(SASL_ASKS_PASSWORD);
		answer_record(record, passwords, n % 3);
		if (record == RECORD_LATER) {
			assert_int_equal(world.sasl->finding, SASL_LATER);
			assert_string_equal(attempt->reason, "the directory does not answer");
			assert_null(world.judged);
			continue;
		}
		assert_non_null(attempt->check);
		assert_int_equal(world.is_spoilt, count == 0);
		assert_int_equal(world.hash_count, count > 0 ? count : 1);
		assert_int_equal(world.learnt, count);
		assert_string_equal(world.hashes[0], count > 0 ? "first" : "invented");
		if (count > 1)
			assert_string_equal(world.hashes[1], "second");
		assert_int_equal(world.sasl->answers, 0);
		world.judged(world.judged_context, SASL_RIGHT, STR("first"));
		assert_null(attempt->check);
		assert_int_equal(world.sasl->finding, SASL_RIGHT);
		assert_string_equal(world.sasl->answered_user, "");
		assert_false(world.sasl->has_keys);
		if (record_reasons[record] == NULL)
			assert_null(attempt->reason);
		else
			assert_string_equal(attempt->reason, record_reasons[record]);
		buffer_append_byte(&attempt->stamp, '\0');
		assert_string_equal(buffer_data(&attempt->stamp), "of first");
		assert_int_equal(world.outcome, AUTH_CHALLENGE);
	}
}

/* An LDAP server judges: then hashes do not matter. */
static void others_judge_passwords(void **state)
{
	static const struct auth_binder binder;
	const struct str passwords[] = {STR("first")};

	(void)state;
	for (size_t record = 0; record < RECORD_LATER; record++) {
		begin_world();
		world.config.auth.users = CONFIG_AUTH_LDAP;
		world.server.ways.binder = &binder;
		(void)begin_asking(SASL_ASKS_PASSWORD);
		answer_record((enum record)record, passwords, record % 2);
		assert_true(world.is_bound);
		assert_int_equal(world.hash_count + world.learnt, 0);
		assert_int_equal(world.is_spoilt, record > RECORD_SAYS_ACTIVE);
	}
	begin_world();
	world.server.ways.binder = &binder; /* which is not asked for other users */
	(void)begin_asking(SASL_ASKS_PASSWORD);
	answer_record(RECORD_ACTIVE, passwords, 1);
	assert_false(world.is_bound);
}

static void trust_is_of_what_was_before(void **state)
{
	const struct str passwords[] = {STR("first")};

	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		begin_world();
		world.failures = n & 1;
		world.is_known = (n & 2) != 0;
		world.is_full = (n & 4) != 0;
		(void)begin_asking(SASL_ASKS_PASSWORD);
		answer_record(RECORD_ACTIVE, passwords, 1);
		assert_int_equal(world.trust, (n & 1) != 0   ? AUTH_SUSPECT
					      : (n & 2) != 0 ? AUTH_KNOWN
							     : AUTH_NEW);
		assert_int_equal(world.sasl->answers, world.is_full);
		if (!world.is_full)
			continue;
		assert_int_equal(world.sasl->finding, SASL_LATER);
		assert_string_equal(find_attempt(7)->reason, "too many checks are waiting");
	}
}

/* Those that the user has, or invented ones that look the same. */
static void keys_are_found_or_invented(void **state)
{
	struct buffer other = scram_text(DIRECTORY_PASSWORD_SCRAM_SHA_1, 'o');
	struct buffer right = scram_text(DIRECTORY_PASSWORD_SCRAM_SHA_256, 'r');
	struct buffer later = scram_text(DIRECTORY_PASSWORD_SCRAM_SHA_256, 'l');
	const struct str orders[][3] = {
		{STR("$y$j9T$hash"), STR("$y$j9T$hash"), STR("$y$j9T$hash")},
		{STR("$y$j9T$hash"), buffer_view(&right), buffer_view(&later)},
		{buffer_view(&other), STR("$y$j9T$hash"), buffer_view(&right)},
		{buffer_view(&other), buffer_view(&other), STR("$y$j9T$hash")},
	};
	static const bool has_keys[] = {false, true, true, false};

	(void)state;
	for (size_t n = 0; n < RECORDS * COUNT_OF(orders); n++) {
		enum record record = (enum record)(n / COUNT_OF(orders));
		bool is_found = has_keys[n % 4] && record <= RECORD_SAYS_ACTIVE;
		const char *reason = is_found ? NULL
				     : record <= RECORD_SAYS_ACTIVE
					     ? "the user has no keys of this mechanism"
					     : record_reasons[record];
		struct auth_attempt *attempt;

		begin_world();
		attempt = begin_asking(SASL_ASKS_KEYS);
		answer_record(record, orders[n % 4], 3);
		assert_int_equal(world.sasl->answers, 1);
		if (record == RECORD_LATER) {
			assert_int_equal(world.sasl->finding, SASL_LATER);
			assert_false(world.sasl->has_keys);
			continue;
		}
		assert_int_equal(world.sasl->finding, SASL_RIGHT);
		assert_true(world.sasl->has_keys);
		assert_int_equal(world.sasl->keys.method, DIRECTORY_PASSWORD_SCRAM_SHA_256);
		assert_int_equal(world.sasl->keys.salt[0], is_found ? 'r' : 'i');
		assert_int_equal(world.learnt, 1);
		if (reason == NULL)
			assert_null(attempt->reason);
		else
			assert_string_equal(attempt->reason, reason);
		assert_true(str_starts_with(buffer_view(&attempt->stamp), STR("of ")));
		assert_true(attempt->stamp.length > 10);
	}
	buffer_clear(&other);
	buffer_clear(&right);
	buffer_clear(&later);
}

static void owners_of_certificates_must_be_active(void **state)
{
	(void)state;
	for (size_t record = 0; record < RECORDS; record++) {
		begin_world();
		(void)begin_asking(SASL_ASKS_CERTIFICATE);
		answer_record((enum record)record, NULL, 0);
		assert_int_equal(world.sasl->finding, record <= RECORD_SAYS_ACTIVE ? SASL_RIGHT
						      : record == RECORD_LATER     ? SASL_LATER
										   : SASL_WRONG);
		assert_string_equal(world.sasl->answered_user, "");
	}
}

/* --- tokens --- */

static void owners_of_tokens_must_be_active(void **state)
{
	(void)state;
	for (size_t n = 0; n < 2 * RECORDS + 3; n++) {
		struct auth_attempt *attempt;
		bool has_directory = n % 2 == 0;

		begin_world();
		if (!has_directory)
			world.server.directory = NULL;
		attempt = begin_asking(SASL_ASKS_TOKEN);
		assert_non_null(attempt->token);
		if (n >= 2 * RECORDS) {
			enum sasl_finding finding = (enum sasl_finding)(1 + n - 2 * RECORDS);

			world.token_judged(world.token_context, finding, STR("lisa"), "why");
			assert_int_equal(world.sasl->finding, finding);
			assert_string_equal(attempt->reason, "why");
			assert_null(attempt->token);
			continue;
		}
		world.token_judged(world.token_context, SASL_RIGHT, STR("lisa"), NULL);
		assert_null(attempt->token);
		assert_int_equal(world.question != NULL, has_directory);
		if (has_directory)
			answer_record((enum record)(n / 2), NULL, 0);
		assert_int_equal(world.sasl->finding, !has_directory || n / 2 <= RECORD_SAYS_ACTIVE
							      ? SASL_RIGHT
						      : n / 2 == RECORD_LATER ? SASL_LATER
									      : SASL_WRONG);
		if (n / 2 != RECORD_LATER || !has_directory)
			assert_string_equal(world.sasl->answered_user, "lisa");
	}
}

/* --- Dovecot --- */

static char long_text[AUTH_MESSAGE_MAX + 2];

static void say_for_dovecot(enum dovecot_outcome outcome, struct str message, struct str user)
{
	const struct dovecot_answer answer = {.outcome = outcome, .message = message, .user = user};
	struct dovecot_request *request = world.request;

	if (outcome != DOVECOT_CHALLENGE)
		request->dovecot = NULL;
	request->answered(request->context, &answer);
}

static void begin_for_dovecot(void)
{
	struct auth_wanted wanted = usual_attempt();

	begin_world();
	world.offered.own = NULL;
	world.server.dovecot = (struct dovecot *)(void *)&world;
	wanted.has_initial = true;
	wanted.initial = STR("initial");
	wanted.certificate_name = STR("name");
	world.delay_us = SECOND_US;
	assert_true(begin_attempt(7, &wanted));
	assert_int_equal(world.sent, 0);
	assert_null(find_attempt(7)->sasl);
}

static void messages_are_passed_to_and_fro(void **state)
{
	(void)state;
	begin_for_dovecot();
	assert_true(str_equal(world.ask.service, STR("smtp")));
	assert_int_equal(world.ask.client.s6_addr[15], 7);
	assert_true(world.ask.has_certificate && world.ask.has_initial);
	assert_string_equal(world.asked_certificate, "name");
	assert_string_equal(world.asked_initial, "initial");
	say_for_dovecot(DOVECOT_CHALLENGE, STR("more"), STR(""));
	assert_int_equal(world.outcome, AUTH_CHALLENGE);
	assert_string_equal(world.message, "more");
	assert_true(respond_to(7, STR("response"), ""));
	assert_string_equal(world.response, "response");
	assert_false(respond_to(7, STR("again"), "")); /* it is Dovecot's turn */
	say_for_dovecot(DOVECOT_RIGHT, STR("last"), STR("Lisa"));
	assert_int_equal(world.outcome, AUTH_CHALLENGE);
	assert_string_equal(world.message, "last");
	assert_true(respond_to(7, STR(""), ""));
	assert_int_equal(world.outcome, AUTH_ACCEPTED);
	assert_string_equal(world.user, "lisa");
}

static void each_answer_of_dovecot(void **state)
{
	static const struct {
		enum dovecot_outcome outcome;
		size_t message, user; /* bytes */
		enum auth_outcome said;
		enum auth_refusal refusal;
		const char *reason;
	} rows[] = {
		{DOVECOT_CHALLENGE, AUTH_MESSAGE_MAX, 0, AUTH_CHALLENGE, 0, NULL},
		{DOVECOT_CHALLENGE, AUTH_MESSAGE_MAX + 1, 0, AUTH_REFUSED, AUTH_TEMPORARY,
		 "too long a message"},
		{DOVECOT_RIGHT, 0, AUTH_USER_MAX, AUTH_ACCEPTED, 0, NULL},
		{DOVECOT_RIGHT, 0, AUTH_USER_MAX + 1, AUTH_REFUSED, AUTH_TEMPORARY,
		 "Dovecot gave a name that is not valid"},
		{DOVECOT_RIGHT, AUTH_MESSAGE_MAX, 4, AUTH_CHALLENGE, 0, NULL},
		{DOVECOT_RIGHT, AUTH_MESSAGE_MAX + 1, 4, AUTH_REFUSED, AUTH_TEMPORARY,
		 "too long a message"},
		{DOVECOT_WRONG, 0, 4, AUTH_REFUSED, AUTH_FAILED, "Dovecot says no"},
		{DOVECOT_WRONG, 0, 0, AUTH_REFUSED, AUTH_FAILED, "Dovecot says no"},
		{DOVECOT_LATER, 0, 0, AUTH_REFUSED, AUTH_TEMPORARY, "Dovecot does not answer"},
	};

	(void)state;
	memset(long_text, 'x', sizeof long_text);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buffer reason CLEANUP(buffer_clear) = {0};

		begin_for_dovecot();
		say_for_dovecot(rows[i].outcome, str_slice(long_text, rows[i].message),
				str_slice(long_text, rows[i].user));
		if (rows[i].outcome == DOVECOT_WRONG) {
			assert_int_equal(world.sent, 0);
			assert_int_equal(strlen(world.failed_user), rows[i].user);
			fake_advance(SECOND_US);
		}
		assert_int_equal(world.outcome, rows[i].said);
		if (rows[i].said == AUTH_REFUSED)
			assert_int_equal(world.refusal, rows[i].refusal);
		if (rows[i].reason == NULL)
			continue;
		buffer_append_format(&reason, "reason=%s", rows[i].reason);
		assert_non_null(memmem(buffer_data(&log_lines), log_lines.length,
				       buffer_data(&reason), reason.length));
		assert_null(find_attempt(7));
	}
}

/* What the client says to success must be nothing; and Dovecot may be gone meanwhile. */
static void what_is_said_after_the_end(void **state)
{
	(void)state;
	begin_for_dovecot();
	say_for_dovecot(DOVECOT_RIGHT, STR("last"), STR("lisa"));
	assert_true(respond_to(7, STR("nonsense"), ""));
	assert_int_equal(world.outcome, AUTH_REFUSED);
	assert_int_equal(world.refusal, AUTH_MALFORMED);
	begin_for_dovecot();
	say_for_dovecot(DOVECOT_CHALLENGE, STR("more"), STR(""));
	world.sent = 0;
	say_for_dovecot(DOVECOT_LATER, STR(""), STR("")); /* while the client speaks */
	assert_int_equal(world.sent, 0);
	assert_true(respond_to(7, STR("response"), ""));
	assert_int_equal(world.outcome, AUTH_REFUSED);
	assert_int_equal(world.refusal, AUTH_TEMPORARY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTEMPT_TEST(passwords_are_checked_or_as_if),
		ATTEMPT_TEST(others_judge_passwords),
		ATTEMPT_TEST(trust_is_of_what_was_before),
		ATTEMPT_TEST(keys_are_found_or_invented),
		ATTEMPT_TEST(owners_of_certificates_must_be_active),
		ATTEMPT_TEST(owners_of_tokens_must_be_active),
		ATTEMPT_TEST(messages_are_passed_to_and_fro),
		ATTEMPT_TEST(each_answer_of_dovecot),
		ATTEMPT_TEST(what_is_said_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
