// SPDX-License-Identifier: ISC
#include "command/formats.h"
#include "directory/store/sqlite/sqlite.h"
#include "os/file/file.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
	MESSAGES_MAX = 1000,
	LINE_SIZE = 32,
	SQLITE_HEADER_SIZE = 100,
	SQLITE_USER_VERSION_AT = 60, /* four bytes, the highest first (sqlite.org/fileformat2) */
};

/* The first bytes of PATH: their number, 0 if there is no such file, or -errno. */
static ssize_t read_beginning(const char *path, char *data, size_t size)
{
	int file = os_file_open(OS_FILE_HERE, path,
				OS_FILE_READ | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK);
	ssize_t count;

	if (file < 0)
		return file == -ENOENT ? 0 : file;
	count = os_file_read(file, data, size, 0);
	os_file_close(file);
	return count;
}

/* --- the queue --- */

struct queue_formats {
	const char *queue;
	char path[PATH_MAX]; /* of the directory being listed */
	unsigned messages;
	uint64_t newest;
	char newest_path[PATH_MAX];
	int error;
};

static void look_at_control_file(struct queue_formats *formats, const char *path)
{
	static const char begin[] = "stagepost ";
	char line[LINE_SIZE];
	ssize_t count = read_beginning(path, line, sizeof line);
	struct str text = str_slice(line, count > 0 ? (size_t)count : 0);
	struct str first;
	uint64_t format;

	if (count < 0)
		formats->error = (int)count;
	if (!str_split(&text, '\n', &first) || !str_starts_with(first, str_from(begin)) ||
	    !str_to_u64(str_skip(first, strlen(begin)), &format) || format <= formats->newest)
		return;
	formats->newest = format;
	snprintf(formats->newest_path, sizeof formats->newest_path, "%s", path);
}

static int look_at_message(void *context, const char *name)
{
	struct queue_formats *formats = context;
	char path[PATH_MAX];

	if (formats->messages++ < MESSAGES_MAX &&
	    snprintf(path, sizeof path, "%s/%s", formats->path, name) < (int)sizeof path)
		look_at_control_file(formats, path);
	return 0;
}

static int look_at_folder(void *context, const char *name)
{
	struct queue_formats *formats = context;
	int error;

	if (formats->messages >= MESSAGES_MAX ||
	    snprintf(formats->path, sizeof formats->path, "%s/info/%s", formats->queue, name) >=
		    (int)sizeof formats->path)
		return 0;
	error = os_file_list(OS_FILE_HERE, formats->path, look_at_message, formats);
	return error == -ENOENT ? 0 : error;
}

static void look_at_queue(const char *queue, struct queue_formats *formats)
{
	char path[PATH_MAX];
	int error;

	formats->queue = queue;
	if (snprintf(path, sizeof path, "%s/info", queue) >= (int)sizeof path)
		return;
	error = os_file_list(OS_FILE_HERE, path, look_at_folder, formats);
	if (error < 0 && error != -ENOENT)
		formats->error = error;
}

/* --- all --- */

static int schema_of(const char *path, uint64_t *schema_out)
{
	unsigned char header[SQLITE_HEADER_SIZE];
	const unsigned char *at = header + SQLITE_USER_VERSION_AT;
	ssize_t count = read_beginning(path, (char *)header, sizeof header);

	if (count < 0)
		return (int)count;
	if ((size_t)count < sizeof header) /* it will be made */
		return -ENOENT;
	*schema_out = (uint64_t)at[0] << 24 | (uint64_t)at[1] << 16 | (uint64_t)at[2] << 8 | at[3];
	return 0;
}

static int check_format_of_directory(const struct config_directory *directory,
				     struct formats_finding *finding)
{
	int error;

	if (directory->backend != CONFIG_BACKEND_SQLITE &&
	    directory->backend != CONFIG_BACKEND_LDAP)
		return 0;
	*finding = (struct formats_finding){
		.what = "the directory", .path = directory->path, .own = SQLITE_STORE_SCHEMA};
	error = schema_of(directory->path, &finding->found);
	if (error < 0)
		return error == -ENOENT ? 0 : error;
	if (finding->found != finding->own)
		finding->verdict =
			finding->found < finding->own ? FORMATS_ONE_WAY : FORMATS_UNREADABLE;
	return 0;
}

int formats_check(const struct config *config,
		  void (*each)(void *context, const struct formats_finding *finding), void *context)
{
	struct queue_formats queue = {.newest = 0};
	struct formats_finding directory = {FORMATS_SAME};
	int error = check_format_of_directory(&config->directory, &directory);

	if (directory.verdict != FORMATS_SAME)
		each(context, &directory);
	look_at_queue(config->queue, &queue);
	if (queue.newest > FORMATS_QUEUE) {
		each(context,
		     &(struct formats_finding){FORMATS_UNREADABLE, "the queue", queue.newest_path,
					       queue.newest, FORMATS_QUEUE});
		return FORMATS_UNREADABLE;
	}
	if (error == 0)
		error = queue.error;
	return error < 0 ? error : (int)directory.verdict;
}
