// SPDX-License-Identifier: ISC
/* A round: many gets as one statement for each table, or one list, or one missed. */
#include "directory/store/postgresql/round.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* ---- answers ---- */

void postgresql_read_fail(struct postgresql_read *read, int error)
{
	if (read->kind == POSTGRESQL_READ_GET)
		read->answer.got(read->context, error, NULL, 0);
	else if (read->kind == POSTGRESQL_READ_LIST)
		directory_list_fail(read->answer.listed, read->context, error, 0);
	else
		read->answer.missed(read->context, error, NULL, NULL, 0);
}

static void answer_get(struct postgresql_round *round, struct postgresql_read *read)
{
	const struct directory_record **records =
		arena_alloc(round->arena, (read->count + 1) * sizeof *records);
	bool is_bad = false;

	for (size_t i = 0; i < read->count; i++) {
		const struct str name = read->keys[i].name;
		struct postgresql_slot *slot;

		HASH_FIND(hh, round->slots[read->keys[i].table], name.data, name.length, slot);
		records[i] = slot->record;
		is_bad |= slot->is_bad;
	}
	round->store->base.read_version = round->version;
	read->answer.got(read->context, is_bad ? -EBADMSG : 0, is_bad ? NULL : records,
			 round->store->base.version);
	round->store->base.read_version = 0;
}

void postgresql_round_answer(struct postgresql_round *round, struct postgresql_read *read)
{
	if (round->request.failure.error != 0)
		postgresql_read_fail(read, round->request.failure.error);
	else if (read->kind == POSTGRESQL_READ_GET)
		answer_get(round, read);
	else if (read->kind == POSTGRESQL_READ_LIST)
		read->answer.listed(read->context, 0,
				    &(struct directory_page){read->records, read->record_count,
							     read->malformed,
							     read->malformed_count},
				    round->store->base.version);
	else if (round->is_stale || round->count > read->limit)
		postgresql_read_fail(read, -ESTALE);
	else
		read->answer.missed(read->context, 0, round->keys, round->versions, round->count);
}

void postgresql_read_free(struct postgresql_read *read)
{
	arena_free(read->arena);
	free(read);
}

void postgresql_round_free(struct postgresql_round *round)
{
	for (size_t i = 0; i < DIRECTORY_TABLES; i++)
		HASH_CLEAR(hh, round->slots[i]);
	arena_free(round->arena);
	free(round);
}

/* ---- gets ---- */

static void add_keys(struct postgresql_round *round, const struct postgresql_read *read)
{
	for (size_t i = 0; i < read->count; i++) {
		const struct directory_key *key = &read->keys[i];
		struct postgresql_slot *slot;

		HASH_FIND(hh, round->slots[key->table], key->name.data, key->name.length, slot);
		if (slot != NULL)
			continue;
		slot = arena_alloc(round->arena, sizeof *slot);
		HASH_ADD_KEYPTR(hh, round->slots[key->table], key->name.data, key->name.length,
				slot);
		round->key_count++;
	}
}

/* A result of something else must not be taken as "no such record". */
static bool is_of_table(struct postgresql_request *request, const PGresult *result,
			const struct directory_schema *schema)
{
	if (PQnfields(result) == postgresql_table_width(schema))
		return true;
	postgresql_link_doubt(request, "an answer with other columns than were asked for");
	return false;
}

static struct postgresql_slot *find_slot_of_row(const struct postgresql_round *round,
						enum directory_table table, const PGresult *result,
						int row)
{
	struct postgresql_slot *slot;

	HASH_FIND(hh, round->slots[table], postgresql_link_value(result, row, 0),
		  postgresql_link_length(result, row, 0), slot);
	return slot;
}

/* Tables that were dropped and recreated are empty without an error. They are checked last: if they
 * are still the same, all that was read before came from them. */
static void check_shape_of_tables(struct postgresql_round *round, const PGresult *result)
{
	const struct postgresql_setup *setup = &round->store->reader.setup;

	round->version = strtoull(postgresql_link_value(result, 0, 1), NULL, 10);
	if (strcmp(postgresql_link_value(result, 0, 0), setup->shape) == 0)
		return;
	postgresql_link_doubt(&round->request, "its tables were replaced");
	round->is_replaced = true;
}

static void get_result(struct postgresql_request *request, unsigned statement,
		       const PGresult *result)
{
	struct postgresql_round *round = request->context;
	enum directory_table table;

	if (statement == round->statement_count) {
		check_shape_of_tables(round, result);
		return;
	}
	if (statement > round->statement_count) {
		postgresql_link_doubt(request, "more answers than questions");
		return;
	}
	table = round->tables[statement];
	if (!is_of_table(request, result, &round->store->schemas[table]))
		return;
	for (int row = 0; row < PQntuples(result);) {
		struct postgresql_slot *slot = find_slot_of_row(round, table, result, row);
		struct directory_record taken;
		struct directory_record *record;
		const char *reason;

		if (slot == NULL) {
			postgresql_link_doubt(request, "an answer about what was not asked for");
			return;
		}
		if (!postgresql_record_take(&round->store->schemas[table], result, &row,
					    round->arena, &taken, &reason)) {
			slot->is_bad = true;
			continue;
		}
		/* its texts may belong to the result, which is freed earlier */
		record = arena_alloc(round->arena, sizeof *record);
		*record = directory_record_copy(round->arena, &taken);
		slot->record = record;
	}
}

static void send_keys(struct postgresql_round *round, enum directory_table table,
		      struct postgresql_array *array)
{
	const struct postgresql_parameter keys = postgresql_array_end(array);
	char name[40];

	round->tables[round->statement_count++] = table;
	postgresql_link_execute(round->store->reader.link,
				postgresql_statement_name(POSTGRESQL_GET, table, name), &keys, 1);
	postgresql_array_clear(array);
}

static void send_table(struct postgresql_round *round, enum directory_table table)
{
	struct postgresql_array array = {0};
	struct postgresql_slot *slot, *next;
	size_t count = 0;

	HASH_ITER (hh, round->slots[table], slot, next) {
		postgresql_array_add(&array, str_slice(slot->hh.key, slot->hh.keylen));
		count++;
		if (count % POSTGRESQL_RECORDS_MAX == 0 || next == NULL)
			send_keys(round, table, &array);
	}
}

void postgresql_round_send_gets(struct postgresql_round *round)
{
	struct postgresql_reader *reader = &round->store->reader;

	while (reader->waiting != NULL && reader->waiting->kind == POSTGRESQL_READ_GET &&
	       round->key_count < DIRECTORY_BATCH_MAX) {
		struct postgresql_read *read = reader->waiting;

		DL_DELETE(reader->waiting, read);
		DL_APPEND(round->reads, read);
		add_keys(round, read);
	}
	round->request.result = get_result;
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_TABLES; table++)
		send_table(round, table);
	postgresql_link_execute(round->store->reader.link, POSTGRESQL_SHAPE_STATEMENT, NULL, 0);
}

/* ---- lists ---- */

static size_t list_wanted(const struct postgresql_read *read)
{
	size_t left = read->limit - read->record_count;

	return left < POSTGRESQL_RECORDS_MAX ? left : POSTGRESQL_RECORDS_MAX;
}

static void add_malformed_to_read(struct postgresql_read *read, struct str key, const char *reason)
{
	struct directory_malformed *malformed = &read->malformed[read->malformed_count];

	if (read->malformed_count == read->limit)
		return;
	if (key.length > DIRECTORY_KEY_MAX)
		key.length = DIRECTORY_KEY_MAX;
	malformed->key = arena_copy_str(read->arena, key);
	malformed->reason = arena_copy_str(read->arena, str_from(reason));
	read->malformed_count++;
}

/* Records beyond POSTGRESQL_RECORDS_MAX, and places of malformed ones, are filled by another round,
 * since a short page would mean the end. */
static void list_result(struct postgresql_request *request, unsigned statement,
			const PGresult *result)
{
	struct postgresql_round *round = request->context;
	struct postgresql_read *read = round->reads;
	const struct directory_schema *schema = &round->store->schemas[read->table];
	size_t wanted = list_wanted(read);
	size_t seen = 0;

	(void)statement;
	if (read->arena == NULL) {
		read->arena = arena_new();
		read->records = arena_alloc(read->arena, (read->limit + 1) * sizeof *read->records);
		read->malformed = arena_alloc(read->arena, read->limit * sizeof *read->malformed);
	}
	if (!is_of_table(request, result, schema))
		return;
	for (int row = 0; row < PQntuples(result); seen++) {
		struct directory_record taken;
		const char *reason;

		if (seen == wanted) {
			postgresql_link_doubt(request, "an answer of more records than asked for");
			return;
		}
		if (postgresql_record_take(schema, result, &row, round->arena, &taken, &reason))
			read->records[read->record_count++] =
				directory_record_copy(read->arena, &taken);
		else
			add_malformed_to_read(read, taken.key.name, reason);
	}
	round->is_short = seen == wanted && read->record_count < read->limit;
	if (round->is_short)
		read->after = arena_copy_str(
			read->arena,
			str_from(postgresql_link_value(result, PQntuples(result) - 1, 0)));
}

void postgresql_round_send_list(struct postgresql_round *round)
{
	const struct postgresql_read *read = round->reads;
	char limit[24];
	char name[40];
	const struct postgresql_parameter parameters[] = {
		{.value = read->prefix}, {.value = read->after}, {.text = limit}};

	snprintf(limit, sizeof limit, "%zu", list_wanted(read));
	round->request.result = list_result;
	postgresql_link_execute(round->store->reader.link,
				postgresql_statement_name(POSTGRESQL_LIST, read->table, name),
				parameters, COUNT_OF(parameters));
}

/* ---- missed ---- */

static void missed_row(struct postgresql_round *round, const PGresult *result, int row)
{
	const char *table = postgresql_link_value(result, row, 1);
	const struct str name = str_slice(postgresql_link_value(result, row, 2),
					  postgresql_link_length(result, row, 2));
	struct directory_key *key = &round->keys[round->count];

	round->is_stale = round->is_stale || strcmp(table, "*") == 0;
	if (!postgresql_change_key(table, name, key))
		return;
	key->name = arena_copy_str(round->arena, name);
	round->versions[round->count++] = strtoull(postgresql_link_value(result, row, 0), NULL, 10);
}

/* The first row must be the change of that version itself: if it is missing, it was pruned, is in
 * the future, or belongs to another history. */
static void missed_result(struct postgresql_request *request, unsigned statement,
			  const PGresult *result)
{
	struct postgresql_round *round = request->context;
	const struct postgresql_read *read = round->reads;
	int rows = PQntuples(result);
	uint64_t first = rows > 0 ? strtoull(postgresql_link_value(result, 0, 0), NULL, 10) : 0;
	int begin = read->version > 0 ? 1 : 0;

	(void)statement;
	round->keys = arena_alloc(round->arena, ((size_t)rows + 1) * sizeof *round->keys);
	round->versions = arena_alloc(round->arena, ((size_t)rows + 1) * sizeof *round->versions);
	for (int row = begin; row < rows; row++)
		missed_row(round, result, row);
	if (rows > begin && (size_t)(rows - begin) > read->limit)
		round->is_stale = true;
	if (read->version > 0 ? first != read->version : first > 1)
		round->is_stale = true;
}

void postgresql_round_send_missed(struct postgresql_round *round)
{
	char version[24];
	char limit[24];
	const struct postgresql_parameter parameters[] = {{.text = version}, {.text = limit}};

	snprintf(version, sizeof version, "%llu", (unsigned long long)round->reads->version);
	snprintf(limit, sizeof limit, "%zu", round->reads->limit + 2);
	round->request.result = missed_result;
	postgresql_link_query(round->store->reader.link,
			      "SELECT version, table_name, key FROM change"
			      " WHERE version >= $1::bigint ORDER BY version LIMIT $2::bigint",
			      parameters, COUNT_OF(parameters));
}
