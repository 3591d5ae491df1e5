// SPDX-License-Identifier: ISC
/* The files of a message while a queue is repaired. */
#include "os/file/file.h"
#include "queue/repair/internal.h"
#include "queue/update.h"
#include <errno.h>

int repair_barrier(struct repair *repair)
{
	return os_file_sync_filesystem(repair->store->directory);
}

void repair_control_path(const struct repair *repair, unsigned place, uint64_t number,
			 char path[QUEUE_PATH_SIZE])
{
	if (place == REPAIR_INFO)
		queue_store_path(repair->store, QUEUE_INFO, NULL, number, path);
	else
		queue_store_path(repair->store, QUEUE_TODO, mail_stage_name(place), number, path);
}

void repair_data_path(const struct repair *repair, unsigned place, uint64_t number,
		      char path[QUEUE_PATH_SIZE])
{
	if (place == REPAIR_INFO)
		queue_store_path(repair->store, QUEUE_MESS, NULL, number, path);
	else
		repair_control_path(repair, place, number, path);
}

int repair_find(const struct repair *repair, uint64_t number, unsigned *place_out)
{
	for (unsigned place = 0; place <= REPAIR_INFO; place++) {
		char path[QUEUE_PATH_SIZE];
		struct os_file_info info;
		int result;

		repair_control_path(repair, place, number, path);
		result = os_file_info_at(repair->store->directory, path, &info);
		if (result == 0)
			*place_out = place;
		if (result != -ENOENT)
			return result;
	}
	return -ENOENT;
}

int repair_load(const struct repair *repair, unsigned place, uint64_t number, struct buffer *text,
		struct queue_control **control_out)
{
	enum mail_stage stage = place;
	const enum mail_stage *queued = place == REPAIR_INFO ? NULL : &stage;
	struct queue_control *control;
	int result = queue_update_read(repair->store, queued, number, text);

	if (result == 0)
		result = queue_update_parse(repair->store, queued, number, text, &control, NULL);
	if (result == -ENODATA || result == -EPROTO || result == -EFBIG || result == -EISDIR)
		return -EBADMSG;
	if (result < 0)
		return result;
	if (control->envelope->id.number != number ||
	    (queued != NULL && control->envelope->stage != stage)) {
		queue_control_free(control);
		return -EBADMSG;
	}
	*control_out = control;
	return 0;
}

int repair_tell_kept(const struct repair *repair, uint64_t old, uint64_t number)
{
	const struct queue_repair *options = repair->options;

	return options->kept != NULL && !options->dry_run
		       ? options->kept(options->context, old, number)
		       : 0;
}
