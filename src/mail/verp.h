// SPDX-License-Identifier: ISC
/*
 * mail/verp.h - variable envelope return paths: a sender of its own for each recipient, so
 * that a bounce tells by its address whom it is about. (Source: qmail, qmail-send(8);
 * https://cr.yp.to/proto/verp.txt.)
 *
 * In the queue such a sender is LOCAL@DOMAIN-@[], usually with "-" or "+" at the end of
 * LOCAL. Where a delivery to USER@HOST starts it becomes LOCALUSER=HOST@DOMAIN. The message
 * as a whole has LOCAL@DOMAIN: its bounces go there.
 */
#ifndef MAIL_VERP_H
#define MAIL_VERP_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Whether SENDER is of that form, its LOCAL@DOMAIN an address. */
bool mail_verp_is(struct str sender);
/* LOCAL@DOMAIN, a view; SENDER itself when it is not of that form. */
struct str mail_verp_whole(struct str sender);
/* Appends the sender for RECIPIENT; LOCAL@DOMAIN where that would be over a bound of
 * mail/address.h. Quotes are put round the local part where it needs them. SENDER itself when
 * it is not of that form. */
void mail_verp_expand(struct str sender, struct str recipient, struct buffer *out);

#endif
