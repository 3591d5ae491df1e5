// SPDX-License-Identifier: ISC
/*
 * tests/unit/queue/queue_scene.h - queues on the disk for a test, and messages in them.
 */
#ifndef TESTS_UNIT_QUEUE_SCENE_H
#define TESTS_UNIT_QUEUE_SCENE_H

#include "queue/message.h"
#include "queue/update.h"

enum { QUEUE_SCENE_SPLIT = 3, QUEUE_SCENE_SPARES = 8, QUEUE_SCENE_SPARE_SIZE = 4096 };

/* A directory of its own, and its removal; for cmocka. */
int queue_scene_set_up(void **state);
int queue_scene_tear_down(void **state);

/* NAME in that directory, in one of a few places. */
const char *queue_scene_path(const char *name);

/* The queue NAME, made when it is not there, and the intake of a process that is no daemon. */
struct queue_store *queue_scene_open(const char *name, enum queue_sync sync);
struct queue_intake *queue_scene_intake(struct queue_store *store);

/* Born after a second, at MAIL_STAGE_ARRIVE, from a@example.org; with no recipient, or with
 * b@example.net alone. Freed by the caller. */
struct mail_envelope *queue_scene_envelope(void);
struct mail_envelope *queue_scene_envelope_to_one(void);

/* ENVELOPE's message (NULL: that to one) with DATA: written by value, S3; or queued at once,
 * its number. ENVELOPE gets the number and the size, and is freed. */
struct queue_message *queue_scene_write(struct queue_intake *intake, struct mail_envelope *envelope,
					const char *data);
uint64_t queue_scene_enqueue(struct queue_intake *intake, struct mail_envelope *envelope,
			     const char *data);
/* The same to S5, with CONTROL's records after the envelope, and those of BOUNCE. */
void queue_scene_preprocess(struct queue_store *store, struct queue_intake *intake, uint64_t number,
			    const char *control, const char *bounce);

/* Commits UPDATE alone; its result. */
int queue_scene_update(struct queue_store *store, struct queue_update *update);
/* A message at S5 that waits for the service mailbox: an update of it, with no news yet. */
struct queue_update queue_scene_preprocessed(struct queue_store *store,
					     struct queue_intake *intake);

/* That NUMBER is at S4, with DATA and its envelope after them. */
void queue_scene_expect_data(struct queue_store *store, uint64_t number, const char *data);
/* How many names are in DIRECTORY of the queue. */
int queue_scene_names_in(struct queue_store *store, const char *directory);

#endif
