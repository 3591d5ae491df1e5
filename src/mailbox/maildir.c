// SPDX-License-Identifier: ISC
#include "mailbox/maildir.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "mailbox/internal.h"
#include "mailbox/quota.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/file/reason.h"
#include "os/process/process.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HOST with characters that a name cannot have in octal, as Maildirs do. */
static char *safe_host(const char *host)
{
	struct buffer safe = {0};
	char *copy;

	for (const char *c = host; *c != '\0' && safe.length < 64; c++) {
		if (strchr("/:,\\", *c) != NULL || (unsigned char)*c <= ' ')
			buffer_append_format(&safe, "\\%03o", (unsigned)(unsigned char)*c);
		else
			buffer_append_byte(&safe, *c);
	}
	buffer_append_byte(&safe, '\0');
	copy = memory_copy_string(buffer_data(&safe));
	buffer_clear(&safe);
	return copy;
}

struct maildir *maildir_new(const char *host, enum maildir_sync sync)
{
	struct maildir *maildir = memory_alloc_zero(1, sizeof *maildir);
	struct os_file_info root;

	maildir->host = safe_host(host);
	maildir->sync = sync;
	maildir->input = memory_alloc(MAILDIR_BLOCK);
	maildir->cleaned = memory_alloc_zero(MAILDIR_CLEAN_SLOTS, sizeof *maildir->cleaned);
	if (os_file_info_at(OS_FILE_HERE, "/", &root) == 0)
		maildir->root_device = root.device;
	return maildir;
}

void maildir_free(struct maildir *maildir)
{
	if (maildir == NULL)
		return;
	if (maildir->order.device != 0)
		os_file_close(maildir->order.watch);
	free(maildir->host);
	free(maildir->input);
	free(maildir->cleaned);
	free(maildir->durable_parent);
	buffer_clear(&maildir->output);
	free(maildir);
}

static void name_tmp(struct maildir *maildir, struct maildir_work *work)
{
	int64_t now_us = os_clock_wall_us();
	const char *mark = work->delivery->mark;

	work->stem = snprintf(work->tmp_name, sizeof work->tmp_name,
			      "%" PRId64 ".M%" PRId64 "P%ldQ%" PRIu64, now_us / SECOND_US,
			      now_us % SECOND_US, (long)os_process_id(), ++maildir->count);
	snprintf(work->tmp_name + work->stem, sizeof work->tmp_name - (size_t)work->stem, ".%s%s%s",
		 maildir->host, mark != NULL ? ",I=" : "", mark != NULL ? mark : "");
}

static void name_new(struct maildir *maildir, struct maildir_work *work)
{
	const char *mark = work->delivery->mark;

	snprintf(work->new_name, sizeof work->new_name,
		 "%.*sI%" PRIx64 ".%s,S=%" PRIu64 ",W=%" PRIu64 "%s%s", work->stem, work->tmp_name,
		 work->inode, maildir->host, work->size, work->virtual_size,
		 mark != NULL ? ",I=" : "", mark != NULL ? mark : "");
}

static int open_tmp(struct str path, const char *name)
{
	struct maildir_path tmp;
	int result = maildir_path_join(&tmp, path, "tmp", name);

	if (result < 0)
		return result;
	return os_file_open(OS_FILE_HERE, tmp.text,
			    OS_FILE_WRITE | OS_FILE_CREATE | OS_FILE_PRIVATE);
}

static void write_tmp_file(struct maildir *maildir, struct maildir_work *work)
{
	struct os_file_info info;
	int result = maildir_write(maildir, work->delivery, work->file, &work->size,
				   &work->virtual_size);

	work->is_loop = result == MAILBOX_COPY_LOOP;
	work->is_sealed = result == MAILBOX_COPY_SEALED;
	maildir_work_fail(work, "write the message", result > 0 ? -EINVAL : result);
	maildir_work_fail(work, "look at the file", os_file_info(work->file, &info));
	if (work->error == 0) {
		work->inode = info.inode;
		work->device = info.device;
	}
}

static void take_delivery_quota(struct maildir_work *work)
{
	const struct maildir_delivery *delivery = work->delivery;

	if (delivery->quota == NULL || work->error != 0)
		return;
	maildir_work_fail(work, "count the message",
			  maildir_quota_take(delivery->path, delivery->quota, work->size));
	work->is_counted = work->error == 0;
}

static void begin_delivery_work(struct maildir *maildir, struct maildir_work *work)
{
	bool may_lack = !work->lacks_mailbox; /* once only */

	name_tmp(maildir, work);
	work->file = open_tmp(work->path, work->tmp_name);
	work->lacks_mailbox = may_lack && work->file == -ENOENT;
	if (work->lacks_mailbox)
		return;
	maildir_work_fail(work, "open a file in the mailbox", work->file);
	if (work->error == 0)
		write_tmp_file(maildir, work);
	take_delivery_quota(work);
}

static int create_names(struct maildir *maildir, const struct maildir_work *work)
{
	int result = 0;

	if (work->folder_path != NULL)
		result = maildir_create_root(maildir, work->delivery->path);
	if (result == 0)
		result = maildir_create_names(maildir, work->path);
	if (result == 0 && work->folder_path != NULL)
		result = maildir_create_mark(work->path);
	return result;
}

/* Creates the missing mailboxes, all names before the first wait for the disk, and starts their
 * deliveries again. */
static void create_missing(struct maildir *maildir, struct maildir_work *works, size_t count)
{
	static const char doing[] = "make the mailbox";

	for (size_t i = 0; i < count; i++)
		if (works[i].lacks_mailbox)
			maildir_work_fail(&works[i], doing, create_names(maildir, &works[i]));
	for (size_t i = 0; i < count; i++)
		if (works[i].lacks_mailbox && works[i].error == 0)
			maildir_work_fail(&works[i], doing, maildir_create_sync(works[i].path));
	for (size_t i = 0; i < count; i++)
		if (works[i].lacks_mailbox && works[i].error == 0)
			maildir_work_fail(&works[i], doing, maildir_create_tmp(works[i].path));
	for (size_t i = 0; i < count; i++)
		if (works[i].lacks_mailbox && works[i].error == 0)
			begin_delivery_work(maildir, &works[i]);
}

/* The path of its file in new/ or cur/. */
static int join_new(const struct maildir_work *work, struct maildir_path *out)
{
	const char *flags = work->delivery->flags;
	char name[MAILDIR_NAME_SIZE];
	int length = snprintf(name, sizeof name, "%s%s%s", work->new_name,
			      flags != NULL ? ":2," : "", flags != NULL ? flags : "");

	return length < (int)sizeof name ? maildir_path_join(out, work->path, work->box, name)
					 : -ENAMETOOLONG;
}

/* Makes new/ and cur/, one of which is missing, durably. */
static bool mend_maildir(struct maildir *maildir, const struct maildir_work *work)
{
	return maildir_create_names(maildir, work->path) == 0 &&
	       maildir_create_sync(work->path) == 0;
}

static void move_to_new(struct maildir *maildir, struct maildir_work *work)
{
	struct maildir_path from;
	struct maildir_path to;
	int result;

	name_new(maildir, work);
	result = maildir_path_join(&from, work->path, "tmp", work->tmp_name);
	if (result == 0)
		result = join_new(work, &to);
	if (result == 0)
		result = os_file_rename(OS_FILE_HERE, from.text, to.text);
	if (result == -ENOENT && mend_maildir(maildir, work))
		result = os_file_rename(OS_FILE_HERE, from.text, to.text);
	maildir_work_fail(work, "move the message out of tmp/", result);
	if (result < 0)
		work->new_name[0] = '\0';
}

static void set_maildir_verdict(struct maildir_work *work)
{
	struct mail_verdict *verdict = &work->delivery->verdict;

	if (work->is_loop)
		mail_verdict_set(verdict, "5.4.6",
				 "Mail loop: the message was delivered to this address before");
	else if (work->is_sealed)
		mail_verdict_set(verdict, "5.6.3", "%s", MAILBOX_COPY_SEALED_TEXT);
	else if (work->error == -ENAMETOOLONG)
		mail_verdict_set(verdict, "5.1.3", "No mailbox can have such a name");
	else if (work->error == -EMSGSIZE)
		mail_verdict_set(verdict, "5.2.3",
				 "The message is larger than the mailbox's quota");
	else if (work->error == -EDQUOT)
		mail_verdict_set(verdict, work->delivery->refuses_over_quota ? "5.2.2" : "4.2.2",
				 "The mailbox is over its quota");
	else if (work->error == -ENOSPC)
		mail_verdict_set(verdict, "4.3.1", "The disk of the mailbox is full");
	else
		mail_verdict_set(verdict, "4.3.0", "Cannot %s: %s", work->doing,
				 os_file_reason(work->error));
}

/* Whether the folder is to blame, for as long as nobody mends it. */
static bool is_folder_refused(const struct maildir_work *work)
{
	static const int errors[] = {ENOTDIR, EISDIR, EEXIST, EACCES,       EPERM,
				     ELOOP,   ENOENT, EXDEV,  ENAMETOOLONG, EINVAL};
	struct str path = work->delivery->path;
	struct os_file_info info;
	struct maildir_path tmp;

	if (work->folder_path == NULL || work->is_loop || work->is_sealed)
		return false;
	for (size_t i = 0; i < COUNT_OF(errors); i++)
		if (work->error == -errors[i])
			return maildir_path_join(&tmp, path, "tmp", NULL) == 0 &&
			       os_file_info_at(OS_FILE_HERE, tmp.text, &info) == 0;
	return false;
}

/* After a failed sync of new/ the message may or may not be durable; it is removed so that the next
 * attempt does not deliver it twice. */
static void remove_undelivered_file(struct maildir_work *work)
{
	struct maildir_path path;
	int result;

	work->delivery->may_remain = work->new_name[0] != '\0';
	if (work->delivery->may_remain)
		result = join_new(work, &path);
	else
		result = maildir_path_join(&path, work->path, "tmp", work->tmp_name);
	if (result == 0 && os_file_unlink(OS_FILE_HERE, path.text) < 0)
		return; /* in tmp/ it will be cleaned up; in new/ it becomes a duplicate */
}

/* The one of new/ and cur/ that it did not go to: without it readers take the Maildir for none. */
static void make_other_box(const struct maildir_work *work)
{
	const char *other = strcmp(work->box, "new") == 0 ? "cur" : "new";
	struct maildir_path path;
	struct os_file_info info;

	if (maildir_path_join(&path, work->path, other, NULL) == 0 &&
	    os_file_info_at(OS_FILE_HERE, path.text, &info) == -ENOENT)
		(void)!os_file_make_directory(OS_FILE_HERE, path.text);
}

static void end_delivery_work(struct maildir *maildir, struct maildir_work *work)
{
	if (work->file >= 0)
		os_file_close(work->file);
	if (work->error == 0) {
		mail_verdict_set(&work->delivery->verdict, "2.0.0", "stored");
		work->delivery->device = work->device;
		if (work->delivery->name_out != NULL)
			memcpy(work->delivery->name_out, work->new_name, sizeof work->new_name);
		make_other_box(work);
		maildir_clean(maildir, work->path);
		return;
	}
	if (work->file >= 0)
		remove_undelivered_file(work);
	work->delivery->is_refused = !work->delivery->may_remain && is_folder_refused(work);
	if (work->is_counted)
		maildir_quota_give_back(work->delivery->path, work->size);
	set_maildir_verdict(work);
}

static void set_up_delivery_work(struct maildir_work *work, struct maildir_delivery *delivery)
{
	work->delivery = delivery;
	work->path = delivery->path;
	work->box = delivery->flags != NULL ? "cur" : "new";
	delivery->may_remain = false;
	delivery->is_refused = false;
	if (delivery->folder != NULL) {
		struct buffer path = {0};

		buffer_append_str(&path, delivery->path);
		buffer_append_format(&path, "/%s", delivery->folder);
		buffer_append_byte(&path, '\0');
		work->folder_path = memory_copy_string(buffer_data(&path));
		work->path = str_from(work->folder_path);
		buffer_clear(&path);
	}
}

/* False: nothing may be moved to new/. */
static bool pass_maildir_gate(const struct maildir_gate *gate, struct maildir_work *works,
			      size_t count)
{
	if (gate == NULL || gate->pass(gate->context) == 0)
		return true;
	for (size_t i = 0; i < count; i++)
		maildir_work_fail(&works[i], "store the message now", -ECANCELED);
	return false;
}

static void move_all(struct maildir *maildir, struct maildir_work *works, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (works[i].error == 0)
			move_to_new(maildir, &works[i]);
	maildir_sync_folders(maildir, works, count);
}

void maildir_deliver_group(struct maildir *maildir, struct maildir_delivery *deliveries,
			   size_t count, const struct maildir_gate *gate)
{
	struct maildir_work *works = memory_alloc_zero(count, sizeof *works);

	for (size_t i = 0; i < count; i++) {
		set_up_delivery_work(&works[i], &deliveries[i]);
		begin_delivery_work(maildir, &works[i]);
	}
	create_missing(maildir, works, count);
	maildir_sync_plan(maildir, works, count);
	maildir_sync_files(works, count);
	if (pass_maildir_gate(gate, works, count))
		move_all(maildir, works, count);
	for (size_t i = 0; i < count; i++) {
		end_delivery_work(maildir, &works[i]);
		free(works[i].folder_path);
	}
	free(works);
}
