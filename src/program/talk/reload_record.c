// SPDX-License-Identifier: ISC
#include "program/talk/reload_record.h"
#include "os/file/file.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

enum { RECORD_MAX = 1 << 20, PIECE = 4096 };

void reload_record_clear(struct reload_record *record)
{
	buffer_clear(&record->reason);
	*record = (struct reload_record){0};
}

static int path_of(const char *run, const char *end, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/" RELOAD_RECORD_NAME "%s", run, end) < PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

static int write_file(const char *path, struct str text)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE | OS_FILE_CREATE);
	int error;

	if (file < 0)
		return file;
	error = os_file_write(file, text.data, text.length, 0);
	os_file_close(file);
	return error;
}

int reload_record_write(const char *run, const struct reload_record *record)
{
	char path[PATH_MAX];
	char next[PATH_MAX];
	struct buffer text = {0};
	int error = path_of(run, "", path);

	if (error == 0)
		error = path_of(run, ".new", next);
	if (error < 0)
		return error;
	error = os_file_unlink(OS_FILE_HERE, next); /* of one that was interrupted */
	buffer_append_format(&text, "%" PRIu64 " %" PRIu64 " %s\n" STR_FORMAT, record->begun,
			     record->ended, record->is_refused ? "refused" : "done",
			     STR_ARGUMENTS(buffer_view(&record->reason)));
	if (error == 0 || error == -ENOENT)
		error = write_file(next, buffer_view(&text));
	buffer_clear(&text);
	return error < 0 ? error : os_file_rename(OS_FILE_HERE, next, path);
}

static int parse(struct str text, struct reload_record *record)
{
	struct str line;
	struct str begun;
	struct str ended;

	if (!str_split(&text, '\n', &line) || !str_split(&line, ' ', &begun) ||
	    !str_split(&line, ' ', &ended) || !str_to_u64(begun, &record->begun) ||
	    !str_to_u64(ended, &record->ended))
		return -EBADMSG;
	record->is_refused = str_equal(line, STR("refused"));
	if (!record->is_refused && !str_equal(line, STR("done")))
		return -EBADMSG;
	buffer_append_str(&record->reason, text);
	return 0;
}

static int read_all(int file, struct buffer *text)
{
	while (text->length < RECORD_MAX) {
		ssize_t count =
			os_file_read(file, buffer_reserve(text, PIECE), PIECE, text->length);

		if (count <= 0)
			return (int)count;
		buffer_commit(text, (size_t)count);
	}
	return -EFBIG;
}

int reload_record_read(const char *run, uid_t owner, struct reload_record *record)
{
	char path[PATH_MAX];
	struct buffer text = {0};
	struct os_file_info info;
	int error = path_of(run, "", path);
	int file;

	*record = (struct reload_record){0};
	if (error < 0)
		return error;
	file = os_file_open(OS_FILE_HERE, path,
			    OS_FILE_READ | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK);
	if (file < 0)
		return file == -ENOENT ? 0 : file;
	error = os_file_info(file, &info);
	if (error == 0 && (info.owner != owner || !S_ISREG(info.mode)))
		error = -EPERM;
	if (error == 0)
		error = read_all(file, &text);
	os_file_close(file);
	if (error == 0)
		error = parse(buffer_view(&text), record);
	buffer_clear(&text);
	return error;
}
