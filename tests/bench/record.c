// SPDX-License-Identifier: ISC
/*
 * How many copies a second the database of messages can have filed, and what the same rows cost
 * alone: each group of copies is the two transactions of filing/record/record.h, of messages with
 * three participants and two parts, without a mailbox.
 *
 * usage: bench_record COPIES CONNECTIONS GROUP sqlite PATH
 *        bench_record COPIES CONNECTIONS GROUP postgresql CONNINFO
 *        bench_record COPIES CONNECTIONS GROUP mariadb SOCKET USER DATABASE
 */
#include "filing/record/mariadb/mariadb.h"
#include "filing/record/postgresql/postgresql.h"
#include "filing/record/sql.h"
#include "filing/record/sqlite/sqlite.h"
#include "os/clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_MS = 10000, GROUP_MAX = 64 };

static struct decode_participant participants[] = {
	{DECODE_FROM, {"lisa@example.com", 16}, {"Lisa", 4}},
	{DECODE_TO, {"scuba@example.org", 17}, {"", 0}},
	{DECODE_TO, {"doug@example.org", 16}, {"Doug", 4}},
};
static struct decode_part parts[] = {
	{.number = {"1", 1}, .type = {"text/plain", 10}, .charset = {"utf-8", 5}, .size = 10},
	{.number = {"2", 1},
	 .type = {"image/png", 9},
	 .disposition = {"attachment", 10},
	 .filename = {"a.png", 5},
	 .size = 40000},
};
static const struct decode_message decoded = {.subject = {"Our next meeting", 16},
					      .participants = participants,
					      .participant_count = COUNT_OF(participants),
					      .parts = parts,
					      .part_count = COUNT_OF(parts)};

static struct record *connect_to(char **words)
{
	const struct record_mariadb_settings settings = {.hosts = "",
							 .socket = words[1],
							 .user = words[2],
							 .database =
								 words[2] != NULL ? words[3] : NULL,
							 .password_file = "",
							 .authority = "",
							 .certificate = "",
							 .key = "",
							 .timeout_ms = TIMEOUT_MS};

	if (strcmp(words[0], "sqlite") == 0)
		return record_sqlite_new(words[1]);
	if (strcmp(words[0], "postgresql") == 0)
		return record_postgresql_new(words[1], TIMEOUT_MS);
	return record_mariadb_new(&settings);
}

static void need(struct record *record, int error)
{
	if (error == 0)
		return;
	fprintf(stderr, "%s: %s\n", strerror(-error), record_error(record));
	exit(1);
}

struct copy {
	char id[60], user[60];
	struct record_message message;
	struct lock_name lock;
	struct record_attempt attempt;
};

static void make_copy(struct copy *copy, int worker, int number)
{
	static int64_t once;

	if (once == 0)
		once = os_clock_wall_us();
	snprintf(copy->id, sizeof copy->id, "<%d.%d.%lld@example.com>", worker, number,
		 (long long)once);
	snprintf(copy->user, sizeof copy->user, "user-%d@example.org", number % 100);
	copy->message = (struct record_message){.id = str_from(copy->id),
						.size = 2000,
						.recorded_us = once,
						.sender = STR("lisa@example.com"),
						.decoded = &decoded};
	copy->attempt = (struct record_attempt){.mailbox = {str_from(copy->user), STR("INBOX")},
						.copy = STR("1:2")};
	lock_name_make(copy->message.id, &copy->lock);
	memcpy(copy->attempt.token.bytes, &number, sizeof number);
}

/* ---- as messages are filed ---- */

static void take_locks(struct record *record, struct copy *copies, size_t count)
{
	struct record_turn turns[GROUP_MAX];

	for (size_t i = 0; i < count; i++)
		turns[i] = (struct record_turn){.name = &copies[i].lock};
	need(record, record_begin(record));
	need(record, record_lock_all(record, turns, count));
}

static void file(struct record *record, struct copy *copies, size_t count)
{
	struct record_entry entries[GROUP_MAX];
	struct record_attempt *attempts[GROUP_MAX];

	for (size_t i = 0; i < count; i++) {
		entries[i] = (struct record_entry){.message = &copies[i].message};
		attempts[i] = &copies[i].attempt;
	}
	take_locks(record, copies, count);
	need(record, record_put_all(record, entries, count));
	for (size_t i = 0; i < count; i++)
		attempts[i]->message = entries[i].number;
	need(record, record_open_all(record, attempts, count, 1));
	need(record, record_commit(record));
	take_locks(record, copies, count);
	need(record, record_look_all(record, attempts, count));
	need(record, record_check(record));
	need(record, record_filed_all(record, attempts, count, 2));
	need(record, record_commit(record));
}

/* ---- the rows alone ---- */

static struct record_value text(const char *value)
{
	return (struct record_value){.kind = RECORD_TEXT, .bytes = str_from(value)};
}

enum { COLUMNS_MAX = 9, ROWS_MAX = 3 * GROUP_MAX };

struct rows {
	struct record_value values[ROWS_MAX * COLUMNS_MAX];
	size_t used; /* values */
};

static void add(struct rows *rows, const struct record_value *values, size_t count)
{
	memcpy(rows->values + rows->used, values, count * sizeof *values);
	rows->used += count;
}

/* OUTCOMES may be NULL. */
static void run(struct record *record, enum record_statement statement, struct rows *rows,
		size_t columns, struct record_outcome *outcomes)
{
	struct record_sql *sql = (struct record_sql *)record;
	struct record_call call = {.statement = statement,
				   .values = rows->values,
				   .columns = columns,
				   .rows = rows->used / columns,
				   .outcomes = outcomes};

	need(record, sql->driver->run(sql, &call));
	rows->used = 0;
}

static const unsigned char DIGEST[DECODE_DIGEST_SIZE];

static void add_message(struct rows *rows, const struct copy *copy)
{
	const struct record_value message[] = {
		text(copy->id),           record_number(0), record_bytes(DIGEST, sizeof DIGEST),
		record_number(2000),      record_number(1), text("lisa@example.com"),
		text("Our next meeting"), record_number(0), text("")};

	add(rows, message, COUNT_OF(message));
}

static void add_people(struct rows *rows, int64_t number)
{
	const struct record_value key = record_number(number);
	const struct record_value people[] = {key,
					      record_number(0),
					      text("from"),
					      text("lisa@example.com"),
					      text("example.com"),
					      text("Lisa"),
					      key,
					      record_number(1),
					      text("to"),
					      text("scuba@example.org"),
					      text("example.org"),
					      text(""),
					      key,
					      record_number(2),
					      text("to"),
					      text("doug@example.org"),
					      text("example.org"),
					      text("Doug")};

	add(rows, people, COUNT_OF(people));
}

static void add_pieces(struct rows *rows, int64_t number)
{
	const struct record_value digest = record_bytes(DIGEST, sizeof DIGEST);
	const struct record_value key = record_number(number);
	const struct record_value pieces[] = {key,
					      record_number(0),
					      text("1"),
					      text("text/plain"),
					      text("utf-8"),
					      text(""),
					      text(""),
					      record_number(10),
					      digest,
					      key,
					      record_number(1),
					      text("2"),
					      text("image/png"),
					      text(""),
					      text("attachment"),
					      text("a.png"),
					      record_number(40000),
					      digest};

	add(rows, pieces, COUNT_OF(pieces));
}

/* The numbers of the messages' rows of filing come into OUTCOMES. */
static void insert_opened(struct record *record, const struct copy *copies, size_t count,
			  int64_t mailbox, struct record_outcome *outcomes)
{
	static struct rows rows;

	for (size_t i = 0; i < count; i++)
		add_message(&rows, &copies[i]);
	run(record, RECORD_MESSAGE_INSERT, &rows, 9, outcomes);
	for (size_t i = 0; i < count; i++)
		add_people(&rows, outcomes[i].inserted);
	run(record, RECORD_PARTICIPANT_INSERT, &rows, 6, NULL);
	for (size_t i = 0; i < count; i++)
		add_pieces(&rows, outcomes[i].inserted);
	run(record, RECORD_PART_INSERT, &rows, 9, NULL);
	for (size_t i = 0; i < count; i++)
		add(&rows,
		    (struct record_value[]){record_number(outcomes[i].inserted),
					    record_number(mailbox), record_number(1)},
		    3);
	run(record, RECORD_FILING_INSERT, &rows, 3, outcomes);
}

static void insert_rows(struct record *record, const struct copy *copies, size_t count,
			int64_t mailbox)
{
	static struct rows attempts, ended, filed;
	struct record_outcome filings[GROUP_MAX];

	need(record, record_begin(record));
	insert_opened(record, copies, count, mailbox, filings);
	for (size_t i = 0; i < count; i++) {
		const struct record_value row[] = {
			record_number(filings[i].inserted),
			record_bytes(copies[i].attempt.token.bytes, RECORD_TOKEN_SIZE),
			record_number(1)};

		add(&attempts, row, 3);
		add(&ended, row, 2);
		add(&filed, (struct record_value[]){row[0], text("1:2"), record_number(2)}, 3);
	}
	run(record, RECORD_ATTEMPT_INSERT, &attempts, 3, NULL);
	need(record, record_commit(record));
	need(record, record_begin(record));
	run(record, RECORD_FILING_FILED, &filed, 3, NULL);
	run(record, RECORD_ATTEMPT_REMOVE, &ended, 2, NULL);
	need(record, record_commit(record));
}

/* The number of any mailbox. */
static int64_t make_mailbox(struct record *record, int worker)
{
	static struct rows rows;
	struct record_outcome outcome;
	char user[60];

	snprintf(user, sizeof user, "bare-%d-%d@example.org", worker, (int)getpid());
	add(&rows, (struct record_value[]){text(user), text("INBOX")}, 2);
	need(record, record_begin(record));
	run(record, RECORD_MAILBOX_INSERT, &rows, 2, &outcome);
	need(record, record_commit(record));
	return outcome.inserted;
}

/* ---- ---- */

struct plan {
	char **words; /* of the database */
	int copies, connections, group;
	bool is_bare;
};

static void work(const struct plan *plan, int worker)
{
	static struct copy copies[GROUP_MAX];
	struct record *record = connect_to(plan->words);
	int64_t mailbox = plan->is_bare ? make_mailbox(record, worker) : 0;
	int left = plan->copies / plan->connections;

	while (left > 0) {
		size_t count = 0;

		for (; count < (size_t)plan->group && left > 0; count++)
			make_copy(&copies[count], worker, left--);
		if (plan->is_bare)
			insert_rows(record, copies, count, mailbox);
		else
			file(record, copies, count);
	}
	record_free(record);
}

static double measure(const struct plan *plan)
{
	int64_t since_us = os_clock_monotonic_us();

	for (int i = 0; i < plan->connections; i++)
		if (fork() == 0) {
			work(plan, i);
			_exit(0);
		}
	for (int i = 0; i < plan->connections; i++) {
		int status;

		if (wait(&status) < 0 || status != 0)
			exit(1);
	}
	return plan->copies / ((double)(os_clock_monotonic_us() - since_us) / 1e6);
}

int main(int argc, char **argv)
{
	struct plan plan = {.words = argv + 4, .group = 1};
	double filed;
	double bare;

	if (argc < 6)
		return 64;
	plan.copies = plan.connections = atoi(argv[2]);
	if (plan.connections < 1)
		return 64;
	(void)measure(&plan); /* makes the tables */
	plan.copies = atoi(argv[1]);
	plan.group = atoi(argv[3]);
	if (plan.copies < 1 || plan.group < 1 || plan.group > GROUP_MAX)
		return 64;
	plan.is_bare = true;
	bare = measure(&plan);
	plan.is_bare = false;
	filed = measure(&plan);
	printf("%s, %d connections, groups of %d: %.0f copies a second; the rows alone: %.0f; "
	       "ratio %.2f\n",
	       argv[4], plan.connections, plan.group, filed, bare, filed / bare);
	return 0;
}
