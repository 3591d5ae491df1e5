// SPDX-License-Identifier: ISC
/* What a message's sender wants of TLS (RFC 8689). */
#include "deliver/remote/policy/internal.h"
#include <string.h>

/* Whether no DNS that anybody may have forged has chosen the host. */
static bool is_host_known_securely(const struct remote_policy_question *question)
{
	return question->relay != NULL || question->server->is_host_secure;
}

/* Whether what POLICY verifies is the destination's server, and not just the host that MX records
 * have named: a certificate for that one's name could be anybody's. */
static bool is_proven(const struct remote_policy_question *question,
		      const struct remote_policy *policy)
{
	const struct tls_verify *verify = &policy->verify;

	if (verify->by == TLS_VERIFY_NOTHING || verify->is_tried)
		return false;
	if (is_host_known_securely(question) || verify->by != TLS_VERIFY_AUTHORITIES)
		return true;
	if (policy->source == REMOTE_POLICY_MTA_STS && !policy->is_tried)
		return true;
	for (size_t i = 0; i < verify->name_count; i++)
		if (strcmp(verify->names[i], question->server->host) == 0)
			return false;
	return true;
}

/* A domain whose policy could not be fetched may have one that names the host. */
static const char *status_of_unmet_wish(const struct remote_policy *policy)
{
	switch (policy->flaw) {
	case TLSRPT_STS_POLICY_FETCH_ERROR:
	case TLSRPT_STS_POLICY_INVALID:
	case TLSRPT_STS_WEBPKI_INVALID:
		return "4.7.5";
	default:
		return "5.7.30";
	}
}

/* Section 4.2.1 */
static void require_tls(const struct remote_policies *policies,
			const struct remote_policy_question *question, struct remote_policy *policy)
{
	if (policy->refusal != NULL || is_proven(question, policy))
		return;
	policy->level = CONFIG_TLS_VERIFY;
	policy->origin = "REQUIRETLS";
	policy->is_tried = false;
	policy->verify = (struct tls_verify){0};
	if (is_host_known_securely(question))
		remote_policy_verify_host(policies, question, policy);
	else
		remote_policy_refuse(
			policy, question->arena, status_of_unmet_wish(policy),
			"neither DNSSEC nor a policy says that this host is the right one");
}

void remote_policy_grant(const struct remote_policies *policies,
			 const struct remote_policy_question *question,
			 struct remote_policy *policy)
{
	if (question->wish == REMOTE_POLICY_REQUIRED)
		require_tls(policies, question, policy);
}

bool remote_policy_is_waived(const struct remote_policy_question *question,
			     const struct remote_policy *policy)
{
	return question->wish == REMOTE_POLICY_WAIVED && !policy->is_by_section;
}
