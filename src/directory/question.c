// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/key.h"
#include "directory/server_internal.h"
#include "os/clock.h"
#include <errno.h>
#include <string.h>

/* --- answers --- */

static struct str id_of(const struct question *question)
{
	return str_slice(question->id, question->id_length);
}

static void answer_error(struct question *question, int error)
{
	struct session *session = question->session;

	session->server->counts.errors++;
	if (error == -EACCES)
		session_error(session, id_of(question), DIRECTORY_ERROR_DENIED,
			      "This server may not read that itself");
	else
		session_error(session, id_of(question), DIRECTORY_ERROR_LATER,
			      "The data cannot be reached now");
}

/* Whether there is somebody to answer. */
static bool is_wanted(struct question *question)
{
	return question->session != NULL && !question->session->is_broken;
}

static bool may_see(const struct session *session, enum directory_table table, struct str field)
{
	return (session->roles & DIRECTORY_ROLE_SECRET) != 0 || table != DIRECTORY_USER ||
	       !str_equal(field, STR("password"));
}

enum { NAME_SIZE = 32 }; /* of our fields; longer ones are none */

static void add_fields(const struct session *session, const struct directory_record *record)
{
	struct answer *answer = &session->server->answer;

	for (size_t i = 0; i < record->field_count; i++) {
		const struct directory_field *field = &record->fields[i];
		char name[NAME_SIZE] = "";

		if (field->name.length >= sizeof name ||
		    !may_see(session, record->key.table, field->name))
			continue;
		memcpy(name, field->name.data, field->name.length);
		answer_add(answer, name, field->value);
	}
}

static void add_dependency(struct answer *answer, const struct question *question)
{
	char text[16 + DIRECTORY_KEY_MAX];
	const char *table = directory_table_name(question->table);
	size_t length = strlen(table);

	memcpy(text, table, length);
	text[length] = ' ';
	memcpy(text + length + 1, question->key.data, question->key.length);
	answer_add(answer, "on", str_slice(text, length + 1 + question->key.length));
}

static void got(void *context, int error, const struct directory_record *const *records,
		uint64_t version)
{
	struct question *question = context;
	struct directory_server *server = question->server;
	const struct config_directory *config = &server->config->directory;
	bool exists = error == 0 && records[0] != NULL;
	uint64_t ttl_ms = server_ttl_ms(server, exists ? config->ttl_us : config->negative_ttl_us);

	if (is_wanted(question) && error != 0) {
		answer_error(question, error);
	} else if (is_wanted(question)) {
		answer_reset(&server->answer);
		if (exists)
			add_fields(question->session, records[0]);
		add_dependency(&server->answer, question);
		answer_send(&server->answer, session_output(question->session),
			    exists ? "val" : "none", id_of(question), ttl_ms, version);
		server->counts.answers_none += !exists;
		if (ttl_ms > 0)
			push_holds(question->session, question->table, question->key);
	}
	question_free(question);
}

/* What stands in an "on" result. */
static void hold(struct session *session, struct str dependency)
{
	struct str table;

	if (str_split(&dependency, ' ', &table))
		push_holds(session, directory_table_find(table), dependency);
}

/* An address that does not exist or is refused is as a record that does not exist. */
static bool is_refused(const struct directory_expansion *expansion)
{
	size_t count = 0;
	bool is_refusal = false;

	for (size_t i = 0; i < expansion->count; i++) {
		if (str_starts_with(expansion->results[i], STR("on ")))
			continue;
		count++;
		is_refusal = str_starts_with(expansion->results[i], STR("refuse "));
	}
	return count == 1 && is_refusal;
}

static void expanded(void *context, int error, const struct directory_expansion *expansion)
{
	struct question *question = context;
	struct directory_server *server = question->server;
	const struct config_directory *config = &server->config->directory;
	uint64_t ttl_ms;

	if (is_wanted(question) && error != 0) {
		answer_error(question, error);
	} else if (is_wanted(question)) {
		ttl_ms = server_ttl_ms(server, is_refused(expansion) ? config->negative_ttl_us
								     : config->ttl_us);
		if (!expansion->may_keep)
			ttl_ms = 0;
		answer_reset(&server->answer);
		for (size_t i = 0; i < expansion->count; i++) {
			answer_add_str(&server->answer, expansion->results[i]);
			if (ttl_ms > 0 && str_starts_with(expansion->results[i], STR("on ")))
				hold(question->session, str_skip(expansion->results[i], 3));
		}
		answer_send(&server->answer, session_output(question->session), "val",
			    id_of(question), ttl_ms, expansion->version);
	}
	question_free(question);
}

static void listed(void *context, int error, const struct directory_record *records, size_t count,
		   uint64_t version)
{
	struct question *question = context;
	struct answer *answer = &question->server->answer;

	if (is_wanted(question) && error != 0) {
		answer_error(question, error);
	} else if (is_wanted(question)) {
		answer_reset(answer);
		for (size_t i = 0; i < count; i++) {
			answer_add(answer, "=", records[i].key.name);
			add_fields(question->session, &records[i]);
		}
		answer_send(answer, session_output(question->session), "val", id_of(question), 0,
			    version);
	}
	question_free(question);
}

static void missed(void *context, int error, const struct directory_key *keys,
		   const uint64_t *versions, size_t count)
{
	struct question *question = context;

	if (is_wanted(question))
		push_missed(question, error, keys, versions, count);
	question_free(question);
}

/* --- what a client may say --- */

struct words {
	const struct str *words; /* behind the ID */
	size_t count;
	struct str id;
};

static void refuse(struct session *session, const struct words *words, const char *text)
{
	session->server->counts.errors++;
	session_error(session, words->id, DIRECTORY_ERROR_BAD, text);
}

/* Whether TEXT is a key of the table; then it is QUESTION's, in its one form. */
static bool take_key(struct question *question, struct str text)
{
	struct buffer *scratch = &question->server->scratch;

	buffer_reset(scratch);
	if (text.length > DIRECTORY_KEY_MAX ||
	    directory_key_normalize(question->table, text, scratch) != 0 ||
	    scratch->length > DIRECTORY_KEY_MAX)
		return false;
	memcpy(question->key_memory, buffer_data(scratch), scratch->length);
	question->key = str_slice(question->key_memory, scratch->length);
	return true;
}

static void ask_route(struct session *session, const struct words *words)
{
	struct question *question = question_new(session, QUESTION_ROUTE, words->id);
	struct directory_server *server = session->server;
	struct directory_store *store = server->store;
	struct str address = words->words[1];
	ptrdiff_t at = str_find_last(address, '@');
	bool is_ours = at < 0 || config_domain_find(server->config,
						    str_skip(address, (size_t)at + 1)) != NULL;

	if (store->operations->route != NULL && !is_ours)
		store->operations->route(store, address, expanded, question);
	else
		directory_expand(server->expander, address, expanded, question);
}

static void on_get(struct session *session, const struct words *words)
{
	struct directory_store *store = session->server->store;
	enum directory_table table = directory_table_find(words->words[0]);
	struct question *question;
	struct directory_key key;

	if (str_equal(words->words[0], STR("route"))) {
		ask_route(session, words);
		return;
	}
	if (table == DIRECTORY_NO_TABLE) {
		refuse(session, words, "There is no such table");
		return;
	}
	question = question_new(session, QUESTION_GET, words->id);
	question->table = table;
	if (!take_key(question, words->words[1])) {
		refuse(session, words, "That cannot be a key of this table");
		question_free(question);
		return;
	}
	key = (struct directory_key){table, question->key};
	store->operations->get(store, &key, 1, got, question);
}

static void on_list(struct session *session, const struct words *words)
{
	struct directory_store *store = session->server->store;
	enum directory_table table = directory_table_find(words->words[0]);
	uint64_t limit;

	if (table == DIRECTORY_NO_TABLE) {
		refuse(session, words, "There is no such table");
	} else if (words->words[1].length > DIRECTORY_KEY_MAX ||
		   words->words[2].length > DIRECTORY_KEY_MAX) {
		refuse(session, words, "Longer than any key");
	} else if (!str_to_u64(words->words[3], &limit) || limit < 1 ||
		   limit > DIRECTORY_LIST_MAX) {
		refuse(session, words, "The limit is not 1 to 1000");
	} else {
		store->operations->list(store, table, words->words[1], words->words[2],
					(size_t)limit, listed,
					question_new(session, QUESTION_LIST, words->id));
	}
}

/* "NAME VALUE" as a field; false when it is none. */
static bool take_field(struct str word, struct directory_field *field)
{
	struct str rest = word;

	if (str_find(word, ' ') < 1)
		return false;
	(void)str_split(&rest, ' ', &field->name);
	field->value = rest;
	return true;
}

static void on_put(struct session *session, const struct words *words)
{
	static struct directory_field fields[DIRECTORY_FIELDS_MAX];
	struct directory_record input = {
		{directory_table_find(words->words[0]), words->words[1]}, fields, words->count - 2};
	struct arena *arena;
	struct directory_record record;
	const char *reason;

	if (input.key.table == DIRECTORY_NO_TABLE) {
		refuse(session, words, "There is no such table");
		return;
	}
	if (input.field_count > DIRECTORY_FIELDS_MAX) {
		refuse(session, words, "A record has at most 1000 fields");
		return;
	}
	for (size_t i = 0; i < input.field_count; i++) {
		if (!take_field(words->words[i + 2], &fields[i])) {
			refuse(session, words, "A field is a name, a space and a value");
			return;
		}
	}
	arena = change_arena(session->server);
	if (directory_record_check(&input, arena, &record, &reason) != 0)
		refuse(session, words, reason);
	else
		change_add(question_new(session, QUESTION_CHANGE, words->id), &record);
}

static void on_del(struct session *session, const struct words *words)
{
	enum directory_table table = directory_table_find(words->words[0]);
	struct directory_record record = {{table, STR("")}, NULL, 0};
	struct question *question;

	if (table == DIRECTORY_NO_TABLE) {
		refuse(session, words, "There is no such table");
		return;
	}
	question = question_new(session, QUESTION_CHANGE, words->id);
	question->table = table;
	question->is_removal = true;
	if (!take_key(question, words->words[1])) {
		refuse(session, words, "That cannot be a key of this table");
		question_free(question);
		return;
	}
	record.key.name = arena_copy_str(change_arena(session->server), question->key);
	change_add(question, &record);
}

static void on_ping(struct session *session, const struct words *words)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, session_output(session), "ok");
	directory_frame_add(&frame, words->id);
	directory_frame_add_number(&frame, session->server->store->version);
	directory_frame_end(&frame);
}

static void add_count(struct answer *answer, const char *name, uint64_t value)
{
	struct buffer text = {0};

	buffer_append_number(&text, value);
	answer_add(answer, name, buffer_view(&text));
	buffer_clear(&text);
}

static void on_stats(struct session *session, const struct words *words)
{
	const struct directory_server *server = session->server;
	const struct directory_server_counts *counts = &server->counts;
	struct answer *answer = &session->server->answer;
	int64_t age_us = os_clock_monotonic_us() - server->started_us;

	answer_reset(answer);
	answer_add(answer, "state", server->store->is_up ? STR("up") : STR("down"));
	answer_add(answer, "identity", str_from(server->identity));
	add_count(answer, "version", server->store->version);
	add_count(answer, "seconds", (uint64_t)(age_us / SECOND_US));
	add_count(answer, "connected", server->session_count);
	add_count(answer, "connections", counts->connections);
	add_count(answer, "questions", counts->questions);
	add_count(answer, "none", counts->answers_none);
	add_count(answer, "errors", counts->errors);
	add_count(answer, "pushes", counts->pushes);
	add_count(answer, "resets", counts->resets);
	add_count(answer, "changes", counts->changes);
	answer_send(answer, session_output(session), "val", words->id, 0, server->store->version);
}

/* These two have no ID. */
static void on_since(struct session *session, const struct words *words)
{
	struct directory_server *server = session->server;
	struct question *question = question_new(session, QUESTION_SINCE, STR("0"));
	uint64_t version;

	if (!str_to_u64(words->words[1], &version)) {
		session_refuse(session, "The version is no number");
		question_free(question);
		return;
	}
	session->holds_all_until_us = os_clock_monotonic_us() + push_longest_ttl_us(server);
	if (!server->store->is_up || !str_equal(words->words[0], str_from(server->identity)))
		missed(question, -ESTALE, NULL, NULL, 0);
	else
		server->store->operations->missed(server->store, version, SERVER_MISSED_MAX, missed,
						  question);
}

static void on_watch(struct session *session, const struct words *words)
{
	(void)words;
	session->watches = true;
}

static const struct verb {
	const char *name;
	bool has_id;
	size_t least; /* words behind the ID */
	size_t most;
	enum directory_role role;
	void (*handle)(struct session *session, const struct words *words);
} verbs[] = {
	{"get", true, 2, 2, DIRECTORY_ROLE_READ, on_get},
	{"list", true, 4, 4, DIRECTORY_ROLE_READ, on_list},
	{"put", true, 2, DIRECTORY_WORDS_MAX, DIRECTORY_ROLE_CHANGE, on_put},
	{"del", true, 2, 2, DIRECTORY_ROLE_CHANGE, on_del},
	{"ping", true, 0, 0, 0, on_ping},
	{"stats", true, 0, 0, DIRECTORY_ROLE_READ, on_stats},
	{"since", false, 2, 2, DIRECTORY_ROLE_READ, on_since},
	{"watch", false, 0, 0, DIRECTORY_ROLE_READ, on_watch},
};

static const struct verb *find_verb(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		if (str_equal(name, str_from(verbs[i].name)))
			return &verbs[i];
	return NULL;
}

static bool is_id(struct str text)
{
	if (text.length < 1 || text.length > SERVER_ID_MAX)
		return false;
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
	return true;
}

void question_take(struct session *session, struct str content)
{
	static struct str words[DIRECTORY_WORDS_MAX];
	int count = directory_frame_words(content, words, DIRECTORY_WORDS_MAX);
	const struct verb *verb = count > 0 ? find_verb(words[0]) : NULL;
	size_t skip = verb != NULL && verb->has_id ? 2 : 1;
	struct words rest;

	if (verb == NULL) {
		session_refuse(session, count > 0    ? "There is no such verb"
					: count == 0 ? "A frame without words"
						     : "The frame is no list of words");
		return;
	}
	if ((size_t)count < skip || (verb->has_id && !is_id(words[1]))) {
		session_refuse(session, "The question's number is not 1 to 20 digits");
		return;
	}
	rest = (struct words){words + skip, (size_t)count - skip,
			      verb->has_id ? words[1] : STR("0")};
	session->server->counts.questions += verb->has_id;
	if ((session->roles & verb->role) != verb->role)
		session_error(session, rest.id, DIRECTORY_ERROR_DENIED, "Not with this role");
	else if (rest.count < verb->least || rest.count > verb->most)
		refuse(session, &rest, "Too few or too many words");
	else
		verb->handle(session, &rest);
	session_wake(session);
}
