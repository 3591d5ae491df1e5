// SPDX-License-Identifier: ISC
/* deliver/list/internal.h - one list that a message is for: what the files of a list share. */
#ifndef DELIVER_LIST_INTERNAL_H
#define DELIVER_LIST_INTERNAL_H

#include "deliver/list/graph.h"
#include "deliver/list/list.h"
#include "deliver/list/seen.h"
#include "directory/lookup/post.h"

/* A message to members. */
enum list_message_state {
	LIST_MESSAGE_NEW,        /* not in the queue */
	LIST_MESSAGE_OPENING,    /* a number is requested, or the file for a large one */
	LIST_MESSAGE_COPYING,    /* its data is being written there */
	LIST_MESSAGE_WHOLE,      /* it is complete, or goes with the commit */
	LIST_MESSAGE_COMMITTING, /* the commit has been requested */
	LIST_MESSAGE_DONE,       /* it is durable */
};

struct list_message {
	struct list_expansion *expansion;
	const struct list_node *node; /* the list whose members it is for */
	enum list_message_state state;
	struct queue_client_message queue;
	struct mail_envelope *envelope;
	struct ipc_content_pass copied; /* of the original */
	int error;                      /* of the last attempt */
	struct list_message *next, *previous;
};

struct list_expansion {
	struct os_loop *loop;
	struct directory *directory;
	struct queue_client *queue;
	const struct deliver_helper_job *job;
	struct hash_key key; /* of marks */
	struct str list;     /* the address */
	struct str via;      /* that leads to it; empty: none */
	struct list_graph graph;
	struct directory_post_request post; /* used once the lists are known */
	const struct list_node *node;       /* the list whose members come next; NULL: all have
					     * been read */
	struct list_seen seen;              /* used if there are several lists */
	struct buffer after;                /* the last member that was read */
	bool is_begun;                      /* some message may be in the queue */
	size_t members;
	size_t queued; /* messages */
	struct directory_members_request page;
	struct list_message *messages;
	/* MESSAGE's state has changed, perhaps back to NEW: then its error says why. */
	void (*moved)(struct list_expansion *expansion, struct list_message *message);
	size_t message_count;
	size_t committing;
	struct os_timer *timer;
	void (*timed)(struct list_expansion *expansion);
	/* It is finished: the handler frees the expansion. TRIGGER as for
	 * deliver_helper_report(). */
	void (*done)(void *context, const struct mail_verdict *verdict, const char *trigger);
	void *context;
};

/* expansion.c: DONE may be called before it returns. */
void list_expansion_start(struct list_expansion *expansion);
/* Stops whatever is in progress; the memory is the caller's. */
void list_expansion_clear(struct list_expansion *expansion);

/* message.c: a message for the COUNT addresses MEMBERS. The expansion starts the next step. */
struct list_message *list_message_new(struct list_expansion *expansion, const struct str *members,
				      size_t count);
void list_message_open(struct list_message *message);
void list_message_commit(struct list_message *message);
void list_message_free(struct list_message *message);

#endif
