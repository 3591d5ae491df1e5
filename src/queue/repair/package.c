// SPDX-License-Identifier: ISC
/* The names of packages in handed/ (queue/handed.h) of a copy: whoever copies without hard links
 * makes other files of them. */
#include "os/file/file.h"
#include "queue/repair/internal.h"
#include <errno.h>
#include <stdio.h>

/* PATH becomes a name of the data file, in one step: without it the package would be handed over
 * again. */
static int link_package(const struct repair *repair, const char *data, const char *path)
{
	char new[REPAIR_PATH_SIZE];
	int result;

	snprintf(new, sizeof new, "%s.new", path);
	result = os_file_unlink(repair->store->directory, new);
	if (result == 0 || result == -ENOENT)
		result = os_file_link(repair->store->directory, data, new);
	return result == 0 ? os_file_rename(repair->store->directory, new, path) : result;
}

int repair_link_package(const struct repair *repair, const struct mail_envelope *envelope,
			unsigned place, const struct os_file_info *info)
{
	char data[QUEUE_PATH_SIZE];
	char path[REPAIR_PATH_SIZE];
	struct os_file_info have;
	int result;

	if (envelope->handed.length == 0 || repair->options->dry_run)
		return 0;
	snprintf(path, sizeof path, "handed/" STR_FORMAT, STR_ARGUMENTS(envelope->handed));
	result = os_file_info_at(repair->store->directory, path, &have);
	if (result == -ENOENT) /* settled */
		return 0;
	if (result < 0 || have.inode == info->inode)
		return result;
	repair_data_path(repair, place, envelope->id.number, data);
	return link_package(repair, data, path);
}
