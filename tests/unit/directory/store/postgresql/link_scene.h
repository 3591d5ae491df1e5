// SPDX-License-Identifier: ISC
/* tests/unit/directory/store/postgresql/link_scene.h - a link to a played server, for the real
 * libpq, on a loop that moves when a test wants it. */
#ifndef TESTS_UNIT_POSTGRESQL_LINK_SCENE_H
#define TESTS_UNIT_POSTGRESQL_LINK_SCENE_H

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

static inline bool run_task(void)
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
static inline void settle(void)
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

static inline void assert_told(const char *wanted)
{
	if (!str_equal(buffer_view(&told), str_from(wanted)))
		fail_msg(STR_FORMAT "--- instead of\n%s", STR_ARGUMENTS(buffer_view(&told)),
			 wanted);
	buffer_reset(&told);
}

/* --- a link and its requests --- */

static inline void on_connected(void *context)
{
	(void)context;
	buffer_append_string(&told, "connected\n");
}

static inline void on_lost(void *context)
{
	(void)context;
	buffer_append_string(&told, "lost\n");
}

static inline void on_notified(void *context)
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

static inline void on_result(struct postgresql_request *request, unsigned statement,
			     const PGresult *result)
{
	struct asked *asked = (struct asked *)request;

	buffer_append_format(&told, "%s %u: \"%s\" %zu\n", asked->name, statement,
			     postgresql_link_value(result, 0, 0),
			     postgresql_link_length(result, 0, 0));
	if (asked->doubts != NULL)
		postgresql_link_doubt(request, asked->doubts);
}

static inline void on_done(struct postgresql_request *request,
			   const struct postgresql_failure *failure)
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

static inline void end_request(const char *name, const char *doubts)
{
	struct asked *asked = calloc(1, sizeof *asked);

	assert_non_null(asked);
	*asked = (struct asked){
		.request = {.result = on_result, .done = on_done}, .name = name, .doubts = doubts};
	postgresql_link_end(link, &asked->request);
}

static inline void ask(const char *name, const char *sql)
{
	postgresql_link_query(link, sql, NULL, 0);
	end_request(name, NULL);
}

/* --- the server --- */

static struct buffer seen; /* parameters */

static inline void see_parameters(const struct played_postgresql_statement *statement)
{
	for (size_t i = 0; i < statement->count; i++)
		buffer_append_format(&seen, "%s%u %.*s|", statement->is_binary[i] ? "binary " : "",
				     statement->types[i],
				     statement->is_binary[i] ? 1 : (int)statement->values[i].length,
				     statement->values[i].data);
}

static inline void answer(struct played_postgresql_session *session,
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

static inline void set_database(size_t i, const char *label, const char *host)
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

static inline int set_up(void **state)
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

static inline int tear_down(void **state)
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

static inline void connect_link(void)
{
	assert_int_equal(pass(), 0);
	assert_told("connected\n");
	assert_int_equal(fake_timers(), 0);
	postgresql_link_accept(link);
	assert_true(postgresql_link_is_accepted(link));
	assert_int_equal(postgresql_link_position(link), 0);
	assert_string_equal(heard_take(), "store_connected role=read database=first\n");
}

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
