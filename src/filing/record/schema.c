// SPDX-License-Identifier: ISC
/*
 * The tables, which are an interface: stagepost-record(5). A version is a list of statements that
 * make it of the one before; none is ever changed after its release. They can be repeated, as not
 * every database undoes those that were done before one failed.
 */
#include "filing/record/sql.h"
#include <errno.h>
#include <stdio.h>

/* Numbers are never used again: who has one may look for its row later. */
static const char *const VERSION_1[] = {
	"CREATE TABLE IF NOT EXISTS record_meta(program {text}(40){exact} NOT NULL PRIMARY KEY,"
	" version {number} NOT NULL){table}",
	"INSERT INTO record_meta(program, version) VALUES('stagepost', 0) {unless there}",
	"CREATE TABLE IF NOT EXISTS message(number {serial},"
	" message_id {text}(255){exact} NOT NULL, derived {number} NOT NULL,"
	" digest {bytes 32} NOT NULL, size {number} NOT NULL, recorded_us {number} NOT NULL,"
	" sender {text}(320){exact} NOT NULL, subject {text}(998){exact} NOT NULL,"
	" date_us {number} NOT NULL, problem {text}(998){exact} NOT NULL,"
	" CONSTRAINT message_once UNIQUE(message_id, digest)){table}",
	"CREATE INDEX IF NOT EXISTS message_recorded ON message(recorded_us)",
	"CREATE TABLE IF NOT EXISTS participant(message {number} NOT NULL,"
	" position {number} NOT NULL, role {text}(16){exact} NOT NULL,"
	" address {text}(320){exact} NOT NULL, domain {text}(255){exact} NOT NULL,"
	" name {text}(998){exact} NOT NULL, PRIMARY KEY(message, position),"
	" FOREIGN KEY(message) REFERENCES message(number) ON DELETE CASCADE){table}",
	"CREATE INDEX IF NOT EXISTS participant_address ON participant(domain, address)",
	"CREATE TABLE IF NOT EXISTS part(message {number} NOT NULL, position {number} NOT NULL,"
	" number {text}(255){exact} NOT NULL, type {text}(255){exact} NOT NULL,"
	" charset {text}(255){exact} NOT NULL, disposition {text}(255){exact} NOT NULL,"
	" filename {text}(998){exact} NOT NULL, size {number} NOT NULL,"
	" digest {bytes 32} NOT NULL, PRIMARY KEY(message, position),"
	" FOREIGN KEY(message) REFERENCES message(number) ON DELETE CASCADE){table}",
	"CREATE TABLE IF NOT EXISTS mailbox(number {serial}, owner {text}(320){exact} NOT NULL,"
	" folder {text}(255){exact} NOT NULL,"
	" CONSTRAINT mailbox_once UNIQUE(owner, folder)){table}",
	"CREATE TABLE IF NOT EXISTS filing(number {serial}, message {number} NOT NULL,"
	" mailbox {number} NOT NULL, state {text}(16){exact} NOT NULL,"
	" copy {text}(255){exact} NOT NULL, opened_us {number} NOT NULL,"
	" filed_us {number} NOT NULL, CONSTRAINT filing_once UNIQUE(message, mailbox),"
	" FOREIGN KEY(message) REFERENCES message(number) ON DELETE CASCADE,"
	" FOREIGN KEY(mailbox) REFERENCES mailbox(number)){table}",
	"CREATE INDEX IF NOT EXISTS filing_mailbox ON filing(mailbox)",
	"CREATE TABLE IF NOT EXISTS attempt(filing {number} NOT NULL, token {bytes 16} NOT NULL,"
	" began_us {number} NOT NULL, PRIMARY KEY(filing, token),"
	" FOREIGN KEY(filing) REFERENCES filing(number) ON DELETE CASCADE){table}",
	NULL,
};

static const char *const VERSION_2[] = {
	"CREATE TABLE IF NOT EXISTS decision(number {serial}, message {number} NOT NULL,"
	" owner {text}(320){exact} NOT NULL, purpose {text}(320){exact} NOT NULL,"
	" folder {text}(255){exact} NOT NULL, rule {text}(32){exact} NOT NULL,"
	" flags {number} NOT NULL,"
	" CONSTRAINT decision_once UNIQUE(message, owner, purpose),"
	" FOREIGN KEY(message) REFERENCES message(number) ON DELETE CASCADE){table}",
	NULL,
};

static const char *const *const VERSIONS[RECORD_SCHEMA] = {VERSION_1, VERSION_2};

static void take_number_of_schema(void *context, const struct record_value *values, size_t count)
{
	(void)count;
	*(int64_t *)context = values[0].number;
}

static int run_schema_statement(struct record_sql *sql, const char *text, int64_t *number_out)
{
	struct record_call call = {.statement = RECORD_STATEMENTS,
				   .text = text,
				   .row = number_out != NULL ? take_number_of_schema : NULL,
				   .context = number_out,
				   .rows = 1};

	return sql->driver->run(sql, &call);
}

static int count_tables_of_name(struct record_sql *sql, const char *name, int64_t *count_out)
{
	char text[80];

	snprintf(text, sizeof text, "{count tables} = '%s'", name);
	return run_schema_statement(sql, text, count_out);
}

/* 0: there are no tables yet. The first to be made is record_meta. */
static int read_version(struct record_sql *sql, int64_t *version_out)
{
	int64_t tables = 0;
	int error = count_tables_of_name(sql, "record_meta", &tables);

	*version_out = 0;
	if (error == 0 && tables > 0)
		error = run_schema_statement(
			sql, "SELECT version FROM record_meta WHERE program = 'stagepost'",
			version_out);
	if (error == 0 && *version_out > RECORD_SCHEMA)
		return record_sql_fail(sql, -EPROTO,
				       "the tables have version %lld, this program knows %d",
				       (long long)*version_out, RECORD_SCHEMA);
	return error;
}

/* Only while nobody else makes tables. */
static int refuse_others(struct record_sql *sql)
{
	int64_t ours = 0;
	int64_t others = 0;
	int error = count_tables_of_name(sql, "record_meta", &ours);

	if (error == 0)
		error = count_tables_of_name(sql, "message", &others);
	if (error == 0 && ours == 0 && others > 0)
		return record_sql_fail(sql, -EPROTO, "the table \"message\" is another program's");
	return error;
}

static int upgrade_record_schema(struct record_sql *sql, int64_t version)
{
	char text[80];
	int error = 0;

	for (; version < RECORD_SCHEMA && error == 0; version++) {
		for (const char *const *at = VERSIONS[version]; *at != NULL && error == 0; at++)
			error = run_schema_statement(sql, *at, NULL);
		snprintf(text, sizeof text, "UPDATE record_meta SET version = %lld",
			 (long long)version + 1);
		if (error == 0)
			error = run_schema_statement(sql, text, NULL);
	}
	return error;
}

/* Looks again, as another one may have been faster. */
static int make_record_schema(struct record_sql *sql)
{
	int64_t version;
	int error = sql->driver->begin_schema(sql);

	if (error == 0)
		error = refuse_others(sql);
	if (error == 0)
		error = read_version(sql, &version);
	if (error == 0)
		error = upgrade_record_schema(sql, version);
	return error == 0 ? sql->driver->end_schema(sql) : error;
}

int record_sql_prepare(struct record_sql *sql)
{
	int64_t version;
	int error = read_version(sql, &version);

	return error == 0 && version < RECORD_SCHEMA ? make_record_schema(sql) : error;
}
