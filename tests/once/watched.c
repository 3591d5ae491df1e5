// SPDX-License-Identifier: ISC
/*
 * tests/once/watched.c - the record of "stagepost mailbox", watched: this program is the command
 * itself, whose mailbox_record_new() and mailstore_append() the linker wraps.
 *
 *   ONCE_WITHOUT=lock   nobody is kept out of the section
 *   ONCE_WITHOUT=row    what is recorded of earlier copies is not seen
 *   ONCE_WITHOUT=lock,row
 *   ONCE_HOLD=PATH      before a copy is appended: makes PATH, and goes on when it is removed
 *   ONCE_PAUSE=N        waits for N milliseconds after the mailbox was looked into, before
 *                       anything is written there
 */
#include "base/panic.h"
#include "deliver/mailbox/open.h"
#include "os/clock.h"
#include "witness.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record *__real_mailbox_record_new(const struct config *config);
struct record *__wrap_mailbox_record_new(const struct config *config);

void __real_mailstore_append(struct mailstore *store, struct mailstore_append *appends,
			     size_t count, const struct mailstore_gate *gate);
void __wrap_mailstore_append(struct mailstore *store, struct mailstore_append *appends,
			     size_t count, const struct mailstore_gate *gate);

struct watched {
	struct record record; /* the first member */
	struct record *inner, *second;
	struct witness *witness;
	struct lock_name name; /* of the only message */
	bool has_lock, has_row;
};

static struct watched *of(struct record *record)
{
	return (struct watched *)(void *)record;
}

/* RESULT, with the words for it. */
static int tell(struct watched *watched, int result)
{
	if (result < 0)
		snprintf(watched->record.error, sizeof watched->record.error, "%s",
			 record_error(watched->inner));
	return result;
}

static bool lacks(const char *what)
{
	const char *without = getenv("ONCE_WITHOUT");

	return without != NULL && strstr(without, what) != NULL;
}

static void hold(void)
{
	const char *path = getenv("ONCE_HOLD");

	if (path == NULL)
		return;
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	while (access(path, F_OK) == 0)
		os_clock_pause_ms(1);
}

void __wrap_mailstore_append(struct mailstore *store, struct mailstore_append *appends,
			     size_t count, const struct mailstore_gate *gate)
{
	const char *pause = getenv("ONCE_PAUSE");

	if (pause != NULL)
		os_clock_pause_ms((unsigned)strtoul(pause, NULL, 10));
	__real_mailstore_append(store, appends, count, gate);
}

static int begin(struct record *record)
{
	return tell(of(record), record_begin(of(record)->inner));
}

static int lock(struct record *record, struct record_turn *turns, size_t count)
{
	struct watched *watched = of(record);

	if (count > 0)
		watched->name = *turns[0].name;
	if (watched->has_lock)
		return tell(watched, record_lock_all(watched->inner, turns, count));
	for (size_t i = 0; i < count; i++)
		turns[i].is_taken = true;
	return 0;
}

static int put(struct record *record, struct record_entry *entries, size_t count)
{
	return tell(of(record), record_put_all(of(record)->inner, entries, count));
}

static int decide(struct record *record, struct record_attempt **attempts, size_t count)
{
	return tell(of(record), record_decide_all(of(record)->inner, attempts, count));
}

static int move(struct record *record, struct record_attempt **attempts, size_t count)
{
	return tell(of(record), record_move_all(of(record)->inner, attempts, count));
}

static int new_folders(struct record *record, const struct record_mailbox *mailbox,
		       int64_t since_us, unsigned *count_out)
{
	return tell(of(record),
		    record_new_folders(of(record)->inner, mailbox, since_us, count_out));
}

static int unfile(struct record *record, int64_t filing)
{
	return tell(of(record), record_unfile(of(record)->inner, filing));
}

/* As if they had never been filed or tried. */
static void forget_rows(struct record_attempt **attempts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		attempts[i]->row.state = RECORD_FILING;
		attempts[i]->row.others = 0;
		attempts[i]->row.is_ours = true;
	}
}

static int open_rows(struct record *record, struct record_attempt **attempts, size_t count,
		     int64_t now_us)
{
	struct watched *watched = of(record);
	int error = record_open_all(watched->inner, attempts, count, now_us);

	if (error == 0 && !watched->has_row)
		forget_rows(attempts, count);
	return tell(watched, error);
}

static int look(struct record *record, struct record_attempt **attempts, size_t count)
{
	struct watched *watched = of(record);
	int error = count > 0 ? witness_enter(watched->witness, &watched->name) : 0;

	if (error < 0) {
		snprintf(record->error, sizeof record->error, "the witness is gone");
		return error;
	}
	error = record_look_all(watched->inner, attempts, count);
	if (error == 0 && !watched->has_row)
		forget_rows(attempts, count);
	return tell(watched, error);
}

static int filed(struct record *record, struct record_attempt **attempts, size_t count,
		 int64_t now_us)
{
	return tell(of(record), record_filed_all(of(record)->inner, attempts, count, now_us));
}

static int end(struct record *record, struct record_attempt **attempts, size_t count)
{
	return tell(of(record), record_end_all(of(record)->inner, attempts, count));
}

static int settle(struct record *record, int64_t filing, int64_t before_us)
{
	return tell(of(record), record_settle(of(record)->inner, filing, before_us));
}

static int check(struct record *record)
{
	int error = tell(of(record), record_check(of(record)->inner));

	if (error == 0)
		hold();
	return error;
}

static int commit(struct record *record)
{
	struct watched *watched = of(record);
	int error = witness_leave(watched->witness);

	if (error == 0)
		error = record_commit(watched->inner);
	return tell(watched, error);
}

static void rollback(struct record *record)
{
	witness_forget(of(record)->witness);
	record_rollback(of(record)->inner);
}

static void free_watched(struct record *record)
{
	struct watched *watched = of(record);

	record_free(watched->inner);
	record_free(watched->second);
	witness_free(watched->witness);
	free(watched);
}

struct record *__wrap_mailbox_record_new(const struct config *config)
{
	static struct record_operations operations;
	struct watched *watched = memory_alloc_zero(1, sizeof *watched);

	operations = (struct record_operations){.begin = begin,
						.lock = lock,
						.put = put,
						.decide = decide,
						.move = move,
						.unfile = unfile,
						.new_folders = new_folders,
						.open = open_rows,
						.look = look,
						.filed = filed,
						.end = end,
						.settle = settle,
						.check = check,
						.commit = commit,
						.rollback = rollback,
						.free = free_watched};
	watched->record.operations = &operations;
	watched->second = __real_mailbox_record_new(config);
	watched->inner = __real_mailbox_record_new(config);
	watched->witness = witness_new(config, watched->inner, watched->second);
	watched->has_lock = !lacks("lock");
	watched->has_row = !lacks("row");
	return &watched->record;
}
