// SPDX-License-Identifier: ISC
#include "manager/wait/scan/message_file.h"
#include "log/event.h"
#include "os/file/file.h"
#include <errno.h>

static bool look_at_message_file(struct queue_store *store, const struct queue_walk *walk,
				 enum queue_folder folder, const char *name, uint64_t number,
				 struct os_file_info *info)
{
	char path[QUEUE_PATH_SIZE];
	int error;

	queue_store_path(store, folder, name, number, path);
	error = walk != NULL ? queue_walk_info(walk, info)
			     : os_file_info_at(queue_store_directory(store), path, info);
	if (error < 0 && error != -ENOENT) {
		log_event(EVENT_QUEUE_ERROR, log_string(path, path), log_error(error));
		*info = (struct os_file_info){.inode = number};
		return true;
	}
	return error == 0;
}

bool message_file_is_at(struct queue_store *store, enum mail_stage stage, uint64_t number)
{
	struct os_file_info info;

	return look_at_message_file(store, NULL, QUEUE_TODO, mail_stage_name(stage), number, &info);
}

bool message_file_is_in_todo(struct queue_store *store, uint64_t number)
{
	for (enum mail_stage stage = 0; stage < MAIL_STAGE_COUNT; stage++)
		if (message_file_is_at(store, stage, number))
			return true;
	return false;
}

bool message_file_due(struct queue_store *store, const struct queue_walk *walk, uint64_t number,
		      int64_t *due_us_out, int64_t *noted_us_out)
{
	struct os_file_info info;

	if (!look_at_message_file(store, walk, QUEUE_INFO, NULL, number, &info))
		return false;
	*due_us_out = info.modified_us;
	*noted_us_out = info.changed_us;
	return true;
}
