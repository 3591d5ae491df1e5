// SPDX-License-Identifier: ISC
/*
 * directory/server/internal.h - shared by the parts of the server.
 *
 *   server.c    the store's handler, configuration, housekeeping
 *   session.c   a connection: bytes to frames and back, with bounds
 *   question.c  the table of verbs that a client may send
 *   route.c     who computes a route
 *   lacking.c   whether some user has no keys of a mechanism
 *   reply.c     the store's results, as answers
 *   list.c      a list, portion by portion
 *   pause.c     questions that wait until their client has read
 *   change.c    changes of a turn, committed together
 *   answer.c    results as frames
 *   push.c      what clients are sent without asking
 *   filter.c    which keys a client may have cached
 *
 * A session is freed only from its own task, never inside another call; a question may
 * outlive its session, and the server too, until the store has answered.
 */
#ifndef DIRECTORY_SERVER_INTERNAL_H
#define DIRECTORY_SERVER_INTERNAL_H

#include "directory/server/server.h"

enum {
	SERVER_CONNECTIONS_MAX = 1000,
	SERVER_CONNECTIONS_OURS = 50, /* of these, reserved for this node's processes, commands */
	SERVER_QUESTIONS_MAX = 1000,  /* pending, of a connection */
	SERVER_LISTS_MAX = 4,         /* of these: lists and "since" */
	SERVER_BACKLOG_MAX = 1024 * 1024, /* unsent bytes; over it, nothing is read or pushed */
	SERVER_MISSED_MAX = 10000,        /* keys in an answer to "since" */
	SERVER_ID_MAX = 20,
	SERVER_LACKING = 2,                     /* mechanisms with keys of their own */
	SERVER_IDENTITY_SIZE = 64 + 1 + 16 + 1, /* of the data, "+", of the configuration */
};

/* A client that reads nothing for so long is disconnected; sooner if its backlog is full. */
#define SERVER_STUCK_US      (60 * SECOND_US)
#define SERVER_STUCK_FULL_US (5 * SECOND_US)

struct filter;
struct change_batch;

/* --- filter.c --- */

struct filter *filter_new(void);
void filter_add(struct filter *filter, uint64_t hash);
bool filter_may_have(const struct filter *filter, uint64_t hash);
/* Forgets the keys that were added before the last call but one. */
void filter_age(struct filter *filter);
void filter_free(struct filter *filter);
uint64_t filter_hash(enum directory_table table, struct str key);

/* --- answer.c: gathers results, then sends them in as many frames as needed --- */

struct answer {
	struct buffer words;   /* encoded */
	struct buffer scratch; /* for one result */
	size_t *cuts;          /* where frames end */
	size_t cut_count;
	size_t cut_capacity;
	size_t frame_words; /* since the last cut */
};

void answer_reset(struct answer *answer);
void answer_add(struct answer *answer, const char *word, struct str rest);
void answer_add_route(struct answer *answer, const struct directory_route *route);
/* Adds "on TABLE KEY": the answer depends on that record. */
void answer_add_dependency(struct answer *answer, const struct directory_key *key);
/* VERB: "val" or "none". */
void answer_send(struct answer *answer, struct buffer *out, const char *verb, struct str id,
		 uint64_t ttl_ms, uint64_t version);
/* Sends all results so far; more will follow. */
void answer_send_parts(struct answer *answer, struct buffer *out, struct str id);
void answer_clear(struct answer *answer);

/* --- the whole --- */

struct session;

/* A list that is read portion by portion. */
struct listing {
	struct str prefix;
	struct buffer after;
	size_t left;    /* records that may follow */
	size_t asked;   /* of these, asked of the store */
	size_t portion; /* to ask for next */
	directory_listed *listed;
	bool has_begun; /* the first portion was read, with: */
	uint64_t version;
	char identity[SERVER_IDENTITY_SIZE];
	char memory[]; /* of the prefix */
};

struct question {
	struct directory_server *server;
	struct session *session; /* NULL: it has ended */
	struct question *next;   /* in the session's list, or of unused ones */
	struct question **previous;
	enum question_kind {
		QUESTION_GET,
		QUESTION_ROUTE,
		QUESTION_LACKING,
		QUESTION_LIST,
		QUESTION_CHANGE,
		QUESTION_SINCE
	} kind;
	enum directory_table table;
	struct str key; /* GET: in canonical form; ROUTE: the address, "" if it is too long */
	char key_memory[DIRECTORY_KEY_MAX];
	char id[SERVER_ID_MAX];
	size_t id_length;
	uint64_t since;
	bool is_removal;
	struct listing *listing;                        /* LIST */
	struct lacking *lacking;                        /* LACKING */
	void (*ask)(struct question *question);         /* or NULL */
	struct question *paused_next, *paused_previous; /* also in a list of lacking.c */
};

struct session {
	struct directory_server *server;
	struct session *next;
	struct session **previous;
	struct directory_transport transport;
	struct os_watch *watch;
	struct os_task task; /* writes, continues to read, ends */
	struct os_timer *again;
	struct buffer input;
	struct buffer output;
	unsigned roles;
	char peer[128];
	struct question *questions;
	size_t question_count;
	size_t list_count;          /* lists and "since" */
	struct question *paused;    /* until the client has read; first in, first out */
	struct question *resumed;   /* one of them that the store is answering; NULL: none */
	struct filter *filter;      /* NULL: the client has cached nothing */
	int64_t holds_all_until_us; /* after "since" */
	int64_t stuck_since_us;     /* since when no byte could be written; 0: no output waits */
	bool watches;
	bool must_reset;    /* a change could not be pushed */
	bool may_have_more; /* buffered input that poll does not report */
	bool has_ended;     /* the client has closed its side */
	bool is_broken;
};

struct directory_server {
	struct os_loop *loop;
	struct directory_store *store;
	const struct config *config;
	const struct directory_store_handler *listener; /* NULL: none */
	void *listener_context;
	struct directory_expander *expander;
	char identity[SERVER_IDENTITY_SIZE];
	char config_digest[17];
	struct session *sessions;
	size_t session_count;
	struct question *unused;
	size_t questions_under_way;
	struct change_batch *batch; /* being gathered; NULL: none */
	struct lacking *lacking[SERVER_LACKING];
	void (*free_lacking)(struct directory_server *server); /* lacking.c */
	struct os_task batch_task;
	struct answer answer;
	struct buffer scratch;
	struct os_timer *tick;
	bool is_ticking; /* soon */
	int64_t aged_us; /* when filters were last aged */
	int64_t started_us;
	struct directory_server_counts counts;
	bool is_stopping; /* reads nothing any more */
	bool is_freed;    /* the last pending question frees it */
};

/* question_life.c. ASK asks the store; it is called again after a pause. NULL: it never pauses. */
struct question *question_new(struct session *session, enum question_kind kind, struct str id,
			      void (*ask)(struct question *question));
/* After it was answered. */
void question_free(struct question *question);
/* When no question is under way any more. */
void server_free_whole(struct directory_server *server);

/* session.c */
struct session *session_new(struct directory_server *server,
			    const struct directory_transport *transport, unsigned roles,
			    const char *peer);
/* To call at each tick. */
void session_check(struct session *session, int64_t now_us);
void session_free(struct session *session);

/* output.c */

/* After output was added, or when the session may continue. */
void session_wake(struct session *session);
/* The buffer for an answer. First appends a reset if a push was lost, so that a client that has
 * seen the version of the answer has been notified of all earlier changes. */
struct buffer *session_output(struct session *session);
/* Sends the client the reason, logs it, and ends the connection. */
void session_refuse(struct session *session, const char *reason);
void session_error(struct session *session, struct str id, enum directory_error error,
		   const char *text);
/* Sends the reset instead of the pushes that were lost. */
void session_late_reset(struct session *session);
void session_add_reset(const struct directory_server *server, struct buffer *out);

/* question.c: handles one frame of a client. */
void question_take(struct session *session, struct str content);

/* route.c: asks who computes the route of QUESTION's key. */
void route_ask(struct question *question);

/* lacking.c */
void lacking_open(struct directory_server *server);
/* Nothing is asked of the store any more. */
void lacking_stop(struct directory_server *server);
/* METHOD: "scram-sha-256", "scram-sha-1" (directory/record/password.h); NULL for any other. */
struct lacking *lacking_find(struct directory_server *server, struct str method);
/* Answers QUESTION, about its member "lacking", by reply_lacking(). */
void lacking_ask(struct question *question);
/* To call after changes of the store. */
void lacking_changed(struct directory_server *server, const struct directory_key *key);
void lacking_reset(struct directory_server *server);

/* list.c: reads a page from the store in portions that fit into a client's backlog. Lists records
 * of TABLE whose keys begin with PREFIX and follow AFTER, at most LIMIT. LISTED gets each portion.
 */
void list_begin(struct question *question, struct str prefix, struct str after, size_t limit,
		directory_listed *listed);
/* Reads the next portion. */
void list_ask(struct question *question);
/* How many of COUNT records belong to the portion that was asked for. */
size_t list_portion(const struct question *question, size_t count);
/* After COUNT records of BYTES in an answer. 1: these were the last; 0: more are to be read;
 * -ESTALE: the data were replaced since the last portion. *VERSION, of this portion, becomes that
 * of the list, which is the first portion's. */
MUST_CHECK int list_take(struct question *question, const struct directory_record *records,
			 size_t count, size_t bytes, uint64_t *version);

/* pause.c: for a client that does not read its answers, only its questions are kept. */

/* Whether the backlog of QUESTION's client is too long for another answer. */
bool pause_is_due(const struct question *question);
/* It will be asked again when the client has read. */
void pause_question(struct question *question);
/* Resumes the questions for which there is room. */
void pause_resume(struct session *session);
/* QUESTION, which may have been resumed, was answered or paused again. */
static inline void pause_resumed(struct question *question)
{
	if (question->session->resumed == question)
		question->session->resumed = NULL;
}
/* Frees them, as the session ends. */
void pause_drop(struct session *session);

/* reply.c: callback for the store; its context is a question, which it ends. */
directory_got reply_got;
directory_expanded reply_expanded;
directory_listed reply_listed;
directory_missed reply_missed;
/* Ends QUESTION, whose session may have ended: some user lacks keys, or nobody does. */
void reply_lacking(struct question *question, int error, bool is_lacking);

/* change.c: the record of CHANGE must be in change_arena() or live as long. */
struct arena *change_arena(struct directory_server *server);
/* Before change_arena() for a change with a condition: passes on what was gathered. */
void change_begin_alone(struct directory_server *server);
void change_add(struct question *question, const struct directory_change *change);
/* Passes the gathered changes to the store. */
void change_commit(void *server);

/* tick.c: a client does not read, which is limited in time. */
#define SERVER_TICK_US SECOND_US
void server_tick_soon(struct directory_server *server);

/* push.c */
void push_changes(struct directory_server *server, const struct directory_key *keys,
		  const uint64_t *versions, size_t count);
/* To all clients. */
void push_reset(struct directory_server *server);
void push_state(struct directory_server *server, bool is_up);
void push_hello(struct session *session);
/* Records that SESSION may have cached something that depends on the key. */
void push_holds(struct session *session, enum directory_table table, struct str key);
void push_missed(struct question *question, int error, const struct directory_key *keys,
		 const uint64_t *versions, size_t count);
int64_t push_longest_ttl_us(const struct directory_server *server);

#endif
