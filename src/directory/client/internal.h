// SPDX-License-Identifier: ISC
/*
 * directory/client/internal.h - shared by the parts of the client.
 *
 *   client.c     the caller's questions, and their timeouts
 *   questions.c  the list of pending questions
 *   link.c       the connection: which server, bytes in and out
 *   hear.c       what the server sends: answers
 *   news.c       what the server sends: greeting and changes
 *   page.c       the answer to a list, as records
 *   state.c      what the client reports about itself
 *   cache.c      cached answers
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
	CLIENT_WAITING,    /* until the next attempt */
	CLIENT_CONNECTING, /* dialling, or not greeted yet */
	CLIENT_GREETED,
};

enum client_kind { CLIENT_GET, CLIENT_CHANGE, CLIENT_LIST, CLIENT_PING };

struct directory_question_private {
	UT_hash_handle hh; /* by id */
	uint64_t id;
	struct directory_question *question; /* NULL: the client's own */
	struct directory_question_private *next;
	struct directory_question_private *previous;
	enum client_kind kind;
	int64_t until_us;    /* by os_clock_monotonic_us() */
	int64_t sent_us;     /* by the same clock; 0: not sent */
	int64_t asked_us;    /* when it was sent, by os_clock_boot_us(): bounds the answer's age */
	struct buffer parts; /* words received so far */
	struct str table;    /* follows the struct in memory, as do the next two */
	struct str key;
	struct str frame; /* as sent */
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
	void (*when_greeted)(void *context); /* NULL: nobody waits for that */
	void *when_context;

	struct cache *cache;
	struct directory_question_private *by_id;
	struct directory_question_private *first; /* oldest first */
	struct directory_question_private *last;
	uint64_t next_id;

	/* the connection */
	enum client_link_state state;
	size_t current;    /* server */
	size_t left;       /* servers to try before all have failed */
	bool has_failed;   /* no server could be reached */
	bool is_lost_said; /* the loss is in the log */
	bool told_up;
	int64_t lost_us; /* since when no server that can read its data has greeted; 0: one has */
	struct directory_dial *dial;
	struct directory_transport transport;
	bool has_transport;
	bool is_broken; /* the task will end the connection */
	char reason[200];
	const char *followed; /* the last server that could read its data; NULL: none yet */
	const char *failed;   /* the server that REASON is about; NULL: none has failed yet */
	struct os_watch *ready;
	struct os_task task;
	struct os_timer *retry;
	struct os_timer *patience;
	int64_t delay_us;
	int64_t begun_us; /* when connecting began; after the greeting, when that came */
	int64_t heard_us;
	int64_t unheard_us; /* since when the server is silent after a question; 0: none sent */
	struct buffer input;
	struct buffer output;
	void (*hear)(struct directory_client *client); /* called after new input */

	/* the data */
	char identity[CLIENT_IDENTITY_SIZE]; /* of the server; "" before the first */
	uint64_t version;                    /* the highest version of the data seen */
	uint64_t synced;                     /* all changes up to this version are known */
	bool is_syncing;                     /* "since" is not answered yet */
	bool is_down;                        /* the server cannot read its data */
};

/* questions.c */
void client_add(struct directory_client *client, struct directory_question_private *pending);
/* Calls no callback. */
void client_remove(struct directory_client *client, struct directory_question_private *pending);
/* Answers with an error alone, at once. */
void client_answer_error(struct directory_client *client,
			 struct directory_question_private *pending, enum directory_error error,
			 const char *text);
/* Ends PENDING and calls its question's callback; ANSWER NULL: does not call it. */
void client_answer(struct directory_client *client, struct directory_question_private *pending,
		   const struct directory_answer_text *answer);
struct directory_question_private *client_find(struct directory_client *client, struct str id);
void client_arm_patience(struct directory_client *client);

/* link.c */
void client_link_init(struct directory_client *client);
void client_connect(struct directory_client *client);
/* After the greeting: sends the pending questions. */
void client_greeted(struct directory_client *client);
/* Sends PENDING now, if there is a connection for it. */
void client_send(struct directory_client *client, struct directory_question_private *pending);
/* Ends the connection at the end of the turn, and then tries the next server. */
void client_lose(struct directory_client *client, const char *reason);
void client_write(struct directory_client *client);
/* Reports the state to the caller if it has changed. */
void client_tell_state(struct directory_client *client);
void client_disconnect(struct directory_client *client);

struct heard {
	struct str *words; /* after the verb */
	size_t count;
	struct str content; /* of the whole frame */
};

/* news.c: false if the frame is malformed. */
bool client_news_hello(struct directory_client *client, const struct heard *heard);
bool client_news_new(struct directory_client *client, const struct heard *heard);
bool client_news_now(struct directory_client *client, const struct heard *heard);
bool client_news_reset(struct directory_client *client, const struct heard *heard);
bool client_news_down(struct directory_client *client, const struct heard *heard);
bool client_news_up(struct directory_client *client, const struct heard *heard);
void client_saw_version(struct directory_client *client, uint64_t version);

/* hear.c: handles all complete frames of the input. */
void client_hear(struct directory_client *client);
/* To a server that has greeted: asks for all future changes, and for those since the last one
 * seen. */
void client_say_watch(struct directory_client *client);

#endif
