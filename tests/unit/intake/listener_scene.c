// SPDX-License-Identifier: ISC
#include "listener_scene.h"
#include "auth/client.h"
#include "directory/lookup/lookup.h"
#include "dns/names/client.h"
#include "queue/client/client.h"
#include "supervisor/child/child.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bool *listens; /* which endpoints are configured */

struct listener_scene listener_scene;

void listener_scene_begin(const bool *configured)
{
	assert_null(listener_scene.listeners);
	listener_scene = (struct listener_scene){.listeners = NULL};
	listens = configured;
}

/* --- the kernel, and the supervisor's side --- */

struct os_listener *os_listener_new(struct os_loop *loop, int listening,
				    const struct os_listener_handler *handler, void *context)
{
	struct os_listener *listener = calloc(1, sizeof *listener);

	(void)loop;
	*listener = (struct os_listener){listening, handler, context, listener_scene.listeners};
	listener_scene.listeners = listener;
	return listener;
}

void os_listener_free(struct os_listener *listener)
{
	struct os_listener **place = &listener_scene.listeners;

	while (*place != listener)
		place = &(*place)->next;
	*place = listener->next;
	free(listener);
}

void os_listener_go_on(struct os_listener *listener)
{
	(void)listener;
}

void os_loop_stop(struct os_loop *loop)
{
	(void)loop;
	listener_scene.is_stopped = true;
}

int child_socket(const struct child *child, const char *name)
{
	(void)child;
	assert_true(strncmp(name, "listen 192.0.2.", 15) == 0);
	return name[15] - '1';
}

void child_path(const struct child *child, const char *name, char path[108])
{
	(void)child;
	snprintf(path, 108, "/run/%s", name);
}

void child_ready(struct child *child)
{
	(void)child;
}

void child_waits(struct child *child, struct str reason)
{
	(void)child, (void)reason;
}

void child_full(struct child *child)
{
	(void)child;
}

void child_close_sockets(struct child *child,
			 bool (*is_wanted)(const void *context, const struct child_socket *socket),
			 const void *context)
{
	(void)child;
	for (int i = 0; i < LISTENER_SCENE_ENDPOINTS; i++) {
		const struct child_socket socket = {.descriptor = i};

		assert_int_equal(is_wanted(context, &socket), listens[i]);
	}
}

/* --- who answers for it --- */

static void connect_later(void (*call)(void *context), void *context)
{
	assert_true(listener_scene.connecting_count < COUNT_OF(listener_scene.connecting));
	listener_scene.connecting[listener_scene.connecting_count].call = call;
	listener_scene.connecting[listener_scene.connecting_count++].context = context;
}

void listener_scene_connect_one(void)
{
	assert_true(listener_scene.connecting_count > 0);
	listener_scene.connecting_count--;
	listener_scene.connecting[listener_scene.connecting_count].call(
		listener_scene.connecting[listener_scene.connecting_count].context);
}

struct queue_client *queue_client_new(struct os_loop *loop, const char *path, uint32_t stock)
{
	(void)loop, (void)path, (void)stock;
	return (struct queue_client *)&listener_scene;
}

void queue_client_set_reserve(struct queue_client *client, uint64_t reserve)
{
	(void)client, (void)reserve;
}

void queue_client_when_connected(struct queue_client *client, void (*call)(void *context),
				 void *context)
{
	(void)client;
	connect_later(call, context);
}

struct directory *directory_new(struct os_loop *loop, const struct config *config, const char *path)
{
	(void)loop, (void)config, (void)path;
	return (struct directory *)&listener_scene;
}

void directory_configure(struct directory *directory, const struct config *config)
{
	(void)directory, (void)config;
}

bool directory_is_served(const struct directory *directory)
{
	(void)directory;
	return false;
}

void directory_when_greeted(struct directory *directory, void (*call)(void *context), void *context)
{
	(void)directory;
	connect_later(call, context);
}

struct names *names_new(struct os_loop *loop, const char *path)
{
	(void)loop, (void)path;
	return (struct names *)&listener_scene;
}

void names_when_connected(struct names *names, void (*call)(void *context), void *context)
{
	(void)names;
	connect_later(call, context);
}

struct auth *auth_new(struct os_loop *loop, const char *path)
{
	(void)loop, (void)path;
	return (struct auth *)&listener_scene;
}

void auth_when_offered(struct auth *auth, void (*call)(void *context), void *context)
{
	(void)auth;
	connect_later(call, context);
}
