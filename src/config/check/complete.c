// SPDX-License-Identifier: ISC
/* Completes what is not given of listeners and of TLS, by other settings. */
#include "config/internal.h"

static bool is_given(const struct config_tree_section *section, const char *setting)
{
	return config_tree_use(section, setting)->line > 0;
}

/* Only what can succeed is required of clients. */
static void complete_listen_auth(const struct config *config, struct config_listen *listen,
				 const struct config_tree_section *section)
{
	bool is_possible =
		config_has_auth(config) && (listen->tls != CONFIG_LISTEN_TLS_NONE ||
					    listen->auth_without_tls != CONFIG_CLEAR_AUTH_NO);

	if (!is_given(section, "auth") && listen->protocol == CONFIG_SUBMISSION && is_possible)
		listen->auth = CONFIG_LISTEN_AUTH_REQUIRED;
	if (!is_given(section, "auth_binding"))
		listen->auth_binding = listen->protocol != CONFIG_SUBMISSION;
	if (!is_given(section, "submission"))
		listen->submission = listen->protocol == CONFIG_SUBMISSION;
	if (!is_given(section, "repair"))
		listen->repair = listen->submission;
}

void config_complete_sections(struct config *config, const struct config_tree *tree)
{
	size_t listens = 0;
	size_t policies = 0;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		if (s->kind == CONFIG_SECTION_LISTEN && listens < config->listen_count) {
			struct config_listen *listen = &config->listens[listens];
			if (!is_given(s, "tls") && config->certificate_count > 0 &&
			    !config_is_qmtp(listen))
				listen->tls = CONFIG_LISTEN_TLS_STARTTLS;
			if (!is_given(s, "tls_min_version"))
				listen->strength.min_version = config->strength.min_version;
			complete_listen_auth(config, &config->listens[listens++], s);
		}
		if (s->kind == CONFIG_SECTION_TLS) {
			struct config_tls_policy *policy = &config->tls_policies[policies++];

			if (!is_given(s, "min_version"))
				policy->strength.min_version = config->strength.min_version;
		}
	}
}
