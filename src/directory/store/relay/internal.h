// SPDX-License-Identifier: ISC
/* directory/store/relay/internal.h - shared by the files of the relay. */
#ifndef DIRECTORY_STORE_RELAY_INTERNAL_H
#define DIRECTORY_STORE_RELAY_INTERNAL_H

#include "base/arena.h"
#include "directory/client/client.h"
#include "directory/store/store.h"

/* The latest changes, oldest first. */
struct relay_changes {
	struct relay_change {
		uint64_t version;
		enum directory_table table;
		size_t length;
		char *name; /* owned */
	} * entries;        /* a ring of STORE_RELAY_CHANGES_MAX; owned */
	size_t first;
	size_t count;
	uint64_t begin; /* all changes after this version are here */
};

struct relay {
	struct directory_store store; /* first */
	struct directory_client *client;
	struct relay_changes changes;
	uint64_t heard;           /* the newest version of a reported change */
	struct request *requests; /* under way */
	struct request *unused;
};

/* One call of the store, and its questions to the servers. */
struct request {
	struct relay *relay;
	union {
		directory_got *got;
		directory_listed *listed;
		directory_changed *changed;
		directory_expanded *expanded;
	} done;
	void *context;
	enum directory_table table; /* of list */
	struct arena *arena;        /* of get */
	size_t pending;
	int error;
	uint64_t version; /* the lowest of its answers */
	int64_t until_us; /* likewise */
	const struct directory_record **records;
	struct part *parts; /* of get */
	struct directory_question question;
	struct request *previous;
	struct request *next;
};

/* A key of a get. */
struct part {
	struct request *request;
	size_t index;
	struct directory_key key;
	struct directory_question question;
};

struct relay *relay_of(struct directory_store *store);

/* request.c */
/* All that the servers have reported up to store.version is known. An answer may be newer, as may a
 * change, while earlier changes are still to come. */
void relay_catch_up(struct relay *relay);
struct request *relay_request_new(struct relay *relay, void *context);
void relay_request_free(struct request *request);
/* Ends the request without an answer. */
void relay_request_cancel(struct request *request);
/* Takes version and expiry from an answer. The request gets the lowest version of all its answers,
 * and the earliest expiry. */
void relay_request_note(struct request *request, const struct directory_answer_text *answer);
/* Converts an answer's code for a store: 0 or -errno. */
int relay_error(const struct directory_answer_text *answer);

/* read.c, change.c: operations of the store */
void relay_get(struct directory_store *store, const struct directory_key *keys, size_t count,
	       directory_got *got, void *context);
void relay_list(struct directory_store *store, enum directory_table table, struct str prefix,
		struct str after, size_t limit, directory_listed *listed, void *context);
void relay_route(struct directory_store *store, struct str address, directory_expanded *expanded,
		 void *context);
void relay_change(struct directory_store *store, const struct directory_change *changes,
		  size_t count, directory_changed *changed, void *context);

/* Forgets all changes: the log begins after VERSION. */
void relay_changes_begin(struct relay_changes *changes, uint64_t version);
/* Adds a change: false if it is known already, or older than the log. */
bool relay_changes_add(struct relay_changes *changes, const struct directory_key *key,
		       uint64_t version);
/* Reports the changes after VERSION; NEWEST is the newest version. As missed of a store. */
void relay_changes_tell(const struct relay_changes *changes, uint64_t version, uint64_t newest,
			size_t limit, directory_missed *missed, void *context);
void relay_changes_clear(struct relay_changes *changes);

#endif
