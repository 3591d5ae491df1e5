// SPDX-License-Identifier: ISC
/* Completes and checks settings about TLS that involve more than one setting. */
#include "config/internal.h"
#include <string.h>

/* Reports SETTING, which has a value, though it needs something else. */
static void report_useless(const struct config_tree_section *section, const char *setting,
			   const char *allowed, struct config_problems *problems)
{
	config_problem_report(section, setting, "means nothing here", allowed, problems);
}

static bool is_set(const char *text)
{
	return text != NULL && *text != '\0';
}

/* STRENGTH is that of SECTION, which has its settings under these names, or else COMMON. */
static void check_strength(const struct config_tls_strength *common,
			   struct config_tls_strength *strength,
			   const struct config_tree_section *section, const char *min_version,
			   const char *ciphers, struct config_problems *problems)
{
	if (config_tree_use(section, min_version)->line == 0)
		strength->min_version = common->min_version;
	if (strength->min_version == CONFIG_TLS_1_3 && strength->cipher_count > 0)
		report_useless(section, ciphers, "with TLS 1.2 as the oldest version", problems);
}

static void check_clients(const struct config_listen *listen,
			  const struct config_tree_section *section,
			  struct config_problems *problems)
{
	const struct {
		const char *setting;
		bool is_set;
	} about[] = {
		{"client_authority", is_set(listen->client_authority)},
		{"client_names", listen->client_name_count > 0},
		{"client_fingerprints", listen->client_fingerprint_count > 0},
	};

	if (listen->tls == CONFIG_LISTEN_TLS_NONE && listen->client_certificates)
		report_useless(section, "client_certificates", "with tls", problems);
	for (size_t i = 0; i < COUNT_OF(about) && !listen->client_certificates; i++)
		if (about[i].is_set)
			report_useless(section, about[i].setting, "with client_certificates = yes",
				       problems);
	if (listen->client_certificates && !is_set(listen->client_authority) &&
	    listen->client_name_count > 0)
		report_useless(section, "client_names", "with client_authority", problems);
}

/* Everybody's mail goes anywhere there. */
static void check_who_connects(const struct config_listen *listen,
			       const struct config_tree_section *section,
			       struct config_problems *problems)
{
	if (listen->protocol == CONFIG_QMQP && listen->client_count == 0)
		config_problem_report(section, "clients", "must be set",
				      "the networks whose clients may connect", problems);
	if (listen->protocol != CONFIG_QMQP && listen->client_count > 0)
		report_useless(section, "clients", "with qmqp", problems);
}

static void check_listen_tls(const struct config *config, struct config_listen *listen,
			     const struct config_tree_section *section,
			     struct config_problems *problems)
{
	if (config_tree_use(section, "tls")->line == 0 && config->certificate_count > 0 &&
	    !config_is_qmtp(listen))
		listen->tls = CONFIG_LISTEN_TLS_STARTTLS;
	if (config_is_qmtp(listen) && (listen->tls == CONFIG_LISTEN_TLS_STARTTLS ||
				       listen->tls == CONFIG_LISTEN_TLS_REQUIRED))
		config_problem_report(section, "tls",
				      "QMTP and QMQP cannot begin TLS amid a connection",
				      "none, implicit", problems);
	if (listen->tls != CONFIG_LISTEN_TLS_NONE && config->certificate_count == 0)
		config_problem_report(section, "tls", "there is no section certificate",
				      "none, or with a section certificate", problems);
	check_strength(&config->strength, &listen->strength, section, "tls_min_version",
		       "tls_ciphers", problems);
	if (listen->tls == CONFIG_LISTEN_TLS_NONE && listen->strength.cipher_count > 0)
		report_useless(section, "tls_ciphers", "with tls", problems);
	check_who_connects(listen, section, problems);
	check_clients(listen, section, problems);
}

static void check_certificate_name(const struct config *config,
				   const struct config_tree_section *section, const char *name,
				   struct config_problems *problems)
{
	if (is_set(name) && config_certificate_find(config, str_from(name)) == NULL)
		config_problem_report(section, "certificate",
				      "there is no such section certificate",
				      "the name of a section certificate", problems);
}

/* Where plain text would do, every cipher is better. */
static void check_policy_strength(const struct config *config, struct config_tls_policy *policy,
				  const struct config_tree_section *section,
				  struct config_problems *problems)
{
	if (policy->level <= CONFIG_TLS_MAY && policy->strength.cipher_count > 0)
		report_useless(section, "ciphers", "with a level other than none, may", problems);
	check_strength(&config->strength, &policy->strength, section, "min_version", "ciphers",
		       problems);
}

static void check_policy(const struct config *config, struct config_tls_policy *policy,
			 const struct config_tree_section *section,
			 struct config_problems *problems)
{
	bool is_verified = policy->level == CONFIG_TLS_VERIFY || policy->level == CONFIG_TLS_SECURE;

	if (!is_verified && policy->match_count > 0)
		report_useless(section, "match", "with level = verify, secure", problems);
	if (!is_verified && is_set(policy->authority))
		report_useless(section, "authority", "with level = verify, secure", problems);
	if (policy->level != CONFIG_TLS_FINGERPRINT && policy->fingerprint_count > 0)
		report_useless(section, "fingerprints", "with level = fingerprint", problems);
	if (policy->level == CONFIG_TLS_FINGERPRINT && policy->fingerprint_count == 0)
		config_problem_report(section, "fingerprints", "must be set",
				      "SHA-256 fingerprints", problems);
	if (!config->dane &&
	    (policy->level == CONFIG_TLS_DANE || policy->level == CONFIG_TLS_DANE_ONLY))
		report_useless(section, "level", "dane and dane-only with setting dane = yes",
			       problems);
	if (policy->level == CONFIG_TLS_NONE && is_set(policy->certificate))
		report_useless(section, "certificate", "with a level other than none", problems);
	check_certificate_name(config, section, policy->certificate, problems);
	check_policy_strength(config, policy, section, problems);
}

void config_check_tls(struct config *config, const struct config_tree *tree,
		      struct config_problems *problems)
{
	size_t listens = 0;
	size_t policies = 0;
	size_t services = 0;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		if (s->kind == CONFIG_SECTION_LISTEN && listens < config->listen_count)
			check_listen_tls(config, &config->listens[listens++], s, problems);
		if (s->kind == CONFIG_SECTION_SERVICE && services < config->service_count)
			check_certificate_name(config, s, config->services[services++].certificate,
					       problems);
		if (s->kind == CONFIG_SECTION_TLS)
			check_policy(config, &config->tls_policies[policies++], s, problems);
	}
}
