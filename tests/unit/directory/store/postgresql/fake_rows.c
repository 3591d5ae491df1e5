// SPDX-License-Identifier: ISC
#include "fake_rows.h"
#include "base/panic.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 4000, LOG_MAX = 60000 };

struct row {
	enum directory_table table;
	char *key;
	char *values[DIRECTORY_COLUMNS_MAX];
	char **children;
	size_t child_count;
};

static struct {
	struct row rows[ROWS_MAX]; /* sorted by table and key */
	size_t count;
	struct {
		enum directory_table table;
		char *key;
	} log[LOG_MAX]; /* of version i + 1 */
	uint64_t version;
	unsigned shape;
	size_t largest;
} content;

/* --- rows --- */

char *fake_copy_text(const char *text, size_t length)
{
	char *copy = malloc(length + 1);

	assert_non_null(copy);
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

/* Where it is, or would be. */
static size_t place_of(enum directory_table table, const char *key)
{
	size_t i = 0;

	while (i < content.count &&
	       (content.rows[i].table < table ||
		(content.rows[i].table == table && strcmp(content.rows[i].key, key) < 0)))
		i++;
	return i;
}

static bool is_row(size_t place, enum directory_table table, const char *key)
{
	return place < content.count && content.rows[place].table == table &&
	       strcmp(content.rows[place].key, key) == 0;
}

static void clear_children(struct row *row)
{
	for (size_t i = 0; i < row->child_count; i++)
		free(row->children[i]);
	free(row->children);
	row->children = NULL;
	row->child_count = 0;
}

static void clear_values(struct row *row)
{
	for (size_t i = 0; i < DIRECTORY_COLUMNS_MAX; i++) {
		free(row->values[i]);
		row->values[i] = NULL;
	}
}

static void remove_row(size_t place)
{
	clear_children(&content.rows[place]);
	clear_values(&content.rows[place]);
	free(content.rows[place].key);
	memmove(&content.rows[place], &content.rows[place + 1],
		(content.count - place - 1) * sizeof content.rows[0]);
	content.count--;
}

/* True: it was there before. */
static bool ensure_row(enum directory_table table, const char *key, size_t *place_out)
{
	size_t place = place_of(table, key);

	*place_out = place;
	if (is_row(place, table, key))
		return true;
	assert_true(content.count < ROWS_MAX);
	memmove(&content.rows[place + 1], &content.rows[place],
		(content.count - place) * sizeof content.rows[0]);
	content.rows[place] = (struct row){.table = table, .key = fake_copy_text(key, strlen(key))};
	content.count++;
	return false;
}

static void log_change(enum directory_table table, const char *key)
{
	assert_true(content.version < LOG_MAX);
	content.log[content.version].table = table;
	content.log[content.version++].key = fake_copy_text(key, strlen(key));
}

/* --- results --- */

static PGresult *result_of(int columns)
{
	static char name[] = "column";
	PGresAttDesc attributes[DIRECTORY_COLUMNS_MAX + 3] = {{.name = name}};
	PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

	for (int i = 0; i < columns; i++)
		attributes[i].name = name;
	assert_int_not_equal(PQsetResultAttrs(result, columns, attributes), 0);
	return result;
}

static void set_value(PGresult *result, int row, int column, const char *value)
{
	char copy[4096];

	if (value != NULL)
		snprintf(copy, sizeof copy, "%s", value);
	assert_int_not_equal(PQsetvalue(result, row, column, value != NULL ? copy : NULL,
					value != NULL ? (int)strlen(copy) : -1),
			     0);
}

static void add_result_rows(PGresult *result, const struct directory_schema *schema,
			    const struct row *row)
{
	size_t copies = schema->child != NULL && row->child_count > 0 ? row->child_count : 1;

	for (size_t i = 0; i < copies; i++) {
		int at = PQntuples(result), column = 0;

		set_value(result, at, column++, row->key);
		for (size_t k = 0; schema->columns[k].field != NULL; k++)
			set_value(result, at, column++, row->values[k]);
		if (schema->child != NULL)
			set_value(result, at, column,
				  row->child_count > 0 ? row->children[i] : NULL);
	}
}

/* --- statements --- */

/* The elements of a text[] in binary form; NULL: one is NULL. */
static size_t elements_of(const struct fake_parameter *parameter, char **elements, size_t most)
{
	const char *at = parameter->data + 20;
	uint32_t header[5];

	memcpy(header, parameter->data, sizeof header);
	assert_int_equal(ntohl(header[0]), 1);
	assert_int_equal(ntohl(header[2]), 25);
	assert_int_equal(ntohl(header[4]), 1);
	assert_true(ntohl(header[3]) <= most);
	for (uint32_t i = 0; i < ntohl(header[3]); i++) {
		uint32_t length;

		memcpy(&length, at, sizeof length);
		length = ntohl(length);
		at += sizeof length;
		elements[i] = length != UINT32_MAX ? fake_copy_text(at, length) : NULL;
		at += length != UINT32_MAX ? length : 0;
	}
	assert_ptr_equal(at, parameter->data + parameter->length);
	return ntohl(header[3]);
}

static void free_elements(char **elements, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(elements[i]);
}

static PGresult *run_get(const struct directory_schema *schema,
			 const struct fake_statement *statement)
{
	static char *keys[DIRECTORY_BATCH_MAX];
	size_t count = elements_of(&statement->parameters[0], keys, COUNT_OF(keys));
	PGresult *result = result_of(postgresql_table_width(schema));

	if (count > content.largest)
		content.largest = count;
	for (size_t i = 0; i < content.count; i++)
		for (size_t k = 0; k < count; k++)
			if (content.rows[i].table == schema->table &&
			    strcmp(content.rows[i].key, keys[k]) == 0)
				add_result_rows(result, schema, &content.rows[i]);
	free_elements(keys, count);
	return result;
}

static PGresult *run_list(const struct directory_schema *schema,
			  const struct fake_statement *statement)
{
	const char *prefix = statement->parameters[0].data, *after = statement->parameters[1].data;
	size_t limit = (size_t)atol(statement->parameters[2].data), found = 0;
	PGresult *result = result_of(postgresql_table_width(schema));

	if (limit > content.largest)
		content.largest = limit;
	for (size_t i = 0; i < content.count && found < limit; i++) {
		const struct row *row = &content.rows[i];

		if (row->table != schema->table || strncmp(row->key, prefix, strlen(prefix)) != 0 ||
		    strcmp(row->key, after) <= 0)
			continue;
		add_result_rows(result, schema, row);
		found++;
	}
	return result;
}

static PGresult *run_put(const struct directory_schema *schema,
			 const struct fake_statement *statement)
{
	static char *columns[FAKE_PARAMETERS_MAX][DIRECTORY_BATCH_MAX];
	PGresult *result = result_of(2);
	size_t keys = schema->key_columns[1] != NULL ? 2 : 1, count = 0;

	for (size_t i = 0; i < statement->count; i++) {
		size_t found =
			elements_of(&statement->parameters[i], columns[i], DIRECTORY_BATCH_MAX);

		assert_true(i == 0 || found == count);
		count = found;
	}
	for (size_t i = 0; i < count; i++) {
		char key[1200];
		size_t place;
		bool existed;

		snprintf(key, sizeof key, "%s%s%s", columns[0][i], keys == 2 ? " " : "",
			 keys == 2 ? columns[1][i] : "");
		existed = ensure_row(schema->table, key, &place);
		clear_values(&content.rows[place]);
		for (size_t k = 0; schema->columns[k].field != NULL; k++) {
			assert_true(keys + k < statement->count);
			content.rows[place].values[k] = columns[keys + k][i];
			columns[keys + k][i] = NULL;
		}
		log_change(schema->table, key);
		set_value(result, (int)i, 0, key);
		set_value(result, (int)i, 1, existed ? "t" : "f");
	}
	for (size_t i = 0; i < statement->count; i++)
		free_elements(columns[i], count);
	return result;
}

static PGresult *run_removal(const struct directory_schema *schema,
			     const struct fake_statement *statement, bool is_of_children)
{
	static char *keys[DIRECTORY_BATCH_MAX];
	size_t count = elements_of(&statement->parameters[0], keys, COUNT_OF(keys));
	PGresult *result = result_of(2);

	for (size_t i = 0; i < count; i++) {
		size_t place = place_of(schema->table, keys[i]);

		if (!is_row(place, schema->table, keys[i]))
			continue;
		if (is_of_children) {
			clear_children(&content.rows[place]);
			continue;
		}
		log_change(schema->table, keys[i]);
		set_value(result, PQntuples(result), 0, keys[i]);
		set_value(result, PQntuples(result) - 1, 1, "t");
		remove_row(place);
	}
	free_elements(keys, count);
	return result;
}

static PGresult *run_children(const struct directory_schema *schema,
			      const struct fake_statement *statement)
{
	static char *columns[3][64 * DIRECTORY_BATCH_MAX];
	size_t count = 0;

	for (size_t i = 0; i < 3; i++)
		count = elements_of(&statement->parameters[i], columns[i], COUNT_OF(columns[i]));
	for (size_t i = 0; i < count; i++) {
		size_t place = place_of(schema->table, columns[0][i]);
		struct row *row = &content.rows[place];

		assert_true(is_row(place, schema->table, columns[0][i]));
		assert_int_equal(atol(columns[1][i]), row->child_count);
		row->children =
			realloc(row->children, (row->child_count + 1) * sizeof *row->children);
		row->children[row->child_count++] = columns[2][i];
		columns[2][i] = NULL;
	}
	for (size_t i = 0; i < 3; i++)
		free_elements(columns[i], count);
	return result_of(1);
}

static PGresult *result_of_number(uint64_t number)
{
	PGresult *result = result_of(1);
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	set_value(result, 0, 0, text);
	return result;
}

static PGresult *run_missed(const struct fake_statement *statement)
{
	uint64_t from = strtoull(statement->parameters[0].data, NULL, 10);
	size_t limit = (size_t)atol(statement->parameters[1].data);
	PGresult *result = result_of(3);

	for (uint64_t version = from > 0 ? from : 1;
	     version <= content.version && (size_t)PQntuples(result) < limit; version++) {
		int row = PQntuples(result);
		char text[24];

		snprintf(text, sizeof text, "%llu", (unsigned long long)version);
		set_value(result, row, 0, text);
		set_value(result, row, 1, directory_table_name(content.log[version - 1].table));
		set_value(result, row, 2, content.log[version - 1].key);
	}
	return result;
}

bool fake_database_has_changed(const struct directory_key *key, uint64_t version)
{
	for (; version < content.version; version++)
		if (content.log[version].table == key->table &&
		    str_equal(str_from(content.log[version].key), key->name))
			return true;
	return false;
}

/* NULL: the condition is not met. */
static PGresult *run_condition(const struct fake_statement *statement)
{
	uint64_t since = strtoull(statement->parameters[0].data, NULL, 10);
	const struct directory_key key = {
		directory_table_find(str_from(statement->parameters[1].data)),
		str_from(statement->parameters[2].data)};

	if (fake_database_has_changed(&key, since))
		return NULL;
	return since <= content.version ? result_of_number(1) : NULL;
}

static PGresult *run_shape(void)
{
	PGresult *result = result_of(2);
	char text[24];

	snprintf(text, sizeof text, "shape %u", content.shape);
	set_value(result, 0, 0, text);
	snprintf(text, sizeof text, "%llu", (unsigned long long)content.version);
	set_value(result, 0, 1, text);
	return result;
}

static uint64_t count_domains_and_addresses(void)
{
	uint64_t count = 0;

	for (size_t i = 0; i < content.count; i++)
		count += content.rows[i].table == DIRECTORY_DOMAIN ||
			 content.rows[i].table == DIRECTORY_ADDRESS;
	return count;
}

static PGresult *run_named(const struct fake_statement *statement)
{
	static PGresult *(*const runs[POSTGRESQL_STATEMENTS])(
		const struct directory_schema *schema, const struct fake_statement *statement) = {
		[POSTGRESQL_GET] = run_get,
		[POSTGRESQL_LIST] = run_list,
		[POSTGRESQL_PUT] = run_put,
		[POSTGRESQL_PUT_CHILDREN] = run_children};
	char name[40];

	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_LISTED_TABLES; table++)
		for (unsigned i = 0; i < POSTGRESQL_STATEMENTS; i++) {
			struct directory_schema schema = directory_schema_of(table);

			if (strcmp(postgresql_statement_name((enum postgresql_statement)i, table,
							     name),
				   statement->text) != 0)
				continue;
			return runs[i] != NULL ? runs[i](&schema, statement)
					       : run_removal(&schema, statement,
							     i == POSTGRESQL_REMOVE_CHILDREN);
		}
	panic("a statement that is not understood: %s", statement->text);
}

PGresult *fake_rows_run(const struct fake_statement *statement)
{
	const char *text = statement->text;

	if (strcmp(text, POSTGRESQL_SHAPE_STATEMENT) == 0)
		return run_shape();
	if (strcmp(text, "SELECT version FROM meta") == 0)
		return result_of_number(content.version);
	if (strncmp(text, "SELECT (SELECT count(*)", 23) == 0)
		return result_of_number(count_domains_and_addresses());
	if (strncmp(text, "SELECT version, table_name", 26) == 0)
		return run_missed(statement);
	if (strncmp(text, "SELECT 1 / (NOT EXISTS", 22) == 0)
		return run_condition(statement);
	if (strncmp(text, "SELECT directory_", 17) == 0 || strcmp(text, "BEGIN") == 0 ||
	    strcmp(text, "COMMIT") == 0 || strcmp(text, "ROLLBACK") == 0)
		return result_of(1);
	return run_named(statement);
}

/* --- for tests --- */

uint64_t fake_database_version(void)
{
	return content.version;
}

void fake_database_spoil(const char *key, const char *kind)
{
	struct directory_schema schema = directory_schema_of(DIRECTORY_ADDRESS);
	size_t place;

	(void)ensure_row(DIRECTORY_ADDRESS, key, &place);
	clear_values(&content.rows[place]);
	for (size_t i = 0; schema.columns[i].field != NULL; i++)
		if (strcmp(schema.columns[i].field, "kind") == 0 && kind != NULL)
			content.rows[place].values[i] = fake_copy_text(kind, strlen(kind));
}

void fake_database_replace_tables(void)
{
	content.shape++;
}

size_t fake_database_largest(void)
{
	return content.largest;
}

unsigned fake_rows_shape(void)
{
	return content.shape;
}

void fake_rows_begin(void)
{
	memset(&content, 0, sizeof content);
}

void fake_rows_end(void)
{
	while (content.count > 0)
		remove_row(0);
	for (uint64_t i = 0; i < content.version; i++)
		free(content.log[i].key);
}
