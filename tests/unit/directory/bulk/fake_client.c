// SPDX-License-Identifier: ISC
#include "fake_client.h"
#include "base/arena.h"
#include "base/panic.h"
#include "directory/record/record.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { WORDS_MAX = 8192 };

struct row {
	struct row *next;
	char *key;  /* "TABLE KEY" */
	char *text; /* "NAME VALUE|NAME VALUE", or "" */
};

struct directory_question_private {
	struct directory_client *client;
	struct directory_question *question;
	enum { GET, PUT, EDIT, REMOVE, LIST } verb;
	char *key;
	char *text;
	char *after;
	size_t limit;
	struct directory_question_private *next;
	struct directory_question_private *prev;
};

struct directory_client {
	struct os_loop *loop;
	struct row *rows; /* in the order of their keys */
	struct directory_question_private *waiting;
	struct os_task task; /* answers them */
	struct buffer all;
	size_t puts;
	size_t under_way;
	size_t most;
	size_t changes;
	size_t fail_after;
	enum directory_error fail_with;
	const char *disturbance; /* a record; NULL: none */
	size_t asked;
	size_t failing; /* the question of this number, from 1; 0: none */
	enum directory_error failing_with;
	struct str words[WORDS_MAX];
};

static void on_turn(void *context);

struct directory_client *fake_client_new(struct os_loop *loop)
{
	struct directory_client *client = memory_alloc_zero(1, sizeof *client);

	client->loop = loop;
	client->task = (struct os_task){.call = on_turn, .context = client};
	return client;
}

static struct row **find(struct directory_client *client, const char *key)
{
	struct row **at = &client->rows;

	while (*at != NULL && strcmp((*at)->key, key) < 0)
		at = &(*at)->next;
	return at;
}

static bool is_at(struct row *const *at, const char *key)
{
	return *at != NULL && strcmp((*at)->key, key) == 0;
}

static bool drop(struct directory_client *client, const char *key)
{
	struct row **at = find(client, key);
	struct row *row = *at;

	if (!is_at(at, key))
		return false;
	*at = row->next;
	free(row->key);
	free(row->text);
	free(row);
	return true;
}

static void store(struct directory_client *client, const char *key, const char *text)
{
	struct row *row = memory_alloc_zero(1, sizeof *row);
	struct row **at;

	(void)drop(client, key);
	at = find(client, key);
	row->key = memory_copy_string(key);
	row->text = memory_copy_string(text);
	row->next = *at;
	*at = row;
}

void fake_client_set(struct directory_client *client, const char *record)
{
	char *copy = memory_copy_string(record);
	char *bar = strchr(copy, '|');

	if (bar != NULL)
		*bar = '\0';
	store(client, copy, bar != NULL ? bar + 1 : "");
	free(copy);
}

const char *fake_client_all(struct directory_client *client)
{
	buffer_reset(&client->all);
	for (const struct row *row = client->rows; row != NULL; row = row->next)
		buffer_append_format(&client->all, "%s%s%s\n", row->key,
				     row->text[0] != '\0' ? "|" : "", row->text);
	buffer_append_byte(&client->all, '\0');
	return buffer_data(&client->all);
}

size_t fake_client_puts(const struct directory_client *client)
{
	return client->puts;
}

size_t fake_client_most(const struct directory_client *client)
{
	return client->most;
}

void fake_client_fail(struct directory_client *client, size_t count, enum directory_error error)
{
	client->fail_after = client->changes + count;
	client->fail_with = error;
}

void fake_client_fail_question(struct directory_client *client, size_t number,
			       enum directory_error error)
{
	client->asked = 0;
	client->failing = number;
	client->failing_with = error;
}

size_t fake_client_asked(const struct directory_client *client)
{
	return client->asked;
}

void fake_client_disturb(struct directory_client *client, const char *record)
{
	client->disturbance = record;
}

void directory_client_problem(const struct directory_client *client, struct buffer *out)
{
	if (client->fail_with == DIRECTORY_ERROR_LATER ||
	    (client->failing > 0 && client->failing_with == DIRECTORY_ERROR_LATER))
		buffer_append_string(out, "/run/directory: Permission denied");
}

void fake_client_free(struct directory_client *client)
{
	while (client->rows != NULL)
		(void)drop(client, client->rows->key);
	buffer_clear(&client->all);
	free(client);
}

/* --- answers --- */

static size_t add_words(struct directory_client *client, size_t count, const char *text)
{
	struct str rest = str_from(text);
	struct str word;

	while (rest.length > 0 && count < WORDS_MAX && str_split(&rest, '|', &word))
		client->words[count++] = word;
	return count;
}

static size_t list(struct directory_client *client, const struct directory_question_private *asked,
		   struct buffer *keys)
{
	size_t table = strcspn(asked->key, " ") + 1;
	size_t count = 0;
	size_t records = 0;

	(void)buffer_reserve(keys, 1 << 20); /* views into it stay */
	for (const struct row *row = client->rows; row != NULL && records < asked->limit;
	     row = row->next) {
		size_t start = keys->length;

		if (strncmp(row->key, asked->key, strlen(asked->key)) != 0 ||
		    strcmp(row->key + table, asked->after) <= 0)
			continue;
		buffer_append_format(keys, "= %s", row->key + table);
		client->words[count++] = str_slice(buffer_data(keys) + start, keys->length - start);
		count = add_words(client, count, row->text);
		records++;
	}
	return count;
}

static bool fails(struct directory_client *client, const struct directory_question_private *asked,
		  struct directory_answer_text *answer)
{
	if (++client->asked == client->failing) {
		answer->error = client->failing_with;
		answer->error_text = "as was asked for";
		return true;
	}
	if (asked->verb == EDIT && client->disturbance != NULL) {
		fake_client_set(client, client->disturbance);
		client->disturbance = NULL;
		answer->error = DIRECTORY_ERROR_CHANGED;
		answer->error_text = "it has changed";
		return true;
	}
	if (asked->verb == GET || asked->verb == LIST)
		return false;
	if (client->fail_with == DIRECTORY_ERROR_NONE || client->changes++ < client->fail_after)
		return false;
	answer->error = client->fail_with;
	answer->error_text = "as was asked for";
	return true;
}

static void act(struct directory_client *client, const struct directory_question_private *asked,
		struct directory_answer_text *answer, struct buffer *keys)
{
	struct row **at = find(client, asked->key);

	if (fails(client, asked, answer))
		return;
	switch (asked->verb) {
	case GET:
		answer->exists = is_at(at, asked->key);
		if (answer->exists)
			answer->result_count = add_words(client, 0, (*at)->text);
		break;
	case PUT:
	case EDIT:
		client->puts++;
		store(client, asked->key, asked->text);
		answer->exists = true;
		break;
	case REMOVE:
		answer->exists = drop(client, asked->key);
		break;
	case LIST:
		answer->result_count = list(client, asked, keys);
		answer->exists = true;
		break;
	}
}

static void reply(struct directory_question_private *asked)
{
	struct directory_client *client = asked->client;
	struct directory_question *question = asked->question;
	struct directory_answer_text answer = {.results = client->words};
	struct buffer keys = {0};

	act(client, asked, &answer, &keys);
	client->under_way--;
	question->private = NULL;
	free(asked->key);
	free(asked->text);
	free(asked->after);
	free(asked);
	question->answered(question->context, &answer);
	buffer_clear(&keys);
}

/* What waits by now; in the order in which it was asked. */
static void on_turn(void *context)
{
	struct directory_client *client = context;
	struct directory_question_private *first = client->waiting;

	client->waiting = NULL;
	while (first != NULL) {
		struct directory_question_private *asked = first;

		DL_DELETE(first, asked);
		reply(asked);
	}
}

/* --- questions --- */

static struct directory_question_private *ask(struct directory_client *client, const char *table,
					      struct str key, struct directory_question *question)
{
	struct directory_question_private *asked = memory_alloc_zero(1, sizeof *asked);
	struct buffer text = {0};

	buffer_append_format(&text, "%s " STR_FORMAT, table, STR_ARGUMENTS(key));
	buffer_append_byte(&text, '\0');
	asked->client = client;
	asked->question = question;
	asked->key = memory_copy_string(buffer_data(&text));
	question->private = asked;
	DL_APPEND(client->waiting, asked);
	os_loop_defer(client->loop, &client->task);
	if (++client->under_way > client->most)
		client->most = client->under_way;
	buffer_clear(&text);
	return asked;
}

void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question)
{
	(void)patience_us;
	ask(client, table, key, question)->verb = GET;
}

static void ask_to_put(struct directory_question_private *asked, const struct str *fields,
		       size_t field_count)
{
	struct buffer text = {0};

	for (size_t i = 0; i < field_count; i++)
		buffer_append_format(&text, "%s" STR_FORMAT, i > 0 ? "|" : "",
				     STR_ARGUMENTS(fields[i]));
	buffer_append_byte(&text, '\0');
	asked->verb = PUT;
	asked->text = memory_copy_string(buffer_data(&text));
	buffer_clear(&text);
}

void directory_client_put(struct directory_client *client, const char *table, struct str key,
			  const struct str *fields, size_t field_count,
			  struct directory_question *question)
{
	ask_to_put(ask(client, table, key, question), fields, field_count);
}

void directory_client_edit(struct directory_client *client, const char *table, struct str key,
			   uint64_t version, const struct str *fields, size_t field_count,
			   struct directory_question *question)
{
	struct directory_question_private *asked = ask(client, table, key, question);

	(void)version;
	ask_to_put(asked, fields, field_count);
	asked->verb = EDIT;
}

void directory_client_remove(struct directory_client *client, const char *table, struct str key,
			     struct directory_question *question)
{
	ask(client, table, key, question)->verb = REMOVE;
}

void directory_client_list(struct directory_client *client, const char *table, struct str prefix,
			   struct str after, size_t limit, struct directory_question *question)
{
	struct directory_question_private *asked = ask(client, table, prefix, question);

	asked->verb = LIST;
	asked->limit = limit;
	asked->after = memory_alloc_zero(1, after.length + 1);
	if (after.length > 0)
		memcpy(asked->after, after.data, after.length);
}
