// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_queue_files.c - a queue whose files a disk has changed, before all that reads
 * them.
 *
 * The input is a list of changes, of seven bytes each: which file, in which way (a bit, a block of
 * zeros, a cut, a byte), where, and with what. Then the message at S4 and the one at S5 are loaded,
 * read, listed and salvaged, and the triggers, the list of due times, and the bounce records are
 * read. What is not as it was written may be refused, or unknown; but what is said to be a sender,
 * a recipient, the data or an outcome is one that was written. The checksum finds all changes of up
 * to three bits; of others it misses one in four thousand million.
 */
#include "base/checksum.h"
#include "base/panic.h"
#include "input.h"
#include "os/file/file.h"
#include "queue/cleaner.h"
#include "queue/control/salvage.h"
#include "queue/damage.h"
#include "queue/due.h"
#include "queue/message.h"
#include "queue/trigger.h"
#include "queue/update.h"
#include "unit/scratch.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DATA "Subject: x\r\n\r\nThe data.\r\n"
#define HOLD "hold.1-f4240"

enum { CHANGES_MAX = 16, FILES = 7 };

static const enum mail_stage stage = MAIL_STAGE_ARRIVE;
static char base[SCRATCH_SIZE];
static struct queue_store *store;
static uint64_t queued;  /* the message at S4 */
static uint64_t waiting; /* and at S5 */

/* As they were written. */
static struct written {
	char path[QUEUE_PATH_SIZE];
	struct buffer text;
	bool is_changed;
} files[FILES];

/* --- the queue --- */

static void expect(int result, const char *what)
{
	if (result < 0)
		panic("%s: %s", what, strerror(-result));
}

/* What may fail. */
static void try_to(int result)
{
	(void)result;
}

static struct queue_message *write_message(struct queue_intake *intake)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct queue_message *message = NULL;
	struct buffer data = {0};
	struct buffer text = {0};

	envelope->id.born_us = SECOND_US;
	envelope->stage = stage;
	envelope->sender = STR("a@example.org");
	mail_envelope_add(envelope, STR("b@example.net"));
	mail_envelope_add(envelope, STR("c@example.net"));
	mail_envelope_add(envelope, STR("d@example.net"));
	expect(queue_message_new(intake, &message), "a number");
	envelope->id.number = queue_message_number(message);
	envelope->size = strlen(DATA);
	buffer_append_string(&data, DATA);
	expect(queue_control_write_envelope(&text, envelope), "an envelope");
	expect(queue_message_write(message, stage, &data, &text), "a message");
	buffer_clear(&data);
	buffer_clear(&text);
	mail_envelope_free(envelope);
	return message;
}

static uint64_t enqueue(struct queue_intake *intake)
{
	struct queue_message *message = write_message(intake);
	uint64_t number = queue_message_number(message);
	int result = -1;

	queue_message_commit_group(intake, &message, 1, &result);
	expect(result, "a commit");
	return number;
}

/* One is delivered, one has failed, one waits. */
static void preprocess(struct queue_intake *intake)
{
	struct queue_update update = {
		.number = waiting,
		.is_queued = true,
		.stage = stage,
		.bounce = STR("fail: 3 1970-01-01T00:00:04Z 5.1.1 nobody\n"),
		.control = STR("map: 1 remote <b@example.net>\nmap: 2 remote <c@example.net>\n"
			       "map: 3 remote <d@example.net>\nmapped: directory=1 count=3\n"
			       "said: 1 4.4.1 away\n"
			       "wait: 1 1970-01-01T00:00:02Z until=1970-01-01T01:00:00Z said=1\n"
			       "done: 2 1970-01-01T00:00:03Z 2.0.0 stored\n"
			       "fail: 3 1970-01-01T00:00:04Z 5.1.1 nobody\n"
			       "delayed: 1 1970-01-01T00:00:05Z\n"),
		.preprocess = true,
		.link_remote = true,
	};
	struct queue_update *updates[] = {&update};

	queue_update_commit_group(store, updates, 1);
	expect(update.result, "an update");
	expect(queue_message_remove_todo(intake, stage, waiting), "the end of S4");
}

static void add_triggers(void)
{
	struct queue_due_writer writer = {0};

	expect(queue_trigger_set_until(store, STR(HOLD), SECOND_US, STR("a hold"), STR("maint")),
	       "a hold");
	expect(queue_trigger_set(store, STR("maint"), SECOND_US, STR("a reason")), "a trigger");
	queue_due_begin(&writer, store);
	expect(queue_due_add(&writer, waiting, HOUR_US), "a due time");
	expect(queue_due_end(&writer), "a list of due times");
}

static void keep(size_t i, const char *path)
{
	struct written *written = &files[i];
	ssize_t length;
	int file = os_file_open(queue_store_directory(store), path, OS_FILE_READ);

	expect(file, path);
	snprintf(written->path, sizeof written->path, "%s", path);
	length = os_file_read(file, buffer_reserve(&written->text, 8192), 8192, 0);
	expect((int)length, path);
	buffer_commit(&written->text, (size_t)length);
	os_file_close(file);
}

static void keep_place(size_t i, enum queue_folder folder, const char *name, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(store, folder, name, number, path);
	keep(i, path);
}

static void remove_queue(void)
{
	queue_store_close(store);
	(void)scratch_remove(base);
}

static void make_queue(void)
{
	struct queue_options options = {
		.create = true, .split = 1, .unsafe = true, .sync = QUEUE_SYNC_FILES};
	struct queue_intake_options intake_options = {.spares = 1, .spare_size = 4096};
	struct queue_intake *intake = NULL;
	char path[SCRATCH_SIZE + 8];

	expect(scratch_make(base), "a directory");
	snprintf(path, sizeof path, "%s/queue", base);
	expect(queue_store_open(path, &options, &store, NULL), "a queue");
	expect(queue_store_make_folders(store), "damaged/");
	expect(queue_intake_open(store, &intake_options, &intake), "an intake");
	queued = enqueue(intake);
	waiting = enqueue(intake);
	preprocess(intake);
	queue_intake_close(intake);
	add_triggers();
	keep_place(0, QUEUE_TODO, mail_stage_name(stage), queued);
	keep_place(1, QUEUE_MESS, NULL, waiting);
	keep_place(2, QUEUE_INFO, NULL, waiting);
	keep_place(3, QUEUE_BOUNCE, NULL, waiting);
	keep(4, "trigger/" HOLD);
	keep(5, "trigger/maint");
	keep(6, "intd/due");
	(void)atexit(remove_queue);
}

/* --- changes --- */

static void write_text(struct written *written, struct str text)
{
	int file = os_file_open(queue_store_directory(store), written->path, OS_FILE_WRITE);

	expect(file, written->path);
	expect(os_file_write(file, text.data, text.length, 0), written->path);
	expect(os_file_truncate(file, text.length), written->path);
	os_file_close(file);
}

static size_t change(char *text, size_t length, struct input *input)
{
	unsigned way = input_byte(input) % 4;
	size_t at = input_u32(input) % length;
	unsigned with = input_byte(input);

	switch (way) {
	case 0:
		text[at] = (char)(text[at] ^ 1 << with % 8);
		return length;
	case 1:
		memset(text + at, 0, length - at < with ? length - at : with);
		return length;
	case 2:
		return at;
	default:
		text[at] = (char)with;
		return length;
	}
}

static void damage_files(struct input *input)
{
	struct buffer now[FILES] = {{0}};

	for (size_t i = 0; i < FILES; i++)
		buffer_append_str(&now[i], buffer_view(&files[i].text));
	for (unsigned i = 0; i < CHANGES_MAX && input->rest.length > 0; i++) {
		struct buffer *text = &now[input_byte(input) % FILES];

		if (text->length > 0)
			buffer_truncate(text, change(buffer_data(text), text->length, input));
	}
	for (size_t i = 0; i < FILES; i++) {
		bool is_changed = !str_equal(buffer_view(&now[i]), buffer_view(&files[i].text));

		if (is_changed || files[i].is_changed)
			write_text(&files[i], buffer_view(&now[i]));
		files[i].is_changed = is_changed;
		buffer_clear(&now[i]);
	}
}

/* --- readers --- */

static void check_envelope(const struct mail_envelope *envelope, uint64_t number)
{
	static const char *const addresses[] = {"b@example.net", "c@example.net", "d@example.net"};

	if (envelope->id.number != number || envelope->id.born_us != SECOND_US ||
	    envelope->stage != stage || envelope->size != strlen(DATA) ||
	    envelope->recipient_count != COUNT_OF(addresses))
		panic("a damaged envelope is taken for whole");
	check_equal(envelope->sender, STR("a@example.org"), "senders");
	for (size_t i = 0; i < COUNT_OF(addresses); i++)
		check_equal(envelope->recipients[i].address, str_from(addresses[i]), "recipients");
}

static void check_data(const enum mail_stage *place, const struct queue_control *control)
{
	struct buffer data = {0};
	uint64_t size = control->envelope->size;

	if (queue_update_read_data(store, place, control->envelope->id.number, size, &data) == 0 &&
	    queue_control_has_data(control, checksum_extend(0, buffer_data(&data), data.length)))
		check_equal(buffer_view(&data), STR(DATA), "data");
	buffer_clear(&data);
}

/* Each delivery is in a state that it was in, or is to be mapped again. */
static void check_deliveries(const struct queue_control *control)
{
	if (!control->is_mapped)
		panic("a message at S5 has no map");
	for (size_t i = 0; i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];
		bool is_open = delivery->outcome == QUEUE_PENDING ||
			       (delivery->outcome == QUEUE_WAIT &&
				(delivery->number == 1 || delivery->is_requeued));

		if (!is_open && !(delivery->outcome == QUEUE_DONE && delivery->number == 2) &&
		    !(delivery->outcome == QUEUE_FAIL && delivery->number == 3))
			panic("an outcome that nobody has written");
	}
}

static void read_message(const enum mail_stage *place, uint64_t number)
{
	struct queue_damage damage = {.store = store, .with_data = true};
	struct queue_control *control = NULL;
	struct buffer text = {0};
	int looked = queue_damage_look(&damage, place, number);

	if (queue_update_load(store, place, number, &control, NULL) == 0) {
		if (control->format == 2)
			check_envelope(control->envelope, number);
		if (place == NULL && control->format == 2)
			check_deliveries(control);
		if (control->format == 2)
			check_data(place, control);
		try_to(queue_update_is_still(store, place, control->envelope->id));
		queue_control_free(control);
	} else if (looked == 0 && damage.count == 0 && damage.format == 2) {
		panic("what cannot be read does not differ");
	}
	try_to(queue_update_read(store, place, number, &text));
	buffer_clear(&text);
}

static void salvage(void)
{
	struct queue_control *control = NULL;
	bool is_proven = false;
	char path[QUEUE_PATH_SIZE];
	int file;

	queue_store_path(store, QUEUE_TODO, mail_stage_name(stage), queued, path);
	file = os_file_open(queue_store_directory(store), path, OS_FILE_READ);
	expect(file, path);
	if (queue_salvage_read(file, stage, queued, &control, &is_proven) == 0 && is_proven)
		check_envelope(control->envelope, queued);
	queue_control_free(control);
	os_file_close(file);
}

static int read_trigger(void *context, struct str name)
{
	struct buffer until = {0};

	(void)context;
	try_to(queue_trigger_read_until(store, name, &until));
	buffer_clear(&until);
	return 0;
}

static void read_others(void)
{
	struct queue_due_reader reader = {0};
	struct buffer text = {0};
	int64_t due_us;

	expect(queue_trigger_each(store, read_trigger, NULL), "triggers");
	try_to(queue_update_read_bounce(store, waiting, &text));
	buffer_clear(&text);
	if (queue_due_open(&reader, store) == 0)
		(void)queue_due_find(&reader, waiting, &due_us);
	queue_due_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {str_slice((const char *)data, size)};

	if (store == NULL)
		make_queue();
	damage_files(&input);
	read_message(&stage, queued);
	read_message(NULL, waiting);
	salvage();
	read_others();
	return 0;
}
