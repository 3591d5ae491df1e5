// SPDX-License-Identifier: ISC
/* The store's results, as answers to questions. */
#include "directory/server/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <string.h>

/* In milliseconds, of an answer that would normally be cached for FULL_US. */
static uint64_t ttl_ms_of(const struct directory_server *server, int64_t full_us)
{
	const struct directory_store *store = server->store;
	int64_t now_us = os_clock_monotonic_us();
	int64_t left_us = full_us;

	if (store->fresh_us != INT64_MAX && store->fresh_us < now_us)
		left_us = full_us - (now_us - store->fresh_us);
	if (store->until_us != 0 && store->until_us - now_us < left_us)
		left_us = store->until_us - now_us;
	return left_us > 0 ? (uint64_t)(left_us / 1000) : 0;
}

static struct str id_of(const struct question *question)
{
	return str_slice(question->id, question->id_length);
}

static void answer_question_error(struct question *question, int error)
{
	struct session *session = question->session;

	session->server->counts.errors++;
	if (error == -EACCES)
		session_error(session, id_of(question), DIRECTORY_ERROR_DENIED,
			      "This server may not read that itself");
	else
		session_error(session, id_of(question), DIRECTORY_ERROR_LATER,
			      error == -EBADMSG ? "A record of it is malformed, see the log"
						: "The data cannot be reached now");
}

/* Whether anybody still waits for the answer. */
static bool is_answer_wanted(struct question *question)
{
	return question->session != NULL && !question->session->is_broken;
}

/* Passwords of a user who is not active are shown only to those who maintain the data: a reader
 * who authenticates users need not check states. */
static bool may_see(const struct session *session, const struct directory_record *record,
		    struct str field)
{
	unsigned needed = DIRECTORY_ROLE_SECRET;

	if (record->key.table != DIRECTORY_USER || !str_equal(field, STR("password")))
		return true;
	if (directory_record_state(record) != DIRECTORY_ACTIVE)
		needed |= DIRECTORY_ROLE_CHANGE;
	return (session->roles & needed) == needed;
}

enum { NAME_SIZE = 32 }; /* of our field names; none is longer */

static void add_fields_to_answer(const struct session *session,
				 const struct directory_record *record)
{
	struct answer *answer = &session->server->answer;

	for (size_t i = 0; i < record->field_count; i++) {
		const struct directory_field *field = &record->fields[i];
		char name[NAME_SIZE] = "";

		if (field->name.length >= sizeof name || !may_see(session, record, field->name))
			continue;
		memcpy(name, field->name.data, field->name.length);
		answer_add(answer, name, field->value);
	}
}

void reply_got(void *context, int error, const struct directory_record *const *records,
	       uint64_t version)
{
	struct question *question = context;
	struct directory_server *server = question->server;
	const struct config_directory *config = &server->config->directory;
	bool exists = error == 0 && records[0] != NULL;
	uint64_t ttl_ms = ttl_ms_of(server, exists ? config->ttl_us : config->negative_ttl_us);

	if (error == 0 && !exists && server->store->lost_us != 0)
		error = -ENOTCONN; /* it may exist by now */
	if (error == 0 && pause_is_due(question)) {
		pause_question(question);
		return;
	}
	if (is_answer_wanted(question) && error != 0) {
		answer_question_error(question, error);
	} else if (is_answer_wanted(question)) {
		answer_reset(&server->answer);
		if (exists)
			add_fields_to_answer(question->session, records[0]);
		answer_add_dependency(&server->answer,
				      &(struct directory_key){question->table, question->key});
		answer_send(&server->answer, session_output(question->session),
			    exists ? "val" : "none", id_of(question), ttl_ms, version);
		server->counts.answers_none += !exists;
		if (ttl_ms > 0)
			push_holds(question->session, question->table, question->key);
	}
	question_free(question);
}

/* An address that does not exist or is refused is answered as a record that does not exist. */
static bool is_refused_expansion(const struct directory_expansion *expansion)
{
	return expansion->count == 1 && expansion->routes[0].kind == DIRECTORY_ROUTE_REFUSE;
}

void reply_expanded(void *context, int error, const struct directory_expansion *expansion)
{
	struct question *question = context;
	struct directory_server *server = question->server;
	const struct config_directory *config = &server->config->directory;
	uint64_t ttl_ms;

	if (error == 0 && question->key.length > 0 && pause_is_due(question)) {
		pause_question(question);
		return;
	}
	if (is_answer_wanted(question) && error != 0) {
		answer_question_error(question, error);
	} else if (is_answer_wanted(question)) {
		ttl_ms = ttl_ms_of(server, is_refused_expansion(expansion) ? config->negative_ttl_us
									   : config->ttl_us);
		if (!expansion->may_keep)
			ttl_ms = 0;
		answer_reset(&server->answer);
		for (size_t i = 0; i < expansion->count; i++)
			answer_add_route(&server->answer, &expansion->routes[i]);
		for (size_t i = 0; i < expansion->dependency_count; i++) {
			const struct directory_key *key = &expansion->dependencies[i];

			answer_add_dependency(&server->answer, key);
			if (ttl_ms > 0)
				push_holds(question->session, key->table, key->name);
		}
		answer_send(&server->answer, session_output(question->session), "val",
			    id_of(question), ttl_ms, expansion->version);
	}
	question_free(question);
}

static void add_page(const struct session *session, const struct directory_page *page, size_t count)
{
	struct answer *answer = &session->server->answer;

	for (size_t i = 0; i < page->malformed_count; i++) {
		answer_add(answer, DIRECTORY_MALFORMED_BEGINS, page->malformed[i].key);
		answer_add(answer, "reason", page->malformed[i].reason);
	}
	for (size_t i = 0; i < count; i++) {
		answer_add(answer, DIRECTORY_RECORD_BEGINS, page->records[i].key.name);
		add_fields_to_answer(session, &page->records[i]);
	}
}

/* Sent as parts, until the last portion. */
static bool answer_portion(struct question *question, const struct directory_page *page,
			   uint64_t version)
{
	struct answer *answer = &question->server->answer;
	size_t count = list_portion(question, page->count);
	int last;

	answer_reset(answer);
	add_page(question->session, page, count);
	last = list_take(question, page->records, count, answer->words.length, &version);
	if (last < 0)
		answer_question_error(question, last);
	else if (last > 0)
		answer_send(answer, session_output(question->session), "val", id_of(question), 0,
			    version);
	else
		answer_send_parts(answer, session_output(question->session), id_of(question));
	return last != 0;
}

void reply_listed(void *context, int error, const struct directory_page *page, uint64_t version)
{
	struct question *question = context;

	if (is_answer_wanted(question) && error != 0) {
		answer_question_error(question, error);
	} else if (is_answer_wanted(question) && !answer_portion(question, page, version)) {
		pause_question(question);
		return;
	}
	question_free(question);
}

void reply_missed(void *context, int error, const struct directory_key *keys,
		  const uint64_t *versions, size_t count)
{
	struct question *question = context;

	if (is_answer_wanted(question))
		push_missed(question, error, keys, versions, count);
	question_free(question);
}

/* Not to be cached: it depends on any user. */
void reply_lacking(struct question *question, int error, bool is_lacking)
{
	struct directory_server *server = question->server;

	if (is_answer_wanted(question) && error != 0) {
		answer_question_error(question, error);
	} else if (is_answer_wanted(question)) {
		answer_reset(&server->answer);
		answer_send(&server->answer, session_output(question->session),
			    is_lacking ? "val" : "none", id_of(question), 0,
			    server->store->version);
	}
	question_free(question);
}
