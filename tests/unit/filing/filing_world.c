// SPDX-License-Identifier: ISC
/* The database. */
#include "filing_world.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct world_worker *of(struct record *record)
{
	return (struct world_worker *)(void *)record;
}

static int64_t now_of(const struct world_worker *worker)
{
	return (int64_t)worker->world->calls * WORLD_CALL_US + worker->clock_us;
}

/* ---- connections ---- */

static void leave(struct world_worker *worker)
{
	struct world *world = worker->world;

	for (size_t i = 0; i < WORLD_ROWS; i++)
		if (world->locks[i] == worker)
			world->locks[i] = NULL;
	worker->is_begun = false;
	worker->change_count = 0;
}

enum world_fault world_step(struct world_worker *worker, enum world_call call)
{
	enum world_fault fault = WORLD_FINE;

	if (worker->is_dead)
		return WORLD_DEATH;
	worker->world->calls++;
	worker->world->made[call]++;
	fault = worker->world->judge(worker->world->context, worker->number, call);
	if (fault == WORLD_DEATH || fault == WORLD_LOST)
		leave(worker);
	worker->is_dead = fault == WORLD_DEATH;
	if (worker->world->turn != NULL)
		worker->world->turn(worker->world->context);
	return fault;
}

/* 0, or why CALL of a transaction fails. */
static int step(struct world_worker *worker, enum world_call call)
{
	enum world_fault fault = world_step(worker, call);

	if (fault == WORLD_REFUSED)
		return -EDEADLK;
	return worker->is_begun ? 0 : -ENOTCONN;
}

static int begin(struct record *record)
{
	struct world_worker *worker = of(record);
	enum world_fault fault = world_step(worker, WORLD_BEGIN);

	leave(worker);
	worker->is_begun = fault == WORLD_FINE;
	return worker->is_begun ? 0 : -ENOTCONN;
}

static int lock_one(struct record *record, const struct lock_name *name)
{
	struct world_worker *worker = of(record);
	struct world *world = worker->world;
	int error = step(worker, WORLD_LOCK);
	size_t at = 0;

	while (world->lock_keys[at] != name->key && world->lock_keys[at] != 0)
		at++;
	if (error < 0)
		return error;
	if (world->locks[at] != NULL && world->locks[at] != worker)
		return -EAGAIN;
	world->lock_keys[at] = name->key;
	world->locks[at] = worker;
	return 0;
}

/* ---- transactions ---- */

static void remove_attempt(struct world_row *row, size_t at)
{
	row->attempts[at] = row->attempts[--row->attempt_count];
}

static void apply(struct world_database *database, const struct world_change *change)
{
	struct world_row *row = &database->rows[change->row];

	if (change->call == WORLD_OPEN) {
		memcpy(row->id, change->text.id, sizeof row->id);
		memcpy(row->user, change->text.user, sizeof row->user);
		row->attempts[row->attempt_count].token = change->token;
		row->attempts[row->attempt_count++].began_us = change->time_us;
		return;
	}
	if (change->call == WORLD_FILED) {
		row->state = RECORD_FILED;
		memcpy(row->copy, change->text.copy, sizeof row->copy);
	}
	for (size_t i = row->attempt_count; i-- > 0;) {
		bool is_ours =
			memcmp(&row->attempts[i].token, &change->token, sizeof change->token) == 0;
		bool is_old = row->attempts[i].began_us < change->time_us;

		if (change->call == WORLD_SETTLE ? is_old : is_ours)
			remove_attempt(row, i);
	}
}

/* What the worker's transaction sees. */
static struct world_database view(const struct world_worker *worker)
{
	struct world_database database = worker->world->database;

	for (size_t i = 0; i < worker->change_count; i++)
		apply(&database, &worker->changes[i]);
	return database;
}

static struct world_change *change(struct world_worker *worker, enum world_call call, size_t row,
				   const struct record_token *token)
{
	struct world_change *made = &worker->changes[worker->change_count++];

	*made = (struct world_change){.call = call, .row = row};
	if (token != NULL)
		made->token = *token;
	return made;
}

static void fail_over(struct world *world)
{
	world->database = world->before[1];
	for (size_t i = 0; i < WORLD_WORKERS; i++)
		leave(&world->workers[i]);
}

static int commit(struct record *record)
{
	struct world_worker *worker = of(record);
	struct world *world = worker->world;
	enum world_fault fault = world_step(worker, WORLD_COMMIT);

	if (!worker->is_begun)
		return -ENOTCONN;
	if (fault == WORLD_REFUSED)
		return -EDEADLK;
	world->before[1] = world->before[0];
	world->before[0] = world->database;
	world->database = view(worker);
	leave(worker);
	if (fault == WORLD_OVER)
		fail_over(world);
	return fault == WORLD_UNKNOWN || fault == WORLD_OVER ? -ENOTCONN : 0;
}

static void rollback(struct record *record)
{
	leave(of(record));
}

/* ---- rows ---- */

static int put_one(struct record *record, struct record_entry *entry)
{
	struct world *world = of(record)->world;
	int error = step(of(record), WORLD_PUT);
	char id[40];
	size_t at = 0;

	if (error < 0)
		return error;
	snprintf(id, sizeof id, STR_FORMAT, STR_ARGUMENTS(entry->message->id));
	while (world->ids[at][0] != '\0' && strcmp(world->ids[at], id) != 0)
		at++;
	memcpy(world->ids[at], id, sizeof id);
	entry->number = (int64_t)at + 1;
	entry->is_new = false;
	entry->different = 0;
	return 0;
}

static void tell_row(const struct world_worker *worker, const struct world_row *row,
		     const struct record_token *token, struct record_filing *out)
{
	static char copies[WORLD_ROWS][MAILSTORE_COPY_SIZE];
	char *copy = copies[out->number - 1];

	memcpy(copy, row->copy, sizeof row->copy);
	out->state = row->state;
	out->copy = str_from(copy);
	for (size_t i = 0; i < row->attempt_count; i++) {
		int64_t age_us = now_of(worker) - row->attempts[i].began_us;

		if (memcmp(&row->attempts[i].token, token, sizeof *token) == 0) {
			out->is_ours = true;
			continue;
		}
		out->others++;
		if (os_clock_wall_us() - age_us > out->last_us)
			out->last_us = os_clock_wall_us() - age_us;
	}
}

static int open_one(struct record *record, struct record_attempt *attempt)
{
	struct world_worker *worker = of(record);
	int error = step(worker, WORLD_OPEN);
	struct world_database database = view(worker);
	const char *id = worker->world->ids[attempt->message - 1];
	struct record_filing *out = &attempt->row;
	struct world_change *made;
	size_t at = 0;

	if (error < 0)
		return error;
	while (database.rows[at].id[0] != '\0' &&
	       (strcmp(database.rows[at].id, id) != 0 ||
		!str_equal(str_from(database.rows[at].user), attempt->mailbox.user)))
		at++;
	*out = (struct record_filing){.number = (int64_t)at + 1};
	tell_row(worker, &database.rows[at], &attempt->token, out);
	if (out->is_ours || (out->state == RECORD_FILED && out->others == 0))
		return 0;
	made = change(worker, WORLD_OPEN, at, &attempt->token);
	made->time_us = now_of(worker);
	snprintf(made->text.id, sizeof made->text.id, "%s", id);
	snprintf(made->text.user, sizeof made->text.user, STR_FORMAT,
		 STR_ARGUMENTS(attempt->mailbox.user));
	out->is_ours = true;
	return 0;
}

static int look_one(struct record *record, struct record_attempt *attempt)
{
	struct world_worker *worker = of(record);
	int64_t filing = attempt->row.number;
	int error = step(worker, WORLD_LOOK);
	struct world_database database = view(worker);

	if (error < 0)
		return error;
	if (database.rows[filing - 1].id[0] == '\0')
		return -ENOENT;
	attempt->row = (struct record_filing){.number = filing};
	tell_row(worker, &database.rows[filing - 1], &attempt->token, &attempt->row);
	return 0;
}

static int filed_one(struct record *record, struct record_attempt *attempt)
{
	int error = step(of(record), WORLD_FILED);
	struct world_change *made;

	if (error < 0)
		return error;
	made = change(of(record), WORLD_FILED, (size_t)attempt->row.number - 1, &attempt->token);
	snprintf(made->text.copy, sizeof made->text.copy, STR_FORMAT, STR_ARGUMENTS(attempt->copy));
	return 0;
}

static int end_one(struct record *record, struct record_attempt *attempt)
{
	int error = step(of(record), WORLD_END);

	if (error == 0)
		(void)change(of(record), WORLD_END, (size_t)attempt->row.number - 1,
			     &attempt->token);
	return error;
}

/* ---- groups ---- */

static int lock(struct record *record, struct record_turn *turns, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && (error == 0 || error == -EAGAIN); i++) {
		error = lock_one(record, turns[i].name);
		turns[i].is_taken = error == 0;
	}
	return error == -EAGAIN ? 0 : error;
}

static int put(struct record *record, struct record_entry *entries, size_t count)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < count; i++)
		error = put_one(record, &entries[i]);
	return error;
}

static int for_each(struct record *record, struct record_attempt **attempts, size_t count,
		    int (*call)(struct record *record, struct record_attempt *attempt))
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < count; i++)
		error = call(record, attempts[i]);
	return error;
}

/* All workers are of one mind; who are not is tested with databases. */
static int decide(struct record *record, struct record_attempt **attempts, size_t count)
{
	(void)attempts;
	(void)count;
	return of(record)->is_begun ? 0 : -ENOTCONN;
}

static int open(struct record *record, struct record_attempt **attempts, size_t count,
		int64_t now_us)
{
	(void)now_us;
	return for_each(record, attempts, count, open_one);
}

static int look(struct record *record, struct record_attempt **attempts, size_t count)
{
	return for_each(record, attempts, count, look_one);
}

static int filed(struct record *record, struct record_attempt **attempts, size_t count,
		 int64_t now_us)
{
	(void)now_us;
	return for_each(record, attempts, count, filed_one);
}

static int end(struct record *record, struct record_attempt **attempts, size_t count)
{
	return for_each(record, attempts, count, end_one);
}

static int settle(struct record *record, int64_t filing, int64_t before_us)
{
	struct world_worker *worker = of(record);
	int error = step(worker, WORLD_SETTLE);

	if (error == 0)
		change(worker, WORLD_SETTLE, (size_t)filing - 1, NULL)->time_us =
			now_of(worker) - (os_clock_wall_us() - before_us);
	return error;
}

static int check(struct record *record)
{
	return step(of(record), WORLD_CHECK);
}

/* ---- the world ---- */

void world_revive(struct world_worker *worker)
{
	leave(worker);
	worker->is_dead = false;
}

void world_begin(struct world *world)
{
	static const struct record_operations operations = {
		.begin = begin,
		.lock = lock,
		.put = put,
		.decide = decide,
		.open = open,
		.look = look,
		.filed = filed,
		.end = end,
		.settle = settle,
		.check = check,
		.commit = commit,
		.rollback = rollback,
	};

	*world = (struct world){.judge = world->judge,
				.turn = world->turn,
				.context = world->context,
				.append_max_us = world->append_max_us};
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		struct world_worker *worker = &world->workers[i];

		worker->record.operations = &operations;
		snprintf(worker->record.error, sizeof worker->record.error, "as the test wants");
		worker->world = world;
		worker->number = i;
		world_set_store(worker);
	}
}
