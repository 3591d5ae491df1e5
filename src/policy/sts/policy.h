// SPDX-License-Identifier: ISC
/*
 * policy/sts/policy.h - a policy of MTA-STS: its text, and which hosts it allows. RFC 8461
 * sections 3.2 and 4.1.
 *
 * Fields that are not known are ignored, and of a field that may be there only once all but the
 * first. Lines end with LF or CRLF; empty ones, which the RFC does not have, are skipped. A
 * max_age over the RFC's limit counts as the limit, so that an operator's error does not end
 * protection.
 */
#ifndef POLICY_STS_POLICY_H
#define POLICY_STS_POLICY_H

#include "base/attributes.h"
#include "base/str.h"
#include "base/timestamp.h"

enum {
	STS_POLICY_MAX = 64 * 1024, /* bytes of its text, as RFC 8461 section 3.2 suggests */
	STS_PATTERNS_MAX = 200,     /* of hosts; with more it is invalid */
	STS_MAX_AGE_MAX = 31557600, /* seconds */
};

enum sts_mode { STS_MODE_NONE, STS_MODE_TESTING, STS_MODE_ENFORCE };

struct sts_policy {
	enum sts_mode mode;
	int64_t max_age_us;
	char *patterns; /* "mx.example.org *.example.net", lower case; owned */
};

/* NULL, and *POLICY_OUT, which the caller clears; or what is wrong, for people. */
MUST_CHECK const char *sts_policy_parse(struct str text, struct sts_policy *policy_out);
void sts_policy_clear(struct sts_policy *policy);

/* Whether one of PATTERNS (as in struct sts_policy) allows HOST, without a trailing dot: equal
 * names, or "*." for exactly one label. Ignores case. */
bool sts_patterns_allow(struct str patterns, struct str host);

/* "none", "testing", "enforce" */
const char *sts_mode_name(enum sts_mode mode);

/* How long after a fetch the next one is due: a day at most for a policy in use (section 10.2),
 * for others half of max_age, so that there are further attempts before it ends. */
int64_t sts_policy_refresh_us(int64_t max_age_us, bool is_used);

#endif
