// SPDX-License-Identifier: ISC
#include "directory/client/client.h"
#include "base/panic.h"
#include "directory/client/internal.h"
#include "directory/wire/route.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 100000 };

/* --- questions --- */

static void answer_later(struct directory_client *client, const struct directory_question *question,
			 const char *text)
{
	const struct directory_answer_text answer = {
		.error = DIRECTORY_ERROR_LATER, .error_text = text, .version = client->version};

	question->answered(question->context, &answer);
}

/* FRAME is the rest of a frame after its verb and id. */
static struct directory_question_private *private_new(enum client_kind kind, struct str table,
						      struct str key, struct str frame)
{
	struct directory_question_private *pending =
		memory_alloc(sizeof *pending + table.length + key.length + frame.length);
	char *place = pending->memory;

	memset(pending, 0, sizeof *pending);
	pending->kind = kind;
	pending->table = str_slice(place, table.length);
	pending->key = str_slice(place + table.length, key.length);
	pending->frame = str_slice(place + table.length + key.length, frame.length);
	memcpy(place, table.data, table.length);
	if (key.length > 0)
		memcpy(place + table.length, key.data, key.length);
	memcpy(place + table.length + key.length, frame.data, frame.length);
	return pending;
}

static bool cannot_be_asked(const struct directory_client *client)
{
	return client->state != CLIENT_GREETED && client->has_failed;
}

/* OUT has the complete frame, with id client->next_id. */
static void ask_directory_server(struct directory_client *client, enum client_kind kind,
				 struct str table, struct str key, struct buffer *out,
				 int64_t patience_us, struct directory_question *question)
{
	struct directory_question_private *pending =
		private_new(kind, table, key, buffer_view(out));
	bool is_first = client->first == NULL;

	buffer_clear(out);
	pending->id = client->next_id++;
	pending->until_us = os_clock_monotonic_us() + patience_us;
	pending->question = question;
	if (question != NULL)
		question->private = pending;
	client_add(client, pending);
	client_send(client, pending);
	if (is_first)
		client_arm_patience(client);
}

static void begin_frame(const struct directory_client *client, struct directory_frame *frame,
			struct buffer *out, const char *verb, const char *table, struct str key)
{
	directory_frame_begin(frame, out, verb);
	directory_frame_add_number(frame, client->next_id);
	directory_frame_add(frame, str_from(table));
	directory_frame_add(frame, key);
}

/* --- the cache --- */

/* Whether cached answers are certainly still what the server would answer. */
static bool is_in_touch(const struct directory_client *client)
{
	return directory_client_is_up(client) && !client->is_syncing;
}

/* Whether KEPT would make the MTA reject mail permanently: the record, address or domain does not
 * exist. It may exist by now, and the sender would not retry. */
static bool is_negative(struct str table, const struct cache_answer *kept)
{
	if (!kept->exists || !str_equal(table, STR("route")))
		return !kept->exists;
	for (size_t i = 0; i < kept->result_count; i++) {
		struct directory_route route = directory_route_read(kept->results[i]);

		if (directory_route_is_negative(&route))
			return true;
	}
	return false;
}

static bool answer_from_cache(struct directory_client *client, struct str table, struct str key,
			      struct directory_question *question)
{
	int64_t now_us = os_clock_boot_us();
	const struct cache_answer *kept = cache_find(client->cache, table, key, now_us);
	struct directory_answer_text answer;

	if (kept == NULL)
		return false;
	if (!is_in_touch(client) && is_negative(table, kept)) {
		cache_release(client->cache, kept);
		return false;
	}
	answer = (struct directory_answer_text){
		.exists = kept->exists,
		.results = kept->results,
		.result_count = kept->result_count,
		.dependencies = kept->dependencies,
		.dependency_count = kept->dependency_count,
		.ttl_us = kept->until_us - now_us,
		.version = kept->version,
	};
	question->private = NULL;
	question->answered(question->context, &answer);
	cache_release(client->cache, kept);
	return true;
}

void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question)
{
	struct str name = str_from(table);
	struct directory_frame frame;
	struct buffer out = {0};

	question->private = NULL;
	if (answer_from_cache(client, name, key, question))
		return;
	if (cannot_be_asked(client)) {
		answer_later(client, question, "No directory server can be reached");
		return;
	}
	begin_frame(client, &frame, &out, "get", table, key);
	directory_frame_end(&frame);
	ask_directory_server(client, CLIENT_GET, name, key, &out, patience_us, question);
}

void directory_question_cancel(struct directory_client *client, struct directory_question *question)
{
	if (question->private != NULL)
		client_remove(client, question->private);
	question->private = NULL;
}

/* --- changes and lists --- */

static void ask_long(struct directory_client *client, enum client_kind kind,
		     struct directory_frame *frame, struct directory_question *question)
{
	struct buffer *out = frame->out;

	question->private = NULL;
	if (cannot_be_asked(client)) {
		buffer_clear(out);
		answer_later(client, question, "No directory server can be reached");
		return;
	}
	directory_frame_end(frame);
	ask_directory_server(client, kind, STR(""), STR(""), out, DIRECTORY_RELAY_PATIENCE_US,
			     question);
}

/* FRAME has what precedes the fields. */
static void ask_to_put(struct directory_client *client, struct directory_frame *frame,
		       const struct str *fields, size_t field_count,
		       struct directory_question *question)
{
	static const struct directory_answer_text too_large = {
		.error = DIRECTORY_ERROR_BAD,
		.error_text = "The record is larger than a frame of the protocol"};

	for (size_t i = 0; i < field_count; i++)
		directory_frame_add(frame, fields[i]);
	if (directory_frame_size(frame) > DIRECTORY_FRAME_MAX ||
	    field_count + 5 > DIRECTORY_WORDS_MAX) {
		buffer_clear(frame->out);
		question->private = NULL;
		question->answered(question->context, &too_large);
		return;
	}
	ask_long(client, CLIENT_CHANGE, frame, question);
}

void directory_client_put(struct directory_client *client, const char *table, struct str key,
			  const struct str *fields, size_t field_count,
			  struct directory_question *question)
{
	struct directory_frame frame;
	struct buffer out = {0};

	begin_frame(client, &frame, &out, "put", table, key);
	ask_to_put(client, &frame, fields, field_count, question);
}

void directory_client_edit(struct directory_client *client, const char *table, struct str key,
			   uint64_t version, const struct str *fields, size_t field_count,
			   struct directory_question *question)
{
	struct directory_frame frame;
	struct buffer out = {0};

	begin_frame(client, &frame, &out, "edit", table, key);
	directory_frame_add_number(&frame, version);
	ask_to_put(client, &frame, fields, field_count, question);
}

void directory_client_remove(struct directory_client *client, const char *table, struct str key,
			     struct directory_question *question)
{
	struct directory_frame frame;
	struct buffer out = {0};

	begin_frame(client, &frame, &out, "del", table, key);
	ask_long(client, CLIENT_CHANGE, &frame, question);
}

void directory_client_list(struct directory_client *client, const char *table, struct str prefix,
			   struct str after, size_t limit, struct directory_question *question)
{
	struct directory_frame frame;
	struct buffer out = {0};

	begin_frame(client, &frame, &out, "list", table, prefix);
	directory_frame_add(&frame, after);
	directory_frame_add_number(&frame, limit);
	ask_long(client, CLIENT_LIST, &frame, question);
}

void directory_client_stats(struct directory_client *client, struct directory_question *question)
{
	struct directory_frame frame;
	struct buffer out = {0};

	directory_frame_begin(&frame, &out, "stats");
	directory_frame_add_number(&frame, client->next_id);
	ask_long(client, CLIENT_LIST, &frame, question);
}

void directory_client_accept(struct directory_client *client, struct directory_question *question)
{
	struct directory_frame frame;
	struct buffer out = {0};

	directory_frame_begin(&frame, &out, "accept");
	directory_frame_add_number(&frame, client->next_id);
	ask_long(client, CLIENT_CHANGE, &frame, question);
}

/* Asks a question only to see whether the server still answers. */
static void ping_directory_server(struct directory_client *client)
{
	struct directory_frame frame;
	struct buffer out = {0};

	directory_frame_begin(&frame, &out, "ping");
	directory_frame_add_number(&frame, client->next_id);
	directory_frame_end(&frame);
	ask_directory_server(client, CLIENT_PING, STR(""), STR(""), &out, 2 * DIRECTORY_PATIENCE_US,
			     NULL);
}

/* --- patience --- */

/* Whether the server has been silent for too long after a question, even if nobody waits for the
 * answer any more. */
static bool is_mute(const struct directory_client *client, int64_t now_us)
{
	return client->unheard_us != 0 && now_us - client->unheard_us >= DIRECTORY_PATIENCE_US;
}

static void answer_late_ones(struct directory_client *client, int64_t now_us)
{
	struct directory_question_private *next = client->first;

	while (next != NULL) {
		struct directory_question_private *pending = next;

		next = pending->next;
		if (pending->until_us > now_us)
			continue;
		client_answer_error(client, pending, DIRECTORY_ERROR_LATER,
				    "No directory server answered in time");
		next = client->first; /* the callback may have changed the list */
	}
}

static void on_patience_timer(void *context)
{
	struct directory_client *client = context;
	int64_t now_us = os_clock_monotonic_us();

	if (client->state == CLIENT_GREETED && is_mute(client, now_us))
		client_lose(client, "it does not answer");
	else if (client->state == CLIENT_CONNECTING &&
		 now_us - client->begun_us >= DIRECTORY_PATIENCE_US)
		client_lose(client, "it does not greet");
	else if (client->state == CLIENT_GREETED && client->first == NULL &&
		 now_us - client->heard_us >= CLIENT_PING_US)
		ping_directory_server(client);
	client_tell_state(client);
	answer_late_ones(client, now_us);
	client_arm_patience(client);
}

/* --- life --- */

struct directory_client *directory_client_new(struct os_loop *loop, const char *const *servers,
					      size_t server_count,
					      const struct directory_dialer *dialer,
					      const struct directory_client_handler *handler,
					      void *context)
{
	struct directory_client *client = memory_alloc_zero(1, sizeof *client);

	client->loop = loop;
	client->dialer = dialer;
	client->handler = handler;
	client->context = context;
	client->servers = memory_alloc_zero(server_count, sizeof *client->servers);
	client->server_count = server_count;
	for (size_t i = 0; i < server_count; i++)
		client->servers[i] = memory_copy_string(servers[i]);
	client->cache = cache_new(CAPACITY);
	client->next_id = 1;
	client->patience = os_timer_new(loop, on_patience_timer, client);
	client->hear = client_hear;
	client_link_init(client);
	return client;
}

void directory_client_set_capacity(struct directory_client *client, size_t entries)
{
	cache_set_capacity(client->cache, entries);
}

void directory_client_watch(struct directory_client *client,
			    void (*changed)(void *context, uint64_t version, struct str table,
					    struct str key),
			    void *context)
{
	client->watch = changed;
	client->watch_context = context;
	if (client->state == CLIENT_GREETED && !client->is_broken) {
		client_say_watch(client);
		client_write(client);
	}
}

void directory_client_when_greeted(struct directory_client *client, void (*call)(void *context),
				   void *context)
{
	client->when_greeted = call;
	client->when_context = context;
}

void directory_client_free(struct directory_client *client)
{
	if (client == NULL)
		return;
	while (client->first != NULL)
		client_remove(client, client->first);
	client_disconnect(client);
	os_task_cancel(client->loop, &client->task);
	os_timer_free(client->retry);
	os_timer_free(client->patience);
	cache_free(client->cache);
	for (size_t i = 0; i < client->server_count; i++)
		free(client->servers[i]);
	free(client->servers);
	free(client);
}
