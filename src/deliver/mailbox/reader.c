// SPDX-License-Identifier: ISC
#include "deliver/mailbox/reader.h"
#include "base/panic.h"
#include "os/worker.h"
#include <stdint.h>
#include <stdlib.h>
#include <utlist.h>

struct mailbox_reader {
	void (*done)(struct mailbox_entry *entry, int error);
	struct os_wakeup *wakeup;
	struct os_worker *worker;      /* NULL: none was needed yet */
	struct mailbox_entry *entries; /* in order; the first is being read */
	bool is_reading;
	int error; /* the thread's while it is busy */
};

static void identify_first_entry(void *context)
{
	struct mailbox_reader *reader = context;

	reader->error = mailbox_entry_identify(reader->entries);
}

static void read_next(struct mailbox_reader *reader)
{
	if (reader->is_reading || reader->entries == NULL)
		return;
	reader->is_reading = true;
	os_worker_start(reader->worker);
}

static struct mailbox_entry *take_first_mailbox_entry(struct mailbox_reader *reader)
{
	struct mailbox_entry *entry = reader->entries;

	DL_DELETE2(reader->entries, entry, previous, next);
	return entry;
}

static void on_entry_identified(void *context)
{
	struct mailbox_reader *reader = context;
	struct mailbox_entry *entry;
	int error;

	if (!reader->is_reading || os_worker_is_busy(reader->worker))
		return;
	reader->is_reading = false;
	error = reader->error;
	entry = take_first_mailbox_entry(reader);
	read_next(reader);
	reader->done(entry, error);
}

struct mailbox_reader *mailbox_reader_new(struct os_loop *loop,
					  void (*done)(struct mailbox_entry *entry, int error))
{
	struct mailbox_reader *reader = memory_alloc_zero(1, sizeof *reader);

	reader->done = done;
	reader->wakeup = os_wakeup_new(loop, on_entry_identified, reader);
	return reader;
}

void mailbox_reader_free(struct mailbox_reader *reader)
{
	if (reader == NULL)
		return;
	mailbox_reader_drop(reader);
	os_worker_free(reader->worker);
	os_wakeup_free(reader->wakeup);
	free(reader);
}

int mailbox_reader_give(struct mailbox_reader *reader, struct mailbox_entry *entry)
{
	int error = 0;

	if (reader->worker == NULL)
		error = os_worker_new(identify_first_entry, reader, reader->wakeup,
				      &reader->worker);
	if (error != 0)
		return error;
	DL_APPEND2(reader->entries, entry, previous, next);
	read_next(reader);
	return 0;
}

void mailbox_reader_drop(struct mailbox_reader *reader)
{
	if (reader->is_reading)
		(void)!os_worker_wait(reader->worker, INT64_MAX);
	reader->is_reading = false;
	while (reader->entries != NULL)
		mailbox_entry_give_up(take_first_mailbox_entry(reader), NULL);
}
