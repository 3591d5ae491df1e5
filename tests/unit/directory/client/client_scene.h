// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/client/client_scene.h - the directory's client with its servers in a scratch
 * directory: real ones, and peers that the test speaks for.
 */
#ifndef TESTS_UNIT_CLIENT_SCENE_H
#define TESTS_UNIT_CLIENT_SCENE_H

#include "base/timestamp.h"
#include "directory/client/client.h"
#include "directory/server/server.h"
#include "scratch.h"
#include "test.h"
#include "unit/directory/directory_peer.h"
#include "unit/directory/store/memory_store.h"

enum { HOSTS_MAX = 3 };

/* Where a server may be. */
struct host {
	struct os_loop *loop;
	const struct config *config;
	char server[140]; /* "unix:PATH" */
	const char *path;
	int listening;
	struct os_watch *watch; /* NULL: nobody is there */
	struct memory_store *store;
	struct directory_server *real; /* NULL: a peer */
	struct directory_peer *peer;   /* of the last connection */
	unsigned connections;
	unsigned
		roles; /* that a real server gives to its clients: all, unless a test sets others */
};

struct client_scene {
	struct os_loop *loop;
	struct config *config;
	char directory[SCRATCH_SIZE];
	struct host hosts[HOSTS_MAX];
	size_t host_count;
	struct directory_client *client;
	char states[64]; /* "+-" as the client told */
};

/* HOSTS says who is there, a letter each: 'r' a real server that has ann@example.org, 'p' a peer,
 * 'n' nobody. The client begins to connect to them. */
void scene_open(struct client_scene *scene, const char *hosts);
void scene_close(struct client_scene *scene);
/* Turns the loop for so long. */
void scene_turn(struct client_scene *scene, int64_t time_us);

/* Ends HOST's connections and takes no more; its store stays. */
void host_stop(struct host *host);
/* It is there again, with a real server of its store. */
void host_return(struct host *host);
/* Turns until the client has connected to HOST, a peer. */
struct directory_peer *host_connection(struct host *host);
/* The same, and says FRAME. */
struct directory_peer *host_greet(struct host *host, const char *frame);
/* Ends its connection; it goes on to listen. */
void host_hang_up(struct host *host);

struct asked {
	struct os_loop *loop;
	struct directory_question question;
	char text[4096]; /* the answer: "val|RESULT|..." */
	bool is_answered;
	int64_t ttl_us;
};

/* To call the client with ASKED's question. */
void scene_prepare(struct client_scene *scene, struct asked *asked);
void scene_get(struct client_scene *scene, const char *table, const char *key, int64_t patience_us,
	       struct asked *asked);
/* Turns until it is answered, ten seconds at most: then "nothing". */
const char *asked_answer(struct asked *asked);

/* A question and its answer, valid until the next call. */
const char *scene_ask(struct client_scene *scene, const char *table, const char *key);
const char *scene_put(struct client_scene *scene, const char *table, const char *key,
		      const char *field);
/* Whether a get is answered before the call returns. */
bool scene_keeps(struct client_scene *scene, const char *table, const char *key);

#endif
