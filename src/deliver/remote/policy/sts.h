// SPDX-License-Identifier: ISC
/*
 * deliver/remote/policy/sts.h - MTA-STS for outgoing mail (RFC 8461): what the policy of a domain
 * makes of the policy for one of its hosts.
 */
#ifndef DELIVER_REMOTE_POLICY_STS_H
#define DELIVER_REMOTE_POLICY_STS_H

#include "deliver/remote/policy/policy.h"
#include "policy/sts/answer.h"

/* Whether the domain's policy decides, where POLICY is what the configuration and DANE say: not
 * for a relay or a section "tls", where TLS is switched off, and where TLSA records are demanded
 * (RFC 8461 section 2). */
bool remote_sts_applies(const struct config *config, const struct remote_policy_question *question,
			const struct remote_policy *policy);

/* Changes *POLICY as ANSWER, for QUESTION's domain, says. True: the caller must make it verify the
 * host's name by the authorities; if POLICY is tried only, a failure is not to be acted on. */
MUST_CHECK bool remote_sts_decide(const struct sts_answer *answer,
				  const struct remote_policy_question *question,
				  struct remote_policy *policy);

#endif
