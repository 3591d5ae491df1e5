// SPDX-License-Identifier: ISC
/*
 * directory/client/internal.h - between the parts of the client.
 *
 *   client.c           questions of the caller, and their patience
 *   link.c      the connection: which server, bytes in and out
 *   hear.c      what the server says: answers
 *   news.c      the same: greeting and news
 *   state.c            what it says of itself
 *   cache.c            what is kept
 */
#ifndef DIRECTORY_CLIENT_INTERNAL_H
#define DIRECTORY_CLIENT_INTERNAL_H

#include "base/table.h"
#include "base/timestamp.h"
#include "directory/client/cache.h"
#include "directory/client/client.h"

enum {
	CLIENT_IDENTITY_SIZE = 256,
	CLIENT_ANSWER_MAX =
		128 * 1024 * 1024, /* bytes of all parts: a page of a thousand records */
};

#define CLIENT_PING_US (30 * SECOND_US) /* of silence */

enum client_link_state {
	CLIENT_WAITING,    /* for the time to try again */
	CLIENT_CONNECTING, /* dialing, or not greeted yet */
	CLIENT_GREETED,
};

enum client_kind { CLIENT_GET, CLIENT_CHANGE, CLIENT_LIST, CLIENT_PING };

struct directory_question_private {
	UT_hash_handle hh; /* by id */
	uint64_t id;
	struct directory_question *question; /* NULL: of our own */
	struct directory_question_private *next;
	struct directory_question_private *previous;
	enum client_kind kind;
	int64_t until_us; /* by os_clock_monotonic_us() */
	int64_t sent_us;  /* the same; 0: it is not */
	int64_t asked_us; /* by os_clock_boot_us(), when it was sent: how old the answer can be */
	struct buffer parts; /* words of what came so far */
	struct str table;    /* behind it in memory, as the next two */
	struct str key;
	struct str frame; /* as it is sent */
	char memory[];
};

struct directory_client {
	struct os_loop *loop;
	char **servers;
	size_t server_count;
	const struct directory_dialer *dialer;
	const struct directory_client_handler *handler;
	void *context;
	void (*watch)(void *context, uint64_t version, struct str table, struct str key);
	void *watch_context;

	struct cache *cache;
	struct directory_question_private *by_id;
	struct directory_question_private *first; /* in the order of asking */
	struct directory_question_private *last;
	uint64_t next_id;

	/* the connection */
	enum client_link_state state;
	size_t current;    /* server */
	size_t left;       /* servers to be tried before all have failed */
	bool has_failed;   /* none of them could be reached */
	bool is_lost_said; /* in the log */
	bool told_up;
	int64_t lost_us; /* since when no server is greeted that can read; 0: one is */
	struct directory_dial *dial;
	struct directory_transport transport;
	bool has_transport;
	bool is_broken; /* the connection ends in the task */
	char reason[200];
	const char *followed; /* the server that could read last; NULL: none yet */
	const char *failed;   /* the server that REASON is of; NULL: none has failed yet */
	struct os_watch *ready;
	struct os_task task;
	struct os_timer *retry;
	struct os_timer *patience;
	int64_t delay_us;
	int64_t begun_us; /* to connect; then: greeted */
	int64_t heard_us;
	int64_t unheard_us; /* since when nothing was heard after a question; 0: none went out */
	struct buffer input;
	struct buffer output;
	void (*hear)(struct directory_client *client); /* when some input came */

	/* the data */
	char identity[CLIENT_IDENTITY_SIZE]; /* of the server; "" before the first */
	uint64_t version;                    /* the highest that was seen of the data */
	uint64_t synced;                     /* all that changed up to it is known here */
	bool is_syncing;                     /* "since" is under way */
	bool is_down;                        /* the server cannot read its data */
};

/* questions.c */
void client_add(struct directory_client *client, struct directory_question_private *pending);
/* Nobody is called. */
void client_remove(struct directory_client *client, struct directory_question_private *pending);
/* Answers with nothing but an error, at once. */
void client_answer_error(struct directory_client *client,
			 struct directory_question_private *pending, enum directory_error error,
			 const char *text);
/* Ends PENDING and calls who asked; NULL: nobody is called. */
void client_answer(struct directory_client *client, struct directory_question_private *pending,
		   const struct directory_answer_text *answer);
struct directory_question_private *client_find(struct directory_client *client, struct str id);
void client_arm_patience(struct directory_client *client);

/* link.c */
void client_link_init(struct directory_client *client);
void client_connect(struct directory_client *client);
/* Greeted: what waits is asked. */
void client_greeted(struct directory_client *client);
/* PENDING goes out now, if there is a connection for it. */
void client_send(struct directory_client *client, struct directory_question_private *pending);
/* Ends the connection at the end of the turn; the next server is tried. */
void client_lose(struct directory_client *client, const char *reason);
void client_write(struct directory_client *client);
/* Tells the caller when that has changed. */
void client_tell_state(struct directory_client *client);
void client_disconnect(struct directory_client *client);

struct heard {
	struct str *words; /* behind the verb */
	size_t count;
	struct str content; /* of the whole frame */
};

/* news.c: false when it is malformed. */
bool client_news_hello(struct directory_client *client, const struct heard *heard);
bool client_news_new(struct directory_client *client, const struct heard *heard);
bool client_news_now(struct directory_client *client, const struct heard *heard);
bool client_news_reset(struct directory_client *client, const struct heard *heard);
bool client_news_down(struct directory_client *client, const struct heard *heard);
bool client_news_up(struct directory_client *client, const struct heard *heard);
void client_saw_version(struct directory_client *client, uint64_t version);

/* hear.c: all whole frames of the input. */
void client_hear(struct directory_client *client);
/* To a server that has greeted: tell of all changes, and what were they since it was heard of
 * last? */
void client_say_watch(struct directory_client *client);

#endif
