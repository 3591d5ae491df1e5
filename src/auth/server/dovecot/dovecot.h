// SPDX-License-Identifier: ISC
/*
 * auth/server/dovecot/dovecot.h - passes mechanisms through to the authentication service of
 * Dovecot.
 *
 * One connection, made again when it is lost: Dovecot ends it a minute after each of its reloads.
 * Requests that it has answered nothing to yet are asked again then, and new ones wait, for
 * DOVECOT_PATIENCE_US at most: clients do not notice. What the service asks and answers is passed
 * on without being understood.
 */
#ifndef AUTH_SERVER_DOVECOT_DOVECOT_H
#define AUTH_SERVER_DOVECOT_DOVECOT_H

#include "auth/protocol.h"
#include "auth/server/dovecot/line.h"
#include "base/buffer.h"
#include "base/timestamp.h"
#include "os/loop.h"
#include <netinet/in.h>

enum { DOVECOT_REQUESTS_MAX = 4096 };
#define DOVECOT_PATIENCE_US (5 * SECOND_US)

struct dovecot;

struct dovecot_mechanism {
	char name[AUTH_MECHANISM_SIZE];
};

/* PATH: its socket. CHANGED: the mechanisms are others. */
struct dovecot *dovecot_new(struct os_loop *loop, const char *path, void (*changed)(void *context),
			    void *context);
/* Without requests. NULL is allowed. */
void dovecot_free(struct dovecot *dovecot);
const char *dovecot_path(const struct dovecot *dovecot);
/* What it can do, or could when it was last connected: a client that connects while Dovecot is
 * started again is told to come back (LATER), not that there is no AUTH. None before the first
 * connection. */
const struct dovecot_mechanism *dovecot_mechanisms(const struct dovecot *dovecot,
						   size_t *count_out);

enum dovecot_outcome { DOVECOT_CHALLENGE, DOVECOT_RIGHT, DOVECOT_WRONG, DOVECOT_LATER };

struct dovecot_answer {
	enum dovecot_outcome outcome;
	struct str message; /* CHALLENGE; RIGHT: the last one, perhaps empty */
	struct str user;    /* RIGHT, WRONG: as Dovecot wrote it; may be empty for WRONG */
};

struct dovecot_ask {
	struct str mechanism;
	struct str service; /* "smtp" */
	struct in6_addr client;
	bool has_certificate;        /* a verified one, of CERTIFICATE_NAME */
	struct str certificate_name; /* or empty */
	bool has_initial;
	struct str initial;
};

/* Storage of the caller, all zero at first. */
struct dovecot_request {
	/* The request is over unless it is a CHALLENGE. Never called before dovecot_begin() or
	 * dovecot_respond() has returned. */
	void (*answered)(void *context, const struct dovecot_answer *answer);
	void *context;
	struct dovecot *dovecot; /* NULL: none is under way */
	uint32_t id;
	bool is_sent;       /* by this connection */
	bool is_begun;      /* Dovecot has answered: only this connection can go on with it */
	bool is_failed;     /* cannot be sent; the answer comes soon */
	int64_t until_us;   /* monotonic: it waits for a connection no longer */
	struct buffer line; /* to begin with; empty once it IS_BEGUN */
	struct os_task fail;
	struct dovecot_request *next, *previous;
};

void dovecot_begin(struct dovecot *dovecot, const struct dovecot_ask *ask,
		   struct dovecot_request *request);
void dovecot_respond(struct dovecot_request *request, struct str response);
/* ANSWERED is not called any more. Does nothing if none is under way. */
void dovecot_cancel(struct dovecot_request *request);

#endif
