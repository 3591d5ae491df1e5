// SPDX-License-Identifier: ISC
/* Records in the tables that store/sqlite/sqlite.h reads: written only where they differ, because
 * every write is a change that is pushed. */
#include "directory/record/key.h"
#include "store/ldap/claim.h"
#include "store/ldap/copy_internal.h"

enum { COLUMNS_MAX = 8 };

static const char PUT_USER[] = "INSERT INTO \"user\"(name, server, fullname) VALUES(?1, ?2, ?3)"
			       " ON CONFLICT(name) DO UPDATE SET server = ?2, fullname = ?3";

static const struct shape {
	const char *fields[COLUMNS_MAX + 1]; /* of the columns, NULL behind the last */
	const char *several;                 /* the field that has a table of its own; or NULL */
	const char *sql[COPY_ROW_STATEMENTS];
} shapes[DIRECTORY_TABLES] = {
	[DIRECTORY_DOMAIN] = {{"kind", "target", "service"},
			      NULL,
			      {"SELECT kind, target, service FROM domain WHERE name = ?1",
			       "INSERT INTO domain(name, kind, target, service)"
			       " VALUES(?1, ?2, ?3, ?4) ON CONFLICT(name) DO UPDATE SET"
			       " kind = ?2, target = ?3, service = ?4",
			       "DELETE FROM domain WHERE name = ?1"}},
	[DIRECTORY_ADDRESS] =
		{{"kind", "service", "user", "mailbox", "owner", "verp", "text", "status"},
		 "target",
		 {"SELECT kind, service, \"user\", mailbox, owner, verp, text, status"
		  " FROM address WHERE address = ?1",
		  "INSERT INTO address(address, kind, service, \"user\", mailbox, owner, verp, "
		  "text,"
		  " status) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
		  " ON CONFLICT(address) DO UPDATE SET kind = ?2, service = ?3, \"user\" = ?4,"
		  " mailbox = ?5, owner = ?6, verp = ?7, text = ?8, status = ?9",
		  "DELETE FROM address WHERE address = ?1",
		  "SELECT target FROM target WHERE address = ?1 ORDER BY position",
		  "INSERT INTO target(address, position, target) VALUES(?1, ?2, ?3)",
		  "DELETE FROM target WHERE address = ?1"}},
	[DIRECTORY_MEMBER] = {{NULL},
			      NULL,
			      {"SELECT 1 FROM member WHERE list = ?1 AND member = ?2",
			       "INSERT INTO member(list, member) VALUES(?1, ?2)",
			       "DELETE FROM member WHERE list = ?1 AND member = ?2"}},
	[DIRECTORY_USER] = {{"server", "name"},
			    "password",
			    {"SELECT server, fullname FROM \"user\" WHERE name = ?1", PUT_USER,
			     "DELETE FROM \"user\" WHERE name = ?1",
			     "SELECT password FROM password WHERE name = ?1 ORDER BY position",
			     "INSERT INTO password(name, position, password) VALUES(?1, ?2, ?3)",
			     "DELETE FROM password WHERE name = ?1"}},
	[DIRECTORY_SERVER] = {{"service", "address"},
			      NULL,
			      {"SELECT service, address FROM server WHERE name = ?1",
			       "INSERT INTO server(name, service, address) VALUES(?1, ?2, ?3)"
			       " ON CONFLICT(name) DO UPDATE SET service = ?2, address = ?3",
			       "DELETE FROM server WHERE name = ?1"}},
};

int copy_row_prepare(struct copy *copy)
{
	int error = SQLITE_OK;

	for (int table = 0; table < DIRECTORY_TABLES; table++)
		for (int i = 0; i < COPY_ROW_STATEMENTS && error == SQLITE_OK; i++)
			if (shapes[table].sql[i] != NULL)
				error = sqlite3_prepare_v3(copy->database, shapes[table].sql[i], -1,
							   SQLITE_PREPARE_PERSISTENT,
							   &copy->rows[table][i], NULL);
	return error;
}

static sqlite3_stmt *begin(struct copy *copy, int table, enum copy_row_statement which,
			   struct str key)
{
	sqlite3_stmt *statement = copy->rows[table][which];
	struct str list;
	struct str member;

	if (table == DIRECTORY_MEMBER) {
		directory_key_member(key, &list, &member);
		copy_bind(statement, 1, list);
		copy_bind(statement, 2, member);
	} else {
		copy_bind(statement, 1, key);
	}
	return statement;
}

/* Whether the row of RECORD is there and says the same in its columns. */
static bool has_columns(struct copy *copy, const struct directory_record *record)
{
	const struct shape *shape = &shapes[record->key.table];
	sqlite3_stmt *statement =
		begin(copy, (int)record->key.table, COPY_ROW_GET, record->key.name);
	bool is_same = true;

	if (!copy_step(copy, statement))
		return false;
	for (int i = 0; shape->fields[i] != NULL && is_same; i++)
		is_same = str_equal(copy_column(statement, i),
				    directory_record_field(record, shape->fields[i]));
	copy_reset(statement);
	return is_same;
}

static bool is_several(const struct directory_record *record, size_t i)
{
	return str_equal(record->fields[i].name, str_from(shapes[record->key.table].several));
}

/* The same of the field that comes several times. */
static bool has_list(struct copy *copy, const struct directory_record *record)
{
	sqlite3_stmt *statement;
	bool is_same = true;

	if (shapes[record->key.table].several == NULL)
		return true;
	statement = begin(copy, (int)record->key.table, COPY_ROW_LIST, record->key.name);
	for (size_t i = 0; i < record->field_count && is_same; i++)
		if (is_several(record, i))
			is_same = copy_step(copy, statement) &&
				  str_equal(copy_column(statement, 0), record->fields[i].value);
	if (is_same)
		is_same = !copy_step(copy, statement);
	copy_reset(statement);
	return is_same;
}

static void write_list(struct copy *copy, const struct directory_record *record)
{
	int table = (int)record->key.table;
	int position = 0;

	if (shapes[table].several == NULL)
		return;
	copy_run(copy, begin(copy, table, COPY_ROW_LIST_REMOVE, record->key.name));
	for (size_t i = 0; i < record->field_count; i++) {
		sqlite3_stmt *statement;

		if (!is_several(record, i))
			continue;
		statement = begin(copy, table, COPY_ROW_LIST_ADD, record->key.name);
		(void)sqlite3_bind_int(statement, 2, position++);
		copy_bind(statement, 3, record->fields[i].value);
		copy_run(copy, statement);
	}
}

static void write_columns(struct copy *copy, const struct directory_record *record)
{
	const struct shape *shape = &shapes[record->key.table];
	sqlite3_stmt *statement =
		begin(copy, (int)record->key.table, COPY_ROW_PUT, record->key.name);

	for (int i = 0; shape->fields[i] != NULL; i++) {
		struct str value = directory_record_field(record, shape->fields[i]);

		if (value.length > 0)
			copy_bind(statement, i + 2, value);
	}
	copy_run(copy, statement);
}

void copy_row_put(struct copy *copy, int table, struct str key, struct str fields)
{
	struct directory_record record = {
		.key = {.table = (enum directory_table)table, .name = key}};

	claim_fields(fields, copy->arena, &record.fields, &record.field_count);
	if (has_columns(copy, &record) && has_list(copy, &record))
		return;
	write_columns(copy, &record);
	write_list(copy, &record);
	copy->counts.records++;
}

void copy_row_remove(struct copy *copy, int table, struct str key)
{
	sqlite3_stmt *statement = begin(copy, table, COPY_ROW_GET, key);

	if (!copy_step(copy, statement))
		return;
	copy_reset(statement);
	if (shapes[table].several != NULL)
		copy_run(copy, begin(copy, table, COPY_ROW_LIST_REMOVE, key));
	copy_run(copy, begin(copy, table, COPY_ROW_REMOVE, key));
	copy->counts.records++;
}
