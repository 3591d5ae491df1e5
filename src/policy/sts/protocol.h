// SPDX-License-Identifier: ISC
/*
 * policy/sts/protocol.h - the protocol between "remote" and "policy", in messages of ipc/channel.h.
 */
#ifndef POLICY_STS_PROTOCOL_H
#define POLICY_STS_PROTOCOL_H

enum sts_message {
	STS_ASK = 1, /* str domain: in canonical form, a host name. The tag is repeated in the
		      * answer. */
	STS_COUNT,   /* for reports: str domain, u32 policy, str text, u32 result, str host,
		      * str greeting, str server's address, str own address, str reason, as in
		      * policy/tlsrpt/session.h. No answer */
	STS_ANSWER,  /* u32 kind, u32 mode, u64 end (microseconds since 1970), u32 problem,
		      * str id, str patterns. In any order, one for each STS_ASK */
};

/* What is known of a domain's policy. */
enum sts_kind {
	STS_NONE,  /* it has none, or it cannot be fetched and none was known */
	STS_FOUND, /* mode, end, id and patterns are valid */
	STS_LATER, /* it cannot be said now */
};

/* Why a policy that the domain says it has is not known, or an old one is used: the result types
 * of RFC 8460 section 4.3.2.2. */
enum sts_problem {
	STS_PROBLEM_NONE,
	STS_PROBLEM_FETCH,   /* sts-policy-fetch-error */
	STS_PROBLEM_INVALID, /* sts-policy-invalid */
	STS_PROBLEM_WEBPKI,  /* sts-webpki-invalid */
};

enum {
	STS_DOMAIN_MAX = 242, /* bytes: "_smtp._tls." and it are at most 253 */
	STS_OPEN_MAX = 2500,  /* open questions of one connection; further ones are answered with
			       * STS_LATER at once */
};

#endif
