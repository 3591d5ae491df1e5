// SPDX-License-Identifier: ISC
/*
 * directory/client/client.h - asks directory servers and keeps what they said for as long as it is
 * true.
 *
 * One connection is held, to the first server of the list that answers; questions are
 * pipelined on it. An answer is kept for its TTL, and dropped when a server pushes
 * that something has changed that it depends on. When the connection is lost, what is
 * kept lives on to its TTL, questions that wait go to the next server, and after the
 * "since" of the new connection nothing kept is old. A server whose data are older than what was
 * seen of the same identity is left for another. A server that says nothing for
 * DIRECTORY_PATIENCE_US after a question counts as lost, whoever waits for the answer still.
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
	/* Of a server that asks others: who asks it hears that there is no answer before they take
	 * it for lost. */
	DIRECTORY_RELAY_PATIENCE_US = 4000000,
};

struct directory_answer_text {
	enum directory_error error; /* LATER too when no server answered in time */
	const char *error_text;
	bool exists;               /* false: none */
	const struct str *results; /* without "on ..."; valid during the call */
	size_t result_count;
	const struct str *dependencies; /* of "on ...": "TABLE KEY"; as long valid */
	size_t dependency_count;
	int64_t ttl_us; /* left */
	uint64_t version;
};

typedef void directory_answered(void *context, const struct directory_answer_text *answer);

/* A question that waits: storage of the caller, until it is answered or cancelled. */
struct directory_question {
	directory_answered *answered;
	void *context;
	struct directory_question_private *private; /* NULL: nothing waits */
};

struct directory_client_handler {
	/* A server answers again (true), or none does (false). */
	void (*state)(void *context, bool is_up);
};

/* SERVERS: "unix:PATH", or "HOST:PORT" for which DIALER makes transports; nothing blocks.
 * DIALER may be NULL where there are UNIX sockets only. All are copied but DIALER. */
struct directory_client *directory_client_new(struct os_loop *loop, const char *const *servers,
					      size_t server_count,
					      const struct directory_dialer *dialer,
					      const struct directory_client_handler *handler,
					      void *context);
/* Kept entries at most; the least used go first. 100,000 at first; 0: nothing is kept. */
void directory_client_set_capacity(struct directory_client *client, size_t entries);
/* TABLE: "route" or a table's name. Answered before it returns where that is kept. When no server
 * has answered within PATIENCE_US it is answered LATER; at once while none is connected
 * and the last attempt to connect has failed. */
void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question);
void directory_question_cancel(struct directory_client *client,
			       struct directory_question *question);
/* Not kept. FIELDS: "NAME VALUE". */
void directory_client_put(struct directory_client *client, const char *table, struct str key,
			  const struct str *fields, size_t field_count,
			  struct directory_question *question);
void directory_client_remove(struct directory_client *client, const char *table, struct str key,
			     struct directory_question *question);
/* Results: see directory_client_page(). */
void directory_client_list(struct directory_client *client, const char *table, struct str prefix,
			   struct str after, size_t limit, struct directory_question *question);
/* What ANSWER lists of TABLE, in ARENA with all its texts; what is of no record is left out. Fields
 * are passed on as they are: a later server may know some that we do not. */
struct directory_page directory_client_page(const struct directory_answer_text *answer,
					    enum directory_table table, struct arena *arena);
/* What the server says of itself: results "NAME VALUE", for people. */
void directory_client_stats(struct directory_client *client, struct directory_question *question);
/* What the server's data are now is meant (store/guard/guard.h). */
void directory_client_accept(struct directory_client *client, struct directory_question *question);
/* Whether a server is connected and greeted. */
bool directory_client_is_up(const struct directory_client *client);
/* As directory_client_new() has been told, in their order. */
const char *const *directory_client_servers(const struct directory_client *client);
/* The one of them that answers; NULL: none does. */
const char *directory_client_server(const struct directory_client *client);
/* Why the last attempt at a server has failed: appends "SERVER: REASON" for people, the path alone
 * of a server on this machine. Nothing while a server is greeted, or before one was tried. */
void directory_client_problem(const struct directory_client *client, struct buffer *out);
uint64_t directory_client_version(const struct directory_client *client);
/* Of the data of the server that was greeted last; empty before the first. */
struct str directory_client_identity(const struct directory_client *client);
/* Called for each "new" and, with TABLE empty, "reset", after what is kept has been dropped for
 * it. On each connection the client then says "watch" and after it "since", on the first one with
 * the version of its hello: so no change behind that is missed. */
void directory_client_watch(struct directory_client *client,
			    void (*changed)(void *context, uint64_t version, struct str table,
					    struct str key),
			    void *context);
/* Whether changes that were missed are still being told of: "since" has no answer yet. */
bool directory_client_is_syncing(const struct directory_client *client);
void directory_client_free(struct directory_client *client);

#endif
