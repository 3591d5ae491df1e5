// SPDX-License-Identifier: ISC
#include "deliver/remote/policy/policy.h"
#include "base/panic.h"
#include "deliver/remote/policy/authorities.h"
#include "deliver/remote/policy/dane.h"
#include "deliver/remote/policy/internal.h"
#include "deliver/remote/policy/sts.h"
#include "policy/sts/client.h"
#include <stdlib.h>

struct remote_policy_search {
	struct remote_policy policy; /* as far as it is known */
	const struct remote_policies *policies;
	const struct remote_policy_question *question;
	struct remote_dane_search *dane;
	struct sts_question *sts;
	void (*done)(void *context, const struct remote_policy *policy);
	void *context;
};

static bool needs_tls(const struct config *config, bool is_lmtp)
{
	if (!is_lmtp)
		return config->remote_tls != CONFIG_TLS_NONE || config->tls_policy_count > 0 ||
		       config->dane || config->mta_sts || config_has_tls_in(config) ||
		       (config_has_logins(config) && !config->login_without_tls);
	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].tls != CONFIG_TLS_NONE)
			return true;
	return false;
}

struct remote_policies *remote_policies_new(const struct config *config, bool is_lmtp,
					    const struct remote_authorities_watcher *watcher)
{
	struct remote_policies *policies = memory_alloc_zero(1, sizeof *policies);

	policies->config = config;
	if (needs_tls(config, is_lmtp))
		tls_client_prepare();
	policies->authorities = remote_authorities_new(config, is_lmtp, watcher);
	return policies;
}

void remote_policies_log(const struct remote_policies *policies)
{
	remote_authorities_log(policies->authorities);
}

void remote_policies_free(struct remote_policies *policies)
{
	if (policies == NULL)
		return;
	remote_authorities_free(policies->authorities);
	free(policies);
}

void remote_policies_present(struct remote_policies *policies,
			     struct remote_certificates *certificates)
{
	policies->certificates = certificates;
}

struct remote_certificates *remote_policies_certificates(const struct remote_policies *policies)
{
	return policies->certificates;
}

bool remote_policies_configure(struct remote_policies *policies, const struct config *config)
{
	policies->config = config;
	return remote_authorities_has_all(policies->authorities, config);
}

void remote_policies_use_dane(struct remote_policies *policies, struct remote_dane *dane)
{
	policies->dane = dane;
}

void remote_policies_use_sts(struct remote_policies *policies, struct sts_client *client)
{
	policies->sts = client;
}

static void conclude_policy_search(struct remote_policy_search *search)
{
	remote_policy_grant(search->policies, search->question, &search->policy);
	search->done(search->context, &search->policy);
}

/* What is only tried keeps no mail waiting. */
static void verify_host(struct remote_policy_search *search)
{
	struct remote_policy *policy = &search->policy;

	policy->verify = (struct tls_verify){.is_tried = policy->is_tried};
	remote_policy_verify_host(search->policies, search->question, policy);
	if (!policy->is_tried || policy->refusal == NULL)
		return;
	policy->refusal = NULL;
	policy->verify = (struct tls_verify){0};
}

static void on_sts(void *context, const struct sts_answer *answer)
{
	struct remote_policy_search *search = context;

	search->sts = NULL;
	if (remote_sts_decide(answer, search->question, &search->policy))
		verify_host(search);
	conclude_policy_search(search);
}

bool remote_policies_can_demand(const struct remote_policies *policies)
{
	return policies->config->dane || policies->config->mta_sts;
}

/* DANE goes first. Whether the domain's own policy is asked for after it. */
static bool ask_sts(struct remote_policy_search *search)
{
	const struct remote_policies *policies = search->policies;

	if (policies->sts == NULL ||
	    !remote_sts_applies(policies->config, search->question, &search->policy))
		return false;
	search->sts =
		sts_client_ask(policies->sts, str_from(search->question->domain), on_sts, search);
	return true;
}

static void on_dane(void *context)
{
	struct remote_policy_search *search = context;

	if (!ask_sts(search))
		conclude_policy_search(search);
}

struct remote_policy_search *
remote_policy_find(struct remote_policies *policies, const struct remote_policy_question *question,
		   struct remote_policy *policy_out,
		   void (*done)(void *context, const struct remote_policy *policy), void *context)
{
	struct remote_policy_search *search;

	remote_policy_set(policies, question, policy_out);
	if (remote_policy_is_waived(question, policy_out))
		return NULL;
	search = memory_alloc_zero(1, sizeof *search);
	search->policies = policies;
	search->question = question;
	search->done = done;
	search->context = context;
	search->policy = *policy_out;
	if (remote_dane_applies(policies->dane, question, &search->policy)) {
		search->dane = remote_dane_find(policies->dane, question, &search->policy, on_dane,
						search);
		return search;
	}
	if (ask_sts(search))
		return search;
	*policy_out = search->policy;
	remote_policy_grant(policies, question, policy_out);
	free(search);
	return NULL;
}

void remote_policy_search_free(struct remote_policy_search *search)
{
	if (search == NULL)
		return;
	remote_dane_search_free(search->dane);
	sts_question_cancel(search->sts);
	free(search);
}
