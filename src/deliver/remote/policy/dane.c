// SPDX-License-Identifier: ISC
#include "deliver/remote/policy/dane.h"
#include "base/panic.h"
#include "deliver/remote/policy/authorities.h"
#include "dns/anchor.h"
#include "dns/tlsa.h"
#include "log/event.h"
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 3 };

struct remote_dane {
	struct os_loop *loop;
	struct dns_resolver *resolver;
	struct arena *settings; /* those it was opened with, as text */
	struct str opened_with;
	bool is_on;
	struct buffer problem; /* of the trust anchor, with a NUL; empty: none */
};

struct remote_dane_search {
	const struct remote_policy_question *question;
	struct remote_policy *policy;
	struct dns_tlsa_search *tlsa;
	void (*done)(void *context);
	void *context;
};

/* --- the resolver --- */

/* All settings that need another resolver, as one text. */
static void describe_resolver_settings(const struct config *config, struct buffer *out)
{
	buffer_append_format(out, "%s\n%d\n", config->dns_server, config->dane);
	if (!config->dane)
		return;
	buffer_append_format(out, "%s\n", config->dns_trust_anchor);
	for (size_t i = 0; i < config->dns_unsigned_count; i++)
		buffer_append_format(out, "%s\n", config->dns_unsigned[i]);
}

static void report_problem(struct remote_dane *dane, const char *path, struct str reason)
{
	buffer_append_format(&dane->problem, "dns_trust_anchor %s: " STR_FORMAT, path,
			     STR_ARGUMENTS(reason));
	log_event(EVENT_DNS_TRUST_ANCHOR_UNREADABLE, log_str(text, buffer_view(&dane->problem)));
	buffer_append_byte(&dane->problem, '\0');
}

/* Without a trust anchor nothing is validated, and mail that needs it waits. */
static int open_validating_resolver(struct remote_dane *dane, const struct config *config)
{
	struct buffer anchors CLEANUP(buffer_clear) = {0};
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct dns_trust trust = {.unsigned_domains = config->dns_unsigned,
				  .unsigned_count = config->dns_unsigned_count};
	int result;

	if (!config->dane)
		return dns_resolver_new(dane->loop, config->dns_server, &dane->resolver);
	if (dns_anchor_read(config->dns_trust_anchor, &anchors, &reason) < 0) {
		report_problem(dane, config->dns_trust_anchor, buffer_view(&reason));
		return dns_resolver_new(dane->loop, config->dns_server, &dane->resolver);
	}
	trust.anchors = buffer_view(&anchors);
	result = dns_resolver_new_validating(dane->loop, config->dns_server, &trust,
					     &dane->resolver);
	if (result == 0 || dns_resolver_new(dane->loop, config->dns_server, &dane->resolver) < 0)
		return result;
	report_problem(dane, config->dns_trust_anchor, STR("libunbound rejects its contents"));
	return 0;
}

int remote_dane_new(struct os_loop *loop, const struct config *config,
		    struct remote_dane **dane_out)
{
	struct remote_dane *dane = memory_alloc_zero(1, sizeof *dane);
	struct buffer text CLEANUP(buffer_clear) = {0};
	int result;

	describe_resolver_settings(config, &text);
	dane->loop = loop;
	dane->is_on = config->dane;
	dane->settings = arena_new();
	dane->opened_with = str_from(arena_copy(dane->settings, buffer_view(&text)));
	result = open_validating_resolver(dane, config);
	if (result < 0)
		remote_dane_free(dane);
	else
		*dane_out = dane;
	return result;
}

void remote_dane_free(struct remote_dane *dane)
{
	if (dane == NULL)
		return;
	dns_resolver_free(dane->resolver);
	buffer_clear(&dane->problem);
	arena_free(dane->settings);
	free(dane);
}

struct dns_resolver *remote_dane_resolver(const struct remote_dane *dane)
{
	return dane->resolver;
}

bool remote_dane_fits(const struct remote_dane *dane, const struct config *config)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	describe_resolver_settings(config, &text);
	return str_equal(dane->opened_with, buffer_view(&text));
}

/* --- policies --- */

static void refuse_host_without_dane(struct remote_policy *policy, struct arena *arena,
				     const char *status, const char *host, const char *reason)
{
	struct mail_verdict *refusal = arena_alloc(arena, sizeof *refusal);

	mail_verdict_set(refusal, status, "%s must not be used without DANE: %s", host, reason);
	policy->refusal = refusal;
}

/* There are no TLSA records. */
static void do_without_dane(struct remote_policy *policy,
			    const struct remote_policy_question *question, const char *reason)
{
	if (policy->level == CONFIG_TLS_DANE)
		policy->level = CONFIG_TLS_MAY;
	if (policy->level != CONFIG_TLS_DANE_ONLY)
		return;
	refuse_host_without_dane(policy, question->arena, "4.7.5", question->server->host, reason);
	policy->flaw = TLSRPT_DANE_REQUIRED;
}

/* Sections "tls" decide before DANE, except that they may ask for it. */
static bool is_asked_for(const struct remote_policy *policy)
{
	if (policy->level == CONFIG_TLS_DANE || policy->level == CONFIG_TLS_DANE_ONLY)
		return true;
	return !policy->is_by_section && policy->level != CONFIG_TLS_NONE;
}

bool remote_dane_applies(const struct remote_dane *dane,
			 const struct remote_policy_question *question,
			 struct remote_policy *policy)
{
	if (!is_asked_for(policy))
		return false;
	if (dane == NULL || !dane->is_on)
		do_without_dane(policy, question, "setting dane is off");
	else if (question->server->canonical == NULL)
		do_without_dane(policy, question, "an address has no TLSA records");
	else if (dane->problem.length > 0)
		refuse_host_without_dane(policy, question->arena, "4.3.5", question->server->host,
					 buffer_data(&dane->problem));
	else
		return true;
	return false;
}

/* RFC 7672 section 3.2.2 */
static void set_dane_names(struct remote_policy *policy,
			   const struct remote_policy_question *question, const char *base)
{
	struct arena *arena = question->arena;
	const char **names = arena_alloc(arena, NAMES_MAX * sizeof *names);
	const char *hop = question->relay != NULL ? question->relay : question->domain;

	names[0] = arena_copy(arena, str_from(base));
	names[1] = arena_copy(arena, str_from(hop));
	names[2] = arena_copy(arena, str_from(question->server->host));
	policy->server_name = names[0];
	policy->verify = (struct tls_verify){.names = names, .name_count = NAMES_MAX};
}

static void set_records(struct remote_policy *policy, struct arena *arena,
			const struct dns_tlsa_answer *answer)
{
	struct tls_tlsa *records = arena_alloc(arena, answer->count * sizeof *records);

	for (size_t i = 0; i < answer->count; i++) {
		const struct dns_tlsa *from = &answer->list[i];

		records[i] = (struct tls_tlsa){
			from->usage, from->selector, from->matching,
			str_slice(arena_copy(arena, from->data), from->data.length)};
	}
	policy->verify.by = TLS_VERIFY_TLSA;
	policy->verify.records = records;
	policy->verify.record_count = answer->count;
}

/* What was demanded by other means does not count any more: DANE goes first. But records that
 * cannot be used verify nothing, and so do not stand in for what does. */
static void demand_dane(struct remote_policy *policy, const struct remote_policy_question *question,
			const struct dns_tlsa_answer *answer)
{
	bool is_usable = answer->status == DNS_TLSA_USABLE;

	if (!is_usable && policy->level == CONFIG_TLS_DANE_ONLY) {
		refuse_host_without_dane(policy, question->arena, "4.7.5", question->server->host,
					 answer->reason);
		policy->flaw = TLSRPT_TLSA_INVALID;
		return;
	}
	if (!is_usable && remote_authorities_decide(policy->level))
		return;
	policy->source = REMOTE_POLICY_DANE;
	policy->origin = "dane";
	policy->refusal = NULL;
	set_dane_names(policy, question, answer->base);
	if (is_usable)
		set_records(policy, question->arena, answer);
	if (!is_usable)
		policy->level = CONFIG_TLS_ENCRYPT;
	else if (policy->level != CONFIG_TLS_DANE_ONLY)
		policy->level = CONFIG_TLS_DANE;
}

static void on_tlsa(void *context, const struct dns_tlsa_answer *answer)
{
	struct remote_dane_search *search = context;

	search->policy->dane = arena_copy(search->question->arena, str_from(answer->reason));
	switch (answer->status) {
	case DNS_TLSA_NONE:
		do_without_dane(search->policy, search->question, answer->reason);
		break;
	case DNS_TLSA_USABLE:
	case DNS_TLSA_UNUSABLE:
		demand_dane(search->policy, search->question, answer);
		break;
	case DNS_TLSA_FAILED:
		refuse_host_without_dane(search->policy, search->question->arena, "4.4.3",
					 search->question->server->host, answer->reason);
		search->policy->flaw = TLSRPT_DNSSEC_INVALID;
		break;
	}
	search->done(search->context);
}

struct remote_dane_search *remote_dane_find(struct remote_dane *dane,
					    const struct remote_policy_question *question,
					    struct remote_policy *policy,
					    void (*done)(void *context), void *context)
{
	struct remote_dane_search *search = memory_alloc_zero(1, sizeof *search);

	search->question = question;
	search->policy = policy;
	search->done = done;
	search->context = context;
	search->tlsa =
		dns_tlsa_search_new(dane->loop, dane->resolver, question->server, on_tlsa, search);
	return search;
}

void remote_dane_search_free(struct remote_dane_search *search)
{
	if (search == NULL)
		return;
	dns_tlsa_search_free(search->tlsa);
	free(search);
}
