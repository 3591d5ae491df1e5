// SPDX-License-Identifier: ISC
#include "deliver/remote_policy.h"
#include "base/panic.h"
#include "deliver/remote_authorities.h"
#include "deliver/remote_dane.h"
#include "deliver/remote_sts.h"
#include "sts/client.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct remote_policies {
	const struct config *config;
	struct remote_authorities *authorities;
	struct remote_dane *dane; /* NULL: none */
	struct sts_client *sts;   /* NULL: none */
	struct remote_certificates *certificates;
};

struct remote_policy_search {
	struct remote_policy policy; /* as far as it is known */
	const struct remote_policies *policies;
	const struct remote_policy_question *question;
	struct remote_dane_search *dane;
	struct sts_question *sts;
	void (*done)(void *context, const struct remote_policy *policy);
	void *context;
};

static const char *const level_names[] = {
	[CONFIG_TLS_NONE] = "none",           [CONFIG_TLS_MAY] = "may",
	[CONFIG_TLS_ENCRYPT] = "encrypt",     [CONFIG_TLS_DANE] = "dane",
	[CONFIG_TLS_DANE_ONLY] = "dane-only", [CONFIG_TLS_VERIFY] = "verify",
	[CONFIG_TLS_SECURE] = "secure",       [CONFIG_TLS_FINGERPRINT] = "fingerprint",
};

static const char *const source_names[] = {
	[REMOTE_POLICY_SETTING] = "setting",
	[REMOTE_POLICY_DANE] = "dane",
	[REMOTE_POLICY_MTA_STS] = "mta-sts",
};

const char *remote_policy_level_name(enum config_tls_level level)
{
	return level_names[level];
}

const char *remote_policy_source_name(enum remote_policy_source source)
{
	return source_names[source];
}

static bool needs_tls(const struct config *config, bool is_lmtp)
{
	if (!is_lmtp)
		return config->remote_tls != CONFIG_TLS_NONE || config->tls_policy_count > 0 ||
		       config->dane || config->mta_sts || config_has_tls_in(config);
	for (size_t i = 0; i < config->service_count; i++)
		if (config->services[i].tls != CONFIG_TLS_NONE)
			return true;
	return false;
}

struct remote_policies *remote_policies_new(const struct config *config, bool is_lmtp)
{
	struct remote_policies *policies = memory_alloc_zero(1, sizeof *policies);

	policies->config = config;
	if (needs_tls(config, is_lmtp))
		tls_client_prepare();
	policies->authorities = remote_authorities_new(config, is_lmtp);
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

static const char *copy(struct arena *arena, const char *text)
{
	return arena_copy(arena, str_from(text));
}

/* "[192.0.2.1]" as "192.0.2.1" */
static const char *without_brackets(struct arena *arena, const char *name)
{
	struct str text = str_from(name);

	if (text.length < 2 || text.data[0] != '[')
		return copy(arena, name);
	text = str_slice(text.data + 1, text.length - 2);
	if (text.length > 5 && str_equal_nocase(str_slice(text.data, 5), STR("IPv6:")))
		text = str_skip(text, 5);
	return arena_copy(arena, text);
}

static const char *origin_of(struct arena *arena, const char *kind, const char *name)
{
	struct buffer text = {0};
	const char *origin;

	buffer_append_format(&text, "%s \"%s\"", kind, name);
	origin = arena_copy(arena, buffer_view(&text));
	buffer_clear(&text);
	return origin;
}

static void refuse(struct remote_policy *policy, struct arena *arena, const char *status,
		   const char *reason)
{
	struct mail_verdict *refusal = arena_alloc(arena, sizeof *refusal);

	mail_verdict_set(refusal, status, "TLS as %s demands it is impossible: %s", policy->origin,
			 reason);
	policy->refusal = refusal;
}

static void verify_by_authority(const struct remote_policies *policies, const char *path,
				struct arena *arena, struct remote_policy *policy)
{
	const struct remote_authorities_file *file =
		remote_authorities_find(policies->authorities, path);

	policy->verify.by = TLS_VERIFY_AUTHORITIES;
	if (file != NULL)
		policy->verify.authorities = file->authorities;
	if (file == NULL)
		refuse(policy, arena, "4.3.5", "the authorities have not been read yet");
	else if (file->authorities == NULL)
		refuse(policy, arena, "4.3.5", file->problem);
}

struct names {
	const char *hop;  /* the relay, or the domain */
	const char *host; /* of the server */
};

static const char *expand(struct arena *arena, const char *match, const struct names *names)
{
	if (strcmp(match, "nexthop") == 0)
		return names->hop;
	return strcmp(match, "hostname") == 0 ? names->host : copy(arena, match);
}

/* The names of setting match; by default what the level says. */
static void set_names(const struct config_tls_policy *section, struct arena *arena,
		      const struct names *names, struct remote_policy *policy)
{
	size_t count = section != NULL ? section->match_count : 0;
	const char **list = arena_alloc(arena, (count + 2) * sizeof *list);
	struct buffer below = {0};

	for (size_t i = 0; i < count; i++)
		list[i] = expand(arena, section->matches[i], names);
	if (count == 0 && policy->level == CONFIG_TLS_SECURE) {
		buffer_append_format(&below, ".%s", names->hop);
		list[count++] = names->hop;
		list[count++] = arena_copy(arena, buffer_view(&below));
	} else if (count == 0) {
		list[count++] = names->host;
	}
	buffer_clear(&below);
	policy->verify.names = list;
	policy->verify.name_count = count;
}

static void set_fingerprints(const struct config_tls_policy *section, struct arena *arena,
			     struct remote_policy *policy)
{
	const char **list = arena_alloc(arena, section->fingerprint_count * sizeof *list);

	for (size_t i = 0; i < section->fingerprint_count; i++)
		list[i] = copy(arena, section->fingerprints[i]);
	policy->verify.by = TLS_VERIFY_FINGERPRINTS;
	policy->verify.fingerprints = list;
	policy->verify.fingerprint_count = section->fingerprint_count;
}

static const struct config_tls_policy *find_section(const struct config *config, const char *domain,
						    const char *relay)
{
	const struct config_tls_policy *section = NULL;

	if (relay != NULL)
		section = config_tls_policy_find(config, str_from(relay));
	return section != NULL ? section : config_tls_policy_find(config, str_from(domain));
}

/* What the configuration says. */
static void find_by_setting(const struct remote_policies *policies,
			    const struct remote_policy_question *question,
			    struct remote_policy *policy)
{
	const struct config *config = policies->config;
	const struct config_tls_policy *section =
		find_section(config, question->domain, question->relay);
	struct arena *arena = question->arena;
	const struct names names = {without_brackets(arena, question->relay != NULL
								    ? question->relay
								    : question->domain),
				    copy(arena, question->server->host)};

	*policy = (struct remote_policy){
		.level = section != NULL ? section->level : config->remote_tls,
		.source = REMOTE_POLICY_SETTING,
		.is_by_section = section != NULL,
		.origin = section != NULL ? origin_of(arena, "tls", section->destination)
					  : "remote_tls",
		.certificate = section != NULL ? copy(arena, section->certificate) : "",
	};
	if (remote_authorities_decide(policy->level)) {
		set_names(section, arena, &names, policy);
		verify_by_authority(
			policies,
			remote_authorities_of(config, section != NULL ? section->authority : ""),
			arena, policy);
	} else if (policy->level == CONFIG_TLS_FINGERPRINT) {
		set_fingerprints(section, arena, policy);
	}
}

void remote_policies_use_dane(struct remote_policies *policies, struct remote_dane *dane)
{
	policies->dane = dane;
}

void remote_policies_use_sts(struct remote_policies *policies, struct sts_client *client)
{
	policies->sts = client;
}

/* RFC 8689 section 4.2.1: the host must be the right one, by DNSSEC or by the configuration, unless
 * a policy says how it is verified. */
static void require_tls(const struct remote_policies *policies,
			const struct remote_policy_question *question, struct remote_policy *policy)
{
	const char *host = copy(question->arena, question->server->host);

	policy->is_tried = policy->verify.is_tried = false;
	if (policy->refusal != NULL || policy->verify.by != TLS_VERIFY_NOTHING)
		return;
	policy->level = CONFIG_TLS_VERIFY;
	policy->origin = "REQUIRETLS";
	if (question->relay == NULL && !question->server->is_host_secure) {
		refuse(policy, question->arena, "5.7.30",
		       "neither DNSSEC nor a policy says that this host is the right one");
		return;
	}
	set_names(NULL, question->arena, &(struct names){host, host}, policy);
	verify_by_authority(policies, policies->config->tls_authorities, question->arena, policy);
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

/* What the sender wants comes last. */
static void grant_wish(const struct remote_policies *policies,
		       const struct remote_policy_question *question, struct remote_policy *policy)
{
	if (question->wish == REMOTE_POLICY_REQUIRED)
		require_tls(policies, question, policy);
	else if (question->wish == REMOTE_POLICY_WAIVED)
		waive_tls(policy);
}

static void conclude(struct remote_policy_search *search)
{
	grant_wish(search->policies, search->question, &search->policy);
	search->done(search->context, &search->policy);
}

/* A policy in mode testing demands nothing, so no mail waits where there is nothing to try it by.
 */
static void try_nothing(struct remote_policy *policy)
{
	policy->is_tried = false;
	policy->refusal = NULL;
	policy->verify = (struct tls_verify){0};
}

static void on_sts(void *context, const struct sts_answer *answer)
{
	struct remote_policy_search *search = context;
	struct remote_policy *policy = &search->policy;
	struct arena *arena = search->question->arena;
	const char *host = copy(arena, search->question->server->host);

	search->sts = NULL;
	if (remote_sts_decide(answer, search->question, policy)) {
		policy->verify = (struct tls_verify){.is_tried = policy->is_tried};
		set_names(NULL, arena, &(struct names){host, host}, policy);
		verify_by_authority(search->policies, search->policies->config->tls_authorities,
				    arena, policy);
	}
	if (policy->is_tried && policy->refusal != NULL)
		try_nothing(policy);
	conclude(search);
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
		conclude(search);
}

struct remote_policy_search *
remote_policy_find(struct remote_policies *policies, const struct remote_policy_question *question,
		   struct remote_policy *policy_out,
		   void (*done)(void *context, const struct remote_policy *policy), void *context)
{
	struct remote_policy_search *search;

	find_by_setting(policies, question, policy_out);
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
	grant_wish(policies, question, policy_out);
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

void remote_policy_of_service(const struct remote_policies *policies,
			      const struct config_service *service, const struct dns_server *server,
			      struct arena *arena, struct remote_policy *policy_out)
{
	const char *host = copy(arena, server->host);

	*policy_out = (struct remote_policy){
		.level = service->tls,
		.source = REMOTE_POLICY_SETTING,
		.origin = service->tls == CONFIG_TLS_NONE
				  ? ""
				  : origin_of(arena, "service", service->name),
		.certificate = copy(arena, service->certificate),
	};
	if (!remote_authorities_decide(service->tls))
		return;
	set_names(NULL, arena, &(struct names){host, host}, policy_out);
	verify_by_authority(policies, remote_authorities_of(policies->config, service->authority),
			    arena, policy_out);
}

void remote_policy_key(const struct remote_policies *policies, const char *domain,
		       const char *relay, char key[REMOTE_POLICY_KEY_SIZE])
{
	const struct config_tls_policy *section = find_section(policies->config, domain, relay);

	snprintf(key, REMOTE_POLICY_KEY_SIZE, "%s",
		 section != NULL ? section->destination : "remote_tls");
}
