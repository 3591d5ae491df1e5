// SPDX-License-Identifier: ISC
/*
 * intake/accounts.h - whether this machine has a user, asked without waiting: where a service
 * delivers as the user of the mailbox (user = "%u"), a recipient who is none is refused.
 */
#ifndef INTAKE_ACCOUNTS_H
#define INTAKE_ACCOUNTS_H

#include "base/attributes.h"
#include "base/str.h"
#include "os/loop.h"
#include <sys/types.h>

struct intake_accounts;

enum intake_account {
	INTAKE_ACCOUNT_FOUND,
	INTAKE_ACCOUNT_NONE,    /* nobody has that name */
	INTAKE_ACCOUNT_UNKNOWN, /* no answer within ten seconds, or an error */
};

/* Storage of the caller, zeroed at first, until it is answered or cancelled. */
struct intake_account_request {
	void (*found)(void *context, enum intake_account account, uid_t uid); /* UID: if FOUND */
	void *context;
	struct intake_account_question *question; /* NULL: not pending */
};

/* SOCKET: os_process_account_open(). It stays open for good. */
struct intake_accounts *intake_accounts_new(struct os_loop *loop, int socket);
/* Nothing may be pending. NULL is allowed. */
void intake_accounts_free(struct intake_accounts *accounts);
/* Calls FOUND, perhaps before this returns. */
void intake_accounts_find(struct intake_accounts *accounts, struct str name,
			  struct intake_account_request *request);
/* Calls nothing. Does nothing if the request is not pending. */
void intake_accounts_cancel(struct intake_account_request *request);

#endif
