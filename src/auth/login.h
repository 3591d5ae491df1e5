// SPDX-License-Identifier: ISC
/*
 * auth/login.h - whether who has authenticated still may: the user is disabled or removed, or has
 * another password.
 *
 * "auth" follows the user's record and says so at once. What it has said holds until it says
 * something else, or that it does not know any more; only then it is asked. Logins outlive the
 * process "auth", which is told of them again.
 */
#ifndef AUTH_LOGIN_H
#define AUTH_LOGIN_H

#include "auth/client.h"

enum auth_login_state {
	AUTH_LOGIN_VALID,
	AUTH_LOGIN_ENDED,
	AUTH_LOGIN_UNKNOWN, /* "auth", or the directory, does not answer */
};

enum { AUTH_STAMP_MAX = 64 }; /* bytes */

#define AUTH_LOGIN_PATIENCE_US (20 * SECOND_US)

struct auth_login;

/* IS_ANSWER: to auth_login_ask(); otherwise it is ENDED, and may be said more than once. */
typedef void auth_login_notify(void *context, enum auth_login_state state, bool is_answer);

/* USER and STAMP as in the answer AUTH_ACCEPTED; STAMP is not empty. */
struct auth_login *auth_login_new(struct auth *auth, struct str user, struct str stamp,
				  auth_login_notify *notify, void *context);
/* Asks "auth" only if it is not known. The answer may come before this returns. One at a time. */
void auth_login_ask(struct auth_login *login);
/* NULL is allowed. */
void auth_login_free(struct auth_login *login);

#endif
