// SPDX-License-Identifier: ISC
/* The directory's client: beside the server, and beside peers that do what servers should not. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/client.h"
#include "directory/server.h"
#include "directory_peer.h"
#include "memory_store.h"
#include "os/socket.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALL = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_SECRET | DIRECTORY_ROLE_CHANGE };

/* --- servers: real ones, and peers that the test speaks for --- */

struct host {
	struct os_loop *loop;
	char server[140]; /* "unix:PATH" */
	const char *path;
	int listening;
	struct os_watch *watch;
	struct memory_store *store;
	struct directory_server *real; /* NULL: a peer */
	struct directory_peer *peer;   /* of the last connection */
	unsigned connections;
};

struct scene {
	struct os_loop *loop;
	struct config *config;
	char directory[SCRATCH_SIZE];
	struct host hosts[3];
	size_t host_count;
	struct directory_client *client;
	char states[64]; /* "+-" as the client told */
};

static void on_accept(void *context, unsigned events)
{
	struct host *host = context;
	union os_socket_address address;
	struct directory_transport transport;
	int socket = os_socket_accept(host->listening, &address);

	(void)events;
	assert_true(socket >= 0);
	host->connections++;
	if (host->real != NULL) {
		directory_transport_plain(socket, &transport);
		directory_server_accept(host->real, &transport, ALL, "test");
		return;
	}
	if (host->peer != NULL)
		directory_peer_free(host->peer);
	host->peer = directory_peer_new(host->loop, socket);
	os_loop_stop(host->loop);
}

static void host_listen(struct host *host)
{
	host->listening = os_socket_listen_unix(host->path, SOCK_STREAM, 0600);
	assert_true(host->listening >= 0);
	host->watch = os_watch_new(host->loop, host->listening, OS_WATCH_READ, on_accept, host);
}

static void host_stop(struct host *host)
{
	if (host->watch == NULL)
		return;
	os_watch_free(host->watch);
	host->watch = NULL;
	os_socket_close(host->listening);
	unlink(host->path);
	directory_server_free(host->real);
	host->real = NULL;
	if (host->peer != NULL)
		directory_peer_free(host->peer);
	host->peer = NULL;
}

static void begin(struct scene *scene)
{
	struct config_problems problems;

	*scene = (struct scene){0};
	scene->loop = os_loop_new();
	assert_int_equal(scratch_make(scene->directory), 0);
	assert_int_equal(config_parse("t", STR("hostname = mx.example.org\ndirectory { }\n"),
				      &scene->config, &problems),
			 0);
	config_problems_clear(&problems);
}

static struct host *add_host(struct scene *scene)
{
	struct host *host = &scene->hosts[scene->host_count];

	host->loop = scene->loop;
	snprintf(host->server, sizeof host->server, "unix:%.63s/%zu", scene->directory,
		 scene->host_count);
	host->path = host->server + strlen("unix:");
	scene->host_count++;
	host_listen(host);
	return host;
}

static struct host *add_real(struct scene *scene)
{
	struct host *host = add_host(scene);

	host->store = memory_store_new(scene->loop);
	memory_store_put(host->store, "address ann@example.org|kind mailbox");
	host->real = directory_server_new(scene->loop, &host->store->base, scene->config);
	return host;
}

static void on_state(void *context, bool is_up)
{
	struct scene *scene = context;

	strcat(scene->states, is_up ? "+" : "-");
}

static void start(struct scene *scene)
{
	static const struct directory_client_handler handler = {on_state};
	const char *servers[3];

	for (size_t i = 0; i < scene->host_count; i++)
		servers[i] = scene->hosts[i].server;
	scene->client = directory_client_new(scene->loop, servers, scene->host_count, NULL,
					     &handler, scene);
}

static void end(struct scene *scene)
{
	directory_client_free(scene->client);
	for (size_t i = 0; i < scene->host_count; i++) {
		host_stop(&scene->hosts[i]);
		if (scene->hosts[i].store != NULL)
			memory_store_free(scene->hosts[i].store);
	}
	config_free(scene->config);
	assert_int_equal(scratch_remove(scene->directory), 0);
	os_loop_free(scene->loop);
}

/* --- questions --- */

struct asked {
	struct os_loop *loop;
	struct directory_question question;
	char text[4096]; /* the answer: "val|RESULT|..." */
	bool is_answered;
	int64_t ttl_us;
};

static void on_answer(void *context, const struct directory_answer_text *answer)
{
	struct asked *asked = context;
	size_t length;

	assert_false(asked->is_answered);
	assert_null(asked->question.private);
	asked->is_answered = true;
	asked->ttl_us = answer->ttl_us;
	length = (size_t)snprintf(asked->text, sizeof asked->text, "%s",
				  answer->error != 0 ? directory_error_name(answer->error)
						     : (answer->exists ? "val" : "none"));
	for (size_t i = 0; i < answer->result_count && length < sizeof asked->text; i++)
		length += (size_t)snprintf(asked->text + length, sizeof asked->text - length,
					   "|" STR_FORMAT, STR_ARGUMENTS(answer->results[i]));
	os_loop_stop(asked->loop);
}

static void prepare(struct scene *scene, struct asked *asked)
{
	*asked = (struct asked){.loop = scene->loop,
				.question = {.answered = on_answer, .context = asked}};
}

static void get(struct scene *scene, const char *table, const char *key, int64_t patience_us,
		struct asked *asked)
{
	prepare(scene, asked);
	directory_client_get(scene->client, table, str_from(key), patience_us, &asked->question);
}

static void stop_loop(void *context)
{
	os_loop_stop(context);
}

/* Turns until it is answered, ten seconds at most. */
static const char *answer_of(struct asked *asked)
{
	struct os_timer *timer = os_timer_new(asked->loop, stop_loop, asked->loop);

	os_timer_start(timer, 10 * SECOND_US);
	while (!asked->is_answered && os_timer_is_running(timer))
		os_loop_run(asked->loop);
	os_timer_free(timer);
	return asked->is_answered ? asked->text : "nothing";
}

static const char *ask(struct scene *scene, const char *table, const char *key)
{
	static struct asked asked;

	get(scene, table, key, 8 * SECOND_US, &asked);
	return answer_of(&asked);
}

/* Whether it is answered before the call returns. */
static bool is_kept(struct scene *scene, const char *table, const char *key)
{
	struct asked asked;

	get(scene, table, key, SECOND_US, &asked);
	directory_question_cancel(scene->client, &asked.question);
	return asked.is_answered;
}

static const char *put(struct scene *scene, const char *table, const char *key, const char *field)
{
	static struct asked asked;
	struct str fields[] = {str_from(field)};

	prepare(scene, &asked);
	directory_client_put(scene->client, table, str_from(key), fields, 1, &asked.question);
	return answer_of(&asked);
}

static void turn(struct scene *scene, int64_t time_us)
{
	int64_t step_us = 0;

	for (; step_us < time_us; step_us += SECOND_US / 50)
		directory_peer_turn(scene->loop, SECOND_US / 50);
}

/* --- with real servers --- */

static void answers_are_kept_until_something_changes(void **state)
{
	struct scene scene;
	struct host *host;

	(void)state;
	begin(&scene);
	host = add_real(&scene);
	start(&scene);
	assert_false(directory_client_is_up(scene.client));
	assert_string_equal(ask(&scene, "route", "ann@example.org"),
			    "val|local box ann@example.org");
	assert_true(directory_client_is_up(scene.client));
	assert_string_equal(scene.states, "+");
	assert_true(is_kept(&scene, "route", "ann@example.org"));
	assert_string_equal(ask(&scene, "address", "bob@example.org"), "none");
	assert_true(is_kept(&scene, "address", "bob@example.org"));
	assert_false(is_kept(&scene, "address", "ann@example.org"));
	memory_store_put(host->store, "address bob@example.org|kind mailbox");
	turn(&scene, SECOND_US / 20);
	assert_false(is_kept(&scene, "address", "bob@example.org"));
	assert_true(is_kept(&scene, "route", "ann@example.org"));
	assert_int_equal(directory_client_version(scene.client), 2);
	assert_string_equal(ask(&scene, "address", "bob@example.org"), "val|kind mailbox");
	memory_store_replace(host->store, "other");
	turn(&scene, SECOND_US / 20);
	assert_false(is_kept(&scene, "route", "ann@example.org"));
	assert_string_equal(ask(&scene, "route", "ann@example.org"),
			    "val|refuse 5.1.1 ann@example.org No such user here");
	end(&scene);
}

static void changes_and_lists_are_not_kept(void **state)
{
	static struct asked asked;
	struct scene scene;

	(void)state;
	begin(&scene);
	add_real(&scene);
	start(&scene);
	assert_string_equal(put(&scene, "address", "c@example.org", "kind mailbox"), "val");
	assert_string_equal(put(&scene, "address", "c@example.org", "kind nothing"), "bad");
	assert_string_equal(ask(&scene, "address", "c@example.org"), "val|kind mailbox");
	prepare(&scene, &asked);
	directory_client_list(scene.client, "address", STR(""), STR(""), 10, &asked.question);
	assert_string_equal(answer_of(&asked),
			    "val|= ann@example.org|kind mailbox|= c@example.org|kind mailbox");
	prepare(&scene, &asked);
	directory_client_remove(scene.client, "address", STR("c@example.org"), &asked.question);
	assert_string_equal(answer_of(&asked), "val");
	assert_string_equal(ask(&scene, "address", "c@example.org"), "none");
	prepare(&scene, &asked);
	directory_client_remove(scene.client, "address", STR("c@example.org"), &asked.question);
	assert_string_equal(answer_of(&asked), "none");
	prepare(&scene, &asked);
	directory_client_stats(scene.client, &asked.question);
	assert_true(str_starts_with(str_from(answer_of(&asked)), STR("val|state up|identity ")));
	end(&scene);
}

static void what_changed_while_away_is_not_kept(void **state)
{
	struct scene scene;
	struct host *host;

	(void)state;
	begin(&scene);
	host = add_real(&scene);
	start(&scene);
	assert_string_equal(ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	assert_string_equal(ask(&scene, "address", "bob@example.org"), "none");
	host_stop(host);
	turn(&scene, SECOND_US / 10);
	assert_string_equal(scene.states, "+-");
	/* it lives to its TTL */
	assert_true(is_kept(&scene, "address", "bob@example.org"));
	assert_string_equal(ask(&scene, "address", "other@example.org"), "later");
	memory_store_put(host->store, "address bob@example.org|kind mailbox");
	host_listen(host);
	host->real = directory_server_new(scene.loop, &host->store->base, scene.config);
	turn(&scene, SECOND_US);
	assert_string_equal(scene.states, "+-+");
	assert_false(is_kept(&scene, "address", "bob@example.org"));
	assert_true(is_kept(&scene, "address", "ann@example.org"));
	end(&scene);
}

static void the_next_server_takes_over(void **state)
{
	static struct asked asked;
	struct scene scene;
	struct host *first;
	struct host *second;

	(void)state;
	begin(&scene);
	first = add_real(&scene);
	second = add_real(&scene);
	start(&scene);
	assert_string_equal(ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	assert_int_equal(second->connections, 0);
	turn(&scene, SECOND_US + SECOND_US / 10); /* it is a healthy one by now */
	first->store->is_late = true;
	get(&scene, "address", "b@example.org", 8 * SECOND_US, &asked);
	host_stop(first);
	assert_string_equal(answer_of(&asked), "none");
	assert_int_equal(second->connections, 1);
	assert_string_equal(scene.states, "+");
	first->store->is_late = false;
	memory_store_answer_all(first->store);
	end(&scene);
}

static void a_server_that_cannot_read_is_left_for_another(void **state)
{
	struct scene scene;
	struct host *first;
	struct host *second;

	(void)state;
	begin(&scene);
	first = add_real(&scene);
	second = add_real(&scene);
	memory_store_set_up(first->store, false);
	start(&scene);
	assert_string_equal(ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	assert_int_equal(second->connections, 1);
	memory_store_set_up(first->store, true);
	memory_store_set_up(second->store, false);
	turn(&scene, SECOND_US / 5);
	assert_string_equal(ask(&scene, "address", "bob@example.org"), "none");
	assert_int_equal(first->connections, 2);
	end(&scene);
}

static void a_single_server_tells_whether_it_can_read(void **state)
{
	struct scene scene;
	struct host *host;

	(void)state;
	begin(&scene);
	host = add_real(&scene);
	start(&scene);
	assert_string_equal(ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	memory_store_set_up(host->store, false);
	turn(&scene, SECOND_US / 20);
	assert_string_equal(scene.states, "+-");
	assert_string_equal(ask(&scene, "address", "x@example.org"), "later");
	memory_store_set_up(host->store, true);
	turn(&scene, SECOND_US / 20);
	assert_string_equal(scene.states, "+-+");
	assert_string_equal(ask(&scene, "address", "x@example.org"), "none");
	assert_int_equal(host->connections, 1);
	end(&scene);
}

struct watched {
	char text[1024];
};

static void on_watched(void *context, uint64_t version, struct str table, struct str key)
{
	struct watched *watched = context;
	size_t length = strlen(watched->text);

	snprintf(watched->text + length, sizeof watched->text - length,
		 "%u " STR_FORMAT " " STR_FORMAT "\n", (unsigned)version, STR_ARGUMENTS(table),
		 STR_ARGUMENTS(key));
}

static void who_watches_hears_of_all(void **state)
{
	struct watched watched = {""};
	struct scene scene;
	struct host *host;

	(void)state;
	begin(&scene);
	host = add_real(&scene);
	start(&scene);
	directory_client_watch(scene.client, on_watched, &watched);
	turn(&scene, SECOND_US / 10);
	memory_store_put(host->store, "address b@example.org|kind mailbox");
	turn(&scene, SECOND_US / 10);
	assert_string_equal(watched.text, "2 address b@example.org\n");
	host_stop(host);
	memory_store_put(host->store, "address c@example.org|kind mailbox");
	host_listen(host);
	host->real = directory_server_new(scene.loop, &host->store->base, scene.config);
	turn(&scene, SECOND_US);
	memory_store_put(host->store, "address d@example.org|kind mailbox");
	turn(&scene, SECOND_US / 10);
	assert_string_equal(watched.text, "2 address b@example.org\n3 address c@example.org\n"
					  "4 address d@example.org\n");
	memory_store_replace(host->store, "other");
	turn(&scene, SECOND_US / 10);
	assert_non_null(strstr(watched.text, "4 address d@example.org\n0  \n"));
	end(&scene);
}

/* --- with peers --- */

/* Turns until the client has connected. */
static struct directory_peer *connection(struct scene *scene, struct host *host)
{
	for (unsigned i = 0; i < 500 && host->peer == NULL; i++)
		directory_peer_turn(scene->loop, SECOND_US / 100);
	assert_non_null(host->peer);
	return host->peer;
}

static void nobody_there_is_told_at_once(void **state)
{
	struct scene scene;
	struct host *host;

	(void)state;
	begin(&scene);
	host = add_host(&scene);
	host_stop(host);
	start(&scene);
	turn(&scene, SECOND_US / 10);
	assert_true(is_kept(&scene, "route", "ann@example.org")); /* answered at once */
	assert_string_equal(ask(&scene, "route", "ann@example.org"), "later");
	assert_string_equal(put(&scene, "address", "a@b", "kind mailbox"), "later");
	end(&scene);
}

static void a_server_that_never_greets_is_left(void **state)
{
	struct scene scene;
	struct host *mute;

	(void)state;
	begin(&scene);
	mute = add_host(&scene);
	add_real(&scene);
	start(&scene);
	(void)connection(&scene, mute);
	assert_string_equal(ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	end(&scene);
}

static void a_server_that_stops_answering_is_left(void **state)
{
	static struct asked asked;
	struct scene scene;
	struct host *half;
	struct directory_peer *peer;

	(void)state;
	begin(&scene);
	half = add_host(&scene);
	add_real(&scene);
	start(&scene);
	peer = connection(&scene, half);
	directory_peer_say(peer, "hello|1|other+x|1|read");
	get(&scene, "address", "ann@example.org", 9 * SECOND_US, &asked);
	assert_true(strncmp(directory_peer_hear(peer), "get|1|address|ann@example.org", 29) == 0);
	directory_peer_say(peer, "part|1|kind forw"); /* half of an answer */
	assert_string_equal(answer_of(&asked), "val|kind mailbox");
	end(&scene);
}

/* Nobody waits as long as it takes to see that a server is mute. */
static void a_server_that_answers_nobody_in_time_is_left(void **state)
{
	static struct asked asked;
	struct scene scene;
	struct host *half;
	struct host *real;
	struct directory_peer *peer;

	(void)state;
	begin(&scene);
	half = add_host(&scene);
	real = add_real(&scene);
	start(&scene);
	peer = connection(&scene, half);
	directory_peer_say(peer, "hello|1|other+x|1|read");
	get(&scene, "address", "ann@example.org", SECOND_US / 10, &asked);
	assert_string_equal(answer_of(&asked), "later");
	assert_int_equal(real->connections, 0);
	for (unsigned i = 0; i < 100 && real->connections == 0; i++)
		turn(&scene, SECOND_US / 10);
	assert_int_equal(real->connections, 1);
	assert_string_equal(ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	end(&scene);
}

static void patience_ends(void **state)
{
	static struct asked asked;
	struct scene scene;
	struct host *half;
	struct directory_peer *peer;

	(void)state;
	begin(&scene);
	half = add_host(&scene);
	start(&scene);
	peer = connection(&scene, half);
	directory_peer_say(peer, "hello|1|id|1|read");
	get(&scene, "route", "a@b", SECOND_US / 2, &asked);
	assert_true(strncmp(directory_peer_hear(peer), "get|1|route|a@b", 15) == 0);
	assert_string_equal(answer_of(&asked), "later");
	/* too late to be heard */
	directory_peer_say(peer, "val|1|1000|1|local box a@b");
	turn(&scene, SECOND_US / 10);
	assert_true(directory_client_is_up(scene.client));
	end(&scene);
}

static void what_is_malformed_ends_the_connection(void **state)
{
	static const char *const cases[] = {
		"val|1|x|1|local box a@b",
		"val|1|1000",
		"val|1|1000|-1",
		"fetch|1",
		"new|x|address|a",
		"reset|id",
		"ok|1|x",
		"now|",
		"err|0|bad|I do not like you",
		"hello|1|id|1|read",
		"reset||1",
	};
	static struct asked asked;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scene scene;
		struct directory_peer *peer;
		struct host *host;

		begin(&scene);
		host = add_host(&scene);
		start(&scene);
		peer = connection(&scene, host);
		directory_peer_say(peer, "hello|1|id|1|read");
		get(&scene, "route", "a@b", 8 * SECOND_US, &asked);
		assert_true(strncmp(directory_peer_hear(peer), "get|1|", 6) == 0);
		directory_peer_say(peer, cases[i]);
		assert_string_equal(directory_peer_hear(peer), "closed");
		directory_peer_free(peer);
		host->peer = NULL;
		/* and the question is asked again */
		peer = connection(&scene, host);
		directory_peer_say(peer, "hello|1|id|1|read");
		assert_true(strncmp(directory_peer_hear(peer), "get|1|", 6) == 0);
		directory_peer_say(peer, "val|1|1000|1|local box a@b");
		assert_string_equal(answer_of(&asked), "val|local box a@b");
		end(&scene);
	}
}

static void greetings_of_others_are_refused(void **state)
{
	static const char *const cases[] = {"hello|2|id|1|read", "hello|1||1|read", "hello|1|id|x",
					    "hello|1|id",        "val|1|1|1",       "220 mx ESMTP"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scene scene;
		struct directory_peer *peer;

		begin(&scene);
		peer = (add_host(&scene), start(&scene), connection(&scene, &scene.hosts[0]));
		directory_peer_say(peer, cases[i]);
		assert_string_equal(directory_peer_hear(peer), "closed");
		assert_string_equal(scene.states, "");
		end(&scene);
	}
}

static void a_server_that_is_behind_is_left(void **state)
{
	struct scene scene;
	struct host *ahead;
	struct host *behind;
	struct directory_peer *peer;

	(void)state;
	begin(&scene);
	ahead = add_host(&scene);
	behind = add_host(&scene);
	start(&scene);
	peer = connection(&scene, ahead);
	directory_peer_say(peer, "hello|1|id+a|1|read");
	directory_peer_say(peer, "new|9|address|x@y");
	turn(&scene, SECOND_US / 20);
	assert_int_equal(directory_client_version(scene.client), 9);
	directory_peer_free(peer);
	ahead->peer = NULL;
	/* the configuration does not matter, the data do */
	peer = connection(&scene, behind);
	directory_peer_say(peer, "hello|1|id+b|8|read");
	assert_string_equal(directory_peer_hear(peer), "closed");
	peer = connection(&scene, ahead);
	directory_peer_say(peer, "hello|1|id+a|9|read");
	turn(&scene, SECOND_US / 20);
	assert_true(directory_client_is_up(scene.client));
	end(&scene);
}

static void a_change_is_not_made_twice(void **state)
{
	static struct asked asked;
	struct str fields[] = {STR("kind mailbox")};
	struct scene scene;
	struct directory_peer *peer;
	struct host *host;

	(void)state;
	begin(&scene);
	host = add_host(&scene);
	start(&scene);
	peer = connection(&scene, host);
	directory_peer_say(peer, "hello|1|id|1|read|change");
	prepare(&scene, &asked);
	directory_client_put(scene.client, "address", STR("a@b"), fields, 1, &asked.question);
	assert_string_equal(directory_peer_hear(peer), "put|1|address|a@b|kind mailbox");
	directory_peer_free(peer);
	host->peer = NULL;
	assert_string_equal(answer_of(&asked), "later");
	peer = connection(&scene, host);
	directory_peer_say(peer, "hello|1|id|1|read|change");
	assert_string_equal(directory_peer_hear_now(peer), "nothing");
	end(&scene);
}

static void since_covers_what_answers_came_with(void **state)
{
	static struct asked asked;
	struct scene scene;
	struct directory_peer *peer;
	struct host *host;

	(void)state;
	begin(&scene);
	host = add_host(&scene);
	start(&scene);
	peer = connection(&scene, host);
	directory_peer_say(peer, "hello|1|id|5|read");
	get(&scene, "route", "a@b", 8 * SECOND_US, &asked);
	assert_string_equal(directory_peer_hear(peer), "get|1|route|a@b");
	directory_peer_say(peer, "val|1|60000|6|local box a@b|on address a@b");
	assert_string_equal(answer_of(&asked), "val|local box a@b");
	assert_true(asked.ttl_us > 0 && asked.ttl_us <= 60 * SECOND_US);
	directory_peer_free(peer);
	host->peer = NULL;
	peer = connection(&scene, host);
	directory_peer_say(peer, "hello|1|id|9|read");
	assert_string_equal(directory_peer_hear(peer), "since|id|6");
	/* lost before it was answered: the same again, whatever was heard meanwhile */
	directory_peer_say(peer, "new|9|address|c@d");
	turn(&scene, SECOND_US / 20);
	directory_peer_free(peer);
	host->peer = NULL;
	peer = connection(&scene, host);
	directory_peer_say(peer, "hello|1|id|9|read");
	assert_string_equal(directory_peer_hear(peer), "since|id|6");
	assert_true(is_kept(&scene, "route", "a@b"));
	directory_peer_say(peer, "new|7|address|a@b");
	directory_peer_say(peer, "now|9");
	turn(&scene, SECOND_US / 20);
	assert_false(is_kept(&scene, "route", "a@b"));
	end(&scene);
}

static void a_cancelled_question_is_not_answered(void **state)
{
	static struct asked asked;
	struct scene scene;

	(void)state;
	begin(&scene);
	add_real(&scene);
	start(&scene);
	get(&scene, "route", "a@b", SECOND_US, &asked);
	directory_question_cancel(scene.client, &asked.question);
	directory_question_cancel(scene.client, &asked.question);
	turn(&scene, SECOND_US / 10);
	assert_false(asked.is_answered);
	get(&scene, "route", "a@b", SECOND_US, &asked);
	end(&scene); /* with a question that waits */
	assert_false(asked.is_answered);
}

static void parts_are_put_together(void **state)
{
	static struct asked asked;
	struct scene scene;
	struct directory_peer *peer;

	(void)state;
	begin(&scene);
	peer = (add_host(&scene), start(&scene), connection(&scene, &scene.hosts[0]));
	directory_peer_say(peer, "hello|1|id|5|read");
	get(&scene, "route", "a@b", 8 * SECOND_US, &asked);
	assert_string_equal(directory_peer_hear(peer), "get|1|route|a@b");
	directory_peer_say(peer, "part|1|remote a|on x y");
	directory_peer_say(peer, "part|1|remote b");
	directory_peer_say(peer, "val|1|1000|5|remote c|on z y|remote d");
	assert_string_equal(answer_of(&asked), "val|remote a|remote b|remote c|remote d");
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_kept_until_something_changes),
		cmocka_unit_test(changes_and_lists_are_not_kept),
		cmocka_unit_test(what_changed_while_away_is_not_kept),
		cmocka_unit_test(the_next_server_takes_over),
		cmocka_unit_test(a_server_that_cannot_read_is_left_for_another),
		cmocka_unit_test(a_single_server_tells_whether_it_can_read),
		cmocka_unit_test(who_watches_hears_of_all),
		cmocka_unit_test(nobody_there_is_told_at_once),
		cmocka_unit_test(a_server_that_never_greets_is_left),
		cmocka_unit_test(a_server_that_stops_answering_is_left),
		cmocka_unit_test(a_server_that_answers_nobody_in_time_is_left),
		cmocka_unit_test(patience_ends),
		cmocka_unit_test(what_is_malformed_ends_the_connection),
		cmocka_unit_test(greetings_of_others_are_refused),
		cmocka_unit_test(a_server_that_is_behind_is_left),
		cmocka_unit_test(a_change_is_not_made_twice),
		cmocka_unit_test(since_covers_what_answers_came_with),
		cmocka_unit_test(a_cancelled_question_is_not_answered),
		cmocka_unit_test(parts_are_put_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
