// SPDX-License-Identifier: ISC
#include "config/text.h"
#include "directory/socketmap/internal.h"
#include "directory/socketmap/socketmap.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/directory/directory_peer.h"
#include "unit/directory/store/memory_store.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- netstrings --- */

static const struct netstring {
	const char *text;
	int result;
	const char *content;
} netstrings[] = {
	{"", 0, NULL},
	{"1", 0, NULL},
	{"3:", 0, NULL},
	{"3:ab", 0, NULL},
	{"3:abc", 0, NULL},
	{"3:abc,", 1, "abc"},
	{"3:abc,rest", 1, "abc"},
	{"0:,", 1, ""},
	{"3:abcd", -EINVAL, NULL},
	{":", -EINVAL, NULL},
	{"x", -EINVAL, NULL},
	{"-1:,", -EINVAL, NULL},
	{"03:abc,", -EINVAL, NULL},
	{"00:,", -EINVAL, NULL},
	{"100001:", -EMSGSIZE, NULL},
	{"999999:", -EMSGSIZE, NULL},
	{"1000000", -EMSGSIZE, NULL},
	{"100000:", 0, NULL},
};

static void test_netstrings(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(netstrings); i++) {
		const struct netstring *one = &netstrings[i];
		struct str content = STR("none");
		size_t length = 0;

		assert_int_equal(socketmap_take(str_from(one->text), &content, &length),
				 one->result);
		if (one->result != 1)
			continue;
		assert_true(str_equal(content, str_from(one->content)));
		assert_int_equal(length, one->content[0] == '\0' ? 3 : 6);
	}
}

/* --- a server and its clients --- */

static const char CONFIG[] = "hostname = \"d.example\"\n"
			     "service maildir { kind = maildir path = \"/m/%d/%u\" }\n"
			     "service far { kind = lmtp address = \"192.0.2.7:24\" }\n"
			     "service some { kind = lmtp address = \"unix:/run/lmtp\" servers = { "
			     "\"*.example:24\", \"[2001:db8::/32]:24\" } }\n"
			     "service near { kind = lmtp address = \"unix:/run/lmtp\" }\n"
			     "service filter { kind = pipe command = \"/bin/cat\" user = u }\n"
			     "domain \"c.example\" { service = maildir addresses = \"joe\" }\n";

struct world {
	struct os_loop *loop;
	struct memory_store *store;
	struct config *config;
	struct directory_socketmap *socketmap;
	int listening;
	union os_socket_address address;
	int client;
	char answer[2000];
};

static int connect_client(struct world *world)
{
	int client = os_socket_connect(&world->address);

	assert_true(client >= 0);
	directory_peer_turn(world->loop, 10000);
	return client;
}

/* The store tells the socketmap alone. */
static void start(struct world *world, bool has_store)
{
	world->socketmap = directory_socketmap_new(
		world->loop, has_store ? &world->store->base : NULL, world->config);
	world->store->base.handler = &directory_socketmap_handler;
	world->store->base.context = world->socketmap;
	assert_true(directory_socketmap_listen(world->socketmap, world->listening));
}

static void setup(struct world *world, bool has_store)
{
	struct config_problems problems = {0};
	union os_socket_address any;

	memset(world, 0, sizeof *world);
	world->loop = os_loop_new();
	world->store = memory_store_new(world->loop);
	assert_int_equal(config_parse("f", str_from(CONFIG), &world->config, &problems), 0);
	config_problems_clear(&problems);
	assert_true(os_socket_address_parse("127.0.0.1", 0, &any));
	world->listening = os_socket_listen(&any, 100);
	assert_true(world->listening >= 0);
	assert_int_equal(os_socket_local_address(world->listening, &world->address), 0);
	start(world, has_store);
	world->client = connect_client(world);
}

static void teardown(struct world *world)
{
	if (world->client >= 0)
		os_socket_close(world->client);
	directory_socketmap_free(world->socketmap);
	memory_store_answer_all(world->store);
	memory_store_free(world->store);
	os_socket_close(world->listening);
	config_free(world->config);
	os_loop_free(world->loop);
}

static void send_text(struct world *world, const char *text)
{
	assert_int_equal(write(world->client, text, strlen(text)), (ssize_t)strlen(text));
}

/* The bytes that come within a moment; "closed" at the end of the connection. */
static const char *hear(struct world *world)
{
	size_t length = 0;

	for (int i = 0; i < 200 && length == 0; i++) {
		ssize_t count;

		directory_peer_turn(world->loop, 1000);
		count = read(world->client, world->answer, sizeof world->answer - 1);
		if (count == 0 || (count < 0 && errno != EAGAIN))
			return "closed";
		length = count > 0 ? (size_t)count : 0;
	}
	world->answer[length] = '\0';
	return world->answer;
}

/* The answer's content. */
static const char *ask(struct world *world, const char *request)
{
	char text[1000];
	const char *answer;

	snprintf(text, sizeof text, "%zu:%s,", strlen(request), request);
	send_text(world, text);
	answer = hear(world);
	if (strchr(answer, ':') == NULL)
		return answer;
	assert_int_equal(strtoul(answer, NULL, 10), strlen(strchr(answer, ':')) - 2);
	world->answer[strlen(world->answer) - 1] = '\0';
	return strchr(answer, ':') + 1;
}

static const char *const RECORDS[] = {
	"domain e.example|kind local|service maildir",
	"domain f.example|kind alias|target e.example",
	"domain r.example|kind relay",
	"address ann@e.example|kind mailbox",
	"address far@e.example|kind mailbox|service far",
	"address there@e.example|kind mailbox|user there",
	"user there|server there",
	"server there|service some|address s1.example:24",
	"address six@e.example|kind mailbox|user six",
	"user six|server six",
	"server six|service some|address [2001:db8::7]:24",
	"address near@e.example|kind mailbox|service near",
	"address prog@e.example|kind program|service filter",
	"address two@e.example|kind forward|target ann@e.example|target \"a,b\"@x.example",
	"address self@e.example|kind forward|target self@e.example|target z@x.example",
	"address nick@e.example|kind alias|target ann@e.example",
	"address gone@e.example|kind refused|text Gone",
	"address later@e.example|kind refused|text Not yet|status 4.2.1",
	"address lost@e.example|kind forward|target nobody@e.example|target ann@e.example",
	"address loop@e.example|kind forward|target loop2@e.example",
	"address loop2@e.example|kind forward|target loop@e.example",
	"address list@e.example|kind list|owner ann@e.example|verp yes",
	"address root@c.example|kind forward|target ann@e.example",
};

static const struct {
	const char *request;
	const char *answer;
} answers[] = {
	{"virtual ann@e.example", "OK ann@e.example"},
	{"virtual Ann@E.Example", "OK ann@e.example"},
	{"virtual ann+x@e.example", "OK ann+x@e.example"},
	{"virtual two@e.example", "OK ann@e.example,\"a,b\"@x.example"},
	{"virtual self@e.example", "OK self@e.example,z@x.example"},
	{"virtual nick@e.example", "OK ann@e.example"},
	{"virtual ann@f.example", "OK ann@e.example"},
	{"virtual list@e.example", "OK list@e.example"},
	{"virtual prog@e.example", "OK prog@e.example"},
	{"virtual lost@e.example", "OK nobody@e.example,ann@e.example"},
	{"virtual nobody@e.example", "NOTFOUND "},
	{"virtual gone@e.example", "NOTFOUND "},
	{"virtual later@e.example", "TEMP Not yet"},
	{"virtual z@x.example", "NOTFOUND "},
	{"virtual z@r.example", "OK z@r.example"},
	{"virtual @e.example", "NOTFOUND "},
	{"virtual e.example", "NOTFOUND "},
	{"virtual ", "NOTFOUND "},
	{"virtual joe@c.example", "OK joe@c.example"},
	{"alias nick@e.example", "OK ann@e.example"},
	{"alias ann@e.example", "NOTFOUND "},
	{"alias self@e.example", "OK self@e.example,z@x.example"},
	{"alias root", "OK ann@e.example"},
	{"alias nobody", "NOTFOUND "},
	{"mailbox ann@e.example", "OK ann@e.example"},
	{"mailbox nick@e.example", "NOTFOUND "},
	{"mailbox list@e.example", "NOTFOUND "},
	{"mailbox self@e.example", "OK self@e.example"},
	{"domain E.example", "OK local"},
	{"domain f.example", "OK alias"},
	{"domain r.example", "NOTFOUND "},
	{"domain c.example", "OK local"},
	{"domain x.example", "NOTFOUND "},
	{"domain a b", "NOTFOUND "},
	{"relay r.example", "OK relay"},
	{"relay e.example", "NOTFOUND "},
	{"transport far@e.example", "OK lmtp:inet:[192.0.2.7]:24"},
	{"transport there@e.example", "OK lmtp:inet:[s1.example]:24"},
	{"transport six@e.example", "OK lmtp:inet:[2001:db8::7]:24"},
	{"transport near@e.example", "OK lmtp:unix:/run/lmtp"},
	{"transport ann@e.example", "NOTFOUND "},
	{"transport two@e.example", "NOTFOUND "},
	{"transport e.example", "NOTFOUND "},
	{"transport *", "NOTFOUND "},
	{"host x",
	 "PERM there is no map host; there are virtual, alias, mailbox, transport, domain, "
	 "relay"},
	{"virtual", "PERM a request is a map, a space and a key"},
	{"", "PERM a request is a map, a space and a key"},
};

static void fill(struct world *world)
{
	for (size_t i = 0; i < COUNT_OF(RECORDS); i++)
		memory_store_put(world->store, RECORDS[i]);
}

static void test_answers(void **state)
{
	struct world world;

	(void)state;
	for (int is_late = 0; is_late < 2; is_late++) {
		setup(&world, true);
		fill(&world);
		world.store->is_late = is_late;
		for (size_t i = 0; i < COUNT_OF(answers); i++) {
			const char *answer = ask(&world, answers[i].request);

			if (strcmp(answer, answers[i].answer) != 0)
				fail_msg("%s: %s", answers[i].request, answer);
		}
		assert_true(strncmp(ask(&world, "virtual loop@e.example"), "TEMP ", 5) == 0);
		assert_non_null(
			strstr(world.answer, "loop@e.example > loop2@e.example > loop@e.example"));
		teardown(&world);
	}
}

static void test_configuration_only(void **state)
{
	struct world world;

	(void)state;
	setup(&world, false);
	assert_string_equal(ask(&world, "virtual joe@c.example"), "OK joe@c.example");
	assert_string_equal(ask(&world, "virtual ann@c.example"), "NOTFOUND ");
	assert_string_equal(ask(&world, "domain c.example"), "OK local");
	assert_string_equal(ask(&world, "domain e.example"), "NOTFOUND ");
	teardown(&world);
}

/* What the store cannot tell now is not told to be absent. */
static void test_no_data(void **state)
{
	static const char *const requests[] = {"virtual ann@e.example", "alias ann@e.example",
					       "mailbox ann@e.example", "transport far@e.example",
					       "domain e.example",      "relay r.example"};
	struct world world;

	(void)state;
	setup(&world, true);
	fill(&world);
	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		world.store->error = -ENOTCONN;
		assert_string_equal(ask(&world, requests[i]),
				    "TEMP the directory cannot be read now");
		world.store->error = -ETIMEDOUT;
		assert_string_equal(ask(&world, requests[i]),
				    "TIMEOUT the directory does not answer in time");
	}
	world.store->error = 0;
	assert_string_equal(ask(&world, "virtual ann@e.example"), "OK ann@e.example");
	teardown(&world);
}

static void test_order(void **state)
{
	struct world world;
	char expected[1500] = "";
	char heard[1500] = "";

	(void)state;
	setup(&world, true);
	fill(&world);
	world.store->is_late = true;
	for (int i = 0; i < 20; i++) {
		send_text(&world, i % 2 ? "22:virtual nick@e.example,19:domain f.example xx,"
					: "21:virtual ann@e.example,");
		strcat(expected,
		       i % 2 ? "16:OK ann@e.example,9:NOTFOUND ," : "16:OK ann@e.example,");
	}
	for (int i = 0; i < 100 && strlen(heard) < strlen(expected); i++)
		strcat(heard, hear(&world));
	assert_string_equal(heard, expected);
	teardown(&world);
}

/* A byte at a time. */
static void test_pieces(void **state)
{
	struct world world;
	static const char request[] = "21:virtual ann@e.example,";

	(void)state;
	setup(&world, true);
	fill(&world);
	for (size_t i = 0; i < sizeof request - 1; i++) {
		assert_int_equal(write(world.client, request + i, 1), 1);
		directory_peer_turn(world.loop, 200);
	}
	assert_string_equal(hear(&world), "16:OK ann@e.example,");
	teardown(&world);
}

static void test_rubbish(void **state)
{
	static const char *const rubbish[] = {"GET / HTTP/1.0\r\n", "999999:", "3:abcd", "01:a,"};
	struct world world;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rubbish); i++) {
		setup(&world, true);
		send_text(&world, rubbish[i]);
		assert_string_equal(hear(&world), "closed");
		teardown(&world);
	}
}

/* The client goes, or the server ends, while the store has not answered. */
static void test_gone(void **state)
{
	struct world world;

	(void)state;
	for (int is_server = 0; is_server < 2; is_server++) {
		setup(&world, true);
		memory_store_free(world.store);
		directory_socketmap_free(world.socketmap);
		world.store = memory_store_new(NULL); /* answers by hand */
		fill(&world);
		world.store->is_late = true;
		start(&world, true);
		os_socket_close(world.client);
		world.client = connect_client(&world);
		send_text(&world, "21:virtual ann@e.example,");
		directory_peer_turn(world.loop, 5000);
		if (is_server) {
			directory_socketmap_free(world.socketmap);
			world.socketmap = NULL;
		} else {
			os_socket_close(world.client);
			world.client = -1;
		}
		directory_peer_turn(world.loop, 5000);
		assert_true(memory_store_answer_all(world.store) > 0);
		directory_peer_turn(world.loop, 5000);
		teardown(&world);
	}
}

/* A domain that was asked for comes and goes. */
static void test_changes(void **state)
{
	struct world world;

	(void)state;
	setup(&world, true);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(ask(&world, "virtual ann@e.example"), "NOTFOUND ");
		assert_string_equal(ask(&world, "domain e.example"), "NOTFOUND ");
		memory_store_put(world.store, "domain e.example|kind local|service maildir");
		assert_string_equal(ask(&world, "virtual ann@e.example"), "NOTFOUND ");
		memory_store_put(world.store, "address ann@e.example|kind mailbox");
		assert_string_equal(ask(&world, "virtual ann@e.example"), "OK ann@e.example");
		assert_string_equal(ask(&world, "domain e.example"), "OK local");
		memory_store_remove(world.store, "domain e.example");
		memory_store_remove(world.store, "address ann@e.example");
	}
	memory_store_replace(world.store, "other");
	fill(&world);
	assert_string_equal(ask(&world, "virtual ann@e.example"), "OK ann@e.example");
	teardown(&world);
}

static void fill_places(struct world *world, int *clients, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		clients[i] = os_socket_connect(&world->address);
		assert_true(clients[i] >= 0);
		if (i % 50 == 0)
			directory_peer_turn(world->loop, 1000);
	}
	directory_peer_turn(world->loop, 20000);
}

/* The connection that was used longest ago gives way. */
static void test_many(void **state)
{
	static int clients[DIRECTORY_SOCKETMAP_CONNECTIONS];
	struct world world;
	char byte;

	(void)state;
	setup(&world, true);
	fill(&world);
	fill_places(&world, clients, COUNT_OF(clients) - 1);
	assert_string_equal(ask(&world, "domain e.example"), "OK local");
	clients[COUNT_OF(clients) - 1] = connect_client(&world);
	assert_int_equal(read(clients[0], &byte, 1), 0);
	assert_int_equal(read(clients[1], &byte, 1), -1);
	assert_string_equal(ask(&world, "domain e.example"), "OK local");
	for (size_t i = 0; i < COUNT_OF(clients); i++)
		os_socket_close(clients[i]);
	teardown(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_netstrings),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_configuration_only),
		cmocka_unit_test(test_no_data),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
