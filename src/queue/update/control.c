// SPDX-License-Identifier: ISC
/* Making control files, appending to them, and checking whose they are. */
#include "os/file/file.h"
#include "queue/control/checksum.h"
#include "queue/internal.h"
#include "queue/update/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CONTROL_HEAD_SIZE = MAIL_ID_SIZE + 32 };

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

int update_append(const struct queue_store *store, int file, struct str records, bool *stands_out,
		  uint64_t *size_out)
{
	struct os_file_info info;
	size_t canceled = 0;
	int result = os_file_info(file, &info);

	*stands_out = false;
	if (result == 0)
		result = may_be_torn(store, file, info.size);
	if (result < 0)
		return result;
	if (result > 0) {
		canceled = strlen(QUEUE_CONTROL_CANCEL);
		result = os_file_append(file, QUEUE_CONTROL_CANCEL, canceled);
	}
	if (result == 0)
		result = os_file_append(file, records.data, records.length);
	if (result == 0 && size_out != NULL)
		*size_out = info.size + canceled + records.length;
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
		control->size = update->length;
	else if (!update->is_whole)
		control->size += update->length + strlen(QUEUE_CONTROL_CANCEL);
	if (update->preprocess) /* the text in todo/ comes first */
		control->size = control->head.length + update->length;
	if (update->result < 0 || update->may_be_lost || update->control.length == 0)
		return;
	control->has_mark = control->format > 1;
	control->synced = update->size - control->head.length;
}

/* Numbers are reused: -ESTALE when HEAD is of another message than the update is for. *ID_OUT is
 * whose it is. */
static int check_head(const struct queue_update *update, struct str head, struct mail_id *id_out)
{
	if (!queue_control_read_id(head, id_out))
		return -EBADMSG;
	return update->born_us == 0 || (id_out->number == update->number &&
					id_out->born_us == update->born_us)
		       ? 0
		       : -ESTALE;
}

/* Reads the envelope into TEXT. */
static int read_queued_envelope(struct queue_store *store, const struct queue_update *update,
				struct buffer *text, struct mail_id *id_out)
{
	int result = queue_update_read(store, &update->stage, update->number, text);

	return result == 0 ? check_head(update, buffer_view(text), id_out) : result;
}

/* Checks the control file FILE of a message at S5. *BEGIN_OUT is its beginning, in HEAD. */
static int read_head_of_control(const struct queue_update *update, int file,
				char head[CONTROL_HEAD_SIZE], struct str *begin_out,
				struct mail_id *id_out)
{
	ssize_t length = os_file_read(file, head, CONTROL_HEAD_SIZE, 0);

	if (length < 0)
		return (int)length;
	*begin_out = str_slice(head, (size_t)length);
	return check_head(update, *begin_out, id_out);
}

/* Whether the control file is a later message's: that is not to be destroyed. What says so may be
 * damaged, or have been put back from an earlier time. */
static int check_later(struct queue_store *store, const struct queue_update *update)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *control;
	int result = queue_update_read(store, NULL, update->number, &text);

	if (result < 0 || queue_control_parse(buffer_view(&text), &control, NULL) < 0)
		return result;
	if (control->envelope->id.number == update->number &&
	    control->envelope->id.born_us > update->born_us)
		result = -ESTALE;
	queue_control_free(control);
	return result;
}

/* Whose the control file is; one that is replaced may be damaged. */
static int check_control_file(struct queue_store *store, const struct queue_update *update)
{
	char path[QUEUE_PATH_SIZE];
	char head[CONTROL_HEAD_SIZE];
	struct mail_id id;
	struct str begin;
	int result;
	int file;

	queue_store_path(store, QUEUE_INFO, NULL, update->number, path);
	file = os_file_open(store->directory, path, OS_FILE_READ);
	if (file < 0)
		return file;
	result = read_head_of_control(update, file, head, &begin, &id);
	os_file_close(file);
	if (update->is_whole && (result == -EBADMSG || result == -ESTALE))
		return check_later(store, update);
	return result;
}

/* Before a failure is recorded: whether the message is the one that the update is for. */
int update_check_identity(struct queue_store *store, const struct queue_update *update)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct mail_id id;

	if (update->bounce.length == 0 || update->born_us == 0)
		return 0; /* checked when the control file is open */
	if (update->is_queued)
		return read_queued_envelope(store, update, &text, &id);
	return check_control_file(store, update);
}

/* Appends the records of UPDATE to OUT, as they are in a file of ID's with checksums. */
static void append_with_checksums(const struct queue_update *update, struct mail_id id,
				  struct buffer *out)
{
	size_t begin = out->length;

	buffer_append_str(out, update->control);
	queue_checksum_add_records(out, begin, id.born_us);
}

static int create_control_file(const struct queue_store *store, const char *path)
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
	file = create_control_file(store, path);
	if (file < 0)
		return file;
	result = os_file_write(file, text.data, text.length, 0);
	if (result == 0)
		return file;
	os_file_close(file);
	return result;
}

/* TEXT, of an earlier format, is what a message at S4 has of its control file. */
static void complete_unchecked(struct queue_update *update, struct buffer *text)
{
	if (buffer_data(text)[text->length - 1] != '\n') /* the last line was cut */
		buffer_append_string(text, QUEUE_CONTROL_CANCEL);
	buffer_append_str(text, update->control);
	update->length = update->control.length;
}

/* The same with checksums. What an interrupted step has left may have holes, which would be damage
 * in what is durable at S5. */
static int complete_checked(struct queue_update *update, struct mail_id id, struct buffer *text)
{
	size_t head = queue_control_envelope_length(buffer_view(text));
	size_t begin;

	if (head == 0 || text->length < head + QUEUE_CHECKSUM_HEAD_SIZE)
		return -EBADMSG;
	head += QUEUE_CHECKSUM_HEAD_SIZE;
	queue_control_keep_readable(text, head, id.born_us);
	begin = text->length;
	append_with_checksums(update, id, text);
	queue_control_write_synced(text, text->length - head, id.born_us);
	update->length = text->length - begin;
	return 0;
}

int update_make_control(struct queue_store *store, struct queue_update *update)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct mail_id id = {0};
	int result = read_queued_envelope(store, update, &text, &id);

	if (result == 0 && queue_checksum_is_used(buffer_view(&text)))
		result = complete_checked(update, id, &text);
	else if (result == 0)
		complete_unchecked(update, &text);
	if (result < 0)
		return result;
	update->size = text.length;
	return write_new(store, update->number, buffer_view(&text));
}

int update_make_whole(struct queue_store *store, struct queue_update *update)
{
	int result = check_control_file(store, update);

	update->size = update->length = update->control.length;
	return result == 0 ? write_new(store, update->number, update->control) : result;
}

void update_drop_whole(struct queue_store *store, const struct queue_update *update)
{
	int result = queue_store_drop(store, QUEUE_INTD, NULL, update->number);

	(void)result; /* otherwise the next one that is made replaces it */
}

/* The records go to the end of FILE. */
static int append_to(struct queue_store *store, struct queue_update *update, int file)
{
	struct buffer records CLEANUP(buffer_clear) = {0};
	char head[CONTROL_HEAD_SIZE];
	struct mail_id id = {0};
	struct str begin;
	int result = read_head_of_control(update, file, head, &begin, &id);

	if (result < 0)
		return result;
	if (!queue_checksum_is_used(begin)) {
		buffer_append_str(&records, update->control);
	} else {
		if (!update->may_be_lost)
			queue_control_write_synced(&records, update->synced, id.born_us);
		append_with_checksums(update, id, &records);
	}
	update->length = records.length;
	return update_append(store, file, buffer_view(&records), &update->is_in_doubt,
			     &update->size);
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
	result = append_to(store, update, file);
	if (result == 0)
		return file;
	os_file_close(file);
	return result;
}
