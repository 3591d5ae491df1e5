// SPDX-License-Identifier: ISC
/*
 * mail/verp.h - variable envelope return paths: a sender of its own for each recipient, so
 * that the address of a bounce tells which recipient it is about. (Source: qmail, qmail-send(8);
 * https://cr.yp.to/proto/verp.txt.)
 *
 * In the queue such a sender is LOCAL@DOMAIN-@[], usually with "-" or "+" at the end of
 * LOCAL. A delivery to USER@HOST has the sender LOCALUSER=HOST@DOMAIN. Bounces of the message
 * as a whole go to LOCAL@DOMAIN.
 */
#ifndef MAIL_VERP_H
#define MAIL_VERP_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Whether SENDER has that form, with a valid LOCAL@DOMAIN. */
bool mail_verp_is(struct str sender);
/* LOCAL@DOMAIN, a view; SENDER itself if it does not have that form. */
struct str mail_verp_whole(struct str sender);
/* Appends the sender for RECIPIENT; or LOCAL@DOMAIN if that would exceed a limit of
 * mail/address.h; or SENDER itself if it does not have that form. Quotes the local part if
 * needed. */
void mail_verp_expand(struct str sender, struct str recipient, struct buffer *out);

#endif
