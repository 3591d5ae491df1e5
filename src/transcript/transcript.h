// SPDX-License-Identifier: ISC
/*
 * transcript/transcript.h - dialogues of sessions, line by line, for an operator who watches them
 * ("stagepost transcript"). They are not logged.
 *
 * A watcher has a filter: sessions with a peer in a network, or for a domain, or both. The
 * supervisor sends the filters to the processes that speak to the network, and gets from them the
 * lines of such sessions. These processes check transcript_is_on() first, so that it costs nothing
 * while nobody watches.
 *
 * One instance per process, like the log.
 */
#ifndef TRANSCRIPT_TRANSCRIPT_H
#define TRANSCRIPT_TRANSCRIPT_H

#include "config/config.h"
#include "ipc/pack.h"
#include "mail/unicode.h"

enum {
	TRANSCRIPT_WATCHERS_MAX = 8,
	TRANSCRIPT_LINE_MAX = 2000,  /* bytes; longer lines are cut, and end in "..." */
	TRANSCRIPT_PEER_MAX = 400,   /* bytes: a host name with an address and a port */
	TRANSCRIPT_LINES_MAX = 2000, /* per process and second; the others are counted */
};

struct transcript_filter {
	uint32_t watcher; /* below TRANSCRIPT_WATCHERS_MAX */
	bool has_network;
	struct config_network network;
	struct mail_domain domain; /* including its subdomains; empty: any */
};

void transcript_pack(struct buffer *out, const struct transcript_filter *filter);
MUST_CHECK bool transcript_unpack(struct unpack *in, struct transcript_filter *filter_out);

/* --- for processes that have sessions --- */

/* FILTERS, packed one after the other, replace the previous ones. False: they are malformed, and
 * none is left. */
MUST_CHECK bool transcript_configure(struct str filters);
/* Each line is passed to SAY, packed as a transcript_said. */
void transcript_say_by(void (*say)(void *context, struct str said), void *context);

/* True while somebody watches; the pointer stays valid. */
const bool *transcript_is_on(void);

enum transcript_side {
	TRANSCRIPT_CLIENT,
	TRANSCRIPT_SERVER,
	TRANSCRIPT_NOTE, /* not part of the dialogue: "12 lines were left out" */
};

enum { TRANSCRIPT_NAMES = 2 };

/* The peer of a session. */
struct transcript_peer {
	const char *shown;                  /* "192.0.2.7:53112", "mx.example.org[192.0.2.7]" */
	const struct in6_addr *address;     /* IPv4 mapped; NULL: a UNIX socket */
	struct str names[TRANSCRIPT_NAMES]; /* names of the peer, the destination; may be empty */
};

/* LINE, without its line end, is part of the dialogue. *SESSION must be 0 before the first line
 * of a session. */
void transcript_line(uint64_t *session, const struct transcript_peer *peer,
		     enum transcript_side side, struct str line);

/* --- lines of sessions --- */

struct transcript_said {
	uint32_t watchers; /* a bit for each: 1 << watcher */
	uint64_t session;  /* unique within the process */
	int64_t time_us;   /* wall clock */
	enum transcript_side side;
	struct str peer;
	struct str line;
};

void transcript_pack_said(struct buffer *out, const struct transcript_said *said);
/* False, too, if the peer or the line is longer than they can be. */
MUST_CHECK bool transcript_unpack_said(struct str body, struct transcript_said *said_out);

#endif
