// SPDX-License-Identifier: ISC
#include "record_scene.h"
#include <stdio.h>

const struct record_contract *record_scene_backend;

struct record_scene record_scene;

const struct record_mailbox INBOX = {{"scuba@example.org", 17}, {"INBOX", 5}};
const struct record_mailbox SENT = {{"lisa@example.com", 16}, {"Sent", 4}};

int record_scene_set_up(void **state)
{
	(void)state;
	backend->empty();
	world.a = backend->connect();
	world.b = backend->connect();
	memset(world.token_a.bytes, 0xa0, RECORD_TOKEN_SIZE);
	memset(world.token_b.bytes, 0, RECORD_TOKEN_SIZE);
	return 0;
}

int record_scene_tear_down(void **state)
{
	(void)state;
	record_free(world.a);
	record_free(world.b);
	if (backend->left != NULL)
		backend->left();
	return 0;
}

struct lock_name record_scene_name(const char *text)
{
	struct lock_name name;

	lock_name_make(str_from(text), &name);
	return name;
}

struct decode_participant record_scene_participants[3] = {
	{DECODE_FROM, {"lisa@example.com", 16}, {"Lisa", 4}},
	{DECODE_TO, {"scuba@example.org", 17}, {"", 0}},
	{DECODE_CC, {"doug@example.org", 16}, {"Doug \xc3\x84", 7}},
};
struct decode_part record_scene_parts[2] = {
	{.number = {"1", 1}, .type = {"text/plain", 10}, .charset = {"utf-8", 5}, .size = 10},
	{.number = {"2", 1},
	 .type = {"image/png", 9},
	 .disposition = {"attachment", 10},
	 .filename = {"a.png", 5},
	 .size = 4000000000},
};
static const struct decode_message decoded = {
	.subject = {"Our next Meeting", 16},
	.date_us = 1234567890123456,
	.participants = record_scene_participants,
	.participant_count = 3,
	.parts = record_scene_parts,
	.part_count = 2,
};

struct record_message record_scene_message(const char *id, unsigned char digest)
{
	struct record_message message = {.id = str_from(id),
					 .size = 1000,
					 .recorded_us = 1700000000000000,
					 .sender = STR("lisa@example.com"),
					 .decoded = &decoded};

	memset(message.digest, digest, sizeof message.digest);
	return message;
}

int64_t record_scene_put(struct record *record, const struct record_message *message)
{
	int64_t number;
	bool is_new;
	unsigned different;

	assert_fine(record, record_put(record, message, &number, &is_new, &different));
	return number;
}

struct record_filing record_scene_opened(const char *id)
{
	struct record_message message = record_scene_message(id, 1);
	struct record_filing filing;

	assert_fine(world.a, record_begin(world.a));
	assert_fine(world.a, record_open(world.a, record_scene_put(world.a, &message), &INBOX,
					 &world.token_a, 1000, &filing));
	assert_fine(world.a, record_commit(world.a));
	return filing;
}

static void see(void *context, const struct record_listed *listed)
{
	struct record_scene_seen *seen = context;

	seen->count++;
	assert_true(listed->number > seen->last);
	seen->last = listed->number;
	seen->places = listed->place_count;
	seen->participants = listed->message.decoded->participant_count;
	seen->parts = listed->message.decoded->part_count;
	snprintf(seen->sender, sizeof seen->sender, STR_FORMAT,
		 STR_ARGUMENTS(listed->message.sender));
	snprintf(seen->subject, sizeof seen->subject, STR_FORMAT,
		 STR_ARGUMENTS(listed->message.decoded->subject));
	if (listed->place_count > 0)
		snprintf(seen->folder, sizeof seen->folder, STR_FORMAT,
			 STR_ARGUMENTS(listed->mailboxes[0].folder));
}

struct record_scene_seen record_scene_list(struct record_query query)
{
	struct record_scene_seen seen = {0};

	if (query.limit == 0)
		query.limit = 100;
	assert_fine(world.b, record_list(world.b, &query, see, &seen));
	return seen;
}
