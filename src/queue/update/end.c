// SPDX-License-Identifier: ISC
/* The data of queued messages, and the steps of their end. */
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

int queue_update_mark_ended(struct queue_store *store, struct mail_id id)
{
	static const enum queue_folder folders[] = {QUEUE_MESS, QUEUE_INFO};
	int result = 0;

	for (size_t i = 0; result == 0 && i < COUNT_OF(folders); i++) {
		char path[QUEUE_PATH_SIZE];

		queue_store_path(store, folders[i], NULL, id.number, path);
		result = os_file_set_modified(store->directory, path, id.born_us);
		/* only its owner may do that: root may have queued it while no daemon ran */
		if (result == -ENOENT || result == -EPERM)
			result = 0;
	}
	return result;
}

/* A filesystem may keep only the seconds. */
bool queue_update_is_marked(int64_t modified_us, int64_t born_us)
{
	return modified_us == born_us || modified_us == born_us - born_us % SECOND_US;
}

int queue_update_finish(struct queue_store *store, struct mail_id id, const char *const *services,
			size_t service_count)
{
	int result = queue_update_mark_ended(store, id);

	for (size_t i = 0; result == 0 && i < service_count; i++)
		result = queue_update_leave(store, id.number, services[i]);
	if (result == 0)
		result = queue_update_leave(store, id.number, NULL);
	if (result == 0)
		result = queue_update_bounced(store, id.number);
	if (result >= 0) /* what was to replace the control file when something failed */
		result = queue_store_drop(store, QUEUE_INTD, NULL, id.number);
	if (result >= 0)
		result = queue_store_drop(store, QUEUE_INFO, NULL, id.number);
	return result < 0 ? result : 0;
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

int queue_update_checksum_data(int file, uint64_t size, uint32_t *checksum_out)
{
	return queue_trailer_checksum(file, size, checksum_out);
}

static int read_data_of_message(int file, uint64_t size, struct buffer *data)
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
	result = read_data_of_message(file, size, data);
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
