// SPDX-License-Identifier: ISC
/*
 * intake/qmtp/internal.h - a session's packages, each with its message at the queue.
 */
#ifndef INTAKE_QMTP_INTERNAL_H
#define INTAKE_QMTP_INTERNAL_H

#include "intake/internal.h"
#include "qmtp/server.h"

/* The message of one slot. */
struct intake_package {
	struct intake_session *session;
	unsigned slot;
	struct queue_client_message message;
	struct mail_id id;
	int64_t began_us; /* monotonic: when it got its number */
	bool is_committing;
};

struct intake_packages {
	struct qmtp_server *server;
	struct os_task pump;                             /* when commits were answered */
	struct intake_package *slots[QMTP_SERVER_SLOTS]; /* owned; NULL: no message */
};

/* Passes the question on; the answer may come at once. */
void intake_package_handle(struct intake_session *session);
/* Requests a number for the message that has begun. */
void intake_package_open(struct intake_session *session);
/* Passes commits on; writes the message to its file when enough of it has come; gives up those that
 * the engine did. */
void intake_package_spool_body(struct intake_session *session);
/* The session ends: gives up all. */
uint64_t intake_package_unfinished(const struct intake_session *session);
void intake_package_cancel(struct intake_session *session);

#endif
