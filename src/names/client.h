// SPDX-License-Identifier: ISC
/*
 * names/client.h - asks the process "names" what clients are called, and keeps what it says.
 *
 * Nobody waits for longer than NAMES_PATIENCE_US. Names are kept for the time that the DNS gives
 * them, a minute at least and an hour at most; that there is none, and that nobody could say,
 * as well, the latter for half a minute. Of NAMES_KEPT_MAX clients, those seen last.
 */
#ifndef NAMES_CLIENT_H
#define NAMES_CLIENT_H

#include "base/attributes.h"
#include "base/timestamp.h"
#include "os/loop.h"
#include <netinet/in.h>

#define NAMES_PATIENCE_US (2 * SECOND_US)

enum { NAMES_KEPT_MAX = 10000 };

struct names;
struct names_entry;

/* The caller's, all zero or as it was left, but for DONE and CONTEXT. */
struct names_request {
	/* Called once. NAME: valid during the call; "": none is confirmed, or nobody can say now
	 * (IS_TEMPORARY). */
	void (*done)(void *context, const char *name, bool is_temporary);
	void *context;
	struct names_entry *entry; /* NULL: it is not open */
	struct names_request *next, *previous;
};

/* PATH: the socket of "names". */
struct names *names_new(struct os_loop *loop, const char *path);
/* After its requests were answered or cancelled. NULL is allowed. */
void names_free(struct names *names);

/* The name of ADDRESS (IPv4 mapped); DONE is called perhaps before this returns. */
void names_ask(struct names *names, const struct in6_addr *address, struct names_request *request);
/* DONE is not called any more. What is not open is left alone. */
void names_request_cancel(struct names_request *request);
bool names_request_is_open(const struct names_request *request);
/* Whether answers took longer than that lately: then whoever can do without a name does not
 * wait for one. */
bool names_are_slow(const struct names *names);

#endif
