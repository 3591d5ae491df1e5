// SPDX-License-Identifier: ISC
/* Reading queued messages, and the steps of their end. */
#include "os/file/file.h"
#include "queue/control/trailer.h"
#include "queue/internal.h"
#include "queue/update.h"
#include <errno.h>

int queue_update_leave(struct queue_store *store, uint64_t number, const char *service)
{
	int result = queue_store_drop(store, service != NULL ? QUEUE_LOCAL : QUEUE_REMOTE, service,
				      number);

	return result < 0 ? result : 0;
}

/* Durable before anything else is removed: a later message that gets this number must not find
 * these records. */
int queue_update_bounced(struct queue_store *store, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	int result = queue_store_drop(store, QUEUE_BOUNCE, NULL, number);

	if (result <= 0)
		return result;
	queue_store_directory_path(store, QUEUE_BOUNCE, NULL, number, path);
	return os_file_sync_directory(store->directory, path);
}

int queue_update_finish(struct queue_store *store, uint64_t number, const char *const *services,
			size_t service_count)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < service_count; i++)
		result = queue_update_leave(store, number, services[i]);
	if (result == 0)
		result = queue_update_leave(store, number, NULL);
	if (result == 0)
		result = queue_update_bounced(store, number);
	if (result >= 0) /* what was to replace the control file when something failed */
		result = queue_store_drop(store, QUEUE_INTD, NULL, number);
	if (result >= 0)
		result = queue_store_drop(store, QUEUE_INFO, NULL, number);
	return result < 0 ? result : 0;
}

static int read_whole(const struct queue_store *store, const char *path, struct buffer *text)
{
	int file = os_file_open(store->directory, path, OS_FILE_READ);
	struct os_file_info info;
	ssize_t length;
	int result;

	if (file < 0)
		return file;
	result = os_file_info(file, &info);
	if (result == 0 && info.size > QUEUE_CONTROL_MAX)
		result = -EFBIG;
	if (result == 0) {
		length = os_file_read(file, buffer_reserve(text, info.size), info.size, 0);
		if (length >= 0)
			buffer_commit(text, (size_t)length);
		else
			result = (int)length;
	}
	os_file_close(file);
	return result;
}

static int read_envelope(const struct queue_store *store, enum mail_stage stage, uint64_t number,
			 struct buffer *text, uint64_t *offset_out)
{
	char path[QUEUE_PATH_SIZE];
	int result;
	int file;

	queue_store_path(store, QUEUE_TODO, mail_stage_name(stage), number, path);
	file = os_file_open(store->directory, path, OS_FILE_READ);
	if (file < 0)
		return file;
	result = queue_trailer_read(file, text, offset_out);
	os_file_close(file);
	return result;
}

/* A delivery mapped to "none" was decided together with the map, or is to be mapped again: if that
 * is lost, the file is not complete, and nobody would ever map it. */
static bool is_lacking(const struct queue_delivery *delivery)
{
	return delivery->route == QUEUE_ROUTE_NONE &&
	       (delivery->outcome == QUEUE_PENDING ||
		(delivery->outcome == QUEUE_WAIT && !delivery->is_requeued));
}

static bool is_mapped(struct str text)
{
	struct queue_control *control;
	bool is_mapped;

	if (queue_control_parse(text, &control, NULL) < 0)
		return false;
	is_mapped = control->is_mapped;
	for (size_t i = 0; is_mapped && i < control->delivery_count; i++)
		is_mapped = !is_lacking(&control->deliveries[i]);
	queue_control_free(control);
	return is_mapped;
}

/* A message whose step from S4 to S5 was interrupted may have its control file: then TEXT, which
 * has the envelope, is replaced by the control file and 1 is returned. If a power failure left
 * only part of the file, it does not count. */
static int read_progress(const struct queue_store *store, uint64_t number, struct buffer *text)
{
	struct buffer control CLEANUP(buffer_clear) = {0};
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_store_path(store, QUEUE_INFO, NULL, number, path);
	result = read_whole(store, path, &control);
	if (result < 0)
		return result == -ENOENT || result == -EFBIG ? 0 : result;
	if (!str_starts_with(buffer_view(&control), buffer_view(text)) ||
	    !is_mapped(buffer_view(&control)))
		return 0;
	buffer_reset(text);
	buffer_append_str(text, buffer_view(&control));
	return 1;
}

/* Reads what is known of a message at S4. */
static int read_queued(const struct queue_store *store, enum mail_stage stage, uint64_t number,
		       struct buffer *text, uint64_t *offset_out)
{
	struct buffer own CLEANUP(buffer_clear) = {0};
	int result = read_envelope(store, stage, number, &own, offset_out);

	if (result == 0)
		result = read_progress(store, number, &own);
	if (result < 0)
		return result;
	buffer_append_str(text, buffer_view(&own));
	return 0;
}

int queue_update_is_interrupted(const struct queue_store *store, enum mail_stage stage,
				uint64_t number)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	uint64_t offset;
	int result = read_envelope(store, stage, number, &text, &offset);

	return result == 0 ? read_progress(store, number, &text) : result;
}

int queue_update_read(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
		      struct buffer *text)
{
	char path[QUEUE_PATH_SIZE];
	uint64_t offset;

	if (stage != NULL)
		return read_queued(store, *stage, number, text, &offset);
	queue_store_path(store, QUEUE_INFO, NULL, number, path);
	return read_whole(store, path, text);
}

static int check_data(const struct queue_store *store, uint64_t number)
{
	int result = queue_store_has(store, QUEUE_MESS, NULL, number);

	return result == 0 ? -ENOENT : result < 0 ? result : 0;
}

int queue_update_load(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
		      struct queue_control **control_out, unsigned *line_out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *control = NULL;
	uint64_t size = 0;
	int result = stage != NULL ? read_queued(store, *stage, number, &text, &size)
				   : queue_update_read(store, NULL, number, &text);

	if (line_out != NULL)
		*line_out = 0;
	if (result == 0 && stage == NULL)
		result = check_data(store, number);
	if (result == 0)
		result = queue_control_parse(buffer_view(&text), &control, line_out);
	if (result < 0)
		return result;
	if (control->envelope->id.number != number ||
	    (stage != NULL &&
	     (control->envelope->stage != *stage || control->envelope->size != size))) {
		queue_control_free(control);
		return -EBADMSG;
	}
	*control_out = control;
	return 0;
}

int queue_update_read_bounce(struct queue_store *store, uint64_t number, struct buffer *text)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(store, QUEUE_BOUNCE, NULL, number, path);
	return read_whole(store, path, text);
}

int queue_update_open_copy(struct queue_store *store, const enum mail_stage *stage, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	if (stage != NULL)
		queue_store_path(store, QUEUE_TODO, mail_stage_name(*stage), number, path);
	else
		queue_store_path(store, QUEUE_MESS, NULL, number, path);
	return os_file_open(store->directory, path, OS_FILE_READ);
}

int queue_update_open_data(struct queue_store *store, const enum mail_stage *stage, uint64_t number)
{
	int file = queue_update_open_copy(store, stage, number);
	struct os_file_info info;
	int result;

	if (file < 0)
		return file;
	result = os_file_info(file, &info);
	if (result == 0 && info.inode != number)
		result = -EUCLEAN;
	if (result == 0 && info.size == 0)
		result = -ENODATA;
	if (result == 0)
		return file;
	os_file_close(file);
	return result;
}

static int read_file(int file, uint64_t size, struct buffer *data)
{
	enum { PIECE = 64 * 1024 };
	uint64_t have = 0;

	while (have < size) {
		size_t wanted = size - have < PIECE ? (size_t)(size - have) : PIECE;
		ssize_t count = os_file_read(file, buffer_reserve(data, wanted), wanted, have);

		if (count < 0)
			return (int)count;
		buffer_commit(data, (size_t)count);
		have += (uint64_t)count;
		if ((size_t)count < wanted)
			break;
	}
	return 0;
}

int queue_update_read_beginning(struct queue_store *store, const enum mail_stage *stage,
				uint64_t number, uint64_t size, struct buffer *data)
{
	int file = queue_update_open_data(store, stage, number);
	int result;

	if (file < 0)
		return file;
	result = read_file(file, size, data);
	os_file_close(file);
	return result;
}

int queue_update_read_data(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
			   uint64_t size, struct buffer *data)
{
	size_t before = data->length;
	int result = queue_update_read_beginning(store, stage, number, size, data);

	return result == 0 && data->length - before < size ? -EBADMSG : result;
}

int queue_update_is_still(struct queue_store *store, const enum mail_stage *stage,
			  struct mail_id id)
{
	struct queue_control *control;
	int result = queue_update_load(store, stage, id.number, &control, NULL);

	if (result < 0)
		return result == -ENOENT || result == -ENODATA || result == -EBADMSG ||
				       result == -EPROTO
			       ? 0
			       : result;
	result = control->envelope->id.born_us == id.born_us;
	queue_control_free(control);
	return result;
}

int queue_update_set_due(struct queue_store *store, uint64_t number, int64_t due_us)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(store, QUEUE_INFO, NULL, number, path);
	return os_file_set_modified(store->directory, path, due_us);
}
