// SPDX-License-Identifier: ISC
/*
 * transcript/transcript.h - dialogues of sessions, line by line, for an operator who watches them
 * ("stagepost transcript"). Nothing of it is in the log.
 *
 * A watcher has a filter: sessions with a peer in a network, or for a domain, or both. The
 * supervisor tells it to the processes that speak to the network, and takes from them what is said
 * in such sessions. Those ask transcript_is_on() before anything else, so that it costs nothing
 * while nobody watches.
 *
 * One for a process, as the log is.
 */
#ifndef TRANSCRIPT_TRANSCRIPT_H
#define TRANSCRIPT_TRANSCRIPT_H

#include "config/config.h"
#include "ipc/pack.h"
#include "mail/unicode.h"

enum {
	TRANSCRIPT_WATCHERS_MAX = 8,
	TRANSCRIPT_LINE_MAX = 2000,  /* bytes; what is longer is cut, and ends in "..." */
	TRANSCRIPT_LINES_MAX = 2000, /* of a process in a second; the others are counted */
};

struct transcript_filter {
	uint32_t watcher; /* below TRANSCRIPT_WATCHERS_MAX */
	bool has_network;
	struct config_network network;
	struct mail_domain domain; /* and all below it; empty: any */
};

void transcript_pack(struct buffer *out, const struct transcript_filter *filter);
MUST_CHECK bool transcript_unpack(struct unpack *in, struct transcript_filter *filter_out);

/* --- in a process that has sessions --- */

/* FILTERS, packed one after the other, take the place of those before. False: they are malformed,
 * and none is left. */
MUST_CHECK bool transcript_configure(struct str filters);
/* Each line is given to SAY, as transcript_said. */
void transcript_say_by(void (*say)(void *context, struct str said), void *context);

/* True while somebody watches; lives as long as the process. */
const bool *transcript_is_on(void);

enum transcript_side {
	TRANSCRIPT_CLIENT,
	TRANSCRIPT_SERVER,
	TRANSCRIPT_NOTE, /* it was not said: "12 lines were left out" */
};

enum { TRANSCRIPT_NAMES = 2 };

/* Whom a session is with. */
struct transcript_peer {
	const char *shown;                  /* "192.0.2.7:53112", "mx.example.org[192.0.2.7]" */
	const struct in6_addr *address;     /* IPv4 mapped; NULL: a UNIX socket */
	struct str names[TRANSCRIPT_NAMES]; /* of the peer, the destination; may be empty */
};

/* LINE, without its end, was said. *SESSION is 0 before the first of a session's lines. */
void transcript_line(uint64_t *session, const struct transcript_peer *peer,
		     enum transcript_side side, struct str line);

/* --- what was said --- */

struct transcript_said {
	uint32_t watchers; /* a bit for each: 1 << watcher */
	uint64_t session;  /* of the process */
	int64_t time_us;   /* wall clock */
	enum transcript_side side;
	struct str peer;
	struct str line;
};

void transcript_pack_said(struct buffer *out, const struct transcript_said *said);
MUST_CHECK bool transcript_unpack_said(struct str body, struct transcript_said *said_out);

#endif
