// SPDX-License-Identifier: ISC
#include "deliver/local/writer.h"
#include "base/panic.h"
#include "mailbox/mbox.h"
#include "os/file/file.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct local_writer { /* one of the two is NULL */
	struct maildir *maildir;
	struct mbox *mbox;
	char *base; /* the directory of mbox files; NULL: each is in one of its own */
};

static enum maildir_sync sync_of_maildir_writer(enum config_sync sync)
{
	if (sync == CONFIG_SYNC_FILESYSTEM)
		return MAILDIR_SYNC_FILESYSTEM;
	return sync == CONFIG_SYNC_FILES ? MAILDIR_SYNC_FILES : MAILDIR_SYNC_AUTO;
}

/* The directory in which all mailboxes of SERVICE are; NULL: they are in several ones. */
static char *base_of_service(const struct config_service *service)
{
	struct str base = config_mailbox_base(service);
	ptrdiff_t slash = str_find_last(str_from(service->path), '/');
	char *copy;

	if (slash != (ptrdiff_t)base.length)
		return NULL;
	copy = memory_alloc(base.length + 1);
	memcpy(copy, base.data, base.length);
	copy[base.length] = '\0';
	return copy;
}

struct local_writer *local_writer_new(const struct config *config,
				      const struct config_service *service)
{
	struct local_writer *writer = memory_alloc_zero(1, sizeof *writer);

	if (service->kind == CONFIG_SERVICE_MBOX) {
		writer->mbox = mbox_new(config->hostname);
		writer->base = base_of_service(service);
	} else {
		writer->maildir =
			maildir_new(config->hostname, sync_of_maildir_writer(config->queue_sync));
	}
	return writer;
}

void local_writer_free(struct local_writer *writer)
{
	if (writer == NULL)
		return;
	maildir_free(writer->maildir);
	mbox_free(writer->mbox);
	free(writer->base);
	free(writer);
}

/* The group with which OWNER's files are accessed. Into a directory like /var/mail only a group may
 * write, and lock files have to be made there. The directory is the configuration's choice, not a
 * user's; and root's group is never taken. */
static gid_t group_of(const struct local_writer *writer, const struct os_process_user *owner)
{
	struct os_file_info info;

	if (writer->base == NULL || os_file_info_at(OS_FILE_HERE, writer->base, &info) < 0 ||
	    info.group == 0 || (info.mode & S_IWGRP) == 0)
		return owner->gid;
	return info.group;
}

static int become_owner(const struct local_writer *writer, const struct os_process_user *owner)
{
	struct os_process_user user = *owner;

	if (!owner->change)
		return 0;
	user.gid = group_of(writer, owner);
	return os_process_files_as(&user);
}

void local_writer_deliver(struct local_writer *writer, const struct os_process_user *owner,
			  struct maildir_delivery *deliveries, size_t count)
{
	uid_t uid = owner->change ? owner->uid : os_process_effective_user();
	int error = become_owner(writer, owner);

	if (error == 0 && writer->mbox != NULL)
		mbox_deliver_group(writer->mbox, uid, deliveries, count);
	else if (error == 0)
		maildir_deliver_group(writer->maildir, deliveries, count, NULL);
	for (size_t i = 0; i < count && error < 0; i++)
		mail_verdict_set(&deliveries[i].verdict, "4.3.0",
				 "Cannot deliver as the mailbox's owner: %s", strerror(-error));
	if (owner->change && error == 0)
		os_process_files_as_self();
}
