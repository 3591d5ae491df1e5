// SPDX-License-Identifier: ISC
/* What the configuration says of a connection's TLS, and of the names in certificates. */
#include "base/panic.h"
#include "deliver/remote/policy/authorities.h"
#include "deliver/remote/policy/internal.h"
#include <string.h>

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

static const char *copy_setting_text(struct arena *arena, const char *text)
{
	return arena_copy(arena, str_from(text));
}

/* "[192.0.2.1]" as "192.0.2.1" */
static const char *without_brackets(struct arena *arena, const char *name)
{
	struct str text = str_from(name);

	if (text.length < 2 || text.data[0] != '[')
		return copy_setting_text(arena, name);
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

void remote_policy_refuse(struct remote_policy *policy, struct arena *arena, const char *status,
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
		remote_policy_refuse(policy, arena, "4.3.5",
				     "the authorities have not been read yet");
	else if (file->authorities == NULL)
		remote_policy_refuse(policy, arena, "4.3.5", file->problem);
}

struct names {
	const char *hop;  /* the relay, or the domain */
	const char *host; /* of the server */
};

static const char *expand_match(struct arena *arena, const char *match, const struct names *names)
{
	if (strcmp(match, "nexthop") == 0)
		return names->hop;
	return strcmp(match, "hostname") == 0 ? names->host : copy_setting_text(arena, match);
}

/* The names of setting match; by default what the level says. */
static void set_match_names(const struct config_tls_policy *section, struct arena *arena,
			    const struct names *names, struct remote_policy *policy)
{
	size_t count = section != NULL ? section->match_count : 0;
	const char **list = arena_alloc(arena, (count + 2) * sizeof *list);
	struct buffer below = {0};

	for (size_t i = 0; i < count; i++)
		list[i] = expand_match(arena, section->matches[i], names);
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
		list[i] = copy_setting_text(arena, section->fingerprints[i]);
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

/* OWN: of a section; NULL: none. */
static struct tls_strength policy_strength(const struct config *config,
					   const struct config_tls_strength *own,
					   struct arena *arena)
{
	const struct config_tls_strength *common = &config->strength;
	const struct config_tls_strength *named =
		own != NULL && own->cipher_count > 0 ? own : common;
	struct tls_strength strength = {.is_1_3 = (own != NULL ? own : common)->min_version ==
						  CONFIG_TLS_1_3};
	struct buffer text CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < named->cipher_count; i++)
		buffer_append_format(&text, "%s%s", i > 0 ? ":" : "", named->ciphers[i]);
	if (text.length > 0)
		strength.ciphers = arena_copy(arena, buffer_view(&text));
	return strength;
}

void remote_policy_set(const struct remote_policies *policies,
		       const struct remote_policy_question *question, struct remote_policy *policy)
{
	const struct config *config = policies->config;
	const struct config_tls_policy *section =
		find_section(config, question->domain, question->relay);
	struct arena *arena = question->arena;
	const struct names names = {without_brackets(arena, question->relay != NULL
								    ? question->relay
								    : question->domain),
				    copy_setting_text(arena, question->server->host)};

	*policy = (struct remote_policy){
		.level = section != NULL ? section->level : config->remote_tls,
		.source = REMOTE_POLICY_SETTING,
		.is_by_section = section != NULL,
		.origin = section != NULL ? origin_of(arena, "tls", section->destination)
					  : "remote_tls",
		.certificate =
			section != NULL ? copy_setting_text(arena, section->certificate) : "",
		.strength =
			policy_strength(config, section != NULL ? &section->strength : NULL, arena),
	};
	if (remote_authorities_decide(policy->level)) {
		set_match_names(section, arena, &names, policy);
		verify_by_authority(
			policies,
			remote_authorities_of(config, section != NULL ? section->authority : ""),
			arena, policy);
	} else if (policy->level == CONFIG_TLS_FINGERPRINT) {
		set_fingerprints(section, arena, policy);
	}
}

void remote_policy_verify_host(const struct remote_policies *policies,
			       const struct remote_policy_question *question,
			       struct remote_policy *policy)
{
	const char *host = copy_setting_text(question->arena, question->server->host);

	policy->server_name = NULL;
	set_match_names(NULL, question->arena, &(struct names){host, host}, policy);
	verify_by_authority(policies, policies->config->tls_authorities, question->arena, policy);
}

void remote_policy_of_service(const struct remote_policies *policies,
			      const struct config_service *service, const struct dns_server *server,
			      struct arena *arena, struct remote_policy *policy_out)
{
	const char *host = copy_setting_text(arena, server->host);

	*policy_out = (struct remote_policy){
		.level = service->tls,
		.source = REMOTE_POLICY_SETTING,
		.origin = service->tls == CONFIG_TLS_NONE
				  ? ""
				  : origin_of(arena, "service", service->name),
		.certificate = copy_setting_text(arena, service->certificate),
		.strength = policy_strength(policies->config, NULL, arena),
	};
	if (!remote_authorities_decide(service->tls))
		return;
	set_match_names(NULL, arena, &(struct names){host, host}, policy_out);
	verify_by_authority(policies, remote_authorities_of(policies->config, service->authority),
			    arena, policy_out);
}

const char *remote_policy_key(const struct remote_policies *policies, const char *domain,
			      const char *relay)
{
	const struct config_tls_policy *section = find_section(policies->config, domain, relay);

	return section != NULL ? section->destination : "remote_tls";
}
