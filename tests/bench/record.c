// SPDX-License-Identifier: ISC
/*
 * How many copies a second the database of messages can have filed, and what the same rows cost
 * alone: each copy is the two transactions of record/record.h, of a message with three participants
 * and two parts, without a mailbox.
 *
 * usage: bench_record COPIES CONNECTIONS sqlite PATH
 *        bench_record COPIES CONNECTIONS postgresql CONNINFO
 *        bench_record COPIES CONNECTIONS mariadb SOCKET USER DATABASE
 */
#include "os/clock.h"
#include "record/mariadb/mariadb.h"
#include "record/postgresql/postgresql.h"
#include "record/sql.h"
#include "record/sqlite/sqlite.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_MS = 10000 };

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
	struct record_place place;
	struct lock_name lock;
	struct record_token token;
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
	copy->place = (struct record_place){str_from(copy->user), STR("INBOX")};
	lock_name_make(copy->message.id, &copy->lock);
	memcpy(copy->token.bytes, &number, sizeof number);
}

/* ---- as messages are filed ---- */

static void file(struct record *record, struct copy *copy)
{
	struct record_filing filing;
	int64_t number;
	bool is_new;
	unsigned different;

	need(record, record_begin(record));
	need(record, record_lock(record, &copy->lock));
	need(record, record_put(record, &copy->message, &number, &is_new, &different));
	need(record, record_open(record, number, &copy->place, &copy->token, 1, &filing));
	number = filing.number;
	need(record, record_commit(record));
	need(record, record_begin(record));
	need(record, record_lock(record, &copy->lock));
	need(record, record_look(record, number, &copy->token, &filing));
	need(record, record_check(record));
	need(record, record_filed(record, number, &copy->token, STR("1:2"), 2));
	need(record, record_commit(record));
}

/* ---- the rows alone ---- */

static struct record_value text(const char *value)
{
	return (struct record_value){.kind = RECORD_TEXT, .bytes = str_from(value)};
}

static int64_t run(struct record *record, enum record_statement statement,
		   const struct record_value *values, size_t columns, size_t rows)
{
	struct record_sql *sql = (struct record_sql *)record;
	struct record_outcome outcome = {0};
	struct record_call call = {
		.statement = statement, .values = values, .columns = columns, .rows = rows};

	if (rows == 1)
		call.outcomes = &outcome;
	need(record, sql->driver->run(sql, &call));
	return outcome.inserted;
}

static const unsigned char DIGEST[DECODE_DIGEST_SIZE];

static int64_t insert_message(struct record *record, const struct copy *copy)
{
	const struct record_value message[] = {
		text(copy->id),           record_number(0), record_bytes(DIGEST, sizeof DIGEST),
		record_number(2000),      record_number(1), text("lisa@example.com"),
		text("Our next meeting"), record_number(0), text("")};

	return run(record, RECORD_MESSAGE_INSERT, message, COUNT_OF(message), 1);
}

static void insert_content(struct record *record, int64_t number)
{
	const struct record_value digest = record_bytes(DIGEST, sizeof DIGEST);
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

	(void)run(record, RECORD_PARTICIPANT_INSERT, people, 6, 3);
	(void)run(record, RECORD_PART_INSERT, pieces, 9, 2);
}

static void insert_rows(struct record *record, struct copy *copy, int64_t mailbox)
{
	struct record_value row[] = {{0}, record_number(mailbox), record_number(1)};
	struct record_value attempt[] = {
		{0}, record_bytes(copy->token.bytes, RECORD_TOKEN_SIZE), record_number(1)};
	struct record_value filed[] = {{0}, text("1:2"), record_number(2)};

	need(record, record_begin(record));
	row[0] = record_number(insert_message(record, copy));
	insert_content(record, row[0].number);
	attempt[0] = filed[0] = record_number(run(record, RECORD_FILING_INSERT, row, 3, 1));
	(void)run(record, RECORD_ATTEMPT_INSERT, attempt, 3, 1);
	need(record, record_commit(record));
	need(record, record_begin(record));
	(void)run(record, RECORD_FILING_FILED, filed, 3, 1);
	(void)run(record, RECORD_ATTEMPT_REMOVE, attempt, 2, 1);
	need(record, record_commit(record));
}

/* The number of any mailbox. */
static int64_t find_mailbox(struct record *record, struct copy *copy)
{
	const struct record_value values[] = {text(copy->user), text("INBOX")};
	int64_t number;

	need(record, record_begin(record));
	number = run(record, RECORD_MAILBOX_INSERT, values, 2, 1);
	need(record, record_commit(record));
	return number;
}

/* ---- ---- */

static void work(char **words, int worker, int copies, bool is_bare)
{
	struct record *record = connect_to(words);
	struct copy copy = {0};
	int64_t mailbox = 0;

	for (int i = 0; i < copies; i++) {
		make_copy(&copy, worker, i);
		if (is_bare && mailbox == 0) {
			snprintf(copy.user, sizeof copy.user, "bare-%d-%d@example.org", worker,
				 (int)getpid());
			mailbox = find_mailbox(record, &copy);
		}
		if (is_bare)
			insert_rows(record, &copy, mailbox);
		else
			file(record, &copy);
	}
	record_free(record);
}

static double measure(char **words, int copies, int connections, bool is_bare)
{
	int64_t since_us = os_clock_monotonic_us();

	for (int i = 0; i < connections; i++)
		if (fork() == 0) {
			work(words, i, copies / connections, is_bare);
			_exit(0);
		}
	for (int i = 0; i < connections; i++) {
		int status;

		if (wait(&status) < 0 || status != 0)
			exit(1);
	}
	return copies / ((double)(os_clock_monotonic_us() - since_us) / 1e6);
}

int main(int argc, char **argv)
{
	int copies = argc > 4 ? atoi(argv[1]) : 0;
	int connections = argc > 4 ? atoi(argv[2]) : 0;
	double filed, bare;

	if (copies < 1 || connections < 1)
		return 64;
	(void)measure(argv + 3, connections, connections, false);
	bare = measure(argv + 3, copies, connections, true);
	filed = measure(argv + 3, copies, connections, false);
	printf("%s, %d connections: %.0f copies a second; the rows alone: %.0f; ratio %.2f\n",
	       argv[3], connections, filed, bare, filed / bare);
	return 0;
}
