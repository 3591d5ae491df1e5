// SPDX-License-Identifier: ISC
/* What a message's sender wants of TLS (RFC 8689). */
#include "deliver/remote_policy_internal.h"

/* RFC 8689 section 4.2.1: the host must be the right one, by DNSSEC or by the configuration, unless
 * a policy says how it is verified. */
static void require_tls(const struct remote_policies *policies,
			const struct remote_policy_question *question, struct remote_policy *policy)
{
	policy->is_tried = policy->verify.is_tried = false;
	if (policy->refusal != NULL || policy->verify.by != TLS_VERIFY_NOTHING)
		return;
	policy->level = CONFIG_TLS_VERIFY;
	policy->origin = "REQUIRETLS";
	if (question->relay == NULL && !question->server->is_host_secure) {
		remote_policy_refuse(
			policy, question->arena, "5.7.30",
			"neither DNSSEC nor a policy says that this host is the right one");
		return;
	}
	remote_policy_verify_host(policies, question, policy);
}

/* Section 4.2.2. What a section demands stays. */
static void waive_tls(struct remote_policy *policy)
{
	if (policy->is_by_section || policy->level <= CONFIG_TLS_MAY)
		return;
	policy->level = CONFIG_TLS_MAY;
	policy->origin = "TLS-Required: No";
	policy->refusal = NULL;
	policy->verify = (struct tls_verify){0};
}

void remote_policy_grant(const struct remote_policies *policies,
			 const struct remote_policy_question *question,
			 struct remote_policy *policy)
{
	if (question->wish == REMOTE_POLICY_REQUIRED)
		require_tls(policies, question, policy);
	else if (question->wish == REMOTE_POLICY_WAIVED)
		waive_tls(policy);
}
