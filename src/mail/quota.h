// SPDX-License-Identifier: ISC
/*
 * mail/quota.h - how much a mailbox may hold: "1G", "500M,10000", "none".
 *
 * Bytes, or units of 1024 (K), its square (M), cube (G) or fourth power (T); after a comma the
 * number of messages. 0 of either, and "none" of both, is no bound.
 */
#ifndef MAIL_QUOTA_H
#define MAIL_QUOTA_H

#include "base/attributes.h"
#include "base/buffer.h"

struct mail_quota {
	uint64_t bytes;    /* 0: no bound */
	uint64_t messages; /* 0: no bound */
};

/* -EINVAL: TEXT is no quota. */
MUST_CHECK int mail_quota_parse(struct str text, struct mail_quota *out);
/* Appends the canonical form of TEXT to OUT: the largest unit that gives a whole number. 0, or
 * -EINVAL with OUT unchanged. */
MUST_CHECK int mail_quota_normalize(struct str text, struct buffer *out);

#endif
