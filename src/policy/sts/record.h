// SPDX-License-Identifier: ISC
/*
 * policy/sts/record.h - the TXT record by which a domain says that it has a policy of MTA-STS, RFC
 * 8461 section 3.1.
 */
#ifndef POLICY_STS_RECORD_H
#define POLICY_STS_RECORD_H

#include "base/str.h"

enum { STS_ID_MAX = 32 };

/* What the TXT records of _mta-sts.DOMAIN say. Zeroed at first. */
struct sts_record {
	unsigned count; /* records of this version */
	char id[STS_ID_MAX + 1];
};

/* Takes TEXT, one of the TXT records, into account. */
void sts_record_add(struct sts_record *record, struct str text);
/* After all of them: whether the domain has a policy, by exactly one valid record; then its id is
 * in RECORD: letters and digits. */
bool sts_record_is_valid(const struct sts_record *record);

#endif
