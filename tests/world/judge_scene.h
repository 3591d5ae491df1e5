// SPDX-License-Identifier: ISC
/* judge_scene.h - a node with a message, before the eyes of the judges. */
#ifndef TESTS_WORLD_JUDGE_SCENE_H
#define TESTS_WORLD_JUDGE_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#define SCENE_SECOND  INT64_C(1000000)
#define SCENE_TRAILER "text\r\nenvelope\nend:\nat: 00000000000000000006\n"

struct machine;
extern struct machine *scene_node;
extern uint64_t scene_queued; /* the number of the message on its disk */

int scene_begin(void **state);
int scene_end(void **state);
#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

/* Its name in PLACE of the queue; valid during the next three calls. */
const char *scene_path_of(const char *place);
void scene_link_to(const char *from, const char *place);
void scene_unlink_at(const char *place);
/* A message at S4 with TEXT, durable when IS_DURABLE. */
void scene_queue_text(const char *text, bool is_durable);
/* It goes to S5. */
void scene_preprocess(void);

void scene_pass(int64_t seconds);
/* The node says that EVENT came for message 7-a, with REST. */
void scene_say(const char *event, const char *rest);
void scene_say_delivered(void);
/* A message of the ledger: its number. */
uint64_t scene_offer(void);
/* A message of the ledger, which the node has promised and accepted: its number. */
uint64_t scene_accept(void);
/* It comes to its recipient. */
void scene_arrive(uint64_t message);
/* A program whose memory grows. */
int scene_wait_for_ever(int argc, char **argv);

#endif
