// SPDX-License-Identifier: ISC
/*
 * queue/inject/envelope.h - the envelope in the format of qmail-queue: "F" SENDER NUL, then "T"
 * RECIPIENT NUL for each recipient, then one more NUL. Addresses as in queue/inject/address.h.
 * (Source: qmail internals, the manual page of qmail-queue.)
 */
#ifndef QUEUE_INJECT_ENVELOPE_H
#define QUEUE_INJECT_ENVELOPE_H

#include "base/buffer.h"
#include "mail/envelope.h"

struct inject_envelope_settings {
	size_t bytes;      /* at most: of the whole envelope, */
	size_t recipients; /* of one message */
	struct str domain; /* of addresses that have none */
};

/* Reads sender and recipients of ENVELOPE from DESCRIPTOR, up to the last NUL. -ENOMSG when it
 * is malformed, -EBADMSG when it has what is no address, -ENAMETOOLONG when it has one that is too
 * long, -E2BIG when it exceeds a limit: then a sentence is appended to *REASON. Otherwise the error
 * of reading. */
MUST_CHECK int inject_envelope_read(int descriptor, const struct inject_envelope_settings *settings,
				    struct mail_envelope *envelope, struct buffer *reason);

/* The same for TEXT, the whole envelope. */
MUST_CHECK int inject_envelope_parse(struct str text,
				     const struct inject_envelope_settings *settings,
				     struct mail_envelope *envelope, struct buffer *reason);

#endif
