// SPDX-License-Identifier: ISC
#include "command/directory/print.h"
#include "base/panic.h"
#include "base/text/json.h"
#include "command/queue/queue.h"
#include "directory/bulk/pages.h"
#include "directory/bulk/writer.h"
#include "directory/record/key.h"
#include "directory/wire/route.h"
#include "mail/text/text.h"
#include <stdlib.h>

/* --- routes, in words --- */

static void say_local(const struct directory_route *route, struct buffer *out)
{
	buffer_append_string(out, "is delivered to ");
	directory_key_display(route->address, out);
	buffer_append_format(out, " by service " STR_FORMAT, STR_ARGUMENTS(route->service));
	if (route->server.length > 0)
		buffer_append_format(out, " at " STR_FORMAT, STR_ARGUMENTS(route->server));
}

static void say_remote(const struct directory_route *route, struct buffer *out)
{
	buffer_append_string(out, "is sent on to ");
	directory_key_display(route->address, out);
}

static void say_list(const struct directory_route *route, struct buffer *out)
{
	buffer_append_string(out, "is sent to the members of ");
	directory_key_display(route->address, out);
	if (route->owner.length > 0) {
		buffer_append_string(out, ", as from ");
		directory_key_display(route->owner, out);
	}
	if (route->verp)
		buffer_append_string(out, ", a sender for each");
	if (route->post != DIRECTORY_POST_ANYONE)
		buffer_append_format(out, ", if its %s post", directory_post_name(route->post));
}

static void say_refuse(const struct directory_route *route, struct buffer *out)
{
	buffer_append_format(out, "is %s with " STR_FORMAT ": ",
			     str_starts_with(route->status, STR("4")) ? "deferred" : "refused",
			     STR_ARGUMENTS(route->status));
	directory_key_display(route->address, out);
	buffer_append_string(out, ": ");
	buffer_append_str(out, route->text);
}

static void say_elsewhere(const struct directory_route *route, struct buffer *out)
{
	(void)route;
	buffer_append_string(out, "is sent to the servers of its domain, which is not ours");
}

/* A kind that only a later server knows. */
static void say_other(const struct directory_route *route, struct buffer *out)
{
	buffer_append_str(out, route->text);
}

static void (*const sayings[])(const struct directory_route *route, struct buffer *out) = {
	[DIRECTORY_ROUTE_LOCAL] = say_local,         [DIRECTORY_ROUTE_REMOTE] = say_remote,
	[DIRECTORY_ROUTE_LIST] = say_list,           [DIRECTORY_ROUTE_REFUSE] = say_refuse,
	[DIRECTORY_ROUTE_ELSEWHERE] = say_elsewhere, [DIRECTORY_ROUTE_OTHER] = say_other,
};

static void print_route_words(const char *key, const struct directory_route *route)
{
	struct buffer text = {0};
	struct buffer line = {0};

	buffer_append_format(&text, "%s ", key);
	sayings[route->kind](route, &text);
	mail_text_append(&line, buffer_view(&text), MAIL_TEXT_8BIT);
	buffer_append_byte(&line, '\n');
	command_queue_flush(&line);
	buffer_clear(&line);
	buffer_clear(&text);
}

static void json_list(struct buffer *out, const char *name, const struct str *texts, size_t count)
{
	json_field(out, name);
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			buffer_append_byte(out, ',');
		json_append_text(out, texts[i]);
	}
	buffer_append_byte(out, ']');
}

static void print_route_json(const char *key, const struct directory_answer_text *answer)
{
	struct buffer out = {0};

	buffer_append_byte(&out, '{');
	json_field_text(&out, "address", str_from(key));
	json_field_number(&out, "version", answer->version);
	json_field_number(&out, "ttl_ms", (uint64_t)(answer->ttl_us / 1000));
	json_list(&out, "results", answer->results, answer->result_count);
	json_list(&out, "depends_on", answer->dependencies, answer->dependency_count);
	buffer_append_string(&out, "}\n");
	command_queue_flush(&out);
	buffer_clear(&out);
}

bool command_directory_print_route(const char *key, bool json,
				   const struct directory_answer_text *answer)
{
	bool is_refused = false;

	if (json)
		print_route_json(key, answer);
	for (size_t i = 0; i < answer->result_count; i++) {
		struct directory_route route = directory_route_read(answer->results[i]);

		if (!json)
			print_route_words(key, &route);
		is_refused |= answer->result_count == 1 && route.kind == DIRECTORY_ROUTE_REFUSE;
	}
	return !is_refused;
}

/* --- records --- */

static void print_shown(const struct directory_record *record, bool json)
{
	struct buffer key CLEANUP(buffer_clear) = {0};
	struct buffer out = {0};

	if (json) {
		bulk_json_append(record, &out);
	} else {
		directory_key_display(record->key.name, &key);
		buffer_append_format(&out, "%s ", directory_table_name(record->key.table));
		mail_text_append(&out, buffer_view(&key), MAIL_TEXT_8BIT);
		for (size_t i = 0; i < record->field_count; i++) {
			buffer_append_format(&out, " " STR_FORMAT "=",
					     STR_ARGUMENTS(record->fields[i].name));
			mail_text_append(&out, record->fields[i].value, MAIL_TEXT_8BIT);
		}
	}
	buffer_append_byte(&out, '\n');
	command_queue_flush(&out);
	buffer_clear(&out);
}

void command_directory_append_value(enum directory_table table, const struct directory_field *field,
				    struct buffer *out)
{
	struct str hash = field->value;
	ptrdiff_t end;

	if (table != DIRECTORY_USER || !str_equal(field->name, STR("password"))) {
		buffer_append_str(out, field->value);
		return;
	}
	end = str_find(str_skip(hash, 1), '$'); /* "$2b$..." */
	buffer_append_str(out, str_slice(hash.data, end < 0 ? 0 : (size_t)end + 2));
	buffer_append_string(out, "...");
}

void command_directory_print_record(const struct directory_record *record, bool json)
{
	struct directory_record shown = *record;
	struct arena *arena = arena_new();
	struct directory_field *fields =
		arena_alloc(arena, (record->field_count + 1) * sizeof *fields);

	for (size_t i = 0; i < record->field_count; i++) {
		struct buffer text CLEANUP(buffer_clear) = {0};

		fields[i].name = record->fields[i].name;
		command_directory_append_value(record->key.table, &record->fields[i], &text);
		fields[i].value = arena_copy_str(arena, buffer_view(&text));
	}
	shown.fields = fields;
	print_shown(&shown, json);
	arena_free(arena);
}

void command_directory_print_fields(const char *table, const char *key, bool json,
				    const struct directory_answer_text *answer)
{
	struct directory_field *fields =
		memory_alloc_zero(answer->result_count + 1, sizeof *fields);
	const struct directory_record record = {
		{directory_table_find(str_from(table)), str_from(key)},
		fields,
		answer->result_count};

	bulk_fields(answer->results, answer->result_count, fields);
	command_directory_print_record(&record, json);
	free(fields);
}
