// SPDX-License-Identifier: ISC
/*
 * policy/sts/lookup.h - what a domain says now: its TXT record, and its policy by HTTPS. RFC 8461
 * section 3.
 */
#ifndef POLICY_STS_LOOKUP_H
#define POLICY_STS_LOOKUP_H

#include "dns/resolver.h"
#include "policy/https/https.h"
#include "policy/sts/policy.h"
#include "policy/sts/protocol.h"
#include "policy/sts/record.h"

struct sts_lookup;

enum sts_lookup_status {
	STS_LOOKUP_NO_RECORD, /* the domain has no policy */
	STS_LOOKUP_NO_ANSWER, /* the DNS cannot say */
	STS_LOOKUP_SAME,      /* the id is the known one; nothing was fetched */
	STS_LOOKUP_FETCHED,
	STS_LOOKUP_FAILED, /* there is a record, and no policy */
};

struct sts_lookup_result {
	enum sts_lookup_status status;
	uint32_t ttl;             /* NO_RECORD: seconds */
	enum sts_problem problem; /* FAILED */
	const char *reason;       /* FAILED, NO_ANSWER: for people */
	const char *id;           /* SAME, FETCHED, FAILED */
	struct str text;          /* FETCHED */
	struct sts_policy policy; /* FETCHED: of the callback, which clears it */
};

/* DOMAIN and KNOWN, the id of a policy that need not be fetched again ("": none), are copied. Calls
 * DONE once, never before returning; RESULT is valid during the call, LOOKUP no longer. */
struct sts_lookup *
sts_lookup_new(struct dns_resolver *resolver, struct https *https, const char *domain,
	       const char *known,
	       void (*done)(void *context, const struct sts_lookup_result *result), void *context);
/* DONE will not be called. NULL is allowed. */
void sts_lookup_cancel(struct sts_lookup *lookup);

#endif
