// SPDX-License-Identifier: ISC
/*
 * The lock file beside a mailbox. Its text:
 *
 *   PID
 *   stagepost HOST
 *   SIZE LENGTH
 *   the LENGTH bytes that come after the first SIZE bytes of the mailbox
 *
 * The first line is for programs that use liblockfile. The last two say that an incomplete message
 * may come there.
 */
#include "base/timestamp.h"
#include "mailbox/internal_mbox.h"
#include "os/file/file.h"
#include "os/process/process.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const int64_t MBOX_LOCK_ABANDONED_US = 5 * MINUTE_US;

enum { RECORD_MAX = 8192 }; /* bytes of a lock file that are read */

/* What the lock file says of an incomplete message. */
struct mbox_record {
	uint64_t size;
	struct str head;
};

static void append_owner(const struct mbox *mbox, struct buffer *text)
{
	buffer_append_format(text, "%ld\nstagepost %s\n", (long)os_process_id(), mbox->host);
}

int mbox_lock_record(const struct mbox *mbox, const struct mbox_file *box, struct str head)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	append_owner(mbox, &text);
	buffer_append_number(&text, box->size);
	buffer_append_byte(&text, ' ');
	buffer_append_number(&text, head.length);
	buffer_append_byte(&text, '\n');
	buffer_append_str(&text, head);
	return os_file_write(box->record, buffer_data(&text), text.length, 0);
}

/* --- a lock file that is there --- */

/* Whether TEXT is that of a lock file of ours. */
static bool is_own_lock_file(const struct mbox *mbox, struct str *text)
{
	struct str line;
	struct str word;

	return str_split(text, '\n', &line) && str_split(text, '\n', &line) &&
	       str_split(&line, ' ', &word) && str_equal(word, STR("stagepost")) &&
	       str_equal(line, str_from(mbox->host));
}

static bool read_mbox_record(struct str text, struct mbox_record *record)
{
	struct str line;
	struct str word;
	uint64_t length;

	if (!str_split(&text, '\n', &line) || !str_split(&line, ' ', &word) ||
	    !str_to_u64(word, &record->size) || !str_to_u64(line, &length) || length > text.length)
		return false;
	record->head = str_slice(text.data, (size_t)length);
	return length > 0;
}

/* Whether a message of another program begins in TEXT after FIRST bytes, which are more than 0. A
 * line of ours that begins like one is quoted; within a line there is a space before. */
static bool has_other_message(struct str text, size_t first)
{
	const struct str mark = STR("From ");
	const char *place = text.data + first;
	const char *end = text.data + text.length;

	while ((place = memmem(place, (size_t)(end - place), mark.data, mark.length)) != NULL) {
		if (place[-1] != '>' && place[-1] != ' ')
			return true;
		place++;
	}
	return false;
}

/* 1: what comes after the first record->size bytes begins as RECORD says, perhaps not completely,
 * and has no message of somebody else; 0: it does not; -errno. */
static int is_incomplete(struct mbox *mbox, const struct mbox_file *box,
			 const struct mbox_record *record, uint64_t size)
{
	enum { OVERLAP = 6 }; /* a mark and the byte before it */
	uint64_t offset = record->size;
	size_t first = record->head.length;
	ssize_t length;

	do {
		struct str part;

		length = os_file_read(box->file, mbox->input, MBOX_BLOCK, offset);
		if (length <= 0)
			return (int)length;
		part = str_slice(mbox->input, (size_t)length);
		first = first < part.length ? first : part.length;
		if (offset == record->size && memcmp(part.data, record->head.data, first) != 0)
			return 0;
		if (has_other_message(part, first))
			return 0;
		offset += MBOX_BLOCK - OVERLAP;
		first = 1;
	} while (length == MBOX_BLOCK && offset < size);
	return 1;
}

static int remove_incomplete(struct mbox *mbox, struct mbox_file *box,
			     const struct mbox_record *record)
{
	struct os_file_info info;
	int result = os_file_info(box->file, &info);

	if (result < 0 || info.size <= record->size)
		return result;
	result = is_incomplete(mbox, box, record, info.size);
	if (result <= 0)
		return result;
	box->doing = "remove an incomplete message from the mailbox";
	result = os_file_truncate(box->file, record->size);
	if (result == 0)
		result = os_file_sync(box->file);
	if (result == 0)
		box->removed = info.size - record->size;
	return result;
}

/* Reads the lock file: its length, or -errno; -EAGAIN: it is gone. */
static ssize_t read_lock(const struct mbox_file *box, char *text, struct os_file_info *info_out)
{
	int file = os_file_open(OS_FILE_HERE, box->lock, OS_FILE_NO_BLOCK | OS_FILE_NO_FOLLOW);
	ssize_t length;

	if (file < 0)
		return file == -ENOENT ? -EAGAIN : file;
	length = os_file_info(file, info_out);
	if (length == 0)
		length = S_ISREG(info_out->mode) ? os_file_read(file, text, RECORD_MAX, 0) : 0;
	os_file_close(file);
	return length;
}

/* Puts the new lock file in the place of one that was abandoned. Its time is compared with that of
 * the new one, as the file's server may have another clock. */
static int replace_lock(struct mbox *mbox, struct mbox_file *box, const struct os_file_info *now)
{
	char text[RECORD_MAX];
	struct os_file_info info;
	struct mbox_record record;
	ssize_t length = read_lock(box, text, &info);
	struct str rest = str_slice(text, length > 0 ? (size_t)length : 0);
	int result = 0;

	/* one that may not be read is somebody else's */
	if (length == -EACCES)
		length = os_file_info_at(OS_FILE_HERE, box->lock, &info);
	if (length < 0)
		return (int)length;
	if (is_own_lock_file(mbox, &rest)) {
		if (read_mbox_record(rest, &record))
			result = remove_incomplete(mbox, box, &record);
	} else if (now->modified_us - info.modified_us < MBOX_LOCK_ABANDONED_US) {
		return -EAGAIN;
	}
	return result == 0 ? os_file_rename(OS_FILE_HERE, box->spare, box->lock) : result;
}

/* --- a new one --- */

/* One that a process before this one has left is replaced: as we have the lock of fcntl(2), nobody
 * else on this host makes one. */
static int make_spare_lock_file(const struct mbox *mbox, struct mbox_file *box)
{
	const unsigned flags = OS_FILE_WRITE | OS_FILE_CREATE | OS_FILE_PRIVATE;
	struct buffer text CLEANUP(buffer_clear) = {0};
	int file = os_file_open(OS_FILE_HERE, box->spare, flags);

	if (file == -EEXIST) {
		int result = os_file_unlink(OS_FILE_HERE, box->spare);

		if (result < 0)
			return result;
		file = os_file_open(OS_FILE_HERE, box->spare, flags);
	}
	if (file == -EEXIST)
		return -EAGAIN; /* the other meaning of -EEXIST: there is a lock file */
	if (file < 0)
		return file;
	box->record = file;
	append_owner(mbox, &text);
	return os_file_write(file, buffer_data(&text), text.length, 0);
}

/* On NFS the answer may be lost, and an error does not say that there is no link. */
static int link_spare(const struct mbox_file *box)
{
	struct os_file_info info;
	int result = os_file_link(OS_FILE_HERE, box->spare, box->lock);

	if (result < 0 && os_file_info_at(OS_FILE_HERE, box->spare, &info) == 0 && info.links == 2)
		return 0;
	return result;
}

int mbox_lock_make(struct mbox *mbox, struct mbox_file *box)
{
	struct os_file_info info;
	int result = make_spare_lock_file(mbox, box);

	if (result == 0)
		result = os_file_info(box->record, &info);
	if (result == 0)
		result = link_spare(box);
	if (result == -EEXIST)
		result = replace_lock(mbox, box, &info);
	/* it may be the lock file now; if it stays, the next delivery removes it */
	if (box->record >= 0)
		(void)!os_file_unlink(OS_FILE_HERE, box->spare);
	return result;
}
