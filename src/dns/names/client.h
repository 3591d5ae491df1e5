// SPDX-License-Identifier: ISC
/*
 * dns/names/client.h - asks the process "names" for the names of clients, and caches the answers.
 *
 * No request waits longer than NAMES_PATIENCE_US; while there is no connection, or it was lost,
 * questions wait for the next one. Names are kept as long as the DNS allows, but at
 * least a minute and at most an hour; so is the answer that there is none; a temporary failure is
 * kept for half a minute. At most NAMES_KEPT_MAX clients, the most recently seen.
 */
#ifndef DNS_NAMES_CLIENT_H
#define DNS_NAMES_CLIENT_H

#include "base/attributes.h"
#include "base/timestamp.h"
#include "os/loop.h"
#include <netinet/in.h>

#define NAMES_PATIENCE_US (2 * SECOND_US)

enum { NAMES_KEPT_MAX = 10000 };

struct names;
struct names_entry;

/* Storage of the caller, all zero or as it was left, except DONE and CONTEXT. */
struct names_request {
	/* Called once. NAME: valid during the call; "": no confirmed name, or it cannot be found
	 * now (IS_TEMPORARY). */
	void (*done)(void *context, const char *name, bool is_temporary);
	void *context;
	struct names_entry *entry; /* NULL: not waiting */
	struct names_request *next, *previous;
};

/* PATH: the socket of "names". */
struct names *names_new(struct os_loop *loop, const char *path);
/* Only after its requests were answered or cancelled. NULL is allowed. */
void names_free(struct names *names);
/* Calls CALL once, after the next success to connect. */
void names_when_connected(struct names *names, void (*call)(void *context), void *context);

/* The name of ADDRESS (IPv4 mapped); DONE may be called before this returns. */
void names_ask(struct names *names, const struct in6_addr *address, struct names_request *request);
/* DONE is not called any more. Does nothing if it is not waiting. */
void names_request_cancel(struct names_request *request);
bool names_request_is_open(const struct names_request *request);
/* Whether answers have recently taken longer than that: then a caller that can do without a name
 * should not wait. */
bool names_are_slow(const struct names *names);

#endif
