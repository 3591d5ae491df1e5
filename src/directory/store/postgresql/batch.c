// SPDX-License-Identifier: ISC
/* A transaction: the statements for a number of changes, and their results. */
#include "directory/store/postgresql/batch.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void postgresql_batch_free(struct postgresql_batch *batch)
{
	for (size_t i = 0; i < DIRECTORY_TABLES; i++)
		HASH_CLEAR(hh, batch->items[i]);
	arena_free(batch->arena);
	free(batch);
}

static void batch_result(struct postgresql_request *request, unsigned statement,
			 const PGresult *result)
{
	struct postgresql_batch *batch = request->context;
	enum directory_table table = batch->tables[statement];

	if (statement + 2 == batch->request.statements) /* before COMMIT */
		batch->version = strtoull(postgresql_link_value(result, 0, 0), NULL, 10);
	if (table == DIRECTORY_NO_TABLE)
		return;
	for (int row = 0; row < PQntuples(result); row++) {
		struct postgresql_item *item;

		HASH_FIND(hh, batch->items[table], postgresql_link_value(result, row, 0),
			  postgresql_link_length(result, row, 0), item);
		if (item != NULL)
			item->existed = *postgresql_link_value(result, row, 1) == 't';
	}
}

static void execute_with_arrays(struct postgresql_batch *batch, enum postgresql_statement statement,
				enum directory_table table, struct postgresql_array *arrays,
				size_t count)
{
	struct postgresql_parameter parameters[DIRECTORY_COLUMNS_MAX + 2];
	char name[40];

	for (size_t i = 0; i < count; i++)
		parameters[i] = postgresql_array_end(&arrays[i]);
	batch->tables[batch->statements++] =
		statement == POSTGRESQL_PUT || statement == POSTGRESQL_REMOVE ? table
									      : DIRECTORY_NO_TABLE;
	postgresql_link_execute(batch->store->writer.link,
				postgresql_statement_name(statement, table, name), parameters,
				count);
}

static void clear_arrays(struct postgresql_array *arrays, size_t count)
{
	for (size_t i = 0; i < count; i++)
		postgresql_array_clear(&arrays[i]);
}

/* Adds STATEMENT for the keys of TABLE whose last change is (or is not) a removal. */
static void say_removal(struct postgresql_batch *batch, enum postgresql_statement statement,
			enum directory_table table, bool is_removal)
{
	struct postgresql_array keys = {0};
	struct postgresql_item *item, *next;

	HASH_ITER (hh, batch->items[table], item, next)
		if (item->change->is_removal == is_removal)
			postgresql_array_add(&keys, item->change->record.key.name);
	if (keys.count > 0)
		execute_with_arrays(batch, statement, table, &keys, 1);
	postgresql_array_clear(&keys);
}

static size_t add_row_to_arrays(const struct directory_schema *schema,
				const struct directory_record *record,
				struct postgresql_array *arrays)
{
	struct str list = record->key.name;
	struct str member = {0};
	size_t count = 0;

	if (schema->key_columns[1] != NULL)
		directory_key_member(record->key.name, &list, &member);
	postgresql_array_add(&arrays[count++], list);
	if (schema->key_columns[1] != NULL)
		postgresql_array_add(&arrays[count++], member);
	for (size_t i = 0; schema->columns[i].field != NULL; i++) {
		struct str value = directory_record_field(record, schema->columns[i].field);

		if (value.length == 0)
			value.data = NULL;
		postgresql_array_add(&arrays[count++], value);
	}
	return count;
}

static void say_puts(struct postgresql_batch *batch, enum directory_table table)
{
	struct postgresql_array arrays[DIRECTORY_COLUMNS_MAX + 2] = {0};
	struct postgresql_item *item, *next;
	size_t count = 0;

	HASH_ITER (hh, batch->items[table], item, next)
		if (!item->change->is_removal)
			count = add_row_to_arrays(&batch->store->schemas[table],
						  &item->change->record, arrays);
	if (count > 0)
		execute_with_arrays(batch, POSTGRESQL_PUT, table, arrays, count);
	clear_arrays(arrays, count);
}

static void add_children_to_arrays(const struct directory_schema *schema,
				   const struct directory_record *record,
				   struct postgresql_array arrays[3])
{
	size_t position = 0;

	for (size_t i = 0; i < record->field_count; i++) {
		char text[24];

		if (!str_equal(record->fields[i].name, str_from(schema->child)))
			continue;
		snprintf(text, sizeof text, "%zu", position++);
		postgresql_array_add(&arrays[0], record->key.name);
		postgresql_array_add(&arrays[1], str_from(text));
		postgresql_array_add(&arrays[2], record->fields[i].value);
	}
}

static void say_children(struct postgresql_batch *batch, enum directory_table table)
{
	struct postgresql_array arrays[3] = {0};
	struct postgresql_item *item, *next;

	HASH_ITER (hh, batch->items[table], item, next)
		if (!item->change->is_removal)
			add_children_to_arrays(&batch->store->schemas[table], &item->change->record,
					       arrays);
	if (arrays[0].count > 0)
		execute_with_arrays(batch, POSTGRESQL_PUT_CHILDREN, table, arrays,
				    COUNT_OF(arrays));
	clear_arrays(arrays, COUNT_OF(arrays));
}

static void say_query(struct postgresql_batch *batch, const char *sql)
{
	batch->tables[batch->statements++] = DIRECTORY_NO_TABLE;
	postgresql_link_query(batch->store->writer.link, sql, NULL, 0);
}

/* Checks that the data are not an older copy of those that were seen. */
static void say_expected(struct postgresql_batch *batch)
{
	const struct directory_store *seen = &batch->store->base;
	char version[24];
	const struct postgresql_parameter parameters[] = {{.text = seen->identity},
							  {.text = version}};

	snprintf(version, sizeof version, "%llu", (unsigned long long)seen->version);
	batch->tables[batch->statements++] = DIRECTORY_NO_TABLE;
	postgresql_link_query(batch->store->writer.link, "SELECT directory_expect($1, $2::bigint)",
			      parameters, COUNT_OF(parameters));
}

/* A condition that is not met ends the transaction: so that its failure is no other, it divides by
 * zero, which nothing else here does. Versions that are kept no more may have been of the key. */
static void say_condition(struct postgresql_batch *batch, const struct directory_change *change)
{
	char since[24];
	const struct directory_key *key = &change->record.key;
	const struct postgresql_parameter parameters[] = {
		{.text = since}, {.text = directory_table_name(key->table)}, {.value = key->name}};

	snprintf(since, sizeof since, "%llu", (unsigned long long)change->since);
	batch->tables[batch->statements++] = DIRECTORY_NO_TABLE;
	postgresql_link_query(
		batch->store->writer.link,
		"SELECT 1 / (NOT EXISTS (SELECT FROM change WHERE version > $1::bigint"
		" AND (table_name = '*' OR (table_name = $2 AND key = $3)))"
		" AND $1::bigint <= coalesce(max(version), 0)"
		" AND ($1::bigint = coalesce(max(version), 0)"
		" OR min(version) <= $1::bigint + 1))::integer FROM change",
		parameters, COUNT_OF(parameters));
}

/* They are judged while nobody else can change the data. */
static void say_conditions(struct postgresql_batch *batch)
{
	const struct postgresql_edit *edit;

	if (batch->conditions == 0)
		return;
	say_query(batch, "SELECT directory_lock()");
	DL_FOREACH (batch->edits, edit)
		if (edit->changes[0].is_conditional)
			say_condition(batch, &edit->changes[0]);
}

bool postgresql_batch_is_stale(const struct postgresql_batch *batch,
			       const struct postgresql_failure *failure)
{
	return batch->conditions == 1 && batch->edits->next == NULL &&
	       strcmp(failure->state, "22012") == 0;
}

void postgresql_batch_send(struct postgresql_batch *batch)
{
	batch->tables = arena_alloc(batch->arena, (DIRECTORY_TABLES * 4 + 5 + batch->conditions) *
							  sizeof *batch->tables);
	say_query(batch, "BEGIN");
	say_expected(batch);
	say_conditions(batch);
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_TABLES; table++) {
		say_removal(batch, POSTGRESQL_REMOVE, table, true);
		if (batch->store->schemas[table].child != NULL)
			say_removal(batch, POSTGRESQL_REMOVE_CHILDREN, table, false);
		say_puts(batch, table);
		if (batch->store->schemas[table].child != NULL)
			say_children(batch, table);
	}
	say_query(batch, "SELECT version FROM meta");
	say_query(batch, "COMMIT");
	batch->request.result = batch_result;
	batch->request.context = batch;
	batch->store->writer.batch = batch;
	postgresql_link_end(batch->store->writer.link, &batch->request);
}

bool postgresql_batch_may_add(const struct postgresql_batch *batch,
			      const struct postgresql_edit *edit)
{
	const struct directory_key *key = &edit->changes[0].record.key;
	struct postgresql_item *item = NULL;

	if (edit->changes[0].is_conditional)
		HASH_FIND(hh, batch->items[key->table], key->name.data, key->name.length, item);
	return item == NULL;
}

void postgresql_batch_add(struct postgresql_batch *batch, const struct postgresql_edit *edit)
{
	batch->conditions += edit->changes[0].is_conditional;
	for (size_t i = 0; i < edit->count; i++) {
		const struct directory_change *change = &edit->changes[i];
		const struct directory_key *key = &change->record.key;
		struct postgresql_item *item;

		HASH_FIND(hh, batch->items[key->table], key->name.data, key->name.length, item);
		if (item == NULL) {
			item = arena_alloc(batch->arena, sizeof *item);
			HASH_ADD_KEYPTR(hh, batch->items[key->table], key->name.data,
					key->name.length, item);
		}
		item->change = change; /* the last change of a key counts */
	}
}

void postgresql_batch_set_existed(struct postgresql_batch *batch)
{
	struct postgresql_edit *edit;

	DL_FOREACH (batch->edits, edit) {
		for (size_t i = 0; i < edit->count; i++) {
			const struct directory_key *key = &edit->changes[i].record.key;
			struct postgresql_item *item;

			HASH_FIND(hh, batch->items[key->table], key->name.data, key->name.length,
				  item);
			edit->existed[i] = item->existed;
			item->existed = !edit->changes[i].is_removal;
		}
		edit->version = batch->version;
	}
}
