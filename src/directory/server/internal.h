// SPDX-License-Identifier: ISC
/*
 * directory/server/internal.h - between the parts of the server.
 *
 *   server.c    the whole: the store's handler, configuration, housekeeping
 *   session.c   a connection: bytes to frames and back, with bounds
 *   question.c  what a client may say, and what is done about it
 *   reply.c     what the store has found, as answers
 *   list.c      a list, portion by portion
 *   pause.c     questions that wait until their client has read
 *   change.c    changes of a turn, committed together
 *   answer.c    results as frames
 *   push.c      what clients are told without asking
 *   filter.c    which keys a client may hold
 *
 * A session is freed only from its own task, never inside of another call; a question
 * may outlive its session, and the server too, until the store has answered.
 */
#ifndef DIRECTORY_SERVER_INTERNAL_H
#define DIRECTORY_SERVER_INTERNAL_H

#include "directory/server/server.h"

enum {
	SERVER_CONNECTIONS_MAX = 1000,
	SERVER_CONNECTIONS_OURS = 50,     /* of them, for this node's own processes and commands */
	SERVER_QUESTIONS_MAX = 1000,      /* under way, of a connection */
	SERVER_LISTS_MAX = 4,             /* of them: lists and "since" */
	SERVER_BACKLOG_MAX = 1024 * 1024, /* bytes not sent, and no more is read or pushed */
	SERVER_MISSED_MAX = 10000,        /* keys that "since" is answered with */
	SERVER_ID_MAX = 20,
	SERVER_IDENTITY_SIZE = 64 + 1 + 16 + 1, /* of the data, "+", of the configuration */
};

/* Whoever does not read for so long is cut off; sooner when a whole backlog waits. */
#define SERVER_STUCK_US      (60 * SECOND_US)
#define SERVER_STUCK_FULL_US (5 * SECOND_US)

struct filter;
struct change_batch;

/* --- filter.c --- */

struct filter *filter_new(void);
void filter_add(struct filter *filter, uint64_t hash);
bool filter_may_have(const struct filter *filter, uint64_t hash);
/* Forgets what was added before the last call but one. */
void filter_age(struct filter *filter);
void filter_free(struct filter *filter);
uint64_t filter_hash(enum directory_table table, struct str key);

/* --- answer.c: results, gathered, then sent in as many frames as they need --- */

struct answer {
	struct buffer words;   /* encoded */
	struct buffer scratch; /* for one result */
	size_t *cuts;          /* where one frame ends and the next begins */
	size_t cut_count;
	size_t cut_capacity;
	size_t frame_words; /* since the last cut */
};

void answer_reset(struct answer *answer);
void answer_add(struct answer *answer, const char *word, struct str rest);
void answer_add_route(struct answer *answer, const struct directory_route *route);
/* "on TABLE KEY": it depends on that record. */
void answer_add_dependency(struct answer *answer, const struct directory_key *key);
/* VERB: "val" or "none". */
void answer_send(struct answer *answer, struct buffer *out, const char *verb, struct str id,
		 uint64_t ttl_ms, uint64_t version);
/* All of it, and more comes. */
void answer_send_parts(struct answer *answer, struct buffer *out, struct str id);
void answer_clear(struct answer *answer);

/* --- the whole --- */

struct session;

struct question {
	struct directory_server *server;
	struct session *session; /* NULL: gone */
	struct question *next;   /* of the session; of the unused ones */
	struct question **previous;
	enum question_kind {
		QUESTION_GET,
		QUESTION_ROUTE,
		QUESTION_LIST,
		QUESTION_CHANGE,
		QUESTION_SINCE
	} kind;
	enum directory_table table;
	struct str key; /* GET: in its one form; ROUTE: the address, "" where it is longer */
	char key_memory[DIRECTORY_KEY_MAX];
	char id[SERVER_ID_MAX];
	size_t id_length;
	uint64_t since;
	bool is_removal;
	struct listing *listing; /* LIST */
	struct question *paused_next, *paused_previous;
};

struct session {
	struct directory_server *server;
	struct session *next;
	struct session **previous;
	struct directory_transport transport;
	struct os_watch *watch;
	struct os_task task; /* writes, goes on reading, ends */
	struct os_timer *again;
	struct buffer input;
	struct buffer output;
	unsigned roles;
	char peer[128];
	struct question *questions;
	size_t question_count;
	size_t list_count;          /* lists and "since" */
	struct question *paused;    /* those that wait until the client has read, in turns */
	struct question *resumed;   /* one of them, which the store has now; NULL: none */
	struct filter *filter;      /* NULL: it holds nothing */
	int64_t holds_all_until_us; /* after "since" */
	int64_t stuck_since_us;     /* no byte could be written since then; 0: none waits */
	bool watches;
	bool must_reset;    /* something could not be pushed */
	bool may_have_more; /* to read, of which the descriptor does not tell */
	bool has_ended;     /* the client says no more */
	bool is_broken;
};

struct directory_server {
	struct os_loop *loop;
	struct directory_store *store;
	const struct config *config;
	const struct directory_store_handler *listener; /* NULL: nobody */
	void *listener_context;
	struct directory_expander *expander;
	char identity[SERVER_IDENTITY_SIZE];
	char config_digest[17];
	struct session *sessions;
	size_t session_count;
	struct question *unused;
	size_t questions_under_way;
	struct change_batch *batch; /* gathers; NULL: nothing */
	struct os_task batch_task;
	struct answer answer;
	struct buffer scratch;
	struct os_timer *tick;
	int64_t aged_us; /* when filters last were */
	int64_t started_us;
	struct directory_server_counts counts;
	bool is_stopping; /* nothing is read any more */
	bool is_freed;    /* the last question that is answered frees it */
};

/* server.c */
struct question *question_new(struct session *session, enum question_kind kind, struct str id);
/* It is answered. */
void question_free(struct question *question);
/* How long an answer may be used that would be kept for FULL_US, in milliseconds. */
uint64_t server_ttl_ms(const struct directory_server *server, int64_t full_us);

/* session.c */
struct session *session_new(struct directory_server *server,
			    const struct directory_transport *transport, unsigned roles,
			    const char *peer);
/* Something was added to its output, or it may go on. */
void session_wake(struct session *session);
/* Where an answer goes. What could not be pushed is told of before it, so that whoever has seen
 * the answer's version has heard of all that was before it. */
struct buffer *session_output(struct session *session);
/* Tells the client why, logs it, and ends the connection. */
void session_refuse(struct session *session, const char *reason);
/* At each tick. */
void session_check(struct session *session, int64_t now_us);
void session_free(struct session *session);
void session_error(struct session *session, struct str id, enum directory_error error,
		   const char *text);

/* question.c: one frame of a client. */
void question_take(struct session *session, struct str content);
/* Asks the store again, for a question that was paused. */
void question_ask(struct question *question);

/* list.c: what the store is asked for at once is no page, but as much as a client may be behind
 * with. QUESTION's records of TABLE, whose keys begin with PREFIX and follow AFTER, at most LIMIT.
 */
void list_begin(struct question *question, struct str prefix, struct str after, size_t limit);
/* The next portion. */
void list_ask(struct question *question);
/* How many of COUNT records are of the portion that was asked for. */
size_t list_portion(const struct question *question, size_t count);
/* COUNT records, of BYTES as an answer, have come. 1: they were the last; 0: more are to be asked
 * for; -ESTALE: they are of other data than those before. *VERSION, of this portion, becomes that
 * of the list: the first one's. */
MUST_CHECK int list_take(struct question *question, const struct directory_record *records,
			 size_t count, size_t bytes, uint64_t *version);
void list_free(struct listing *listing);

/* pause.c: for a client that is behind nothing is kept but what it has asked. */

/* Whether QUESTION's client has a backlog that no answer is to be added to. */
bool pause_is_due(const struct question *question);
/* It is asked again, in its turn, when the client has read. */
void pause_question(struct question *question);
/* Goes on with those for which there is room. */
void pause_resume(struct session *session);
/* QUESTION, which may have been resumed, is answered or paused again. */
void pause_resumed(struct question *question);
/* The session ends: they are freed. */
void pause_drop(struct session *session);

/* reply.c: what a store calls, the context being a question, which it ends. */
directory_got reply_got;
directory_expanded reply_expanded;
directory_listed reply_listed;
directory_missed reply_missed;

/* change.c: RECORD is in batch_arena() or lives as long. */
struct arena *change_arena(struct directory_server *server);
void change_add(struct question *question, const struct directory_record *record);
/* What was gathered goes to the store. */
void change_commit(void *server);

/* push.c */
void push_changes(struct directory_server *server, const struct directory_key *keys,
		  const uint64_t *versions, size_t count);
/* To all. */
void push_reset(struct directory_server *server);
void push_state(struct directory_server *server, bool is_up);
void push_hello(struct session *session);
/* That SESSION holds what depends on the key. */
void push_holds(struct session *session, enum directory_table table, struct str key);
/* To one, when its backlog is gone. */
void push_late_reset(struct session *session);
void push_missed(struct question *question, int error, const struct directory_key *keys,
		 const uint64_t *versions, size_t count);
int64_t push_longest_ttl_us(const struct directory_server *server);

#endif
