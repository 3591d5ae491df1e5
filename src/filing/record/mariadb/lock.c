// SPDX-License-Identifier: ISC
/*
 * Locks by GET_LOCK(), which belong to the connection and not to the transaction. What it says:
 *
 *   GET_LOCK      1: taken; 0: another one has it; NULL: an error, so whether it was taken is not
 *                 known
 *   RELEASE_LOCK  1: released; 0: another connection has it; NULL: nobody has: the turn was lost
 */
#include "filing/record/mariadb/internal.h"
#include <errno.h>
#include <utlist.h>

enum { NO_ANSWER = -1 };

static void take_answer_of_lock(void *context, const struct record_value *values, size_t count)
{
	(void)count;
	*(int64_t *)context = values[0].kind == RECORD_NUMBER ? values[0].number : NO_ANSWER;
}

static int ask_for_lock(struct record_mariadb *mariadb, const char *text,
			const struct lock_name *name, int64_t *answer_out)
{
	const struct record_value value = {.kind = RECORD_TEXT, .bytes = str_from(name->text)};

	*answer_out = NO_ANSWER;
	return record_mariadb_ask(mariadb, text, &value, 1, take_answer_of_lock, answer_out);
}

static int lose_mariadb_locks(struct record_mariadb *mariadb, const char *text)
{
	(void)record_sql_fail(&mariadb->sql, -ENOTCONN, "%s", text);
	record_mariadb_close(mariadb); /* and with it all locks */
	return -ENOTCONN;
}

static bool has_mariadb_lock(const struct record_mariadb *mariadb, const struct lock_name *name)
{
	const struct record_mariadb_lock *lock;

	LL_FOREACH(mariadb->locks, lock)
	if (strcmp(lock->name.text, name->text) == 0)
		return true;
	return false;
}

static int take_mariadb_lock(struct record_mariadb *mariadb, const struct lock_name *name)
{
	struct record_mariadb_lock *lock;
	int64_t answer;
	int error;

	if (has_mariadb_lock(mariadb, name))
		return 0;
	/* the server ends transactions that nobody goes on with, and so their locks */
	error = record_mariadb_open(mariadb);
	if (error == 0)
		error = ask_for_lock(mariadb, "SELECT GET_LOCK(?1, 0)", name, &answer);
	if (error < 0)
		return error;
	if (answer == NO_ANSWER)
		return lose_mariadb_locks(mariadb, "GET_LOCK() failed");
	if (answer == 0)
		return -EAGAIN;
	lock = arena_alloc(mariadb->lock_memory, sizeof *lock);
	lock->name = *name;
	LL_PREPEND(mariadb->locks, lock);
	return 0;
}

int record_mariadb_lock(struct record *record, struct record_turn *turns, size_t count)
{
	struct record_mariadb *mariadb = record_mariadb_of(record);
	int error = record_sql_check(&mariadb->sql);

	for (size_t i = 0; error == 0 && i < count; i++) {
		error = take_mariadb_lock(mariadb, turns[i].name);
		turns[i].is_taken = error == 0;
		if (error == -EAGAIN)
			error = 0;
	}
	return error;
}

int record_mariadb_lock_check(struct record_mariadb *mariadb)
{
	struct record_mariadb_lock *lock;

	LL_FOREACH(mariadb->locks, lock)
	{
		int64_t is_ours;
		int error = ask_for_lock(mariadb, "SELECT IS_USED_LOCK(?1) = CONNECTION_ID()",
					 &lock->name, &is_ours);

		if (error < 0)
			return error;
		if (is_ours != 1)
			return lose_mariadb_locks(mariadb, "the lock is not there any more");
	}
	return 0;
}

int record_mariadb_lock_release(struct record_mariadb *mariadb)
{
	int error = 0;
	struct record_mariadb_lock *lock;

	LL_FOREACH(mariadb->locks, lock)
	{
		int64_t answer;

		error = ask_for_lock(mariadb, "SELECT RELEASE_LOCK(?1)", &lock->name, &answer);
		if (error == 0 && answer != 1)
			error = lose_mariadb_locks(
				mariadb, "the lock was not there any more when it was released");
		if (error < 0)
			break;
	}
	if (error < 0)
		record_mariadb_close(mariadb);
	mariadb->locks = NULL;
	arena_reset(mariadb->lock_memory);
	return error;
}

/* ---- who has one ---- */

int record_mariadb_holder(struct record *record, const struct lock_name *name, struct arena *arena,
			  struct str *holder_out)
{
	struct record_mariadb *mariadb = record_mariadb_of(record);
	const struct record_value value = {.kind = RECORD_TEXT, .bytes = str_from(name->text)};
	struct record_taken taken = {.arena = arena, .text = STR("")};
	int error = record_sql_begin(record);

	record_sql_ended(&mariadb->sql);
	if (error < 0)
		return error;
	error = record_mariadb_ask(
		mariadb,
		"SELECT concat('connection ', l.id, coalesce(concat(' of ', p.user,"
		" ' at ', p.host, ', state for ', p.time, ' seconds'), ''))"
		" FROM (SELECT IS_USED_LOCK(?1) AS id) l"
		" LEFT JOIN information_schema.processlist p ON p.id = l.id"
		" WHERE l.id IS NOT NULL",
		&value, 1, record_take_text, &taken);
	if (error == 0)
		*holder_out = taken.text;
	return error;
}
