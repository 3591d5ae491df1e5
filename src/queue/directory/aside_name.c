// SPDX-License-Identifier: ISC
/* Free names in damaged/ and litter/, for files that leave their places. */
#include "os/file/file.h"
#include "queue/handed.h"
#include "queue/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ASIDE_TRIES = 10000 };

int queue_store_find_aside(const struct queue_store *store, const char *aside, const char *path,
			   uint64_t inode, char out[QUEUE_ASIDE_PATH_SIZE])
{
	const size_t room = QUEUE_ASIDE_PATH_SIZE - 16;
	size_t length = (size_t)snprintf(out, room, "%s/%s", aside, path);
	struct os_file_info info;
	int result = 0;

	if (length >= room)
		return -ENAMETOOLONG;
	for (char *c = out + strlen(aside) + 1; *c != '\0'; c++)
		if (*c == '/')
			*c = '_';
	for (unsigned i = 2; i < ASIDE_TRIES; i++) {
		result = os_file_info_at(store->directory, out, &info);
		if (result != 0)
			break;
		if (info.inode == inode)
			return 1;
		snprintf(out + length, 16, ".%u", i);
	}
	return result == -ENOENT ? 0 : result < 0 ? result : -EEXIST;
}

int queue_store_aside_name(const struct queue_store *store, const char *aside, const char *path,
			   char out[QUEUE_ASIDE_PATH_SIZE])
{
	return queue_store_find_aside(store, aside, path, 0, out);
}

int queue_store_make_folders(const struct queue_store *store)
{
	static const char *const names[] = {QUEUE_DAMAGED, QUEUE_LITTER, QUEUE_HANDED_FOLDER,
					    QUEUE_PEERS_FOLDER};
	bool is_new = false;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		int result = os_file_make_directory(store->directory, names[i]);

		if (result < 0 && result != -EEXIST)
			return result;
		is_new |= result == 0;
	}
	return is_new ? os_file_sync_directory(store->directory, ".") : 0;
}
