// SPDX-License-Identifier: ISC
/*
 * node/receive/internal.h - the parts of the receiver.
 *
 *   receive.c   who may connect, and which connections there are
 *   session.c   a connection: it is greeted by "queue", then hands packages over
 *   package.c   a package on its way into the queue
 *   close.c     the end of a session
 *   offer.c     what is taken from others
 *   status.c    what is said of this node to others that ask
 */
#ifndef NODE_RECEIVE_INTERNAL_H
#define NODE_RECEIVE_INTERNAL_H

#include "mail/package.h"
#include "node/link.h"
#include "node/receive/receive.h"
#include "node/server.h"
#include "queue/control/control.h"

/* After so long the status of this node is told without what "send" knows: before the node that
 * asks gives up (NODE_ANSWER_PATIENCE_US). */
#define NODE_STATUS_PATIENCE_US (3 * SECOND_US / 2)

struct node_session;

struct node_receiver {
	struct os_loop *loop;
	struct deliver_helper *helper; /* NULL: none yet */
	uint32_t questions;            /* to it, so far */
	struct node_receiver_parts parts;
	struct node_session *sessions;
	size_t committing; /* packages */
	bool is_stopping;
	void (*stopped)(void *context); /* NULL: not asked for */
	void *stopped_context;
};

struct node_package;

struct node_session {
	struct node_receiver *receiver;
	char peer[MAIL_NODE_MAX + 1];      /* of the other node */
	char address[300];                 /* "NAME[ADDRESS]" */
	struct queue_handed_serial serial; /* zeros before its hello */
	struct node_server server;
	struct node_link *link;
	struct node_package *packages;
	struct node_package *coming;   /* of these: whose data come; NULL: none */
	uint32_t question;             /* to "send", the last of this session; 0: none */
	struct os_timer *status_timer; /* until it is answered without "send"; NULL: none yet */
	struct node_session *next, *previous;
};

/* session.c */
struct node_session *node_session_new(struct node_receiver *receiver,
				      const struct directory_transport *transport, const char *peer,
				      const char *address);
void node_session_free(struct node_session *session);
/* What "queue" says of its greeting. */
void node_session_kept(struct node_session *session, struct str package, struct str numbers);
void node_session_greeted(struct node_session *session, int error,
			  const struct queue_handed_serial *highest);

/* status.c: the other node wants to know the status of this one, or what it knows of MESSAGE. */
void node_session_ask_status(struct node_session *session, struct str message);

/* close.c: tells the other node why, and closes. */
void node_session_end(struct node_session *session, const char *reason);

/* package.c: the packages of a session; true: it goes on. */
bool node_package_begin(struct node_session *session, struct str name, struct str text,
			uint64_t size);
bool node_package_data(struct node_session *session, struct str part);
bool node_package_end(struct node_session *session);
/* Those that are not committing are given up. */
void node_packages_free(struct node_session *session);

/* offer.c: why CONTROL, of a package, is not taken: its status and text; false: it is. */
bool node_offer_refuses(const struct node_receiver *receiver, const struct queue_control *control,
			struct mail_verdict *verdict_out);

#endif
