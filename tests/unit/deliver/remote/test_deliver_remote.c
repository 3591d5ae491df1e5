// SPDX-License-Identifier: ISC
/*
 * The remote transport against servers of its own kind: they listen on loopback, in
 * the same event loop, and misbehave as a test tells them to.
 */
#include "base/panic.h"
#include "deliver/remote/policy/policy.h"
#include "deliver/remote/remote.h"
#include "os/socket/interface.h"
#include "os/socket/socket.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { JOBS_MAX = 256 };

struct server {
	struct os_loop *loop;
	int listening;
	struct os_watch *watch;
	uint16_t port;
	const char *greeting;
	unsigned close_after; /* messages, silently; 0: never */
	bool drops_second;    /* closes at the RCPT of a connection's second message */
	unsigned connections;
	unsigned messages;
	struct buffer last; /* message, as it came */
	struct connection *first;
};

struct connection {
	struct server *server;
	int socket;
	struct os_watch *watch;
	struct buffer input;
	bool in_data;
	bool is_dropped;
	size_t scanned; /* bytes of the input that hold no end of data */
	unsigned messages;
	struct connection *next;
};

struct fixture {
	struct os_loop *loop;
	struct server server;
	struct config config;
	struct config_route route;
	struct remote_policies *policies;
	struct deliver_remote *remote;
	size_t open_jobs;
	struct os_task next;
	unsigned to_come; /* jobs, one after the other */
	const char *destination;
};

struct outcome {
	char text[2048]; /* "ok 2.0.0;wait 4.4.1 host.x;" */
};

static struct fixture *current;
static struct outcome outcomes[JOBS_MAX];

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	struct outcome *outcome = &outcomes[job->tag];
	size_t used = strlen(outcome->text);

	assert_false(job->recipients[index].is_reported);
	job->recipients[index].is_reported = true;
	snprintf(outcome->text + used, sizeof outcome->text - used, "%s %s%s%s;",
		 mail_verdict_class_name(verdict->class), verdict->status,
		 trigger != NULL ? " " : "", trigger != NULL ? trigger : "");
}

void deliver_helper_tell_said(const struct deliver_helper_job *job, const struct ipc_job_said *said)
{
	(void)job;
	(void)said;
}

void deliver_helper_report_rest(struct deliver_helper_job *job, const struct mail_verdict *verdict,
				const char *trigger)
{
	for (size_t i = 0; i < job->recipient_count; i++)
		if (!job->recipients[i].is_reported)
			deliver_helper_report(job, i, verdict, trigger);
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	close(job->content.file);
	arena_free(job->arena);
	free(job);
	if (--current->open_jobs == 0)
		os_loop_defer(current->loop, &current->next);
}

/* No section destination is configured, and no server says that it gets too much. */
void deliver_helper_finish_busy(struct deliver_helper_job *job, int64_t wait_us, uint32_t flags,
				const char *reason)
{
	(void)job;
	(void)flags;
	fail_msg("busy for %lld us: %s", (long long)wait_us, reason);
}

/* The server */

static void say(struct connection *connection, const char *text)
{
	assert_int_equal(os_socket_write(connection->socket, text, strlen(text)), strlen(text));
}

static void hang_up(struct connection *connection)
{
	struct connection **place = &connection->server->first;

	while (*place != connection)
		place = &(*place)->next;
	*place = connection->next;
	os_watch_free(connection->watch);
	os_socket_close(connection->socket);
	buffer_clear(&connection->input);
	free(connection);
}

static void answer(struct connection *connection, struct str line)
{
	if (str_starts_with(line, STR("EHLO")))
		say(connection, "250-fake\r\n250 PIPELINING\r\n");
	else if (str_starts_with(line, STR("RCPT TO:<no")))
		say(connection, "550 5.1.1 no such user\r\n");
	else if (str_starts_with(line, STR("DATA")))
		say(connection, "354 go\r\n");
	else if (str_starts_with(line, STR("QUIT")))
		return;
	else
		say(connection, "250 ok\r\n");
	connection->in_data = str_starts_with(line, STR("DATA"));
	connection->is_dropped = connection->server->drops_second && connection->messages == 1 &&
				 str_starts_with(line, STR("MAIL"));
}

static bool take_message(struct connection *connection)
{
	struct server *server = connection->server;
	struct str input = buffer_view(&connection->input);
	struct str unread = str_skip(input, connection->scanned);
	const char *end = memmem(unread.data, unread.length, "\r\n.\r\n", 5);
	size_t length;

	connection->scanned = input.length > 4 ? input.length - 4 : 0;
	if (end == NULL)
		return false;
	length = (size_t)(end - input.data) + 5;
	buffer_reset(&server->last);
	buffer_append(&server->last, input.data, length);
	buffer_consume(&connection->input, length);
	connection->scanned = 0;
	connection->in_data = false;
	connection->messages++;
	server->messages++;
	say(connection, "250 2.0.0 queued\r\n");
	return true;
}

static bool take_line(struct connection *connection)
{
	ptrdiff_t end = str_find(buffer_view(&connection->input), '\n');

	if (end < 0 || connection->is_dropped)
		return false;
	answer(connection, str_slice(buffer_data(&connection->input), (size_t)end));
	buffer_consume(&connection->input, (size_t)end + 1);
	return true;
}

static void on_connection(void *context, unsigned events)
{
	struct connection *connection = context;
	struct server *server = connection->server;
	ssize_t count = os_socket_read(connection->socket,
				       buffer_reserve(&connection->input, 65536), 65536);

	(void)events;
	if (count <= 0) {
		hang_up(connection);
		return;
	}
	buffer_commit(&connection->input, (size_t)count);
	while (connection->in_data ? take_message(connection) : take_line(connection))
		continue;
	if (connection->is_dropped ||
	    (server->close_after > 0 && connection->messages >= server->close_after))
		hang_up(connection);
}

static void on_listening(void *context, unsigned events)
{
	struct server *server = context;
	struct connection *connection = memory_alloc_zero(1, sizeof *connection);
	union os_socket_address peer;

	(void)events;
	connection->server = server;
	connection->socket = os_socket_accept(server->listening, &peer);
	assert_true(connection->socket >= 0);
	connection->watch = os_watch_new(server->loop, connection->socket, OS_WATCH_READ,
					 on_connection, connection);
	connection->next = server->first;
	server->first = connection;
	server->connections++;
	say(connection, server->greeting);
}

static void start_server(struct server *server, struct os_loop *loop)
{
	union os_socket_address address;

	assert_true(os_socket_address_parse("127.0.0.1", 0, &address));
	server->loop = loop;
	server->greeting = "220 fake\r\n";
	server->listening = os_socket_listen(&address, 100);
	assert_true(server->listening >= 0);
	/* small enough for a client to have to wait before it can write on */
	assert_int_equal(
		setsockopt(server->listening, SOL_SOCKET, SO_RCVBUF, &(int){4096}, sizeof(int)), 0);
	assert_int_equal(os_socket_local_address(server->listening, &address), 0);
	server->port = os_socket_address_port(&address);
	server->watch = os_watch_new(loop, server->listening, OS_WATCH_READ, on_listening, server);
}

static void stop_server(struct server *server)
{
	while (server->first != NULL)
		hang_up(server->first);
	os_watch_free(server->watch);
	if (server->listening >= 0)
		os_socket_close(server->listening);
	buffer_clear(&server->last);
}

/* The transport */

static void deliver(struct fixture *fixture, uint32_t tag, struct str message, size_t yes,
		    size_t no)
{
	struct deliver_helper_job *job = memory_alloc_zero(1, sizeof *job);

	job->arena = arena_new();
	job->tag = tag;
	job->sender = STR("s@us.example");
	job->destination = str_from(fixture->destination);
	job->recipient_count = yes + no;
	job->recipients = arena_alloc(job->arena, (yes + no) * sizeof *job->recipients);
	for (size_t i = 0; i < yes + no; i++)
		job->recipients[i].address =
			i < yes ? STR("yes@example.org") : STR("no@example.org");
	job->content = (struct ipc_content){.file = memfd_create("message", MFD_CLOEXEC),
					    .size = message.length};
	assert_int_equal(write(job->content.file, message.data, message.length), message.length);
	fixture->open_jobs++;
	deliver_remote_start(fixture->remote, job);
}

static void deliver_next(void *context)
{
	struct fixture *fixture = context;

	if (fixture->to_come == 0)
		os_loop_stop(fixture->loop);
	else
		deliver(fixture, --fixture->to_come, STR("Subject: x\r\n\r\n.y\r\n"), 1, 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = memory_alloc_zero(1, sizeof *fixture);

	fixture->loop = os_loop_new();
	start_server(&fixture->server, fixture->loop);
	fixture->destination = "example.org";
	fixture->next = (struct os_task){.call = deliver_next, .context = fixture};
	fixture->route = (struct config_route){"", "127.0.0.1", fixture->server.port};
	fixture->config = (struct config){
		.hostname = "us.example",
		.dns_server = "127.0.0.1@1",
		.remote_connect_timeout = 5,
		.remote_timeout = 5,
		.smtproutes = &fixture->route,
		.smtproute_count = 1,
	};
	fixture->policies = remote_policies_new(&fixture->config, false, NULL);
	assert_int_equal(deliver_remote_new(fixture->loop, &fixture->config, fixture->policies,
					    &fixture->remote),
			 0);
	memset(outcomes, 0, sizeof outcomes);
	current = fixture;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	deliver_remote_free(fixture->remote);
	remote_policies_free(fixture->policies);
	stop_server(&fixture->server);
	os_loop_free(fixture->loop);
	free(fixture);
	return 0;
}

/* Jobs 0 to COUNT - 1, each after the other was finished. */
static void deliver_in_turn(struct fixture *fixture, unsigned count)
{
	fixture->to_come = count;
	deliver_next(fixture);
	os_loop_run(fixture->loop);
}

static void messages_share_a_connection(void **state)
{
	struct fixture *fixture = *state;

	deliver_in_turn(fixture, 20);
	for (int i = 0; i < 20; i++)
		assert_string_equal(outcomes[i].text, "ok 2.0.0;");
	assert_int_equal(fixture->server.connections, 1);
	assert_int_equal(fixture->server.messages, 20);
	assert_true(str_equal(buffer_view(&fixture->server.last),
			      STR("Subject: x\r\n\r\n..y\r\n.\r\n")));
}

static void connections_retire(void **state)
{
	struct fixture *fixture = *state;

	deliver_in_turn(fixture, 150);
	assert_int_equal(fixture->server.messages, 150);
	assert_int_equal(fixture->server.connections, 2);
}

static void stale_connections_are_replaced(void **state)
{
	struct fixture *fixture = *state;

	fixture->server.close_after = 1;
	deliver_in_turn(fixture, 10);
	for (int i = 0; i < 10; i++)
		assert_string_equal(outcomes[i].text, "ok 2.0.0;");
	assert_int_equal(fixture->server.messages, 10);
	assert_int_equal(fixture->server.connections, 10);
}

/* A command of the message was answered already, but the message was not sent. */
static void connections_that_break_early_are_replaced(void **state)
{
	struct fixture *fixture = *state;

	fixture->server.drops_second = true;
	deliver_in_turn(fixture, 6);
	for (int i = 0; i < 6; i++)
		assert_string_equal(outcomes[i].text, "ok 2.0.0;");
	assert_int_equal(fixture->server.messages, 6);
	assert_int_equal(fixture->server.connections, 6);
}

static void many_recipients_take_several_transactions(void **state)
{
	struct fixture *fixture = *state;

	deliver(fixture, 0, STR("a\r\n"), 150, 1);
	os_loop_run(fixture->loop);
	assert_int_equal(fixture->server.messages, 2);
	assert_int_equal(fixture->server.connections, 1);
	assert_non_null(strstr(outcomes[0].text, "ok 2.0.0;fail 5.1.1;"));
	assert_int_equal(strlen(outcomes[0].text), 150 * strlen("ok 2.0.0;") + 11);
}

static void refused_servers_are_waited_for(void **state)
{
	struct fixture *fixture = *state;

	os_watch_free(fixture->server.watch);
	fixture->server.watch = NULL;
	os_socket_close(fixture->server.listening);
	fixture->server.listening = -1;
	deliver_in_turn(fixture, 1);
	assert_int_equal(strncmp(outcomes[0].text, "wait 4.4.1 host.127.0.0.1:", 26), 0);
}

static void refusing_greetings_are_told(void **state)
{
	struct fixture *fixture = *state;

	fixture->server.greeting = "554 5.7.1 not you\r\n";
	deliver_in_turn(fixture, 1);
	assert_string_equal(outcomes[0].text, "wait 4.7.1;");
}

/* Larger than what the sockets hold, so writing has to wait. */
static void large_messages_arrive_whole(void **state)
{
	struct fixture *fixture = *state;
	struct buffer message = {0};

	for (int i = 0; i < 180000; i++)
		buffer_append_format(&message, "%s line %06d of a long message\r\n",
				     i % 3 == 0 ? "." : "", i);
	deliver(fixture, 0, buffer_view(&message), 1, 0);
	os_loop_run(fixture->loop);
	assert_string_equal(outcomes[0].text, "ok 2.0.0;");
	assert_int_equal(fixture->server.last.length, message.length + 60000 + 3);
	buffer_clear(&message);
}

static void bare_line_ends_cut_the_connection(void **state)
{
	struct fixture *fixture = *state;

	deliver(fixture, 0, STR("a\n.\r\nMAIL FROM:<>\r\n"), 1, 0);
	os_loop_run(fixture->loop);
	assert_string_equal(outcomes[0].text, "fail 5.6.11;");
	assert_int_equal(fixture->server.messages, 0);
}

/* Which addresses this host has. */
int os_interface_addresses(struct in6_addr *list, size_t size)
{
	assert_true(size >= 1);
	assert_int_equal(inet_pton(AF_INET6, "::ffff:192.0.2.77", list), 1);
	return 1;
}

static void an_address_that_the_sender_chose_is_another_host(void **state)
{
	static const struct {
		const char *destination, *outcome;
	} cases[] = {
		{"[192.0.2.77]", "fail 5.4.6;"},
		{"[127.0.0.1]", "fail 5.4.6;"},
		{"[224.0.0.1]", "fail 5.4.4;"},
	};
	struct fixture *fixture = *state;

	deliver_remote_free(fixture->remote);
	fixture->config.smtproute_count = 0;
	assert_int_equal(deliver_remote_new(fixture->loop, &fixture->config, fixture->policies,
					    &fixture->remote),
			 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		memset(outcomes, 0, sizeof outcomes);
		fixture->destination = cases[i].destination;
		deliver_in_turn(fixture, 1);
		assert_string_equal(outcomes[0].text, cases[i].outcome);
	}
	assert_int_equal(fixture->server.connections, 0);
}

static void giving_up_reports_nothing(void **state)
{
	struct fixture *fixture = *state;

	deliver(fixture, 0, STR("a\r\n"), 1, 0);
	deliver(fixture, 1, STR("a\r\n"), 1, 0);
	deliver_remote_give_up(fixture->remote);
	os_loop_run(fixture->loop);
	assert_string_equal(outcomes[0].text, "");
	assert_string_equal(outcomes[1].text, "");
}

#define STAGE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGE_TEST(messages_share_a_connection),
		STAGE_TEST(connections_retire),
		STAGE_TEST(stale_connections_are_replaced),
		STAGE_TEST(connections_that_break_early_are_replaced),
		STAGE_TEST(many_recipients_take_several_transactions),
		STAGE_TEST(refused_servers_are_waited_for),
		STAGE_TEST(refusing_greetings_are_told),
		STAGE_TEST(large_messages_arrive_whole),
		STAGE_TEST(bare_line_ends_cut_the_connection),
		STAGE_TEST(an_address_that_the_sender_chose_is_another_host),
		STAGE_TEST(giving_up_reports_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
