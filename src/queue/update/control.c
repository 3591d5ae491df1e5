// SPDX-License-Identifier: ISC
/* Making control files, appending to them, and checking whose they are. */
#include "os/file/file.h"
#include "queue/internal.h"
#include "queue/update/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_SIZE = MAIL_ID_SIZE + 32 };

/* Whether RECORDS must not directly follow the last byte of FILE, which has SIZE: 1, 0 or
 * -errno. A crash or a full disk may have cut its last line. And the end of the file may come
 * from an append whose sync failed, visible now but gone after a power failure: then the partial
 * line that is left must not swallow our first record. */
static int may_be_torn(const struct queue_store *store, int file, uint64_t size)
{
	char last;
	ssize_t length;

	if (size == 0)
		return 0;
	length = os_file_read(file, &last, 1, size - 1);
	if (length < 0)
		return (int)length;
	return store->has_lost || length == 0 || last != '\n';
}

int update_append(const struct queue_store *store, int file, struct str records, bool *stands_out)
{
	struct os_file_info info;
	int result = os_file_info(file, &info);

	*stands_out = false;
	if (result == 0)
		result = may_be_torn(store, file, info.size);
	if (result < 0)
		return result;
	if (result > 0)
		result = os_file_append(file, QUEUE_CONTROL_CANCEL, strlen(QUEUE_CONTROL_CANCEL));
	if (result == 0)
		result = os_file_append(file, records.data, records.length);
	/* remove what was written before the disk was full; else it is a line that will be
	 * ended, and skipped */
	*stands_out = result == 0 || os_file_truncate(file, info.size) < 0;
	return result;
}

void queue_update_account(struct queue_control *control, const struct queue_update *update)
{
	if (update->is_whole)
		control->must_be_whole = update->result < 0;
	else if (update->is_in_doubt)
		control->must_be_whole = true;
	if (update->is_whole && update->result == 0)
		control->size = update->control.length;
	else if (!update->is_whole)
		control->size += update->control.length + strlen(QUEUE_CONTROL_CANCEL);
	if (update->preprocess) /* the text in todo/ comes first */
		control->size = control->head.length + update->control.length;
}

/* The beginning of a control file, if it belongs to the update's message. */
static struct str expected_head(const struct queue_update *update, char head[HEAD_SIZE])
{
	char id[MAIL_ID_SIZE];

	mail_id_format((struct mail_id){update->number, update->born_us}, id);
	snprintf(head, HEAD_SIZE, "stagepost 1\nid: %s\n", id);
	return str_from(head);
}

/* Reads the envelope into TEXT. Numbers are reused: -ESTALE when it is another message's. */
static int read_envelope(struct queue_store *store, const struct queue_update *update,
			 struct buffer *text)
{
	char head[HEAD_SIZE];
	int result = queue_update_read(store, &update->stage, update->number, text);

	if (result == 0 && update->born_us != 0 &&
	    !str_starts_with(buffer_view(text), expected_head(update, head)))
		result = -ESTALE;
	return result;
}

/* The same check for a message at S5, whose control file is FILE. */
static int check_head(const struct queue_update *update, int file)
{
	char head[HEAD_SIZE];
	char found[HEAD_SIZE];
	struct str expected;
	ssize_t length;

	if (update->born_us == 0)
		return 0;
	expected = expected_head(update, head);
	length = os_file_read(file, found, expected.length, 0);
	if (length < 0)
		return (int)length;
	return str_equal(str_slice(found, (size_t)length), expected) ? 0 : -ESTALE;
}

static int check_file(struct queue_store *store, const struct queue_update *update)
{
	char path[QUEUE_PATH_SIZE];
	int result;
	int file;

	queue_store_path(store, QUEUE_INFO, NULL, update->number, path);
	file = os_file_open(store->directory, path, OS_FILE_READ);
	if (file < 0)
		return file;
	result = check_head(update, file);
	os_file_close(file);
	return result;
}

/* Before a failure is recorded: whether the message is the one that the update is for. */
int update_check_identity(struct queue_store *store, const struct queue_update *update)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (update->bounce.length == 0 || update->born_us == 0)
		return 0; /* checked when the control file is open */
	if (update->is_queued)
		return read_envelope(store, update, &text);
	return check_file(store, update);
}

static int create(const struct queue_store *store, const char *path)
{
	int directory = store->directory;
	int file = os_file_open(directory, path, OS_FILE_WRITE | OS_FILE_CREATE);
	int result;

	if (file != -EEXIST)
		return file;
	/* left by an attempt that failed */
	result = os_file_unlink(directory, path);
	return result == 0 ? os_file_open(directory, path, OS_FILE_WRITE | OS_FILE_CREATE) : result;
}

/* Writes TEXT as a file in intd/. */
static int write_new(const struct queue_store *store, uint64_t number, struct str text)
{
	char path[QUEUE_PATH_SIZE];
	int result;
	int file;

	queue_store_path(store, QUEUE_INTD, NULL, number, path);
	file = create(store, path);
	if (file < 0)
		return file;
	result = os_file_write(file, text.data, text.length, 0);
	if (result == 0)
		return file;
	os_file_close(file);
	return result;
}

int update_make_control(struct queue_store *store, const struct queue_update *update)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	int result = read_envelope(store, update, &text);

	if (result < 0)
		return result;
	if (buffer_data(&text)[text.length - 1] != '\n') /* the last line was cut */
		buffer_append_string(&text, QUEUE_CONTROL_CANCEL);
	buffer_append_str(&text, update->control);
	return write_new(store, update->number, buffer_view(&text));
}

int update_make_whole(struct queue_store *store, const struct queue_update *update)
{
	/* replacing another message's file would destroy that message */
	int result = check_file(store, update);

	return result == 0 ? write_new(store, update->number, update->control) : result;
}

void update_drop_whole(struct queue_store *store, const struct queue_update *update)
{
	int result = queue_store_drop(store, QUEUE_INTD, NULL, update->number);

	(void)result; /* otherwise the next one that is made replaces it */
}

int update_append_control(struct queue_store *store, struct queue_update *update)
{
	char path[QUEUE_PATH_SIZE];
	int result;
	int file;

	queue_store_path(store, QUEUE_INFO, NULL, update->number, path);
	file = os_file_open(store->directory, path, OS_FILE_WRITE | OS_FILE_APPEND);
	if (file < 0)
		return file;
	result = check_head(update, file);
	if (result == 0)
		result = update_append(store, file, update->control, &update->is_in_doubt);
	if (result == 0)
		return file;
	os_file_close(file);
	return result;
}
