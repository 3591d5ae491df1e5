// SPDX-License-Identifier: ISC
/*
 * smtp/server/recipients.h - whether a recipient of an envelope was named before, ignoring the case
 * of its domain.
 */
#ifndef SMTP_SERVER_RECIPIENTS_H
#define SMTP_SERVER_RECIPIENTS_H

#include "mail/envelope.h"

/* Of one envelope. All zeroes at first; its memory is in the envelope's arena. */
struct smtp_recipients {
	uint32_t *slots; /* a hash table; NULL: few recipients */
	size_t slot_count;
};

bool smtp_recipients_have(struct smtp_recipients *recipients, const struct mail_envelope *envelope,
			  struct str address);
/* Call after a recipient was added to the envelope. */
void smtp_recipients_added(struct smtp_recipients *recipients,
			   const struct mail_envelope *envelope);

#endif
