// SPDX-License-Identifier: ISC
/*
 * deliver/remote/policy/internal.h - what the files that find policies share.
 */
#ifndef DELIVER_REMOTE_POLICY_INTERNAL_H
#define DELIVER_REMOTE_POLICY_INTERNAL_H

#include "deliver/remote/policy/policy.h"

struct remote_policies {
	const struct config *config;
	struct remote_authorities *authorities;
	struct remote_dane *dane; /* NULL: none */
	struct sts_client *sts;   /* NULL: none */
	struct remote_certificates *certificates;
};

/* setting.c */
/* Sets *POLICY as the configuration says. */
void remote_policy_set(const struct remote_policies *policies,
		       const struct remote_policy_question *question, struct remote_policy *policy);
/* Makes *POLICY verify the name of QUESTION's host by the common authorities, or refuse the host
 * if these could not be read. */
void remote_policy_verify_host(const struct remote_policies *policies,
			       const struct remote_policy_question *question,
			       struct remote_policy *policy);
/* Makes *POLICY refuse the host, since what its origin demands is impossible. */
void remote_policy_refuse(struct remote_policy *policy, struct arena *arena, const char *status,
			  const char *reason);

/* wish.c */
/* Whether the sender wants what DNSSEC or the domain say of TLS not to matter (RFC 8689 section
 * 4.2.2), where POLICY is what the configuration says. */
bool remote_policy_is_waived(const struct remote_policy_question *question,
			     const struct remote_policy *policy);
/* Changes *POLICY, which all others have decided on, as REQUIRETLS demands. */
void remote_policy_grant(const struct remote_policies *policies,
			 const struct remote_policy_question *question,
			 struct remote_policy *policy);

#endif
