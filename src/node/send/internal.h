// SPDX-License-Identifier: ISC
/*
 * node/send/internal.h - the parts of the sender.
 *
 *   send.c         jobs, and what "send" says
 *   connection.c   the connection to another node
 *   doubt.c        what it may have since a connection was lost
 *   place.c        a job is given to a node, or waits for one
 *   choose.c       which node gets a job
 *   peer.c         another node, and what is handed over to it
 *   package.c      what a node has, or may have
 *   numbers.c      numbers of deliveries
 *   say.c          what "send" is told
 *   question.c     the status of all nodes, for an operator
 *   asked.c        a node that is asked for its status
 */
#ifndef NODE_SEND_INTERNAL_H
#define NODE_SEND_INTERNAL_H

#include "base/table.h"
#include "ipc/content.h"
#include "mail/package.h"
#include "node/client.h"
#include "node/link.h"
#include "node/send/send.h"

/* How long a job waits for a node that may have it before its message is put aside. */
#define NODE_DOUBT_GRACE_US (3 * SECOND_US)

/* After how long without mail the name of a node that has nothing is removed from peers/. */
#define NODE_IDLE_US (10 * SECOND_US)

/* How long a node has to answer for its status, from when there was room to ask it; and how many
 * are asked at a time. */
#define NODE_ANSWER_PATIENCE_US (2 * SECOND_US)
enum { NODE_QUESTIONS_MAX = 64 };

struct node_peer;

/* Sorted, without repetitions; none: all deliveries of the message. */
struct node_numbers {
	uint32_t *items; /* owned */
	size_t count;
};

enum node_package_state {
	NODE_PACKAGE_QUEUED,  /* waits to be sent; the node has nothing of it */
	NODE_PACKAGE_SENT,    /* or begun */
	NODE_PACKAGE_DOUBT,   /* sent, and then the connection was lost */
	NODE_PACKAGE_LOST,    /* DOUBT for too long: another node may get it */
	NODE_PACKAGE_THERE,   /* the node answers for it */
	NODE_PACKAGE_SETTLED, /* and is to be told that it need not any more */
};

/* Something of a message at a node. */
struct node_sent {
	struct node_peer *peer;
	char name[MAIL_PACKAGE_SIZE];
	struct mail_id id;
	struct node_numbers numbers;
	enum node_package_state state;
	struct deliver_helper_job *job;    /* QUEUED, SENT, DOUBT: who waits for the answer; NULL:
					    * nobody any more */
	uint64_t size;                     /* bytes of data and text */
	struct ipc_content_pass pass;      /* of the data */
	bool was_lost;                     /* another node may have got it, too */
	bool is_dropped;                   /* SETTLED: another node has it, which was never lost */
	bool is_kept;                      /* the node has said so since it was greeted */
	int64_t since_us;                  /* DOUBT: monotonic */
	struct node_sent *next, *previous; /* of the peer, in the order in which they are sent */
};

struct node_peer {
	struct node_sender *sender;
	char name[MAIL_NODE_MAX + 1];
	struct directory_dial *dial; /* NULL: not under way */
	struct node_link *link;      /* NULL: not connected */
	struct node_client client;   /* of LINK */
	struct os_timer *timer;      /* until the next dial */
	struct os_timer *doubt_timer;
	int64_t delay_us;      /* before the next dial */
	struct buffer trouble; /* why it cannot be reached, for people; with a NUL */
	struct node_sent *sent;
	struct node_sent *sending; /* of these: whose data are being sent */
	size_t in_flight;          /* SENT */
	uint64_t outstanding;      /* bytes of QUEUED and SENT */
	bool has_settled;          /* some are SETTLED */
	bool is_recorded;          /* its name in peers/ is durable */
	bool is_recording;         /* that was asked for */
	bool is_named;             /* in peers/ still, because that could not be removed */
	bool is_needed;            /* some mail of this node is for it */
	bool must_answer;          /* "send" waits for what it has, from before its start */
	int64_t asked_us;          /* since when; monotonic */
	struct node_peer *next, *previous;
};

struct node_sender {
	struct os_loop *loop;
	struct node_sender_parts parts;
	struct deliver_helper *helper;
	struct node_peer *peers;
	struct node_question *question; /* NULL: none is under way */
	uint64_t epoch, run;            /* 0: "send" has not said it yet */
	uint64_t connections;
	bool is_draining;
};

/* numbers.c */
struct node_numbers node_numbers_of_job(const struct deliver_helper_job *job);
/* "3-5,9"; false: malformed. */
MUST_CHECK bool node_numbers_parse(struct str text, struct node_numbers *numbers_out);
void node_numbers_clear(struct node_numbers *numbers);
bool node_numbers_have(const struct node_numbers *numbers, uint32_t number);
/* Removes NUMBER; true: that was the last. */
bool node_numbers_remove(struct node_numbers *numbers, uint32_t number);

/* package.c */
struct node_sent *node_sent_new(struct node_peer *peer, const char *name,
				struct node_numbers numbers);
struct node_sent *node_sent_find(const struct node_peer *peer, struct str name);
void node_sent_free(struct node_sent *sent);
/* If PEER has nothing, its name in peers/ is removed after a while. */
void node_peer_expect_nothing(struct node_peer *peer);
/* Its job, if there is one, is done. */
void node_sent_take(struct node_sent *sent);
/* Its job waits, with VERDICT, for TRIGGER (NULL: none). */
void node_sent_defer(struct node_sent *sent, const char *status, const char *text,
		     const char *trigger);

/* peer.c */
struct node_peer *node_peer_find(const struct node_sender *sender, struct str name);
bool node_peer_is_ready(const struct node_peer *peer);
void node_peer_disconnect(struct node_peer *peer, const char *reason);
/* SENT is QUEUED: sends it when it is its turn. */
void node_peer_send(struct node_peer *peer);
/* "send" has made its name durable. */
void node_peer_recorded(struct node_peer *peer, int error);
/* "send" has removed it, or cannot. */
void node_peer_forgotten(struct node_peer *peer, int error);
/* The message ID, or COUNT deliveries of it, is done for good: what the node has of it is
 * settled. */
void node_peer_settle(struct node_peer *peer, struct mail_id id, const uint32_t *numbers,
		      size_t count);

/* doubt.c */
/* The connection is lost: what was sent may be there; what was not is placed elsewhere. */
void node_peer_doubt(struct node_peer *peer);
/* What was kept is there, and what was not is not. */
void node_peer_end_doubts(struct node_peer *peer);
/* Each second while there are doubts: CONTEXT is the peer. */
void node_peer_count_doubts(void *context);

/* connection.c */
struct node_peer *node_peer_get(struct node_sender *sender, struct str name);
void node_peer_free(struct node_peer *peer);
/* Begins to connect unless it is connected or connecting. */
void node_peer_connect(struct node_peer *peer);

/* Nodes that have refused a job, as its context; in its arena. */
enum { NODE_REFUSALS_MAX = 8 };
struct node_refusals {
	char nodes[NODE_REFUSALS_MAX][MAIL_NODE_MAX + 1];
	size_t count;
	struct mail_verdict last;
};

/* choose.c */
/* NODE has refused JOB. */
void node_refuse(struct deliver_helper_job *job, const char *node, const struct mail_verdict *why);
/* A node for JOB, or NULL: then why in REASON, or nothing in it: one will have room. */
struct node_peer *node_choose(struct node_sender *sender, const struct deliver_helper_job *job,
			      struct buffer *reason);

/* place.c */
/* Reports what nodes have of JOB; true: that is all. */
bool node_report_what_is_there(struct node_sender *sender, struct deliver_helper_job *job);
/* JOB, which no node has, is given to another one. */
void node_sender_place(struct node_sender *sender, struct deliver_helper_job *job);
/* JOB waits for TRIGGER. */
void node_defer_job(struct deliver_helper_job *job, const char *status, const char *text,
		    const char *trigger);

/* say.c */
/* What waits for the trigger "PREFIX" "NAME" may be tried. */
void node_sender_release(struct node_sender *sender, const char *prefix, const char *name);
void node_sender_say_kept(struct node_sender *sender, const struct node_sent *sent);
void node_sender_say_asked(struct node_sender *sender, const char *node);
void node_sender_record_peer(struct node_sender *sender, const char *node, bool is_wanted);
/* For which groups this node works, once the table is known. */
void node_sender_say_groups(struct node_sender *sender);

/* question.c, asked.c */
/* BODY of ASK_NODES, or of STATUS_IS; false: malformed. */
MUST_CHECK bool node_question_hear(struct node_sender *sender, struct str body);
MUST_CHECK bool node_question_hear_own(struct node_sender *sender, struct str body);
/* Whether PEER's status is wanted. */
bool node_question_wants(const struct node_peer *peer);
/* PEER is ready, and between two packages: asks it, if its status is wanted. */
void node_question_say(struct node_peer *peer);
/* It has answered; or its connection has failed, for the reason in its trouble. */
void node_question_answered(struct node_peer *peer, struct str text);
void node_question_failed(struct node_peer *peer);
/* Nobody waits for the answers any more. NULL is allowed. */
void node_question_free(struct node_question *question);

#endif
