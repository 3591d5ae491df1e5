// SPDX-License-Identifier: ISC
/*
 * The table "lacking": whether some active user has a password and no keys of a mechanism. Who asks
 * learns no more than that.
 *
 * For each mechanism users are read in the order of their names, until one lacks its keys, and only
 * once: those who change afterwards are noted and read again, with the next question. The answer is
 * as new as the data, since the store reports a change after everything that was read before it.
 */
#include "base/panic.h"
#include "directory/server/internal.h"
#include "log/event.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	PORTION = 200, /* users that are read at a time; then others have their turn */
	CHANGED_MAX = 64,
};

struct lacking {
	struct directory_server *server;
	const char *method;
	struct str start;   /* of its hashes */
	struct buffer seen; /* nobody up to this name lacks keys, but perhaps those below */
	bool is_whole;      /* nor after it */
	struct buffer changed[CHANGED_MAX]; /* to be read again */
	size_t changed_count;
	struct buffer user;       /* one who lacks keys; empty: nobody is known to */
	struct question *waiting; /* the first is the context of what is being read */
	bool is_reading;
	size_t asked;              /* how many of CHANGED */
	unsigned generation;       /* of what was seen */
	unsigned asked_generation; /* when it was asked */
	struct os_task task;
};

/* As directory/record/password.h calls it, and what its hashes begin with. */
static const struct {
	const char *name;
	struct str start;
} methods[SERVER_LACKING] = {{"scram-sha-256", STR("SCRAM-SHA-256$")},
			     {"scram-sha-1", STR("SCRAM-SHA-1$")}};

/* --- one user --- */

/* Whether he has a password that is of use, and none whose hash begins with START. */
static bool lacks_hash_of_method(const struct directory_record *record, struct str start)
{
	bool has_password = false;

	if (directory_record_state(record) != DIRECTORY_ACTIVE)
		return false;
	for (size_t i = 0; i < record->field_count; i++) {
		if (!str_equal(record->fields[i].name, STR("password")))
			continue;
		if (str_starts_with(record->fields[i].value, start))
			return false;
		has_password = true;
	}
	return has_password;
}

static void take_lacking_user(struct lacking *lacking, struct str name)
{
	if (lacking->user.length > 0)
		return;
	buffer_append_str(&lacking->user, name);
	log_event(EVENT_DIRECTORY_LACKING, log_str(user, name),
		  log_string(method, lacking->method));
}

/* --- what changes --- */

static void forget_seen_users(struct lacking *lacking)
{
	buffer_reset(&lacking->seen);
	lacking->is_whole = false;
	lacking->changed_count = 0;
	lacking->generation++;
}

static int compare_user_names(struct str one, struct str other)
{
	size_t common = one.length < other.length ? one.length : other.length;
	int order = common > 0 ? memcmp(one.data, other.data, common) : 0;

	return order != 0 ? order : (one.length > other.length) - (one.length < other.length);
}

static void note_changed_user(struct lacking *lacking, struct str name)
{
	struct buffer *changed = &lacking->changed[lacking->changed_count];

	if (str_equal(buffer_view(&lacking->user), name))
		buffer_reset(&lacking->user);
	if (!lacking->is_whole && compare_user_names(name, buffer_view(&lacking->seen)) > 0)
		return; /* to be read anyway */
	for (size_t i = 0; i < lacking->changed_count; i++)
		if (str_equal(buffer_view(&lacking->changed[i]), name))
			return;
	if (lacking->changed_count == CHANGED_MAX) {
		forget_seen_users(lacking);
		return;
	}
	buffer_reset(changed);
	buffer_append_str(changed, name);
	lacking->changed_count++;
}

void lacking_changed(struct directory_server *server, const struct directory_key *key)
{
	for (size_t i = 0; key->table == DIRECTORY_USER && i < SERVER_LACKING; i++)
		note_changed_user(server->lacking[i], key->name);
}

void lacking_reset(struct directory_server *server)
{
	for (size_t i = 0; i < SERVER_LACKING; i++) {
		forget_seen_users(server->lacking[i]);
		buffer_reset(&server->lacking[i]->user);
	}
}

/* --- reading --- */

/* Answers all who wait. With the last of them the server may go, and LACKING. */
static void answer_lacking(struct lacking *lacking, int error)
{
	struct question *waiting = lacking->waiting;
	bool is_lacking = lacking->user.length > 0;

	lacking->waiting = NULL;
	while (waiting != NULL) {
		struct question *question = waiting;

		DL_DELETE2(waiting, question, paused_previous, paused_next);
		reply_lacking(question, error, is_lacking);
	}
}

/* What was read is of use: there was no error, and nothing was forgotten meanwhile. Otherwise those
 * who wait are told, or it is read again. */
static bool end_reading(struct lacking *lacking, int error)
{
	lacking->is_reading = false;
	if (lacking->server->is_freed || (error < 0 && error != -EBADMSG)) {
		answer_lacking(lacking, error);
		return false;
	}
	os_loop_defer(lacking->server->loop, &lacking->task);
	return lacking->generation == lacking->asked_generation;
}

/* Those who lack keys stay, so that all of them are read again when the one who was named has keys.
 */
static void on_changed_users_read(void *context, int error,
				  const struct directory_record *const *records, uint64_t version)
{
	struct lacking *lacking = ((struct question *)context)->lacking;
	size_t kept = 0;

	(void)version;
	if (error < 0) /* perhaps as one of them is malformed: a list leaves it out */
		forget_seen_users(lacking);
	if (!end_reading(lacking, error))
		return;
	for (size_t i = 0; i < lacking->changed_count; i++) {
		struct buffer moved = lacking->changed[i];
		bool is_lacking = i < lacking->asked && records[i] != NULL &&
				  lacks_hash_of_method(records[i], lacking->start);

		if (is_lacking)
			take_lacking_user(lacking, buffer_view(&moved));
		if (i < lacking->asked && !is_lacking)
			continue;
		lacking->changed[i] = lacking->changed[kept];
		lacking->changed[kept++] = moved;
	}
	lacking->changed_count = kept;
}

static void on_users_listed(void *context, int error, const struct directory_page *page,
			    uint64_t version)
{
	struct lacking *lacking = ((struct question *)context)->lacking;
	struct str last = STR("");

	(void)version;
	if (!end_reading(lacking, error))
		return;
	for (size_t i = 0; i < page->count && lacking->user.length == 0; i++) {
		last = page->records[i].key.name;
		if (lacks_hash_of_method(&page->records[i], lacking->start))
			take_lacking_user(lacking, last);
	}
	lacking->is_whole = page->count < PORTION && lacking->user.length == 0;
	if (last.length == 0)
		return;
	buffer_reset(&lacking->seen);
	buffer_append_str(&lacking->seen, last);
}

static void read_changed(struct lacking *lacking)
{
	struct directory_store *store = lacking->server->store;
	struct directory_key keys[CHANGED_MAX];

	for (size_t i = 0; i < lacking->changed_count; i++)
		keys[i] = (struct directory_key){DIRECTORY_USER, buffer_view(&lacking->changed[i])};
	lacking->asked = lacking->changed_count;
	store->operations->get(store, keys, lacking->asked, on_changed_users_read,
			       lacking->waiting);
}

/* The store may answer before this returns. */
static void read_on(void *context)
{
	struct lacking *lacking = context;
	struct directory_store *store = lacking->server->store;
	struct buffer after CLEANUP(buffer_clear) = {0};
	bool is_known =
		lacking->user.length > 0 || (lacking->is_whole && lacking->changed_count == 0);

	if (lacking->is_reading || lacking->waiting == NULL)
		return;
	if (is_known) {
		answer_lacking(lacking, 0);
		return;
	}
	lacking->is_reading = true;
	lacking->asked_generation = lacking->generation;
	if (lacking->changed_count > 0) {
		read_changed(lacking);
		return;
	}
	buffer_append_str(&after, buffer_view(&lacking->seen));
	store->operations->list(store, DIRECTORY_USER, STR(""), buffer_view(&after), PORTION,
				on_users_listed, lacking->waiting);
}

void lacking_ask(struct question *question)
{
	DL_APPEND2(question->lacking->waiting, question, paused_previous, paused_next);
	read_on(question->lacking);
}

/* --- life --- */

struct lacking *lacking_find(struct directory_server *server, struct str method)
{
	for (size_t i = 0; i < SERVER_LACKING; i++)
		if (str_equal(method, str_from(methods[i].name)))
			return server->lacking[i];
	return NULL;
}

static void free_lacking(struct directory_server *server)
{
	for (size_t i = 0; i < SERVER_LACKING; i++) {
		struct lacking *lacking = server->lacking[i];

		for (size_t k = 0; k < CHANGED_MAX; k++)
			buffer_clear(&lacking->changed[k]);
		buffer_clear(&lacking->seen);
		buffer_clear(&lacking->user);
		free(lacking);
	}
}

void lacking_open(struct directory_server *server)
{
	server->free_lacking = free_lacking;
	for (size_t i = 0; i < SERVER_LACKING; i++) {
		struct lacking *lacking = memory_alloc_zero(1, sizeof *lacking);

		lacking->server = server;
		lacking->method = methods[i].name;
		lacking->start = methods[i].start;
		lacking->task = (struct os_task){.call = read_on, .context = lacking};
		server->lacking[i] = lacking;
	}
}

void lacking_stop(struct directory_server *server)
{
	for (size_t i = 0; i < SERVER_LACKING; i++) {
		os_task_cancel(server->loop, &server->lacking[i]->task);
		if (!server->lacking[i]->is_reading)
			answer_lacking(server->lacking[i], -ENOTCONN);
	}
}
