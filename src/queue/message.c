// SPDX-License-Identifier: ISC
#include "queue/message.h"
#include "base/checksum.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/control/checksum.h"
#include "queue/control/trailer.h"
#include "queue/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NEW_TRIES = 64 };

/* Makes a new file in pid/ under a name that no other process uses. */
static int make_new_data_file(struct queue_intake *intake, struct queue_spare *spare_out)
{
	char path[QUEUE_PATH_SIZE];
	int file = -EEXIST;

	for (unsigned i = 0; file == -EEXIST && i < NEW_TRIES; i++) {
		*spare_out = (struct queue_spare){.serial = intake->next_serial++};
		queue_spare_path(intake, spare_out, path);
		file = os_file_open(intake->store->directory, path, OS_FILE_WRITE | OS_FILE_CREATE);
	}
	spare_out->file = file;
	return file < 0 ? file : 0;
}

/* Whether a power failure brought back a name of the message that had NUMBER before: 1, 0 or
 * -errno. */
static int has_stale_names(const struct queue_intake *intake, uint64_t number)
{
	return intake->is_clean ? 0 : queue_store_has_any(intake->store, number);
}

/* Makes a new file under its own number. If the number is not free the file stays in pid/, so
 * that the next one gets another number, until the cleaner has finished. */
static int take_new(struct queue_intake *intake, struct queue_spare *spare_out)
{
	for (unsigned i = 0; i < NEW_TRIES; i++) {
		struct os_file_info info = {0};
		int result = make_new_data_file(intake, spare_out);

		if (result < 0)
			return result;
		result = os_file_info(spare_out->file, &info);
		spare_out->number = info.inode;
		spare_out->size = info.size;
		if (result == 0)
			result = has_stale_names(intake, info.inode);
		if (result == 0)
			return 0;
		os_file_close(spare_out->file);
		if (result < 0)
			return result;
	}
	return -EEXIST;
}

static struct queue_message *add_message(struct queue_intake *intake,
					 const struct queue_spare *spare)
{
	struct queue_message *message = memory_alloc_zero(1, sizeof *message);

	message->intake = intake;
	message->data = *spare;
	pthread_mutex_lock(&intake->mutex);
	message->next = intake->messages;
	message->link = &intake->messages;
	if (message->next != NULL)
		message->next->link = &message->next;
	intake->messages = message;
	pthread_mutex_unlock(&intake->mutex);
	return message;
}

int queue_message_new(struct queue_intake *intake, struct queue_message **message_out)
{
	struct queue_spare spare;
	int result = queue_spare_take(intake, &spare) ? 0 : take_new(intake, &spare);

	if (result == 0)
		*message_out = add_message(intake, &spare);
	return result;
}

uint64_t queue_message_number(const struct queue_message *message)
{
	return message->data.number;
}

bool queue_message_is_shared(const struct queue_message *message)
{
	return message->is_shared;
}

int queue_message_file(const struct queue_message *message)
{
	if (!message->is_shared)
		panic("a file is handed out that may be used again");
	return message->data.file;
}

int queue_message_share(struct queue_message *message)
{
	int result = 0;

	if (!message->is_shared)
		result = os_file_truncate(message->data.file, 0);
	message->is_shared = true;
	message->has_failed |= result < 0;
	return result;
}

int queue_message_lend(struct queue_message *message, int *file_out)
{
	int result = queue_message_share(message);

	if (result < 0)
		return result;
	message->is_lent = true;
	*file_out = message->data.file;
	message->data.file = -1;
	return 0;
}

/* Whether the id and size records of the envelope match the file. */
static int check_envelope_of_message(const struct queue_message *message, struct str text,
				     uint64_t *size_out)
{
	struct mail_id id = {0};
	bool has_size = false;
	struct str line;

	if (text.length < 6 || text.length > QUEUE_CONTROL_MAX ||
	    !str_equal(str_skip(text, text.length - 6), STR("\nend:\n")))
		return -EINVAL;
	while (str_split(&text, '\n', &line) && !(has_size && id.number > 0)) {
		if (str_starts_with(line, STR("id: ")) && !mail_id_parse(str_skip(line, 4), &id))
			return -EINVAL;
		if (str_starts_with(line, STR("size: ")))
			has_size = str_to_u64(str_skip(line, 6), size_out);
	}
	return has_size && id.number == message->data.number ? 0 : -EINVAL;
}

/* A reused file may have been longer. It is truncated after it was written rather than before:
 * its blocks stay where they are and its sync has less to do, which doubles the messages a
 * second. It has no name in todo/ before it is durable. */
static int overwrite_spare(struct queue_spare *spare, struct str bytes)
{
	uint64_t size = spare->size;
	int result;

	spare->size = bytes.length;
	result = os_file_write(spare->file, bytes.data, bytes.length, 0);
	return result == 0 && size > bytes.length ? os_file_truncate(spare->file, bytes.length)
						  : result;
}

static void add_checksum_to_envelope(struct buffer *text, uint32_t of_data)
{
	if (queue_checksum_is_used(buffer_view(text)))
		queue_checksum_add_head(text, buffer_view(text), of_data);
}

static void add_records_of_package(const struct queue_message *message, struct buffer *text)
{
	if (message->handed != NULL)
		buffer_append_str(text, buffer_view(&message->handed->records));
}

static int write_data_and_envelope(struct queue_message *message, struct buffer *data,
				   struct buffer *text)
{
	uint64_t size = 0;
	int result = check_envelope_of_message(message, buffer_view(text), &size);

	if (result < 0)
		return result;
	if (size != data->length || size > QUEUE_BY_VALUE_MAX)
		return -EINVAL;
	add_checksum_to_envelope(text, checksum_extend(0, buffer_data(data), data->length));
	add_records_of_package(message, text);
	queue_trailer_append(data, size, buffer_view(text));
	return overwrite_spare(&message->data, buffer_view(data));
}

static int write_envelope_to_trailer(const struct queue_message *message, struct buffer *text)
{
	struct os_file_info info;
	uint32_t checksum = 0;
	uint64_t size = 0;
	uint64_t end;
	int result = check_envelope_of_message(message, buffer_view(text), &size);

	if (result == 0)
		result = os_file_info(message->data.file, &info);
	if (result < 0)
		return result;
	if (info.size < size)
		return -EINVAL;
	result = queue_trailer_checksum(message->data.file, size, &checksum);
	if (result < 0)
		return result;
	add_checksum_to_envelope(text, checksum);
	add_records_of_package(message, text);
	result = queue_trailer_write(message->data.file, size, buffer_view(text), &end);
	/* the writer of the data may have written more than it says */
	return result == 0 && info.size > end ? os_file_truncate(message->data.file, end) : result;
}

static int end_writing(struct queue_message *message, enum mail_stage stage, int result)
{
	message->stage = stage;
	message->has_envelope = result == 0;
	message->has_failed = result < 0;
	return result;
}

int queue_message_write(struct queue_message *message, enum mail_stage stage, struct buffer *data,
			struct buffer *text)
{
	if (message->has_envelope || message->has_failed || message->is_shared)
		return -EINVAL;
	return end_writing(message, stage, write_data_and_envelope(message, data, text));
}

static int take_lent_file_back(struct queue_message *message)
{
	return message->is_lent ? queue_message_take_back(message) : 0;
}

int queue_message_check_start(struct queue_message *message, struct str start)
{
	char data[64];
	ssize_t length;
	int result;

	if (start.length > sizeof data || message->has_envelope || message->has_failed)
		return -EINVAL;
	result = take_lent_file_back(message);
	if (result == 0) {
		length = os_file_read(message->data.file, data, start.length, 0);
		result = length < 0 ? (int)length : 0;
		if (result == 0 && !str_equal(str_slice(data, (size_t)length), start))
			result = -EPERM;
	}
	message->has_failed = result < 0;
	return result;
}

int queue_message_envelope(struct queue_message *message, enum mail_stage stage,
			   struct buffer *text)
{
	int result;

	if (message->has_envelope || message->has_failed || !message->is_shared)
		return -EINVAL;
	result = take_lent_file_back(message);
	return end_writing(message, stage,
			   result == 0 ? write_envelope_to_trailer(message, text) : result);
}

static void forget_queue_message(struct queue_message *message)
{
	pthread_mutex_lock(&message->intake->mutex);
	*message->link = message->next;
	if (message->next != NULL)
		message->next->link = message->link;
	pthread_mutex_unlock(&message->intake->mutex);
	if (message->handed != NULL)
		buffer_clear(&message->handed->records);
	free(message->handed);
	free(message);
}

void queue_message_release(struct queue_message *message)
{
	os_file_close(message->data.file);
	forget_queue_message(message);
}

void queue_message_discard(struct queue_message *message)
{
	queue_spare_remove(message->intake, message->data);
	forget_queue_message(message);
}

/* A file that never had a name in todo/ may be reused at once, unless another process may have
 * it open. */
void queue_message_abandon(struct queue_message *message)
{
	if (message->has_failed || message->is_shared || message->intake->options.spares == 0) {
		queue_message_discard(message);
		return;
	}
	queue_spare_give(message->intake, message->data);
	forget_queue_message(message);
}
