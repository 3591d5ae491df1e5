// SPDX-License-Identifier: ISC
#include "client_scene.h"
#include "config/text.h"
#include "os/socket/socket.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	ALL = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST | DIRECTORY_ROLE_SECRET |
	      DIRECTORY_ROLE_CHANGE
};

/* --- hosts --- */

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
		directory_server_accept(host->real, &transport, host->roles, "test");
		return;
	}
	host_hang_up(host);
	host->peer = directory_peer_new(host->loop, socket);
	os_loop_stop(host->loop);
}

static void host_listen(struct host *host)
{
	host->listening = os_socket_listen_unix(host->path, SOCK_STREAM, 0600);
	assert_true(host->listening >= 0);
	host->watch = os_watch_new(host->loop, host->listening, OS_WATCH_READ, on_accept, host);
}

void host_hang_up(struct host *host)
{
	if (host->peer != NULL)
		directory_peer_free(host->peer);
	host->peer = NULL;
}

void host_stop(struct host *host)
{
	if (host->watch == NULL)
		return;
	os_watch_free(host->watch);
	host->watch = NULL;
	os_socket_close(host->listening);
	unlink(host->path);
	directory_server_free(host->real);
	host->real = NULL;
	host_hang_up(host);
}

void host_return(struct host *host)
{
	host_listen(host);
	host->real = directory_server_new(host->loop, &host->store->base, host->config);
}

struct directory_peer *host_connection(struct host *host)
{
	for (unsigned i = 0; i < 500 && host->peer == NULL; i++)
		directory_peer_turn(host->loop, SECOND_US / 100);
	assert_non_null(host->peer);
	return host->peer;
}

struct directory_peer *host_greet(struct host *host, const char *frame)
{
	struct directory_peer *peer = host_connection(host);

	directory_peer_say(peer, frame);
	return peer;
}

/* --- the scene --- */

static void add_host(struct client_scene *scene, char kind)
{
	struct host *host = &scene->hosts[scene->host_count];

	host->loop = scene->loop;
	host->config = scene->config;
	host->roles = ALL;
	snprintf(host->server, sizeof host->server, "unix:%.63s/%zu", scene->directory,
		 scene->host_count);
	host->path = host->server + strlen("unix:");
	scene->host_count++;
	if (kind == 'p')
		host_listen(host);
	if (kind != 'r')
		return;
	host->store = memory_store_new(scene->loop);
	memory_store_put(host->store, "address ann@example.org|kind mailbox");
	host_return(host);
}

static void on_state(void *context, bool is_up)
{
	struct client_scene *scene = context;

	strcat(scene->states, is_up ? "+" : "-");
}

void scene_open(struct client_scene *scene, const char *hosts)
{
	static const struct directory_client_handler handler = {on_state};
	struct config_problems problems;
	const char *servers[HOSTS_MAX];

	*scene = (struct client_scene){.loop = os_loop_new()};
	assert_int_equal(scratch_make(scene->directory), 0);
	assert_int_equal(config_parse("t", STR("hostname = mx.example.org\ndirectory { }\n"),
				      &scene->config, &problems),
			 0);
	config_problems_clear(&problems);
	for (size_t i = 0; hosts[i] != '\0'; i++) {
		assert_true(i < HOSTS_MAX);
		add_host(scene, hosts[i]);
		servers[i] = scene->hosts[i].server;
	}
	scene->client = directory_client_new(scene->loop, servers, scene->host_count, NULL,
					     &handler, scene);
}

void scene_close(struct client_scene *scene)
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

void scene_turn(struct client_scene *scene, int64_t time_us)
{
	for (int64_t step_us = 0; step_us < time_us; step_us += SECOND_US / 50)
		directory_peer_turn(scene->loop, SECOND_US / 50);
}

/* --- questions --- */

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

void scene_prepare(struct client_scene *scene, struct asked *asked)
{
	*asked = (struct asked){.loop = scene->loop,
				.question = {.answered = on_answer, .context = asked}};
}

void scene_get(struct client_scene *scene, const char *table, const char *key, int64_t patience_us,
	       struct asked *asked)
{
	scene_prepare(scene, asked);
	directory_client_get(scene->client, table, str_from(key), patience_us, &asked->question);
}

static void stop_loop(void *context)
{
	os_loop_stop(context);
}

const char *asked_answer(struct asked *asked)
{
	struct os_timer *timer = os_timer_new(asked->loop, stop_loop, asked->loop);

	os_timer_start(timer, 10 * SECOND_US);
	while (!asked->is_answered && os_timer_is_running(timer))
		os_loop_run(asked->loop);
	os_timer_free(timer);
	return asked->is_answered ? asked->text : "nothing";
}

const char *scene_ask(struct client_scene *scene, const char *table, const char *key)
{
	static struct asked asked;

	scene_get(scene, table, key, 8 * SECOND_US, &asked);
	return asked_answer(&asked);
}

bool scene_keeps(struct client_scene *scene, const char *table, const char *key)
{
	struct asked asked;

	scene_get(scene, table, key, SECOND_US, &asked);
	directory_question_cancel(scene->client, &asked.question);
	return asked.is_answered;
}

const char *scene_put(struct client_scene *scene, const char *table, const char *key,
		      const char *field)
{
	static struct asked asked;
	struct str fields[] = {str_from(field)};

	scene_prepare(scene, &asked);
	directory_client_put(scene->client, table, str_from(key), fields, 1, &asked.question);
	return asked_answer(&asked);
}
