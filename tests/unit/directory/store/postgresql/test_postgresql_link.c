// SPDX-License-Identifier: ISC
/* A connection of the directory to PostgreSQL: how it is made, lost and made again, and requests on
 * it, with a played server for the real libpq. */
#include "directory/store/postgresql/link.h"
#include "fake_loop.h"
#include "heard.h"
#include "os/clock.h"
#include "scratch.h"
#include "test.h"
#include "unit/played_postgresql.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS_MAX = 4, MAY_WAIT_US = 400000, OID_TEXT_ARRAY = 1009 };

static char folder[SCRATCH_SIZE];
static struct postgresql_database list[3];
static struct postgresql_databases databases;
static struct postgresql_link *link;
static struct buffer told; /* what handlers and requests are called with */

/* --- the loop, sizes and names --- */

static struct os_task *tasks[TASKS_MAX];
static uint64_t received;
static void (*resolved)(void *context, const struct dns_servers *servers);
static void *resolved_context;
static int search; /* its address is one */

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	for (size_t i = 0; i < TASKS_MAX; i++)
		if (tasks[i] == task)
			return;
	for (size_t i = 0; i < TASKS_MAX; i++)
		if (tasks[i] == NULL) {
			tasks[i] = task;
			return;
		}
	fail_msg("too many tasks");
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	for (size_t i = 0; i < TASKS_MAX; i++)
		if (tasks[i] == task)
			tasks[i] = NULL;
}

static bool run_task(void)
{
	for (size_t i = 0; i < TASKS_MAX; i++) {
		struct os_task *task = tasks[i];

		if (task == NULL)
			continue;
		tasks[i] = NULL;
		task->call(task->context);
		return true;
	}
	return false;
}

uint64_t os_socket_received(int socket)
{
	assert_true(socket >= 0);
	return received;
}

struct dns_search *dns_search_relay(struct dns_resolver *resolver, const char *host, uint16_t port,
				    void (*done)(void *context, const struct dns_servers *servers),
				    void *context)
{
	(void)resolver;
	buffer_append_format(&told, "who is %s:%u\n", host, port);
	resolved = done;
	resolved_context = context;
	return (struct dns_search *)(void *)&search;
}

void dns_search_free(struct dns_search *one)
{
	if (one != NULL)
		assert_ptr_equal(one, &search);
	resolved = NULL;
}

/* Until nothing moves any more, but what waits for time. */
static void settle(void)
{
	while (played_postgresql_turn() || run_task() || fake_play_file())
		;
}

/* Until the next timer, which is played: how long that was. */
static int64_t pass(void)
{
	int64_t begun_us = os_clock_monotonic_us();

	assert_int_equal(fake_timers(), 1);
	fake_play_timer();
	settle();
	return os_clock_monotonic_us() - begun_us;
}

static void assert_told(const char *wanted)
{
	if (!str_equal(buffer_view(&told), str_from(wanted)))
		fail_msg(STR_FORMAT "--- instead of\n%s", STR_ARGUMENTS(buffer_view(&told)),
			 wanted);
	buffer_reset(&told);
}

/* --- a link and its requests --- */

static void on_connected(void *context)
{
	(void)context;
	buffer_append_string(&told, "connected\n");
}

static void on_lost(void *context)
{
	(void)context;
	buffer_append_string(&told, "lost\n");
}

static void on_notified(void *context)
{
	(void)context;
	buffer_append_string(&told, "notified\n");
}

static const struct postgresql_link_handler handler = {on_connected, on_lost, on_notified};

struct asked {
	struct postgresql_request request; /* first */
	const char *name;
	const char *doubts; /* of its first result; NULL: none */
};

static void on_result(struct postgresql_request *request, unsigned statement,
		      const PGresult *result)
{
	struct asked *asked = (struct asked *)request;

	buffer_append_format(&told, "%s %u: \"%s\" %zu\n", asked->name, statement,
			     postgresql_link_value(result, 0, 0),
			     postgresql_link_length(result, 0, 0));
	if (asked->doubts != NULL)
		postgresql_link_doubt(request, asked->doubts);
}

static void on_done(struct postgresql_request *request, const struct postgresql_failure *failure)
{
	struct asked *asked = (struct asked *)request;

	buffer_append_format(&told, "%s done", asked->name);
	if (failure != NULL)
		buffer_append_format(&told, ": %d%s %s %s", failure->error,
				     failure->is_lost ? " lost" : "", failure->state,
				     failure->text);
	buffer_append_byte(&told, '\n');
	free(asked);
}

static void end_request(const char *name, const char *doubts)
{
	struct asked *asked = calloc(1, sizeof *asked);

	assert_non_null(asked);
	*asked = (struct asked){
		.request = {.result = on_result, .done = on_done}, .name = name, .doubts = doubts};
	postgresql_link_end(link, &asked->request);
}

static void ask(const char *name, const char *sql)
{
	postgresql_link_query(link, sql, NULL, 0);
	end_request(name, NULL);
}

/* --- the server --- */

static struct buffer seen; /* parameters */

static void see_parameters(const struct played_postgresql_statement *statement)
{
	for (size_t i = 0; i < statement->count; i++)
		buffer_append_format(&seen, "%s%u %.*s|", statement->is_binary[i] ? "binary " : "",
				     statement->types[i],
				     statement->is_binary[i] ? 1 : (int)statement->values[i].length,
				     statement->values[i].data);
}

static void answer(struct played_postgresql_session *session,
		   const struct played_postgresql_statement *statement)
{
	struct str text = statement->text;

	assert_false(statement->wants_binary);
	see_parameters(statement);
	if (str_starts_with(text, STR("FAIL "))) {
		char state[6] = "";

		memcpy(state, text.data + 5, 5);
		played_postgresql_refuse(session, state, "  no\nway ");
	} else if (str_equal(text, STR("COPY"))) {
		played_postgresql_send(STR("n\0\0\0\4H\0\0\0\7\0\0\0"));
	} else if (str_equal(text, STR("SILENCE"))) {
		played_postgresql.is_deaf = true;
	} else if (str_equal(text, STR("NOTHING"))) {
		played_postgresql_complete(session, "SET");
	} else {
		played_postgresql_columns(session, (const uint32_t[]){25}, 1);
		played_postgresql_row(session, &text, NULL, 1);
		played_postgresql_complete(session, "SELECT 1");
	}
}

/* --- life --- */

static void set_database(size_t i, const char *label, const char *host)
{
	static const char *const names[] = {"host", "port", "user", "dbname", "hostaddr", NULL};
	struct postgresql_database *one = &list[i];

	one->names = calloc(6, sizeof *one->names);
	one->values = calloc(6, sizeof *one->values);
	memcpy(one->names, names, sizeof names);
	one->values[0] = host;
	one->values[1] = "5432";
	one->values[2] = "reader";
	one->values[3] = "mail";
	one->values[4] = "";
	one->address_slot = 4;
	one->label = label;
	one->port = 5432;
}

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	fake_advance(10 * SECOND_US);
	assert_int_equal(scratch_make(folder), 0);
	played_postgresql_begin(folder);
	played_postgresql.answer = answer;
	received = 0;
	set_database(0, "first", folder);
	set_database(1, "second", "/nonexistent");
	set_database(2, "third", folder);
	databases = (struct postgresql_databases){.list = list, .count = 1};
	link = postgresql_link_new(NULL, &databases, "read", MAY_WAIT_US, &handler, NULL);
	(void)heard_take();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	postgresql_link_free(link);
	settle();
	played_postgresql_end();
	assert_int_equal(scratch_remove(folder), 0);
	for (size_t i = 0; i < COUNT_OF(list); i++) {
		free(list[i].names);
		free(list[i].values);
	}
	buffer_clear(&told);
	buffer_clear(&seen);
	return fake_timers() > 0 ? -1 : 0;
}

static void connect_link(void)
{
	assert_int_equal(pass(), 0);
	assert_told("connected\n");
	assert_int_equal(fake_timers(), 0);
	postgresql_link_accept(link);
	assert_true(postgresql_link_is_accepted(link));
	assert_int_equal(postgresql_link_position(link), 0);
	assert_string_equal(heard_take(), "store_connected role=read database=first\n");
}

/* --- connections --- */

static void a_connection_is_made_and_lost(void **state)
{
	(void)state;
	assert_false(postgresql_link_is_accepted(link));
	connect_link();
	assert_string_equal(postgresql_link_label(link), "first");
	for (int with_words = 0; with_words <= 1; with_words++) {
		played_postgresql_lose_all(with_words == 1);
		settle();
		assert_told("lost\n");
		assert_false(postgresql_link_is_accepted(link));
		/* an idle one's words are a notice for libpq */
		assert_non_null(strstr(heard_take(), "closed the connection"));
		assert_int_equal(pass(), 0); /* at once, as it was accepted */
		assert_told("connected\n");
		postgresql_link_accept(link);
		(void)heard_take();
	}
}

/* Twice as long each time, and what is wrong is logged once. */
static void nobody_is_there(void **state)
{
	static const int64_t wanted_us[] = {0, 50000, 100000, 200000, 400000, 400000};

	(void)state;
	played_postgresql_stop_listening();
	for (size_t i = 0; i < COUNT_OF(wanted_us); i++) {
		assert_int_equal(pass(), wanted_us[i]);
		assert_told("");
		assert_int_equal(
			strncmp(heard_take(), "store_refused role=read database=first ", 39) == 0,
			i == 0);
	}
	postgresql_link_hurry(link);
	assert_int_equal(pass(), 0);
	assert_int_equal(pass(), 50000);
	played_postgresql_listen_again();
	(void)pass();
	assert_told("connected\n");
	/* whoever is not pausing hurries already */
	postgresql_link_hurry(link);
	assert_int_equal(fake_timers(), 0);
	/* one that was connected, but not accepted, is as none */
	played_postgresql_lose_all(false);
	settle();
	assert_told("lost\n");
	assert_int_equal(pass(), 200000);
	assert_told("connected\n");
}

static void a_login_is_refused(void **state)
{
	(void)state;
	played_postgresql.refuses_login = "28P01";
	assert_int_equal(pass(), 0);
	assert_non_null(strstr(heard_take(), "you are refused"));
	played_postgresql.refuses_login = NULL;
	assert_int_equal(pass(), 50000);
	assert_told("connected\n");
	postgresql_link_refuse(link, "it is not\tright \n");
	assert_told("lost\n");
	assert_string_equal(heard_take(),
			    "store_refused role=read database=first reason=it is not right\n");
	assert_int_equal(pass(), 100000);
	postgresql_link_refuse(link, "it is not\tright \n");
	assert_string_equal(heard_take(), "");
	assert_int_equal(pass(), 200000);
	postgresql_link_refuse(link, NULL);
	assert_string_equal(heard_take(), "");
}

static void a_server_does_not_answer_who_connects(void **state)
{
	(void)state;
	played_postgresql.is_silent = true;
	assert_int_equal(pass(), 0);
	assert_int_equal(pass(), 2 * SECOND_US);
	assert_string_equal(heard_take(), "store_refused role=read database=first reason=no "
					  "connection within 2 seconds\n");
	played_postgresql.is_silent = false;
	settle();
}

static void the_next_database_is_tried(void **state)
{
	(void)state;
	databases.count = 3;
	postgresql_link_free(link);
	link = postgresql_link_new(NULL, &databases, "read", MAY_WAIT_US, &handler, NULL);
	played_postgresql_stop_listening();
	for (int round = 0; round < 2; round++) {
		assert_int_equal(pass(), round == 0 ? 0 : 50000);
		assert_int_equal(postgresql_link_position(link), 1);
		assert_int_equal(pass(), 0);
		assert_int_equal(postgresql_link_position(link), 2);
		assert_int_equal(pass(), 0);
		assert_int_equal(postgresql_link_position(link), 0);
	}
	played_postgresql_listen_again();
	postgresql_link_hurry(link);
	(void)heard_take();
	connect_link();
	/* after one that was lost the next one, and then all others before it waits */
	played_postgresql_lose_all(false);
	settle();
	played_postgresql_stop_listening();
	assert_told("lost\n");
	assert_int_equal(postgresql_link_position(link), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pass(), 0);
	assert_int_equal(pass(), 50000);
	played_postgresql_listen_again();
	postgresql_link_move(link, 2, NULL);
	assert_int_equal(postgresql_link_position(link), 2);
	while (told.length == 0)
		(void)pass();
	assert_told("connected\n");
	assert_string_equal(postgresql_link_label(link), "third");
}

/* --- names --- */

static void look_up_host(struct dns_servers *servers)
{
	postgresql_link_free(link);
	list[0].host = "db.example";
	link = postgresql_link_new(NULL, &databases, "read", MAY_WAIT_US, &handler, NULL);
	fake_play_timer();
	assert_told("who is db.example:5432\n");
	if (servers != NULL)
		resolved(resolved_context, servers);
	settle();
}

static void a_name_has_no_address(void **state)
{
	struct dns_servers none = {.verdict = {.text = "there is no such name"}};

	(void)state;
	look_up_host(&none);
	assert_string_equal(heard_take(), "store_refused role=read database=first reason=there is "
					  "no such name\n");
	assert_int_equal(fake_timers(), 1);
	look_up_host(NULL);
	assert_int_equal(pass(), 2 * SECOND_US);
	assert_non_null(strstr(heard_take(), "no connection within 2 seconds"));
	assert_null(resolved);
}

/* All addresses of a name are tried; there is nobody at port 1. */
static void each_address_of_a_name_is_tried(void **state)
{
	static struct dns_servers servers = {.count = 2};

	(void)state;
	list[0].values[1] = "1";
	assert_true(os_socket_address_parse("127.0.0.1", 1, &servers.list[0].address));
	assert_true(os_socket_address_parse("127.0.0.2", 1, &servers.list[1].address));
	list[0].values[0] = "db.example";
	look_up_host(&servers);
	for (int i = 0; i < 100 && fake_timers() > 0 && link->state != POSTGRESQL_LINK_WAITING; i++)
		settle();
	assert_non_null(strstr(heard_take(), "127.0.0.2"));
	assert_string_equal(list[0].values[4], "");
	list[0].host = NULL;
}

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
	settle();
	assert_told("a 0: \"one\" 3\n");
	fake_pass(20 * SECOND_US);
	received = 320 << 20;
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

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(a_connection_is_made_and_lost),
		LINK_TEST(nobody_is_there),
		LINK_TEST(a_login_is_refused),
		LINK_TEST(a_server_does_not_answer_who_connects),
		LINK_TEST(the_next_database_is_tried),
		LINK_TEST(a_name_has_no_address),
		LINK_TEST(each_address_of_a_name_is_tried),
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
