// SPDX-License-Identifier: ISC
#include "mailbox/quota.h"
#include "base/buffer.h"
#include "base/timestamp.h"
#include "mailbox/internal.h"
#include "os/clock.h"
#include "os/file/file.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The file's maximum size in Maildir++. */
enum { SIZE_MAX_BYTES = 5120 };
static const int64_t BELIEVED_US = 15 * 60 * SECOND_US;

static const char NAME[] = "maildirsize";

struct usage {
	int64_t bytes;
	int64_t messages;
};

/* ---- the file ---- */

/* Appends "1000000S,1000C", omitting what is unlimited. */
static void append_quota(struct buffer *out, const struct mail_quota *quota)
{
	if (quota->bytes > 0)
		buffer_append_format(out, "%" PRIu64 "S", quota->bytes);
	if (quota->messages > 0)
		buffer_append_format(out, "%s%" PRIu64 "C", quota->bytes > 0 ? "," : "",
				     quota->messages);
	buffer_append_byte(out, '\n');
}

/* A number, which may be negative, after spaces. */
static bool take_quota_number(struct str *text, int64_t *out)
{
	bool is_negative;
	uint64_t value = 0;
	size_t digits = 0;

	while (text->length > 0 && *text->data == ' ')
		*text = str_skip(*text, 1);
	is_negative = text->length > 0 && *text->data == '-';
	if (is_negative)
		*text = str_skip(*text, 1);
	for (; text->length > 0 && *text->data >= '0' && *text->data <= '9'; digits++) {
		if (digits == 18)
			return false;
		value = value * 10 + (uint64_t)(*text->data - '0');
		*text = str_skip(*text, 1);
	}
	*out = is_negative ? -(int64_t)value : (int64_t)value;
	return digits > 0;
}

/* Adds up the lines after the first; false: one of them is malformed. *LINES_OUT: their number. */
static bool add_lines(struct str text, struct usage *usage, size_t *lines_out)
{
	struct str line;

	*usage = (struct usage){0};
	for (*lines_out = 0; text.length > 0; ++*lines_out) {
		int64_t bytes;
		int64_t messages;

		(void)str_split(&text, '\n', &line);
		if (!take_quota_number(&line, &bytes) || !take_quota_number(&line, &messages))
			return false;
		usage->bytes += bytes;
		usage->messages += messages;
	}
	return usage->bytes >= 0 && usage->messages >= 0;
}

/* Reads the file, if it is valid; *IS_FRESH: a recount would find the same. */
static bool read_quota_file(const char *path, const struct mail_quota *quota, struct usage *usage,
			    bool *is_fresh)
{
	struct buffer expected CLEANUP(buffer_clear) = {0};
	char data[SIZE_MAX_BYTES];
	struct os_file_info info;
	size_t lines = 0;
	struct str text;
	ssize_t length = -EIO;
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ | OS_FILE_NO_FOLLOW);

	if (file < 0)
		return false;
	if (os_file_info(file, &info) == 0)
		length = os_file_read(file, data, sizeof data, 0);
	os_file_close(file);
	append_quota(&expected, quota);
	if (length <= 0 || length == sizeof data)
		return false;
	text = str_slice(data, (size_t)length);
	if (!str_starts_with(text, buffer_view(&expected)) ||
	    !add_lines(str_skip(text, expected.length), usage, &lines))
		return false;
	*is_fresh = lines == 1 && os_clock_wall_us() - info.modified_us < BELIEVED_US;
	return true;
}

static void append_quota_line(const char *path, int64_t bytes, int messages)
{
	char line[48];
	int length = snprintf(line, sizeof line, "%" PRId64 " %d\n", bytes, messages);
	int file = os_file_open(OS_FILE_HERE, path,
				OS_FILE_WRITE | OS_FILE_APPEND | OS_FILE_NO_FOLLOW);

	if (file < 0)
		return; /* it will be recounted */
	if (os_file_append(file, line, (size_t)length) < 0)
		(void)!os_file_unlink(OS_FILE_HERE, path); /* the line is incomplete */
	os_file_close(file);
}

/* ---- counting ---- */

struct count {
	struct str path;
	struct maildir_path folder; /* being counted */
	struct usage usage;
	uint64_t changed; /* from the folders' change times: equal if none has changed */
	bool is_look;     /* examines the folders only, not their names */
	int error;
};

/* Parses ",S=SIZE" in NAME. */
static bool size_of_name(const char *name, int64_t *size_out)
{
	const char *found = strstr(name, ",S=");
	struct str text = str_from(found != NULL ? found + 3 : "");

	return take_quota_number(&text, size_out) && *size_out >= 0;
}

static int count_mailbox_file(void *context, const char *name)
{
	struct count *count = context;
	struct maildir_path file;
	struct os_file_info info;
	int64_t size;

	if (name[0] == '.')
		return 0;
	if (!size_of_name(name, &size)) {
		if (maildir_path_join(&file, str_from(count->folder.text), name, NULL) < 0 ||
		    os_file_info_at(OS_FILE_HERE, file.text, &info) < 0)
			return 0; /* it was moved or removed meanwhile */
		size = (int64_t)info.size;
	}
	count->usage.bytes += size;
	count->usage.messages++;
	return 0;
}

static void count_folder(struct count *count, const char *maildir, const char *folder)
{
	struct os_file_info info;
	int error = maildir_path_join(&count->folder, str_from(maildir), folder, NULL);

	if (error == 0)
		error = os_file_info_at(OS_FILE_HERE, count->folder.text, &info);
	if (error == 0)
		count->changed += (uint64_t)info.modified_us;
	if (error == 0 && !count->is_look)
		error = os_file_list(OS_FILE_HERE, count->folder.text, count_mailbox_file, count);
	if (error < 0 && error != -ENOENT && error != -ENOTDIR)
		count->error = error;
}

static void count_maildir(struct count *count, const char *maildir)
{
	count_folder(count, maildir, "new");
	count_folder(count, maildir, "cur");
}

/* Folders of Maildir++ are Maildirs whose names begin with a dot. */
static int count_subfolder(void *context, const char *name)
{
	struct count *count = context;
	struct maildir_path folder;

	if (name[0] == '.' && maildir_path_join(&folder, count->path, name, NULL) == 0)
		count_maildir(count, folder.text);
	return 0;
}

static void count_mailbox(struct count *count)
{
	struct maildir_path maildir;

	if (maildir_path_join(&maildir, count->path, ".", NULL) < 0)
		return;
	count_maildir(count, maildir.text);
	if (os_file_list(OS_FILE_HERE, maildir.text, count_subfolder, count) < 0)
		count->error = -EIO;
}

/* Writes the result, unless something was added or removed meanwhile. */
static void write_count(const struct count *count, const struct mail_quota *quota, const char *path)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct maildir_path temporary;
	char name[80];
	int file;

	snprintf(name, sizeof name, "%s.%" PRId64 ".%p", NAME, os_clock_wall_us(),
		 (const void *)count);
	if (maildir_path_join(&temporary, count->path, "tmp", name) < 0)
		return;
	file = os_file_open(OS_FILE_HERE, temporary.text,
			    OS_FILE_WRITE | OS_FILE_CREATE | OS_FILE_PRIVATE);
	if (file < 0)
		return;
	append_quota(&text, quota);
	buffer_append_format(&text, "%" PRId64 " %" PRId64 "\n", count->usage.bytes,
			     count->usage.messages);
	if (os_file_write(file, buffer_data(&text), text.length, 0) < 0 ||
	    os_file_rename(OS_FILE_HERE, temporary.text, path) < 0)
		(void)!os_file_unlink(OS_FILE_HERE, temporary.text);
	os_file_close(file);
}

/* False: counting failed. */
static bool count_anew(struct str path, const struct mail_quota *quota, const char *file,
		       struct usage *usage)
{
	struct count count = {.path = path};
	struct count look = {.path = path, .is_look = true};

	count_mailbox(&count);
	if (count.error != 0)
		return false;
	*usage = count.usage;
	count_mailbox(&look);
	if (look.error == 0 && look.changed == count.changed)
		write_count(&count, quota, file);
	return true;
}

/* ---- reserving ---- */

static bool has_room_in_quota(const struct mail_quota *quota, const struct usage *usage,
			      uint64_t size)
{
	return (quota->bytes == 0 || (uint64_t)usage->bytes + size <= quota->bytes) &&
	       (quota->messages == 0 || (uint64_t)usage->messages < quota->messages);
}

int maildir_quota_take(struct str path, const struct mail_quota *quota, uint64_t size)
{
	struct maildir_path file;
	struct usage usage = {0};
	bool is_fresh = true;
	bool is_known;

	if (quota->bytes == 0 && quota->messages == 0)
		return 0;
	if (quota->bytes > 0 && size > quota->bytes)
		return -EMSGSIZE;
	if (maildir_path_join(&file, path, NAME, NULL) < 0)
		return 0;
	is_known = read_quota_file(file.text, quota, &usage, &is_fresh);
	if (!is_known || (!is_fresh && !has_room_in_quota(quota, &usage, size)))
		is_known = count_anew(path, quota, file.text, &usage);
	if (is_known && !has_room_in_quota(quota, &usage, size))
		return -EDQUOT;
	append_quota_line(file.text, (int64_t)size, 1);
	return 0;
}

void maildir_quota_give_back(struct str path, uint64_t size)
{
	struct maildir_path file;

	if (maildir_path_join(&file, path, NAME, NULL) == 0)
		append_quota_line(file.text, -(int64_t)size, -1);
}
