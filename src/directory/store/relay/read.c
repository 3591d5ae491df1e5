// SPDX-License-Identifier: ISC
/* Records, lists and routes, which the client asks of the servers. */
#include "directory/expand/expand.h"
#include "directory/store/relay/internal.h"
#include "directory/wire/frame.h"

static void tell_got(struct request *request)
{
	struct directory_store *store = &request->relay->store;

	store->until_us = request->until_us;
	request->done.got(request->context, request->error,
			  request->error == 0 ? request->records : NULL,
			  request->error == 0 ? request->version : store->version);
	store->until_us = 0;
	relay_request_free(request);
}

/* A record of KEY with the fields in RESULTS, in ARENA. All fields are passed on: a later server
 * may have some that are unknown here. */
static const struct directory_record *read_record(struct arena *arena, struct directory_key key,
						  const struct str *results, size_t count)
{
	struct directory_field *fields = arena_alloc(arena, (count + 1) * sizeof *fields);
	struct directory_record *record = arena_alloc(arena, sizeof *record);

	for (size_t i = 0; i < count; i++)
		directory_frame_split_result(results[i], &fields[i].name, &fields[i].value);
	*record = (struct directory_record){key, fields, count};
	return record;
}

/* A copy that outlives the answer. */
static const struct directory_record *keep_record(struct arena *arena, struct directory_key key,
						  const struct directory_answer_text *answer)
{
	struct directory_record *record = arena_alloc(arena, sizeof *record);

	*record = directory_record_copy(
		arena, read_record(arena, key, answer->results, answer->result_count));
	return record;
}

static void on_relayed_record(void *context, const struct directory_answer_text *answer)
{
	struct part *part = context;
	struct request *request = part->request;

	relay_request_note(request, answer);
	if (answer->error == DIRECTORY_ERROR_NONE && answer->exists)
		request->records[part->index] = keep_record(request->arena, part->key, answer);
	if (--request->pending == 0)
		tell_got(request);
}

void relay_get(struct directory_store *store, const struct directory_key *keys, size_t count,
	       directory_got *got, void *context)
{
	struct relay *relay = relay_of(store);
	struct request *request = relay_request_new(relay, context);

	request->done.got = got;
	request->arena = arena_new();
	request->records = arena_alloc(request->arena, (count + 1) * sizeof *request->records);
	request->parts = arena_alloc(request->arena, (count + 1) * sizeof *request->parts);
	request->pending = count + 1; /* one extra, as answers may come during the loop */
	for (size_t i = 0; i < count; i++) {
		struct part *part = &request->parts[i];

		*part = (struct part){
			request, i, keys[i], {.answered = on_relayed_record, .context = part}};
		part->key.name = arena_copy_str(request->arena, keys[i].name);
		directory_client_get(relay->client, directory_table_name(keys[i].table),
				     part->key.name, DIRECTORY_RELAY_PATIENCE_US, &part->question);
	}
	if (--request->pending == 0)
		tell_got(request);
}

static void on_relayed_page(void *context, const struct directory_answer_text *answer)
{
	struct request *request = context;
	struct directory_page page = {0};

	relay_request_note(request, answer);
	request->arena = arena_new();
	if (request->error == 0)
		page = directory_client_page(answer, request->table, request->arena);
	request->done.listed(request->context, request->error, &page, request->version);
	relay_request_free(request);
}

void relay_list(struct directory_store *store, enum directory_table table, struct str prefix,
		struct str after, size_t limit, directory_listed *listed, void *context)
{
	struct relay *relay = relay_of(store);
	struct request *request = relay_request_new(relay, context);

	request->done.listed = listed;
	request->table = table;
	request->question =
		(struct directory_question){.answered = on_relayed_page, .context = request};
	directory_client_list(relay->client, directory_table_name(table), prefix, after, limit,
			      &request->question);
}

static void read_routes(struct arena *arena, const struct directory_answer_text *answer,
			struct directory_expansion *out)
{
	struct directory_route *routes =
		arena_alloc(arena, (answer->result_count + 1) * sizeof *routes);

	for (size_t i = 0; i < answer->result_count; i++)
		routes[i] = directory_route_read(answer->results[i]);
	out->routes = routes;
	out->count = answer->result_count;
}

/* An answer that depends on an unknown table must not be cached. */
static void read_dependencies(struct arena *arena, const struct directory_answer_text *answer,
			      struct directory_expansion *out)
{
	struct directory_key *keys =
		arena_alloc(arena, (answer->dependency_count + 1) * sizeof *keys);

	for (size_t i = 0; i < answer->dependency_count; i++) {
		struct str name = answer->dependencies[i];
		struct str table;

		(void)str_split(&name, ' ', &table);
		keys[i] = (struct directory_key){directory_table_find(table), name};
		out->may_keep &= keys[i].table != DIRECTORY_NO_TABLE;
		out->dependency_count += keys[i].table != DIRECTORY_NO_TABLE;
		if (keys[i].table == DIRECTORY_NO_TABLE)
			break;
	}
	out->dependencies = keys;
}

static void on_expanded(void *context, const struct directory_answer_text *answer)
{
	struct request *request = context;
	struct directory_store *store = &request->relay->store;
	struct directory_expansion expansion = {0};

	relay_request_note(request, answer);
	if (request->error == 0) {
		request->arena = arena_new();
		expansion.may_keep = answer->ttl_us > 0;
		expansion.version = request->version;
		read_dependencies(request->arena, answer, &expansion);
		read_routes(request->arena, answer, &expansion);
	}
	store->until_us = request->until_us;
	request->done.expanded(request->context, request->error,
			       request->error == 0 ? &expansion : NULL);
	store->until_us = 0;
	relay_request_free(request);
}

void relay_route(struct directory_store *store, struct str address, directory_expanded *expanded,
		 void *context)
{
	struct relay *relay = relay_of(store);
	struct request *request = relay_request_new(relay, context);

	request->done.expanded = expanded;
	request->question =
		(struct directory_question){.answered = on_expanded, .context = request};
	directory_client_get(relay->client, "route", address, DIRECTORY_RELAY_PATIENCE_US,
			     &request->question);
}
