// SPDX-License-Identifier: ISC
/*
 * queue/client/internal.h - what the files of the client share.
 */
#ifndef QUEUE_CLIENT_INTERNAL_H
#define QUEUE_CLIENT_INTERNAL_H

#include "ipc/channel.h"
#include "ipc/pack.h"
#include "queue/client/handed.h"
#include "queue/client/protocol.h"

struct queue_client {
	struct ipc_client *ipc;
	uint32_t stock_wanted;
	uint64_t stock[QUEUE_OPEN_MAX * 2]; /* numbers */
	size_t stock_count;
	bool is_asking; /* an OPEN has not been answered */
	bool uses_reserve;
	uint64_t reserve; /* bytes to be left free by messages with a file; 0: any */
	struct queue_client_message *opening;    /* in order */
	struct queue_client_message *open;       /* or sharing */
	struct queue_client_message *committing; /* by number */
	struct os_loop *loop;
	struct buffer commits;                    /* of this turn of the loop, not sent yet */
	enum queue_protocol commits_type;         /* COMMIT or COMMIT_HANDED: of all of them */
	struct os_task commits_ready;             /* sends them */
	struct str token; /* of "noded"; borrowed */
	const struct queue_handed_handler *nodes; /* NULL: not for "noded" */
	void *nodes_context;
};

/* commit.c */
/* For COMMITS_READY: sends the commits of this turn in one packet. */
void client_send_commits(void *context);
/* Removes it from every list and makes it IDLE. */
void client_set_idle(struct queue_client_message *message);
/* Fails the message with ERROR. */
void client_fail(struct queue_client_message *message, int error);
/* The file that the commit waited for has come. */
void client_commit_shared(struct queue_client_message *message);
/* OPEN to COMMITTING, with TEXT as it is; frees TEXT, now or later. */
void client_commit_text(struct queue_client_message *message, struct buffer text, struct str data);

/* handed.c: what "queue" says to "noded". False: it must not say that. */
bool client_kept(struct queue_client *client, struct unpack *body);
bool client_handed_greeted(struct queue_client *client, struct unpack *body);

#endif
