// SPDX-License-Identifier: ISC
#include "queue_scene.h"
#include "os/file/file.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

static char base[SCRATCH_SIZE];

int queue_scene_set_up(void **state)
{
	(void)state;
	return scratch_make(base);
}

int queue_scene_tear_down(void **state)
{
	(void)state;
	return scratch_remove(base);
}

const char *queue_scene_path(const char *name)
{
	static char paths[4][96];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", base, name);
	return path;
}

struct queue_store *queue_scene_open(const char *name, enum queue_sync sync)
{
	struct queue_options options = {.create = true, .split = QUEUE_SCENE_SPLIT, .sync = sync};
	struct queue_store *store = NULL;
	struct buffer reason = {0};

	if (queue_store_open(queue_scene_path(name), &options, &store, &reason) < 0)
		fail_msg(STR_FORMAT, STR_ARGUMENTS(buffer_view(&reason)));
	buffer_clear(&reason);
	return store;
}

struct queue_intake *queue_scene_intake(struct queue_store *store)
{
	struct queue_intake_options options = {.spares = QUEUE_SCENE_SPARES,
					       .spare_size = QUEUE_SCENE_SPARE_SIZE};
	struct queue_intake *intake = NULL;

	assert_int_equal(queue_intake_open(store, &options, &intake), 0);
	return intake;
}

struct mail_envelope *queue_scene_envelope(void)
{
	struct mail_envelope *envelope = mail_envelope_new();

	envelope->id.born_us = SECOND_US;
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->sender = STR("a@example.org");
	return envelope;
}

struct mail_envelope *queue_scene_envelope_to_one(void)
{
	struct mail_envelope *envelope = queue_scene_envelope();

	mail_envelope_add(envelope, STR("b@example.net"));
	return envelope;
}

struct queue_message *queue_scene_write(struct queue_intake *intake, struct mail_envelope *envelope,
					const char *data)
{
	struct queue_message *message = NULL;
	struct buffer bytes = {0};
	struct buffer text = {0};

	if (envelope == NULL)
		envelope = queue_scene_envelope_to_one();
	assert_int_equal(queue_message_new(intake, &message), 0);
	buffer_append_string(&bytes, data);
	envelope->id.number = queue_message_number(message);
	envelope->size = strlen(data);
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	assert_int_equal(queue_message_write(message, envelope->stage, &bytes, &text), 0);
	buffer_clear(&bytes);
	buffer_clear(&text);
	mail_envelope_free(envelope);
	return message;
}

uint64_t queue_scene_enqueue(struct queue_intake *intake, struct mail_envelope *envelope,
			     const char *data)
{
	struct queue_message *message = queue_scene_write(intake, envelope, data);
	uint64_t number = queue_message_number(message);
	int result = -1;

	queue_message_commit_group(intake, &message, 1, &result);
	assert_int_equal(result, 0);
	return number;
}

void queue_scene_preprocess(struct queue_store *store, struct queue_intake *intake, uint64_t number,
			    const char *control, const char *bounce)
{
	struct queue_update update = {
		.number = number,
		.is_queued = true,
		.stage = MAIL_STAGE_ARRIVE,
		.bounce = str_from(bounce),
		.control = str_from(control),
		.preprocess = true,
		.link_remote = true,
	};

	assert_int_equal(queue_scene_update(store, &update), 0);
	assert_int_equal(queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, number), 0);
}

void queue_scene_expect_data(struct queue_store *store, uint64_t number, const char *data)
{
	const enum mail_stage stage = MAIL_STAGE_ARRIVE;
	char have[8192];
	int file = queue_update_open_data(store, &stage, number);
	ssize_t length;

	assert_true(file >= 0);
	length = os_file_read(file, have, sizeof have, 0);
	os_file_close(file);
	assert_true(length > (ssize_t)strlen(data));
	assert_memory_equal(have, data, strlen(data));
	assert_true(str_starts_with(str_slice(have + strlen(data), (size_t)length - strlen(data)),
				    STR("stagepost 2\n")));
}

int queue_scene_update(struct queue_store *store, struct queue_update *update)
{
	queue_update_commit_group(store, &update, 1);
	return update->result;
}

struct queue_update queue_scene_preprocessed(struct queue_store *store, struct queue_intake *intake)
{
	static const char *const services[] = {"mailbox"};
	struct queue_update update = {
		.is_queued = true,
		.stage = MAIL_STAGE_ARRIVE,
		.control = STR("map: 1 local mailbox <b@c>\nmapped: directory=1 count=1\n"),
		.preprocess = true,
		.link_services = services,
		.link_service_count = 1,
	};

	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	update.number = queue_scene_enqueue(intake, NULL, "data\r\n");
	assert_int_equal(queue_scene_update(store, &update), 0);
	assert_int_equal(queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, update.number), 0);
	update.is_queued = update.preprocess = false;
	update.born_us = SECOND_US;
	return update;
}

static int count_one(void *context, const char *name)
{
	(void)name;
	++*(int *)context;
	return 0;
}

int queue_scene_names_in(struct queue_store *store, const char *directory)
{
	int count = 0;

	assert_int_equal(os_file_list(queue_store_directory(store), directory, count_one, &count),
			 0);
	return count;
}
