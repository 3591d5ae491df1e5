// SPDX-License-Identifier: ISC
#include "queue/trigger.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TRIGGER_PATH_SIZE = QUEUE_TRIGGER_MAX + 16, TEXT_MAX = 4096 };

static void trigger_path(struct str name, char path[TRIGGER_PATH_SIZE])
{
	snprintf(path, TRIGGER_PATH_SIZE, "trigger/" STR_FORMAT, STR_ARGUMENTS(name));
}

static void write_trigger_text(struct buffer *text, int64_t now_us, struct str reason,
			       struct str until)
{
	char since[TIMESTAMP_SIZE];

	timestamp_format_seconds(now_us, since);
	buffer_append_format(text, "since: %s\nreason: ", since);
	for (size_t i = 0; i < reason.length; i++) {
		unsigned char c = (unsigned char)reason.data[i];

		buffer_append_byte(text, c < 0x20 || c == 0x7f ? '?' : (char)c);
	}
	buffer_append_byte(text, '\n');
	if (until.length > 0)
		buffer_append_format(text, "until: " STR_FORMAT "\n", STR_ARGUMENTS(until));
}

/* A file that could not be written would be a trigger at the next reading, which nobody was told is
 * set, and a hold without its end. ERROR: why it could not. */
static int remove_failed_trigger_file(const struct queue_store *store, const char *path, int error)
{
	int result = os_file_unlink(queue_store_directory(store), path);

	(void)result; /* the error that is returned is the first */
	return error;
}

int queue_trigger_set(struct queue_store *store, struct str name, int64_t now_us, struct str reason)
{
	return queue_trigger_set_until(store, name, now_us, reason, STR(""));
}

int queue_trigger_set_until(struct queue_store *store, struct str name, int64_t now_us,
			    struct str reason, struct str until)
{
	struct buffer text = {0};
	char path[TRIGGER_PATH_SIZE];
	int result;
	int file;

	if (!queue_trigger_name_is_valid(name) ||
	    (until.length > 0 && !queue_trigger_name_is_valid(until)))
		return -EINVAL;
	trigger_path(name, path);
	file = os_file_open(queue_store_directory(store), path, OS_FILE_WRITE | OS_FILE_CREATE);
	if (file < 0)
		return file == -EEXIST ? 0 : file;
	write_trigger_text(&text, now_us, reason, until);
	result = os_file_write(file, buffer_data(&text), text.length, 0);
	if (result == 0 && until.length > 0)
		result = os_file_sync(file);
	os_file_close(file);
	buffer_clear(&text);
	return result < 0 ? remove_failed_trigger_file(store, path, result) : 0;
}

int queue_trigger_is_set(struct queue_store *store, struct str name)
{
	char path[TRIGGER_PATH_SIZE];
	struct os_file_info info;
	int result;

	if (!queue_trigger_name_is_valid(name))
		return 0;
	trigger_path(name, path);
	result = os_file_info_at(queue_store_directory(store), path, &info);
	if (result == -ENOENT)
		return 0;
	return result < 0 ? result : 1;
}

/* Appends what follows FIELD in a line of the trigger's file. */
static int read_trigger_field(struct queue_store *store, struct str name, struct str field,
			      struct buffer *out)
{
	char path[TRIGGER_PATH_SIZE];
	char text[TEXT_MAX];
	struct str rest;
	struct str line;
	ssize_t length;
	int file;

	trigger_path(name, path);
	file = os_file_open(queue_store_directory(store), path, OS_FILE_READ);
	if (file < 0)
		return file;
	length = os_file_read(file, text, sizeof text, 0);
	os_file_close(file);
	if (length < 0)
		return (int)length;
	rest = str_slice(text, (size_t)length);
	while (rest.length > 0 && str_split(&rest, '\n', &line))
		if (str_starts_with(line, field))
			buffer_append_str(out, str_skip(line, field.length));
	return 0;
}

int queue_trigger_read_until(struct queue_store *store, struct str name, struct buffer *until)
{
	return read_trigger_field(store, name, STR("until: "), until);
}

int queue_trigger_read_reason(struct queue_store *store, struct str name, struct buffer *reason)
{
	return queue_trigger_name_is_valid(name)
		       ? read_trigger_field(store, name, STR("reason: "), reason)
		       : -EINVAL;
}

int queue_trigger_release(struct queue_store *store, struct str name)
{
	char path[TRIGGER_PATH_SIZE];
	int result;

	if (!queue_trigger_name_is_valid(name))
		return -EINVAL;
	trigger_path(name, path);
	result = os_file_unlink(queue_store_directory(store), path);
	return result == -ENOENT ? 0 : result;
}

struct listing {
	int (*each)(void *context, struct str name);
	void *context;
};

static int on_file(void *context, const char *name)
{
	const struct listing *listing = context;

	if (!queue_trigger_name_is_valid(str_from(name)))
		return 0;
	return listing->each(listing->context, str_from(name));
}

int queue_trigger_each(struct queue_store *store, int (*each)(void *context, struct str name),
		       void *context)
{
	struct listing listing = {each, context};

	return os_file_list(queue_store_directory(store), "trigger", on_file, &listing);
}
