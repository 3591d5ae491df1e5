// SPDX-License-Identifier: ISC
/*
 * What becomes of a session when the rates say anything of it: for each question, each ruling, and
 * all orders of rulings, against a plain description; who is counted, what is logged and told, and
 * who goes first. The engine and the rates are this test's.
 */
#include "session_scene.h"
#include <stdio.h>
#include <utlist.h>

enum { SLOWED_LOOKS = 64 };

static struct limit_ruling ruling_of(unsigned answer, size_t rule, int64_t wait_us)
{
	return (struct limit_ruling){(enum limit_answer)answer,
				     answer != LIMIT_PASS ? &rules[rule] : NULL, wait_us};
}

/* --- who is counted --- */

static void all_that_is_known_is_counted(void **state)
{
	static const char *const senders[] = {NULL, "", "a", "a@b.test", "\"x@y\"@c.test"};
	static const char *const domains[] = {"", "", "", "b.test", "c.test"};

	(void)state;
	for (size_t i = 0; i < 2 * 3 * 2 * COUNT_OF(senders); i++) {
		struct mail_envelope envelope = {.size = 0};
		const struct limit_subject *subject = &world.charges[0].subject;
		bool is_local = i % 2 == 0;
		ptrdiff_t class = (ptrdiff_t)(i / 2 % 3) - 1;
		bool has_user = i / 6 % 2 == 0;
		const char *sender = senders[i / 12];

		begin_anew();
		if (is_local)
			strcpy(session.address, OS_SOCKET_UNIX);
		session.limits.class = class;
		world.head.user = has_user ? "lisa" : NULL;
		world.is_asked = true;
		if (sender != NULL) {
			envelope.sender = str_from(sender);
			world.question.envelope = &envelope;
		}
		intake_rate_note(&session, CONFIG_RATE_BYTES, 99);
		assert_int_equal(world.noted, 1);
		assert_int_equal(world.charges[0].count, CONFIG_RATE_BYTES);
		assert_int_equal(world.charges[0].amount, 99);
		assert_true(world.charges[0].now_us >= 5 * SECOND_US);
		assert_ptr_equal(subject->address, is_local ? NULL : &session.mapped);
		assert_true(str_equal(subject->user, intake_session_user(&session)));
		assert_true(str_equal(subject->sender_domain, str_from(domains[i / 12])));
		if (class < 0)
			assert_null(subject->class_mask);
		else
			assert_string_equal(subject->class_mask, class == 0 ? "first" : "second");
	}
	begin_anew();
	intake.rates = NULL;
	intake_rate_note(&session, CONFIG_RATE_BYTES, 1);
	assert_int_equal(world.taken, 0);
	assert_false(intake_hold_question(&session));
	assert_int_equal(intake_rate_of_connection(&session, note_then, NULL), INTAKE_RATE_PASSES);
	assert_int_equal(world.taken, 0);
}

/* --- rulings --- */

/* Of COUNT rulings the strictest one that is reached: none is asked for after one that refuses. */
static struct limit_ruling plainly_strictest(size_t count, size_t *asked_out)
{
	struct limit_ruling strictest = world.rulings[0];

	*asked_out = 1;
	for (size_t i = 1; i < count && strictest.answer < LIMIT_DEFER; i++, ++*asked_out)
		if (world.rulings[i].answer > strictest.answer ||
		    (world.rulings[i].answer == strictest.answer &&
		     world.rulings[i].wait_us > strictest.wait_us))
			strictest = world.rulings[i];
	return strictest;
}

/* What N, written with digits of four answers, makes of COUNT charges. */
static void set_rulings(size_t n, size_t count)
{
	for (size_t i = 0; i < count; i++, n /= 4)
		world.rulings[i] = ruling_of(n % 4, i + 10, (int64_t)((n + i) % 3 + 1) * SECOND_US);
}

static void all_rulings_of_a_connection(void **state)
{
	static const enum config_rate_count counts[] = {
		CONFIG_RATE_REFUSALS, CONFIG_RATE_FAILED_LOGINS, CONFIG_RATE_CONNECTIONS};

	(void)state;
	for (size_t n = 0; n < 64; n++) {
		const char *text = NULL;
		struct limit_ruling expected;
		enum intake_rate found;
		size_t asked;

		begin_anew();
		set_rulings(n, 3);
		for (size_t i = 0; i < 3; i++)
			rules[i + 10].count = counts[i];
		expected = plainly_strictest(3, &asked);
		found = intake_rate_of_connection(&session, note_then, &text);
		assert_int_equal(world.taken, asked);
		for (size_t i = 0; i < asked; i++) {
			assert_int_equal(world.charges[i].count, counts[i]);
			assert_int_equal(world.charges[i].amount, i == 2);
		}
		if (expected.answer == LIMIT_PASS) {
			assert_int_equal(found, INTAKE_RATE_PASSES);
			assert_int_equal(log_lines.length, 0);
			continue;
		}
		assert_ptr_equal(text, intake_rate_texts[expected.rule->count]);
		assert_true(log_lines.length > 0 && buffer_data(&log_lines)[0] == '~');
		if (expected.answer != LIMIT_SLOW) {
			assert_int_equal(found, INTAKE_RATE_REFUSES);
			assert_false(session.limits.is_slowed);
			continue;
		}
		assert_int_equal(found, INTAKE_RATE_WAITS);
		assert_true(session.limits.is_slowed && session.question.is_asking);
		fake_advance(expected.wait_us - 1);
		assert_int_equal(world.then, 0);
		fake_advance(1);
		assert_int_equal(world.then, 1);
		assert_false(session.limits.is_slowed || session.question.is_asking);
		os_timer_free(session.limits.held);
		session.limits.held = NULL;
	}
}

/* A question, what it is judged by, and how it is refused. */
struct question_case {
	enum smtp_question_type type;
	bool goes_on;
	struct intake_charge charges[CHARGES_MAX];
	size_t count;
};

static const struct question_case questions[] = {
	{SMTP_QUESTION_RECIPIENT, false, {{CONFIG_RATE_RECIPIENTS, 1}}, 1},
	{SMTP_QUESTION_OPEN,
	 false,
	 {{CONFIG_RATE_BYTES, 0},
	  {CONFIG_RATE_REFUSALS, 0},
	  {CONFIG_RATE_FAILED_LOGINS, 0},
	  {CONFIG_RATE_MESSAGES, 1}},
	 4},
	{SMTP_QUESTION_AUTH, false, {{CONFIG_RATE_FAILED_LOGINS, 0}}, 1},
	{.type = SMTP_QUESTION_AUTH, .goes_on = true},
	{.type = SMTP_QUESTION_SENDERS},
	{.type = SMTP_QUESTION_CLIENT},
	{.type = SMTP_QUESTION_RELEASE},
	{.type = SMTP_QUESTION_COMMIT},
};

static void check_refused(const struct question_case *one, const struct limit_ruling *ruling)
{
	const char *text = intake_rate_texts[ruling->rule->count];
	bool is_auth = one->type == SMTP_QUESTION_AUTH;

	assert_int_equal(world.auth_refusals, is_auth);
	assert_int_equal(world.answers, !is_auth);
	assert_ptr_equal(session.limits.farewell, ruling->answer == LIMIT_CLOSE ? text : NULL);
	if (is_auth)
		return;
	assert_int_equal(world.verdict.class, MAIL_WAIT);
	assert_string_equal(world.verdict.status, "4.7.1");
	assert_string_equal(world.verdict.text, text);
}

/* It is let through once, and the next one is judged again. */
static void check_held(const struct limit_ruling *ruling)
{
	size_t asked = world.taken;

	assert_true(session.limits.is_slowed && session.question.is_asking);
	assert_int_equal(world.slow_in, session.limits.class >= 0);
	fake_advance(ruling->wait_us - 1);
	assert_int_equal(world.pumped, 0);
	fake_advance(1);
	assert_int_equal(world.pumped, 1);
	assert_false(session.limits.is_slowed || session.question.is_asking);
	assert_null(intake.slowed);
	assert_int_equal(world.hastened, session.limits.class >= 0);
	assert_false(intake_hold_question(&session));
	assert_int_equal(world.taken, asked);
	world.taken = 0;
	world.rulings[0] = world.rulings[1] = world.rulings[2] = world.rulings[3] =
		ruling_of(LIMIT_PASS, 0, 0);
	assert_false(intake_hold_question(&session));
	assert_true(world.taken > 0);
}

static void check_question(const struct question_case *one, size_t n)
{
	struct limit_ruling expected = {LIMIT_PASS, NULL, 0};
	size_t asked = 0;
	bool is_held;

	begin_anew();
	session.limits.class = (ptrdiff_t)(n % 3) - 1;
	world.is_asked = true;
	world.question = (struct intake_asked){.type = one->type, .goes_on = one->goes_on};
	set_rulings(n, one->count);
	if (one->count > 0)
		expected = plainly_strictest(one->count, &asked);
	is_held = intake_hold_question(&session);
	assert_int_equal(is_held, expected.answer != LIMIT_PASS);
	assert_int_equal(world.taken, asked);
	for (size_t i = 0; i < asked; i++) {
		assert_int_equal(world.charges[i].count, one->charges[i].count);
		assert_int_equal(world.charges[i].amount, one->charges[i].amount);
	}
	assert_int_equal(log_lines.length > 0, is_held);
	if (expected.answer == LIMIT_SLOW)
		check_held(&expected);
	else if (is_held)
		check_refused(one, &expected);
	else
		assert_int_equal(world.answers + world.auth_refusals, 0);
	os_timer_free(session.limits.held);
	session.limits.held = NULL;
}

static void all_rulings_of_all_questions(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(questions); i++)
		for (size_t n = 0; n < (size_t)1 << 2 * questions[i].count; n++)
			check_question(&questions[i], n);
}

/* --- what is logged --- */

static void a_rate_is_logged_once_for_each_session(void **state)
{
	static const char three[] = "RATE_EXCEEDED client=192.0.2.7 client_port=4711 session=1:2 "
				    "rate=three counts=bytes limit=7 answer=defer wait=90";

	(void)state;
	world.head.user = "lisa";
	for (unsigned turn = 0; turn < 2; turn++) {
		char line[300];

		world.taken = 0;
		world.rulings[0] = ruling_of(LIMIT_DEFER, 3, 90 * SECOND_US + 999999);
		intake_rate_note(&session, CONFIG_RATE_BYTES, 1);
		snprintf(line, sizeof line, "%s user=lisa\n", three);
		check_log(turn == 0 ? line : "");
		/* the bits are so many; a section after them shares one */
		world.taken = 0;
		world.rulings[0] = ruling_of(LIMIT_SLOW, 66, 0);
		intake_rate_note(&session, CONFIG_RATE_BYTES, 1);
		check_log(turn == 0
				  ? "RATE_EXCEEDED client=192.0.2.7 client_port=4711 session=1:2 "
				    "rate=sixty-six counts=connections limit=0 answer=slow wait=0 "
				    "user=lisa\n"
				  : "");
	}
	assert_null(session.limits.farewell);
	begin_anew(); /* another session */
	world.rulings[0] = ruling_of(LIMIT_DEFER, 3, 90 * SECOND_US);
	intake_rate_note(&session, CONFIG_RATE_BYTES, 1);
	assert_true(log_lines.length > 0);
}

/* --- ends --- */

static void what_was_noted_may_end_the_session(void **state)
{
	(void)state;
	for (unsigned answer = LIMIT_PASS; answer <= LIMIT_CLOSE; answer++)
		for (unsigned count = 0; count < CONFIG_RATE_COUNTS; count++) {
			begin_anew();
			world.rulings[0] = ruling_of(answer, 3, SECOND_US);
			intake_rate_note(&session, (enum config_rate_count)count, 1);
			assert_ptr_equal(session.limits.farewell,
					 answer == LIMIT_CLOSE ? intake_rate_texts[count] : NULL);
			assert_false(session.limits.is_slowed);
		}
}

static void it_ends_when_nothing_is_open(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 32; bits++) {
		begin_anew();
		session.limits.farewell = (bits & 1) != 0 ? "farewell" : NULL;
		session.question.is_asking = (bits & 2) != 0;
		session.commits = (bits & 4) != 0;
		world.is_asked = (bits & 8) != 0;
		world.is_closed = (bits & 16) != 0;
		intake_rate_end_session(&session);
		assert_int_equal(world.turned_away, bits == 1);
		if (bits == 1)
			assert_string_equal(world.farewell, "farewell");
	}
}

static void who_is_held_back_gives_up(void **state)
{
	static const char text[] = "other clients wait";

	(void)state;
	for (unsigned bits = 0; bits < 8; bits++) {
		begin_anew();
		session.limits.class = 1;
		world.is_asked = (bits & 1) != 0;
		world.question.type = SMTP_QUESTION_RECIPIENT;
		session.tls.security =
			(bits & 2) != 0 ? (struct intake_security *)(void *)&world : NULL;
		buffer_append_string(&world.head.output, "220 ");
		if ((bits & 4) != 0)
			intake_slow_begin(&session, SECOND_US, note_then);
		intake_hold_give_up(&session, text);
		assert_false(session.limits.is_slowed);
		assert_int_equal(world.hastened, bits >= 4);
		assert_int_equal(world.answers, bits == 5 || bits == 7);
		if (world.answers > 0)
			assert_string_equal(world.verdict.text, text);
		assert_int_equal(world.head.output.length, bits == 6 ? 0 : 4);
		assert_int_equal(fake_timers(), 0);
		os_timer_free(session.limits.held);
		session.limits.held = NULL;
		buffer_clear(&world.head.output);
	}
}

/* --- who goes first --- */

static void the_first_that_may_go(void **state)
{
	struct intake_session sessions[SLOWED_LOOKS + 2];

	(void)state;
	memset(sessions, 0, sizeof sessions);
	assert_null(intake_slow_first(&intake, INTAKE_NO_CLASS));
	for (size_t i = 0; i < COUNT_OF(sessions); i++) {
		sessions[i].limits.class = (ptrdiff_t)(i % 3) - 1;
		DL_APPEND2(intake.slowed, &sessions[i], limits.slowed_previous, limits.slowed_next);
	}
	assert_ptr_equal(intake_slow_first(&intake, INTAKE_NO_CLASS), &sessions[0]);
	assert_ptr_equal(intake_slow_first(&intake, 0), &sessions[1]);
	assert_ptr_equal(intake_slow_first(&intake, 1), &sessions[2]);
	assert_null(intake_slow_first(&intake, 2));
	for (size_t first = 0; first < COUNT_OF(sessions); first++) {
		const struct intake_session *found = intake_slow_first(&intake, INTAKE_NO_CLASS);

		assert_ptr_equal(found, first < SLOWED_LOOKS ? &sessions[first] : NULL);
		sessions[first].commits = 1;
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_session, tear_down_session)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(all_that_is_known_is_counted),
		CASE(all_rulings_of_a_connection),
		CASE(all_rulings_of_all_questions),
		CASE(a_rate_is_logged_once_for_each_session),
		CASE(what_was_noted_may_end_the_session),
		CASE(it_ends_when_nothing_is_open),
		CASE(who_is_held_back_gives_up),
		CASE(the_first_that_may_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
