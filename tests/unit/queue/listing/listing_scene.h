/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/queue/listing/listing_scene.h - a queue with a message of each kind, which is written
 * down a second time as lists of words.
 */
#ifndef TESTS_UNIT_LISTING_SCENE_H
#define TESTS_UNIT_LISTING_SCENE_H

#include "queue/store.h"

enum { LISTING_SCENE_MESSAGES = 10 };

extern const struct listing_scene_message {
	const char *sender, *received;
	const char *recipients[2];
	enum mail_stage stage;
	const char *control;    /* its records, at S5; NULL: it is at S4 */
	const char *addresses;  /* of recipients and deliveries */
	const char *transports; /* of deliveries that are not decided */
	const char *triggers;   /* that they wait for */
	const char *reasons;    /* their texts, in lower case, and their status */
	const char *status;
	const char *client, *user;
	long uid; /* of who called a command; -1: nobody did */
	int hold; /* 1: held; 2: until "maint"; -1: until what is not set any more */
} listing_scene_messages[LISTING_SCENE_MESSAGES];

extern struct queue_store *listing_scene_store;
extern uint64_t listing_scene_numbers[LISTING_SCENE_MESSAGES];
int64_t listing_scene_born(size_t i);
/* For cmocka. */
int listing_scene_open(void **state);
int listing_scene_close(void **state);

#endif
