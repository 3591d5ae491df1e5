// SPDX-License-Identifier: ISC
/*
 * directory/client/client.h - queries directory servers and caches their answers for as long as
 * they are valid.
 *
 * The client holds one connection, to the first server of the list that answers, and pipelines its
 * questions. An answer is cached for its TTL, and dropped when the server pushes a change of
 * something on which it depends. When the connection is lost, cached answers stay valid until their
 * TTL is over, and pending questions go to the next server; after the "since" of the new connection
 * no cached answer is stale. If a server's data are older than what was already seen of the same
 * identity, the client tries another server; if there is no other, or none had newer data for half
 * a minute, it takes them, and its cache is emptied. If a server is silent for
 * DIRECTORY_PATIENCE_US after a question, it counts as lost, even if nobody waits for the answer
 * any more.
 */
#ifndef DIRECTORY_CLIENT_CLIENT_H
#define DIRECTORY_CLIENT_CLIENT_H

#include "directory/record/record.h"
#include "directory/wire/frame.h"
#include "directory/wire/transport.h"
#include "os/loop.h"

struct directory_client;

enum {
	DIRECTORY_PATIENCE_US = 5000000,
	/* For a relay: less, so that its own clients get "no answer" before they consider the relay
	 * lost. */
	DIRECTORY_RELAY_PATIENCE_US = 4000000,
};

struct directory_answer_text {
	enum directory_error error; /* LATER also if no server answered in time */
	const char *error_text;
	bool exists;               /* the answer was "val", not "none" */
	const struct str *results; /* without "on ..."; valid during the call */
	size_t result_count;
	const struct str *dependencies; /* of "on ...": "TABLE KEY"; valid during the call */
	size_t dependency_count;
	int64_t ttl_us; /* remaining */
	uint64_t version;
};

typedef void directory_answered(void *context, const struct directory_answer_text *answer);

/* A pending question: storage of the caller, until it is answered or cancelled. */
struct directory_question {
	directory_answered *answered;
	void *context;
	struct directory_question_private *private; /* NULL: not pending */
};

/* Implemented by auth/server/server.c, directory/lookup/lookup.c and directory/store/relay/relay.c.
 */
struct directory_client_handler {
	/* A server answers again (true), or no server does (false). */
	void (*state)(void *context, bool is_up);
};

/* SERVERS: "unix:PATH", or "HOST:PORT", to which DIALER connects; nothing blocks. DIALER may be
 * NULL if all are UNIX sockets. Copies everything but DIALER. */
struct directory_client *directory_client_new(struct os_loop *loop, const char *const *servers,
					      size_t server_count,
					      const struct directory_dialer *dialer,
					      const struct directory_client_handler *handler,
					      void *context);
/* The maximum of cached entries: 100,000 by default; 0 disables the cache. */
void directory_client_set_capacity(struct directory_client *client, size_t entries);
/* TABLE: "route" or a table's name. A cached answer comes before this returns. If no server
 * answers within PATIENCE_US, the answer is LATER; at once while none is connected and the last
 * attempt to connect failed. */
void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question);
void directory_question_cancel(struct directory_client *client,
			       struct directory_question *question);
/* Its answer is not cached. FIELDS: "NAME VALUE". */
void directory_client_put(struct directory_client *client, const char *table, struct str key,
			  const struct str *fields, size_t field_count,
			  struct directory_question *question);
/* Likewise, but only if the record has not changed since VERSION, that of an answer about it; else
 * the error is CHANGED: get it again. */
void directory_client_edit(struct directory_client *client, const char *table, struct str key,
			   uint64_t version, const struct str *fields, size_t field_count,
			   struct directory_question *question);
void directory_client_remove(struct directory_client *client, const char *table, struct str key,
			     struct directory_question *question);
/* Results: see directory_client_page(). */
void directory_client_list(struct directory_client *client, const char *table, struct str prefix,
			   struct str after, size_t limit, struct directory_question *question);
/* Converts the answer to a list of TABLE into records in ARENA; ignores fields that belong to no
 * record. Passes on fields that are unknown here: a later server may have more. */
struct directory_page directory_client_page(const struct directory_answer_text *answer,
					    enum directory_table table, struct arena *arena);
/* The server's statistics: results "NAME VALUE", for people. */
void directory_client_stats(struct directory_client *client, struct directory_question *question);
/* Accepts the server's present data as intended (directory/store/guard/guard.h). */
void directory_client_accept(struct directory_client *client, struct directory_question *question);
/* Whether a server is connected and has greeted us. */
bool directory_client_is_up(const struct directory_client *client);
/* The servers as directory_client_new() got them, in their order. */
const char *const *directory_client_servers(const struct directory_client *client);
/* The server that answers; NULL: none. */
const char *directory_client_server(const struct directory_client *client);
/* Appends "SERVER: REASON" for people, why the last attempt to connect failed; of a server on this
 * machine, only its path. Appends nothing while a server is greeted, or before the first attempt.
 * */
void directory_client_problem(const struct directory_client *client, struct buffer *out);
uint64_t directory_client_version(const struct directory_client *client);
/* The identity of the data of the last server that greeted us; empty before the first. */
struct str directory_client_identity(const struct directory_client *client);
/* Calls CHANGED for each "new" and, with an empty TABLE, for each "reset", after dropping the
 * cached answers concerned. On each connection the client sends "watch" and then "since", on the
 * first with the version in the server's hello: so no later change is missed. */
void directory_client_watch(struct directory_client *client,
			    void (*changed)(void *context, uint64_t version, struct str table,
					    struct str key),
			    void *context);
/* Whether changes that were missed are still coming: "since" is not answered yet. */
bool directory_client_is_syncing(const struct directory_client *client);
/* Calls CALL once, when a server next greets us, whether it can read its data or not. */
void directory_client_when_greeted(struct directory_client *client, void (*call)(void *context),
				   void *context);
void directory_client_free(struct directory_client *client);

#endif
