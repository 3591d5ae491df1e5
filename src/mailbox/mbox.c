// SPDX-License-Identifier: ISC
#include "mailbox/mbox.h"
#include "base/panic.h"
#include "mailbox/copy.h"
#include "mailbox/internal_mbox.h"
#include "os/file/file.h"
#include "os/file/reason.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct mbox *mbox_new(const char *host)
{
	struct mbox *mbox = memory_alloc_zero(1, sizeof *mbox);
	size_t length = 0;

	for (; host[length] != '\0' && length < MBOX_HOST_MAX; length++)
		mbox->host[length] =
			host[length] == '/' || host[length] <= ' ' ? '-' : host[length];
	mbox->input = memory_alloc(MBOX_BLOCK);
	return mbox;
}

void mbox_free(struct mbox *mbox)
{
	if (mbox == NULL)
		return;
	buffer_clear(&mbox->copy);
	buffer_clear(&mbox->output);
	free(mbox->input);
	free(mbox);
}

/* A delivery under way. */
struct mbox_work {
	struct maildir_delivery *delivery;
	int error;         /* 0, -errno or MAILBOX_COPY_... of the first step that failed */
	const char *doing; /* then */
	const char *flaw;  /* of the file */
	bool is_done;      /* it has its verdict */
};

struct mbox_refusal {
	int error;
	const char *status;
	const char *text;
};

static const struct mbox_refusal refusals[] = {
	{MAILBOX_COPY_LOOP, "5.4.6", "Mail loop: the message was delivered to this address before"},
	{MAILBOX_COPY_SEALED, "5.6.3", MAILBOX_COPY_SEALED_TEXT},
	{-ENAMETOOLONG, "5.1.3", "No mailbox can have such a name"},
	{-EAGAIN, "4.2.0", "Another program has locked the mailbox"},
	{-EDQUOT, "4.2.2", "The owner of the mailbox may use no more of the disk"},
	{-ENOSPC, "4.3.1", "The disk of the mailbox is full"},
};

static void set_mbox_verdict(struct mail_verdict *verdict, const struct mbox_work *work)
{
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		if (refusals[i].error != work->error)
			continue;
		mail_verdict_set(verdict, refusals[i].status, "%s", refusals[i].text);
		return;
	}
	if (work->flaw != NULL)
		mail_verdict_set(verdict, "4.3.0", "The mailbox is no file to deliver to: %s",
				 work->flaw);
	else
		mail_verdict_set(verdict, "4.3.0", "Cannot %s: %s", work->doing,
				 os_file_reason(work->error));
}

static void end_work(struct mbox_work *work, const struct mbox_file *box)
{
	struct maildir_delivery *delivery = work->delivery;

	work->is_done = true;
	delivery->is_locked = work->error == -EAGAIN;
	delivery->flaw = work->flaw;
	delivery->removed = box->removed;
	if (work->error == 0)
		mail_verdict_set(&delivery->verdict, "2.0.0", "stored");
	else
		set_mbox_verdict(&delivery->verdict, work);
}

/* Records RESULT if it is the first error. */
static void fail_work(struct mbox_work *work, const struct mbox_file *box, int result)
{
	if (work->error != 0 || result == 0)
		return;
	work->error = result;
	work->doing = box->doing;
	work->flaw = result == -EBADF ? box->flaw : NULL;
}

/* Removes what was written after the first SIZE bytes. If that fails, the lock file has to stay: it
 * says where the incomplete message begins. */
static void cut_back(struct mbox_file *box, uint64_t size, bool *is_broken)
{
	int result = os_file_truncate(box->file, size);

	if (result == 0)
		result = os_file_sync(box->file);
	*is_broken |= result < 0;
}

/* Appends the message of DELIVERY. If that fails the file is as before, or *IS_BROKEN. */
static int append_message(struct mbox *mbox, struct mbox_file *box,
			  const struct maildir_delivery *delivery, bool is_first, bool *is_broken)
{
	struct buffer head CLEANUP(buffer_clear) = {0};
	uint64_t size = 0;
	int result;

	box->doing = "read the mailbox";
	result = mbox_write_head(box, delivery, &head);
	if (result < 0)
		return result;
	box->doing = "write the lock file beside the mailbox";
	result = mbox_lock_record(mbox, box, buffer_view(&head));
	/* later ones need not be durable: with the first one's text nothing is removed, as several
	 * messages come after it */
	if (result == 0 && is_first)
		result = os_file_sync(box->record);
	if (result < 0)
		return result;
	box->doing = "write the message";
	result = mbox_write(mbox, box, delivery, buffer_view(&head), &size);
	if (result == 0)
		box->size = size;
	else
		cut_back(box, box->size, is_broken);
	return result;
}

/* The works of a file, each after the one before, durably. If a part of a message cannot be removed
 * nothing counts as stored. */
static void fill_box(struct mbox *mbox, struct mbox_file *box, struct mbox_work **works,
		     size_t count)
{
	const uint64_t size = box->size;
	bool is_broken = false;
	int result = 0;

	for (size_t i = 0; i < count && !is_broken; i++)
		fail_work(works[i], box,
			  append_message(mbox, box, works[i]->delivery, i == 0, &is_broken));
	box->doing = "make the message durable";
	if (is_broken)
		result = -EIO;
	else if (box->size > size)
		result = os_file_sync(box->file);
	if (result < 0 && !is_broken)
		cut_back(box, size, &is_broken);
	for (size_t i = 0; i < count; i++)
		fail_work(works[i], box, result);
	box->doing = "remove the lock file beside the mailbox";
	result = mbox_file_close(box, is_broken);
	for (size_t i = 0; i < count; i++)
		fail_work(works[i], box, result);
}

static void deliver_to_box(struct mbox *mbox, uid_t owner, struct mbox_work **works, size_t count)
{
	struct mbox_file box;
	int result = mbox_file_open(mbox, works[0]->delivery->path, owner, &box);

	if (result == 0)
		fill_box(mbox, &box, works, count);
	for (size_t i = 0; i < count; i++) {
		fail_work(works[i], &box, result);
		end_work(works[i], &box);
	}
}

void mbox_deliver_group(struct mbox *mbox, uid_t owner, struct maildir_delivery *deliveries,
			size_t count)
{
	struct mbox_work *works = memory_alloc_zero(count, sizeof *works);
	struct mbox_work **same = memory_alloc_zero(count, sizeof *same);

	for (size_t i = 0; i < count; i++)
		works[i].delivery = &deliveries[i];
	for (size_t i = 0; i < count; i++) {
		size_t of_box = 0;

		for (size_t j = i; j < count && !works[i].is_done; j++)
			if (str_equal(deliveries[i].path, deliveries[j].path))
				same[of_box++] = &works[j];
		if (of_box > 0)
			deliver_to_box(mbox, owner, same, of_box);
	}
	free(same);
	free(works);
}
