// SPDX-License-Identifier: ISC
/* Requests on a connection of the directory to PostgreSQL: their results, failures and limits of
 * time and size. */
#include "link_scene.h"

/* --- requests --- */

static void requests_are_answered_in_their_order(void **state)
{
	(void)state;
	connect_link();
	postgresql_link_query(link, "one", NULL, 0);
	postgresql_link_query(link, "NOTHING", NULL, 0);
	postgresql_link_query(link, "three", NULL, 0);
	end_request("a", NULL);
	ask("b", "four");
	assert_int_equal(fake_timers(), 1);
	settle();
	assert_told(
		"a 0: \"one\" 3\na 1: \"\" 0\na 2: \"three\" 5\na done\nb 0: \"four\" 4\nb done\n");
	assert_int_equal(fake_timers(), 0);
	/* again, by the same ones */
	ask("c", "five");
	settle();
	assert_told("c 0: \"five\" 4\nc done\n");
}

static void parameters_are_passed(void **state)
{
	const struct postgresql_parameter parameters[] = {
		{.value = STR("a b")},
		{.value = STR("x\0y"), .is_binary = true},
		{.text = "constant"},
		{.value = STR("")},
		{.value = str_slice("more than that", 4)},
	};

	(void)state;
	connect_link();
	postgresql_link_query(link, "plain", parameters, COUNT_OF(parameters));
	postgresql_link_prepare(link, str_slice("named!", 5), str_slice("a statement!", 11));
	postgresql_link_execute(link, "named", parameters, 2);
	end_request("a", NULL);
	settle();
	assert_told("a 0: \"plain\" 5\na 1: \"\" 0\na 2: \"a statement\" 11\na done\n");
	assert_true(str_equal(buffer_view(&seen), STR("0 a b|binary 1009 x|0 constant|0 |0 more|"
						      "0 a b|binary 0 x|")));
}

/* The statements after it are not executed, but other requests are. */
static void a_statement_fails(void **state)
{
	static const struct {
		const char *sql, *told;
	} rows[] = {
		{"FAIL 53100", "-28 53100 no\nway"},  {"FAIL 57014", "-110 57014 no\nway"},
		{"FAIL 55P03", "-110 55P03 no\nway"}, {"FAIL 25006", "-30 25006 no\nway"},
		{"FAIL 42501", "-1 42501 no\nway"},   {"FAIL 40001", "-11 40001 no\nway"},
		{"FAIL 40P01", "-11 40P01 no\nway"},  {"FAIL XX000", "-5 XX000 no\nway"},
	};
	char wanted[200];

	(void)state;
	connect_link();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		postgresql_link_query(link, "one", NULL, 0);
		postgresql_link_query(link, rows[i].sql, NULL, 0);
		postgresql_link_query(link, "three", NULL, 0);
		end_request("a", NULL);
		ask("b", "four");
		settle();
		snprintf(wanted, sizeof wanted,
			 "a 0: \"one\" 3\na done: %s\nb 0: \"four\" 4\nb done\n", rows[i].told);
		assert_told(wanted);
	}
	/* the server shuts down */
	ask("a", "FAIL 57P01");
	settle();
	assert_told("a done: -107 lost 57P01 no\nway\nlost\n");
}

static void a_result_is_doubted(void **state)
{
	(void)state;
	connect_link();
	postgresql_link_query(link, "one", NULL, 0);
	postgresql_link_query(link, "two", NULL, 0);
	end_request("a", "no sense");
	settle();
	assert_told("a 0: \"one\" 3\na done: -5  no sense\n");
	postgresql_link_query(link, "one", NULL, 0);
	postgresql_link_query(link, "FAIL XX000", NULL, 0);
	end_request("a", "no sense");
	settle();
	assert_told("a 0: \"one\" 3\na done: -5  no sense\n");
}

static void a_connection_is_lost_with_its_requests(void **state)
{
	static const enum played_postgresql_fault faults[] = {PLAYED_POSTGRESQL_CLOSES,
							      PLAYED_POSTGRESQL_BABBLES};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(faults); i++) {
		if (i > 0)
			assert_int_equal(pass(), 0);
		else
			connect_link();
		buffer_reset(&told);
		postgresql_link_accept(link);
		(void)heard_take();
		played_postgresql.statements = 0;
		buffer_reset(&played_postgresql.last);
		played_postgresql.fails_at = 2;
		played_postgresql.fault = faults[i];
		ask("a", "one");
		ask("b", "two");
		ask("c", "three");
		settle();
		assert_true(
			str_starts_with(buffer_view(&told), STR("a 0: \"one\" 3\na done\nb done: "
								"-107 lost ")));
		assert_non_null(memmem(buffer_data(&told), told.length, "c done: -107 lost ", 18));
		assert_non_null(memmem(buffer_data(&told), told.length, "lost\n", 5));
		assert_non_null(strstr(heard_take(), "store_lost role=read database=first "));
		played_postgresql.fails_at = 0;
		assert_int_equal(fake_timers(), 1);
	}
	/* and when it is freed */
	assert_int_equal(pass(), 0);
	buffer_reset(&told);
	ask("d", "SILENCE");
	settle();
}

static void an_answer_does_not_come(void **state)
{
	(void)state;
	connect_link();
	ask("a", "SILENCE");
	settle();
	assert_int_equal(pass(), STORE_POSTGRESQL_PATIENCE_US);
	assert_told("a done: -107 lost  the connection was lost\nlost\n");
	assert_string_equal(heard_take(), "store_lost role=read database=first reason=no answer "
					  "for 5 seconds\n");
	played_postgresql.is_deaf = false;
	settle();
}

/* Something that comes stops the clock for a moment; a trickle has an end. */
static void trickle(int64_t after_us, uint64_t bytes, const char *complaint)
{
	received = 0;
	ask("a", "SILENCE");
	settle();
	fake_pass(after_us);
	received = bytes;
	played_postgresql_notice("still at it");
	settle();
	if (complaint == NULL) {
		assert_told("");
		played_postgresql_lose_all(false);
		settle();
	} else {
		assert_non_null(strstr(heard_take(), complaint));
	}
	assert_told("a done: -107 lost  the connection was lost\nlost\n");
	(void)heard_take();
	played_postgresql.is_deaf = false;
	assert_int_equal(pass(), 0);
	assert_told("connected\n");
	postgresql_link_accept(link);
	(void)heard_take();
}

static void an_answer_comes_too_slowly(void **state)
{
	static const char slow[] = "an answer that is not complete after 30 seconds";
	static const char large[] = "an answer of more than 127 MiB";

	(void)state;
	connect_link();
	trickle(30 * SECOND_US, 0, NULL);
	trickle(30 * SECOND_US + 1, 0, slow);
	trickle(30 * SECOND_US + 1, 16 * 1024 - 1, slow);
	trickle(31 * SECOND_US, 16 * 1024, NULL);
	trickle(31 * SECOND_US + 1, 16 * 1024, slow);
	trickle(SECOND_US, 127 << 20, NULL);
	trickle(SECOND_US, (127 << 20) + 1, large);
}

/* Each statement has its own time and size. */
static void an_answer_begins_with_each_statement(void **state)
{
	(void)state;
	connect_link();
	fake_pass(40 * SECOND_US);
	received = 100 << 20;
	ask("a", "one");
	settle();
	assert_told("a 0: \"one\" 3\na done\n");
	fake_pass(40 * SECOND_US);
	received = 220 << 20;
	postgresql_link_query(link, "one", NULL, 0);
	postgresql_link_query(link, "SILENCE", NULL, 0);
	end_request("a", NULL);
	received = 300 << 20;
	fake_pass(20 * SECOND_US);
	settle();
	assert_told("a 0: \"one\" 3\n");
	fake_pass(20 * SECOND_US);
	received = 400 << 20;
	played_postgresql_notice("still at it");
	settle();
	assert_told("");
	played_postgresql_lose_all(false);
	settle();
	assert_told("a done: -107 lost  the connection was lost\nlost\n");
}

static void what_was_not_asked_for_comes(void **state)
{
	(void)state;
	connect_link();
	played_postgresql_notify("changes");
	played_postgresql_notify("changes");
	settle();
	assert_told("notified\n");
	played_postgresql_notice("hear, hear");
	settle();
	assert_told("");
	ask("a", "COPY");
	settle();
	assert_told("a done: -107 lost  the connection was lost\nlost\n");
	assert_non_null(strstr(heard_take(), "an answer that libpq cannot place"));
}

static void libpq_takes_no_statement(void **state)
{
	(void)state;
	connect_link();
	postgresql_link_query(link, NULL, NULL, 0);
	end_request("a", NULL);
	assert_told("");
	settle();
	assert_told("a done: -107 lost  the connection was lost\nlost\n");
	assert_non_null(strstr(heard_take(), "store_lost role=read database=first reason="));
	/* nothing of it is left in the next one */
	assert_int_equal(pass(), 0);
	assert_told("connected\n");
	ask("b", "one");
	settle();
	assert_told("b 0: \"one\" 3\nb done\n");
}

static void a_value_is_not_there(void **state)
{
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

	(void)state;
	for (int row = -1; row <= 1; row++)
		for (int column = -1; column <= 1; column++) {
			assert_string_equal(postgresql_link_value(result, row, column), "");
			assert_int_equal(postgresql_link_length(result, row, column), 0);
		}
	PQclear(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(requests_are_answered_in_their_order),
		LINK_TEST(parameters_are_passed),
		LINK_TEST(a_statement_fails),
		LINK_TEST(a_result_is_doubted),
		LINK_TEST(a_connection_is_lost_with_its_requests),
		LINK_TEST(an_answer_does_not_come),
		LINK_TEST(an_answer_comes_too_slowly),
		LINK_TEST(an_answer_begins_with_each_statement),
		LINK_TEST(what_was_not_asked_for_comes),
		LINK_TEST(libpq_takes_no_statement),
		LINK_TEST(a_value_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
