// SPDX-License-Identifier: ISC
/* tests/unit/filing/record/record_scene.h - two connections to the database under test, and a
 * message. */
#ifndef TESTS_UNIT_RECORD_SCENE_H
#define TESTS_UNIT_RECORD_SCENE_H

#include "record_contract.h"
#include "test.h"
#include <string.h>

extern const struct record_contract *record_scene_backend;
#define backend record_scene_backend

struct record_scene {
	struct record *a, *b;
	struct record_token token_a, token_b;
};
extern struct record_scene record_scene;
#define world record_scene

extern const struct record_mailbox RECORD_SCENE_INBOX, RECORD_SCENE_SENT;
#define INBOX RECORD_SCENE_INBOX
#define SENT  RECORD_SCENE_SENT

#define assert_fine(record, call)                                                               \
	do {                                                                                    \
		int error_ = (call);                                                            \
		if (error_ != 0)                                                                \
			fail_msg("%s: %s: %s", #call, strerror(-error_), record_error(record)); \
	} while (0)

#define CASE(function) \
	cmocka_unit_test_setup_teardown(function, record_scene_set_up, record_scene_tear_down)

int record_scene_set_up(void **state);
int record_scene_tear_down(void **state);

struct lock_name record_scene_name(const char *text);
/* Two bodies of a message: of one participant each role, and two parts. */
extern struct decode_participant record_scene_participants[3];
extern struct decode_part record_scene_parts[2];
struct record_message record_scene_message(const char *id, unsigned char digest);
/* Its number. */
int64_t record_scene_put(struct record *record, const struct record_message *message);
/* A message recorded and opened in INBOX by the connection A, committed. */
struct record_filing record_scene_opened(const char *id);

struct record_scene_seen {
	unsigned count;
	int64_t last;
	size_t places, participants, parts;
	char sender[100], subject[1000], folder[100];
};
/* What record_list() says, by the connection B; a limit of 0 is 100. */
struct record_scene_seen record_scene_list(struct record_query query);

#endif
