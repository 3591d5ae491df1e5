// SPDX-License-Identifier: ISC
/* auth/internal.h - shared by the two parts of the client's side. */
#ifndef AUTH_INTERNAL_H
#define AUTH_INTERNAL_H

#include "auth/client.h"
#include "auth/login.h"
#include "auth/protocol.h"
#include "ipc/channel.h"

enum { AUTH_MECHANISMS_ROOM = AUTH_MECHANISMS_MAX };

struct auth_offered_mechanism {
	char name[AUTH_MECHANISM_SIZE];
	unsigned needs;
};

struct auth {
	struct os_loop *loop;
	struct ipc_client *client;
	struct os_timer *timer; /* for the first exchange that was asked about */
	struct auth_offered_mechanism mechanisms[AUTH_MECHANISMS_ROOM];
	size_t mechanism_count;        /* 0: not connected, or nothing is offered yet */
	struct auth_exchange *open;    /* by tag */
	struct auth_exchange *asking;  /* in the order of the questions */
	struct auth_exchange *waiting; /* for the client's response */
	struct auth_login *logins;     /* by tag */
	uint64_t doubts;               /* how often all of them were in doubt */
	uint32_t last_tag;
	struct buffer list;                  /* of auth_mechanisms() */
	void (*when_offered)(void *context); /* NULL: nobody waits for that */
	void *when_context;
};

/* login.c: what "auth" says of one, or of all; false: malformed. */
MUST_CHECK bool auth_login_take(struct auth *auth, uint32_t tag, struct str body);
MUST_CHECK bool auth_login_doubt(struct auth *auth, struct str body);
/* The connection is there, or was lost. */
void auth_login_resume(struct auth *auth);
void auth_login_lost(struct auth *auth);

#endif
