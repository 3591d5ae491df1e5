// SPDX-License-Identifier: ISC
/* Attempts to log in: which may begin, what is kept of the client, how they end and what is said
 * and logged of it. */
#include "attempt_scene.h"

#define OF_CLIENT "client=192.0.2.7 client_port=4711 session=1:2"

static const char x[AUTH_MESSAGE_MAX + 2] = {0};

/* --- which may begin --- */

static void texts_of_a_beginning_have_a_longest(void **state)
{
	static const struct {
		size_t offset, most;
	} rows[] = {
		{offsetof(struct auth_wanted, exporter), AUTH_BINDING_MAX},
		{offsetof(struct auth_wanted, end_point), AUTH_BINDING_MAX},
		{offsetof(struct auth_wanted, certificate), 1024},
		{offsetof(struct auth_wanted, certificate_name), 1024},
		{offsetof(struct auth_wanted, protocol), 1024},
		{offsetof(struct auth_wanted, session), 1024},
		{offsetof(struct auth_wanted, mechanism), AUTH_MECHANISM_SIZE - 1},
		{offsetof(struct auth_wanted, initial), AUTH_MESSAGE_MAX},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t beyond = 0; beyond <= 1; beyond++) {
			struct auth_wanted wanted = usual_attempt();

			begin_world();
			*(struct str *)(void *)((char *)&wanted + rows[i].offset) =
				str_slice(x, rows[i].most + beyond);
			assert_int_equal(begin_attempt(7, &wanted), beyond == 0);
		}
}

static void what_is_malformed_does_not_begin(void **state)
{
	struct auth_wanted wanted = usual_attempt();

	(void)state;
	wanted.more = "x";
	assert_false(begin_attempt(7, &wanted));
	assert_false(auth_attempt_begin(&world.asker, 7, STR("")));
	wanted.more = "";
	assert_true(begin_attempt(7, &wanted));
	assert_false(begin_attempt(7, &wanted)); /* the tag is taken */
	assert_true(begin_attempt(8, &wanted));
	assert_false(respond_to(7, STR("response"), "x"));
	assert_false(respond_to(7, str_slice(x, AUTH_MESSAGE_MAX + 1), ""));
	assert_true(respond_to(7, STR("response"), ""));
	world.script.state = SASL_ASKS_TOKEN;
	assert_true(begin_attempt(9, &wanted));
	assert_false(respond_to(9, STR("it is not its turn"), ""));
}

/* Plainly: by what it needs and the client lacks. */
static void needs_are_obstacles(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 512; n++) {
		struct auth_wanted wanted = usual_attempt();
		bool has_binding = (n & 48) != 0;
		int refusal = -1;

		begin_world();
		world.offered.needs = n & 7;
		wanted.is_secured = (n & 8) != 0;
		wanted.exporter = (n & 16) != 0 ? STR("exporter") : STR("");
		wanted.end_point = (n & 32) != 0 ? STR("end point") : STR("");
		wanted.certificate_name = (n & 64) != 0 ? STR("name") : STR("");
		world.is_offered = (n & 128) != 0;
		world.is_refused = (n & 256) != 0;
		if (world.is_refused)
			refusal = AUTH_FAILED;
		else if (!world.is_offered)
			refusal = AUTH_UNKNOWN;
		else if ((n & AUTH_NEEDS_SECURED) != 0 && !wanted.is_secured)
			refusal = AUTH_INSECURE;
		else if (((n & AUTH_NEEDS_BINDING) != 0 && !has_binding) ||
			 ((n & AUTH_NEEDS_CERTIFICATE) != 0 && (n & 64) == 0))
			refusal = AUTH_UNKNOWN;
		assert_true(begin_attempt(7, &wanted));
		assert_int_equal(world.sent, 1);
		assert_int_equal(world.tag, 7);
		if (refusal >= 0) {
			assert_int_equal(world.outcome, AUTH_REFUSED);
			assert_int_equal(world.refusal, refusal);
			assert_null(find_attempt(7));
			continue;
		}
		assert_int_equal(world.outcome, AUTH_CHALLENGE);
		assert_string_equal(world.message, "challenge");
		assert_non_null(find_attempt(7));
	}
}

static void what_outlives_the_message_is_kept(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		struct auth_wanted wanted = usual_attempt();
		const struct sasl_peer *peer;
		struct auth_attempt *attempt;

		begin_world();
		wanted.exporter = (n & 1) != 0 ? STR("exporter") : STR("");
		wanted.end_point = (n & 2) != 0 ? STR("end point") : STR("");
		wanted.certificate_name = STR("name");
		wanted.has_initial = true;
		wanted.initial = STR("initial");
		world.has_binding = (n & 4) != 0;
		assert_true(begin_attempt(7, &wanted));
		attempt = find_attempt(7);
		peer = &world.sasl->peer;
		assert_true(str_equal(peer->exporter, wanted.exporter));
		assert_true(str_equal(peer->end_point, wanted.end_point));
		assert_true(str_equal(peer->certificate_name, STR("name")));
		assert_int_equal(peer->is_binding_offered, (n & 3) != 0 && (n & 4) != 0);
		assert_int_equal(peer->nonce.length, 32); /* 24 bytes in base64 */
		assert_null(memchr(peer->nonce.data, ',', peer->nonce.length));
		assert_true(attempt->texts.is_secret);
		assert_true(str_equal(attempt->protocol, STR("submission")));
		assert_true(str_equal(attempt->session, STR("1:2")));
		assert_int_equal(attempt->port, 4711);
		assert_int_equal(attempt->client.s6_addr[15], 0);
		assert_int_equal(attempt->client.s6_addr[14], 2);
		assert_string_equal(world.sasl->taken, "initial");
		assert_int_equal(world.sasl->takes, 1);
	}
}

static void a_client_has_so_many(void **state)
{
	static const char *const addresses[] = {"::ffff:192.0.2.7", "::ffff:198.51.100.1", "::"};
	struct auth_wanted wanted = usual_attempt();
	uint32_t tag = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(addresses); i++) {
		wanted.address = addresses[i];
		for (size_t k = 0; k <= AUTH_ATTEMPTS_CLIENT_MAX; k++) {
			bool may = k < AUTH_ATTEMPTS_CLIENT_MAX || i == 2;

			assert_true(begin_attempt(++tag, &wanted));
			assert_int_equal(world.outcome, may ? AUTH_CHALLENGE : AUTH_REFUSED);
			if (!may)
				assert_int_equal(world.refusal, AUTH_TEMPORARY);
		}
	}
	/* one that ends makes room */
	wanted.address = addresses[0];
	auth_attempt_cancel(find_attempt(1));
	assert_true(begin_attempt(++tag, &wanted));
	assert_int_equal(world.outcome, AUTH_CHALLENGE);
	assert_true(begin_attempt(++tag, &wanted));
	assert_int_equal(world.outcome, AUTH_REFUSED);
	/* and all of a connection, whosoever they are */
	wanted.address = "::";
	while (HASH_COUNT(world.asker.attempts) < AUTH_OPEN_MAX)
		assert_true(begin_attempt(++tag, &wanted));
	assert_int_equal(world.outcome, AUTH_CHALLENGE);
	assert_true(begin_attempt(++tag, &wanted));
	assert_int_equal(world.outcome, AUTH_REFUSED);
	assert_int_equal(world.refusal, AUTH_TEMPORARY);
}

/* --- ends --- */

static struct auth_attempt *begin_as(struct sasl script)
{
	const struct auth_wanted wanted = usual_attempt();

	begin_world();
	world.script = script;
	world.script.user = "lisa";
	world.script.secret = "secret";
	world.script.message = "challenge";
	world.script.reason = "wrong";
	world.delay_us = 3 * SECOND_US;
	assert_true(begin_attempt(7, &wanted));
	return find_attempt(7);
}

static void who_is_right_is_accepted(void **state)
{
	struct auth_attempt *attempt = begin_as((struct sasl){.next = SASL_ACCEPTED});

	(void)state;
	buffer_append_string(&attempt->stamp, "stamp");
	assert_true(respond_to(7, STR("proof"), ""));
	assert_int_equal(world.outcome, AUTH_ACCEPTED);
	assert_string_equal(world.user, "lisa");
	assert_string_equal(world.stamp, "stamp");
	assert_string_equal(world.message, "");
	assert_int_equal(world.forgiven, 1);
	assert_int_equal(world.known_added, 1);
	assert_null(find_attempt(7));
	assert_int_equal(world.sasl_freed, 1);
	check_log("AUTH_ACCEPTED " OF_CLIENT " user=lisa mechanism=SCRAM protocol=submission\n");
}

/* The answer to a failure is held back, from when the client spoke. */
static void failures_are_answered_late(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 6; n++) {
		bool tells = n % 2 == 0; /* in a challenge, that the client answers */
		int64_t passed_us = (int64_t)(n / 2) * 2 * SECOND_US;
		struct auth_attempt *attempt =
			begin_as((struct sasl){.next = SASL_ASKS_TOKEN, .refusal = AUTH_FAILED});
		int64_t left_us = world.delay_us > passed_us ? world.delay_us - passed_us : 0;

		assert_true(respond_to(7, STR("token"), ""));
		fake_pass(passed_us);
		world.sasl->has_failed = true;
		world.sasl->next = tells ? SASL_WANTS_MESSAGE : SASL_REFUSED;
		world.sent = 0;
		world.token_judged(world.token_context, SASL_WRONG, STR(""), "the token is wrong");
		assert_int_equal(world.sent, 0);
		assert_int_equal(world.added_failures, 1);
		assert_string_equal(world.failed_user, "lisa");
		check_log("AUTH_FAILED " OF_CLIENT " user=lisa mechanism=SCRAM protocol=submission "
			  "reason=the token is wrong count=1\n");
		assert_int_equal(attempt->state, ATTEMPT_HELD);
		if (left_us > 0)
			fake_advance(left_us - 1);
		assert_int_equal(world.sent, 0);
		fake_advance(left_us > 0 ? 1 : 0);
		assert_int_equal(world.sent, 1);
		assert_int_equal(world.outcome, tells ? AUTH_LAST_CHALLENGE : AUTH_REFUSED);
		if (!tells) {
			assert_int_equal(world.refusal, AUTH_FAILED);
			assert_null(find_attempt(7));
			continue;
		}
		/* whatever the client says, it is refused, and does not fail again */
		world.sasl->next = SASL_REFUSED;
		assert_true(respond_to(7, STR(""), ""));
		assert_int_equal(world.outcome, AUTH_REFUSED);
		assert_int_equal(world.added_failures, 1);
		assert_null(find_attempt(7));
		check_log("");
	}
}

static void too_many_failures_are_told_once(void **state)
{
	(void)begin_as((struct sasl){.next = SASL_REFUSED, .refusal = AUTH_FAILED});
	(void)state;
	world.is_refused = true; /* with this one */
	world.failures = 4;
	assert_true(respond_to(7, STR("x"), ""));
	check_log("AUTH_FAILED " OF_CLIENT " user=lisa mechanism=SCRAM protocol=submission "
		  "reason=wrong count=5\n"
		  "AUTH_REFUSED " OF_CLIENT " mechanism=SCRAM protocol=submission "
		  "reason=too many failures count=5 setting=auth.failure_limit limit=9\n");
}

static void refusals_are_no_failures(void **state)
{
	static const enum auth_refusal refusals[] = {AUTH_TEMPORARY, AUTH_MALFORMED, AUTH_UNKNOWN,
						     AUTH_INSECURE, AUTH_TOO_WEAK};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		(void)begin_as((struct sasl){.next = SASL_REFUSED, .refusal = refusals[i]});
		assert_true(respond_to(7, STR("x"), ""));
		assert_int_equal(world.outcome, AUTH_REFUSED);
		assert_int_equal(world.refusal, refusals[i]);
		assert_int_equal(world.added_failures, 0);
		assert_null(find_attempt(7));
		check_log(i == 0 ? "~AUTH_UNAVAILABLE " OF_CLIENT
				   " user=lisa mechanism=SCRAM protocol=submission reason=wrong\n"
				 : "");
	}
}

/* --- who leaves --- */

static void who_has_learnt_something_and_leaves_has_failed(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 16; n++) {
		bool has_told = (n & 1) != 0, has_failed = (n & 2) != 0, leaves = (n & 4) != 0;
		struct auth_attempt *attempt = begin_as((struct sasl){.has_told = has_told});
		bool is_probe = has_told && !has_failed;
		unsigned before;

		attempt->has_failed = has_failed;
		if ((n & 8) != 0) { /* of Dovecot's mechanisms nothing is known */
			sasl_free(attempt->sasl);
			attempt->sasl = NULL;
			is_probe = false;
		}
		before = world.added_failures;
		if (!leaves) {
			auth_attempt_cancel(attempt);
			assert_null(find_attempt(7));
			assert_int_equal(world.added_failures - before, is_probe);
			continue;
		}
		auth_attempt_leave(attempt);
		check_log((n & 8) != 0 ? "AUTH_CANCELLED " OF_CLIENT
					 " mechanism=SCRAM protocol=submission\n"
				       : "AUTH_CANCELLED " OF_CLIENT
					 " user=lisa mechanism=SCRAM protocol=submission\n");
		assert_int_equal(find_attempt(7) != NULL, is_probe);
		assert_null(world.server.tallies); /* it has a place for another one */
		if (!is_probe)
			continue;
		auth_attempt_leave(attempt); /* once more is nothing */
		check_log("");
		assert_false(respond_to(7, STR("x"), ""));
		fake_advance(AUTH_LEFT_US - 1);
		assert_int_equal(world.added_failures, before);
		fake_advance(1);
		assert_int_equal(world.added_failures, before + 1);
		assert_null(find_attempt(7));
		check_log("AUTH_FAILED " OF_CLIENT " user=lisa mechanism=SCRAM protocol=submission "
			  "reason=cancelled count=1\n");
	}
}

/* Whatever it waits for is called off. */
static void what_ends_waits_for_nothing(void **state)
{
	(void)state;
	(void)begin_as((struct sasl){.state = SASL_ASKS_TOKEN});
	auth_attempt_free(find_attempt(7));
	assert_int_equal(world.cancelled_tokens, 1);
	assert_int_equal(world.cancelled_questions, 0);
	(void)begin_as((struct sasl){.state = SASL_ASKS_KEYS});
	auth_attempt_free(find_attempt(7));
	assert_int_equal(world.cancelled_questions, 1);
	assert_int_equal(world.cancelled_tokens, 0);
	assert_int_equal(world.sasl_freed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTEMPT_TEST(texts_of_a_beginning_have_a_longest),
		ATTEMPT_TEST(what_is_malformed_does_not_begin),
		ATTEMPT_TEST(needs_are_obstacles),
		ATTEMPT_TEST(what_outlives_the_message_is_kept),
		ATTEMPT_TEST(a_client_has_so_many),
		ATTEMPT_TEST(who_is_right_is_accepted),
		ATTEMPT_TEST(failures_are_answered_late),
		ATTEMPT_TEST(too_many_failures_are_told_once),
		ATTEMPT_TEST(refusals_are_no_failures),
		ATTEMPT_TEST(who_has_learnt_something_and_leaves_has_failed),
		ATTEMPT_TEST(what_ends_waits_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
