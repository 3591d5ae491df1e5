// SPDX-License-Identifier: ISC
/* Opens and locks a mailbox's file, if it is one to write to. */
#include "mailbox/internal_mbox.h"
#include "os/file/file.h"
#include "os/file/range.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int set_paths(const struct mbox *mbox, struct str path, struct mbox_file *box)
{
	ptrdiff_t slash = str_find_last(path, '/');
	int folder = slash > 0 ? (int)slash : 1;
	const char *name = path.data + slash + 1;
	int length = (int)(path.data + path.length - name);

	if (slash < 0 || path.length >= sizeof box->path)
		return -ENAMETOOLONG;
	snprintf(box->path, sizeof box->path, "%.*s", (int)path.length, path.data);
	snprintf(box->folder, sizeof box->folder, "%.*s", folder, path.data);
	if (snprintf(box->lock, sizeof box->lock, "%s.lock", box->path) >= (int)sizeof box->lock ||
	    snprintf(box->spare, sizeof box->spare, "%.*s/.lk.%s.%.*s", (int)slash, path.data,
		     mbox->host, length, name) >= (int)sizeof box->spare)
		return -ENAMETOOLONG;
	return 0;
}

/* What is wrong with a file that is to be OWNER's mailbox; NULL: nothing. */
static const char *flaw_of(const struct os_file_info *info, uid_t owner)
{
	if (S_ISLNK(info->mode))
		return "it is a symbolic link";
	if (S_ISDIR(info->mode))
		return "it is a directory; for a Maildir, use a service of kind maildir";
	if (!S_ISREG(info->mode))
		return "it is no regular file";
	if (info->owner != owner)
		return "it belongs to another user";
	if (info->links > 1)
		return "it has more than one name (a hard link)";
	return NULL;
}

static int judge_mbox_file(struct mbox_file *box, const struct os_file_info *info, uid_t owner)
{
	box->flaw = flaw_of(info, owner);
	return box->flaw != NULL ? -EBADF : 0;
}

/* A file that is made or removed meanwhile is as one that is locked: it is tried again. */
static int open_mbox_file(struct mbox_file *box, uid_t owner)
{
	const unsigned flags = OS_FILE_WRITE | OS_FILE_NO_FOLLOW | OS_FILE_NO_BLOCK;
	struct os_file_info info;
	int result = os_file_info_at(OS_FILE_HERE, box->path, &info);
	int file;

	if (result == -ENOENT)
		file = os_file_open(OS_FILE_HERE, box->path,
				    flags | OS_FILE_CREATE | OS_FILE_PRIVATE);
	else if (result < 0 || (result = judge_mbox_file(box, &info, owner)) < 0)
		return result;
	else
		file = os_file_open(OS_FILE_HERE, box->path, flags);
	if (file < 0)
		return file == -EEXIST || (file == -ENOENT && result == 0) ? -EAGAIN : file;
	box->file = file;
	return 0;
}

/* Whether the file that is locked is the mailbox still: a reader may have put another one in its
 * place. */
static int check_locked_mbox(struct mbox_file *box, uid_t owner)
{
	struct os_file_info named;
	struct os_file_info info;
	int result = os_file_info(box->file, &info);

	if (result == 0)
		result = judge_mbox_file(box, &info, owner);
	if (result == 0)
		result = os_file_info_at(OS_FILE_HERE, box->path, &named);
	if (result < 0)
		return result == -ENOENT ? -EAGAIN : result;
	if (named.inode != info.inode || named.device != info.device)
		return -EAGAIN;
	return 0;
}

static int take_mbox_locks(struct mbox *mbox, struct mbox_file *box, uid_t owner)
{
	struct os_file_info info;
	int result;

	box->doing = "lock the mailbox";
	result = os_file_range_lock_all(box->file);
	if (result == 0)
		result = check_locked_mbox(box, owner);
	if (result < 0)
		return result;
	box->doing = "make the lock file beside the mailbox";
	result = mbox_lock_make(mbox, box);
	if (result < 0)
		return result;
	box->doing = "look at the mailbox";
	result = os_file_info(box->file, &info);
	if (result == 0)
		box->size = info.size;
	else
		(void)!os_file_unlink(OS_FILE_HERE, box->lock);
	return result;
}

static void close_mbox_files(struct mbox_file *box)
{
	os_file_close(box->record);
	os_file_close(box->file);
}

int mbox_file_open(struct mbox *mbox, struct str path, uid_t owner, struct mbox_file *box)
{
	int result;

	*box = (struct mbox_file){.file = -1, .record = -1, .doing = "open the mailbox"};
	result = set_paths(mbox, path, box);
	if (result == 0)
		result = open_mbox_file(box, owner);
	if (result == 0)
		result = take_mbox_locks(mbox, box, owner);
	if (result < 0)
		close_mbox_files(box);
	return result;
}

int mbox_file_close(struct mbox_file *box, bool is_broken)
{
	int result = 0;

	if (!is_broken) {
		result = os_file_unlink(OS_FILE_HERE, box->lock);
		if (result == 0)
			result = os_file_sync_directory(OS_FILE_HERE, box->folder);
		if (result == -EACCES) /* the user may not read the directory */
			result = os_file_sync_filesystem(box->file);
	}
	close_mbox_files(box);
	return result;
}
