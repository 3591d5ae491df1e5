// SPDX-License-Identifier: ISC
/*
 * queue/inject/address.h - the envelope's addresses as users' programs write them, and as the queue
 * has them: with a domain, without the dot of the DNS's root, and with the domain in A-labels, so
 * that only a local part in UTF-8 needs hosts that support SMTPUTF8 (RFC 6531).
 */
#ifndef QUEUE_INJECT_ADDRESS_H
#define QUEUE_INJECT_ADDRESS_H

#include "base/buffer.h"
#include "mail/envelope.h"

/* Appends ADDRESS, of a recipient, in that form to OUT. DOMAIN is given to one that has none; if it
 * is empty, a domain is demanded. -EBADMSG, or -ENAMETOOLONG, with OUT unchanged: it is no address.
 */
MUST_CHECK int inject_address_form(struct str address, struct str domain, struct buffer *out);

/* Sets the sender of ENVELOPE to that form of ADDRESS, which may also be "", "#@[]" or
 * LOCAL@DOMAIN-@[] (mail/verp.h). The same errors. */
MUST_CHECK int inject_address_set_sender(struct mail_envelope *envelope, struct str address,
					 struct str domain);

/* Notes in ENVELOPE what ADDRESS, one of its own, in that form, needs. */
void inject_address_note(struct mail_envelope *envelope, struct str address);

#endif
