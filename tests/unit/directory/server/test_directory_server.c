// SPDX-License-Identifier: ISC
/* The directory's server, frame by frame, around a store in memory that answers at once and late.
 */
#include "base/timestamp.h"
#include "config/text.h"
#include "directory/server/internal.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/directory/directory_peer.h"
#include "unit/directory/store/memory_store.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOKUP = DIRECTORY_ROLE_READ,
	MEMBERS = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_MEMBERS,
	NODES = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_NODES,
	READ = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST,
	ALL = READ | DIRECTORY_ROLE_SECRET | DIRECTORY_ROLE_CHANGE,
};

struct scene {
	struct os_loop *loop;
	struct memory_store *store;
	struct config *config;
	struct directory_server *server;
};

static struct config *parse(const char *text)
{
	struct config_problems problems;
	struct config *config = NULL;

	assert_int_equal(config_parse("t", str_from(text), &config, &problems), 0);
	config_problems_clear(&problems);
	return config;
}

#define BASE                                                                       \
	"hostname = mx.example.org\nservice box { kind = maildir path = /m/%u }\n" \
	"directory { ttl = 1h negative_ttl = 5m }\n"

static void begin(struct scene *scene, bool is_late)
{
	scene->loop = os_loop_new();
	scene->store = memory_store_new(scene->loop);
	memory_store_put(scene->store, "domain example.org|kind local|service box");
	memory_store_put(scene->store, "address ann@example.org|kind mailbox");
	memory_store_put(scene->store, "user ann|password $6$x$y|name Ann");
	scene->store->is_late = is_late;
	scene->config = parse(BASE);
	scene->server = directory_server_new(scene->loop, &scene->store->base, scene->config);
}

/* Routes are computed by other servers, who have one domain; they tell whom they were asked. */
static char asked_others[1000];

static void route_elsewhere(struct directory_store *store, struct str address,
			    directory_expanded *expanded, void *context)
{
	bool is_theirs = str_ends_with_nocase(address, STR("@data.example"));
	const struct directory_route route = {.kind = is_theirs ? DIRECTORY_ROUTE_LOCAL
								: DIRECTORY_ROUTE_ELSEWHERE,
					      .address = address,
					      .service = STR("theirs")};
	const struct directory_expansion expansion = {
		.routes = &route, .count = 1, .may_keep = true, .version = store->version};
	size_t length = strlen(asked_others);

	snprintf(asked_others + length, sizeof asked_others - length, " " STR_FORMAT,
		 STR_ARGUMENTS(address));
	expanded(context, 0, &expansion);
}

static void begin_relay(struct scene *scene, const char *settings)
{
	static struct directory_store_operations operations;

	scene->loop = os_loop_new();
	scene->store = memory_store_new(scene->loop);
	operations = *scene->store->base.operations;
	operations.route = route_elsewhere;
	scene->store->base.operations = &operations;
	scene->config = parse(settings);
	scene->server = directory_server_new(scene->loop, &scene->store->base, scene->config);
}

static void end(struct scene *scene)
{
	directory_server_free(scene->server);
	memory_store_answer_all(scene->store);
	memory_store_free(scene->store);
	config_free(scene->config);
	os_loop_free(scene->loop);
}

static struct directory_peer *connect_with(struct scene *scene, unsigned roles)
{
	struct directory_transport transport;
	int sockets[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
	directory_transport_plain(sockets[0], &transport);
	directory_server_accept(scene->server, &transport, roles, "uid 0");
	return directory_peer_new(scene->loop, sockets[1]);
}

/* Greeted. */
static struct directory_peer *client(struct scene *scene, unsigned roles)
{
	struct directory_peer *peer = connect_with(scene, roles);

	assert_true(strncmp(directory_peer_hear(peer), "hello|1|", 8) == 0);
	return peer;
}

static void check(struct directory_peer *peer, const char *say, const char *hear)
{
	directory_peer_say(peer, say);
	assert_string_equal(directory_peer_hear(peer), hear);
}

static void a_client_is_greeted(void **state)
{
	static const struct {
		unsigned roles;
		const char *end;
	} cases[] = {{0, "|3"},
		     {LOOKUP, "|3|read"},
		     {MEMBERS, "|3|read|members"},
		     {NODES, "|3|read|nodes"},
		     {READ, "|3|read|list"},
		     {ALL, "|3|read|secret|change|list"}};
	struct scene scene;

	(void)state;
	begin(&scene, false);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_peer *peer = connect_with(&scene, cases[i].roles);
		const char *hello = directory_peer_hear(peer);
		char wanted[128];

		snprintf(wanted, sizeof wanted, "hello|1|%s+", scene.store->base.identity);
		assert_true(str_starts_with(str_from(hello), str_from(wanted)));
		assert_true(str_ends_with_nocase(str_from(hello), str_from(cases[i].end)));
		assert_string_equal(directory_peer_hear_now(peer), "nothing");
		directory_peer_free(peer);
	}
	end(&scene);
}

static const struct exchange {
	unsigned roles;
	const char *say;
	const char *hear;
} exchanges[] = {
	{READ, "get|1|address|ann@example.org",
	 "val|1|3600000|3|kind mailbox|on address ann@example.org"},
	{READ, "get|20|address|\"Ann\"@Example.ORG",
	 "val|20|3600000|3|kind mailbox|on address ann@example.org"},
	{READ, "get|99999999999999999999|address|bob@example.org",
	 "none|99999999999999999999|300000|3|on address bob@example.org"},
	{READ, "get|1|route|ann@example.org",
	 "val|1|3600000|3|local box ann@example.org|on address ann@example.org"},
	{READ, "get|1|route|bob@example.org",
	 "val|1|300000|3|refuse 5.1.1 bob@example.org No such user here|on address "
	 "bob@example.org"},
	{READ, "get|1|domain|EXAMPLE.org",
	 "val|1|3600000|3|kind local|service box|on domain example.org"},
	{READ, "get|1|nothing|x", "err|1|bad|There is no such table"},
	{READ, "get|1|domain|a b", "err|1|bad|That cannot be a key of this table"},
	{READ, "get|1|domain|", "err|1|bad|That cannot be a key of this table"},
	{READ, "get|1|domain", "err|1|bad|Too few or too many words"},
	{READ, "get|1|domain|a|b", "err|1|bad|Too few or too many words"},
	{0, "get|1|domain|example.org", "err|1|denied|Not with this role"},
	/* passwords are for those who may see them */
	{READ, "get|1|user|ann", "val|1|3600000|3|name Ann|on user ann"},
	{ALL, "get|1|user|ann", "val|1|3600000|3|password $6$x$y|name Ann|on user ann"},
	{READ, "list|1|user|||10", "val|1|0|3|= ann|name Ann"},
	{ALL, "list|1|user|||10", "val|1|0|3|= ann|password $6$x$y|name Ann"},
	{READ, "list|2|address|ann||1", "val|2|0|3|= ann@example.org|kind mailbox"},
	{READ, "list|2|address||ann@example.org|1", "val|2|0|3"},
	{READ, "list|2|address|||0", "err|2|bad|The limit is not 1 to 1000"},
	{READ, "list|2|address|||1001", "err|2|bad|The limit is not 1 to 1000"},
	{READ, "list|2|address|||x", "err|2|bad|The limit is not 1 to 1000"},
	{READ, "list|2|route|||1", "err|2|bad|There is no such table"},
	/* looking up is not listing */
	{LOOKUP, "list|2|address|ann||1", "err|2|denied|Not with this role"},
	{LOOKUP, "list|2|user|||10", "err|2|denied|Not with this role"},
	{LOOKUP, "list|2|domain|||2", "err|2|denied|Not with this role"},
	{LOOKUP, "list|2|domain||a|1", "err|2|denied|Not with this role"},
	{LOOKUP, "list|2|domain|||1", "val|2|0|3|= example.org|kind local|service box"},
	{LOOKUP, "list|2|member|list@example.org ||1", "err|2|denied|Not with this role"},
	{MEMBERS, "list|2|member|list@example.org ||1", "val|2|0|3"},
	{MEMBERS, "list|2|membership|ann@example.org ||1", "val|2|0|3"},
	{MEMBERS, "list|2|member|||1", "err|2|denied|Not with this role"},
	{MEMBERS, "list|2|member|@||1", "err|2|denied|Not with this role"},
	{MEMBERS, "list|2|member|list@example.org||1", "err|2|denied|Not with this role"},
	{MEMBERS, "list|2|address|ann@example.org ||1", "err|2|denied|Not with this role"},
	{MEMBERS, "list|2|node|||1", "err|2|denied|Not with this role"},
	{NODES, "list|2|node|||1000", "val|2|0|3"},
	{NODES, "list|2|domain|||2", "err|2|denied|Not with this role"},
	{NODES, "list|2|member|list@example.org ||1", "err|2|denied|Not with this role"},
	{NODES, "put|2|node|a1|address a.test:1", "err|2|denied|Not with this role"},
	{READ, "ping|7", "ok|7|3"},
	{0, "ping|7", "ok|7|3"},
	{READ, "put|1|address|b@example.org|kind mailbox", "err|1|denied|Not with this role"},
	{READ, "del|1|address|ann@example.org", "err|1|denied|Not with this role"},
	{ALL, "put|1|route|b@example.org|kind mailbox", "err|1|bad|There is no such table"},
	{ALL, "put|1|address|b@example.org|kind",
	 "err|1|bad|A field is a name, a space and a value"},
	{ALL, "put|1|address", "err|1|bad|Too few or too many words"},
	{ALL, "del|1|address|nobody@example.org", "none|1|0|3"},
	{ALL, "del|1|address|@", "err|1|bad|That cannot be a key of this table"},
	{ALL, "put|5|address|Bob@Example.org|kind mailbox", "ok|5|4"},
	{ALL, "del|6|address|ANN@example.org", "ok|6|4"},
	{ALL, "edit|7|address|Bob@Example.org|3|kind mailbox", "ok|7|4"},
	{ALL, "edit|7|address|ann@example.org|0|kind mailbox",
	 "err|7|changed|The record has changed since that version"},
	{ALL, "edit|7|address|ann@example.org|x|kind mailbox",
	 "err|7|bad|The version is no number"},
	{ALL, "edit|7|address|ann@example.org", "err|7|bad|Too few or too many words"},
	{READ, "edit|7|address|ann@example.org|3|kind mailbox", "err|7|denied|Not with this role"},
	/* what ends the connection */
	{READ, "get", "err|0|bad|The question's number is not 1 to 20 digits"},
	{READ, "get|x|domain|example.org", "err|0|bad|The question's number is not 1 to 20 digits"},
	{READ, "get|123456789012345678901|domain|x",
	 "err|0|bad|The question's number is not 1 to 20 digits"},
	{READ, "fetch|1", "err|0|bad|There is no such verb"},
	{READ, "since|x|y", "err|0|bad|The version is no number"},
};

static void questions_are_answered(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(exchanges); i++) {
		const struct exchange *exchange = &exchanges[i / 2];
		struct directory_peer *peer;
		struct scene scene;

		begin(&scene, i % 2 == 1);
		peer = client(&scene, exchange->roles);
		check(peer, exchange->say, exchange->hear);
		if (strncmp(exchange->hear, "err|0", 5) == 0)
			assert_string_equal(directory_peer_hear(peer), "closed");
		else
			assert_string_equal(directory_peer_hear_now(peer), "nothing");
		directory_peer_free(peer);
		end(&scene);
	}
}

static void wrong_records_are_refused_with_the_reason(void **state)
{
	struct directory_peer *peer;
	struct scene scene;
	const char *answer;

	(void)state;
	begin(&scene, false);
	peer = client(&scene, ALL);
	directory_peer_say(peer, "put|3|address|b@example.org|kind mailbox|color red");
	answer = directory_peer_hear(peer);
	assert_true(str_starts_with(str_from(answer), STR("err|3|bad|")));
	assert_non_null(strstr(answer, "color"));
	directory_peer_free(peer);
	end(&scene);
}

/* Whoever lets people in by what is here need not know of states. */
static void passwords_of_who_is_not_active_are_for_the_keepers(void **state)
{
	static const char *const states[] = {"deferred", "disabled"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(states); i++) {
		struct directory_peer *peers[2];
		char expected[100];
		char text[100];
		struct scene scene;

		begin(&scene, false);
		snprintf(text, sizeof text, "user ann|password $6$x$y|state %s", states[i]);
		memory_store_put(scene.store, text);
		peers[0] = client(&scene, READ | DIRECTORY_ROLE_SECRET);
		peers[1] = client(&scene, ALL);
		directory_peer_say(peers[0], "get|1|user|ann");
		snprintf(expected, sizeof expected, "val|1|3600000|4|state %s|on user ann",
			 states[i]);
		assert_string_equal(directory_peer_hear(peers[0]), expected);
		directory_peer_say(peers[0], "list|1|user|||10");
		snprintf(expected, sizeof expected, "val|1|0|4|= ann|state %s", states[i]);
		assert_string_equal(directory_peer_hear(peers[0]), expected);
		directory_peer_say(peers[1], "list|1|user|||10");
		snprintf(expected, sizeof expected, "val|1|0|4|= ann|password $6$x$y|state %s",
			 states[i]);
		assert_string_equal(directory_peer_hear(peers[1]), expected);
		directory_peer_free(peers[0]);
		directory_peer_free(peers[1]);
		end(&scene);
	}
}

static void changes_that_fail_are_answered_with_the_reason(void **state)
{
	static const struct {
		int error;
		const char *answer;
	} cases[] = {
		{-EOPNOTSUPP, "err|3|storage|These data are kept in LDAP, and changed there"},
		{-EROFS, "err|3|storage|The data are read-only here"},
		{-EPERM, "err|3|storage|The database denies this server that change"},
		{-ENOSPC, "err|3|storage|The disk is full"},
		{-EACCES, "err|3|denied|This server may not change that itself"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_peer *peer;
		struct scene scene;

		begin(&scene, false);
		peer = client(&scene, ALL);
		scene.store->error = cases[i].error;
		directory_peer_say(peer, "put|3|address|b@example.org|kind mailbox");
		assert_string_equal(directory_peer_hear(peer), cases[i].answer);
		directory_peer_free(peer);
		end(&scene);
	}
}

static void bytes_that_are_no_frames_end_the_connection(void **state)
{
	static const struct {
		struct str bytes;
		const char *answer;
	} cases[] = {
		{{"GET / HTTP/1.0\r\n\r\n", 18}, "err|0|bad|That is no frame"},
		{{"65537:", 6}, "err|0|bad|The frame is too long"},
		{{"5:hello,", 8}, "err|0|bad|The frame is no list of words"},
		{{"0:,", 3}, "err|0|bad|A frame without words"},
		{{"8:4:ping,x,", 11}, "err|0|bad|The frame is no list of words"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_peer *peer;
		struct scene scene;

		begin(&scene, false);
		peer = client(&scene, READ);
		directory_peer_send(peer, cases[i].bytes);
		assert_string_equal(directory_peer_hear(peer), cases[i].answer);
		assert_string_equal(directory_peer_hear(peer), "closed");
		directory_peer_free(peer);
		end(&scene);
	}
}

static void who_may_hold_a_key_hears_that_it_changed(void **state)
{
	struct directory_peer *holder;
	struct directory_peer *other;
	struct directory_peer *watcher;
	struct scene scene;

	(void)state;
	begin(&scene, false);
	holder = client(&scene, READ);
	other = client(&scene, READ);
	watcher = client(&scene, READ);
	check(holder, "get|1|route|bob@example.org",
	      "val|1|300000|3|refuse 5.1.1 bob@example.org No such user here|on address "
	      "bob@example.org");
	check(other, "get|1|domain|example.org",
	      "val|1|3600000|3|kind local|service box|on domain example.org");
	directory_peer_say(watcher, "watch");
	check(watcher, "ping|1", "ok|1|3");
	memory_store_put(scene.store, "address bob@example.org|kind mailbox");
	assert_string_equal(directory_peer_hear(holder), "new|4|address|bob@example.org");
	assert_string_equal(directory_peer_hear(watcher), "new|4|address|bob@example.org");
	assert_string_equal(directory_peer_hear_now(other), "nothing");
	memory_store_remove(scene.store, "domain example.org");
	assert_string_equal(directory_peer_hear(other), "new|5|domain|example.org");
	assert_int_equal(directory_server_counts(scene.server)->pushes, 4);
	directory_peer_free(holder);
	directory_peer_free(other);
	directory_peer_free(watcher);
	end(&scene);
}

static void an_answer_that_is_late_comes_before_the_news(void **state)
{
	struct directory_peer *holder;
	struct directory_peer *changer;
	struct scene scene;

	(void)state;
	begin(&scene, true);
	holder = client(&scene, READ);
	changer = client(&scene, ALL);
	directory_peer_say(holder, "get|1|address|bob@example.org");
	directory_peer_say(changer, "put|1|address|bob@example.org|kind mailbox");
	assert_string_equal(directory_peer_hear(changer), "ok|1|4");
	assert_string_equal(directory_peer_hear(holder),
			    "none|1|300000|3|on address bob@example.org");
	assert_string_equal(directory_peer_hear(holder), "new|4|address|bob@example.org");
	directory_peer_free(holder);
	directory_peer_free(changer);
	end(&scene);
}

static void what_was_missed_is_told(void **state)
{
	struct directory_peer *peer;
	struct scene scene;
	char since[256];
	char identity[128];
	const char *hello;

	(void)state;
	for (int is_late = 0; is_late < 2; is_late++) {
		begin(&scene, is_late);
		peer = connect_with(&scene, READ);
		hello = directory_peer_hear(peer) + strlen("hello|1|");
		snprintf(identity, sizeof identity, "%.*s", (int)strcspn(hello, "|"), hello);
		memory_store_put(scene.store, "address c@example.org|kind mailbox");
		memory_store_remove(scene.store, "address c@example.org");
		snprintf(since, sizeof since, "since|%s|3", identity);
		check(peer, since, "new|4|address|c@example.org");
		assert_string_equal(directory_peer_hear(peer), "new|5|address|c@example.org");
		assert_string_equal(directory_peer_hear(peer), "now|5");
		snprintf(since, sizeof since, "since|%s|5", identity);
		check(peer, since, "now|5");
		/* for a TTL it may hold anything */
		memory_store_put(scene.store, "address d@example.org|kind mailbox");
		assert_string_equal(directory_peer_hear(peer), "new|6|address|d@example.org");
		/* the future, and other data */
		directory_peer_say(peer, "since|other|3");
		assert_true(strncmp(directory_peer_hear(peer), "reset|", 6) == 0);
		snprintf(since, sizeof since, "since|%s|99", identity);
		directory_peer_say(peer, since);
		assert_true(strncmp(directory_peer_hear(peer), "reset|", 6) == 0);
		directory_peer_free(peer);
		end(&scene);
	}
}

/* Whoever may not list learns no key that he has not asked for: all he has is stale. */
static void what_was_missed_is_not_for_everybody(void **state)
{
	struct directory_peer *peer;
	struct scene scene;
	char since[256];
	char identity[128];
	const char *hello;

	(void)state;
	begin(&scene, false);
	peer = connect_with(&scene, LOOKUP);
	hello = directory_peer_hear(peer) + strlen("hello|1|");
	snprintf(identity, sizeof identity, "%.*s", (int)strcspn(hello, "|"), hello);
	memory_store_put(scene.store, "address c@example.org|kind mailbox");
	snprintf(since, sizeof since, "since|%s|3", identity);
	directory_peer_say(peer, since);
	assert_true(strncmp(directory_peer_hear(peer), "reset|", 6) == 0);
	check(peer, "watch", "err|0|denied|Not with this role");
	snprintf(since, sizeof since, "since|%s|4", identity);
	check(peer, since, "now|4");
	check(peer, "get|1|address|bob@example.org", "none|1|300000|4|on address bob@example.org");
	memory_store_put(scene.store, "address bob@example.org|kind mailbox");
	assert_string_equal(directory_peer_hear(peer), "new|5|address|bob@example.org");
	memory_store_put(scene.store, "address d@example.org|kind mailbox");
	assert_true(strncmp(directory_peer_hear(peer), "reset|", 6) == 0);
	memory_store_put(scene.store, "address e@example.org|kind mailbox");
	assert_string_equal(directory_peer_hear_now(peer), "nothing");
	directory_peer_free(peer);
	end(&scene);
}

/* Whoever has passwords, and may not list, follows users and learns of nothing else. */
static void who_authenticates_follows_users(void **state)
{
	struct directory_peer *peer;
	struct scene scene;

	(void)state;
	begin(&scene, false);
	peer = connect_with(&scene, LOOKUP | DIRECTORY_ROLE_SECRET);
	directory_peer_hear(peer);
	directory_peer_say(peer, "watch");
	check(peer, "ping|1", "ok|1|3");
	memory_store_put(scene.store, "address d@example.org|kind mailbox");
	memory_store_put(scene.store, "user d@example.org|state disabled");
	assert_string_equal(directory_peer_hear(peer), "new|5|user|d@example.org");
	assert_string_equal(directory_peer_hear_now(peer), "nothing");
	directory_peer_free(peer);
	end(&scene);
}

/* Likewise who hands mail over to nodes. */
static void who_hands_over_follows_nodes(void **state)
{
	struct directory_peer *peer;
	struct scene scene;

	(void)state;
	begin(&scene, false);
	peer = connect_with(&scene, NODES);
	directory_peer_hear(peer);
	directory_peer_say(peer, "watch");
	check(peer, "ping|1", "ok|1|3");
	memory_store_put(scene.store, "address d@example.org|kind mailbox");
	memory_store_put(scene.store, "user d@example.org|state disabled");
	memory_store_put(scene.store, "node a1|address a.example:627");
	assert_string_equal(directory_peer_hear(peer), "new|6|node|a1");
	check(peer, "list|2|node|||1000", "val|2|0|6|= a1|address a.example:627");
	assert_string_equal(directory_peer_hear_now(peer), "nothing");
	directory_peer_free(peer);
	end(&scene);
}

static void puts_of_a_turn_are_one_commit(void **state)
{
	struct directory_peer *peer;
	struct scene scene;
	char text[128];

	(void)state;
	begin(&scene, false);
	peer = client(&scene, ALL);
	for (unsigned i = 0; i < 50; i++) {
		snprintf(text, sizeof text, "put|%u|address|u%u@example.org|kind mailbox", i, i);
		directory_peer_say(peer, text);
	}
	for (unsigned i = 0; i < 50; i++) {
		/* all of them have the version of the last */
		snprintf(text, sizeof text, "ok|%u|53", i);
		assert_string_equal(directory_peer_hear(peer), text);
	}
	assert_int_equal(directory_server_counts(scene.server)->changes, 50);
	directory_peer_free(peer);
	end(&scene);
}

static void nothing_is_answered_wrongly_while_the_data_are_away(void **state)
{
	struct directory_peer *peer;
	struct scene scene;

	(void)state;
	begin(&scene, false);
	peer = client(&scene, ALL);
	memory_store_set_up(scene.store, false);
	assert_string_equal(directory_peer_hear(peer), "down");
	check(peer, "get|1|address|ann@example.org", "err|1|later|The data cannot be reached now");
	check(peer, "get|2|route|ann@example.org", "err|2|later|The data cannot be reached now");
	check(peer, "list|3|address|||5", "err|3|later|The data cannot be reached now");
	directory_peer_say(peer, "put|4|address|x@example.org|kind mailbox");
	assert_true(strncmp(directory_peer_hear(peer), "err|4|later|", 12) == 0);
	memory_store_set_up(scene.store, true);
	assert_string_equal(directory_peer_hear(peer), "up");
	check(peer, "get|1|address|ann@example.org",
	      "val|1|3600000|3|kind mailbox|on address ann@example.org");
	memory_store_replace(scene.store, "other-data");
	assert_true(strncmp(directory_peer_hear(peer), "reset|other-data+", 17) == 0);
	directory_peer_free(peer);
	end(&scene);
}

static void another_configuration_is_another_identity(void **state)
{
#define LMTP "service far { kind = lmtp address = \"127.0.0.1:24\" servers = { "
	/* each is another one than the one before */
	static const char *const others[] = {
		BASE "domain more.org { service = box }\n",
		BASE LMTP "\"192.0.2.1:24\" } }\n",
		BASE LMTP "\"192.0.2.1:24\", \"192.0.2.2:24\" } }\n",
		BASE LMTP "\"192.0.2.1:24\", \"192.0.2.2:25\" } }\n",
	};
	struct directory_peer *peer;
	struct scene scene;

	(void)state;
	begin(&scene, false);
	peer = client(&scene, READ);
	for (size_t i = 0; i < COUNT_OF(others) + 1; i++) {
		struct config *before = scene.config;

		scene.config = parse(i > 0 ? others[i - 1] : BASE "maxsize = 1M\n");
		directory_server_configure(scene.server, scene.config);
		assert_int_equal(strncmp(directory_peer_hear_now(peer), "reset|", 6) == 0, i > 0);
		config_free(before);
	}
	directory_peer_free(peer);
	end(&scene);
}

/* Other servers have other names, and do not know what is this host's. */
static void other_servers_route_what_is_theirs(void **state)
{
	static const struct {
		const char *settings; /* after the base */
		const char *address;
		const char *asked; /* of the others */
		const char *hear;
	} cases[] = {
		{"", "ann@data.example", " ann@data.example",
		 "3600000|0|local theirs ann@data.example"},
		{"", "ann@x.example", " ann@x.example", "3600000|0|elsewhere"},
		{"domain xn--bcher-kva.example { service = box }\n",
		 "ann@b\xc3\xbc"
		 "cher.example",
		 "",
		 "3600000|0|local box ann@b\xc3\xbc"
		 "cher.example|on address ann@b\xc3\xbc"
		 "cher.example"},
		{"default_domain = data.example\n", "postmaster",
		 " postmaster@mx.example.org postmaster@data.example",
		 "0|0|local theirs postmaster@data.example"},
		{"default_domain = data.example\n", "Postmaster@MX.example.org",
		 " postmaster@mx.example.org postmaster@data.example",
		 "0|0|local theirs postmaster@data.example"},
		{"default_domain = gone.example\n", "postmaster@mx.example.org",
		 " postmaster@mx.example.org postmaster@gone.example",
		 "0|0|local box postmaster|on address postmaster"},
		{"", "postmaster@mx.example.org", " postmaster@mx.example.org",
		 "0|0|local box postmaster|on address postmaster"},
		{"domain data.example { service = box }\n", "postmaster@mx.example.org",
		 " postmaster@mx.example.org", "0|0|local box postmaster|on address postmaster"},
		{"domain mx.example.org { service = box }\n", "postmaster@mx.example.org", "",
		 "3600000|0|local box postmaster@mx.example.org|on address "
		 "postmaster@mx.example.org"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct directory_peer *peer;
		struct scene scene;
		char text[500];

		snprintf(text, sizeof text, "%s%s", BASE, cases[i].settings);
		begin_relay(&scene, text);
		asked_others[0] = '\0';
		peer = client(&scene, READ);
		snprintf(text, sizeof text, "get|1|route|%s", cases[i].address);
		directory_peer_say(peer, text);
		snprintf(text, sizeof text, "val|1|%s", cases[i].hear);
		assert_string_equal(directory_peer_hear(peer), text);
		assert_string_equal(asked_others, cases[i].asked);
		directory_peer_free(peer);
		end(&scene);
	}
}

/* An answer would show it, and a question to other servers have it after a longer number: neither
 * might fit into a frame. */
static void an_address_as_long_as_a_frame_is_none(void **state)
{
	enum { LONGEST = DIRECTORY_FRAME_MAX - 25 }; /* without what else is in the frame */
	static const char begins[] = "get|1|route|";
	char *question = malloc(sizeof begins + LONGEST);
	char *address = question + strlen(begins);

	(void)state;
	memcpy(question, begins, sizeof begins);
	for (int is_relay = 0; is_relay <= 1; is_relay++) {
		static const size_t lengths[] = {DIRECTORY_KEY_MAX, DIRECTORY_KEY_MAX + 1, LONGEST};
		struct directory_peer *peer;
		struct scene scene;

		if (is_relay)
			begin_relay(&scene, BASE);
		else
			begin(&scene, false);
		peer = client(&scene, READ);
		for (size_t i = 0; i < COUNT_OF(lengths); i++) {
			bool is_long = lengths[i] > DIRECTORY_KEY_MAX;
			const char *heard;

			asked_others[0] = '\0';
			memset(address, 'a', lengths[i]);
			memcpy(address + lengths[i] - strlen("@x"), "@x", sizeof "@x");
			directory_peer_say(peer, question);
			heard = directory_peer_hear(peer);
			assert_int_equal(strncmp(heard, "val|1|", strlen("val|1|")), 0);
			assert_int_equal(strlen(heard) < DIRECTORY_KEY_MAX, is_relay || is_long);
			assert_int_equal(asked_others[0] != '\0', is_relay && !is_long);
		}
		directory_peer_free(peer);
		end(&scene);
	}
	free(question);
}

static void a_filter_forgets_at_the_second_time(void **state)
{
	struct filter *filter = filter_new();
	uint64_t hash = filter_hash(DIRECTORY_ADDRESS, STR("ann@example.org"));
	unsigned others = 0;

	(void)state;
	assert_false(filter_may_have(filter, hash));
	filter_add(filter, hash);
	assert_true(filter_may_have(filter, hash));
	assert_false(filter_may_have(filter, filter_hash(DIRECTORY_USER, STR("ann@example.org"))));
	filter_age(filter);
	assert_true(filter_may_have(filter, hash));
	filter_age(filter);
	assert_false(filter_may_have(filter, hash));
	for (unsigned i = 0; i < 20000; i++) {
		char key[32];

		snprintf(key, sizeof key, "u%u@example.org", i);
		filter_add(filter, filter_hash(DIRECTORY_ADDRESS, str_from(key)));
		snprintf(key, sizeof key, "v%u@example.org", i);
		others += filter_may_have(filter, filter_hash(DIRECTORY_ADDRESS, str_from(key)));
	}
	assert_in_range(others, 0, 400); /* one in fifty, when it has them all */
	filter_free(filter);
}

static void a_shorter_ttl_forgets_no_holder(void **state)
{
	struct directory_peer *peer;
	struct config *shorter;
	struct scene scene;

	(void)state;
	begin(&scene, false);
	peer = client(&scene, READ);
	check(peer, "get|1|address|ann@example.org",
	      "val|1|3600000|3|kind mailbox|on address ann@example.org");
	shorter = parse("hostname = mx.example.org\nservice box { kind = maildir path = /m/%u }\n"
			"directory { ttl = 0 negative_ttl = 0 }\n");
	directory_server_configure(scene.server, shorter);
	/* its filter ages at each tick now, twice at least */
	directory_peer_turn(scene.loop, 7 * SECOND_US / 2);
	memory_store_put(scene.store, "address ann@example.org|kind refused|text no");
	assert_string_equal(directory_peer_hear(peer), "new|4|address|ann@example.org");
	directory_peer_free(peer);
	directory_server_configure(scene.server, scene.config);
	config_free(shorter);
	end(&scene);
}

static void the_ttl_never_outlasts_what_the_store_knows(void **state)
{
	struct directory_peer *peer;
	struct scene scene;

	(void)state;
	begin(&scene, false);
	peer = client(&scene, READ);
	scene.store->base.until_us = 1;
	check(peer, "get|1|address|ann@example.org",
	      "val|1|0|3|kind mailbox|on address ann@example.org");
	/* which is not held then */
	memory_store_put(scene.store, "address ann@example.org|kind refused|text no");
	assert_string_equal(directory_peer_hear_now(peer), "nothing");
	scene.store->base.until_us = 0;
	scene.store->base.fresh_us = 1;
	directory_peer_say(peer, "get|1|address|ann@example.org");
	assert_true(strncmp(directory_peer_hear(peer), "val|1|3600000|", 14) != 0);
	directory_peer_free(peer);
	end(&scene);
}

static void a_large_answer_comes_in_parts(void **state)
{
	struct directory_peer *peer;
	struct scene scene;
	char text[128];
	unsigned parts = 0;
	unsigned records = 0;
	const char *heard;

	(void)state;
	begin(&scene, false);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(text, sizeof text,
			 "address %04u%.*s@example.org|kind forward|target a@b.c", i, 50,
			 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
		memory_store_put(scene.store, text);
	}
	peer = client(&scene, READ);
	directory_peer_say(peer, "list|1|address|0||1000");
	do {
		heard = directory_peer_hear(peer);
		parts++;
		assert_true(parts < 20);
		for (const char *at = heard; (at = strstr(at, "|= ")) != NULL; at++)
			records++;
	} while (strncmp(heard, "part|1|", 7) == 0);
	assert_true(strncmp(heard, "val|1|0|1003|", 13) == 0);
	assert_int_equal(records, 1000);
	assert_true(parts > 1);
	directory_peer_free(peer);
	end(&scene);
}

static void who_asks_too_much_at_once_is_answered_bit_by_bit(void **state)
{
	struct directory_peer *peer;
	struct scene scene;
	char text[64];

	(void)state;
	begin(&scene, true);
	peer = client(&scene, READ);
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(text, sizeof text, "get|%u|address|ann@example.org", i);
		directory_peer_say(peer, text);
	}
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(text, sizeof text,
			 "val|%u|3600000|3|kind mailbox|on address ann@example.org", i);
		assert_string_equal(directory_peer_hear(peer), text);
	}
	directory_peer_free(peer);
	end(&scene);
}

static void who_does_not_read_is_cut_off(void **state)
{
	struct directory_peer *peer;
	struct directory_peer *other;
	struct scene scene;
	char text[64];
	unsigned answers = 0;

	(void)state;
	begin(&scene, false);
	peer = client(&scene, READ);
	other = client(&scene, READ);
	directory_peer_read(peer, false);
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(text, sizeof text, "get|%u|address|ann@example.org", i);
		directory_peer_say(peer, text);
	}
	directory_peer_turn(scene.loop, 8 * SECOND_US);
	directory_peer_read(peer, true);
	while (strncmp(directory_peer_hear(peer), "val|", 4) == 0)
		answers++;
	assert_string_equal(directory_peer_hear(peer), "closed");
	assert_in_range(answers, 1, 60000);
	check(other, "ping|1", "ok|1|3");
	directory_peer_free(peer);
	directory_peer_free(other);
	end(&scene);
}

static void news_for_who_is_behind_become_one_reset(void **state)
{
	struct directory_peer *peer;
	struct scene scene;
	const char *heard;
	unsigned news = 0;

	(void)state;
	begin(&scene, false);
	peer = client(&scene, READ);
	directory_peer_say(peer, "watch");
	check(peer, "ping|1", "ok|1|3");
	directory_peer_read(peer, false);
	for (unsigned i = 0; i < 60000; i++)
		memory_store_put(scene.store, "address b@example.org|kind mailbox");
	directory_peer_read(peer, true);
	while (strncmp(heard = directory_peer_hear(peer), "new|", 4) == 0)
		news++;
	assert_true(strncmp(heard, "reset|", 6) == 0);
	assert_in_range(news, 1, 59999);
	memory_store_put(scene.store, "address b@example.org|kind mailbox");
	assert_string_equal(directory_peer_hear(peer), "new|60004|address|b@example.org");
	directory_peer_free(peer);
	end(&scene);
}

static void too_many_connections_are_turned_away(void **state)
{
	enum { TOTAL = SERVER_CONNECTIONS_MAX, OTHERS = TOTAL - SERVER_CONNECTIONS_OURS };
	const unsigned ours = READ | DIRECTORY_ROLE_SECRET;
	struct directory_peer *peers[TOTAL + 2];
	struct scene scene;

	(void)state;
	os_process_raise_descriptor_limit();
	begin(&scene, false);
	for (size_t i = 0; i < OTHERS; i++)
		peers[i] = client(&scene, READ);
	peers[TOTAL] = connect_with(&scene, READ);
	assert_string_equal(directory_peer_hear(peers[TOTAL]),
			    "err|0|later|There are too many connections");
	assert_string_equal(directory_peer_hear(peers[TOTAL]), "closed");
	for (size_t i = OTHERS; i < TOTAL; i++)
		peers[i] = client(&scene, ours);
	peers[TOTAL + 1] = connect_with(&scene, ours);
	assert_string_equal(directory_peer_hear(peers[TOTAL + 1]),
			    "err|0|later|There are too many connections");
	directory_peer_free(peers[0]);
	directory_peer_turn(scene.loop, SECOND_US / 10);
	peers[0] = client(&scene, ours);
	for (size_t i = 0; i < TOTAL + 2; i++)
		directory_peer_free(peers[i]);
	end(&scene);
}

static void a_client_may_end_with_questions_under_way(void **state)
{
	struct directory_peer *peer;
	struct scene scene;

	(void)state;
	begin(&scene, true);
	peer = client(&scene, ALL);
	directory_peer_say(peer, "get|1|address|ann@example.org");
	directory_peer_say(peer, "put|2|address|bob@example.org|kind mailbox");
	directory_peer_turn(scene.loop, 1000);
	directory_peer_free(peer);
	directory_peer_turn(scene.loop, SECOND_US / 20);
	peer = client(&scene, READ);
	directory_peer_say(peer, "get|1|address|bob@example.org");
	directory_peer_free(peer);
	end(&scene); /* with a question that nobody has answered yet */
}

static void who_stops_answers_what_was_asked(void **state)
{
	struct directory_peer *peer;
	struct scene scene;

	(void)state;
	begin(&scene, false);
	peer = client(&scene, ALL);
	scene.store->is_late = true;
	directory_peer_say(peer, "put|1|address|bob@example.org|kind mailbox");
	directory_peer_turn(scene.loop, 1000);
	directory_server_stop(scene.server);
	directory_peer_say(peer, "get|2|address|ann@example.org");
	assert_string_equal(directory_peer_hear(peer), "ok|1|4");
	assert_string_equal(directory_peer_hear_now(peer), "nothing");
	assert_true(directory_server_is_idle(scene.server));
	directory_peer_free(peer);
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_is_greeted),
		cmocka_unit_test(questions_are_answered),
		cmocka_unit_test(wrong_records_are_refused_with_the_reason),
		cmocka_unit_test(passwords_of_who_is_not_active_are_for_the_keepers),
		cmocka_unit_test(changes_that_fail_are_answered_with_the_reason),
		cmocka_unit_test(bytes_that_are_no_frames_end_the_connection),
		cmocka_unit_test(who_may_hold_a_key_hears_that_it_changed),
		cmocka_unit_test(an_answer_that_is_late_comes_before_the_news),
		cmocka_unit_test(what_was_missed_is_told),
		cmocka_unit_test(who_authenticates_follows_users),
		cmocka_unit_test(who_hands_over_follows_nodes),
		cmocka_unit_test(what_was_missed_is_not_for_everybody),
		cmocka_unit_test(puts_of_a_turn_are_one_commit),
		cmocka_unit_test(nothing_is_answered_wrongly_while_the_data_are_away),
		cmocka_unit_test(another_configuration_is_another_identity),
		cmocka_unit_test(other_servers_route_what_is_theirs),
		cmocka_unit_test(an_address_as_long_as_a_frame_is_none),
		cmocka_unit_test(a_filter_forgets_at_the_second_time),
		cmocka_unit_test(a_shorter_ttl_forgets_no_holder),
		cmocka_unit_test(the_ttl_never_outlasts_what_the_store_knows),
		cmocka_unit_test(a_large_answer_comes_in_parts),
		cmocka_unit_test(who_asks_too_much_at_once_is_answered_bit_by_bit),
		cmocka_unit_test(who_does_not_read_is_cut_off),
		cmocka_unit_test(news_for_who_is_behind_become_one_reset),
		cmocka_unit_test(too_many_connections_are_turned_away),
		cmocka_unit_test(a_client_may_end_with_questions_under_way),
		cmocka_unit_test(who_stops_answers_what_was_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
