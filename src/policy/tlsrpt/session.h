// SPDX-License-Identifier: ISC
/*
 * policy/tlsrpt/session.h - a session with a server as reports count it: RFC 8460 section 4.
 */
#ifndef POLICY_TLSRPT_SESSION_H
#define POLICY_TLSRPT_SESSION_H

#include "base/str.h"
#include "policy/tlsrpt/result.h"

enum tlsrpt_policy { TLSRPT_NO_POLICY, TLSRPT_STS, TLSRPT_TLSA, TLSRPT_POLICIES };

struct tlsrpt_session {
	struct str domain; /* of the policy: the recipients' */
	enum tlsrpt_policy policy;
	/* TLSRPT_TLSA: its records, "3 1 1 AB..." with '\n' between them. TLSRPT_STS: whoever
	 * counts knows the policy. */
	struct str text;
	enum tlsrpt_result result;
	struct str host;           /* of the MX record */
	struct str greeting;       /* what the server calls itself; empty: not known */
	struct str server_address; /* "192.0.2.1"; empty: there was no connection */
	struct str own_address;
	struct str reason; /* of a failure, for people */
};

enum {
	TLSRPT_TEXT_MAX = 4096,  /* bytes of TEXT */
	TLSRPT_REASON_MAX = 200, /* of REASON */
};

#endif
