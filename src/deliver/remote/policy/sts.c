// SPDX-License-Identifier: ISC
#include "deliver/remote/policy/sts.h"
#include "log/event.h"
#include "policy/tlsrpt/count.h"

bool remote_sts_applies(const struct config *config, const struct remote_policy_question *question,
			const struct remote_policy *policy)
{
	return config->mta_sts && question->relay == NULL && !policy->is_by_section &&
	       policy->level != CONFIG_TLS_NONE && policy->refusal == NULL &&
	       policy->verify.by != TLS_VERIFY_TLSA;
}

/* Why a domain that has a policy is delivered to without it, or by an old one. */
static enum tlsrpt_result result_of(enum sts_problem problem)
{
	switch (problem) {
	case STS_PROBLEM_FETCH:
		return TLSRPT_STS_POLICY_FETCH_ERROR;
	case STS_PROBLEM_INVALID:
		return TLSRPT_STS_POLICY_INVALID;
	case STS_PROBLEM_WEBPKI:
		return TLSRPT_STS_WEBPKI_INVALID;
	case STS_PROBLEM_NONE:
		break;
	}
	return TLSRPT_SUCCESS;
}

static struct mail_verdict *new_refusal(struct remote_policy *policy, struct arena *arena)
{
	struct mail_verdict *refusal = arena_alloc(arena, sizeof *refusal);

	policy->refusal = refusal;
	return refusal;
}

static void enforce_sts_policy(const struct remote_policy_question *question, bool is_allowed,
			       struct remote_policy *policy)
{
	const char *host = question->server->host;

	policy->level = CONFIG_TLS_VERIFY;
	if (is_allowed)
		return;
	policy->flaw = TLSRPT_VALIDATION_FAILURE;
	mail_verdict_set(new_refusal(policy, question->arena), "4.7.5",
			 "%s must not be used: the MTA-STS policy of %s does not name it", host,
			 question->domain);
}

/* Mail goes as it would without the policy. A host that is not named is found out here, a
 * certificate that is not valid in the session. */
static void test_sts_policy(const struct remote_policy_question *question, bool is_allowed,
			    struct remote_policy *policy)
{
	policy->is_tried = true;
	if (is_allowed)
		return;
	policy->flaw = TLSRPT_VALIDATION_FAILURE;
	log_event_rated(EVENT_POLICY_UNMET, log_string(domain, question->domain),
			log_string(host, question->server->host),
			log_string(reason, "the policy does not name the host"));
}

static const char *describe_sts_answer(const struct sts_answer *answer, struct arena *arena)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (answer->kind == STS_FOUND)
		buffer_append_format(&text, "%s, id " STR_FORMAT ": " STR_FORMAT,
				     sts_mode_name(answer->mode), STR_ARGUMENTS(answer->id),
				     STR_ARGUMENTS(answer->patterns));
	else if (answer->kind == STS_LATER)
		buffer_append_string(&text, "nobody can say");
	else
		buffer_append_string(&text, "no policy");
	if (answer->problem != STS_PROBLEM_NONE)
		buffer_append_format(&text, "; %s", tlsrpt_result_name(result_of(answer->problem)));
	return arena_copy(arena, buffer_view(&text));
}

bool remote_sts_decide(const struct sts_answer *answer,
		       const struct remote_policy_question *question, struct remote_policy *policy)
{
	bool is_allowed;

	policy->flaw = result_of(answer->problem);
	policy->sts = describe_sts_answer(answer, question->arena);
	if (answer->kind == STS_LATER)
		mail_verdict_set(new_refusal(policy, question->arena), "4.4.3",
				 "whether %s has an MTA-STS policy cannot be found out now",
				 question->domain);
	if (answer->kind != STS_FOUND || answer->mode == STS_MODE_NONE)
		return false;
	policy->source = REMOTE_POLICY_MTA_STS;
	is_allowed = sts_patterns_allow(answer->patterns, str_from(question->server->host));
	if (answer->mode == STS_MODE_TESTING) {
		test_sts_policy(question, is_allowed, policy);
		return policy->verify.by == TLS_VERIFY_NOTHING;
	}
	policy->origin = "mta-sts";
	enforce_sts_policy(question, is_allowed, policy);
	return policy->refusal == NULL;
}
