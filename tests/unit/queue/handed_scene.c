// SPDX-License-Identifier: ISC
#include "handed_scene.h"
#include "os/file/file.h"
#include "queue/control/checksum.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 32, NAME_SIZE = 128, GROUPS_MAX = 8 };

struct handed_scene handed;

static struct {
	char names[NAMES_MAX][NAME_SIZE];
	size_t count;
	char text[NAMES_MAX * NAME_SIZE];
} list;

void handed_scene_open(enum queue_sync sync)
{
	handed = (struct handed_scene){.store = queue_scene_open("queue", sync)};
	assert_int_equal(handed_scene_restart(), 0);
}

int handed_scene_restart(void)
{
	const struct queue_intake_options options = {.spares = QUEUE_SCENE_SPARES,
						     .spare_size = QUEUE_SCENE_SPARE_SIZE,
						     .is_daemon = true};

	queue_intake_close(handed.intake);
	handed.intake = NULL;
	return queue_intake_open(handed.store, &options, &handed.intake);
}

void handed_scene_close(void)
{
	queue_intake_close(handed.intake);
	queue_store_close(handed.store);
}

static void commit_nothing(void)
{
	queue_message_commit_group(handed.intake, NULL, 0, NULL);
}

int handed_scene_greet(uint64_t run)
{
	uint64_t durable = 0;
	int result = 1;

	for (unsigned i = 0; result == 1 && i < GROUPS_MAX; i++) {
		if (i > 0)
			commit_nothing();
		if (queue_intake_durable(handed.intake) < durable)
			return -EIO;
		result = queue_handed_greet(handed.intake, STR("a1"), 1, run, &durable);
	}
	return result == 1 ? -EBUSY : result;
}

/* Of the deliveries in RECORDS. */
static void find_numbers(struct str envelope, struct str records, struct buffer *numbers)
{
	struct buffer whole CLEANUP(buffer_clear) = {0};
	struct queue_control *control;

	buffer_append_str(&whole, envelope);
	queue_checksum_add_head(&whole, envelope, 0);
	buffer_append_str(&whole, records);
	assert_int_equal(queue_control_parse(buffer_view(&whole), &control, NULL), 0);
	assert_true(control->is_mapped);
	queue_handed_numbers(control, numbers);
	queue_control_free(control);
}

static int write_package(struct queue_message *message, const char *name, const char *data,
			 const char *records)
{
	struct mail_envelope *envelope = queue_scene_envelope_to_one();
	struct queue_package package = {.node = STR("a1"),
					.name = str_from(name),
					.stage = MAIL_STAGE_ARRIVE};
	struct buffer map CLEANUP(buffer_clear) = {0};
	struct buffer numbers CLEANUP(buffer_clear) = {0};
	struct buffer bytes CLEANUP(buffer_clear) = {0};
	struct buffer text CLEANUP(buffer_clear) = {0};
	char of[NAME_SIZE];
	int result;

	snprintf(of, sizeof of, "a1/%s", name);
	envelope->handed = envelope->origin = str_from(of);
	envelope->via = 1;
	envelope->id.number = queue_message_number(message);
	envelope->size = strlen(data);
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	buffer_append_string(&bytes, data);
	if (records != NULL) {
		buffer_append_string(&map, records);
		queue_checksum_add_records(&map, 0, envelope->id.born_us);
		find_numbers(buffer_view(&text), buffer_view(&map), &numbers);
	}
	mail_envelope_free(envelope);
	package.records = buffer_view(&map);
	package.numbers = buffer_view(&numbers);
	result = queue_handed_begin(message, &package);
	return result == 0 ? queue_message_write(message, MAIL_STAGE_ARRIVE, &bytes, &text)
			   : result;
}

int handed_scene_take(const char *name, const char *data, const char *records, uint64_t *number_out)
{
	struct queue_message *message;
	int result = queue_message_new(handed.intake, &message);
	int committed = -1;

	if (result < 0)
		return -EMFILE; /* before there was anything */
	*number_out = queue_message_number(message);
	result = write_package(message, name, data, records);
	if (result == -EEXIST || result == -EBUSY || result == -ESTALE) {
		queue_message_abandon(message);
		return result;
	}
	queue_message_commit_group(handed.intake, &message, 1, &committed);
	if (result == 0)
		result = committed;
	assert_true(committed < 0 || result == 0);
	queue_handed_end(handed.intake, *number_out, result);
	if (result < 0)
		queue_message_abandon(message);
	return result;
}

int handed_scene_end(uint64_t number)
{
	int result = 1;

	for (unsigned i = 0; result == 1 && i < GROUPS_MAX; i++) {
		if (i > 0)
			commit_nothing();
		result = queue_message_remove_queued(handed.intake, MAIL_STAGE_ARRIVE, number);
	}
	return result == 1 ? -EBUSY : result;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void begin_list(void)
{
	list.count = 0;
}

static void add_to_list(const char *text, const char *after)
{
	assert_true(list.count < NAMES_MAX);
	snprintf(list.names[list.count++], NAME_SIZE, "%s%s", text, after);
}

static const char *end_list(void)
{
	qsort(list.names, list.count, NAME_SIZE, by_text);
	list.text[0] = '\0';
	for (size_t i = 0; i < list.count; i++)
		strcat(list.text, list.names[i]);
	return list.text;
}

static int add_name(void *context, const char *name)
{
	(void)context;
	add_to_list(name, " ");
	return 0;
}

const char *handed_scene_names(void)
{
	int result;

	begin_list();
	result = os_file_list(queue_store_directory(handed.store), "handed/a1", add_name, NULL);
	assert_true(result == 0 || result == -ENOENT);
	return end_list();
}

static int add_kept(void *context, struct str name, struct str numbers)
{
	char text[NAME_SIZE];

	(void)context;
	snprintf(text, sizeof text, STR_FORMAT " " STR_FORMAT, STR_ARGUMENTS(name),
		 STR_ARGUMENTS(numbers));
	add_to_list(text, ";");
	return 0;
}

const char *handed_scene_kept(void)
{
	begin_list();
	return queue_handed_each(handed.intake, STR("a1"), add_kept, NULL) == 0 ? end_list()
										: "error";
}

bool handed_scene_is_queued(uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;

	queue_store_path(handed.store, QUEUE_TODO, "arrive", number, path);
	return os_file_info_at(queue_store_directory(handed.store), path, &info) == 0;
}
