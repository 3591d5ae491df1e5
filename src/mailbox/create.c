// SPDX-License-Identifier: ISC
/* Creates a Maildir and the directories above it, durably. */
#include "base/panic.h"
#include "mailbox/internal.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int maildir_path_join(struct maildir_path *out, struct str path, const char *folder,
		      const char *name)
{
	int length =
		snprintf(out->text, sizeof out->text, STR_FORMAT "/%s%s%s", STR_ARGUMENTS(path),
			 folder, name != NULL ? "/" : "", name != NULL ? name : "");

	return length < (int)sizeof out->text ? 0 : -ENAMETOOLONG;
}

/* The length of the directory part of PATH's first LENGTH bytes: 1 for "/", 0 for a name
 * without a directory. */
static size_t parent_length(const char *path, size_t length)
{
	while (length > 0 && path[length - 1] != '/')
		length--;
	while (length > 1 && path[length - 1] == '/')
		length--;
	return length;
}

static int sync_parent(const char *path, size_t length)
{
	struct maildir_path parent;

	memcpy(parent.text, path, length);
	parent.text[length] = '\0';
	return os_file_sync_directory(OS_FILE_HERE, length == 0 ? "." : parent.text);
}

/* 0: the directory was created; 1: it existed. */
static int make_mailbox_directory(const char *path)
{
	int result = os_file_make_directory(OS_FILE_HERE, path);
	struct os_file_info info;

	/* in a read-only or foreign parent mkdir() may fail with another error though it exists */
	if (result < 0 && (result == -EEXIST || os_file_info_at(OS_FILE_HERE, path, &info) == 0))
		return 1;
	return result;
}

/* Creates the directory PATH[0..LENGTH) unless it exists. Makes its name durable in either case:
 * the process that created it may have died before doing so. */
static int make_directory_durable(const char *path, size_t length)
{
	struct maildir_path directory;
	int made;
	int synced;

	memcpy(directory.text, path, length);
	directory.text[length] = '\0';
	made = make_mailbox_directory(directory.text);
	if (made < 0)
		return made;
	synced = sync_parent(path, parent_length(path, length));
	/* a directory above, which we may not even read, was not created by us */
	return made == 1 && (synced == -EACCES || synced == -EPERM) ? 0 : synced;
}

/* Each directory of PATH from the top down, including PATH. */
static int make_all(const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 1; i <= length; i++) {
		int result;

		if ((path[i] != '/' && path[i] != '\0') || path[i - 1] == '/')
			continue;
		result = make_directory_durable(path, i);
		if (result < 0)
			return result;
	}
	return 0;
}

static int make_parents(struct maildir *maildir, const char *path)
{
	size_t length = parent_length(path, strlen(path));
	struct maildir_path parent;
	int result;

	memcpy(parent.text, path, length);
	parent.text[length] = '\0';
	if (length <= 1 ||
	    (maildir->durable_parent != NULL && strcmp(maildir->durable_parent, parent.text) == 0))
		return 0;
	result = make_all(parent.text);
	if (result < 0)
		return result;
	free(maildir->durable_parent);
	maildir->durable_parent = memory_copy_string(parent.text);
	return 0;
}

static int make_folder(struct str path, const char *folder)
{
	struct maildir_path joined;
	int result = maildir_path_join(&joined, path, folder, NULL);

	if (result == 0)
		result = os_file_make_directory(OS_FILE_HERE, joined.text);
	return result == -EEXIST ? 0 : result;
}

static int copy_path(struct maildir_path *out, struct str path)
{
	if (path.length >= sizeof out->text)
		return -ENAMETOOLONG;
	memcpy(out->text, path.data, path.length);
	out->text[path.length] = '\0';
	return 0;
}

int maildir_make_base(struct str base)
{
	struct maildir_path path;
	int result = copy_path(&path, base);

	return result == 0 ? make_all(path.text) : result;
}

int maildir_create_names(struct maildir *maildir, struct str path)
{
	struct maildir_path whole;
	int result = copy_path(&whole, path);

	if (result == 0)
		result = make_parents(maildir, whole.text);
	if (result == 0)
		result = make_mailbox_directory(whole.text);
	if (result == -ENOENT) /* the parent that was known to be durable has been removed */
		result = make_all(whole.text);
	if (result >= 0)
		result = make_folder(path, "cur");
	return result == 0 ? make_folder(path, "new") : result;
}

int maildir_create_sync(struct str path)
{
	struct maildir_path whole;
	int result = copy_path(&whole, path);

	if (result == 0)
		result = os_file_sync_directory(OS_FILE_HERE, whole.text);
	if (result == 0)
		result = sync_parent(whole.text, parent_length(whole.text, path.length));
	return result;
}

int maildir_create_tmp(struct str path)
{
	return make_folder(path, "tmp");
}

int maildir_create_root(struct maildir *maildir, struct str path)
{
	struct maildir_path tmp;
	struct os_file_info info;
	int result = maildir_path_join(&tmp, path, "tmp", NULL);

	if (result == 0)
		result = os_file_info_at(OS_FILE_HERE, tmp.text, &info);
	if (result != -ENOENT)
		return result;
	result = maildir_create_names(maildir, path);
	if (result == 0)
		result = maildir_create_sync(path);
	return result == 0 ? maildir_create_tmp(path) : result;
}

int maildir_create_mark(struct str path)
{
	struct maildir_path mark;
	int file;
	int result = maildir_path_join(&mark, path, "maildirfolder", NULL);

	if (result < 0)
		return result;
	file = os_file_open(OS_FILE_HERE, mark.text,
			    OS_FILE_WRITE | OS_FILE_CREATE | OS_FILE_PRIVATE);
	if (file >= 0)
		os_file_close(file);
	return file < 0 && file != -EEXIST ? file : 0;
}
