// SPDX-License-Identifier: ISC
/* The table of verbs that a client may send, and their handlers. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/record/key.h"
#include "directory/record/password.h"
#include "directory/server/internal.h"
#include "log/event.h"
#include "os/clock.h"
#include <errno.h>
#include <string.h>

/* --- verbs --- */

struct words {
	const struct str *words; /* after the ID */
	size_t count;
	struct str id;
};

static void refuse_client_request(struct session *session, const struct words *words,
				  const char *text)
{
	session->server->counts.errors++;
	session_error(session, words->id, DIRECTORY_ERROR_BAD, text);
}

/* Whether TEXT is a valid key of the table; sets QUESTION's key to its canonical form. */
static bool take_key_of_question(struct question *question, struct str text)
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

static void ask_get(struct question *question)
{
	struct directory_store *store = question->server->store;
	const struct directory_key key = {question->table, question->key};

	store->operations->get(store, &key, 1, reply_got, question);
}

/* Asks the store, perhaps again after a pause. */
static void ask_store_for_question(struct question *question)
{
	if (question->kind == QUESTION_LIST)
		list_ask(question);
	else if (question->kind == QUESTION_ROUTE)
		route_ask(question);
	else
		ask_get(question);
}

/* An address that is too long is asked for as none: an answer that shows it might not fit into a
 * frame. */
static void on_route_question(struct session *session, const struct words *words)
{
	struct question *question =
		question_new(session, QUESTION_ROUTE, words->id, ask_store_for_question);
	struct str address = words->words[1];

	if (address.length <= DIRECTORY_KEY_MAX) {
		memcpy(question->key_memory, address.data, address.length);
		question->key = str_slice(question->key_memory, address.length);
	}
	ask_store_for_question(question);
}

/* For who authenticates users: which mechanisms can be offered to all of them. */
static void on_lacking(struct session *session, const struct words *words)
{
	struct lacking *lacking = lacking_find(session->server, words->words[1]);
	struct question *question;

	if ((session->roles & DIRECTORY_ROLE_SECRET) == 0) {
		session_error(session, words->id, DIRECTORY_ERROR_DENIED, "Not with this role");
	} else if (lacking == NULL) {
		refuse_client_request(session, words,
				      "There is no such method with keys of its own");
	} else {
		question = question_new(session, QUESTION_LACKING, words->id, NULL);
		question->lacking = lacking;
		lacking_ask(question);
	}
}

static void on_get(struct session *session, const struct words *words)
{
	enum directory_table table = directory_table_find(words->words[0]);
	struct question *question;

	if (str_equal(words->words[0], STR("route"))) {
		on_route_question(session, words);
		return;
	}
	if (str_equal(words->words[0], STR("lacking"))) {
		on_lacking(session, words);
		return;
	}
	if (table == DIRECTORY_NO_TABLE) {
		refuse_client_request(session, words, "There is no such table");
		return;
	}
	question = question_new(session, QUESTION_GET, words->id, ask_store_for_question);
	question->table = table;
	if (!take_key_of_question(question, words->words[1])) {
		refuse_client_request(session, words, "That cannot be a key of this table");
		question_free(question);
		return;
	}
	ask_get(question);
}

/* Looking up is not listing: whoever delivers knows the address. A list's mail needs its members,
 * and who hands mail over the nodes; anybody may try whether the data can be read, by the first
 * domain. */
static bool may_list(const struct session *session, enum directory_table table,
		     const struct words *words, uint64_t limit)
{
	struct str prefix = words->words[1];
	bool is_probe = table == DIRECTORY_DOMAIN && prefix.length == 0 &&
			words->words[2].length == 0 && limit == 1;
	bool is_of_one = (table == DIRECTORY_MEMBER || table == DIRECTORY_MEMBERSHIP) &&
			 str_find(prefix, '@') > 0 && prefix.data[prefix.length - 1] == ' ';

	return (session->roles & DIRECTORY_ROLE_LIST) != 0 || is_probe ||
	       ((session->roles & DIRECTORY_ROLE_MEMBERS) != 0 && is_of_one) ||
	       ((session->roles & DIRECTORY_ROLE_NODES) != 0 && table == DIRECTORY_NODE);
}

static void on_list(struct session *session, const struct words *words)
{
	enum directory_table table = directory_table_find_listed(words->words[0]);
	struct question *question;
	uint64_t limit;

	if (table == DIRECTORY_NO_TABLE) {
		refuse_client_request(session, words, "There is no such table");
	} else if (words->words[1].length > DIRECTORY_KEY_MAX ||
		   words->words[2].length > DIRECTORY_KEY_MAX) {
		refuse_client_request(session, words, "Longer than any key");
	} else if (!str_to_u64(words->words[3], &limit) || limit < 1 ||
		   limit > DIRECTORY_LIST_MAX) {
		refuse_client_request(session, words, "The limit is not 1 to 1000");
	} else if (!may_list(session, table, words, limit)) {
		session_error(session, words->id, DIRECTORY_ERROR_DENIED, "Not with this role");
	} else {
		question = question_new(session, QUESTION_LIST, words->id, ask_store_for_question);
		question->table = table;
		list_begin(question, words->words[1], words->words[2], (size_t)limit, reply_listed);
	}
}

/* Parses "NAME VALUE"; false if it is malformed. */
static bool take_field_of_word(struct str word, struct directory_field *field)
{
	directory_frame_split_result(word, &field->name, &field->value);
	return str_find(word, ' ') >= 1;
}

/* CHANGE without its record, whose fields are the words after SKIP. */
static void put_record_of_words(struct session *session, const struct words *words, size_t skip,
				struct directory_change change)
{
	static struct directory_field fields[DIRECTORY_FIELDS_MAX];
	struct directory_record input = {{directory_table_find(words->words[0]), words->words[1]},
					 fields,
					 words->count - skip};
	struct arena *arena;
	const char *reason;

	if (input.key.table == DIRECTORY_NO_TABLE) {
		refuse_client_request(session, words, "There is no such table");
		return;
	}
	if (input.field_count > DIRECTORY_FIELDS_MAX) {
		refuse_client_request(session, words, "A record has at most 1000 fields");
		return;
	}
	for (size_t i = 0; i < input.field_count; i++) {
		if (!take_field_of_word(words->words[i + skip], &fields[i])) {
			refuse_client_request(session, words,
					      "A field is a name, a space and a value");
			return;
		}
	}
	if (change.is_conditional)
		change_begin_alone(session->server);
	arena = change_arena(session->server);
	if (directory_record_check(&input, arena, &change.record, &reason) != 0 ||
	    (reason = directory_password_problem(&change.record)) != NULL)
		refuse_client_request(session, words, reason);
	else
		change_add(question_new(session, QUESTION_CHANGE, words->id, NULL), &change);
}

static void on_put_request(struct session *session, const struct words *words)
{
	put_record_of_words(session, words, 2, (struct directory_change){.is_removal = false});
}

static void on_edit(struct session *session, const struct words *words)
{
	struct directory_change change = {.is_conditional = true};

	if (!str_to_u64(words->words[2], &change.since))
		refuse_client_request(session, words, "The version is no number");
	else
		put_record_of_words(session, words, 3, change);
}

static void on_del(struct session *session, const struct words *words)
{
	enum directory_table table = directory_table_find(words->words[0]);
	struct directory_change change = {.is_removal = true, .record.key.table = table};
	struct question *question;

	if (table == DIRECTORY_NO_TABLE) {
		refuse_client_request(session, words, "There is no such table");
		return;
	}
	question = question_new(session, QUESTION_CHANGE, words->id, NULL);
	question->table = table;
	question->is_removal = true;
	if (!take_key_of_question(question, words->words[1])) {
		refuse_client_request(session, words, "That cannot be a key of this table");
		question_free(question);
		return;
	}
	change.record.key.name = arena_copy_str(change_arena(session->server), question->key);
	change_add(question, &change);
}

static void on_ping(struct session *session, const struct words *words)
{
	struct directory_frame frame;

	directory_frame_begin(&frame, session_output(session), "ok");
	directory_frame_add(&frame, words->id);
	directory_frame_add_number(&frame, session->server->store->version);
	directory_frame_end(&frame);
}

static void on_accept(struct session *session, const struct words *words)
{
	struct directory_store *store = session->server->store;

	if (store->operations->accept == NULL) {
		refuse_client_request(session, words,
				      "This directory's data are not guarded by this server");
		return;
	}
	log_event(EVENT_DIRECTORY_ACCEPTED, log_string(peer, session->peer),
		  log_string(identity, store->identity));
	store->operations->accept(store);
	on_ping(session, words);
}

static void add_count(struct answer *answer, const char *name, uint64_t value)
{
	struct buffer text = {0};

	buffer_append_number(&text, value);
	answer_add(answer, name, buffer_view(&text));
	buffer_clear(&text);
}

/* The store's kind, and whether it is reachable. */
static void add_link(struct answer *answer, const struct directory_server *server)
{
	static const char *const backends[] = {[CONFIG_BACKEND_SQLITE] = "sqlite",
					       [CONFIG_BACKEND_POSTGRESQL] = "postgresql",
					       [CONFIG_BACKEND_LDAP] = "ldap",
					       [CONFIG_BACKEND_SERVERS] = "servers"};
	struct directory_store *store = server->store;
	const char *followed =
		store->operations->followed != NULL ? store->operations->followed(store) : NULL;
	enum config_backend backend = server->config->directory.backend;
	int64_t now_us = os_clock_monotonic_us();

	answer_add(answer, "role",
		   backend == CONFIG_BACKEND_SERVERS ? STR("relay") : STR("server"));
	if (backend != CONFIG_BACKEND_NONE)
		answer_add(answer, "backend", str_from(backends[backend]));
	for (size_t i = 0; i < store->server_count; i++)
		answer_add(answer, "upstream", str_from(store->servers[i]));
	if (followed != NULL)
		answer_add(answer, "followed", str_from(followed));
	if (store->lost_us != 0)
		add_count(answer, "lost_seconds",
			  (uint64_t)((now_us - store->lost_us) / SECOND_US));
	if (store->fresh_us != INT64_MAX && store->fresh_us > INT64_MIN)
		add_count(answer, "fresh_seconds",
			  (uint64_t)((now_us - store->fresh_us) / SECOND_US));
}

static void on_stats_request(struct session *session, const struct words *words)
{
	const struct directory_server *server = session->server;
	const struct directory_server_counts *counts = &server->counts;
	struct answer *answer = &session->server->answer;
	const char *held = directory_store_held(server->store);
	int64_t age_us = os_clock_monotonic_us() - server->started_us;

	answer_reset(answer);
	answer_add(answer, "state",
		   held != NULL           ? STR("held")
		   : server->store->is_up ? STR("up")
					  : STR("down"));
	if (held != NULL)
		answer_add(answer, "held", str_from(held));
	answer_add(answer, "identity", str_from(server->identity));
	add_count(answer, "version", server->store->version);
	add_link(answer, server);
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

/* "since" and "watch" have no ID. */
static void on_since(struct session *session, const struct words *words)
{
	struct directory_server *server = session->server;
	struct question *question = question_new(session, QUESTION_SINCE, STR("0"), NULL);
	uint64_t version;

	if (!str_to_u64(words->words[1], &version)) {
		session_refuse(session, "The version is no number");
		question_free(question);
		return;
	}
	session->holds_all_until_us = os_clock_monotonic_us() + push_longest_ttl_us(server);
	/* the client may have cached refusals, which must not be used while the link is lost; and
	 * the keys that it has missed are not for who may not list */
	if (!server->store->is_up || server->store->lost_us != 0 ||
	    ((session->roles & DIRECTORY_ROLE_LIST) == 0 && version != server->store->version) ||
	    !str_equal(words->words[0], str_from(server->identity)))
		reply_missed(question, -ESTALE, NULL, NULL, 0);
	else
		server->store->operations->missed(server->store, version, SERVER_MISSED_MAX,
						  reply_missed, question);
}

/* Who authenticates users, or hands mail over to nodes, follows them, without learning which
 * addresses there are. */
static void on_watch(struct session *session, const struct words *words)
{
	static const unsigned watchers =
		DIRECTORY_ROLE_LIST | DIRECTORY_ROLE_SECRET | DIRECTORY_ROLE_NODES;

	if ((session->roles & watchers) == 0)
		session_error(session, words->id, DIRECTORY_ERROR_DENIED, "Not with this role");
	else
		session->watches = true;
}

static const struct verb {
	const char *name;
	bool has_id;
	size_t least; /* words after the ID */
	size_t most;
	enum directory_role role;
	void (*handle)(struct session *session, const struct words *words);
} verbs[] = {
	{"get", true, 2, 2, DIRECTORY_ROLE_READ, on_get},
	{"list", true, 4, 4, DIRECTORY_ROLE_READ, on_list},
	{"put", true, 2, DIRECTORY_WORDS_MAX, DIRECTORY_ROLE_CHANGE, on_put_request},
	{"edit", true, 3, DIRECTORY_WORDS_MAX, DIRECTORY_ROLE_CHANGE, on_edit},
	{"del", true, 2, 2, DIRECTORY_ROLE_CHANGE, on_del},
	{"accept", true, 0, 0, DIRECTORY_ROLE_CHANGE, on_accept},
	{"ping", true, 0, 0, 0, on_ping},
	{"stats", true, 0, 0, DIRECTORY_ROLE_READ, on_stats_request},
	{"since", false, 2, 2, DIRECTORY_ROLE_READ, on_since},
	{"watch", false, 0, 0, DIRECTORY_ROLE_READ, on_watch},
};

static const struct verb *find_directory_verb(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		if (str_equal(name, str_from(verbs[i].name)))
			return &verbs[i];
	return NULL;
}

static bool is_question_id(struct str text)
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
	const struct verb *verb = count > 0 ? find_directory_verb(words[0]) : NULL;
	size_t skip = verb != NULL && verb->has_id ? 2 : 1;
	struct words rest;

	if (verb == NULL) {
		session_refuse(session, count > 0    ? "There is no such verb"
					: count == 0 ? "A frame without words"
						     : "The frame is no list of words");
		return;
	}
	if ((size_t)count < skip || (verb->has_id && !is_question_id(words[1]))) {
		session_refuse(session, "The question's number is not 1 to 20 digits");
		return;
	}
	rest = (struct words){words + skip, (size_t)count - skip,
			      verb->has_id ? words[1] : STR("0")};
	session->server->counts.questions += verb->has_id;
	if ((session->roles & verb->role) != verb->role)
		session_error(session, rest.id, DIRECTORY_ERROR_DENIED, "Not with this role");
	else if (rest.count < verb->least || rest.count > verb->most)
		refuse_client_request(session, &rest, "Too few or too many words");
	else
		verb->handle(session, &rest);
	session_wake(session);
}
