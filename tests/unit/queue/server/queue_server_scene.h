// SPDX-License-Identifier: ISC
/*
 * tests/unit/queue/server/queue_server_scene.h - the process "queue" in a thread, and its clients
 * by hand.
 */
#ifndef TESTS_UNIT_QUEUE_SERVER_SCENE_H
#define TESTS_UNIT_QUEUE_SERVER_SCENE_H

#include "queue/control/control.h"
#include "queue/server/server.h"
#include "unit/queue/queue_peer.h"
#include <pthread.h>

struct queue_server_scene {
	struct os_loop *loop;
	struct queue_store *store;
	struct queue_intake *intake;
	struct queue_server *server;
	struct os_wakeup *stop;
	int listening, submit;
	pthread_t thread;
	struct queue_peer manager, client; /* of scene_begin() */
};

extern struct queue_server_scene scene;

/* What "send" shows, and others do not have. */
#define SCENE_MANAGE_BODY STR("\6\0\0\0send-1")
extern const struct ipc_tokens scene_tokens;

/* In the place of queue_peer.h; RESERVE bytes are to stay free on its disk. */
void scene_start_for(uint64_t reserve, const struct queue_server_peers *peers);
/* For clients and managers of this user, whose bounds nothing comes near. */
void scene_start(uint64_t reserve);
void scene_stop(void);
/* The same with a manager and a client. */
void scene_begin(void);
void scene_end(void);

struct queue_peer scene_connect(void);
/* As a user of the machine. */
struct queue_peer scene_connect_user(void);
struct queue_peer scene_manage(void);

/* --- a client --- */

void scene_say_u32(struct queue_peer *peer, uint16_t type, uint32_t value);
void scene_say_number(struct queue_peer *peer, uint16_t type, uint64_t number);
/* A number of its own. */
uint64_t scene_open_one(struct queue_peer *peer);
/* Has NUMBER's file given out: peer->files[0]. */
void scene_share(struct queue_peer *peer, uint64_t number);
/* An envelope with that many recipients, for SIZE bytes or for 6. */
void scene_append_envelope_of(struct buffer *text, uint64_t number, unsigned recipients,
			      size_t size);
void scene_append_envelope(struct buffer *text, uint64_t number, unsigned recipients);
void scene_say_part(struct queue_peer *peer, uint16_t type, uint64_t number, struct str text);
void scene_say_commit(struct queue_peer *peer, uint64_t number, struct str text, struct str data);
/* The answer to a commit: 0 or an errno. */
uint32_t scene_hear_result(struct queue_peer *peer, uint64_t number);
/* Says to commit 6 bytes with the envelope TEXT, in as many parts as it needs. */
void scene_say_envelope(struct queue_peer *peer, uint64_t number, struct str text);
/* That and its answer, the same as above. */
uint32_t scene_commit(struct queue_peer *peer, uint64_t number, struct str text);
/* The whole way of a message. */
uint64_t scene_queue_one(struct queue_peer *peer, unsigned recipients);
void scene_fill(struct buffer *data, size_t size);

/* --- the manager --- */

void scene_say_remove(struct queue_peer *peer, uint32_t kind, uint32_t stage, uint64_t number);
/* The news of NUMBER, with its data as scene_commit() sends them, or with CONTENT. */
void scene_expect_queued(struct queue_peer *manager, uint64_t number, bool has_text);
void scene_expect_queued_with(struct queue_peer *manager, uint64_t number, bool has_text,
			      struct str content);
void scene_expect_removed(struct queue_peer *manager, uint64_t number);
/* The manager gets the report of NUMBER, and has it removed. */
void scene_remove_message(struct queue_peer *manager, uint64_t number);

#endif
