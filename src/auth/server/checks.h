// SPDX-License-Identifier: ISC
/*
 * auth/server/checks.h - what takes long, such as slow hashes, on a bounded number of threads, in a
 * queue that is bounded and fair.
 *
 * Clients take turns, whatever the number of their checks. Those that are known come first, those
 * that have failed come last; half of the threads are kept for the former, and the latter get a
 * quarter. The other half runs only on processors that nobody else uses.
 * So who guesses passwords, even from very many addresses, does not hold up those who know theirs,
 * nor sessions of any other kind.
 *
 * One thread more checks for those who are not known, at low priority and for a tenth of a
 * processor, so that they are served on a busy machine, too: while few wait, or when the others do
 * not get on.
 */
#ifndef AUTH_SERVER_CHECKS_H
#define AUTH_SERVER_CHECKS_H

#include "base/attributes.h"
#include "base/timestamp.h"
#include "os/loop.h"
#include <netinet/in.h>

enum {
	AUTH_CHECKS_MAX = 1000,      /* that wait, of each trust */
	AUTH_CHECKS_CLIENT_MAX = 16, /* of one client */
	AUTH_THREADS_MAX = 64,
	AUTH_FEW = 8, /* checks of those who are not known; more of them are a flood */
};

#define AUTH_STARVING_US SECOND_US /* a check that has taken longer lacks a processor */
#define AUTH_REST_US     SECOND_US /* at most, of the one thread more */

/* What is known of a client. */
enum auth_trust {
	AUTH_KNOWN, /* somebody has succeeded there of late */
	AUTH_NEW,
	AUTH_SUSPECT, /* somebody has failed there of late */
	AUTH_TRUSTS,
};

struct auth_checks;
struct auth_check;

/* All functions get the CONTEXT of auth_checks_add(). Implemented by auth/server/password.c. */
struct auth_check_kind {
	void (*work)(void *context); /* in a thread */
	void (*done)(void *context); /* in the loop, after WORK; not if it was cancelled */
	void (*free)(void *context); /* in the loop, at last, in any case */
};

/* THREADS: at least 2, besides the one more. -errno: no thread can be created. */
MUST_CHECK int auth_checks_new(struct os_loop *loop, unsigned threads,
			       struct auth_checks **checks_out);
/* Waits until the threads have finished what they began. NULL is allowed. */
void auth_checks_free(struct auth_checks *checks);

/* Queues a check for CLIENT (auth/server/failures.h). NULL: there are too many; the context is
 * freed. */
struct auth_check *auth_checks_add(struct auth_checks *checks, const struct auth_check_kind *kind,
				   void *context, const struct in6_addr *client,
				   enum auth_trust trust);
/* It is not begun any more; if it was, its result is dropped. NULL is allowed. */
void auth_check_cancel(struct auth_check *check);

#endif
