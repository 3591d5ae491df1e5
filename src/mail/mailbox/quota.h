// SPDX-License-Identifier: ISC
/*
 * mail/mailbox/quota.h - the limit of a mailbox: "1G", "500M,10000", "none".
 *
 * Bytes, with K, M, G or T for powers of 1024; then, after a comma, the number of messages. 0 for
 * either of them, or "none" for both, means no limit.
 */
#ifndef MAIL_MAILBOX_QUOTA_H
#define MAIL_MAILBOX_QUOTA_H

#include "base/attributes.h"
#include "base/buffer.h"

struct mail_quota {
	uint64_t bytes;    /* 0: no limit */
	uint64_t messages; /* 0: no limit */
};

/* -EINVAL: TEXT is malformed. */
MUST_CHECK int mail_quota_parse(struct str text, struct mail_quota *out);
/* Appends the canonical form of TEXT to OUT: with the largest unit of which it is a multiple. 0, or
 * -EINVAL with OUT unchanged. */
MUST_CHECK int mail_quota_normalize(struct str text, struct buffer *out);

#endif
