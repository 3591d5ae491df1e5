// SPDX-License-Identifier: ISC
/* Passes changes on to the servers. */
#include "base/panic.h"
#include "directory/store/relay/internal.h"
#include <errno.h>
#include <string.h>

static void on_relayed_change(void *context, const struct directory_answer_text *answer)
{
	struct request *request = context;
	bool existed = answer->exists;
	int error = relay_error(answer);

	request->done.changed(request->context, error, &existed, answer->version);
	relay_request_free(request);
}

void relay_change(struct directory_store *store, const struct directory_change *changes,
		  size_t count, directory_changed *changed, void *context)
{
	struct relay *relay = relay_of(store);
	struct request *request = relay_request_new(relay, context);
	const struct directory_record *record = &changes[0].record;
	const char *table = directory_table_name(record->key.table);
	struct arena *arena;
	struct str *fields;

	if (count != 1)
		panic("%zu changes at once for a relay", count);
	request->done.changed = changed;
	request->question =
		(struct directory_question){.answered = on_relayed_change, .context = request};
	if (changes[0].is_removal) {
		directory_client_remove(relay->client, table, record->key.name, &request->question);
		return;
	}
	arena = arena_new();
	fields = arena_alloc(arena, (record->field_count + 1) * sizeof *fields);
	for (size_t i = 0; i < record->field_count; i++) {
		const struct directory_field *field = &record->fields[i];
		size_t length = field->name.length + 1 + field->value.length;
		char *text = arena_alloc(arena, length);

		memcpy(text, field->name.data, field->name.length);
		text[field->name.length] = ' ';
		memcpy(text + field->name.length + 1, field->value.data, field->value.length);
		fields[i] = str_slice(text, length);
	}
	if (changes[0].is_conditional)
		directory_client_edit(relay->client, table, record->key.name, changes[0].since,
				      fields, record->field_count, &request->question);
	else
		directory_client_put(relay->client, table, record->key.name, fields,
				     record->field_count, &request->question);
	arena_free(arena);
}
