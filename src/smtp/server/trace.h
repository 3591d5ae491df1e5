// SPDX-License-Identifier: ISC
/*
 * smtp/server/trace.h - where a message came from: its Received field (RFC 5321 section 4.4), and
 * the origin in its envelope.
 */
#ifndef SMTP_SERVER_TRACE_H
#define SMTP_SERVER_TRACE_H

#include "smtp/server/server.h"

struct smtp_trace {
	const struct smtp_peer *peer;
	const struct smtp_tls *tls; /* no version: none */
	const char *helo;           /* the name that the client gave; NULL: none */
	const char *user;           /* who has authenticated; NULL: nobody */
	bool shows_user;            /* in the Received field, too */
	bool hides_client;          /* the Received field does not say where it came from */
	const char *hostname;       /* ours */
	const char *with;           /* "ESMTPS" */
	const char *protocol;       /* "smtp", "lmtp", "qmtp", "qmqp" */
};

/* Appends the Received field of a message with ENVELOPE, whose id is set. With several recipients
 * none is named, so that blind copies stay blind. */
void smtp_trace_append(struct buffer *out, const struct smtp_trace *trace,
		       const struct mail_envelope *envelope);
/* "smtp 192.0.2.7:53112 name=mail.example.com helo=mail.example.com", for struct mail_envelope; in
 * ARENA. */
struct str smtp_trace_origin(const struct smtp_trace *trace, struct arena *arena);

#endif
