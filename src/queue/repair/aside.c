// SPDX-License-Identifier: ISC
/* What cannot be repaired moves to damaged/, for people to look at. */
#include "os/file/file.h"
#include "queue/repair/internal.h"
#include <errno.h>

int repair_make_directory(struct repair *repair, const char *name)
{
	int result = os_file_make_directory(repair->store->directory, name);

	if (result == -EEXIST)
		return 0;
	return result == 0 ? os_file_sync_directory(repair->store->directory, ".") : result;
}

int repair_set_aside(struct repair *repair, const char *path, const char *why)
{
	int directory = repair->store->directory;
	char to[QUEUE_ASIDE_PATH_SIZE];
	struct os_file_info info;
	int result = os_file_info_at(directory, path, &info);

	if (result < 0)
		return result == -ENOENT ? 0 : result;
	if (!repair->options->dry_run) {
		result = repair_make_directory(repair, QUEUE_DAMAGED);
		if (result == 0)
			result = queue_store_aside_name(repair->store, QUEUE_DAMAGED, path, to);
		if (result == 0)
			result = os_file_rename(directory, path, to);
	}
	if (result == 0)
		repair->options->set_aside(repair->options->context, path, why);
	return result;
}

int repair_set_place_aside(struct repair *repair, enum queue_folder folder, const char *name,
			   uint64_t number, const char *why)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(repair->store, folder, name, number, path);
	return repair_set_aside(repair, path, why);
}

int repair_drop_sides(const struct repair *repair, uint64_t number)
{
	int result = queue_store_drop(repair->store, QUEUE_REMOTE, NULL, number);

	for (size_t i = 0; result >= 0 && i < repair->service_count; i++)
		result = queue_store_drop(repair->store, QUEUE_LOCAL, repair->services[i], number);
	return result < 0 ? result : 0;
}

int repair_set_names_aside(struct repair *repair, uint64_t number, const char *why)
{
	int result = 0;

	for (unsigned place = 0; result == 0 && place <= REPAIR_INFO; place++) {
		char path[QUEUE_PATH_SIZE];

		repair_control_path(repair, place, number, path);
		result = repair_set_aside(repair, path, why);
	}
	if (result == 0)
		result = repair_set_place_aside(repair, QUEUE_BOUNCE, NULL, number, why);
	if (result == 0)
		result = repair_set_place_aside(repair, QUEUE_INTD, NULL, number, why);
	if (result == 0 && !repair->options->dry_run)
		result = repair_drop_sides(repair, number);
	return result;
}
