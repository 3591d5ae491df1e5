// SPDX-License-Identifier: ISC
/*
 * dns/text.h - TXT records, RFC 1035 section 3.3.14.
 */
#ifndef DNS_TEXT_H
#define DNS_TEXT_H

#include "base/buffer.h"

/* Appends the strings in DATA, the rdata of a TXT record, to OUT without anything between them, as
 * RFC 8461 and RFC 8460 (and RFC 7208) read them. False: it is malformed; OUT has a part of it. */
bool dns_text_append(struct buffer *out, struct str data);

#endif
