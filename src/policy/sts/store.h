// SPDX-License-Identifier: ISC
/*
 * policy/sts/store.h - a policy as a file: when it was fetched and for which id, an empty line, and
 * its text as it came.
 *
 *   id: 20261125T144523
 *   fetched: 2026-11-25T14:45:23Z
 *   size: 71
 *
 *   version: STSv1
 *   ...
 */
#ifndef POLICY_STS_STORE_H
#define POLICY_STS_STORE_H

#include "base/buffer.h"
#include "policy/sts/policy.h"
#include "policy/sts/record.h"

enum { STS_STORE_SIZE_MAX = STS_POLICY_MAX + 1024 };

struct sts_stored {
	char id[STS_ID_MAX + 1];
	int64_t fetched_us;
	struct str text; /* a view */
	struct sts_policy policy;
};

/* Appends the file of STORED, except of its policy, which follows from its text. */
void sts_store_format(const struct sts_stored *stored, struct buffer *out);
/* NULL, and *STORED_OUT, whose policy the caller clears; or what is wrong with FILE. */
MUST_CHECK const char *sts_store_parse(struct str file, struct sts_stored *stored_out);

#endif
