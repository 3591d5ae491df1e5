// SPDX-License-Identifier: ISC
/* A client, a relay, and two servers of the same data behind it; TLS between all of them. */
#include "base/timestamp.h"
#include "config/text.h"
#include "directory/client/client.h"
#include "directory/client/dialer.h"
#include "directory/server/acceptor.h"
#include "directory/server/server.h"
#include "directory/store/relay/relay.h"
#include "loop_signer.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/directory/store/memory_store.h"
#include "unit/tls/certificates.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t PATIENCE_US = 10 * SECOND_US;

static char directory[SCRATCH_SIZE];

static struct os_loop *loop;
static struct config *config;
static struct loop_signer *signer;
static struct tls_context *server_tls;
static struct tls_context *client_tls;
static struct directory_tls_dialer *dialer;

struct host {
	int listening;
	char address[64];
	struct directory_store *store;
	struct memory_store *memory; /* the same, or NULL: a relay */
	struct directory_server *server;
	struct directory_acceptor admission;
	struct transport_acceptor *acceptor;
};

static struct host hosts[2];
static struct host relay;
static struct directory_client *client;
static char news[400]; /* "103 address ann@example.org\n" */

/* --- time --- */

static void stop(void *context)
{
	(void)context;
	os_loop_stop(loop);
}

static void run_for(int64_t time_us)
{
	struct os_timer *timer = os_timer_new(loop, stop, NULL);

	os_timer_start(timer, time_us);
	os_loop_run(loop);
	os_timer_free(timer);
}

#define wait_until(is_so) wait_at(is_so, __LINE__)

static int64_t wait_at(bool (*is_so)(void), int line)
{
	int64_t begin_us = os_clock_monotonic_us();

	while (!is_so()) {
		if (os_clock_monotonic_us() - begin_us > PATIENCE_US)
			_assert_true(0, "within the patience", __FILE__, line);
		run_for(1000);
	}
	return os_clock_monotonic_us() - begin_us;
}

/* --- hosts --- */

static void on_accepted(void *context, const struct directory_transport *transport, unsigned roles,
			const char *peer)
{
	struct host *host = context;

	directory_server_accept(host->server, transport, roles, peer);
}

static void open_host(struct host *host)
{
	host->server = directory_server_new(loop, host->store, config);
	host->admission = (struct directory_acceptor){&config->directory, on_accepted, host};
	host->acceptor = transport_acceptor_new(loop, host->listening, server_tls,
						&directory_acceptor_handler, &host->admission);
}

static void close_host(struct host *host)
{
	transport_acceptor_free(host->acceptor);
	directory_server_free(host->server);
	host->acceptor = NULL;
	host->server = NULL;
}

static void listen_at(struct host *host)
{
	union os_socket_address address;

	*host = (struct host){0};
	assert_true(os_socket_address_parse("127.0.0.1", 0, &address));
	host->listening = os_socket_listen(&address, 16);
	assert_true(host->listening >= 0);
	assert_int_equal(os_socket_local_address(host->listening, &address), 0);
	os_socket_address_format(&address, host->address);
}

static void put_at_all(const char *record)
{
	for (size_t i = 0; i < COUNT_OF(hosts); i++)
		memory_store_put(hosts[i].memory, record);
}

static void on_news(void *context, uint64_t version, struct str table, struct str key)
{
	size_t length = strlen(news);

	(void)context;
	snprintf(news + length, sizeof news - length, "%u " STR_FORMAT " " STR_FORMAT "\n",
		 (unsigned)version, STR_ARGUMENTS(table), STR_ARGUMENTS(key));
}

static struct tls_context *open_tls(enum tls_side side)
{
	return loop_signer_context(signer, side, directory, "loopback-dir.example.org",
				   DIRECTORY_TLS_PROTOCOL);
}

static bool is_up(void)
{
	return directory_client_is_up(client) && directory_client_version(client) > 0 &&
	       !directory_client_is_syncing(client);
}

static void begin(void)
{
	static const char *changers[] = {"dir.example.org"};
	struct config_problems problems;
	const char *servers[2];

	loop = os_loop_new();
	news[0] = '\0';
	assert_int_equal(
		config_parse("t",
			     STR("hostname = mx.example.org\ndirectory { }\n"
				 "service maildir { kind = maildir path = \"/m/%d/%u\" }\n"),
			     &config, &problems),
		0);
	config->directory.changers = changers;
	config->directory.changer_count = 1;
	config->directory.ttl_us = 60 * SECOND_US;
	config_problems_clear(&problems);
	signer = loop_signer_new(loop);
	server_tls = open_tls(TLS_SERVER);
	client_tls = open_tls(TLS_CLIENT);
	dialer = directory_tls_dialer_new(loop, client_tls, NULL);
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		listen_at(&hosts[i]);
		hosts[i].memory = memory_store_new(loop);
		hosts[i].store = &hosts[i].memory->base;
		servers[i] = hosts[i].address;
	}
	put_at_all("domain example.org|kind local|service maildir");
	put_at_all("address ann@example.org|kind mailbox");
	for (size_t i = 0; i < COUNT_OF(hosts); i++)
		open_host(&hosts[i]);
	listen_at(&relay);
	relay.store = store_relay_new(loop, servers, 2, directory_tls_dialer(dialer));
	open_host(&relay);
	servers[0] = relay.address;
	client = directory_client_new(loop, servers, 1, directory_tls_dialer(dialer), NULL, NULL);
	directory_client_watch(client, on_news, NULL);
	wait_until(is_up);
	news[0] = '\0'; /* of a relay that had not been up yet */
}

static void end(void)
{
	directory_client_free(client);
	close_host(&relay);
	relay.store->operations->free(relay.store);
	os_socket_close(relay.listening);
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		close_host(&hosts[i]);
		memory_store_free(hosts[i].memory);
		os_socket_close(hosts[i].listening);
	}
	run_for(1000);
	directory_tls_dialer_free(dialer);
	tls_context_free(server_tls);
	tls_context_free(client_tls);
	loop_signer_free(signer);
	config_free(config);
	os_loop_free(loop);
}

/* --- questions --- */

static struct {
	bool is_done;
	enum directory_error error;
	bool exists;
	uint64_t version;
	int64_t ttl_us;
	char text[400]; /* its results, and what they depend on */
} answer;

static void on_answer(void *context, const struct directory_answer_text *given)
{
	size_t length = 0;

	(void)context;
	answer.is_done = true;
	answer.error = given->error;
	answer.exists = given->exists;
	answer.version = given->version;
	answer.ttl_us = given->ttl_us;
	answer.text[0] = '\0';
	for (size_t i = 0; i < given->result_count; i++)
		length += (size_t)snprintf(answer.text + length, sizeof answer.text - length,
					   STR_FORMAT "\n", STR_ARGUMENTS(given->results[i]));
	for (size_t i = 0; i < given->dependency_count; i++)
		length += (size_t)snprintf(answer.text + length, sizeof answer.text - length,
					   "on " STR_FORMAT "\n",
					   STR_ARGUMENTS(given->dependencies[i]));
}

static bool is_answered(void)
{
	return answer.is_done;
}

static struct directory_question question = {.answered = on_answer};

static void get(const char *table, const char *key)
{
	answer.is_done = false;
	directory_client_get(client, table, str_from(key), DIRECTORY_PATIENCE_US, &question);
	wait_until(is_answered);
}

static bool has_news(void)
{
	return news[0] != '\0';
}

static void expect_news(const char *expected)
{
	int64_t delay_us = wait_until(has_news);

	assert_true(delay_us < 5 * SECOND_US);
	assert_string_equal(news, expected);
	news[0] = '\0';
}

/* --- tests --- */

static void answers_and_news_come_through(void **state)
{
	(void)state;
	begin();
	get("route", "Ann@example.org");
	assert_int_equal(answer.error, DIRECTORY_ERROR_NONE);
	assert_non_null(strstr(answer.text, "local maildir Ann@example.org\n"));
	assert_non_null(strstr(answer.text, "on address ann@example.org\n"));
	assert_non_null(strstr(answer.text, "on domain example.org\n"));
	assert_true(answer.ttl_us <= 60 * SECOND_US && answer.ttl_us > 50 * SECOND_US);
	get("address", "ann@example.org");
	assert_true(answer.exists);
	assert_string_equal(answer.text, "kind mailbox\non address ann@example.org\n");
	get("address", "gone@example.org");
	assert_false(answer.exists);
	put_at_all("address ann@example.org|kind refused|text Gone");
	expect_news("3 address ann@example.org\n");
	get("route", "Ann@example.org");
	assert_non_null(strstr(answer.text, "refuse 5.7.1 Ann@example.org Gone\n"));
	assert_int_equal(answer.version, 3);
	put_at_all("address gone@example.org|kind mailbox");
	expect_news("4 address gone@example.org\n");
	get("address", "gone@example.org");
	assert_true(answer.exists);
	end();
}

static void changes_go_through(void **state)
{
	const struct str fields[] = {{"kind forward", 12}, {"target b@example.com", 20}};
	const struct str bad[] = {{"kind hologram", 13}};

	(void)state;
	begin();
	answer.is_done = false;
	directory_client_put(client, "address", STR("New@example.org"), fields, 2, &question);
	wait_until(is_answered);
	assert_int_equal(answer.error, DIRECTORY_ERROR_NONE);
	assert_int_equal(answer.version, 3);
	expect_news("3 address new@example.org\n");
	get("address", "new@example.org");
	assert_non_null(strstr(answer.text, "target b@example.com\n"));
	answer.is_done = false;
	directory_client_put(client, "address", STR("New@example.org"), bad, 1, &question);
	wait_until(is_answered);
	assert_int_equal(answer.error, DIRECTORY_ERROR_BAD);
	for (unsigned i = 0; i < 2; i++) {
		answer.is_done = false;
		directory_client_remove(client, "address", STR("new@example.org"), &question);
		wait_until(is_answered);
		assert_int_equal(answer.error, DIRECTORY_ERROR_NONE);
		assert_int_equal(answer.exists, i == 0);
	}
	answer.is_done = false;
	directory_client_list(client, "address", STR(""), STR(""), 10, &question);
	wait_until(is_answered);
	assert_string_equal(answer.text, "= ann@example.org\nkind mailbox\n");
	end();
}

/* About what nobody has asked for yet. */
static void get_another(void)
{
	static unsigned number;
	char key[64];

	snprintf(key, sizeof key, "other%u@example.org", number++);
	get("address", key);
}

static bool is_asked_elsewhere(void)
{
	get_another();
	return answer.error == DIRECTORY_ERROR_NONE;
}

static bool is_later(void)
{
	get_another();
	return answer.error == DIRECTORY_ERROR_LATER;
}

static void another_server_takes_over(void **state)
{
	int64_t delay_us;

	(void)state;
	begin();
	get("route", "ann@example.org");
	close_host(&hosts[0]);
	delay_us = wait_until(is_asked_elsewhere);
	print_message("failover: %d ms\n", (int)(delay_us / 1000));
	assert_true(delay_us < 5 * SECOND_US);
	put_at_all("address ann@example.org|kind refused|text Gone");
	expect_news("3 address ann@example.org\n");
	get("route", "ann@example.org");
	assert_non_null(strstr(answer.text, "refuse 5.7.1"));
	get("address", "ann@example.org");
	/* nobody is left: records that are kept are still told, refusals and the rest later */
	close_host(&hosts[1]);
	wait_until(is_later);
	get("address", "ann@example.org");
	assert_int_equal(answer.error, DIRECTORY_ERROR_NONE);
	get("route", "ann@example.org");
	assert_int_equal(answer.error, DIRECTORY_ERROR_LATER);
	/* what happened meanwhile is told when one is back */
	put_at_all("address ann@example.org|kind mailbox");
	put_at_all("user ann|name A N");
	open_host(&hosts[1]);
	delay_us = wait_until(is_asked_elsewhere);
	assert_true(delay_us < 5 * SECOND_US);
	get("route", "ann@example.org");
	assert_non_null(strstr(answer.text, "local maildir ann@example.org\n"));
	assert_string_equal(news, "4 address ann@example.org\n5 user ann\n");
	end();
}

static bool is_down(void)
{
	return !directory_client_is_up(client);
}

static bool has_heard_at_relay(void)
{
	return relay.store->version == 3;
}

/* The relay goes and comes: its client is told what it missed, or to begin anew. */
static void a_new_relay_knows_nothing_from_before(void **state)
{
	const char *servers[] = {hosts[0].address, hosts[1].address};

	(void)state;
	begin();
	get("route", "ann@example.org");
	close_host(&relay); /* its store stays: it hears, and remembers */
	wait_until(is_down);
	put_at_all("address ann@example.org|kind refused|text Gone");
	wait_until(has_heard_at_relay);
	open_host(&relay);
	wait_until(is_up);
	expect_news("3 address ann@example.org\n");
	get("route", "ann@example.org");
	assert_non_null(strstr(answer.text, "refuse 5.7.1"));

	close_host(&relay);
	wait_until(is_down);
	relay.store->operations->free(relay.store);
	put_at_all("address ann@example.org|kind mailbox");
	relay.store = store_relay_new(loop, servers, 2, directory_tls_dialer(dialer));
	open_host(&relay);
	wait_until(is_up);
	wait_until(has_news);
	assert_non_null(strstr(news, "4  \n")); /* reset */
	get("route", "ann@example.org");
	assert_non_null(strstr(answer.text, "local maildir"));
	end();
}

static int make_files(void **state)
{
	(void)state;
	return certificates_make(directory, "loopback-dir.example.org");
}

static int remove_files(void **state)
{
	(void)state;
	return scratch_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_and_news_come_through),
		cmocka_unit_test(changes_go_through),
		cmocka_unit_test(another_server_takes_over),
		cmocka_unit_test(a_new_relay_knows_nothing_from_before),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
